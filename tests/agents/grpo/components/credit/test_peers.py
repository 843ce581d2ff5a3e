"""Peers against numbers worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.components.credit.peers import entropy_of_answers, peers_by
from palaestra.agents.grpo.recipes.stages import BASELINES, RETURNS
from palaestra.errors import InputError

from ...conftest import group, trajectory  # isort: skip


def batch_of(*outcomes_by_group, lengths=None, **changes):
    counts = iter(lengths or [1] * sum(map(len, outcomes_by_group)))
    return collate(
        [group(*(trajectory(r, [([5], [6] * next(counts))], **changes) for r in rs)) for rs in outcomes_by_group]
    )


def of(baseline, batch, **params):
    return BASELINES[baseline](RETURNS["outcome"](batch), batch, **params).tolist()


def test_peers_may_be_the_whole_batch():
    batch = batch_of([1, 0, 0], [1])
    assert of("group_mean", batch, by="batch") == [0.5] * 4
    assert of("leave_one_out", batch, by="batch") == pytest.approx([1 / 3, 2 / 3, 2 / 3, 1 / 3])


def test_an_unknown_kind_of_peers_is_refused():
    with pytest.raises(InputError, match="did you mean 'state'"):
        of("group_mean", batch_of([1, 0]), by="sate")


def test_roles_are_compared_apart_within_a_group():
    rows = [trajectory(r, [([5], [6])], role=role) for r, role in ((1, "x"), (0, "x"), (0.4, "y"))]
    batch = collate([group(*rows), group(*rows[:1])])
    assert of("by_role", batch) == pytest.approx([0.5, 0.5, 0.4, 1])


def test_turns_are_compared_with_turns_of_the_same_number():
    rows = [trajectory(r, [([5], [6, 6])] * n) for r, n in ((1, 2), (0, 2), (0.5, 1))]
    batch = collate([group(*rows)])
    units = RETURNS["turn_return"](batch)
    assert units.value.tolist() == [1, 1, 0, 0, 0.5]
    assert BASELINES["same_turn"](units, batch).tolist() == pytest.approx([0.5, 0.5, 0.5, 0.5, 0.5])
    assert BASELINES["group_mean"](units, batch, by="turn").tolist() == BASELINES["same_turn"](units, batch).tolist()
    alone = replace(units, value=torch.tensor([1.0, 1, 0, 0, 2.0]))
    assert BASELINES["same_turn"](alone, batch).tolist() == pytest.approx([1, 0.5, 1, 0.5, 1])


def test_turns_at_the_same_observation_are_compared_even_at_different_times():
    # GiGPO: anchor states "s", "t", and "s" again
    def seen(reward, *observations):
        made = trajectory(reward, [([5], [6])] * len(observations))
        turns = tuple(replace(t, observation=o) for t, o in zip(made.turns, observations, strict=True))
        return replace(made, turns=turns)

    one = group(seen(1, "s", "t"), seen(0, "s", "s"))
    batch = collate([one, group(seen(0.5, "s"))])
    units = RETURNS["turn_return"](batch)
    assert BASELINES["anchor_state"](units, batch).tolist() == pytest.approx([1 / 3, 1, 1 / 3, 1 / 3, 0.5])


def test_the_entropy_of_answers_is_that_of_their_frequencies():
    def says(text):
        made = trajectory(1, [([5], [6])])
        return replace(made, turns=(replace(made.turns[0], action=f"so <answer>{text}</answer>"),))

    batch = collate([group(says("4"), says("4"), says("5"), says("5")), group(says("4"))])
    assert entropy_of_answers(batch).tolist() == pytest.approx([math.log(2), 0])


def test_units_without_tokens_are_compared_with_no_turn():
    made = trajectory(1, [([5], [6]), ([5], [])])
    batch = collate([group(made, made)])
    assert peers_by(RETURNS["turn_return"](batch), batch, "turn").of.tolist() == [1, 0, 1, 0]
