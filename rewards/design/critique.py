"""Checks of a reward program that need no model (the critic of Auto MC-Reward, arXiv 2312.09238): its grammar, and test
runs on recorded episodes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ...errors import InputError
from ..answers.blocks import program_in
from ..episode import Episode
from .program import RewardProgram, read_program
from .program_values import ProgramValue, not_finite, run_program


@dataclass(frozen=True, slots=True)
class Critique:
    """Result of checking a reply that should hold a reward program.

    Attributes:
        program: the program; None if it is rejected.
        text: the reason of a rejection, for the author; "" for an accepted program.
        values: values of an accepted program on the recorded episodes.
    """

    program: RewardProgram | None
    text: str = ""
    values: tuple[ProgramValue, ...] = ()


def criticise(reply: str, episodes: Sequence[Episode], supplies: Collection[str], runner: str = "sandbox") -> Critique:
    """Check the reward program in a reply.

    The program must follow the grammar and read only what the environment supplies. It is run twice on each recorded
    episode and must return the documented type and range, the same values in both runs, and a sparse reward of 1
    exactly for successes.

    Args:
        reply: text with the program in a fenced block.
        episodes: recorded episodes.
        supplies: names of the measures that the environment supplies.
        runner: a name in `RUNNERS`.

    Raises:
        RuntimeError: the sandbox failed, so the program could not be checked.
    """
    try:
        program = read_program(program_in(reply, "reward"))
    except InputError as error:
        return Critique(None, str(error))
    if missing := sorted(program.needs - set(supplies)):
        known = ", ".join(sorted(supplies)) or "nothing"
        return Critique(None, f"the program reads {missing}, but this environment supplies {known}.")
    runs = [run_program(program, episodes, runner) for _ in range(2)]
    first, second = runs
    if first is None or second is None:
        raise RuntimeError("the sandbox failed while it ran a reward program; see palaestra bench sandbox.")
    text = _find_fault(episodes, first, second)
    return Critique(None, text) if text else Critique(program, values=tuple(first))


def _find_fault(episodes: Sequence[Episode], first: Sequence[ProgramValue], second: Sequence[ProgramValue]) -> str:
    count = len(episodes)
    if errors := [value.error for value in first if value.error]:
        return f"the program failed on {len(errors)} of {count} recorded episodes; the first: {errors[0]}"
    if infinite := [names for value in first if (names := not_finite(value))]:
        return f"the dense terms {infinite[0]} are no finite numbers on {len(infinite)} of {count} recorded episodes."
    if changed := sum(repr(one) != repr(two) for one, two in zip(first, second, strict=True)):
        return f"the program returned something else when it was run again, on {changed} of {count} recorded episodes."
    over = sum(value.sparse == 1 and not episode.success for value, episode in zip(first, episodes, strict=True))
    under = sum(value.sparse != 1 and episode.success for value, episode in zip(first, episodes, strict=True))
    if over or under:
        return (
            f"sparse must be 1 for a success and -1 or 0 for a failure: of {count} episodes, it was 1 for {over} "
            f"failures and less for {under} successes."
        )
    return ""
