"""Evaluation of an agent on an environment: plays episodes and reports means with 95 % confidence intervals.

Episode i has a seed of its own, derived from (seed, i), and a difficulty of its own, so that the result depends neither
on the number of environments that run at once nor on the order in which episodes end. Episodes whose machinery
failed (``reward_valid`` False) are counted and left out, never averaged in as zeros.
"""

from __future__ import annotations

import difflib
import importlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec

from ..errors import InputError, unknown_name
from .agent import Agent, as_agent
from .atomic import write_atomically
from .episodes import EpisodePlan, EpisodeRecord, OnEpisode, play_episodes
from .evaluation_report import Bin, Estimate, PassAtK, Report, mean_interval, share_interval, wilson_interval
from .history import HistoryWrapper
from .replay import ReplayRecorder

__all__ = ["Bin", "Estimate", "PassAtK", "Report", "environment_spec", "evaluate", "mean_interval", "wilson_interval"]


def evaluate(
    agent: Agent | str | Callable[[Any], Any],
    env: str | gym.Env[Any, Any] | Callable[[], gym.Env[Any, Any]],
    episodes: int = 100,
    seed: int = 0,
    split: str = "test",
    difficulties: Sequence[float] | None = None,
    axes: Mapping[str, Any] | None = None,
    num_envs: int = 32,
    env_kwargs: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    progress: bool | OnEpisode = False,
    bins: int = 5,
    samples: int = 1,
    history: str | None = None,
    replay: str | Path | None = None,
) -> Report:
    """Play ``episodes`` episodes and report success, reward, progress and length with 95 % confidence intervals.

    Args:
        agent: an `Agent`, a registered name, or any callable ``observation -> action``.
        env: a Gymnasium id; an environment, with its wrappers, of which copies are made; or a function that makes one
            each time it is called. What has no ``param_space`` is played as it is: no split, no difficulty.
        episodes: how many to play, at least 1.
        seed: non-negative root of the episode seeds.
        split: which tasks: "train", "test" or "all". An environment made with a split, and those of a function, keep
            their own.
        difficulties: used in turn, episode i gets ``difficulties[i % len]``, and each has its own row in the
            report; None takes that with which the environment was made, or else spreads the episodes evenly over
            [0, 1] and sorts them into ``bins`` equal bins by the difficulty they really had.
        axes: restricts the axes of the tasks, name -> one value, (low, high), or a sequence of choices. Difficulty then
            runs from 0 to 1 inside what is left.
        num_envs: environments played side by side, at most; it does not change the result of an agent that acts on each
            slot alone.
        env_kwargs: passed to ``gymnasium.make``; not for a function.
        out: a file for the trajectories, one JSON object a line in the order of the episodes, written when all are
            played.
        progress: True draws a bar on standard error when the evaluation takes over two seconds; a callable receives
            ``(episodes done, episodes succeeded)`` after each episode.
        bins: number of difficulty bins, at least 1.
        samples: how often each of the ``episodes`` tasks is played, at least 1. Above 1 the report has pass@k (Chen et
            al. 2021, arXiv 2107.03374), and its intervals are over tasks. The first sample is what ``samples=1`` plays;
            for the others the agent receives other episode seeds.
        history: what the agent sees of a long episode, such as "notes(keep=2)", see `HistoryWrapper`; None: all of it.
        replay: a folder for the episodes as pages, one each, with pictures where the environment makes any; see
            `ReplayRecorder`.

    Raises:
        InputError: an unknown environment, agent or axis, or a value out of range; nothing was written.
        AgentError: the agent failed; the message names the episode.
    """
    for name, value, least in (
        ("episodes", episodes, 1),
        ("num_envs", num_envs, 1),
        ("bins", bins, 1),
        ("samples", samples, 1),
        ("seed", seed, 0),
    ):
        if value < least:
            raise InputError(f"{name} must be at least {least}, not {value}.")
    for difficulty in difficulties or ():
        if not 0 <= difficulty <= 1:
            raise InputError(f"a difficulty must be between 0 and 1, not {difficulty}.")
    if difficulties is not None and len(difficulties) == 0:
        raise InputError(
            "difficulties is empty; give at least one number between 0 and 1, or None to spread them evenly."
        )
    if out is not None and Path(out).is_dir():
        raise InputError(f"out must be a file for the trajectories, but {str(out)!r} is a folder.")
    if replay is not None and Path(replay).is_file():
        raise InputError(f"replay must be a folder for the pages, but {str(replay)!r} is a file.")
    player = as_agent(agent)
    width = min(num_envs, episodes, player.max_slots or num_envs)
    envs, used_split = _make_envs(env, width, split, dict(env_kwargs or {}), history, replay is not None)
    env_id = env if isinstance(env, str) else _name_of(envs[0])
    fixed = getattr(envs[0].unwrapped, "difficulty", None)
    if difficulties is None and axes is None and fixed is not None:
        difficulties = [float(fixed)]
    try:
        if replay is not None:
            numbers = itertools.count()  # slots begin the episodes of the plan in order
            envs = [ReplayRecorder(env, replay, player.name, numbers) for env in envs]
        plan = EpisodePlan(envs[0], env_id, episodes, seed, difficulties, axes)
        player.bind(envs)
        with _progress_bar(episodes * samples) if progress is True else nullcontext(progress or None) as on_episode:
            passes: list[list[EpisodeRecord]] = []
            for sample in range(samples):
                playing = _ReseededAgent(player, sample) if sample else player
                report = _count_on(on_episode, passes)
                passes.append(play_episodes(playing, envs, plan, keep_turns=out is not None, on_episode=report))
    finally:
        for env in envs:
            env.close()
    if out is not None:
        tasks = zip(*passes, strict=True)
        rows = (
            record.to_json() | ({"sample": sample} if samples > 1 else {})
            for task in tasks
            for sample, record in enumerate(task)
        )
        write_atomically(out, (json.dumps(row, default=_to_plain_data) + "\n" for row in rows))
    return make_report(passes, env_id, player.name, used_split, seed, None if difficulties is not None else bins)


class _ReseededAgent(Agent):
    """An agent that plays the same episodes again with other episode seeds, so that its own randomness differs."""

    def __init__(self, agent: Agent, sample: int):
        self._agent, self._sample = agent, sample
        self.name = agent.name

    def reset(self, indices: Sequence[int]) -> None:
        self._agent.reset(indices)

    def act(self, observations: Sequence[Any], infos: Sequence[Mapping[str, Any]]) -> Sequence[Any]:
        reseeded = []
        for info in infos:
            if "episode_seed" in info:
                root = np.random.SeedSequence([int(info["episode_seed"]), self._sample])
                info = {**info, "episode_seed": int(root.generate_state(1)[0])}
            reseeded.append(dict(info))
        return self._agent.act(observations, reseeded)


def _count_on(on_episode: OnEpisode | None, passes: Sequence[Sequence[EpisodeRecord]]) -> OnEpisode | None:
    """Wrap ``on_episode`` so that its counts include the earlier passes."""
    if on_episode is None:
        return None
    before = sum(map(len, passes)), sum(bool(record.success) for records in passes for record in records)
    return lambda done, succeeded: on_episode(before[0] + done, before[1] + succeeded)


def environment_spec(env_id: str) -> EnvSpec:
    """Return the Gymnasium spec of an id, or of ``"module:id"`` after importing the module.

    Raises:
        InputError: there is no such id; the message suggests the closest ones.
    """
    module, _, name = env_id.rpartition(":")
    if module:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise InputError(f"the module {module!r} of environment {env_id!r} cannot be imported: {error}.") from error
    try:
        return gym.spec(name)
    except gym.error.Error:
        # Near ids of any package, the namespace left out on either side; failing those, ours alone, as Gymnasium's own
        # would fill a page.
        spellings = {spelling: other for other in gym.registry for spelling in (other, other.rpartition("/")[2])}
        near = [
            *difflib.get_close_matches(name, spellings, n=3, cutoff=0.6),
            *difflib.get_close_matches(name.rpartition("/")[2], spellings, n=3, cutoff=0.6),
        ]
        ours = [other for other in gym.registry if other.startswith("palaestra/")]
        raise unknown_name("environment", name, {spellings[spelling] for spelling in near} or ours) from None


def _name_of(env: gym.Env[Any, Any]) -> str:
    return env.spec.id if env.spec is not None else type(env.unwrapped).__name__


def _spec_of(env: gym.Env[Any, Any], kwargs: dict[str, Any]) -> EnvSpec:
    """The spec of an environment that was made already, with its wrappers; its split becomes one of ``kwargs``."""
    spec = env.spec
    missing = [wrapper.name for wrapper in spec.additional_wrappers if wrapper.kwargs is None] if spec else []
    if spec is None or missing:
        why = f"the wrapper {missing[0]} does not record its arguments" if missing else "it has no spec"
        raise InputError(
            f"copies of {type(env.unwrapped).__name__} cannot be made, as {why}; give a function that makes the "
            "environment, such as lambda: MyWrapper(gymnasium.make('me/Env-v0'))."
        )
    if "split" in spec.kwargs:
        kwargs.setdefault("split", spec.kwargs["split"])
    return spec


def _make_envs(
    env: str | gym.Env[Any, Any] | Callable[[], gym.Env[Any, Any]],
    count: int,
    split: str,
    kwargs: dict[str, Any],
    history: str | None = None,
    pictures: bool = False,
) -> tuple[list[gym.Env], str | None]:
    """Make ``count`` environments; the split they draw from is None when the environment has no splits."""
    if not isinstance(env, str | gym.Env):
        if not callable(env):
            raise InputError(f"env must be an id, an environment or a function that makes one, not {env!r}.")
        if kwargs:
            raise InputError(f"env_kwargs are for an id or an environment; let the function take {sorted(kwargs)}.")
        made: list[gym.Env] = [HistoryWrapper(env(), history) if history else env() for _ in range(count)]
        return made, getattr(made[0].unwrapped, "split", None)
    spec = environment_spec(env) if isinstance(env, str) else _spec_of(env, kwargs)

    def make(**more: Any) -> gym.Env:
        # The checker is for those who write environments; here it would cost time at every step.
        one = gym.make(spec, disable_env_checker=True, **{**kwargs, **more})
        return HistoryWrapper(one, history) if history else one

    first = make()
    if pictures and "render_mode" not in kwargs and "rgb_array" in first.metadata.get("render_modes", []):
        kwargs["render_mode"] = "rgb_array"
        first.close()
        first = make()
    if getattr(first.unwrapped, "param_space", None) is None:
        return [first, *(make() for _ in range(count - 1))], None
    first.close()
    split = kwargs.pop("split", split)
    return [make(split=split) for _ in range(count)], split


def make_report(
    passes: Sequence[Sequence[EpisodeRecord]],
    env_id: str,
    agent: str,
    split: str | None,
    seed: int,
    bins: int | None = 5,
) -> Report:
    """Make the report of finished episodes.

    Args:
        passes: for each sample of the tasks, the records of all tasks in the same order.
        bins: number of difficulty bins; None makes a row of each difficulty that was requested.
    """
    tasks = [[record for record in task if record.valid] for task in zip(*passes, strict=True)]
    valid = [record for task in tasks for record in task]
    groups: dict[tuple[float, float], list[list[EpisodeRecord]]] = {}
    for task in filter(None, tasks):
        requested, difficulty = task[0].requested, task[0].difficulty
        if bins is None and requested is not None:
            groups.setdefault((requested, requested), []).append(task)
        elif bins is not None and difficulty is not None:
            # The small number keeps a difficulty such as 1/49 (1/49 · 49 < 1 in floats) in the bin that begins there.
            position = min(int(difficulty * bins + 1e-9), bins - 1)
            groups.setdefault((position / bins, (position + 1) / bins), []).append(task)
    several = len(passes) > 1
    return Report(
        env=env_id,
        agent=agent,
        split=split,
        seed=seed,
        episodes=len(valid),
        invalid=sum(map(len, passes)) - len(valid),
        truncated=sum(record.truncated for record in valid) / len(valid) if valid else 0.0,
        success=_success(tasks, several),
        reward=mean_interval(_means(tasks, "reward")),
        progress=mean_interval(_means(tasks, "progress"), 0.0, 1.0),
        length=mean_interval(_means(tasks, "length"), 0.0),
        by_difficulty=tuple(
            Bin(low, high, _success(group, several), mean_interval(_means(group, "reward")))
            for (low, high), group in sorted(groups.items())
        ),
        samples=len(passes),
        pass_at_k=_pass_at_k(tasks, len(passes)) if several else (),
    )


def _means(tasks: Sequence[Sequence[EpisodeRecord]], name: str) -> list[float]:
    """Mean of one field for each task over its samples; tasks without a value are left out."""
    known = [[value for record in task if (value := getattr(record, name)) is not None] for task in tasks]
    return [sum(values) / len(values) for values in known if values]


def _success(tasks: Sequence[Sequence[EpisodeRecord]], several: bool) -> Estimate:
    shares = _means(tasks, "success")
    return share_interval(shares) if several else wilson_interval(round(sum(shares)), len(shares))


def _pass_at_k(tasks: Sequence[Sequence[EpisodeRecord]], samples: int) -> tuple[PassAtK, ...]:
    # Imported here, as the learner's modules are heavy and most evaluations need none.
    from .grpo.run.pass_at_k import pass_at_ks, powers_of_two

    known = [[record.success for record in task if record.success is not None] for task in tasks]
    return pass_at_ks([(len(wins), sum(wins)) for wins in known], powers_of_two(samples))


def _to_plain_data(value: Any) -> Any:
    """Convert values without a JSON form: arrays and numpy scalars to lists and numbers, anything else to its repr."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return repr(value)


@contextmanager
def _progress_bar(episodes: int) -> Iterator[OnEpisode]:
    """A bar on standard error that appears once two seconds have passed."""
    import time

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task("evaluating", total=episodes)
    begun = time.monotonic()
    shown = False

    def on_episode(done: int, succeeded: int) -> None:
        nonlocal shown
        bar.update(task, completed=done, description=f"success {100 * succeeded / done:.0f} %")
        if not shown and time.monotonic() - begun > 2:
            bar.start()
            shown = True

    try:
        yield on_episode
    finally:
        if shown:
            bar.stop()
