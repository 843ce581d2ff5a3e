"""palaestra/KnightsKnaves-v0: find out who tells the truth and who lies, from people's statements about each other."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.verifiers.registry import CORRECT, WRONG, rejected
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register

NAMES = "Ann Bob Cid Dan Eve Fay Gus Hal Ida Jon Kim Leo Mia Ned Oda Pam Rex Sue Tom Una Vic Wes Yan Zoe"
# Kinds of statement by level; each level includes the levels before it. Kinds listed twice are twice as likely.
KINDS = {
    "simple": ("one", "one", "both", "some", "same"),
    "conditional": ("if", "if", "would say"),
    "counting": ("count", "count", "parity"),
}
LEVELS = tuple(KINDS)
# Only names count in an answer such as "The knights are Ann and Cid".
_WORD = re.compile(r"[^\s,;.:*()\[\]{}]+")
_FILLERS = frozenset({"and", "the", "a", "is", "are", "knight", "knights"})


class KnightsKnaves(Question):
    """Find the knights among knights and knaves.

    Description:
        Everybody makes one statement; knights' statements are true and knaves' are false. Exactly one choice of knights
        fits all statements, and it has at least one knight.

    Parameters:
        people (2 to 8, on request up to 12): number of people.
        statements ("simple", "conditional", "counting"): simple ones are about the kinds of one or two people;
            conditional adds "if ..., then ..." and "would say that"; counting adds how many knights there are (never
            none, which only a knave could say).

    Observation:
        The rules, a statement by each person, and the question.

    Actions:
        Text with the names of the knights in any order, ``Ann, Cid``, read in ``answer_format``.

    Reward:
        1 for exactly the knights, 0 otherwise. All choices of at least one knight are equally likely: for two people,
        each of the three answers is right in 0.34 of the tasks by chance.

    Termination:
        After the first answer.

    Source:
        Raymond Smullyan, What Is the Name of This Book?, 1978.
    """

    answer_form = "lines"
    param_space = ParamSpace([IntAxis("people", 2, 8, limits=(2, 12)), ChoiceAxis("statements", LEVELS)])

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        people, level = params["people"], LEVELS.index(params["statements"])
        kinds = [kind for name in LEVELS[: level + 1] for kind in KINDS[name]]
        pool = NAMES.split()
        draws = rng.random(len(pool) + 1).tolist()
        names = [pool[place] for place in sorted(range(len(pool)), key=draws.__getitem__)[:people]]
        truth = 1 + int(draws[-1] * ((1 << people) - 1))
        while True:
            said = _draw_statements(truth, people, kinds, rng)
            fitting = all_choices(people)
            for statement in said:
                fitting &= statement.allowed
            if fitting == 1 << truth:
                break
        speeches = " ".join(
            f'{names[speaker]} says: "{_write_speech(statement, speaker, names)}."'
            for speaker, statement in enumerate(said)
        )
        knights = [name for person, name in enumerate(names) if truth >> person & 1]
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        return Task(
            "On an island everybody is either a knight, whose statements are true, or a knave, whose statements are "
            f"false. {listed} live there. {speeches} There is exactly one possibility who is what. Answer "
            "with the names of all knights, separated by commas.",
            knights,
            ", ".join(knights),
            content=speeches,
            data=(names, [(statement.allowed, statement.scope) for statement in said]),
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        names: list[str] = task.data[0]
        given = [word for word in _WORD.findall(answer.lower()) if word not in _FILLERS]
        if not given or len(set(given)) < len(given) or not set(given) <= set(map(str.lower, names)):
            return rejected(f"The answer must be names of people who live there, separated by commas: {names[0]}, ...")
        return CORRECT if set(given) == set(map(str.lower, task.reference)) else WRONG

    def random_action(self, episode: Task, rng: np.random.Generator) -> str:
        """Return a random non-empty subset of the people."""
        names: list[str] = episode.data[0]
        chosen = 1 + int(rng.integers((1 << len(names)) - 1))
        return ", ".join(name for person, name in enumerate(names) if chosen >> person & 1)

    def solver_cost(self, episode: Task) -> float:
        """Return the number of nodes of a depth-first search over the people in order, which checks a statement as soon
        as the kinds of all people in it are fixed."""
        names, said = episode.data
        ready: list[list[int]] = [[] for _ in names]
        for allowed, scope in said:
            ready[scope.bit_length() - 1].append(allowed)

        def visit(person: int, knights: int) -> int:
            if person == len(names):
                return 1
            choices = (knights, knights | 1 << person)
            return 1 + sum(
                visit(person + 1, choice) for choice in choices if all(a >> choice & 1 for a in ready[person])
            )

        return visit(0, 0)

    def criteria(self, task: Task) -> list[str]:
        names, _ = task.data
        return [
            *(f"If {name} is a knight, what {name} says is true; if a knave, it is false." for name in names),
            "Exactly one assignment of all people fits, and all others lead to a contradiction.",
        ]

    def solution_steps(self, task: Task) -> list[str]:
        return [*_write_deduction(*task.data), self.oracle(task)]


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement by one person.

    A choice of knights is a bit set of people. A set of choices is an integer whose bit c stands for the choice c.

    Args:
        kind: the form of the statement, one of `KINDS`.
        words: the words to fill in: people as numbers, and their claimed kinds (True: knight).
        table: the set of choices under which the statement is true.
        allowed: the set of choices under which the speaker can make the statement: a knight a true one, a knave a false
            one.
        scope: bit set of the speaker and the people that the statement is about.
    """

    kind: str
    words: tuple[Any, ...]
    table: int
    allowed: int
    scope: int


@functools.cache
def all_choices(people: int) -> int:
    """Return the set of all choices of knights; see `Statement`."""
    return (1 << (1 << people)) - 1


@functools.cache
def choices_with(people: int, person: int, is_knight: bool) -> int:
    """Return the set of choices in which this person is a knight (``is_knight`` True) or a knave (False)."""
    return sum(1 << choice for choice in range(1 << people) if bool(choice >> person & 1) is is_knight)


@functools.cache
def _choices_with_count(people: int, count: int) -> int:
    return sum(1 << choice for choice in range(1 << people) if choice.bit_count() == count)


def _draw_statements(truth: int, people: int, kinds: list[str], rng: np.random.Generator) -> list[Statement]:
    """Draw one statement by each person, true exactly if the speaker is a knight in the choice ``truth``."""
    said: list[Statement] = []
    while True:
        for draws in rng.random((8 * people, 4)).tolist():
            statement = _make_statement(len(said), people, kinds, *draws)
            if statement and statement.allowed >> truth & 1:
                said.append(statement)
                if len(said) == people:
                    return said


def _make_statement(
    speaker: int, people: int, kinds: list[str], u: float, v: float, w: float, z: float
) -> Statement | None:
    """Return the statement that four draws in [0, 1) determine; None if it would carry no information."""
    kind = kinds[int(u * len(kinds))]
    # The speaker comes last among the people of a statement, as in "Bob and I".
    first = (speaker + 1 + int(v * (people - 1))) % people
    second = int(w * people)
    is_knight, also = z < 0.5, z % 0.5 < 0.25
    words: tuple[Any, ...] = (first, second, is_knight)
    scope = 1 << first | 1 << second | 1 << speaker
    if kind == "one":
        table, scope, words = choices_with(people, first, is_knight), 1 << first | 1 << speaker, (first, is_knight)
    elif kind in ("count", "parity"):
        # The count is never zero, which only a knave could claim.
        count = 1 + int(v * people) if kind == "count" else int(z < 0.5)
        counts = [count] if kind == "count" else range(count, people + 1, 2)
        table, scope, words = sum(_choices_with_count(people, k) for k in counts), (1 << people) - 1, (count,)
    elif first == second:
        return None
    elif kind == "both":
        table = choices_with(people, first, is_knight) & choices_with(people, second, is_knight)
    elif kind == "some":
        table = choices_with(people, first, is_knight) | choices_with(people, second, is_knight)
    elif kind == "same":
        # "Of the same kind" if is_knight, else "of different kinds".
        table = choices_with(people, first, not is_knight) ^ choices_with(people, second, True)
    elif kind == "if":
        table = choices_with(people, first, not is_knight) | choices_with(people, second, also)
        words = (first, is_knight, second, also)
    else:
        # "A would say S" is true if A is a knight and S is true, or A is a knave and S is false.
        table, words = choices_with(people, first, False) ^ choices_with(people, second, also), (first, second, also)
    allowed = choices_with(people, speaker, False) ^ table
    return Statement(kind, words, table, allowed, scope) if allowed != all_choices(people) else None


def _write_speech(statement: Statement, speaker: int, names: list[str]) -> str:
    """Return the statement in the speaker's words, without a full stop."""
    kind, words = statement.kind, statement.words

    def is_a(person: int, is_knight: bool) -> str:
        return f"{'I am' if person == speaker else names[person] + ' is'} a {_kind_name(is_knight)}"

    if kind == "one":
        return is_a(*words)
    if kind == "if":
        return f"If {is_a(*words[:2])}, then {is_a(*words[2:])}"
    if kind == "would say":
        return f"{names[words[0]]} would say that {is_a(*words[1:])}"
    if kind == "count":
        return f"The number of knights among us is {words[0]}"
    if kind == "parity":
        return f"The number of knights among us is {'odd' if words[0] else 'even'}"
    first, second, is_knight = words
    one, me = names[first], second == speaker
    if kind == "some":
        return f"At least one of {one} and {'me' if me else names[second]} is a {_kind_name(is_knight)}"
    pair = f"{one} and {'I' if me else names[second]} are"
    if kind == "both":
        return f"{pair} both {_kind_name(is_knight)}s"
    return f"{pair} {'of the same kind' if is_knight else 'of different kinds'}"


def _kind_name(is_knight: bool) -> str:
    return "knight" if is_knight else "knave"


def _write_deduction(names: list[str], said: list[tuple[int, int]]) -> list[str]:
    """Return a line for each person with the person's kind, in an order in which as many as possible follow from one
    statement and the lines before."""
    people = len(names)
    known, unknown, steps = all_choices(people), set(range(people)), list[str]()
    answer = all_choices(people)
    for allowed, _ in said:
        answer &= allowed

    def settle(person: int, reason: str) -> None:
        nonlocal known
        is_knight = bool(answer & choices_with(people, person, True))
        steps.append(f"{reason} {names[person]} is a {_kind_name(is_knight)}.")
        known &= choices_with(people, person, is_knight)
        unknown.discard(person)

    while unknown:
        forced = next(
            (
                (speaker, person)
                for speaker, (allowed, _) in enumerate(said)
                for person in sorted(unknown)
                if known & allowed & choices_with(people, person, True) in (0, known & allowed)
            ),
            None,
        )
        if forced:
            settle(forced[1], f"By what {names[forced[0]]} says{', and what is known,' if steps else ''}")
        else:
            settle(min(unknown), "Trying both kinds, only one agrees with all statements:")
    return steps


register("palaestra/KnightsKnaves-v0", f"{__name__}:KnightsKnaves")
