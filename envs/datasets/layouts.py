"""Readers that turn records into questions, one for each published layout of data sets.

A reader takes the fields of one record and returns an `Item`. A record that does not have the layout raises InputError
with place, field and remedy, for the user to correct. A record in the layout that cannot be used as a question raises
`UnusableRecord`, and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import InputError, shorten
from ...rewards.answers import extract
from ...rewards.answers.numbers import parse_number
from ...rewards.verifiers.choice import choice_letters
from .worked_solutions import remove_notes, split_sentences

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LEVELS = (1, 5)
STEPS = (2, 8)
NUMBERS = (1, 15)
# Fields with the id of a record.
_IDS = ("id", "task_id", "question_id", "problem_id", "uid", "unique_id", "row_id", "idx", "index", "key")
_LEVEL = re.compile(r"(?:level\s*)?([1-5])", re.IGNORECASE)
_BARE_BOX = re.compile(r"\\f?boxed\s+([^\s{}$.,]+)")
_LAST_NUMBER = re.compile(r"(?<![0-9])([0-9]{1,4})/?\s*$")
_NUMERAL = re.compile(r"\$?\s*([0-9]{1,4})(?:\.0*)?\s*(?:\^\s*\{?\\circ\}?)?\s*\$?")


class UnusableRecord(Exception):
    """Raised for a record of the right layout that cannot be used as a question; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Item:
    """One question of a data set.

    Args:
        question: the text of the question.
        answer: the reference, as text; for multiple choice the index of the right option.
        steps: the worked solution, one step a line; empty if the record has none.
        rung: the question's value on the layout's axis: number of steps, level, or number in the contest.
        options: options of a multiple-choice question, in the record's order.
        rationale: the record's original worked solution, if it differs from the steps joined by lines; else empty.
        row: the record's own id, or else its place in the source, such as "test.jsonl, line 3".
    """

    question: str
    answer: str
    steps: tuple[str, ...] = ()
    rung: int = 0
    options: tuple[str, ...] = ()
    rationale: str = field(default="", compare=False, repr=False, kw_only=True)
    row: str = field(default="", compare=False, repr=False, kw_only=True)

    @property
    def content(self) -> str:
        """The text that identifies the question, independent of spacing and of the order of the options."""
        return " ".join("\n".join((self.question, *sorted(self.options))).split())

    @property
    def length(self) -> int:
        """Characters of question, options and worked solution."""
        return len(self.question) + sum(map(len, self.options)) + sum(map(len, self.steps))

    @property
    def effort(self) -> float:
        """Sort key of the questions of a rung, from easy to hard: `length`, without the solution of multiple choice."""
        return self.length - sum(map(len, self.steps)) if self.options else self.length


def normalise_name(name: str) -> str:
    """Return the normalised name of a field, as used in `Fields`."""
    return name.strip().lower().replace(" ", "_")


class Fields:
    """The fields of a record by name; case does not matter, and blanks equal underscores.

    Args:
        record: names and values.
        place: position of the record in its source, for messages.
        layout: the requirements of the layout, for messages.
    """

    def __init__(self, record: Mapping[str, Any], place: str, layout: str):
        self._values = {normalise_name(str(name)): value for name, value in record.items()}
        self.names = list(map(str, record))
        self.place, self.layout = place, layout

    def get(self, *names: str) -> Any:
        """Return the value of the first of these fields that has one, or None; "meta.level" is the field "level" of the
        record in the field "meta"."""
        values = (self._find(name) for name in names)
        return next((value for value in values if value not in (None, "")), None)

    def _find(self, name: str) -> Any:
        outer, dot, inner = name.rpartition(".")
        if name in self._values or not dot:
            return self._values.get(name)
        record = self._find(outer)
        named = record.items() if isinstance(record, Mapping) else ()
        return next((value for key, value in named if normalise_name(str(key)) == inner), None)

    @property
    def row(self) -> str:
        """The record's id, or its place in the source without one."""
        return next((str(value) for name in _IDS if isinstance(value := self.get(name), (str, int))), self.place)

    def text(self, *names: str) -> str:
        """Return the text of the first of these fields that has a value. Raise InputError if it is blank or no text."""
        value = self.get(*names)
        if value is None:
            has = ", ".join(map(repr, self.names)) or "no field"
            raise self.fault(f"the field {names[0]!r} is missing or empty (there is {has})")
        if not isinstance(value, str) or not value.strip():
            raise self.fault(f"the field {names[0]!r} must be text that is not blank, not {shorten(repr(value))}")
        return value.strip()

    def fault(self, what: str) -> InputError:
        return InputError(f"{self.place}: {what}; {self.layout}.")


@dataclass(frozen=True)
class Layout:
    """The rules for reading the records of one kind.

    Args:
        name: the name used in messages and caches.
        asks: description of a record's requirements, for messages.
        read: maps the fields and the position of a record (from 0) to an `Item`.
        columns: column names for CSV files of this layout that have no header.
    """

    name: str
    asks: str
    read: Callable[[Fields, int], Item]
    columns: tuple[str, ...] = ()


def read_gsm8k(fields: Fields, index: int) -> Item:
    """Read ``question``, and ``answer`` with a line for each step, "<<48/2=24>>" notes, and "#### 72" at the end."""
    question, answer = fields.text("question"), fields.text("answer")
    solution, marker, value = answer.rpartition("####")
    if not marker:
        raise fields.fault("the field 'answer' has no line with '####'")
    number = value.strip().replace(",", "").removeprefix("$").rstrip(".%")
    if parse_number(number) is None:
        raise UnusableRecord(f"the answer {shorten(repr(value.strip()))} is not a number")
    steps = tuple(filter(None, map(remove_notes, solution.splitlines())))
    rung = min(max(len(steps), STEPS[0]), STEPS[1])
    return Item(question, number, steps, rung, rationale=_keep_rationale(solution, steps))


def read_math(fields: Fields, index: int) -> Item:
    r"""Read ``problem``, ``level`` ("Level 3" or 3), and ``solution`` with the answer in ``\boxed{}`` or ``answer``."""
    problem = fields.text("problem", "question")
    level = _LEVEL.fullmatch(str(fields.get("level")).strip())
    if fields.get("level") is None:
        raise fields.fault("the field 'level' is missing")
    if level is None:
        raise UnusableRecord(f"the level {shorten(repr(fields.get('level')))} is not one of 1 to 5")
    solution = fields.get("solution")
    solution = solution if isinstance(solution, str) else ""
    answer = fields.get("answer")
    if answer is None and not solution:
        raise fields.fault("the fields 'solution' and 'answer' are missing or empty")
    answer = find_boxed(solution) if answer is None else " ".join(str(answer).split())
    if not answer:
        raise UnusableRecord("the solution has no \\boxed{} with an answer")
    steps = tuple(split_sentences(solution))
    return Item(problem, answer, steps, int(level[1]), rationale=_keep_rationale(solution, steps))


def read_aime(fields: Fields, index: int) -> Item:
    """Read ``problem`` (or ``question``) and ``answer``, from 0 to 999. The number in the contest comes from ``problem
    number``, ``id`` ("2024-II-4"), ``url`` or ``problem_idx``; without these it is the position in the source modulo
    fifteen."""
    problem = fields.text("question", "problem")
    solution = fields.get("solution", "reasoning")
    solution = solution if isinstance(solution, str) else ""
    answer = fields.get("answer")
    if answer is None and not find_boxed(solution):
        raise fields.fault("the field 'answer' is missing or empty")
    text = find_boxed(solution) if answer is None else str(answer).strip()
    match = _NUMERAL.fullmatch(text)
    if match is None or int(match[1]) > 999:
        raise UnusableRecord(f"the answer {shorten(repr(text))} is not a whole number from 0 to 999")
    steps = tuple(split_sentences(solution))
    rationale = _keep_rationale(solution, steps)
    return Item(problem, str(int(match[1])), steps, _contest_number(fields, index), rationale=rationale)


def _keep_rationale(solution: str, steps: Sequence[str]) -> str:
    return solution.strip() if solution.strip() != "\n".join(steps) else ""


def _contest_number(fields: Fields, index: int) -> int:
    """Return the number of a problem in its contest, from 1 to 15; without a field that has it, the position modulo
    15."""
    for name in ("problem_number", "number"):
        found = _LAST_NUMBER.search(str(fields.get(name)))
        if found and NUMBERS[0] <= int(found[1]) <= NUMBERS[1]:
            return int(found[1])
    # A number at the end is the problem's number only if other text precedes it ("2024-II-4"); a number alone is the
    # record's own id.
    for name in ("id", "url"):
        text = str(fields.get(name))
        found = _LAST_NUMBER.search(text)
        if found and found.start() and NUMBERS[0] <= int(found[1]) <= NUMBERS[1]:
            return int(found[1])
    place = fields.get("problem_idx")
    if isinstance(place, int) and place > 0:
        index = place - 1
    return index % NUMBERS[1] + 1


def read_choice(fields: Fields, index: int) -> Item:
    """Read ``question``, ``choices`` (a list, or ARC's texts and labels) or columns A, B, C, ..., ``answer`` (an index
    from 0, a letter, a label or an option's text) or ``answerKey``, and, if present, a worked solution: ``rationale``
    (AQuA), ``explanation``, ``solution`` (ScienceQA) or ``exp`` (MedMCQA)."""
    question = fields.get("question", "question_stem", "problem", "prompt", "ctx", "query", "goal", "sentence")
    choices, key = _find_choices(fields)
    if isinstance(question, Mapping):
        # The first published layout of ARC.
        question, choices = question.get("stem"), question.get("choices", choices)
    if not isinstance(question, str) or not question.strip():
        raise fields.fault("the field 'question' is missing, or is not text")
    options, labels = _read_options(fields, choices)
    if not 2 <= len(options) <= len(LETTERS) or len(set(options)) < len(options):
        raise UnusableRecord("the options are fewer than two, more than 26, or not all different")
    if key is None:
        raise UnusableRecord("no option is said to be the right one")
    right = _find_right_option(key, options, labels)
    if right is None:
        raise UnusableRecord(
            f"the field 'answer' must be the index, letter or text of an option, not {shorten(repr(key))}"
        )
    reason = fields.get("rationale", "explanation", "solution", "exp")
    reason = reason if isinstance(reason, str) else ""
    steps = tuple(split_sentences(reason))
    return Item(question.strip(), str(right), steps, 0, tuple(options), rationale=_keep_rationale(reason, steps))


def _find_choices(fields: Fields) -> tuple[Any, Any]:
    """Return the raw options of a record, and its raw mark of the right one."""
    choices = fields.get("choices", "options", "endings", "mc1_targets")
    if isinstance(choices, Mapping) and isinstance(marks := choices.get("labels"), (list, tuple)):
        # TruthfulQA marks the right option with 1.
        right = [place for place, mark in enumerate(marks) if mark]
        return choices.get("choices"), right[0] if len(right) == 1 else None
    if choices is None and (answer := fields.get("correct_answer")) is not None:
        # GPQA and SciQ name the right answer, then the wrong ones.
        wrong = (fields.get(f"{name}{n}") for name in ("incorrect_answer_", "distractor") for n in range(1, 10))
        return [answer, *filter(None, wrong)], 0
    return choices, fields.get("answer", "answerkey", "answer_index", "label", "target", "gold")


def _read_options(fields: Fields, choices: Any) -> tuple[list[str], list[str]]:
    """Return the texts and the labels of the options, both in order."""
    labels: list[str] = []
    if choices is None:
        choices = []
        for letter in LETTERS:
            value = fields.get(letter.lower())
            if value is None:
                break
            choices.append(value)
        if not choices:
            raise fields.fault("the field 'choices' is missing, and so is the column 'A'")
    elif isinstance(choices, Mapping):
        labels, choices = list(map(str, choices.get("label") or [])), choices.get("text")
    elif isinstance(choices, str):
        raise fields.fault("the field 'choices' must be a list of texts, not one text")
    choices = list(choices) if isinstance(choices, (list, tuple)) else []
    if choices and all(isinstance(choice, Mapping) for choice in choices):
        labels = [str(choice.get("label", "")) for choice in choices]
        choices = [choice.get("text") for choice in choices]
    plain = all(isinstance(choice, (str, int, float)) for choice in choices)
    if not choices or not plain or (labels and len(labels) != len(choices)):
        raise fields.fault("the field 'choices' must be a list of texts, or have 'text' and 'label' of equal length")
    return [" ".join(str(choice).split()) for choice in choices], labels


def _find_right_option(key: Any, options: list[str], labels: list[str]) -> int | None:
    """Return the index of the right option; None if the key names none."""
    if isinstance(key, int) and not isinstance(key, bool):
        return key if 0 <= key < len(options) else None
    text = " ".join(str(key).split())
    for names in (labels, list(LETTERS[: len(options)])):
        if text.upper() in names:
            return names.index(text.upper())
    if text in options:
        return options.index(text)
    letters = choice_letters(text)
    if letters and len(letters) == 1 and min(letters) in LETTERS[: len(options)]:
        # As "(C)" or "C.".
        return LETTERS.index(min(letters))
    return int(text) if re.fullmatch(r"[0-9]{1,2}", text) and int(text) < len(options) else None


def find_boxed(solution: str) -> str:
    r"""Return the content of the last ``\boxed{}`` of a solution, on one line; "" if there is none."""
    found = extract(solution.replace("\\fbox{", "\\boxed{"), "boxed")
    if found is None:
        bare = _BARE_BOX.findall(solution)
        found = bare[-1] if bare else ""
    return " ".join(found.split())


GSM8K = Layout("GSM8K", "a GSM8K record has 'question', and 'answer' that ends in a line such as '#### 72'", read_gsm8k)
MATH = Layout(
    "MATH",
    "a MATH record has 'problem', 'level' from 1 to 5, and 'solution' with \\boxed{} or 'answer'",
    read_math,
)
AIME = Layout("AIME", "an AIME record has 'problem' (or 'question') and 'answer' from 0 to 999", read_aime)
CHOICE = Layout(
    "multiple-choice",
    "a multiple-choice record has 'question', 'choices' (or columns A, B, ...) and 'answer' (or 'answerKey')",
    read_choice,
    columns=("question", "A", "B", "C", "D", "answer"),
)
