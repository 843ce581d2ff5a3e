"""Failed episodes are played again from the turn with the error."""

from __future__ import annotations

import pytest
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.rollouts.repair import FirstErrorRepair, ReflectRetry, find_named_turn

from .conftest import GUESS, row_of, secret_of  # isort: skip

# SCOPE ---------------------------------------------------------------------------------------------------------------


def stumbling(secret: str, at: int):
    """Says nonsense in turn ``at``; wins once the oracle has spoken."""
    return lambda session, text: secret if session > 0 else "nonsense" if text.count("<obs>") - 1 == at else "1"


@pytest.mark.parametrize("at", [0, 2])
def test_the_teacher_rewrites_the_first_error_and_the_policy_goes_on(world, at):
    secret = secret_of(world(GUESS, ""))
    w = world(GUESS, stumbling(secret, at), samples=1)
    (group,) = FirstErrorRepair().play([w.task], w.player)
    failed, repaired = group.trajectories
    assert repaired.success
    assert [t.act_ids for t in repaired.turns[:at]] == [t.act_ids for t in failed.turns[:at]]
    assert [t.obs_ids for t in repaired.turns[: at + 1]] == [t.obs_ids for t in failed.turns[: at + 1]]
    assert set(repaired.turns[at].origins) == {Origin.TEACHER}
    assert repaired.turns[at + 1].origins == ()
    shared = sum(len(t.act_ids) for t in failed.turns[:at])
    assert int((collate([group]).origin == Origin.COPY).sum()) == shared


def test_an_episode_without_an_error_is_never_modified(world):
    w = world(GUESS, "1", samples=2)
    (group,) = FirstErrorRepair().play([w.task], w.player)
    assert len(group.trajectories) == 2


def test_a_repair_that_fails_does_not_join(world):
    w = world(GUESS, "nonsense", samples=1)
    (group,) = FirstErrorRepair().play([w.task], w.player)
    assert len(group.trajectories) == 1


# R3L -----------------------------------------------------------------------------------------------------------------


def reflecting(secret: str, advice: str):
    """Guesses 1, reflects as told, and wins where it sees its advice."""

    def says(session: int, text: str) -> str:
        if "This attempt failed." in text:
            return advice
        return secret if "Advice:" in text else "1"

    return says


def test_a_retry_leaves_at_the_named_turn_and_its_hint_is_not_in_the_trained_context(world):
    secret = secret_of(world(GUESS, ""))
    w = world(GUESS, reflecting(secret, "In turn 3, guess better."), samples=4)
    (group,) = ReflectRetry().play([w.task], w.player)
    base, retry = group.trajectories[0], group.trajectories[2]
    assert [t.success for t in group.trajectories] == [False, False, True, True]
    assert [turn.act_ids for turn in retry.turns[:2]] == [turn.act_ids for turn in base.turns[:2]]
    assert [set(turn.token_origins) for turn in retry.turns] == [{Origin.COPY}, {Origin.COPY}, {Origin.POLICY}]
    assert "Advice: In turn 3, guess better." in w.texts(w.sampler.seen[4])
    assert "Advice" not in w.texts(row_of(retry))
    assert retry.rescore


def test_the_turns_before_the_retry_are_shared_nodes_of_both(world):
    secret = secret_of(world(GUESS, ""))
    w = world(GUESS, reflecting(secret, "turn 3"), samples=2)
    (group,) = ReflectRetry().play([w.task], w.player)
    base, retry = ([node.key for node in t.nodes] for t in group.trajectories)
    assert base[0] == retry[0]
    assert base[1] != retry[1]
    assert group.trajectories[0].nodes[0].tokens == sum(len(t.act_ids) for t in group.trajectories[0].turns[:2])


def test_where_nothing_failed_the_other_half_begins_anew(world):
    w = world(GUESS, secret_of(world(GUESS, "")), samples=4)
    (group,) = ReflectRetry().play([w.task], w.player)
    assert [len(t.nodes) for t in group.trajectories] == [1] * 4
    assert len(w.sampler.requests) == 4


def test_reflections_that_helped_come_as_groups_with_advantage_one(world):
    secret = secret_of(world(GUESS, ""))
    w = world(GUESS, reflecting(secret, "turn 2"), samples=2)
    _, reflection = ReflectRetry(reflections=True).play([w.task], w.player)
    (told,) = reflection.trajectories
    assert (told.role, told.advantage, told.turns[0].action) == ("reflection", 1.0, "turn 2")
    w = world(GUESS, reflecting("1", "turn 2"), samples=2)
    assert len(ReflectRetry(reflections=True).play([w.task], w.player)) == 1


def test_a_turn_is_read_from_a_reflection():
    assert find_named_turn("The mistake was in Turn 3: too low.", 5) == 2
    assert find_named_turn("turn 9", 5) == 0
    assert find_named_turn("turn 0", 5) == 0
    assert find_named_turn("no idea", 5) == 0


# Self-play -----------------------------------------------------------------------------------------------------------
