"""Measured facts of environments, against which `envs.testing` compares: success of the solver and of blind players.

``measured.json`` has those of the package's environments. ``python -m palaestra.tools.update_measured ID`` measures the
success rates in it anew; the other facts are written by hand. A family of your own states what differs from the
defaults in its class attribute ``measured``.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_suffix(".json")


@dataclass(frozen=True)
class Measured:
    """Facts of one environment with its default arguments.

    Attributes:
        baselines: success rates of baseline players at the difficulties 0, .25, .5, .75 and 1, for each name of
            `baselines.PLAYERS` that succeeds in more than 2 % at one of them; see `baselines.success_rates`.
        solver_rates: success rates of ``oracle`` at the same difficulties; less than 1 only where no solver of every
            task is known, and the family's docstring says how far it gets.
        chance: largest mean reward that a constant or random answer may earn on the easiest tasks; where it is more
            than 0.02, the family's docstring says why.
        longest_text: largest number of characters of an observation of the default range.
        is_ascii: True if observations and the solver's actions are ASCII.
    """

    baselines: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    solver_rates: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0, 1.0)
    chance: float = 0.0
    longest_text: int = 2_000
    is_ascii: bool = True


def find_measured(env_id: str, family: type) -> Measured:
    """Return the facts of an environment: those in the file, then those that its family states itself."""
    return Measured(**{**_read().get(env_id, {}), **getattr(family, "measured", {})})


@functools.cache
def _read() -> dict[str, dict[str, Any]]:
    return json.loads(FILE.read_text("utf-8"))
