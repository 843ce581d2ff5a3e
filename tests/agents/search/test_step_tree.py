"""Trees of prefixes: shared steps, back-up of values, what can be continued."""

from __future__ import annotations

import pytest
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.rollouts.episode_starts import FinishedEpisode, Moment, RolloutTask, Start
from palaestra.agents.grpo.rollouts.episode_tree import step_starts
from palaestra.agents.search import step_pairs
from palaestra.agents.search.step_tree import StepTree

from ..grpo.conftest import trajectory

from .conftest import add, node_at, tree_of  # isort: skip


def test_equal_steps_after_the_same_prefix_share_a_node():
    tree = tree_of("abc", "abd", "xbc")
    assert [chr(child.ids[0]) for child in tree.root.children] == ["a", "x"]
    assert node_at(tree, "ab").visits == 2
    assert node_at(tree, "xb").visits == 1
    assert node_at(tree, "abc").final
    assert not node_at(tree, "ab").final


def test_steps_that_differ_in_few_tokens_are_merged_and_each_goes_on_from_its_own_prefix():
    """Steps of four letters: one of four that differs is a quarter."""

    def tree_of_lines(merge: float) -> StepTree:
        tree = StepTree(Start(RolloutTask({}, 0, 1)), 4, merge=merge)
        for answer in ("abcdwxyz", "abceqrst", "abcmnop", "zzzzwxyz"):
            start = len(answer) - 4
            played = FinishedEpisode(trajectory(1.0, [([1], list(map(ord, answer)))]), (Moment(None, "", {}),))
            tree.begin(tree.root)
            tree.add(tree.root, played, [start])
        return tree

    assert [child.visits for child in tree_of_lines(0.0).root.children] == [1, 1, 1, 1]
    tree = tree_of_lines(0.25)
    merged, other = tree.root.children
    assert (merged.visits, other.visits) == (3, 1)
    assert [(child.member, child.end, child.final) for child in merged.children] == [
        (0, 8, True),
        (1, 8, True),
        (2, 7, True),
    ]
    assert tree.begin(merged).inserts[0].ids == tuple(map(ord, "abcd"))
    for number, answer in enumerate(("abcdwxyz", "abceqrst", "abcmnop")):
        tree.set_reward(number, {0: float(number == 1)})
        # The prefix of a step is that of its own episode.
        end = step_pairs._end_at(tree, merged.children[number], 1.0).turns[0]
        assert end.origins == (int(Origin.HINT),) * (len(answer) - 4) + (int(Origin.POLICY),) * 4
    assert merged.mean == pytest.approx(1 / 3)
    # A step that ends an episode is not one that goes on.
    assert len(tree_of("ab", "a").root.children) == 1


def test_visits_of_the_root_are_the_number_of_simulations():
    assert tree_of("ab", "ac", "a", "b").root.visits == 4


def test_a_node_has_the_mean_of_its_children_weighted_by_visits():
    # MedS3: children with values 1 and 0 and visits 3 and 1 make .75.
    tree = tree_of("ab", "ab", "ab", "ac", rewards=(1.0, 1.0, 1.0, 0.0))
    assert (node_at(tree, "ab").mean, node_at(tree, "ab").visits) == (1.0, 3)
    assert node_at(tree, "a").mean == 0.75


def test_one_win_and_one_loss_cancel():
    # rStar-Math's terminal values are 1 and -1.
    assert tree_of("ab", "ac", rewards=(1.0, -1.0)).root.mean == 0.0


def test_a_value_that_changes_replaces_the_earlier_one():
    tree = tree_of("ab", "ac", rewards=(1.0, 0.0))
    tree.set_reward(0, {0: 0.5})
    tree.set_reward(1, {1: 1.0})  # a second value function: the mean of 0 and 1
    assert tree.rewards == [0.5, 0.5]
    assert node_at(tree, "a").total == 1.0


def test_a_prefix_is_open_until_it_has_its_continuations():
    tree = tree_of("ab", "ac", width=3)
    assert tree.is_open(tree.root)
    tree.begin(tree.root)
    assert not tree.is_open(tree.root)
    assert tree.root.pending == 1
    a = node_at(tree, "a")  # both answers went on from here
    assert a.begun == 2
    assert tree.is_open(a)
    assert not tree.is_open(node_at(tree, "ab"))


def test_a_tree_without_open_prefixes_can_be_widened():
    tree = tree_of("a", "b", width=2)
    assert not tree.root.open_below
    tree.widen()
    assert tree.root.open_below
    assert tree.is_open(tree.root)


def test_only_tokens_of_the_policy_count_as_sampled():
    tree = tree_of("abc")
    assert (tree.tokens, tree.read) == (3, 1)
    node = node_at(tree, "ab")
    assert tree.begin(node).inserts[0].ids == (ord("a"), ord("b"))
    add(tree, node, "abz", 1.0)
    assert tree.tokens == 4
    assert tree.read == 1 + 2 + 1
    assert tree.root.pending == 0


def test_cues_open_all_continuations_but_the_first():
    tree = StepTree(Start(RolloutTask({}, 0, 1)), 4, cues=((), (7, 8), (9,)))
    starts = [tree.begin(tree.root) for _ in range(4)]
    given = [start.inserts[0].ids if start.inserts else () for start in starts]
    assert given == [(), (7, 8), (9,), ()]
    assert starts[1].inserts[0].origins == (Origin.HINT, Origin.HINT)


@pytest.mark.parametrize(
    ("at", "starts"),
    [("line", [2, 4]), ("turn", [5]), ("step", [2, 4, 5]), ("token", [3, 6]), ("sentence", [4])],
)
def test_steps_begin_after_lines_turns_sentences_or_tokens(at, starts):
    text = {1: "x", 2: "\n", 3: ".", 4: "y"}
    made = trajectory(1.0, [([9], [1, 2, 3, 2, 1]), ([9], [4, 1])])
    assert step_starts(made, lambda ids: "".join(text[i] for i in ids), at, 3) == starts
