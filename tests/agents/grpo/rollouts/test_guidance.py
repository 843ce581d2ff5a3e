"""When solutions are shown, how much of them, and what of it is trained."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from palaestra.agents.engines.sampler import Completion
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.rollouts.guidance import AMOUNTS, TRIGGERS, fit_logistic, make_named, share_for, solve
from palaestra.agents.grpo.rollouts.guided import Guided
from palaestra.agents.grpo.rollouts.independent import Independent
from palaestra.agents.grpo.rollouts.teacher_rows import TeacherRows
from palaestra.errors import InputError

from ..conftest import trajectory  # isort: skip
from .conftest import ARITHMETIC, GUESS, WORDS, answer_of, row_of, steps_of  # isort: skip

HINT = "beginning part of the answer: "


def given(text: str) -> str:
    """The hint in a prompt."""
    return text.split("<act>")[0].partition(HINT)[2]


# Triggers and amounts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rewards", "fires"),
    [
        ("all_fail", (0, 0), True),
        ("all_fail", (0, 1), False),
        ("any_fail", (0, 1), True),
        ("any_fail", (1, 1), False),
        ("always", (1, 1), True),
        ("success_at_most(rate=0.25)", (1, 0, 0, 0), True),
        ("success_at_most(rate=0.25)", (1, 1, 0, 0), False),
    ],
)
def test_triggers_look_at_success(text, rewards, fires):
    assert make_named(TRIGGERS, text)([trajectory(float(r), [([1], [2])]) for r in rewards]) is fires


def test_lost_episodes_are_no_failures():
    lost = trajectory(0.0, [([1], [2])], valid=False)
    assert not make_named(TRIGGERS, "all_fail")([lost])
    assert not make_named(TRIGGERS, "any_fail")([lost])


def test_the_share_for_half_success():
    # SEELE's example.
    share = share_for(10, 0.4, 0.1)
    assert share == pytest.approx(0.3777, abs=5e-5)
    assert 0.1 + 0.9 / (1 + math.exp(-10 * (share - 0.4))) == pytest.approx(0.5, abs=1e-6)


def test_a_stronger_learner_gets_a_shorter_hint():
    assert share_for(10, 0.3, 0.1) < share_for(10, 0.4, 0.1)
    assert share_for(10, -1.0, 0.0) == 0.0
    assert share_for(10, 0.4, 0.6) == 0.0


def test_a_fitted_curve_says_what_was_seen():
    a, b, c = 12.0, 0.35, 0.1
    seen = [(p, c + (1 - c) / (1 + math.exp(-a * (p - b))), 8) for p in (0.0, 0.2, 0.4, 0.6, 0.9)]
    assert share_for(*fit_logistic(seen)) == pytest.approx(share_for(a, b, c), abs=0.01)


def test_success_above_the_target_without_a_hint_needs_none():
    assert share_for(*fit_logistic([(0.0, 0.75, 8)])) == 0.0


def rounds(text: str, count: int, player, successes):
    """The shares of each round, the successes of each being told."""
    shares = make_named(AMOUNTS, text).shares(count, player)
    asked = [next(shares)]
    for told in successes:
        try:
            asked.append(shares.send(told))
        except StopIteration:
            break
    return asked


def test_rubric_shares_fall_within_the_group_and_with_training(world):
    # RuscaRL with G = 8: half of the ramp at x = 0.2, and 0.0067 of it at x = 0.24.
    ramp = [(7 - i) / 7 for i in range(8)]
    at = {}
    for step in (0, 20, 24):
        player = world(ARITHMETIC, "1", step=step, steps=100).player
        ((at[step],)) = rounds("graded", 8, player, [])
    assert at[0] == pytest.approx(ramp)
    assert at[20] == pytest.approx([share / 2 for share in ramp])
    assert at[24][0] == pytest.approx(0.0067, abs=5e-5)
    assert [shares[-1] for shares in at.values()] == [0.0] * 3


def test_rounds_of_a_logistic_amount_add_up_to_the_count(world):
    player = world(ARITHMETIC, "1").player
    asked = rounds("logistic(rounds=3)", 8, player, [[False] * 3, [True] * 3, [True] * 2])
    assert [len(shares) for shares in asked] == [3, 3, 2]
    assert asked[0] == [0.0] * 3
    assert asked[1][0] > 0.3
    assert asked[2][0] < asked[1][0]


# GHPO ----------------------------------------------------------------------------------------------------------------

LADDER = Guided(amount="ladder(levels=(0.25, 0.5, 0.75))")


def test_a_ladder_is_climbed_until_something_succeeds(world):
    *working, right = steps_of(world(WORDS, ""))
    assert len(working) == 4
    w = world(WORDS, lambda session, text: right if working[1] in given(text) else "0")
    (group,) = LADDER.play([w.task], w.player)
    hints = [given(w.texts(r.ids)) for r in w.sampler.requests]
    quarter, half = working[0], "\n".join(working[:2])
    assert hints == ["", "", quarter, quarter, half, half]
    assert [t.guided for t in group.trajectories] == [0.5, 0.5]
    assert [t.success for t in group.trajectories] == [True, True]


def test_there_are_never_more_than_four_passes(world):
    w = world(WORDS, "0")
    (group,) = LADDER.play([w.task], w.player)
    assert len(w.sampler.requests) == 8
    assert [t.guided for t in group.trajectories] == [0.75, 0.75]


def test_a_group_with_a_success_is_what_it_would_have_been(world):
    right = answer_of(world(ARITHMETIC, ""))
    groups = []
    for strategy in (LADDER, Independent()):
        w = world(ARITHMETIC, lambda session, text: right if session == 0 else "0")
        groups.append(strategy.play([w.task], w.player))
    assert groups[0] == groups[1]


def test_only_the_tasks_that_call_for_it_are_guided(world):
    w = world(WORDS, "")
    rights = [answer_of(w, task) for task in w.tasks(2, 2)]
    w = world(WORDS, lambda session, text: rights[0] if session < 2 else "0")
    first, second = LADDER.play(w.tasks(2, 2), w.player)
    assert [t.guided for t in first.trajectories] == [0.0, 0.0]
    assert [t.guided for t in second.trajectories] == [0.75, 0.75]
    assert (first.proposal, second.proposal) == (0, 1)


def test_a_rung_that_shows_no_further_step_is_not_climbed(world):
    w = world(ARITHMETIC, "0")  # one step before the answer, of which each of the three rungs shows the same
    (group,) = Guided(amount="ladder(levels=(0.9, 0.92, 0.94))").play([w.task], w.player)
    assert len(w.sampler.requests) == 4
    assert [t.guided for t in group.trajectories] == [0.9, 0.9]


# EGSR and RuscaRL ----------------------------------------------------------------------------------------------------

REFORMULATE = Guided(amount="fixed(share=1.0)", where="stripped", keep="successes", merge="failures", count=1)


def test_a_reformulated_solution_is_trained_without_the_solution_in_its_context(world):
    right = answer_of(world(ARITHMETIC, ""))
    w = world(ARITHMETIC, lambda session, text: right if HINT in text else "0")
    (group,) = REFORMULATE.play([w.task], w.player)
    assert [t.success for t in group.trajectories] == [True, False]
    assert [t.rescore for t in group.trajectories] == [True, False]
    assert group.trajectories[0].turns[0].obs_ids == group.trajectories[1].turns[0].obs_ids


def test_a_policy_that_never_fails_is_never_guided(world):
    right = answer_of(world(ARITHMETIC, ""))
    w = world(ARITHMETIC, right)
    (group,) = REFORMULATE.play([w.task], w.player)
    assert len(w.sampler.requests) == 2
    assert [t.guided for t in group.trajectories] == [0.0, 0.0]


def test_a_wrong_reformulation_is_not_kept(world):
    w = world(ARITHMETIC, "0")
    (group,) = REFORMULATE.play([w.task], w.player)
    assert [t.guided for t in group.trajectories] == [0.0, 0.0]


def test_criteria_are_shown_while_sampling_and_gone_in_training(world):
    strategy = Guided(trigger="always", merge="replace", where="stripped", source="criteria", amount="graded")
    w = world(GUESS, "5", samples=3)
    (group,) = strategy.play([w.task], w.player)
    shown = [HINT in w.texts(w.sampler.seen[session]) for session in (1, 2, 3)]  # session 0 is the oracle's
    assert shown == [True, True, False]
    assert all(HINT not in w.texts(row_of(t)) for t in group.trajectories)
    assert len({t.turns[0].obs_ids for t in group.trajectories}) == 1


def test_criteria_are_drawn_without_replacement(world):
    w = world(GUESS, "5")
    (solution,) = solve([w.task], w.player)
    lines = sorted(solution.actions)
    assert sorted(solution.criteria(1.0, np.random.default_rng(0)).splitlines()) == lines
    assert len(solution.criteria(0.5, np.random.default_rng(0)).splitlines()) == round(0.5 * len(lines))
    assert solution.criteria(0.0, np.random.default_rng(0)) == ""


# SEELE ---------------------------------------------------------------------------------------------------------------


def test_hint_tokens_in_the_answer_are_the_solutions_and_are_not_trained(world):
    steps = steps_of(world(WORDS, ""))
    w = world(WORDS, "x")
    strategy = Guided(trigger="always", merge="replace", where="answer", amount="fixed(share=0.5)")
    (group,) = strategy.play([w.task], w.player)
    opening = "".join(f"{step}\n" for step in steps[:2])
    for t in group.trajectories:
        assert t.turns[0].action == opening + "x"
        assert t.turns[0].origins == (Origin.HINT,) * len(opening) + (Origin.POLICY,) * 2
        assert t.guided == len(opening) / len("\n".join(steps))
    assert int(collate([group]).written_by(Origin.POLICY).sum()) == 4
    assert len(w.sampler.requests) == 2  # no plain samples besides


def test_a_hint_over_several_turns_leaves_the_policy_a_turn(world):
    w = world(GUESS, "5")
    strategy = Guided(trigger="always", merge="replace", where="answer", amount="fixed(share=1.0)")
    (group,) = strategy.play([w.task], w.player)
    (solution,) = solve([w.task], w.player)
    turns = group.trajectories[0].turns
    ahead = len(solution.actions) - 1
    assert [turn.action for turn in turns[:ahead]] == list(solution.actions[:ahead])
    assert turns[ahead].origins == ()


# IGPO ----------------------------------------------------------------------------------------------------------------

INPAINT = Guided(
    amount="uniform", where="chunks", chunk=(1, 2), keep="successes", merge="failures", most=4, template="{hint}"
)


def right_after(right: str):
    """Completes the right answer wherever it stands."""
    return lambda session, text: right[len(text.split("<act>")[1]) :]


def test_inpainted_successes_replace_at_most_four_failures(world):
    steps = steps_of(world(WORDS, ""))
    worked = "\n".join(steps)
    complete = right_after(worked)
    w = world(WORDS, lambda s, text: "0" if s < 8 else complete(s, text), samples=8)
    (group,) = INPAINT.play([w.task], w.player)
    assert [t.success for t in group.trajectories] == [True] * 4 + [False] * 4
    for t in group.trajectories[:4]:
        kept = [i for i, origin in enumerate(t.turns[0].origins) if origin == Origin.HINT]
        assert kept
        assert max(kept) < len(worked) - len(steps[-1])  # nothing of the answer is given
        assert t.turns[0].action == worked
        assert all(t.turns[0].act_ids[i] == w.renderer.action_ids(worked)[i] for i in kept)


def test_without_a_correct_inpainting_the_group_stays_as_it_is(world):
    w = world(ARITHMETIC, "x", samples=8)
    (group,) = INPAINT.play([w.task], w.player)
    assert len(group.trajectories) == 8
    assert all(t.guided == 0.0 for t in group.trajectories)


def test_a_group_with_one_success_is_not_inpainted(world):
    right = answer_of(world(ARITHMETIC, ""))
    w = world(ARITHMETIC, lambda session, text: right if session == 3 else "0", samples=8)
    INPAINT.play([w.task], w.player)
    assert len(w.sampler.requests) == 8


# POPE ----------------------------------------------------------------------------------------------------------------

PREFIX = Guided(amount="ladder(levels=(0.2, 0.4, 0.6, 0.8, 1.0))", merge="beside")


def test_the_shortest_prefix_that_helps_makes_a_group_of_its_own(world):
    *working, right = steps_of(world(WORDS, ""))
    w = world(WORDS, lambda session, text: right if working[2] in given(text) else "0")
    plain, beside = PREFIX.play([w.task], w.player)
    assert [t.guided for t in plain.trajectories] == [0.0, 0.0]
    assert [t.guided for t in beside.trajectories] == [0.6, 0.6]
    assert (plain.proposal, beside.proposal) == (42, -1)


def test_no_token_of_the_prefix_is_trained(world):
    w = world(ARITHMETIC, "0")
    _, beside = PREFIX.play([w.task], w.player)
    batch = collate([beside])
    trained = batch.ids[batch.written_by(Origin.POLICY)].tolist()
    assert trained == list(w.renderer.action_ids("0")) * 2


def test_without_hard_tasks_there_is_nothing_but_the_plain_group(world):
    right = answer_of(world(ARITHMETIC, ""))
    w = world(ARITHMETIC, right)
    assert PREFIX.play([w.task], w.player) == Independent().play([w.task], world(ARITHMETIC, right).player)


# Agent-RLVR ----------------------------------------------------------------------------------------------------------


def test_each_failure_is_tried_again_with_what_was_wrong_with_it(world):
    right = answer_of(world(ARITHMETIC, ""))
    strategy = Guided(trigger="any_fail", source="feedback", count=-1, merge="failures", amount="fixed(share=0.0)")
    w = world(ARITHMETIC, lambda s, text: right if "failed: pear" in text or s == 1 else ("pear", "", "fig")[s % 3])
    (group,) = strategy.play(w.tasks(3)[:1], w.player)
    asked = [w.texts(r.ids) for r in w.sampler.requests[3:]]
    assert ["pear" in asked[0], "fig" in asked[1], len(asked)] == [True, True, 2]
    assert [HINT in w.texts(t.turns[0].obs_ids) for t in group.trajectories] == [True, False, True]


# LUFFY and AMPO ------------------------------------------------------------------------------------------------------


def test_one_row_of_the_teacher_joins_the_group(world):
    w = world(GUESS, "5", samples=7)
    (group,) = TeacherRows().play([w.task], w.player)
    assert len(group.trajectories) == 8
    teacher = group.trajectories[-1]
    assert teacher.success
    assert teacher.version == -1
    assert {o for turn in teacher.turns for o in turn.origins} == {Origin.TEACHER}
    assert {logp for turn in teacher.turns for logp in turn.logps} == {0.0}


def test_a_group_with_a_success_gets_no_teacher(world):
    right = answer_of(world(ARITHMETIC, ""))
    w = world(ARITHMETIC, lambda session, text: right if session == 1 else "0")
    (group,) = TeacherRows(trigger="all_fail", merge="failures", most=2).play([w.task], w.player)
    assert [t.version for t in group.trajectories] == [0, 0]


def test_a_failing_group_loses_as_many_rows_as_it_is_given(world):
    w = world(ARITHMETIC, "0", samples=4)
    (group,) = TeacherRows(trigger="all_fail", merge="failures", most=2).play([w.task], w.player)
    assert [t.success for t in group.trajectories] == [True, False, False, False]


def test_of_a_larger_pool_the_policy_takes_what_it_finds_likeliest(world):
    # An earlier success in other words than the oracle's, its answer found likelier than the oracle's.
    worked = "\n".join(steps_of(world(ARITHMETIC, "")))
    right = answer_of(world(ARITHMETIC, ""))
    own = f" {right}"
    strategy = TeacherRows(trigger="all_fail", merge="failures", most=1, remember=2)
    w = world(ARITHMETIC, own)
    _prefer(w, right)  # so that what the policy samples here has log-probability -1
    strategy.play([w.task], w.player)
    for likelier, chosen in ((own, own), (right, worked)):
        w = world(ARITHMETIC, "0")
        _prefer(w, likelier)
        (group,) = strategy.play([w.task], w.player)
        assert [t.turns[0].action for t in group.trajectories] == [chosen, "0"]
        assert set(group.trajectories[0].turns[0].origins) == {Origin.TEACHER}
        assert set(group.trajectories[0].turns[0].logps) == {0.0}


def _prefer(w, text: str) -> None:
    step, ids = w.sampler.step, w.renderer.action_ids(text)

    def preferring():
        return [Completion(c.session, c.ids, (0.0 if c.ids == ids else -1.0,) * len(c.ids), c.finish) for c in step()]

    w.sampler.step = preferring


def test_what_was_found_survives_a_restart_and_is_bounded(world):
    strategy = TeacherRows(remember=1, tasks_remembered=2)
    w = world(ARITHMETIC, "")
    rights = [answer_of(w, task) for task in w.tasks(1, 1, 1)]
    w = world(ARITHMETIC, lambda session, text: rights[session])
    strategy.play(w.tasks(1, 1, 1), w.player)
    state = json.loads(json.dumps(strategy.state_dict()))
    other = TeacherRows(remember=1, tasks_remembered=2)
    other.load_state_dict(state)
    assert other.state_dict() == strategy.state_dict()
    assert len(state["memory"]) == 2


def test_wrong_guidance_is_refused_with_what_would_be_right():
    with pytest.raises(InputError, match="all_fail"):
        Guided(trigger="all_fails")
    with pytest.raises(InputError, match="levels"):
        Guided(amount="ladder(level=0.5)")
    with pytest.raises(InputError, match="must contain"):
        Guided(template="no place")
    with pytest.raises(InputError, match="prompt"):
        Guided(where="prompts")
