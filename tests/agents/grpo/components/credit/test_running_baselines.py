"""Running baselines against numbers worked out by hand."""

from __future__ import annotations

import json

import pytest
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.components.credit.running_baselines import BetaTracker, Ema
from palaestra.agents.grpo.recipes.stages import RETURNS

from ...conftest import group, trajectory  # isort: skip


def batch_of(*outcomes_by_group, lengths=None, **changes):
    counts = iter(lengths or [1] * sum(map(len, outcomes_by_group)))
    return collate(
        [group(*(trajectory(r, [([5], [6] * next(counts))], **changes) for r in rs)) for rs in outcomes_by_group]
    )


def test_a_running_mean_for_each_role_is_updated_before_it_is_subtracted():
    rows = [trajectory(r, [([5], [6])], role=role) for r, role in ((1, "x"), (0.5, "y"))]
    batch = collate([group(*rows)])
    ema = Ema(decay=0.5)
    assert ema(RETURNS["outcome"](batch), batch).tolist() == [0.5, 0.25]
    assert ema(RETURNS["outcome"](batch), batch).tolist() == [0.75, 0.375]


def test_n_equal_returns_of_a_role_count_as_n_updates():
    three, one = batch_of([1, 1, 1]), batch_of([1])
    at_once, in_turn = Ema(decay=0.5), Ema(decay=0.5)
    together = at_once(RETURNS["outcome"](three), three)[0].item()
    for _ in range(3):
        last = in_turn(RETURNS["outcome"](one), one)[0].item()
    assert together == pytest.approx(last) == pytest.approx(0.875)


def test_the_beta_tracker_predicts_before_it_learns():
    batch = batch_of([1], task_id="q")
    tracker = BetaTracker(keep=0.5)
    # 4 / 8 at first; then (0.5 x 4 + 1) / (0.5 x 8 + 1) = 3 / 5
    assert tracker(RETURNS["outcome"](batch), batch).tolist() == [0.5]
    assert tracker(RETURNS["outcome"](batch), batch).tolist() == pytest.approx([0.6])
    other = batch_of([1], task_id="another")
    assert tracker(RETURNS["outcome"](other), other).tolist() == [0.5]


@pytest.mark.parametrize("make", [lambda: Ema(by="params"), lambda: BetaTracker(by="params")])
def test_trackers_are_saved_and_resumed(make):
    batch = batch_of([1, 1], params={"digits": 3})
    one, other = make(), make()
    one(RETURNS["outcome"](batch), batch)
    other.load_state_dict(json.loads(json.dumps(one.state_dict())))
    assert other(RETURNS["outcome"](batch), batch).tolist() == one(RETURNS["outcome"](batch), batch).tolist()
    fresh = make()(RETURNS["outcome"](batch), batch).tolist()
    assert fresh != one(RETURNS["outcome"](batch), batch).tolist()
