"""Runs of the cases of ``palaestra bench models``: training in separate processes, resuming, reading of figures."""

from __future__ import annotations

import json
import resource
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...agents.atomic import write_atomically
from ...agents.grpo.run.folder import newest_checkpoint
from ...errors import InputError
from ...teachers.benchmarks.table import UNIFORM
from ..harness import read_lines
from .answers import keep_answers
from .cases import ModelCase


@dataclass(frozen=True)
class CaseRun:
    """A finished run of a case.

    Attributes:
        model, case, teacher, seed: model, case, teacher and seed of the run.
        folder: folder of the run.
        evaluations: rows of its evaluations.jsonl.
        metrics: rows of its metrics.jsonl.
        processor_s: processor seconds of the run's processes.
        answers: rows of `compare_answers`.
    """

    model: str
    case: ModelCase
    teacher: str
    seed: int
    folder: Path
    evaluations: list[dict[str, Any]]
    metrics: list[dict[str, Any]]
    processor_s: float
    answers: list[dict[str, Any]]

    @property
    def ended_early(self) -> bool:
        """True if the run ended for lack of a training signal and was therefore not evaluated after its last step."""
        return self.evaluations[-1]["step"] < len(self.metrics)


def train_case(words: Sequence[str], folder: Path, threads: int) -> None:
    """Train in a separate process. An interrupted run is resumed; a finished run is left unchanged.

    Raises:
        InputError: the run was interrupted or failed.
    """
    cost = folder / "cost.json"
    spent = json.loads(cost.read_text()) if cost.is_file() else {"processor_s": 0.0, "wall_s": 0.0, "finished": False}
    if spent["finished"]:
        return
    if newest_checkpoint(folder) is not None:
        words = ["--resume", str(folder)]
    else:
        words = [*words, "--threads", str(threads), "--out", str(folder)]
    print("palaestra train", shlex.join(words), flush=True)
    before, begun = _children_s(), time.monotonic()
    code = subprocess.run([sys.executable, "-m", "palaestra.scripts.train", *words], check=False).returncode
    spent["processor_s"] += _children_s() - before
    spent["wall_s"] += time.monotonic() - begun
    spent["finished"] = code in (0, 1)  # 1: a run that could not learn, which is a result
    if folder.is_dir():
        write_atomically(cost, json.dumps(spent) + "\n")
    if not spent["finished"]:
        raise InputError(f"the run in {folder} ended with exit code {code}; give the command again to go on.")


def _children_s() -> float:
    """Return the processor seconds of all child processes that this process has waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def read_case(case: ModelCase, model: str, teacher: str, seed: int, folder: Path, answers: int) -> CaseRun | None:
    """Read a finished run's figures, and answers if its seed is 0 and its teacher uniform; None if it has not ended."""
    cost = folder / "cost.json"
    if not cost.is_file() or not (spent := json.loads(cost.read_text(encoding="utf-8")))["finished"]:
        return None
    evaluations, metrics = (read_lines(folder / f"{name}.jsonl") for name in ("evaluations", "metrics"))
    shown = keep_answers(folder, answers) if answers and seed == 0 and teacher == UNIFORM else []
    return CaseRun(model, case, teacher, seed, folder, evaluations, metrics, spent["processor_s"], shown)
