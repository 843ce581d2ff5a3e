"""Rewards of the text itself, whatever its answer: repetition, phrases of careful reasoning, degenerate text.

Input is the last response. Repeated n-grams are counted exactly, in O(n log n) for a text of n words.
"""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ...checks import Declared, declared, option
from ...errors import InputError
from ..episode import Episode
from ..reward import Reward, register
from .scores import Scorer, ScoreSource


def ngram_ranks(words: list[str], n: int) -> np.ndarray:
    """Return a number for each n-gram, in order; two n-grams have the same number exactly if their words are the same.

    An n-gram's number comes from the pair of numbers of its halves, so that no n-gram is held in memory as text.
    """
    if len(words) < n:
        return np.zeros(0, dtype=np.int64)
    ids: dict[str, int] = {}
    ranks = np.array([ids.setdefault(word, len(ids)) for word in words], dtype=np.int64)
    size = 1
    while size < n:
        # Two overlapping halves cover the n-gram when n is not a power of two.
        shift = min(size, n - size)
        pairs = ranks[: len(ranks) - shift] * (int(ranks.max()) + 1) + ranks[shift:]
        ranks = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
        size += shift
    return ranks


def repetition_rate(text: str, n: int) -> float:
    """Return 1 - distinct n-grams / n-grams, of words in lower case; 0 for a text of fewer than ``n`` words."""
    ranks = ngram_ranks(text.lower().split(), n)
    return 1.0 - len(np.unique(ranks)) / len(ranks) if len(ranks) else 0.0


def repeated_share(text: str, n: int) -> float:
    """Return the share of n-grams that occur more than once, of words in lower case; 0 for fewer than ``n`` words."""
    ranks = ngram_ranks(text.lower().split(), n)
    if not len(ranks):
        return 0.0
    counts = np.bincount(ranks)
    return float((counts[ranks] > 1).mean())


def repeated_words(words: list[str], n: int) -> np.ndarray:
    """Return a mask over ``words``: True inside any n-gram that has occurred before, where a dense penalty applies."""
    mask = np.zeros(len(words), dtype=bool)
    ranks = ngram_ranks(words, n)
    if len(ranks):
        again = np.ones(len(ranks), dtype=bool)
        again[np.unique(ranks, return_index=True)[1]] = False
        for offset in range(n):
            mask[offset : offset + len(ranks)] |= again
    return mask


@register("repetition")
class Repetition(Reward):
    """Term in [-weight, 0]: minus the share of the response that repeats itself."""

    paper = "Demystifying Long Chain-of-Thought Reasoning in LLMs, arXiv 2502.03373 (n-gram penalty)"
    n: int = option(default=20, low=1, unit="words", says="length of the n-grams; longer than ordinary phrases.")
    weight: float = option(default=0.5, low=0, says="the largest penalty.")
    dense: bool = option(default=False, says="take the share of words inside a repeated n-gram (`repeated_words`).")

    @property
    def bounds(self) -> tuple[float, float]:
        return -self.weight, 0.0

    def value(self, episode: Episode) -> float:
        if not self.dense:
            return -self.weight * repetition_rate(episode.response, self.n)
        mask = repeated_words(episode.response.lower().split(), self.n)
        return -self.weight * (float(mask.mean()) if len(mask) else 0.0)


# Our own list; the paper's has about forty phrases of the same kinds: planning, checking, turning back, ending.
PHRASES = (
    "first,", "second,", "next,", "then,", "finally,", "let me", "let us", "let's", "we need to", "i need to",
    "we know that", "we are given", "recall that", "note that", "suppose", "assume", "consider", "in other words",
    "for example", "case 1", "step 1", "step by step", "because", "since", "therefore", "thus", "hence", "it follows",
    "this means", "which gives", "so we have", "on the other hand", "alternatively", "wait", "however", "actually",
    "double-check", "let me check", "to verify", "in conclusion",
)  # fmt: skip


def reasoning_pattern(text: str, n: int = 20, full: int = 20) -> float:
    """Return min(phrases present / full, 1) - share of repeated n-grams - turns written for the user; at least 0.

    Args:
        text: a response.
        n: length of the n-grams in words.
        full: number of different phrases with which the first summand reaches 1.
    """
    lowered = text.lower()
    present = sum(phrase in lowered for phrase in PHRASES)
    return max(0.0, min(present / full, 1.0) - repeated_share(text, n) - lowered.count("user:"))


def calibrate_score(score: float, pattern: float, threshold: float, alpha: float) -> float:
    """Return ``score + alpha * pattern`` if ``score`` is below ``threshold``, else ``score`` (arXiv 2505.22653)."""
    return score + alpha * pattern if score < threshold else score


@register("reasoning-pattern")
class ReasoningPattern(Reward):
    """Term in [0, 1] for reasoning phrases, minus repetition and self-written user turns, whatever the answer."""

    paper = "The Climb Carves Wisdom Deeper Than the Summit, arXiv 2505.22653 (reasoning pattern reward)"
    user_supplies = "a model that writes phrases of reasoning"
    bounds = (0.0, 1.0)
    n: int = option(default=20, low=1, unit="words", says="length of the n-grams whose repetition is subtracted.")
    full: int = option(default=20, low=1, unit="phrases", says="number of different phrases for the whole reward.")

    def value(self, episode: Episode) -> float:
        return reasoning_pattern(episode.response, self.n, self.full)


@register("rpr-calibration")
class RPRCalibration(Reward):
    """Reward model's score, raised by alpha times the reasoning-pattern reward if it is below a threshold.

    The released code's exact rule was not found; this is the paper's sentence as a formula. A failure can outrank a
    success, as the reward model decides.
    """

    paper = ReasoningPattern.paper
    needs = frozenset({"reward_model_score"})
    scorer: Scorer | None = option(default=None, says="model's score in [0, 1]; None reads ``episode.extra(key)``.")
    key: str = option(default="reward_model_score", says="name of the extra to read.")
    threshold: float = option(default=0.5, low=0, high=1, says="scores below this are raised.")
    alpha: float = option(default=0.3, low=0, says="factor of the reasoning-pattern reward.")

    def setup(self) -> None:
        self.score = ScoreSource(self.scorer, self.key, 0.0, 1.0)
        self.needs = self.score.needs

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, max(1.0, self.threshold + self.alpha)

    def value(self, episode: Episode) -> float | None:
        score = self.score(episode)
        if score is None:
            return None
        return calibrate_score(score, reasoning_pattern(episode.response), self.threshold, self.alpha)


FEATURES = (
    "repeated 3-grams",
    "compressibility",
    "share of distinct words",
    "share of letters, digits and spaces",
    "mean word length",
    "share of tags",
    "empty tags",
    "log length",
)
# Number of characters from the start of a text that the classifier reads.
MAX_CHARACTERS = 100_000
_LOG_ODDS_LIMIT = 10.0


def artifact_features(text: str) -> np.ndarray:
    """Return the numbers named in `FEATURES`; finite for any text."""
    text = text[:MAX_CHARACTERS]
    words = text.split()
    data = text.encode("utf-8", "replace")
    tags = sum(map(len, re.findall(r"</?\w{1,20}>", text)))
    return np.array(
        [
            repetition_rate(text, 3),
            1.0 - min(len(zlib.compress(data, 1)) / (len(data) + 20.0), 1.0),
            len(set(words)) / len(words) if words else 0.0,
            sum(character.isalnum() or character.isspace() for character in text) / len(text) if text else 0.0,
            min(sum(map(len, words)) / len(words), 40.0) if words else 0.0,
            tags / len(text) if text else 0.0,
            float("></" in "".join(words)),
            float(np.log1p(len(words))),
        ]
    )


@declared
class ArtifactClassifier(Declared):
    """Logistic regression on standardised `artifact_features`, fitted by Newton's method with a ridge penalty.

    `fit` starts from scratch; pass old and new texts together to follow a policy whose failures change.
    """

    ridge: float = option(default=1.0, above=0, says="strength of the penalty on weights.")

    def setup(self) -> None:
        self.mean = np.zeros(len(FEATURES))
        self.scale = np.ones(len(FEATURES))
        self.weights = np.zeros(len(FEATURES) + 1)
        self.fitted = False

    def fit(self, clean: Sequence[str], degenerate: Sequence[str]) -> ArtifactClassifier:
        """Fit the classifier to ``clean`` texts (label 1) and ``degenerate`` ones (label 0), and return it.

        Raises:
            InputError: fewer than two texts of a kind.
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
        # Clipping bounds the influence of one feature in texts unlike all training texts.
        standard = np.clip((features - self.mean) / self.scale, -5.0, 5.0)
        return np.concatenate([np.ones((*standard.shape[:-1], 1)), standard], axis=-1)

    def log_odds(self, text: str) -> float:
        """Return log P(clean) / P(degenerate) of ``text``, clipped to [-10, 10]."""
        odds = float(self._inputs(artifact_features(text)) @ self.weights)
        return min(max(odds, -_LOG_ODDS_LIMIT), _LOG_ODDS_LIMIT)

    def probability(self, text: str) -> float:
        """Return the probability that ``text`` is free of artifacts."""
        return float(1.0 / (1.0 + np.exp(-self.log_odds(text))))

    def state_dict(self) -> dict[str, Any]:
        """Return the fitted parameters as JSON data."""
        return {"mean": self.mean.tolist(), "scale": self.scale.tolist(), "weights": self.weights.tolist()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore fitted parameters. Raises InputError if they belong to other features."""
        arrays = {name: np.asarray(state.get(name, ()), dtype=float) for name in ("mean", "scale", "weights")}
        if [array.size for array in arrays.values()] != [len(FEATURES), len(FEATURES), len(FEATURES) + 1]:
            raise InputError(f"the saved artifact classifier does not have the {len(FEATURES)} features of this one.")
        self.mean, self.scale, self.weights = arrays.values()
        self.fitted = True


def built_in_examples(count: int = 400, seed: int = 0) -> tuple[list[str], list[str]]:
    """Return ``count`` clean texts (worked sums, and answers alone or after a short thought) and ``count`` degenerate
    ones (repetition, gibberish, empty tags)."""
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
        kind = index % 4
        short = [f"{a}", f"\\boxed{{{a}}}", f"The answer is {a + b}.", f"{a} + {b} = {a + b}"][index // 4 % 4]
        thought = [parts[1], f"{a} + {b} is {a + b}", " ".join(parts[:3])][index // 4 % 3]
        thoughtful = f"<think>{thought}</think><answer>{a + b - c}</answer>"
        clean.append([" ".join(parts[: 2 + int(rng.integers(4))]), parts[0], thoughtful, short][kind])
        if kind == 0:
            repeated = ["aeiou"[index // 8 % 5], "ha", things[0], *parts[:3], *parts[:3]][index // 4 % 9]
            degenerate.append(("" if len(repeated) < 3 else " ").join([repeated] * int(rng.integers(8, 40))))
        elif kind == 1:
            letters = rng.integers(33, 127, int(rng.integers(20, 400)))
            noise = "".join(map(chr, letters))
            degenerate.append(noise.replace("Q", " ") if index // 4 % 2 else " ".join(re.findall(".{1,6}", noise)))
        elif kind == 2:
            degenerate.append("<think> </think> <answer> </answer> " * int(rng.integers(1, 20)) + str(a))
        else:
            degenerate.append(f"<think></think><answer>{a}</answer>")
    return clean, degenerate


@functools.cache
def _fit_built_in_examples() -> dict[str, Any]:
    """Return the parameters of a classifier fitted to `built_in_examples`, which takes a tenth of a second."""
    return ArtifactClassifier().fit(*built_in_examples()).state_dict()


@register("artifact-penalty")
class ArtifactPenalty(Reward):
    """Term of ``weight`` times the probability, or log-odds, that the response is free of artifacts.

    Add it to a proxy reward that degenerate text can fool.

    Raises:
        InputError: a classifier that is not fitted.
    """

    paper = "Artifact regulariser against reward hacking, arXiv 2601.03468"
    weight: float = option(default=0.5, low=0, says="weight of the term.")
    scale: Literal["probability", "log-odds"] = option(default="probability", says="in [0, 1], or in [-10, 10].")
    classifier: ArtifactClassifier | None = option(
        default=None, says="a fitted classifier; None fits one to `built_in_examples`."
    )

    def setup(self) -> None:
        if self.classifier is not None and not self.classifier.fitted:
            raise InputError("the artifact classifier is not fitted; call its fit(clean, degenerate) first.")

    @property
    def bounds(self) -> tuple[float, float]:
        if self.scale == "probability":
            return 0.0, self.weight
        return -_LOG_ODDS_LIMIT * self.weight, _LOG_ODDS_LIMIT * self.weight

    def _get_classifier(self) -> ArtifactClassifier:
        if self.classifier is None:
            self.classifier = ArtifactClassifier()  # one of its own, as `refresh` changes it
            self.classifier.load_state_dict(_fit_built_in_examples())
        return self.classifier

    def refresh(self, clean: Sequence[str], degenerate: Sequence[str]) -> None:
        """Fit the classifier again, for example to the policy's current successes and failures."""
        self._get_classifier().fit(clean, degenerate)

    def value(self, episode: Episode) -> float:
        classifier = self._get_classifier()
        measure = classifier.probability if self.scale == "probability" else classifier.log_odds
        return self.weight * measure(episode.response)

    def state_dict(self) -> dict[str, Any]:
        return {"classifier": self._get_classifier().state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._get_classifier().load_state_dict(state.get("classifier", {}))
