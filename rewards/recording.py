"""`Recording`: the record of one episode while it is played; the only place that reads the ``info`` of environments.

The results of `reset` and `step` go in; steps, success, progress, validity and an `Episode` for rewards come out.
Rollouts, evaluation and wrappers all record with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .episode import Episode, Step


class Recording:
    """Record of one episode, filled from ``reset`` on.

    Args:
        observation, info: the return values of ``reset``.

    Attributes:
        observation: the newest observation.
        task_id, params, difficulty: of the task, from ``info``; "", {} and None if absent there.
        steps: the turns so far.
        success: the newest ``info["is_success"]``; None if never given. Success is not inferred from rewards.
        progress: the newest ``info["progress"]``; None if never given.
        valid: False once any ``info["reward_valid"]`` was False: the machinery failed, not the agent.
        terminated, truncated: the flags returned by the last step.
        extras: the newest ``info["extras"]``.
    """

    def __init__(self, observation: Any, info: Mapping[str, Any]):
        self.observation = observation
        self.task_id = str(info.get("task_id", ""))
        self.params: dict[str, Any] = dict(info.get("params") or {})
        difficulty = info.get("difficulty")
        self.difficulty = None if difficulty is None else float(difficulty)
        self.steps: list[Step] = []
        self.success: bool | None = None
        self.progress: float | None = None
        self.valid = bool(info.get("reward_valid", True))
        self.terminated = self.truncated = False
        self.extras: Mapping[str, Any] = info.get("extras") or {}

    @property
    def over(self) -> bool:
        """True once the episode has ended."""
        return self.terminated or self.truncated

    @property
    def reward(self) -> float:
        """Sum of the step rewards so far."""
        return float(sum(step.reward for step in self.steps))

    def add(
        self,
        action: Any,
        result: tuple[Any, Any, Any, Any, Mapping[str, Any]],
        *,
        seen: Any = None,
        tokens: int = 0,
        logps: tuple[float, ...] | None = None,
    ) -> Step:
        """Record a turn and return it.

        Args:
            action: the agent's output.
            result: return value of ``step``: observation, reward, terminated, truncated and info.
            seen: the observation that the agent saw, if it differs from the environment's last observation.
            tokens, logps: see `Step`.
        """
        observation, reward, terminated, truncated, info = result
        step = Step(
            observation=self.observation if seen is None else seen,
            action=action,
            reward=float(reward),
            terms=dict(info.get("reward_terms") or {"env": float(reward)}),
            tokens=tokens,
            logps=logps,
            action_error=info.get("action_error"),
            feedback=str(info.get("feedback") or ""),
            extras=info.get("extras") or {},
        )
        self.steps.append(step)
        self.observation, self.extras = observation, step.extras
        self.valid = self.valid and bool(info.get("reward_valid", True))
        self.terminated, self.truncated = bool(terminated), bool(truncated)
        if "is_success" in info:
            self.success = bool(info["is_success"])
        if "progress" in info:
            self.progress = float(info["progress"])
        return step

    def episode(self, max_tokens: int | None = None) -> Episode:
        """Return the turns so far as an `Episode`; an unknown success becomes False, an unknown progress 0."""
        return Episode(
            task_id=self.task_id,
            params=self.params,
            steps=tuple(self.steps),
            success=bool(self.success),
            progress=min(max(self.progress or 0.0, 0.0), 1.0),
            valid=self.valid,
            truncated=self.truncated and not self.terminated,
            max_tokens=max_tokens,
            extras=self.extras,
        )
