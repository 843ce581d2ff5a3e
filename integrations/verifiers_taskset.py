"""Taskset of verifiers over all ids, and the environment that plays its episodes, for the module `palaestra_vf`.

A task is an episode as plain data, so that it plays alike wherever it is sent; its prompt is the first observation. The
task plays and judges the answer to a question, so that other environments of verifiers (such as best of n) may sample
it too; a game is played by `PalaestraEnv`, with each observation as a user message. The reward is the episode's,
success and progress are metrics, and ``trace.info["palaestra"]`` has the whole outcome. If the machinery could not
judge an episode, the rollout has an error, and trainers leave it out; it never has a reward of 0.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import chain, zip_longest
from typing import Any, Literal

import verifiers.v1 as vf  # pyright: ignore[reportMissingImports]
from pydantic import Field

from ..errors import InputError
from .core import EpisodeResult, EpisodeRow, has_one_answer, make_samples, make_text_env
from .episode_thread import ThreadedEpisode

INFO = "palaestra"
"""Key of the outcome in a trace's ``info``, an `EpisodeResult` as a mapping."""


class PalaestraConfig(vf.TasksetConfig):
    env: str = "palaestra/Arithmetic-v0"
    """Ids with text observations and actions, separated by commas; the tasks of several ids alternate."""
    n: int = 1000
    """Number of tasks per id."""
    split: Literal["train", "test", "all"] = "train"
    """Split of the tasks; train and test have no task in common."""
    seed: int = 0
    """Seed of the first task; later tasks count up from it."""
    kwargs: dict[str, Any] = Field(default_factory=dict)
    """Further arguments of the environments, such as {"difficulty": 0.5}."""


class EpisodeData(vf.TaskData):
    """Row of an episode (see `palaestra.integrations.core.EpisodeRow`), with the hash and difficulty of its task."""

    env: str
    seed: int
    kwargs: str
    options: str
    task_id: str
    difficulty: float | None
    one_answer: bool

    def row(self) -> EpisodeRow:
        return EpisodeRow(self.env, self.seed, self.kwargs, self.options)


class EpisodeTask(vf.Task[EpisodeData, vf.State, vf.TaskConfig]):
    @property
    def key(self) -> str:
        """Key of the episode, equal for all its rollouts, wherever the task stands in the taskset."""
        data = self.data
        return f"{data.env} {data.seed} {data.kwargs} {data.options}"

    @vf.reward
    async def reward(self, trace: vf.Trace) -> float:
        """Return the reward of the played episode; for a question, the last reply is played as the answer first.

        Raises:
            InputError: the episode has several turns and was not played.
            RuntimeError: the episode could not be judged.
        """
        if INFO not in trace.info:
            trace.info[INFO] = await self._answer(trace.last_reply)
        result = EpisodeResult(**trace.info[INFO])
        if not result.reward_valid:
            raise RuntimeError("the episode could not be judged, for a reason that is not the player's")
        if result.is_success is not None:
            trace.record_metric("success", float(result.is_success))
        trace.record_metric("progress", result.progress)
        return result.reward

    async def _answer(self, reply: str) -> dict[str, Any]:
        if not self.data.one_answer:
            raise InputError(f"an episode of {self.data.env} has several turns and was not played; leave --env.id out.")
        episode = ThreadedEpisode()
        try:
            await asyncio.wrap_future(episode.begin(self.data.row()))
            await asyncio.wrap_future(episode.act(reply))
            return episode.result().plain()
        finally:
            episode.close()


class PalaestraEnvConfig(vf.EnvConfig):
    player: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())
    """Agent that plays; by default `ChatHarness`, which runs in this process and gives the model nothing to execute."""


class PalaestraEnv(vf.Env[PalaestraEnvConfig]):
    """Environment that plays the episode of a task: each reply is an action, each observation a user message."""

    async def run(self, task: EpisodeTask, agents: vf.Agents) -> None:
        if task.data.one_answer:
            await agents.player.run(task)
            return
        episode = ThreadedEpisode()
        try:
            await asyncio.wrap_future(episode.begin(task.data.row()))
            async with agents.player.interaction(task) as interaction:
                try:
                    segment = await interaction.turn()
                    while not segment.terminated:
                        observation = await asyncio.wrap_future(episode.act(segment.last_reply))
                        if episode.over:
                            break
                        segment = await interaction.turn(observation)
                finally:  # store the result so far, which the task judges when the interaction ends
                    interaction.trace.info[INFO] = episode.result().plain()
        finally:
            episode.close()


class PalaestraTaskset(vf.Taskset[EpisodeTask, PalaestraConfig]):
    def load(self) -> Iterator[EpisodeTask]:
        config = self.config
        names = [name.strip() for name in config.env.split(",") if name.strip()]
        if not names:
            raise InputError(f"env names no environment: {config.env!r}; give an id such as palaestra/Wordle-v0.")
        streams = [self._load(name) for name in names]
        yield from (task for task in chain.from_iterable(zip_longest(*streams)) if task is not None)

    def _load(self, env_id: str) -> Iterator[EpisodeTask]:
        config = self.config
        with make_text_env(env_id, {**config.kwargs, "split": config.split}) as env:
            one_answer = has_one_answer(env)
        for sample in make_samples(env_id, config.n, config.split, config.seed, config.kwargs):
            names = ("prompt", "env", "seed", "kwargs", "options", "task_id", "difficulty")
            data = {name: sample[name] for name in names}
            name = f"{env_id} {sample['seed']}"
            yield EpisodeTask(EpisodeData(**data, name=name, one_answer=one_answer), config.task)
