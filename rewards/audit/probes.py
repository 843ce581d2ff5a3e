"""Linear probes of a frozen reward model: what its last hidden state knows of a response, dimension by dimension.

MRMBench, arXiv 2511.12464: a linear head is trained on the frozen representation for each labelled dimension. Its
second part, probing at inference, attributes a score to the dimension whose centroid is nearest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import InputError

STEPS, RATE, DECAY = 300, 0.5, 1e-3


@dataclass(frozen=True, slots=True)
class ProbeRow:
    """Result of a linear probe of one dimension.

    Attributes:
        dimension: name of the dimension.
        accuracy: share of held-out responses whose label the probe tells.
        chance: share of the more frequent label among them.
        permuted: accuracy of a probe that was trained on permuted labels, which is near chance.
        nearest: share of held-out responses with the label that are nearer to its centroid than to that of the
            responses without it.
    """

    dimension: str
    accuracy: float
    chance: float
    permuted: float
    nearest: float


def fit_probe(features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Fit a logistic regression by gradient descent; return its weights, the bias last, [d + 1].

    Args:
        features: standardised features, [n, d].
        labels: bool [n].
    """
    inputs = np.hstack([features, np.ones((len(features), 1))])
    weights = np.zeros(inputs.shape[1])
    scale = RATE / max(1.0, float(np.square(inputs).sum(1).mean()) / 8)
    for _ in range(STEPS):
        chance = 1.0 / (1.0 + np.exp(-np.clip(inputs @ weights, -50, 50)))
        weights -= scale * (inputs.T @ (chance - labels) / len(inputs) + DECAY * weights)
    return weights


def probe(features: np.ndarray, labels: Mapping[str, Sequence[bool]], seed: int = 0) -> list[ProbeRow]:
    """Train a linear probe for each dimension on half of the responses, and test it on the other half.

    Args:
        features: frozen representation of each response, [n, d].
        labels: dimension -> label of each response.
        seed: seed of the halves and of the permutation.

    Returns:
        a row for each dimension; those of which a half has one label alone are left out.

    Raises:
        InputError: fewer than four responses, or another number of labels.
    """
    count = len(features)
    if count < 4 or any(len(values) != count for values in labels.values()):
        raise InputError(f"probes need at least four responses with a label each, not {count}.")
    rng = np.random.default_rng(seed)
    order = rng.permutation(count)
    train, test = order[: count // 2], order[count // 2 :]
    centre, spread = features[train].mean(0), features[train].std(0)
    scaled = (features - centre) / np.where(spread > 1e-8, spread, 1.0)
    rows = []
    for dimension, values in labels.items():
        wanted = np.asarray(values, bool)
        if any(len(set(wanted[half].tolist())) < 2 for half in (train, test)):
            continue
        accuracy, permuted = (
            float((_apply(fit_probe(scaled[train], known.astype(float)), scaled[test]) == wanted[test]).mean())
            for known in (wanted[train], rng.permutation(wanted[train]))
        )
        centroids = [scaled[train][wanted[train] == side].mean(0) for side in (False, True)]
        far, near = (np.linalg.norm(scaled[test][wanted[test]] - centroid, axis=1) for centroid in centroids)
        share = float(wanted[test].mean())
        rows.append(ProbeRow(dimension, accuracy, max(share, 1 - share), permuted, float((near < far).mean())))
    return rows


def _apply(weights: np.ndarray, features: np.ndarray) -> np.ndarray:
    return features @ weights[:-1] + weights[-1] > 0
