"""Curves of the learner benchmark: which rows are kept when, and what the table says."""

from __future__ import annotations

import pytest
from palaestra.benchmarks.learner.curves import CurveRecorder, draw_curves, format_curves


class Numbered:
    """A side whose n-th evaluation finds a success of n tenths sampled, and one tenth more greedy."""

    def __init__(self, name):
        self.name, self._count = name, 0

    def evaluate(self):
        self._count += 1
        return {"sampled": self._count / 10, "greedy": (self._count + 1) / 10, "peak_mb": 7.0}


def record(name, seconds, rewards, every=2):
    side, saved = Numbered(name), []
    recorder = CurveRecorder(len(rewards), every, saved.append)
    recorder.begin(side)
    for reward in rewards:
        recorder.add(side, {"seconds": seconds, "cpu_s": 2 * seconds, "reward": reward, "peak_mb": 1.0})
    return recorder.curves[name], saved


def test_times_add_up_over_steps():
    curve, _ = record("ours", 30.0, [0.0, 0.5, 1.0])
    assert [row["seconds"] for row in curve["steps"]] == [30.0, 60.0, 90.0]
    assert [row["cpu_s"] for row in curve["steps"]] == [60.0, 120.0, 180.0]
    assert [row["success"] for row in curve["steps"]] == [0.0, 0.5, 1.0]


def test_a_side_is_evaluated_before_it_learns_regularly_and_at_the_end():
    curve, saved = record("ours", 30.0, [0.0, 0.5, 1.0])
    assert [(row["step"], row["seconds"], row["sampled"]) for row in curve["held_out"]] == [
        (0, 0.0, 0.1),
        (2, 60.0, 0.2),
        (3, 90.0, 0.3),
    ]
    # saved after each step, and once more after an evaluation
    assert saved == [True, False, False, True, False, True]


def case(*sides):
    curves = {name: record(name, seconds, rewards)[0] for name, seconds, rewards in sides}
    timed = {
        name: {
            "seconds": {"median": curve["steps"][0]["step_s"]},
            "steps": [{"cpu_s": 2 * curve["steps"][0]["step_s"]}],
        }
        for name, curve in curves.items()
    }
    return {"curves": curves, "sides": timed}


def test_the_table_has_means_over_seeds_at_each_evaluated_step_and_the_speed():
    first = case(("ours", 30.0, [0.0, 0.5]), ("TRL", 60.0, [0.0, 0.0]))
    second = case(("ours", 30.0, [0.25, 0.25]), ("TRL", 60.0, [0.0, 0.0]))
    lines = format_curves([first, second]).splitlines()
    assert lines[0].startswith("| step | ours: training | ours: held out | ours: greedy | ours: minutes |")
    assert lines[2] == "| 0 |  | 10.0% | 20.0% | 0.0 | 0.0 |  | 10.0% | 20.0% | 0.0 | 0.0 |"
    assert lines[3] == "| 2 | 25.0% | 20.0% | 30.0% | 1.0 | 2.0 | 0.0% | 20.0% | 30.0% | 2.0 | 4.0 |"
    assert "ours: 120 steps an hour, 60 an hour of processor time." in lines
    assert "TRL: 60 steps an hour, 30 an hour of processor time." in lines


@pytest.mark.parametrize("cut", ["no step yet", "TRL has not begun", "TRL is behind", "both at the end"])
def test_curves_are_drawn_of_what_there_is(cut, tmp_path):
    whole = case(("ours", 30.0, [0.0, 0.5]), ("TRL", 60.0, [0.0, 0.0]))
    part = case(("ours", 30.0, [0.0, 0.5]), ("TRL", 60.0, [0.0]))
    if cut == "TRL has not begun":
        del part["curves"]["TRL"]
    none = {"curves": {"ours": record("ours", 30.0, [])[0]}}
    cases = {
        "no step yet": [none],
        "TRL has not begun": [part],
        "TRL is behind": [whole, part],
        "both at the end": [whole],
    }[cut]
    draw_curves(cases, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
