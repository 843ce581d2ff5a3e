"""Meters against numbers worked out by hand, and in a run."""

from __future__ import annotations

import json
import math

import pytest
from palaestra.agents.grpo.config import TrainConfig, WarmUp
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.recipes import StageOverrides
from palaestra.agents.grpo.recipes.stages import REGULARISERS

from ..tokens import slope, tokens  # isort: skip


def test_the_clips_bias_is_what_lies_above_the_bound():
    # Ratios 1.5, 1.5, 0.5, 1.1 with A = 2, -1, 1, 1: C+ = -0.3 x 2 + 0.3, N = 3 - 1.5 + 0.5 + 1.1
    s = tokens([math.log(r) for r in (1.5, 1.5, 0.5, 1.1)], 0.0, [2, -1, 1, 1])
    term = REGULARISERS["clip_bias"](s)
    assert term.stats["clip_correction"] == (pytest.approx(0.3), 1)
    assert term.stats["raw_surrogate"] == (pytest.approx(3.1), 1)
    assert slope(REGULARISERS["clip_bias"], s) == [0.0] * 4


def test_a_run_reports_the_clips_bias_and_a_guard_stops_updates_by_it(tmp_path):
    rows = {}
    for guard in ("none", "max_clip_bias(limit=0.0)"):
        config = TrainConfig(
            recipe="dapo",
            epochs=2,
            minibatches=2,
            lr=1e-2,
            lr_warmup=0,
            max_grad_norm=100.0,
            warmup=WarmUp(steps=0),
            steps=1,
            prompts=2,
            samples=6,
            max_new_tokens=8,
            context=256,
            eval_every=0,
            final_episodes=1,
            threads=1,
            track=(),
            stages=StageOverrides(shaping="cosine-length", regularisers="clip_bias(high=0.28)", guards=guard),
        )
        learner = Learner.start(tmp_path / guard[:4], config)
        assert learner.run()
        (line,) = (tmp_path / guard[:4] / "metrics.jsonl").read_text().splitlines()
        rows[guard[:4]] = json.loads(line)
    assert rows["none"]["clip_correction"] > 0
    assert rows["none"]["raw_surrogate"] > 0
    assert (rows["none"]["updates"], rows["none"]["skipped_updates"]) == (4, 0)
    assert rows["max_"]["skipped_updates"] > 0
