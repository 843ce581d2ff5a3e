"""Groups whose episodes share beginnings: shared nodes, trained copies, and values of states."""

from __future__ import annotations

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.recipes.stages import BASELINES, RETURNS
from palaestra.agents.grpo.rollouts.episode_starts import FinishedEpisode, RolloutTask
from palaestra.agents.grpo.rollouts.episode_tree import Member, tree_group
from palaestra.agents.grpo.rollouts.trees import EntropyBranch, RandomTree, SplitTree, ToolBranch
from palaestra.agents.grpo.rollouts.vine import Vine
from palaestra.errors import InputError

from ..conftest import trajectory  # isort: skip
from .conftest import ARITHMETIC, GUESS, answer_of, secret_of  # isort: skip


def nodes(group):
    return [[(node.key, node.tokens) for node in t.nodes] for t in group.trajectories]


def test_a_path_is_cut_wherever_somebody_leaves():
    # Member 1 leaves member 0 after 2 of 5 tokens, member 2 leaves 1 after 4, member 3 leaves 1 within what 1 copied.
    def member(tokens, parent=-1, shared=0):
        return Member(FinishedEpisode(trajectory(1.0, [([1], [5] * tokens)])), parent, shared)

    tree = [member(5), member(6, 0, 2), member(5, 1, 4), member(3, 1, 1)]
    assert nodes(tree_group(RolloutTask({}, 0, 4), tree)) == [
        [("0:0", 1), ("0:1", 1), ("0:2", 3)],
        [("0:0", 1), ("0:1", 1), ("1:2", 2), ("1:4", 2)],
        [("0:0", 1), ("0:1", 1), ("1:2", 2), ("2:4", 1)],
        [("0:0", 1), ("3:1", 2)],
    ]


# Split and random trees


def test_a_tree_of_two_splits_has_four_leaves_that_share_their_prefixes(world):
    w = world(ARITHMETIC, lambda session, text: f"{session}" * 6, samples=4)
    (group,) = SplitTree(splits=2, spacing=2).play([w.task], w.player)
    assert [t.turns[0].action for t in group.trajectories] == ["000000", "00111111", "0000222222", "0011333333"]
    assert [[key for key, _ in path] for path in nodes(group)] == [
        ["0:0", "0:2", "0:4"],
        ["0:0", "1:2", "1:4"],
        ["0:0", "0:2", "2:4"],
        ["0:0", "1:2", "3:4"],
    ]


def test_values_of_a_two_level_tree_are_normalised_within_their_depth(world):
    # BranchGRPO's example: leaves (1, 0, 0, 0), so the values of the inner nodes are .5 and 0.
    w = world(ARITHMETIC, lambda session, text: f"{session}" * 6, samples=4)
    (group,) = SplitTree(splits=2, spacing=2).play([w.task], w.player)
    rewarded = [
        trajectory(r, [([1], list(t.turns[0].act_ids))], nodes=t.nodes)
        for r, t in zip((1.0, 0.0, 0.0, 0.0), group.trajectories, strict=True)
    ]
    batch = collate([group.__class__(0, tuple(rewarded))])
    units = RETURNS["node_return"](batch)
    at_token = units.expand(units.value)[batch.action]
    lengths = [t.action_tokens for t in rewarded]
    rows = torch.split(at_token, lengths)
    assert [row[0].item() for row in rows] == [0.25] * 4
    assert [row[2].item() for row in rows] == [0.5, 0.0, 0.5, 0.0]
    assert [row[4].item() for row in rows] == [1.0, 0.0, 0.0, 0.0]
    centred = units.with_value(units.value - BASELINES["depth_mean"](units, batch))
    assert centred.expand(centred.value)[batch.action][2].item() == 0.25


@pytest.mark.parametrize(("copies", "trained"), [("once", 7 + 7 + 7 + 7), ("each", 7 + 9 + 11 + 11)])
def test_shared_tokens_are_trained_once_or_in_each_copy(world, copies, trained):
    w = world(ARITHMETIC, lambda session, text: f"{session}" * 6, samples=4)
    (group,) = SplitTree(splits=2, spacing=2, copies=copies).play([w.task], w.player)
    assert int(collate([group]).written_by(Origin.POLICY).sum()) == trained


def test_turns_are_split_at_turns_and_the_samples_bound_the_tree(world):
    w = world(GUESS, lambda session, text: str(session + 4), samples=5)
    (group,) = SplitTree(splits=4, at="turn").play([w.task], w.player)
    assert len(group.trajectories) == 5
    second = group.trajectories[1].turns
    assert second[0].origins == (Origin.COPY,) * len(second[0].act_ids)
    assert second[1].origins == ()


def test_an_answer_too_short_to_split_is_followed_by_fresh_ones(world):
    w = world(ARITHMETIC, "1", samples=4)
    (group,) = SplitTree(spacing=8).play([w.task], w.player)
    assert [[key for key, _ in path] for path in nodes(group)] == [["0:0"], ["1:0"], ["2:0"], ["3:0"]]


def test_a_random_tree_expands_every_tree_as_often(world):
    w = world(GUESS, lambda session, text: str(session % 16 + 1), samples=6, seed=3)
    (group,) = RandomTree(expand=2, rounds=1).play([w.task], w.player)
    roots = [path[0][0] for path in nodes(group)]
    assert len(group.trajectories) == 6
    assert roots.count("0:0") == 3
    assert roots.count("1:0") == 3


# CURE


def test_four_answers_with_three_branches_each_make_sixteen(world):
    w = world(ARITHMETIC, lambda session, text: f"{session % 10}" * 12, samples=16)
    w.sampler.entropy = lambda session, i: float(i)
    (group,) = EntropyBranch(top=1).play([w.task], w.player)
    assert len(group.trajectories) == 16
    # The stop token, at place 12, has the highest entropy but no visible character: all branch before place 11.
    for number, t in enumerate(group.trajectories[4:]):
        parent = group.trajectories[number // 3].turns[0].act_ids
        child = t.turns[0]
        assert child.act_ids[:11] == parent[:11]
        assert child.act_ids[11] != parent[11] or number // 3 == (number + 4) % 10
        assert child.origins[:12] == (3,) * 11 + (0,)
    batch = collate([group])
    assert not batch.written_by(Origin.POLICY)[batch.origin == Origin.COPY].any()


def test_only_uncertain_visible_tokens_are_branched_from():
    made = trajectory(1.0, [([1], [65, 66, 67, 68, 69])])
    entropies = (9.0, 1.0, 3.0, 8.0, 2.0)
    turn = made.turns[0]
    made = made.__class__(**{**vars(made), "turns": (turn.__class__(**{**vars(turn), "entropies": entropies}),)})
    text = {65: "ab", 66: "ab", 67: "ab", 68: " x", 69: "abc"}
    branch = EntropyBranch(top=2)
    assert branch.positions(made, lambda ids: text[ids[0]]) == [2, 4]  # not the first token, nor the one character
    assert branch.positions(made, lambda ids: text[ids[0]][:1]) == [2, 4]  # " " is nothing to see
    assert branch.positions(made, lambda ids: "") == []


def test_the_place_is_drawn_uniformly_from_the_most_uncertain(world):
    lengths = []
    for seed in range(60):
        w = world(ARITHMETIC, lambda session, text: f"{session}" * 9, samples=2, seed=seed)
        w.sampler.entropy = lambda session, i: 1.0 if i in (2, 5) else 0.0
        (group,) = EntropyBranch(children=1, top=2).play([w.task], w.player)
        lengths.append(group.trajectories[1].turns[0].origins.count(Origin.COPY))
    assert set(lengths) == {2, 5}
    assert 20 <= lengths.count(2) <= 40


# ARPO


def test_the_probability_to_branch_rises_with_entropy():
    branch = ToolBranch()
    draws = [(i + 0.5) / 1000 for i in range(1000)]
    assert sum(branch.branches(u, 0.0) for u in draws) == 500
    assert sum(branch.branches(u, 1.0) for u in draws) == 700


def test_there_are_sixteen_rollouts_whatever_happens(world):
    for base in (-1.0, 0.5, 1.0):
        w = world(GUESS, lambda session, text: str(session % 16 + 1), samples=16)
        w.sampler.entropy = lambda session, i: 1.0
        (group,) = ToolBranch(base=base).play([w.task], w.player)
        fresh = sum(path[0][0] == f"{i}:0" for i, path in enumerate(nodes(group)))
        assert len(group.trajectories) == 16
        assert fresh == {-1.0: 16, 1.0: 8}.get(base, fresh)


def test_a_branch_leaves_at_the_turn_that_became_uncertain(world):
    # Each episode's third action is as uncertain as can be, all others are certain.
    w = world(GUESS, lambda session, text: str(session + 4), samples=4)
    count: dict[int, int] = {}

    def entropy(session: int, i: int) -> float:
        count[session] = count.get(session, 0) + (i == 0)
        return 4.6 if count[session] == 3 else 0.0

    w.sampler.entropy = entropy
    (group,) = ToolBranch(initial=0.25, base=0.5, weight=1000.0).play([w.task], w.player)
    copied = [[turn.origins.count(Origin.COPY) > 0 for turn in t.turns] for t in group.trajectories]
    assert not any(copied[0])
    assert copied[1][:3] == [True, True, False]


def test_an_unknown_vocabulary_is_the_callers_error(world):
    w = world(GUESS, "1")
    w.sampler.entropy = lambda session, i: 1.0
    w.player.renderer = _Bare(w.player.renderer)
    with pytest.raises(InputError, match="vocabulary=N"):
        ToolBranch().play([w.task], w.player)


class _Bare:
    def __init__(self, renderer):
        self.stop_ids = renderer.stop_ids
        self.observation, self.action, self.action_ids = renderer.observation, renderer.action, renderer.action_ids


# VinePPO and prefix values


def test_the_value_of_a_state_is_the_mean_return_from_there(world):
    # The one sample is session 0 and wins. Of 4 continuations from the start (sessions 1-4) one wins; from the second
    # state (session 5-8) two.
    right = secret_of(world(GUESS, ""))
    wins = {1, 5, 6}

    def says(session, text):
        if session == 0:
            return right if text.count("<obs>") == 2 else "1"
        return right if session in wins else "1"

    w = world(GUESS, says, samples=1)
    (group,) = Vine(continuations=4).play([w.task], w.player)
    (played,) = group.trajectories
    assert [turn.action for turn in played.turns] == ["1", right]
    assert [node.value for node in played.nodes] == [0.25, 0.5]
    assert [node.tokens for node in played.nodes] == [len(turn.act_ids) for turn in played.turns]


def test_gains_of_prefix_values_add_up_to_the_gain_of_the_episode(world):
    # DenseGRPO: one greedy completion from each state; the gains telescope.
    right = secret_of(world(GUESS, ""))
    w = world(GUESS, lambda session, text: right if text.count("<obs>") == 4 else "1", samples=1)
    (group,) = Vine(continuations=1, heat=0.0).play([w.task], w.player)
    assert {r.temperature for r in w.sampler.requests if r.session > 0} == {0.0}
    units = RETURNS["segment_gain"](collate([group]))
    (played,) = group.trajectories
    assert units.value.sum().item() == pytest.approx(played.outcome - played.nodes[0].value)


def test_stretches_by_tokens_and_by_lines(world):
    w = world(ARITHMETIC, "12\n4567", samples=1)
    for at, every, lengths in (("token", 3, [3, 3, 2]), ("line", 1, [3, 5]), ("turn", 1, [8])):
        (group,) = Vine(at=at, every=every, continuations=1).play([w.task], w.player)
        assert [node.tokens for node in group.trajectories[0].nodes] == lengths


def test_a_continuation_within_an_action_goes_on_from_its_tokens(world):
    right = answer_of(world(ARITHMETIC, ""))
    w = world(ARITHMETIC, lambda s, text: "777" if s < 2 else right[len(text.split("<act>")[1]) :], samples=1)
    (group,) = Vine(at="token", every=2, continuations=1).play([w.task], w.player)
    assert w.texts(w.sampler.seen[2]).split("<act>")[1] == "77" + right[2:] + "<end>"
    assert [node.value for node in group.trajectories[0].nodes] == [0.0, 0.0]
