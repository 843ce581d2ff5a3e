"""palaestra/Chained-v0: a chain of questions of other families, each of which needs the previous answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from ...errors import InputError
from ...rewards import Verdict
from ...rewards.answers.numbers import parse_number
from ..param_space import FloatAxis, IntAxis, ParamSpace
from ..question import Question, Task, with_prompt
from ..registration import register
from ..splits import TEST_FRACTION, split_of
from .symbolic_answers import format_sum

# Families whose answer changes with the first number of the question.
FAMILIES = ("palaestra/Arithmetic-v0", "palaestra/LinearEquation-v0", "palaestra/ModularArithmetic-v0")
MAX_TRIES = 1_000
# A whole number that a name can replace.
_LITERAL = re.compile(r"(?<![\w.^/])\d+(?![\w^/]|\.\d)")


class Link(NamedTuple):
    """One question of a chain: the index of its family, its task and answer, and the map from the previous answer to
    the first number of its prompt: ``number = factor * previous answer + offset``."""

    family: int
    task: Task
    answer: Fraction
    factor: int
    offset: int


class Chained(Question):
    """Answer a chain of questions, each of which contains a number computed from the previous answer.

    Description:
        Every question is a task of one of ``families`` (constructor argument: ids of families with one number as answer
        and a whole number in the question). In each question but the first, the first number is replaced by n, and the
        line defines n by the previous answer, as in ``n = 2*A1 - 17``; no other number in the question is n or n - 1.
        Only the last answer counts.

    Parameters:
        horizon (1 to 8, on request up to 30): number of questions.
        level (0.0 to 1.0): the difficulty of each question, on the axes of its own family.

    Observation:
        Text such as ``... 1. What is 17 + 25? Answer with an integer only. 2. Let n = 2*A1 - 17. Solve 3x + n =
        19. ...``, one question a line.

    Actions:
        Text with the answer to the last question, in the form that its family asks for, read in ``answer_format``.

    Reward:
        1 for the right last answer, 0 otherwise. In the easiest tasks, which have only one question, such as a sum of
        two digits, always giving the same answer is right in 0.06 of the cases by chance.

    Termination:
        After the first answer.

    Source:
        h1, arXiv 2510.07312, where longer and longer chains are the curriculum. Here the map from an answer to the next
        question is chosen to give a number that the next family has drawn itself, so that any family can be used.
    """

    param_space = ParamSpace([IntAxis("horizon", 1, 8, limits=(1, 30)), FloatAxis("level", 0.0, 1.0)])
    max_observation = 16_384

    def __init__(self, *, families: Sequence[str] = FAMILIES, **kwargs: Any):
        super().__init__(**kwargs)
        if isinstance(families, str) or not families:
            raise InputError(f"families must be a list of ids such as {list(FAMILIES[:2])}, not {families!r}.")
        self.families = tuple(_make_family(name, with_prompt(None, kwargs)) for name in families)

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        # The questions of a training chain are training tasks of their families.
        side = "test" if rng.random() < TEST_FRACTION else "train"
        side = side if self.split == "all" else self.split
        space = [family.param_space.at(params["level"]) for family in self.families]
        links: list[Link] = []
        lines: list[str] = []
        for place in range(1, params["horizon"] + 1):
            chosen, u = rng.random(2).tolist()
            k = int(chosen * len(self.families))
            task, answer, number = _draw_task(self.families[k], rng, space[k], side)
            factor, offset, text = 1, 0, self.families[k].prompt_of(task)
            if links:
                before = links[-1].answer
                factor = before.denominator * (1 + int(u * 3))
                offset = int(number - factor * before)
                text = f"Let n = {_format_map(factor, offset, f'A{place - 1}')}. {_LITERAL.sub('n', text, count=1)}"
            lines.append(f"{place}. {text}")
            links.append(Link(k, task, answer, factor, offset))
        last = len(links)
        prompt = self.families[links[0].family].prompt_of(links[0].task)
        if last > 1:
            lines.insert(0, f"Answer these {last} questions in order; A1 is the answer to question 1, and so on.")
            prompt = "\n".join([*lines, f"Give only A{last}, as question {last} asks for it."])
        content = [
            f"{type(self.families[k]).__name__} {self.families[k].content_of(task)} {a} {b}"
            for k, task, _, a, b in links
        ]
        return Task(prompt, links[-1].task.reference, content=" -> ".join(content), data=links)

    def verify(self, task: Task, answer: str) -> Verdict:
        link = task.data[-1]
        return self.families[link.family].verify(link.task, answer)

    def oracle(self, task: Task) -> str:
        link = task.data[-1]
        return self.families[link.family].oracle(link.task)

    def solution_steps(self, task: Task) -> list[str]:
        """List the intermediate answers, and the numbers that they give for the next questions."""
        lines = [f"A1 = {task.data[0].answer}"]
        for place, link in enumerate(task.data[1:], start=2):
            before = task.data[place - 2].answer
            number = link.factor * before + link.offset
            known = str(before) if before >= 0 and before.denominator == 1 else f"({before})"
            lines.append(f"n = {_format_map(link.factor, link.offset, known)} = {number}, A{place} = {link.answer}")
        return [*lines, self.oracle(task)]


def _format_map(factor: int, offset: int, answer: str) -> str:
    return format_sum([(factor, answer), (offset, "")])


def _draw_task(
    family: Question, rng: np.random.Generator, params: dict[str, Any], side: str
) -> tuple[Task, Fraction, int]:
    """Draw a task of one side of the split; return it with its answer and the first number of its prompt."""
    for _ in range(MAX_TRIES):
        task = family.generate(rng, params)
        answer = parse_number(family.oracle(task))
        first, *others = map(int, _LITERAL.findall(task.prompt) or [0, 0])
        # Repeating the number, or the range of residues modulo the number, would give it away.
        if answer is None or first in others or first - 1 in others:
            continue
        if split_of(family.split_key(task) or family.content_of(task)) == side:
            return task, answer, first
    raise InputError(
        f"{type(family).__name__} with {params} gave no {side} task with a number in its question and as its answer in "
        f"{MAX_TRIES} draws; leave it out of families."
    )


def _make_family(name: str, options: dict[str, Any]) -> Question:
    """Make the family of an id. Raise InputError if its answers are not single numbers."""
    try:
        family: Any = gym.make(name, disable_env_checker=True, **options).unwrapped
    except gym.error.Error as error:
        raise InputError(f"families has {name!r}, which cannot be made: {error}") from None
    if not isinstance(family, Question) or family.verifier not in ("integer", "number"):
        raise InputError(
            f"families has {name!r}, whose answers are not single numbers; choose such as {FAMILIES[0]!r}."
        )
    _draw_task(family, np.random.default_rng(0), family.param_space.at(0.0), "train")
    return family


register("palaestra/Chained-v0", f"{__name__}:Chained")
