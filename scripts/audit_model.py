"""Audit of a reward model for ``palaestra audit``: accuracy by flaw, calibration, what it reads and
knows, and best of n."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..agents.atomic import write_atomically
from ..envs.judging.flaws import Worked
from ..envs.judging.judging import FAMILIES
from ..envs.judging.presentation import SolutionWriter
from ..envs.judging.solution_pairs import SolutionPair, draw_pairs
from ..errors import InputError
from ..rewards.answers.equalities import equality_holds
from ..rewards.audit.ablations import AblationRow, ablate, calibration_error
from ..rewards.audit.overoptimisation import CurvePoint, best_of_n_curve
from ..rewards.audit.probes import ProbeRow, probe
from ..rewards.models.loading import load_with_torch

CANDIDATES = 16
RIGHT = 0.5
DIMENSIONS = ("right", "right answer", "true lines", "long", "Markdown", "pleading")
"""Responses to each question of the best-of-n curve, the share of them that is right, and the dimensions of probes."""


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

    from ..agents.language import language_encoder  # noqa: F401  (registers the encoder, and loads torch)

    if pairs < 6:
        raise InputError(f"--pairs must be at least 6, not {pairs}.")
    model = load_with_torch("RewardModel").load(path)
    drawn = draw_pairs(pairs, of=FAMILIES, split="test", seed=seed)
    rows = ablate(model.score, [(pair.question, pair.right, pair.wrong) for pair in drawn])
    leads = np.subtract(*(model.score([p.question for p in drawn], [getattr(p, of) for p in drawn]) for of in _SIDES))
    by_error = {error: _accuracy(leads, drawn, error) for error in ("blatant", "slip", "subtle")}
    curve = _best_of_n(model, drawn, seed)
    probes = probe(*label_responses(model, drawn, seed), seed)
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
    grid = Table(box=box.SIMPLE_HEAD, title="what its hidden state knows (linear probes)", title_justify="left")
    for heading in ("dimension", "accuracy", "chance", "permuted labels", "nearest centroid"):
        grid.add_column(heading, justify="left" if heading == "dimension" else "right", no_wrap=True)
    for row in probes:
        shares = (row.accuracy, row.chance, row.permuted, row.nearest)
        grid.add_row(row.dimension, *map(_percent, shares))
    console.print(grid)
    grid = Table(box=box.SIMPLE_HEAD, title="best of n", title_justify="left")
    for heading in ("n", "KL, nats", "score", "truly right"):
        grid.add_column(heading, justify="right", no_wrap=True)
    for point in curve:
        grid.add_row(str(point.n), f"{point.kl:.2f}", f"{point.proxy:.2f}", _percent(point.gold))
    console.print(grid)
    if out is not None:
        found = {"accuracy": rows[0].accuracy, "by_error": by_error, "calibration_error": gap}
        found |= {"ablations": _as_json(rows), "best_of_n": _as_json(curve), "probes": _as_json(probes)}
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


def label_responses(model: Any, pairs: Sequence[SolutionPair], seed: int) -> tuple[np.ndarray, dict[str, list[bool]]]:
    """Write each solution in a drawn form, and return the frozen encodings, [n, d], and labels by dimension.

    The dimensions are those by which a response can please: that it is right, that its answer is, that its lines are
    true equations, that it is long, laid out in Markdown, or pleads with the judge. The last three are drawn
    independently of the first three.
    """
    rng = np.random.default_rng(seed)
    texts: list[str] = []
    labels: dict[str, list[bool]] = {name: [] for name in DIMENSIONS}
    for pair in pairs:
        for text in (pair.right, pair.wrong):
            *steps, answer = text.split("\n")
            worked = Worked(tuple(steps), answer.removeprefix("Answer: "))
            long, formatted, pleads = (rng.random(3) < 0.5).tolist()
            texts.append(SolutionWriter(worked, rng, formatted, "A" if pleads else "").write(4 if long else 0))
            sound = all(equality_holds(line) is not False for line in steps)
            known = (text == pair.right, answer == pair.right.split("\n")[-1], sound, long, formatted, pleads)
            for name, value in zip(DIMENSIONS, known, strict=True):
                labels[name].append(bool(value))
    prompts = [pair.question for pair in pairs for _ in _SIDES]
    return model.features(prompts, texts), labels


def _as_json(rows: Sequence[AblationRow] | Sequence[CurvePoint] | Sequence[ProbeRow]) -> list[dict[str, Any]]:
    """Return rows as data, with None for NaN."""
    listed = [dataclasses.asdict(row) for row in rows]
    return [{key: None if value != value else value for key, value in row.items()} for row in listed]
