"""Trees that branch at uncertain tokens and drop branches that become similar again (LATR, arXiv 2510.24302).

The tree grows within the first action of a task, all branches token by token. Tokens of each branch are sampled some
positions ahead of the decisions; this changes no probability, as each decision depends on earlier tokens alone. If a
decision takes another token than the sampled one, the tokens after it are sampled again. Once no decision is left, the
branches are played to the end.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ....checks import check_choice, check_number
from ....errors import InputError
from ...engines.sampler import Likeliest, Request
from ..batch.trajectory import Group, Origin
from ..recipes.stages import ROLLOUTS
from .environments import begin
from .episode_player import EpisodePlayer
from .episode_starts import Insert, RolloutTask, Start
from .independent import Strategy, group_of, play_by_task

_log = logging.getLogger(__name__)


# Similarity of two stretches of equal length --------------------------------------------------------------------------


def levenshtein(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the least number of insertions, deletions and replacements that turn one sequence into the other."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        diagonal, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (a != b))
    return row[-1]


def common_subsequence(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the length of the longest common subsequence."""
    row = [0] * (len(other) + 1)
    for a in one:
        diagonal = 0
        for j, b in enumerate(other, 1):
            diagonal, row[j] = row[j], diagonal + 1 if a == b else max(row[j], row[j - 1])
    return row[-1]


def common_suffix(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the length of the longest common suffix."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


METRICS: dict[str, tuple[Callable[[Sequence[int], Sequence[int], float], bool], float]] = {
    "edit": (lambda a, b, bound: levenshtein(a, b) / len(a) < bound, 0.4),
    "suffix": (lambda a, b, bound: common_suffix(a, b) / len(a) > bound, 0.2),
    "rouge_l": (lambda a, b, bound: common_subsequence(a, b) / len(a) > bound, 0.5),
}
"""Name -> (test that two stretches of equal length are alike, given a bound; bound in the released code)."""


# The tree ------------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Branch:
    """Growing answer: a path in the tree of one task.

    Attributes:
        ids, logps: tokens so far and their log-probabilities.
        parent: branch that this one left, or the nearest living ancestor if that was dropped; None for the root.
        born: index of the first token after the branch point.
        ahead: (token, log-probability, likeliest tokens) sampled for the next positions.
        ended: True if the branch has a stop token or the largest number of tokens.
    """

    ids: list[int] = field(default_factory=list)
    logps: list[float] = field(default_factory=list)
    parent: Branch | None = None
    born: int = 0
    ahead: deque[tuple[int, float, Likeliest]] = field(default_factory=deque)
    ended: bool = False

    @property
    def age(self) -> int:
        """Number of tokens since the branch left its parent."""
        return len(self.ids) - self.born


class LookaheadTree:
    """Branches of one task.

    Args:
        rules: the strategy, whose parameters decide on branching and dropping.
        prompt: token ids before the first action.
        capacity: most branches at a time.
        room: most tokens of a branch.
        stop_ids: token ids that end a branch.
    """

    def __init__(self, rules: Lookahead, prompt: tuple[int, ...], capacity: int, room: int, stop_ids: Sequence[int]):
        self.rules, self.prompt, self.capacity, self.room = rules, prompt, capacity, room
        self.stop_ids = frozenset(stop_ids)
        self.branches = [Branch()]

    @property
    def complete(self) -> bool:
        """True if no branch can be opened or dropped any more."""
        oldest = max(self.rules.ages)
        undecided = (b for b in self.branches if not b.ended and b.parent and not b.parent.ended and b.age < oldest)
        full = len(self.branches) >= self.capacity
        return all(b.ended for b in self.branches) or (full and not any(undecided))

    def branches_to_draw(self) -> list[Branch]:
        """Grow the tree as far as sampled tokens reach.

        Returns:
            The branches whose next tokens must be sampled; [] once the tree is complete.
        """
        while not self.complete:
            if wanting := [b for b in self.branches if not b.ended and not b.ahead]:
                return wanting
            self._step()
        return []

    def _step(self) -> None:
        """Append a token to every unfinished branch, open new branches, and drop those too similar to their parent."""
        options = [
            (rank, row, candidate)
            for row, branch in enumerate(self.branches)
            if not branch.ended
            for rank, candidate in self.rules.candidates(branch.ahead[0][2])
        ]
        chosen = sorted(options)[: self.capacity - len(self.branches)]
        children = []
        for _, row, (token, logp) in chosen:
            left = self.branches[row]
            children.append(Branch([*left.ids, token], [*left.logps, logp], left, len(left.ids)))
        forked = {row for _, row, _ in chosen}
        for row, branch in enumerate(self.branches):
            if branch.ended:
                continue
            token, logp, top = branch.ahead.popleft()
            if row in forked and token != top[0][0]:
                token, logp = top[0]
                branch.ahead.clear()
            branch.ids.append(token)
            branch.logps.append(logp)
        self.branches += children
        for branch in self.branches:
            branch.ended = branch.ended or branch.ids[-1] in self.stop_ids or len(branch.ids) >= self.room
        self._prune()

    def _prune(self) -> None:
        for branch in list(self.branches):
            parent = branch.parent
            if parent is None or branch.ended or parent.ended or branch.age not in self.rules.ages:
                continue
            if self.rules.are_alike(branch.ids[-branch.age :], parent.ids[-branch.age :]):
                self.branches.remove(branch)
                for child in self.branches:
                    if child.parent is branch:
                        child.parent = parent


@ROLLOUTS.register("lookahead")
@dataclass(eq=False)
class Lookahead(Strategy):
    """Branch at uncertain tokens and keep branches that stay different (LATR, arXiv 2510.24302, section 3).

    A tree grows in the first action. At each position the ``width`` likeliest tokens of a branch are candidates. A
    candidate other than the likeliest token opens a branch if its probability exceeds ``tau_abs`` and is less than
    ``tau_rel`` below the highest probability. If the tree cannot take all, likelier ranks come first, then earlier
    branches. A branch with a new child continues with its likeliest token; all others continue as sampled. When a
    branch reaches one of the ``ages``, its tokens since the branch point are compared with the same number of last
    tokens of its parent (the branch that it left, or the nearest living ancestor). If they are similar, the branch is
    dropped and its slot becomes free. Once the tree is full and all branches are past these ages, they are sampled to
    the end.

    Tokens chosen by this rule have the policy's log-probability, and every episode is trained whole. Samples that the
    tree does not fill are played independently. The default thresholds are the paper's for mathematics; for Countdown
    the released code has tau_abs 0.25, tau_rel 0.15 and the metric "edit".

    Args:
        share: share of the samples that the tree makes, in [0, 1]; the others are independent.
        width: number of likeliest tokens that are candidates.
        tau_abs, tau_rel: see above, in [0, 1].
        ages: numbers of tokens since the branch point at which a branch is compared with its parent.
        metric: similarity of two token sequences: "edit" (distance / tokens below the threshold), "suffix" (common
            suffix / tokens above it) or "rouge_l" (longest common subsequence / tokens above it).
        threshold: threshold of the metric; None: 0.4, 0.2 and 0.5, respectively.

    Raises:
        InputError: a value is out of range, there are no ages, or the metric is unknown.
    """

    share: float = 1.0
    width: int = 2
    tau_abs: float = 0.15
    tau_rel: float = 0.25
    ages: Sequence[int] = (20, 30, 50)
    metric: str = "rouge_l"
    threshold: float | None = None

    abilities = frozenset({"top"})

    def __post_init__(self) -> None:
        check_choice("metric", self.metric, METRICS)
        check_number("width", self.width, 1)
        check_number("age", min(self.ages, default=0), 1)
        for name in ("share", "tau_abs", "tau_rel"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} must be in [0, 1], not {getattr(self, name)}.")

    def candidates(self, top: Likeliest) -> list[tuple[int, tuple[int, float]]]:
        """Return (rank from 1, (token id, log-probability)) of the likeliest tokens that may open a branch."""
        highest = math.exp(top[0][1])
        return [
            (rank, (token, logp))
            for rank, (token, logp) in enumerate(top[1 : self.width], 1)
            if math.exp(logp) > self.tau_abs and highest - math.exp(logp) < self.tau_rel
        ]

    def are_alike(self, one: Sequence[int], other: Sequence[int]) -> bool:
        """Return True if two token sequences of equal length count as similar."""
        test, usual = METRICS[self.metric]
        return test(one, other, usual if self.threshold is None else self.threshold)

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        trees = [self._make_tree(task, player) for task in tasks]
        while undrawn := [(tree, branch) for tree in trees if tree for branch in tree.branches_to_draw()]:
            self._draw(undrawn, player)
        starts = [_starts(task, tree) for task, tree in zip(tasks, trees, strict=True)]
        return [group_of(task, played) for task, played in zip(tasks, play_by_task(player, starts), strict=True)]

    def _make_tree(self, task: RolloutTask, player: EpisodePlayer) -> LookaheadTree | None:
        """Make the tree of a task, before its first token; None if it could hold only one branch or no token."""
        capacity = round(self.share * task.samples)
        prompt = _render_prompt(task, player) if capacity > 1 else ()
        limits = player.limits
        room = min(limits.action, limits.episode, limits.context - len(prompt))
        return LookaheadTree(self, prompt, capacity, room, player.renderer.stop_ids) if prompt and room > 0 else None

    def _draw(self, wanting: Sequence[tuple[LookaheadTree, Branch]], player: EpisodePlayer) -> None:
        """Sample the next tokens of the branches in ``wanting``."""
        asked: dict[int, Branch] = {}
        for tree, branch in wanting:
            session, span = player.new_session(), min(max(self.ages), tree.room - len(branch.ids))
            asked[session] = branch
            ids = (*tree.prompt, *branch.ids)
            noise, top = player.request_seed(), max(1, self.width)
            player.sampler.submit(Request(session, ids, span, player.temperature, top=top, seed=noise))
        missing = len(asked)
        while missing:
            for completion in player.sampler.step():
                branch = asked[completion.session]
                branch.ahead.extend(zip(completion.ids, completion.logps, completion.top, strict=True))
                player.sampler.close(completion.session)
                missing -= 1


def _render_prompt(task: RolloutTask, player: EpisodePlayer) -> tuple[int, ...]:
    """Return the token ids before the first action; () if the environment raises, as it will when played."""
    env = player.environments.take()
    try:
        observation, _ = begin(env, task.seed, task.params)
    except InputError:
        raise
    except Exception:
        _log.exception("an environment failed to begin; its task is played without look-ahead")
        return ()
    player.environments.give_back(env)
    return player.renderer.observation(observation, first=True)


def _starts(task: RolloutTask, tree: LookaheadTree | None) -> list[Start]:
    """Return starts with the tokens of each branch, and plain starts for the remaining samples."""
    starts = []
    for branch in tree.branches if tree else ():
        ids = (*branch.ids, *(token for token, _, _ in branch.ahead))
        logps = (*branch.logps, *(logp for _, logp, _ in branch.ahead))
        starts.append(Start(task, inserts=(Insert(0, ids, (int(Origin.POLICY),) * len(ids), logps),)))
    return starts + [Start(task)] * (task.samples - len(starts))
