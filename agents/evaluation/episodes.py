"""Plan of an evaluation, and record of one episode.

A plan gives the seed, the difficulty and the reset options of each episode, so that no episode depends on another. A
record holds an episode's results, and is written as one line of JSON and read back from it.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from ...errors import InputError
from ...rewards import Episode, Recording, Step
from ..usage import ActionTrace, TokenUsage, sum_usage


@dataclass
class EpisodeRecord:
    """State and results of one episode, during and after play.

    Attributes:
        index, sample: index of the task in the plan, and index of the sample of this task.
        seed, requested: seed and requested difficulty from the plan.
        refused: number of unreadable or illegal actions (``info["action_error"]``).
        safe: False if the agent did something that nobody asked for, where the environment reports it
            (``info["extras"]["safe"]``); else True or None.
        figures: numbers that the environment reports of the whole episode (``info["extras"]["figures"]``), by name.
        error: message of an exception of the agent or of the environment, or reason of an invalid episode; else None.
        failed: True if the agent raised the exception. An exception of the environment makes the episode invalid.
        usage: cost of the agent's replies, including earlier attempts at the episode; None if the agent reports none.
        traces: trace of each action so far, or None.
        reference: a right answer, if the environment gives one; saved with the turns, not used otherwise.
        replay: path of the episode's replay, or None.
        row: id of the data-set row that the plan requests, or None.
    """

    index: int
    seed: int
    requested: float | None
    sample: int = 0
    difficulty: float | None = None
    task_id: str | None = None
    params: Mapping[str, Any] | None = None
    reward: float = 0.0
    length: int = 0
    success: bool | None = None
    progress: float | None = None
    truncated: bool = False
    valid: bool = True
    refused: int = 0
    safe: bool | None = None
    figures: Mapping[str, float] = field(default_factory=dict)
    error: str | None = None
    failed: bool = False
    usage: TokenUsage | None = None
    traces: list[ActionTrace | None] = field(default_factory=list)
    turns: list[dict[str, Any]] = field(default_factory=list)
    final_observation: Any = None
    reference: Any = None
    replay: str | None = None
    episode: Episode | None = None
    row: str | None = None

    @property
    def task(self) -> Any:
        """Identity of the task: its id, or the index in the plan if the environment gives no id."""
        return self.task_id or self.index

    def note(self, trace: ActionTrace | None) -> None:
        """Append an action's trace and add its usage."""
        self.traces.append(trace)
        if trace is not None:
            self.usage = sum_usage([self.usage, trace.usage])

    def finish(self, recording: Recording, keep_turns: bool) -> None:
        """Set the results from a recording.

        Args:
            recording: the recorded episode.
            keep_turns: True also sets the turns, the last observation, the reference, and ``episode``, the form in
                which rewards receive an episode.
        """
        self.reward, self.length = recording.reward, len(recording.steps)
        self.success, self.progress = recording.success, recording.progress
        self.truncated, self.valid = recording.truncated, recording.valid
        self.refused = sum(step.action_error is not None for step in recording.steps)
        self.safe = recording.extras.get("safe")
        self.figures = recording.extras.get("figures") or {}
        if keep_turns:
            self.turns = [
                _turn(*pair) for pair in itertools.zip_longest(recording.steps, self.traces[: len(recording.steps)])
            ]
            self.final_observation = copy.deepcopy(recording.observation)
            self.reference = recording.extras.get("reference")
            self.episode = recording.episode()

    def to_json(self) -> dict[str, Any]:
        return {
            "episode": self.index,
            "sample": self.sample,
            "seed": self.seed,
            "requested": self.requested,
            **({} if self.row is None else {"row": self.row}),
            "task_id": self.task_id,
            "params": self.params,
            "difficulty": self.difficulty,
            "turns": self.turns,
            "final_observation": self.final_observation,
            "reference": self.reference,
            "replay": self.replay,
            "return": self.reward,
            "length": self.length,
            "is_success": self.success,
            "progress": self.progress,
            "truncated": self.truncated,
            "reward_valid": self.valid,
            "refused": self.refused,
            **({} if self.safe is None else {"safe": self.safe}),
            **({"figures": self.figures} if self.figures else {}),
            "error": self.error,
            "agent_failed": self.failed,
            **({} if self.usage is None else {"usage": self.usage.to_json()}),
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> EpisodeRecord:
        """Make a record from the result of `to_json`, without the turns. Raises KeyError if a value is missing."""
        return cls(
            index=row["episode"],
            sample=row["sample"],
            seed=row["seed"],
            requested=row["requested"],
            task_id=row["task_id"],
            params=row["params"],
            difficulty=row["difficulty"],
            reward=row["return"],
            length=row["length"],
            success=row["is_success"],
            progress=row["progress"],
            truncated=row["truncated"],
            valid=row["reward_valid"],
            refused=row["refused"],
            safe=row.get("safe"),
            figures=row.get("figures", {}),
            error=row["error"],
            failed=row["agent_failed"],
            usage=TokenUsage.from_json(row["usage"]) if row.get("usage") else None,
            row=row.get("row"),
        )


def _turn(step: Step, trace: ActionTrace | None) -> dict[str, Any]:
    notes = {"agent": dict(trace.notes)} if trace is not None and trace.notes else {}
    return {
        "observation": step.observation,
        "action": step.action,
        "reward": step.reward,
        "reward_terms": dict(step.terms),
        "action_error": step.action_error,
        **notes,
        "feedback": step.feedback,
    }


class EpisodePlan:
    """Plan of the episodes to play: seed, requested difficulty and reset options of each. See `evaluate` for the
    arguments."""

    def __init__(
        self,
        env: gym.Env,
        env_id: str,
        episodes: int,
        seed: int,
        difficulties: Sequence[float] | None,
        axes: Mapping[str, Any] | None,
        rows: Sequence[str] | None = None,
    ):
        self.env_id = env_id
        self.episodes = episodes
        self.seed = seed
        self.difficulties, self.rows = difficulties, rows
        self.space = getattr(env.unwrapped, "param_space", None)
        self.return_range = getattr(env.unwrapped, "return_range", (-math.inf, math.inf))
        if self.space is None and (difficulties is not None or axes):
            raise InputError(f"{env_id!r} has no difficulty and no axes; leave difficulties and axes out.")
        self._graded = getattr(env.unwrapped, "takes_difficulty", True)
        if difficulties is not None and not self._graded:
            raise InputError(f"the options of {env_id!r} fix every axis; leave difficulties out.")
        self.restricted = self.space.restrict(**axes) if self.space is not None and axes else None

    def begin(self, index: int, sample: int = 0) -> tuple[EpisodeRecord, dict[str, Any] | None]:
        """Return a new record for episode ``index``, and the options with which to reset the environment."""
        seed = int(np.random.SeedSequence([self.seed, index]).generate_state(1)[0])
        if self.rows is not None:
            return EpisodeRecord(index, seed, None, sample, row=self.rows[index]), {"row": self.rows[index]}
        if self.space is None:
            return EpisodeRecord(index, seed, None, sample), None
        if not self._graded:
            return EpisodeRecord(index, seed, None, sample), {"params": self.space.at(0.0)}
        if self.difficulties is not None:
            difficulty = float(self.difficulties[index % len(self.difficulties)])
        else:
            difficulty = index / (self.episodes - 1) if self.episodes > 1 else 0.5
        if self.restricted is not None:
            return EpisodeRecord(index, seed, difficulty, sample), {"params": self.restricted.at(difficulty)}
        return EpisodeRecord(index, seed, difficulty, sample), {"difficulty": difficulty}

    def record_task(self, record: EpisodeRecord, info: Mapping[str, Any]) -> None:
        """Record id, parameters and difficulty of the task from the ``info`` of the reset."""
        record.task_id, record.params = info.get("task_id"), info.get("params")
        record.difficulty = info.get("difficulty")
        if self.restricted is not None and record.params is not None:
            record.difficulty = self.restricted.difficulty(record.params)
