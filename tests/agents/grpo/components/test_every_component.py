"""What holds for every component between rollouts and the loss: the order of rows is nothing, nothing is NaN, and
groups that say nothing get advantage zero."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.batch.batch import Batch, collate
from palaestra.agents.grpo.batch.trajectory import Node
from palaestra.agents.grpo.recipes import stages

from ..conftest import group, trajectory  # isort: skip


RETURNS = [name for name in stages.RETURNS if name != "given"]

ADJUSTMENTS = [name for name in stages.ADJUSTMENTS if name != "token_reward_weight"]
"""Without the one that reads the rewards of an auxiliary model of its own."""

OTHER_INPUT = {"optimal_token": "outcome_by_token", "token_rate": "turn_return"}
"""Baselines whose units are not episodes."""

NODES = ("depth_mean", "siblings")

ARGUMENTS = {("mask", "role"): {"who": ""}, ("weight", "roles"): {"factors": {"": 2.0}}}


def grown(groups):
    """The groups with a tree of two levels, an advantage of their own and greedy and drawn outcomes."""

    def one(number, t):
        first, rest = len(t.turns[0].act_ids), t.action_tokens - len(t.turns[0].act_ids)
        nodes = (Node("root", first, 0.5), Node(f"leaf {number}", rest, 0.25))
        return replace(t, nodes=nodes if rest else nodes[:1], advantage=0.5)

    return [
        replace(
            g,
            trajectories=tuple(one(i, t) for i, t in enumerate(g.trajectories)),
            greedy=0.5,
            drawn=(0.0, 1.0, 1.0),
        )
        for g in groups
    ]


def measured(batch: Batch, dtype: torch.dtype = torch.float32) -> Batch:
    """With everything measured, as functions of the token and its place, so that they do not depend on its row."""
    base = torch.where(batch.action, torch.sin(batch.ids.to(dtype) + 0.1 * batch.position), 0)
    names = ("logp_old", "logp_ref", "logp_prm", "logp_teacher", "flow_deviation")
    made = {name: torch.where(batch.action, -1.5 + (0.1 + 0.1 * i) * base, 0) for i, name in enumerate(names)}
    places = torch.arange(1, 4, dtype=dtype)
    return batch.with_(
        **made,
        entropy=base.abs(),
        prompt_divergence=0.3 * base.abs(),
        span_weights=0.7 * base.abs(),
        token_contrast=base / 4,
        prompt_logp=torch.where(batch.prompt, -0.1 * batch.ids.to(dtype), 0),
        value=base / 2,
        hidden=base[:, None] * places.cos(),
        head=lambda hidden, ids: hidden @ torch.sin(ids[:, None] * places).T,
    )


def reversed_rows(groups):
    return [replace(g, trajectories=g.trajectories[::-1]) for g in groups[::-1]]


def by_episode(batch: Batch, value: torch.Tensor) -> dict[tuple[int, ...], list[float]]:
    """A token value under what identifies an episode: its tokens."""
    found = {}
    for episode in range(batch.episodes):
        mine = batch.episode_of == episode
        found[tuple(batch.ids[mine].tolist())] = value[mine].tolist()
    return found


def same_in_any_order(compute, groups) -> None:
    forward, backward = measured(collate(groups)), measured(collate(reversed_rows(groups)))
    one, other = by_episode(forward, compute(forward)), by_episode(backward, compute(backward))
    assert one.keys() == other.keys()
    for key, values in one.items():
        assert values == pytest.approx(other[key], abs=1e-5)
        assert all(abs(v) < 1e6 for v in values)


@pytest.mark.parametrize("name", RETURNS)
def test_returns_do_not_depend_on_the_order_of_rows(name, ragged):
    def compute(batch):
        units = instance(stages.RETURNS[name])(batch)
        return units.expand(units.value)

    same_in_any_order(compute, grown(ragged))


def units_for(baseline: str, batch: Batch):
    if baseline in NODES:
        return stages.RETURNS["node_return"](batch)
    return stages.RETURNS[OTHER_INPUT.get(baseline, "outcome")](batch)


def instance(component):
    return component() if isinstance(component, type) else component


@pytest.mark.parametrize("name", list(stages.BASELINES))
def test_baselines_do_not_depend_on_the_order_of_rows(name, ragged):
    def compute(batch):
        units = units_for(name, batch)
        return units.expand(instance(stages.BASELINES[name])(units, batch))

    same_in_any_order(compute, grown(ragged))


@pytest.mark.parametrize("name", list(stages.SCALES))
def test_scales_do_not_depend_on_the_order_of_rows(name, ragged):
    def compute(batch):
        units = stages.RETURNS["outcome"](batch)
        centred = units.with_value(units.value - units.peers.shared_mean(units.value))
        return units.expand(stages.SCALES[name](centred, batch))

    same_in_any_order(compute, grown(ragged))


@pytest.mark.parametrize("name", ADJUSTMENTS)
def test_adjustments_do_not_depend_on_the_order_of_rows(name, ragged):
    def compute(batch):
        units = stages.RETURNS["outcome"](batch)
        return instance(stages.ADJUSTMENTS[name])(
            units.expand(units.value - stages.BASELINES["leave_one_out"](units, batch)), batch
        )

    same_in_any_order(compute, grown(ragged))


@pytest.mark.parametrize(
    ("stage", "name"), [("mask", name) for name in stages.MASKS] + [("weight", name) for name in stages.WEIGHTS]
)
def test_masks_and_weights_do_not_depend_on_the_order_of_rows(stage, name, ragged):
    registry = stages.MASKS if stage == "mask" else stages.WEIGHTS

    def compute(batch):
        units = stages.RETURNS["outcome"](batch)
        advantage = units.expand(units.value - units.peers.shared_mean(units.value))
        return instance(registry[name])(batch, advantage, **ARGUMENTS.get((stage, name), {})).float()

    same_in_any_order(compute, grown(ragged))


@pytest.mark.parametrize("name", list(stages.REDUCTIONS))
def test_reductions_do_not_depend_on_the_order_of_rows_and_weigh_nothing_that_is_left_out(name, ragged):
    def compute(batch):
        keep = batch.action & (batch.position % 3 != 0)
        weight = stages.REDUCTIONS[name](batch, keep)
        assert not weight[~keep].any()
        return weight

    same_in_any_order(compute, grown(ragged))


@pytest.mark.parametrize("scale", list(stages.SCALES))
@pytest.mark.parametrize("outcomes", [[[0.7]], [[0.3, 0.3]], [[0.1, 0.1, 0.1], [0.1]]])
def test_a_group_that_agrees_gets_advantage_zero_from_every_scale(scale, outcomes):
    # Trap 11. Returns that are no binary fractions have means with rounding errors; nothing may blow them up.
    batch = collate([group(*(trajectory(r, [([5], [6])]) for r in rs)) for rs in outcomes])
    units = stages.RETURNS["outcome"](batch)
    advantage = stages.SCALES[scale](units.with_value(units.value - units.peers.shared_mean(units.value)), batch)
    assert advantage.tolist() == pytest.approx([0.0] * batch.episodes, abs=1e-3)


@pytest.mark.parametrize("name", list(stages.SCALES))
def test_scales_keep_double_precision(name, ragged):
    batch = collate(ragged)
    units = stages.RETURNS["outcome"](replace(batch, outcome=batch.outcome.double()))
    assert (
        stages.SCALES[name](units.with_value(units.value - units.peers.shared_mean(units.value)), batch).dtype
        == torch.float64
    )


def test_an_empty_batch_passes_through_every_stage():
    batch = measured(collate([]))
    for registry in (stages.RETURNS, stages.BASELINES, stages.SCALES):
        for name in registry:
            if registry is stages.RETURNS:
                units = instance(registry[name])(batch)
                assert units.expand(units.value).tolist() == []
            else:
                units = (
                    stages.RETURNS["turn_return"](batch)
                    if name != "optimal_token"
                    else stages.RETURNS["outcome_by_token"](batch)
                )
                assert len(instance(registry[name])(units, batch)) == 0
    nothing = torch.zeros(0)
    for name in ADJUSTMENTS:
        assert len(instance(stages.ADJUSTMENTS[name])(nothing, batch)) == 0
    for stage, registry in (("mask", stages.MASKS), ("weight", stages.WEIGHTS)):
        for name in registry:
            assert len(instance(registry[name])(batch, nothing, **ARGUMENTS.get((stage, name), {}))) == 0
    for name in stages.REDUCTIONS:
        assert len(stages.REDUCTIONS[name](batch, batch.action)) == 0
