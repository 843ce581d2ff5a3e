"""T9 of ``palaestra bench teachers --env``: students on environments of your own, on tasks that the teacher chooses.

A setting is text, the id of the environment and its learner: "my_module:mine/Cart-v0", "my_module:mine/Cart-v0
learner=q rate=0.5". The test is on tasks spread evenly over the environment's range of difficulty, from the split
"test" where it has splits, and otherwise with seeds that training does not use.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
from collections.abc import Mapping
from typing import Any

from ...agents.evaluation import Report, environment_spec, evaluate
from ...agents.learners import LEARNERS
from ...agents.students.student_config import StudentConfig
from ...envs.param_env import make_task_env
from ...errors import InputError, unknown_name
from ...teachers import choose_space, make, range_options
from ...teachers.benchmarks.table import Table, TableResult, parse_named, parse_teacher
from ..harness import require
from ..students import train_student
from .gridworlds import AT_THE_END, CHECKPOINTS, ON_THE_WAY

LENGTH = 100_000
SB3 = "sb3"


class OwnSettings(dict[str, dict[str, Any]]):
    """Settings by their text."""

    def __missing__(self, text: str) -> dict[str, Any]:
        env, options = parse_named("setting", text)
        return {"length": LENGTH, "env": env, "learner": options.pop("learner", "ppo"), "options": options}


def check_setting(text: str) -> None:
    """Check the learner, its options, and that the environment has parameters.

    Raises:
        InputError: one of them does not fit.
        MissingExtra: the learner's extra is not installed.
    """
    setting = OwnSettings()[text]
    if setting["learner"] == SB3:
        require("the learner sb3", "ppo", "stable_baselines3")
    else:
        configure(setting, "random", 0, LENGTH)
    with make_task_env(environment_spec(setting["env"])) as env:
        if not len(getattr(env.unwrapped, "param_space", ())):
            raise InputError(
                f"{setting['env']} has no parameters for a teacher to choose; palaestra.envs.ParamEnv gives it some."
            )


def configure(setting: Mapping[str, Any], teacher: str, seed: int, length: int) -> StudentConfig:
    """Return the configuration of a run of one of our own learners.

    Raises:
        InputError: an unknown learner, one that no teacher can serve, or an unknown option of it.
    """
    students = [name for name, kind in LEARNERS.items() if issubclass(kind.config, StudentConfig)]
    if setting["learner"] not in students:
        raise unknown_name("learner", setting["learner"], [*students, SB3])
    kind = LEARNERS[setting["learner"]].config
    name, teacher_options = parse_teacher(teacher)
    fixed = {
        "env": setting["env"],
        "teacher": name,
        "teacher_options": teacher_options,
        "seed": seed,
        "steps": length,
        "eval_every": max(length // CHECKPOINTS, 1),
        "eval_episodes": ON_THE_WAY,
        "final_episodes": AT_THE_END,
        "checkpoint_every": 2 * length,
        "threads": 1,
        "device": "cpu",
        "track": (),
    }
    known = [field.name for field in dataclasses.fields(kind) if field.name not in fixed]
    for option in setting["options"]:
        if option not in known:
            raise unknown_name(f"option of {setting['learner']}", option, known)
    own = {field.name: fixed[field.name] for field in dataclasses.fields(kind) if field.name in fixed}
    return kind(**own, **setting["options"])


def train(setting: Mapping[str, Any], teacher: str, seed: int, length: int) -> TableResult:
    """Train one student under a teacher for ``length`` environment steps, and test it on the way and at the end."""
    if setting["learner"] == SB3:
        rows = train_sb3(setting, teacher, seed, length)
    else:
        require(f"the learner {setting['learner']}", "train", *(("torch",) if setting["learner"] != "q" else ()))
        rows, _ = train_student(configure(setting, teacher, seed, length))
    low, high = find_range(setting["env"])
    scores = [_score(row, low, high) for row in rows]
    hardest = max(rows[-1]["by_difficulty"], key=lambda part: part["low"])["success"]
    return TableResult(
        score=scores[-1],
        curve=([float(row["step"]) for row in rows], scores),
        measures={
            "over the run": sum(scores[1:]) / len(scores[1:]),
            "return in its range": _place(rows[-1], low, high),
            **({} if math.isnan(hardest) else {"hardest": hardest}),
        },
        hyperparameters=parse_teacher(teacher)[1],
    )


def find_range(env_id: str) -> tuple[float, float]:
    """Return the range of returns that an environment declares, by default (0, 1)."""
    with make_task_env(environment_spec(env_id)) as env:
        low, high = range_options(env).get("return_range", (0.0, 1.0))
    return low, high


def _score(row: Mapping[str, Any], low: float, high: float) -> float:
    """Return the success rate of a row of an evaluation, or the place of its mean return in the declared range."""
    if not math.isnan(row["success"]):
        return float(row["success"])
    return _place(row, low, high)


def _place(row: Mapping[str, Any], low: float, high: float) -> float:
    """Return the place of a row's mean return in the declared range: 0 is the least, 1 the most."""
    return (float(row["reward"]) - low) / (high - low)


def train_sb3(setting: Mapping[str, Any], teacher: str, seed: int, length: int) -> list[dict[str, Any]]:
    """Train a model of Stable-Baselines3 on one environment; return the rows of its evaluations."""
    from ...agents.grpo.run.logs import evaluation_row
    from ...integrations.sb3 import as_arrays, curriculum_env

    options = dict(setting["options"])
    algorithm = str(options.pop("algorithm", "PPO"))
    kind = getattr(importlib.import_module("stable_baselines3"), algorithm, None)
    if kind is None:
        raise InputError(f"Stable-Baselines3 has no algorithm {algorithm!r}; PPO, A2C and DQN are some of it.")
    part = max(length // CHECKPOINTS, 64)
    if algorithm == "PPO":
        options.setdefault("n_steps", min(2048, part // 64 * 64))
    spec = environment_spec(setting["env"])
    env = make_task_env(spec, split="train")
    name, chosen = parse_teacher(teacher)
    env = curriculum_env(env, make(name, choose_space(name, env), seed=seed, **{**range_options(env), **chosen}))
    model = kind("MlpPolicy", env, seed=seed, device="cpu", **options)

    def test(episodes: int) -> dict[str, Any]:
        report: Report = evaluate(
            lambda observation: model.predict(observation, deterministic=False)[0],
            lambda: as_arrays(make_task_env(spec, split="test")),
            episodes=episodes,
        )
        return {**evaluation_row(model.num_timesteps, report), "reward": report.reward.mean}

    rows = [test(AT_THE_END)]
    while model.num_timesteps < length:
        model.learn(min(part, length - model.num_timesteps), reset_num_timesteps=False)
        rows.append(test(AT_THE_END if model.num_timesteps >= length else ON_THE_WAY))
    env.close()
    return rows


TABLE = Table(
    name="T9",
    title="students on environments of your own",
    about=(
        "A student learns on tasks that the teacher chooses. The score is the share solved of held-out tasks, spread "
        "evenly over the difficulties; where the environment reports no success, the place of the mean return in the "
        "declared range of returns."
    ),
    settings=OwnSettings(),
    notes={},
    run=train,
    teachers=lambda: ["random", "palaestra", "alp-gmm"],
    kinds=frozenset({"box", "arms", "levels"}),
    without=frozenset({"format-ladder", "format-stages"}),
    length="environment steps",
    score="held-out tasks solved",
    x="environment steps",
    curve="held-out tasks solved",
    seeds=5,
    columns=("over the run", "return in its range"),
    further=(
        "Over the run: the mean of the scores on the way, from fewer tasks. Return in its range: place of the last "
        "test's mean return in the declared range. Hardest: share solved of the hardest part of the held-out tasks."
    ),
)
