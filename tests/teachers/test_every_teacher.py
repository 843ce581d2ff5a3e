"""Properties that every registered teacher has, on every kind of task space."""

from __future__ import annotations

import json
import math

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs.axes import ChoiceAxis, FloatAxis, IntAxis
from palaestra.envs.param_space import ParamSpace
from palaestra.errors import InputError
from palaestra.rewards.measures import check_names
from palaestra.teachers import TEACHERS, FiniteTasks, Outcome, discretise, make

# Options under which a short run passes through what takes a teacher long at its defaults (fits, windows, phases).
OPTIONS = {
    "alp-gmm": {"fit_rate": 30, "components": (2, 3)},
    "alp-gmm-tma": {"fit_rate": 30, "components": (2, 3)},
    "alp-gmm-windowed": {"fit_rate": 30, "components": (2, 3), "history": 25},
    "covar-gmm": {"fit_rate": 30, "components": (2, 3)},
    "adr": {"episodes": 4, "step": 0.2},
    "goid": {"neighbours": 5, "memory": 40, "candidates": 8},
    "horizon": {"tasks": 30, "levels": 2},
    "oracle-window": {"tasks": 10, "threshold": 0.5},
    "reasoning-gym": {"last_k": 30, "raise_above": 0.5, "mode": "inclusive"},
    "rlve": {"tasks": 4, "threshold": 0.5},
    "rlve-down": {"tasks": 4, "threshold": 0.5, "lower_below": 0.3},
    "spdl": {"update_rate": 20, "memory": 40},
    "spdl-delta": {"update_rate": 20, "memory": 40},
    "currot": {"update_rate": 15, "particles": 12, "candidates": 20},
    "riac": {"region_size": 20},
    "riac-tma": {"region_size": 20},
    "sec": {"group": 2},
    "dump": {"group": 2, "window": 7},
    "exp3": {"eta": 0.1},
    "exp3.s": {"eta": 0.1},
    "odm": {"group": 2},
    "tscl-naive": {"window": 3},
    "omni": {"alpha": 0.5, "mastery": 0.6},
    "neural-bandit": {"initial": 10, "refit": 7, "hidden": 4, "group": 2},
    "format-ladder": {"floor": 0.3, "group": 2},
    "format-stages": {"tasks": 25},
    "sequential": {"floor": 0.3, "window": 5},
    "blocks": {"tasks": 25},
    "task-order": {"floor": 0.3, "window": 5},
    "look-back": {"floor": 0.3, "window": 5},
    "look-back-and-forward": {"window": 5},
    "cumulative": {"plan": 30},
    "annealed": {"horizon": 60},
    "tiers": {"horizon": 60},
    "plr": {"capacity": 24},
    "plr-td": {"capacity": 24},
    "plr-entropy": {"capacity": 24},
    "plr-least-confidence": {"capacity": 24},
    "plr-min-margin": {"capacity": 24},
    "robust-plr": {"capacity": 24},
    "plr-maxmc": {"capacity": 24},
    "groove": {"capacity": 24},
    "mna": {"capacity": 24},
    "accel": {"capacity": 24, "edit_batch": 6},
    "traced": {"capacity": 24, "edit_batch": 6},
    "sfl": {"capacity": 8, "resample": (25, 30)},
    "balanced-filter": {"sure": 4, "group": 2},
    "dapo": {"group": 2},
    "history-variance": {"top": 2, "pilot": 2},
    "adcl": {"chunks": 3, "screen": 2, "n": 2},
    "adarft": {"batch": 8},
    "lilo": {"batch": 2, "screen": 2, "n": 2},
    "speed": {"screen": 2, "n": 2},
    "dots": {"reference": 4, "period": 20, "screen": 2, "n": 2},
    "greso": {"batch": 8, "group": 2},
    "gain-rl": {"batch": 8},
    "difficulty-pool": {"group": 2},
    "hardest": {"fraction": 0.4, "screen": 2, "n": 2},
    "cures": {"rollouts": 3, "subsets": 2, "batches": 3},
    "clpo": {"group": 2},
    "pudf": {"least": 2, "window": 30},
    "seele": {"memory": 4},
    "pairing": {"group": 3, "odd": 1},
    "puzzlecraft": {"group": 2},
    "pc-grpo": {"group": 2},
    "greedy-fail": {"n": 2},
    "eva": {"capacity": 12},
    "webrl": {"failures": 9, "memory": 20},
    "token-budget": {"every": 3},
    "instruction-population": {"every": 4, "memory": 8},
    "palaestra": {"window": 60, "refit": 20},
}
# Where the space is a plain list, these propose by rule alone.
WITHOUT_CHANCE: set[str] = {"adarft", "adcl", "format-stages"}
# These begin with the easiest tasks and propose no others until something has been learned.
FROM_THE_EASIEST = {"adr", "horizon", "oracle-window", "reasoning-gym", "rlve", "rlve-down", "spdl", "spdl-delta"}

PARAMS = ParamSpace(
    [
        IntAxis("digits", 1, 5),
        FloatAxis("noise", 0.1, 10.0, log=True),
        ChoiceAxis("kind", ("a", "b", "c")),
        IntAxis("k", 2, 2),
    ]
)
SPACES = {
    "params": PARAMS,
    "box": gym.spaces.Box(np.array([-2.0, 0.0], np.float32), np.array([3.0, 1e-3], np.float32)),
    "integers": gym.spaces.Box(-1, 4, (2,), dtype=np.int64),
    "discrete": gym.spaces.Discrete(4, start=3),
}
KINDS = ("box", "discrete", "params")
PROMPTS = FiniteTasks([{"question": i} for i in range(7)])
LISTS = [name for name in sorted(TEACHERS) if TEACHERS[name].kind != "box"]


def test_every_teacher_says_when_to_use_it():
    own = {
        name: vars(TEACHERS[name]).get("when", "") for name in TEACHERS if TEACHERS[name].__module__[:9] == "palaestra"
    }
    assert [name for name, when in own.items() if not 20 < len(when) < 200 or not when.endswith(".")] == []


def pytest_generate_tests(metafunc):
    parametrised = {mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")}
    everywhere = {"name": (sorted(TEACHERS), None), "space": ([SPACES[kind] for kind in KINDS], KINDS)}
    for argument in sorted(set(metafunc.fixturenames) & set(everywhere) - parametrised):
        values, ids = everywhere[argument]
        metafunc.parametrize(argument, values, ids=ids)


def build(name, space, seed=0, **kwargs):
    return make(name, space, seed=seed, **{**OPTIONS.get(name, {}), **kwargs})


def test_what_it_reads_of_episodes_is_in_the_table_of_measures(name, space):
    teacher = build(name, space)
    assert teacher.needs.isdisjoint(teacher.uses)
    check_names(f"teacher {name!r}", teacher.needs | teacher.uses)


def inside(space, task):
    if isinstance(space, ParamSpace):
        plain = all(type(value) in (int, float, str) for value in task.values())
        return plain and space.validate(task) == task and len(task) == len(space)
    return space.contains(task)


def plain(proposal):
    task = proposal.task.tolist() if isinstance(proposal.task, np.ndarray) else proposal.task
    prob = None if math.isnan(proposal.prob) else proposal.prob
    return (proposal.id, task, proposal.n, prob, proposal.origin, proposal.train, dict(proposal.meta))


def outcome(teacher, proposal, returns):
    """An outcome of a proposal, with whatever extras the teacher needs."""
    low, high = teacher.return_range
    extras = {name: [0.25 + 0.5 * (r - low) / (high - low) for r in returns] for name in teacher.needs}
    return Outcome(proposal.id, proposal.task, returns, extras=extras)


def play(teacher, rounds=10, batch=10, seed=5, low=0.0, high=1.0, n=2, returns=None):
    """Rounds of propose and observe; returns everything proposed, in comparable form."""
    rng, seen = np.random.default_rng(seed), []
    for _ in range(rounds):
        proposals = teacher.propose(batch)
        seen += map(plain, proposals)
        scores = [[low + (high - low) * r for r in (rng.random(n) if returns is None else returns)] for _ in proposals]
        teacher.observe([outcome(teacher, p, score) for p, score in zip(proposals, scores)])
    return seen


def refuses_update(teacher, task):
    """Check that `update` raises an error if the teacher needs extras; return True if it does."""
    if teacher.needs:
        with pytest.raises(InputError, match="needs the extras"):
            teacher.update(task, 0.5)
    return bool(teacher.needs)


def test_the_seed_and_nothing_else_fixes_every_proposal(name, space):
    before = np.random.get_state()[1].tolist()  # noqa: NPY002 - reading it is the test
    first, again, other = (play(build(name, space, seed)) for seed in (0, 0, 2**40))
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    assert first == again
    if name in WITHOUT_CHANCE and isinstance(space, gym.spaces.Discrete):
        assert first == other
    else:
        assert first != other


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_tasks_lie_in_the_space_ids_count_up_and_probabilities_are_positive_or_unknown(name, space):
    teacher = build(name, space)
    for number in range(10):
        proposals = teacher.propose(10)
        assert all(inside(space, p.task) for p in proposals)
        assert [p.id for p in proposals] == list(range(10 * number, 10 * number + 10))
        assert all(math.isnan(p.prob) or p.prob > 0 for p in proposals)
        teacher.observe([outcome(teacher, p, [0.2, 0.9]) for p in proposals])
    assert inside(space, teacher.sample())


def test_a_state_saved_as_json_continues_identically(name, space):
    teacher = build(name, space)
    play(teacher, rounds=7)
    open_ones = teacher.propose(5)
    copy = build(name, space, seed=99)
    copy.load_state_dict(json.loads(json.dumps(teacher.state_dict(), allow_nan=False)))
    for one in (teacher, copy):
        one.observe([outcome(one, p, [0.4, 0.6]) for p in open_ones])
    assert play(copy, rounds=7) == play(teacher, rounds=7)
    assert copy.metrics() == teacher.metrics()
    assert copy.state_dict() == teacher.state_dict()


def test_outcomes_may_come_late_reversed_or_never(name, space):
    teacher = build(name, space)
    waiting = [p for _ in range(20) for p in teacher.propose(10)]
    kept = waiting[::-3]
    teacher.observe([outcome(teacher, p, [0.0, 1.0]) for p in kept])
    assert all(inside(space, p.task) for p in teacher.propose(50))
    assert teacher.metrics()["observed"] == len(kept)
    assert teacher.metrics()["in_flight"] == 250 - len(kept)


def test_a_second_outcome_for_an_id_changes_nothing_but_the_count(name, space):
    teacher = build(name, space)
    proposals = teacher.propose(40)
    outcomes = [outcome(teacher, p, [0.1, 0.8]) for p in proposals]
    teacher.observe(outcomes)
    before = teacher.state_dict()
    teacher.observe(outcomes[:7])
    after = teacher.state_dict()
    assert after["own"] == before["own"]
    assert after["counts"] == {**before["counts"], "ignored": 7}


@pytest.mark.parametrize("returns", [[0.0], [1.0], [0.0] * 4, [0.3] * 4])
def test_equal_returns_give_no_nan(name, space, returns):
    teacher = build(name, space)
    play(teacher, rounds=9, returns=returns)
    assert all(math.isfinite(value) for value in teacher.metrics().values())
    json.dumps(teacher.state_dict(), allow_nan=False)
    assert all(inside(space, p.task) for p in teacher.propose(30))


def test_nothing_asked_nothing_proposed(name, space):
    teacher = build(name, space)
    before = teacher.state_dict()
    assert teacher.propose(0) == []
    assert teacher.state_dict() == before


def test_more_may_be_asked_than_there_are_tasks(name):
    tasks = [p.task for p in build(name, gym.spaces.Discrete(2)).propose(100)]
    assert len(tasks) == 100
    assert set(tasks) == ({0} if name in FROM_THE_EASIEST else {0, 1})


def test_a_return_outside_the_declared_range_is_refused_and_nothing_learned(name, space):
    teacher = build(name, space)
    first, second = teacher.propose(2)
    before = teacher.state_dict()
    for bad in (-0.01, 1.01, 7.0):
        with pytest.raises(InputError, match="return_range"):
            teacher.observe([outcome(teacher, first, [0.5]), outcome(teacher, second, [bad])])
        if not teacher.needs:
            with pytest.raises(InputError, match="return_range"):
                teacher.update(first.task, bad)
        assert teacher.state_dict() == before


def test_an_id_never_proposed_is_refused(name, space):
    teacher = build(name, space)
    proposal = teacher.propose(1)[0]
    for id in (1, -1, True):
        with pytest.raises(InputError, match="never proposed"):
            teacher.observe([Outcome(id, proposal.task, [0.5])])


def test_scaling_the_returns_with_the_declared_range_changes_nothing(name, space):
    scaled = build(name, space, return_range=(-8.0, 8.0))  # a power of two, so that rounding is the same
    ordinary = build(name, space)
    rng = np.random.default_rng(0)
    returns = rng.integers(0, 17, size=(9, 10, 2)) / 16
    for batch in returns:
        for teacher, values in ((ordinary, batch), (scaled, 16 * batch - 8)):
            proposals = teacher.propose(10)
            teacher.observe([outcome(teacher, p, v) for p, v in zip(proposals, values)])
    assert list(map(plain, scaled.propose(50))) == list(map(plain, ordinary.propose(50)))


def test_lost_outcomes_cannot_fill_the_memory(name, space):
    teacher = build(name, space, max_in_flight=16)
    proposals = teacher.propose(50)
    assert teacher.metrics()["in_flight"] == 16
    assert teacher.metrics()["forgotten"] == 34
    teacher.observe([outcome(teacher, p, [0.5, 0.6]) for p in proposals])
    assert teacher.metrics()["observed"] == 16
    assert teacher.metrics()["ignored"] == 34


def test_an_outcome_without_valid_episodes_teaches_nothing(name, space):
    teacher = build(name, space)
    proposals = teacher.propose(40)
    own = teacher.state_dict()["own"]  # proposing itself may count, such as whose turn is next
    teacher.observe([outcome(teacher, p, []) for p in proposals])
    assert teacher.state_dict()["own"] == own
    assert teacher.metrics()["in_flight"] == 0


def test_sample_and_update_learn_like_propose_and_observe_on_a_discrete_space(name):
    space = gym.spaces.Discrete(5)
    teacher = build(name, space)
    if refuses_update(teacher, 0):
        return
    for _ in range(70):
        task = teacher.sample()
        teacher.update(task, task / 4)
    assert teacher.metrics()["observed"] == 70
    assert teacher.metrics()["in_flight"] == 0


def test_update_runs_on_every_space_over_several_fits(name, space):
    teacher = build(name, space)
    if refuses_update(teacher, teacher.sample()):
        return
    rng = np.random.default_rng(1)
    for _ in range(70):
        teacher.update(teacher.sample(), float(rng.random()))
    assert inside(space, teacher.sample())


def test_update_refuses_a_task_outside_the_space(name):
    outside = {"params": {**PARAMS.at(0.5), "digits": 9}, "box": np.array([9.0, 0.0]), "discrete": 7}
    for kind, task in outside.items():
        with pytest.raises(InputError):
            build(name, SPACES[kind]).update(task, 0.5)  # also where it takes no updates at all


def test_a_state_of_another_space_or_range_is_refused(name):
    state = build(name, SPACES["discrete"]).state_dict()
    with pytest.raises(InputError, match="space"):
        build(name, SPACES["box"]).load_state_dict(state)
    with pytest.raises(InputError, match="space"):
        build(name, gym.spaces.Discrete(4)).load_state_dict(state)
    with pytest.raises(InputError, match="settings"):
        build(name, SPACES["discrete"], return_range=(0, 2)).load_state_dict(state)


def test_a_damaged_state_is_refused_and_leaves_the_teacher_as_it_was(name, space):
    teacher = build(name, space)
    play(teacher, rounds=5)
    before, other = teacher.state_dict(), build(name, space, seed=9).state_dict()
    for damage in ({"next_id": "many"}, {"rng": {}}, {"in_flight": [1]}, {"counts": {}}):
        with pytest.raises(InputError, match="damaged"):
            teacher.load_state_dict({**other, **damage})
        assert teacher.state_dict() == before
    with pytest.raises(InputError, match="lacks rng"):
        teacher.load_state_dict({key: value for key, value in before.items() if key != "rng"})


def test_propose_refuses_what_is_no_count(name):
    teacher = build(name, SPACES["discrete"])
    for k in (-1, 1.5, True, "3"):
        with pytest.raises(InputError, match="k must be a whole number"):
            teacher.propose(k)


def test_a_seed_must_be_a_whole_number(name):
    for seed in (-1, 0.5, None):
        with pytest.raises(InputError, match="seed"):
            build(name, SPACES["discrete"], seed=seed)


def test_the_return_range_must_be_finite_and_ordered(name):
    for bounds in ((1.0, 0.0), (0.0, 0.0), (0.0, math.inf), (math.nan, 1.0)):
        with pytest.raises(InputError, match="return_range"):
            build(name, SPACES["discrete"], return_range=bounds)


def test_spaces_without_bounds_and_other_things_are_refused(name):
    for bad in (gym.spaces.Box(-np.inf, np.inf, (2,)), gym.spaces.Text(5), 3, None):
        with pytest.raises(InputError):
            build(name, bad)


def test_a_misspelt_option_names_the_right_one(name):
    with pytest.raises(InputError, match="'return_range'"):
        make(name, SPACES["discrete"], retrun_range=(0, 1))


def test_a_misspelt_teacher_names_the_right_one():
    with pytest.raises(InputError, match="'alp-gmm'"):
        make("alpgmm", SPACES["discrete"])


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("space", [PROMPTS, discretise(SPACES["box"], bins=(3, 2))], ids=["prompts", "cells"])
def test_lists_of_tasks_serve_every_teacher_of_lists(name, space):
    teacher = build(name, space)
    for proposal in play(teacher) and teacher.propose(20):
        assert space.arm(proposal.task) < space.n


@pytest.mark.parametrize("name", sorted(set(TEACHERS) - set(LISTS)))
def test_teachers_of_axes_refuse_a_list_of_prompts(name):
    with pytest.raises(InputError, match="FiniteTasks"):
        build(name, PROMPTS)


def test_a_distribution_is_one(name, space):
    teacher = build(name, space)
    for _ in range(4):
        probabilities = teacher.distribution()
        if probabilities is not None:
            assert (probabilities >= 0).all()
            assert probabilities.sum() == pytest.approx(1)
        play(teacher, rounds=2)


def test_every_teacher_names_its_kind_and_its_paper(name):
    teacher = TEACHERS[name]
    assert teacher.kind in ("box", "arms", "prompts", "levels", "any")
    assert teacher.paper or name in ("random", "palaestra")
    assert teacher.__doc__


def test_a_teacher_declares_the_requests_that_it_makes(name):
    teacher, rng = build(name, PROMPTS if name in LISTS else PARAMS), np.random.default_rng(0)
    made = set()
    for _ in range(40):
        proposals = teacher.propose(6)
        made |= {key for proposal in proposals for key in proposal.meta}
        teacher.observe([outcome(teacher, p, (rng.random(p.n or 2) < 0.5).tolist()) for p in proposals])
    assert made == teacher.asks
