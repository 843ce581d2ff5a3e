"""``palaestra bench recipes``: a sweep over options of training runs, by the hypervolume of several objectives.

Every combination of the varied options is trained with every seed. The means of the objectives over windows of steps
are points; the utility of a run is the volume that its non-dominated points dominate above a reference point, and that
of a combination is the mean over its seeds. The best combination is trained again with seeds that chose nothing
(hyperparameters for several objectives, arXiv 2310.16487).

examples:
  palaestra bench recipes --vary "recipe=grpo|dapo" "kl=0|0.02"
  palaestra bench recipes --line "palaestra/Countdown-v0 --steps 60" --objectives success length:- --reference 0 -64
"""

from __future__ import annotations

import itertools
import json
import shlex
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..rewards.terms.adaptive_weights import Point, hypervolume, pareto_front
from .harness import check_least, make_table, read_options, require, write_json


@dataclass(frozen=True)
class RecipesOptions:
    line: str = "palaestra/Arithmetic-v0 --axis digits=1 terms=2:3 --steps 60 --prompts 8 --eval-every 0 --track"
    """Words of palaestra train that all runs have in common."""
    vary: tuple[str, ...] = ("recipe=grpo|dapo|rloo",)
    """Options to vary: name=value|value, by the names of palaestra train without dashes in front. A value of several
    words, and one without a value, is written as on the command line."""
    objectives: tuple[str, ...] = ("success", "length:-")
    """Columns of metrics.jsonl to maximise, or with :- to minimise."""
    reference: tuple[float, ...] = (0.0, -32.0)
    """Value of each objective below which nothing counts; that of an objective to minimise is negative."""
    window: int = 10
    """Steps over which objectives are averaged to one point."""
    seeds: int = 2
    """Number of seeds by which combinations are compared, from 0."""
    validation: int = 2
    """Number of further seeds with which the best combination is trained again."""
    json: Path | None = None
    """Write the figures here as JSON."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    from rich.console import Console

    options = read_options(RecipesOptions, "recipes", argv, __doc__)
    check_least(options, 1, "window", "seeds")
    check_least(options, 0, "validation")
    if len(options.reference) != len(options.objectives):
        raise InputError(
            f"--reference has {len(options.reference)} values for {len(options.objectives)} objectives; give one each."
        )
    require("the learner", "train", "torch", "transformers", "safetensors")
    with tempfile.TemporaryDirectory() as folder, Console(stderr=True).status("") as status:
        rows = sweep(options, Path(folder), status.update)
    figures = ("utility", "deviation", "validation")
    cells = [(row["options"], *(f"{row[name]:.4g}" if name in row else "" for name in figures)) for row in rows]
    Console().print(make_table(("options", "mean hypervolume", "between seeds", "with other seeds"), cells))
    write_json(options.json, rows)
    return 0


def combinations(vary: Sequence[str]) -> list[str]:
    """Return every combination of the varied options as words of the command line.

    Raises:
        InputError: an entry is not name=value|value.
    """
    choices = []
    for entry in vary:
        name, sign, values = entry.partition("=")
        if not sign or not name or not values:
            raise InputError(f"--vary wants name=value|value, such as recipe=grpo|dapo, not {entry!r}.")
        choices.append([f"--{name} {value}" for value in values.split("|")])
    return [" ".join(words) for words in itertools.product(*choices)]


def points_of(metrics: Sequence[Mapping[str, Any]], objectives: Sequence[str], window: int) -> list[Point]:
    """Return the mean of each objective, all to be maximised, over each ``window`` of rows; the last may be shorter.

    Raises:
        InputError: no row has an objective.
    """
    points = []
    for begin in range(0, len(metrics), window):
        rows, point = metrics[begin : begin + window], []
        for objective in objectives:
            name, _, sign = objective.partition(":")
            known = [row[name] for row in rows if row.get(name) is not None]
            if not known:
                raise InputError(f"no step has the objective {name!r}; metrics.jsonl has {', '.join(rows[0])}.")
            point.append(statistics.fmean(known) * (-1 if sign == "-" else 1))
        points.append(tuple(point))
    return points


def sweep(options: RecipesOptions, folder: Path, watch: Callable[[str], None]) -> list[dict[str, Any]]:
    """Train all combinations, and the best one again.

    Returns:
        Rows with the "options", the "utility" (mean hypervolume over seeds), its "deviation" between seeds and the
            "fronts"; the best first, with its mean hypervolume with other seeds under "validation".
    """

    def utility(words: str, seed: int) -> tuple[float, list[Point]]:
        watch(f"{words}, seed {seed}")
        metrics = _train(f"{options.line} {words} --seed {seed}", folder)
        front = pareto_front(points_of(metrics, options.objectives, options.window))
        return hypervolume(front, options.reference), front

    rows: list[dict[str, Any]] = []
    for words in combinations(options.vary):
        found = [utility(words, seed) for seed in range(options.seeds)]
        volumes = [volume for volume, _ in found]
        spread = {"deviation": statistics.stdev(volumes)} if len(volumes) > 1 else {}
        fronts = [front for _, front in found]
        rows.append({"options": words, "utility": statistics.fmean(volumes), **spread, "fronts": fronts})
    rows.sort(key=lambda row: -row["utility"])
    others = range(options.seeds, options.seeds + options.validation)
    if others:
        rows[0]["validation"] = statistics.fmean(utility(rows[0]["options"], seed)[0] for seed in others)
    return rows


def _train(line: str, folder: Path) -> list[dict[str, Any]]:
    """Train with the words of a line, and return the rows of ``metrics.jsonl``."""
    from ..agents.grpo.learner import Learner
    from ..agents.grpo.run.health import DeadRun
    from ..scripts.train import read_config

    run = Path(tempfile.mkdtemp(dir=folder)) / "run"
    learner = Learner.start(run, read_config(shlex.split(line)))
    try:
        learner.run(notify=lambda sentence: None)
    except DeadRun:  # what it has reached counts
        pass
    finally:
        learner.close()
    return [json.loads(row) for row in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
