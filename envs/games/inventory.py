"""palaestra/Inventory-v0: order stock under uncertain demand, where a base-stock policy is known to be optimal."""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import InputError, unknown_name
from ..game import Game, Transition
from ..param_space import FloatAxis, IntAxis, ParamSpace
from ..registration import register

PAYS = ("success", "share")
# Backlog costs per unit and week at a holding cost of 1; below 4, ordering up to the mean demand is nearly optimal.
_BACKLOG = (4, 9, 19)
_MOST_ORDER = 100_000
_ORDER = re.compile(r"(?:order )?(\d{1,9})(?: units?)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StockProblem:
    """Constants of an episode: ``low`` and ``high``, the smallest and largest weekly demand, all whole numbers between
    them being equally likely; ``backlog``, the cost of a unit short per week (a unit in stock costs 1); ``lead``, the
    weeks until an order arrives; ``margin``, the share by which costs may exceed the optimum; ``demands``, the recorded
    demand of each week, hidden until the week is over."""

    low: int
    high: int
    backlog: int
    lead: int
    margin: float
    demands: tuple[int, ...]

    @property
    def base_stock(self) -> int:
        """The optimal stock position: see `base_stock_level`."""
        return base_stock_level(self.low, self.high, self.lead + 1, self.backlog)

    def expected_cost(self, position: int) -> float:
        """Return the expected cost of the week that an order decides, given the stock position after the order."""
        return expected_cost(position, self.low, self.high, self.lead + 1, self.backlog)


@dataclass(frozen=True, slots=True)
class InventoryState:
    """State of an episode: ``shop``; ``stock``, units on hand, negative if customers wait; ``coming``, the orders on
    their way, next one first; ``week``, the number of past weeks; ``cost``, the cost paid; ``expected``, the sum of
    expected costs of the positions chosen; ``share``, the sum of optimal over expected cost."""

    shop: StockProblem
    stock: int
    coming: tuple[int, ...]
    week: int = 0
    cost: int = 0
    expected: float = 0.0
    share: float = 0.0

    @property
    def position(self) -> int:
        """Stock position: units on hand and on their way, less those that customers wait for."""
        return self.stock + sum(self.coming)


class Inventory(Game):
    """Order stock week by week at the least cost of holding it and of letting customers wait.

    Description:
        A shop sells one product. Each week an order is placed, the order of ``lead_time`` weeks ago arrives, and a
        random demand is met; unmet demand waits. A unit left over costs 1 a week, a unit short costs 4, 9 or 19. As
        unmet demand waits, it is optimal to order up to a fixed stock position, the b / (b + h) quantile of the demand
        of ``lead_time`` + 1 weeks (b and h being the costs of a unit short and left over); the oracle does so. Success
        is judged by the expected cost of the week that each order decides, which does not depend on luck.

    Parameters:
        lead_time (0 to 3, on request 0 to 8): weeks from an order to its arrival.
        weeks (8 to 16, on request 4 to 100): weeks of an episode.
        spread (0.4 to 0.9, on request 0.2 to 1.0): half the width of the range of demand, divided by its mean.
        margin (0.3 to 0.05, harder downwards, on request 0.02): success allows expected costs above the optimum by this
            share.
        pay (constructor, "success" or "share", default "success"): the kind of reward.

    Observation:
        Text: first the rules; then each week the demand and the cost of the last week, the stock, and the orders that
        are on their way.

    Actions:
        Text with the number of units to order, 0 to 100000, read in ``answer_format``.

    Reward:
        With "success" 1 after the last week if the mean expected cost is at most (1 + margin) times the optimum, else
        0. With "share" each week the optimal expected cost over that of the chosen stock position, divided by the
        number of weeks. The same order every week is good enough by chance in 0.03 of the tasks. ``info["cost"]`` is
        the cost of the week.

    Termination:
        After the last week. ``info["progress"]`` is the sum of "share" rewards so far, 1 after a success. An answer
        that cannot be read uses up a turn, but no week; truncated after twice as many turns as weeks.

    Source:
        One store with backlogged demand, of the settings with a known optimum in Alvo, Russo and Kanoria, "Neural
        inventory control in networks via hindsight differentiable policy optimization" (arXiv 2306.11246).
    """

    param_space = ParamSpace(
        [
            IntAxis("lead_time", 0, 3, limits=(0, 8)),
            IntAxis("weeks", 8, 16, limits=(4, 100)),
            FloatAxis("spread", 0.4, 0.9, limits=(0.2, 1.0)),
            FloatAxis("margin", 0.05, 0.3, harder="down", limits=(0.02, 0.3)),
        ]
    )

    def __init__(self, *, pay: str = "success", **kwargs: Any):
        super().__init__(**kwargs)
        if pay not in PAYS:
            raise unknown_name("pay", str(pay), PAYS)
        self.pay = pay

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> InventoryState:
        mean, lead = int(rng.integers(10, 51)), params["lead_time"]
        half = max(1, round(params["spread"] * mean))
        low, high = mean - half, mean + half
        demands = tuple(rng.integers(low, high + 1, params["weeks"]).tolist())
        shop = StockProblem(low, high, int(rng.choice(_BACKLOG)), lead, round(params["margin"], 4), demands)
        coming = tuple(rng.integers(0, mean + 1, lead).tolist())
        missing = int(rng.integers(mean // 2, 2 * mean + 1))
        return InventoryState(shop, shop.base_stock - missing - sum(coming), coming)

    def turn_limit(self, state: InventoryState) -> int:
        return 2 * len(state.shop.demands)

    def solver_cost(self, episode: InventoryState) -> float:
        """Return the weeks, times the weeks of demand that an order must foresee, over the margin."""
        shop = episode.shop
        return len(shop.demands) * (shop.lead + 1) / shop.margin

    def observe(self, state: InventoryState) -> str:
        shop, weeks = state.shop, len(state.shop.demands)
        stock = f"In stock: {state.stock}." if state.stock >= 0 else f"In stock: 0; customers wait for {-state.stock}."
        lines = [f"{stock} On the way, next week's first: {', '.join(map(str, state.coming)) or 'nothing'}."]
        if state.week:
            lines.insert(0, f"Demand was {shop.demands[state.week - 1]}. Cost so far: {state.cost}.")
        if state.week == weeks:
            return "\n".join(["The end.", *lines])
        lines.insert(0, f"Week {state.week + 1} of {weeks}.")
        if state.week:
            return "\n".join(lines)
        arrives = f"{shop.lead} weeks later, before that week's" if shop.lead else "at once, before the week's"
        return "\n".join(
            [
                f"You order stock for a shop, each week for {weeks} weeks. Weekly demand is a whole number from "
                f"{shop.low} to {shop.high}, each equally likely. An order arrives {arrives} demand. Demand that is "
                f"not met waits. At the end of a week each unit left over costs 1, and each unit that customers wait "
                f"for costs {shop.backlog}. Each order is judged by the expected cost of the week in which it arrives; "
                f"you succeed if these costs are on average at most {shop.margin:.0%} above those of the best policy.",
                *lines,
                f"Answer with the number of units to order now, 0 to {_MOST_ORDER}.",
            ]
        )

    def act(self, state: InventoryState, action: str) -> Transition:
        shop, match = state.shop, _ORDER.fullmatch(action)
        order = int(match[1]) if match else _MOST_ORDER + 1
        if order > _MOST_ORDER:
            error = f"Answer with the number of units to order, a whole number from 0 to {_MOST_ORDER}."
            return Transition(state, progress=_progress(state), terms={self.pay: 0.0}, action_error=error)
        position = state.position + order
        arrived, *coming = (*state.coming, order)
        stock = state.stock + arrived - shop.demands[state.week]
        expected, best = shop.expected_cost(position), shop.expected_cost(shop.base_stock)
        after = replace(
            state,
            stock=stock,
            coming=tuple(coming),
            week=state.week + 1,
            cost=state.cost + weekly_cost(stock, shop.backlog),
            expected=state.expected + expected,
            share=state.share + best / expected,
        )
        done = after.week == len(shop.demands)
        won = done and after.expected <= (1 + shop.margin) * best * after.week
        reward = best / expected / len(shop.demands) if self.pay == "share" else float(won)
        return Transition(after, done, won, 1.0 if won else _progress(after), {self.pay: reward})

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        before = self.here()
        observation, reward, terminated, truncated, info = super().step(action)
        info["cost"] = self._state.cost - before.cost
        return observation, reward, terminated, truncated, info

    def oracle(self, state: InventoryState) -> str:
        return str(max(0, state.shop.base_stock - state.position))

    def random_action(self, episode: InventoryState, rng: np.random.Generator) -> str:
        return str(rng.integers(0, 2 * episode.shop.high))

    def heuristic_action(self, episode: InventoryState) -> str:
        """Order up to the mean demand of the weeks until the next order arrives, regardless of the costs."""
        shop = episode.shop
        return str(max(0, (shop.lead + 1) * (shop.low + shop.high) // 2 - episode.position))


def weekly_cost(stock: int, backlog: int) -> int:
    """Return h max(I, 0) + b max(-I, 0) of a stock I at the end of a week, with h = 1 (arXiv 2306.11246)."""
    return stock if stock >= 0 else -backlog * stock


@functools.lru_cache(maxsize=1024)
def demand_distribution(low: int, high: int, weeks: int) -> np.ndarray:
    """Return float64[weeks * (high - low) + 1], the probabilities of the total demand of some weeks, from ``weeks *
    low`` on, if the demand of a week is uniform from ``low`` to ``high``.

    Raises:
        InputError: ``high`` is below ``low``, or ``weeks`` below 1.
    """
    if high < low or weeks < 1:
        raise InputError(f"demand from {low} to {high} over {weeks} weeks is impossible; take high >= low, weeks >= 1.")
    week = np.full(high - low + 1, 1 / (high - low + 1))
    return functools.reduce(np.convolve, [week] * weeks)


@functools.lru_cache(maxsize=1024)
def base_stock_level(low: int, high: int, weeks: int, backlog: float, holding: float = 1.0) -> int:
    """Return the smallest stock position that covers the demand of ``weeks`` weeks with probability b / (b + h): the
    newsvendor's critical fractile, which minimises `expected_cost`."""
    covered = np.cumsum(demand_distribution(low, high, weeks))
    # Rounding must not move a quantile that is met exactly.
    return weeks * low + int(np.searchsorted(covered, backlog / (backlog + holding) - 1e-12))


@functools.lru_cache(maxsize=16384)
def expected_cost(position: int, low: int, high: int, weeks: int, backlog: float, holding: float = 1.0) -> float:
    """Return E[h max(y - D, 0) + b max(D - y, 0)] for a stock position y and the demand D of ``weeks`` weeks."""
    chances = demand_distribution(low, high, weeks)
    left = position - weeks * low - np.arange(len(chances))
    return math.fsum((chances * np.where(left > 0, holding * left, -backlog * left)).tolist())


def _progress(state: InventoryState) -> float:
    return min(state.share / len(state.shop.demands), 0.999)


register("palaestra/Inventory-v0", f"{__name__}:Inventory")
