"""``palaestra bench baselines``: how often players without thought succeed in each environment, at five difficulties.

A constant action, blind loops, random legal actions, and a player that looks one step ahead, all on the same episodes.
Families state these figures in ``baselines``; the tests over all environments compare them.

examples:
  palaestra bench baselines palaestra/ConnectFour-v0
  palaestra bench baselines --episodes 400 --json baselines.json
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console
from rich.progress import track
from rich.table import Table

from ..agents.atomic import check_output, write_atomically
from ..envs import ids
from ..envs.baselines import DIFFICULTIES, success_rates
from ..errors import InputError, unknown_name


@dataclass(frozen=True)
class BaselineOptions:
    env: tyro.conf.Positional[tuple[str, ...]] = ()
    """Which environments; all by default."""
    episodes: int = 200
    """Episodes at each difficulty."""
    seed: int = 0
    """Seed of the first episode."""
    json: Path | None = None
    """Write the figures here as JSON."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    config = tyro.cli(BaselineOptions, args=argv, prog="palaestra bench baselines", description=__doc__)
    check_output(config.json, "--json")
    if config.episodes < 1:
        raise InputError(f"--episodes must be at least 1, not {config.episodes}.")
    for name in config.env:
        if name not in ids():
            raise unknown_name("environment", name, ids())
    console = Console()
    table = Table("environment", "player", *(f"{difficulty:g}" for difficulty in DIFFICULTIES))
    figures: dict[str, dict[str, list[float]]] = {}
    cells = [(name, difficulty) for name in config.env or ids() for difficulty in DIFFICULTIES]
    for name, difficulty in track(cells, "playing", console=Console(stderr=True), transient=True):
        for player, rate in success_rates(name, difficulty, config.episodes, config.seed).items():
            figures.setdefault(name, {}).setdefault(player, []).append(rate)
    for name, players in figures.items():
        for player, rates in players.items():
            table.add_row(name, player, *(f"{rate:.3f}" for rate in rates))
    console.print(table)
    if config.json is not None:
        write_atomically(config.json, json.dumps(figures, indent=1) + "\n")
    return 0
