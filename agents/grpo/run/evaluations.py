"""Evaluations of a run's policy: on held-out tasks, and on new tasks with the parameters of earlier training tasks.

Every episode is played as in training. Random numbers depend only on the run's seed and the step, so that an evaluation
does not change the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...engines.engine import Engine
from ...engines.policy_engine import PolicyEngine
from ...engines.soft_thinking import SoftThinking
from ...evaluation import Report
from ...evaluation.episodes import EpisodePlan
from ...language.model import LanguageModel
from ..config import TrainConfig
from ..rollouts.context_check import token_limits
from ..rollouts.environment_processes import EnvironmentProcesses
from ..rollouts.environment_workers import EnvironmentWorkers
from ..rollouts.environments import Environments
from ..rollouts.episode_player import EpisodePlayer
from ..rollouts.episode_starts import RolloutTask, Start
from .logs import evaluation_row
from .mixture import environment_of, join_evaluations
from .seeds import EVALUATION, derive_seed
from .validation import AT_ONCE, evaluate_policy

_AGAIN = 1 << 32
"""Seed key of `Evaluations.play_again`, larger than the seed of any evaluation."""


class Evaluations:
    """Plays the evaluations of a run.

    Args:
        policy_engine: the run's engine.

    Attributes:
        thinking: settings of the soft tokens with which answers begin, set when training begins; None without any.
    """

    def __init__(self, config: TrainConfig, policy_engine: PolicyEngine | None = None):
        self.config = config
        self.thinking: SoftThinking | None = None
        self._policy_engine = policy_engine or PolicyEngine()
        self._splits: dict[str, Environments] = {}
        count, seconds = config.env_processes, config.env_seconds
        self._processes = EnvironmentProcesses(count, seconds, config.ray) if count else None
        # A process that exceeds the limit is killed, so its thread returns and needs no limit.
        self._workers = EnvironmentWorkers(config.env_workers, 0 if count else seconds) if config.env_workers else None

    def close(self) -> None:
        """Kill the processes of the environments."""
        if self._processes is not None:
            self._processes.close()

    def environments(self, split: str) -> Environments:
        """Return the pool of environments whose tasks are from ``split``."""
        if split not in self._splits:
            env_id, options = environment_of(self.config)
            self._splits[split] = Environments(
                env_id, self.config.history, self._processes, self.config.shots, split=split, **options
            )
            self._splits[split].workers = self._workers
        return self._splits[split]

    def evaluate(
        self,
        language: LanguageModel,
        step: int,
        episodes: int,
        seed: int = 0,
        split: str = "test",
        greedy: bool = False,
        family: str | None = None,
    ) -> Report:
        """Evaluate on tasks spread evenly over the trained range of difficulty.

        Args:
            greedy: take the likeliest tokens instead of sampling at the training temperature.
            family: name of the one environment of a mixture to evaluate on; None draws environments by their weights.
        """
        player = self._player(language, step, seed, split, episodes)
        return evaluate_policy(player, self._plan(episodes, seed, split, family), split, (greedy,))[0]

    def _plan(self, episodes: int, seed: int, split: str, family: str | None) -> EpisodePlan:
        environments = self.environments(split)
        env = environments.take()
        axes = None if family is None else {"env": [family]}
        plan = EpisodePlan(env, family or " ".join(self.config.envs), episodes, seed, None, axes)
        environments.give_back(env)
        return plan

    def row(self, language: LanguageModel, step: int, episodes: int) -> dict[str, Any]:
        """Evaluate on the test split, sampled and greedy, each environment separately; return the row for the log."""
        rows = {}
        for family in self.environments("train").families or (None,):
            player = self._player(language, step, 0, "test", 2 * episodes)
            plan = self._plan(episodes, 0, "test", family)
            rows[family] = evaluation_row(step, *evaluate_policy(player, plan, "test", (False, True)))
        return rows[None] if None in rows else join_evaluations({str(family): row for family, row in rows.items()})

    def rows_of(self, others: Mapping[str, tuple[Engine, Any]], step: int, episodes: int) -> dict[str, dict[str, Any]]:
        """Evaluate further policies on the test split, sampled, each alone; return "episodes", "success" and "ci" by
        name.

        Args:
            others: name of a policy -> its engine and its renderer.
        """
        rows = {}
        for number, (name, (engine, renderer)) in enumerate(others.items()):
            player = self._prepare(engine, renderer, step, 1 + number, "test")
            row = evaluation_row(step, *evaluate_policy(player, self._plan(episodes, 0, "test", None), "test"))
            rows[name] = {key: row[key] for key in ("episodes", "success", "ci")}
        return rows

    def play_again(
        self, language: LanguageModel, step: int, tasks: Sequence[Mapping[str, Any]], episodes: int
    ) -> list[bool]:
        """Play new training tasks with the parameters of earlier ones; return the success of each valid episode.

        Args:
            tasks: parameters of the tasks.
            episodes: approximate number of episodes; each task gets an equal number of them, at least 1.
        """
        rng = np.random.default_rng([self.config.seed, EVALUATION, step, _AGAIN])
        starts = [
            Start(RolloutTask(params, int(rng.integers(2**31)), 1))
            for params in tasks
            for _ in range(max(episodes // len(tasks), 1))
        ]
        played = self._player(language, step, _AGAIN, "train", len(starts)).play(starts, at_once=AT_ONCE)
        return [one.trajectory.success for one in played if one.trajectory.valid]

    def _player(self, language: LanguageModel, step: int, seed: int, split: str, episodes: int) -> EpisodePlayer:
        config = self.config
        engine = self._policy_engine.open(language, min(AT_ONCE, episodes), config.context, config.fp32_head)
        return self._prepare(engine, language.renderer, step, seed, split)

    def _prepare(self, engine: Engine, renderer: Any, step: int, seed: int, split: str) -> EpisodePlayer:
        config = self.config
        engine.load_weights(step)
        if self.thinking is not None:
            engine.thinking = self.thinking
        noise = derive_seed(config.seed, EVALUATION, step, seed)
        engine.seed(noise)
        return EpisodePlayer(
            self.environments(split),
            engine,
            renderer,
            token_limits(config),
            config.temperature,
            np.random.default_rng([config.seed, EVALUATION, step, seed]),
            noise=noise,
        )
