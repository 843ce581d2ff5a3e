"""Reading of scores that come from outside a reward: from a callable, from another reward, a judge or a verifier, or
from a named entry of ``Episode.extras``.

A judge that did not answer gives None or NaN, which makes the verdict invalid. A score outside the range that a reward
relies on is clipped to that range, so that no judge can break the reward's bounds.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from ...errors import InputError, unknown_name
from ..episode import Episode
from ..judges.judge import JUDGES, Judge
from ..reward import REWARDS, GroupReward, Reward
from ..verifiers import VERIFIERS, verify

Scorer = Callable[[Episode], float | None]


class VerifierScore:
    """Score of the episode's answer by a verifier, against the reference that the environment supplies.

    Args:
        kind: name of a verifier, see `palaestra.rewards.verify`.
        options: options of the verifier.
    """

    needs = frozenset({"reference"})

    def __init__(self, kind: str, **options: Any):
        VERIFIERS.check_options(kind, options)
        self.kind, self.options = kind, options

    def __call__(self, episode: Episode) -> float | None:
        verdict = verify(self.kind, episode.answer or "", episode.extra("reference"), **self.options)
        return verdict.score if verdict.valid else None


def as_scorer(scorer: Any) -> Scorer | Reward:
    """Resolve a source of scores: a callable, a reward, a judge, or a registered reward, judge or verifier, given as
    its name or with options as in ``{"name": "judge", "principle": "short"}``. Of equal names a reward precedes a
    judge, and a judge a verifier.

    Raises:
        InputError: ``scorer`` has another form, or is a reward that compares siblings.
    """
    if isinstance(scorer, str) or (isinstance(scorer, Mapping) and "name" in scorer):
        options: dict[str, Any] = {"name": scorer} if isinstance(scorer, str) else dict(scorer)
        name = options.pop("name")
        if name in VERIFIERS and name not in REWARDS and name not in JUDGES:
            return VerifierScore(name, **options)
        if name not in REWARDS and name not in JUDGES:
            raise unknown_name("reward, judge or verifier", name, [*REWARDS, *JUDGES, *VERIFIERS])
        scorer = (REWARDS if name in REWARDS else JUDGES).make(name, **options)
    if isinstance(scorer, Judge):
        scorer = REWARDS.make("judge", judge=scorer)
    if isinstance(scorer, Reward) and any(isinstance(part, GroupReward) for part in scorer.walk()):
        raise InputError(f"{scorer.name!r} compares several episodes of one task, so it cannot score one episode.")
    if not callable(scorer):
        raise InputError(
            "a scorer must be a callable that takes an episode, a reward, a judge, the name of a reward, judge or "
            f"verifier, or None, not {scorer!r}."
        )
    return cast("Scorer | Reward", scorer)


class ScoreSource:
    """Source of scores: call it with an episode to get the score, or None if the episode could not be scored.

    Args:
        scorer: see `as_scorer`; None reads ``episode.extra(key)`` instead.
        key: name of the extra, which without a scorer appears in ``needs``.
        low: lower scores are clipped to this.
        high: higher scores are clipped to this.

    Raises:
        InputError: ``scorer`` is no source of scores; when called, the score is no number.
    """

    def __init__(self, scorer: Any, key: str, low: float = -math.inf, high: float = math.inf):
        if not isinstance(key, str) or not key:
            raise InputError(f"the name of a score among the extras must be text, not {key!r}.")
        self.scorer = None if scorer is None else as_scorer(scorer)
        self.key, self.low, self.high = key, low, high
        self._failures: deque[tuple[Episode, str]] = deque(maxlen=256)

    @property
    def reward(self) -> Reward | None:
        """Reward that gives the scores; None if the source is not a reward."""
        return self.scorer if isinstance(self.scorer, Reward) else None

    @property
    def needs(self) -> frozenset[str]:
        """Names of the extras that the score reads."""
        return frozenset({self.key}) if self.scorer is None else getattr(self.scorer, "needs", frozenset())

    def __call__(self, episode: Episode) -> float | None:
        if self.scorer is None:
            value: Any = episode.extra(self.key)
        elif isinstance(self.scorer, Reward):
            verdict = self.scorer(episode)
            value = verdict.reward if verdict.valid else None
            if not verdict.valid:
                self._failures.append((episode, verdict.feedback))
        else:
            value = self.scorer(episode)
        return read_score(value, self.key, self.low, self.high)

    def failure_of(self, episode: Episode) -> str:
        """Return the error message for an episode that could not be scored (the last 256 failures are kept)."""
        return next((said for failed, said in list(self._failures) if failed is episode), "")


def read_score(value: Any, name: str, low: float = -math.inf, high: float = math.inf) -> float | None:
    """Return ``value`` as a float clipped to [low, high]; None if ``value`` is None or NaN, or still infinite after
    clipping.

    Raises:
        InputError: ``value`` is not a number.
    """
    if value is None:
        return None
    number = None
    if not isinstance(value, (str, bytes)):
        try:
            number = float(value)
        except OverflowError:  # a whole number beyond any float
            number = math.inf if value > 0 else -math.inf
        except (TypeError, ValueError):
            pass
    if number is None:
        raise InputError(f"the score {name!r} must be a number, or None where there is none, not {value!r}.")
    number = min(max(number, low), high) if not math.isnan(number) else number
    return number if math.isfinite(number) else None


def read_scores(values: Any, name: str, low: float = -math.inf, high: float = math.inf) -> list[float] | None:
    """Return a list of scores, each as in `read_score`; None if a score is missing.

    Raises:
        InputError: ``values`` is not a sequence of numbers.
    """
    if values is None:
        return None
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise InputError(f"{name!r} must be a sequence of numbers, not {values!r}.")
    scores = [read_score(value, name, low, high) for value in values]
    return None if any(score is None for score in scores) else [score for score in scores if score is not None]


def align_with_turns(values: np.ndarray, episode: Episode, what: str) -> list[float]:
    """Return ``values`` if there is one per turn, or [their sum] if the episode has a single turn with several steps.

    Raises:
        InputError: neither holds; ``what`` names the values in the message.
    """
    turns = len(episode.steps)
    if len(values) == turns:
        return values.tolist()
    if turns == 1:
        return [float(values.sum())]
    raise InputError(f"an episode of {turns} turns needs as many {what}, not {len(values)}.")


def read_vector(values: Any, what: str) -> np.ndarray | None:
    """Return ``values`` as a one-dimensional float64 array; None if ``values`` is None or holds a number that is not
    finite (the scorer failed).

    Raises:
        InputError: another number of dimensions; ``what`` names the values in the message.
    """
    if values is None:
        return None
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise InputError(f"{what} must be a sequence of numbers, not of shape {array.shape}.")
    return array if np.isfinite(array).all() else None
