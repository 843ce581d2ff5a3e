"""Credit for the parts of an episode by what they contribute to its worth in every combination (SCAR)."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Collection, Sequence

import numpy as np

from ...checks import check_count, check_number
from ...errors import InputError
from ..episode import Episode
from ..reward import StepReward, register
from .step_scores import finite, per_turn

Coalition = frozenset[int]

EXACT_UP_TO = 10
"""Players for which all coalitions are valued: 1,024 at most."""


def shapley_values(
    worth: Callable[[Coalition], float],
    players: int,
    permutations: int = 64,
    rng: np.random.Generator | None = None,
) -> np.ndarray:
    """Shapley values of ``worth`` over coalitions of ``players``: exact up to 10 of them, sampled beyond.

    Sampled or not, they sum to the worth of all less that of none, and each coalition is valued once.

    Args:
        worth: of a coalition.
        players: how many.
        permutations: how many orders are sampled where there are more than 10 players.
        rng: of the sampling.

    Raises:
        InputError: more than 10 players without a generator.
    """
    known: dict[Coalition, float] = {}

    def v(members: Collection[int]) -> float:
        coalition = frozenset(members)
        if coalition not in known:
            known[coalition] = float(worth(coalition))
        return known[coalition]

    values = np.zeros(players)
    if players <= EXACT_UP_TO:
        for mask in range(2**players):
            inside = [i for i in range(players) if mask >> i & 1]
            outside = [i for i in range(players) if not mask >> i & 1]
            for i in outside:
                weight = 1.0 / (players * math.comb(players - 1, len(inside)))
                values[i] += weight * (v([*inside, i]) - v(inside))
        return values
    if rng is None:
        raise InputError(f"more than {EXACT_UP_TO} players are sampled: pass rng, not None, for {players} of them.")
    for _ in range(permutations):
        order = rng.permutation(players).tolist()
        for place, i in enumerate(order):
            values[i] += v(order[: place + 1]) - v(order[:place])
    return values / permutations


def equal_spans(text: str, number: int) -> list[tuple[int, int]]:
    """(start, stop) of up to ``number`` contiguous spans of about as many words each; together they are ``text``."""
    starts = [0] + [i for i in range(1, len(text)) if text[i - 1].isspace() and not text[i].isspace()]
    cuts = sorted({starts[k * len(starts) // number] for k in range(number)})
    return list(zip(cuts, [*cuts[1:], len(text)], strict=True)) if text else []


def ablated(text: str, spans: Sequence[tuple[int, int]], kept: Collection[int]) -> str:
    """``text`` with the spans that are not in ``kept`` blanked: spaces in place of their characters."""
    parts = (text[start:stop] if i in kept else " " * (stop - start) for i, (start, stop) in enumerate(spans))
    return "".join(parts)


@register("shapley")
class ShapleyCredit(StepReward):
    """Spreads an episode's worth over its turns: ``share`` of it by Shapley value, the rest on the last.

    Where nothing is worth 0, the turns sum to the worth of the whole whatever the share.

    Args:
        worth: (episode, indices of the players kept) -> the worth of what they leave, as a reward model gives it when
            the others are blanked (`ablated`); None where it could not be determined. Without it the extra
            "coalition_values" is read: 2 ** N numbers, that of players i, j, ... at 2**i + 2**j + ...
        share: alpha of the paper, in [0, 1].
        players: from an episode to their number; by default its turns. An episode of one turn may have any number
            (spans of its text, see `equal_spans`); `spread` then has their shares.
        permutations: how many orders are sampled beyond 10 players.
        seed: of the sampling, which depends on nothing else but the task and the number of players.

    Raises:
        InputError: when called, an extra whose length is no power of two.
    """

    paper = "SCAR, arXiv 2505.20417"
    complete = True
    needs = frozenset({"coalition_values"})

    def __init__(
        self,
        worth: Callable[[Episode, Coalition], float | None] | None = None,
        share: float = 1.0,
        players: Callable[[Episode], int] = lambda episode: len(episode.steps),
        permutations: int = 64,
        seed: int = 0,
    ):
        self.worth = worth
        self.share = check_number("share", share, low=0.0, high=1.0)
        self.players = players
        self.permutations = check_count("permutations", permutations, low=1)
        self.seed = check_count("seed", seed)
        self.needs = frozenset() if worth else frozenset({"coalition_values"})

    def spread(self, episode: Episode) -> np.ndarray | None:
        """What each player is paid; None where a worth could not be determined."""
        if self.worth is None:
            table = finite(episode.extra("coalition_values"), "coalition values")
            if table is None:
                return None
            players = len(table).bit_length() - 1
            if len(table) != 2**players:
                raise InputError(f"coalition values are as many as a power of two, not {len(table)}.")

            def value(coalition: Coalition) -> float | None:
                return float(table[sum(2**i for i in coalition)])
        else:
            ask, players = self.worth, self.players(episode)

            def value(coalition: Coalition) -> float | None:
                return ask(episode, coalition)

        if not players:
            return np.zeros(0)
        task = zlib.crc32(episode.task_id.encode("utf-8", "surrogatepass"))
        rng = np.random.default_rng([self.seed, task, players])
        try:
            credit = self.share * shapley_values(lambda c: _known(value(c)), players, self.permutations, rng)
            credit[-1] += (1.0 - self.share) * _known(value(frozenset(range(players))))
        except _Unknown:
            return None
        return credit

    def values(self, episode: Episode) -> list[float] | None:
        credit = self.spread(episode)
        return None if credit is None else per_turn(credit, episode, "players")


class _Unknown(Exception):
    """A worth that could not be determined; it ends the computation of all."""


def _known(worth: float | None) -> float:
    if worth is None or not math.isfinite(worth):
        raise _Unknown
    return worth
