"""Reward that splits the return over the turns by a learned decomposition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..episode import Episode
from ..models.latent_rewards import LatentRewards
from ..reward import StepReward, register
from ..verdict import Verdict


@register("lare")
class LatentReward(StepReward):
    """Return of each episode, distributed over the turns by a learned function of named factors of each turn.

    Factors come from a program that a model wrote (``palaestra design ENV --what factors``), or from a built-in
    function. The learned function is fitted to the episodes judged so far, including the current ones, so that its sum
    over an episode is near the return. With ``exact`` the residual, return minus sum, is added to the last turn: each
    episode keeps its return, and optimal policies for undiscounted returns stay optimal. Without it, as in the paper, a
    failure can sum to more than a success.

    Args:
        factors: file of a factor program, or a name in `palaestra.rewards.design.FACTOR_FUNCTIONS`.
        exact: keep the return of each episode.
        runner, hidden, rate, updates, batch, memory, settle, seed: see `LatentRewards`.

    Raises:
        InputError: an argument out of range, or a file that holds no factor program.
        MissingExtra: ``hidden`` is above 0 and torch is absent.
    """

    paper = "LaRe, arXiv 2412.11120"
    complete = True

    def __init__(
        self,
        factors: str = "given",
        exact: bool = True,
        runner: str = "sandbox",
        hidden: int = 64,
        rate: float = 1e-3,
        updates: int = 4,
        batch: int = 16,
        memory: int = 256,
        settle: int = 4,
        seed: int = 0,
    ):
        self.exact = bool(exact)
        self.latent = LatentRewards(factors, runner, hidden, rate, updates, batch, memory, settle, seed)

    def __call__(self, episode: Episode) -> Verdict:
        return self.batch([[episode]])[0][0]

    def values(self, episode: Episode) -> Sequence[float] | None:
        return self._judge_all([episode])[0]

    def group(self, episodes: Sequence[Episode]) -> list[Verdict]:
        return self.batch([episodes])[0]

    def batch(self, groups: Sequence[Sequence[Episode]]) -> list[list[Verdict]]:
        values = iter(self._judge_all([episode for group in groups for episode in group if episode.valid]))
        return [
            [self.verdict_of_steps(episode, next(values) if episode.valid else None) for episode in group]
            for group in groups
        ]

    def _judge_all(self, episodes: Sequence[Episode]) -> list[list[float] | None]:
        """Learn from the episodes first, then return the rewards of their turns; None for all if the factor program's
        runner failed."""
        steps = [(step.observation, step.action) for episode in episodes for step in episode.steps]
        found = self.latent.factors_of(steps)
        if found is None:
            return [None] * len(episodes)
        rows = iter(found)
        factors = [[next(rows) for _ in episode.steps] for episode in episodes]
        returns = [sum(step.reward for step in episode.steps) for episode in episodes]
        self.latent.learn(list(zip(factors, returns, strict=True)))
        rewards: list[list[float] | None] = []
        for own, total in zip(factors, returns, strict=True):
            values = self.latent.predict(own).tolist()
            if self.exact and values:
                values[-1] += total - sum(values)
            rewards.append(values)
        return rewards

    def describe(self) -> str:
        return f"{self.name} {self.latent.source}"

    def state_dict(self) -> dict[str, Any]:
        return self.latent.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.latent.load_state_dict(state)
