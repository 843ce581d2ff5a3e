"""The scripted worlds of the rollout tests, and trees made from written answers."""

from __future__ import annotations

from palaestra.agents.grpo.rollouts.episode_starts import FinishedEpisode, Moment, RolloutTask, Start
from palaestra.agents.search.step_tree import StepNode, StepTree

from ..grpo.conftest import trajectory
from ..grpo.rollouts.conftest import renderer, world  # noqa: F401  (fixtures)


def tree_of(*answers: str, width: int = 4, rewards: tuple[float, ...] = ()) -> StepTree:
    """A tree of answers that continue from the root; each letter is a step. Values are rewards, 1 by default."""
    tree = StepTree(Start(RolloutTask({}, 0, 1)), width)
    for number, answer in enumerate(answers):
        tree.begin(tree.root)
        add(tree, tree.root, answer, (rewards or (1.0,) * len(answers))[number])
    return tree


def add(tree: StepTree, node: StepNode, answer: str, reward: float) -> None:
    """Add an answer that continues ``node`` and has begun."""
    ids = [ord(letter) for letter in answer]
    played = FinishedEpisode(trajectory(reward, [([1], ids)], texts=[answer]), (Moment(None, "", {}),))
    tree.add(node, played, list(range(1, len(ids))))
    tree.set_reward(len(tree.members) - 1, {0: reward})


def node_at(tree: StepTree, answer: str) -> StepNode:
    """The node of a prefix."""
    node = tree.root
    for letter in answer:
        node = next(child for child in node.children if child.ids == (ord(letter),))
    return node
