"""How many episodes are played, and which are kept: the numbers of the papers, counted by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.trajectory import Trajectory, Turn
from palaestra.agents.grpo.rollouts.group_sizes import (
    AdaptiveRounds,
    FirstFinished,
    GreedyBaseline,
    GrowingGroups,
    ResampleOnCorrect,
    clumsiness,
)
from palaestra.errors import InputError

from .conftest import ARITHMETIC, GUESS, answer_of, secret_of  # isort: skip


def made(success: bool, errors: int = 0, turns: int = 3, answer: str = "<answer>1</answer>") -> Trajectory:
    """Turns of which the first ``errors`` went wrong; the last one answers."""
    played = tuple(
        Turn((1,), (2,), (0.0,), "stop", 0.0, action=answer, action_error="wrong" if i < errors else None)
        for i in range(turns)
    )
    return Trajectory("t", {}, 0.0, played, success, 0.0, False, True, 16)


# ReMax


def test_the_greedy_twin_is_played_at_temperature_zero_and_stays_out_of_the_group(world):
    w = world(ARITHMETIC, "")
    right = answer_of(w)
    w = world(ARITHMETIC, lambda session, text: right if session == 2 else "0", samples=2)
    (group,) = GreedyBaseline().play([w.task], w.player)
    assert [r.temperature for r in w.sampler.requests] == [1.0, 1.0, 0.0]
    assert len(group.trajectories) == 2
    assert group.greedy == 1.0
    assert group.proposal == 42


def test_the_return_of_the_twin_includes_the_shaping(world):
    def judge(groups):
        return [
            replace(group, trajectories=tuple(replace(t, shaping={"own": 7.0}) for t in group.trajectories))
            for group in groups
        ]

    w = world(ARITHMETIC, "0", judge=judge)
    assert GreedyBaseline().play([w.task], w.player)[0].greedy == 7.0


# GRPO-RoC


@pytest.mark.parametrize(("good", "bad", "kept_good", "kept_bad"), [(20, 12, 10, 6), (31, 1, 15, 1), (1, 31, 1, 15)])
def test_both_kinds_keep_their_proportion_with_a_floor(good, bad, kept_good, kept_bad):
    drawn = [made(True) for _ in range(good)] + [made(False) for _ in range(bad)]
    kept = ResampleOnCorrect().keep(drawn, 16)
    assert (sum(t.success for t in kept), sum(not t.success for t in kept)) == (kept_good, kept_bad)


def test_kept_successes_are_the_cleanest(world):
    drawn = [made(True, errors=e) for e in (2, 0, 1, 2, 0, 1)] + [made(False), made(False)]
    kept = ResampleOnCorrect().keep(drawn, 4)
    worst_kept = max(clumsiness(t) for t in kept if t.success)
    dropped = [t for t in drawn if t.success and all(t is not k for k in kept)]
    assert worst_kept <= min(clumsiness(t) for t in dropped)
    assert [t.success for t in kept] == [True, True, False, False]


def test_which_failures_are_kept_does_not_depend_on_their_form():
    clean = [made(False, errors=0) for _ in range(4)]
    drawn = [made(True), made(True), made(False, errors=2), made(False, errors=2), *clean, made(True), made(True)]
    kept = [t for t in ResampleOnCorrect().keep(drawn, 5) if not t.success]
    assert [clumsiness(t) for t in kept] == [1.0, 1.0, 0.0]


def test_clumsiness_is_the_share_of_failed_calls_plus_the_form_of_the_answer():
    assert clumsiness(made(True, errors=1)) == 0.5
    assert clumsiness(made(True, turns=1)) == 0.5  # no tool was used
    assert clumsiness(made(True, answer="1")) == 1.0  # no tags
    assert clumsiness(made(True, answer="<answer>1</answer><answer>")) == 1.0  # they do not match
    assert clumsiness(made(True, answer="<answer>1</answer>" * 2)) == pytest.approx(1 / 3)  # one answer too many


def test_clumsiness_counts_the_calls_that_the_environment_says_failed():
    quiet = made(True, turns=3)  # its programs raised, which is no action error
    last = replace(quiet.turns[-1], extras={"tool_errors": [True, True, False, False]})
    assert clumsiness(replace(quiet, turns=(*quiet.turns[:-1], last))) == 0.5
    idle = replace(quiet.turns[-1], extras={"tool_errors": []})
    assert clumsiness(replace(quiet, turns=(*quiet.turns[:-1], idle))) == 0.5  # no tool was used
    unknown = replace(quiet.turns[-1], extras={"tool_errors": None})
    assert clumsiness(replace(quiet, turns=(*quiet.turns[:-1], unknown))) == 0.0


def test_successes_whose_programs_raised_give_way_to_clean_ones(world):
    tool = "palaestra/PythonTool-v0"
    w = world(tool, "")
    env = w.environments.take().unwrapped
    env.reset(seed=w.task.seed, options={"params": dict(w.task.params)})
    right = env.inner.oracle(env.here().task)

    def says(session, text):
        if text.count("<act>") > 1:
            return f"<answer>{right}</answer>"
        return "```python\n1 / 0\n```" if session < 2 else "```python\nprint(1)\n```"

    w = world(tool, says, samples=2)
    (group,) = ResampleOnCorrect().play([w.task], w.player)
    assert group.drawn == (1.0,) * 4
    assert [t.turns[-1].extras["tool_errors"] for t in group.trajectories] == [[False], [False]]
    assert all(turn.action_error is None for t in group.trajectories for turn in t.turns)


def test_twice_the_samples_are_drawn_and_remembered(world):
    w = world(ARITHMETIC, "0")
    (group,) = ResampleOnCorrect().play(w.tasks(4), w.player)
    assert len(w.sampler.requests) == 8
    assert len(group.trajectories) == 4
    assert group.drawn == (0.0,) * 8


# Reinforce-Ada


def test_one_success_in_all_rounds_is_kept_and_all_draws_make_the_baseline(world):
    right = answer_of(world(ARITHMETIC, ""))
    w = world(ARITHMETIC, lambda session, text: right if session == 20 else "0", samples=4)
    (group,) = AdaptiveRounds().play([w.task], w.player)
    assert len(group.drawn) == 32
    assert [t.success for t in group.trajectories] == [True, False, False, False]
    batch = collate([group])
    centred = batch.outcome - sum(group.drawn) / 32
    assert centred.tolist() == [31 / 32, -1 / 32, -1 / 32, -1 / 32]


def test_a_task_with_both_kinds_is_not_sampled_again(world):
    right = answer_of(world(ARITHMETIC, ""))
    w = world(ARITHMETIC, lambda session, text: right if session < 2 else "0", samples=4)
    (group,) = AdaptiveRounds().play([w.task], w.player)
    assert len(group.drawn) == 8
    assert [t.success for t in group.trajectories] == [True, True, False, False]


def test_in_positive_mode_one_success_is_enough(world):
    right = answer_of(world(ARITHMETIC, ""))
    for mode, draws in (("positive", 16), ("balanced", 32)):
        w = world(ARITHMETIC, lambda session, text: right if session == 9 else "0", samples=4)
        assert len(AdaptiveRounds(mode=mode).play([w.task], w.player)[0].drawn) == draws


def test_where_one_kind_is_short_the_other_fills_up(world):
    right = answer_of(world(ARITHMETIC, ""))
    for rights, kept in ((32, [True] * 4), (31, [True, True, True, False]), (0, [False] * 4)):
        w = world(ARITHMETIC, lambda session, text, rights=rights: right if session < rights else "0", samples=4)
        (group,) = AdaptiveRounds().play([w.task], w.player)
        assert [t.success for t in group.trajectories] == kept


def test_a_finished_task_leaves_the_rounds_of_the_others(world):
    # Task 0 has both kinds after its first round (sessions 0-3); task 1 goes on alone.
    right = answer_of(world(ARITHMETIC, ""))
    w = world(ARITHMETIC, lambda session, text: right if session == 0 else "0")
    first, second = AdaptiveRounds().play(w.tasks(2, 2), w.player)
    assert (len(first.drawn), len(second.drawn)) == (4, 16)


# First finished


def test_the_rest_is_cancelled_once_every_task_has_its_samples(world):
    # Session 0 guesses on while the others win at once.
    right = secret_of(world(GUESS, ""))
    w = world(GUESS, lambda session, text: "1" if session == 0 else right, samples=4)
    (group,) = FirstFinished().play([w.task], w.player)
    assert len({r.session for r in w.sampler.requests}) == 5
    assert [t.success for t in group.trajectories] == [True] * 4
    assert w.sampler.step() == []


# BroRL


def test_groups_double_when_success_is_flat_and_episodes_stay_as_many(world):
    w = world(ARITHMETIC, "0")
    strategy = GrowingGroups(patience=2, most=4)
    sizes = [[len(g.trajectories) for g in strategy.play(w.tasks(2, 2, 2, 2), w.player)] for _ in range(9)]
    assert sizes[:4] == [[2, 2, 2, 2]] * 4
    assert sizes[4:8] == [[4, 4, 0, 0]] * 4
    assert sizes[8] == [8, 0, 0, 0]


def test_groups_stay_while_success_rises(world):
    right = answer_of(world(ARITHMETIC, ""))
    rate = [0]
    w = world(ARITHMETIC, lambda session, text: right if session % 8 < rate[0] else "0")
    strategy = GrowingGroups(patience=1)
    for rate[0] in range(6):
        (group,) = strategy.play([w.tasks(8)[0]], w.player)
        assert len(group.trajectories) == 8


def test_growth_survives_a_restart(world):
    w = world(ARITHMETIC, "0")
    strategy = GrowingGroups(patience=2)
    for _ in range(5):
        strategy.play(w.tasks(2, 2), w.player)
    other = GrowingGroups(patience=2)
    other.load_state_dict(strategy.state_dict())
    assert other.state_dict() == strategy.state_dict()
    assert [len(g.trajectories) for g in other.play(w.tasks(2, 2), w.player)] == [4, 0]


def test_wrong_parameters_are_refused():
    with pytest.raises(InputError, match="oversample must be a finite number of at least 1"):
        ResampleOnCorrect(oversample=0.5)
    with pytest.raises(InputError, match="balanced"):
        AdaptiveRounds(mode="balance")


def test_adaptive_rounds_judge_every_episode_once(world):
    asked = []

    def judge(groups):
        asked.extend(t for group in groups for t in group.trajectories if not t.judged)
        return [
            replace(group, trajectories=tuple(replace(t, judged=True) for t in group.trajectories)) for group in groups
        ]

    w = world(ARITHMETIC, "0", samples=4, judge=judge)
    (group,) = AdaptiveRounds(rounds=3).play([w.task], w.player)
    assert len(asked) == 3 * 8
    assert len(group.drawn) == 24
    assert len(group.trajectories) == 4
    assert all(t.judged for t in group.trajectories)
