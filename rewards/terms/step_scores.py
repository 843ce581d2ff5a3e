"""Rewards made of the scores or labels of steps (see `palaestra.rewards.steps`), and Shapley credit for steps.

The scores come from a process reward model, a judge or a rule: a callable, or an extra of the episode. Each reward
shapes them into one number a step.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from ...checks import check_count, check_number
from ...errors import InputError
from .. import steps
from ..episode import Episode
from ..reward import StepReward, register
from ..steps import ability_scale, thought_rewards
from ..verdict import Verdict

StepScorer = Callable[[Episode], "Sequence[float] | None"]
"""Scores of an episode's steps, in order, or None where they could not be determined."""


def align_with_turns(values: np.ndarray, episode: Episode, what: str) -> list[float]:
    """``values`` if there is one a turn; their sum, if the episode has a single turn with several steps in its text.

    Raises:
        InputError: neither.
    """
    turns = len(episode.steps)
    if len(values) == turns:
        return values.tolist()
    if turns == 1:
        return [float(values.sum())]
    raise InputError(f"an episode of {turns} turns needs as many {what}, not {len(values)}.")


def read_vector(values: Any, what: str) -> np.ndarray | None:
    """``values`` as an array of one dimension; None where any is not finite, for then the scorer failed."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise InputError(f"{what} must be a sequence of numbers, not of shape {array.shape}.")
    return array if np.isfinite(array).all() else None


class ScoredSteps(StepReward):
    """Base: a subclass implements ``shape(scores, episode)``.

    Args:
        scorer: from an episode to the scores of its steps; None reads the extra "step_scores". There is one score a
            turn; an episode of one turn may have any number (the steps within its text).
    """

    needs = frozenset({"step_scores"})

    def __init__(self, scorer: StepScorer | None = None):
        self.scorer = scorer
        self.needs = frozenset() if scorer else frozenset({"step_scores"})

    def shape(self, scores: np.ndarray, episode: Episode) -> np.ndarray:
        raise NotImplementedError

    def shaped(self, episode: Episode) -> np.ndarray | None:
        """One number a score, for credit finer than a turn; None where the scorer failed."""
        scores = self.scorer(episode) if self.scorer else episode.extra("step_scores")
        array = None if scores is None else read_vector(scores, "step scores")
        return None if array is None else self.shape(array, episode)

    def values(self, episode: Episode) -> list[float] | None:
        shaped = self.shaped(episode)
        return None if shaped is None else align_with_turns(shaped, episode, "step scores")


@register("clip-delta")
class ClipDelta(ScoredSteps):
    """Step scores clipped from above and differenced, so that more or repeated steps earn nothing.

    Args:
        weight: of the term.
        threshold: scores at or above it count as 0 and those below as what they lack; choose it so that most steps
            reach it. None does not clip.
        delta: pay differences to the next step; then the whole episode is worth its first score, whatever its length.
        scorer: see `ScoredSteps`.
    """

    paper = "Clip and Delta, arXiv 2410.15115"

    def __init__(
        self, weight: float = 1.0, threshold: float | None = 0.5, delta: bool = True, scorer: StepScorer | None = None
    ):
        super().__init__(scorer)
        self.weight = check_number("weight", weight)
        self.threshold = None if threshold is None else check_number("threshold", threshold)
        self.delta = delta

    def shape(self, scores: np.ndarray, episode: Episode) -> np.ndarray:
        if self.threshold is not None:
            scores = steps.clip_steps(scores, self.threshold)
        return self.weight * (steps.delta_steps(scores) if self.delta else scores)


@register("min-form")
class MinForm(ScoredSteps):
    """The episode is worth (softly) its worst step, which alone is paid: good steps cannot make up for a bad one.

    Args:
        weight: of the term.
        temperature: of the soft minimum; 0 takes the minimum.
        scorer: see `ScoredSteps`; scores in [-1, 1] by custom (probability of good less that of bad).
    """

    paper = "PURE, arXiv 2504.15275"

    def __init__(self, weight: float = 1.0, temperature: float = 0.1, scorer: StepScorer | None = None):
        super().__init__(scorer)
        self.weight = check_number("weight", weight)
        self.temperature = check_number("temperature", temperature, low=0.0)

    def shape(self, scores: np.ndarray, episode: Episode) -> np.ndarray:
        return self.weight * steps.min_form_steps(scores, self.temperature)


@register("renorm")
class ReNorm(ScoredSteps):
    """Each step is worth its score plus the outcome (1 for success, 0 otherwise) less one.

    A success has no negative step and a failure no positive one, whence no failure outranks a success. A middling step
    adds nothing, so turns cannot be padded.

    Args:
        scorer: see `ScoredSteps`; scores in [0, 1].

    Raises:
        InputError: when called, a score outside [0, 1].
    """

    paper = "PPR with ReNorm, arXiv 2509.25598"
    complete = True
    ranks_success = True

    def shape(self, scores: np.ndarray, episode: Episode) -> np.ndarray:
        if ((scores < 0) | (scores > 1)).any():
            raise InputError(f"step scores must lie in [0, 1]; scale those from {scores.min():g} to {scores.max():g}.")
        return steps.renorm_steps(scores, float(episode.success))


Labeller = Callable[[Episode], "Sequence[bool] | None"]


@register("thoughts")
class ThoughtReward(StepReward):
    """In a correct solution wrong thoughts lose ``weight`` times the group's share of successes; in a wrong one,
    thoughts that do not lead to its answer are spared the blame. Consecutive steps of one label are one thought.

    Added to the standardised outcome and summed from each step on, this gives the advantages of
    `palaestra.rewards.steps.thought_rewards`. Groups matter: judged alone, an episode is its own group.

    Args:
        weight: alpha of the paper, 0 or more.
        labeller: from an episode to one label a step: in a correct solution whether the step is correct, in a wrong
            one whether it leads to the wrong answer; None where it cannot tell. By default the extra "step_labels".
    """

    paper = "TP-GRPO (thought-level), arXiv 2507.23317"
    needs = frozenset({"step_labels"})

    def __init__(self, weight: float = 1.0, labeller: Labeller | None = None):
        self.weight = check_number("weight", weight, low=0.0)
        self.labeller = labeller
        self.needs = frozenset() if labeller else frozenset({"step_labels"})

    def values(self, episode: Episode) -> list[float] | None:
        return self.group_values([episode])[0]

    def group_values(self, episodes: Sequence[Episode]) -> list[list[float] | None]:
        """What each step of each of the valid episodes of one task is paid."""
        if not episodes:
            return []
        success = np.array([float(episode.success) for episode in episodes])
        spread = success.std()
        outcomes = (success - success.mean()) / spread if spread > 0 else np.zeros(len(success))
        scale = ability_scale(success.tolist(), self.weight)
        return [self._paid(episode, float(outcome), scale) for episode, outcome in zip(episodes, outcomes, strict=True)]

    def _paid(self, episode: Episode, outcome: float, scale: float) -> list[float] | None:
        labels = self.labeller(episode) if self.labeller else episode.extra("step_labels")
        if labels is None:
            return None
        if any(label not in (False, True) for label in labels):
            raise InputError(f"step labels must be true or false, not {list(labels)[:8]!r}.")
        return align_with_turns(thought_rewards(labels, episode.success, outcome, scale), episode, "step labels")

    def group(self, episodes: Sequence[Episode]) -> list[Verdict]:
        values = iter(self.group_values([episode for episode in episodes if episode.valid]))
        paid = [next(values) if episode.valid else None for episode in episodes]
        return [
            self.verdict(episode, None if row is None else float(sum(row)))
            for episode, row in zip(episodes, paid, strict=True)
        ]


Coalition = frozenset[int]

EXACT_UP_TO = 10
"""Players for which all coalitions are valued: 1,024 at most."""


def shapley_values(
    worth: Callable[[Coalition], float],
    players: int,
    permutations: int = 64,
    rng: np.random.Generator | None = None,
) -> np.ndarray:
    """Shapley values of ``worth`` over coalitions of ``players``: exact up to 10 of them, sampled beyond.

    Sampled or not, they sum to the worth of all less that of none, and each coalition is valued once.

    Args:
        worth: of a coalition.
        players: how many.
        permutations: how many orders are sampled where there are more than 10 players.
        rng: of the sampling.

    Raises:
        InputError: more than 10 players without a generator.
    """
    known: dict[Coalition, float] = {}

    def v(members: Collection[int]) -> float:
        coalition = frozenset(members)
        if coalition not in known:
            known[coalition] = float(worth(coalition))
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
    """(start, stop) of up to ``number`` contiguous spans of about as many words each; together they are ``text``."""
    starts = [0] + [i for i in range(1, len(text)) if text[i - 1].isspace() and not text[i].isspace()]
    cuts = sorted({starts[k * len(starts) // number] for k in range(number)})
    return list(zip(cuts, [*cuts[1:], len(text)], strict=True)) if text else []


def ablated(text: str, spans: Sequence[tuple[int, int]], kept: Collection[int]) -> str:
    """``text`` with the spans that are not in ``kept`` blanked: spaces in place of their characters."""
    parts = (text[start:stop] if i in kept else " " * (stop - start) for i, (start, stop) in enumerate(spans))
    return "".join(parts)


@register("shapley")
class ShapleyCredit(StepReward):
    """Spreads an episode's worth over its turns: ``share`` of it by Shapley value, the rest on the last.

    Where nothing is worth 0, the turns sum to the worth of the whole whatever the share.

    Args:
        worth: (episode, indices of the players kept) -> the worth of what they leave, as a reward model gives it when
            the others are blanked (`ablated`); None where it could not be determined. Without it the extra
            "coalition_values" is read: 2 ** N numbers, that of players i, j, ... at 2**i + 2**j + ...
        share: alpha of the paper, in [0, 1].
        players: from an episode to their number; by default its turns. An episode of one turn may have any number
            (spans of its text, see `equal_spans`); `spread` then has their shares.
        permutations: how many orders are sampled beyond 10 players.
        seed: of the sampling, which depends on nothing else but the task and the number of players.

    Raises:
        InputError: when called, an extra whose length is no power of two.
    """

    paper = "SCAR, arXiv 2505.20417"
    complete = True
    needs = frozenset({"coalition_values"})

    def __init__(
        self,
        worth: Callable[[Episode, Coalition], float | None] | None = None,
        share: float = 1.0,
        players: Callable[[Episode], int] = lambda episode: len(episode.steps),
        permutations: int = 64,
        seed: int = 0,
    ):
        self.worth = worth
        self.share = check_number("share", share, low=0.0, high=1.0)
        self.players = players
        self.permutations = check_count("permutations", permutations, low=1)
        self.seed = check_count("seed", seed)
        self.needs = frozenset() if worth else frozenset({"coalition_values"})

    def spread(self, episode: Episode) -> np.ndarray | None:
        """What each player is paid; None where a worth could not be determined."""
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
            ask, players = self.worth, self.players(episode)

            def value(coalition: Coalition) -> float | None:
                return ask(episode, coalition)

        if not players:
            return np.zeros(0)
        task = zlib.crc32(episode.task_id.encode("utf-8", "surrogatepass"))
        rng = np.random.default_rng([self.seed, task, players])
        try:
            credit = self.share * shapley_values(lambda c: _known(value(c)), players, self.permutations, rng)
            credit[-1] += (1.0 - self.share) * _known(value(frozenset(range(players))))
        except _Unknown:
            return None
        return credit

    def values(self, episode: Episode) -> list[float] | None:
        credit = self.spread(episode)
        return None if credit is None else align_with_turns(credit, episode, "players")


class _Unknown(Exception):
    """A worth that could not be determined; it ends the computation of all."""


def _known(worth: float | None) -> float:
    if worth is None or not math.isfinite(worth):
        raise _Unknown
    return worth
