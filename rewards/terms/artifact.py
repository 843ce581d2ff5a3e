"""Artifact regulariser: a light classifier of degenerate text, added to any proxy reward that such text can fool."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...checks import check_choice, check_number
from ...errors import InputError
from ..episode import Episode
from ..reward import Reward, register
from .repetition import repetition_rate

FEATURES = (
    "repeated 3-grams",
    "compressibility",
    "share of distinct words",
    "share of letters",
    "mean word length",
    "share of tags",
    "empty tags",
    "log length",
)
# Longer texts are judged by their beginning: a classifier has seen enough by then.
MAX_CHARACTERS = 100_000
_LOG_ODDS_LIMIT = 10.0


def artifact_features(text: str) -> np.ndarray:
    """The numbers named in `FEATURES`; finite for any text."""
    text = text[:MAX_CHARACTERS]
    words = text.split()
    data = text.encode("utf-8", "replace")
    tags = sum(len(word) for word in words if word.startswith("<") and word.endswith(">"))
    return np.array(
        [
            repetition_rate(text, 3),
            1.0 - min(len(zlib.compress(data, 1)) / (len(data) + 20.0), 1.0),
            len(set(words)) / len(words) if words else 0.0,
            sum(character.isalpha() for character in text) / len(text) if text else 0.0,
            min(sum(map(len, words)) / len(words), 40.0) if words else 0.0,
            tags / len(text) if text else 0.0,
            float("></" in "".join(words)),
            float(np.log1p(len(words))),
        ]
    )


class ArtifactClassifier:
    """Logistic regression, fitted by Newton's method with a ridge, on standardised `artifact_features`.

    `fit` starts anew; give it old and new texts together to follow a policy whose failures change.

    Args:
        ridge: strength of the penalty on weights, above 0.
    """

    def __init__(self, ridge: float = 1.0):
        self.ridge = check_number("ridge", ridge, low=1e-9)
        self.mean = np.zeros(len(FEATURES))
        self.scale = np.ones(len(FEATURES))
        self.weights = np.zeros(len(FEATURES) + 1)
        self.fitted = False

    def fit(self, clean: Sequence[str], degenerate: Sequence[str]) -> ArtifactClassifier:
        """Learn to tell ``clean`` texts (1) from ``degenerate`` ones (0).

        Raises:
            InputError: fewer than two of either.
        """
        if len(clean) < 2 or len(degenerate) < 2:
            raise InputError(
                f"the artifact classifier needs at least 2 texts of each kind, not {len(clean)} clean and "
                f"{len(degenerate)} degenerate."
            )
        features = np.array([artifact_features(text) for text in (*clean, *degenerate)])
        labels = np.repeat([1.0, 0.0], [len(clean), len(degenerate)])
        self.mean, self.scale = features.mean(0), np.maximum(features.std(0), 1e-6)
        inputs = self._inputs(features)
        penalty = np.diag([0.0] + [self.ridge] * len(FEATURES))
        weights = np.zeros(inputs.shape[1])
        for _ in range(30):
            probability = 1.0 / (1.0 + np.exp(-np.clip(inputs @ weights, -30.0, 30.0)))
            gradient = inputs.T @ (probability - labels) + penalty @ weights
            curvature = (inputs * (probability * (1.0 - probability))[:, None]).T @ inputs + penalty
            weights -= np.linalg.solve(curvature + 1e-9 * np.eye(len(weights)), gradient)
        self.weights, self.fitted = weights, True
        return self

    def _inputs(self, features: np.ndarray) -> np.ndarray:
        # Texts unlike anything seen in training must not run away along one feature.
        standard = np.clip((features - self.mean) / self.scale, -5.0, 5.0)
        return np.concatenate([np.ones((*standard.shape[:-1], 1)), standard], axis=-1)

    def log_odds(self, text: str) -> float:
        """log P(clean) / P(degenerate), clipped to [-10, 10]."""
        odds = float(self._inputs(artifact_features(text)) @ self.weights)
        return min(max(odds, -_LOG_ODDS_LIMIT), _LOG_ODDS_LIMIT)

    def probability(self, text: str) -> float:
        """The probability that ``text`` is free of artifacts."""
        return float(1.0 / (1.0 + np.exp(-self.log_odds(text))))

    def state_dict(self) -> dict[str, Any]:
        """What was learnt, as JSON data."""
        return {"mean": self.mean.tolist(), "scale": self.scale.tolist(), "weights": self.weights.tolist()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up what was learnt. Raises InputError if it belongs to other features."""
        arrays = {name: np.asarray(state.get(name, ()), dtype=float) for name in ("mean", "scale", "weights")}
        if [array.size for array in arrays.values()] != [len(FEATURES), len(FEATURES), len(FEATURES) + 1]:
            raise InputError(f"the saved artifact classifier does not have the {len(FEATURES)} features of this one.")
        self.mean, self.scale, self.weights = arrays.values()
        self.fitted = True


def built_in_examples(count: int = 100, seed: int = 0) -> tuple[list[str], list[str]]:
    """``count`` clean and ``count`` degenerate texts: plain worked sums, and repetition, gibberish, tag stuffing and
    empty reasoning."""
    rng = np.random.default_rng(seed)
    names, things = ("Ann", "Ben", "Cara", "Dan", "Eve"), ("apples", "books", "coins", "tickets", "stones")
    clean, degenerate = [], []
    for index in range(count):
        a, b, c = (int(number) for number in rng.integers(2, 90, 3))
        who, what = names[int(rng.integers(5))], things[int(rng.integers(5))]
        parts = [
            f"{who} starts with {a} {what} and is given {b} more, so there are {a + b} now.",
            f"Giving away {c} of them leaves {a + b - c}.",
            f"To check, {a + b - c} and {c} make {a + b} again, which agrees.",
            f"Another way is to take {c} from {b} first and add the rest to {a}.",
            f"The number of {what} that {who} keeps is {a + b - c}.",
        ]
        clean.append(" ".join(parts[: 2 + int(rng.integers(4))]))
        kind = index % 4
        if kind == 0:
            degenerate.append(" ".join([parts[int(rng.integers(5))]] * int(rng.integers(3, 30))))
        elif kind == 1:
            letters = rng.integers(33, 127, int(rng.integers(20, 400)))
            degenerate.append("".join(map(chr, letters)).replace("Q", " "))
        elif kind == 2:
            degenerate.append("<think> </think> <answer> </answer> " * int(rng.integers(1, 20)) + str(a))
        else:
            degenerate.append(f"<think></think><answer>{a}</answer>")
    return clean, degenerate


@register("artifact-penalty")
class ArtifactPenalty(Reward):
    """A term of ``weight`` times how free of artifacts the response is.

    Args:
        weight: at least 0; 0 leaves every proxy reward as it was.
        scale: "probability" in [0, 1], or "log-odds" in [-10, 10].
        classifier: a fitted classifier; None fits one to `built_in_examples` on first use.

    Raises:
        InputError: an argument out of its range, or a classifier that is not fitted.
    """

    paper = "Artifact regulariser against reward hacking, arXiv 2601.03468"

    def __init__(self, weight: float = 0.5, scale: str = "probability", classifier: ArtifactClassifier | None = None):
        self.weight = check_number("weight", weight, low=0.0)
        self.scale = check_choice("scale", scale, ("probability", "log-odds"))
        if classifier is not None and not classifier.fitted:
            raise InputError("the artifact classifier is not fitted; call its fit(clean, degenerate) first.")
        self.classifier = classifier

    @property
    def bounds(self) -> tuple[float, float]:
        if self.scale == "probability":
            return 0.0, self.weight
        return -_LOG_ODDS_LIMIT * self.weight, _LOG_ODDS_LIMIT * self.weight

    def _ready(self) -> ArtifactClassifier:
        if self.classifier is None:
            self.classifier = ArtifactClassifier().fit(*built_in_examples())
        return self.classifier

    def refresh(self, clean: Sequence[str], degenerate: Sequence[str]) -> None:
        """Fit the classifier anew, to the policy's present successes and failures."""
        self._ready().fit(clean, degenerate)

    def value(self, episode: Episode) -> float:
        classifier = self._ready()
        measure = classifier.probability if self.scale == "probability" else classifier.log_odds
        return self.weight * measure(episode.response)

    def state_dict(self) -> dict[str, Any]:
        return {"classifier": self._ready().state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._ready().load_state_dict(state.get("classifier", {}))
