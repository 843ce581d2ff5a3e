"""Run of a student in a folder: iterations, logs, evaluations, checkpoints.

The folder has the same format for every learner (`grpo.run.folder`); steps are environment steps. An iteration depends
only on data that checkpoints contain, so a run that was killed and resumed produces the same bytes.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from ... import teachers
from ...errors import InputError
from ...schedules import describe_jump
from ..evaluation import Report, evaluate
from ..grpo.recipes.recipe import Component
from ..grpo.run.folder import (
    RunFolder,
    checkpoint_errors,
    find_checkpoint,
    newest_checkpoint,
    read_learner,
    refuse_changes,
)
from ..grpo.run.full_paths import with_absolute_paths
from ..grpo.run.logs import evaluation_row
from ..grpo.run.observers import Notices, TrainingProgress
from ..grpo.run.trackers import TRACKERS, Tracker, evaluation_values, trackers_for
from ..learners import LEARNERS
from .bonuses import BONUSES, Bonus, describe_bonus, make_bonuses
from .bonuses.slot_bonus import conditions_policy
from .practice import Practice, PracticeEpisode
from .student_agent import StudentAgent
from .student_config import StudentConfig
from .student_envs import environment_of_run, level_seeds, make_environment

KEPT_EPISODES = 32
"""Most episodes of an iteration that are written to ``proposals.jsonl``."""
_EVALUATION = 0


class StudentRun:
    """Run of a student, to be made with `start` or `resume`; then call `run`.

    Raises:
        InputError: the configuration names something that does not exist, or an environment that the student cannot
            play; raised before anything is written.
    """

    folder: RunFolder

    def __init__(self, config: StudentConfig):
        for name in config.track:
            TRACKERS[name]
        self.config = config
        self.bonuses: list[Bonus] = make_bonuses(config.bonus, getattr(config, "discount", 0.99))
        with closing(make_environment(config, "train")) as probe:
            self.space = getattr(probe.unwrapped, "param_space", None)
            teacher = self._make_teacher(probe)
        self.practice = Practice(
            lambda: make_environment(config, "train"),
            config.environments,
            config.seed,
            teacher,
            [bonus.reward for bonus in self.bonuses],
            getattr(config, "discount", 0.99),
            getattr(config, "decay", 0.95),
            critic=config.critic,
            levels=level_seeds(config),
        )
        self.step = 0
        self._stop = False
        self._jump: list[str] = []
        self._trackers: list[Tracker] = []
        with ExitStack() as unless_made:
            unless_made.callback(self.close)
            module, _, name = config.student.partition(":")
            student = getattr(importlib.import_module(f".{module}", __package__), name)
            self.student: Any = student(config, self.practice)
            unless_made.pop_all()

    def _make_teacher(self, env: gym.Env[Any, Any]) -> teachers.Teacher | None:
        config = self.config
        if config.teacher is None:
            return None
        if self.space is None:
            raise InputError(
                f"{config.env!r} has no parameters for the teacher {config.teacher!r} to choose; leave --teacher out."
            )
        space = teachers.choose_space(config.teacher, env)
        options = {**teachers.range_options(env), **config.teacher_options}
        return teachers.make(config.teacher, space, seed=config.seed, **options)

    @classmethod
    def start(cls, out: str | Path, config: StudentConfig) -> StudentRun:
        """Make a new run in a new folder. Raises InputError if the folder is not free."""
        RunFolder.check_free(Path(out))
        config = with_absolute_paths(config)
        run = cls(config)
        with ExitStack() as unless_begun:
            unless_begun.callback(run.close)
            run.practice.begin()
            run.folder = RunFolder.create(Path(out), config)
            unless_begun.pop_all()
        return run

    @classmethod
    def resume(cls, path: str | Path, config: StudentConfig | None = None) -> StudentRun:
        """Continue a run from its newest checkpoint, or from the start if it has none.

        Args:
            config: expected configuration, or None; only ``steps`` may differ from the saved one.

        Raises:
            InputError: the folder holds no run, or a run with another configuration.
        """
        kind = LEARNERS[read_learner(Path(path))].config
        folder, saved = RunFolder.reopen(Path(path), kind, lock=True)
        with ExitStack() as unless_begun:
            unless_begun.callback(folder.unlock)
            planned = saved.steps
            if config is not None:
                config, saved = with_absolute_paths(config), with_absolute_paths(saved)
                refuse_changes(Path(path), config, saved, ("steps",))
                saved = config
            run = cls(saved)
            unless_begun.callback(run.close)
            run.folder = folder
            newest = newest_checkpoint(folder.path)
            if newest is None:
                run.practice.begin()
            else:
                with checkpoint_errors(newest):
                    state = json.loads((newest / "state.json").read_text(encoding="utf-8"))
                    run.student.load(newest, state["student"])
                    run.practice.load_state_dict(state["practice"])
                    run.step = int(state["step"])
            if saved.steps + saved.iteration <= run.step:
                raise InputError(f"{str(path)!r} has taken {run.step} steps already; ask for as many --steps or more.")
            if getattr(saved, "anneal", False):
                run._jump = describe_jump("learning rate", run._rate, run.step, planned, saved.steps, saved.iteration)
            folder.write_config(saved)
            folder.rewind(-1 if newest is None else run.step)
            unless_begun.pop_all()
        return run

    def stop(self) -> None:
        """Make `run` save and return after the current iteration."""
        self._stop = True

    def close(self) -> None:
        """Close the environments and unlock the folder; `run` does both at its end."""
        self.practice.close()
        if hasattr(self, "folder"):
            self.folder.unlock()

    def run(
        self,
        watch: Callable[[TrainingProgress], None] = lambda progress: None,
        notify: Callable[[str], None] | None = None,
    ) -> bool:
        """Train and evaluate. Return False if `stop` ended the run early.

        Args:
            watch, notify: see `grpo.Learner.run`.
        """
        self.folder.lock()
        notices = Notices(self.folder) if notify is None else Notices(self.folder, notify)
        if self.step == 0:
            notices.add(0, "start", *self.config.describe_rounding())
        sentences = [describe_bonus(bonus) for bonus in self.bonuses]
        try:
            self._trackers = trackers_for(self.config, self.folder.path, self.step)
            if newest_checkpoint(self.folder.path) is None:
                notices.add(0, "start", *sentences)
                self._evaluate(watch, self.config.final_episodes)
                self._save()
            else:
                notices.repeat(sentences)
                notices.add(self.step, "resume", *self._jump)
            return self._run(watch)
        finally:
            self.close()
            for tracker in self._trackers:
                tracker.close()

    def _run(self, watch: Callable[[TrainingProgress], None]) -> bool:
        config = self.config
        while self.step < config.steps:
            before = self.step
            self._iterate(watch)
            last = self.step >= config.steps
            if last or _passed(config.eval_every, before, self.step):
                self._evaluate(watch, config.final_episodes if last else config.eval_episodes)
            if last or self._stop or _passed(config.checkpoint_every, before, self.step):
                self._save()
            if self._stop and not last:
                return False
        return True

    def _rate(self, step: int, steps: int) -> float:
        """Return the annealed learning rate of the iteration that ends at ``step``."""
        config: Any = self.config
        return config.lr * (1.0 - (step - config.iteration) / steps)

    def _iterate(self, watch: Callable[[TrainingProgress], None]) -> None:
        config, begun = self.config, time.perf_counter()
        learned = self.student.iterate(self.step / config.steps)
        self.step += config.iteration
        for bonus in self.bonuses:
            bonus.reward.advance(self.step, config.steps)
        seconds = time.perf_counter() - begun
        finished = self.practice.take_finished()
        metrics = {"step": self.step, "env_steps": config.iteration, **summarise_episodes(finished), **learned}
        if self.practice.teacher is not None:
            metrics |= {f"teacher/{name}": value for name, value in self.practice.teacher.metrics().items()}
        rows = [_episode_row(self.step, one, self.space) for one in finished[:KEPT_EPISODES] if self.space is not None]
        rates = {"seconds": seconds, "steps_per_s": config.iteration / seconds}
        self.folder.append("metrics", [metrics])
        self.folder.append("proposals", rows)
        self.folder.append("timings", [{"step": self.step, **rates}])
        for tracker in self._trackers:
            tracker.log(self.step, {**metrics, **{f"time/{name}": value for name, value in rates.items()}})
        watch(TrainingProgress("train", self.step, max(config.steps, self.step), {**metrics, **rates}))

    def evaluate(self, episodes: int, seed: int = 0, split: str = "test") -> Report:
        """Evaluate the current policy on tasks spread evenly over the trained range of difficulty, without bonuses."""
        config = self.config
        env_id, options = environment_of_run(config)
        axes = options.pop("axes", None)
        agent = StudentAgent(self.student, name=config.learner, seed=_EVALUATION)
        return evaluate(
            *(agent, env_id, episodes, seed, split),
            axes=axes,
            num_envs=min(config.environments, episodes),
            env_kwargs=options,
        )

    def _evaluate(self, watch: Callable[[TrainingProgress], None], episodes: int) -> None:
        report = self.evaluate(episodes)
        row = {**evaluation_row(self.step, report), "reward": report.reward.mean}
        self.folder.append("evaluations", [row])
        for tracker in self._trackers:
            tracker.log(self.step, evaluation_values(row))
        # If the environment does not report success, policies are compared by reward.
        score = report.reward.mean if math.isnan(report.success.mean) else report.success.mean
        best = self.folder.best_success()
        if best is None or score > best:
            with self.folder.best_checkpoint(self.step, score) as place:
                self.student.save_policy(place)
        watch(TrainingProgress("evaluate", self.step, self.config.steps, {"success": report.success.mean}))

    def _save(self) -> None:
        with self.folder.checkpoint(self.step) as place:
            state = {"step": self.step, "student": self.student.save(place), "practice": self.practice.state_dict()}
            (place / "state.json").write_text(json.dumps(state, default=_as_plain), encoding="utf-8")


def load_student(folder: str | Path, checkpoint: str = "newest", temperature: float = 1.0) -> StudentAgent:
    """Make an agent from a run's folder.

    Args:
        checkpoint: "newest", "best" (of the run's evaluations), or a step.
        temperature: see `StudentAgent`.

    Raises:
        InputError: the folder has no run of a student, or the checkpoint is missing or unreadable.
    """
    student, config = open_student(folder, checkpoint)
    return StudentAgent(student, config.learner, temperature)


def open_student(folder: str | Path, checkpoint: str = "newest") -> tuple[Any, StudentConfig]:
    """Load the student of a run's folder, for playing or inspection. Return student and configuration of the run.

    Raises:
        InputError: as in `load_student`.
    """
    path = Path(folder)
    _, config = RunFolder.reopen(path, LEARNERS[read_learner(path)].config)
    place = find_checkpoint(path, checkpoint)
    # Bonuses whose sub-goals the policy is conditioned on determine its network.
    shown = tuple(t for t in config.bonus if conditions_policy(BONUSES[Component.parse(t).name]))
    alone = dataclasses.replace(config, environments=1, teacher=None, teacher_options={}, bonus=shown)
    with closing(StudentRun(alone)) as run, checkpoint_errors(place):
        run.student.load_policy(place)
    return run.student, config


def summarise_episodes(finished: Sequence[PracticeEpisode]) -> dict[str, float]:
    """Return the numbers of episodes of an iteration, and means over the valid ones, for ``metrics.jsonl``."""
    valid = [one for one in finished if one.valid]
    found: dict[str, float] = {"episodes": len(finished), "invalid_episodes": len(finished) - len(valid)}
    if valid:
        found |= {"reward": float(np.mean([one.reward for one in valid]))}
        found |= {"actions": float(np.mean([one.length for one in valid]))}
        if any(one.bonus for one in valid):
            found["bonus"] = float(np.mean([one.bonus for one in valid]))
        known = [one.success for one in valid if one.success is not None]
        if known:
            found["success"] = float(np.mean(known))
    return found


def _episode_row(step: int, one: PracticeEpisode, space: Any) -> dict[str, Any]:
    """Return an episode's task and outcome as a row of ``proposals.jsonl``, in the form of other learners."""
    unit = dict(zip(space.names, space.to_unit(one.params).tolist()))
    return {
        "step": step,
        "task_id": one.task_id,
        "params": dict(one.params),
        "unit": [unit[name] for name in one.params],
        "difficulty": float(space.difficulty(one.params)),
        "origin": one.origin,
        "n": int(one.valid),
        "success": float(one.success) if one.valid and one.success is not None else None,
        "reward": one.reward,
        "length": one.length,
    }


def _passed(every: int, before: int, after: int) -> bool:
    """Return True if a multiple of ``every`` lies in (``before``, ``after``]; False if ``every`` is 0."""
    return every > 0 and after // every > before // every


def _as_plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be saved")
