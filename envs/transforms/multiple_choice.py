"""palaestra/MultipleChoice-v0: any question with the right answer among wrong ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...rewards import Verdict, verify
from ..axes import IntAxis
from ..question import Task
from ..registration import register
from .transform import MAX_DRAWS, Transform

LETTERS = "ABCDEFGHIJKLMNOP"
MAX_OPTION = 700
_NUMBER = re.compile(r"(?<![\w.])[0-9]{1,15}(?![0-9.])")
_WORD = re.compile(r"[A-Za-z0-9]+")
_OPERATOR = re.compile(r" ([-+*/]) ")


class MultipleChoice(Transform):
    """Choose the right answer to a question among several.

    Description:
        A question of the inner family ``of``, and options, exactly one of which the inner family's verifier accepts.
        Options come in pairs, an answer and a near miss of it: one pair has the right answer, the others have answers
        to other tasks with the same parameters, so that neither the odd one out nor the middle one is right more often
        than chance. Every letter is right equally often.

    Parameters:
        options (4 to 10, on request 2 to 16): number of options.
        The axes of the inner family; by default those of palaestra/LinearEquation-v0: size (5 to 50), sides ("one",
        "both"), solution ("integer", "fraction"); size on request from 3 to 10000.

    Observation:
        The inner question, one line such as ``B) 5`` for each option, and the form of the answer.

    Actions:
        Text with one letter, ``B``, or with the text of the option, read in ``answer_format``.

    Reward:
        1 for the right option, 0 otherwise. With 4 options any letter is right by chance in a quarter (0.25) of the
        tasks.

    Termination:
        After the first answer.

    Source:
        The easiest formats of Cog-DRIFT (arXiv 2604.04767).
    """

    supplies = frozenset({"options", "allowed_answers"})
    own_axes = (IntAxis("options", 4, 10, limits=(2, 16)),)

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        count, inner = params["options"], self.inner_params(params)
        for _ in range(MAX_DRAWS):
            made = self.pose(self.inner.generate(rng, inner), rng, inner, count)
            if made is not None:
                return made
        raise self.unsuitable(f"with {inner} there are not {count - 1} short wrong answers to a task")

    def pose(self, task: Task, rng: np.random.Generator, inner: dict[str, Any], count: int) -> Task | None:
        """Return a task that offers ``count`` answers to an inner task; None if there are too few wrong answers.

        Args:
            inner: the parameters of the inner task, from which other tasks are drawn.
        """
        right = self.inner.oracle(task)
        wrong = self.draw_wrong_answers(rng, inner, task, right, count)
        if len(wrong) < count - 1:
            return None
        order = rng.permutation(count).tolist()
        texts = [right, *wrong]
        options = [texts[i] for i in order]
        listed = "\n".join(f"{letter}) {text}" for letter, text in zip(LETTERS, options))
        prompt = (
            f"{self.inner.prompt_of(task)}\nOne of these answers is right:\n{listed}\nAnswer with its letter alone."
        )
        return Task(prompt, {"letter": LETTERS[order.index(0)], "options": options}, data=task)

    def verify(self, task: Task, answer: str) -> Verdict:
        return verify("choice", answer, task.reference["letter"], options=task.reference["options"])

    def compute_extra(self, subject: Task, name: str) -> Any:
        if name == "allowed_answers":
            return list(LETTERS[: len(subject.reference["options"])])
        return len(subject.reference["options"]) if name == "options" else super().compute_extra(subject, name)

    def oracle(self, task: Task) -> str:
        return task.reference["letter"]

    def solution_steps(self, task: Task) -> list[str]:
        return [*self.inner.solution_steps(task.data), task.reference["letter"]]

    def draw_wrong_answers(
        self, rng: np.random.Generator, inner: dict[str, Any], task: Task, right: str, count: int
    ) -> list[str]:
        """Draw ``count - 1`` wrong options: answers to other tasks, and near misses. Return fewer if there are not
        enough, and none if the right answer cannot be shown."""
        found: list[str] = []
        misshapen: list[str] = []
        if not is_usable(right):
            return []

        def take(texts: Iterator[str]) -> None:
            for text in texts:
                if text == right or text in found or text in misshapen or not is_usable(text):
                    continue
                verdict = self.inner.verify(task, text)
                if verdict.success or not verdict.valid:
                    continue
                (misshapen if verdict.malformed else found).append(text)
                if not verdict.malformed:
                    return

        # With an odd number of options one has no near miss; it is the right one as often as any other.
        if count % 2 == 0 or rng.random() * count >= 1.0:
            take(near_misses(right, rng.random(24).tolist()))
        for _ in range(12 * count):
            if len(found) >= count - 1:
                break
            other = self.inner.oracle(self.inner.generate(rng, inner))
            take(iter((other,)))
            if len(found) < count - 1 and is_usable(other):
                take(near_misses(other, rng.random(24).tolist()))
        return (found + misshapen)[: count - 1]


def near_misses(answer: str, draws: Sequence[float]) -> Iterator[str]:
    """Yield texts that differ from ``answer`` in one number, the order of two words, an operator or the sign.

    Each pair of ``draws``, numbers in [0, 1), gives one text or none.
    """
    numbers, words, operators = ([*p.finditer(answer)] for p in (_NUMBER, _WORD, _OPERATOR))
    for kind, u in zip(draws[::2], draws[1::2]):
        if kind < 0.6 and numbers:
            spot = numbers[int(u * len(numbers))]
            gap = (-10, -2, -1, -1, 1, 1, 2, 10)[int(kind / 0.6 * 8)]
            value = int(spot[0]) + gap
            if value > 0:
                yield f"{answer[: spot.start()]}{value}{answer[spot.end() :]}"
        elif kind < 0.75 and operators:
            spot = operators[int(u * len(operators))]
            other = {"+": "-", "-": "+", "*": "+", "/": "*"}[spot[1]]
            yield f"{answer[: spot.start()]} {other} {answer[spot.end() :]}"
        elif kind < 0.9 and len(words) > 1:
            i = int(u * (len(words) - 1))
            one, two = words[i : i + 2]
            yield answer[: one.start()] + two[0] + answer[one.end() : two.start()] + one[0] + answer[two.end() :]
        elif len(numbers) == 1 and answer not in ("0", "-0"):
            yield answer[1:] if answer.startswith("-") else f"-{answer}"


def is_usable(text: str) -> bool:
    """Return True if an answer is short and plain enough to be shown as an option."""
    return 0 < len(text) <= MAX_OPTION and text.isprintable()


register("palaestra/MultipleChoice-v0", f"{__name__}:MultipleChoice")
