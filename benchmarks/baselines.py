"""``palaestra bench baselines``: success rates of trivial players in each environment, at five difficulties.

The players are constant actions, blind loops, random legal actions, and one that looks one step ahead, all on the same
episodes. Families state these rates in ``baselines``, which the tests over all environments check.

examples:
  palaestra bench baselines palaestra/ConnectFour-v0
  palaestra bench baselines --episodes 400 --json baselines.json
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console

from ..envs import ids
from ..envs.baselines import DIFFICULTIES, success_rates
from .harness import check_least, check_names, make_table, read_options, track, write_json


@dataclass(frozen=True)
class BaselineOptions:
    env: tyro.conf.Positional[tuple[str, ...]] = ()
    """Ids of environments; all by default."""
    episodes: int = 200
    """Number of episodes at each difficulty."""
    seed: int = 0
    """Seed of the first episode."""
    json: Path | None = None
    """Write the figures here as JSON."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    config = read_options(BaselineOptions, "baselines", argv, __doc__)
    check_least(config, 1, "episodes")
    check_names("environment", config.env, ids())
    figures: dict[str, dict[str, list[float]]] = {}
    for name, difficulty in track([(name, each) for name in config.env or ids() for each in DIFFICULTIES], "playing"):
        for player, rate in success_rates(name, difficulty, config.episodes, config.seed).items():
            figures.setdefault(name, {}).setdefault(player, []).append(rate)
    rows = [
        (name, player, *(f"{rate:.3f}" for rate in rates))
        for name, players in figures.items()
        for player, rates in players.items()
    ]
    Console().print(make_table(("environment", "player", *(f"{each:g}" for each in DIFFICULTIES)), rows))
    write_json(config.json, figures)
    return 0
