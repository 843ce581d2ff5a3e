"""palaestra/SupplyChain-v0: a warehouse and a shop in series, where echelon base-stock policies are optimal."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..game import Game, Transition
from ..param_space import FloatAxis, IntAxis, ParamSpace
from ..registration import register
from .inventory import base_stock_level, demand_distribution, expected_cost

# Weekly cost of a unit in the warehouse or on its way to the shop, and of a unit in the shop.
_WAREHOUSE, _SHOP = 1, 2
# Costs of a unit short per week.
_BACKLOG = (9, 19, 39)
_MOST_ORDER = 100_000
_ORDERS = re.compile(r"(?:ship )?(\d{1,9})(?:,? and |[,;]? ?)(?:order )?(?<!\d)(\d{1,9})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SupplyProblem:
    """Constants of an episode: ``low`` and ``high``, the ends of the uniform weekly demand; ``backlog``, the cost of a
    unit short; ``to_shop`` and ``to_warehouse``, lead times in weeks; ``margin``, the share by which costs may exceed
    the optimum; ``demands``, the recorded demand of each week."""

    low: int
    high: int
    backlog: int
    to_shop: int
    to_warehouse: int
    margin: float
    demands: tuple[int, ...]

    def shop_cost(self, position: int) -> float:
        """Return the expected cost that the shop's position y after a shipment decides: G_1(y)."""
        weeks, short, held = self.to_shop + 1, self.backlog + _WAREHOUSE, _SHOP - _WAREHOUSE
        return expected_cost(position, self.low, self.high, weeks, short, held)

    @property
    def shop_level(self) -> int:
        """Optimal position of the shop, S_1."""
        weeks, short, held = self.to_shop + 1, self.backlog + _WAREHOUSE, _SHOP - _WAREHOUSE
        return base_stock_level(self.low, self.high, weeks, short, held)

    def chain_cost(self, position: int) -> float:
        """Return the expected cost that the chain's position y after an order decides, if the shop acts optimally:
        C_2(y) = h_2 (y - E D) + E G_1(min(S_1, y - D)), with the demand D until the order arrives."""
        return chain_cost(position, *self._key)

    @property
    def chain_level(self) -> int:
        """Optimal position of the whole chain, S_2."""
        return chain_level(*self._key)

    @property
    def _key(self) -> tuple[int, int, int, int, int]:
        return self.low, self.high, self.backlog, self.to_shop, self.to_warehouse


@dataclass(frozen=True, slots=True)
class ChainState:
    """State of an episode: ``shop``, units in the shop, negative if customers wait; ``shipped`` and ``ordered``, units
    on their way to the shop and to the warehouse, next ones first; ``warehouse``, units in the warehouse; ``week``;
    ``cost``, the cost paid; ``expected``, the sum of expected costs decided; ``share``, of optimal over expected."""

    problem: SupplyProblem
    shop: int
    shipped: tuple[int, ...]
    warehouse: int
    ordered: tuple[int, ...]
    week: int = 0
    cost: int = 0
    expected: float = 0.0
    share: float = 0.0

    @property
    def available(self) -> int:
        """Units that can be shipped now: those in the warehouse, and those that arrive there this week."""
        return self.warehouse + (self.ordered[0] if self.ordered else 0)

    @property
    def shop_position(self) -> int:
        """The shop's position before the shipment."""
        return self.shop + sum(self.shipped)

    @property
    def chain_position(self) -> int:
        """The whole chain's position before the order."""
        return self.shop_position + self.warehouse + sum(self.ordered)


class SupplyChain(Game):
    """Ship stock from a warehouse to a shop, and order for the warehouse, at the least cost.

    Description:
        Customers buy in the shop; unmet demand waits. Each week units are shipped from the warehouse to the shop, and
        ordered for the warehouse; both take their lead times. A unit costs 1 a week in the warehouse or on its way to
        the shop, 2 in the shop, and 9, 19 or 39 if a customer waits for it. Echelon base-stock policies are optimal
        (Clark and Scarf 1960): keep the shop's position, and that of the whole chain, at fixed levels; the oracle
        computes both. Success is judged by expected costs, without luck.

    Parameters:
        to_shop (1 to 2, on request 0 to 4): weeks from a shipment to its arrival.
        to_warehouse (1 to 3, on request 1 to 5): weeks from an order to its arrival.
        weeks (8 to 16, on request 4 to 60): weeks of an episode.
        margin (0.3 to 0.05, harder downwards, on request 0.02): success allows expected costs above the optimum by this
            share.

    Observation:
        Text: first the rules; then each week the demand of the last week, and all units in the chain.

    Actions:
        Text with two numbers: units to ship, at most those in the warehouse, and units to order, up to 100000; read in
        ``answer_format``.

    Reward:
        1 after the last week if the mean expected cost is at most (1 + margin) times the optimum, else 0.
        ``info["cost"]`` is the cost of the week.

    Termination:
        After the last week. ``info["progress"]`` is the mean share of optimal over expected cost so far, 1 after a
        success. An answer that cannot be read uses up a turn, but no week; truncated after twice as many turns as
        weeks.

    Source:
        Serial systems, one of the settings with a known optimum in Alvo, Russo and Kanoria, arXiv 2306.11246.
    """

    param_space = ParamSpace(
        [
            IntAxis("to_shop", 1, 2, limits=(0, 4)),
            IntAxis("to_warehouse", 1, 3, limits=(1, 5)),
            IntAxis("weeks", 8, 16, limits=(4, 60)),
            FloatAxis("margin", 0.05, 0.3, harder="down", limits=(0.02, 0.3)),
        ]
    )

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> ChainState:
        mean = int(rng.integers(10, 31))
        half = max(1, round(float(rng.uniform(0.4, 0.9)) * mean))
        demands = tuple(rng.integers(mean - half, mean + half + 1, params["weeks"]).tolist())
        problem = SupplyProblem(
            *(mean - half, mean + half, int(rng.choice(_BACKLOG)), params["to_shop"], params["to_warehouse"]),
            *(round(params["margin"], 4), demands),
        )
        shipped = tuple(rng.integers(0, mean + 1, problem.to_shop).tolist())
        ordered = tuple(rng.integers(0, mean + 1, problem.to_warehouse).tolist())
        shop = problem.shop_level - sum(shipped) - int(rng.integers(0, mean + 1))
        left = problem.chain_level - shop - sum(shipped) - sum(ordered)
        return ChainState(problem, shop, shipped, max(0, left - int(rng.integers(mean // 2, 2 * mean))), ordered)

    def turn_limit(self, state: ChainState) -> int:
        return 2 * len(state.problem.demands)

    def solver_cost(self, episode: ChainState) -> float:
        """Return the weeks, times the weeks of demand that an order must foresee, over the margin."""
        problem = episode.problem
        return len(problem.demands) * (problem.to_shop + problem.to_warehouse + 1) / problem.margin

    def observe(self, state: ChainState) -> str:
        problem, weeks = state.problem, len(state.problem.demands)
        shop = f"{state.shop}" if state.shop >= 0 else f"0, and customers wait for {-state.shop}"
        shipped, ordered = (", ".join(map(str, way)) or "nothing" for way in (state.shipped, state.ordered[1:]))
        lines = [
            f"In the shop: {shop}. On the way to it, next ones first: {shipped}.",
            f"In the warehouse, with what arrives there now: {state.available}. On the way to it later: {ordered}.",
        ]
        if state.week:
            lines.insert(0, f"Demand was {problem.demands[state.week - 1]}. Cost so far: {state.cost}.")
        if state.week == weeks:
            return "\n".join(["The end.", *lines])
        lines.insert(0, f"Week {state.week + 1} of {weeks}.")
        if state.week:
            return "\n".join(lines)
        later = f"{problem.to_shop} weeks later" if problem.to_shop else "at once"
        return "\n".join(
            [
                f"You supply a shop from a warehouse for {weeks} weeks. Weekly demand in the shop is a whole number "
                f"from {problem.low} to {problem.high}, each equally likely. Each week you ship units to the shop, "
                f"which arrive {later}, before that week's demand, and order units for the warehouse, which arrive "
                f"{problem.to_warehouse} weeks later. Demand that is not met waits. At the end of a week each unit in "
                f"the warehouse or on its way to the shop costs {_WAREHOUSE}, each unit in the shop {_SHOP}, and each "
                f"unit that customers wait for {problem.backlog}. You are judged by the expected costs that your "
                f"decisions lead to; you succeed if they are on average at most {problem.margin:.0%} above those of "
                "the best policy.",
                *lines,
                "Answer with two numbers, the units to ship and the units to order, such as 3, 7",
            ]
        )

    def act(self, state: ChainState, action: str) -> Transition:
        problem, match = state.problem, _ORDERS.fullmatch(action)
        shipment, order = (int(match[1]), int(match[2])) if match else (_MOST_ORDER, _MOST_ORDER + 1)
        if order > _MOST_ORDER or shipment > state.available:
            error = f"Answer with the units to ship, at most {state.available}, and the units to order, such as 3, 7"
            return Transition(state, progress=_progress(state), terms={"success": 0.0}, action_error=error)
        reachable = state.shop_position + state.available
        best_shop = problem.shop_cost(min(problem.shop_level, reachable))
        excess = problem.shop_cost(state.shop_position + shipment) - best_shop
        expected = problem.chain_cost(state.chain_position + order) + max(0.0, excess)
        best = problem.chain_cost(problem.chain_level)
        arrived, *shipped = (*state.shipped, shipment)
        shop = state.shop + arrived - problem.demands[state.week]
        warehouse = state.available - shipment
        held = _WAREHOUSE * (warehouse + sum(shipped)) + _SHOP * max(shop, 0) + problem.backlog * max(-shop, 0)
        after = replace(
            state,
            shop=shop,
            shipped=tuple(shipped),
            warehouse=warehouse,
            ordered=(*state.ordered, order)[1:],
            week=state.week + 1,
            cost=state.cost + held,
            expected=state.expected + expected,
            share=state.share + min(1.0, best / expected),
        )
        done = after.week == len(problem.demands)
        won = done and after.expected <= (1 + problem.margin) * best * after.week
        return Transition(after, done, won, 1.0 if won else _progress(after))

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        before = self.here()
        observation, reward, terminated, truncated, info = super().step(action)
        info["cost"] = self._state.cost - before.cost
        return observation, reward, terminated, truncated, info

    def oracle(self, state: ChainState) -> str:
        problem = state.problem
        shipment = min(state.available, max(0, problem.shop_level - state.shop_position))
        return f"{shipment}, {max(0, problem.chain_level - state.chain_position)}"

    def random_action(self, episode: ChainState, rng: np.random.Generator) -> str:
        high = 2 * episode.problem.high
        return f"{rng.integers(0, min(episode.available, high) + 1)}, {rng.integers(0, high)}"

    def heuristic_action(self, episode: ChainState) -> str:
        """Ship and order up to the mean demand until the next units arrive, regardless of the costs."""
        problem = episode.problem
        twice = problem.low + problem.high
        shipment = max(0, (problem.to_shop + 1) * twice // 2 - episode.shop_position)
        order = max(0, (problem.to_shop + problem.to_warehouse + 1) * twice // 2 - episode.chain_position)
        return f"{min(episode.available, shipment)}, {order}"


@functools.lru_cache(maxsize=16384)
def chain_cost(position: int, low: int, high: int, backlog: int, to_shop: int, to_warehouse: int) -> float:
    """Return C_2 of `SupplyProblem.chain_cost`."""
    problem = SupplyProblem(low, high, backlog, to_shop, to_warehouse, 0.0, ())
    level = problem.shop_level
    chances = demand_distribution(low, high, to_warehouse)
    waiting = position - to_warehouse * low - np.arange(len(chances))
    shop = [problem.shop_cost(min(level, int(units))) for units in waiting]
    mean = (to_warehouse + 1) * (low + high) / 2
    return _WAREHOUSE * (position - mean) + float(chances @ np.array(shop))


@functools.lru_cache(maxsize=1024)
def chain_level(low: int, high: int, backlog: int, to_shop: int, to_warehouse: int) -> int:
    """Return the whole number that minimises `chain_cost`, which is convex."""
    first, last = (to_shop + to_warehouse) * low, (to_shop + to_warehouse + 1) * high + 1
    while last - first > 2:
        middle = (first + last) // 2
        here, there = (chain_cost(y, low, high, backlog, to_shop, to_warehouse) for y in (middle, middle + 1))
        first, last = (first, middle + 1) if here <= there else (middle, last)
    return min(range(first, last + 1), key=lambda y: chain_cost(y, low, high, backlog, to_shop, to_warehouse))


def _progress(state: ChainState) -> float:
    return min(state.share / len(state.problem.demands), 0.999)


register("palaestra/SupplyChain-v0", f"{__name__}:SupplyChain")
