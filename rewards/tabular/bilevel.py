"""BARFI: how much of a heuristic reward to use, learned by the implicit gradient of a bilevel problem.

Gupta, Chandak, Jordan, Thomas and da Silva, "Behavior Alignment via Reward Function Optimization", NeurIPS 2023
(arXiv 2310.19007).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from ...checks import check_choice, declared, option
from .designer import DESIGNERS, Designer
from .problem import RewardProblem

_STEP = 1e-4
"""Step of the central differences in the logits, which are of order 1."""
Linear = Callable[[np.ndarray], np.ndarray]


def implicit_gradient(
    slope: np.ndarray, curve: Linear, cross: Linear, method: str = "cg", terms: int = 50
) -> np.ndarray:
    """Return ``dJ_out(theta*(phi)) / dphi = dJ_out/dtheta (-d2J_in/dtheta2)^-1 d2J_in/dtheta dphi`` at a maximum of
    J_in.

    Args:
        slope: dJ_out/dtheta.
        curve: v -> ``-d2J_in/dtheta2 v``; positive definite at a strict maximum.
        cross: v -> ``v d2J_in/dtheta dphi``.
        method: method for the inverse: "cg" (conjugate gradients) or "neumann" (a series of products with ``curve``).
        terms: number of iterations of either method.
    """
    check_choice("method", method, ("cg", "neumann"))
    return cross((_solve_cg if method == "cg" else _sum_neumann)(curve, slope, terms))


def _solve_cg(curve: Linear, right: np.ndarray, terms: int) -> np.ndarray:
    found, rest, way = np.zeros_like(right), right.copy(), right.copy()
    square = float(rest @ rest)
    floor = 1e-24 * square
    for _ in range(terms):
        bent = curve(way)
        curvature = float(way @ bent)
        if square <= floor or curvature <= 0:
            break
        step = square / curvature
        found, rest = found + step * way, rest - step * bent
        before, square = square, float(rest @ rest)
        way = rest + (square / before) * way
    return found


def _sum_neumann(curve: Linear, right: np.ndarray, terms: int) -> np.ndarray:
    """Return ``rate * sum over i of (1 - rate H)^i right``, with rate 0.9 over H's estimated largest eigenvalue."""
    way, largest = right / (np.linalg.norm(right) + 1e-300), 1e-12
    for _ in range(10):
        way = curve(way)
        largest = float(np.linalg.norm(way))
        way = way / (largest + 1e-300)
    rate = 0.9 / max(largest, 1e-12)
    term = rate * right
    found = term.copy()
    for _ in range(terms):
        term = term - rate * curve(term)
        found = found + term
    return found


class SoftmaxReturns:
    """Returns of tabular softmax policies, with logits [S, A] and a uniform start over the non-terminal states.

    Args:
        problem: problem with S states and A actions.
    """

    def __init__(self, problem: RewardProblem):
        self.problem = problem
        self.shape = problem.primary.shape
        alive = ~problem.terminal
        self.start = alive / max(int(alive.sum()), 1)

    def policy(self, logits: np.ndarray) -> np.ndarray:
        powers = np.exp(logits - logits.max(1, keepdims=True))
        return powers / powers.sum(1, keepdims=True)

    def occupancy(self, logits: np.ndarray) -> np.ndarray:
        """Return the discounted visits [S, A]; the return under a reward is the sum of visits times reward."""
        policy = self.policy(logits)
        own = np.eye(self.shape[0]) - self.problem.mdp.discount * self.problem.moves(policy)
        return np.linalg.solve(own.T, self.start)[:, None] * policy

    def value(self, logits: np.ndarray, reward: np.ndarray) -> float:
        return float((self.occupancy(logits) * reward).sum())

    def slope(self, logits: np.ndarray, reward: np.ndarray) -> np.ndarray:
        """Return the gradient [S, A] of the return in the logits: visits times advantages (policy gradient theorem)."""
        policy, mdp = self.policy(logits), self.problem.mdp
        own = np.eye(self.shape[0]) - mdp.discount * self.problem.moves(policy)
        values = np.linalg.solve(own, (policy * reward).sum(1))
        visits = np.linalg.solve(own.T, self.start)
        return visits[:, None] * policy * (reward + mdp.discount * mdp.transitions @ values - values[:, None])


@DESIGNERS.register("barfi")
@declared
class BehaviorAlignment(Designer):
    """``r(s, a) = phi_1(s, a) + phi_2(s) primary(s, a) + phi_3(s) auxiliary(s, a)``, with phi chosen so that the policy
    that maximises r has the highest primary return.

    The policy is a softmax table. Its return is computed from the MDP, with a uniform start state. The inner problem
    maximises the return under r, less ``penalty / 2`` times the squared logits, by gradient ascent (Adam) from its
    previous solution. The outer problem ascends along `implicit_gradient` (Adam). It begins with phi_1 = 0 and phi_2 =
    phi_3 = 1, the plain sum, and returns the phi with the highest primary return on the way. The discount of the inner
    problem is the MDP's; the paper can learn it too.
    """

    name = "barfi"
    paper = "BARFI, arXiv 2310.19007"
    effect = "changes the optimal policies, so far as its own then has a higher primary return"
    steps: int = option(default=20, says="steps of the outer problem.")
    rate: float = option(default=0.1, above=0, says="step size of the outer problem.")
    inner_steps: int = option(default=40, low=1, says="inner steps per outer step.")
    inner_rate: float = option(default=0.2, above=0, says="step size of the inner problem.")
    penalty: float = option(default=1e-3, above=0, says="weight of the squared logits; makes the inner maximum strict.")
    method: Literal["cg", "neumann"] = option(default="neumann", says="method of `implicit_gradient`.")
    terms: int = option(default=20, low=1, says="iterations of `implicit_gradient`.")

    def setup(self) -> None:
        self.weights: dict[str, np.ndarray] = {}
        self.returns: list[float] = []

    def design(self, problem: RewardProblem) -> np.ndarray:
        auxiliary = np.asarray(problem.auxiliary)
        policies, (count, actions) = SoftmaxReturns(problem), problem.primary.shape
        sizes = np.cumsum([count * actions, count])

        def split(phi: np.ndarray) -> tuple[np.ndarray, ...]:
            own, two, three = np.split(phi, sizes)
            return own.reshape(count, actions), two, three

        def blend(phi: np.ndarray) -> np.ndarray:
            own, two, three = split(phi)
            return own + two[:, None] * problem.primary + three[:, None] * auxiliary

        phi = np.concatenate([np.zeros(sizes[0]), np.ones(2 * count)])
        ascent, logits = _Adam(phi.shape, self.rate), np.zeros((count, actions))
        self.returns, best, kept = [], -np.inf, phi
        for step in range(self.steps + 1):
            reward = blend(phi)
            inner = _Adam(logits.shape, self.inner_rate)
            for _ in range(self.inner_steps):
                logits = logits + inner.step(policies.slope(logits, reward) - self.penalty * logits)
            self.returns.append(policies.value(logits, problem.primary))
            if self.returns[-1] > best:
                best, kept = self.returns[-1], phi
            if step < self.steps:
                phi = phi + ascent.step(self._outer_slope(policies, logits, reward, auxiliary))
        own, two, three = split(kept)
        self.weights = {"own": own, "primary": two, "auxiliary": three}
        return np.where(problem.terminal[:, None], 0.0, blend(kept))

    def _outer_slope(
        self, policies: SoftmaxReturns, logits: np.ndarray, reward: np.ndarray, auxiliary: np.ndarray
    ) -> np.ndarray:
        """Return the gradient of the primary return in phi."""

        def ends(vector: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
            width = _STEP / (float(np.abs(vector).max()) + 1e-300)
            shift = width * vector.reshape(logits.shape)
            return logits + shift, logits - shift, 2 * width

        def curve(vector: np.ndarray) -> np.ndarray:
            one, two, width = ends(vector)
            bent = (policies.slope(one, reward) - policies.slope(two, reward)) / width
            return self.penalty * vector - bent.ravel()

        def cross(vector: np.ndarray) -> np.ndarray:
            one, two, width = ends(vector)
            # A return is linear in its reward, with the visits as slopes.
            visits = (policies.occupancy(one) - policies.occupancy(two)) / width
            heuristic = (visits * auxiliary).sum(1)
            return np.concatenate([visits.ravel(), (visits * policies.problem.primary).sum(1), heuristic])

        slope = policies.slope(logits, policies.problem.primary).ravel()
        return implicit_gradient(slope, curve, cross, self.method, self.terms)


class _Adam:
    """Optimiser state of Adam (arXiv 1412.6980); the weights are kept by the caller."""

    def __init__(self, shape: tuple[int, ...], rate: float):
        self.rate, self.count = rate, 0
        self.mean, self.square = np.zeros(shape), np.zeros(shape)

    def step(self, slope: np.ndarray) -> np.ndarray:
        """Return the step to add to the weights to go uphill along the gradient ``slope``."""
        self.count += 1
        self.mean = 0.9 * self.mean + 0.1 * slope
        self.square = 0.999 * self.square + 0.001 * slope**2
        mean, square = self.mean / (1 - 0.9**self.count), self.square / (1 - 0.999**self.count)
        return self.rate * mean / (np.sqrt(square) + 1e-8)
