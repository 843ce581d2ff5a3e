"""The teacher "palaestra": each claim of its docstring on a small student."""

from __future__ import annotations

import json

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs.axes import IntAxis
from palaestra.envs.param_space import ParamSpace
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, Outcome, discretise, make
from palaestra.teachers.expected_gain.teacher import PlaceWeights, _CellPlaces
from palaestra.teachers.students import HypercubeStudent


def palaestra(space, **options):
    return make("palaestra", space, **options)


def teach(teacher, student, episodes):
    for _ in range(episodes):
        proposal = teacher.propose(1)[0]
        teacher.observe([Outcome(proposal.id, proposal.task, [student.episode(proposal.task)])])


class Arms:
    """A student whose arms are learned by practice (success p grows by `rate` per group up to 1), or stay."""

    def __init__(self, chance, rate, seed=0):
        self.chance, self.rate = np.array(chance, dtype=float), np.array(rate, dtype=float)
        self.practised = np.zeros(len(chance), int)
        self.rng = np.random.default_rng(seed)

    def teach(self, teacher, steps, batch=16, n=8):
        for _ in range(steps):
            proposals = teacher.propose(batch)
            teacher.observe([Outcome(p.id, p.task, self.group(p.task, n)) for p in proposals])

    def group(self, arm, n):
        self.practised[arm] += 1
        self.chance[arm] = min(self.chance[arm] + self.rate[arm], 1.0)
        return (self.rng.random(n) < self.chance[arm]).astype(float)


def test_a_learning_arm_is_preferred_to_coin_flips():
    teacher = palaestra(gym.spaces.Discrete(4))
    student = Arms([0.0, 0.5, 0.5, 0.5], [0.0005, 0, 0, 0])
    student.teach(teacher, 100)
    assert 0.1 < student.chance[0] < 1
    assert teacher.distribution()[0] > 0.6
    assert student.practised[0] > 2 * student.practised[1:].max()


def test_uniform_before_anything_is_known():
    assert palaestra(gym.spaces.Discrete(5)).distribution() == pytest.approx(np.full(5, 0.2))


def test_mastered_and_hopeless_arms_leave_the_focus_to_the_one_that_moves():
    teacher = palaestra(gym.spaces.Discrete(3))
    student = Arms([1.0, 0.0, 0.2], [0, 0, 0.002])
    student.teach(teacher, 20)
    assert teacher.distribution()[2] > 0.85


def test_when_nothing_moves_any_more_what_is_left_to_gain_is_tried():
    teacher = palaestra(gym.spaces.Discrete(4), seed=1)
    student = Arms([0.0, 0.0, 1.0, 0.5], [0.01, 0, 0, 0])
    student.teach(teacher, 10)
    assert teacher.metrics()["focus"] > 0.9
    student.teach(teacher, 200)
    assert student.chance[0] == 1.0
    assert teacher.metrics()["focus"] < 0.3
    chances = teacher.distribution()
    assert chances[1] > 0.5  # fails always
    assert 0.2 < chances[3] < 0.4  # fails half of the time; alone, its noise would draw all


def test_an_arm_that_is_forgotten_is_practised_again():
    teacher = palaestra(gym.spaces.Discrete(4))
    student = Arms([0.0, 0.0, 0.0, 0.0], [0.01, 0, 0, 0])
    student.teach(teacher, 60)
    assert student.chance[0] == 1.0
    student.chance[0] = 0.0
    student.teach(teacher, 60)
    assert student.chance[0] > 0.9


def test_no_arm_falls_below_its_share_of_the_floor():
    teacher = palaestra(gym.spaces.Discrete(4), floor=0.2)
    student = Arms([0.1, 1.0, 0.0, 0.5], [0.0002, 0, 0, 0])
    for _ in range(10):
        student.teach(teacher, 5)
        assert teacher.distribution().min() >= 0.05 - 1e-12
    drawn = np.bincount([p.task for p in teacher.propose(20_000)], minlength=4) / 20_000
    assert drawn == pytest.approx(teacher.distribution(), abs=0.015)


def test_arms_hardly_tried_count_as_the_most_promising():
    teacher = palaestra(gym.spaces.Discrete(4))
    for i in range(30):
        teacher.update(i % 2, 0.01 * i)
    chances = teacher.distribution()
    assert chances[2] == chances[3] == chances.max()


def test_a_long_list_costs_no_more_than_its_sums():
    teacher = palaestra(FiniteTasks(range(20_000)))
    for _ in range(25):
        teacher.observe([Outcome(p.id, p.task, [0.0, 1.0]) for p in teacher.propose(64)])
    assert teacher.distribution().max() < 1e-3
    assert len(teacher.state_dict()["own"]["places"]["tried"]) <= 1600


def test_a_small_cube_is_mastered_where_uniform_choice_masters_little():
    student, other = HypercubeStudent(2, 4, seed=0), HypercubeStudent(2, 4, seed=0)
    teach(palaestra(student.space), student, 2200)
    teach(make("random", other.space), other, 2200)
    assert student.mastered() == 1.0
    assert other.mastered() < 0.4


@pytest.mark.parametrize("noise", ["gaussian", "bernoulli"])
def test_noise_does_not_stop_it(noise):
    student = HypercubeStudent(2, 4, noise=noise, seed=0)
    teach(palaestra(student.space), student, 4000)
    assert student.mastered() > 0.8


def test_irrelevant_axes_are_ignored():
    student = HypercubeStudent(1, 5, irrelevant=3, seed=1)
    teacher = palaestra(student.space)
    teach(teacher, student, 1100)  # of which 380 are needed
    assert student.mastered() == 1.0
    matters = teacher.state_dict()["own"]["places"]["matters"]
    assert matters[0] > 2 * max(matters[1:])


def test_a_wiped_student_is_taught_again():
    student = HypercubeStudent(2, 3, seed=0)
    teacher = palaestra(student.space)
    teach(teacher, student, 1800)
    assert student.mastered() == 1.0
    student.wipe()
    assert student.mastered() == 0.0
    teach(teacher, student, 2000)
    assert student.mastered() > 0.8


def test_the_stated_density_integrates_to_one_never_falls_below_the_floor_and_is_that_of_the_draws():
    student = HypercubeStudent(2, 5, seed=0)
    teacher = palaestra(student.space, floor=0.15)
    teach(teacher, student, 1200)
    proposals = teacher.propose(4000)
    prob = np.array([p.prob for p in proposals])
    single = np.isnan(prob)  # single tasks have no density
    assert 0 < single.sum() < 4000
    assert prob[~single].min() >= 0.15
    assert (1 / prob[~single]).sum() / 4000 == pytest.approx(1.0, abs=0.1)  # E[1 / density] = volume of the cube
    assert prob[~single].max() > 2 * prob[~single].min()
    assert np.mean([p.origin == "explore" for p in proposals]) == pytest.approx(0.15, abs=0.02)


def test_densities_of_a_large_batch_are_computed_in_parts(monkeypatch):
    student = HypercubeStudent(2, 5, seed=0)
    whole, parts = palaestra(student.space, seed=3), palaestra(student.space, seed=4)
    teach(whole, student, 600)
    parts.load_state_dict(whole.state_dict())
    expected = [p.prob for p in whole.propose(100)]
    monkeypatch.setattr(
        "palaestra.teachers.expected_gain.teacher.TABLE", 30 * int(whole.metrics()["places"])
    )  # 15 points of 2 axes
    assert [p.prob for p in parts.propose(100)] == pytest.approx(expected, rel=1e-12, nan_ok=True)


def test_what_lies_next_to_progress_is_tried():
    rng = np.random.default_rng(0)
    inside = {}
    for margin in (0.0, 0.5):
        teacher = palaestra(gym.spaces.Box(0.0, 1.0, (1,), np.float64), margin=margin, floor=0.0, refit=300)
        for i in range(300):
            x = rng.random()
            teacher.update(np.array([x]), 0.002 * i if x < 0.5 else 0.0)
        tasks = np.array([p.task[0] for p in teacher.propose(500)])
        inside[margin] = (tasks < 0.51).mean()
    assert inside[0.0] > 0.95
    assert 0.5 < inside[0.5] < 0.9


def test_windows_follow_the_number_of_outcomes_of_the_run():
    box = gym.spaces.Box(0.0, 1.0, (2,), np.float64)
    lengths = {}
    for outcomes in (None, 40_000, 2_400):
        teacher = palaestra(box)
        if outcomes is not None:
            teacher.expect(outcomes)
        lengths[outcomes] = (len(teacher._places.returns), teacher._due)
    assert lengths == {None: (1000, 75), 40_000: (2000, 150), 2_400: (120, 9)}


def test_the_number_of_outcomes_comes_before_the_first():
    teacher = palaestra(gym.spaces.Discrete(2))
    with pytest.raises(InputError, match="outcomes must be"):
        teacher.expect(0)
    teacher.update(0, 1.0)
    with pytest.raises(InputError, match="comes after 1 outcomes"):
        teacher.expect(100)


def test_a_saved_teacher_keeps_the_run_that_it_was_made_for():
    student = HypercubeStudent(2, 4, seed=0)
    teacher, copy = palaestra(student.space), palaestra(student.space, seed=1)
    teacher.expect(3000)
    teach(teacher, student, 500)
    copy.expect(9000)  # the run was extended
    copy.load_state_dict(json.loads(json.dumps(teacher.state_dict())))
    assert copy.state_dict() == teacher.state_dict()
    assert [p.task.tolist() for p in copy.propose(50)] == [p.task.tolist() for p in teacher.propose(50)]


def test_a_short_run_over_many_rungs_climbs_far_above_uniform():
    """Groups of 16 attempts at 40 rungs, each learned in some ten groups once the one below is."""
    space = ParamSpace([IntAxis("rung", 1, 40)])

    def climb(name):
        teacher, rng = make(name, space), np.random.default_rng(0)
        teacher.expect(1200)
        chance = np.zeros(42)
        chance[1] = 0.2
        for _ in range(200):
            outcomes = []
            for p in teacher.propose(6):
                rung = p.task["rung"]
                returns = rng.random(16) < chance[rung]
                if returns.any():
                    chance[rung] = min(chance[rung] + 0.1, 1.0)
                if chance[rung] > 0.5:
                    chance[rung + 1] = max(chance[rung + 1], 0.2)
                outcomes.append(Outcome(p.id, p.task, returns.astype(float).tolist()))
            teacher.observe(outcomes)
        return int((chance > 0.5).sum())

    assert climb("palaestra") > 2 * climb("random")


def test_points_of_one_value_of_a_counted_axis_are_one():
    teacher = palaestra(ParamSpace([IntAxis("digits", 1, 3)]), floor=1.0)
    for _ in range(60):
        teacher.observe([Outcome(p.id, p.task, [0.3]) for p in teacher.propose(4)])
    assert teacher.metrics()["points"] == 3


def test_single_tasks_are_left_to_noiseless_returns():
    reliability = {}
    for noise in ("none", "bernoulli"):
        student = HypercubeStudent(2, 4, noise=noise, seed=0)
        teacher = palaestra(student.space)
        teach(teacher, student, 1500)
        reliability[noise] = teacher.metrics()["reliability"]
    assert reliability["none"] > 0.95
    assert reliability["bernoulli"] < 0.3


def test_memory_does_not_grow():
    student = HypercubeStudent(1, 3, seed=0)
    teacher = palaestra(student.space, window=200)
    teach(teacher, student, 1000)
    assert len(teacher.state_dict()["own"]["places"]["points"]) == 200


@pytest.mark.parametrize("space", [gym.spaces.Box(0.0, 1.0, (2,), np.float64), gym.spaces.Discrete(6)])
def test_a_saved_teacher_continues_exactly(space):
    def run(teacher, n):
        rng, tasks = np.random.default_rng(4), []
        for _ in range(n):
            p = teacher.propose(1)[0]
            teacher.observe([Outcome(p.id, p.task, [float(rng.random() * np.mean(p.task) / 6)])])
            tasks.append(np.ravel(p.task).tolist())
        return tasks

    teacher, copy = (palaestra(space, window=150, refit=20, seed=s) for s in (0, 1))
    run(teacher, 333)
    copy.load_state_dict(json.loads(json.dumps(teacher.state_dict(), allow_nan=False)))
    assert run(copy, 200) == run(teacher, 200)
    assert copy.state_dict() == teacher.state_dict()


def test_a_state_with_numbers_missing_is_refused():
    teacher = palaestra(gym.spaces.Box(0.0, 1.0, (2,), np.float64), refit=10)
    for i in range(40):
        teacher.update(teacher.sample(), (i % 5) / 5)
    state = teacher.state_dict()
    for name in ("points", "returns", "low", "chances"):
        places = {**state["own"]["places"], name: state["own"]["places"][name][:-1]}
        with pytest.raises(InputError, match="damaged"):
            teacher.load_state_dict({**state, "own": {**state["own"], "places": places}})
        assert teacher.state_dict() == state


def test_cells_of_a_grid_are_arms():
    teacher = palaestra(discretise(gym.spaces.Box(0.0, 1.0, (2,)), bins=(3, 2)))
    assert len(teacher.distribution()) == 6
    assert palaestra(gym.spaces.Box(0.0, 1.0, (2,))).distribution() is None


@pytest.mark.parametrize(
    "options",
    [
        {"floor": 1.5},
        {"window": 7},
        {"refit": 0},
        {"margin": -0.1},
        {"scales": ()},
        {"scales": (32, 8)},
        {"scales": (0.5,)},
    ],
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        palaestra(gym.spaces.Discrete(3), **options)


def test_cells_whose_groups_have_equal_returns_are_left():
    rng = np.random.default_rng(0)
    points = rng.random((100, 1))
    low = points[:, 0] < 0.5
    returns = np.where(low, rng.uniform(0.3, 0.5, 100), rng.uniform(0.5, 0.7, 100))
    chances = {}
    for name, mixed in {"all": np.ones(100, dtype=bool), "lower half": low}.items():
        places = _CellPlaces(1, 100, np.array([8.0, 32.0]))
        places.add(points.tolist(), returns.tolist(), mixed.tolist())
        places.fit(PlaceWeights(1000.0), 100, 0.0)
        chances[name] = places.chances[places.low[:, 0] >= 0.45].sum()
    assert chances["lower half"] < 0.05 < chances["all"]
