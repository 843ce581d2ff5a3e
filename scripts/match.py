"""``palaestra match``: let agents play games of two seats against each other, each deal in both seats.

examples:
  palaestra match palaestra/KuhnPoker-v0 equilibrium tight loose --deals 200
  palaestra match palaestra/Nim-v0 runs/first perfect --axis heaps=3
  palaestra match palaestra/KuhnPoker-v0 runs/kuhn@past-20 runs/kuhn@past-40 runs/kuhn equilibrium
  palaestra match palaestra/LeducPoker-v0 openai:MODEL runs/first --deals 50 --json match.json
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import tyro

from ..agents import Agent
from ..agents.atomic import check_output, write_atomically
from ..agents.evaluation import Format, format_rows
from ..agents.evaluation.matches import Tournament, play_matches
from ..agents.evaluation.progress import progress_bar
from ..envs.players.session import make_seats
from ..errors import InputError
from .axes import parse_axes


@dataclass(frozen=True)
class MatchOptions:
    env: tyro.conf.Positional[str]
    """An environment with a table of two seats: palaestra list envs players."""
    players: tyro.conf.Positional[tuple[str, ...]]
    """Two players or more: scripted players of the table (random, equilibrium, perfect), or agents as for palaestra
    eval."""
    deals: int = 50
    """Deals; each pair plays each of them twice, with the seats exchanged."""
    axis: tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]] = ()
    """Parameters of the game: --axis cards=3 hands=1, or a range cards=3:6."""
    difficulty: float | None = None
    """Difficulty of all deals; by default they are drawn from all."""
    patience: int = 2
    """Replies in a row without a legal move until a player forfeits a game."""
    seed: int = 0
    """Seed of the deals and of scripted players."""
    json: Path | None = None
    """Write the results to this file as JSON."""
    format: Format = "table"
    """Form of the output: a table for the terminal; csv, markdown, latex (with booktabs) or json."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    from rich.console import Console

    options = tyro.cli(MatchOptions, args=argv, prog="palaestra match", description=__doc__)
    check_output(options.json, "--json")
    texts = [text for group in options.axis for text in group]
    axes = parse_axes(texts, make_seats(options.env).param_space) if texts else None
    with progress_bar(options.deals * len(options.players) * (len(options.players) - 1)) as tell:
        found = play_matches(
            *(options.env, options.players),
            deals=options.deals,
            seed=options.seed,
            patience=options.patience,
            progress=lambda done: tell(done, None),
            difficulty=options.difficulty,
            axes=axes,
        )
    if options.json is not None:
        write_atomically(options.json, json.dumps(found.to_json(), indent=2) + "\n")
    if options.format == "table":
        Console().print(found.table())
    else:
        print(format_rows(found.rows(), options.format), end="")
    return 0


def play_against(
    config: Any,
    env_id: str,
    agent: str | None,
    axes: Mapping[str, Any] | None,
    options: Mapping[str, Any],
    find: Callable[[str, Any], Agent],
) -> Callable[[], Tournament]:
    """Prepare the games of ``palaestra eval --against``; the returned function plays them.

    Args:
        config: options of the command (`eval.EvalOptions`).
        agent: the agent that ``find(agent, config)`` finds, or a scripted player of the table.

    Raises:
        InputError: an option does not go with --against, or an agent or the environment's table is not found.
    """
    for name in ("rows", "out", "replay", "history", "search"):
        if getattr(config, name) is not None:
            raise InputError(f"--{name} is for an agent alone; leave it out, or leave --against out.")
    first = agent or "random"
    own = first if first in make_seats(env_id).table.policies else find(first, config)
    return partial(
        play_matches,
        *(env_id, [own, *config.against]),
        deals=50 if config.episodes is None else config.episodes,
        seed=config.seed,
        difficulty=config.difficulty[0] if config.difficulty else None,
        axes=axes or None,
        **options,
    )
