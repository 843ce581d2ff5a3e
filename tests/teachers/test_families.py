"""Teachers over several families of tasks, on students whose success is known."""

from __future__ import annotations

import json
from collections import Counter, defaultdict

import numpy as np
import pytest
from palaestra.envs.axes import FloatAxis, IntAxis
from palaestra.envs.family_space import FamilySpace
from palaestra.envs.param_space import ParamSpace
from palaestra.errors import InputError
from palaestra.teachers import TEACHERS, Outcome, as_arms, as_cube, as_pool, make

EASY = ParamSpace([IntAxis("digits", 1, 4)])
FAIR = ParamSpace([FloatAxis("size", 0.0, 1.0), IntAxis("turns", 1, 3)])
HARD = ParamSpace([IntAxis("depth", 1, 5)])
RATES = {"Easy": 1.0, "Fair": 0.5, "Hard": 0.0}


def space(**weights) -> FamilySpace:
    families = {"Easy": EASY, "Fair": FAIR, "Hard": HARD}
    return FamilySpace({name: FamilySpace.add_prefix(name, one) for name, one in families.items()}, weights)


def practise(teacher, batches: int, student=lambda task: RATES[task["env"]], samples: int = 8) -> list[dict]:
    """Report outcomes of a student with the success rate ``student(task)``; return the tasks of the last third."""
    rng = np.random.default_rng(7)
    tasks = []
    for batch in range(batches):
        proposals = teacher.propose(12)
        if batch >= 2 * batches // 3:
            tasks += [proposal.task for proposal in proposals]
        teacher.observe(
            [Outcome(p.id, p.task, (rng.random(samples) < student(p.task)).astype(float).tolist()) for p in proposals]
        )
    return tasks


@pytest.mark.parametrize(
    ("name", "options"),
    [("sec", {"tau": 0.1}), ("dump", {}), ("odm", {}), ("exp3", {}), ("thompson", {}), ("tscl-naive", {})],
)
def test_a_teacher_of_arms_has_families_as_arms(name, options):
    teacher = make(name, space(), **options)
    assert [teacher.arms.name(arm) for arm in range(teacher.arms.n)] == ["Easy", "Fair", "Hard"]
    tasks = practise(teacher, 30)
    inside = {(task["Fair.turns"], task["Fair.size"] > 0.5) for task in tasks if task["env"] == "Fair"}
    assert len(inside) > 3  # within a family tasks are uniform


@pytest.mark.parametrize(("name", "options"), [("sec", {"tau": 0.1}), ("dump", {})])
def test_the_family_whose_episodes_differ_is_practised_most(name, options):
    drawn = Counter(task["env"] for task in practise(make(name, space(), **options), 30))
    assert drawn["Fair"] > 2 * max(drawn["Easy"], drawn["Hard"])


def test_bins_cut_each_family_into_arms_of_its_own():
    teacher = make("sec", space(), bins=2, tau=0.1)
    assert teacher.arms.n == 2 + 4 + 2
    student = lambda task: 0.5 if task.get("Easy.digits", 0) > 2 else RATES[task["env"]] * 2 % 2  # noqa: E731
    drawn = Counter(teacher.arms.name(teacher.arms.arm(task)) for task in practise(teacher, 40, student))
    assert drawn.most_common(1)[0][0] == "Easy.digits[2/2]"


def test_a_teacher_of_boxes_has_one_for_each_family_and_families_are_drawn_by_weight():
    teacher = make("alp-gmm", space(Fair=6), fit_rate=40)
    tasks = practise(teacher, 40, lambda task: 0.5)
    assert Counter(task["env"] for task in tasks)["Fair"] / len(tasks) == pytest.approx(0.75, abs=0.09)
    assert teacher.metrics()["share/Fair"] == 0.75
    assert teacher.parts[1].metrics()["observed"] > 4 * teacher.parts[0].metrics()["observed"]


def test_within_a_family_the_teacher_of_boxes_finds_where_progress_is():
    teacher, met = make("alp-gmm", space(Easy=0.001, Hard=0.001), fit_rate=50, components=(2, 3)), Counter()

    def student(task) -> float:
        """Learns slowly where size is above a half, and nothing below."""
        met[task["env"], task.get("Fair.size", 0) > 0.5] += 1
        return min(1.0, met["Fair", True] / 600) if task.get("Fair.size", 0) > 0.5 else 0.0

    sizes = [task["Fair.size"] for task in practise(teacher, 60, student, 1) if task["env"] == "Fair"]
    assert np.mean(np.array(sizes) > 0.5) > 0.6


def test_arms_above_and_a_teacher_of_boxes_inside():
    teacher = make("sec", space(), tau=0.1, inside={"name": "alp-gmm", "fit_rate": 30})
    drawn = Counter(task["env"] for task in practise(teacher, 30))
    assert drawn["Fair"] > 2 * max(drawn["Easy"], drawn["Hard"])
    metrics = teacher.metrics()
    assert metrics["families/value/1"] > metrics["families/value/0"]
    assert metrics["Fair/observed"] > metrics["Hard/observed"] > 0


def test_probabilities_are_those_of_family_and_task():
    for proposal in make("random", space(Fair=6)).propose(20):
        assert proposal.prob == {"Easy": 0.125, "Fair": 0.75, "Hard": 0.125}[proposal.task["env"]]


def test_every_batch_has_its_part_of_each_family():
    teacher = make("random", space(Fair=2))
    for _ in range(20):
        drawn = Counter(proposal.task["env"] for proposal in teacher.propose(8))
        assert drawn == {"Easy": 2, "Fair": 4, "Hard": 2}
    drawn = Counter(teacher.propose(1)[0].task["env"] for _ in range(2000))
    assert drawn["Fair"] / 2000 == pytest.approx(0.5, abs=0.04)


def test_a_scheduled_weight_moves_the_blend():
    blend = space(Hard={"kind": "linear", "start": 0.0, "end": 2.0})
    teacher = make("random", blend)
    assert {p.task["env"] for p in teacher.propose(200)} == {"Easy", "Fair"}
    blend.set_progress(100, 100)
    drawn = Counter(p.task["env"] for p in teacher.propose(2000))
    assert drawn["Hard"] / 2000 == pytest.approx(0.5, abs=0.04)


@pytest.mark.parametrize(
    ("name", "options"), [("alp-gmm", {}), ("sec", {"inside": "riac"}), ("plr", {}), ("mopps", {})]
)
def test_a_saved_teacher_goes_on_exactly(name, options):
    teacher, again = make(name, space(), seed=1, **options), make(name, space(), seed=2, **options)
    practise(teacher, 5)
    waiting = teacher.propose(4)
    again.load_state_dict(json.loads(json.dumps(teacher.state_dict())))
    for one in (teacher, again):
        one.observe([Outcome(p.id, p.task, [0.0, 1.0]) for p in waiting])
    assert [p.task for p in teacher.propose(30)] == [p.task for p in again.propose(30)]


@pytest.mark.parametrize("options", [{}, {"inside": "alp-gmm"}])
def test_outcomes_without_an_id_reach_the_teacher_of_the_family(options):
    teacher = make("sec" if options else "alp-gmm", space(), **options)
    for _ in range(20):
        task = teacher.sample()
        teacher.update(task, [0.0, 1.0] * 4)
    metrics = teacher.metrics()
    assert metrics["in_flight"] == metrics["Fair/in_flight"] == 0
    assert sum(metrics[f"{name}/observed"] for name in RATES) == 20


@pytest.mark.parametrize("name", sorted(TEACHERS))
def test_every_teacher_chooses_from_several_families(name):
    teacher, blend = make(name, space()), space()
    for _ in range(3):
        proposals = teacher.propose(8)
        for proposal in proposals:
            params = proposal.task.get("params", proposal.task)
            assert blend.complete(params, np.random.default_rng(0)) == blend.validate(params) == params
        extras = {need: [0.5] * 4 for need in teacher.needs}
        teacher.observe([Outcome(p.id, p.task, [0.0, 1.0, 1.0, 0.0], extras=extras) for p in proposals])


def test_families_in_one_cube_and_in_one_list():
    cube, pool = as_cube(space()), as_pool(space())
    assert cube.names == ("family", "Easy.digits", "Fair.size", "Fair.turns", "Hard.depth")
    task = {"env": "Fair", "Fair.size": 0.25, "Fair.turns": 3}
    assert cube.encode(task).tolist() == [0.5, 0.5, 0.25, 1.0, 0.5]
    assert cube.decode(cube.encode(task)) == task
    sizes = defaultdict(int)
    for arm in range(pool.n):
        drawn = pool.task(arm, np.random.default_rng(arm))
        assert pool.arm(drawn) == arm
        sizes[drawn["env"]] += 1
    assert sizes["Easy"] == 4
    assert sizes["Hard"] == 5
    assert as_arms(space()).difficulty.tolist() == [0.0, 0.5, 1.0]


def test_what_cannot_be_composed_is_refused():
    with pytest.raises(InputError, match="inside"):
        make("alp-gmm", space(), inside="sec")
    with pytest.raises(InputError, match="unknown teacher"):
        make("sec", space(), inside="nothing")


def test_requests_to_join_name_proposals_of_the_same_task_in_the_same_family():
    teacher, screened, joined = make("thompson", space(), inside="speed", seed=2), {}, set()
    assert "joins" in teacher.asks
    for _ in range(20):
        proposals = teacher.propose(6)
        for proposal in proposals:
            for id in proposal.meta.get("joins", ()):
                part, record = screened[id]
                assert part == teacher._in_flight[proposal.id][1]
                assert record == teacher.parts[part]._in_flight[teacher._in_flight[proposal.id][2]][0]
                joined.add(part)
        for proposal in (p for p in proposals if not p.train):
            _, part, id = teacher._in_flight[proposal.id]
            screened[proposal.id] = part, teacher.parts[part]._in_flight[id][0]
        teacher.observe([Outcome(p.id, p.task, [0.0, 1.0] * 2) for p in proposals])
        assert teacher.joinable() <= screened.keys()
        copy = make("thompson", space(), inside="speed", seed=2)
        copy.load_state_dict(json.loads(json.dumps(teacher.state_dict())))
        assert copy.joinable() == teacher.joinable()
        teacher = copy
    assert joined == {0, 1, 2}


def test_each_family_expects_its_share_of_the_run():
    shares = [part._places.returns for part in _expecting(space(Easy=2.0), "palaestra").parts]
    assert [len(returns) for returns in shares] == [500, 250, 250]
    inside = _expecting(space(Easy=2.0), "sec", inside="palaestra")
    assert {len(part._places.returns) for part in inside.parts} == {333}


def _expecting(families: FamilySpace, name: str, **options):
    teacher = make(name, families, **options)
    teacher.expect(20_000)
    return teacher
