"""Teachers of other projects: a file for `peer_server` that imports nothing of this package.

Requests and answers are as follows. "size" is the number of axes of the unit cube, or of arms; returns are in [0, 1];
"seconds" is the processor time that the project's code took:

    {"make": "teachDeepRL/alp-gmm", "size": 2, "seed": 0, "options": {}}
    {"seconds": 0.001}
    {"propose": 2}
    {"tasks": [[0.1, 0.7], [0.3, 0.2]], "seconds": 0.0001}
    {"observe": [[[0.1, 0.7], [0.0]], [[0.3, 0.2], [1.0]]]}
    {"seconds": 0.0002}

A new teacher replaces the previous one.
"""

from __future__ import annotations

import collections
import contextlib
import importlib
import importlib.metadata
import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np


class TeachDeepRL:
    """A teacher of flowersteam/teachDeepRL (Portelas et al. 2019) on the unit cube."""

    def __init__(self, module: str, name: str, size: int, seed: int, options: dict[str, Any]):
        teacher = getattr(importlib.import_module(f"teachDRL.teachers.algos.{module}"), name)
        # Its uniform tasks come from gym's boxes, which it does not seed; it treats a seed of 0 as no seed.
        boxes, seeding = np.random.default_rng(seed), importlib.import_module("gym.utils.seeding")
        vars(seeding)["np_random"] = lambda own=None: (np.random.default_rng(boxes.integers(2**63)), own)
        self.teacher = teacher([0.0] * size, [1.0] * size, seed=seed + 1, params=options)

    def propose(self, k: int) -> list[list[float]]:
        drawn = []
        for _ in range(k):
            if not hasattr(self.teacher, "r_t_pairs"):
                # RIAC sometimes mutates an earlier task, and fails if it has no result yet; without any it is uniform.
                self.teacher.sampled_tasks = []
            drawn.append(self.teacher.sample_task().tolist())
        return drawn

    def observe(self, results: list[tuple[list[float], list[float]]]) -> None:
        for task, returns in results:
            self.teacher.update(np.array(task, dtype=np.float32), sum(returns) / len(returns))


class SyllabusProgress:
    """OnlineLearningProgress of Syllabus: progress of the success rate, without separate evaluations.

    Syllabus has no default for the number of episodes between updates; the CartPole example of Syllabus takes 1000. Its
    `sample` draws from the same distribution as `propose` here, but in version 0.7 fails, because it compares the
    distribution with an empty list.
    """

    def __init__(self, size: int, seed: int, options: dict[str, Any]):
        spaces = importlib.import_module("syllabus.task_space")
        curriculum = importlib.import_module("syllabus.curricula.online_learning_progress").OnlineLearningProgress
        self.rng = np.random.default_rng(seed)
        self.curriculum = curriculum(spaces.DiscreteTaskSpace(size), **{"update_interval": 1000, **options})

    def propose(self, k: int) -> list[int]:
        distribution = self.curriculum._sample_distribution()
        return self.rng.choice(len(distribution), size=k, p=distribution).tolist()

    def observe(self, results: list[tuple[int, list[float]]]) -> None:
        for task, returns in results:
            for ret in returns:
                self.curriculum.update_task_progress(task, ret)
                self.curriculum.update_on_episode(ret, 1, task, ret)


class SyllabusReplay:
    """The sampler of prioritized level replay of Syllabus. A task's score is the mean absolute difference between the
    returns of a group and their mean, which is the L1 value loss with that mean as the critic.

    Replay is "fixed", as in the project's Procgen example: its default asks for an evaluator as soon as all tasks were
    seen.
    """

    def __init__(self, size: int, seed: int, options: dict[str, Any]):
        sampler = importlib.import_module("syllabus.curricula.plr.task_sampler").TaskSampler
        np.random.seed(seed)  # noqa: NPY002 - the generator that the project draws from
        self.sampler = sampler(list(range(size)), 1, **{"replay_schedule": "fixed", **options})

    def propose(self, k: int) -> list[int]:
        return [self.sampler.sample() for _ in range(k)]

    def observe(self, results: list[tuple[int, list[float]]]) -> None:
        for task, returns in results:
            loss = np.abs(np.array(returns) - np.mean(returns))
            self.sampler.update_task_score(0, task, loss.mean(), loss.max(), len(returns))


class ReasoningGymCoach:
    """A curriculum of reasoning-gym with one attribute, whose levels are the arms.

    The package changes the level on request. The rule is that of its training code, after each batch: up if the last
    2,560 scores average above 0.7, down if below 0.3.
    """

    def __init__(self, size: int, seed: int, options: dict[str, Any]):
        coaching = importlib.import_module("reasoning_gym.coaching")
        self.curriculum = coaching.BaseCurriculum("arms", dict)
        arms = {"name": "arm", "description": "", "field_name": "arm", "levels": list(range(size))}
        self.curriculum._define_attributes(coaching.ScalarAttributeDefinition(**arms))
        rule = {"last_k": 2560, "raise_above": 0.7, "lower_below": 0.3, **options}
        self.scores: collections.deque[float] = collections.deque(maxlen=rule["last_k"])
        self.rule = rule

    def propose(self, k: int) -> list[int]:
        return [self.curriculum.generate_configuration()["arm"]] * k

    def observe(self, results: list[tuple[int, list[float]]]) -> None:
        for _, returns in results:
            self.scores.extend(returns)
        if len(self.scores) == self.scores.maxlen:
            mean = sum(self.scores) / len(self.scores)
            if mean > self.rule["raise_above"]:
                self.curriculum.increment_global_level()
            elif mean < self.rule["lower_below"]:
                self.curriculum.decrement_global_level()


def _teach_deep_rl(module: str, name: str) -> Callable[..., TeachDeepRL]:
    return lambda size, seed, options: TeachDeepRL(module, name, size, seed, options)


# Name -> (module to look for, distribution or "" for a checkout, function that makes the teacher).
ORIGINALS: dict[str, tuple[str, str, Callable[..., Any]]] = {
    "teachDeepRL/alp-gmm": ("teachDRL", "", _teach_deep_rl("alp_gmm", "ALPGMM")),
    "teachDeepRL/riac": ("teachDRL", "", _teach_deep_rl("riac", "RIAC")),
    "teachDeepRL/covar-gmm": ("teachDRL", "", _teach_deep_rl("covar_gmm", "CovarGMM")),
    "syllabus/learning-progress": ("syllabus", "syllabus-rl", SyllabusProgress),
    "syllabus/plr": ("syllabus", "syllabus-rl", SyllabusReplay),
    "reasoning-gym/coach": ("reasoning_gym", "reasoning-gym", ReasoningGymCoach),
}


def find_installed() -> dict[str, str]:
    """Return the teachers whose project can be imported here, with the project's version."""
    found = {}
    for name, (module, distribution, _) in ORIGINALS.items():
        if importlib.util.find_spec(module) is not None:
            found[name] = "checkout"
            with contextlib.suppress(importlib.metadata.PackageNotFoundError, ValueError):
                found[name] = importlib.metadata.version(distribution)
    return found


_teacher: Any = None


def answer(**request: Any) -> dict[str, Any]:
    global _teacher
    begun = time.process_time()
    found = {}
    if "make" in request:
        _teacher = ORIGINALS[request["make"]][2](request["size"], request["seed"], request["options"])
    if "propose" in request:
        found["tasks"] = _teacher.propose(request["propose"])
    if "observe" in request:
        _teacher.observe(request["observe"])
    return {**found, "seconds": time.process_time() - begun}
