"""A hint below the whole solution never gives the answer away, in any family with worked solutions."""

from __future__ import annotations

import re

import gymnasium as gym
import palaestra  # noqa: F401  (registers the families)
import pytest
from palaestra.envs.hints import count_free_steps, hint_text, stands_in
from palaestra.envs.question import Question

SHARES = (0.25, 0.5, 0.75, 0.9)
RUNS_PROGRAMS = re.compile("APPS|Code|HumanEval|LiveCode|MBPP|Program|Stdio|SQL|Spider|BIRD")
"""Families whose answers are run; none of their hints is a whole program."""


def worked(env_id: str) -> bool:
    spec = gym.spec(env_id)
    if not str(spec.entry_point).startswith("palaestra.envs"):
        return False
    module, _, name = str(spec.entry_point).partition(":")
    kind = getattr(__import__(module, fromlist=[name]), name, None)
    return isinstance(kind, type) and issubclass(kind, Question) and kind.solution_steps is not Question.solution_steps


FAMILIES = [env_id for env_id in gym.registry if env_id.startswith("palaestra/") and worked(env_id)]


def make(env_id: str):
    try:
        return gym.make(env_id, disable_env_checker=True).unwrapped
    except Exception as error:  # a component of this machine is missing
        pytest.skip(str(error))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("env_id", FAMILIES)
def test_a_part_of_a_solution_does_not_give_the_answer_away(env_id):
    env = make(env_id)
    judged = not RUNS_PROGRAMS.search(env_id)
    for seed in range(100 if env_id in ("palaestra/Arithmetic-v0", "palaestra/WordProblem-v0") else 12):
        try:
            env.reset(seed=seed)
        except Exception as error:  # a component of this machine is missing
            pytest.skip(str(error))
        task = env.here()
        steps = [step for step in env.solution_steps(task) if step.strip()]
        hints = [hint_text(steps, share, task.prompt) for share in SHARES]
        assert [len(hint) for hint in hints] == sorted(map(len, hints))
        assert steps[-1] not in hints
        if len(steps) == 1:
            continue
        if not stands_in(steps[-1], task.prompt):
            assert not any(stands_in(steps[-1], hint) for hint in hints)
        # The verifier reads no result of a step as the answer.
        for part in {part.strip(" .$") for part in re.split(r"=|:|->| is | or |\n", hints[-1])} if judged else ():
            assert stands_in(part, task.prompt) or not env.verify(task, part).success


def test_families_with_worked_solutions_are_found():
    assert len(FAMILIES) > 50


def test_one_working_step_has_a_ladder_of_its_own():
    steps = ["5 + 94 = 99", "99"]
    assert [hint_text(steps, share) for share in SHARES] == ["5", "5 +", "5 + 94", "5 + 94"]
    assert hint_text(steps, 1.0) == "5 + 94 = 99\n99"
    assert hint_text(steps, 0.0) == ""


def test_steps_end_before_the_first_that_states_the_answer():
    steps = ["2 * 3 = 6", "6 + 1 = 7", "7 - 0 = 7", "7"]
    assert hint_text(steps, 0.25) == hint_text(steps, 0.9) == "2 * 3 = 6"
    # The last step states the result, however it spells it.
    assert hint_text(["a", "it is 1,234", "1234"], 0.9) == "a"


def test_a_value_of_the_question_is_given_away_as_a_result_alone():
    steps = ["7 + 1 = 8", "8 + 2 = 10", "10 - 3 = 7", "7"]
    assert count_free_steps(steps[:-1], "7", "7 + 1 + 2 - 3 = ?") == 2
    assert count_free_steps(steps[:-1], "7") == 0


def test_other_forms_of_the_answer_give_it_away():
    assert count_free_steps(["It is 2760/60.", "That is a lot.", "So 46."], "46") == 0
    assert count_free_steps(["Try n = 23.", "f(23) = 1", "So f(23)."], "f(23)") == 0
    assert count_free_steps(["x = 3 and y = 4.", "Both", "fit."], "(3, 4)") == 0
    assert count_free_steps(["We get 42.", "Check it.", "Done."], "The answer is 42.") == 0
