"""Guards read the means that a loss reported, or how far an update moved the policy."""

from __future__ import annotations

import json
import math

import pytest
import torch
from palaestra.agents.grpo.config import TrainConfig, WarmUp
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.recipes import StageOverrides
from palaestra.agents.grpo.recipes.stages import GUARDS
from palaestra.errors import InputError


@pytest.mark.parametrize(
    ("guard", "statistic", "good", "bad", "params"),
    [
        ("max_kl", "approx_kl", 0.1, 0.11, {"limit": 0.1}),
        ("min_ess", "ess", 0.3, 0.29, {"share": 0.3}),
        ("max_clip_fraction", "clip_fraction", 0.3, 0.31, {"limit": 0.3}),
        ("at_most", "entropy", 2.0, 2.1, {"statistic": "entropy", "limit": 2.0}),
    ],
)
def test_an_update_is_applied_up_to_the_limit(guard, statistic, good, bad, params):
    assert GUARDS[guard]({statistic: good}, **params)
    assert not GUARDS[guard]({statistic: bad}, **params)
    assert not GUARDS[guard]({statistic: math.nan}, **params)


def test_an_update_is_applied_while_the_clip_takes_little_away():
    assert GUARDS["max_clip_bias"]({"clip_correction": 0.1, "raw_surrogate": 1.0}, limit=0.1)
    assert not GUARDS["max_clip_bias"]({"clip_correction": 0.1, "raw_surrogate": 0.9}, limit=0.1)
    assert not GUARDS["max_clip_bias"]({"clip_correction": 1.0, "raw_surrogate": 17.0})


def test_a_statistic_that_nothing_reports_is_named():
    with pytest.raises(
        InputError, match="'clip_fraction', which nothing in this recipe reports; there are approx_kl, ess"
    ):
        GUARDS["max_clip_fraction"]({"ess": 1.0, "approx_kl": 0.0})


def test_the_largest_change_of_a_token_counts_or_a_quantile_of_them():
    change = torch.arange(1, 11) / 10
    guard = GUARDS["max_token_change"]
    assert guard(change, limit=1.0)
    assert not guard(change, limit=0.99)
    assert guard(change, limit=0.5, quantile=0.5)
    assert not guard(change, limit=0.49, quantile=0.5)
    assert not guard(torch.tensor([0.1, math.nan]), limit=1.0)
    assert guard(torch.tensor([]), limit=0.0)


@pytest.mark.parametrize("limit", [0.0, 30.0])
def test_an_update_that_moves_a_token_too_far_is_taken_back_with_its_trace_in_the_optimiser(small, tmp_path, limit):
    small.save(tmp_path / "model")
    config = TrainConfig(
        model=str(tmp_path / "model"),
        warmup=WarmUp(steps=0),
        steps=2,
        prompts=2,
        samples=4,
        max_new_tokens=4,
        context=256,
        eval_every=0,
        final_episodes=1,
        threads=1,
        track=(),
        stages=StageOverrides(
            shaping="cosine-length", regularisers="entropy_bonus", guards=f"max_token_change(limit={limit})"
        ),
    )
    learner = Learner.start(tmp_path / "run", config)
    before = [weight.detach().clone() for weight in learner.language.model.parameters()]
    learner.run()
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    taken = limit > 0
    assert [(row["updates"], row["skipped_updates"]) for row in rows] == [(taken, not taken)] * 2
    assert all(0 < row["token_change"] < 30 for row in rows)
    same = [torch.equal(*pair) for pair in zip(before, learner.language.model.parameters(), strict=True)]
    assert all(same) != taken
    assert bool(learner.parts.update.optimizer.state) == taken
