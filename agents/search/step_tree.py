"""Tree of the prefixes of one task's episodes, cut into steps.

Every finished episode adds its steps as a path of nodes; equal steps after the same prefix share a node. Visits and
values of a node are those of the episodes through it, so its mean value is the mean over its children weighted by their
visits (MedS3, arXiv 2501.12051).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ..grpo.batch.trajectory import Origin
from ..grpo.rollouts.episode_starts import FinishedEpisode, Insert, Start, branch
from ..grpo.rollouts.episode_tree import Member, place_of
from ..grpo.rollouts.lookahead import levenshtein


@dataclass(eq=False)
class StepNode:
    """Prefix of an episode that ends with a step.

    Attributes:
        parent: prefix without the last step; None at the root, which is the beginning of the task.
        ids: action tokens of the step.
        member: index of the episode that contained the prefix first.
        end: number of its action tokens up to the end of the step.
        depth: number of steps.
        prior: probability of the step, as the geometric mean over its tokens, in [0, 1].
        final: True if the episode ends here.
        children: prefixes that are one step longer.
        visits, total: number of episodes through the node, and the sum of their values.
        pending: number of episodes from this node or below that are being played.
        begun: number of episodes that were or are being continued from exactly this prefix.
        estimate: value of the prefix by a value function, or None.
        open_below: True if this node or one below it can be continued.
    """

    parent: StepNode | None = None
    ids: tuple[int, ...] = ()
    member: int = -1
    end: int = 0
    depth: int = 0
    prior: float = 1.0
    final: bool = False
    children: list[StepNode] = field(default_factory=list)
    visits: int = 0
    total: float = 0.0
    pending: int = 0
    begun: int = 0
    estimate: float | None = None
    open_below: bool = True

    @property
    def mean(self) -> float:
        """Mean value of the episodes through the node; 0 without any."""
        return self.total / self.visits if self.visits else 0.0

    @property
    def worth(self) -> float:
        """The value function's estimate of the prefix, or else the mean value."""
        return self.mean if self.estimate is None else self.estimate

    @property
    def running(self) -> int:
        """Number of episodes that continue from exactly this prefix and are being played."""
        return self.pending - sum(child.pending for child in self.children)

    def path(self) -> list[StepNode]:
        """Return the nodes from the root to this one."""
        found, node = [], self
        while node is not None:
            found.append(node)
            node = node.parent
        return found[::-1]

    def walk(self) -> Iterator[StepNode]:
        """Yield this node and all below it, parents before children, older children first."""
        waiting: list[StepNode] = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.children)


class StepTree:
    """Search tree of one task.

    Args:
        root: start of an episode at the beginning of the task.
        width: most continuations from one prefix; see `widen`.
        depth: most steps of a prefix that is continued.
        cues: texts, as tokens, that open the continuations of a prefix, in turn; () for none. The first continuation
            from the root has no cue.
        trained: train copied tokens in every episode, not only in the one that sampled them.
        merge: steps after the same prefix are one node if at most this share of their tokens differs (edit distance;
            AlphaLLM, arXiv 2404.12253). The node goes on with the step that was sampled first.

    Attributes:
        members: the finished episodes.
        leaves: last node of each member.
        rewards: value of each member; None until it is valued, and for an invalid episode.
        parts: for each member, the values of which its value is the mean, by the number of the value function.
        sources: for each member, the prefix that it continued.
        memory: state of the search, by its name.
        tokens: number of tokens that the policy sampled.
        read: number of tokens that the policy read before it sampled, copied action tokens included.
    """

    def __init__(
        self,
        root: Start,
        width: int,
        depth: float = math.inf,
        cues: Sequence[tuple[int, ...]] = (),
        trained: bool = False,
        merge: float = 0.0,
    ):
        self.merge = merge
        self._root, self.width, self.depth, self._cues, self._trained = root, width, depth, cues, trained
        self._step_width = width
        self.root = StepNode()
        self.members: list[Member] = []
        self.leaves: list[StepNode] = []
        self.rewards: list[float | None] = []
        self.parts: list[dict[int, float]] = []
        self.sources: list[StepNode] = []
        self.memory: dict[str, object] = {}
        self.tokens = self.read = 0

    def is_open(self, node: StepNode) -> bool:
        """Return True if the node can be continued once more."""
        return not node.final and node.begun < self.width and node.depth < self.depth

    def widen(self) -> None:
        """Allow every prefix as many further continuations as it could have at first."""
        self.width += self._step_width
        for node in reversed(list(self.root.walk())):
            node.open_below = self.is_open(node) or any(child.open_below for child in node.children)

    def begin(self, node: StepNode) -> Start:
        """Return the start of a continuation of ``node``, and count it as being played."""
        number = node.begun
        node.begun += 1
        for each in node.path():
            each.pending += 1
        self._refresh(node)
        if node.parent is None:
            start = self._root
        else:
            played = self.members[node.member].played
            start = branch(
                self._root.task,
                played,
                *place_of(played.trajectory, node.end),
                self._trained,
                temperature=self._root.temperature,
                limits=self._root.limits,
            )
        cue = self._cues[(number + bool(node.depth)) % len(self._cues)] if self._cues and (number or node.depth) else ()
        if not cue:
            return start
        given = start.inserts[0] if start.inserts else None
        at = given.at + len(given.ids) if given else 0
        return replace(start, inserts=(*start.inserts, Insert.of(at, cue, Origin.HINT)))

    def add(self, node: StepNode, played: FinishedEpisode, starts: Sequence[int]) -> list[StepNode]:
        """Add a continuation of ``node`` that `begin` started, and return the new nodes.

        Args:
            played: the episode.
            starts: index of the first token of each step, see `episode_tree.step_starts`.
        """
        for each in node.path():
            each.pending -= 1
        trajectory, number = played.trajectory, len(self.members)
        self.members.append(Member(played, node.member, node.end))
        self.rewards.append(None)
        self.parts.append({})
        self.sources.append(node)
        origins = [origin for turn in trajectory.turns for origin in turn.token_origins]
        self.tokens += origins[node.end :].count(Origin.POLICY)
        self.read += node.end + sum(len(turn.obs_ids) for turn in trajectory.turns)
        new: list[StepNode] = []
        if not trajectory.valid or not trajectory.turns:
            self.leaves.append(node)
            return new
        ids = [i for turn in trajectory.turns for i in turn.act_ids]
        logps = [logp for turn in trajectory.turns for logp in turn.logps]
        edges = [node.end, *(start for start in starts if start > node.end), len(ids)]
        for begin, end in pairwise(edges if len(ids) > node.end else edges[:-1]):
            step = tuple(ids[begin:end])
            child = next((other for other in node.children if self._is_same(other, step, end == len(ids))), None)
            if child is None:
                prior = math.exp(sum(logps[begin:end]) / max(1, end - begin))
                child = StepNode(node, step, number, end, node.depth + 1, prior)
                node.children.append(child)
                new.append(child)
            node = child
            node.begun += end < len(ids)
        node.final = node.final or node.end == len(ids)
        self._refresh(node)
        for each in node.path():
            each.visits += 1
        self.leaves.append(node)
        return new

    def _is_same(self, node: StepNode, step: tuple[int, ...], last: bool) -> bool:
        """Return True if a step equals that of a node, or nearly so while both or neither end the episode."""
        if node.ids == step or not self.merge:
            return node.ids == step
        return node.final == last and levenshtein(node.ids, step) <= self.merge * max(len(node.ids), len(step))

    def set_reward(self, member: int, parts: Mapping[int, float]) -> None:
        """Set the value of an episode, or change it, and update the nodes on its path.

        Args:
            parts: value by number of the value function; values of other functions stay.
        """
        self.parts[member].update(parts)
        before, value = self.rewards[member], sum(self.parts[member].values()) / len(self.parts[member])
        self.rewards[member] = value
        for node in self.leaves[member].path():
            node.total += value - (before or 0.0)

    def started_at(self, node: StepNode) -> int:
        """Return the number of finished episodes that continued exactly this prefix."""
        return sum(source is node for source in self.sources)

    def success_rate(self, node: StepNode) -> float:
        """Return the mean value of the valued episodes that continued exactly this prefix; 0 without any."""
        pairs = zip(self.sources, self.rewards, strict=True)
        values = [reward for source, reward in pairs if source is node and reward is not None]
        return sum(values) / len(values) if values else 0.0

    def _refresh(self, node: StepNode) -> None:
        """Update ``open_below`` from a node up to the root."""
        for each in reversed(node.path()):
            each.open_below = self.is_open(each) or any(child.open_below for child in each.children)
