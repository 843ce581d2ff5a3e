"""Plays episodes: environments on one side, a sampler on the other, groups of trajectories out.

The one rollout path. Every episode is a session of the sampler; as soon as its action is complete its environment steps
and the next request is queued, so no episode waits for another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium

from ...errors import InputError
from ..engines.sampler import Completion, Request, Sampler
from ..language.renderer import Renderer
from .types import Group, Trajectory, Turn


@dataclass(frozen=True)
class Task:
    """What to play: environment parameters, the seed that fixes the instance, and how many samples.

    ``proposal`` is the teacher's number for it.
    """

    params: Mapping[str, Any]
    seed: int
    samples: int
    proposal: int = -1


@dataclass(frozen=True)
class Limits:
    """Budgets in tokens: of one action, of all actions of an episode, and of a whole conversation."""

    action: int
    episode: int
    context: int


@dataclass(eq=False)
class _Play:
    """An episode under way."""

    env: gymnasium.Env[Any, Any]
    group: int
    info: dict[str, Any]
    observation: str
    turns: list[Turn] = field(default_factory=list)
    tokens: int = 0
    used: int = 0
    valid: bool = True
    request: Request | None = None


class Environments:
    """Environments of one id, made on demand and reused; action and observation are text.

    Raises:
        InputError: the id's actions are not text.
    """

    def __init__(self, env_id: str, **kwargs: Any):
        self._id, self._kwargs = env_id, kwargs
        self._free: list[gymnasium.Env[Any, Any]] = []
        first = self.take()
        space = type(first.unwrapped.action_space).__name__
        if space != "Unicode":
            raise InputError(f"{env_id!r} takes actions from {space}, not text; choose an id with text actions.")
        self.param_space: Any = first.unwrapped.param_space  # type: ignore[attr-defined]
        self.give_back(first)

    def take(self) -> gymnasium.Env[Any, Any]:
        """An environment that nobody else steps."""
        if self._free:
            return self._free.pop()
        return gymnasium.make(self._id, disable_env_checker=True, **self._kwargs)

    def give_back(self, env: gymnasium.Env[Any, Any]) -> None:
        """Return it for reuse."""
        self._free.append(env)


def collect(
    tasks: Sequence[Task],
    environments: Environments,
    sampler: Sampler,
    renderer: Renderer,
    limits: Limits,
    temperature: float,
) -> list[Group]:
    """Play every sample of every task.

    Returns:
        One group per task, in the order of ``tasks``; samples in the order of their number.
    """
    plays: dict[int, _Play] = {}
    finished: dict[int, Trajectory] = {}
    for session, (group, task) in enumerate(_samples(tasks)):
        env = environments.take()
        observation, info = env.reset(seed=task.seed, options={"params": dict(task.params)})
        play = plays[session] = _Play(env, group, info, observation)
        _ask(play, session, renderer.observation(observation, first=True), sampler, limits, temperature)
        if play.request is None:
            raise InputError(
                f"the first observation leaves no room to answer in {limits.context} tokens of context; "
                "raise the context."
            )
    while completions := sampler.step():
        for completion in completions:
            play = plays[completion.session]
            ended = _advance(play, completion, renderer, sampler, limits, temperature)
            if ended is not None:
                finished[completion.session] = ended
                sampler.close(completion.session)
                environments.give_back(play.env)
    groups: list[list[Trajectory]] = [[] for _ in tasks]
    for session, play in plays.items():
        groups[play.group].append(finished[session])
    return [Group(task.proposal, tuple(trajectories)) for task, trajectories in zip(tasks, groups, strict=True)]


def _samples(tasks: Sequence[Task]) -> Iterator[tuple[int, Task]]:
    for group, task in enumerate(tasks):
        for _ in range(task.samples):
            yield group, task


def _ask(play: _Play, session: int, ids: tuple[int, ...], sampler: Sampler, limits: Limits, temperature: float) -> None:
    """Request the next action, within what is left of the budgets; ``play.request`` is None where nothing is."""
    room = min(limits.action, limits.episode - play.tokens, limits.context - play.used - len(ids))
    play.request = Request(session, ids, room, temperature) if room > 0 else None
    if play.request is not None:
        play.used += len(ids)
        sampler.submit(play.request)


def _advance(
    play: _Play, completion: Completion, renderer: Renderer, sampler: Sampler, limits: Limits, temperature: float
) -> Trajectory | None:
    """Step the environment with a completed action; returns the trajectory where the episode ends."""
    assert play.request is not None
    action = renderer.action(completion.ids)
    observation, reward, terminated, truncated, info = play.env.step(action)
    turn = Turn(
        obs_ids=tuple(play.request.ids),
        act_ids=completion.ids,
        logps=completion.logps,
        finish=completion.finish,
        reward=float(reward),
        observation=play.observation,
        action=action,
        reward_terms=dict(info.get("reward_terms", {})),
        action_error=info.get("action_error"),
    )
    play.turns.append(turn)
    play.tokens += len(completion.ids)
    play.used += len(completion.ids)
    play.valid &= bool(info.get("reward_valid", True))
    play.observation = observation
    if not (terminated or truncated):
        ids = renderer.observation(observation, first=False, stopped=completion.finish == "stop")
        _ask(play, completion.session, ids, sampler, limits, temperature)
        if play.request is not None:
            return None
        truncated = True
    return Trajectory(
        task_id=str(play.info["task_id"]),
        params=dict(play.info["params"]),
        difficulty=float(play.info["difficulty"]),
        turns=tuple(play.turns),
        success=bool(info.get("is_success", False)),
        progress=float(info.get("progress", 0.0)),
        truncated=bool(truncated) or completion.finish == "length",
        valid=play.valid,
        max_tokens=limits.episode,
    )


def with_shaping(group: Group, terms: Sequence[Mapping[str, float]], replaces: bool = False) -> Group:
    """The group with reward terms added to each of its trajectories, or put in place of the environment's."""
    shaped = []
    for trajectory, extra in zip(group.trajectories, terms, strict=True):
        # Two rewards may have a term of the same name.
        total = {name: trajectory.shaping.get(name, 0.0) + value for name, value in extra.items()}
        shaping = {**trajectory.shaping, **total}
        shaped.append(replace(trajectory, shaping=shaping, replaced=trajectory.replaced or replaces))
    return replace(group, trajectories=tuple(shaped))
