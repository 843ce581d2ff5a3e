"""palaestra/TutorDialogue-v0: lead a student through a calculation by hints and questions, never by the answer."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..game import Game, Transition
from ..param_space import IntAxis, ParamSpace
from ..registration import register
from ..splits import salt

OPERATIONS = {"plus": int.__add__, "minus": int.__sub__, "times": int.__mul__}
_CONFUSED = {"plus": "minus", "minus": "plus", "times": "plus"}
_SIGNS = {"plus": "+", "minus": "-", "times": "*"}
_ACT = re.compile(r"(praise|hint|question|answer)[ :,]{1,3}(?:step )?([0-9]{1,12})(?:[ :,]{1,3}(plus|minus|times))?")
_LARGEST_FACTOR = 60
_RULES = """Tutor a student, who does this calculation step by step. {problem}
Answer each message of the student with one act and nothing else. For step 2 the acts are: praise 2, if the result is \
right; hint 2 times, if the result is wrong or the student asks for it (it names the operation); question 2, if the \
student is stuck. Telling a result, as in answer 12, ends the lesson. You have {turns} turns.
The student says: """
_TERSE_RULES = """Tutor a student. {problem}
Acts, for step 2: praise 2 (right result); hint 2 times (wrong result, or the student asks for it: name the \
operation); question 2 (the student is stuck). Telling a result ends the lesson: answer 12. You have {turns} turns.
"""


@dataclass(frozen=True, slots=True)
class TutorState:
    """State of a lesson: the calculation, with the ``first`` number, and ``operations`` (operation, number) and
    ``results`` of the steps; for each step the student's wrong result by a misconception (``faults``, None: none) and
    the doubt before it (``doubts``: "", "stuck" or "asks"); the number of ``turns`` of the episode; the index ``place``
    of the current step, and whether its doubt or wrong result is still open (``doubting``, ``wrong``); the student's
    ``reply`` to the last act; and a ``salt`` (see `splits.salt`)."""

    first: int
    operations: tuple[tuple[str, int], ...]
    results: tuple[int, ...]
    faults: tuple[int | None, ...]
    doubts: tuple[str, ...]
    turns: int
    place: int = 0
    doubting: bool = False
    wrong: bool = False
    reply: str = ""
    salt: str = ""


class TutorDialogue(Game):
    """Lead a student through a calculation without telling a result.

    Description:
        A scripted student does a calculation of several steps. At some of them the student is stuck, or asks for the
        result; at some a misconception (another operation) leads to a wrong result. Each message of the student
        requires one act of the tutor: praise for a right result, a hint that names the operation for a wrong result or
        a request for the result, and a question for a stuck student. The right act advances the student, any other act
        changes nothing. The calculation, which the prompt shows, decides the split.

    Parameters:
        steps (2 to 6, on request 1 to 20): steps of the calculation.
        misconceptions (1 to 4, on request 0 to 20): steps with a wrong result at first, at most all.
        doubts (0 to 3, on request up to 20): steps at which the student is stuck or asks for the result, at most all.
        slack (2 to 0, harder downwards, on request up to 20): turns beyond the number of right acts.

    Observation:
        Text: at first the rules, the calculation and the student's first message, later the student's next message.

    Actions:
        Text with one act on a step, read in ``answer_format``: ``praise 2``, ``hint 2 times``, ``question 2``; or
        ``answer 12``, which tells a result.

    Reward:
        1 when the student has all steps right, 0 otherwise. A tutor that believes every result never succeeds if there
        is a misconception.

    Termination:
        With the last step, or when the tutor tells a result, which is a failure. Truncated after the last turn. An act
        that cannot be read uses up a turn. ``info["progress"]`` is the share of steps that the student has finished.

    Extras:
        "solution_steps": the worked calculation. "criteria": criteria of a good lesson. "achieved": for each turn, the
        steps finished. "worse_actions": for each turn, the act that tells the result, as the rejected action of a
        preference pair.

    Source:
        Pedagogical alignment of language models, arXiv 2402.05000; the student and the calculations are our own.
    """

    param_space = ParamSpace(
        [
            IntAxis("steps", 2, 6, limits=(1, 20)),
            IntAxis("misconceptions", 1, 4, limits=(0, 20)),
            IntAxis("doubts", 0, 3, limits=(0, 20)),
            IntAxis("slack", 0, 2, harder="down", limits=(0, 20)),
        ]
    )
    supplies = frozenset({"solution_steps", "criteria", "achieved", "worse_actions"})
    keeps_states = True

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> TutorState:
        steps = params["steps"]
        first = value = int(rng.integers(2, 30))
        operations, results, mistaken = [], [], []
        for _ in range(steps):
            names = [name for name in OPERATIONS if name != "times" or value < _LARGEST_FACTOR]
            name = names[int(rng.integers(len(names)))]
            number = int(rng.integers(2, 10)) if name != "minus" else int(rng.integers(1, max(2, min(value, 20))))
            mistaken.append(OPERATIONS[_CONFUSED[name]](value, number))
            value = OPERATIONS[name](value, number)
            if mistaken[-1] == value:  # 2 times 2 is 2 plus 2
                mistaken[-1] = value + 1
            operations.append((name, number))
            results.append(value)
        wrong = set(rng.permutation(steps)[: params["misconceptions"]].tolist())
        faults = tuple(mistaken[i] if i in wrong else None for i in range(steps))
        doubtful = set(rng.permutation(steps)[: params["doubts"]].tolist())
        kinds = [("stuck", "asks")[kind] for kind in rng.integers(2, size=steps).tolist()]
        doubts = tuple(kinds[i] if i in doubtful else "" for i in range(steps))
        turns = steps + len(wrong) + len(doubtful) + params["slack"]
        lesson = TutorState(first, tuple(operations), tuple(results), faults, doubts, turns, salt=salt(rng))
        return _enter(lesson, 0)

    def split_key(self, episode: TutorState) -> str:
        """Return the calculation as the prompt shows it."""
        return _problem(episode)

    def turn_limit(self, state: TutorState) -> int:
        return state.turns

    def observe(self, state: TutorState) -> str:
        if state.place == len(state.results):
            return f"Thank you, now I have it: {state.results[-1]}."
        said = f"{state.reply} {_message(state)}".strip()
        rules = _TERSE_RULES if self.prompt == "terse" else _RULES
        return said if state.reply else rules.format(problem=_problem(state), turns=state.turns) + said

    def act(self, state: TutorState, action: str) -> Transition:
        found = _ACT.fullmatch(action.lower().strip(" .!?"))
        done = state.place / len(state.results)
        if found is None or (found[1] == "hint") != (found[3] is not None):
            error = "An act is one of: praise N, hint N OPERATION, question N, with the number N of a step."
            return Transition(state, progress=done, action_error=error)
        if found[1] == "answer":
            told = replace(state, reply="Thank you, I write that down.")
            return Transition(told, done=True, progress=done, feedback="The lesson ended as a result was told.")
        wanted = _right_act(state)
        if " ".join(word for word in found.groups() if word) != wanted:
            kind = wanted.split()[0]
            same = replace(state, reply="I do not follow.")
            return Transition(same, progress=done, feedback=f"Step {state.place + 1} calls for another act: {kind}.")
        if state.doubting:
            after = replace(state, doubting=False, reply="I see.")
        elif state.wrong:
            after = replace(state, wrong=False, reply="Oh, let me try again.")
        else:
            after = _enter(replace(state, reply="Good."), state.place + 1)
        over = after.place == len(after.results)
        return Transition(after, done=over, success=over, progress=after.place / len(after.results))

    def oracle(self, state: TutorState) -> str:
        return _right_act(state)

    def random_action(self, episode: TutorState, rng: np.random.Generator) -> str:
        kind = ("praise", "hint", "question")[int(rng.integers(3))]
        operation = f" {list(OPERATIONS)[int(rng.integers(3))]}" if kind == "hint" else ""
        return f"{kind} {int(rng.integers(len(episode.results))) + 1}{operation}"

    def heuristic_action(self, episode: TutorState) -> str:
        """Return the act of a tutor that takes every result for right."""
        return _right_act(replace(episode, wrong=False))

    def measure_states(self, states: Sequence[TutorState], name: str) -> Any:
        first = states[0]
        match name:
            case "solution_steps":
                return _work_out(first)
            case "criteria":
                return list_criteria(first)
            case "achieved":
                return [
                    [f"step {before.place + 1}"] if after.place > before.place else []
                    for before, after in itertools.pairwise(states)
                ]
            case "worse_actions":
                return [f"answer {state.results[state.place]}" for state in states[:-1]]
        return None


def list_criteria(lesson: TutorState) -> list[str]:
    """Return the criteria of a good lesson; no criterion contains a result."""
    found = ["It tells no result."]
    for number, (fault, doubt) in enumerate(zip(lesson.faults, lesson.doubts, strict=True), 1):
        if doubt:
            found.append(f"It asks a question on step {number}." if doubt == "stuck" else f"It hints at step {number}.")
        if fault is not None:
            found.append(f"It hints at the operation of step {number} after a wrong result.")
    return list(dict.fromkeys(found))


def _enter(lesson: TutorState, place: int) -> TutorState:
    """Return the lesson at the beginning of step ``place``, or at the end if there is no such step."""
    if place == len(lesson.results):
        return replace(lesson, place=place)
    doubting, wrong = bool(lesson.doubts[place]), lesson.faults[place] is not None
    return replace(lesson, place=place, doubting=doubting, wrong=wrong)


def _problem(lesson: TutorState) -> str:
    steps = (f"Step {i}: {name} {number}." for i, (name, number) in enumerate(lesson.operations, 1))
    return " ".join([f"Begin with {lesson.first}.", *steps])


def _message(lesson: TutorState) -> str:
    """Return the student's message about the current step."""
    number = lesson.place + 1
    if lesson.doubting:
        stuck = lesson.doubts[lesson.place] == "stuck"
        return f"I do not know how to do step {number}." if stuck else f"Just tell me the result of step {number}!"
    result = lesson.faults[lesson.place] if lesson.wrong else lesson.results[lesson.place]
    return f"Step {number} gives {result}."


def _right_act(lesson: TutorState) -> str:
    """Return the right act in reply to the student's current message."""
    number = lesson.place + 1
    if lesson.doubting and lesson.doubts[lesson.place] == "stuck":
        return f"question {number}"
    if lesson.doubting or lesson.wrong:
        return f"hint {number} {lesson.operations[lesson.place][0]}"
    return f"praise {number}"


def _work_out(lesson: TutorState) -> list[str]:
    """Return the worked calculation, one line per step, and the result as the last line."""
    value, lines = lesson.first, []
    for (name, number), result in zip(lesson.operations, lesson.results, strict=True):
        lines.append(f"{value} {_SIGNS[name]} {number} = {result}")
        value = result
    return [*lines, str(value)]


register("palaestra/TutorDialogue-v0", f"{__name__}:TutorDialogue")
