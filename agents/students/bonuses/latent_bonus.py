"""Redistribution of an episode's return over its steps by a learned function of factors, numbers of a step (LaRe)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from ....checks import declared, option
from ....rewards import Step, StepReward
from ....rewards.models.latent_rewards import LatentRewards
from .bonus import BONUSES
from .slot_bonus import SlotBonus


@declared
class LatentBonus(SlotBonus):
    """Bonus ``weight * (f(factors) - reward)`` of a step: with weight 1 the student receives f in place of the reward.

    ``reward`` is the sum of the environment's reward and of the bonuses before this one. f learns from each finished
    episode; during the first ``settle`` episodes the bonus is 0. With ``exact``, a step that terminates the episode
    gets the rest of the return instead of f, so that the rewards sum to the return; this does not apply to truncation.
    """

    name = "lare"
    paper = "LaRe, arXiv 2412.11120"

    latent: LatentRewards = option(says="the factors and the function f.")
    weight: float = option(default=1.0, low=0, high=1, says="share of f in the reward that the student receives.")
    exact: bool = option(default=True, says="preserve the returns of episodes that terminate.")

    def setup(self) -> None:
        super().setup()
        self._actions: list[int] = []

    def attach(self, envs: Sequence[gym.Env[Any, Any]]) -> None:
        space = envs[0].action_space
        if isinstance(space, gym.spaces.Discrete):
            self._actions = list(range(int(space.start), int(space.start + space.n)))

    def start(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> None:
        ended = self.memory.get(slot)
        if ended and ended["whole"]:
            self.latent.learn([([np.array(row) for row in ended["rows"]], ended["return"])])
        self.memory[slot] = {"rows": [], "return": 0.0, "given": 0.0, "whole": True}

    def reward_step(self, slot: int, step: Step, observation: Any, terminated: bool) -> float | None:
        memory = self.memory[slot]
        memory["return"] += step.reward
        others = [(step.observation, action) for action in self._actions]
        found = self.latent.factors_of([(step.observation, step.action)], beside=others)
        row = None if found is None else found[0]
        if row is None:
            memory["whole"] = False
            return None if found is None else 0.0
        memory["rows"].append(row.tolist())
        if not self.latent.ready:
            memory["given"] += step.reward
            return 0.0
        latent = float(self.latent.predict([row])[0])
        if self.exact and terminated:
            latent = memory["return"] - memory["given"]
        memory["given"] += latent
        return self.weight * (latent - step.reward)

    def shared(self) -> dict[str, Any]:
        return self.latent.state_dict()

    def load_shared(self, state: Mapping[str, Any]) -> None:
        self.latent.load_state_dict(state)


@BONUSES.register("lare")
def lare(
    discount: float,
    factors: str = "given",
    weight: float = 1.0,
    exact: bool = True,
    hidden: int = 64,
    rate: float = 1e-3,
    updates: int = 4,
    batch: int = 16,
    memory: int = 256,
    settle: int = 16,
    seed: int = 0,
) -> tuple[StepReward, str]:
    """Return of the episode, redistributed over the steps by a learned function of factors, which a program
    (factors="factors.py") or a built-in function computes (LaRe, arXiv 2412.11120)."""
    del discount
    latent = LatentRewards(factors, "sandbox", hidden, rate, updates, batch, memory, settle, seed)
    effect = "changes the optimal policies where its sums are not the returns"
    if exact:
        effect = "keeps the sum of rewards of an episode that ends, and changes the optimal policies where rewards are "
        effect += "discounted or episodes are cut off"
    return LatentBonus(latent, weight, exact), effect
