"""SEELE (arXiv 2509.06923): the hint that makes the student succeed half of the time."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs.axes import FloatAxis, IntAxis
from palaestra.envs.param_space import ParamSpace
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, Outcome, make
from palaestra.teachers.prompts.seele import accuracy_at, best_hint, fit_curves

PROMPTS = FiniteTasks([{"question": i} for i in range(12)])


def seele(space=PROMPTS, **options):
    return make("seele", space, **options)


def test_the_hint_of_the_worked_example_is_0_3777_and_gives_one_half():
    hint = best_hint(10.0, 0.4, 0.1)
    assert hint == pytest.approx(0.3777, abs=5e-5)
    assert accuracy_at(hint, 10.0, 0.4, 0.1) == pytest.approx(0.5, abs=1e-6)
    assert accuracy_at(best_hint(8.0, 0.3, 0.2, 0.7), 8.0, 0.3, 0.2) == pytest.approx(0.7, abs=1e-9)


def test_stronger_students_get_shorter_hints_and_the_strongest_none():
    hints = best_hint(10.0, np.linspace(0.9, -0.5, 15), 0.1)
    assert (np.diff(hints) <= 0).all()
    assert hints[-1] == 0.0
    assert best_hint(10.0, 0.4, 0.5) == 0.0  # the guess alone succeeds half of the time
    assert best_hint(10.0, 0.4, 0.8) == 0.0
    assert best_hint(1.0, 3.0, 0.0) == 1.0


def test_exact_pairs_give_back_their_curve():
    truth = np.array([[10.0, 0.4, 0.1], [20.0, 0.7, 0.05], [6.0, 0.2, 0.2]])
    hints = np.tile(np.linspace(0, 1, 12), (3, 1))
    accuracies = accuracy_at(hints, *(column[:, None] for column in truth.T))
    found = fit_curves(hints, accuracies, np.full(hints.shape, 1e5))
    predicted = best_hint(np.exp(found[:, 0]), found[:, 1], 0.49 / (1 + np.exp(-found[:, 2])))
    assert predicted == pytest.approx(best_hint(*truth.T), abs=2e-3)


def test_curves_fitted_together_are_those_fitted_alone():
    rng = np.random.default_rng(0)
    data = rng.random((5, 4)), rng.random((5, 4)), rng.integers(1, 9, (5, 4)).astype(float)
    together = fit_curves(*data)
    alone = np.concatenate([fit_curves(*(part[i : i + 1] for part in data)) for i in range(5)])
    assert together == pytest.approx(alone, abs=1e-9)


def test_a_fit_never_does_worse_than_what_was_believed_before():
    rng = np.random.default_rng(1)
    hints, accuracies = rng.random((50, 6)), rng.integers(0, 2, (50, 6)).astype(float)
    found = fit_curves(hints, accuracies, np.full((50, 6), 8.0))
    assert np.isfinite(found).all()
    curve = np.exp(found[:, :1]), found[:, 1:2], 0.49 / (1 + np.exp(-found[:, 2:]))
    before = ((accuracies - accuracy_at(hints, 10.0, 0.5, 0.49 / (1 + np.exp(2.0)))) ** 2).sum()
    assert ((accuracies - accuracy_at(hints, *curve)) ** 2).sum() < before


def test_students_of_different_strength_are_led_to_one_half():
    teacher, rng = seele(), np.random.default_rng(0)
    place = np.linspace(-0.4, 0.9, 12)  # from one who needs no hint to one who needs nearly all
    for _ in range(30):
        proposals = teacher.propose(12)
        outcomes = []
        for p in proposals:
            chance = accuracy_at(p.meta["hint"], 12.0, place[p.task["question"]], 0.05)
            outcomes.append(Outcome(p.id, p.task, (rng.random(8) < chance).astype(float)))
        teacher.observe(outcomes)
    hints = teacher.hints(np.arange(12))
    assert hints == pytest.approx(best_hint(12.0, place, 0.05), abs=0.1)
    assert hints[0] == 0.0


def test_failures_lengthen_the_hint_and_successes_shorten_it():
    teacher = seele()
    before = float(teacher.hints([3])[0])
    for ret, compare in ((0.0, np.greater), (1.0, np.less)):
        teacher = seele()
        proposal = next(p for p in teacher.propose(12) if p.task["question"] == 3)
        teacher.observe([Outcome(proposal.id, proposal.task, [ret] * 8)])
        assert compare(teacher.hints([3])[0], before)
        assert teacher.hints([4])[0] == before  # nobody else's


def test_only_the_latest_outcomes_are_fitted():
    teacher = seele(memory=4)
    for ret in [0.0] * 10 + [1.0] * 4:
        teacher.update({"question": 0}, [ret] * 8)
    fresh = seele(memory=4)
    for _ in range(4):
        fresh.update({"question": 0}, [1.0] * 8)
    assert teacher.curves[0] == pytest.approx(fresh.curves[0], abs=0.02)  # both descents end near one minimum


def test_on_a_space_with_axes_the_named_one_is_the_hint():
    space = ParamSpace([FloatAxis("hint", 0.0, 1.0), IntAxis("digits", 1, 4)])
    teacher = seele(space, axis="hint")
    assert {p.task["digits"] for p in teacher.propose(40)} == {1, 2, 3, 4}
    for _ in range(12):
        proposals = teacher.propose(4)
        for p in proposals:
            assert p.task["hint"] == pytest.approx(teacher.hints([p.task["digits"] - 1])[0])
        teacher.observe([Outcome(p.id, p.task, [float(p.task["digits"] < 3)] * 4) for p in proposals])
    hints = {p.task["digits"]: p.task["hint"] for p in teacher.propose(40)}
    assert hints[1] < 0.5 < hints[4]


def test_an_axis_of_difficulty_is_no_hint():
    space = ParamSpace([IntAxis("digits", 1, 3), IntAxis("terms", 2, 5)])
    teacher = seele(space)
    for _ in range(6):
        proposals = teacher.propose(12)
        assert {p.task["terms"] for p in proposals} == {2, 3, 4, 5}
        teacher.observe([Outcome(p.id, p.task, [float(p.task["terms"] < 4)] * 4) for p in proposals])
    hints = {terms: [p.meta["hint"] for p in teacher.propose(12) if p.task["terms"] == terms] for terms in (2, 5)}
    assert max(hints[2]) < min(hints[5])


def test_an_axis_of_few_values_is_set_to_the_nearest_from_none_to_all():
    space = ParamSpace([IntAxis("digits", 1, 3), IntAxis("hint", 0, 4)])
    teacher = seele(space)
    teacher.curves[0], teacher.curves[1], teacher.curves[2] = ([8.0, place, -20.0] for place in (-1.0, 0.49, 2.0))
    proposals = teacher.propose(30)
    assert {(p.task["digits"], p.task["hint"]) for p in proposals} == {(1, 0), (2, 2), (3, 4)}
    middle = next(p for p in proposals if p.task["digits"] == 2)
    teacher.observe([Outcome(middle.id, middle.task, [0.5])])
    teacher.update({"digits": 3, "hint": 1}, 1.0)
    assert teacher._seen == {1: [[0.5, 0.5, 1.0]], 2: [[0.25, 1.0, 1.0]]}


@pytest.mark.parametrize("bad", [{"target": 1.0}, {"memory": 0}])
def test_options_out_of_range_are_refused(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        seele(**bad)


@pytest.mark.parametrize("axis", [2, "depth", True])
def test_an_axis_that_is_not_there_is_refused(axis):
    with pytest.raises(InputError, match="none of the 2 axes"):
        seele(gym.spaces.Box(0.0, 1.0, (2,)), axis=axis)
