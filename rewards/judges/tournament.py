"""Tournaments: from matches between the responses of a group to ranks, and from ranks to rewards (ArenaRL).

A topology is a function of the number of players and of ``play``, which plays a list of matches (a round) and returns
their results. It returns a key for every player; players are ranked by their keys, the largest first, and equal keys
share the mean of their ranks. Only results decide: after a drawn match the player that advances is arbitrary, so both
end with the same key. A judge that prefers a position whatever it reads therefore gives every player the same reward.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...checks import option
from ..episode import Episode
from ..reward import GroupReward, register
from .judge import check_judge
from .judge_rewards import reference_text
from .pairwise import Match, MatchResult, play_matches, preference

PlayRound = Callable[[Sequence[Match]], list[MatchResult]]
"""Callable that plays the matches of one round and returns their results in the same order."""
Key = tuple[float, ...]


class Undecided(Exception):
    """Error for a match without a result, because of which the tournament has no result."""


def ranks(keys: Sequence[Key]) -> list[float]:
    """Return the ranks of the keys, 0 for the largest; equal keys share the mean of their ranks."""
    order = sorted(keys, reverse=True)
    return [order.index(key) + (order.count(key) - 1) / 2 for key in keys]


def rank_rewards(keys: Sequence[Key]) -> list[float]:
    """Return ``1 - rank / (N - 1)`` for each of N keys; 0.5 for a single player."""
    if len(keys) < 2:
        return [0.5] * len(keys)
    return [1.0 - rank / (len(keys) - 1) for rank in ranks(keys)]


class _Scores:
    """Mean score of each player over all matches, rounded so that it does not depend on the order of summation."""

    def __init__(self, count: int, play: PlayRound):
        self._scores: list[list[float]] = [[] for _ in range(count)]
        self._play = play

    def __call__(self, pairs: Sequence[Match]) -> list[MatchResult]:
        results = self._play(pairs) if pairs else []
        for (i, j), (one, two) in zip(pairs, results):
            self._scores[i].append(one)
            self._scores[j].append(two)
        return results

    def mean(self, player: int) -> float:
        scores = self._scores[player]
        return round(math.fsum(scores) / len(scores), 12) if scores else 0.0


def anchor(count: int, play: PlayRound) -> list[Key]:
    """Match every player with player 0 and rank by the margin; ``N - 1`` matches."""
    pairs = [(player, 0) for player in range(1, count)]
    return [(0.0,), *((round(one - two, 12),) for one, two in play(pairs))]


def round_robin(count: int, play: PlayRound) -> list[Key]:
    """Match every two players, for 1, 1/2 or 0 points; ``N (N - 1) / 2`` matches."""
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
    points = [0.0] * count
    for (i, j), result in zip(pairs, play(pairs)):
        points[i] += preference(result)
        points[j] += 1.0 - preference(result)
    return [(point,) for point in points]


def swiss(count: int, play: PlayRound) -> list[Key]:
    """Play ``ceil(log2 N)`` rounds between neighbours in the table; the opponents' points break ties (Buchholz).

    Two players meet again only if no other pairing is left. With an odd number of players, each round gives half a
    point and no match (a bye) to the last player in the table without a bye so far; it counts as a match against an
    equally strong opponent.
    """
    points = [0.0] * count
    met: list[list[int]] = [[] for _ in range(count)]
    for _ in range(math.ceil(math.log2(count)) if count > 1 else 0):
        table = sorted(range(count), key=lambda player: (-points[player], player))
        if count % 2:
            rests = next((player for player in reversed(table) if player not in met[player]), table[-1])
            table.remove(rests)
            met[rests].append(rests)
            points[rests] += 0.5
        pairs = []
        while table:
            one = table.pop(0)
            two = next((player for player in table if player not in met[one]), table[0])
            table.remove(two)
            pairs.append((one, two))
        for (one, two), result in zip(pairs, play(pairs)):
            met[one].append(two)
            met[two].append(one)
            points[one] += preference(result)
            points[two] += 1.0 - preference(result)
    return [(points[player], sum(points[other] for other in met[player])) for player in range(count)]


def double_elimination(count: int, play: PlayRound) -> list[Key]:
    """Eliminate players after two losses; ``2 (N - 1)`` matches or one more. Rank by the round of elimination, then by
    the mean score."""
    scores = _Scores(count, play)
    losses = [0] * count
    fall: dict[int, tuple[int, int, bool]] = {}
    alive, turn = list(range(count)), 0
    while len(alive) > 1:
        turn += 1
        unbeaten = [player for player in alive if losses[player] == 0]
        beaten = [player for player in alive if losses[player] == 1]
        pairs = _pair_ends(unbeaten) + _pair_ends(beaten)
        if not pairs:  # one of each is left
            pairs = [(unbeaten[0], beaten[0])]
        for (one, two), result in zip(pairs, scores(pairs)):
            winner, loser = (two, one) if preference(result) == 0.0 else (one, two)
            losses[loser] += 1
            if losses[loser] == 2:
                fall[loser] = (turn, winner, preference(result) == 0.5)
                alive.remove(loser)
    return _keys_from_falls(count, fall, scores)


def seeded_elimination(count: int, play: PlayRound) -> list[Key]:
    """Seed all players by a match against player 0, then play a knockout; ``(N - 1) + (N - 1)`` matches.

    In the knockout the first seed plays the last. Losers of one round are ordered by their mean score over all matches.
    If N is no power of two, the best seeds skip the first round.
    """
    scores = _Scores(count, play)
    scores([(0, player) for player in range(1, count)])
    field = sorted(range(count), key=lambda player: (-scores.mean(player), player))
    fall: dict[int, tuple[int, int, bool]] = {}
    turn = 0
    while len(field) > 1:
        turn += 1
        # The first round reduces the field to a power of two, later rounds halve it.
        byes = 2 ** math.ceil(math.log2(len(field))) - len(field)
        pairs = _pair_ends(field[byes:])
        for (one, two), result in zip(pairs, scores(pairs)):
            winner, loser = (two, one) if preference(result) == 0.0 else (one, two)
            fall[loser] = (turn, winner, preference(result) == 0.5)
            # The winner takes the place of the better seed, as on a bracket drawn on paper.
            field[field.index(one)] = winner
        field = field[: byes + len(pairs)]
    return _keys_from_falls(count, fall, scores)


TOPOLOGIES: dict[str, Callable[[int, PlayRound], list[Key]]] = {
    "anchor": anchor,
    "round-robin": round_robin,
    "swiss": swiss,
    "double-elimination": double_elimination,
    "seeded-elimination": seeded_elimination,
}


def _pair_ends(players: Sequence[int]) -> list[Match]:
    """Pair the first player with the last, the second with the last but one, and so on; a middle player is left out."""
    return [(players[index], players[-1 - index]) for index in range(len(players) // 2)]


def _keys_from_falls(count: int, fall: dict[int, tuple[int, int, bool]], scores: _Scores) -> list[Key]:
    """Derive keys from ``fall``, which maps each eliminated player to (round, winner, True if the match was drawn).

    A player eliminated in a draw shares the winner's key.
    """
    keys: dict[int, Key] = {}
    latest_first = sorted(range(count), key=lambda player: -fall.get(player, (math.inf, 0, False))[0])
    for player in latest_first:
        turn, winner, drawn = fall.get(player, (math.inf, player, False))
        keys[player] = keys[winner] if drawn else (turn, scores.mean(player))
    return [keys[player] for player in range(count)]


@register("tournament")
class TournamentReward(GroupReward):
    """Rank of a response in a tournament of its group before a judge: 1 for the first, 0 for the last.

    Every match is judged in both orders. If the judge fails on a match, the verdicts of the whole group are invalid.
    The value of a single episode is 0.5. ArenaRL weighs process and answer .6 to .4: ``{"judge": "aspects", "aspects":
    {process: 0.6, answer: 0.4}, "mean": "arithmetic"}``.
    """

    paper = "ArenaRL, arXiv 2601.06487"
    bounds = (0.0, 1.0)
    judge: Any = option(default="rules", check=check_judge, says='a `Judge`, its name, or {"judge": name, ...options}.')
    principle: str = option(default="cites evidence", says="the standard of judgement, in words.")
    topology: str = option(default="seeded-elimination", choices=TOPOLOGIES, says="form of the tournament.")

    def values(self, episodes: Sequence[Episode]) -> list[float | str]:
        responses = [episode.response for episode in episodes]
        prompt, reference = episodes[0].prompt, reference_text(episodes[0])

        def play(pairs: Sequence[Match]) -> list[MatchResult]:
            results = play_matches(self.judge, self.principle, prompt, responses, pairs, reference)
            for result in results:
                if isinstance(result, str):
                    raise Undecided(result)
            return [result for result in results if not isinstance(result, str)]

        try:
            return list(rank_rewards(TOPOLOGIES[self.topology](len(episodes), play)))
        except Undecided as failure:
            return [str(failure)] * len(episodes)

    def describe(self) -> str:
        return f"tournament({self.judge!r}, {self.principle!r}, {self.topology})"
