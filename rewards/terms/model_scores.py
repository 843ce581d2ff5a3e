"""Rewards from a model's or a program's score of the whole episode: transformed, combined, or bounded by success.

Inputs are scores of the episode and of reference responses to the same prompt. A good transform of a reward model's
score is bounded, grows fast at first and slowly later, and is centred on the references' scores, as PAR is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...checks import check_number, option
from ...errors import InputError
from ..episode import Episode
from ..reward import GroupReward, Reward, register
from .scores import Scorer, ScoreSource, read_score, read_scores


def sigmoid(x: float) -> float:
    """Return 1 / (1 + exp(-x)), without overflow."""
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))


def par(score: float, references: Sequence[float], k: float = 1.0) -> float:
    """Return the mean over the references of sigmoid(k (score - reference)), in (0, 1) (PAR, arXiv 2502.18770)."""
    return sum(sigmoid(k * (score - reference)) for reference in references) / len(references)


def standardised_score(score: float, references: Sequence[float]) -> float:
    """Return (score - mean) / standard deviation of the references (ddof 0); score - mean if the deviation is 0."""
    # Rounding can give equal numbers a tiny deviation above 0.
    spread = float(np.std(references)) if max(references) > min(references) else 0.0
    return (score - float(np.mean(references))) / (spread or 1.0)


def clipped_score(score: float, references: Sequence[float]) -> float:
    """Return ``score`` clipped to one standard deviation around the mean of the references."""
    mean, spread = float(np.mean(references)), float(np.std(references))
    return min(max(score, mean - spread), mean + spread)


def min_max_score(score: float, references: Sequence[float]) -> float:
    """Return the position of ``score`` between the lowest and highest reference, in [0, 1]; 0.5 if these are equal."""
    low, high = min(references), max(references)
    return min(max((score - low) / (high - low), 0.0), 1.0) if high > low else 0.5


def tanh_score(score: float, references: Sequence[float]) -> float:
    """Return tanh(score - mean of the references), in [-1, 1]."""
    return math.tanh(score - float(np.mean(references)))


def late_sigmoid_score(score: float, references: Sequence[float]) -> float:
    """Return sigmoid(3 (x - 3)) of the centred score x: bounded, but slow at first; worse, say PAR's authors."""
    return sigmoid(3.0 * (score - float(np.mean(references)) - 3.0))


# Polynomial fitted to the sigmoid by least squares at 201 points of [-5, 5].
_GRID = np.linspace(-5.0, 5.0, 201)
_POLYNOMIAL = np.polyfit(_GRID, 1.0 / (1.0 + np.exp(-_GRID)), 5)


def polynomial_score(score: float, references: Sequence[float]) -> float:
    """Return the degree-5 polynomial that fits the sigmoid on [-5, 5], at the centred score clipped to [-5, 5]."""
    centred = min(max(score - float(np.mean(references)), -5.0), 5.0)
    return float(np.polyval(_POLYNOMIAL, centred))


TRANSFORMS: Mapping[str, tuple[Callable[..., float], tuple[float, float]]] = {
    "par": (par, (0.0, 1.0)),
    "standardise": (standardised_score, (-math.inf, math.inf)),
    "clip": (clipped_score, (-math.inf, math.inf)),
    "min-max": (min_max_score, (0.0, 1.0)),
    "tanh": (tanh_score, (-1.0, 1.0)),
    "late-sigmoid": (late_sigmoid_score, (0.0, 1.0)),
    "polynomial": (polynomial_score, (-0.1, 1.1)),
}


def _read_references(references: Any) -> list[float] | None:
    scores = read_scores(references, "reference_scores")
    if scores is not None and not scores:
        raise InputError("reference_scores must hold at least one number, not none.")
    return scores


def _check_references(name: str, references: Sequence[float]) -> list[float]:
    scores = _read_references(references)
    if scores is None:
        raise InputError(f"{name} must be finite numbers, not {references!r}.")
    return scores


@register("par")
class PAR(Reward):
    """Reward model's score, bounded and centred on the scores of reference responses to the same prompt.

    The reward model decides, so a failure can outrank a success; `shaped-rm` is for tasks that can be verified.
    """

    paper = "Reward Shaping to Mitigate Reward Hacking in RLHF (PAR), arXiv 2502.18770"
    needs = frozenset({"reference_scores", "reward_model_score"})
    transform: str = option(default="par", choices=TRANSFORMS, says='"par", or an alternative of its authors.')
    k: float = option(default=1.0, above=0, says='factor of the score in the sigmoid of "par".')
    scorer: Scorer | None = option(default=None, says="the reward model; None reads ``episode.extra(key)``.")
    key: str = option(default="reward_model_score", says="name of the extra to read.")
    references: Sequence[float] | None = option(
        default=None,
        check=_check_references,
        says='reference scores for all prompts; None reads ``episode.extra("reference_scores")``.',
    )
    most: int = option(
        default=10, low=1, unit="reference scores", says="number of reference scores used, from the first."
    )

    def setup(self) -> None:
        self.score = ScoreSource(self.scorer, self.key)
        self.needs = self.score.needs | (frozenset() if self.references is not None else {"reference_scores"})

    @property
    def bounds(self) -> tuple[float, float]:
        return TRANSFORMS[self.transform][1]

    def value(self, episode: Episode) -> float | None:
        score = self.score(episode)
        references = self.references
        if references is None:
            references = _read_references(episode.extra("reference_scores"))
        if score is None or references is None:
            return None
        function = TRANSFORMS[self.transform][0]
        options: dict[str, Any] = {"k": self.k} if self.transform == "par" else {}
        return function(score, references[: self.most], **options)


def shaped_rm(model_score: float, verified: bool, alpha: float = 0.5) -> float:
    """Return sigmoid(alpha * model_score) + verified - 1: (0, 1) for a success, (-1, 0) for a failure (2409.12122)."""
    return sigmoid(alpha * model_score) + (float(verified) - 1.0)


@register("shaped-rm")
class ShapedRM(Reward):
    """Reward of a whole episode by success and a reward model's score: above 0 for a success, below 0 for a failure."""

    paper = "Qwen2.5-Math, arXiv 2409.12122 (reward shaping)"
    needs = frozenset({"reward_model_score"})
    complete = True
    ranks_success = True
    bounds = (-1.0, 1.0)
    alpha: float = option(default=0.5, low=0, says="factor of the model's score before the sigmoid.")
    scorer: Scorer | None = option(default=None, says="the reward model; None reads ``episode.extra(key)``.")
    key: str = option(default="reward_model_score", says="name of the extra to read.")

    def setup(self) -> None:
        self.score = ScoreSource(self.scorer, self.key)
        self.needs = self.score.needs

    def value(self, episode: Episode) -> float | None:
        score = self.score(episode)
        return None if score is None else shaped_rm(score, episode.success, self.alpha)


@register("verify-rm")
class VerifyRM(Reward):
    """Probability that the response is right, from a reward model that sees the reference answer.

    Cooper: the model replaces the verifier, whose misses it does not share, and is trained beside the policy on
    responses that the verifier accepts and on copies of them with another answer. A failure can outrank a success, as
    the model decides.
    """

    paper = "Cooper: Co-Optimizing Policy and Reward Models, arXiv 2508.05613"
    needs = frozenset({"reward_model_score"})
    complete = True
    bounds = (0.0, 1.0)
    scorer: Scorer | None = option(default=None, says="the reward model; None reads ``episode.extra(key)``.")
    key: str = option(default="reward_model_score", says="name of the extra to read.")

    def setup(self) -> None:
        self.score = ScoreSource(self.scorer, self.key)
        self.needs = self.score.needs
        trained = {"corrupted": True, "referenced": True, "objective": "pointwise"}
        self.measure_options = {} if self.scorer is not None else {"reward_model_score": trained}

    def value(self, episode: Episode) -> float | None:
        score = self.score(episode)
        return None if score is None else sigmoid(score)


def log_sigmoid(x: float) -> float:
    """Return log(1 / (1 + exp(-x))), without overflow."""
    return -math.log1p(math.exp(-x)) if x >= 0 else x - math.log1p(math.exp(x))


def lsc(score: float, reference: float) -> float:
    """Return log sigmoid(score - reference), the log-probability that the response is good (arXiv 2402.00742)."""
    return log_sigmoid(score - reference)


def reference_quantile(scores: Sequence[float], quantile: float = 0.85) -> float:
    """Return a ``quantile`` of the scores of the reference policy's responses; the paper tries 0.5 to 0.95."""
    return float(np.quantile(np.asarray(scores, dtype=float), quantile))


def conjunction(log_probabilities: Sequence[float]) -> float:
    """Return the sum of log-probabilities: the log-probability that the response is good in every respect."""
    return math.fsum(log_probabilities)


@register("lsc")
class LSC(Reward):
    """Sum over reward models of log sigmoid(score - reference), at most 0; the lowest score weighs most.

    A response that satisfies all models gets more than one that satisfies the easiest very well. Models decide, so a
    failure can outrank a success. A reference is the score that counts as good enough, usually a `reference_quantile`
    of the prompt. ``episode.extras["references"]``, a mapping from names to references, overrides the option.

    Raises:
        InputError: no scorers, or references for unknown names.
    """

    paper = "Transforming and Combining Rewards for Aligning Large Language Models, arXiv 2402.00742"
    needs = frozenset({"reward_model_score"})
    bounds = (-math.inf, 0.0)
    scorers: Mapping[str, Scorer] | None = option(
        default=None, says='reward models by name; None reads ``episode.extra("reward_model_score")`` as the only one.'
    )
    references: Mapping[str, float] = option(default=None, says="name -> reference; 0 for names without one.")

    def setup(self) -> None:
        scorers = {"reward_model_score": None} if self.scorers is None else self.scorers
        self.scores = {name: ScoreSource(scorer, name) for name, scorer in scorers.items()}
        if not self.scores:
            raise InputError("lsc needs at least one scorer, not none.")
        references = self.references or {}
        if unknown := sorted(set(references) - set(self.scores)):
            raise InputError(f"lsc has references for {unknown}, but scorers for {sorted(self.scores)} only.")
        self.references = {name: check_number(f"the reference of {name}", value) for name, value in references.items()}
        self.needs = frozenset().union(*(score.needs for score in self.scores.values()))

    def value(self, episode: Episode) -> float | None:
        own = episode.extras.get("references") or {}
        if not isinstance(own, Mapping):
            raise InputError(f"the extra 'references' must map names of scores to numbers, not {own!r}.")
        parts = []
        for name, score in self.scores.items():
            value = score(episode)
            reference = read_score(own.get(name, self.references.get(name, 0.0)), "references")
            if value is None or reference is None:
                return None
            parts.append(lsc(value, reference))
        return conjunction(parts)


ScoringRule = Callable[[Episode], tuple[float, float] | None]
"""Callable from an episode to a rule's score and confidence, both in [0, 1]; None if no rule applies."""


def length_costs(lengths: Sequence[int]) -> list[float]:
    """Return (length - shortest) / (longest - shortest) within a group, in [0, 1]; 0 if all lengths are equal."""
    shortest, longest = min(lengths), max(lengths)
    return [(length - shortest) / (longest - shortest) if longest > shortest else 0.0 for length in lengths]


@register("hybrid")
class Hybrid(GroupReward):
    """Reward of a whole episode: accuracy by rule or model, plus adherence, minus relative length.

    Without a rule the accuracy is the success, and the model is never called. With a rule the model decides where the
    rule does not apply or is not confident, and `ranks_success` is off. The paper's length penalty and weights were not
    found; these are ours.

    Raises:
        InputError: weights that add up to more than 1, with which a failure could outrank a success.
    """

    paper = "HARMO, arXiv 2510.05283"
    complete = True
    ranks_success = True
    rule: ScoringRule | None = option(default=None, says="see `ScoringRule`; None takes the success.")
    model: Scorer = option(
        default=None, says='accuracy without a confident rule; None reads ``episode.extra("reward_model_score")``.'
    )
    adherence: Scorer | None = option(default=None, says="score of adherence in [0, 1]; None leaves it out.")
    adherence_weight: float = option(default=0.2, low=0, says="weight of the adherence to instructions.")
    length_weight: float = option(default=0.1, low=0, says="weight of the relative length, as a cost.")
    confident: float = option(default=0.9, low=0, high=1, says="confidence from which a rule decides.")

    def setup(self) -> None:
        self.model = model = ScoreSource(self.model, "reward_model_score", 0.0, 1.0)
        self.adherence = None if self.adherence is None else ScoreSource(self.adherence, "adherence", 0.0, 1.0)
        if self.adherence_weight > 1.0 - self.length_weight:
            raise InputError(
                f"adherence_weight={self.adherence_weight!r} and length_weight={self.length_weight!r} must not add up "
                "to more than 1, so that no failed episode outranks a success."
            )
        if self.rule is not None:
            self.ranks_success = False
            self.needs = model.needs

    @property
    def bounds(self) -> tuple[float, float]:
        return -self.length_weight, 1.0 + (self.adherence_weight if self.adherence else 0.0)

    def values(self, episodes: Sequence[Episode]) -> list[float | None]:
        costs = length_costs([episode.tokens for episode in episodes])
        return [self._value(episode, cost) for episode, cost in zip(episodes, costs, strict=True)]

    def _value(self, episode: Episode, cost: float) -> float | None:
        rule = (float(episode.success), 1.0) if self.rule is None else self.rule(episode)
        if rule is not None and rule[1] >= self.confident:
            accuracy = read_score(rule[0], "rule", 0.0, 1.0)
        else:
            accuracy = self.model(episode)
        adherence = 0.0 if self.adherence is None else self.adherence(episode)
        if accuracy is None or adherence is None:
            return None
        return accuracy + self.adherence_weight * adherence - self.length_weight * cost


def sign_scaled(sparse: float, dense: float, scale: float = 0.1) -> float:
    """Return sign(sparse) + scale * sign(dense), with signs -1, 0 and 1 (Auto MC-Reward, arXiv 2312.09238)."""
    return (sparse > 0) - (sparse < 0) + scale * ((dense > 0) - (dense < 0))


@register("sign-scaled")
class SignScaled(Reward):
    """Reward of a whole episode: 1 for success, plus ``scale`` times the sign of a dense reward of any size."""

    paper = "Auto MC-Reward, arXiv 2312.09238"
    needs = frozenset({"dense_reward"})
    complete = True
    ranks_success = True
    scorer: Scorer | None = option(default=None, says="the dense reward; None reads ``episode.extra(key)``.")
    key: str = option(default="dense_reward", says="name of the extra to read.")
    scale: float = option(default=0.1, low=0, high=0.5, says="factor of the dense sign; at most half of a success.")
    failure: float = option(default=0.0, low=-1.0, high=0, says="sparse reward of a failure; only its sign counts.")

    def setup(self) -> None:
        # Only the sign is used: clipping keeps it, and lets an infinite reward through.
        self.score = ScoreSource(self.scorer, self.key, -1.0, 1.0)
        self.needs = self.score.needs

    @property
    def bounds(self) -> tuple[float, float]:
        return (-1.0 if self.failure < 0 else 0.0) - self.scale, 1.0 + self.scale

    def value(self, episode: Episode) -> float | None:
        dense = self.score(episode)
        return None if dense is None else sign_scaled(1.0 if episode.success else self.failure, dense, self.scale)
