"""How a task is played: each request against the same step without it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.config import RequestSettings
from palaestra.agents.grpo.run.logs import trajectory_row
from palaestra.teachers.prompts.system_texts import PRIOR_PROMPTS

PROMPT = "a or b?"


def prompts_of(learner, collected):
    """The text of each context as it is trained, without markers."""
    decode = learner.language.renderer.tokenizer.decode
    return [decode(list(t.turns[0].obs_ids)) for group in collected.groups for t in group.trajectories]


def test_a_token_budget_limits_the_answers_and_stands_in_the_trained_prompt(start):
    plain = start("random", "plain")
    limited = start("token-budget", teacher_options={"start": 1}, temperature=3.0)
    free, bound = plain.parts.collector.collect(1), limited.parts.collector.collect(1)
    assert all(t.action_tokens == 1 == t.max_tokens for group in bound.groups for t in group.trajectories)
    assert max(t.action_tokens for group in free.groups for t in group.trajectories) > 1
    assert all("\nAnswer within 1 tokens." in prompt for prompt in prompts_of(limited, bound))
    assert not any("tokens" in prompt for prompt in prompts_of(plain, free))
    assert bound.requests == {"requests/max_tokens": 3.0, "requests/max_tokens/mean": 1.0}


def test_the_sentence_of_the_budget_can_be_set(start):
    learner = start("token-budget", requests=RequestSettings(budget="{tokens} at most!"))
    prompts = prompts_of(learner, learner.parts.collector.collect(1))
    assert all("256 at most!" in prompt for prompt in prompts)


@pytest.mark.parametrize("recipe", ["grpo", "tree_rpo", "reinforce_ada", "ghpo"])
def test_every_strategy_plays_under_the_conditions(start, recipe):
    learner = start("token-budget", teacher_options={"start": 2}, recipe=recipe, temperature=3.0)
    groups = learner.parts.collector.collect(1).groups
    assert groups
    for trajectory in (t for group in groups for t in group.trajectories):
        assert trajectory.action_tokens <= 2
        assert "Answer within 2 tokens." in trajectory.turns[0].observation


def test_a_template_changes_the_system_text_alone(start):
    options = {"templates": ["plan"]}
    plain, planned = (
        start("random", "plain"),
        start("prior-prompts", teacher_options=options, recipe="prior_prompts", context=512),
    )
    free, asked = plain.parts.collector.collect(1), planned.parts.collector.collect(1)
    text = PRIOR_PROMPTS["plan"].text
    usual = [prompt.replace("<obs>", f"<obs>{text}\n") for prompt in prompts_of(plain, free)]
    assert usual == prompts_of(planned, asked)
    assert asked.requests == {"requests/system": 3.0, "requests/system/used": 3.0}
    members = [t for group in asked.groups for t in group.trajectories]
    assert {t.system for t in members} == {text} == {t.extras["system_text"] for t in members}
    assert trajectory_row(1, members[0])["system"] == text
    assert "system" not in trajectory_row(1, free.groups[0].trajectories[0])
    assert all(t.outcome == 0.5 * t.success for t in members)  # none has the tags


def test_greedy_probes_take_the_most_likely_token(start):
    learner = start("greedy-fail", requests=RequestSettings(rounds=1), prompts=6)
    temperatures, submit = [], learner.parts.collector._engine.submit
    learner.parts.collector._engine.submit = lambda request: (temperatures.append(request.temperature), submit(request))
    probes = learner.parts.collector.collect(1)
    assert set(temperatures) == {0.0}
    assert [len(group.trajectories) for group in probes.groups] == [1] * 6
    assert not probes.trainable
    # At temperature 1 the same policy says a as often as b.
    assert {math.exp(t.turns[0].logps[0]) > 0.5 for group in probes.groups for t in group.trajectories} == {True}


def test_a_step_probes_greedily_and_trains_on_what_failed(start):
    learner = start("greedy-fail", pool=3, env="palaestra/Arithmetic-v0")  # which this policy never solves
    temperatures, submit = [], learner.parts.collector._engine.submit
    learner.parts.collector._engine.submit = lambda request: (temperatures.append(request.temperature), submit(request))
    collected = learner.parts.collector.collect(1)
    probes, trained = ([row for row in collected.played if row.proposal.train == train] for train in (False, True))
    assert [row.task.conditions.temperature for row in probes] == [0.0] * 3
    assert temperatures == [0.0] * 3 + [1.0] * 24
    assert {row.task.seed for row in trained} == {row.task.seed for row in probes}
    assert len(collected.trainable) == 3


def test_a_hint_opens_the_answer_and_is_not_trained(start):
    plain, guided = (
        start("random", "plain", env="palaestra/Arithmetic-v0"),
        start("seele", env="palaestra/Arithmetic-v0"),
    )
    collected = guided.parts.collector.collect(1)
    for trajectory in (t for group in collected.groups for t in group.trajectories):
        assert trajectory.guided > 0
        assert Origin.HINT in trajectory.turns[0].token_origins
    weighed = guided.parts.update.weigh(collected.trainable)
    assert not weighed.weight[weighed.batch.written_by(Origin.HINT)].any()
    assert all(t.guided == 0 for group in plain.parts.collector.collect(1).groups for t in group.trajectories)
    assert collected.requests["requests/hint/mean"] > 0


def test_a_hint_can_stand_in_the_prompt(start):
    settings = RequestSettings(hint_where="prompt", hint="It begins: {hint}")
    learner = start("seele", env="palaestra/Arithmetic-v0", requests=settings)
    collected = learner.parts.collector.collect(1)
    shown = [row for row in collected.played if row.done["hint"]]
    assert shown
    for row in shown:
        assert all("\nIt begins: " in t.turns[0].observation for t in row.group.trajectories)
    assert all(t.turns[0].origins == () for group in collected.groups for t in group.trajectories)


def test_hints_of_another_size_are_another_part_of_the_solution(start):
    learner = start("seele", env="palaestra/Arithmetic-v0", requests=RequestSettings(hint_where="prompt"))
    teacher = learner.parts.teacher
    teacher.hints = lambda prompts: 0.0 * teacher.curves[prompts][:, 0]
    assert all(t.guided == 0 for group in learner.parts.collector.collect(1).groups for t in group.trajectories)


def test_conditions_belong_to_the_task_and_do_not_change_the_shared_default(start):
    learner = start("token-budget", teacher_options={"start": 2})
    row = learner.parts.collector.collect(1).played[0]
    assert row.task.conditions.limits.action == 2
    assert replace(row.task, conditions=type(row.task.conditions)()).conditions.limits is None


def test_a_hint_without_room_is_left_out_and_the_episode_counts_as_unaided(start):
    settings = RequestSettings(hint_where="prompt", hint="It begins: " + "very " * 90 + "{hint}")
    learner = start("seele", env="palaestra/Arithmetic-v0", requests=settings, context=300)
    for trajectory in (t for group in learner.parts.collector.collect(1).groups for t in group.trajectories):
        assert "very" not in trajectory.turns[0].observation
        assert trajectory.guided == 0
