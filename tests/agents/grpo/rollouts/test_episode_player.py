"""Episodes that begin in the middle, with hints, or with somebody else's tokens; and what a failing machine does."""

from __future__ import annotations

import math
from collections import deque

import gymnasium
import palaestra
import pytest
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.trajectory import Group, Origin
from palaestra.agents.grpo.rollouts.episode_starts import Insert, RolloutTask, Start, TokenLimits, branch
from palaestra.agents.grpo.rollouts.independent import Independent
from palaestra.errors import InputError

from .conftest import ARITHMETIC, GUESS, ROOM, answer_of, row_of, steps_of  # isort: skip


def test_a_kept_hint_is_part_of_the_trained_context_and_never_trained(world):
    w = world(ARITHMETIC, "1")
    (played,) = w.player.play([Start(w.task, hint="It is odd.", guided=0.5)])
    turn = played.trajectory.turns[0]
    assert w.texts(turn.obs_ids).endswith("\nIt is odd.<act>")
    assert not played.trajectory.rescore
    assert played.trajectory.guided == 0.5
    batch = collate([Group(0, (played.trajectory,))])
    assert tuple(batch.ids[~batch.action].tolist()) == turn.obs_ids


def test_a_stripped_hint_is_seen_by_the_sampler_alone(world):
    w = world(ARITHMETIC, "1")
    plain, hinted = w.player.play([Start(w.task), Start(w.task, hint="It is odd.", keep_hint=False)])
    assert row_of(plain.trajectory) == row_of(hinted.trajectory)
    assert "It is odd." in w.texts(w.sampler.seen[1])
    assert hinted.trajectory.rescore
    assert not plain.trajectory.rescore
    assert "odd" not in hinted.trajectory.turns[0].observation


def test_a_hint_that_leaves_no_room_to_answer_is_not_given(world):
    w = world(ARITHMETIC, "1", TokenLimits(16, 1000, 60))
    (played,) = w.player.play([Start(w.task, hint="x" * 100, keep_hint=False, guided=1.0)])
    assert played.trajectory.guided == 0.0
    assert not played.trajectory.rescore
    assert len(played.trajectory.turns) == 1


def test_inserted_tokens_open_the_answer_and_are_marked(world):
    w = world(ARITHMETIC, "34")
    ids = w.renderer.action_ids("12")[:-1]
    (played,) = w.player.play([Start(w.task, inserts=(Insert.of(0, ids, Origin.HINT),))])
    turn = played.trajectory.turns[0]
    assert turn.action == "1234"
    assert turn.origins == (Origin.HINT, Origin.HINT, Origin.POLICY, Origin.POLICY, Origin.POLICY)
    assert row_of(played.trajectory) == w.sampler.seen[0]


def test_inserted_chunks_lie_at_their_places_and_the_policy_writes_between(world):
    w = world(ARITHMETIC, "9999")
    chunks = [Insert.of(at, w.renderer.action_ids(text)[:-1], Origin.HINT) for at, text in ((1, "ab"), (5, "c"))]
    (played,) = w.player.play([Start(w.task, inserts=tuple(chunks))])
    turn = played.trajectory.turns[0]
    assert turn.action == "9ab99c9999"
    assert [i for i, origin in enumerate(turn.origins) if origin == Origin.HINT] == [1, 2, 5]
    assert row_of(played.trajectory) == w.sampler.seen[0]


def test_an_answer_that_stops_early_does_without_later_chunks(world):
    w = world(ARITHMETIC, "9")
    chunk = Insert.of(5, w.renderer.action_ids("ab")[:-1], Origin.HINT)
    (played,) = w.player.play([Start(w.task, inserts=(chunk,))])
    assert played.trajectory.turns[0].action == "9"
    assert played.trajectory.turns[0].origins == ()


@pytest.mark.parametrize("budget", range(1, 8))
def test_inserted_tokens_count_towards_the_budget(world, budget):
    # Trap 4 with somebody else's tokens: below, at and beyond the edge.
    w = world(ARITHMETIC, "99", TokenLimits(action=budget, episode=1000, context=4000))
    chunks = (Insert.of(0, w.renderer.action_ids("1234")[:-1], Origin.HINT), Insert.of(5, (70,), Origin.HINT))
    (played,) = w.player.play([Start(w.task, inserts=chunks)])
    turn = played.trajectory.turns[0]
    assert len(turn.act_ids) == min(budget, 7 if budget < 7 else 9)
    assert len(turn.act_ids) == len(turn.logps) == len(turn.token_origins)
    assert played.trajectory.truncated


def test_a_branch_repeats_the_episode_up_to_its_moment_and_the_world_agrees(world):
    # Another guess at turn 2: the observations are those of a replay by hand.
    w = world(GUESS, lambda session, text: "5" if session == 0 else "7")
    (first,) = w.player.play([Start(w.task)], states=True)
    assert len(first.trajectory.turns) > 3
    (second,) = w.player.play([branch(w.task, first, 2)])
    env = gymnasium.make(GUESS)
    observation, _ = env.reset(seed=w.task.seed, options={"params": dict(w.task.params)})
    for number, turn in enumerate(second.trajectory.turns):
        assert turn.observation == observation
        assert turn.action == ("5" if number < 2 else "7")
        observation, reward, *_ = env.step(turn.action)
        assert turn.reward == reward
    assert row_of(second.trajectory) == w.sampler.seen[1]


def test_copied_turns_are_trained_where_they_were_sampled_unless_asked_otherwise(world):
    w = world(GUESS, "5")
    (first,) = w.player.play([Start(w.task)], states=True)
    once, each = w.player.play([branch(w.task, first, 2), branch(w.task, first, 2, trained=True)])
    assert [set(turn.token_origins) for turn in once.trajectory.turns[:3]] == [{3}, {3}, {0}]
    assert all(set(turn.token_origins) == {0} for turn in each.trajectory.turns)


def test_a_branch_within_an_action_shares_exactly_its_tokens_and_log_probabilities(world):
    w = world(ARITHMETIC, lambda session, text: "12345" if session == 0 else "99")
    (first,) = w.player.play([Start(w.task)], states=True)
    (second,) = w.player.play([branch(w.task, first, 0, 3)])
    old, new = first.trajectory.turns[0], second.trajectory.turns[0]
    assert new.action == "12399"
    assert new.act_ids[:3] == old.act_ids[:3]
    assert new.logps[:3] == old.logps[:3]
    assert new.token_origins == (3, 3, 3, 0, 0, 0)


def test_a_branch_of_a_branch_can_leave_at_a_turn_of_the_first(world):
    w = world(GUESS, lambda session, text: str(session + 5))
    (first,) = w.player.play([Start(w.task)], states=True)
    (second,) = w.player.play([branch(w.task, first, 3)], states=True)
    (third,) = w.player.play([branch(w.task, second, 1)])
    assert [turn.action for turn in third.trajectory.turns[:3]] == ["5", "7", "7"]
    assert len(second.moments) >= len(second.trajectory.turns)


def test_the_oracle_plays_the_first_turns_and_the_policy_goes_on(world):
    w = world(GUESS, "1")
    (played,) = w.player.play([Start(w.task, oracle_turns=2)])
    turns = played.trajectory.turns
    assert {o for turn in turns[:2] for o in turn.origins} == {Origin.HINT}
    assert all(turn.origins == () for turn in turns[2:])
    assert [turn.action for turn in turns[2:]] == ["1"] * len(turns[2:])
    assert row_of(played.trajectory) == w.sampler.seen[0]


def test_an_episode_by_the_oracle_alone_succeeds_and_asks_nothing_of_the_sampler(world):
    w = world(GUESS, "1")
    (played,) = w.player.play([Start(w.task, oracle_turns=math.inf, oracle_origin=Origin.TEACHER)])
    assert played.trajectory.success
    assert played.trajectory.version == -1
    assert {logp for turn in played.trajectory.turns for logp in turn.logps} == {0.0}
    assert w.sampler.requests == []


def test_no_episode_waits_for_another_one(world):
    # A sampler that always answers the newest request plays the last episode to its end before it begins the first.
    w = world(GUESS, "5", samples=3)
    answered: list[int] = []
    step = w.sampler.step

    def newest_first():
        w.sampler._queue = deque([w.sampler._queue[-1], *list(w.sampler._queue)[:-1]]) if w.sampler._queue else deque()
        completions = step()
        answered.extend(c.session for c in completions)
        return completions

    w.sampler.step = newest_first
    (group,) = Independent().play([w.task], w.player)
    turns = len(group.trajectories[0].turns)
    assert turns > 2
    assert answered == [2] * turns + [1] * turns + [0] * turns


class Fragile(palaestra.envs.Question):
    """An environment that breaks when it is told to.

    Description: d. Parameters: none.
    """

    param_space = palaestra.envs.ParamSpace([palaestra.envs.IntAxis("size", 1, 50)])

    def generate(self, rng, params):
        if params["size"] == 50:
            raise OSError("no such world")
        return palaestra.envs.Task(f"Say {int(rng.integers(1000))}.", "1")

    def verify(self, task, answer):
        if answer == "break":
            raise OSError("the world is gone")
        return palaestra.rewards.Verdict(1.0, True)


if "test/Fragile-v0" not in gymnasium.registry:
    palaestra.envs.register("test/Fragile-v0", Fragile)


def test_an_exception_of_the_machinery_makes_the_episode_invalid_and_no_other(world):
    w = world("test/Fragile-v0", lambda session, text: "break" if session == 1 else "fine", samples=3)
    (group,) = Independent().play([w.task], w.player)
    assert [t.valid for t in group.trajectories] == [True, False, True]
    assert group.trajectories[1].outcome == 0.0
    assert collate([group]).rows == 2


def test_a_task_that_cannot_begin_is_lost_and_not_failed(world):
    w = world("test/Fragile-v0", "fine")
    broken = Start(RolloutTask({"size": 50}, 1, 1))
    lost, played = w.player.play([broken, Start(w.task)])
    assert not lost.trajectory.valid
    assert lost.trajectory.turns == ()
    assert played.trajectory.success


def test_an_environment_that_raised_is_not_used_again(world):
    w = world("test/Fragile-v0", lambda session, text: "break" if session == 0 else "fine", samples=1)
    given_back: list[object] = []
    w.environments.give_back = given_back.append
    Independent().play([w.task], w.player)
    assert given_back == []


def test_environments_are_used_again(world):
    w = world(ARITHMETIC, "1", samples=3)
    for _ in range(3):
        Independent().play([w.task], w.player)
        assert len(w.environments._free) == 3


def test_an_impossible_parameter_is_the_callers_error(world):
    w = world(ARITHMETIC, "1")
    with pytest.raises(InputError, match="digits"):
        w.player.play([Start(RolloutTask({**w.task.params, "digits": 99}, 1, 1))])


class Unsolved(Fragile):
    """An environment whose solution nobody knows.

    Description: d. Parameters: none.
    """

    def oracle(self, task):
        raise NotImplementedError


if "test/Unsolved-v0" not in gymnasium.registry:
    palaestra.envs.register("test/Unsolved-v0", Unsolved)


def test_strategies_that_show_solutions_say_so_where_there_is_no_oracle(world):
    w = world("test/Unsolved-v0", "fine")
    with pytest.raises(InputError, match=r"no oracle\(\)"):
        w.player.play([Start(w.task, oracle_turns=1)])


def test_entropies_are_recorded_for_each_token(world):
    w = world(ARITHMETIC, "123", ROOM)
    w.sampler.entropy = lambda session, i: 0.5 + i
    chunk = Insert.of(0, (70,), Origin.HINT)
    (played,) = w.player.play([Start(w.task, inserts=(chunk,))], entropies=True)
    assert played.trajectory.turns[0].entropies == (0.0, 0.5, 1.5, 2.5, 3.5)


def test_a_question_outside_the_episodes_is_answered_in_its_own_conversation(world):
    w = world(ARITHMETIC, lambda session, text: "yes" if "Why" in text else "no")
    first, long, second = w.player.ask(["Why?", "Why?" * w.player.limits.context, "What?"])
    assert (first.action, long, second.action) == ("yes", None, "no")
    assert w.texts(first.obs_ids) == "<obs>Why?<act>"


def test_the_oracle_writes_the_worked_solution_and_then_its_answer(world):
    w = world(ARITHMETIC, "1")
    (played,) = w.player.play([Start(w.task, oracle_turns=math.inf)])
    assert played.trajectory.success
    assert played.trajectory.turns[0].action == "\n".join([*steps_of(w)[:-1], answer_of(w)])


# Prompts that do not fit, and waves that are limited -----------------------------------------------------------------


def test_a_task_whose_prompt_leaves_no_room_is_counted_and_its_episodes_are_invalid(world):
    w = world(ARITHMETIC, "1", TokenLimits(16, 1000, 20))
    (group,) = Independent().play([w.task], w.player)
    assert [t.valid for t in group.trajectories] == [False, False]
    assert [len(t.turns) for t in group.trajectories] == [0, 0]
    assert w.player.overlong == {(w.task.proposal, w.task.seed)}
    assert w.sampler.requests == []
    assert len(w.environments._free) == 1  # It is sound, and is used again.


@pytest.mark.parametrize("at_once", [1, 3])
def test_a_limit_on_episodes_in_progress_changes_neither_their_number_nor_their_order(world, at_once):
    w = world(GUESS, lambda session, text: str(session % 7))
    starts = [Start(task) for task in w.tasks(*[1] * 8)]
    whole = w.player.play(starts)
    limited = world(GUESS, lambda session, text: str(session % 7))
    played = limited.player.play(starts, at_once=at_once)
    assert [p.trajectory.turns for p in played] == [p.trajectory.turns for p in whole]
    assert len(limited.environments._free) == at_once
    assert len(w.environments._free) == 8
