"""What the guided recipes show the policy of real environments: steps of the worked solution, never the bare answer."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from palaestra.agents.grpo.batch.trajectory import Group, Origin
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.agents.grpo.rollouts.environments import Environments, begin
from palaestra.agents.grpo.rollouts.episode_player import EpisodePlayer
from palaestra.agents.grpo.rollouts.episode_starts import RolloutTask, TokenLimits
from palaestra.agents.grpo.rollouts.guided import Guided
from palaestra.agents.grpo.rollouts.teacher_rows import TeacherRows
from palaestra.agents.language.model import LanguageModel
from palaestra.agents.language.tiny import TinyShape, tiny_model
from palaestra.errors import InputError

from .conftest import ARITHMETIC, WORDS, read_rows, row_of, steps_of  # isort: skip

STRATEGIES = ("guided", "teacher_rows", "first_error_repair", "rubric_refine")
GUIDED = sorted(name for name, row in RECIPES.items() if row.rollout.name in STRATEGIES)
TOLD_THE_ANSWER = {"star"}
"""STaR's hint is the answer, as published."""
LIMITS = TokenLimits(action=32, episode=64, context=2000)


@pytest.fixture(scope="module")
def untrained() -> LanguageModel:
    """The tiny model in a tenth of its size, with a context for long questions."""
    shape = TinyShape(hidden=32, layers=2, heads=4, kv_heads=2, head_dim=8, intermediate=48, context=2000)
    return LanguageModel.of(*tiny_model(3, shape))


class Watched(EpisodePlayer):
    """Remembers every start, and the strategy that it belongs to."""

    strategy: Any

    def play(self, starts: Any, **options: Any) -> Any:
        self.starts = [*getattr(self, "starts", ()), *starts]
        return super().play(starts, **options)


def play_recipe(name: str, env: str, untrained: Any) -> tuple[Watched, list[Group], Any]:
    """Play one hard task by the rollout strategy of a recipe, with an untrained model."""
    environments = Environments(env)
    objective = Objective(RECIPES[name], extras=environments.supplies)
    engine = untrained.engine(16, LIMITS.context)
    engine.seed(1)
    player = Watched(
        environments, engine, untrained.renderer, LIMITS, 1.0, np.random.default_rng(1), judge=objective.add_rewards
    )
    params = environments.param_space.at(0.25)
    player.strategy = objective.rollout.refresh()
    groups = player.strategy.play([RolloutTask(params, 4, 4, 0)], player)
    taken = environments.take()
    begin(taken, 4, params)
    return player, groups, taken.unwrapped


def shown(player: Watched, groups: list[Group], renderer: Any) -> list[str]:
    """The texts that the policy, or the update, was given: hints without their template, tokens of the author."""
    template = getattr(player.strategy, "template", "{hint}") if isinstance(player.strategy, Guided) else "{hint}"
    before, _, after = template.partition("{hint}")
    texts = [start.hint.removeprefix(before).removesuffix(after) for start in player.starts]
    given = (Origin.HINT, Origin.TEACHER)
    for start in player.starts:
        for insert in start.inserts:
            texts.append(renderer.action([i for i, o in zip(insert.ids, insert.origins, strict=True) if o in given]))
    rows = [
        t for group in groups for t in group.trajectories if t.version < 0 and player.strategy.__class__ is TeacherRows
    ]
    texts += [turn.action for row in rows for turn in row.turns]
    return [text for text in texts if text]


@pytest.mark.parametrize("env", ["palaestra/GSM8K-v0", WORDS, ARITHMETIC])
@pytest.mark.parametrize("name", sorted({*GUIDED} - TOLD_THE_ANSWER))
def test_what_a_recipe_shows_is_neither_empty_nor_the_answer(untrained, name, env):
    player, groups, task_env = play_recipe(name, env, untrained)
    texts = shown(player, groups, untrained.renderer)
    *working, answer = task_env.solution_steps(task_env.here())
    assert working
    assert texts
    assert {text.strip() for text in texts}.isdisjoint({"", answer, task_env.oracle()})
    if RECIPES[name].rollout.params.get("where") == "chunks":
        assert all(text in "\n".join((*working, "")) for text in texts)
    else:
        criteria = RECIPES[name].rollout.params.get("source") == "criteria"
        pieces = task_env.criteria(task_env.here()) if criteria else working
        # The rationale of a record of GSM8K has the notes of a calculator.
        assert all(any(piece in re.sub("<<.*?>>", "", text) for piece in pieces) for text in texts)


def test_star_shows_the_answer_and_nothing_else(untrained):
    player, _, task_env = play_recipe("star", WORDS, untrained)
    assert {start.hint for start in player.starts if start.hint} == {f"Hint: the answer is {task_env.oracle()}"}


def test_a_stripped_hint_is_in_no_prompt_that_rewards_see(world):
    steps = steps_of(world(WORDS, ""))
    w = world(WORDS, "0")
    strategy = Guided(amount="fixed(share=0.75)", where="stripped")
    (group,) = strategy.play([w.task], w.player)
    assert any(steps[0] in w.texts(request.ids) for request in w.sampler.requests)
    for t in group.trajectories:
        assert t.guided == 0.75
        assert all(step not in t.episode.prompt + w.texts(row_of(t)) for step in steps[:-1])


def test_given_tokens_leave_the_policy_its_own_budget(world):
    tight = TokenLimits(action=8, episode=16, context=4000)
    steps = steps_of(world(WORDS, ""))
    opening = "".join(f"{step}\n" for step in steps[:3])  # the fourth states the result
    assert len(opening) > tight.action
    w = world(WORDS, steps[-1], tight)
    (group,) = Guided(trigger="always", where="answer", amount="fixed(share=0.9)").play([w.task], w.player)
    assert [t.turns[0].action for t in group.trajectories] == [opening + steps[-1]] * 2
    assert all(t.success for t in group.trajectories)


def test_a_failed_program_is_tried_again_with_its_failing_test_and_a_plan(world):
    w = world("palaestra/ProgramRepair-v0", "def compute(n):\n    return n", TokenLimits(64, 200, 4000), samples=1)
    (group,) = Objective(RECIPES["agent_rlvr"]).rollout.refresh().play([w.task], w.player)
    first, *_ = w.player.attempts[w.task.proposal]
    (turn,) = first.turns
    report = turn.extras["test_report"]
    assert report
    assert report != turn.feedback
    prompt = w.texts(w.sampler.requests[1].ids)
    assert f"An earlier attempt failed: {turn.action}\n{report}\nPlan: " in prompt
    assert prompt.count("0 of 6 tests passed.") == 1  # the feedback begins so, too
    *working, program = steps_of(w)
    plan = prompt.partition("Plan: ")[2].removesuffix("<act>")
    assert plan == "\n".join(working[:2])
    assert program not in prompt
    assert [t.guided for t in group.trajectories] == [0.5]


def test_criteria_name_the_operations_without_their_results(world):
    *working, answer = steps_of(world(WORDS, ""))
    w = world(WORDS, "0", samples=1)
    strategy = Guided(
        trigger="always", where="stripped", source="criteria", amount="fixed(share=1.0)", template="These:\n{hint}"
    )
    strategy.play([w.task], w.player)
    shown = w.texts(w.sampler.requests[0].ids).partition("These:\n")[2].removesuffix("<act>")
    assert shown.splitlines() == [f"It works out {step.partition(' =')[0]}." for step in working]
    assert answer not in shown


def test_criteria_are_refused_where_they_could_only_be_the_answer(world):
    w = world("palaestra/MultipleChoiceQuestions-v0", "A")
    strategy = Guided(trigger="always", where="stripped", source="criteria", amount="fixed(share=1.0)")
    with pytest.raises(InputError, match="no steps before the answer"):
        strategy.play([w.task], w.player)


# Through the words of the command line -------------------------------------------------------------------------------


def test_a_ghpo_run_trains_on_prompts_with_steps(train):
    rows = read_rows(train(WORDS, "--axis", "steps=4", "--recipe", "ghpo", "--prompts", "1"), "trajectories")
    hint = rows[0]["turns"][0]["observation"].partition("beginning part of the answer: ")[2].splitlines()
    assert len(hint) == 3
    assert all("=" in step for step in hint)


def test_a_luffy_run_trains_on_a_worked_solution(train):
    (row,) = read_rows(train(WORDS, "--axis", "steps=4", "--recipe", "luffy", "--prompts", "1"), "metrics")
    assert row["episodes"] == 3
    assert row["loss"] != 0


def test_a_rusca_run_is_paid_by_the_rubric(train):
    rows = read_rows(train(WORDS, "--axis", "steps=4", "--recipe", "rusca_rl", "--prompts", "1"), "trajectories")
    assert set(rows[0]["shaping"]) == {"rubric"}
    assert "meets these criteria" not in rows[0]["turns"][0]["observation"]
