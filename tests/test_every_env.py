"""The contract of every registered environment: a new family is covered here by being registered."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import pickle
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import palaestra
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit
from palaestra.envs import ChoiceAxis, Question, TaskEnv, Unicode
from palaestra.envs.baselines import DIFFICULTIES, PLAYERS, success_rates
from palaestra.errors import InputError

IDS = [name for name in palaestra.envs.ids() if name.startswith("palaestra/")]
GRID = (0.0, 0.25, 0.5, 0.75, 1.0)
HEADINGS = ("Description:", "Parameters:", "Observation:", "Actions:", "Reward:", "Termination:", "Source:")
EVERY_STEP = {"reward_terms", "reward_valid", "action_error", "is_success", "progress", "extras"}

every_env = pytest.mark.parametrize("env_id", IDS)


def lacks_sandbox(env_id: str) -> bool:
    """Whether the family runs programs, and this machine has no place where these are contained."""
    return shutil.which("bwrap") is None and getattr(gym.make(env_id).unwrapped, "needs_sandbox", False)


def make(env_id: str, **kwargs: Any) -> gym.Env[Any, Any]:
    return gym.make(env_id, disable_env_checker=True, **kwargs)


def plain(value: Any) -> Any:
    """Observations and infos as data that compares and prints alike everywhere."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def play(env: gym.Env[Any, Any], policy: Any = None, limit: int = 5000) -> list[Any]:
    """Go on with the episode by ``policy`` (the oracle where None); every step as (action, obs, reward, ends, info)."""
    record = []
    for _ in range(limit):
        action = env.unwrapped.oracle() if policy is None else policy()  # type: ignore[attr-defined]
        observation, reward, terminated, truncated, info = env.step(action)
        record.append((action, plain(observation), reward, terminated, truncated, info))
        if terminated or truncated:
            break
    return record


def episode(env: gym.Env[Any, Any], seed: int | None, **options: Any) -> list[Any]:
    observation, info = env.reset(seed=seed, options=options or None)
    return [plain(observation), info, *play(env)]


def digests() -> dict[str, str]:
    """One hash per id over several whole episodes; printed by the other process."""
    hashes = {}
    for env_id in [name for name in IDS if not lacks_sandbox(name)]:
        episodes = [episode(make(env_id, split=split), seed) for seed in (0, 7) for split in ("train", "test")]
        hashes[env_id] = hashlib.sha256(json.dumps(episodes, default=dict).encode()).hexdigest()
    return hashes


def test_the_six_families_are_registered():
    names = {"Arithmetic", "LinearEquation", "Countdown", "GuessNumber", "DoorKey", "DoorKeyText"}
    assert {f"palaestra/{name}-v0" for name in names} <= set(IDS)


@every_env
def test_gymnasium_finds_no_fault(env_id: str):
    check_env(gym.make(env_id).unwrapped)


@every_env
def test_same_seed_gives_same_episode(env_id: str):
    env = make(env_id)
    assert episode(env, 5) == episode(make(env_id), 5)
    first = [episode(env, 6), episode(env, None), episode(env, None)]
    assert [episode(env, 6), episode(env, None), episode(env, None)] == first


def test_same_seed_gives_same_episode_in_another_process_under_another_hash_seed():
    environment = {**os.environ, "PYTHONHASHSEED": "4242"}
    done = subprocess.run(
        [sys.executable, str(Path(__file__))], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == digests()


@every_env
@pytest.mark.parametrize("split", ["train", "test"])
def test_oracle_succeeds_at_every_difficulty(env_id: str, split: str):
    env = make(env_id, split=split)
    runs_programs = getattr(env.unwrapped, "needs_sandbox", False)
    for difficulty in GRID:
        played = set()
        for seed in range(4 if split == "test" else 50 if runs_programs else 100):
            _, info = env.reset(seed=seed, options={"difficulty": difficulty})
            # Data sets have few tasks; one of them takes as long as fifty of those that run no program.
            if runs_programs and info["task_id"] in played:
                continue
            played.add(info["task_id"])
            last = play(env)[-1]
            assert last[3], (difficulty, seed)
            assert last[5]["is_success"] is True
            assert last[5]["progress"] == 1.0


@every_env
def test_answers_without_thought_earn_next_to_nothing(env_id: str):
    env = make(env_id)
    family = type(env.unwrapped)
    prompt = ""
    env.action_space.seed(0)
    rng = np.random.default_rng(0)

    def numbers() -> str:
        return " ".join(map(str, rng.integers(0, 20, rng.integers(1, 6)).tolist()))

    if isinstance(env.action_space, Unicode):
        constants = ["", "0", "1", "2", "10", "42", "1*2*3*4", "A", "x", "yes", "true", "correct", "go forward"]
        policies = [lambda c=c: c for c in [*constants, "\\boxed{}"]]
        policies += [lambda: prompt, numbers, env.action_space.sample]
    else:
        policies = [lambda c=c: c for c in range(env.action_space.n)]  # type: ignore[attr-defined]
    inner: Any = env.unwrapped
    rewards = [0.0] * len(policies)
    for seed in range(60):
        # Making a task takes longer than judging an answer, so all policies play from one snapshot.
        prompt, _ = env.reset(seed=seed)
        start = inner.get_state()
        for index, policy in enumerate(policies):
            inner.set_state(start)
            rewards[index] += max(0.0, sum(step[2] for step in play(env, policy, limit=25))) / 60
    for policy, reward in zip(policies, rewards):
        assert reward <= max(0.02, family.chance), policy()  # type: ignore[attr-defined]
    if family.chance > 0.02:  # type: ignore[attr-defined]
        assert "by chance" in (family.__doc__ or "")


@every_env
def test_players_without_thought_succeed_as_often_as_the_family_states(env_id: str):
    env: Any = make(env_id).unwrapped
    assert set(env.baselines) <= set(PLAYERS)
    slow = getattr(env, "needs_sandbox", False)
    for place, difficulty in enumerate(DIFFICULTIES):
        episodes = 12 if slow else 40
        for player, rate in success_rates(env_id, difficulty, episodes).items():
            stated = env.baselines[player][place] if player in env.baselines else 0.02
            # 3.5 standard errors, so that of all these comparisons none fails by chance alone.
            room = 3.5 * (max(stated, 0.02) * (1.02 - min(stated, 1.0)) / episodes) ** 0.5
            assert rate <= stated + room, (player, difficulty)
            assert player not in env.baselines or rate >= stated - room, (player, difficulty)


@every_env
def test_baselines_fall_with_difficulty_or_the_docstring_says_why_not(env_id: str):
    env: Any = make(env_id).unwrapped
    for player, rates in env.baselines.items():
        assert len(rates) == len(DIFFICULTIES)
        assert max(rates) > 0.02, player
        rises = any(harder > easier + 0.05 for easier, harder in itertools.pairwise(rates))
        if rises or rates[-1] > max(0.1, rates[0] / 2):
            assert "does not fall" in (type(env).__doc__ or ""), player


@every_env
def test_every_game_has_a_random_legal_player(env_id: str):
    env: Any = make(env_id).unwrapped
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    if isinstance(env.action_space, Unicode) and type(env).random_action is not TaskEnv.random_action:
        for _ in range(5):
            info = env.step(env.write_action(env.random_action(env.here(), rng)))[-1]
            assert info["action_error"] is None or isinstance(env, Question)
            if env._ended:
                break
    else:
        assert not isinstance(env.action_space, Unicode) or getattr(env, "needs_sandbox", False)


@every_env
def test_open_axes_reach_their_limits(env_id: str):
    env = make(env_id)
    space = env.unwrapped.param_space  # type: ignore[attr-defined]
    for axis in space.axes:
        if isinstance(axis, ChoiceAxis) or axis.limits == (axis.low, axis.high):
            continue
        for limit in set(axis.limits) - {axis.low, axis.high}:
            assert make(env_id, axes={axis.name: [min(limit, axis.low), max(limit, axis.high)]})
            wide = make(env_id, difficulty=0.0, **{axis.name: limit})
            last = episode(wide, 0, params={axis.name: limit})
            assert last[1]["params"][axis.name] == limit
            assert last[-1][5]["is_success"] is True
    if space.max_difficulty > 1.0:
        beyond = 1.0 + (space.max_difficulty - 1.0) / 4
        _, info, *steps = episode(env, 0, difficulty=beyond)
        assert info["difficulty"] > 1.0
        assert steps[-1][5]["is_success"] is True


@every_env
def test_difficulty_is_monotone_in_every_axis(env_id: str):
    space = make(env_id).unwrapped.param_space  # type: ignore[attr-defined]
    assert len(space) >= 1
    assert space.difficulty(space.at(0.0)) == 0.0
    assert space.difficulty(space.at(1.0)) == 1.0
    ladder = [space.at(step / 50) for step in range(51)]
    for axis in [axis for axis in space.axes if axis.harder is not None]:
        units = [axis.to_unit(params[axis.name]) for params in ladder]
        assert units == sorted(units, reverse=axis.harder == "down")
        assert len(set(units)) > 1


@every_env
def test_harder_tasks_take_a_solver_more_work(env_id: str):
    env = make(env_id)

    def effort(difficulty: float) -> float:
        total = 0.0
        for seed in range(24):
            observation, _ = env.reset(seed=seed, options={"difficulty": difficulty})
            inner: Any = env.unwrapped
            cost = inner.solver_cost(inner.here())
            if cost is None:
                # Reading and writing: what is to be understood, and what the answer takes.
                cost = len(observation) if isinstance(observation, str) else 0
                cost += sum(len(str(step[0])) for step in play(env))
            total += cost
        return total

    assert effort(0.0) < effort(0.5) < effort(1.0)


@every_env
def test_resets_and_steps_supply_the_declared_extras(env_id: str):
    env = make(env_id, difficulty=0.0)
    _, info = env.reset(seed=3)
    supplies = env.unwrapped.supplies  # type: ignore[attr-defined]
    assert supplies == set(info["extras"])
    assert all(set(step[5]["extras"]) == supplies for step in play(env))


# Families with nothing to write down between question and answer, and why.
ONE_STEP = {
    "palaestra/MultipleChoiceQuestions-v0": "a question of knowledge; the records of the small set have no rationale",
    "palaestra/ReasoningGym-v0": "the library's data sets have no worked solutions",
}

every_question = pytest.mark.parametrize(
    "env_id", [name for name in IDS if isinstance(make(name).unwrapped, palaestra.envs.Question)]
)


@every_question
def test_a_question_supplies_its_reference_and_its_worked_solution(env_id: str):
    env: Any = make(env_id)
    for difficulty in (0.0, 0.5, 1.0):
        _, info = env.reset(seed=4, options={"difficulty": difficulty})
        task, inner = env.unwrapped.here(), env.unwrapped
        *steps, answer = info["extras"]["solution_steps"]
        assert bool(steps) is (env_id not in ONE_STEP)
        assert answer == info["extras"]["reference"] == inner.oracle(task)
        assert all(isinstance(step, str) and step.strip() and "\n" not in step for step in steps)
        assert [*steps, answer] == inner.solution_steps(task)
        later = env.step(inner.write_action(answer))[4]
        assert later["is_success"] is True
        assert later["extras"]["solution_steps"] == [*steps, answer]


@every_question
def test_criteria_do_not_give_the_answer_away(env_id: str):
    env: Any = make(env_id).unwrapped
    for difficulty in (0.0, 0.5, 1.0):
        for seed in range(5):
            observation, info = env.reset(seed=seed, options={"difficulty": difficulty})
            criteria, answer = info["extras"]["criteria"] or [], info["extras"]["reference"]
            assert all(isinstance(text, str) and text.strip() for text in criteria)
            whole = re.compile(rf"(?<![\w.]){re.escape(answer)}(?![\w/]|\.\d)")
            assert whole.search(observation) or not whole.search("\n".join(criteria))


@every_question
def test_the_steps_of_a_solution_end_in_the_answer(env_id: str):
    env: Any = make(env_id, difficulty=0.5).unwrapped
    for seed in range(10):
        env.reset(seed=seed)
        steps = env.solution_steps(env.here())
        assert steps[-1] == env.oracle(env.here())
        assert all(step.strip() and "\n" not in step for step in steps[:-1])


@every_env
def test_snapshot_and_replay_agree(env_id: str):
    env, other = make(env_id), make(env_id)
    for seed in range(3):
        env.reset(seed=seed)
        other.reset(seed=seed + 50)
        if len(play(env)) > 3:
            env.reset(seed=seed)
            play(env, limit=2)
        else:
            env.reset(seed=seed)
        snapshot = pickle.loads(pickle.dumps(env.unwrapped.get_state()))  # type: ignore[attr-defined]
        future = [play(env), episode(env, None)]
        for replay in (env, other):
            replay.unwrapped.set_state(snapshot)  # type: ignore[attr-defined]
            assert [play(replay), episode(replay, None)] == future


@every_env
def test_a_snapshot_of_another_family_is_refused(env_id: str):
    with pytest.raises(InputError, match="get_state"):
        make(env_id).unwrapped.set_state({"family": "Chess"})  # type: ignore[attr-defined]


HOSTILE: list[Any] = [
    *(None, 3.5, float("nan"), b"42", [], {}, object(), True, -1, 10**30, ["turn left"], np.zeros(3), np.array("x")),
    *("", " ", "\n\n", "\0", "\x1b[2J", "\ud800", "\u0664\u0662", "\uff14\uff12", "\u200b42"),
    *("4" * 5000, "x" * 1_000_000, "\\boxed{" * 500, "}" * 500, "(" * 3000, "-" * 4000 + "1"),
    *("<answer>", "</answer><answer>", "<answer>" * 300 + "</answer>" * 300, "nan", "inf", "{}", "%s%n"),
    *("9**9**9", "__import__('os').getpid()", "1/0", "1e999", "'; DROP TABLE tasks; --"),
]


@every_env
def test_two_hundred_fuzzed_actions_do_no_harm(env_id: str):
    env = make(env_id, difficulty=0.5)
    env.action_space.seed(1)
    rng = np.random.default_rng(1)
    env.reset(seed=1)
    text = isinstance(env.action_space, Unicode)
    for i in range(200):
        if i < len(HOSTILE):
            action = HOSTILE[i]
        else:
            action = env.action_space.sample() if i % 2 else "".join(map(chr, rng.integers(0, 0xD7FF, 30).tolist()))
        observation, reward, terminated, truncated, info = env.step(action)
        assert env.observation_space.contains(observation)
        assert reward == sum(info["reward_terms"].values())
        assert info["reward_valid"] is True
        if info["action_error"] is not None:
            assert 0 < len(info["action_error"]) < 400
            assert reward == 0.0
            assert not info["is_success"]
        if text and (not isinstance(action, str) or not action.strip() or len(action) > 100_000):
            assert info["action_error"]
        if terminated or truncated:
            env.reset()


@every_env
def test_environments_can_be_pickled_at_any_moment(env_id: str):
    env = gym.make(env_id)
    assert episode(pickle.loads(pickle.dumps(env)), 3) == episode(env, 3)
    env.reset(seed=4)
    copied = pickle.loads(pickle.dumps(env))
    assert play(copied) == play(env)


@every_env
def test_spec_survives_json_with_its_arguments(env_id: str):
    axis = make(env_id).unwrapped.param_space.axes[0]  # type: ignore[attr-defined]
    narrow = list(axis.choices[:1]) if isinstance(axis, ChoiceAxis) else [axis.low, axis.low]
    env = gym.make(env_id, difficulty=1.0, split="test", axes={axis.name: narrow})
    assert env.spec is not None
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert episode(env, 2) == episode(again, 2)
    assert again.reset(seed=0)[1]["params"][axis.name] == narrow[0]


@every_env
def test_synchronous_and_asynchronous_vectors_agree(env_id: str):
    runs = []
    for mode in ("sync", "async"):
        envs = gym.make_vec(env_id, num_envs=2, vectorization_mode=mode)
        envs.action_space.seed(3)
        observations, infos = envs.reset(seed=11)
        run = [plain(observations), infos["task_id"].tolist()]
        for _ in range(3):
            observations, rewards, terminated, _, infos = envs.step(envs.action_space.sample())
            run += [plain(observations), rewards.tolist(), terminated.tolist(), infos["task_id"].tolist()]
        envs.close()
        runs.append(run)
    # A vector may hold a batch of texts in a tuple or a list; json makes no difference between them.
    assert json.dumps(runs[0]) == json.dumps(runs[1])
    assert runs[0][1][0] != runs[0][1][1]


@every_env
def test_stock_wrappers_work(env_id: str):
    env = RecordEpisodeStatistics(make(env_id))
    steps = episode(env, 1)[2:]
    assert steps[-1][5]["episode"]["r"] == pytest.approx(sum(step[2] for step in steps))
    assert steps[-1][5]["episode"]["l"] == len(steps)
    limited = TimeLimit(make(env_id, difficulty=1.0), max_episode_steps=1)
    limited.reset(seed=1)
    _, _, terminated, truncated, info = limited.step("" if isinstance(limited.action_space, Unicode) else 0)
    assert terminated or truncated
    assert info["is_success"] is False


@every_env
def test_docstring_has_the_fixed_headings_and_names_every_axis(env_id: str):
    env = make(env_id).unwrapped
    doc = type(env).__doc__ or ""
    positions = [doc.find(heading) for heading in HEADINGS]
    assert -1 not in positions
    assert positions == sorted(positions)
    parameters = doc[positions[1] : positions[2]]
    for axis in env.param_space.axes:  # type: ignore[attr-defined]
        assert axis.name in parameters
        ends = axis.choices if isinstance(axis, ChoiceAxis) else (axis.low, axis.high, *axis.limits)
        assert all(str(end) in parameters for end in ends)


@every_env
def test_no_content_is_in_both_splits(env_id: str):
    def content(split: str, seed: int) -> set[str]:
        env = envs[split]
        env.reset(seed=seed)
        inner: Any = env.unwrapped
        return {inner.content_of(inner.here()), inner.split_key(inner.here())} - {""}

    envs = {split: make(env_id, split=split, difficulty=0.0) for split in ("train", "test", "all")}
    # A test task takes five draws, so there are fewer of them.
    train = set().union(*[content("train", seed) for seed in range(150)])
    test = set().union(*[content("test", seed) for seed in range(50)])
    assert train
    assert test
    assert not train & test
    # Where a split needs no second draw, its task is that of "all" under the same seed.
    assert any(content("all", seed) & (train | content("train", seed)) for seed in range(150))
    assert any(content("all", seed) & (test | content("test", seed)) for seed in range(150))


@every_env
def test_global_random_generators_are_left_alone(env_id: str):
    before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
    env = make(env_id)
    for seed in (0, None):
        episode(env, seed)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # type: ignore[index]  # noqa: NPY002


@every_env
def test_info_keeps_its_contract(env_id: str):
    env = make(env_id)
    space = env.unwrapped.param_space  # type: ignore[attr-defined]
    _, first, *steps = episode(env, 3)
    assert set(first) >= {"task_id", "params", "difficulty", "extras"}
    assert space.validate(first["params"]) == first["params"]
    assert space.complete(first["params"], np.random.default_rng(0)) == first["params"]  # none is missing
    assert first["difficulty"] == space.difficulty(first["params"])
    for *_, reward, terminated, truncated, info in steps:
        assert set(info) >= EVERY_STEP
        assert {key: info[key] for key in first} == {**first, "extras": info["extras"]}
        assert sum(info["reward_terms"].values()) == pytest.approx(reward)
        assert isinstance(info["is_success"], bool)
        assert 0.0 <= info["progress"] <= 1.0
        assert info["is_success"] is (terminated and not truncated)
        assert json.loads(json.dumps(info, default=dict)) == info


@every_env
def test_parameters_follow_the_request(env_id: str):
    env = make(env_id)
    space = env.unwrapped.param_space  # type: ignore[attr-defined]
    hardest = space.complete({}, np.random.default_rng(0), 1.0)
    # A difficulty leaves an axis open on which nothing is harder.
    choice = {axis.name: hardest[axis.name] for axis in space.axes if axis.harder is None}
    assert env.reset(seed=0, options={"difficulty": 1.0, "params": choice})[1]["params"] == hardest
    assert env.reset(seed=0, options={"params": hardest})[1]["params"] == hardest
    name = space.names[0]
    part = env.reset(seed=0, options={"params": {name: hardest[name]}, "difficulty": 0.0})[1]["params"]
    assert part == {**space.validate({**space.at(0.0), **choice}), name: hardest[name]}
    fixed = make(env_id, **{name: hardest[name]})
    assert {fixed.reset(seed=seed)[1]["params"][name] for seed in range(5)} == {hardest[name]}
    assert len({json.dumps(env.reset(seed=seed)[1]["params"]) for seed in range(20)}) > 5


@every_env
def test_value_out_of_range_is_refused_naming_axis_and_range(env_id: str):
    env = make(env_id)
    for axis in env.unwrapped.param_space.axes:  # type: ignore[attr-defined]
        choice = isinstance(axis, ChoiceAxis)
        ends = axis.choices if choice else axis.limits
        for bad in ["none of these", None] if choice else [ends[0] - 1, ends[1] + 1, "3", None]:
            with pytest.raises(InputError) as by_reset:
                env.reset(options={"params": {axis.name: bad}})
            with pytest.raises(InputError) as by_make:
                make(env_id, **{axis.name: bad})
            for error in (by_reset, by_make):
                assert axis.name in str(error.value)
                assert repr(bad) in str(error.value)
                assert all(str(end) in str(error.value) for end in ends)


@every_env
@pytest.mark.parametrize(
    "wrong",
    [{"difficulty": 1e9}, {"difficulty": "hard"}, {"split": "tests"}, {"sead": 1}, {"axes": 3}, {"axes": {"q": 1}}],
)
def test_wrong_arguments_are_refused_in_one_sentence(env_id: str, wrong: dict[str, Any]):
    with pytest.raises(InputError) as error:
        make(env_id, **wrong)
    assert "\n" not in str(error.value)


@every_env
def test_stepping_outside_an_episode_needs_a_reset(env_id: str):
    env = make(env_id).unwrapped
    action = "1" if isinstance(env.action_space, Unicode) else 0
    with pytest.raises(gym.error.ResetNeeded):
        env.step(action)
    with pytest.raises(gym.error.ResetNeeded):
        env.oracle()  # type: ignore[attr-defined]
    with pytest.raises(gym.error.ResetNeeded):
        env.get_state()  # type: ignore[attr-defined]
    episode(env, 0)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(action)


@pytest.mark.parametrize("env_id", [name for name in IDS if isinstance(make(name).observation_space, Unicode)])
def test_texts_are_as_short_and_plain_as_the_family_states(env_id: str):
    env: Any = make(env_id)
    for seed in range(20):
        observation, _, *steps = episode(env, seed)
        for text in [observation, *(step[1] for step in steps), *(step[0] for step in steps)]:
            assert text.isascii() or not env.unwrapped.is_ascii
            assert len(text) <= env.unwrapped.longest_text


if __name__ == "__main__":
    print(json.dumps(digests()))
