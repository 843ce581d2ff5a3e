"""Peers against numbers worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import gymnasium
import palaestra  # noqa: F401
import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.components.credit.peers import answer_dispersion, entropy_of_answers, peers_by
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


def test_roles_are_compared_apart_over_the_batch():
    rows = [trajectory(r, [([5], [6])], role=role) for r, role in ((1, "x"), (0, "x"), (0.4, "y"))]
    batch = collate([group(*rows), group(*rows[1:])])
    assert of("by_role", batch) == pytest.approx([1 / 3, 1 / 3, 0.4, 1 / 3, 0.4])


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


def answering(*texts: str, params=None, **extras):
    """Episodes that ended with these answers."""
    made = [trajectory(0.0, [([5], [6])], texts=[text], extras=extras, params=params or {}) for text in texts]
    return [replace(one, extras=extras) for one in made]


def test_answers_among_options_differ_by_their_entropy_over_the_number_of_options():
    # PuzzleCraft, G = 8, K = 6
    assert answer_dispersion(answering(*"ABBBBBBB", options=6)) == pytest.approx(0.2103, abs=1e-4)
    assert answer_dispersion(answering(*"ABBCCDEF", options=6)) == pytest.approx(0.9671, abs=1e-4)
    assert answer_dispersion(answering(*"AAAA", options=6)) == 0
    # Without a number of options there are as many as episodes.
    assert answer_dispersion(answering(*"ABCD")) == pytest.approx(1)
    assert answer_dispersion(answering(*"AABB")) == pytest.approx(0.5)
    assert answer_dispersion(answering("A")) == 0


def test_permutations_differ_by_the_share_of_distinct_ones():
    orders = ("3 1 2", "3,1,2", "1 2 3", "2 1 3")
    # Two of the four are one permutation: (3 - 1) / (4 - 1)
    assert answer_dispersion(answering(*orders)) == pytest.approx(2 / 3)
    assert answer_dispersion(answering(*orders, permutation=3)) == pytest.approx(2 / 3)
    # The same texts as options of a set: entropy of (1, 1, 1, 1) / 4 over ln 8
    assert answer_dispersion(answering(*orders, options=8)) == pytest.approx(2 / 3)
    assert answer_dispersion(answering("3 1 2", "3 1 2", "3 1 2")) == 0


def answered(env_id: str, answers, **params):
    """Episodes of one task of an environment that end with these answers, as a run records them."""
    env = gymnasium.make(env_id)
    env.reset(seed=3, options={"params": env.unwrapped.param_space.at(0.0) | params})
    answers = answers(env.unwrapped.oracle())
    info = env.step(answers[0])[-1]
    return answering(*answers, **{name: info["extras"][name] for name in env.unwrapped.supplies})


def test_environments_say_how_many_answers_a_task_admits():
    def half(right: str) -> list[str]:
        return [right, right, "90" if right != "90" else "180", "0" if right != "0" else "270"]

    # Three of the four turns, one of them twice: entropy 1.5 ln 2 over ln 4
    assert answer_dispersion(answered("palaestra/Rotation-v0", half, mirrors="never")) == pytest.approx(0.75)
    assert answer_dispersion(answered("palaestra/Rotation-v0", half, mirrors="perhaps")) == pytest.approx(0.5)
    letters = answered("palaestra/MultipleChoice-v0", lambda right: list("ABCD"), options=8)
    assert answer_dispersion(letters) == pytest.approx(2 / 3)
    patches = answered("palaestra/PatchFit-v0", lambda right: list("1234"), patches=4, holes=1)
    assert answer_dispersion(patches) == pytest.approx(1)
    orders = answered("palaestra/Jigsaw-v0", lambda right: [right, "1 2 3 4", "4 3 2 1", "1 2 3 4", "1"])
    assert answer_dispersion(orders) == pytest.approx(2 / 4)
