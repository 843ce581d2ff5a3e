"""Audit of a reward model for ``palaestra audit``: accuracy by flaw, calibration, what it reads, and best of n."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..agents.atomic import write_atomically
from ..envs.judging.judging import FAMILIES
from ..envs.judging.solution_pairs import SolutionPair, draw_pairs
from ..errors import InputError
from ..rewards.audit.ablations import AblationRow, ablate, calibration_error
from ..rewards.audit.overoptimisation import CurvePoint, best_of_n_curve
from ..rewards.models.loading import load_with_torch

CANDIDATES = 16
RIGHT = 0.5
"""Responses to each question of the best-of-n curve, and the share of them that is right."""


def audit_model(path: Path, pairs: int, seed: int, out: Path | None) -> int:
    """Audit a reward model on held-out questions, print the results, and return the exit code.

    Args:
        path: file written by `RewardModel.save`.
        pairs: number of pairs of a right and a spoilt solution.
        seed: seed of the pairs.
        out: file for the results as JSON, or None.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    if pairs < 6:
        raise InputError(f"--pairs must be at least 6, not {pairs}.")
    model = load_with_torch("RewardModel").load(path)
    drawn = draw_pairs(pairs, of=FAMILIES, split="test", seed=seed)
    rows = ablate(model.score, [(pair.question, pair.right, pair.wrong) for pair in drawn])
    leads = np.subtract(*(model.score([p.question for p in drawn], [getattr(p, of) for p in drawn]) for of in _SIDES))
    by_error = {error: _accuracy(leads, drawn, error) for error in ("blatant", "slip", "subtle")}
    curve = _best_of_n(model, drawn, seed)
    gap = calibration_error(leads.tolist())
    console = Console()
    console.print(
        f"{len(drawn)} pairs of held-out questions: right solution preferred in {_percent(rows[0].accuracy)} ("
        + ", ".join(f"{error} {_percent(share)}" for error, share in by_error.items())
        + f"); calibration error {gap:.3f}"
    )
    grid = Table(box=box.SIMPLE_HEAD, title="what it reads", title_justify="left")
    for heading in ("text", "accuracy", "drop", "rank correlation"):
        grid.add_column(heading, justify="left" if heading == "text" else "right", no_wrap=True)
    for row in rows:
        grid.add_row(row.name, _percent(row.accuracy), f"{100 * row.drop:+.1f}", f"{row.correlation:.2f}")
    console.print(grid)
    grid = Table(box=box.SIMPLE_HEAD, title="best of n", title_justify="left")
    for heading in ("n", "KL, nats", "score", "truly right"):
        grid.add_column(heading, justify="right", no_wrap=True)
    for point in curve:
        grid.add_row(str(point.n), f"{point.kl:.2f}", f"{point.proxy:.2f}", _percent(point.gold))
    console.print(grid)
    if out is not None:
        found = {"accuracy": rows[0].accuracy, "by_error": by_error, "calibration_error": gap}
        found |= {"ablations": _as_json(rows), "best_of_n": _as_json(curve)}
        write_atomically(out, json.dumps(found) + "\n")
    return 0


_SIDES = ("right", "wrong")


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _accuracy(leads: np.ndarray, pairs: Sequence[SolutionPair], error: str) -> float:
    chosen = leads[[pair.error == error for pair in pairs]]
    return float(np.where(chosen == 0, 0.5, chosen > 0).mean())


def _best_of_n(model: Any, pairs: Sequence[SolutionPair], seed: int) -> list[CurvePoint]:
    """Compute the best-of-n curve over `CANDIDATES` responses to each question: its right solution, with the first
    lines left out at random, and its spoilt one likewise."""
    rng = np.random.default_rng(seed)
    proxy, gold = [], []
    for pair in pairs:
        right = rng.random(CANDIDATES) < RIGHT
        texts = []
        for is_right in right:
            lines = (pair.right if is_right else pair.wrong).split("\n")
            texts.append("\n".join(lines[int(rng.integers(len(lines))) :]))
        proxy.append(model.score([pair.question] * CANDIDATES, texts))
        gold.append(right.astype(float).tolist())
    return best_of_n_curve(proxy, gold)


def _as_json(rows: Sequence[AblationRow] | Sequence[CurvePoint]) -> list[dict[str, Any]]:
    """Return rows as data, with None for NaN."""
    listed = [dataclasses.asdict(row) for row in rows]
    return [{key: None if value != value else value for key, value in row.items()} for row in listed]
