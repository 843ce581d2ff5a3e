"""palaestra/Bandit-v0: a bandit of several arms, told in words."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import unknown_name
from ..game import Game, Transition
from ..param_space import ChoiceAxis, FloatAxis, IntAxis, ParamSpace
from ..registration import register

PAYS = ("regret", "sampled", "imitation")
# The constant of the published UCB teacher.
WIDTH = 0.5
# No mean is nearer to 0 or 1; and the oracle earns at least so much of what can be earned in every game.
_EDGE, _FLOOR = 0.05, 0.6
_ARM = re.compile(r"(?:arm )?([1-9])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Arms:
    """What is hidden: the means, what each is worth between the lowest (0) and the highest (1), the chance of each
    turn, and how much worth UCB gathers with it."""

    kind: str
    means: tuple[float, ...]
    worth: tuple[float, ...]
    chance: tuple[float, ...]
    target: float = 0.0

    def payout(self, arm: int, turn: int) -> float:
        """What ``arm`` pays at the pull number ``turn``, both counted from 0."""
        mean, chance = self.means[arm], self.chance[turn]
        return mean + chance if self.kind == "gaussian" else 1.0 if chance < mean else 0.0


@dataclass(frozen=True, slots=True)
class Pulls:
    """The arms; pulls and sum of payouts of each; the worth gathered; the sum of distances to the best mean; and of the
    last pull whether it was UCB's, the best arm's, and one with the best mean seen so far."""

    arms: Arms
    counts: tuple[int, ...]
    sums: tuple[float, ...]
    earned: float = 0.0
    regret: float = 0.0
    last: tuple[bool, bool, bool] = (False, False, False)


class Bandit(Game):
    """Earn as much as possible from arms of unknown worth.

    Description:
        Each turn one arm is pulled and pays by chance: 1 or 0 (Bernoulli), or its mean plus noise of variance 1
        (Gaussian). The chance of a turn is drawn beforehand and is the same for all arms, so that the game is a
        function of the pulls. Only games are asked in which the oracle, UCB with constant 0.5, earns at least 0.6.

    Parameters:
        arms (2 to 5): arms to choose from.
        horizon (20 to 50): pulls.
        gap (0.5 to 0.1, harder downwards): distance of the best mean from the second; all means lie in 0.05 to 0.95.
        payout ("bernoulli", "gaussian"): what a pull pays.
        pay (constructor, "regret", "sampled" or "imitation", default "regret"): what the reward counts.

    Observation:
        Text: the rules first, and each turn pulls and mean payout of each arm.

    Actions:
        Text with the number of an arm, read as ``answer_format`` says.

    Reward:
        Over the horizon, at each pull: with "regret" the arm's (mean - lowest) / (highest - lowest), so that an episode
        earns at most 1, and an arm taken by chance 0.4 to 0.6; with "sampled" what the pull paid; with "imitation" 1
        where UCB would have pulled the same arm.

    Termination:
        After the last pull. Success is to have earned, as "regret" counts it, at least what the oracle earns in the
        same game; ``info["progress"]`` is the share of that. An unreadable answer uses up a turn and pulls nothing;
        truncated after twice the horizon. ``info`` also has ``regret``, the sum of distances to the best mean, and of
        the last pull ``followed_ucb``, ``best_arm`` and ``greedy``, None where nothing was pulled.

    Source:
        "When Greedy Wins: Emergent Exploitation Bias in Meta-Bandit LLM Training" (arXiv 2509.24923).
    """

    param_space = ParamSpace(
        [
            IntAxis("arms", 2, 5),
            IntAxis("horizon", 20, 50),
            FloatAxis("gap", 0.1, 0.5, harder="down"),
            ChoiceAxis("payout", ("bernoulli", "gaussian")),
        ]
    )
    chance = 0.6

    def __init__(self, *, pay: str = "regret", **kwargs: Any):
        super().__init__(**kwargs)
        if pay not in PAYS:
            raise unknown_name("pay", str(pay), PAYS)
        self.pay = pay

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> Pulls:
        arms, horizon, gap, kind = params["arms"], params["horizon"], params["gap"], params["payout"]
        while True:
            draws = rng.random(2 * arms).tolist()
            best = _EDGE + gap + draws[0] * (1.0 - 2 * _EDGE - gap)
            others = [_EDGE + u * (best - gap - _EDGE) for u in draws[1 : arms - 1]]
            order = sorted(range(arms), key=draws[arms:].__getitem__)
            values = [best, best - gap, *others]
            means = tuple([round(values[i], 4) for i in order])
            lowest, highest = min(means), max(means)
            worth = tuple([(mean - lowest) / (highest - lowest) for mean in means])
            chance = rng.random(horizon) if kind == "bernoulli" else rng.standard_normal(horizon)
            hidden = Arms(kind, means, worth, tuple(chance.tolist()))
            target = ucb_earns(hidden)
            if target >= _FLOOR * horizon:
                return Pulls(replace(hidden, target=target), (0,) * arms, (0.0,) * arms)

    def content_of(self, episode: Pulls) -> str:
        return f"{episode.arms.kind} {episode.arms.means} {episode.arms.chance}"

    def turn_limit(self, state: Pulls) -> int:
        return 2 * len(state.arms.chance)

    def solver_cost(self, episode: Pulls) -> float:
        """Pulls that tell the two best arms apart, for each arm."""
        first, second = sorted(episode.arms.means)[:-3:-1]
        variance = 1.0 if episode.arms.kind == "gaussian" else 0.25
        return len(episode.counts) * variance / (first - second) ** 2

    def observe(self, state: Pulls) -> str:
        table = "\n".join(
            [
                f"arm {arm}: {count} pulls, mean {total / count:.2f}" if count else f"arm {arm}: 0 pulls"
                for arm, (count, total) in enumerate(zip(state.counts, state.sums), 1)
            ]
        )
        done, horizon = sum(state.counts), len(state.arms.chance)
        if done:
            return f"Pull {done + 1} of {horizon}.\n{table}" if done < horizon else f"The end.\n{table}"
        pays = "1 or 0" if state.arms.kind == "bernoulli" else "a number around its mean, with variance 1"
        arms = len(state.counts)
        return (
            f"There are {arms} arms. Each turn you pull one, and it pays {pays}, by a chance of its own that you do "
            f"not know. Earn as much as you can in exactly {horizon} pulls.\n{table}\n"
            f"Answer with the number of an arm, 1 to {arms}."
        )

    def act(self, state: Pulls, action: str) -> Transition:
        match = _ARM.fullmatch(action)
        count = len(state.counts)
        arm = int(match[1]) - 1 if match else count
        if arm >= count:
            error = f"Answer with the number of an arm, 1 to {count}."
            return Transition(state, progress=_progress(state), terms={self.pay: 0.0}, action_error=error)
        after = pulled(state, arm)
        horizon = len(state.arms.chance)
        if self.pay == "regret":
            pays = state.arms.worth[arm]
        elif self.pay == "sampled":
            pays = state.arms.payout(arm, sum(state.counts))
        else:
            pays = float(after.last[0])
        done = sum(after.counts) == horizon
        won = done and after.earned >= state.arms.target
        return Transition(after, done, won, 1.0 if won else _progress(after), {self.pay: pays / horizon})

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = super().step(action)
        state = self._state
        info["regret"] = state.regret
        told = (None, None, None) if info["action_error"] else state.last
        info["followed_ucb"], info["best_arm"], info["greedy"] = told
        return observation, reward, terminated, truncated, info

    def oracle(self, state: Pulls) -> str:
        return str(ucb(state.counts, state.sums) + 1)


def ucb(counts: Sequence[int], sums: Sequence[float], t: int | None = None) -> int:
    """The arm of the largest mean + 0.5 sqrt(ln t / n), the first of equals; before that any arm not yet pulled.

    Args:
        counts, sums: pulls and sum of payouts of each arm.
        t: the number of the coming pull, from 1; by default one more than the pulls so far.
    """
    if 0 in counts:
        return counts.index(0)
    log_t = math.log(sum(counts) + 1 if t is None else t)
    bounds = [total / count + WIDTH * math.sqrt(log_t / count) for count, total in zip(counts, sums)]
    return bounds.index(max(bounds))


def ucb_earns(arms: Arms) -> float:
    """The worth that UCB gathers over the horizon."""
    counts, sums = [0] * len(arms.means), [0.0] * len(arms.means)
    earned = 0.0
    for turn in range(len(arms.chance)):
        arm = ucb(counts, sums)
        counts[arm] += 1
        sums[arm] += arms.payout(arm, turn)
        earned += arms.worth[arm]
    return earned


def pulled(state: Pulls, arm: int) -> Pulls:
    """The state after a pull of ``arm``, counted from 0."""
    arms, counts, sums = state.arms, list(state.counts), list(state.sums)
    mean, best = arms.means[arm], max(arms.means)
    seen = [total / count if count else 0.0 for count, total in zip(counts, sums)]
    last = (ucb(counts, sums) == arm, mean == best, counts[arm] > 0 and seen[arm] == max(seen))
    sums[arm] += arms.payout(arm, sum(counts))
    counts[arm] += 1
    earned, regret = state.earned + arms.worth[arm], state.regret + best - mean
    return Pulls(arms, tuple(counts), tuple(sums), earned, regret, last)


def _progress(state: Pulls) -> float:
    # Below 1 until the game is won: what is earned may pass the target before the end.
    return min(state.earned / state.arms.target, 0.999)


register("palaestra/Bandit-v0", f"{__name__}:Bandit")
