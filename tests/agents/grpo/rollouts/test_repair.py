"""Failed episodes are played again from the turn with the error."""

from __future__ import annotations

import pytest
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.rollouts.episode_starts import TokenLimits
from palaestra.agents.grpo.rollouts.repair import FirstErrorRepair, ReflectRetry, find_named_turn, first_wrong_line
from palaestra.rewards.judges import JUDGES, Judge, Judgement

from .conftest import GUESS, WORDS, row_of, secret_of, steps_of  # isort: skip

ROOMY = TokenLimits(action=128, episode=1000, context=4000)

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


def test_an_episode_that_succeeds_is_never_modified(world):
    w = world(GUESS, secret_of(world(GUESS, "")), samples=2)
    (group,) = FirstErrorRepair().play([w.task], w.player)
    assert len(group.trajectories) == 2
    assert len(w.sampler.requests) == 2


def test_a_lost_game_without_an_error_goes_back_to_its_last_chance(world):
    # The secret is 11 of 2 to 16 once 1 is ruled out: the oracle needs 9, 13 and 11, and so three of the nine turns.
    secret = secret_of(world(GUESS, ""))
    assert secret == "11"
    w = world(GUESS, lambda session, text: secret if session > 0 else "1", samples=1)
    (group,) = FirstErrorRepair().play([w.task], w.player)
    failed, repaired = group.trajectories
    assert (failed.success, repaired.success) == (False, True)
    (at,) = [n for n, turn in enumerate(repaired.turns) if Origin.TEACHER in turn.token_origins]
    assert (at, len(failed.turns)) == (6, 9)
    assert {o for turn in repaired.turns[:at] for o in turn.token_origins} <= {Origin.COPY}
    assert repaired.turns[at + 1].origins == ()


# A wrong answer


def wrong_at(steps: list[str], line: int):
    """Writes the worked solution with another result in one line; after a teacher's step it writes the rest of it."""
    spoilt = [*steps[:line], f"{steps[line]}0", "0"]

    def says(session: int, text: str) -> str:
        written = text.partition("<act>")[2]
        worked = "\n".join(steps)
        return worked[len(written) :] if written else "\n".join(spoilt)

    return says


@pytest.mark.parametrize("line", [0, 2, 4])
def test_the_first_wrong_line_of_an_answer_is_written_by_the_teacher(world, line):
    steps = steps_of(world(WORDS, ""))
    w = world(WORDS, wrong_at(steps, line), ROOMY, samples=1)
    (group,) = FirstErrorRepair().play([w.task], w.player)
    failed, repaired = group.trajectories
    assert (failed.success, repaired.success) == (False, True)
    assert repaired.turns[0].action == "\n".join(steps)
    before = len("".join(f"{step}\n" for step in steps[:line]))
    origins = repaired.turns[0].origins
    assert set(origins[:before]) <= {Origin.COPY}
    taught = [i for i, origin in enumerate(origins) if origin == Origin.TEACHER]
    assert w.texts([repaired.turns[0].act_ids[i] for i in taught]).strip() == steps[line]
    assert origins[-1] == Origin.POLICY
    assert repaired.nodes[0].tokens == before or not before


def test_a_bare_wrong_answer_is_repaired_from_the_first_step_on(world):
    steps = steps_of(world(WORDS, ""))
    complete = wrong_at(steps, 0)
    w = world(WORDS, lambda s, text: "0" if s == 0 else complete(s, text), ROOMY, samples=1)
    (group,) = FirstErrorRepair().play([w.task], w.player)
    repaired = group.trajectories[1]
    assert w.texts(
        [i for i, o in zip(repaired.turns[0].act_ids, repaired.turns[0].origins) if o == Origin.TEACHER]
    ) == (f"{steps[0]}\n")


def test_an_answer_that_stops_too_early_gets_its_next_step(world):
    steps = steps_of(world(WORDS, ""))
    complete = wrong_at(steps, 0)
    w = world(WORDS, lambda s, text: steps[0] if s == 0 else complete(s, text), ROOMY, samples=1)
    (group,) = FirstErrorRepair().play([w.task], w.player)
    assert group.trajectories[1].turns[0].action == "\n".join(steps)


def test_lines_are_compared_with_the_steps_that_are_still_to_come():
    steps = ["3 + 4 = 7", "7 * 2 = 14", "14"]
    assert first_wrong_line("3+4=7\n\n7*2=15\n15", steps) == (7, 1)
    assert first_wrong_line("7 * 2 = 14.\n14", steps) is None
    assert first_wrong_line("7 * 2 = 14\n3 + 4 = 7", steps) == (11, 2)
    assert first_wrong_line("3 + 4 = 7", steps) == (9, 1)


def test_a_judge_may_find_the_wrong_line(world, monkeypatch):
    steps = steps_of(world(WORDS, ""))
    w = world(WORDS, wrong_at(steps, 2), ROOMY, samples=1)
    seen = []

    class Suspicious(Judge):
        """Finds one line wrong."""

        name = "suspicious"

        def score(self, principle, prompt, responses, reference=None):
            seen.append((responses, reference))
            return Judgement(tuple(0.2 if f"{steps[2]}0" in response else 0.9 for response in responses))

    monkeypatch.setitem(JUDGES._entries, "suspicious", Suspicious)
    (group,) = FirstErrorRepair(judge="suspicious").play([w.task], w.player)
    assert group.trajectories[1].turns[0].action == "\n".join(steps)
    ((responses, reference),) = seen
    assert [response.count("\n") for response in responses] == [1, 2, 3, 3]
    assert reference == "\n".join(steps)


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


def test_an_episode_that_is_too_long_to_be_reflected_on_is_followed_by_a_fresh_sample(world):
    w = world(GUESS, "1", samples=2)
    (group,) = ReflectRetry(question="x" * 4000 + "{episode}").play([w.task], w.player)
    assert len(group.trajectories) == 2
    assert not any("Advice" in turn.observation for t in group.trajectories for turn in t.turns)


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
