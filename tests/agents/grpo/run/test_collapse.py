"""A collapse is told from harder tasks, reported with its figures, and undone as often as the run may."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from palaestra.agents.grpo.config import Collapse, Patience, TrainConfig, WarmUp
from palaestra.agents.grpo.learner import Learner, TrainingProgress
from palaestra.agents.grpo.run.collapse import SuccessWatch
from palaestra.agents.grpo.run.evaluations import Evaluations
from palaestra.agents.grpo.run.folder import RunFolder, newest_checkpoint
from palaestra.agents.grpo.run.health import StepSigns
from palaestra.errors import InputError
from palaestra.scripts.report import write_report

from ..arms import ENV, trained_on

WELL = StepSigns(skipped=False, nonfinite=False, no_signal=False, cut=0.0, success=0.8)


@pytest.fixture
def folder(tmp_path) -> RunFolder:
    """A run of which every step had ten tasks with a success of .8, and a large gradient at step 7."""
    run = RunFolder(tmp_path)
    for step in range(1, 31):
        run.append("proposals", [{"step": step, "params": {"rung": i}, "success": 0.8} for i in range(10)])
        run.append("metrics", [{"step": step, "grad_norm": 13.5 if step == 7 else 0.3}])
    return run


def follow(watch: SuccessWatch, folder: RunFolder, success: list[float], wins: list[bool], first: int = 1):
    """(step, checkpoint to go back to, sentences) of the steps that say anything, and the tasks that were replayed."""
    said, replayed = [], []

    def play_again(tasks, episodes):
        replayed.append(tasks)
        return wins

    for step, value in enumerate(success, start=first):
        back, sentences = watch.check(step, replace(WELL, success=value), folder, play_again)
        if sentences:
            said.append((step, back, sentences))
    return said, replayed


def test_a_policy_that_fails_where_it_succeeded_is_reported_with_step_figures_and_remedy(folder):
    ((step, back, (sentence,)),), (tasks,) = follow(
        SuccessWatch(Collapse(window=2)), folder, [0.8] * 6 + [0.2, 0.0], [False] * 100
    )
    assert (step, back) == (8, None)
    assert len(tasks) == 20
    assert "success fell from 80% (steps 5-6) to 10% (steps 7-8)" in sentence
    assert "on 100 new episodes of the tasks of steps 5-6 from 80% to 0%" in sentence
    assert "gradient norm since was 13.5 (step 7)" in sentence
    assert "--collapse.returns" in sentence


def test_harder_tasks_are_no_collapse_and_are_compared_with_from_then_on(folder):
    watch = SuccessWatch(Collapse(window=2))
    said, replayed = follow(watch, folder, [0.8] * 6 + [0.0] * 10, [True] * 80 + [False] * 20)
    assert (said, len(replayed)) == ([], 1)


@pytest.mark.parametrize(
    ("success", "wins"),
    [
        ([0.8] * 6 + [0.45] * 6, [False] * 100),  # success did not fall by half
        ([0.09] * 6 + [0.0] * 6, [False] * 100),  # there was little to fall
        ([0.8] * 6 + [0.0] * 6, [False]),  # too few episodes to be sure
        ([float("nan")] * 20, [False] * 100),
    ],
)
def test_what_is_no_collapse(folder, success, wins):
    assert follow(SuccessWatch(Collapse(window=2)), folder, success, wins)[0] == []


def test_steps_with_parts_of_the_solution_do_not_count(folder):
    watch = SuccessWatch(Collapse(window=2))
    for step in range(1, 20):
        signs = replace(WELL, guided=step < 10, success=0.8 if step < 10 else 0.0)
        assert watch.check(step, signs, folder, lambda tasks, episodes: [False] * 100) == (None, [])


def test_the_run_goes_back_to_the_last_checkpoint_of_the_good_time_a_bounded_number_of_times(folder):
    watch = SuccessWatch(Collapse(returns=1, window=2))
    for step in (0, 4, 8):
        watch.add_checkpoint(step)
    fall = [0.8] * 6 + [0.0] * 2
    ((_, back, (sentence,)),), _ = follow(watch, folder, fall, [False] * 100)
    assert back == 4
    assert "goes on from the checkpoint of step 4, return 1 of 1." in sentence
    assert watch.checkpoints == [0, 4]
    resumed = SuccessWatch(watch.settings)
    resumed.load_state_dict(json.loads(json.dumps(watch.state_dict())))
    ((_, back, (sentence,)),), _ = follow(resumed, folder, fall, [False] * 100, first=9)
    assert back is None
    assert "of which it has used all 1" in sentence


def test_only_checkpoints_that_a_return_may_need_are_kept():
    watch = SuccessWatch(Collapse(window=2))
    for step in range(101):
        watch.add_checkpoint(step)
    assert watch.checkpoints[0] == 76  # eleven windows before the last step, and one checkpoint from before them
    assert len(watch.checkpoints) == 7


def test_settings_out_of_range_are_refused():
    for settings, name in (
        (Collapse(returns=-1), "returns"),
        (Collapse(fall=1.0), "fall"),
        (Collapse(window=0), "window"),
    ):
        with pytest.raises(InputError, match=f"collapse.{name} must be"):
            TrainConfig(collapse=settings)


# Real runs -----------------------------------------------------------------------------------------------------------

BURST = 8
"""The step whose learning rate is ten thousand times the usual one."""


@pytest.fixture(scope="module")
def config(small, tmp_path_factory) -> TrainConfig:
    """A run whose policy mostly gives the right answer, until one update breaks it."""
    model = tmp_path_factory.mktemp("model") / "arms"
    trained_on(small, "bbba", steps=40).save(model)
    points = [[0, 1.0], [BURST - 2, 1.0], [BURST - 1, 1e4], [BURST, 1.0]]
    return TrainConfig(
        env=ENV,
        model=str(model),
        teacher="random",
        warmup=WarmUp(steps=0),
        patience=Patience(0, 0, 0, 0),
        collapse=Collapse(returns=2, fall=0.75, window=2),
        steps=16,
        prompts=4,
        samples=4,
        lr=1e-4,
        lr_warmup=0,
        lr_schedule=json.dumps({"kind": "piecewise", "points": points}),
        max_new_tokens=2,
        max_episode_tokens=2,
        context=64,
        eval_every=0,
        final_episodes=8,
        checkpoint_every=3,
        threads=1,
        track=(),
    )


def rows(run: Path, log: str) -> list[dict]:
    return [json.loads(line) for line in (run / f"{log}.jsonl").read_text().splitlines()]


def said(run: Path) -> list[dict]:
    return [row for row in rows(run, "notices") if "has lost what it could do" in row["sentence"]]


def outcome(run: Path) -> dict[str, bytes]:
    newest = newest_checkpoint(run)
    found = {name: (newest / name).read_bytes() for name in ("model.safetensors", "optimizer.pt", "state.json")}
    return found | {
        log: (run / f"{log}.jsonl").read_bytes() for log in ("metrics", "proposals", "evaluations", "notices")
    }


@pytest.fixture(scope="module")
def whole(config, tmp_path_factory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "whole"
    assert Learner.start(run, config).run()
    return run


def test_a_run_recovers_by_going_back_and_says_so_in_its_report(whole):
    success = {row["step"]: row["success"] for row in rows(whole, "metrics")}
    assert min(success[step] for step in range(1, BURST)) > 0.4
    assert success[BURST + 1] == success[BURST + 2] == 0
    assert min(success[step] for step in range(BURST + 3, 17)) > 0.4
    (notice,) = said(whole)
    assert notice["step"] == BURST + 2
    assert "goes on from the checkpoint of step 6, return 1 of 2" in notice["sentence"]
    assert "goes on from the checkpoint of step 6" in write_report(whole).read_text()


def test_going_back_ends_the_processes_of_the_environments(config, tmp_path, monkeypatch):
    closed = []
    monkeypatch.setattr(Evaluations, "close", lambda self: closed.append(self))
    learner = Learner.start(tmp_path / "run", replace(config, steps=BURST + 3))
    first = learner.parts.evaluations
    learner.run()
    assert said(tmp_path / "run")
    assert closed == [first]
    assert learner.parts.evaluations is not first


def test_without_returns_the_collapse_lasts_and_the_report_says_what_to_do(config, tmp_path):
    assert Learner.start(tmp_path / "run", replace(config, collapse=Collapse(fall=0.75, window=2), steps=12)).run()
    assert [row["success"] for row in rows(tmp_path / "run", "metrics")][-2:] == [0, 0]
    (notice,) = said(tmp_path / "run")
    assert "--collapse.returns" in notice["sentence"]


@pytest.mark.parametrize("step", [BURST + 2, BURST + 3])
def test_a_run_that_was_killed_around_its_return_goes_on_bit_for_bit(whole, config, tmp_path, step):
    class Killed(BaseException):
        """Nothing catches it, as nothing catches kill -9."""

    def kill(progress: TrainingProgress) -> None:
        if progress.phase == "train" and progress.step == step:
            raise Killed

    with pytest.raises(Killed):
        Learner.start(tmp_path / "run", config).run(kill)
    assert Learner.resume(tmp_path / "run").run()
    assert outcome(tmp_path / "run") == outcome(whole)


def test_a_run_that_was_stopped_before_its_collapse_finds_the_same_checkpoint(whole, config, tmp_path):
    learner = Learner.start(tmp_path / "run", config)

    def stop(progress: TrainingProgress) -> None:
        if progress.phase == "train" and progress.step == BURST:
            learner.stop()

    assert not learner.run(stop)
    assert Learner.resume(tmp_path / "run").run()
    assert outcome(tmp_path / "run") == outcome(whole)


def test_a_run_that_plays_ahead_goes_back_as_well_and_is_resumed_bit_for_bit(config, tmp_path):
    class Killed(BaseException):
        """Nothing catches it, as nothing catches kill -9."""

    ahead = replace(config, staleness=1)
    assert Learner.start(tmp_path / "whole", ahead).run()
    (notice,) = said(tmp_path / "whole")
    back = notice["step"]
    success = {row["step"]: row["success"] for row in rows(tmp_path / "whole", "metrics")}
    assert success[back] == 0
    # No batch of the policy that was lost is trained on.
    assert min(success[step] for step in range(back + 1, 17)) > 0.4

    def kill(progress: TrainingProgress) -> None:
        if progress.phase == "train" and progress.step == back + 1:
            raise Killed

    with pytest.raises(Killed):
        Learner.start(tmp_path / "run", ahead).run(kill)
    assert Learner.resume(tmp_path / "run").run()
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")
