"""palaestra/Dataset-v0: questions of your own, from a file or the hub, judged by any verifier.

palaestra.envs.from_dataset("mine.jsonl", prompt="task", answer="label", verifier="number")
"""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np

from ...errors import InputError, shorten
from ...rewards import unreadable
from ...rewards.answers.numbers import parse_number
from ...rewards.verifiers.registry import ANSWER_FORMS
from ..axes import Axis, FloatAxis, IntAxis
from ..question import Task
from ..registration import register
from .collection import Collection, Source, load_collection
from .layouts import AIME, Fields, Item, Layout, UnusableRecord, normalise_name
from .questions import DatasetQuestion
from .sources import read_source

# Names of columns, the likeliest first.
PROMPTS = ("question", "prompt", "problem", "instruction", "input", "query", "text", "messages")
ANSWERS = ("answer", "final_answer", "label", "target", "reference", "output", "solution", "response", "completion")
SOLUTIONS = ("solution", "rationale", "explanation", "reasoning", "worked_solution", "chain_of_thought")
_WHOLE = re.compile(r"\D*([0-9]{1,6})(?:\.0*)?\s*")
_LATEX = re.compile(r"\\[a-zA-Z]+|\$")
_log = logging.getLogger(__name__)
# What has been told once in this process.
_told: set[Source] = set()


class OwnQuestions(DatasetQuestion):
    """Answer a question of any data set, judged by any verifier.

    Description:
        Questions come from ``source``; without one, from the small set of AIME-v0, to try. A record has a prompt, which
        is text or a list of messages (their contents are shown one below the other), and a right answer. Columns and
        verifier that are not named are guessed from their names and contents, and a warning says which were taken.
        Records whose answer the verifier cannot read are left out, and counted in a warning.

    Parameters:
        length (0.0 to 1.0): from the half of the questions with the shortest text and worked solution to the half with
            the longest.
        level: with the argument ``level``, the whole numbers in that column, such as 3 or "Level 3"; without, absent.

    Observation:
        The prompt as the record has it, and ``instruction`` below it.

    Actions:
        Text with the answer, read in ``answer_format``.

    Reward:
        What the verifier gives: for most, 1 for the right answer and 0 otherwise.

    Termination:
        After the first answer.

    Source:
        Yours. Arguments ``source``, ``part`` and ``config``: see `DatasetQuestion`.

    Args:
        prompt, answer, solution: names of the columns with the prompt, the right answer and, a step a line, the worked
            solution; "meta.text" is the column "text" of a column of records. None: guessed, and no solution where
            there seems to be none. ``prompt="sentences"`` and ``prompt="terse"`` name no column, but the form of
            prompts that every environment takes; it makes no difference to questions from a source.
        level: the column with the difficulty; None: none.
        verifier: the name of a verifier that compares with text (`palaestra list verifiers`); None: "number" where
            every answer is one, "math" where most have LaTeX, else "text".
        instruction: text after each prompt, such as "Answer with the name alone."; None: nothing, as the prompts of a
            source should say it, and after those of the small set that they ask for a number.
        **kwargs: as for `DatasetQuestion`.
    """

    # Columns and verifier of the records are found by `_source`.
    layout = AIME
    built_in = "aime.jsonl"

    def __init__(
        self,
        *,
        source: str | None = None,
        part: str | None = None,
        config: str | None = None,
        prompt: str | None = None,
        answer: str | None = None,
        level: str | None = None,
        solution: str | None = None,
        verifier: str | None = None,
        instruction: str | None = None,
        **kwargs: Any,
    ):
        form = prompt if prompt in self.prompts else self.prompts[0]
        prompt = None if prompt in self.prompts else prompt
        for name, value in (
            *(("prompt", prompt), ("answer", answer), ("level", level), ("solution", solution)),
            *(("verifier", verifier), ("instruction", instruction)),
        ):
            if value is not None and not isinstance(value, str):
                raise InputError(f"{name} must be text, not {value!r}.")
        self._columns = tuple(name and normalise_name(name) for name in (prompt, answer, level, solution))
        self._verifier = verifier
        self.instruction, self.rung_axis = instruction, "level" if level else ""
        super().__init__(source=source, part=part, config=config, prompt=form, **kwargs)

    def _source(self) -> Source:
        """The source with its columns and verifier, guessed where they are not named."""
        bare = super()._source()
        if not hasattr(self, "_layout"):
            prompt, answer, level, solution = self._columns
            first = next(iter(read_source(bare.name, bare.part, bare.config)), None)
            if first is None:
                raise InputError(f"{bare.name} holds no record; give data with a prompt and an answer in each.")
            fields = Fields(first[1], first[0], "name the columns with prompt= and answer=")
            prompt, answer = _find(fields, "prompt", prompt, PROMPTS), _find(fields, "answer", answer, ANSWERS)
            others = (name for name in SOLUTIONS if name != answer and isinstance(fields.get(name), str))
            solution = solution or next(others, None)
            columns = (prompt, answer, level, solution)
            kind = self._verifier or _guess_verifier(replace(bare, layout=layout_of(*columns, "text")))
            self._layout = (*columns, kind)
            self.verifier, self.answer_form = kind, ANSWER_FORMS.get(kind, "line")
            if self.source is not None and None in (*self._columns[:2], self._verifier) and bare not in _told:
                _told.add(bare)
                _log.warning(
                    "%s: the column %r is taken as the prompt and %r as the right answer, judged by the verifier %r; "
                    "prompt=, answer= and verifier= choose others (there is %s).",
                    *(self.source, prompt, answer, kind, ", ".join(map(repr, first[1]))),
                )
        return replace(bare, layout=layout_of(*self._layout))

    def axes_of(self, collection: Collection) -> list[Axis]:
        level = [IntAxis("level", *collection.rungs)] if self.rung_axis else []
        return [*level, FloatAxis("length", 0.0, 1.0)]

    def task(self, item: Item, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        if self.instruction is None and self.source is None:
            return Task(f"{item.question}\nAnswer with an integer only.", item.answer, data=item, terse=item.question)
        return Task(f"{item.question}\n{self.instruction or ''}".rstrip("\n"), item.answer, data=item)


@functools.lru_cache(maxsize=64)
def layout_of(prompt: str, answer: str, level: str | None, solution: str | None, verifier: str) -> Layout:
    """The layout of records with these columns, whose answers a verifier reads."""

    def read(fields: Fields, index: int) -> Item:
        value = fields.get(answer)
        if value is None:
            raise UnusableRecord(f"the column {answer!r} is empty")
        right = _write_answer(value, answer)
        if why := unreadable(verifier, right):
            raise UnusableRecord(f"the verifier {verifier!r} cannot read the answer {shorten(repr(right))}: {why}")
        worked = fields.get(solution) if solution else None
        steps = tuple(filter(None, map(str.strip, str(worked).splitlines()))) if worked is not None else ()
        return Item(_write_prompt(fields, prompt), right, steps, _read_level(fields, level) if level else 0)

    return Layout("Dataset", f"prompt= and answer= name the columns, now {prompt!r} and {answer!r}", read)


def _find(fields: Fields, name: str, given: str | None, likely: tuple[str, ...]) -> str:
    """The name of a column, as given or guessed."""
    found = next((column for column in ([given] if given else likely) if fields.get(column) is not None), None)
    if found is None:
        there = ", ".join(map(repr, fields.names))
        if given:
            raise fields.fault(f"there is no column {given!r} for the {name} (there is {there})")
        raise fields.fault(
            f"no column for the {name} is called {', '.join(likely[:-1])} or {likely[-1]} (there is {there})"
        )
    return found


def _guess_verifier(source: Source) -> str:
    answers = [item.answer for item in load_collection(source).items]
    if all(parse_number(answer) is not None for answer in answers):
        return "number"
    return "math" if 2 * sum(bool(_LATEX.search(answer)) for answer in answers) > len(answers) else "text"


def _inner(column: str, value: Mapping[str, Any]) -> str:
    return f"{column}.{next(iter(value), 'text')}"


def _write_answer(value: Any, column: str) -> str:
    """The right answer as text; of a list, its only element."""
    if isinstance(value, (list, tuple)) and len(value) == 1:
        value = value[0]
    if isinstance(value, Mapping):
        raise UnusableRecord(f"the column {column!r} has columns of its own; name one, such as {_inner(column, value)}")
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise UnusableRecord(f"the answer {shorten(repr(value))} is neither text nor a number")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def _write_prompt(fields: Fields, column: str) -> str:
    """The prompt; of a list of messages their contents, one below the other."""
    value = fields.get(column)
    if isinstance(value, (list, tuple)) and value:
        contents = [message.get("content") if isinstance(message, Mapping) else None for message in value]
        if all(isinstance(content, str) for content in contents):
            return "\n\n".join(map(str, contents)).strip()
        raise fields.fault(f"the column {column!r} must be text or a list of messages, each with 'content'")
    if isinstance(value, Mapping):
        raise fields.fault(f"the column {column!r} has columns of its own; name one, such as {_inner(column, value)}")
    return fields.text(column)


def _read_level(fields: Fields, column: str) -> int:
    found = _WHOLE.fullmatch(str(fields.get(column)))
    if found is None:
        raise fields.fault(
            f"the column {column!r} must hold whole numbers, such as 3 or 'Level 3', not "
            f"{shorten(repr(fields.get(column)))}; leave level= out to order the questions by length"
        )
    return int(found[1])


def from_dataset(source: str, **options: Any) -> gym.Env[str, str]:
    """Make an environment of the records of a file, a folder or a data set of the hub.

    Args:
        source: a .jsonl, .json, .csv or .parquet file, a folder of such files, or "owner/name" on the hub.
        **options: of `OwnQuestions` (``prompt``, ``answer``, ``verifier``, ``level``, ...), and as for `gym.make`.

    Raises:
        InputError: no such source, column or verifier.
        MissingExtra: the source needs a library that is not installed.
    """
    return gym.make("palaestra/Dataset-v0", source=source, **options)


register("palaestra/Dataset-v0", f"{__name__}:OwnQuestions")
