"""palaestra/ReasoningGym-v0: any data set of Reasoning Gym, with its known loopholes closed."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...errors import InputError, MissingExtra, unknown_name
from ...rewards import Verdict, verify
from ...rewards.answers.numbers import parse_number
from ...rewards.verifiers.countdown import ExpressionError, evaluate_expression
from ...rewards.verifiers.sequence import split_elements
from ...rewards.verifiers.workers import WorkerFailure, WorkerPool
from ..param_space import IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register

POOL = WorkerPool(f"{__package__}.reasoning_gym_worker:answer_job", workers=1, recycle=1_000_000, start_seconds=120.0)
# Seconds for the import of the library, for making one task, and for scoring one answer.
STARTING, MAKING, SCORING = 120.0, 60.0, 10.0

_CORRECT = Verdict(1.0, True, feedback="Correct.")
_WRONG = Verdict(0.0, False, feedback="The answer is not correct.")
# Characters allowed in answers that the scorer passes to `eval`: nothing can be called or looked up with them.
_LITERAL = re.compile(r"[0-9A-Za-z_\s,'\"\[\]-]*")
_FORMULA = re.compile(r"[0-9A-Za-z_\s.,+*/^()-]*")
_NAMES = {"sin", "cos", "tan", "exp", "log", "sqrt", "pi", "asin", "acos", "atan", "sinh", "cosh", "tanh"}
_LITERALS = {"string_insertion", "spiral_matrix", "binary_matrix", "n_queens"}
_FORMULAS = {"simple_integration", "intermediate_integration", "polynomial_multiplication"}


class ReasoningGym(Question):
    """Answer a question of one of Reasoning Gym's data sets.

    Description:
        Tasks of the data set ``dataset``, made and scored by the library reasoning-gym in a separate process with
        limits on time and memory. Each task has a randomly drawn seed, so that neighbouring seeds share nothing.
        Answers that a scorer would evaluate pass a grammar first; countdown and puzzle24 are judged by exact arithmetic
        here; two numbers are the same only if they are exactly equal.

    Parameters:
        level (0 to 35): the level of the data set's curriculum; the upper end depends on the data set, 35 for the
            default "leg_counting". A data set without a curriculum has no parameters.

    Observation:
        The data set's question.

    Actions:
        Text with the answer, read in ``answer_format``; by default in ``<answer></answer>``, as answers of some
        data sets have several lines.

    Reward:
        1 if the data set's own scorer gives full marks, 0 otherwise; its partial credit, also given for texts that
        contain the answer, is ignored.

    Termination:
        After the first answer.

    Source:
        Reasoning Gym (arXiv 2505.24760), package reasoning-gym; needs the extra [reasoning-gym].

    Args:
        dataset: the data set's name, such as "leg_counting".
        config: fields of the data set's configuration, which hold at every level.
        **kwargs: as for every environment.

    Raises:
        MissingExtra: reasoning-gym is not installed.
        InputError: an unknown data set, or a configuration that it refuses.
    """

    default_answer_format = "tag"
    # An answer may be a sentence, or text in quotation marks.
    strips_marks = False
    works_in_steps = False  # the library's data sets have no worked solutions
    max_observation = 32_768

    def __init__(self, *, dataset: str = "leg_counting", config: Mapping[str, Any] | None = None, **kwargs: Any):
        if importlib.util.find_spec("reasoning_gym") is None:
            raise MissingExtra("palaestra/ReasoningGym-v0", "reasoning-gym")
        names = POOL.run({"do": "names"}, STARTING)
        if dataset not in names:
            raise unknown_name("Reasoning Gym data set", str(dataset), names)
        taken = {"seed", "size"} & set(config or {})
        if taken:
            raise InputError(f"{', '.join(sorted(taken))} of a Reasoning Gym data set cannot be set: seed the reset.")
        top = _run_job({"do": "levels", "name": dataset}, MAKING)
        self.param_space = ParamSpace([] if top is None else [IntAxis("level", 0, top)])
        self.dataset, self.config = dataset, dict(config or {})
        super().__init__(**kwargs)

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        made = {
            "name": self.dataset,
            "config": self.config,
            "level": params.get("level"),
            "seed": int(rng.integers(2**31)),
        }
        try:
            item = _run_job({**made, "do": "task"}, MAKING)
        except WorkerFailure as failure:
            raise InputError(
                f"Reasoning Gym's {self.dataset} makes no task with {self.config} and {params}: {failure}."
            ) from None
        if item["answer"] is None:
            raise InputError(f"Reasoning Gym's {self.dataset} tells no right answer to its tasks; choose another.")
        return Task(item["question"], item["answer"], content=item["question"], data={**item, "made": made})

    def verify(self, task: Task, answer: str) -> Verdict:
        gold, item = task.reference, task.data
        if answer == gold.strip():
            return _CORRECT
        if item["numbers"] is not None:
            return _judge_expression(answer, item["numbers"], item["target"])
        value, right = parse_number(answer), parse_number(gold)
        if value is not None and right is not None:
            return _CORRECT if value == right else _WRONG
        if self.dataset == "number_sorting":
            # The library's scorer accepts numbers that differ by up to 1.
            numbers = [element.strip("'\"") for element in split_elements(gold)]
            return verify("list", answer.replace('"', "'"), numbers, element="number")
        fault = _find_fault(self.dataset, answer)
        if fault:
            return Verdict(0.0, False, feedback=fault, malformed=True)
        if item["by_text"]:
            return _WRONG
        try:
            score = _run_job({**item["made"], "do": "score", "answer": answer}, SCORING)
        except WorkerFailure as failure:
            beyond = self.dataset in _FORMULAS and failure.reason in ("deadline", "memory")
            if beyond or failure.reason == "failed":
                return Verdict(0.0, False, feedback="The answer cannot be read, or is far too large.", malformed=True)
            return Verdict(0.0, False, valid=False, feedback="The answer could not be judged.")
        return _CORRECT if score >= 1.0 else _WRONG

    def oracle(self, task: Task) -> str:
        return task.reference.strip()


def _run_job(job: dict[str, Any], seconds: float) -> Any:
    # A fresh worker first imports the library, which must not use up the time of the job.
    POOL.run({"do": "names"}, STARTING)
    return POOL.run(job, seconds)


def _judge_expression(answer: str, numbers: list[int], target: int) -> Verdict:
    """Accept an expression that uses each of ``numbers`` exactly once and equals ``target`` exactly."""
    try:
        value = evaluate_expression(answer, numbers)
    except ExpressionError as error:
        return Verdict(0.0, False, feedback=str(error), malformed=True)
    if Counter(map(int, re.findall(r"[0-9]+", answer))) != Counter(numbers):
        return Verdict(0.0, False, feedback="Not all the given numbers are used.")
    return _CORRECT if value == target else _WRONG


def _find_fault(dataset: str, answer: str) -> str:
    """Return the reason why ``answer`` must not reach a scorer that evaluates it; "" if it is safe."""
    if dataset in _LITERALS and not _LITERAL.fullmatch(answer):
        return "The answer may hold only letters, digits, quotation marks, commas and brackets."
    if dataset not in _FORMULAS:
        return ""
    names = {name for name in re.findall(r"[A-Za-z_]+", answer) if len(name) > 1}
    if len(answer) > 1_000 or not _FORMULA.fullmatch(answer) or names - _NAMES:
        return "The answer must be a formula of numbers, single letters and elementary functions."
    if re.search(r"[0-9]{16}|(?:\*\*|\^)\s*[(-]*\s*[0-9]{4}|(?:\*\*|\^)[^+*/]*(?:\*\*|\^)", answer):
        return "A number or power in the answer is far too large."
    return ""


register("palaestra/ReasoningGym-v0", f"{__name__}:ReasoningGym")
