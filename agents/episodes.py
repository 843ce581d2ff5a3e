"""Playing a plan of episodes with an agent, in several slots at once; used by `palaestra.evaluate`.

A plan gives the seed, the difficulty and the reset options of each episode; out comes one record an episode. A slot
starts the next episode of the plan as soon as its last one has ended.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from ..errors import InputError, MissingExtra
from ..rewards import Episode, Recording, Step
from .agent import Agent, AgentError, EndEpisode
from .stepping import threads_for

OnEpisode = Callable[[int, int], None]


@dataclass
class EpisodeRecord:
    """State and results of one episode, while it is played and after."""

    index: int
    seed: int
    requested: float | None
    difficulty: float | None = None
    task_id: str | None = None
    params: Mapping[str, Any] | None = None
    reward: float = 0.0
    length: int = 0
    success: bool | None = None
    progress: float | None = None
    truncated: bool = False
    valid: bool = True
    turns: list[dict[str, Any]] = field(default_factory=list)
    final_observation: Any = None
    episode: Episode | None = None

    def finish(self, recording: Recording, keep_turns: bool) -> None:
        """Enter the results of the recorded episode.

        Args:
            keep_turns: enter the turns, the last observation, and the episode as rewards judge it, too.
        """
        self.reward, self.length = recording.reward, len(recording.steps)
        self.success, self.progress = recording.success, recording.progress
        self.truncated, self.valid = recording.truncated, recording.valid
        if keep_turns:
            self.turns = [_turn(step) for step in recording.steps]
            self.final_observation = copy.deepcopy(recording.observation)
            self.episode = recording.episode()

    def to_json(self) -> dict[str, Any]:
        return {
            "episode": self.index,
            "seed": self.seed,
            "task_id": self.task_id,
            "params": self.params,
            "difficulty": self.difficulty,
            "turns": self.turns,
            "final_observation": self.final_observation,
            "return": self.reward,
            "is_success": self.success,
            "progress": self.progress,
            "truncated": self.truncated,
            "reward_valid": self.valid,
        }


class EpisodePlan:
    """The episodes to play: seed, requested difficulty and reset options of each."""

    def __init__(
        self,
        env: gym.Env,
        env_id: str,
        episodes: int,
        seed: int,
        difficulties: Sequence[float] | None,
        axes: Mapping[str, Any] | None,
    ):
        self.env_id = env_id
        self.episodes = episodes
        self.seed = seed
        self.difficulties = difficulties
        self.space = getattr(env.unwrapped, "param_space", None)
        if self.space is None and (difficulties is not None or axes):
            raise InputError(f"{env_id!r} has no difficulty and no axes; leave difficulties and axes out.")
        self.restricted = self.space.restrict(**axes) if self.space is not None and axes else None

    def begin(self, index: int) -> tuple[EpisodeRecord, dict[str, Any] | None]:
        """Make the record of episode ``index`` and the options to reset its environment with."""
        seed = int(np.random.SeedSequence([self.seed, index]).generate_state(1)[0])
        if self.space is None:
            return EpisodeRecord(index, seed, None), None
        if self.difficulties is not None:
            difficulty = float(self.difficulties[index % len(self.difficulties)])
        else:
            difficulty = index / (self.episodes - 1) if self.episodes > 1 else 0.5
        if self.restricted is not None:
            return EpisodeRecord(index, seed, difficulty), {"params": self.restricted.at(difficulty)}
        return EpisodeRecord(index, seed, difficulty), {"difficulty": difficulty}

    def record_task(self, record: EpisodeRecord, info: Mapping[str, Any]) -> None:
        """Record id, parameters and difficulty of the task from the ``info`` of the reset."""
        record.task_id, record.params = info.get("task_id"), info.get("params")
        record.difficulty = info.get("difficulty")
        if self.restricted is not None and record.params is not None:
            record.difficulty = self.restricted.difficulty(record.params)


def play_episodes(
    agent: Agent, envs: Sequence[gym.Env], plan: EpisodePlan, keep_turns: bool, on_episode: OnEpisode | None
) -> list[EpisodeRecord]:
    """Play every episode of the plan and return their records in the order of the plan."""
    records: list[EpisodeRecord] = []
    slots: list[EpisodeRecord | None] = [None] * len(envs)
    recordings: dict[int, Recording] = {}
    observations: list[Any] = [None] * len(envs)
    infos: list[dict[str, Any]] = [{} for _ in envs]
    done = succeeded = 0

    def refill(free: Iterable[int]) -> None:
        begun = []
        for slot in free:
            if len(records) == plan.episodes:
                slots[slot] = None
                infos[slot] = {**infos[slot], "idle": True}
                continue
            record, options = plan.begin(len(records))
            records.append(record)
            with _naming_episode(record, "reset"):
                observations[slot], info = envs[slot].reset(seed=record.seed, options=options)
            recordings[slot] = Recording(observations[slot], info)
            plan.record_task(record, info)
            infos[slot] = _hide_extras(info, record.seed)
            slots[slot] = record
            begun.append(slot)
        if begun:
            agent.reset(begun)

    def step(slot: int, record: EpisodeRecord, action: Any) -> Any:
        """Step an environment; return what the agent saw and the result, or None if the agent ends the episode."""
        if isinstance(action, EndEpisode):
            return None
        # Before the step, as some environments write into one array again and again.
        seen = copy.deepcopy(observations[slot]) if keep_turns else None
        with _naming_episode(record, "step"):
            return seen, envs[slot].step(action)

    threads = threads_for(envs[0])
    refill(range(len(envs)))
    while playing := [(slot, record) for slot, record in enumerate(slots) if record is not None]:
        actions = _choose_actions(agent, observations, infos, slots)
        steps = [(slot, record, actions[slot]) for slot, record in playing]
        outcomes = threads.map(step, *zip(*steps)) if threads else itertools.starmap(step, steps)
        ended = []
        for (slot, record), outcome in zip(playing, outcomes):
            recording = recordings[slot]
            if outcome is None:
                recording.truncated, recording.valid = True, recording.valid and actions[slot].valid
                if plan.space is not None:
                    recording.success, recording.progress = False, recording.progress or 0.0
            else:
                seen, result = outcome
                recording.add(actions[slot], result, seen=seen)
                record.length += 1
                observations[slot], infos[slot] = result[0], _hide_extras(result[4], record.seed)
            if recording.over:
                record.finish(recording, keep_turns)
                done, succeeded = done + 1, succeeded + bool(record.success)
                if on_episode:
                    on_episode(done, succeeded)
                ended.append(slot)
        if ended:
            refill(ended)
    return records


def _choose_actions(
    agent: Agent, observations: Sequence[Any], infos: Sequence[Mapping[str, Any]], slots: Sequence[EpisodeRecord | None]
) -> Sequence[Any]:
    """Return the agent's actions. Any failure of the agent is raised as an `AgentError` that names the episode."""
    try:
        actions = agent.act(list(observations), list(infos))
    except (InputError, MissingExtra):
        raise
    except Exception as error:
        record = slots[error.slot] if isinstance(error, AgentError) and error.slot is not None else None
        what = str(error) if isinstance(error, AgentError) else f"{type(error).__name__}: {error}"
        raise AgentError(f"agent {agent.name!r} failed in {_describe_place(record, slots)}: {what}") from error
    if not hasattr(actions, "__len__") or isinstance(actions, str) or len(actions) != len(slots):
        count = len(actions) if hasattr(actions, "__len__") and not isinstance(actions, str) else repr(actions)
        raise AgentError(
            f"agent {agent.name!r} returned {count} actions for {len(slots)} slots in {_describe_place(None, slots)}; "
            "act must return one action for each observation."
        )
    return actions


def _describe_place(record: EpisodeRecord | None, slots: Sequence[EpisodeRecord | None]) -> str:
    """ "episode 3 (seed 17, step 2)", or the episodes that were being played when it is not known which failed."""
    playing = [record] if record else [other for other in slots if other is not None]
    if len(playing) == 1:
        return f"episode {playing[0].index} (seed {playing[0].seed}, step {playing[0].length})"
    shown = ", ".join(str(other.index) for other in playing[:8])
    return f"one of episodes {shown}{', …' if len(playing) > 8 else ''}"


@contextmanager
def _naming_episode(record: EpisodeRecord, call: str) -> Iterator[None]:
    """Add the episode to the notes of any exception that an environment raises."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in {call}() of episode {record.index} (seed {record.seed}, step {record.length})")
        raise


def _hide_extras(info: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return what an agent gets of ``info``: all but the extras, among which are the reference and its solution."""
    return {**{name: value for name, value in info.items() if name != "extras"}, "episode_seed": seed}


def _turn(step: Step) -> dict[str, Any]:
    return {
        "observation": step.observation,
        "action": step.action,
        "reward": step.reward,
        "reward_terms": dict(step.terms),
        "action_error": step.action_error,
    }
