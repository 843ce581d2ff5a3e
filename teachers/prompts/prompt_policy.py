"""RLPrompt (arXiv 2205.12548): a small network writes the system text word by word, and learns by soft Q-learning which
words help.

The paper's network stands on a frozen language model and emits its tokens; here it stands on frozen random features of
the words so far and emits words of a list, so that the teacher needs no model and the text stays readable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ...checks import option
from ...errors import InputError
from ..pools import task_key
from ..protocol import Draw, Evidence
from ..registration import register
from ..saved_state import restore_array
from .soft_q import gap_reward, path_consistency, shape_range, z_scores
from .system_texts import SystemTexts

WORDS = (
    *("think", "step", "by", "answer", "number", "only", "exactly", "short", "check", "twice"),
    *("carefully", "question", "first", "then", "compute", "yes", "no", "write", "final", "reason"),
    *("plan", "precise", "format", "line", "digits", "true", "false", "choose", "option", "letter"),
    *("word", "list", "whole", "rule", "example", "solve", "slowly", "quickly", "Answer", "Think"),
)
_FEATURES = 32
_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8


def _check_words(name: str, value: Sequence[str]) -> list[str]:
    words = [] if isinstance(value, str) else list(value)
    if len(words) < 2 or len(set(words)) < len(words) or not all(isinstance(word, str) and word for word in words):
        raise InputError(f"{name} must be a list of two or more different words, not {value!r}.")
    return words


class WordPolicy:
    """Network of one hidden layer from frozen random features of the words so far to the soft action values Q.

    Args:
        words: number of words.
        length: largest number of words of a text.
        hidden: units of the hidden layer.
        seed: seed of the weights; the features are always the same.

    Attributes:
        weights: [W1, b1, W2, b2].
        target: slow copy of the weights.
    """

    def __init__(self, words: int, length: int, hidden: int = 64, seed: int = 0):
        frozen, rng = np.random.default_rng(0), np.random.default_rng([seed, 0])
        self._embedding = frozen.standard_normal((words, _FEATURES))
        self._place = frozen.standard_normal((length, _FEATURES))
        first = rng.standard_normal((_FEATURES, hidden)) / _FEATURES**0.5
        self.weights = [first, np.zeros(hidden), np.zeros((hidden, words)), np.zeros(words)]
        self.target = [weight.copy() for weight in self.weights]
        self._moments = [[np.zeros_like(weight) for weight in self.weights] for _ in range(2)]
        self._steps = 0

    def features(self, text: Sequence[int]) -> np.ndarray:
        """Return float64[T, F], the features of the states before each of the T words."""
        before = np.zeros((len(text), _FEATURES))
        for t in range(1, len(text)):
            before[t] = before[t - 1] + self._embedding[text[t - 1]] * np.sign(self._place[t - 1])
        counts = np.maximum(np.arange(len(text)), 1)[:, None]
        return np.tanh(before / counts**0.5 + self._place[: len(text)])

    def values(self, features: np.ndarray, weights: Sequence[np.ndarray] | None = None) -> tuple[np.ndarray, ...]:
        """Return (Q float64[T, words], hidden layer float64[T, H])."""
        first, bias, second, out = self.weights if weights is None else weights
        hidden = np.maximum(features @ first + bias, 0.0)
        return hidden @ second + out, hidden

    def sample(self, length: int, rng: np.random.Generator) -> list[int]:
        """Draw a text word by word, each with probability softmax Q."""
        text: list[int] = []
        for _ in range(length):
            q = self.values(self.features([*text, 0]))[0][-1]
            text.append(int((q + rng.gumbel(size=len(q))).argmax()))
        return text

    def learn(self, texts: Sequence[Sequence[int]], rewards: Sequence[float], rate: float, polyak: float) -> float:
        """Take a step of Adam on the mean loss of `path_consistency` and move the target; return that loss."""
        gradients, total = [np.zeros_like(weight) for weight in self.weights], 0.0
        for text, reward in zip(texts, rewards, strict=True):
            features, steps = self.features(text), np.arange(len(text))
            q, hidden = self.values(features)
            logp = q - _logsumexp(q)[:, None]
            found = path_consistency(logp[steps, text], _logsumexp(self.values(features, self.target)[0]), reward)
            total += found.loss
            slope = -np.exp(logp)
            slope[steps, text] += 1.0  # dA_t / dQ_t
            slope *= found.slope_t[:, None] / len(texts)
            back = (slope @ self.weights[2].T) * (hidden > 0)
            parts = (features.T @ back, back.sum(0), hidden.T @ slope, slope.sum(0))
            for gradient, part in zip(gradients, parts):
                gradient += part
        self._steps += 1
        for weight, gradient, mean, square in zip(self.weights, gradients, *self._moments):
            mean += (1 - _BETA1) * (gradient - mean)
            square += (1 - _BETA2) * (gradient**2 - square)
            scale = np.sqrt(square / (1 - _BETA2**self._steps)) + _EPSILON
            weight -= rate * mean / (1 - _BETA1**self._steps) / scale
        for weight, slow in zip(self.weights, self.target):
            slow += polyak * (weight - slow)
        return total / len(texts)

    def save(self) -> dict[str, Any]:
        parts = {"weights": self.weights, "target": self.target, "means": self._moments[0], "squares": self._moments[1]}
        return {"steps": self._steps, **{name: [array.tolist() for array in arrays] for name, arrays in parts.items()}}

    def restore(self, saved: Mapping[str, Any]) -> None:
        def read(name: str) -> list[np.ndarray]:
            return [restore_array(array, weight) for array, weight in zip(saved[name], self.weights, strict=True)]

        self._steps = int(saved["steps"])
        self.weights, self.target, self._moments = read("weights"), read("target"), [read("means"), read("squares")]


def _logsumexp(values: np.ndarray) -> np.ndarray:
    most = values.max(-1)
    return most + np.log(np.exp(values - most[..., None]).sum(-1))


@register("prompt-policy")
class PromptPolicy(SystemTexts):
    """Writes the system text of each task with a small network that learns by soft Q-learning (RLPrompt).

    Each task is proposed with `prompts` texts, whose rewards are compared: 200 or 180 times the gap between the shares
    of right and of wrong answers, as z-scores over the texts of one task, or mapped from [0, 100] to [-10, 10]. At the
    optimum a text of reward r has a probability proportional to exp(scale r). "The same task" is the same question
    only where tasks are fixed (--pool), otherwise another one with the same parameters. To learn a prompt for a fixed
    model, train with a tiny ``--lr``.

    Attributes:
        best: the text with the highest mean return among those with 2 or more groups; "" without any.
    """

    paper = "2205.12548"
    when = "A fixed model whose prompt is to be found rather than written, and where some words help it visibly."
    kept = ("policy", "updates")
    words: Sequence[str] = option(default=WORDS, check=_check_words, says="words that a text consists of.")
    length: int = option(default=5, low=1, says="words of a text; 5 tokens in the paper.")
    prompts: int = option(default=4, low=1, says="texts with which each task is proposed.")
    stabilise: Literal["zscore", "range"] = option(
        default="zscore", says='"zscore" over the texts of a task, or "range", the linear map.'
    )
    scale: float = option(default=2.0, above=0, says="factor of the stabilised rewards.")
    rate: float = option(default=5e-3, above=0, says="learning rate of Adam.")
    polyak: float = option(default=1e-3, above=0, high=1, says="step of the target network; 1e-3 in the paper.")
    epochs: int = option(default=4, low=1, says="gradient steps for each batch of outcomes.")
    hidden: int = option(default=64, low=1, says="units of the hidden layer.")

    def setup(self) -> None:
        super().setup()
        if "joins" in self.part.asks:
            raise InputError(f"inside={self.inside!r} joins earlier groups, which had other texts; take another.")
        self.policy = WordPolicy(len(self.words), self.length, self.hidden, self.seed)
        self.updates = 0
        self._loss = 0.0
        self._returns: dict[str, list[float]] = {}  # text -> [sum of mean returns, groups]

    def _choose(self, k: int) -> list[Any]:
        return [self.policy.sample(self.length, self._rng) for _ in range(k)]

    def text_of(self, key: Any) -> str:
        return " ".join([str(self.words[int(word)]) for word in key])

    @property
    def best(self) -> str:
        tried = {text: total / count for text, (total, count) in self._returns.items() if count > 1}
        return max(tried, key=lambda text: tried[text], default="")

    def _draw(self, k: int) -> list[Draw]:
        firsts = super()._draw(-(-k // self.prompts))
        draws: list[Draw] = []
        for first in firsts:
            others = self._choose(min(self.prompts, k - len(draws)) - 1)
            copies = [
                replace(first, record=[None, key], meta={**first.meta, "system": self.text_of(key)}) for key in others
            ]
            draws += [first, *copies]
        return draws

    def _learn(self, evidence: list[Evidence]) -> None:
        super()._learn([item for item in evidence if item.record[0] is not None])
        told = [item for item in evidence if item.record[1] is not None]
        groups: dict[str, list[Evidence]] = {}
        for item in told:
            groups.setdefault(task_key(item.outcome.task), []).append(item)
            entry = self._returns.setdefault(self.text_of(item.record[1]), [0.0, 0])
            entry[0] += item.mean
            entry[1] += 1
        texts, rewards = [], []
        for items in groups.values():
            raw = [gap_reward(2 * item.mean - 1) for item in items]
            stable = z_scores(raw).tolist() if self.stabilise == "zscore" else [shape_range(reward) for reward in raw]
            texts += [item.record[1] for item in items]
            rewards += [self.scale * reward for reward in stable]
        if texts:
            self.updates += 1
            for _ in range(self.epochs):
                self._loss = self.policy.learn(texts, rewards, self.rate, self.polyak)

    def _credit(self, key: Any, evidence: Sequence[Evidence]) -> None:
        pass  # texts of one task are compared in `_learn`

    def _metrics(self) -> dict[str, float]:
        tried = [total / count for total, count in self._returns.values() if count > 1]
        own = {"updates": float(self.updates), "loss": self._loss, "texts": float(len(self._returns))}
        return {**super()._metrics(), **own, "best_return": max(tried, default=0.0)}

    def _save(self) -> dict[str, Any]:
        returns = [[text, *entry] for text, entry in self._returns.items()]
        return {**super()._save(), "returns": returns, "loss": self._loss}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        self._returns = {str(text): [float(total), int(count)] for text, total, count in own["returns"]}
        self._loss = float(own["loss"])
