"""palaestra/Bandit-v0: a multi-armed bandit in text."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...checks import check_choice
from ...errors import unknown_name
from ..game import Game, Transition
from ..param_space import ChoiceAxis, FloatAxis, IntAxis, ParamSpace
from ..registration import register

PAYS = ("regret", "sampled", "imitation")
# The exploration constant of UCB.
WIDTH = 0.5
# Standard deviation of Gaussian payouts; also the maximum for Bernoulli payouts.
NOISE = 0.5
# Minimum distance of all means from 0 and 1; and share of the regret of uniform pulls allowed for a success.
_EDGE, _ALLOWED = 0.05, 0.65
_ARM = re.compile(r"(?:arm )?([1-9])", re.IGNORECASE)

Choice = Callable[[Sequence[int], Sequence[float]], int]


@dataclass(frozen=True, slots=True)
class BanditArms:
    """Hidden part of a game: ``kind``, the distribution of payouts ("bernoulli" or "gaussian"); ``means``, the mean
    payout of each arm; ``scaled_means``, (mean - lowest) / (highest - lowest) of each arm; ``chance[arm][pull]``, the
    random number of each pull; ``allowed``, the largest regret that counts as a success."""

    kind: str
    means: tuple[float, ...]
    scaled_means: tuple[float, ...]
    chance: tuple[tuple[float, ...], ...]
    allowed: float

    @property
    def horizon(self) -> int:
        return len(self.chance[0])

    def payout(self, arm: int, count: int) -> float:
        """Return the payout of a pull of ``arm`` after ``count`` earlier pulls of the same arm."""
        mean, chance = self.means[arm], self.chance[arm][count]
        return mean + NOISE * chance if self.kind == "gaussian" else 1.0 if chance < mean else 0.0


@dataclass(frozen=True, slots=True)
class BanditState:
    """State of a game: ``arms``, the hidden part; ``counts`` and ``sums``, the number of pulls and sum of payouts of
    each arm; ``scaled_return``, the sum of the scaled means of all pulls; ``regret``, the expected regret so far;
    ``last``, three flags of the arm pulled last: UCB's choice, the best arm, the best mean payout so far."""

    arms: BanditArms
    counts: tuple[int, ...]
    sums: tuple[float, ...]
    scaled_return: float = 0.0
    regret: float = 0.0
    last: tuple[bool, bool, bool] = (False, False, False)


class Bandit(Game):
    """Minimise regret on several arms with unknown means.

    Description:
        Each turn one arm is pulled and has a random payout: 1 or 0 (Bernoulli), or its mean plus noise of standard
        deviation 0.5 (Gaussian). The payout of each pull of each arm is drawn beforehand, so that the game is a
        function of the pulls. The regret of a pull is the best arm's mean minus the mean of the arm pulled: an expected
        value, independent of luck. Only games in which the oracle, UCB with constant 0.5, succeeds are used. In half of
        the games first payouts mislead: a greedy player, who pulls each arm once and then the best so far, fails.

    Parameters:
        arms (3 to 5, on request 2 to 9): arms to choose from.
        horizon (50 to 120, on request 20 to 400): pulls.
        gap (0.5 to 0.4, harder downwards, on request 0.8 to 0.1): distance of the best mean from the second; all means
            lie in 0.05 to 0.95.
        payout ("bernoulli", "gaussian"): the distribution of payouts.
        solver (constructor, "ucb" or "thompson", default "ucb"): the rule of the oracle, whose play is demonstrated.
        pay (constructor, "regret", "sampled" or "imitation", default "regret"): the kind of reward.

    Observation:
        Text: first the rules and the criterion of success; then each turn the pulls and mean payout of each arm.

    Actions:
        Text with the number of an arm, read in ``answer_format``.

    Reward:
        At each pull, divided by the horizon: with "regret" the arm's (mean - lowest) / (highest - lowest), so that an
        episode earns at most 1, and random pulls 0.4 to 0.6; with "sampled" the payout; with "imitation" 1 if UCB would
        have pulled the same arm, 0 otherwise.

    Termination:
        After the last pull. Success is a regret of at most 0.65 times the regret of uniform pulls; ``info["progress"]``
        is the sum of "regret" rewards so far. An answer that cannot be read uses up a turn without a pull; truncated
        after twice the horizon. ``info`` also has ``regret``, the total regret so far, and ``followed_ucb``,
        ``best_arm`` and ``greedy``, which are True if the arm pulled in this turn is UCB's, is the best one, or had the
        best mean payout so far; None without a pull. ``info["extras"]["figures"]``, which an evaluation averages, has
        their shares, ``regret``, ``suffix_fail`` (1 if the best arm is not pulled in the second half) and ``min_frac``
        (arms x pulls of the rarest arm / pulls). Always pulling one arm succeeds if this is the best arm by chance;
        so does alternating between two arms if one of them is. The greedy player's success does not fall much with
        difficulty, as half of the games mislead this player at every difficulty.

    Source:
        "When Greedy Wins: Emergent Exploitation Bias in Meta-Bandit LLM Training" (arXiv 2509.24923).
    """

    param_space = ParamSpace(
        [
            IntAxis("arms", 3, 5, limits=(2, 9)),
            IntAxis("horizon", 50, 120, limits=(20, 400)),
            FloatAxis("gap", 0.4, 0.5, harder="down", limits=(0.1, 0.8)),
            ChoiceAxis("payout", ("bernoulli", "gaussian")),
        ]
    )
    blind_loops = (("1", "2"),)

    supplies = frozenset({"figures"})
    keeps_states = True

    def __init__(self, *, pay: str = "regret", solver: str = "ucb", **kwargs: Any):
        super().__init__(**kwargs)
        super().__init__(**kwargs)
        self.solver = check_choice("solver", solver, tuple(SOLVERS))
        if pay not in PAYS:
            raise unknown_name("pay", str(pay), PAYS)
        self.pay = pay

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> BanditState:
        arms, horizon, gap, kind = params["arms"], params["horizon"], params["gap"], params["payout"]
        misleading = rng.random() < 0.5
        while True:
            draws = rng.random(2 * arms).tolist()
            best = _EDGE + gap + draws[0] * (1.0 - 2 * _EDGE - gap)
            others = [_EDGE + u * (best - gap - _EDGE) for u in draws[1 : arms - 1]]
            order = sorted(range(arms), key=draws[arms:].__getitem__)
            values = [best, best - gap, *others]
            means = tuple([round(values[i], 4) for i in order])
            lowest, highest = min(means), max(means)
            share = _ALLOWED * (highest - sum(means) / arms)
            # Always pulling the second best arm must not succeed.
            if share >= gap - 1e-3:
                continue
            scaled_means = tuple([(mean - lowest) / (highest - lowest) for mean in means])
            chance = _draw_chance(rng, kind, arms, horizon)
            hidden = BanditArms(kind, means, scaled_means, chance, share * horizon)
            if expected_regret(ucb_arm, hidden) > hidden.allowed:
                continue
            if misleading:
                # Ties go to the first arm: shuffle the arms so that their order does not decide.
                shuffled = rng.permutation(arms).tolist()
                other = tuple([means[i] for i in shuffled]), tuple([hidden.chance[i] for i in shuffled])
                if expected_regret(greedy_arm, replace(hidden, means=other[0], chance=other[1])) <= hidden.allowed:
                    continue
            return BanditState(hidden, (0,) * arms, (0.0,) * arms)

    def replay(self, state: BanditState, seed: int) -> BanditState:
        rng, hidden = np.random.default_rng(seed), state.arms
        while True:  # as in `start`: only payouts with which the oracle succeeds
            hidden = replace(hidden, chance=_draw_chance(rng, hidden.kind, len(hidden.means), hidden.horizon))
            if expected_regret(ucb_arm, hidden) <= hidden.allowed:
                return replace(state, arms=hidden)

    def content_of(self, episode: BanditState) -> str:
        return f"{episode.arms.kind} {episode.arms.means} {episode.arms.chance}"

    def turn_limit(self, state: BanditState) -> int:
        return 2 * state.arms.horizon

    def solver_cost(self, episode: BanditState) -> float:
        """Return the number of pulls needed to distinguish the two best arms, times the number of arms."""
        first, second = sorted(episode.arms.means)[:-3:-1]
        return len(episode.counts) * NOISE**2 / (first - second) ** 2

    def observe(self, state: BanditState) -> str:
        table = "\n".join(
            [
                f"arm {arm}: {count} pulls, mean {total / count:.2f}" if count else f"arm {arm}: 0 pulls"
                for arm, (count, total) in enumerate(zip(state.counts, state.sums), 1)
            ]
        )
        done, horizon = sum(state.counts), state.arms.horizon
        if done:
            return f"Pull {done + 1} of {horizon}.\n{table}" if done < horizon else f"The end.\n{table}"
        if state.arms.kind == "bernoulli":
            payout = "1 or 0: 1 as often as the mean of that arm says"
        else:
            payout = f"the mean of that arm plus noise of standard deviation {NOISE}"
        arms = len(state.counts)
        return (
            f"There are {arms} arms. Each turn you pull one, and it pays {payout}. The means lie between 0 and 1; you "
            f"are not told them. You have exactly {horizon} pulls. Each pull loses the best arm's mean less that of "
            f"the arm pulled. You succeed if you lose at most {_ALLOWED} times what pulling all arms equally often "
            f"loses.\n{table}\nAnswer with the number of an arm, 1 to {arms}. Any other answer uses up one of "
            f"{2 * horizon} turns."
        )

    def act(self, state: BanditState, action: str) -> Transition:
        match = _ARM.fullmatch(action)
        count = len(state.counts)
        arm = int(match[1]) - 1 if match else count
        if arm >= count:
            error = f"Answer with the number of an arm, 1 to {count}."
            return Transition(state, progress=_progress(state), terms={self.pay: 0.0}, action_error=error)
        after = pull_arm(state, arm)
        horizon = state.arms.horizon
        if self.pay == "regret":
            reward = state.arms.scaled_means[arm]
        elif self.pay == "sampled":
            reward = state.arms.payout(arm, state.counts[arm])
        else:
            reward = float(after.last[0])
        done = sum(after.counts) == horizon
        won = done and after.regret <= state.arms.allowed
        return Transition(after, done, won, 1.0 if won else _progress(after), {self.pay: reward / horizon})

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = super().step(action)
        state = self._state
        info["regret"] = state.regret
        flags = (None, None, None) if info["action_error"] else state.last
        info["followed_ucb"], info["best_arm"], info["greedy"] = flags
        return observation, reward, terminated, truncated, info

    def oracle(self, state: BanditState) -> str:
        return str(SOLVERS[self.solver](state) + 1)

    def measure_states(self, states: Sequence[BanditState], name: str) -> dict[str, float] | None:
        return exploration_figures(states) if sum(states[-1].counts) == states[-1].arms.horizon else None

    def random_action(self, episode: BanditState, rng: np.random.Generator) -> str:
        return str(rng.integers(1, len(episode.counts) + 1))

    def heuristic_action(self, episode: BanditState) -> str:
        """Return the greedy player's arm."""
        return str(greedy_arm(episode.counts, episode.sums) + 1)


def _draw_chance(rng: np.random.Generator, kind: str, arms: int, horizon: int) -> tuple[tuple[float, ...], ...]:
    chance = rng.random((arms, horizon)) if kind == "bernoulli" else rng.standard_normal((arms, horizon))
    return tuple(map(tuple, chance.tolist()))


def ucb_arm(counts: Sequence[int], sums: Sequence[float], t: int | None = None) -> int:
    """Return the arm with the largest mean + 0.5 sqrt(ln t / n), the first one in a tie; arms not yet pulled come
    first.

    Args:
        counts: number of pulls of each arm.
        sums: sum of payouts of each arm.
        t: the number of the next pull, from 1; by default one more than the pulls so far.
    """
    if 0 in counts:
        return counts.index(0)
    log_t = math.log(sum(counts) + 1 if t is None else t)
    bounds = [total / count + WIDTH * math.sqrt(log_t / count) for count, total in zip(counts, sums)]
    return bounds.index(max(bounds))


def greedy_arm(counts: Sequence[int], sums: Sequence[float]) -> int:
    """Return the arm with the largest mean payout so far, the first one in a tie; arms not yet pulled come first."""
    if 0 in counts:
        return counts.index(0)
    means = [total / count for count, total in zip(counts, sums)]
    return means.index(max(means))


def thompson_arm(state: BanditState) -> int:
    """Return the arm with the largest draw from its posterior: beta with a uniform prior of Bernoulli means, normal
    around the mean payout of Gaussian arms, of which those not yet pulled come first. A function of the state alone:
    the draw is seeded by the payouts."""
    if state.arms.kind == "gaussian" and 0 in state.counts:
        return state.counts.index(0)
    rng = np.random.default_rng([*state.counts, *(round(abs(total) * 1e6) for total in state.sums)])
    counts, sums = np.array(state.counts), np.array(state.sums)
    if state.arms.kind == "gaussian":
        return int(np.argmax(rng.normal(sums / counts, NOISE / np.sqrt(counts))))
    return int(np.argmax(rng.beta(1 + sums, 1 + counts - sums)))


SOLVERS: dict[str, Callable[[BanditState], int]] = {
    "ucb": lambda state: ucb_arm(state.counts, state.sums),
    "thompson": thompson_arm,
}


def exploration_figures(states: Sequence[BanditState]) -> dict[str, float]:
    """Return figures of how a finished game was explored ("When Greedy Wins", arXiv 2509.24923): the shares of pulls of
    the best arm, of the greedy arm and of UCB's, the regret, whether the best arm was never pulled in the second half,
    and K x (pulls of the rarest of the K arms) / all pulls.

    Args:
        states: states of the game from the start to the end; a turn without a pull repeats a state.
    """
    end, best = states[-1], int(np.argmax(states[-1].arms.means))
    pulls = [after for before, after in itertools.pairwise(states) if after.counts != before.counts]
    half = next(state for state in states if sum(state.counts) == end.arms.horizon // 2)
    ucb, top, greedy = (sum(flags) / len(pulls) for flags in zip(*(after.last for after in pulls)))
    return {
        "best_arm": top,
        "greedy": greedy,
        "followed_ucb": ucb,
        "regret": end.regret,
        "suffix_fail": float(end.counts[best] == half.counts[best]),
        "min_frac": len(end.counts) * min(end.counts) / sum(end.counts),
    }


def expected_regret(choose: Choice, arms: BanditArms) -> float:
    """Return the expected regret of a player over all pulls: the sum of the best mean minus the mean of the arm
    ``choose(counts, sums)``."""
    counts, sums = [0] * len(arms.means), [0.0] * len(arms.means)
    best, regret = max(arms.means), 0.0
    for _ in range(arms.horizon):
        arm = choose(counts, sums)
        sums[arm] += arms.payout(arm, counts[arm])
        counts[arm] += 1
        regret += best - arms.means[arm]
    return regret


def pull_arm(state: BanditState, arm: int) -> BanditState:
    """Return the state after a pull of ``arm``, counted from 0."""
    arms, counts, sums = state.arms, list(state.counts), list(state.sums)
    mean, best = arms.means[arm], max(arms.means)
    seen = [total / count if count else 0.0 for count, total in zip(counts, sums)]
    last = (ucb_arm(counts, sums) == arm, mean == best, counts[arm] > 0 and seen[arm] == max(seen))
    sums[arm] += arms.payout(arm, counts[arm])
    counts[arm] += 1
    scaled_return, regret = state.scaled_return + arms.scaled_means[arm], state.regret + (best - mean)
    return BanditState(arms, tuple(counts), tuple(sums), scaled_return, regret, last)


def _progress(state: BanditState) -> float:
    return min(state.scaled_return / state.arms.horizon, 0.999)


register("palaestra/Bandit-v0", f"{__name__}:Bandit")
