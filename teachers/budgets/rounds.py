"""Rollouts in rounds, for learners that can inspect a group before it is complete: Reinforce-Ada and racing.

An allocator needs an estimate of the success rate; rounds need none. Each round samples a few more answers to the
prompts whose group has not shown enough yet:

    rounds = Rounds(len(prompts), exit="balanced", keep=4)
    while (draws := rounds.next_draws()).any():
        rounds.add(successes=..., draws=draws)

`thin_group` then thins a finished group out to the size that is trained on, with advantages from all that was drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ...checks import check_choice, check_count
from ...errors import InputError

EXITS = ("positive", "balanced", "mixed")
COUNTS = ("successes", "draws", "rounds", "filled")  # arrays in the saved state


class Rounds:
    """Decides after each round which prompts of a batch are sampled further (Reinforce-Ada, arXiv 2510.04996, section
    3).

    A prompt retires once its draws hold enough successes and failures: "positive" asks for one success (the paper's
    Ada-pos), "balanced" for keep/2 of both (Ada-balance), "mixed" for one of both (racing: stop a group at the first
    draw that makes it useful, then `fill` it up).

    Args:
        prompts: number of prompts in the batch.
        exit: as above.
        keep: number of answers per prompt that are trained on; even. The paper has 4.
        size: draws per round of each active prompt; the paper has 8. Racing draws one by one.
        rounds: largest number of rounds; the paper has 4, so that no prompt costs more than 32 draws. A round without
            any answer counts too, so that a prompt that never answers also ends.
        fill: a prompt that retired with fewer draws than this gets the rest in one more round.

    Attributes:
        successes, draws: int64[prompts], counts so far.
        rounds: int64[prompts], rounds in which the prompt was sampled.
        filled: bool[prompts], True once the filling round is over.
        retired: bool[prompts], True if the exit condition holds.

    Raises:
        InputError: an option out of range.
    """

    def __init__(
        self,
        prompts: int,
        *,
        exit: Literal["positive", "balanced", "mixed"] = "balanced",
        keep: int = 4,
        size: int = 8,
        rounds: int = 4,
        fill: int = 0,
    ):
        for name, value, low in (("prompts", prompts, 0), ("size", size, 1), ("rounds", rounds, 1), ("fill", fill, 0)):
            check_count(name, value, low=low)
        check_count("keep", keep, low=2)
        check_choice("exit", exit, EXITS)
        if keep % 2:
            raise InputError(f"keep={keep} must be even, half of it successes and half failures.")
        self.needed = {"positive": (1, 0), "balanced": (keep // 2, keep // 2), "mixed": (1, 1)}[exit]
        self.size, self.limit, self.fill = int(size), int(rounds), int(fill)
        self.successes, self.draws, self.rounds = np.zeros((3, prompts), dtype=np.int64)
        self.filled = np.zeros(prompts, dtype=bool)

    @property
    def retired(self) -> np.ndarray:
        positives, negatives = self.needed
        return (self.successes >= positives) & (self.draws - self.successes >= negatives)

    def next_draws(self) -> np.ndarray:
        """Return int64[prompts], the number of answers to draw now; all 0 when the batch is finished."""
        more = np.where(self.rounds < self.limit, np.clip(self.size * self.limit - self.draws, 0, self.size), 0)
        rest = np.where(self.filled, 0, np.maximum(self.fill - self.draws, 0))
        return np.where(self.retired, rest, more)

    def add(self, successes: Sequence[int] | np.ndarray, draws: Sequence[int] | np.ndarray) -> None:
        """Add the successes and draws of a round, int[prompts] each. Answers that failed to come count in neither.

        Raises:
            InputError: wrong lengths, or successes outside [0, draws].
        """
        s, d = np.asarray(successes, dtype=np.int64), np.asarray(draws, dtype=np.int64)
        if s.shape != self.draws.shape or d.shape != self.draws.shape or ((s < 0) | (s > d)).any():
            raise InputError(
                f"a round gives {len(self.draws)} counts of successes between 0 and their draws, not {s} of {d}."
            )
        asked = self.next_draws() > 0
        self.filled = self.filled | (asked & self.retired)
        self.rounds = self.rounds + (asked & ~self.retired)
        self.successes, self.draws = self.successes + s, self.draws + d

    def state_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name).tolist() for name in COUNTS}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        saved = {name: np.array(state[name], dtype=getattr(self, name).dtype) for name in COUNTS}
        if any(counts.shape != self.draws.shape for counts in saved.values()):
            raise InputError(f"the saved rounds are of {len(saved['draws'])} prompts, these of {len(self.draws)}.")
        for name, counts in saved.items():
            setattr(self, name, counts)


def race_rounds(prompts: int, n: int, limit: int) -> Rounds:
    """Rounds that draw one by one until a group is mixed, then fill it up to n; at most ``limit`` draws a prompt."""
    return Rounds(prompts, exit="mixed", size=1, rounds=limit, fill=n)


def thin_group(
    returns: Sequence[float] | np.ndarray, keep: int, rng: np.random.Generator, *, threshold: float = 0.7
) -> tuple[np.ndarray, np.ndarray]:
    """Thin a group out to ``keep`` answers, half successes and half failures if there are enough (section 3.3).

    Args:
        returns: float[m], all draws of one prompt.
        keep: largest number of answers kept.
        rng: chooses among the successes and among the failures.
        threshold: a return above it counts as a success; 0.7 in the released code.

    Returns:
        int64[min(keep, m)] indices, ascending, and their float64 advantages, r minus the mean over all draws; the mean
        over the balanced group would not estimate the prompt's value.
    """
    r = np.asarray(returns, dtype=np.float64)
    shuffled = rng.permutation(len(r))
    success = r[shuffled] > threshold
    good, bad = shuffled[success], shuffled[~success]
    take = min(len(good), max(keep - keep // 2, keep - len(bad)))
    kept = np.sort(np.concatenate([good[:take], bad[: keep - take]]))
    return kept, r[kept] - (r.mean() if len(r) else 0.0)
