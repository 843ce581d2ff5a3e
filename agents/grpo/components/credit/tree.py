"""Returns on trees: episodes of a group that share stretches of tokens, and values of the states between stretches.

`Trajectory.nodes` lists the stretches (nodes) of an episode; here nodes become units of credit.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

import torch
from torch import Tensor

from .....errors import InputError
from ...batch.batch import Batch
from ...batch.rounding import subtract_beyond_rounding
from ...batch.scored import needs
from ...batch.segments import segment_min, segment_sum
from ...recipes.stages import RETURNS
from .units import Units


@dataclass(frozen=True, eq=False)
class Tree:
    """M nodes of all groups of a batch, and the P visits of its episodes to these nodes, ordered by episode and depth.

    Attributes:
        of_token, visit_of_token: node and visit of each action token, -1 at other tokens, int64 [N].
        parent: node before each node, -1 at a root, int64 [M].
        depth: number of nodes before each node, int64 [M].
        group, episode: group of each node, and the first episode through it, int64 [M].
        value: estimated return from the state before each node, NaN if not estimated, float [M].
        logp: behaviour log-probability of each node's tokens together, nats, float [M].
        node, by: node and episode of each visit, int64 [P].
        last: True for the last visit of an episode, bool [P].
    """

    of_token: Tensor
    visit_of_token: Tensor
    parent: Tensor
    depth: Tensor
    group: Tensor
    episode: Tensor
    value: Tensor
    logp: Tensor
    node: Tensor
    by: Tensor
    last: Tensor

    def mean_over_visits(self, value: Tensor) -> Tensor:
        """Average a visit value over the visits of each node: [P] -> [M]."""
        total = segment_sum(value, self.node, len(self.parent))
        return total / torch.bincount(self.node, minlength=len(self.parent)).clamp(min=1)


def tree_of(batch: Batch) -> Tree:
    """Build the trees of a batch; an episode without nodes becomes a single node."""
    known: dict[tuple[int, str], int] = {}
    parent: list[int] = []
    depth: list[int] = []
    first: list[int] = []
    value: list[float] = []
    node, by, last, tokens = [], [], [], []
    for episode, (group, trajectory) in enumerate(zip(batch.group_of.tolist(), batch.trajectories, strict=True)):
        path = [(n.key, n.tokens, n.value) for n in trajectory.nodes]
        before = -1
        for place, (key, count, estimate) in enumerate(path or [(f"\0{episode}", trajectory.action_tokens, None)]):
            number = known.setdefault((group, key), len(known))
            if number == len(parent):
                parent.append(before)
                depth.append(place)
                first.append(episode)
                value.append(float("nan") if estimate is None else estimate)
            node.append(number)
            by.append(episode)
            tokens.append(count)
            last.append(place == max(len(path), 1) - 1)
            before = number
    visit = torch.repeat_interleave(torch.arange(len(tokens)), torch.tensor(tokens, dtype=torch.int64))
    visit_of_token = torch.full_like(batch.ids, -1)
    visit_of_token[batch.action] = visit
    visited = torch.tensor(node, dtype=torch.int64)
    episodes = torch.tensor(first, dtype=torch.int64)
    of_token = torch.where(visit_of_token >= 0, torch.cat((visited, visited.new_tensor([-1])))[visit_of_token], -1)
    # A copied stretch has log-probability 0 except in the episode that sampled it.
    sampled = segment_sum(batch.logp_mu[batch.action], visit, len(node))
    return Tree(
        of_token=of_token,
        visit_of_token=visit_of_token,
        parent=torch.tensor(parent, dtype=torch.int64),
        depth=torch.tensor(depth, dtype=torch.int64),
        group=batch.group_of[episodes],
        episode=episodes,
        value=torch.tensor(value, dtype=batch.outcome.dtype),
        logp=segment_min(sampled, visited, len(parent)),
        node=visited,
        by=torch.tensor(by, dtype=torch.int64),
        last=torch.tensor(last, dtype=torch.bool),
    )


@RETURNS.register("node_return")
@needs("nodes")
def node_return(batch: Batch, mode: str = "mean", alpha: float = 1.0) -> Units:
    """Value of the state that each node leads to; one unit per node, peers are the nodes of its group unless a baseline
    says otherwise (BranchGRPO, arXiv 2509.06040).

    Args:
        mode: "mean": mean outcome of all episodes through the node. "softmax": computed from the leaves up, children
            weighted by softmax(alpha x log-probability of the child's tokens).
        alpha: factor on log-probabilities in mode "softmax".

    Raises:
        InputError: ``mode`` has another value.
    """
    tree = tree_of(batch)
    if mode == "mean":
        value = tree.mean_over_visits(batch.outcome[tree.by])
    elif mode == "softmax":
        value = _value_bottom_up(tree, batch.outcome, alpha)
    else:
        raise InputError(f"mode={mode!r} is no way to value a node; take 'mean' or 'softmax'.")
    return Units(value, tree.group, tree.episode, tree.of_token)


def _value_bottom_up(tree: Tree, outcome: Tensor, alpha: float) -> Tensor:
    """Return V(node) = sum over children of softmax(alpha log p) V(child), [M]; a leaf has the mean outcome of its
    episodes.

    If some episodes end in a node and others continue, the end counts as one more child, of probability 1.
    """
    children: dict[int, list[int]] = defaultdict(list)
    for node, parent in enumerate(tree.parent.tolist()):
        children[parent].append(node)
    ended: dict[int, list[float]] = defaultdict(list)
    for node, final in zip(tree.node[tree.last].tolist(), outcome[tree.by[tree.last]].tolist(), strict=True):
        ended[node].append(final)
    value = torch.zeros(len(tree.parent), dtype=outcome.dtype)
    for node in tree.depth.argsort(descending=True).tolist():
        below = children.get(node, [])
        values, logp = value[below], tree.logp[below]
        if node in ended:
            values = torch.cat((values, values.new_tensor([sum(ended[node]) / len(ended[node])])))
            logp = torch.cat((logp, logp.new_zeros(1)))
        value[node] = ((alpha * logp).softmax(0) * values).sum()
    return value


@RETURNS.register("segment_gain")
@needs("node_values")
def segment_gain(batch: Batch) -> Units:
    """V(state after) - V(state before) of each node, with the outcome as value of the final state (VinePPO, arXiv
    2410.01679; with greedy completions DenseGRPO, arXiv 2601.20218). The gains of an episode add up to outcome -
    V(start).

    A state without an estimate takes the value of the next state, so the segment between them gains 0.
    """
    tree = tree_of(batch)
    before, after = _values_around(tree, batch.outcome)
    return Units(
        tree.mean_over_visits(subtract_beyond_rounding(after, before)), tree.group, tree.episode, tree.of_token
    )


@RETURNS.register("turning_point")
@needs("node_values")
def turning_point(batch: Batch) -> Units:
    """Gain d_t = R_t - R_{t-1} of each stretch, replaced by outcome - R_{t-1} at a turning point, at which sign(d) x
    sign(outcome - R_0) changes from negative to positive (TP-GRPO, arXiv 2602.06422).

    One unit per episode and node. R_t is the estimated return from the state after stretch t.
    """
    tree = tree_of(batch)
    before, after = _values_around(tree, batch.outcome)
    final = batch.outcome[tree.by]
    gain = subtract_beyond_rounding(after, before)
    start = torch.ones_like(tree.last)
    start[1:] = tree.last[:-1]
    origin = before[start][tree.by]
    direction = gain.sign() * subtract_beyond_rounding(final, origin).sign()
    earlier = torch.where(start, 0, direction.roll(1))
    gain = torch.where((earlier < 0) & (direction > 0), subtract_beyond_rounding(final, before), gain)
    return Units(gain, batch.group_of[tree.by], tree.by, tree.visit_of_token)


def _values_around(tree: Tree, outcome: Tensor) -> tuple[Tensor, Tensor]:
    """Return the values of the states before and after each visit, [P] each; the next value replaces a missing one."""
    before, after = tree.value[tree.node].tolist(), outcome[tree.by].tolist()
    last = tree.last.tolist()
    for visit in range(len(before) - 1, -1, -1):
        if not last[visit]:
            after[visit] = before[visit + 1]
        if math.isnan(before[visit]):
            before[visit] = after[visit]
    return torch.tensor(before, dtype=outcome.dtype), torch.tensor(after, dtype=outcome.dtype)
