"""``palaestra compare``: compare two evaluations task by task: the difference with a confidence interval.

examples:
  palaestra eval palaestra/Countdown-v0 --agent runs/first --json first.json
  palaestra eval palaestra/Countdown-v0 --agent runs/second --json second.json
  palaestra compare first.json second.json
  palaestra compare first.jsonl second.jsonl --json difference.json
  palaestra compare first.jsonl second.jsonl --figure difference.pdf --format latex > table.tex
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from ..agents.atomic import check_output, write_atomically
from ..agents.evaluation import Format, compare, format_rows
from ..agents.evaluation.figures import check_figure, draw_figure


@dataclass(frozen=True)
class CompareOptions:
    first: tyro.conf.Positional[Path]
    """A file of palaestra eval --json, or of --out."""
    second: tyro.conf.Positional[Path]
    """A second such file, with the same environment, split, seed and difficulties; only tasks in both files count."""
    json: Path | None = None
    """Write the comparison to this file as JSON."""
    format: Format = "table"
    """Form of the output: a table for the terminal; csv, markdown, latex (with booktabs) or json."""
    figure: Path | None = None
    """Draw the differences with their intervals into this file, .svg, .pdf or .png."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    from rich.console import Console

    options = tyro.cli(CompareOptions, args=argv, prog="palaestra compare", description=__doc__)
    check_output(options.json, "--json")
    check_figure(options.figure)
    found = compare(options.first, options.second)
    if options.json is not None:
        write_atomically(options.json, json.dumps(found.to_json(), indent=2) + "\n")
    if options.format == "table":
        Console().print(found.table())
    else:
        print(format_rows(found.rows(), options.format), end="")
    if options.figure is not None:
        draw_figure(found.rows(), options.figure)
    return 0
