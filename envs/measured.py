"""Measured facts of environments (success rates of the solver and of baseline players, lengths of texts), which
`envs.testing` compares with the environments.

``measured.json`` has the facts of the package's environments. ``python -m palaestra.tools.update_measured ID`` measures
the success rates of an environment and updates the file; the other facts are written by hand. A family outside the
package states facts that differ from the defaults of `Measured` in a class attribute ``measured``, a dict.
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
        baselines: success rates of baseline players at the difficulties 0, .25, .5, .75 and 1, by the name in
            `baselines.PLAYERS`; only players that succeed in more than 2 % of the episodes at one of these
            difficulties. See `baselines.success_rates`.
        solver_rates: success rates of ``oracle`` at the same difficulties; below 1 only if no solver of every task is
            known. The family's docstring then says so.
        chance: largest mean reward that a constant or random answer may earn. If it is more than 0.02, the family's
            docstring must say why.
        longest_text: largest number of characters of an observation of the default range.
        is_ascii: True if observations and the solver's actions are ASCII.
    """

    baselines: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    solver_rates: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0, 1.0)
    chance: float = 0.0
    longest_text: int = 2_000
    is_ascii: bool = True


def find_measured(env_id: str, family: type) -> Measured:
    """Return the facts of an environment from measured.json; values that its family states override them."""
    return Measured(**{**_read().get(env_id, {}), **getattr(family, "measured", {})})


@functools.cache
def _read() -> dict[str, dict[str, Any]]:
    return json.loads(FILE.read_text("utf-8"))
