"""Episodes from plain data: the same as with the environment itself, and clear about ends and about bad rows."""

from __future__ import annotations

import json

import gymnasium as gym
import numpy as np
import palaestra
import pytest
from palaestra.envs import Game, IntAxis, ParamSpace, Transition
from palaestra.errors import InputError
from palaestra.integrations.core import OVER, EpisodeRow, TextEpisode, has_one_answer, make_rows


class Broken(Game):
    """Every step fails for a reason that is not the player's; "done" ends the episode."""

    param_space = ParamSpace([IntAxis("goal", 2, 9)])

    def start(self, rng, params):
        return int(rng.integers(2, params["goal"] + 1))

    def observe(self, state):
        return f"{state}"

    def act(self, state, action):
        if action == "raise":
            raise OSError("the machine is gone")
        return Transition(state, done=action == "done", valid=False)


def oracle(episode: TextEpisode) -> str:
    return episode.env.unwrapped.oracle()  # type: ignore[attr-defined]


@pytest.mark.parametrize("env_id", ["palaestra/Countdown-v0", "palaestra/GuessNumber-v0", "palaestra/DoorKeyText-v0"])
def test_a_row_plays_as_the_environment_does(env_id: str):
    row = EpisodeRow.of(env_id, 7, {"split": "test"}, {"difficulty": 0.25})
    env = gym.make(env_id, split="test")
    observation, info = env.reset(seed=7, options={"difficulty": 0.25})
    # What a table or another process keeps of a row.
    episode = TextEpisode()
    assert episode.begin(json.loads(json.dumps({**row.plain(), "prompt": "further columns"}))) == observation
    rewards = []
    while not episode.over:
        action = oracle(episode)
        text = episode.act(action)
        observation, reward, *_ = env.step(action)
        rewards.append(float(reward))
        assert observation in text
        assert (OVER in text) == episode.over
    assert f"{OVER}: solved." in text
    result = episode.result()
    assert result.is_success
    assert result.task_id == info["task_id"]
    assert result.params == info["params"]
    assert result.reward == result.score == pytest.approx(sum(rewards))
    assert sum(result.reward_terms.values()) == pytest.approx(result.reward)
    assert result.turns == len(rewards)
    assert json.loads(json.dumps(result.plain())) == result.plain()


def test_a_wrong_answer_is_told_with_its_reason_and_ends_the_episode():
    episode = TextEpisode()
    episode.begin(EpisodeRow("palaestra/Countdown-v0", 0))
    assert has_one_answer(episode.env)
    text = episode.act("I do not know.")
    assert episode.result().action_error in text.splitlines()
    assert text.splitlines()[-1] == f"{OVER}: not solved."
    result = episode.result()
    assert (result.reward, result.is_success, result.refused, result.terminated) == (0.0, False, 1, True)
    with pytest.raises(InputError, match="nothing more can be done"):
        episode.act("42")
    assert episode.result() == result


def test_a_turn_limit_is_told():
    episode = TextEpisode()
    episode.begin(EpisodeRow("palaestra/Wordle-v0", 0))
    assert not has_one_answer(episode.env)
    while not episode.over:
        assert episode.result().is_success is False
        text = episode.act("?")
    assert text.endswith(f"{OVER}: no turn is left.")
    assert episode.result().truncated


def test_a_failure_of_the_machinery_has_no_score():
    palaestra.envs.register("integrations/Broken-v0", Broken)
    episode = TextEpisode()
    episode.begin(EpisodeRow("integrations/Broken-v0", 0))
    episode.act("hello")
    assert episode.act("done").endswith(f"{OVER}: it could not be judged.")
    assert episode.result().score is None
    assert episode.begin(EpisodeRow("integrations/Broken-v0", 0))
    with pytest.raises(OSError, match="gone"):
        episode.act("raise")
    assert (episode.over, episode.result().score) == (True, None)
    with pytest.raises(InputError, match="nothing more can be done"):
        episode.act("hello")
    # The next episode is another one.
    episode.begin(EpisodeRow("palaestra/Arithmetic-v0", 0))
    episode.act(oracle(episode))
    assert episode.result().score == 1.0


def test_the_environment_is_kept_while_id_and_arguments_stay():
    episode = TextEpisode()
    first, second = make_rows("palaestra/Wordle-v0", 2)
    episode.begin(first)
    env = episode.env
    episode.begin(second)
    assert episode.env is env
    episode.begin(make_rows("palaestra/Wordle-v0", 1, split="test")[0])
    assert episode.env is not env
    episode.close()
    with pytest.raises(InputError, match="no episode has begun"):
        episode.act("crane")


def test_rows_are_plain_and_exact():
    rows = make_rows("palaestra/Arithmetic-v0", 2, split="test", seed=5, kwargs={"digits": np.int64(2)})
    assert [row.seed for row in rows] == [5, 6]
    assert rows[0].kwargs == '{"digits": 2, "split": "test"}'
    assert EpisodeRow.read(rows[0].plain()) == rows[0]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"seed": 0}, "'env' is missing"),
        ({"env": "palaestra/Wordle-v0"}, "'seed' is missing"),
        ({"env": "palaestra/Wordle-v0", "seed": -1}, "seed must be a whole number of at least 0, not -1"),
        ({"env": "palaestra/Wordle-v0", "seed": 0, "kwargs": "[1]"}, "kwargs must be the text of a JSON object"),
        ({"env": "palaestra/Wordel-v0", "seed": 0}, "did you mean 'palaestra/Wordle-v0'"),
        ({"env": "palaestra/Wordle-v0", "seed": 0, "kwargs": '{"letters": 5}'}, "letters"),
        ({"env": "palaestra/Wordle-v0", "seed": 0, "options": '{"hard": 1}'}, "reset option"),
        ({"env": "palaestra/DoorKey-v0", "seed": 0}, "take palaestra/DoorKeyText-v0"),
    ],
)
def test_a_bad_row_is_one_sentence(row: dict[str, object], message: str):
    with pytest.raises(InputError, match=message.replace("[", r"\[")):
        TextEpisode().begin(row)


def test_arguments_must_be_plain_data_and_the_split_is_given_once():
    with pytest.raises(InputError, match="must be plain data"):
        make_rows("palaestra/Wordle-v0", 1, kwargs={"axes": {"tries": float("nan")}})
    with pytest.raises(InputError, match="split is given twice"):
        make_rows("palaestra/Wordle-v0", 1, kwargs={"split": "all"})
