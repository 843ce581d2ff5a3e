"""Factor functions: named numbers of one step, from which a network predicts the step's share of the return (LaRe).

A factor program is a Python text that defines ``factors(step)``, checked by the grammar of reward programs and run in a
sandbox; packages that can run untrusted programs register a runner in `FACTOR_RUNNERS`. The factor functions of this
package, in `FACTOR_FUNCTIONS`, run in this process.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import InputError, MachineryError
from ...registry import Registry
from ..answers.blocks import program_in
from ..episode import Episode
from .program import parse_program
from .program_values import to_plain

_log = logging.getLogger(__name__)

Factors = Mapping[str, float]
FactorRunner = Callable[[str, Sequence[Mapping[str, Any]]], "list[Any] | None"]
"""Callable from (program, steps) to ``[{name: number}, error]`` for each step; None if the machinery failed."""
FACTOR_RUNNERS: Registry[FactorRunner] = Registry(
    "runner of factor programs", modules=["palaestra.envs.sandbox.runners"]
)
FACTOR_FUNCTIONS: Registry[Callable[[Any, Any], Factors]] = Registry("factor function")
"""Registry of functions ``(observation, action) -> {name: number}``; the names must be the same for every step."""

_WORDS = 16
_WALL, _DOOR, _GOAL = 2, 4, 8
_CARRIED = (5, 6, 7)  # key, ball, box
_LEFT_ALONE = (0, 1, 3)  # unseen, empty, floor


@dataclass(frozen=True, slots=True)
class StepFactors:
    """Factors of one step, or the error because of which there are none.

    Attributes:
        factors: factor name -> number; empty if there is an error.
        error: the reason, for the author of the program; "" if there are factors.
    """

    factors: Factors
    error: str = ""


def describe_step_data(example: Episode | None = None) -> str:
    """Describe the argument of a factor program for its author, with values of the first step of ``example``."""
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
    """Return a factor program after checking that it follows the grammar (see `read_program`) and defines
    ``factors(step)``.

    Raises:
        InputError: the first fault, with its line.
    """
    parse_program(text, "factors", "the step")
    return text


def load_factor_program(file: str | Path) -> str:
    """Read a factor program from a file and check it.

    Raises:
        InputError: the file cannot be read or does not hold a factor program.
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
        program: text of the program.
        steps: (observation, action) of each step.
        runner: a name in `FACTOR_RUNNERS`.
        names: factor names that every step must have; by default those of the first step without an error.

    Returns:
        Factors of each step; None if the runner failed, which says nothing about the program.
    """
    if not steps:
        return []
    try:
        answers = FACTOR_RUNNERS[runner](program, [step_data(*step) for step in steps])
    except MachineryError as failure:
        _log.warning("the factor program could not run, and its steps have no factors: %s", failure)
        return None
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
    """Return the argument of a factor program for one step, as plain data."""
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
    """Result of checking a reply that should hold a factor program.

    Attributes:
        program: the program; None if it is rejected.
        text: the reason of a rejection, for the author; "" for an accepted program.
        names: the factor names of an accepted program.
    """

    program: str | None
    text: str = ""
    names: tuple[str, ...] = ()


def verify_factors(reply: str, episodes: Sequence[Episode], runner: str = "sandbox") -> FactorCritique:
    """Check the factor program in a reply (LaRe's self-verification).

    The program must follow the grammar. It is run twice on every recorded step, and must return the same factor names
    for all steps, equal numbers in both runs, and not the same factors for all steps.

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


@FACTOR_FUNCTIONS.register("minigrid")
def minigrid_factors(observation: Any, action: Any) -> Factors:
    """Describe the effect of an action on the cell ahead in MiniGrid's view, and whether the agent carries an object.
    The factors "takes", "drops", "opens", "shuts", "reaches" (a goal), "bumps" and "carries" are 0 or 1."""
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


@FACTOR_FUNCTIONS.register("words")
def word_factors(observation: Any, action: Any) -> Factors:
    """Count the words of the action, hashed into 16 factors, and add the factor "step", which is always 1."""
    del observation
    found = {f"word {place}": 0.0 for place in range(_WORDS)}
    for word in str(action).lower().split()[:1000]:
        found[f"word {zlib.crc32(word.encode('utf-8', 'surrogatepass')) % _WORDS}"] += 1.0
    return {**found, "step": 1.0}


@FACTOR_FUNCTIONS.register("given")
def given_factors(observation: Any, action: Any) -> Factors:
    """Return `minigrid_factors` if the observation is MiniGrid's view, else `word_factors`."""
    seen = observation.get("image") if isinstance(observation, Mapping) else None
    grid = getattr(seen, "shape", ()) == (7, 7, 3)
    return minigrid_factors(observation, action) if grid else word_factors(observation, action)
