"""pass@k and its intervals, with numbers worked out by hand."""

from __future__ import annotations

import itertools
import json
import math

import gymnasium as gym
import numpy as np
import pytest
from palaestra import evaluate
from palaestra.agents.evaluation import share_interval
from palaestra.agents.evaluation.pass_at_k import pass_at_k, pass_at_ks, powers_of_two
from palaestra.errors import InputError
from palaestra.scripts.cli import main


class Door(gym.Env):
    """One step; "open" succeeds, "break" loses the reward. The observation is the seed."""

    observation_space = gym.spaces.Discrete(2**32)
    action_space = gym.spaces.Text(8, charset="abcdefghijklmnopqrstuvwxyz")

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return seed, {"task_id": str(seed)}

    def step(self, action):
        info = {"is_success": action == "open", "progress": 0.0, "reward_valid": action != "break"}
        return 0, float(action == "open"), True, False, info


gym.register("palaestra-test/Door-v0", Door)
DOOR = "palaestra-test/Door-v0"


class TestTheEstimator:
    def test_two_right_of_four(self):
        # 1 - C(2, k) / C(4, k): 1 - 2/4, 1 - 1/6, 1 - 0/4.
        assert [pass_at_k(4, 2, k) for k in (1, 2, 3)] == [0.5, pytest.approx(5 / 6), 1.0]

    def test_it_is_the_share_of_subsets_that_hold_a_success(self):
        for samples, successes, k in ((5, 1, 2), (6, 2, 3), (7, 3, 4)):
            subsets = list(itertools.combinations([1] * successes + [0] * (samples - successes), k))
            assert pass_at_k(samples, successes, k) == pytest.approx(np.mean([any(chosen) for chosen in subsets]))

    def test_it_is_unbiased(self):
        # Exactly, over the binomial distribution: p = 0.3, n = 6, k = 4 gives 1 - 0.7⁴ = 0.7599.
        mean = sum(math.comb(6, c) * 0.3**c * 0.7 ** (6 - c) * pass_at_k(6, c, 4) for c in range(7))
        assert mean == pytest.approx(0.7599)

    def test_thousands_of_samples_neither_overflow_nor_cancel(self):
        assert pass_at_k(100_000, 1, 1) == 1e-5
        assert pass_at_k(10_000, 1, 5_000) == 0.5
        assert 1 - pass_at_k(2_000, 3, 1_000) == pytest.approx(0.125, abs=2e-4)

    def test_none_and_all_are_exact(self):
        assert {pass_at_k(64, 0, k) for k in (1, 8, 64)} == {0.0}
        assert {pass_at_k(64, 64, k) for k in (1, 8, 64)} == {1.0}

    @pytest.mark.parametrize(
        ("counts", "sentence"),
        [
            ((4, 5, 1), "successes must be in 0 … 4, the number of samples, not 5"),
            ((4, -1, 1), "not -1"),
            ((4, 2, 5), "k must be in 1 … 4, the number of samples, not 5"),
            ((4, 2, 0), "not 0"),
        ],
    )
    def test_counts_out_of_range_are_named(self, counts, sentence):
        with pytest.raises(InputError, match=sentence):
            pass_at_k(*counts)


class TestOverTasks:
    def test_tasks_count_alike_whatever_their_number_of_samples(self):
        # At k = 1: (1/4 + 2/2) / 2. At k = 2: (1 - 3/6 + 1) / 2. At k = 4 the second task has too few.
        one, two, four = pass_at_ks([(4, 1), (2, 2)])
        assert (one.k, one.estimate.mean, one.left_out) == (1, 0.625, 0)
        assert (two.k, two.estimate.mean, two.left_out) == (2, 0.75, 0)
        assert (four.k, four.estimate.mean, four.estimate.count, four.left_out) == (4, 1.0, 1, 1)

    def test_a_task_without_samples_is_left_out_and_counted(self):
        (one,) = pass_at_ks([(1, 1), (0, 0)])
        assert (one.estimate.mean, one.left_out) == (1.0, 1)

    def test_where_every_task_has_too_few_nothing_is_known(self):
        (eight,) = pass_at_ks([(4, 1)], [8])
        assert math.isnan(eight.estimate.mean)
        assert eight.to_json() == {"k": 8, "value": None, "ci": [None, None], "tasks": 0, "left_out": 1}

    def test_powers_of_two_stop_at_the_largest(self):
        assert [powers_of_two(n) for n in (0, 1, 7, 8)] == [(), (1,), (1, 2, 4), (1, 2, 4, 8)]


class TestTheInterval:
    def test_of_zeros_and_ones_it_is_agresti_and_coulls(self):
        # 8 of 10: n~ = 13.841459, p~ = (8 + 1.920729) / n~ = 0.716740, half = z √(p~ (1 - p~) / n~) = 0.237374.
        estimate = share_interval([1.0] * 8 + [0.0] * 2)
        assert estimate.mean == 0.8
        assert (estimate.low, estimate.high) == (pytest.approx(0.479366, abs=1e-5), pytest.approx(0.954114, abs=1e-5))

    @pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
    def test_equal_values_leave_a_width_that_shrinks_with_their_number(self, share):
        few, many = share_interval([share] * 4), share_interval([share] * 400)
        assert 0 < many.high - many.low < (few.high - few.low) / 5
        assert many.low <= share <= many.high

    def test_at_the_ends_it_stops_at_the_end(self):
        # None of 16: n~ = 19.841459, p~ = 0.096804, half = z √(p~ (1 - p~) / n~) = 0.130106.
        none, every = share_interval([0.0] * 16), share_interval([1.0] * 16)
        assert (none.low, none.high) == (0.0, pytest.approx(0.226910, abs=1e-5))
        assert (every.low, every.high) == (pytest.approx(0.773090, abs=1e-5), 1.0)

    def test_nineteen_in_twenty_hold_the_truth(self):
        rng = np.random.default_rng(0)
        held = []
        for _ in range(1500):
            solved = rng.binomial(8, rng.beta(0.5, 1.5, 32))
            (one,) = pass_at_ks([(8, int(count)) for count in solved], [1])
            held.append(one.estimate.low <= 0.25 <= one.estimate.high)
        assert 0.935 < np.mean(held) < 0.98

    def test_a_value_that_is_no_share_is_refused(self):
        with pytest.raises(InputError, match=r"in \[0, 1\], not 1.5"):
            share_interval([0.5, 1.5])


class Tries:
    """Plays each task by a script: the try of a task -> what is done. Tasks are numbered as they are met."""

    def __init__(self, *scripts: str):
        self._scripts, self._tries = scripts, {}

    def __call__(self, seed: int) -> str:
        number, tries = self._tries.get(seed, (len(self._tries), 0))
        self._tries[seed] = (number, tries + 1)
        return {"+": "open", "-": "wait", "!": "break"}[self._scripts[number][tries]]


class TestEvaluation:
    def test_tasks_are_played_several_times_and_counted_once(self):
        report = evaluate(Tries("+---", "----"), DOOR, episodes=2, samples=4)
        assert (report.episodes, report.success.mean, report.success.count) == (8, 0.125, 2)
        assert [(item.k, item.estimate.mean) for item in report.pass_at_k] == [(1, 0.125), (2, 0.25), (4, 0.5)]
        # Over tasks: 1/4 and 0, not one of eight episodes.
        assert report.success == report.pass_at_k[0].estimate == share_interval([0.25, 0.0])
        assert report.reward.low < 0 < report.reward.high

    def test_a_lost_sample_leaves_its_task_with_fewer(self):
        report = evaluate(Tries("+!", "--"), DOOR, episodes=2, samples=2)
        assert (report.invalid, report.success.mean) == (1, 0.5)
        assert [(item.estimate.mean, item.left_out) for item in report.pass_at_k] == [(0.5, 0), (0.0, 1)]

    def test_once_is_as_before(self):
        report = evaluate(Tries("+", "-"), DOOR, episodes=2)
        assert (report.samples, report.pass_at_k) == (1, ())
        assert "pass_at_k" not in report.to_json()

    def test_the_first_sample_is_what_one_sample_plays_and_the_others_differ(self, tmp_path):
        for samples in (1, 3):
            evaluate("random", DOOR, episodes=5, samples=samples, out=tmp_path / f"{samples}.jsonl")
        once, thrice = (
            [json.loads(line) for line in (tmp_path / f"{samples}.jsonl").read_text().splitlines()]
            for samples in (1, 3)
        )
        assert [(row["episode"], row["sample"]) for row in thrice[:4]] == [(0, 0), (0, 1), (0, 2), (1, 0)]
        assert [{**row, "sample": 0} for row in once] == thrice[::3]
        assert all(a["seed"] == b["seed"] and a["turns"] != b["turns"] for a, b in zip(thrice[1::3], thrice[2::3]))

    def test_progress_goes_on_over_the_samples(self):
        told = []
        evaluate(Tries("++", "-+"), DOOR, episodes=2, samples=2, num_envs=1, progress=lambda *at: told.append(at))
        assert told == [(1, 1), (2, 1), (3, 2), (4, 3)]

    def test_table_and_json_show_pass_at_k(self):
        report = evaluate(Tries("+-", "--"), DOOR, episodes=2, samples=2)
        assert "pass@2" in str(report)
        assert "4 episodes, 2 of each task" in str(report)
        assert [item["value"] for item in json.loads(json.dumps(report.to_json()))["pass_at_k"]] == [0.25, 0.5]

    def test_the_command_line_plays_samples(self, tmp_path, capsys):
        argv = ["eval", DOOR, "--episodes", "3", "--samples", "4", "--json", str(tmp_path / "r.json")]
        assert main(argv) == 0
        assert json.loads((tmp_path / "r.json").read_text()) == evaluate("random", DOOR, 3, samples=4).to_json(True)
        assert "pass@4" in capsys.readouterr().out

    def test_no_sample_at_all_is_refused(self):
        with pytest.raises(InputError, match="samples must be at least 1, not 0"):
            evaluate("random", DOOR, samples=0)
