"""palaestra/Dataset-v0: questions of your own, from a file or the hub, judged by any verifier.

palaestra.envs.from_dataset("mine.jsonl", prompt="task", answer="label", verifier="number")
"""

from __future__ import annotations

import functools
import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium as gym
import numpy as np

from ...errors import InputError, shorten
from ...rewards import Verdict, verify
from ...rewards.answers.numbers import find_units, plain_number
from ...rewards.verifiers.registry import ANSWER_FORMS, NUMBERS, VERIFIERS, verify_reading
from ...rewards.verifiers.tool_calls import check_calls
from ..axes import Axis, FloatAxis, IntAxis
from ..question import Task
from ..registration import register
from ..task_env import MAX_ACTION
from .collection import Collection, Source, file_state
from .layouts import AIME, Fields, Item, Layout, UnusableRecord, normalise_name
from .own_answers import inner_name, is_empty, read_answers, read_reference, write_answer
from .questions import DatasetQuestion
from .references import INSTRUCTIONS, is_possible_answer, read_instructions
from .sources import read_source

# Likely names of columns, the likeliest first.
PROMPTS = ("question", "prompt", "problem", "instruction", "input", "query", "text", "messages")
ANSWERS = (
    *("answer", "final_answer", "label", "target", "reference", "output", "solution", "response", "completion"),
    *("answers", "correct_answer", "gold", "answers_spans", "ground_truth", "instruction_id_list"),
)
SOLUTIONS = ("solution", "rationale", "explanation", "reasoning", "worked_solution", "chain_of_thought")
# Columns with a text that is shown above its question.
CONTEXTS = ("passage", "context", "article", "paragraph", "story")
# Columns with the tools that calls may use.
TOOLS = ("tools", "functions", "function")
CHOICES = ("choices", "options", "endings", "mc1_targets")
# Number of records used to guess columns and verifier, and number of records whose reference is judged in advance.
LOOKED_AT = JUDGED = 10_000
# Share of answers that are numbers, or mathematics, above which all count as such.
MOST = 0.8
_LEVEL = re.compile(r"(?:[A-Za-z][A-Za-z _]*[ :_-]*?)?\s*(-?[0-9]{1,6})(?:\.0*)?\s*")
_LEVELS = {"very easy": 0, "easy": 1, "medium": 2, "moderate": 2, "hard": 3, "difficult": 3, "very hard": 4}
_LATEX = re.compile(r"\\[a-zA-Z]+|\$")
_log = logging.getLogger(__name__)
# Warnings already given in this process.
_told: set[Source] = set()


@dataclass(frozen=True, slots=True)
class OwnItem(Item):
    """A question of a user's data set.

    Args:
        accepted: the references; an answer that matches any of them is right.
        units: words that may follow a number.
    """

    accepted: tuple[Any, ...] = field(default=(), compare=False, repr=False, kw_only=True)
    units: frozenset[str] = field(default=frozenset(), compare=False, repr=False, kw_only=True)


class OwnQuestions(DatasetQuestion):
    r"""Answer a question of any data set, judged by any verifier.

    Description:
        Questions come from ``source``; without one, from the small set of AIME-v0, as an example. A record has a
        prompt, which is text or a list of messages (their contents are shown one below the other), and a right answer.
        Columns and verifier that are not given are guessed from names and contents of the columns, and a warning states
        the guess. The first 10,000 records are inspected, and the majority decides. A text beside the question, such as
        a passage, is shown above it. If an answer is a worked solution that ends in ``#### 7`` or ``\boxed{7}``, that
        value is the right answer; a list of texts has several right answers; true and false mean yes and no. The
        instructions of IFEval and the calls of BFCL are read in their published form; tools are shown below the prompt.
        The right answers of the first 10,000 records, and of every tenth after them, are judged in advance: records
        that fail are left out and named in a warning; if most fail, an error is raised.

    Parameters:
        length (0.0 to 1.0): draws from one half of the questions, 0 from the half with the shortest text and worked
            solution, 1 with the longest.
        level: exists only with the argument ``level``: the difficulty in the column of this name, a whole number such
            as 3 or "Level 3", or a word such as "easy", "medium" or "hard".

    Observation:
        The record's prompt, unchanged, and ``instruction`` below it.

    Actions:
        Text with the answer, read in ``answer_format``.

    Reward:
        The verifier's score: for most verifiers, 1 for the right answer and 0 otherwise.

    Termination:
        After the first answer.

    Source:
        Yours. Arguments ``source``, ``part`` and ``config``: see `DatasetQuestion`.

    Args:
        prompt, answer, solution: names of the columns with the prompt, the right answer and the worked solution, one
            step per line; "meta.text" is the field "text" of the records in the column "meta". None to guess; there may
            be no solution. ``prompt="sentences"`` and ``prompt="terse"`` name no column: they choose the form of
            prompts, as in every environment, which has no effect on questions from a source.
        level: the column with the difficulty; None for no axis "level".
        verifier: the name of a verifier (`palaestra list verifiers`). None to guess: "constraints" for IFEval's
            instructions, "toolcall" for BFCL's calls, "number" if four fifths of the answers are numbers, "math" if
            four fifths are numbers or contain LaTeX, or most contain LaTeX, else "text". References other than text,
            such as tool calls or constraints, are JSON, as values of a column or as text.
        verifier_options: options of the verifier, such as ``{"policy": "dataset"}`` of "math".
        instruction: text after each prompt, such as "Answer with the name alone."; None for no text, as the prompts of
            a source should ask for the form; prompts of the small set then get a request for a number.
        **kwargs: as for `DatasetQuestion`.
    """

    # `_source` finds the columns and the verifier of the records.
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
        verifier_options: Mapping[str, Any] | None = None,
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
        if verifier is not None:
            VERIFIERS[verifier]
        self.verifier_options = dict(verifier_options or {})
        if verifier is None and verifier_options:
            raise InputError(f"verifier_options {self.verifier_options} belong to a verifier; name it by verifier=.")
        self.instruction, self.rung_axis = instruction, "level" if level else ""
        super().__init__(source=source, part=part, config=config, prompt=form, **kwargs)

    def _source(self) -> Source:
        """Return the source with its columns and verifier; those that the user has not named are guessed."""
        bare = super()._source()
        if not hasattr(self, "_layout"):
            self._layout, names = _choose_layout(
                bare, self._columns, self._verifier, json.dumps(self.verifier_options), file_state(bare.name)
            )
            prompt, answer, *_, kind, _ = self._layout
            self.verifier, self.answer_form = kind, ANSWER_FORMS.get(kind, "line")
            if kind == "constraints":
                self.max_answer = MAX_ACTION
            if kind == "toolcall":
                self.supplies = self.supplies | {"expected_calls"}
            if self.source is not None and None in (*self._columns[:2], self._verifier) and bare not in _told:
                _told.add(bare)
                _log.warning(
                    "%s: the column %r is taken as the prompt and %r as the right answer, judged by the verifier %r; "
                    "prompt=, answer= and verifier= choose others (there is %s).",
                    *(self.source, prompt, answer, kind, names),
                )
        return replace(bare, layout=layout_of(*self._layout))

    def axes_of(self, collection: Collection) -> list[Axis]:
        level = [IntAxis("level", *collection.rungs)] if self.rung_axis else []
        return [*level, FloatAxis("length", 0.0, 1.0)]

    def task(self, item: Item, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        reference, solution = item.accepted[0], item.answer  # type: ignore[attr-defined]
        if self.instruction is None and self.source is None:
            asked = f"{item.question}\nAnswer with an integer only."
            return Task(asked, reference, solution=solution, data=item, terse=item.question)
        return Task(f"{item.question}\n{self.instruction or ''}".rstrip("\n"), reference, solution=solution, data=item)

    def verify(self, task: Task, answer: str) -> Verdict:
        return _judge(self.verifier, answer, task.data, self.verifier_options)

    def compute_extra(self, subject: Task, name: str) -> Any:
        """Compute an extra (see `episode.extra`); "expected_calls" are the right tool calls, for tool-use rewards."""
        return check_calls(subject.reference) if name == "expected_calls" else super().compute_extra(subject, name)


def _judge(kind: str, answer: str, item: OwnItem, options: Mapping[str, Any]) -> Verdict:
    """Judge a bare answer against the best-matching reference."""
    words = {"units": item.units} if kind in NUMBERS else {}
    verdicts = [verify_reading(kind, answer, reference, **words, **options) for reference in item.accepted]
    return max(verdicts, key=lambda verdict: (verdict.success, verdict.score, not verdict.malformed))


@functools.lru_cache(maxsize=64)
def layout_of(
    prompt: str, answer: str, level: str | None, solution: str | None, context: str | None, kind: str, options: str
) -> Layout:
    """Return the layout of records with these columns and a verifier for the answers; ``options`` are the verifier's
    options as JSON."""
    own = json.loads(options)

    def read(fields: Fields, index: int) -> Item:
        value = fields.get(answer)
        if answer == INSTRUCTIONS:
            value = read_instructions(value, fields.get("kwargs"))
        if is_empty(value):
            raise UnusableRecord(f"the column {answer!r} is empty")
        texts, worked = read_answers(value, answer, kind)
        references = tuple(read_reference(kind, text) for text in texts)
        shown = write_answer(kind, references[0])
        steps = fields.get(solution) if solution else worked
        question = _write_prompt(fields, prompt)
        if context and isinstance(passage := fields.get(context), str):
            question = f"{passage.strip()}\n\n{question}"
        if kind == "toolcall" and isinstance(tools := fields.get(*TOOLS), (list, tuple)):
            question = "\n".join([f"{question}\n\nTools:", *map(json.dumps, tools)])
        item = OwnItem(
            question,
            shown,
            tuple(filter(None, map(str.strip, str(steps).splitlines()))) if steps is not None else (),
            _read_level(fields, level) if level else 0,
            accepted=references,
            units=find_units(question) | find_units(str(texts[0])) if kind in NUMBERS else frozenset(),
        )
        if index < JUDGED or index % 10 == 0:
            _check_own_answer(kind, item, own)
        return item

    return Layout("Dataset", f"prompt= and answer= name the columns, now {prompt!r} and {answer!r}", read)


def _check_own_answer(kind: str, item: OwnItem, options: Mapping[str, Any]) -> None:
    """Raise UnusableRecord unless the verifier accepts the right answer, both bare and as a reply.

    Constraints need only be readable, as they are no example of an answer.
    """
    words = {"units": item.units} if kind in NUMBERS else {}
    try:
        verdict = verify(kind, item.answer, item.accepted[0], **options)
        if kind == "constraints":
            return
        if verdict.success:
            verdict = verify(kind, item.answer, item.accepted[0], extract="any", **words, **options)
    except InputError as error:
        raise UnusableRecord(
            f"the verifier {kind!r} cannot read the answer {shorten(repr(item.answer))}: {error}"
        ) from None
    if not verdict.success:
        why = f"it is not right as an answer to itself ({verdict.feedback})"
        raise UnusableRecord(f"the verifier {kind!r} cannot read the answer {shorten(repr(item.answer))}: {why}")


Columns = tuple[str, str, str | None, str | None, str | None, str, str]


@functools.lru_cache(maxsize=64)
def _choose_layout(
    source: Source, columns: tuple[str | None, ...], kind: str | None, options: str, state: Any
) -> tuple[Columns, str]:
    """Return the columns of prompt, answer, level, solution and context, the verifier and its options, and the names of
    all columns. What the user has not given is guessed from the majority of records.

    Args:
        state: the state of the file, so that a changed file is read again.
    """
    records: list[Fields] = []
    for place, record in read_source(source.name, source.part, source.config):
        records.append(Fields(record, place, "name the columns with prompt= and answer="))
        if len(records) == LOOKED_AT:
            break
    if not records:
        raise InputError(f"{source.name} holds no record; give data with a prompt and an answer in each.")
    given_prompt, given_answer, level, solution = columns
    prompt = _find(records, "prompt", given_prompt, PROMPTS)
    answer = _find(records, "answer", given_answer, ANSWERS)
    choices = _most_filled(records, CHOICES)
    if choices and kind is None and given_answer is None:
        raise records[0].fault(
            f"the column {choices!r} holds options to choose from, which are not shown here; take "
            "palaestra/MultipleChoiceQuestions-v0, or name answer= and verifier="
        )
    if solution is None:
        texts = tuple(name for name in SOLUTIONS if name != answer)
        solution = _most_filled(records, texts, lambda value: isinstance(value, str))
    context = None if given_prompt else _most_filled(records, CONTEXTS, lambda value: isinstance(value, str))
    values = [value for fields in records if not is_empty(value := fields.get(answer))]
    if not values:
        raise records[0].fault(f"the column {answer!r} is empty in all of {len(records)} records")
    chosen = (prompt, answer, level, solution, context, kind or _guess_verifier(values, answer), options)
    return chosen, ", ".join(map(repr, records[0].names))


def _most_filled(
    records: Sequence[Fields], names: Sequence[str], fits: Callable[[Any], bool] = lambda value: True
) -> str | None:
    """Return the column filled in most records, the first one in a tie; None if all are empty."""
    counts = Counter(
        name for fields in records for name in names if not is_empty(value := fields.get(name)) and fits(value)
    )
    return max(names, key=lambda name: counts[name], default=None) if counts else None


def _find(records: Sequence[Fields], name: str, given: str | None, likely: tuple[str, ...]) -> str:
    """Return the name of a column, as given or guessed. Raise InputError if there is none."""
    found = _most_filled(records, [given] if given else likely)
    if found is None:
        there = ", ".join(map(repr, dict.fromkeys(column for fields in records for column in fields.names)))
        if given:
            raise records[0].fault(f"there is no column {given!r} for the {name} (there is {there})")
        raise records[0].fault(
            f"no column for the {name} is called {', '.join(likely[:-1])} or {likely[-1]} (there is {there})"
        )
    return found


def _guess_verifier(values: Sequence[Any], column: str) -> str:
    """Return the name of the verifier that suits most answers."""
    texts = []
    for value in values:
        try:
            texts.append(str(read_answers(value, column, "text")[0][0]))
        except (UnusableRecord, IndexError):
            continue
    if column == INSTRUCTIONS:
        return "constraints"
    calls = [call for value in values if isinstance(value, list) for call in value]
    if calls and not texts and all(map(is_possible_answer, calls)):
        return "toolcall"
    numbers = sum(plain_number(text, units=frozenset("%")) is not None for text in texts)
    formulas = sum(bool(_LATEX.search(text)) for text in texts)
    if numbers >= MOST * len(texts):
        return "number" if texts else "text"
    return "math" if (formulas and (numbers + formulas) >= MOST * len(texts)) or 2 * formulas > len(texts) else "text"


def _write_prompt(fields: Fields, column: str) -> str:
    """Write the prompt; for a list of messages, their contents, one below the other."""
    value = fields.get(column)
    if isinstance(value, (list, tuple)) and len(value) == 1 and isinstance(value[0], (list, tuple)):
        value = value[0]  # a list of turns of which there is one
    if isinstance(value, (list, tuple)) and value:
        contents = [_content(message) for message in value]
        if all(content is not None for content in contents):
            return "\n\n".join(map(str, contents)).strip()
        raise fields.fault(f"the column {column!r} must be text or a list of messages, each with 'content'")
    if isinstance(value, Mapping):
        raise fields.fault(
            f"the column {column!r} has columns of its own; name one, such as {inner_name(column, value)}"
        )
    if is_empty(value):
        raise UnusableRecord(f"the column {column!r} is empty")
    return fields.text(column)


def _content(message: Any) -> str | None:
    """Return the text of a message, whose content may be a list of parts."""
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, (list, tuple)):
        parts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
        return "\n".join(map(str, parts)) if all(isinstance(part, str) for part in parts) else None
    return content if isinstance(content, str) else None


def _read_level(fields: Fields, column: str) -> int:
    text = str(fields.get(column)).strip()
    if (named := _LEVELS.get(text.lower())) is not None:
        return named
    found = _LEVEL.fullmatch(text)
    if found is None:
        raise fields.fault(
            f"the column {column!r} must hold whole numbers, such as 3 or 'Level 3', or easy, medium and hard, not "
            f"{shorten(repr(fields.get(column)))}; leave level= out to order the questions by length"
        )
    return int(found[1])


def from_dataset(source: str, **options: Any) -> gym.Env[str, str]:
    """Make an environment from the records of a file, a folder or a data set of the hub.

    Args:
        source: a file, a folder or "owner/name" on the hub; see `DatasetQuestion`.
        **options: arguments of `OwnQuestions` (``prompt``, ``answer``, ``verifier``, ``level``, ...) and of `gym.make`.

    Raises:
        InputError: no such source, column or verifier.
        MissingExtra: the source needs a library that is not installed.
    """
    return gym.make("palaestra/Dataset-v0", source=source, **options)


register("palaestra/Dataset-v0", f"{__name__}:OwnQuestions")
