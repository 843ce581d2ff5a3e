"""Evaluation: what is played, what is counted, and what the user is told. On a small environment whose every number is
known.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import threading
import time
from collections.abc import Iterator

import gymnasium as gym
import numpy as np
import pytest
from palaestra import evaluate
from palaestra.agents import Agent, AgentError, EndEpisode
from palaestra.agents.evaluation.episodes import EpisodeRecord
from palaestra.agents.evaluation.evaluate import make_report
from palaestra.errors import InputError


class Climb(gym.Env):
    """Lasts 1 to 3 steps, by the seed. "up" in the last one succeeds when the difficulty is below 0.5, "cheat" always
    does.

    The observation is the seed, so that an agent (and a test) can see which episode it is in. "break" loses the reward.
    """

    observation_space = gym.spaces.Discrete(2**32)
    action_space = gym.spaces.Text(8, charset="abcdefghijklmnopqrstuvwxyz")

    class Space:
        def __init__(self, low: float = 0.0, high: float = 1.0):
            self.low, self.high = low, high

        def restrict(self, slope: tuple[float, float]) -> Climb.Space:
            return Climb.Space(*slope)

        def at(self, difficulty: float) -> dict[str, float]:
            return {"slope": self.low + difficulty * (self.high - self.low)}

        def difficulty(self, params: dict[str, float]) -> float:
            return (params["slope"] - self.low) / (self.high - self.low)

    def __init__(self, split: str = "train", render_mode: str | None = None):
        self.split = split
        self.param_space = Climb.Space()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        options = options or {}
        self.slope = options["params"]["slope"] if "params" in options else options["difficulty"]
        self.seed, self.left = seed, 1 + seed % 3
        return seed, {"task_id": f"{self.split}-{seed}", "params": {"slope": self.slope}, "difficulty": self.slope}

    def step(self, action):
        self.left -= 1
        done = self.left == 0
        success = done and (action == "cheat" or (action == "up" and self.slope < 0.5))
        info = {"reward_terms": {"outcome": float(success)}, "action_error": None, "reward_valid": action != "break"}
        if done:
            info |= {"is_success": success, "progress": float(success)}
        return self.seed, float(success), done, False, info


class Brittle(Climb):
    """Raises in the first step of every second seed, or of ``every`` one."""

    def __init__(self, every: int = 2):
        super().__init__()
        self.every = every

    def step(self, action):
        if self.seed % self.every == 0:
            raise OSError("the disk is gone")
        return super().step(action)


class Counter(gym.Env):
    """Counts three steps in one array that it hands out again and again."""

    observation_space = gym.spaces.Box(0, 3, (1,), int)
    action_space = gym.spaces.Discrete(1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = np.zeros(1, int)
        return self.count, {}

    def step(self, action):
        self.count += 1
        return self.count, 0.0, bool(self.count[0] == 3), False, {}


gym.register("palaestra-test/Climb-v0", Climb)
gym.register("palaestra-test/Counter-v0", Counter)
CLIMB = "palaestra-test/Climb-v0"


class TestWhatIsCounted:
    def test_success_by_difficulty(self):
        # Of 10 difficulties k/9 the first five are below 0.5.
        report = evaluate(lambda seed: "up", CLIMB, episodes=10, bins=2)
        assert report.success.mean == 0.5
        assert [(row.low, row.high, row.episodes, row.success.mean) for row in report.by_difficulty] == [
            (0.0, 0.5, 5, 1.0),
            (0.5, 1.0, 5, 0.0),
        ]

    def test_a_difficulty_on_an_edge_opens_the_bin_above_and_one_closes_the_last(self):
        # k/49 for k = 0 … 49 in 49 bins; in floats 1/49 · 49 is 0.9999999999999999, and must not fall a bin lower.
        report = evaluate(lambda seed: "up", CLIMB, episodes=50, bins=49)
        assert [row.episodes for row in report.by_difficulty] == [1] * 48 + [2]

    def test_given_difficulties_are_dealt_out_in_turn_and_have_rows_of_their_own(self):
        report = evaluate(lambda seed: "up", CLIMB, episodes=6, difficulties=[0.1, 0.9])
        rows = [(row.low, row.high, row.episodes, row.success.mean) for row in report.by_difficulty]
        assert rows == [(0.1, 0.1, 3, 1.0), (0.9, 0.9, 3, 0.0)]

    def test_axes_restrict_the_tasks_and_difficulty_runs_over_what_is_left(self):
        # slope 0 … 0.5: five of ten in either half, and only the very last (0.5) is too hard.
        report = evaluate(lambda seed: "up", CLIMB, episodes=10, axes={"slope": (0.0, 0.5)}, bins=2)
        rows = [(row.low, row.episodes, row.success.mean) for row in report.by_difficulty]
        assert rows == [(0.0, 5, 1.0), (0.5, 5, 0.8)]

    def test_length_is_the_mean_number_of_steps(self):
        seeds = []
        report = evaluate(lambda seed: seeds.append(seed) or "up", CLIMB, episodes=30)
        assert report.length.mean == pytest.approx(len(seeds) / 30)
        assert report.length.mean == pytest.approx(sum(1 + seed % 3 for seed in set(seeds)) / 30)

    def test_an_invalid_episode_is_counted_and_left_out(self):
        # Odd seeds break; all others succeed. Were the broken ones zeros, success would be below 1.
        seeds = set()

        def act(seed):
            seeds.add(seed)
            return "break" if seed % 2 else "cheat"

        report = evaluate(act, CLIMB, episodes=20)
        odd = sum(seed % 2 for seed in seeds)
        assert 0 < odd < 20
        assert (report.invalid, report.episodes) == (odd, 20 - odd)
        assert report.success.mean == report.reward.mean == 1.0

    def test_an_invalid_episode_stays_invalid_when_later_steps_are_fine(self):
        calls = {}

        def act(seed):
            calls[seed] = calls.get(seed, 0) + 1
            return "break" if calls[seed] == 1 and seed % 3 else "cheat"

        report = evaluate(act, CLIMB, episodes=20)
        assert report.invalid == sum(seed % 3 > 0 for seed in calls) > 0

    def test_all_invalid_leaves_nothing_known(self):
        report = evaluate(lambda seed: "break", CLIMB, episodes=4)
        assert (report.invalid, report.episodes) == (4, 0)
        assert math.isnan(report.success.mean)

    def test_an_environment_that_does_not_say_success_has_none(self):
        report = evaluate(lambda observation: 1, "CartPole-v1", episodes=2)
        assert math.isnan(report.success.mean)
        assert report.reward.mean == report.length.mean > 1
        assert (report.split, report.by_difficulty) == (None, ())


class TestDeterminism:
    def seeds(self, **options) -> list[int]:
        seen = []
        evaluate(lambda seed: seen.append(seed) or "up", CLIMB, **options)
        return sorted(set(seen))

    def test_episodes_do_not_depend_on_the_number_of_environments(self):
        reports = [evaluate("random", CLIMB, episodes=12, num_envs=n) for n in (1, 5, 32)]
        assert reports[0] == reports[1] == reports[2]

    def test_trajectories_do_not_depend_on_the_number_of_environments(self, tmp_path):
        for n in (1, 5):
            evaluate("random", CLIMB, episodes=12, num_envs=n, out=tmp_path / f"{n}.jsonl")
        assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "5.jsonl").read_bytes()

    def test_more_episodes_keep_the_first_ones(self):
        assert set(self.seeds(episodes=4)) < set(self.seeds(episodes=8))

    def test_another_seed_plays_other_episodes(self):
        assert not set(self.seeds(episodes=8, seed=0)) & set(self.seeds(episodes=8, seed=1))

    def test_every_episode_is_played_exactly_once(self, tmp_path):
        evaluate("random", CLIMB, episodes=11, num_envs=4, out=tmp_path / "t.jsonl")
        rows = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
        assert [row["episode"] for row in rows] == list(range(11))
        assert all(len(row["turns"]) == 1 + row["seed"] % 3 for row in rows)


class TestTheAgentsSide:
    def test_slots_are_reset_before_each_episode_and_told_when_idle(self):
        class Witness(Agent):
            def __init__(self):
                self.resets, self.idle, self.bound = [], 0, 0

            def bind(self, envs):
                self.bound = len(envs)

            def reset(self, indices):
                self.resets.extend(indices)

            def act(self, observations, infos):
                assert len(observations) == len(infos) == 4
                self.idle += sum(bool(info.get("idle")) for info in infos)
                return ["up"] * 4

        agent = Witness()
        report = evaluate(agent, CLIMB, episodes=9, num_envs=4)
        assert agent.bound == 4
        assert len(agent.resets) == 9
        assert agent.resets[:4] == [0, 1, 2, 3]
        assert agent.idle > 0
        assert report.agent == "agent"

    @pytest.mark.parametrize("env_id", ["palaestra/Arithmetic-v0", "palaestra/GuessNumber-v0"])
    def test_no_agent_sees_the_extras_among_which_is_the_reference(self, env_id):
        class Spy(Agent):
            def __init__(self):
                self.names = []

            def act(self, observations, infos):
                self.names.extend(set(info) for info in infos)
                return ["1"] * len(observations)

        spy = Spy()
        evaluate(spy, env_id, episodes=3, num_envs=2)
        assert all({"task_id", "params"} <= names and "extras" not in names for names in spy.names)

    def test_an_agent_that_plays_one_slot_gets_one(self):
        class Single(Agent):
            max_slots = 1

            def act(self, observations, infos):
                assert len(observations) == 1
                return ["up"]

        assert evaluate(Single(), CLIMB, episodes=3).episodes == 3

    def test_an_exception_of_a_function_fails_its_episode_and_no_other(self, tmp_path):
        seeds = []

        def act(seed):
            seeds.append(seed)
            if len(set(seeds)) == 3:
                raise ValueError("lost the thread")
            return "cheat"

        report = evaluate(act, CLIMB, episodes=5, out=tmp_path / "t.jsonl")
        assert (report.success.mean, report.episodes, report.errored, report.invalid) == (0.8, 5, 1, 0)
        assert "1 episodes in which the agent raised, counted as failed" in str(report)
        assert "ValueError: lost the thread" in str(report)
        rows = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
        assert [row["error"] for row in rows] == [None, None, "ValueError: lost the thread", None, None]

    def test_an_agent_that_does_nothing_but_raise_is_an_error_that_names_the_first_episode(self):
        calls = []
        with pytest.raises(AgentError, match=r"failed in episode 0 \(seed \d+, step 0\): ZeroDivisionError"):
            evaluate(lambda seed: calls.append(seed) or 1 / 0, CLIMB, episodes=100)
        assert len(calls) == 5

    def test_what_a_batched_agent_raises_names_the_episodes_in_play(self):
        class Broken(Agent):
            def act(self, observations, infos):
                raise ValueError("no")

        with pytest.raises(AgentError, match=r"failed in episode 0 .*: ValueError: no"):
            evaluate(Broken(), CLIMB, episodes=9, num_envs=3)

    def test_too_few_actions_are_refused(self):
        class Short(Agent):
            def act(self, observations, infos):
                return ["up"]

        with pytest.raises(AgentError, match="returned 1 actions for 3 slots"):
            evaluate(Short(), CLIMB, episodes=9, num_envs=3)

    def test_an_exception_of_the_environment_is_the_agents_where_the_action_is_none(self):
        with pytest.raises(AgentError, match=r"episode 0 .*AssertionError: 'left'"):
            evaluate(lambda observation: "left", "CartPole-v1", episodes=1)

    def test_an_exception_of_the_environment_makes_the_episode_invalid(self):
        report = evaluate(lambda seed: "cheat", lambda: Brittle(), episodes=9, difficulties=[0.0], num_envs=2)
        assert (report.errored, report.success.mean) == (0, 1.0)
        assert 0 < report.invalid < 9
        assert "OSError: the disk is gone (step)" in str(report)

    def test_an_environment_that_does_nothing_but_raise_is_an_error_that_names_the_episode(self):
        with pytest.raises(OSError, match="gone") as caught:
            evaluate(lambda seed: "cheat", lambda: Brittle(every=1), episodes=3, difficulties=[0.0])
        assert "step() of episode 0" in caught.value.__notes__[0]


class TestTrajectories:
    def test_a_line_tells_the_whole_episode(self, tmp_path):
        evaluate(lambda seed: "cheat", CLIMB, episodes=1, out=tmp_path / "deep" / "t.jsonl")
        (row,) = [json.loads(line) for line in (tmp_path / "deep" / "t.jsonl").read_text().splitlines()]
        assert row["task_id"] == f"test-{row['seed']}"
        assert row["params"] == {"slope": 0.5}
        assert (row["is_success"], row["return"], row["reward_valid"]) == (True, 1.0, True)
        assert row["turns"][-1] == {
            "observation": row["seed"],
            "action": "cheat",
            "reward": 1.0,
            "reward_terms": {"outcome": 1.0},
            "action_error": None,
            "feedback": "",
        }
        assert (row["reference"], row["replay"]) == (None, None)

    def test_a_line_has_the_reference_the_feedback_and_the_replay_of_an_episode_that_the_agent_ends(self, tmp_path):
        def act(observation: str) -> Iterator[str | EndEpisode]:
            yield "1"
            yield EndEpisode()

        out, replay = tmp_path / "played" / "t.jsonl", tmp_path / "replays"
        evaluate("oracle", "palaestra/Arithmetic-v0", episodes=1, out=out)
        row = json.loads(out.read_text())
        assert row["reference"] == row["turns"][0]["action"]
        assert row["turns"][0]["feedback"] == "Correct."
        evaluate(act, "palaestra/GuessNumber-v0", episodes=1, out=out, replay=replay)
        row = json.loads(out.read_text())
        assert row["replay"] == "../replays/episode-0000-unfinished.html"
        assert (out.parent / row["replay"]).is_file()

    def test_observations_that_are_arrays_are_written_as_lists(self, tmp_path):
        evaluate("random", "CartPole-v1", episodes=1, out=tmp_path / "t.jsonl")
        row = json.loads((tmp_path / "t.jsonl").read_text())
        assert all(isinstance(x, float) for x in row["turns"][0]["observation"])
        assert len({tuple(turn["observation"]) for turn in row["turns"]}) == len(row["turns"])

    def test_an_environment_that_reuses_its_array_is_written_as_it_was_seen(self, tmp_path):
        evaluate(lambda observation: 0, "palaestra-test/Counter-v0", episodes=1, out=tmp_path / "t.jsonl")
        row = json.loads((tmp_path / "t.jsonl").read_text())
        assert [turn["observation"] for turn in row["turns"]] == [[0], [1], [2]]

    def test_an_action_that_no_text_file_can_hold_is_written_all_the_same(self, tmp_path):
        evaluate(lambda seed: "\ud800", CLIMB, episodes=1, out=tmp_path / "t.jsonl")
        assert json.loads((tmp_path / "t.jsonl").read_text())["turns"][0]["action"] == "\ud800"

    def test_a_failed_evaluation_leaves_the_old_file_and_no_other(self, tmp_path):
        path = tmp_path / "t.jsonl"
        path.write_text("old")
        with pytest.raises(AgentError):
            evaluate(lambda seed: 1 / 0, CLIMB, episodes=2, out=path)
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"episodes": 0}, "episodes must be at least 1, not 0"),
            ({"num_envs": 0}, "num_envs must be at least 1, not 0"),
            ({"seed": -1}, "seed must be at least 0, not -1"),
            ({"episodes": 2.5}, "episodes must be a whole number of at least 1, not 2.5"),
            ({"episodes": None}, "episodes must be a whole number of at least 1, not None"),
            ({"seed": "a"}, "seed must be a whole number of at least 0, not 'a'"),
            ({"seed": True}, "seed must be a whole number of at least 0, not True"),
            ({"samples": 1.5}, "samples must be a whole number"),
            ({"concurrency": "a"}, "concurrency must be a whole number"),
            ({"difficulties": [0.5, 1.5]}, r"a difficulty must be a number in \[0, 1\], not 1.5"),
            ({"difficulties": ["hard"]}, r"a difficulty must be a number in \[0, 1\], not 'hard'"),
            ({"difficulties": 0.5}, r"difficulties must be numbers between 0 and 1, such as .*, not 0.5"),
            ({"difficulties": []}, "difficulties is empty"),
            ({"out": "."}, "out must be a file"),
        ],
    )
    def test_a_value_out_of_range_is_named(self, options, sentence):
        with pytest.raises(InputError, match=sentence):
            evaluate("random", CLIMB, **options)

    @pytest.mark.parametrize(
        "typo", ["palaestra-test/Climb-v1", "palaestra-test/Clim-v0", "Climb-v0", "palaestra/Climb-v0"]
    )
    def test_an_unknown_environment_is_told_with_the_close_id(self, typo):
        with pytest.raises(InputError, match=rf"unknown environment '{typo}'.*'palaestra-test/Climb-v0'"):
            evaluate("random", typo)

    def test_difficulties_for_an_environment_without_any_are_refused(self):
        with pytest.raises(InputError, match="'CartPole-v1' has no difficulty"):
            evaluate("random", "CartPole-v1", difficulties=[0.5])

    def test_a_module_that_cannot_be_imported_is_an_input_error(self):
        with pytest.raises(InputError, match="module 'no_such_module'"):
            evaluate("random", "no_such_module:Climb-v0")


class TestProgress:
    def test_a_callable_is_told_after_each_episode(self):
        told = []
        evaluate(lambda seed: "cheat", CLIMB, episodes=3, num_envs=1, progress=lambda *counts: told.append(counts))
        assert told == [(1, 1), (2, 2), (3, 3)]

    def test_a_quick_evaluation_draws_no_bar(self, capfd):
        evaluate("random", CLIMB, episodes=3, progress=True)
        assert capfd.readouterr() == ("", "")


class Sandboxed(Climb):
    """Waits, at the first step, until four take theirs."""

    needs_sandbox = True
    gate = threading.Barrier(4, timeout=60)

    def reset(self, *, seed=None, options=None):
        self.waits = True
        return super().reset(seed=seed, options=options)

    def step(self, action):
        if self.waits:
            self.waits = False
            self.gate.wait()
        return super().step(action)


gym.register("palaestra-test/Sandboxed-v0", Sandboxed)


def test_environments_that_run_programs_are_stepped_at_a_time():
    def success(env_id):
        return evaluate(lambda observation: "up", env_id, episodes=4, num_envs=4).success

    assert success("palaestra-test/Sandboxed-v0") == success(CLIMB)


def add_up(observation: str) -> str:
    return str(sum(int(number) for number in re.findall(r"\d+", observation)))


class Loud(gym.ObservationWrapper):
    """A wrapper that does not record how it was made."""

    def observation(self, observation: str) -> str:
        return observation.upper()


def test_an_environment_is_evaluated_as_its_id_is():
    made = gym.make("palaestra/Arithmetic-v0", operations="+")
    by_id = evaluate(add_up, "palaestra/Arithmetic-v0", episodes=12, env_kwargs={"operations": "+"})
    assert evaluate(add_up, made, episodes=12).to_json() == by_id.to_json()


def test_an_environment_keeps_its_wrappers_split_and_difficulty():
    env = gym.wrappers.TimeLimit(gym.make("palaestra/Sokoban-v0", split="train", difficulty=0.25), 1)
    report = evaluate("random", env, episodes=6)
    assert (report.split, report.length.mean) == ("train", 1.0)
    assert [round(row.low, 2) for row in report.by_difficulty] == [0.25]


def test_a_function_makes_environments_that_cannot_be_copied():
    def make() -> gym.Env:
        return Loud(gym.make("palaestra/Arithmetic-v0", split="all", operations="+", difficulty=0))

    report = evaluate(add_up, make, episodes=6)
    assert (report.env, report.split, report.success.mean) == ("palaestra/Arithmetic-v0", "all", 1.0)
    with pytest.raises(InputError, match="the wrapper Loud does not record its arguments; give a function"):
        evaluate(add_up, make(), episodes=6)
    with pytest.raises(InputError, match="env_kwargs are for an id"):
        evaluate(add_up, make, episodes=6, env_kwargs={"split": "test"})
    with pytest.raises(InputError, match="an id, an environment or a function that makes one, not 3"):
        evaluate(add_up, 3, episodes=6)


def test_calls_of_an_async_function_wait_side_by_side():
    waiting, most = 0, 0

    async def slow(observation: str) -> str:
        nonlocal waiting, most
        waiting, most = waiting + 1, max(most, waiting + 1)
        end = time.monotonic() + 60
        while most < 6 and time.monotonic() < end:  # for five others
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.01)  # a seventh would come meanwhile
        waiting -= 1
        return add_up(observation)

    report = evaluate(slow, "palaestra/Arithmetic-v0", episodes=12, num_envs=6, env_kwargs={"operations": "+"})
    assert (report.success.mean, most) == (1.0, 6)


@pytest.mark.parametrize("value", [None, (part for part in "12")])
def test_what_is_no_action_is_a_failure_of_the_agent_and_no_zero(value):
    with pytest.raises(AgentError, match=r"episode 0 .*: it returned (None|a generator) in place of an action"):
        evaluate(lambda _: value, "palaestra/Arithmetic-v0", episodes=2)


def test_an_exception_of_an_async_function_names_the_episode():
    async def fail(_: str) -> str:
        raise RuntimeError("no answer")

    with pytest.raises(AgentError, match=r"episode 0 .*RuntimeError: no answer"):
        evaluate(fail, "palaestra/Arithmetic-v0", episodes=2)


@pytest.mark.parametrize(("answer", "refused"), [("no number at all", 4), ("12345678", 0)])
def test_episodes_with_unreadable_answers_are_counted_apart_from_wrong_ones(answer, refused):
    report = evaluate(lambda _: answer, "palaestra/Arithmetic-v0", episodes=4)
    assert (report.refused, report.to_json()["refused"], report.success.mean) == (refused, refused, 0.0)


def test_failed_episodes_that_did_nothing_unasked_are_counted_where_the_environment_says_so():
    """By hand: two of three failures are safe; the success is not counted, and an unknown one neither."""
    told = [(False, True), (False, False), (False, True), (True, True), (False, None)]
    records = [EpisodeRecord(i, i, 0.5, success=success, safe=safe) for i, (success, safe) in enumerate(told)]
    again = [EpisodeRecord.from_json(json.loads(json.dumps(record.to_json()))) for record in records]
    assert [record.safe for record in again] == [safe for _, safe in told]
    for each in (records, again):
        report = make_report(each, "e", "a", None, 0)
        assert report.safe_failures == (2, 3)
        assert "2 of 3 failed episodes did nothing that was not asked for" in " ".join(str(report).split())
        assert (report.to_json()["safe_failures"], report.to_json()["failures"]) == (2, 3)
    assert make_report(records[3:], "e", "a", None, 0).safe_failures is None


class TestIntervalOfTheReward:
    """It is cut off at what an episode can earn, as the environment declares it."""

    def test_an_environment_declares_it(self, monkeypatch):
        def low() -> float:
            return evaluate(lambda seed: "cheat" if seed % 9 == 0 else "no", CLIMB, episodes=20).reward.low

        assert low() < 0.0
        monkeypatch.setattr(Climb, "return_range", (0.0, 1.0), raising=False)
        assert low() == 0.0

    def test_it_is_as_wide_as_the_values_say_where_one_lies_outside(self):
        values = [0.0] * 9 + [1.0]
        records = [EpisodeRecord(i, i, 0.5, reward=value, success=False) for i, value in enumerate(values)]
        free = make_report(records, "e", "a", None, 0).reward
        assert free.low < 0.0
        assert make_report(records, "e", "a", None, 0, return_range=(0.0, 1.0)).reward.low == 0.0
        assert make_report(records, "e", "a", None, 0, return_range=(0.0, 0.5)).reward == free
