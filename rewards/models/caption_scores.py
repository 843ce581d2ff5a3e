"""Scores of captions from an annotator's labels, in ONI's three modes (arXiv 2410.23022).

"retrieval" looks labels up, "classification" trains a network on labels, and "ranking" trains a network on preferences
between two captions. New captions are queued, and scoring never waits for the annotator, which labels the queue
between updates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ...checks import Declared, check_choice, check_number, declared, option
from ...errors import InputError
from .loading import load_with_torch
from .saved_tensors import pack_tensors, unpack_tensors

Annotator = Callable[[Sequence[str]], Mapping[str, float]]
"""Callable from captions to a mapping caption -> label, without captions that could not be judged, which stay queued.
It may have a method ``compare``, as `palaestra.rewards.judges.caption_judge.CaptionJudge` has."""

RETRIEVAL, CLASSIFICATION, RANKING = "retrieval", "classification", "ranking"
_DIM, _BUCKETS, _BATCH = 16, 2048, 32


@declared
class CaptionScores(Declared):
    """Scores looked up among labels: the mode "retrieval", and the base class of the other modes."""

    mode: ClassVar[str] = RETRIEVAL
    capacity: int = option(
        default=100_000, low=1, unit="captions", says="most captions queued or labelled; further ones are not queued."
    )

    def setup(self) -> None:
        self.labels: dict[str, float] = {}
        self.queue: dict[str, None] = {}

    def notice(self, caption: str) -> None:
        """Queue a caption that has no label yet."""
        if caption not in self.labels and len(self.labels) + len(self.queue) < self.capacity:
            self.queue[caption] = None

    def add_labels(self, labels: Mapping[str, float]) -> None:
        """Store labels and remove their captions from the queue. Raises InputError for a label that is not finite."""
        for caption, value in labels.items():
            self.labels[caption] = check_number(f"the label of {caption[:80]!r}", value)
            self.queue.pop(caption, None)

    def value(self, caption: str) -> float:
        """Return the score of a caption; 0 before it is labelled."""
        return self.labels.get(caption, 0.0)

    def annotate(self, annotator: Annotator, most: int | None = None) -> None:
        """Ask ``annotator`` for labels of the queued captions, at most the oldest ``most`` of them."""
        if self.queue:
            self.add_labels(annotator(tuple(self.queue)[:most]))

    def state_dict(self) -> dict[str, Any]:
        return {"labels": dict(self.labels), "queue": list(self.queue)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if set(state) != set(self.state_dict()):
            wanted = ", ".join(map(repr, sorted(self.state_dict())))
            raise InputError(
                f"the saved state of caption scores in mode {self.mode!r} holds {wanted}, not {sorted(state)}."
            )
        self.labels, self.queue = dict(state["labels"]), dict.fromkeys(state["queue"])


@declared
class LearnedScores(CaptionScores):
    """Base class of the modes with a network: hashed n-grams and two layers.

    Raises:
        MissingExtra: torch is absent.
    """

    threshold: float = option(default=0.5, says="probability above which a caption scores 1.")
    rate: float = option(default=3e-3, above=0, says="learning rate of Adam.")
    updates: int = option(default=32, low=1, says="gradient steps after each annotation.")
    seed: int = option(default=0, says="seed of the weights and draws.")

    def setup(self) -> None:
        super().setup()
        model, encoder = load_with_torch("RewardModel"), load_with_torch("NgramEncoder")
        import torch

        self.torch = torch
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            self.model = model(encoder(_DIM, _BUCKETS), hidden=32, seed=self.seed)
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=self.rate)
        self._rng = np.random.default_rng(self.seed)
        self._scores: dict[str, float] = {}
        self.trained = False

    def score(self, caption: str) -> float:
        """Return the network's output for a caption."""
        if caption not in self._scores:
            if len(self._scores) > self.capacity:
                self._scores = {}
            self._scores[caption] = self.model.score([""], [caption])[0]
        return self._scores[caption]

    def train(self, size: int, loss: Callable[[Sequence[int]], Any]) -> None:
        """Take ``updates`` gradient steps on random batches; ``loss`` gets a batch as indices below ``size``."""
        for _ in range(self.updates):
            self.optimiser.zero_grad()
            loss(self._rng.choice(size, min(_BATCH, size), replace=False).tolist()).backward()
            self.optimiser.step()
        self._scores, self.trained = {}, True

    def state_dict(self) -> dict[str, Any]:
        tensors = pack_tensors({"model": self.model.state_dict(), "optimiser": self.optimiser.state_dict()})
        learned = {"tensors": tensors, "trained": self.trained, "rng": self._rng.bit_generator.state}
        return {**super().state_dict(), **learned}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        saved = unpack_tensors(state["tensors"])
        self.model.load_state_dict(saved["model"])
        self.optimiser.load_state_dict(saved["optimiser"])
        self._rng.bit_generator.state = state["rng"]
        self._scores, self.trained = {}, bool(state["trained"])


class CaptionClassifier(LearnedScores):
    """Score of 1 if the predicted probability of a label of at least 0.5 exceeds the threshold, else 0."""

    mode = CLASSIFICATION

    def annotate(self, annotator: Annotator, most: int | None = None) -> None:
        super().annotate(annotator, most)
        if not self.labels:
            return
        captions, torch = list(self.labels), self.torch

        def loss(chosen: Sequence[int]) -> Any:
            texts = [captions[number] for number in chosen]
            wanted = torch.tensor([float(self.labels[text] >= 0.5) for text in texts])
            logits = self.model([""] * len(texts), texts)
            return torch.nn.functional.binary_cross_entropy_with_logits(logits, wanted)

        self.train(len(captions), loss)

    def value(self, caption: str) -> float:
        if not self.trained:
            return 0.0
        return float(0.5 * (1.0 + np.tanh(self.score(caption) / 2)) > self.threshold)


@declared
class CaptionRanker(LearnedScores):
    """Score of a Bradley-Terry model, standardised by the mean and standard deviation of all scores computed so far.

    A standardised score below the threshold counts as 0. Preferences are asked between captions that are drawn at
    random from all captions labelled or queued.
    """

    mode = RANKING
    threshold: float = option(default=-0.5, says="standardised score below which a caption counts as 0.")

    def setup(self) -> None:
        super().setup()
        self.pairs: list[tuple[str, str, float]] = []
        self.count, self.mean, self.squares = 0, 0.0, 0.0

    def annotate(self, annotator: Annotator, most: int | None = None) -> None:
        captions = [*self.labels, *self.queue]
        if len(captions) < 2:
            return
        # One pair is drawn for each new caption, so that all are compared in time.
        wanted = min(most or 64, max(len(self.queue), 8))
        drawn = [self._rng.choice(len(captions), 2, replace=False) for _ in range(wanted)]
        asked = list(dict.fromkeys((captions[one], captions[two]) for one, two in drawn))
        answers = _compare(annotator, asked)
        self.pairs += [(*pair, answers[pair]) for pair in asked if pair in answers]
        self.pairs = self.pairs[-self.capacity :]
        for caption in {caption for pair in answers for caption in pair}:
            self.labels[caption] = 0.0  # met and compared
            self.queue.pop(caption, None)
        if not self.pairs:
            return
        torch = self.torch

        def loss(chosen: Sequence[int]) -> Any:
            batch = [self.pairs[number] for number in chosen]
            scores = self.model([""] * 2 * len(batch), [pair[0] for pair in batch] + [pair[1] for pair in batch])
            wanted = torch.tensor([pair[2] for pair in batch])
            lead = scores[: len(batch)] - scores[len(batch) :]
            return torch.nn.functional.binary_cross_entropy_with_logits(lead, wanted)

        self.train(len(self.pairs), loss)

    def value(self, caption: str) -> float:
        if not self.trained:
            return 0.0
        score = self.score(caption)
        self.count += 1
        before = score - self.mean
        self.mean += before / self.count
        self.squares += before * (score - self.mean)
        deviation = (self.squares / self.count) ** 0.5
        normalised = (score - self.mean) / deviation if deviation else 0.0
        return normalised if normalised >= self.threshold else 0.0

    def state_dict(self) -> dict[str, Any]:
        met = {"count": self.count, "mean": self.mean, "squares": self.squares}
        return {**super().state_dict(), "pairs": [list(pair) for pair in self.pairs], **met}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.pairs = [(one, two, float(wanted)) for one, two, wanted in state["pairs"]]
        self.count, self.mean, self.squares = int(state["count"]), float(state["mean"]), float(state["squares"])


def _compare(annotator: Annotator, pairs: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], float]:
    compare = getattr(annotator, "compare", None)
    if compare is not None:
        return compare(pairs)
    labels = annotator(tuple(dict.fromkeys(caption for pair in pairs for caption in pair)))
    known = [(one, two) for one, two in pairs if one in labels and two in labels]
    return {(a, b): 0.5 + 0.5 * ((labels[a] > labels[b]) - (labels[a] < labels[b])) for a, b in known}


MODES: dict[str, type[CaptionScores]] = {kind.mode: kind for kind in (CaptionScores, CaptionClassifier, CaptionRanker)}


def make_scores(mode: str, capacity: int = 100_000, threshold: float | None = None, seed: int = 0) -> CaptionScores:
    """Make the scores of a mode. With ``threshold`` None the mode's default is used.

    Raises:
        InputError: an unknown mode, or an argument out of range.
        MissingExtra: the mode has a network, and torch is absent.
    """
    check_choice("mode", mode, tuple(MODES))
    if mode == RETRIEVAL:
        return CaptionScores(capacity)
    kind: Any = MODES[mode]
    return kind(capacity, seed=seed, **({} if threshold is None else {"threshold": threshold}))
