"""Evaluation of an agent on one environment or several, with 95 % confidence intervals.

Each episode i has its own difficulty and its own seed, derived from (seed, i), so the result depends neither on the
number of environments that run at the same time nor on the order in which episodes end. Invalid episodes
(``info["reward_valid"]`` False, or an exception of the environment) are counted and left out of the means, never
averaged in as zeros. An exception of the agent makes the episode a failed one, which counts as a failure.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import gymnasium as gym
import numpy as np

from ...checks import check_count, check_share
from ...errors import InputError, shorten
from ..agent import Agent
from ..atomic import check_output
from ..lookup import as_agent
from ..replay import ReplayRecorder
from ..usage import sum_usage
from .environment_spec import make_envs, name_of
from .episode_log import EpisodeLog
from .episodes import EpisodePlan, EpisodeRecord
from .intervals import Estimate, effective_count, mean_interval, share_interval, solved_to, wilson_interval
from .playing import play_episodes
from .progress import progress_bar
from .report import Bin, PassAtK, Report
from .requirements import check_requirements
from .rows import digest_rows, find_rows
from .suite_report import SuiteReport
from .suites import find_suite

OnEpisode = Callable[[int, int], None]


class EvaluationStopped(KeyboardInterrupt):
    """Exception for Ctrl-C during an evaluation.

    Attributes:
        report: report of the episodes that had ended; None if there are none.
        log: the file with these episodes, from which ``resume=True`` continues; None if no file was requested.
    """

    def __init__(self, report: Report | None, log: Path | None):
        super().__init__("the evaluation was stopped")
        self.report, self.log = report, log


Environment = str | gym.Env[Any, Any] | Callable[[], gym.Env[Any, Any]]


def evaluate(
    agent: Agent | str | Callable[..., Any],
    env: Environment,
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
    concurrency: int | None = None,
    resume: bool = False,
    retries: int = 0,
    shots: int = 0,
    rows: Literal["all"] | int | Sequence[str] | None = None,
) -> Report:
    """Play ``episodes`` episodes and report success, reward, progress and length with 95 % confidence intervals.

    Args:
        agent: an `Agent`; a value of ``--agent``, such as a registered name or the folder of a run; or any function: of
            the observation or of the whole conversation, plain or ``async def``, or a generator (`CallableAgent`).
        env: a Gymnasium id; an environment, which is copied with its wrappers; or a function that makes a new
            environment at each call. An environment without ``param_space`` is played without split and difficulty.
            For several environments, and suites, use `evaluate_all`.
        episodes: number of episodes, at least 1.
        seed: non-negative number from which the episode seeds are derived.
        split: split of the tasks: "train", "test" or "all". A split in ``env_kwargs``, in a copied environment or in an
            environment made by a function overrides it.
        difficulties: episode i gets ``difficulties[i % len(difficulties)]``, and the report has a row for each. None:
            the difficulty with which the environment was made; if it was made without one, the episodes are spread
            evenly over [0, 1] and grouped into ``bins`` equal bins by their actual difficulty.
        axes: restricts axes: name -> one value, (low, high), or choices. Difficulties from 0 to 1 then span the
            restricted range.
        num_envs: most environments played at the same time. It does not change the result of an agent that acts on each
            slot independently.
        env_kwargs: options for ``gymnasium.make``; not allowed if ``env`` is a function.
        out: file for the trajectories, one JSON object per line in the order of the episodes. Until all are played, the
            file is ``out``.partial, and each episode is appended as soon as it ends.
        progress: True draws a bar on standard error after two seconds; a callable receives ``(episodes done, episodes
            succeeded)`` after each episode.
        bins: number of difficulty bins, at least 1.
        samples: episodes per task, at least 1. Above 1 the report has pass@k (Chen et al. 2021, arXiv 2107.03374). The
            first sample equals the episode of ``samples=1``; for each further one the agent gets another episode seed.
        history: argument of `HistoryWrapper`, such as "notes(keep=2)"; None: the agent sees the whole episode.
        shots: number of worked examples before each question, see `ShotsWrapper`.
        rows: rows of a data set, in place of ``episodes`` and ``split``: "all", each once in the order of the source; a
            number of rows from the beginning of the source; or a list of ids. The report has the ids.
        replay: folder for one page per episode, with pictures if the environment renders any; see `ReplayRecorder`.
        concurrency: replaces ``num_envs``, and also is the number of threads that call a plain function, which must be
            thread-safe. None: ``num_envs`` environments, and a plain function is called in this thread.
        resume: True continues with the episodes in ``out``.partial, or else in ``out``; only missing ones are played.
        retries: number of times that an episode is replayed if agent or environment failed; with ``resume`` also
            failed episodes in the file.

    Raises:
        InputError: an unknown environment, agent or axis, a value out of range, or an ``out`` that does not fit;
            nothing was written.
        AgentError: the agent failed in every episode; the message names the first episode.
        EvaluationStopped: Ctrl-C; it has the report of the played episodes.
    """
    if isinstance(env, Sequence) and not isinstance(env, str):
        raise InputError(f"env must be one environment, not {shorten(repr(env))}; give several to evaluate_all.")
    _check(episodes, seed, difficulties, num_envs, bins, samples, concurrency, retries, out, replay, resume)
    player = as_agent(agent)
    kwargs, pictures = dict(env_kwargs or {}), replay is not None
    asked: tuple[str, ...] | None = None
    if rows is not None:
        if difficulties is not None or axes is not None:
            raise InputError("rows of a data set are asked as they are; leave difficulties and axes out.")
        split, kwargs = "all", {"split": "all", **kwargs}
        asked = find_rows(rows, env, kwargs, player.prompt_form)
        episodes = len(asked)
    num_envs = num_envs if concurrency is None else concurrency
    width = min(num_envs, episodes * samples, player.max_slots or num_envs)
    envs, used_split = make_envs(env, width, split, dict(kwargs), history, pictures, shots, player.prompt_form)
    env_id = env if isinstance(env, str) else name_of(envs[0])
    fixed = getattr(envs[0].unwrapped, "difficulty", None)
    if difficulties is None and axes is None and fixed is not None:
        difficulties = [float(fixed)]
    shown = None if difficulties is not None else bins
    bounds = getattr(envs[0].unwrapped, "return_range", (-math.inf, math.inf))
    log: EpisodeLog | None = None
    records: dict[tuple[int, int], EpisodeRecord] = {}

    def report() -> Report:
        done = [records[key] for key in sorted(records)]
        return make_report(done, env_id, player.name, used_split, seed, shown, samples, bounds)

    try:
        plan = EpisodePlan(envs[0], env_id, episodes, seed, difficulties, axes, asked)
        if out is not None:
            settings = {"env": env_id, "agent": player.name, "split": used_split, "axes": axes, "env_options": kwargs}
            settings |= {"history": history, "shots": shots} | (
                {} if asked is None else {"rows": rows if isinstance(rows, str | int) else digest_rows(asked)}
            )
            log = EpisodeLog(out, settings, resume)
            log.check_plan(plan)
            for key, record in list(log.records.items()):
                if retries and (record.error is not None or not record.valid):
                    log.forget(key)
                elif key[0] < episodes and key[1] < samples:
                    records[key] = record
        jobs = [(i, sample) for sample in range(samples) for i in range(episodes) if (i, sample) not in records]
        if replay is not None:
            # Slots begin the episodes in the order of the jobs; retried episodes come last.
            numbers = itertools.chain(
                (sample * episodes + i for i, sample in jobs), itertools.count(episodes * samples)
            )
            envs = [ReplayRecorder(env, replay, player.name, numbers) for env in envs]
        player.bind(envs)
        with progress_bar(episodes * samples) if progress is True else nullcontext(progress or None) as on_episode:

            def on_record(record: EpisodeRecord) -> None:
                records[record.index, record.sample] = record
                if log is not None:
                    log.append(record)
                    record.turns, record.final_observation, record.episode, record.reference = [], None, None, None
                if on_episode:
                    on_episode(len(records), sum(bool(other.success) for other in records.values()))

            play_episodes(player, envs, plan, out is not None, jobs, on_record, retries, not records, concurrency)
        if log is not None:
            log.finish()
    except KeyboardInterrupt as stop:
        raise EvaluationStopped(report() if records else None, log.source if log else None) from stop
    finally:
        if log is not None:
            log.close()
        for env in envs:
            env.close()
    return report()


def evaluate_all(
    agent: Agent | str | Callable[..., Any],
    envs: str | Sequence[Environment],
    out: str | Path | None = None,
    **settings: Any,
) -> SuiteReport:
    """Evaluate an agent on a suite, or on several environments.

    Args:
        agent: as for `evaluate`.
        envs: the name of a suite, such as "palaestra/core", or a list of environments as for `evaluate`.
        out: folder for the trajectories, with one file per environment.
        settings: further arguments of `evaluate`; ``replay`` gets a subfolder per environment. The arguments episodes,
            seed, split, difficulties, axes and env_kwargs are fixed by a suite and must not be given with one.

    Raises:
        InputError: the suite is unknown, a setting is fixed by the suite, or as in `evaluate`.
    """
    suite = find_suite(envs) if isinstance(envs, str) else None
    if suite is not None:
        fixed = {"episodes", "seed", "split", "difficulties", "axes", "env_kwargs"} & settings.keys()
        if fixed:
            raise InputError(f"{', '.join(sorted(fixed))} belong to the suite {suite.name}; leave them out.")
    tasks = [(env, {}) for env in envs] if suite is None else suite.tasks()
    if not tasks:
        raise InputError("envs is empty; give at least one environment, or the name of a suite.")
    check_output(out, "out", folder=True)
    check_output(settings.get("replay"), "replay", folder=True)
    player = as_agent(agent)
    check_requirements(tasks, settings)
    reports = []
    for number, (env, own) in enumerate(tasks):
        name = env.rpartition("/")[2] if isinstance(env, str) else f"environment-{number}"
        file = None if out is None else Path(out) / f"{name}.jsonl"
        pages = None if settings.get("replay") is None else Path(settings["replay"]) / name
        reports.append(evaluate(player, env, out=file, **{**settings, **own, "replay": pages}))
    if suite is None:
        return SuiteReport("", tuple(reports))
    return SuiteReport(f"{suite.name} {suite.version}", tuple(reports), suite.content_hash, suite.baselines)


def _check(
    episodes: int,
    seed: int,
    difficulties: Sequence[float] | None,
    num_envs: int,
    bins: int,
    samples: int,
    concurrency: int | None,
    retries: int,
    out: str | Path | None,
    replay: str | Path | None,
    resume: bool,
) -> None:
    for name, value, least in (
        ("episodes", episodes, 1),
        ("num_envs", num_envs, 1),
        ("bins", bins, 1),
        ("samples", samples, 1),
        ("seed", seed, 0),
        ("concurrency", 1 if concurrency is None else concurrency, 1),
        ("retries", retries, 0),
    ):
        if isinstance(value, int | np.integer) and not isinstance(value, bool) and value < least:
            raise InputError(f"{name} must be at least {least}, not {value}.")
        check_count(name, value, least)
    if isinstance(difficulties, str) or not isinstance(difficulties, Sequence | np.ndarray | None):
        raise InputError(f"difficulties must be numbers between 0 and 1, such as (0.2, 0.8), not {difficulties!r}.")
    for difficulty in () if difficulties is None else difficulties:
        check_share("a difficulty", difficulty)
    if difficulties is not None and len(difficulties) == 0:
        raise InputError(
            "difficulties is empty; give at least one number between 0 and 1, or None to spread them evenly."
        )
    check_output(out, "out")
    if out is None and resume:
        raise InputError("resume goes on with the episodes of a file; name it by out.")
    check_output(replay, "replay", folder=True)


def make_report(
    records: Sequence[EpisodeRecord],
    env_id: str,
    agent: str,
    split: str | None,
    seed: int,
    bins: int | None = 5,
    samples: int = 1,
    return_range: tuple[float, float] = (-math.inf, math.inf),
) -> Report:
    """Make the report of finished episodes.

    Args:
        records: records of all episodes, sorted by index in the plan and sample.
        bins: number of difficulty bins; None makes a row for each requested difficulty.
        samples: number of episodes per task of the plan.
        return_range: lowest and highest possible return of an episode, to which the reward's interval is clipped;
            ignored if an episode's return lies outside, as a wrapper may change rewards.
    """
    valid = [record for record in records if record.valid]
    plays: dict[int, list[EpisodeRecord]] = {}  # by index in the plan; one record per sample
    for record in valid:
        plays.setdefault(record.index, []).append(record)
    groups: dict[tuple[float, float], list[list[EpisodeRecord]]] = {}
    for group in plays.values():
        requested, difficulty = group[0].requested, group[0].difficulty
        if bins is None and requested is not None:
            groups.setdefault((requested, requested), []).append(group)
        elif bins is not None and difficulty is not None:
            # The small number keeps a difficulty such as 1/49 (1/49 · 49 < 1 in floats) in the bin that begins with it.
            position = min(int(difficulty * bins + 1e-9), bins - 1)
            groups.setdefault((position / bins, (position + 1) / bins), []).append(group)
    every = list(plays.values())
    if not all(return_range[0] <= record.reward <= return_range[1] for record in valid):
        return_range = (-math.inf, math.inf)
    judged = [record for record in valid if record.success is not None and record.difficulty is not None]
    curve = None
    if len(judged) >= 10 and len({record.difficulty for record in judged}) >= 3:
        found = solved_to(
            [record.difficulty or 0.0 for record in judged],
            [float(record.success or 0.0) for record in judged],
            [record.task for record in judged],
        )
        curve = None if math.isnan(found.mean) else found
    return Report(
        env=env_id,
        agent=agent,
        split=split,
        seed=seed,
        episodes=len(valid),
        invalid=len(records) - len(valid),
        truncated=sum(record.truncated for record in valid) / len(valid) if valid else 0.0,
        success=_success(every, samples),
        reward=_mean(every, "reward", *return_range),
        progress=_mean(every, "progress", 0.0, 1.0),
        length=_mean(every, "length", 0.0),
        by_difficulty=tuple(
            Bin(low, high, _success(group, samples), _mean(group, "reward", *return_range), _count_tasks(group))
            for (low, high), group in sorted(groups.items())
        ),
        samples=samples,
        pass_at_k=_pass_at_k(every, samples) if samples > 1 else (),
        tasks=_count_tasks(every),
        errored=sum(record.failed for record in valid),
        refused=sum(record.refused > 0 for record in valid),
        safe_failures=_safe_failures(valid),
        figures={
            name: _mean(every, lambda record, name=name: record.figures.get(name))
            for name in dict.fromkeys(name for record in valid for name in record.figures)
        },
        first_error=next((record.error for record in records if record.error), None),
        solved_to=curve,
        usage=sum_usage(record.usage for record in records),
        results=tuple(
            {
                "episode": record.index,
                "sample": record.sample,
                **({} if record.row is None else {"row": record.row}),
                "task_id": record.task_id,
                "difficulty": record.difficulty,
                "success": record.success,
                "reward": record.reward,
                "valid": record.valid,
            }
            for record in records
        ),
    )


Plays = Sequence[Sequence[EpisodeRecord]]
"""Valid episodes grouped by task of the plan; one episode per sample."""


def _count_tasks(plays: Plays) -> int:
    return len({group[0].task for group in plays})


Field = str | Callable[[EpisodeRecord], Any]


def _means(plays: Plays, name: Field) -> tuple[list[float], list[Any]]:
    """Return the mean of a field for each task of the plan for which it is known, and the identities of these tasks."""
    read = attrgetter(name) if isinstance(name, str) else name
    values, tasks = [], []
    for group in plays:
        known = [float(value) for record in group if (value := read(record)) is not None]
        if known:
            values.append(math.fsum(known) / len(known))
            tasks.append(group[0].task)
    return values, tasks


def _mean(plays: Plays, name: Field, low: float = -math.inf, high: float = math.inf) -> Estimate:
    values, tasks = _means(plays, name)
    return mean_interval(values, low, high, clusters=tasks)


def _success(plays: Plays, samples: int) -> Estimate:
    shares, tasks = _means(plays, "success")
    if samples > 1:
        return share_interval(shares, clusters=tasks)
    return wilson_interval(round(sum(shares)), len(shares), effective=effective_count(shares, tasks))


def _pass_at_k(plays: Plays, samples: int) -> tuple[PassAtK, ...]:
    from .pass_at_k import pass_at_ks, powers_of_two

    known = [[record for record in group if record.success is not None] for group in plays]
    known = [group for group in known if group]
    counts = [(len(group), sum(bool(record.success) for record in group)) for group in known]
    return pass_at_ks(counts, sorted({*powers_of_two(samples), samples}), [group[0].task for group in known])


def _safe_failures(records: Sequence[EpisodeRecord]) -> tuple[int, int] | None:
    """Return `Report.safe_failures`."""
    failed = [record.safe for record in records if record.safe is not None and not record.success]
    return (sum(failed), len(failed)) if failed else None
