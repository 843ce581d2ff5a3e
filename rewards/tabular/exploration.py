"""ExploRS: a reward learned from the learner's own episodes, and a bonus for rarely visited states.

Devidze, Kamalaruban and Singla, "Exploration-Guided Reward Shaping for Reinforcement Learning under Sparse Rewards",
NeurIPS 2022.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...checks import declared, option
from .designer import DESIGNERS, Designer, TabularTrajectory
from .problem import RewardProblem, check_policy


def self_shaping_step(policy: np.ndarray, states: Any, actions: Any, advantages: Any) -> np.ndarray:
    """Return the update [S, A] of the learned reward (SelfRS), summed over T steps: ``pi(a|s) * advantage * (1[a] -
    pi(.|s))`` in the row of s.

    The update is positive for actions that led to more primary reward than the critic expected.

    Args:
        policy: the learner's action probabilities, [S, A].
        states, actions, advantages: [T].
    """
    move = np.zeros_like(policy)
    for state, action, advantage in zip(states, actions, advantages, strict=True):
        scale = policy[state, action] * advantage
        move[state] -= scale * policy[state]
        move[state, action] += scale
    return move


@DESIGNERS.register("explors")
@declared
class ExplorationGuided(Designer):
    """Primary reward, plus a learned reward (SelfRS), plus the bonus ``explore / sqrt((explore / most)^2 + visits)`` of
    the state that is reached (ExploB).

    The learned reward comes from the learner's episodes alone, without a teacher.

    In Q-learning, tried actions have earned the bonus and untried actions nothing, so with values initialised at 0 the
    learner repeats known actions. Initialise the values at ``most / (1 - discount)`` or more.

    The released code explores with 1 for a goal reward of 1, over tens of thousands of episodes. At a discount of 0.97,
    a bonus that can be collected for ever must be below 0.03 to stay under a goal reward of 1. The released code bounds
    the learned reward by 0.01 for Q-learning, and not for REINFORCE: without a bound the learned reward grows with the
    number of episodes, and a value-based learner goes in circles to collect it.
    """

    name = "explors"
    paper = "ExploRS, Devidze et al., NeurIPS 2022"
    effect = "changes the optimal policies: its bonus fades with the visits, its learned reward stays"
    adaptive = True
    rate: float = option(default=0.01, low=0, says="step size of the learned reward; 0.01 in the released code.")
    critic: float = option(default=0.01, low=0, says="step size of the critic, a table of state values.")
    explore: float = option(default=0.01, low=0, says="scale of the bonus (the paper's lambda); 0: no bonus.")
    most: float = option(default=0.01, above=0, says="bonus of the first visit to a state.")
    bound: float | None = option(default=0.01, above=0, says="largest absolute learned reward; None: no bound.")

    def setup(self) -> None:
        self.learned: np.ndarray | None = None
        self.values = np.zeros(0)
        self.visits = np.zeros(0)
        self.terminal = np.zeros(0, dtype=bool)

    def design(self, problem: RewardProblem) -> np.ndarray:
        self.terminal = problem.terminal
        if self.learned is None:
            self.learned = np.zeros_like(problem.primary)
            self.values, self.visits = np.zeros(len(self.learned)), np.zeros(len(self.learned))
        return problem.primary + self.learned

    def visit(self, state: int) -> float:
        if self.terminal[state] or not self.explore:
            return 0.0
        bonus = self.explore / ((self.explore / self.most) ** 2 + self.visits[state]) ** 0.5
        self.visits[state] += 1
        return bonus

    def redesign(
        self, problem: RewardProblem, policy: np.ndarray, trajectories: Sequence[TabularTrajectory]
    ) -> np.ndarray | None:
        policy = check_policy(problem, policy)
        if self.learned is None or not trajectories:
            return None
        error, steps = np.zeros_like(self.values), 0
        move = np.zeros_like(self.learned)
        for states, actions, rewards in trajectories:
            returns, total = np.zeros(len(rewards)), 0.0
            for t in range(len(rewards) - 1, -1, -1):
                total = returns[t] = rewards[t] + problem.mdp.discount * total
            advantages = returns - self.values[np.asarray(states, dtype=int)]
            move += self_shaping_step(policy, states, actions, advantages)
            np.add.at(error, np.asarray(states, dtype=int), advantages)
            steps += len(rewards)
        self.learned = self.learned + self.rate * move
        if self.bound is not None:
            self.learned = np.clip(self.learned, -self.bound, self.bound)
        self.values = self.values + self.critic * error / max(steps, 1)
        return problem.primary + self.learned

    def state_dict(self) -> dict[str, Any]:
        if self.learned is None:
            return {}
        tables = {"learned": self.learned, "values": self.values, "visits": self.visits}
        return {name: table.tolist() for name, table in tables.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if state:
            self.learned, self.values, self.visits = (np.array(state[name]) for name in ("learned", "values", "visits"))
