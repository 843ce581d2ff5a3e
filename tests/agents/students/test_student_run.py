"""Runs of students: folder, resumption, evaluation, command line."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import palaestra
import pytest
from palaestra.agents.learners import load_player
from palaestra.agents.students import (
    GoExploreConfig,
    HandOverConfig,
    NoveltyConfig,
    PPOConfig,
    QConfig,
    StudentConfig,
)
from palaestra.agents.students.student_run import StudentRun, load_student, summarise_episodes
from palaestra.errors import InputError
from palaestra.scripts.cli import main
from palaestra.scripts.report import write_report

SMALL = {"eval_every": 0, "eval_episodes": 4, "final_episodes": 6, "track": ()}
Q = QConfig(env="students/Corridor-v0", environments=4, steps=800, log_every=200, checkpoint_every=400, **SMALL)
P = PPOConfig(
    **{"env": "students/Corridor-v0", "environments": 4, "rollout": 16, "steps": 256, "checkpoint_every": 128},
    **{"hidden": 8, "minibatch": 16, "memory": 4, "bonus": ("count", "potential"), "teacher": "alp-gmm"},
    **SMALL,
)
CURIOUS = PPOConfig(
    **{"env": "students/Corridor-v0", "environments": 4, "rollout": 16, "steps": 256, "checkpoint_every": 128},
    **{"hidden": 8, "minibatch": 16, "bonus": tuple(f"{name}(settle=20, batch=8)" for name in ("rdd", "hindsight"))},
    **SMALL,
)
REMEMBERING = ("stages(demonstrations=3)", "empowerment", "goal-text", "waypoints", "progress-head(settle=40, batch=7)")
MAPPED = PPOConfig(
    **{"env": "palaestra/DoorKey-v0", "axes": {"size": 5, "obstacles": 0}, "env_options": {"max_steps": 40}},
    **{"environments": 4, "rollout": 16, "steps": 256, "checkpoint_every": 128, "hidden": 8, "minibatch": 16},
    **{"bonus": ("landmarks", "graph-subgoals(share=0.2, steps=5)", *REMEMBERING)},
    **SMALL,
)
DESIGNED = QConfig(
    **{"env": "palaestra/DoorKey-v0", "axes": {"size": 5, "obstacles": 0}, "env_options": {"max_steps": 40}},
    **{"environments": 4, "log_every": 100, "steps": 400, "checkpoint_every": 200},
    bonus=("lare(hidden=4, settle=2)", "oni(mode='ranking')", "designed(designer='explors', every=3)"),
    **SMALL,
)


# Small mazes, which the teacher makes and edits.
MAZES = PPOConfig(
    **{"env": "palaestra/BlockMaze-v0", "axes": {"size": 5, "blocks": [0, 3]}, "env_options": {"max_steps": 8}},
    **{"teacher": "accel", "teacher_options": {"capacity": 4}, "environments": 4, "rollout": 16, "steps": 512},
    **{"checkpoint_every": 256, "hidden": 8, "minibatch": 32},
    **SMALL,
)

# Exploration ends before the checkpoint of the first, and after that of the second.
RETURNS = GoExploreConfig(
    **{"env": "palaestra/BlockMaze-v0", "axes": {"size": 5, "blocks": [0, 3]}, "levels": 2, "environments": 4},
    **{"rollout": 32, "steps": 2048, "checkpoint_every": 1024, "hidden": 8, "minibatch": 32, "explore_share": 0.25},
    **SMALL,
)
EXPLORES = dataclasses.replace(RETURNS, explore_share=0.75)

HANDED_OVER = HandOverConfig(
    **{"env": "palaestra/DoorKey-v0", "axes": {"size": 5, "obstacles": 0}, "env_options": {"max_steps": 40}},
    **{"environments": 4, "log_every": 64, "steps": 256, "checkpoint_every": 128, "hidden": 8, "minibatch": 8},
    **{"demonstrations": 2, "clone_updates": 20, "critics": 2, "demonstrator": "solver", "t1": 200, "capacity": 100},
    **SMALL,
)


class Stopped(BaseException):
    """In place of a kill: nothing of ours handles it."""


def run_until(path: Path, config: StudentConfig, step: int | None = None) -> None:
    def watch(progress):
        if progress.phase == "train" and progress.step == step:
            raise Stopped

    StudentRun.start(path, config).run(watch, lambda sentence: None)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file but what depends on the clock."""
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in files.items() if name != "timings.jsonl"}


KINDS = {
    "q": Q,
    "ppo": P,
    "levels": MAZES,
    "curious": CURIOUS,
    "designed": DESIGNED,
    "returns": RETURNS,
    "explores": EXPLORES,
    "mapped": MAPPED,
    "handed-over": HANDED_OVER,
}


@pytest.mark.parametrize("config", KINDS.values(), ids=KINDS)
def test_a_run_that_was_interrupted_goes_on_to_the_same_bytes(config, tmp_path):
    run_until(tmp_path / "whole", config)
    with pytest.raises(Stopped):
        run_until(tmp_path / "cut", config, step=config.checkpoint_every + config.iteration)
    assert contents(tmp_path / "cut") != contents(tmp_path / "whole")
    assert StudentRun.resume(tmp_path / "cut").run(notify=lambda sentence: None)
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")


def test_the_checkpoints_of_go_explore_lie_in_either_of_its_phases(tmp_path):
    for config, learns in ((RETURNS, True), (EXPLORES, False)):
        run_until(tmp_path / str(learns), config)
        (at,) = [row for row in rows(tmp_path / str(learns), "metrics") if row["step"] == config.checkpoint_every]
        assert ("loss" in at) == learns


def test_a_teacher_of_levels_edits_those_of_the_environment(tmp_path):
    run_until(tmp_path / "run", MAZES)
    origins = {row["origin"] for row in rows(tmp_path / "run", "proposals")}
    assert any("replay" in origin for origin in origins)
    assert any("edit" in origin or "mut" in origin for origin in origins), origins


def test_a_run_that_was_killed_goes_on_to_the_same_bytes(tmp_path):
    options = ["--axis", "size=5", "obstacles=0", "--learner", "q", "--environments", "2", "--log-every", "100"]
    options += ["--steps", "600", "--checkpoint-every", "200", "--eval-every", "0", "--final-episodes", "1"]
    assert main(["train", "palaestra/DoorKey-v0", *options, "--out", str(tmp_path / "whole")]) == 0
    command = [sys.executable, "-m", "palaestra.scripts.cli", "train", "palaestra/DoorKey-v0", *options]
    cut = tmp_path / "cut"
    process = subprocess.Popen([*command, "--out", str(cut)], stderr=subprocess.DEVNULL, env=os.environ)
    while not (cut / "checkpoints" / "step-000200").is_dir():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert main(["train", "--resume", str(cut)]) == 0
    whole, resumed = contents(tmp_path / "whole"), contents(cut)
    for name in ("report.html",):
        assert name in whole
        del whole[name], resumed[name]
    assert resumed == whole


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("students") / "q"
    run_until(folder, Q)
    return folder


def rows(folder: Path, log: str) -> list[dict]:
    return [json.loads(line) for line in (folder / f"{log}.jsonl").read_text().splitlines()]


def test_the_folder_is_that_of_every_learner(trained):
    assert json.loads((trained / "config.json").read_text())["learner"] == "q"
    assert [row["step"] for row in rows(trained, "metrics")] == [200, 400, 600, 800]
    assert [row["step"] for row in rows(trained, "evaluations")] == [0, 800]
    assert rows(trained, "evaluations")[-1]["success"] == 1.0
    assert {row["params"]["length"] for row in rows(trained, "proposals")} <= set(range(2, 7))
    assert sorted(path.name for path in (trained / "checkpoints").glob("step-*")) == ["step-000400", "step-000800"]


def test_steps_that_are_rounded_up_by_much_are_said(tmp_path):
    said: list[str] = []
    StudentRun.start(tmp_path / "run", dataclasses.replace(Q, steps=250)).run(notify=said.append)
    sentence = "250 steps are rounded up to 400, as an iteration takes 200."
    assert said == [sentence]
    assert [row["sentence"] for row in rows(tmp_path / "run", "notices")] == [sentence]
    assert dataclasses.replace(Q, steps=800).describe_rounding() == []
    assert dataclasses.replace(Q, steps=100_150).describe_rounding() == []
    assert dataclasses.replace(Q, steps=0).describe_rounding() == []


def test_evaluations_on_the_way_come_at_their_steps(tmp_path):
    run_until(tmp_path / "run", QConfig(**{**vars(Q), "eval_every": 300}))
    assert [row["step"] for row in rows(tmp_path / "run", "evaluations")] == [0, 400, 600, 800]


def test_a_folder_is_an_agent_for_eval(trained, capsys, tmp_path):
    agent = load_player(trained, checkpoint="best")
    report = palaestra.evaluate(agent, "students/Corridor-v0", episodes=10)
    assert report.success.mean == 1.0
    assert report.agent == f"{trained}@best"
    arguments = ["--episodes", "5", "--greedy", "--json", str(tmp_path / "scores.json")]
    assert main(["eval", "students/Corridor-v0", "--agent", str(trained), *arguments]) == 0
    assert json.loads((tmp_path / "scores.json").read_text())["agent"] == str(trained)
    assert main(["eval", "palaestra/GuessNumber-v0", "--agent", str(trained)]) == 2
    assert "evaluate it on the environment that it was trained on" in capsys.readouterr().err
    assert main(["eval", str(trained), "--context", "7"]) == 2
    assert "takes no --context" in capsys.readouterr().err


def test_how_many_play_at_once_changes_nothing(tmp_path):
    run_until(tmp_path / "run", P)
    agent = load_player(tmp_path / "run")
    one, many = (
        palaestra.evaluate(agent, "students/Corridor-v0", episodes=12, num_envs=n, out=tmp_path / f"{n}.jsonl")
        for n in (1, 5)
    )
    assert (tmp_path / "1.jsonl").read_text() == (tmp_path / "5.jsonl").read_text()
    assert one.reward.mean == many.reward.mean


def test_what_bonuses_do_is_said_and_their_sums_are_logged(tmp_path):
    said = []
    StudentRun.start(tmp_path / "run", P).run(notify=said.append)
    assert said == [
        "The bonus count changes the optimal policies until it has faded with the visits.",
        "The bonus potential leaves the optimal policies as they are.",
    ]
    assert all(np.isfinite(row["bonus"]) for row in rows(tmp_path / "run", "metrics") if row["episodes"])


@pytest.mark.parametrize("name", ["landmarks", "empowerment(horizon=2)", "stages", "waypoints", "goal-text"])
def test_a_bonus_without_networks_is_added_for_a_table(name, tmp_path):
    options = ["--learner", "q", "--axis", "size=5", "obstacles=0", "--steps", "600", "--log-every", "600"]
    options += ["--environments", "2", "--eval-every", "0", "--final-episodes", "1", "--out", str(tmp_path / "run")]
    assert main(["train", "palaestra/DoorKey-v0", *options, "--bonus", name]) == 0
    (row,) = rows(tmp_path / "run", "metrics")
    assert row["invalid_episodes"] == 0
    assert row["bonus"] != 0


def test_without_episodes_there_are_no_means():
    assert summarise_episodes([]) == {"episodes": 0, "invalid_episodes": 0}


def test_any_environment_with_arrays_is_one_to_train_on(tmp_path):
    run_until(tmp_path / "run", PPOConfig(env="CartPole-v1", environments=2, rollout=8, steps=16, hidden=8, **SMALL))
    (first, _) = rows(tmp_path / "run", "evaluations")
    assert first["success"] is None
    assert first["reward"] > 5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--recipe", "dapo"], "the learner 'q' has no --recipe, which belongs to 'grpo'"),
        (["--warmup.steps", "3"], "the learner 'q' has no --warmup.steps, which belongs to 'grpo'"),
        (["--decay", "0.9"], "the learner 'q' has no --decay, which belongs to 'go-explore' and 'ppo'"),
        (["--bonus", "cuont"], "unknown bonus 'cuont'; did you mean 'count'"),
        (["--bonus", "count(wieght=1)"], "wieght"),
        (["--bonus", "count", "count"], "given twice"),
        (["--teacher", "sel"], "'sec'"),
        (["--teacher-option", "window=3"], "name it with --teacher"),
        (["--rate", "0"], "rate must be a finite number above 0"),
        (["--axis", "size=99"], "size"),
        (["--learner", "pqo"], "unknown learner 'pqo'"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(arguments, words, tmp_path, capsys):
    command = ["train", "palaestra/DoorKey-v0", "--learner", "q", *arguments, "--out", str(tmp_path / "run")]
    assert main(command) == 2
    (sentence,) = capsys.readouterr().err.strip().splitlines()
    assert words in sentence
    assert not (tmp_path / "run").exists()


def test_options_of_students_are_refused_for_a_language_model(capsys):
    assert main(["train", "--entropy-weight", "5"]) == 2
    assert (
        "the learner 'grpo' has no --entropy-weight, which belongs to 'go-explore' and 'ppo'" in capsys.readouterr().err
    )


def test_text_is_left_to_language_models(tmp_path, capsys):
    for learner, words in (("q", "Discrete actions, not Unicode"), ("ppo", "--learner grpo trains a language model")):
        assert main(["train", "palaestra/Arithmetic-v0", "--learner", learner, "--out", str(tmp_path / "run")]) == 2
        assert words in capsys.readouterr().err


def test_a_run_goes_further_with_its_own_options_only(trained, capsys):
    assert main(["train", "--resume", str(trained), "--rate", "0.5"]) == 2
    assert "rate: 0.5 instead of 0.2" in capsys.readouterr().err
    assert main(["train", "--resume", str(trained), "--learner", "ppo"]) == 2
    assert "a run of the learner 'q'" in capsys.readouterr().err
    with pytest.raises(InputError, match="800 steps already"):
        StudentRun.resume(trained, QConfig(**{**vars(Q), "steps": 100}))


def test_a_second_run_of_a_folder_is_refused_and_the_first_is_unaffected(tmp_path):
    run_until(tmp_path / "whole", Q)
    first = StudentRun.start(tmp_path / "run", Q)
    for attempt in (StudentRun.resume, lambda run: StudentRun.start(run, Q)):
        with pytest.raises(InputError, match=f"a run is under way in '{tmp_path}/run'"):
            attempt(tmp_path / "run")
    assert first.run(notify=lambda sentence: None)
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")


def test_sigterm_ends_a_run_after_its_iteration_which_is_saved(tmp_path, monkeypatch, capsys):
    run_until(tmp_path / "whole", Q)
    StudentRun.start(tmp_path / "run", Q).close()
    iterate = StudentRun._iterate

    def iterate_and_signal(run, watch):
        os.kill(os.getpid(), signal.SIGTERM)
        iterate(run, watch)

    with monkeypatch.context() as patch:
        patch.setattr(StudentRun, "_iterate", iterate_and_signal)
        assert main(["train", "--resume", str(tmp_path / "run")]) == 143
    said = " ".join(capsys.readouterr().err.split())
    assert "stopping after this step; send SIGTERM again to stop at once" in said
    assert f"stopped after step 200; continue with: palaestra train --resume {tmp_path}/run" in said
    assert main(["train", "--resume", str(tmp_path / "run")]) == 0
    (tmp_path / "run" / "report.html").unlink()
    whole, run = contents(tmp_path / "whole"), contents(tmp_path / "run")
    log = ("metrics.jsonl", "proposals.jsonl", "evaluations.jsonl")
    assert {name: run[name] for name in log if name in run} == {name: whole[name] for name in log if name in whole}


def test_an_annealed_rate_that_jumps_as_a_run_goes_further_is_said(tmp_path):
    config = dataclasses.replace(P, anneal=True)
    run_until(tmp_path / "run", config)
    told: list[str] = []
    further = StudentRun.resume(tmp_path / "run", dataclasses.replace(config, steps=3 * config.steps))
    further.stop()
    further.run(notify=told.append)
    assert sum("The learning rate jumps from" in sentence for sentence in told) == 1
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert f"to {rows[-1]['lr']:.3g} at step {rows[-1]['step']}" in " ".join(told)


def test_the_report_shows_what_a_student_does(trained):
    page = write_report(trained).read_text()
    for words in ("learner <b>q</b>", "environment steps", "actions an episode", "temporal-difference error"):
        assert words in page


# Environments are closed, however a run ends.

SHORT: dict[str, Any] = {
    **{"env": "palaestra/BlockMaze-v0", "axes": {"size": 5, "blocks": [0, 3]}, "env_options": {"max_steps": 8}},
    **{"eval_every": 0, "final_episodes": 2, "track": ()},
}
ROLLOUTS: dict[str, Any] = {"environments": 2, "rollout": 8, "minibatch": 8, "hidden": 4, "steps": 32}
EVERY = {
    "go-explore": GoExploreConfig(**SHORT, **ROLLOUTS, checkpoint_every=16),
    "novelty-search": NoveltyConfig(
        **SHORT, population=2, chunk=4, added=1, log_every=16, steps=32, checkpoint_every=16
    ),
    "ppo": PPOConfig(**SHORT, **ROLLOUTS, checkpoint_every=16),
    "q": QConfig(**SHORT, environments=2, log_every=16, steps=32, checkpoint_every=16),
}


class Environments:
    """Counts of what `gym.make` has made and of what was closed."""

    def __init__(self) -> None:
        self.made, self.closed = 0, Counter[int]()

    @property
    def open(self) -> int:
        return self.made - len(self.closed)


@pytest.fixture
def environments(monkeypatch) -> Environments:
    count, make = Environments(), gym.make

    def counted(*arguments: Any, **options: Any) -> Any:
        env, number = make(*arguments, **options), count.made
        count.made += 1
        close = env.close
        monkeypatch.setattr(env, "close", lambda: (count.closed.update([number]), close())[1])
        return env

    monkeypatch.setattr(gym, "make", counted)
    return count


def quiet(sentence: str) -> None:
    pass


@pytest.mark.parametrize("name", EVERY)
def test_no_environment_stays_open_after_a_run_an_interruption_or_a_resumption(name, environments, tmp_path):
    def interrupt(progress: Any) -> None:
        if progress.phase == "train" and progress.step == 32:
            raise KeyboardInterrupt

    config = EVERY[name]
    run = StudentRun.start(tmp_path / "run", config)
    assert environments.open >= config.environments
    with pytest.raises(KeyboardInterrupt):
        run.run(interrupt, quiet)
    assert environments.open == 0
    resumed = StudentRun.resume(tmp_path / "run")
    assert (resumed.step, environments.open >= config.environments) == (16, True)
    assert resumed.run(notify=quiet)
    assert environments.open == 0
    load_student(tmp_path / "run")
    assert environments.open == 0
    assert max(environments.closed.values()) == 1


@pytest.mark.parametrize("name", ["go-explore", "novelty-search"])
def test_the_environment_that_is_explored_is_closed_after_an_error_in_it(name, environments, tmp_path, monkeypatch):
    run = StudentRun.start(tmp_path / "run", EVERY[name])

    def fail(action: Any) -> Any:
        raise OSError("lost")

    monkeypatch.setattr(run.student.env, "step", fail)
    with pytest.raises(OSError, match="lost"):
        run.run(notify=quiet)
    assert environments.open == 0


def test_a_run_that_cannot_begin_leaves_none_open(environments, tmp_path, monkeypatch):
    refused = dataclasses.replace(EVERY["novelty-search"], es="cma_es", hidden=64)
    with pytest.raises(InputError, match="sep_cma_es"):
        StudentRun.start(tmp_path / "long", refused)
    with pytest.raises(InputError, match="cannot be set to an earlier state"):
        StudentRun.start(tmp_path / "cart", GoExploreConfig(env="CartPole-v1", **ROLLOUTS))
    assert (environments.open, environments.made >= 2) == (0, True)
    StudentRun.start(tmp_path / "run", EVERY["q"]).run(notify=quiet)
    state = next(Path(tmp_path / "run").rglob("*/state.json"))
    for place in state.parent.parent.glob("*/state.json"):
        place.write_text("{}", encoding="utf-8")
    with pytest.raises(InputError):
        StudentRun.resume(tmp_path / "run")
    monkeypatch.setattr("palaestra.agents.students.student_run.trackers_for", fail_to_track)
    untracked = StudentRun.start(tmp_path / "untracked", EVERY["q"])
    with pytest.raises(OSError, match="untracked"):
        untracked.run(notify=quiet)
    assert environments.open == 0


def fail_to_track(*arguments: Any) -> Any:
    raise OSError("untracked")
