"""Trees: returns of nodes and stretches against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.trajectory import Node
from palaestra.agents.grpo.components.credit.adjustments import shared_mean
from palaestra.agents.grpo.components.credit.tree import tree_of
from palaestra.agents.grpo.components.masks import unshared
from palaestra.agents.grpo.recipes.stages import BASELINES, RETURNS, SCALES
from palaestra.errors import InputError

from ...conftest import group, trajectory  # isort: skip


def path(reward, *nodes, logps=None):
    """An episode through (key, tokens, value) nodes, in one turn."""
    tokens = sum(n for _, n, _ in nodes)
    made = trajectory(reward, [([5], [6] * tokens)], logps=[logps] if logps else None)
    return replace(made, nodes=tuple(Node(*node) for node in nodes))


@pytest.fixture
def binary():
    """Two levels below the prompt; leaves 1, 0, 0, 0."""
    leaves = [("a", "a1", 1.0), ("a", "a2", 0.0), ("b", "b1", 0.0), ("b", "b2", 0.0)]
    return collate([group(*(path(r, (inner, 1, None), (leaf, 1, None)) for inner, leaf, r in leaves))])


def advantages(units, batch, baseline, by, ddof):
    centred = units.with_value(units.value - baseline(units, batch))
    return SCALES["group_std"](centred, batch, ddof=ddof, eps=1e-8, by=by).tolist()


def test_nodes_are_normalised_at_their_depth(binary):
    units = RETURNS["node_return"](binary)
    assert units.value.tolist() == [0.5, 1, 0, 0, 0, 0]  # a, a1, a2, b, b1, b2
    got = advantages(units, binary, BASELINES["depth_mean"], "depth", ddof=1)
    assert got == pytest.approx([0.7071, 1.5, -0.5, -0.7071, -0.5, -0.5], abs=1e-4)


def test_siblings_are_compared_with_each_other_alone(binary):
    got = advantages(RETURNS["node_return"](binary), binary, BASELINES["siblings"], "siblings", ddof=0)
    assert got == pytest.approx([1, 1, -1, -1, 0, 0], abs=1e-5)


def test_an_only_child_gets_advantage_zero():
    batch = collate([group(path(1.0, ("a", 1, None), ("a1", 1, None)), path(0.0, ("b", 1, None)))])
    units = RETURNS["node_return"](batch)
    assert (units.value - BASELINES["siblings"](units, batch)).tolist() == [0.5, 0, -0.5]


def test_a_tree_without_branches_is_the_group():
    batch = collate([group(*(trajectory(r, [([5], [6, 7])]) for r in (1, 0, 0)))])
    assert RETURNS["node_return"](batch).value.tolist() == [1, 0, 0]


def test_likely_children_weigh_more_bottom_up():
    # probabilities 3/4 and 1/4 below the root, whose own stretch was copied into the second episode
    log = torch.tensor([0.75, 0.25]).log().tolist()
    one = path(1.0, ("root", 1, None), ("l", 1, None), logps=[-2.0, log[0]])
    two = path(0.0, ("root", 1, None), ("r", 1, None), logps=[0.0, log[1]])
    batch = collate([group(one, two)])
    assert RETURNS["node_return"](batch, mode="softmax").value.tolist() == pytest.approx([0.75, 1, 0])
    assert RETURNS["node_return"](batch, mode="softmax", alpha=0.0).value.tolist() == pytest.approx([0.5, 1, 0])
    assert tree_of(batch).logp[0].item() == -2
    with pytest.raises(InputError, match="'mean' or 'softmax'"):
        RETURNS["node_return"](batch, mode="max")


def test_equal_keys_in_different_groups_are_different_nodes():
    one = group(path(1.0, ("root", 1, None)), path(1.0, ("root", 1, None)))
    other = group(path(0.0, ("root", 1, None)))
    assert RETURNS["node_return"](collate([one, other])).value.tolist() == [1, 0]


def test_gains_of_stretches_add_up_to_the_outcome_less_the_value_of_the_start():
    batch = collate([group(path(1.0, ("a", 2, 0.5), ("b", 1, 0.2), ("c", 1, 0.6)))])
    units = RETURNS["segment_gain"](batch)
    assert units.value.tolist() == pytest.approx([-0.3, 0.4, 0.4])
    assert units.expand(units.value)[batch.action].tolist() == pytest.approx([-0.3, -0.3, 0.4, 0.4])
    assert units.value.sum().item() == pytest.approx(1 - 0.5)


def test_a_shared_stretch_gains_the_same_in_every_episode():
    paths = [path(r, ("a", 1, 0.5), (leaf, 1, 0.25)) for leaf, r in (("l", 1.0), ("r", 0.0))]
    assert RETURNS["segment_gain"](collate([group(*paths)])).value.tolist() == pytest.approx([-0.25, 0.75, -0.25])


def test_a_stretch_without_a_value_gains_nothing():
    batch = collate([group(path(1.0, ("a", 1, 0.5), ("b", 1, None), ("c", 1, 0.6)), trajectory(1, [([5], [6])]))])
    assert RETURNS["segment_gain"](batch).value.tolist() == pytest.approx([0.1, 0, 0.4, 0])


def test_a_turning_point_gets_all_that_follows():
    # R = .5, .3, .6, .9: gains -.2, .3, .3, of which the second turns them round and gets .9 - .3
    batch = collate([group(path(0.9, ("a", 1, 0.5), ("b", 1, 0.3), ("c", 1, 0.6)))])
    assert RETURNS["turning_point"](batch).value.tolist() == pytest.approx([-0.2, 0.6, 0.3])
    straight = collate([group(path(0.9, ("a", 1, 0.3), ("b", 1, 0.5), ("c", 1, 0.6)))])
    assert RETURNS["turning_point"](straight).value.sum().item() == pytest.approx(0.6)


def test_a_shared_prefix_of_a_won_and_a_lost_episode_has_advantage_zero():
    paths = [path(r, ("root", 2, None), (leaf, 1, None)) for leaf, r in (("l", 1.0), ("r", 0.0))]
    batch = collate([group(*paths)])
    advantage = torch.where(batch.action, batch.per_token(2 * batch.outcome - 1), 0)
    assert shared_mean(advantage, batch)[batch.action].tolist() == [0, 0, 1, 0, 0, -1]
    assert unshared(batch, advantage)[batch.action].tolist() == [False, False, True, False, False, True]


def test_tokens_of_a_shared_stretch_are_averaged_place_by_place():
    paths = [path(0.0, ("root", 2, None)), path(0.0, ("root", 2, None))]
    batch = collate([group(*paths)])
    advantage = torch.zeros(len(batch.ids))
    advantage[batch.action] = torch.tensor([1.0, 2.0, 3.0, 6.0])
    assert shared_mean(advantage, batch)[batch.action].tolist() == [2, 4, 2, 4]
