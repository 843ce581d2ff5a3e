"""Bradley-Terry reward model: any text encoder with a two-layer head, trained on preferences. Needs torch."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ...checks import check_count, check_number
from ...errors import InputError, MissingExtra
from ...registry import Registry
from .losses import bradley_terry_loss
from .ngram_encoder import NgramEncoder
from .objectives import OBJECTIVES
from .preferences import Preference

_FORMAT = "palaestra-reward-model-1"
CHUNK = 128
"""Most texts that are encoded at once to be scored."""
ENCODERS: Registry[Any] = Registry("encoder of reward models")
"""Encoders that can be made from a file alone: classes with ``settings()`` and ``from_settings(settings)``."""
ENCODERS.add("hashed", NgramEncoder)
# By name, as rewards do not import agents.
_DEFINED_IN = {"language": "palaestra.agents.language.language_encoder"}


@dataclass(frozen=True, slots=True)
class Fit:
    """Training record of `RewardModel.fit`.

    Attributes:
        losses: mean loss of each epoch, nats.
        accuracy: share of the pairs that are ordered as labelled, after training; ties count half.
    """

    losses: tuple[float, ...]
    accuracy: float


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's global generator, from which modules initialise, within the block and restore it afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def shuffled_batches(
    pairs: Sequence[Preference], epochs: int, batch: int, seed: int
) -> Iterator[list[list[Preference]]]:
    """Yield the batches of each epoch, in a new order each time; see `RewardModel.fit` for the arguments."""
    if not pairs:
        raise InputError("a reward model is fitted on at least one preference pair; there is none.")
    check_count("epochs", epochs, 1)
    check_count("batch", batch, 1, "pairs")
    generator = torch.Generator().manual_seed(check_count("seed", seed))
    for _ in range(epochs):
        order = torch.randperm(len(pairs), generator=generator).tolist()
        yield [[pairs[index] for index in order[low : low + batch]] for low in range(0, len(pairs), batch)]


class RewardModel(nn.Module):
    """Model that scores a response to a prompt with one number.

    Args:
        encoder: a module with ``encode(list of texts) -> [n, d]``; None takes `NgramEncoder`.
        dim: d, the width of the encoding; None reads ``encoder.dim``.
        hidden: width of the head's hidden layer.
        seed: seed of the initial weights.

    Raises:
        InputError: an encoder without ``encode``, or of unknown width.
    """

    paper = "Secrets of RLHF II, arXiv 2401.06080"

    def __init__(self, encoder: nn.Module | None = None, *, dim: int | None = None, hidden: int = 64, seed: int = 0):
        super().__init__()
        check_count("hidden", hidden, 1)
        with seeded(check_count("seed", seed)):
            self.encoder: Any = NgramEncoder() if encoder is None else encoder
            width = dim if dim is not None else getattr(self.encoder, "dim", None)
            if not callable(getattr(self.encoder, "encode", None)) or not isinstance(width, int):
                raise InputError(
                    f"an encoder needs encode(texts) -> [n, d] and a width (its .dim, or dim=...), not {encoder!r}."
                )
            self.head = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, 1))
        self._shape = {"dim": width, "hidden": hidden}

    def forward(self, prompts: Sequence[str], responses: Sequence[str]) -> Tensor:
        """Compute scores, [n], with gradient."""
        texts = [f"{prompt}\n\n{response}" for prompt, response in zip(prompts, responses, strict=True)]
        return self.head(self.encoder.encode(texts)).squeeze(-1)

    def score(self, prompts: Sequence[str], responses: Sequence[str]) -> list[float]:
        """Return one unbounded score per response; only differences between responses to one prompt have a meaning."""
        if not responses:
            return []
        training = self.training
        self.eval()
        scores: list[float] = []
        with torch.no_grad():
            for low in range(0, len(responses), CHUNK):
                scores += self(prompts[low : low + CHUNK], responses[low : low + CHUNK]).tolist()
        self.train(training)
        return scores

    def features(self, prompts: Sequence[str], responses: Sequence[str]) -> np.ndarray:
        """Return the encodings from which the head makes scores, float64 [n, d], without gradient."""
        rows = []
        with torch.no_grad():
            for low in range(0, len(responses), CHUNK):
                pairs = zip(prompts[low : low + CHUNK], responses[low : low + CHUNK], strict=True)
                rows.append(self.encoder.encode([f"{prompt}\n\n{response}" for prompt, response in pairs]))
        return torch.cat(rows).double().cpu().numpy()

    def fit(
        self,
        pairs: Sequence[Preference],
        *,
        objective: str = "bradley-terry",
        epochs: int = 20,
        batch: int = 32,
        learning_rate: float = 3e-3,
        weight_decay: float = 1e-2,
        seed: int = 0,
    ) -> Fit:
        """Train on preferences with their margins and smoothing. Equal arguments and weights give equal results.

        Args:
            pairs: at least one pair.
            objective: a name in `objectives.OBJECTIVES`.
            epochs: passes over the pairs.
            batch: pairs per step.
            learning_rate, weight_decay: of AdamW.
            seed: seed of the order of the pairs.

        Raises:
            InputError: no pairs, or an argument out of range.
        """
        backward = OBJECTIVES[objective]
        optimiser = self.make_optimiser(learning_rate, weight_decay)
        self.train()
        losses = []
        with seeded(check_count("seed", seed)):  # of dropout, where an objective has it
            for epoch in shuffled_batches(pairs, epochs, batch, seed):
                total = 0.0
                for part in epoch:
                    optimiser.zero_grad()
                    total += backward(self, part)
                    optimiser.step()
                losses.append(total / len(pairs))
        self.eval()
        return Fit(tuple(losses), self.accuracy(pairs))

    def make_optimiser(self, learning_rate: float, weight_decay: float) -> torch.optim.Optimizer:
        """Make AdamW over the trainable weights."""
        rate = check_number("learning_rate", learning_rate, 0.0)
        weights = [weight for weight in self.parameters() if weight.requires_grad]
        return torch.optim.AdamW(weights, lr=rate, weight_decay=weight_decay)

    def score_pairs(self, pairs: Sequence[Preference]) -> tuple[Tensor, Tensor]:
        """Compute the scores of the chosen and of the rejected responses, [n] each, with gradient."""
        prompts = [pair.prompt for pair in pairs]
        scores = self(prompts * 2, [pair.chosen for pair in pairs] + [pair.rejected for pair in pairs])
        return scores[: len(pairs)], scores[len(pairs) :]

    def embed_pairs(self, pairs: Sequence[Preference]) -> Tensor:
        """Compute the hidden layer of the head for the chosen minus that for the rejected responses, [n, hidden]."""
        texts = [f"{pair.prompt}\n\n{text}" for pair in pairs for text in (pair.chosen, pair.rejected)]
        hidden = self.head[1](self.head[0](self.encoder.encode(texts)))
        return hidden[::2] - hidden[1::2]

    def losses(self, pairs: Sequence[Preference]) -> Tensor:
        """Return the Bradley-Terry loss of each pair, with its margin and smoothing, [n], nats."""
        chosen, rejected = self.score_pairs(pairs)
        margin = torch.tensor([pair.margin for pair in pairs], dtype=chosen.dtype, device=chosen.device)
        smoothing = torch.tensor([pair.smoothing for pair in pairs], dtype=chosen.dtype, device=chosen.device)
        return bradley_terry_loss(chosen, rejected, margin, smoothing)

    def differences(self, pairs: Sequence[Preference]) -> list[float]:
        """Compute ``score(chosen) - score(rejected)`` of each pair, for `preference_strength`."""
        prompts = [pair.prompt for pair in pairs]
        chosen = self.score(prompts, [pair.chosen for pair in pairs])
        rejected = self.score(prompts, [pair.rejected for pair in pairs])
        return [one - two for one, two in zip(chosen, rejected)]

    def accuracy(self, pairs: Sequence[Preference]) -> float:
        """Compute the share of the pairs whose chosen response scores higher; ties count half."""
        return sum(0.5 if lead == 0 else float(lead > 0) for lead in self.differences(pairs)) / len(pairs)

    def save(self, path: str | Path) -> None:
        """Write all weights, the encoder's included, to one safetensors file, which is replaced atomically."""
        from_file = _safetensors()
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        kind = next((name for name, known in ENCODERS.items() if type(self.encoder) is known), "other")
        about = {"format": _FORMAT, "shape": json.dumps(self._shape), "encoder": kind}
        if kind != "other":
            about[kind] = json.dumps(self.encoder.settings())
        weights = {name: weight.detach().cpu().contiguous() for name, weight in self.state_dict().items()}
        descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(from_file.save(weights, metadata=about))
            os.replace(draft, path)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise

    @classmethod
    def load(cls, path: str | Path, encoder: nn.Module | None = None) -> RewardModel:
        """Load a saved model.

        Args:
            path: the file.
            encoder: an encoder of the same architecture as the saved one; None for n-grams and for language models,
                which the file describes.

        Raises:
            InputError: the file is not a reward model, or the encoder does not fit.
        """
        _safetensors()
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(str(path), framework="pt") as file:
                about = file.metadata() or {}
                weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # not a mapping
        except (OSError, SafetensorError) as error:
            raise InputError(f"{str(path)!r} cannot be read as a reward model: {error}.") from error
        if about.get("format") != _FORMAT:
            raise InputError(f"{str(path)!r} holds other weights than a reward model's; give a file that save() wrote.")
        if encoder is None:
            kind = about["encoder"]
            if kind in _DEFINED_IN:
                importlib.import_module(_DEFINED_IN[kind])
            if kind not in ENCODERS:
                raise InputError(
                    f"{str(path)!r} was saved with the encoder {kind!r}, which is unknown here; import the module that "
                    "defines it, or pass an encoder to load()."
                )
            with seeded(0):
                encoder = ENCODERS[kind].from_settings(json.loads(about[kind]))
        model = cls(encoder, **json.loads(about["shape"]))
        try:
            model.load_state_dict(weights)
        except RuntimeError as error:
            raise InputError(f"the encoder does not fit the weights in {str(path)!r}: {error}") from error
        return model.eval()


def _safetensors() -> Any:
    try:
        import safetensors.torch
    except ImportError:
        raise MissingExtra("saving a reward model", "train") from None
    return safetensors.torch
