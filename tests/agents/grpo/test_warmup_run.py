"""A warm-up that is cut off goes on, and what comes of it is that of one that was not."""

from __future__ import annotations

import dataclasses
import json

import pytest
from palaestra.agents.grpo import warmup_run
from palaestra.agents.grpo.config import TrainConfig, WarmUp
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.run.folder import newest_checkpoint


class Killed(BaseException):
    """In place of a kill: nothing of ours handles it."""


@pytest.fixture(scope="module")
def config(small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "small"
    small.save(folder)
    return TrainConfig(
        axes={"digits": 1, "terms": 2},
        model=str(folder),
        warmup=WarmUp(steps=5, batch=2),
        **{"steps": 0, "samples": 2, "final_episodes": 1, "max_new_tokens": 2, "threads": 1, "track": ()},
    )


def cut(path, config, step):
    """Start a run that is cut off after a step of the warm-up, or resume it."""

    def watch(progress):
        if progress.step == step:
            raise Killed

    learner = Learner.resume(path) if path.exists() else Learner.start(path, config)
    with pytest.raises(Killed):
        learner.run(watch, lambda sentence: None)


def contents(run):
    place = newest_checkpoint(run)
    return {file.name: file.read_bytes() for file in place.iterdir() if file.is_file()}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_warm_up_that_was_cut_off_twice_gives_the_same_bytes(dtype, config, tmp_path, monkeypatch):
    monkeypatch.setattr(warmup_run, "_LEAST", 0.0)
    monkeypatch.setattr(warmup_run, "_SHARE", 1e9)
    config = dataclasses.replace(config, dtype=dtype)
    seen = []
    Learner.start(tmp_path / "whole", config).run(notify=lambda sentence: None)
    cut(tmp_path / "cut", config, 3)
    cut(tmp_path / "cut", config, 4)
    Learner.resume(tmp_path / "cut").run(lambda progress: seen.append((progress.phase, progress.step)))
    # The step at which it was cut off had not been saved yet.
    assert [step for phase, step in seen if phase == "warmup"] == [4, 5]
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")
    assert not (tmp_path / "cut" / "warmup").exists()


def test_a_warm_up_that_had_met_its_target_takes_no_further_step(config, tmp_path):
    learner = Learner.start(tmp_path / "run", config)
    with learner.folder.warm_up_checkpoint(3) as partial:
        learner.language.save(partial)
        optimizer = warmup_run.make_optimizer(learner.language.model.parameters(), lr=1e-3)
        warmup_run.torch.save(optimizer.state_dict(), partial / "optimizer.pt")
        (partial / "state.json").write_text(json.dumps({"step": 3, "loss": 1.0, "success": 0.5}))
    seen = []
    assert learner.run(lambda progress: seen.append(progress.phase), lambda sentence: None)
    assert "warmup" not in seen


def test_a_run_that_is_stopped_in_its_warm_up_has_saved_it(config, tmp_path):
    learner = Learner.start(tmp_path / "run", config)
    assert not learner.run(lambda progress: learner.stop(), lambda sentence: None)
    assert learner.folder.newest_warm_up().name == "step-000001"
