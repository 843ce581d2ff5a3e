"""Replay of earlier episodes of the same task, and of successes that the policy finds likely but not certain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .....checks import check_choice, check_count, check_number
from ...batch.trajectory import Group, Origin, Trajectory
from ...recipes.stages import REPLAYS
from .memory import Replay, draw_numbers

CRITERIA = ("recent", "entropy", "probability", "random")
STRATEGIES = ("recency", "reward", "variance", "full")


def sampled_logps(trajectory: Trajectory) -> list[float]:
    """Return the behaviour log-probabilities of the tokens that the policy sampled, in order."""
    return [
        logp
        for turn in trajectory.turns
        for logp, origin in zip(turn.logps, turn.token_origins, strict=True)
        if origin == Origin.POLICY
    ]


def mean_probability(trajectory: Trajectory) -> float:
    """Return the geometric mean probability of the sampled tokens under the policy that sampled them; 0 without any."""
    logps = sampled_logps(trajectory)
    return math.exp(sum(logps) / len(logps)) if logps else 0.0


def mean_entropy(trajectory: Trajectory) -> float:
    """Return the mean entropy of the distributions of the action tokens, nats; infinite without tokens.

    If entropies were not recorded, it is estimated by the mean of -log p over the sampled tokens.
    """
    recorded = [value for turn in trajectory.turns for value in turn.entropies]
    values = recorded or [-logp for logp in sampled_logps(trajectory)]
    return sum(values) / len(values) if values else math.inf


def attribute_to(trajectory: Trajectory, origin: Origin) -> Trajectory:
    """Return the trajectory with the policy's tokens attributed to ``origin``; log-probabilities stay."""
    turns = tuple(
        replace(turn, origins=tuple(origin if o == Origin.POLICY else o for o in turn.token_origins))
        for turn in trajectory.turns
    )
    return replace(trajectory, turns=turns)


@REPLAYS.register("past_successes")
class PastSuccesses(Replay):
    """In groups without a success, replace the last episodes by earlier successes at the same task (ExGRPO, arXiv
    2510.02245, section 4: successes of low entropy are replayed).

    Args:
        most: largest number of successes added to a group.
        criterion: order of preference: "recent", lowest "entropy", highest "probability" or "random".
        only_failed: leave groups that contain a success unchanged; if False, add successes to these too.
        as_teacher: attribute replayed tokens to a teacher, so that the recipe can give them another surrogate (name
            "teacher" among its origins); their behaviour log-probabilities stay.
        capacity: number of groups stored, of which only the successes are kept.
    """

    def __init__(
        self,
        most: int = 1,
        criterion: str = "entropy",
        only_failed: bool = True,
        as_teacher: bool = False,
        capacity: int = 4096,
    ):
        super().__init__(capacity)
        self.most = check_count("most", most, 1, "episodes")
        self.criterion = check_choice("criterion", criterion, CRITERIA)
        self.only_failed, self.as_teacher = only_failed, as_teacher

    def mix(self, groups: Sequence[Group], step: int, rng: np.random.Generator) -> list[Group]:
        mixed = [self._add_successes(group, rng) for group in groups]
        won = [replace(group, trajectories=tuple(t for t in group.valid if t.success)) for group in groups]
        self._remember([group for group in won if group.trajectories], step)
        return mixed

    def _add_successes(self, group: Group, rng: np.random.Generator) -> Group:
        if not group.valid or (self.only_failed and any(t.success for t in group.valid)):
            return group
        task = group.valid[0].task_id
        past = [t for kept in self._kept for t in kept.group.trajectories if t.task_id == task]
        if self.criterion == "random":
            order = rng.permutation(len(past)).tolist()
        else:
            measure = {"entropy": mean_entropy, "probability": lambda t: -mean_probability(t)}.get(self.criterion)
            # Of equal or unmeasured ones, the more recent comes first.
            order = sorted(range(len(past)), key=lambda i: (measure(past[i]) if measure else 0.0, -i))
        past = [past[i] for i in order][: min(self.most, len(group.trajectories))]
        if self.as_teacher:
            past = [attribute_to(t, Origin.TEACHER) for t in past]
        stay = group.trajectories[: len(group.trajectories) - len(past)]
        return replace(group, trajectories=(*stay, *past))


@REPLAYS.register("prompt_replay")
class PromptReplay(Replay):
    """Add up to ``samples`` earlier episodes of the same task to each fresh group (RePO, arXiv 2506.09340, section 3).

    Args:
        strategy: episodes to add: "recency": the latest; "reward": those with the highest rewards; "variance": the
            subset whose rewards vary most; "full": random ones.
        split: put the earlier episodes into a separate group, so that advantages are computed for old and fresh
            episodes separately; if False, over both together.
    """

    def __init__(self, samples: int = 8, strategy: str = "recency", split: bool = True, capacity: int = 4096):
        super().__init__(capacity)
        self.samples = check_count("samples", samples, 1, "episodes")
        self.strategy = check_choice("strategy", strategy, STRATEGIES)
        self.split = split

    def mix(self, groups: Sequence[Group], step: int, rng: np.random.Generator) -> list[Group]:
        mixed: list[Group] = []
        for group in groups:
            old = self._retrieve(group, rng)
            if old and not self.split:
                group = replace(group, trajectories=(*group.trajectories, *old))
            mixed.append(group)
            if old and self.split:
                mixed.append(Group(group.proposal, old))
        self._remember(groups, step)
        return mixed

    def _retrieve(self, group: Group, rng: np.random.Generator) -> tuple[Trajectory, ...]:
        task = group.valid[0].task_id if group.valid else None
        past = [t for kept in self._kept for t in kept.group.valid if t.task_id == task]
        count = min(self.samples, len(past))
        if self.strategy == "recency":
            return tuple(past[len(past) - count :])
        if self.strategy == "full":
            return tuple(past[i] for i in draw_numbers(len(past), count, rng))
        ranked = sorted(range(len(past)), key=lambda i: (-past[i].outcome, -i))
        if self.strategy == "reward":
            return tuple(past[i] for i in ranked[:count])
        # The subset of greatest variance consists of highest and lowest rewards: try every division into the two.
        splits = [ranked[:top] + ranked[len(ranked) - (count - top) :] for top in range(count + 1)]
        best = max(splits, key=lambda part: float(np.var([past[i].outcome for i in part])) if part else 0.0)
        return tuple(past[i] for i in best)


@REPLAYS.register("likely_successes")
class LikelySuccesses(Replay):
    """Add earlier successes whose geometric mean token probability lies in (``low``, ``high``], at most ``ratio`` per
    fresh episode (WebRL, arXiv 2411.02337, section 3.4).

    The probability is that of the policy that sampled them; the paper uses the current policy.
    """

    def __init__(self, low: float = 0.5, high: float = 0.95, ratio: float = 2.0, capacity: int = 4096):
        super().__init__(capacity)
        self.low = check_number("low", low, 0.0, 1.0)
        self.high = check_number("high", high, low, 1.0)
        self.ratio = check_number("ratio", ratio, 0.0)

    def mix(self, groups: Sequence[Group], step: int, rng: np.random.Generator) -> list[Group]:
        low, high = self.low, self.high
        fresh = sum(len(group.valid) for group in groups)
        past = [(kept.group, t) for kept in self._kept for t in kept.group.trajectories]
        again = [past[i] for i in draw_numbers(len(past), int(self.ratio * fresh), rng)]
        fit = [
            replace(g, trajectories=tuple(t for t in g.valid if t.success and low < mean_probability(t) <= high))
            for g in groups
        ]
        self._remember([group for group in fit if group.trajectories], step)
        return [*groups, *(Group(group.proposal, (trajectory,)) for group, trajectory in again)]
