"""Rewards of the result alone, and random noise on them.

Inputs are the environment's rewards, the success, the answer or the measured objective of an episode. `OutcomeNoise`
and `Spurious` are controls: with them an experiment measures how much of an improvement survives a verifier that errs,
and how much comes from the optimiser alone.
"""

from __future__ import annotations

import string
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ...checks import check_choice, option
from ...errors import InputError
from ..algebra.composite import Composite
from ..answers.numbers import parse_number
from ..episode import Episode
from ..reward import GroupReward, Reward, register
from ..verdict import Verdict
from .scores import read_score


@register("outcome")
class EnvironmentReward(Reward):
    """The environment's own rewards, summed over the steps for each term.

    ``Verdict.reward`` equals ``episode.reward``. The reward of a step without named terms counts under "outcome". The
    score is 1 for a success and the progress otherwise.
    """

    complete = True
    user_supplies = "nothing: it is the environment's reward, for use inside other rewards"

    def __call__(self, episode: Episode) -> Verdict:
        if not episode.valid:
            return self.verdict(episode, None)
        terms: defaultdict[str, float] = defaultdict(float)
        for step in episode.steps:
            for name, value in (step.terms or {"outcome": step.reward}).items():
                terms[name] += float(value)
        return Verdict(
            score=1.0 if episode.success else episode.progress,
            success=episode.success,
            terms=dict(terms) or {"outcome": 0.0},
        )


@register("verifiable")
class Verifiable(Reward):
    """Reward of a whole episode: ``scale`` for a success, 0 for a failure.

    Tülu 3 gives -10 to responses without an end-of-sequence token. With ``no_eos``, a success that was cut off falls
    below a failure that was not, so `ranks_success` is off.
    """

    paper = "Tülu 3, arXiv 2411.15124 (RLVR)"
    complete = True
    ranks_success = True
    scale: float = option(default=10.0, above=0, says="reward of a success; Tülu 3's is 10.")
    no_eos: float | None = option(
        default=None, high=0, says="reward of an episode that was cut off, also of a success."
    )

    def setup(self) -> None:
        if self.no_eos is not None:
            self.ranks_success = False

    @property
    def bounds(self) -> tuple[float, float]:
        return min(0.0, self.no_eos or 0.0), self.scale

    def value(self, episode: Episode) -> float:
        if self.no_eos is not None and episode.truncated:
            return self.no_eos
        return self.scale * episode.success


@register("partial-number")
class PartialNumber(Reward):
    """Reward of a whole episode: 1 for a success, ``bonus`` for a failure whose answer is a number, 0 for any other."""

    paper = "ReFT, arXiv 2401.08967"
    complete = True
    ranks_success = True
    bounds = (0.0, 1.0)
    bonus: float = option(default=0.1, low=0, high=1, says="reward of a wrong number.")

    def value(self, episode: Episode) -> float:
        if episode.success:
            return 1.0
        answer = (episode.answer or "").strip("$ \t").replace(",", "")
        return self.bonus if parse_number(answer) is not None else 0.0


_ARTICLES = frozenset({"a", "an", "the"})
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def answer_words(text: str, drop_articles: bool = False) -> list[str]:
    """Return the words of ``text``, in lower case and without ASCII punctuation."""
    words = text.lower().translate(_NO_PUNCTUATION).split()
    return [word for word in words if word not in _ARTICLES] if drop_articles else words


def token_f1(prediction: str, reference: str, drop_articles: bool = False) -> float:
    """Return the F1 of the words that prediction and reference share, as multisets (SQuAD, arXiv 1606.05250).

    It is 1 if both texts are without words, and 0 if only one is.

    Args:
        prediction: the agent's answer.
        reference: a right answer.
        drop_articles: leave out "a", "an" and "the", as SQuAD's script does.
    """
    predicted, expected = answer_words(prediction, drop_articles), answer_words(reference, drop_articles)
    if not predicted or not expected:
        return float(predicted == expected)
    shared = sum((Counter(predicted) & Counter(expected)).values())
    return 2.0 * shared / (len(predicted) + len(expected))


def best_f1(prediction: str | None, references: Any, drop_articles: bool = False) -> float:
    """Return the highest `token_f1` over ``references``, one text or several; 0 if ``prediction`` is None.

    Raises:
        InputError: the references are not texts, or there are none.
    """
    texts = [references] if isinstance(references, str) else references
    if not isinstance(texts, Sequence) or not texts or not all(isinstance(text, str) for text in texts):
        raise InputError(f"the reference must be a text or a list of texts, not {references!r}.")
    if prediction is None:
        return 0.0
    return max(token_f1(prediction, text, drop_articles) for text in texts)


@register("answer-f1")
class AnswerF1(Reward):
    """Term in [0, 1]: the F1 of the answer and ``episode.extra("reference")`` (one right answer, or several)."""

    paper = "SQuAD, arXiv 1606.05250 (F1 of answers)"
    needs = frozenset({"reference"})
    bounds = (0.0, 1.0)
    drop_articles: bool = option(default=False, says='leave out "a", "an" and "the" before counting.')

    def value(self, episode: Episode) -> float:
        return best_f1(episode.answer, episode.extra("reference"), self.drop_articles)


FAILURES = {"no-diff": -0.4, "no-change": -0.3, "error": -0.2, "invalid": -0.1}


def bounded_power(objective: float, low: float, high: float, exponent: float = 3.0, scale: float = 5.0) -> float:
    """Return scale * clip((objective - low) / (high - low), 0, 1) ** exponent (ThetaEvolve, arXiv 2511.23473).

    With an exponent above 1 the same gain gets more reward near ``high`` than near ``low``.
    """
    return scale * min(max((objective - low) / (high - low), 0.0), 1.0) ** exponent


@register("bounded-power")
class BoundedPower(Reward):
    """Reward of a whole proposed solution: a power of its objective, or a negative number by the kind of failure.

    The objective decides, not the environment's success. ``episode.extra("objective")`` is the score from an executable
    verifier, or the name of the failure: "no-diff" (no change proposed), "no-change" (the parent again), "error" (the
    solution did not run or took too long), "invalid" (it ran and broke a rule); None if the verifier itself failed.

    Raises:
        InputError: when called, a failure with another name.
    """

    paper = "ThetaEvolve, arXiv 2511.23473"
    needs = frozenset({"objective"})
    complete = True
    low: float = option(default=0.0, says="objective with reward 0.")
    high: float = option(default=1.0, says="objective with reward ``scale``; above ``low``.")
    maximise: bool = option(default=True, says="False: smaller objectives are better.")
    exponent: float = option(default=3.0, above=0, says="exponent of the scaled objective.")
    scale: float = option(default=5.0, above=0, says="highest reward.")

    def setup(self) -> None:
        if self.low >= self.high:
            raise InputError(
                f"low must be below high, not {self.low!r} and {self.high!r}; to minimise, pass maximise=False."
            )

    @property
    def bounds(self) -> tuple[float, float]:
        return min(FAILURES.values()), self.scale

    def value(self, episode: Episode) -> float | None:
        extra = episode.extra("objective")
        if isinstance(extra, str):
            return FAILURES[check_choice("objective", extra, FAILURES)]
        # An objective outside [low, high], even an infinite one, is clipped.
        objective = read_score(extra, "objective", self.low, self.high)
        if objective is None:
            return None
        if not self.maximise:
            objective = self.low + self.high - objective
        return bounded_power(objective, self.low, self.high, self.exponent, self.scale)


@register("outcome-noise")
class OutcomeNoise(Composite):
    """Another reward, reflected between its bounds (0 becomes 1 and 1 becomes 0) with a probability.

    Only the reward is noisy; ``Verdict.success`` remains the environment's.

    Raises:
        InputError: a child without finite bounds.
    """

    paper = "The Climb Carves Wisdom Deeper Than the Summit, arXiv 2505.22653 (noisy rewards)"
    complete = True
    counts = ("tosses",)
    tosses = 0
    child: Reward | None = option(
        default=None, says="the reward, with finite bounds; None: 1 for a success, 0 for a failure."
    )
    flip_prob: float = option(default=0.4, low=0, high=1, says="probability of a flip.")
    unit: Literal["group", "sample"] = option(default="group", says="unit of one draw; a group in the paper's code.")
    seed: int = option(default=0, says="seed of the random draws; a resumed run continues them.")

    def setup(self) -> None:
        self.take_parts({"child": Verifiable(scale=1.0) if self.child is None else self.child})
        low, high = self.children["child"].bounds
        if not np.isfinite(high - low):
            raise InputError(
                f"outcome-noise reflects a reward between its bounds, but {self.children['child'].name!r} has "
                f"{(low, high)}; clip it first."
            )

    @property
    def bounds(self) -> tuple[float, float]:
        return self.children["child"].bounds

    def _draw_flip(self) -> bool:
        # A generator for each draw, so that the state is one number.
        flip = bool(np.random.default_rng([self.seed, self.tosses]).random() < self.flip_prob)
        self.tosses += 1
        return flip

    def combine_batch(
        self, groups: Sequence[Sequence[Episode]], verdicts: Sequence[Sequence[Mapping[str, Verdict]]]
    ) -> list[list[Mapping[str, float]]]:
        low, high = self.bounds
        result: list[list[Mapping[str, float]]] = []
        for group in verdicts:
            group_flip = self._draw_flip() if self.unit == "group" and group else False
            terms: list[Mapping[str, float]] = []
            for parts in group:
                flip = group_flip if self.unit == "group" else self._draw_flip()
                reward = parts["child"].reward
                terms.append({self.name: low + high - reward if flip else reward})
            result.append(terms)
        return result

    def describe(self) -> str:
        return f"{self.name} {self.flip_prob:g} per {self.unit}"


@register("spurious")
class Spurious(GroupReward):
    """1 or 0 at random, whatever the episode: the negative control, which shows the optimiser's effect alone."""

    paper = "On clipping, entropy and spurious rewards, arXiv 2512.16912"
    complete = True
    bounds = (0.0, 1.0)
    counts = ("groups",)
    groups = 0
    p: float = option(default=0.5, low=0, high=1, says="probability of 1.")
    seed: int = option(default=0, says="seed of the random draws; a resumed run continues them.")

    def values(self, episodes: Sequence[Episode]) -> list[float]:
        rng = np.random.default_rng([self.seed, self.groups])
        self.groups += 1
        return (rng.random(len(episodes)) < self.p).astype(float).tolist()
