"""ExpAdaRD: a reward redesigned to tell the learner's current policy the most about the teacher's policy.

Devidze, Kamalaruban and Singla, "Informativeness of Reward Functions in Reinforcement Learning", AAMAS 2024.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...checks import declared, option
from ...errors import InputError
from .designer import DESIGNERS, Designer, TabularTrajectory
from .explicable import solver
from .problem import RewardProblem, check_policy


def adaptive_weights(problem: RewardProblem, policy: np.ndarray) -> np.ndarray:
    """Return the coefficients [S, A] of the informativeness, which is linear in the reward, for one step ahead.

    ``I(R) = sum over s, a of mu_T(s) mu_L(s) pi_L(a|s)^2 (A_T(s, a) - A_T(s, pi_L)) (R(s, a) - R(s, pi_L))``; T is the
    teacher, A_T its advantage under the primary reward, L the learner with the policy [S, A], and mu a discounted state
    distribution (as in the released code).
    """
    learner = check_policy(problem, policy)
    advantage = problem.values - problem.values.max(1, keepdims=True)
    relative = advantage - (learner * advantage).sum(1, keepdims=True)
    visits = problem.occupancy(problem.policy) * problem.occupancy(learner)
    weights = visits[:, None] * learner**2 * relative
    return weights - learner * weights.sum(1, keepdims=True)


@DESIGNERS.register("expadard")
@declared
class AdaptiveDesign(Designer):
    """Most informative reward for the learner's current policy, redesigned whenever that policy changes.

    The design is a linear programme with the constraints of `ExplicableDesign`, so that an optimal policy stays optimal
    whatever the learner does. Among equally informative rewards it takes the one nearest to the primary reward.
    """

    name = "expadard"
    paper = "ExpAdaRD, Devidze et al., AAMAS 2024"
    effect = "leaves one of the optimal policies of each level as it is and adds none"
    adaptive = True
    bound: float | None = option(default=None, above=0, says="largest absolute reward; None: as in the primary reward.")

    def design(self, problem: RewardProblem) -> np.ndarray:
        count, actions = problem.primary.shape
        return self._solve(problem, np.full((count, actions), 1.0 / actions))

    def redesign(
        self, problem: RewardProblem, policy: np.ndarray, trajectories: Sequence[TabularTrajectory]
    ) -> np.ndarray:
        return self._solve(problem, policy)

    def _solve(self, problem: RewardProblem, policy: np.ndarray) -> np.ndarray:
        linprog = solver()
        from scipy import sparse

        count, actions = problem.primary.shape
        size, discount = count * actions, problem.mdp.discount
        pairs, rows = np.arange(size), np.arange(count)
        teacher = rows * actions + problem.policy
        own = sparse.csr_matrix((np.ones(count), (rows, teacher)), (count, size))
        nexts = sparse.csr_matrix(problem.mdp.transitions.reshape(size, count)) * discount
        repeat = sparse.csr_matrix((np.ones(size), (pairs, pairs // actions)), (size, count))
        # Variables: rewards [S A], values of the teacher [S], distances from the primary reward [S A].
        values = sparse.hstack([own, nexts[teacher] - sparse.eye(count), sparse.csr_matrix((count, size))])
        leads = sparse.hstack([sparse.eye(size), nexts - repeat, sparse.csr_matrix((size, size))])
        keep = np.flatnonzero((pairs != teacher[pairs // actions]) & ~problem.terminal[pairs // actions])
        eye, none = sparse.eye(size), sparse.csr_matrix((size, count))
        near = sparse.vstack([sparse.hstack([eye, none, -eye]), sparse.hstack([-eye, none, -eye])])
        weights = adaptive_weights(problem, policy).ravel()
        weights = weights / max(float(np.abs(weights).max()), 1e-300)
        primary = problem.primary.ravel()
        bound = float(np.abs(primary).max()) if self.bound is None else self.bound
        fixed = problem.terminal[pairs // actions]
        limits = [(0.0, 0.0) if still else (-bound, bound) for still in fixed]
        limits += [(None, None)] * count + [(0.0, None)] * size
        found = linprog(
            np.concatenate([-weights, np.zeros(count), np.full(size, 1e-4)]),
            A_ub=sparse.vstack([leads.tocsr()[keep], near]).tocsr(),
            b_ub=np.concatenate([-problem.demands.ravel()[keep], primary, -primary]),
            A_eq=values.tocsr(),
            b_eq=np.zeros(count),
            bounds=limits,
            method="highs",
        )
        if not found.success:
            raise InputError(
                f"no reward within {bound:g} keeps the optimal policy better by its gap ({found.message.strip()}); "
                "raise the bound."
            )
        return np.round(found.x[:size], 9).reshape(count, actions)
