"""Sources of solutions; several form a pool, from which teacher rows and hints are taken.

A source writes any number of solutions per task. `gather_solutions` plays all of them in the environment and keeps
those that the environment's verifier accepts. A strategy names its sources by text: ``"oracle + model(samples=2)"``.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ....checks import check_count
from ....errors import InputError
from ....registry import Registry
from ....rewards.judges.endpoint import EndpointJudge
from ...oracle import write_solution
from ..batch.trajectory import Origin, Trajectory, trajectory_from_json, trajectory_to_json
from ..recipes.recipe import Component
from .environments import begin
from .episode_player import EpisodePlayer
from .episode_starts import FinishedEpisode, RolloutTask, Start
from .guidance import Solution, context_limits, solve
from .independent import play_by_task

_log = logging.getLogger(__name__)


class SolutionSource:
    """Base class of the sources; a source with memory must override `remember` and both state methods too.

    ``needs`` names requirements on the run, such as "teacher_model". A source is ``trusted`` if its solutions come from
    the environment.
    """

    needs: frozenset[str] = frozenset()
    trusted: ClassVar[bool] = False

    def solve(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[list[Solution]]:
        """Return solutions of each task, right or wrong; the origin of their tokens is TEACHER."""
        raise NotImplementedError

    def remember(self, trajectories: Sequence[Trajectory]) -> None:
        """Store what later solutions need from the policy's episodes; called after each step."""

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        return


SOLUTIONS: Registry[Callable[..., SolutionSource]] = Registry("source of solutions")


def make_sources(text: str) -> list[SolutionSource]:
    """Make the sources that a text such as ``"oracle + own(most=3)"`` names.

    Raises:
        InputError: no source is named, or a source or parameter is unknown.
    """
    named = Component.parse_all(text)
    if not named:
        raise InputError(f"at least one source of solutions is needed, such as 'oracle', not {text!r}.")
    return [SOLUTIONS.make(component.name, **component.params) for component in named]


def gather_solutions(
    sources: Sequence[SolutionSource], tasks: Sequence[RolloutTask], player: EpisodePlayer, complete: bool = True
) -> list[list[Solution]]:
    """Return the pool of each task: the right solutions of all sources, in the order of the sources, without
    duplicates.

    Args:
        complete: leave out a trusted source's solution that the verifier rejects, as when the context cuts it off;
            False keeps it, as hints can still be made from it.
    """
    pools: list[dict[tuple[str, ...], Solution]] = [{} for _ in tasks]
    for source in sources:
        for pool, solutions in zip(pools, source.solve(tasks, player), strict=True):
            for solution in solutions:
                if solution.is_right or (source.trusted and not complete):
                    pool.setdefault(solution.actions, solution)
    return [list(pool.values()) for pool in pools]


@SOLUTIONS.register("oracle")
class OracleSolutions(SolutionSource):
    """Solutions of the environment's scripted solver: worked steps, then the answer."""

    trusted = True

    def solve(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[list[Solution]]:
        return [[solution] for solution in solve(tasks, player)]


@SOLUTIONS.register("rationale")
class RationaleSolutions(SolutionSource):
    """Rationale of the data set's record, ``extras["rationale"]``, followed by the answer; no solution without a
    rationale."""

    trusted = True

    def solve(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[list[Solution]]:
        env = player.environments.take()
        written: list[list[tuple[str, ...]]] = []
        for task in tasks:
            _, info = begin(env, task.seed, task.params)
            rationale = str((info.get("extras") or {}).get("rationale") or "").strip()
            written.append([(write_solution(env, rationale),)] if rationale else [])
        player.environments.give_back(env)
        return _play_actions(tasks, written, player)


@SOLUTIONS.register("model")
@dataclass(eq=False)
class ModelSolutions(SolutionSource):
    """Samples of the run's second model, ``--teacher-model``.

    Args:
        samples: number of episodes per task.
        optional: ignore this source in runs without a second model; if False, such a run is refused.
    """

    samples: int = 1
    optional: bool = False

    def __post_init__(self) -> None:
        check_count("samples", self.samples, 1, "episodes")
        self.needs = frozenset() if self.optional else frozenset({"teacher_model"})

    def solve(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[list[Solution]]:
        if player.teacher is None:
            if self.optional:
                return [[] for _ in tasks]
            raise InputError("the source 'model' samples a second model, and the run names none; pass --teacher-model.")
        by_task = play_by_task(player.teacher(), [[Start(task)] * self.samples for task in tasks], states=True)
        return [[Solution.read(mark_as_teacher(each), player.renderer) for each in played] for played in by_task]


@SOLUTIONS.register("endpoint")
class EndpointSolutions(SolutionSource):
    """Replies of a model behind an OpenAI-compatible chat endpoint, which plays the whole episode.

    A task whose requests failed gets no solution from it; the log has the reason.

    Args:
        samples: number of episodes per task.
        instruction: system message of every conversation.
        model, base_url, temperature, max_tokens, timeout, retries, concurrency: see `EndpointJudge`; the key comes from
            the environment variable ``OPENAI_API_KEY``.
    """

    def __init__(
        self,
        model: str | None = None,
        base_url: str | None = None,
        samples: int = 1,
        instruction: str = "Work step by step, one short step a line, and end with the answer on a line of its own.",
        temperature: float = 0.7,
        max_tokens: int = 2048,
        timeout: float = 60.0,
        retries: int = 4,
        concurrency: int = 8,
    ):
        self.samples, self.instruction = check_count("samples", samples, 1, "episodes"), instruction
        self._taking = threading.Lock()
        self._endpoint = EndpointJudge(
            model or "",
            base_url=base_url,
            temperature=temperature,
            max_tokens=max_tokens,
            timeout=timeout,
            retries=retries,
            concurrency=concurrency,
        )

    def solve(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[list[Solution]]:
        """Play the episodes of all tasks at the same time, in ``concurrency`` threads."""
        with self._endpoint, ThreadPoolExecutor(self._endpoint.concurrency) as pool:
            replies = [[pool.submit(self._play, task, player) for _ in range(self.samples)] for task in tasks]
            written = [[future.result() for future in several] for several in replies]
        return _play_actions(tasks, [[actions for actions in several if actions] for several in written], player)

    def _play(self, task: RolloutTask, player: EpisodePlayer) -> tuple[str, ...]:
        """Play one episode and return its actions; () if the endpoint or the environment failed."""
        with self._taking:
            env = player.environments.take()
        actions: list[str] = []
        messages = [{"role": "system", "content": self.instruction}] if self.instruction else []
        try:
            observation, _ = begin(env, task.seed, task.params)
            over = False
            while not over:
                messages.append({"role": "user", "content": str(observation)})
                reply = self._endpoint.chat(messages)
                if reply is None:
                    player.environments.give_back(env)
                    return ()
                messages.append({"role": "assistant", "content": reply})
                actions.append(reply)
                observation, _, terminated, truncated, _ = env.step(reply)
                over = bool(terminated or truncated)
        except InputError:
            raise
        except Exception:
            _log.exception("an environment failed while an endpoint played it; the episode is left out")
            return ()
        player.environments.give_back(env)
        return tuple(actions)


@SOLUTIONS.register("own")
class OwnSolutions(SolutionSource):
    """Earlier successes of the policy at the same task.

    Args:
        most: number of latest successes stored per task.
        tasks: most tasks stored; the least recently solved is dropped first.
    """

    def __init__(self, most: int = 1, tasks: int = 4096):
        self.most = check_count("most", most, 1, "successes")
        self.tasks = check_count("tasks", tasks, 1, "tasks")
        self._memory: dict[str, list[Trajectory]] = {}

    def solve(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[list[Solution]]:
        if not self._memory:
            return [[] for _ in tasks]
        env = player.environments.take()
        names = [str(begin(env, task.seed, task.params)[1].get("task_id", "")) for task in tasks]
        player.environments.give_back(env)
        remembered = [[FinishedEpisode(t) for t in self._memory.get(name, ())] for name in names]
        return [[Solution.read(mark_as_teacher(p), player.renderer) for p in several] for several in remembered]

    def remember(self, trajectories: Sequence[Trajectory]) -> None:
        for trajectory in trajectories:
            if not trajectory.success or not trajectory.valid:
                continue
            rows = self._memory.pop(trajectory.task_id, [])
            if all(_action_ids(row) != _action_ids(trajectory) for row in rows):
                rows = [*rows, trajectory][-self.most :]
            self._memory[trajectory.task_id] = rows
        while len(self._memory) > self.tasks:
            self._memory.pop(next(iter(self._memory)))

    def state_dict(self) -> dict[str, Any]:
        # A list, because tasks are dropped in this order.
        return {"memory": [[task, [trajectory_to_json(t) for t in rows]] for task, rows in self._memory.items()]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._memory = {task: [trajectory_from_json(row) for row in rows] for task, rows in state["memory"]}


def mark_as_teacher(played: FinishedEpisode) -> FinishedEpisode:
    """Return a copy of an episode whose tokens have the origin TEACHER."""
    return replace(played, trajectory=played.trajectory.attributed_to_teacher())


def _play_actions(
    tasks: Sequence[RolloutTask], written: Sequence[Sequence[tuple[str, ...]]], player: EpisodePlayer
) -> list[list[Solution]]:
    """Play the written actions of each task; the origin of their tokens is TEACHER."""
    starts = [
        [
            Start(task, actions=actions, oracle_origin=Origin.TEACHER, limits=context_limits(player))
            for actions in several
        ]
        for task, several in zip(tasks, written, strict=True)
    ]
    solutions = []
    for episodes in play_by_task(player, starts, states=True):
        rows = [replace(p, trajectory=replace(p.trajectory, max_tokens=player.limits.episode)) for p in episodes]
        solutions.append([Solution.read(row, player.renderer) for row in rows])
    return solutions


def _action_ids(trajectory: Trajectory) -> tuple[tuple[int, ...], ...]:
    return tuple(turn.act_ids for turn in trajectory.turns)
