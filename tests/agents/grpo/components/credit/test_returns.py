"""Returns against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.recipes.stages import RETURNS
from palaestra.errors import InputError

from ...conftest import group, trajectory  # isort: skip


def paid(rewards, tokens=1, **changes):
    """An episode of one turn for each reward, ``tokens`` action tokens a turn (or as many as a list says)."""
    counts = [tokens] * len(rewards) if isinstance(tokens, int) else tokens
    made = trajectory(0.0, [([5], [6] * n) for n in counts], **changes)
    turns = tuple(replace(turn, reward=r) for turn, r in zip(made.turns, rewards, strict=True))
    return replace(made, turns=turns)


def test_turns_are_credited_with_what_follows_them_or_with_their_own_reward():
    batch = collate([group(paid([1, 0, 2]), paid([4, 1], shaping={"late": 3.0}))])
    # the shaping of 3 was paid for the episode and counts at its last turn
    assert RETURNS["turn_return"](batch, 0.5).value.tolist() == pytest.approx([1.5, 1, 2, 6, 4])
    assert RETURNS["turn_reward"](batch).value.tolist() == [1, 0, 2, 4, 1]


def test_outcomes_are_discounted_by_turns_or_tokens_from_the_end():
    batch = collate([group(paid([0, 0, 8]), paid([2]))])
    assert RETURNS["outcome_by_turn"](batch, 0.5).value.tolist() == [2, 4, 8, 2]
    assert RETURNS["outcome_by_turn"](batch).value.tolist() == [8, 8, 8, 2]
    long = collate([group(paid([0, 8], tokens=[2, 1]))])
    assert RETURNS["outcome_by_token"](long, 0.5).value.tolist() == [2, 4, 8]


def test_success_ignores_what_was_paid():
    batch = collate([group(paid([0.2], success=True), paid([9], success=False))])
    assert RETURNS["success"](batch).value.tolist() == [1, 0]


def test_given_advantages_are_taken_and_missing_ones_refused():
    assert RETURNS["given"](collate([group(paid([0], advantage=-0.5), paid([1], advantage=2.0))])).value.tolist() == [
        -0.5,
        2,
    ]
    with pytest.raises(InputError, match="1 of 2 episodes have no advantage"):
        RETURNS["given"](collate([group(paid([0], advantage=1.0), paid([1]))]))
