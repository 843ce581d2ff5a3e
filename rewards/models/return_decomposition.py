"""Decomposition of returns: a function of a step's factors is fitted so that its sum over an episode is the return.

``L = mean over episodes of ((R - sum_t f(phi_t)) / T)^2``: LaRe (arXiv 2412.11120), whose released code divides by the
episode's length T. There are two functions: a linear one by least squares, in numpy, and a network, which needs torch.
"""

from __future__ import annotations

import base64
import io
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...checks import Declared, declared, option
from ...errors import MissingExtra
from .saved_tensors import pack_tensors, unpack_tensors

Decomposable = tuple[np.ndarray, float]
"""Factors [T, d] of an episode's steps, and the episode's return."""


def fit_linear(episodes: Sequence[Decomposable]) -> np.ndarray:
    """Return the weights [d] of smallest norm that minimise the loss of ``f(phi) = w . phi``."""
    sums = np.stack([rows.sum(0) / len(rows) for rows, _ in episodes])
    returns = np.array([total / len(rows) for rows, total in episodes])
    return np.linalg.lstsq(sums, returns, rcond=1e-8)[0]


class LinearDecomposition:
    """Linear function ``f(phi) = w . phi``, fitted to all given episodes at each call of `learn`.

    Args:
        width: d, the number of factors.
    """

    def __init__(self, width: int):
        self.weights = np.zeros(width)

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Return the rewards [T] of steps with factors [T, d]."""
        return rows @ self.weights

    def learn(self, episodes: Sequence[Decomposable], rng: np.random.Generator) -> None:
        """Fit the weights; ``rng`` is not used."""
        self.weights = fit_linear(episodes)

    def state_dict(self) -> dict[str, Any]:
        return {"weights": self.weights.tolist()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.weights = np.array(state["weights"], dtype=np.float64)


@declared
class NetworkDecomposition(Declared):
    """Network with two hidden layers of ReLU units, trained by Adam on random batches of episodes.

    Raises:
        MissingExtra: torch is absent.
    """

    width: int = option(says="d, the number of factors.")
    hidden: int = option(default=64, low=1, says="units of each hidden layer.")
    rate: float = option(default=1e-3, above=0, says="learning rate; 3e-4 in the released code, for a million steps.")
    updates: int = option(default=4, low=1, says="gradient steps per call of `learn`.")
    batch: int = option(default=16, low=1, unit="episodes", says="episodes per gradient step.")
    seed: int = option(default=0, says="seed of the weights.")

    def setup(self) -> None:
        try:
            import torch
        except ImportError:
            raise MissingExtra("a network that decomposes returns (hidden=0 does without)", "train") from None
        self.torch = torch
        generator = torch.Generator().manual_seed(self.seed)
        sizes, parts = (self.width, self.hidden, self.hidden, 1), []
        for wide, narrow in itertools.pairwise(sizes):
            layer = torch.nn.Linear(wide, narrow)
            torch.nn.init.orthogonal_(layer.weight, 2**0.5, generator=generator)
            torch.nn.init.zeros_(layer.bias)
            parts += [layer, torch.nn.ReLU()]
        # Every step has a reward of 0 at first.
        torch.nn.init.zeros_(parts[-2].weight)
        self.network = torch.nn.Sequential(*parts[:-1])
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=self.rate)

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Return the rewards [T] of steps with factors [T, d]."""
        with self.torch.no_grad():
            return self._forward(rows).numpy().astype(np.float64)

    def learn(self, episodes: Sequence[Decomposable], rng: np.random.Generator) -> None:
        """Take ``updates`` gradient steps."""
        torch = self.torch
        for _ in range(self.updates):
            chosen = [episodes[i] for i in rng.choice(len(episodes), min(self.batch, len(episodes)), replace=False)]
            lengths = [len(rows) for rows, _ in chosen]
            parts = torch.split(self._forward(np.concatenate([rows for rows, _ in chosen])), lengths)
            means = torch.stack([part.mean() for part in parts])
            wanted = torch.tensor([total / length for (_, total), length in zip(chosen, lengths, strict=True)])
            self.optimiser.zero_grad()
            (means - wanted).square().mean().backward()
            self.optimiser.step()

    def _forward(self, rows: np.ndarray) -> Any:
        return self.network(self.torch.from_numpy(np.asarray(rows, dtype=np.float32))).squeeze(-1)

    def state_dict(self) -> dict[str, Any]:
        state = {"network": self.network.state_dict(), "optimiser": self.optimiser.state_dict()}
        return {"tensors": pack_tensors(state)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        saved = unpack_tensors(state["tensors"])
        self.network.load_state_dict(saved["network"])
        self.optimiser.load_state_dict(saved["optimiser"])


def pack_episodes(episodes: Sequence[Decomposable]) -> str:
    """Encode episodes as text, for a saved state."""
    file = io.BytesIO()
    np.savez_compressed(
        file,
        rows=np.concatenate([rows for rows, _ in episodes]).astype(np.float32) if episodes else np.zeros((0, 0)),
        lengths=np.array([len(rows) for rows, _ in episodes], dtype=np.int64),
        returns=np.array([total for _, total in episodes], dtype=np.float64),
    )
    return base64.b64encode(file.getvalue()).decode("ascii")


def unpack_episodes(text: str) -> list[Decomposable]:
    """Decode a text written by `pack_episodes`."""
    with np.load(io.BytesIO(base64.b64decode(text)), allow_pickle=False) as saved:
        lengths, returns, rows = saved["lengths"], saved["returns"].tolist(), saved["rows"]
    if not len(lengths):
        return []
    return list(zip(np.split(rows, np.cumsum(lengths)[:-1]), returns, strict=True))
