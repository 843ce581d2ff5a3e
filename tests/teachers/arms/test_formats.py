"""Ladders and stages of answer formats (Cog-DRIFT, arXiv 2604.04767; Curr-ReFT, arXiv 2503.07065)."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401  (registers Formats-v0)
import pytest
from palaestra.envs.axes import ChoiceAxis, IntAxis
from palaestra.envs.param_space import ParamSpace
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, Outcome, fixed_pool, make
from palaestra.teachers.arms.formats import find_ladder

BOX = gym.spaces.Box(0.0, 1.0, (2,))
# Three questions; b lacks the second of four formats, c has only the last two, and the third twice.
NAMES = ["a1", "a2", "a3", "a4", "b1", "b3", "b4", "c3", "c3x", "c4"]
FORMATS = FiniteTasks(NAMES, features=[["abc".index(name[0]) / 2, int(name[1]) / 4] for name in NAMES])
HALF, ABOVE = [1.0, 0.0] * 4, [1.0] * 5 + [0.0] * 3


def names(teacher):
    return [NAMES[i] for i in np.flatnonzero(teacher.distribution())]


def test_the_ladder_of_a_grid_is_its_last_axis_and_of_a_list_its_last_feature():
    question, level, rung = find_ladder(np.array([[0.2, 0.1], [0.2, 0.9], [0.8, 0.1], [0.8, 0.5]]), -1)
    assert question.tolist() == [0, 0, 1, 1]
    assert level.tolist() == [0, 2, 0, 1]
    assert rung.tolist() == [0, 1, 0, 1]
    assert find_ladder(np.array([[0.1, 0.5], [0.9, 0.5]]), 0)[2].tolist() == [0, 1]
    assert find_ladder(np.array([[0.5], [0.1], [0.9]]), -1)[2].tolist() == [1, 0, 2]
    teacher = make("format-ladder", BOX, bins=(3, 4))
    assert teacher.position.tolist() == [0, 0, 0]
    assert np.flatnonzero(teacher.distribution()).tolist() == [0, 4, 8]


def test_questions_start_at_the_easiest_format_they_have_with_equal_shares():
    teacher = make("format-ladder", FORMATS)
    shares = dict(zip(NAMES, teacher.distribution()))
    assert {name: share for name, share in shares.items() if share} == pytest.approx(
        {"a1": 1 / 3, "b1": 1 / 3, "c3": 1 / 6, "c3x": 1 / 6}
    )


def test_exactly_at_the_threshold_nothing_moves_and_above_it_one_question_does():
    teacher = make("format-ladder", FORMATS)
    teacher.update("a1", HALF)
    assert teacher.position.tolist() == [0, 0, 0]
    teacher.update("a1", ABOVE)
    assert names(teacher) == ["a2", "b1", "c3", "c3x"]


def test_a_mean_that_rounding_puts_above_the_threshold_moves_nothing():
    teacher = make("format-ladder", FORMATS, threshold=0.6, window=3, group=1)
    assert sum([0.4, 0.8, 0.6]) / 3 > 0.6
    for mean in (0.4, 0.8, 0.6):
        teacher.update("a1", mean)
    assert teacher.position.tolist() == [0, 0, 0]
    teacher.update("a1", 0.9)
    assert teacher.position.tolist() == [1, 0, 0]


def test_missing_formats_are_skipped_and_the_top_is_kept():
    teacher = make("format-ladder", FORMATS)
    for name in ("b1", "b3", "b4", "b4", "c3x"):
        teacher.update(name, [1.0] * 8)
    assert names(teacher) == ["a1", "b4", "c4"]


def test_nothing_ever_moves_down_and_formats_left_behind_do_not_count():
    teacher = make("format-ladder", FORMATS)
    late = next(p for p in teacher.propose(50) if p.task == "a1")
    teacher.update("a1", ABOVE)
    teacher.update("a2", [0.0] * 8)
    teacher.observe([Outcome(late.id, "a1", [1.0] * 8)])
    assert names(teacher)[0] == "a2"


def test_the_window_must_be_full_and_is_emptied_by_a_move():
    teacher = make("format-ladder", FORMATS, window=2)
    teacher.update("a1", [1.0] * 8)
    assert teacher.position[0] == 0
    teacher.update("a1", HALF)  # mean 3/4 of two groups
    assert teacher.position[0] == 1
    teacher.update("a2", [1.0] * 8)
    assert teacher.position[0] == 1  # scores at the old format do not help at the new one


def test_a_single_lucky_answer_moves_nothing():
    teacher = make("format-ladder", FORMATS, group=4)
    for ret in (1.0, 0.0, 1.0):
        teacher.update("a1", ret)
    assert teacher.position[0] == 0
    teacher.update("a1", 1.0)
    assert teacher.position[0] == 1


@pytest.mark.parametrize(("threshold", "guess"), [(0.25, 0.25), (0.2, 0.25), (0.5, 0.6)])
def test_a_ladder_that_guessing_would_climb_is_refused(threshold, guess):
    with pytest.raises(InputError, match="guess"):
        make("format-ladder", FORMATS, threshold=threshold, guess=guess)


@pytest.mark.parametrize("name", ["format-ladder", "format-stages"])
def test_an_axis_that_does_not_exist_is_refused(name):
    with pytest.raises(InputError, match="axis=2"):
        make(name, FORMATS, axis=2)


def test_stages_follow_in_order_for_their_number_of_tasks_also_within_a_batch():
    teacher = make("format-stages", FORMATS, tasks=10)
    proposals = [p for _ in range(5) for p in teacher.propose(12)]
    stages = [p.task[1] for p in proposals]
    assert stages == ["1"] * 10 + ["2"] * 10 + ["3"] * 10 + ["4"] * 30
    assert {p.task for p in proposals[20:30]} <= {"a3", "b3", "c3", "c3x"}
    assert proposals[0].prob == 0.5  # a1 or b1
    assert teacher.metrics()["stage"] == 3


@pytest.mark.parametrize(
    ("name", "options"),
    [("format-ladder", {"window": 0}), ("format-ladder", {"threshold": 1.5}), ("format-stages", {"tasks": 0})],
)
def test_options_out_of_range_are_refused(name, options):
    with pytest.raises(InputError, match=next(iter(options))):
        make(name, FORMATS, **options)


FORMS = ("yes_no", "four_choices", "ten_choices", "cloze", "open")
QUESTIONS = ParamSpace([IntAxis("steps", 2, 8), IntAxis("size", 20, 100), ChoiceAxis("format", FORMS)])


def test_every_value_of_the_ladder_has_an_arm_of_its_own():
    # The other axes are cut as ever: 25 arms on three axes make two cells on each.
    for name in ("format-ladder", "format-stages"):
        teacher = make(name, QUESTIONS)
        assert teacher.arms.bins == (2, 2, 5)
        assert {proposal.task["format"] for proposal in teacher.propose(20)} == {"yes_no"}
    assert make("format-ladder", QUESTIONS, bins=(2, 2, 3)).arms.bins == (2, 2, 3)


def test_a_student_that_learns_climbs_from_one_format_to_the_next():
    teacher, met = make("format-ladder", QUESTIONS, threshold=0.6, guess=0.5), []
    for _ in range(60):
        proposals = teacher.propose(4)
        met += [FORMS.index(proposal.task["format"]) for proposal in proposals]
        teacher.observe([Outcome(p.id, p.task, [1.0] * 6 + [0.0] * 2) for p in proposals])
    assert met[0] == 0
    assert set(met[-20:]) == {4}
    assert teacher.metrics()["at_top"] == 1.0


def test_a_pool_holds_every_question_in_all_of_its_formats():
    pool = fixed_pool("format-ladder", QUESTIONS, 6, seed=3)
    assert pool.n == 30
    teacher = make("format-ladder", pool)
    first = teacher.propose(40)
    assert {proposal.task["params"]["format"] for proposal in first} == {"yes_no"}
    seeds = {proposal.task["seed"] for proposal in first}
    assert len(seeds) == 6
    # One question climbs, to itself in the next format, and the others stay.
    task = first[0].task
    teacher.update(task, ABOVE)
    moved = {p.task["seed"]: p.task["params"] for p in teacher.propose(60) if p.task["params"]["format"] != "yes_no"}
    assert moved == {task["seed"]: {**task["params"], "format": "four_choices"}}
    assert fixed_pool("sec", QUESTIONS, 6, seed=3).n == 6


def test_a_pool_of_ladders_needs_an_axis_of_few_values():
    with pytest.raises(InputError, match="size is none"):
        fixed_pool("format-stages", ParamSpace([IntAxis("size", 20, 100)]), 4)


def play(rate, seed, proposals=60, **options):
    """The mean rung on Formats-v0 after groups of eight answers that are right at a rate."""
    space = gym.make("palaestra/Formats-v0", disable_env_checker=True).unwrapped.param_space
    teacher = make("format-ladder", fixed_pool("format-ladder", space, 2) if options else space, seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(proposals):
        (proposal,) = teacher.propose(1)
        params = proposal.task.get("params", proposal.task)
        returns = (rng.random(8) < rate(params["format"])).astype(float)
        teacher.observe([Outcome(proposal.id, proposal.task, returns)])
    return teacher.metrics()["rung_mean"]


CHANCES = {"yes_no": 0.5, "four_choices": 0.25, "ten_choices": 0.1, "cloze": 0.0, "open": 0.0}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("options", [{}, {"pool": 2}])
def test_guessing_does_not_climb_the_formats_of_the_environment(seed, options):
    assert play(CHANCES.get, seed, **options) == 0.0


def test_what_is_learned_climbs():
    assert play(lambda form: 0.9, 0, 200, pool=2) > 3.0


def test_a_threshold_below_the_environments_chance_is_refused():
    space = gym.make("palaestra/Formats-v0", disable_env_checker=True).unwrapped.param_space
    with pytest.raises(InputError, match="is not above guess"):
        make("format-ladder", space, threshold=0.5)
    assert make("format-ladder", space).threshold == 0.75
    assert make("format-ladder", BOX).threshold == 0.5
