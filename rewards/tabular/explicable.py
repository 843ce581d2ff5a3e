"""ExpRD: a reward that is 0 in all but a few states, and tells good actions from bad ones within few steps.

Devidze, Radanovic, Kamalaruban and Singla, "Explicable Reward Design for Reinforcement Learning Agents", NeurIPS 2021.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...checks import check_count, declared, option
from ...errors import InputError, MissingExtra
from .designer import DESIGNERS, Designer
from .problem import RewardProblem

HORIZONS = (1, 4, 8, 16, 32)
"""Numbers of steps h in the released code."""
_NEAR = 1e-3
"""Weight of the distance from the primary reward, relative to the shortfall of one state (the released code's C_2)."""


def solver() -> Any:
    """Import and return scipy.optimize.linprog.

    Raises:
        MissingExtra: scipy is absent.
    """
    try:
        from scipy.optimize import linprog
    except ImportError:
        raise MissingExtra("a linear programme of reward design", "train") from None
    return linprog


def horizon_values(problem: RewardProblem, rewards: np.ndarray, horizon: int | None) -> np.ndarray:
    """Return Q_h [S, A, k] of the teacher's policy under k rewards [S, A, k]: the discounted sum of the next h rewards,
    or of all rewards if ``horizon`` is None."""
    policy, rows = problem.policy, np.arange(problem.mdp.states)
    discount, chances = problem.mdp.discount, problem.mdp.transitions
    if horizon is None:
        own = np.eye(problem.mdp.states) - discount * problem.moves(policy)
        return rewards + discount * np.tensordot(chances, np.linalg.solve(own, rewards[rows, policy]), 1)
    found = rewards
    for _ in range(horizon - 1):
        found = rewards + discount * np.tensordot(chances, found[rows, policy], 1)
    return found


def shortfalls(problem: RewardProblem, reward: np.ndarray, horizons: Sequence[int]) -> np.ndarray:
    """Return the shortfalls [H, S] for each horizon h and state, 0 or more. A shortfall is the gap
    (`RewardProblem.gaps`) minus the lead of the teacher's action over the best suboptimal action in value over h steps;
    it is 0 if the lead reaches the gap."""
    rows = np.arange(problem.mdp.states)
    found = []
    for horizon in horizons:
        values = horizon_values(problem, reward[:, :, None], horizon)[:, :, 0]
        lead = np.where(problem.optimal, np.inf, values[rows, problem.policy][:, None] - values).min(1)
        short = np.where(np.isfinite(lead), problem.gaps / (1 + 1e-5) - lead, 0.0)
        found.append(np.where(problem.terminal, 0.0, np.maximum(short, 0.0)))
    return np.array(found)


def informativeness(problem: RewardProblem, reward: np.ndarray, horizons: Sequence[int] = HORIZONS) -> float:
    """Return minus the mean of `shortfalls`, at most 0: the released code's negated hinge loss, maximal
    over actions."""
    return -float(shortfalls(problem, reward, horizons).mean())


def _check_horizons(name: str, horizons: Sequence[int]) -> tuple[int, ...]:
    return tuple(check_count(name, horizon, 1, "steps") for horizon in horizons)


@DESIGNERS.register("exprd")
@declared
class ExplicableDesign(Designer):
    """Most informative reward that is 0 outside the states with a primary reward and ``budget`` more.

    For given states the design is a linear programme: maximise `informativeness`, subject to the teacher's action being
    better than every other by at least `RewardProblem.demands`. Among equally informative rewards it takes the nearest
    one to the primary reward. States are added greedily. The released code solves the programme for every candidate
    state; this one only for the ``screen`` states whose rewards would change the informativeness fastest. The teacher
    follows one optimal policy; the released code averages over several.
    """

    name = "exprd"
    paper = "ExpRD, Devidze et al., NeurIPS 2021"
    effect = "leaves one of the optimal policies of each level as it is and adds none"
    budget: int = option(default=5, unit="states", says="number of states besides those with a primary reward.")
    bound: float | None = option(default=None, above=0, says="largest absolute reward; None: as in the primary reward.")
    horizons: Sequence[int] = option(
        default=HORIZONS, check=_check_horizons, says="numbers of steps h within which actions should differ."
    )
    screen: int | None = option(
        default=2, low=1, unit="states", says="candidates tried for each added state; None: all."
    )

    def design(self, problem: RewardProblem) -> np.ndarray:
        chosen = np.flatnonzero((problem.primary != 0).any(1)).tolist()
        if not chosen:
            raise InputError("a reward is designed from a primary one, which is 0 everywhere here.")
        _, best = self._solve(problem, chosen)
        for _ in range(self.budget):
            slopes = _slopes(problem, best, self.horizons)
            slopes[problem.terminal] = 0.0
            slopes[chosen] = 0.0
            order = np.argsort(-slopes, kind="stable")
            candidates = [int(state) for state in order[: self.screen] if slopes[state] > 1e-12]
            if not candidates:
                break
            tried = [(*self._solve(problem, [*chosen, state]), state) for state in candidates]
            _, best, state = min(tried, key=lambda one: one[0])
            chosen.append(state)
        return best

    def _solve(self, problem: RewardProblem, states: Sequence[int]) -> tuple[float, np.ndarray]:
        """Minimise the mean shortfall over rewards that are 0 outside ``states``; return it and the reward [S, A]."""
        linprog, (count, actions), rows = solver(), problem.primary.shape, np.arange(problem.mdp.states)
        from scipy import sparse

        unit = np.zeros((count, actions, len(states) * actions))
        for number, state in enumerate(states):
            unit[state, range(actions), range(number * actions, (number + 1) * actions)] = 1.0
        wrong = ~problem.optimal & ~problem.terminal[:, None]
        others = ~problem.terminal[:, None] & (np.arange(actions)[None] != problem.policy[:, None])
        hinges = len(self.horizons) * count
        left, right = [], []
        for number, horizon in enumerate((None, *self.horizons)):
            values = horizon_values(problem, unit, horizon)
            where = others if horizon is None else wrong
            lead = (values[rows, problem.policy][:, None] - values)[where]
            hinge = (number - 1) * count + np.nonzero(where)[0] if horizon is not None else np.zeros(0, dtype=int)
            short = (-np.ones(len(hinge)), (np.arange(len(hinge)), hinge))
            parts = [np.where(np.abs(lead) > 1e-12, -lead, 0.0), sparse.csr_matrix(short, (len(lead), hinges))]
            left.append(sparse.hstack([sparse.csr_matrix(parts[0]), parts[1]]))
            right.append(-problem.demands[where])
        # Among equally informative rewards the one nearest to the primary reward: its distances are variables too.
        size, primary = unit.shape[2], problem.primary[list(states)].ravel()
        eye, none = sparse.eye(size), sparse.csr_matrix((size, hinges))
        informs = sparse.vstack(left)
        near = sparse.vstack([sparse.hstack([eye, none, -eye]), sparse.hstack([-eye, none, -eye])])
        matrix = sparse.vstack([sparse.hstack([informs, sparse.csr_matrix((sum(map(len, right)), size))]), near])
        bound = float(np.abs(problem.primary).max()) if self.bound is None else self.bound
        found = linprog(
            np.concatenate([np.zeros(size), np.full(hinges, 1.0 / hinges), np.full(size, _NEAR / hinges)]),
            A_ub=matrix.tocsr(),
            b_ub=np.concatenate([*right, primary, -primary]),
            bounds=[(-bound, bound)] * size + [(0.0, None)] * (hinges + size),
            method="highs",
        )
        if not found.success:
            raise InputError(
                f"no reward within {bound:g} keeps the optimal policy better by its gap ({found.message.strip()}); "
                "raise the bound."
            )
        reward = np.zeros((count, actions))
        reward[list(states)] = np.round(found.x[:size], 9).reshape(len(states), actions) + 0.0
        return -informativeness(problem, reward, self.horizons), reward


def _slopes(problem: RewardProblem, reward: np.ndarray, horizons: Sequence[int]) -> np.ndarray:
    """Return for each state [S] the sum over actions of the absolute derivatives of the total of `shortfalls` in the
    rewards of that state."""
    rows, policy = np.arange(problem.mdp.states), problem.policy
    total = np.zeros_like(reward)
    for horizon in horizons:
        values = horizon_values(problem, reward[:, :, None], horizon)[:, :, 0]
        leads = np.where(problem.optimal, np.inf, values[rows, policy][:, None] - values)
        worst = leads.argmin(1)
        short = np.isfinite(leads[rows, worst]) & ~problem.terminal
        short &= leads[rows, worst] < problem.gaps / (1 + 1e-5) - 1e-12
        # Visits of each (state, action) after the teacher's action, less the visits after the other action.
        flow = np.zeros_like(reward)
        flow[rows[short], policy[short]] += 1.0
        flow[rows[short], worst[short]] -= 1.0
        for _ in range(horizon):
            total += flow
            following = problem.mdp.discount * np.tensordot(flow, problem.mdp.transitions, 2)
            flow = np.zeros_like(reward)
            flow[rows, policy] = following
    return np.abs(total).sum(1)
