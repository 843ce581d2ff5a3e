"""Rewards from the scores or labels of steps (see `palaestra.rewards.steps`), and Shapley credit for steps.

The scores come from a process reward model, a judge or a rule: a callable, or an extra of the episode. Each reward
shapes the scores into one number per step.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...checks import option
from ...errors import InputError
from .. import steps
from ..episode import Episode
from ..judges.judge import Judge
from ..reward import Reward, StepReward, register
from ..steps import ability_scale, thought_rewards
from ..verdict import RewardSpan, Verdict
from .prefixes import PrefixProbe
from .scores import ScoreSource, VerifierScore, align_with_turns, read_vector

StepScorer = Callable[[Episode], "Sequence[float] | None"]
"""Callable from an episode to the scores of its steps, in order; None if they could not be determined."""


class StepScoreSource:
    """Source of scores of steps: call it with an episode to get an array, or None if the steps could not be scored.

    Args:
        scorer: a `StepScorer`; or a source of scores of episodes (see `scores.as_scorer`), which is asked about the
            episode up to each of its steps; None reads ``episode.extra("step_scores")``.
    """

    def __init__(self, scorer: Any):
        whole = scorer is not None and (isinstance(scorer, (str, Mapping, Judge, Reward, VerifierScore)))
        self.score = ScoreSource(scorer, "step score") if whole else None
        self.scorer: Any = None if whole else scorer
        if self.scorer is not None and not callable(self.scorer):
            raise InputError(f"a scorer of steps must be a callable, a reward, a judge or a name, not {scorer!r}.")

    @property
    def reward(self) -> Reward | None:
        """Reward that gives the scores; None if the source is not a reward."""
        return self.score and self.score.reward

    @property
    def needs(self) -> frozenset[str]:
        """Names of the extras that the source reads."""
        if self.score is not None:
            return self.score.needs
        return frozenset() if self.scorer else frozenset({"step_scores"})

    def __call__(self, episode: Episode) -> np.ndarray | None:
        if self.score is not None:
            prefixes = (replace(episode, steps=episode.steps[: t + 1]) for t in range(len(episode.steps)))
            found = [self.score(prefix) for prefix in prefixes]
            scores: Any = None if None in found else found
        else:
            scores = self.scorer(episode) if self.scorer else episode.extra("step_scores")
        return None if scores is None else read_vector(scores, "step scores")


class ScoredSteps(StepReward):
    """Base class of rewards of step scores. A subclass declares the option ``scorer`` and implements ``shape(scores,
    episode)``. There must be one score per turn; an episode of one turn may have any number (the steps within its
    text)."""

    needs = frozenset({"step_scores"})
    scorer: Any = None

    def setup(self) -> None:
        self.scores = StepScoreSource(self.scorer)
        self.needs = self.scores.needs

    def shape(self, scores: np.ndarray, episode: Episode) -> np.ndarray:
        raise NotImplementedError

    def step_rewards(self, episode: Episode) -> np.ndarray | None:
        """Return the rewards of the steps, one per score, for credit finer than a turn; None if the scorer failed."""
        array = self.scores(episode)
        return None if array is None else self.shape(array, episode)

    def values(self, episode: Episode) -> list[float] | None:
        shaped = self.step_rewards(episode)
        return None if shaped is None else align_with_turns(shaped, episode, "step scores")

    def __call__(self, episode: Episode) -> Verdict:
        shaped = self.step_rewards(episode) if episode.valid else None
        return verdict_of_parts(self, episode, shaped, "step scores")


def verdict_of_parts(reward: StepReward, episode: Episode, values: np.ndarray | None, what: str) -> Verdict:
    """Build the verdict of a reward with one number per turn, or one for each part of a single response. Parts are cut
    by `prefixes.PrefixProbe` with its defaults; if their number differs from that of the values, the verdict has no
    spans. ``what`` names the values in error messages."""
    if values is None:
        return reward.verdict(episode, None)
    verdict = reward.verdict_of_steps(episode, align_with_turns(values, episode, what))
    in_parts = len(episode.steps) == 1 < len(values)
    return replace(verdict, spans=PrefixProbe().spans(episode, values)) if in_parts else verdict


@register("clip-delta")
class ClipDelta(ScoredSteps):
    """Step scores clipped from above and differenced, so that more steps, or repeated ones, add no reward.

    A score s counts as min(s - threshold, 0); choose a threshold that most steps reach. The sum of the differences is
    the first clipped score, whatever the number of steps.
    """

    paper = "Clip and Delta, arXiv 2410.15115"
    weight: float = option(default=1.0, says="weight of the term.")
    threshold: float | None = option(default=0.5, says="threshold of the clipping; None does not clip.")
    delta: bool = option(default=True, says="replace each score by its difference to the next one.")
    scorer: Any = option(default=None, says="see `StepScoreSource`.")

    def shape(self, scores: np.ndarray, episode: Episode) -> np.ndarray:
        if self.threshold is not None:
            scores = steps.clip_steps(scores, self.threshold)
        return self.weight * (steps.delta_steps(scores) if self.delta else scores)


@register("min-form")
class MinForm(ScoredSteps):
    """Soft minimum of the step scores, given to the worst steps: good steps cannot make up for a bad one."""

    paper = "PURE, arXiv 2504.15275"
    weight: float = option(default=1.0, says="weight of the term.")
    temperature: float = option(default=0.1, low=0, says="temperature of the soft minimum; 0 takes the minimum.")
    scorer: Any = option(default=None, says="see `StepScoreSource`; scores are P(good step) - P(bad step).")

    def shape(self, scores: np.ndarray, episode: Episode) -> np.ndarray:
        return self.weight * steps.min_form_steps(scores, self.temperature)


@register("renorm")
class ReNorm(ScoredSteps):
    """Reward of each step: its score plus the outcome (1 for success, 0 otherwise), minus 1.

    No step of a success is negative and no step of a failure positive, so no failure outranks a success.

    Raises:
        InputError: when called, a score outside [0, 1].
    """

    paper = "PPR with ReNorm, arXiv 2509.25598"
    complete = True
    ranks_success = True
    scorer: Any = option(default=None, says="see `StepScoreSource`; scores in [0, 1].")

    def shape(self, scores: np.ndarray, episode: Episode) -> np.ndarray:
        if ((scores < 0) | (scores > 1)).any():
            raise InputError(f"step scores must lie in [0, 1]; scale those from {scores.min():g} to {scores.max():g}.")
        return steps.renorm_steps(scores, float(episode.success))


Labeller = Callable[[Episode], "Sequence[bool] | None"]
"""Callable from an episode to one label per step, or None without labels. In a correct solution a label is True if the
step is correct, in a wrong solution if the step leads to the wrong answer."""


@register("thoughts")
class ThoughtReward(StepReward):
    """Process rewards of thoughts, from labels of the steps and the group's share of successes.

    A thought is a run of steps with one label. In a correct solution a wrong thought loses ``weight`` times the group's
    share of successes; in a wrong solution only the thoughts that lead to its answer carry the negative outcome. Add
    the reward to the standardised outcome and sum from each step on to get the advantages of
    `palaestra.rewards.steps.thought_rewards`. An episode judged alone is its own group.
    """

    paper = "TP-GRPO (thought-level), arXiv 2507.23317"
    needs = frozenset({"step_labels"})
    weight: float = option(default=1.0, low=0, says="the paper's alpha, see above.")
    labeller: Labeller | None = option(
        default=None, says='see `Labeller`; None reads ``episode.extra("step_labels")``.'
    )

    def setup(self) -> None:
        self.needs = frozenset() if self.labeller else frozenset({"step_labels"})

    def values(self, episode: Episode) -> list[float] | None:
        (rewards,) = self.group_values([episode])
        return None if rewards is None else align_with_turns(rewards, episode, "step labels")

    def __call__(self, episode: Episode) -> Verdict:
        return self.group([episode])[0]

    def group_values(self, episodes: Sequence[Episode]) -> list[np.ndarray | None]:
        """Compute the step rewards of the valid episodes of one task; None for an episode without labels."""
        if not episodes:
            return []
        success = np.array([float(episode.success) for episode in episodes])
        spread = success.std()
        outcomes = (success - success.mean()) / spread if spread > 0 else np.zeros(len(success))
        scale = ability_scale(success.tolist(), self.weight)
        rows: list[np.ndarray | None] = []
        for episode, outcome in zip(episodes, outcomes.tolist(), strict=True):
            labels = self.labeller(episode) if self.labeller else episode.extra("step_labels")
            if labels is None:
                rows.append(None)
                continue
            if any(label not in (False, True) for label in labels):
                raise InputError(f"step labels must be true or false, not {list(labels)[:8]!r}.")
            rows.append(thought_rewards(labels, episode.success, outcome, scale))
        return rows

    def group(self, episodes: Sequence[Episode]) -> list[Verdict]:
        rows = iter(self.group_values([episode for episode in episodes if episode.valid]))
        verdicts = []
        for episode in episodes:
            verdicts.append(verdict_of_parts(self, episode, next(rows) if episode.valid else None, "step labels"))
        return verdicts


Coalition = frozenset[int]

EXACT_UP_TO = 10
"""Largest number of players for which all coalitions (at most 1,024) are evaluated."""


def shapley_values(
    value: Callable[[Coalition], float],
    players: int,
    permutations: int = 64,
    rng: np.random.Generator | None = None,
) -> np.ndarray:
    """Return the Shapley values [players] of a coalition function (SCAR, arXiv 2505.20417).

    They are exact for up to 10 players and sampled for more. In both cases they sum to v(all players) - v(no player),
    and each coalition is evaluated once.

    Args:
        value: function v from a coalition, a set of indices of players, to a number.
        players: number of players.
        permutations: number of orders to sample for more than 10 players.
        rng: generator for the sampling.

    Raises:
        InputError: more than 10 players without a generator.
    """
    known: dict[Coalition, float] = {}

    def v(members: Collection[int]) -> float:
        coalition = frozenset(members)
        if coalition not in known:
            known[coalition] = float(value(coalition))
        return known[coalition]

    values = np.zeros(players)
    if players <= EXACT_UP_TO:
        for mask in range(2**players):
            inside = [i for i in range(players) if mask >> i & 1]
            outside = [i for i in range(players) if not mask >> i & 1]
            for i in outside:
                weight = 1.0 / (players * math.comb(players - 1, len(inside)))
                values[i] += weight * (v([*inside, i]) - v(inside))
        return values
    if rng is None:
        raise InputError(f"more than {EXACT_UP_TO} players are sampled: pass rng, not None, for {players} of them.")
    for _ in range(permutations):
        order = rng.permutation(players).tolist()
        for place, i in enumerate(order):
            values[i] += v(order[: place + 1]) - v(order[:place])
    return values / permutations


def equal_spans(text: str, number: int) -> list[tuple[int, int]]:
    """Split ``text`` into up to ``number`` contiguous spans (start, stop) of about equally many words."""
    starts = [0] + [i for i in range(1, len(text)) if text[i - 1].isspace() and not text[i].isspace()]
    cuts = sorted({starts[k * len(starts) // number] for k in range(number)})
    return list(zip(cuts, [*cuts[1:], len(text)], strict=True)) if text else []


def blank_spans(text: str, spans: Sequence[tuple[int, int]], kept: Collection[int]) -> str:
    """Replace the characters of the spans whose index is not in ``kept`` by spaces."""
    parts = (text[start:stop] if i in kept else " " * (stop - start) for i, (start, stop) in enumerate(spans))
    return "".join(parts)


def _count_turns(episode: Episode) -> int:
    return len(episode.steps)


@register("shapley")
class ShapleyCredit(StepReward):
    """Value of an episode, distributed over its turns: ``share`` of it by Shapley value, the rest to the last turn.

    If an empty episode has value 0, the turns sum to the value of the whole episode for every share.

    By default the turns are the players. An episode of one turn may have any number of players (spans of its text, see
    `equal_spans`); `player_credit` returns their credits. ``worth(episode, players)`` is the value of the episode with
    only these players, such as a reward model's score with the other spans blanked (`blank_spans`), or None if it could
    not be determined. ``episode.extra("coalition_values")`` holds 2 ** N numbers, with players i, j, ... at index
    2**i + 2**j + ...

    Raises:
        InputError: when called, an extra whose length is no power of two.
    """

    paper = "SCAR, arXiv 2505.20417"
    complete = True
    needs = frozenset({"coalition_values"})
    worth: Callable[[Episode, Coalition], float | None] | None = option(
        default=None, says='value of the episode with these players; None reads ``episode.extra("coalition_values")``.'
    )
    share: float = option(default=1.0, low=0, high=1, says="share by Shapley value; the paper's alpha.")
    players: Callable[[Episode], int] = option(default=_count_turns, says="returns an episode's number of players.")
    permutations: int = option(default=64, low=1, says="number of orders to sample beyond 10 players.")
    seed: int = option(default=0, says="seed of the sampling, together with the task and the number of players.")

    def setup(self) -> None:
        self.needs = frozenset() if self.worth else frozenset({"coalition_values"})

    def player_credit(self, episode: Episode) -> np.ndarray | None:
        """Compute the credit of each player; None if the value of a coalition could not be determined."""
        if self.worth is None:
            table = read_vector(episode.extra("coalition_values"), "coalition values")
            if table is None:
                return None
            players = len(table).bit_length() - 1
            if len(table) != 2**players:
                raise InputError(f"coalition values are as many as a power of two, not {len(table)}.")

            def value(coalition: Coalition) -> float | None:
                return float(table[sum(2**i for i in coalition)])
        else:
            worth, players = self.worth, self.players(episode)

            def value(coalition: Coalition) -> float | None:
                return worth(episode, coalition)

        if not players:
            return np.zeros(0)
        task = zlib.crc32(episode.task_id.encode("utf-8", "surrogatepass"))
        rng = np.random.default_rng([self.seed, task, players])
        try:
            credit = self.share * shapley_values(lambda c: _require_known(value(c)), players, self.permutations, rng)
            credit[-1] += (1.0 - self.share) * _require_known(value(frozenset(range(players))))
        except _UnknownValue:
            return None
        return credit

    def values(self, episode: Episode) -> list[float] | None:
        credit = self.player_credit(episode)
        return None if credit is None else align_with_turns(credit, episode, "players")

    def __call__(self, episode: Episode) -> Verdict:
        credit = self.player_credit(episode) if episode.valid else None
        if credit is None:
            return self.verdict(episode, None)
        verdict = self.verdict_of_steps(episode, align_with_turns(credit, episode, "players"))
        parts = equal_spans(episode.response, len(credit)) if len(episode.steps) == 1 < len(credit) else []
        if len(parts) != len(credit):
            return verdict
        pairs = zip(parts, credit.tolist(), strict=True)
        return replace(verdict, spans=tuple(RewardSpan(0, start, stop, value) for (start, stop), value in pairs))


class _UnknownValue(Exception):
    """Error for a coalition whose value could not be determined, which ends the computation."""


def _require_known(value: float | None) -> float:
    if value is None or not math.isfinite(value):
        raise _UnknownValue
    return value
