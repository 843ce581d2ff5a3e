"""palaestra/Formats-v0: any question in one of several forms, from a yes-or-no question to the open one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...errors import InputError
from ...rewards import Verdict, verify
from ...rewards.answers import Form
from ...rewards.verifiers.choice import intersection_over_union
from ..axes import ChoiceAxis
from ..param_space import ParamSpace
from ..question import Task, with_prompt
from ..registration import register
from .cloze import Cloze
from .multiple_choice import LETTERS, MultipleChoice, near_misses
from .transform import MAX_DRAWS, Transform

OPTIONS = {"four_choices": 4, "ten_choices": 10}


class Formats(Transform):
    """Answer a question in one of several forms; the last form is the question itself.

    Description:
        A question of the inner family ``of`` in one of the forms: judge a given answer, choose among four or ten
        answers, find a masked number of a worked solution, or answer the unchanged question. With the same seed and
        inner parameters, all forms use the same question, unless it has too few wrong answers for a form. If an answer
        is an unordered collection, such as prime factors, the choices are elements, several of which may be right.

    Parameters:
        format ("yes_no", "four_choices", "ten_choices", "cloze", "open"): the form; without "cloze" if the inner family
            has no worked solutions with plain numbers.
        The axes of the inner family; by default those of palaestra/WordProblem-v0: steps (2 to 8), distractors (0 to
        3), size (20 to 100); steps on request from 1 to 30, distractors from 0 to 7, size from 10 to 1000.

    Observation:
        The inner question, the text to judge, choose or complete, one line such as ``B) 5`` for each option, and the
        form of the answer.

    Actions:
        Text with ``yes`` or ``no``, one letter, several letters such as ``A, C``, a number, or an answer as for the
        inner family, read in ``answer_format``.

    Reward:
        1 for the right answer, 0 otherwise. If several elements are right, a wrong answer gets the intersection over
        union of its elements and the right ones. Either word is right by chance in half (0.5) of the yes-or-no
        questions, a letter in a quarter or a tenth of the choices.

    Termination:
        After the first answer.

    Source:
        The formats of Cog-DRIFT (arXiv 2604.04767) and Curr-ReFT (arXiv 2503.07065), for the teachers "format-ladder"
        and "format-stages". The ladder takes the success rate of guessing in each format into account; the papers'
        ladders restrict the axis to ``four_choices,ten_choices,cloze,open`` and to ``yes_no,four_choices,open``.
    """

    supplies = frozenset({"allowed_answers"})
    own_axes = (
        ChoiceAxis(
            "format",
            ("yes_no", "four_choices", "ten_choices", "cloze", "open"),
            chances={"yes_no": 0.5, "four_choices": 0.25, "ten_choices": 0.1},
        ),
    )

    def __init__(
        self,
        *,
        of: str = "palaestra/WordProblem-v0",
        of_kwargs: Mapping[str, Any] | None = None,
        answer_format: str | None = None,
        **kwargs: Any,
    ):
        inner = with_prompt(of_kwargs, kwargs)
        self._choices = MultipleChoice(of=of, of_kwargs=inner)
        self._cloze = _make_cloze(of, inner)
        super().__init__(of=of, of_kwargs=of_kwargs, answer_format=answer_format, **kwargs)
        if answer_format is None:
            self.adopt_answer_format()

    def join_axes(self) -> ParamSpace:
        """Return the inner axes followed by the axis "format", as the teachers of formats use the last axis."""
        (axis,) = self.own_axes
        if self._cloze is None and isinstance(axis, ChoiceAxis):
            axis = axis.restrict([choice for choice in axis.choices if choice != "cloze"])
        return ParamSpace([*self.inner.param_space.axes, axis], self.inner.param_space.spread)

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        form, inner = params["format"], self.inner_params(params)
        for _ in range(MAX_DRAWS):
            # All forms draw the same questions; everything else comes from separate generators.
            task, seed = self.inner.generate(rng, inner), int(rng.integers(2**63))
            cloze = self._cloze and self._cloze.pose(task, np.random.default_rng([seed, 0]), everywhere=False)
            if self._cloze is not None and cloze is None:
                continue
            made = cloze if form == "cloze" else self._pose(task, np.random.default_rng([seed, 1]), inner, form)
            if made is not None:
                return Task(made.prompt, {**made.reference, "format": form}, data=task)
        raise self.unsuitable(f"with {inner} its questions do not take the form {form!r}")

    def _pose(self, task: Task, rng: np.random.Generator, inner: dict[str, Any], form: str) -> Task | None:
        """Convert an inner task to a form other than cloze; None if there are too few wrong answers."""
        if form == "open":
            return Task(self.inner.prompt_of(task), {}, data=task)
        right = self.inner.oracle(task)
        if form == "yes_no":
            wrong = self._choices.draw_wrong_answers(rng, inner, task, right, 2)
            if not wrong:
                return None
            word = "yes" if rng.random() < 0.5 else "no"
            claim = right if word == "yes" else wrong[0]
            prompt = f"{self.inner.prompt_of(task)}\nIs this answer right: {claim}\nAnswer yes or no."
            return Task(prompt, {"word": word}, data=task)
        elements = self.inner.read_elements(right)
        if elements:
            return self._offer_elements(task, rng, inner, sorted(set(elements)), OPTIONS[form])
        return self._choices.pose(task, rng, inner, OPTIONS[form])

    def _offer_elements(
        self, task: Task, rng: np.random.Generator, inner: dict[str, Any], right: list[str], count: int
    ) -> Task | None:
        """Offer elements of the answer among other elements; None if there are too few others."""
        most = min(len(right), count - 1)
        shown = [right[i] for i in rng.permutation(len(right))[: rng.integers(1, most + 1)]]
        wrong = self._draw_other_elements(rng, inner, right, count - len(shown))
        if len(wrong) < count - len(shown):
            return None
        texts = [*shown, *wrong]
        order = rng.permutation(count).tolist()
        options = [texts[i] for i in order]
        letters = [letter for letter, i in zip(LETTERS, order) if i < len(shown)]
        listed = "\n".join(f"{letter}) {text}" for letter, text in zip(LETTERS, options))
        prompt = (
            f"{self.inner.prompt_of(task)}\nThese may belong to the answer, one or more of them do:\n{listed}\n"
            "Answer with the letters of all that do, such as A, C."
        )
        return Task(prompt, {"letter": ", ".join(letters), "options": options}, data=task)

    def _draw_other_elements(
        self, rng: np.random.Generator, inner: dict[str, Any], right: list[str], count: int
    ) -> list[str]:
        """Draw elements of the answers to other tasks, and near misses of them, none of them right."""
        found: list[str] = []
        for _ in range(12 * count):
            if len(found) >= count:
                break
            others = self.inner.read_elements(self.inner.oracle(self.inner.generate(rng, inner))) or []
            misses = near_misses(right[int(rng.integers(len(right)))], rng.random(4).tolist())
            for text in (*others[:1], *misses):
                read = self.inner.read_elements(text)
                if read and read == [text] and text not in right and text not in found:
                    found.append(text)
        return found[:count]

    def form_of(self, task: Task) -> Form:
        form = task.reference["format"]
        if form == "open":
            return self.inner.form_of(task.data)
        return "values" if "," in task.reference.get("letter", "") else "line"

    def verify(self, task: Task, answer: str) -> Verdict:
        form = task.reference["format"]
        if form == "yes_no":
            if not any(verify("text", answer, word).success for word in ("yes", "no")):
                return Verdict(0.0, False, feedback="The answer must be yes or no.", malformed=True)
            return verify("text", answer, task.reference["word"])
        if form in OPTIONS:
            reference = task.reference
            return verify("choice", answer, reference["letter"], options=reference["options"], partial=True)
        if form == "cloze" and self._cloze is not None:
            return self._cloze.verify(task, answer)
        verdict = self.inner.verify(task.data, answer)
        right = self.inner.read_elements(self.inner.oracle(task.data))
        found = self.inner.read_elements(answer) if right and not verdict.success else None
        if right and found and verdict.valid and not verdict.malformed:
            return Verdict(intersection_over_union(found, right), False, feedback=verdict.feedback)
        return verdict

    def oracle(self, task: Task) -> str:
        form = task.reference["format"]
        if form == "cloze" and self._cloze is not None:
            return self._cloze.oracle(task)
        return task.reference.get("word") or task.reference.get("letter") or self.inner.oracle(task.data)

    def compute_extra(self, subject: Task, name: str) -> Any:
        if name != "allowed_answers":
            return super().compute_extra(subject, name)
        if subject.reference["format"] == "yes_no":
            return ["yes", "no"]
        one = "," not in subject.reference.get("letter", ",")
        return list(LETTERS[: len(subject.reference["options"])]) if one else None

    def solution_steps(self, task: Task) -> list[str]:
        form = task.reference["format"]
        if form == "cloze" and self._cloze is not None:
            return self._cloze.solution_steps(task)
        steps = self.inner.solution_steps(task.data)
        return steps if form == "open" else [*steps, self.oracle(task)]

    def solver_cost(self, episode: Task) -> float:
        """Return the cost of the inner question, independent of the form: the inner solver's cost if known, else the
        length of question and solution."""
        whole = self.inner.solver_cost(episode.data)
        if whole is not None:
            return whole
        return float(len(episode.data.prompt) + sum(map(len, self.inner.solution_steps(episode.data))))


def _make_cloze(of: str, of_kwargs: Mapping[str, Any] | None) -> Cloze | None:
    """Make the cloze form; None if the family is unsuitable for it."""
    try:
        cloze = Cloze(of=of, of_kwargs=of_kwargs)
        for difficulty in (0.0, 1.0):
            params = {**cloze.inner.param_space.at(difficulty), "masked": "once"}
            cloze.generate(np.random.default_rng(0), params)
    except InputError:
        return None
    return cloze


register("palaestra/Formats-v0", f"{__name__}:Formats")
