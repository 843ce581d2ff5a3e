"""HARMO: rules where a rule is sure, a model where none is, and then instructions and length."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...checks import check_number
from ...errors import InputError
from ..episode import Episode
from ..reward import GroupReward, register
from .scored import Score, Scorer, score_in

Rule = Callable[[Episode], tuple[float, float] | None]
"""Score and confidence of a rule, both in [0, 1]; None where no rule applies."""


def routed(rule: tuple[float, float] | None, model: Callable[[], float | None], confident: float) -> float | None:
    """The rule's score where its confidence reaches ``confident``; otherwise the model's, which is only then asked."""
    if rule is not None and rule[1] >= confident:
        return score_in(rule[0], "rule", 0.0, 1.0)
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
