"""Returns against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.recipes.stages import RETURNS
from palaestra.errors import InputError

from ...conftest import group  # isort: skip
from .conftest import episode_of  # isort: skip


def test_turns_are_credited_with_what_follows_them_or_with_their_own_reward():
    batch = collate([group(episode_of([1, 0, 2]), episode_of([4, 1], shaping={"late": 3.0}))])
    # the shaping of 3 was paid for the episode and counts at its last turn
    assert RETURNS["turn_return"](batch, 0.5).value.tolist() == pytest.approx([1.5, 1, 2, 6, 4])
    assert RETURNS["turn_reward"](batch).value.tolist() == [1, 0, 2, 4, 1]


def test_turns_of_a_block_are_credited_with_their_own_episode_alone():
    block = episode_of([0, 1, 0, 2])
    last = replace(block.turns[-1], extras={"rounds": [0, 0, 1, 1]})
    batch = collate([group(replace(block, turns=(*block.turns[:-1], last)), episode_of([4, 1]))])
    assert RETURNS["round_return"](batch).value.tolist() == [1, 1, 2, 2, 5, 1]
    assert RETURNS["round_return"](batch, 0.5).value.tolist() == [0.5, 1, 1, 2, 4.5, 1]
    assert RETURNS["turn_return"](batch).value.tolist() == [3, 3, 2, 2, 5, 1]


def test_outcomes_are_discounted_by_turns_or_tokens_from_the_end():
    batch = collate([group(episode_of([0, 0, 8]), episode_of([2]))])
    assert RETURNS["outcome_by_turn"](batch, 0.5).value.tolist() == [2, 4, 8, 2]
    assert RETURNS["outcome_by_turn"](batch).value.tolist() == [8, 8, 8, 2]
    long = collate([group(episode_of([0, 8], tokens=[2, 1]))])
    assert RETURNS["outcome_by_token"](long, 0.5).value.tolist() == [2, 4, 8]


def test_success_ignores_what_was_paid():
    batch = collate([group(episode_of([0.2], success=True), episode_of([9], success=False))])
    assert RETURNS["success"](batch).value.tolist() == [1, 0]


def test_given_advantages_are_taken_and_missing_ones_refused():
    assert RETURNS["given"](
        collate([group(episode_of([0], advantage=-0.5), episode_of([1], advantage=2.0))])
    ).value.tolist() == [
        -0.5,
        2,
    ]
    with pytest.raises(InputError, match="1 of 2 episodes have no advantage"):
        RETURNS["given"](collate([group(episode_of([0], advantage=1.0), episode_of([1]))]))
