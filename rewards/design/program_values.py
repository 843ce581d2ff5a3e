"""Execution of reward programs: an episode goes in as plain data, the program's return value comes out.

A program never runs in this process but in a runner. Packages that can isolate untrusted programs register a runner in
`RUNNERS`, as `palaestra.envs` does with its sandbox.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import MachineryError
from ...registry import Registry
from ..episode import Episode
from ..measures import MEASURES
from .program import EPISODE_KEYS, RewardProgram

_log = logging.getLogger(__name__)

Runner = Callable[[str, Sequence[Mapping[str, Any]]], "list[Any] | None"]
"""Callable from (program, episodes) to ``[sparse, {term: number}, error]`` for each; None if the machinery failed."""
RUNNERS: Registry[Runner] = Registry("runner of reward programs", modules=["palaestra.envs.sandbox.runners"])


@dataclass(frozen=True, slots=True)
class ProgramValue:
    """Value that a program returned for one episode.

    Args:
        sparse: -1, 0 or 1.
        dense: the dense terms by name; may include NaN and infinity.
        error: reason of a missing value, for the author of the program; ``sparse`` is then 0 and ``dense`` empty.
    """

    sparse: int = 0
    dense: Mapping[str, float] = field(default_factory=dict)
    error: str = ""

    @property
    def total(self) -> float:
        """Sum of the dense terms."""
        return float(sum(self.dense.values()))


def describe_episode(supplies: Collection[str], example: Episode | None = None) -> str:
    """Describe the argument of a program for its author, one line per key. Keys of every episode come first, then the
    measures in ``supplies`` (those of the environment), with the first characters of their values in ``example``."""
    lines = [f'episode["{name}"]: {text}' for name, text in EPISODE_KEYS.items()]
    for name in sorted(set(supplies) - {"feedback"}):
        measure = MEASURES[name]
        unit = f", in {measure.unit}" if measure.unit else ""
        shown = repr(to_plain(example.extras.get(name))) if example is not None else ""
        such = f", such as {shown[:80]}{' ...' if len(shown) > 80 else ''}" if shown else ""
        lines.append(f'episode["{name}"]: {measure.shape}{unit}; {measure.summary}{such}')
    return "\n".join([*lines, "K is the number of turns; every value that the environment supplies can be None."])


def run_program(
    program: RewardProgram, episodes: Sequence[Episode], runner: str = "sandbox"
) -> list[ProgramValue] | None:
    """Run a program on each episode; all episodes go to the runner in one call.

    Returns:
        A value for each episode; None if the machinery failed, which says nothing about the program.

    Raises:
        InputError: an episode lacks a measure that the program reads, or the runner is unknown.
    """
    if not episodes:
        return []
    data = [_episode_data(episode, program.needs) for episode in episodes]
    try:
        answers = RUNNERS[runner](program.text, data)
    except MachineryError as failure:
        _log.warning("the reward program could not run, and its episodes have no reward: %s", failure)
        return None
    return None if answers is None else [_read_answer(answer) for answer in answers]


def _episode_data(episode: Episode, needs: Collection[str]) -> dict[str, Any]:
    turns = [
        {
            "observation": to_plain(step.observation),
            "action": to_plain(step.action),
            "reward": step.reward,
            "error": step.action_error,
            "feedback": step.feedback,
        }
        for step in episode.steps
    ]
    return {
        **{name: to_plain(episode.extra(name)) for name in sorted(needs)},
        "success": episode.success,
        "progress": episode.progress,
        "truncated": episode.truncated,
        "params": to_plain(episode.params),
        "turns": turns,
    }


def to_plain(value: Any) -> Any:
    """Convert a value to plain data: arrays and sequences become lists, keys and all other objects text."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return to_plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): to_plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_plain(inner) for inner in value]
    return str(value)


def _read_answer(answer: Any) -> ProgramValue:
    """Parse a runner's output for one episode. The output is untrusted, as it comes from the program's process."""
    try:
        sparse, dense, error = answer
        if error:
            return ProgramValue(error=str(error)[:500])
        terms = {str(name)[:60]: float(value) for name, value in dense.items()}
        if sparse in (-1, 0, 1):
            return ProgramValue(int(sparse), terms)
    except (TypeError, ValueError, AttributeError, OverflowError):
        pass
    return ProgramValue(error="the program returned something else than (sparse, dense).")


def not_finite(value: ProgramValue) -> list[str]:
    """List the names of the dense terms that are NaN or infinite."""
    return [name for name, number in value.dense.items() if not math.isfinite(number)]
