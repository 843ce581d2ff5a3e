"""GRPO under every registered teacher, over parameters and over a list of fixed tasks."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from palaestra.agents.grpo.components.credit.peers import answer_dispersion
from palaestra.agents.grpo.config import TrainConfig, WarmUp
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.recipes.stages import PRODUCERS
from palaestra.envs import IntAxis, ParamSpace
from palaestra.errors import InputError
from palaestra.rewards.measures import MEASURES
from palaestra.teachers import TEACHERS, Preset, Proposal, make
from palaestra.teachers.prompts.puzzlecraft import PuzzleCraft
from palaestra.teachers.random import RandomTeacher


@pytest.fixture(scope="module")
def config(small, tmp_path_factory) -> TrainConfig:
    folder = tmp_path_factory.mktemp("model") / "small"
    small.save(folder)
    return TrainConfig(
        model=str(folder),
        axes={"digits": 1, "terms": [2, 3]},
        teacher="random",
        warmup=WarmUp(steps=0),
        steps=3,
        prompts=4,
        samples=2,
        max_new_tokens=4,
        eval_every=0,
        eval_episodes=1,
        final_episodes=1,
        checkpoint_every=3,
        threads=1,
    )


def run(folder, config, **changes):
    learner = Learner.start(folder, TrainConfig(**{**vars(config), **changes}))
    assert learner.run()
    rows = [json.loads(line) for line in (folder / "proposals.jsonl").read_text().splitlines()]
    return learner, rows


@pytest.fixture(scope="module")
def learner(config, tmp_path_factory) -> Learner:
    return run(tmp_path_factory.mktemp("runs") / "run", config, steps=1)[0]


def follow(learner, teacher, monkeypatch) -> None:
    """Let a learner follow another teacher."""
    monkeypatch.setattr(learner.parts.collector, "teacher", teacher)
    producers = learner.parts.objective.find_producers("the teacher", teacher.needs)
    for part in producers:
        if hasattr(part.target, "attach"):
            part.target.attach(learner.language.model)
    monkeypatch.setattr(learner.parts.objective, "teacher_producers", producers)


@pytest.mark.parametrize("name", sorted(TEACHERS))
def test_a_learner_trains_on_the_proposals_of_every_teacher_and_reports_every_outcome(name, learner, monkeypatch):
    teacher = make(name, learner.parts.environments.param_space, seed=1)
    known = frozenset().union(*(getattr(producer, "provides", ()) for _, producer in PRODUCERS.items()))
    for need in teacher.needs - known:

        def produce(groups, instruments, need=need):
            return [[{need: 0.5 + t.env_return / 4} for t in group.trajectories] for group in groups]

        produce.provides = frozenset({need})
        monkeypatch.setitem(PRODUCERS._entries, need, produce)
    follow(learner, teacher, monkeypatch)
    for step in (1, 2):
        collected = learner.parts.collector.collect(step)
        assert len(collected.played) >= 4
        learner.parts.update.run(collected.trainable, [], 1e-4)
    metrics = teacher.metrics()
    assert metrics["observed"] == metrics["proposed"] >= 8


def test_a_teacher_gets_what_it_can_do_without_wherever_something_produces_it(config, tmp_path, monkeypatch):
    changes = {"teacher": "gain-rl", "teacher_options": {"batch": 1, "beta": 1.0}, "steps": 1}
    measured, _ = run(tmp_path / "measured", config, **changes)
    assert measured.parts.teacher.mu > 0.0  # by the angles between the policy's hidden states
    monkeypatch.delitem(PRODUCERS._entries, "angle_concentration")
    without, _ = run(tmp_path / "without", config, **changes)

    def produce(groups, instruments):
        return [[{"angle_concentration": 3.0} for _ in group.trajectories] for group in groups]

    produce.provides, produce.needs = frozenset({"angle_concentration"}), frozenset()
    monkeypatch.setitem(PRODUCERS._entries, "angle_concentration", produce)
    beside, _ = run(tmp_path / "beside", config, **changes)
    assert without.parts.teacher.mu == 0.0  # no accuracy moves the window from beta = 1
    assert beside.parts.teacher.mu > 0.0
    produce.needs = frozenset({"reference"})  # which the environment tells
    told, _ = run(tmp_path / "told", config, **changes)
    assert told.parts.teacher.mu == beside.parts.teacher.mu
    produce.needs = frozenset(
        {"antagonist_return"}
    )  # which nothing makes: the teacher goes on as if there was no producer
    again, _ = run(tmp_path / "again", config, **changes)
    assert again.parts.teacher.mu == 0.0


def test_the_dispersion_of_the_answers_reaches_puzzlecraft(config, tmp_path, monkeypatch):
    outcomes = []
    observe = PuzzleCraft.observe
    monkeypatch.setattr(PuzzleCraft, "observe", lambda self, seen: (outcomes.extend(seen), observe(self, seen)))
    learner, _ = run(tmp_path / "run", config, teacher="pc-grpo", samples=4, steps=1)
    values = {outcome.id: set(outcome.extras["answer_dispersion"]) for outcome in outcomes}
    groups = [practice.group for practice in learner.parts.collector.collect(2).played]
    later = {outcome.id: set(outcome.extras["answer_dispersion"]) for outcome in outcomes if outcome.id not in values}
    assert later == {group.proposal: {answer_dispersion(group.trajectories)} for group in groups}
    assert any(0 < value <= 1 for seen in (values, later) for (value,) in seen.values())


def test_a_run_logs_what_greedy_answers_were_lost_and_gained(config, tmp_path):
    learner, _ = run(tmp_path / "run", config, teacher="greedy-fail", pool=4, steps=3)
    metrics = [json.loads(line) for line in (learner.folder.path / "metrics.jsonl").read_text().splitlines()]
    assert all({"teacher/lost", "teacher/gained"} <= set(row) for row in metrics)
    assert len(learner.parts.teacher._before) > 0  # prompts were probed again


def test_puzzlecraft_monitors_the_consistency_that_a_judge_finds(config, tmp_path):
    learner, _ = run(tmp_path / "run", config, teacher="puzzlecraft", teacher_options={"rac": 8}, steps=1)
    (row,) = map(json.loads, (learner.folder.path / "metrics.jsonl").read_text().splitlines())
    assert 0 < row["teacher/rac"] < 1


def test_an_episode_that_the_judge_could_not_judge_is_not_reported(config, tmp_path, monkeypatch):
    def produce(groups, instruments):
        rows = [[None if place == 0 else 0.5 for place, _ in enumerate(group.trajectories)] for group in groups]
        return [[{"consistency": value} for value in row] for row in rows]

    produce.provides, produce.needs = frozenset({"consistency"}), frozenset()
    monkeypatch.setitem(PRODUCERS._entries, "consistency", produce)
    learner, _ = run(tmp_path / "run", config, teacher="puzzlecraft", teacher_options={"rac": 8}, steps=1, samples=3)
    assert len(learner.parts.teacher._consistencies) == 8  # two of each group of three
    assert learner.parts.teacher.metrics()["rac"] == 0.5


def test_a_teacher_with_an_unknown_need_is_refused_before_a_model_is_loaded(config, tmp_path, monkeypatch):
    assert "transition_loss" in PRODUCERS
    monkeypatch.delitem(PRODUCERS._entries, "transition_loss")
    with pytest.raises(InputError, match="transition_loss"):
        run(tmp_path / "run", config, teacher="traced", model="no/such/model")


def test_the_reported_entropy_is_that_of_the_sampled_tokens(learner, monkeypatch):
    outcomes_seen = []
    teacher = make("plr", learner.parts.environments.param_space, score="policy_entropy", seed=1)
    follow(learner, teacher, monkeypatch)
    observe = teacher.observe
    monkeypatch.setattr(teacher, "observe", lambda outcomes: (outcomes_seen.extend(outcomes), observe(outcomes)))
    groups = learner.parts.collector.collect(1).groups
    logps = [[logp for turn in t.turns for logp in turn.logps] for group in groups for t in group.trajectories]
    reported = [value for outcome in outcomes_seen for value in outcome.extras["policy_entropy"]]
    # Within a group, attempts are in the order in which they ended.
    assert sorted(reported) == pytest.approx(sorted(-sum(row) / len(row) for row in logps))


def test_a_pool_fixes_the_instances_among_which_the_teacher_chooses(config, tmp_path):
    learner, rows = run(tmp_path / "run", config, pool=5, steps=6)
    fixed = {json.dumps(task["params"], sort_keys=True) for task in learner.parts.teacher.domain.tasks}
    assert {json.dumps(row["params"], sort_keys=True) for row in rows} <= fixed
    assert len({row["task_id"] for row in rows}) <= 5 < len(rows)


def test_a_teacher_of_axes_refuses_a_pool_before_a_model_is_loaded(config, tmp_path):
    with pytest.raises(InputError, match="FiniteTasks"):
        run(tmp_path / "run", config, pool=5, teacher="alp-gmm", model="no/such/model")


def test_weights_and_sizes_that_a_proposal_asks_for_reach_the_loss(config, tmp_path):
    class Advising(RandomTeacher):
        def propose(self, k):
            first, *rest = super().propose(k)
            return [Proposal(first.id, first.task, 5, meta={"weight": 0.25}), *rest]

    Preset("advising", Advising, "The uniform teacher with advice.", "")
    try:
        learner, _ = run(tmp_path / "run", config, teacher="advising", steps=1)
        collected = learner.parts.collector.collect(2)
    finally:
        TEACHERS._entries.pop("advising")
    assert [len(group.trajectories) for group in collected.groups] == [5, 2, 2, 2]
    weights = [{trajectory.weight for trajectory in group.trajectories} for group in collected.groups]
    assert weights == [{0.25}, {1.0}, {1.0}, {1.0}]
    plain = [
        replace(group, trajectories=tuple(replace(trajectory, weight=1.0) for trajectory in group.trajectories))
        for group in collected.groups
    ]
    weighed, unweighed = (learner.parts.update.weigh(groups) for groups in (collected.groups, plain))
    first = weighed.batch.episode_of < 5
    assert unweighed.weight[first].any()
    assert weighed.weight[first] == pytest.approx(0.25 * unweighed.weight[first])
    assert weighed.weight[~first] == pytest.approx(unweighed.weight[~first])


@pytest.mark.parametrize(("given", "used"), [(0, 2048), (300, 300)])
def test_a_forward_pass_on_a_cpu_holds_2048_tokens_by_default(given, used, config, tmp_path):
    learner, _ = run(tmp_path / "run", config, token_budget=given, steps=1, device="cpu")
    assert learner.parts.update.passes.budget == used


@pytest.mark.parametrize("name", sorted(TEACHERS))
def test_what_a_teacher_reads_is_in_the_table_of_measures(name):
    teacher = make(name, ParamSpace([IntAxis("n", 1, 4)]))
    assert teacher.needs | teacher.uses <= set(MEASURES)


def test_ladders_of_formats_act_on_the_formats_of_a_question(config, tmp_path):
    of = {"of": "palaestra/Arithmetic-v0"}
    changes = {"env": "palaestra/Formats-v0", "axes": {"digits": 2, "terms": 3}, "env_options": of, "prompts": 2}

    def formats(teacher, **options):
        _, rows = run(tmp_path / teacher, config, teacher=teacher, teacher_options=options, **changes)
        return [row["params"]["format"] for row in rows]

    # The untrained model answers nothing, so that the ladder stays where it begins; stages go on after so many tasks.
    assert formats("format-ladder") == ["yes_no"] * 6
    assert formats("format-stages", tasks=2) == ["yes_no"] * 2 + ["four_choices"] * 2 + ["ten_choices"] * 2


def test_a_pool_of_a_ladder_holds_each_question_in_every_format(config, tmp_path):
    axes = {"digits": 2, "terms": 3, "format": ["four_choices", "ten_choices", "cloze", "open"]}
    changes = {"env": "palaestra/Formats-v0", "axes": axes, "env_options": {"of": "palaestra/Arithmetic-v0"}}
    changes |= {"prompts": 8, "pool": 3, "steps": 1}
    learner, rows = run(tmp_path / "run", config, teacher="format-ladder", **changes)
    assert learner.parts.teacher.arms.n == 12
    assert {row["params"]["format"] for row in rows} == {"four_choices"}
    assert len({row["task_id"] for row in rows}) <= 3
