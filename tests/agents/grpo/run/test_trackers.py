"""What TensorBoard and Weights & Biases are shown, read back from their own files, and that neither can stop a run."""

from __future__ import annotations

import json
import logging
import math
import sys
import time
from dataclasses import dataclass
from typing import Any

import pytest
from palaestra.agents.grpo.run.trackers import (
    TRACKERS,
    TensorBoardTracker,
    WandbTracker,
    add_groups,
    evaluation_values,
    trackers_for,
)
from palaestra.errors import InputError, MissingExtra


@dataclass(frozen=True)
class Config:
    track: tuple[str, ...] = ("tensorboard",)

    def to_json(self) -> dict[str, Any]:
        return {"track": list(self.track)}


def points(folder) -> dict[str, list[tuple[int, float]]]:
    """Tag -> (step, value), as TensorBoard itself reads them."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder / "tensorboard"))
    events.Reload()
    return {tag: [(e.step, pytest.approx(e.value)) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


class TestNames:
    @pytest.mark.parametrize(
        ("name", "tag"),
        [
            ("success", "reward/success"),
            ("success/solver", "reward/success/solver"),
            ("shaping/overlong", "reward/shaping/overlong"),
            ("pass@4_low", "reward/pass@4_low"),
            ("length_max", "episode/length_max"),
            ("tokens", "episode/tokens"),
            ("tokens_per_s", "time/tokens_per_s"),
            ("rollout_s", "time/rollout_s"),
            ("seconds", "time/seconds"),
            ("entropy", "policy/entropy"),
            ("kl", "policy/kl"),
            ("a/b", "policy/a/b"),
            ("teacher/updates", "teacher/updates"),
            ("time/train_s", "time/train_s"),
            ("stream1/loss", "stream1/loss"),
        ],
    )
    def test_each_figure_stands_in_its_group(self, name, tag):
        assert add_groups({name: 1}) == {tag: 1.0}

    def test_only_finite_numbers_are_shown_and_the_step_is_none_of_them(self):
        row = {"step": 3, "loss": math.nan, "kl": math.inf, "lr": None, "by_difficulty": [1], "name": "x", "ess": True}
        assert add_groups(row) == {"policy/ess": 1.0}

    def test_an_evaluation_has_its_interval_and_pass_at_k(self):
        item = {"k": 4, "value": 0.75, "ci": [0.5, None], "tasks": 9, "left_out": 0}
        row = {"step": 5, "episodes": 9, "success": 0.5, "ci": [0.25, 0.75], "pass_at_k": [item], "by_difficulty": []}
        assert evaluation_values(row) == {
            "evaluation/success": 0.5,
            "evaluation/success_low": 0.25,
            "evaluation/success_high": 0.75,
            "evaluation/pass@4": 0.75,
            "evaluation/pass@4_low": 0.5,
        }


class TestTensorBoard:
    def test_what_is_logged_is_read_back(self, tmp_path):
        tracker = TensorBoardTracker(tmp_path)
        tracker.log(1, {"step": 1, "success": 0.25, "entropy": 1.5})
        tracker.log(2, {"step": 2, "success": 0.5})
        tracker.close()
        assert points(tmp_path) == {"reward/success": [(1, 0.25), (2, 0.5)], "policy/entropy": [(1, 1.5)]}

    def test_a_killed_process_has_written_every_step(self, tmp_path):
        TensorBoardTracker(tmp_path).log(1, {"success": 0.25})
        assert points(tmp_path) == {"reward/success": [(1, 0.25)]}

    def test_steps_after_the_checkpoint_are_withdrawn_when_a_run_goes_on(self, tmp_path):
        before = TensorBoardTracker(tmp_path)
        for step in range(6):
            before.log(step, {"success": step / 10})
        before.close()
        after = TensorBoardTracker(tmp_path, step=3)
        after.log(4, {"success": 0.9})
        after.close()
        assert points(tmp_path) == {"reward/success": [(0, 0.0), (1, 0.1), (2, 0.2), (3, 0.3), (4, 0.9)]}

    def test_without_the_package_a_run_goes_on_and_says_what_to_install(self, tmp_path, monkeypatch, caplog):
        monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
        (tracker,) = trackers_for(Config(), tmp_path)
        tracker.log(1, {"success": 0.5})
        tracker.close()
        (record,) = caplog.records
        assert "pip install 'palaestra[train]'. Training goes on without it" in record.getMessage()


class TestWandb:
    def test_offline_it_writes_the_figures_into_the_run_folder(self, tmp_path):
        tracker = WandbTracker("palaestra", "first", tmp_path, {"recipe": "grpo-of-the-test"}, mode="offline")
        tracker.log(1, {"step": 1, "success": 0.28125, "loss": math.nan})
        tracker.close()
        (written,) = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
        # A process of its own writes the file, and may do so a moment after `finish` has returned.
        deadline = time.monotonic() + 60
        while b"reward/success" not in (data := written.read_bytes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert b"reward/success" in data
        assert b"0.28125" in data
        assert b"grpo-of-the-test" in data
        assert b"policy/loss" not in data
        assert (tmp_path / "wandb" / "id.txt").read_text() in written.name

    def test_a_run_goes_on_under_its_id_and_its_steps(self, tmp_path, monkeypatch):
        begun = []

        class Run:
            def __init__(self, **options):
                begun.append((self, options))
                self.logged, self.finished = [], False

            def log(self, values, step):
                self.logged.append((step, values))

            def finish(self):
                self.finished = True

        class Module:
            init, Settings = Run, dict

        monkeypatch.setitem(sys.modules, "wandb", Module)  # type: ignore[arg-type]
        for _ in range(2):
            (tracker,) = trackers_for(Config(("wandb",)), tmp_path / "night", 7)
            tracker.log(8, {"success": 1.0})
            tracker.close()
        (first, options), (_, again) = begun
        assert (options["id"], options["resume"]) == (again["id"], "allow")
        assert (options["project"], options["name"]) == ("palaestra", "night")
        assert options["config"] == json.loads(json.dumps(Config(("wandb",)).to_json()))
        assert (first.logged, first.finished) == ([(8, {"reward/success": 1.0})], True)

    def test_without_the_package_the_error_says_what_to_install(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "wandb", None)
        with pytest.raises(MissingExtra, match=r"palaestra\[wandb\]"):
            trackers_for(Config(("wandb",)), tmp_path)


class Broken:
    """Fails where it is told to."""

    def __init__(self, at: str):
        self._at = at
        self._reach("made")

    def _reach(self, place: str) -> None:
        if place == self._at:
            raise OSError(f"no space left when {place}")

    def log(self, step, values):
        self._reach("logging")

    def close(self):
        self._reach("closed")


class TestFailure:
    @pytest.fixture
    def names(self, monkeypatch):
        """Registers trackers for one test."""
        monkeypatch.setattr(TRACKERS, "_entries", dict(TRACKERS._entries))
        return TRACKERS

    @pytest.mark.parametrize("at", ["made", "logging", "closed"])
    def test_a_broken_tracker_is_told_of_once_and_the_others_go_on(self, at, names, tmp_path, caplog):
        names.register("broken")(lambda config, folder, step: Broken(at))
        with caplog.at_level(logging.WARNING):
            trackers = trackers_for(Config(("broken", "tensorboard")), tmp_path)
            for step in (1, 2):
                for tracker in trackers:
                    tracker.log(step, {"success": 1.0})
            for tracker in trackers:
                tracker.close()
        assert len(caplog.records) == 1
        assert f"'broken' failed and is left out from here on; training goes on: no space left when {at}" in caplog.text
        assert points(tmp_path) == {"reward/success": [(1, 1.0), (2, 1.0)]}

    def test_ctrl_c_is_no_failure_of_a_tracker(self, names, tmp_path):
        def interrupted(config, folder, step):
            raise KeyboardInterrupt

        names.register("interrupted")(interrupted)
        with pytest.raises(KeyboardInterrupt):
            trackers_for(Config(("interrupted",)), tmp_path)

    def test_no_tracker_is_a_choice(self, tmp_path):
        assert trackers_for(Config(()), tmp_path) == []
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("track", "sentence"),
        [
            (("tensorbord",), "unknown tracker 'tensorbord'; did you mean 'tensorboard'"),
            (("tensorboard", "tensorboard"), "names a tracker twice: tensorboard, tensorboard"),
        ],
    )
    def test_a_wrong_name_is_an_input_error_before_anything_is_written(self, track, sentence, tmp_path):
        with pytest.raises(InputError, match=sentence):
            trackers_for(Config(track), tmp_path)
        assert list(tmp_path.iterdir()) == []
