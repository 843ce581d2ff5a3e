"""What ``--policies`` says: the policy of each role of a run. Imports neither torch nor models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ...errors import InputError

MAIN = "policy"
"""Name of the run's own policy, which has every role that is not named."""
_RANK = 16


@dataclass(frozen=True)
class PolicySpec:
    """A policy besides the run's own.

    Attributes:
        name: the first role that has it.
        model: its model, named like ``--model``; the run's own model is a copy of the policy after its warm-up.
        lora: rank of its adapters, which are all that is trained; 0 trains its weights.
        frozen: True for a policy that plays and does not learn.
        recipe: its recipe; None: the run's.
        lr: its learning rate; None: the run's.
    """

    name: str
    model: str
    lora: int = 0
    frozen: bool = False
    recipe: str | None = None
    lr: float | None = None


def read_policies(given: Mapping[str, str]) -> tuple[dict[str, str], dict[str, PolicySpec]]:
    """Read role -> "MODEL[:lora[=RANK]][:frozen][:lr=RATE][:recipe=NAME]", another role, or "policy", the run's own.

    Returns:
        (role -> name of its policy, for roles of other policies than the run's own; name -> policy).

    Raises:
        InputError: a part of a description is unknown, or roles name each other in a circle.
    """
    specs = {role: _read(role, text) for role, text in given.items() if text != MAIN and text not in given}
    names: dict[str, str] = {}
    for role in given:
        seen, last = [role], given[role]
        while last in given:
            if last in seen:
                raise InputError(f"the roles {', '.join(seen)} of --policies name each other; name a model for one.")
            seen.append(last)
            last = given[last]
        if last != MAIN:
            names[role] = seen[-1]
    return names, specs


def _read(role: str, text: str) -> PolicySpec:
    parts = re.split(r":(?=lora\b|frozen\b|lr=|recipe=)", text)
    model, spec = parts[0], PolicySpec(role, parts[0])
    values: dict[str, str] = {}
    for part in parts[1:]:
        name, _, value = part.partition("=")
        values[name] = value
    known = {"lora": r"\d*", "frozen": "", "lr": r"[\d.eE+-]+", "recipe": r"\w.*"}
    bad = [name for name, value in values.items() if not re.fullmatch(known.get(name, r"(?!)"), value)]
    if not model or bad:
        raise InputError(
            f"the policy {text!r} of the role {role!r} cannot be read{f' at {bad[0]!r}' if bad else ''}; give "
            "MODEL[:lora[=RANK]][:frozen][:lr=RATE][:recipe=NAME], another role, or policy."
        )
    lora = int(values["lora"] or _RANK) if "lora" in values else 0
    if "lora" in values and lora < 1:
        raise InputError(f"the rank of the adapters of the role {role!r} must be at least 1, not {lora}.")
    lr = float(values["lr"]) if "lr" in values else None
    return PolicySpec(spec.name, model, lora, "frozen" in values, values.get("recipe"), lr)
