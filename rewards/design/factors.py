"""Factor functions: named numbers of one step, from which a network composes its part of the return (LaRe).

A factor program is a Python text that defines ``factors(step)``, checked by the grammar of reward programs and run in a
sandbox; packages that have a place for untrusted programs register one in `FACTOR_RUNNERS`. `GIVEN` has functions of
our own, which run here.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...registry import Registry
from ..answers.blocks import program_in
from ..episode import Episode
from .program import parse_program
from .program_values import to_plain

Factors = Mapping[str, float]
FactorRunner = Callable[[str, Sequence[Mapping[str, Any]]], "list[Any] | None"]
"""(program, steps) -> for each step ``[{name: number}, error]``; None where the machinery failed."""
FACTOR_RUNNERS: Registry[FactorRunner] = Registry("runner of factor programs")
GIVEN: Registry[Callable[[Any, Any], Factors]] = Registry("factor function")
"""``function(observation, action) -> {name: number}``, always of the same names."""

_WORDS = 16
_WALL, _DOOR, _GOAL = 2, 4, 8
_CARRIED = (5, 6, 7)  # key, ball, box
_LEFT_ALONE = (0, 1, 3)  # unseen, empty, floor


@dataclass(frozen=True, slots=True)
class StepFactors:
    """Factors of one step; ``error`` says why there are none, for the author of the program."""

    factors: Factors
    error: str = ""


def describe_step_data(example: Episode | None = None) -> str:
    """Describe the argument of a factor program for its author, with an example's values."""
    shown = []
    for name, text in (
        ("observation", "what the agent saw before the step: text, a number, or nested lists and dicts of them"),
        ("action", "what it did: text or a number"),
    ):
        such = ""
        if example is not None and example.steps:
            value = repr(to_plain(getattr(example.steps[0], name)))
            such = f"; such as {value[:1500]}{' ...' if len(value) > 1500 else ''}"
        shown.append(f'step["{name}"]: {text}{such}')
    return "\n".join(shown)


def read_factor_program(text: str) -> str:
    """Check a text by the grammar of programs (see `read_program`); it must define ``factors(step)``.

    Raises:
        InputError: the first fault, with its line.
    """
    parse_program(text, "factors", "the step")
    return text


def load_factor_program(file: str | Path) -> str:
    """Read a file that holds a factor program.

    Raises:
        InputError: it cannot be read, or holds none.
    """
    try:
        return read_factor_program(Path(file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the factor program {str(file)!r} cannot be read: {error}.") from None
    except InputError as error:
        raise InputError(f"{str(file)!r} holds no factor program: {error}") from None


def compute_factors(
    program: str, steps: Sequence[tuple[Any, Any]], runner: str = "sandbox", names: Sequence[str] = ()
) -> list[StepFactors] | None:
    """Compute the factors of steps by a program, in one call of the runner.

    Args:
        steps: (observation, action) of each.
        names: factor names that every step must have; by default the names of the first step with any.

    Returns:
        factors of each step; None if the runner failed, which says nothing about the program.
    """
    if not steps:
        return []
    answers = FACTOR_RUNNERS[runner](program, [step_data(*step) for step in steps])
    if answers is None:
        return None
    found, known = [], sorted(names)
    for answer in answers:
        one = _read_answer(answer)
        known = known or sorted(one.factors)
        if not one.error and sorted(one.factors) != known:
            one = StepFactors({}, f"the factors are {sorted(one.factors)}, but those of another step are {known}.")
        found.append(one)
    return found


def step_data(observation: Any, action: Any) -> dict[str, Any]:
    """Data that a program reads of a step, as plain data."""
    return {"observation": to_plain(observation), "action": to_plain(action)}


def _read_answer(answer: Any) -> StepFactors:
    """Parse a runner's output for one step. The output is untrusted, as it comes from the program's process."""
    try:
        numbers, error = answer
        if error:
            return StepFactors({}, str(error)[:500])
        if numbers and all(abs(float(number)) <= 1e6 for number in numbers.values()):
            return StepFactors({str(name)[:60]: float(number) for name, number in numbers.items()})
    except (TypeError, ValueError, AttributeError, OverflowError):
        pass
    return StepFactors({}, "the program returned something else than a dict of named numbers.")


@dataclass(frozen=True, slots=True)
class FactorCritique:
    """A verification of a reply: the program, or None and the reason, for the author; and the names of its factors."""

    program: str | None
    text: str = ""
    names: tuple[str, ...] = ()


def verify_factors(reply: str, episodes: Sequence[Episode], runner: str = "sandbox") -> FactorCritique:
    """Check the program in a reply (LaRe's self-verification): its grammar and its factors. Two runs on every recorded
    step must return the same factor names for all steps, equal numbers in both runs, and not one constant value.

    Raises:
        RuntimeError: the sandbox failed, so the program could not be checked.
    """
    try:
        program = read_factor_program(program_in(reply, "factors"))
    except InputError as error:
        return FactorCritique(None, str(error))
    steps = [(step.observation, step.action) for episode in episodes for step in episode.steps]
    first, second = (compute_factors(program, steps, runner) for _ in range(2))
    if first is None or second is None:
        raise RuntimeError("the sandbox failed while it ran a factor program; see palaestra bench sandbox.")
    if errors := [one.error for one in first if one.error]:
        text = f"the program failed on {len(errors)} of {len(first)} recorded steps; the first: {errors[0]}"
        return FactorCritique(None, text)
    if changed := sum(one != two for one, two in zip(first, second, strict=True)):
        text = f"the program returned something else when it was run again, on {changed} of {len(first)} steps."
        return FactorCritique(None, text)
    if len(first) > 1 and all(one == first[0] for one in first):
        return FactorCritique(
            None, f"the factors are the same for all {len(first)} recorded steps, which tells nothing."
        )
    return FactorCritique(program, names=tuple(sorted(first[0].factors)) if first else ())


# Functions of our own -------------------------------------------------------------------------------------------------


@GIVEN.register("minigrid")
def minigrid_factors(observation: Any, action: Any) -> Factors:
    """Describe the effect of an action on the cell ahead in MiniGrid's view (takes, drops, opens, shuts, reaches a
    goal, bumps), and whether an object is carried."""
    image = observation["image"]
    thing, _, state = (int(number) for number in image[3, 5])
    carried = int(image[3, 6][0])
    holds, takes = carried in _CARRIED, thing in _CARRIED
    forward, take, drop, toggle = (int(action) == number for number in (2, 3, 4, 5))
    opens = toggle and thing == _DOOR and (state == 1 or (state == 2 and carried == _CARRIED[0]))
    free = thing in (*_LEFT_ALONE, _GOAL) or (thing == _DOOR and state == 0)
    found = {
        "takes": take and takes and not holds,
        "drops": drop and holds and thing == _LEFT_ALONE[1],
        "opens": opens,
        "shuts": toggle and thing == _DOOR and state == 0,
        "reaches": forward and thing == _GOAL,
        "bumps": forward and not free,
        "carries": holds,
    }
    return {name: float(value) for name, value in found.items()}


@GIVEN.register("words")
def word_factors(observation: Any, action: Any) -> Factors:
    """Count how often each word of the action occurs in it, hashed into 16 places, and 1 for every step."""
    del observation
    found = {f"word {place}": 0.0 for place in range(_WORDS)}
    for word in str(action).lower().split()[:1000]:
        found[f"word {zlib.crc32(word.encode('utf-8', 'surrogatepass')) % _WORDS}"] += 1.0
    return {**found, "step": 1.0}


@GIVEN.register("given")
def given_factors(observation: Any, action: Any) -> Factors:
    """`minigrid_factors` where MiniGrid's view is observed, and `word_factors` elsewhere."""
    seen = observation.get("image") if isinstance(observation, Mapping) else None
    grid = getattr(seen, "shape", ()) == (7, 7, 3)
    return minigrid_factors(observation, action) if grid else word_factors(observation, action)
