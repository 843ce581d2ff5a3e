"""Histories of long episodes: what an agent sees, and what a learner is trained in."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import palaestra
import pytest
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.packing import PACKERS
from palaestra.agents.grpo.batch.passes import Passes
from palaestra.agents.grpo.batch.trajectory import Group
from palaestra.agents.grpo.components.reductions import turn_mean
from palaestra.agents.grpo.measures.continuations import replay_moments
from palaestra.agents.grpo.rollouts.environments import Environments
from palaestra.agents.grpo.rollouts.episode_player import EpisodePlayer
from palaestra.agents.grpo.rollouts.episode_starts import FinishedEpisode, RolloutTask, Start, TokenLimits, branch
from palaestra.agents.grpo.rollouts.independent import Independent
from palaestra.agents.grpo.warmup import demonstrate
from palaestra.agents.history import HISTORIES, HistoryWrapper, Notes, Summary, parse_history
from palaestra.agents.lookup import find_agent
from palaestra.errors import InputError

GUESS = "palaestra/GuessNumber-v0"
WRITER = "endpoint(model='m', base_url={url!r}, retries=0)"
_spec = importlib.util.spec_from_file_location(
    "chat_server", Path(__file__).parents[1] / "rewards" / "judges" / "chat_server.py"
)
assert _spec is not None
assert _spec.loader is not None
chat = sys.modules.setdefault("chat_server", importlib.util.module_from_spec(_spec))
_spec.loader.exec_module(chat)


def guess(history: str) -> HistoryWrapper:
    return HistoryWrapper(gym.make(GUESS, bits=6), history)


def test_the_last_pages_stay_and_of_earlier_turns_the_replies():
    env, plain = guess("pages(keep=2,opening=12)"), gym.make(GUESS, bits=6)
    first, info = env.reset(seed=3)
    pages = [plain.reset(seed=3)[0]]
    assert (first, "fresh" in info) == (pages[0], False)
    shown, fresh = [first], [False]
    for reply in ("1", "<think>so</think>2", "3"):
        pages.append(plain.step(reply)[0])
        page, _, _, _, info = env.step(reply)
        shown.append(page)
        fresh.append(info.get("fresh", False))
    assert fresh == [False, False, True, True]
    assert shown[1] == pages[1]
    assert shown[3] == (
        f"{pages[0][:12]}\n\n[Earlier turns]\n1: 1\n2: 2\n\n"
        f"[Turn 3]\n{pages[2]}\n[Your reply]\n3\n\n[Turn 4]\n{pages[3]}"
    )


def test_a_context_begins_anew_only_once_it_is_full():
    env = guess("pages(keep=1,until=3)")
    env.reset(seed=3)
    assert [env.step("1")[4].get("fresh", False) for _ in range(6)] == [False, False, True, False, False, True]


def test_notes_stay_in_view_and_never_reach_the_environment():
    env = guess("notes(keep=1,characters=20)")
    assert env.reset(seed=3)[0].endswith(Notes.instruction)
    page, _, _, _, info = env.step("<note>more than\n 5</note> 5")
    assert info["action_error"] is None
    assert "[Your notes]\n- more than 5\n" in page
    page = env.step("<note>at most 60</note>6")[0]
    assert "- at most 60" in page
    assert "more than 5" not in page  # both are more than 20 characters


def test_the_player_writes_a_summary_in_a_turn_that_the_environment_does_not_see():
    env, plain = guess("summary(keep=1,until=2,characters=30)"), gym.make(GUESS, bits=6)
    env.reset(seed=3)
    plain.reset(seed=3)
    env.step("1")
    plain.step("1")
    question, reward, *_, info = env.step("2")
    expected = plain.step("2")
    assert (question, reward, info["task_id"]) == (env.history.request, expected[1], expected[4]["task_id"])
    page, reward, terminated, truncated, info = env.step("<think>hm</think>neither 1 nor 2, " + "and so on " * 9)
    assert (reward, terminated, truncated, info["reward_terms"], info["fresh"]) == (0.0, False, False, {}, True)
    assert page.endswith(f"[Earlier turns]\nneither 1 nor 2, and so on and\n\n[Turn 3]\n{expected[0]}")
    assert env.step("3")[4]["action_error"] == plain.step("3")[4]["action_error"]


def test_another_agent_writes_the_summary():
    asked: list[str] = []

    def write(request, number):
        asked.append(request["messages"][-1]["content"])
        return {"content": f"summary {len(asked)}"}

    with chat.serving(write) as server:
        env = guess(f"summary(keep=1,until=1,by={WRITER.format(url=server.url)!r})")
        first = env.reset(seed=3)[0]
        env.step("1")
        page = env.step("2")[0]
    assert "[Earlier turns]\nsummary 2\n\n[Turn 3]" in page
    assert first in asked[0]
    assert "[Earlier turns]\nsummary 1" in asked[1]


@pytest.mark.parametrize("history", HISTORIES)
def test_every_history_is_shown_within_its_space_and_solved_by_the_oracle(history):
    report = palaestra.evaluate("oracle", GUESS, episodes=8, history=history, num_envs=3)
    assert report.success.mean == 1.0
    env = HistoryWrapper(gym.make(GUESS, bits=16), f"{history}(keep=3)")
    page, _ = env.reset(seed=0)
    for _ in range(12):
        assert env.observation_space.contains(page)
        page = env.step("<note>" + "x" * 5000 + "</note>" + "9" * 3000)[0]


def test_an_endpoint_forgets_its_conversation_where_the_context_begins_anew():
    lengths: list[int] = []

    def count(request, number):
        lengths.append(len(request["messages"]))
        return {"content": "1"}

    with chat.serving(count) as server:
        agent = find_agent(WRITER.format(url=server.url))
        palaestra.evaluate(agent, GUESS, episodes=1, history="pages(until=3)", axes={"bits": 6})
    assert lengths[:7] == [1, 3, 5, 1, 3, 5, 1]


def test_a_history_that_cannot_be_is_one_sentence():
    with pytest.raises(InputError, match="unknown history 'page'; did you mean 'pages'"):
        parse_history("page")
    with pytest.raises(InputError, match=r"until must be a whole number of at least 3 \(pages\), not 2"):
        parse_history("notes(keep=3,until=2)")
    with pytest.raises(InputError, match="a history needs observations and actions in text"):
        HistoryWrapper(gym.make("palaestra/DoorKey-v0"), "pages")


# In the learner -------------------------------------------------------------------------------------------------------


def play(language, history: str, samples: int = 3, tokens: int = 60):
    environments = Environments(GUESS, history, axes={"bits": 6}, prompt="terse")
    engine = language.engine(16, 512)
    engine.seed(3)
    limits = TokenLimits(action=6, episode=tokens, context=512)
    player = EpisodePlayer(environments, engine, language.renderer, limits, 1.0, np.random.default_rng(0))
    task = RolloutTask(environments.param_space.at(0.5), 4, samples, 4)
    return player, task


@pytest.mark.parametrize("history", ["pages(opening=40)", "notes(opening=40)", "summary(until=2,opening=40)"])
@pytest.mark.parametrize("packer", PACKERS)
def test_each_turn_is_scored_in_the_context_that_was_seen(small, history, packer):
    player, task = play(small, history)
    group = Independent().play([task], player)[0]
    batch = collate([group])
    assert batch.rows > 2 * batch.episodes  # contexts began anew
    again = Passes(packer=packer).measure(small.model, batch).logp
    assert (again - batch.logp_mu).abs().max() < 1e-5


def test_turn_mean_weighs_every_turn_alike_whatever_its_context(small):
    # M-GRPO, arXiv 2505.16421: 1 / (episodes x turns x tokens of the turn), summaries among the turns.
    player, task = play(small, "summary(until=2,opening=40)")
    batch = collate([Independent().play([task], player)[0]])
    weight = turn_mean(batch, batch.action)
    expected = [
        1 / (len(batch.trajectories) * len(t.turns) * len(turn.act_ids))
        for t in batch.trajectories
        for turn in t.turns
        for _ in turn.act_ids
    ]
    np.testing.assert_allclose(weight[batch.action].numpy(), expected, rtol=1e-5)
    assert weight.sum().item() == pytest.approx(1.0)
    assert any(turn.observation.startswith("The pages so far") for turn in batch.trajectories[0].turns)


def test_an_episode_branches_off_within_a_shortened_history(small):
    player, task = play(small, "notes(opening=40)", samples=1)
    played = player.play([Start(task)], states=True)[0]
    again = replay_moments(played.trajectory, player)
    assert [(m.observation, m.fresh) for m in again] == [(m.observation, m.fresh) for m in played.moments[: len(again)]]
    assert again[3].fresh
    other = player.play([branch(task, FinishedEpisode(played.trajectory, tuple(again)), 3)])[0].trajectory
    assert other.turns[3].obs_ids == played.trajectory.turns[3].obs_ids
    batch = collate([Group(0, (other,))])
    logp = Passes().measure(small.model, batch).logp
    assert (logp - batch.logp_mu).abs().max() < 1e-5


def test_the_warm_up_shows_the_same_contexts(small):
    env = guess("summary(until=2)")
    shown = demonstrate(env, small, 3, {"bits": 6, "slack": 2}, 512)
    fresh = [turn.fresh for turn in shown.turns]
    assert fresh[:5] == [False, False, False, True, False]
    assert shown.turns[2].observation == Summary(until=2).request
    assert collate([Group(0, (shown,))]).rows == 1 + sum(fresh)


def test_a_step_of_m_grpo_trains_every_turn_in_its_own_context(step):
    line = "palaestra/GuessNumber-v0 --axis bits=4 --steps 1 --lr 1e-3 --lr-warmup 1 --warmup.steps 0 --teacher random"
    line += " --final-episodes 1 --eval-every 0 --threads 1 --patience.no-signal 0 --track --model {untrained}"
    line += " --prompts 2 --samples 3 --max-new-tokens 6 --max-episode-tokens 120 --shaping count-bonus"
    line += " --recipe m_grpo --context"
    whole, shortened = step(f"{line} 3000"), step(f"{line} 300 --history pages(opening=60)")
    assert whole.first_difference(shortened) == "prompts"
    assert whole.weights != shortened.weights
    assert shortened.values("reduction")[0].sum() == pytest.approx(1.0)
    by_episode = step(f"{line} 300 --history pages(opening=60) --reduction sequence_mean")
    assert shortened.first_difference(by_episode) == "reduction"
