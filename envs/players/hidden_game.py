"""Games with hidden hands: `HiddenGame`, exact best responses, and near equilibria.

A game begins with a deal that each seat sees in part; after it, all moves are public, at the latest once the other seat
has moved, too (`HiddenGame.is_blind`). So the moves are walked as a tree, and at each node all deals are computed at
once, as vectors over deals.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from .table_game import Frozen, Moves, Params, TableGame, TablePosition, freeze

Known = tuple[Moves, int]
"""Key of an information set: (history as the seat sees it, number of the private knowledge); see `HiddenGame.known`."""
Strategy = Mapping[Known, Mapping[str, float]]
"""Information set -> probability of each move."""
Choice = Callable[[TablePosition], Mapping[str, float]]
"""Policy: probabilities of the moves in a position, by what the seat to move knows of it."""


class HiddenGame(TableGame):
    """Base of games with hidden hands. Legal moves, and whose turn it is, depend on parameters and history alone.

    A subclass implements the methods below for arrays of deals, int[deals, cards]. "equilibrium" among the ``policies``
    is found by `equilibrium` in ``iterations``; `prefer` implements the others.
    """

    iterations: ClassVar[int] = 400

    def deals(self, params: Params) -> tuple[np.ndarray, np.ndarray]:
        """Return (all deals, int[deals, cards]; their probabilities, float[deals])."""
        raise NotImplementedError

    def legal_after(self, params: Params, history: Moves) -> Moves:
        """Return the legal moves after a history; () at the end."""
        raise NotImplementedError

    def mover(self, params: Params, history: Moves) -> int:
        """Return the seat that moves after a history. Default: the seats take turns, seat 0 first."""
        return len(history) % 2

    def is_blind(self, history: Moves) -> bool:
        """Return True if the seat that moves after a history does not see the last move, which is the other seat's:
        both move at the same time. Its legal moves may not depend on that move. Default: no move is hidden."""
        return False

    def visible(self, history: Moves) -> Moves:
        """Return a history as the seat to move sees it, with "" for a hidden move."""
        return (*history[:-1], "") if self.is_blind(history) else history

    def private(self, params: Params, deals: np.ndarray, history: Moves, seat: int) -> np.ndarray:
        """Return a number for all that a seat knows of each deal after a history, int[deals]."""
        raise NotImplementedError

    def payoffs(self, params: Params, deals: np.ndarray, history: Moves) -> np.ndarray:
        """Return the payoff of seat 0 at the end, float[deals]."""
        raise NotImplementedError

    def prefer(self, position: TablePosition, policy: str) -> Mapping[str, float]:
        """Return the probabilities of a scripted player's moves."""
        raise NotImplementedError

    def start(self, rng: np.random.Generator, params: Params) -> TablePosition:
        deals, weights = self.deals(params)
        index = int(rng.choice(len(deals), p=weights))
        return TablePosition(freeze(params), tuple(deals[index].tolist()))

    def to_move(self, position: TablePosition) -> int | None:
        params = dict(position.params)
        return self.mover(params, position.history) if self.legal_after(params, position.history) else None

    def legal(self, position: TablePosition) -> Moves:
        return self.legal_after(dict(position.params), position.history)

    def returns(self, position: TablePosition) -> tuple[float, float]:
        first = float(self.payoffs(dict(position.params), np.array([position.deal]), position.history)[0])
        return first, -first

    def size(self, position: TablePosition) -> int:
        return len(self.deals(dict(position.params))[0])

    def known(self, position: TablePosition, seat: int) -> tuple[Moves, int]:
        """Return the key of the information set of the seat to move: its `visible` history, and the number of the
        seat's `private` knowledge."""
        return self.visible(position.history), _number(self, position, seat)

    def choose(self, position: TablePosition, policy: str) -> Mapping[str, float]:
        if policy == "random":
            legal = self.legal(position)
            return dict.fromkeys(legal, 1 / len(legal))
        if policy == "equilibrium":
            seat = self.mover(dict(position.params), position.history)
            return equilibrium(self, position.params, self.iterations)[self.known(position, seat)]
        return self.prefer(position, policy)

    def values(self, position: TablePosition, policy: str, mistakes: float) -> Mapping[str, float]:
        seat = self.mover(dict(position.params), position.history)
        return scripted_response(self, position.params, seat, policy, mistakes).values[self.known(position, seat)]


@functools.lru_cache(maxsize=1 << 15)
def _number(game: HiddenGame, position: TablePosition, seat: int) -> int:
    return int(game.private(dict(position.params), np.array([position.deal]), position.history, seat)[0])


@dataclass
class BestResponse:
    """A best response of a seat.

    Attributes:
        value: expected payoff of the seat, in points.
        values: information set that can be reached -> value of each move, when the seat plays on as well as possible.
    """

    value: float = 0.0
    values: dict[Known, dict[str, float]] = field(default_factory=dict)


def best_response(game: HiddenGame, params: Frozen, seat: int, opponent: Choice) -> BestResponse:
    """Return the best response of a seat to a known policy of the other one (expectimax over information sets)."""
    given = dict(params)
    deals, weights = game.deals(given)
    sign = 1.0 if seat == 0 else -1.0
    response = BestResponse()

    def walk(history: Moves, reach: np.ndarray) -> np.ndarray:
        legal = game.legal_after(given, history)
        if not legal:
            return sign * reach * game.payoffs(given, deals, history)
        mover = game.mover(given, history)
        if mover == seat:
            return decide(history, reach, [walk((*history, move), reach) for move in legal])
        numbers = game.private(given, deals, history, mover)
        _, first, group = np.unique(numbers, return_index=True, return_inverse=True)
        chances = [opponent(TablePosition(params, tuple(deals[index].tolist()), history)) for index in first]
        reached: dict[Moves, np.ndarray] = {}
        for move in legal:
            chance = np.array([each.get(move, 0.0) for each in chances])[group] * reach
            if chance.any():
                reached[*history, move] = chance
        if not game.is_blind((*history, legal[0])):
            return sum(walk(after, chance) for after, chance in reached.items())  # type: ignore[return-value]
        # The seat chooses one move for all hidden moves of the other: the sum over these comes before the choice.
        hidden = (*history, legal[0])
        return decide(
            hidden,
            reach,
            [
                sum(walk((*after, move), chance) for after, chance in reached.items())
                for move in game.legal_after(given, hidden)
            ],  # type: ignore[arg-type]
        )

    def decide(history: Moves, reach: np.ndarray, below: list[np.ndarray]) -> np.ndarray:
        """Return the values of each deal after the best move of each information set, and note those of all moves."""
        legal = game.legal_after(given, history)
        codes, group = np.unique(game.private(given, deals, history, seat), return_inverse=True)
        by_group = np.stack([np.bincount(group, each, len(codes)) for each in below], 1)
        mass = np.bincount(group, reach, len(codes))
        for code, sums, total in zip(codes.tolist(), by_group, mass.tolist()):
            if total > 0.0:
                response.values[game.visible(history), code] = dict(zip(legal, (sums / total).tolist()))
        return np.stack(below)[by_group.argmax(1)[group], np.arange(len(deals))]

    response.value = float(walk((), weights).sum())
    return response


@functools.lru_cache(maxsize=512)
def scripted_response(game: HiddenGame, params: Frozen, seat: int, policy: str, mistakes: float) -> BestResponse:
    """Return the `best_response` to a scripted player with ``mistakes``; kept for the next hands."""
    return best_response(game, params, seat, lambda position: game.mix(position, policy, mistakes))


@functools.lru_cache(maxsize=64)
def equilibrium(game: HiddenGame, params: Frozen, iterations: int) -> Strategy:
    """Return a near equilibrium for both seats, by CFR+ with alternating updates and linearly weighted averages.

    Source: O. Tammelin, "Solving Large Imperfect Information Games Using CFR+" (2014), https://arxiv.org/abs/1407.5042.
    """
    given = dict(params)
    deals, weights = game.deals(given)
    regrets: dict[Moves, np.ndarray] = {}
    sums: dict[Moves, np.ndarray] = {}
    numbers: dict[Moves, tuple[Moves, np.ndarray]] = {}

    @functools.cache
    def describe(history: Moves) -> tuple[Moves, int, np.ndarray, np.ndarray, np.ndarray]:
        legal, key = game.legal_after(given, history), game.visible(history)
        mover = game.mover(given, history)
        codes, first, group = np.unique(
            game.private(given, deals, history, mover), return_index=True, return_inverse=True
        )
        regrets.setdefault(key, np.zeros((len(codes), len(legal))))
        sums.setdefault(key, np.zeros((len(codes), len(legal))))
        numbers[key] = legal, codes
        return legal, mover, codes, first, group

    @functools.cache
    def payoffs(history: Moves) -> np.ndarray:
        return weights * game.payoffs(given, deals, history)

    def strategy_of(history: Moves) -> np.ndarray:
        regret = regrets[game.visible(history)]
        total = regret.sum(1, keepdims=True)
        return np.where(total > 0, regret / np.where(total > 0, total, 1.0), 1 / regret.shape[1])

    def walk(history: Moves, seat: int, mine: np.ndarray, theirs: np.ndarray, weight: int) -> np.ndarray:
        """Return the value of each deal for ``seat``, weighted by chance and by the other's probability of it."""
        if not game.legal_after(given, history):
            return theirs * payoffs(history) * (1 if seat == 0 else -1)
        legal, mover, _, _, group = describe(history)
        chances = strategy_of(history)[group]
        if mover == seat:
            return decide(history, mine, weight, {history: theirs})
        reached = {(*history, move): theirs * chances[:, index] for index, move in enumerate(legal)}
        if game.is_blind((*history, legal[0])):
            return decide((*history, legal[0]), mine, weight, reached)
        return sum(walk(after, seat, mine, chance, weight) for after, chance in reached.items())  # type: ignore[return-value]

    def decide(history: Moves, mine: np.ndarray, weight: int, reached: Mapping[Moves, np.ndarray]) -> np.ndarray:
        """Update an information set of the seat to move: ``reached`` has the histories that it cannot tell apart, with
        the other's probabilities."""
        legal, seat, codes, first, group = describe(history)
        strategy = strategy_of(history)
        chances = strategy[group]
        below = np.stack(
            [
                sum(
                    walk((*after, move), seat, mine * chances[:, index], theirs, weight)
                    for after, theirs in reached.items()
                )
                for index, move in enumerate(legal)
            ],  # type: ignore[arg-type]
            1,
        )
        value = (below * chances).sum(1)
        gained = below - value[:, None]
        regret = regrets[game.visible(history)]
        for index in range(len(legal)):
            regret[:, index] += np.bincount(group, gained[:, index], len(codes))
        np.maximum(regret, 0.0, out=regret)
        sums[game.visible(history)] += weight * mine[first][:, None] * strategy
        return value

    ones = np.ones(len(deals))
    for iteration in range(1, iterations + 1):
        for seat in (0, 1):
            walk((), seat, ones, ones, iteration)
    strategy: dict[Known, dict[str, float]] = {}
    for history, total in sums.items():
        legal, codes = numbers[history]
        for code, row in zip(codes.tolist(), total):
            chances = row / row.sum() if row.sum() > 0 else np.full(len(legal), 1 / len(legal))
            strategy[history, code] = dict(zip(legal, chances.tolist()))
    return strategy


def exploitability(game: HiddenGame, params: Frozen, policy: Choice) -> float:
    """Return how much best responses to a policy win on average over the two seats, in points; 0 in an equilibrium."""
    return sum(best_response(game, params, seat, policy).value for seat in (0, 1)) / 2


def follow(game: HiddenGame, strategy: Strategy) -> Choice:
    """Return the policy that plays a strategy."""

    def choose(position: TablePosition) -> Mapping[str, float]:
        seat = game.to_move(position)
        assert seat is not None
        return strategy[game.known(position, seat)]

    return choose


def expected_payoff(game: HiddenGame, params: Frozen, policies: tuple[Choice, Choice]) -> float:
    """Return the expected payoff of seat 0 when each seat plays its policy, by enumeration of all deals and moves."""
    given = dict(params)
    deals, weights = game.deals(given)

    def walk(position: TablePosition) -> float:
        seat = game.to_move(position)
        if seat is None:
            return game.returns(position)[0]
        chances = policies[seat](position)
        return sum(chance * walk(game.play(position, move)) for move, chance in chances.items() if chance)

    return sum(
        weight * walk(TablePosition(params, tuple(deal.tolist()))) for deal, weight in zip(deals, weights.tolist())
    )
