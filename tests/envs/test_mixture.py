"""Several environments as one, beyond what the suite over every id shows of the default ones."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import gymnasium as gym
import pytest
from palaestra.errors import InputError

SUMS, MAZE, GUESS = "palaestra/Arithmetic-v0", "palaestra/Maze-v0", "palaestra/GuessNumber-v0"


def make(*envs: Any, **kwargs: Any) -> Any:
    return gym.make("palaestra/Mixture-v0", envs=list(envs), disable_env_checker=True, **kwargs).unwrapped


def draws(env: Any, count: int = 300) -> Counter[str]:
    return Counter(env.reset(seed=seed)[1]["params"]["env"] for seed in range(count))


def test_each_environment_has_its_own_axes_options_and_weight():
    env = make({"id": SUMS, "axes": {"digits": [1, 1]}, "weight": 3, "options": {"answer_format": "boxed"}}, GUESS)
    assert draws(env)["Arithmetic"] / 300 == pytest.approx(0.75, abs=0.08)
    observation, info = env.reset(seed=0, options={"params": {"env": "Arithmetic"}})
    assert info["params"]["Arithmetic.digits"] == 1
    assert "boxed" in observation
    assert env.oracle().startswith("\\boxed")
    assert "boxed" not in env.reset(seed=0, options={"params": {"env": "GuessNumber"}})[0]


def test_a_task_is_that_of_the_environment_itself():
    env, alone = make(SUMS, GUESS), gym.make(SUMS).unwrapped
    for seed in range(5):
        prompt, info = env.reset(seed=seed, options={"params": {"env": "Arithmetic"}, "difficulty": 0.5})
        alone.set_state(env.part.get_state())  # type: ignore[attr-defined]
        assert prompt.startswith(alone.here().prompt)  # type: ignore[attr-defined]
        assert info["task_id"] == f"Arithmetic:{alone.task_info()['task_id']}"  # type: ignore[attr-defined]
        assert info["difficulty"] == alone.task_info()["difficulty"]  # type: ignore[attr-defined]


def test_a_game_and_a_question_are_played_to_their_ends():
    env = make(SUMS, GUESS)
    lengths = {}
    for name in ("Arithmetic", "GuessNumber"):
        env.reset(seed=1, options={"params": {"env": name}, "difficulty": 1.0})
        done = False
        while not done:
            _, _, terminated, truncated, info = env.step(env.oracle())
            lengths[name] = lengths.get(name, 0) + 1
            done = terminated or truncated
        assert info["is_success"]
    assert lengths["Arithmetic"] == 1 < lengths["GuessNumber"]


def test_its_returns_are_those_of_the_widest_environment():
    assert make(SUMS, GUESS).return_range == (0.0, 1.0)
    assert make(SUMS, "palaestra/MovingObstaclesText-v0").return_range == (-1.0, 1.0)


def test_extras_are_the_union_and_unknown_ones_are_none():
    env = make("palaestra/MBPP-v0", SUMS)
    _, info = env.reset(seed=0, options={"params": {"env": "Arithmetic"}})
    assert info["extras"]["solution_steps"] == env.solution_steps(env.here())
    extras = env.step(env.oracle())[4]["extras"]
    assert set(extras) == env.supplies >= {"tests"}
    assert extras["tests"] is None


def test_two_environments_of_one_id_get_different_names():
    env = make(SUMS, {"id": SUMS, "options": {"terms": 2}}, {"id": SUMS, "name": "Long", "options": {"terms": 6}})
    assert list(env.parts) == ["Arithmetic", "Arithmetic-2", "Long"]
    assert set(draws(env, 40)) == {"Arithmetic", "Arithmetic-2", "Long"}
    with pytest.raises(InputError, match="two environments of a mixture have the name 'A'"):
        make({"id": SUMS, "name": "A"}, {"id": MAZE, "name": "A"})


def test_weights_follow_training_progress():
    env = make(SUMS, {"id": GUESS, "weight": {"kind": "linear", "start": 0.0, "end": 1.0}})
    assert draws(env, 40) == {"Arithmetic": 40}
    env.set_progress(100, 100)
    assert draws(env)["GuessNumber"] / 300 == pytest.approx(0.5, abs=0.09)


def test_questions_with_long_answers_are_left_out():
    for env in (
        make({"id": SUMS, "longest_answer": 2}, GUESS),
        make(SUMS, GUESS, longest_answer=2),
        make({"id": SUMS, "longest_answer": 2}, GUESS, longest_answer=9),
    ):
        for seed in range(20):
            env.reset(seed=seed, options={"params": {"env": "Arithmetic", "Arithmetic.digits": 2}})
            assert len(env.oracle()) <= 2
        env.reset(seed=0, options={"params": {"env": "GuessNumber", "GuessNumber.bits": 16}})
    with pytest.raises(InputError, match="raise longest_answer"):
        env.reset(options={"params": {"env": "Arithmetic", "Arithmetic.digits": 6, "Arithmetic.operations": "+"}})


def test_the_split_is_that_of_each_environment():
    for split in ("train", "test"):
        env = make(SUMS, MAZE, split=split)
        assert {part.split for part in env.parts.values()} == {split}


def test_the_specification_is_json():
    env = gym.make("palaestra/Mixture-v0", envs=[SUMS, {"id": MAZE, "weight": 2}])
    assert env.spec is not None
    assert json.loads(env.spec.to_json())["kwargs"]["envs"][1] == {"id": MAZE, "weight": 2}


@pytest.mark.parametrize(
    ("envs", "words"),
    [
        (SUMS, "envs must be a list"),
        ([], "at least one"),
        ([3], "an id or a mapping"),
        ([{"weight": 2}], "an id or a mapping"),
        ([{"id": SUMS, "digit": 2}], "did you mean 'digits'"),
        ([{"id": SUMS, "axes": 3}], "axes of palaestra/Arithmetic-v0 must map"),
        ([{"id": SUMS, "axes": {"digit": 3}}], "did you mean 'digits'"),
        ([{"id": SUMS, "options": {"split": "test"}}], "must be given to the mixture itself"),
        ([{"id": SUMS, "name": "a.b"}], "of letters, digits"),
        ([{"id": SUMS, "longest_answer": 0}], "longest_answer"),
        ([{"id": SUMS, "weight": -1}], "the weight of Arithmetic"),
        (["palaestra/Nothing-v0"], "unknown environment 'palaestra/Nothing-v0'"),
        (["CartPole-v1"], "CartPole-v1"),
        (["palaestra/DoorKey-v0"], "only environments of palaestra.envs with text actions"),
        (["palaestra/Mixture-v0"], "list its environments"),
    ],
)
def test_what_cannot_be_mixed_is_refused_in_one_sentence(envs: Any, words: str):
    with pytest.raises(InputError, match=words) as error:
        gym.make("palaestra/Mixture-v0", envs=envs)
    assert "\n" not in str(error.value)


def test_a_snapshot_of_another_mixture_is_refused():
    env = make(SUMS, GUESS)
    env.reset(seed=0, options={"params": {"env": "GuessNumber"}})
    with pytest.raises(InputError, match="'GuessNumber', which is not in this mixture"):
        make(SUMS, MAZE).set_state(env.get_state())


def test_a_right_answer_in_a_broken_format_earns_nothing_where_the_blend_demands_one():
    env = make(SUMS, "palaestra/LinearEquation-v0", answer_format="tag")
    for name in ("Arithmetic", "LinearEquation"):
        for wrap, reward in (("<answer>{}</answer>", 1.0), ("{}", 0.0)):
            env.reset(seed=0, options={"params": {"env": name}})
            bare = env.part.oracle(env.here())
            assert env.step(wrap.format(bare))[1] == reward
