"""Rewards made of a model's or a program's score of the whole episode: transformed, combined, or held below success.

Functions take and return floats; the numbers that a transform compares with come from reference responses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...checks import check_choice, check_count, check_number
from ...errors import InputError
from ..episode import Episode
from ..reward import GroupReward, Reward, register
from .scores import Score, Scorer, read_score, read_scores


def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)), without overflow."""
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))


def par(score: float, references: Sequence[float], k: float = 1.0) -> float:
    """Mean over the reference scores of sigmoid(k (score - reference)): how surely the response beats the reference."""
    return sum(sigmoid(k * (score - reference)) for reference in references) / len(references)


def standardised_score(score: float, references: Sequence[float]) -> float:
    """(score - mean) / standard deviation of the references (ddof 0); 0 deviation only centres."""
    # Equal numbers can have a deviation in the last bit, which would divide by nearly nothing.
    spread = float(np.std(references)) if max(references) > min(references) else 0.0
    return (score - float(np.mean(references))) / (spread or 1.0)


def clipped_score(score: float, references: Sequence[float]) -> float:
    """``score`` clipped to one standard deviation around the references' mean."""
    mean, spread = float(np.mean(references)), float(np.std(references))
    return min(max(score, mean - spread), mean + spread)


def min_max_score(score: float, references: Sequence[float]) -> float:
    """The place of ``score`` between the lowest and highest reference, in [0, 1]; 0.5 where they are equal."""
    low, high = min(references), max(references)
    return min(max((score - low) / (high - low), 0.0), 1.0) if high > low else 0.5


def tanh_score(score: float, references: Sequence[float]) -> float:
    """tanh(score - mean of the references), in [-1, 1]."""
    return math.tanh(score - float(np.mean(references)))


def late_sigmoid_score(score: float, references: Sequence[float]) -> float:
    """sigmoid(3 (x - 3)) of the centred score x: bounded, but slow at first, which PAR's authors find worse."""
    return sigmoid(3.0 * (score - float(np.mean(references)) - 3.0))


# Least squares at 201 points of [-5, 5]; the odd powers of an antisymmetric curve.
_GRID = np.linspace(-5.0, 5.0, 201)
_POLYNOMIAL = np.polyfit(_GRID, 1.0 / (1.0 + np.exp(-_GRID)), 5)


def polynomial_score(score: float, references: Sequence[float]) -> float:
    """The polynomial of degree 5 that fits the sigmoid on [-5, 5], at the centred score clipped to that interval."""
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


@register("par")
class PAR(Reward):
    """A reward model's score, made bounded and centred on the scores of reference responses to the same prompt.

    A model's opinion decides, so nothing is promised of success; `shaped-rm` is for tasks that can be verified.

    Args:
        transform: "par", or one of the alternatives that its authors compare: "standardise", "clip", "min-max",
            "tanh", "late-sigmoid" and "polynomial".
        k: slope of "par" before the sigmoid, above 0.
        scorer: the reward model; None reads the extra named by ``key``.
        key: name of that extra.
        references: reference scores for all prompts; None reads the extra "reference_scores", at least one number.
        most: so many reference scores are used at most.

    Raises:
        InputError: an unknown transform, or arguments out of range.
    """

    paper = "Reward Shaping to Mitigate Reward Hacking in RLHF (PAR), arXiv 2502.18770"
    needs = frozenset({"reference_scores", "reward_model_score"})

    def __init__(
        self,
        transform: str = "par",
        k: float = 1.0,
        scorer: Scorer | None = None,
        key: str = "reward_model_score",
        references: Sequence[float] | None = None,
        most: int = 10,
    ):
        self.transform = check_choice("transform", transform, TRANSFORMS)
        self.k = check_number("k", k, low=1e-9)
        self.score = Score(scorer, key)
        self.most = check_count("most", most, low=1, unit="reference scores")
        self.references = None if references is None else _given(references)
        self.needs = self.score.needs | (frozenset() if references is not None else {"reference_scores"})

    @property
    def bounds(self) -> tuple[float, float]:
        return TRANSFORMS[self.transform][1]

    def value(self, episode: Episode) -> float | None:
        score = self.score(episode)
        references = self.references
        if references is None:
            references = _checked(episode.extra("reference_scores"))
        if score is None or references is None:
            return None
        function = TRANSFORMS[self.transform][0]
        options: dict[str, Any] = {"k": self.k} if self.transform == "par" else {}
        return function(score, references[: self.most], **options)


def _checked(references: Any) -> list[float] | None:
    values = read_scores(references, "reference_scores")
    if values is not None and not values:
        raise InputError("reference_scores must hold at least one number, not none.")
    return values


def _given(references: Any) -> list[float]:
    values = _checked(references)
    if values is None:
        raise InputError(f"references must be finite numbers, not {references!r}.")
    return values


def shaped_rm(model_score: float, verified: bool, alpha: float = 0.5) -> float:
    """sigmoid(alpha * model_score) + (verified - 1): in (0, 1) for a success and in (-1, 0) for a failure."""
    return sigmoid(alpha * model_score) + (float(verified) - 1.0)


@register("shaped-rm")
class ShapedRM(Reward):
    """The whole worth of an episode: a success is always above 0 and a failure below, whatever the model says.

    Args:
        alpha: how steeply the model's score counts, at least 0.
        scorer: the reward model; None reads the extra named by ``key``.
        key: name of that extra.

    Raises:
        InputError: ``alpha`` is negative.
    """

    paper = "Qwen2.5-Math, arXiv 2409.12122 (reward shaping)"
    needs = frozenset({"reward_model_score"})
    complete = True
    ranks_success = True

    def __init__(self, alpha: float = 0.5, scorer: Scorer | None = None, key: str = "reward_model_score"):
        self.alpha = check_number("alpha", alpha, low=0.0)
        self.score = Score(scorer, key)
        self.needs = self.score.needs

    @property
    def bounds(self) -> tuple[float, float]:
        return -1.0, 1.0

    def value(self, episode: Episode) -> float | None:
        score = self.score(episode)
        return None if score is None else shaped_rm(score, episode.success, self.alpha)


def log_sigmoid(x: float) -> float:
    """log(1 / (1 + exp(-x))), without overflow."""
    return -math.log1p(math.exp(-x)) if x >= 0 else x - math.log1p(math.exp(x))


def lsc(score: float, reference: float) -> float:
    """log sigmoid(score - reference): the log-probability of being good, with diminishing gains."""
    return log_sigmoid(score - reference)


def reference_quantile(scores: Sequence[float], quantile: float = 0.85) -> float:
    """The score that ``quantile`` of the reference policy's responses to a prompt stay below (0.5 to 0.95 tried)."""
    return float(np.quantile(np.asarray(scores, dtype=float), quantile))


def conjunction(log_probabilities: Sequence[float]) -> float:
    """Sum of log-probabilities: the log-probability that the response is good in every respect."""
    return math.fsum(log_probabilities)


@register("lsc")
class LSC(Reward):
    """The sum over reward models of log sigmoid(score - reference). At most 0; the worst respect weighs most.

    Models' opinions decide, so nothing is promised of success.

    Args:
        scorers: reward models by name; None reads the extra "reward_model_score" as the only one.
        references: by the same names, the score that counts as good enough, usually a `reference_quantile` of the
            prompt; the extra "references" of an episode, a mapping, takes precedence, and 0 is the last resort.

    Raises:
        InputError: no scorers, or references for other names.
    """

    paper = "Transforming and Combining Rewards for Aligning Large Language Models, arXiv 2402.00742"
    needs = frozenset({"reward_model_score"})

    def __init__(self, scorers: Mapping[str, Scorer] | None = None, references: Mapping[str, float] | None = None):
        if scorers is None:
            self.scores = {"reward_model_score": Score(None, "reward_model_score")}
        else:
            self.scores = {name: Score(scorer, name) for name, scorer in scorers.items()}
        if not self.scores:
            raise InputError("lsc needs at least one scorer, not none.")
        given = dict(references or {})
        if unknown := sorted(set(given) - set(self.scores)):
            raise InputError(f"lsc has references for {unknown}, but scorers for {sorted(self.scores)} only.")
        self.references = {name: check_number(f"the reference of {name}", value) for name, value in given.items()}
        self.needs = frozenset().union(*(score.needs for score in self.scores.values()))

    @property
    def bounds(self) -> tuple[float, float]:
        return -math.inf, 0.0

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


Rule = Callable[[Episode], tuple[float, float] | None]
"""Score and confidence of a rule, both in [0, 1]; None where no rule applies."""


def routed(rule: tuple[float, float] | None, model: Callable[[], float | None], confident: float) -> float | None:
    """The rule's score where its confidence reaches ``confident``; otherwise the model's, which is only then asked."""
    if rule is not None and rule[1] >= confident:
        return read_score(rule[0], "rule", 0.0, 1.0)
    return model()


def length_costs(lengths: Sequence[int]) -> list[float]:
    """(length - shortest) / (longest - shortest) of a group, in [0, 1]; 0 for all where the lengths are equal."""
    shortest, longest = min(lengths), max(lengths)
    return [(length - shortest) / (longest - shortest) if longest > shortest else 0.0 for length in lengths]


@register("hybrid")
class Hybrid(GroupReward):
    """The whole worth of an episode: accuracy by rule or model, plus adherence, less relative length.

    The paper's length penalty and weights were not found; these are ours.

    Args:
        rule: score and confidence of a rule, both in [0, 1], or None where none applies. Without it the rule is
            success with full confidence, and the model is never asked. With it, a model may decide, and then
            `ranks_success` is off.
        model: the model's score in [0, 1], for episodes without a confident rule; None reads the extra
            "reward_model_score".
        adherence: how well instructions are followed, in [0, 1]; None leaves that part out.
        adherence_weight: at least 0.
        length_weight: at least 0.
        confident: confidence from which a rule decides, in [0, 1].

    Raises:
        InputError: weights that add up to more than 1, with which a failure could outrank a success.
    """

    paper = "HARMO, arXiv 2510.05283"
    complete = True
    ranks_success = True

    def __init__(
        self,
        rule: Rule | None = None,
        model: Scorer | None = None,
        adherence: Scorer | None = None,
        adherence_weight: float = 0.2,
        length_weight: float = 0.1,
        confident: float = 0.9,
    ):
        self.rule = rule
        self.model = Score(model, "reward_model_score", 0.0, 1.0)
        self.adherence = None if adherence is None else Score(adherence, "adherence", 0.0, 1.0)
        self.adherence_weight = check_number("adherence_weight", adherence_weight, low=0.0)
        self.length_weight = check_number("length_weight", length_weight, low=0.0)
        self.confident = check_number("confident", confident, low=0.0, high=1.0)
        if self.adherence_weight > 1.0 - self.length_weight:
            raise InputError(
                f"adherence_weight={adherence_weight!r} and length_weight={length_weight!r} must not add up to more "
                "than 1, so that no failed episode outranks a success."
            )
        if rule is not None:
            self.ranks_success = False
            self.needs = self.model.needs

    @property
    def bounds(self) -> tuple[float, float]:
        return -self.length_weight, 1.0 + (self.adherence_weight if self.adherence else 0.0)

    def values(self, episodes: Sequence[Episode]) -> list[float | None]:
        costs = length_costs([episode.tokens for episode in episodes])
        return [self._value(episode, cost) for episode, cost in zip(episodes, costs, strict=True)]

    def _value(self, episode: Episode, cost: float) -> float | None:
        rule = (float(episode.success), 1.0) if self.rule is None else self.rule(episode)
        accuracy = routed(rule, lambda: self.model(episode), self.confident)
        adherence = 0.0 if self.adherence is None else self.adherence(episode)
        if accuracy is None or adherence is None:
            return None
        return accuracy + self.adherence_weight * adherence - self.length_weight * cost


def sign(x: float) -> int:
    """-1, 0 or 1."""
    return (x > 0) - (x < 0)


def sign_scaled(sparse: float, dense: float, scale: float = 0.1) -> float:
    """sign(sparse) + scale * sign(dense)."""
    return sign(sparse) + scale * sign(dense)


@register("sign-scaled")
class SignScaled(Reward):
    """The whole worth of an episode: 1 for success, and a tenth for the sign of a dense reward of any size.

    Args:
        scorer: the dense reward, such as a written program's; None reads the extra named by ``key``.
        key: name of that extra.
        scale: what the sign of the dense reward is worth, in [0, 0.5], so that it cannot outweigh success.
        failure: the sparse part of a failure, in [-1, 0].

    Raises:
        InputError: an argument out of its range.
    """

    paper = "Auto MC-Reward, arXiv 2312.09238"
    needs = frozenset({"dense_reward"})
    complete = True
    ranks_success = True

    def __init__(
        self, scorer: Scorer | None = None, key: str = "dense_reward", scale: float = 0.1, failure: float = 0.0
    ):
        # Only the sign is used: clipping keeps it, and lets an infinite reward through.
        self.score = Score(scorer, key, -1.0, 1.0)
        self.needs = self.score.needs
        self.scale = check_number("scale", scale, low=0.0, high=0.5)
        self.failure = check_number("failure", failure, low=-1.0, high=0.0)

    @property
    def bounds(self) -> tuple[float, float]:
        return sign(self.failure) - self.scale, 1.0 + self.scale

    def value(self, episode: Episode) -> float | None:
        dense = self.score(episode)
        return None if dense is None else sign_scaled(1.0 if episode.success else self.failure, dense, self.scale)
