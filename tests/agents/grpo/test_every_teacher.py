"""GRPO under every registered teacher, over parameters and over a list of fixed tasks."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from palaestra.agents.grpo.config import TrainConfig, WarmUp
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.measures import MEASURES
from palaestra.errors import InputError
from palaestra.teachers import TEACHERS, Preset, Proposal, make
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


@pytest.mark.parametrize("name", sorted(TEACHERS))
def test_a_learner_trains_on_the_proposals_of_every_teacher_and_reports_every_outcome(name, learner, monkeypatch):
    teacher = make(name, learner.environments.param_space, seed=1)
    for need in teacher.needs - set(MEASURES):
        monkeypatch.setitem(MEASURES._entries, need, lambda trajectory: 0.5 + trajectory.env_return / 4)
    monkeypatch.setattr(learner.collector, "teacher", teacher)
    for step in (1, 2):
        collected = learner.collector.collect(step)
        assert len(collected.played) >= 4
        learner.update.run(collected.trainable, [], 1e-4)
    metrics = teacher.metrics()
    assert metrics["observed"] == metrics["proposed"] >= 8


def test_a_teacher_with_an_unknown_need_is_refused_before_a_model_is_loaded(config, tmp_path):
    with pytest.raises(InputError, match="transition_loss"):
        run(tmp_path / "run", config, teacher="traced", model="no/such/model")


def test_the_reported_entropy_is_that_of_the_sampled_tokens(learner, monkeypatch):
    outcomes_seen = []
    teacher = make("plr", learner.environments.param_space, score="policy_entropy", seed=1)
    monkeypatch.setattr(learner.collector, "teacher", teacher)
    observe = teacher.observe
    monkeypatch.setattr(teacher, "observe", lambda outcomes: (outcomes_seen.extend(outcomes), observe(outcomes)))
    groups = learner.collector.collect(1).groups
    logps = [[logp for turn in t.turns for logp in turn.logps] for group in groups for t in group.trajectories]
    reported = [value for outcome in outcomes_seen for value in outcome.extras["policy_entropy"]]
    # Within a group, attempts are in the order in which they ended.
    assert sorted(reported) == pytest.approx(sorted(-sum(row) / len(row) for row in logps))


def test_a_pool_fixes_the_instances_among_which_the_teacher_chooses(config, tmp_path):
    learner, rows = run(tmp_path / "run", config, pool=5, steps=6)
    fixed = {json.dumps(task["params"], sort_keys=True) for task in learner.teacher.domain.tasks}
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
        collected = learner.collector.collect(2)
    finally:
        TEACHERS._entries.pop("advising")
    assert [len(group.trajectories) for group in collected.groups] == [5, 2, 2, 2]
    weights = [{trajectory.weight for trajectory in group.trajectories} for group in collected.groups]
    assert weights == [{0.25}, {1.0}, {1.0}, {1.0}]
    plain = [
        replace(group, trajectories=tuple(replace(trajectory, weight=1.0) for trajectory in group.trajectories))
        for group in collected.groups
    ]
    weighed, unweighed = (learner.update.weigh(groups) for groups in (collected.groups, plain))
    first = weighed.batch.episode_of < 5
    assert unweighed.weight[first].any()
    assert weighed.weight[first] == pytest.approx(0.25 * unweighed.weight[first])
    assert weighed.weight[~first] == pytest.approx(unweighed.weight[~first])


@pytest.mark.parametrize(("given", "used"), [(0, 2048), (300, 300)])
def test_a_forward_pass_on_a_cpu_holds_2048_tokens_by_default(given, used, config, tmp_path):
    learner, _ = run(tmp_path / "run", config, token_budget=given, steps=1, device="cpu")
    assert learner.update.forward.budget == used
