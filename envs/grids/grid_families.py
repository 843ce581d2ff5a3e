"""`define_family`: makes the two environments of a family from its `GridRules`, and registers them.

    FourRooms, FourRoomsText = define_family(FourRoomsRules, text={"coloured": False})

registers ``palaestra/FourRooms-v0`` and its text twin, the same levels in text, as ``palaestra/FourRoomsText-v0``.
Their docstrings are the rules' docstring plus the sections that all families share.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from ..registration import register
from .grid_env import BlindGrid, GridEnv
from .grid_rules import GridRules
from .grid_text import GridText

_NATIVE = {
    "Observation:": """
        MiniGrid's dict: ``image`` (7, 7, 3) uint8 of what the agent sees, ``direction`` 0 to 3, ``mission`` text.
        See `GridEnv` for MiniGrid's arguments ``agent_view_size``, ``tile_size`` and so on.""",
    "Actions:": """
        MiniGrid's Discrete({actions}): turn left, turn right, forward{more}.""",
    "Reward:": """
        MiniGrid's: ``1 - 0.9 * steps / limit`` when the mission is accomplished{penalty}, 0 otherwise.""",
    "end": """
        An action outside the space uses up a step. ``info["progress"]`` counts the subgoals {subgoals} in equal
        parts.{note}""",
}
_TEXT = {
    "Observation:": """
        Text: the map, one sign a cell, or the agent's view of it (``observation="map"``, ``"view"``, ``"words"``), then
        ``You face east. Ahead: wall. You carry nothing.`` The first one begins with the mission, the signs, the actions
        and the number of turns. With ``"image"`` a dict of a picture and text. See `GridText` for drawn vocabularies,
        several actions a turn and look-back.""",
    "Actions:": """
        Text: "turn left", "turn right", "go forward"{more}; case and spacing do not matter. Read in
        ``answer_format``.""",
    "Reward:": """
        1 when the mission is accomplished{penalty}, 0 otherwise.""",
    "end": """
        An action that cannot be read uses up a turn. ``info["progress"]`` counts the subgoals {subgoals} in equal
        parts.{note}""",
}
_EXTRAS = """
        Positions, waypoints, distances to the end, subgoals achieved, potentials: see `measure_worlds`."""


def define_family(
    rules: type[GridRules], *, grid: Mapping[str, Any] | None = None, text: Mapping[str, Any] | None = None
) -> tuple[type[GridEnv], type[GridText]]:
    """Make and register the native environment and the text twin of a family.

    Args:
        rules: the rules; the class name is the family's name plus "Rules".
        grid, text: class attributes of the native environment and of the text twin, such as ``coloured``. "note" is a
            sentence at the end of the docstring's "Termination:".

    Returns:
        the two classes. The module of ``rules`` must bind them to the family's name, without and with "Text".
    """
    name, module = rules.__name__.removesuffix("Rules"), rules.__module__
    grid, text = dict(grid or {}), dict(text or {})
    notes = grid.pop("note", ""), text.pop("note", "")
    shared = {"rules_class": rules, "param_space": rules.param_space, "__module__": module}
    blind = type(f"{name}Blind", (BlindGrid,), {**shared, "__doc__": BlindGrid.__doc__})
    native = type(
        name, (GridEnv,), {**shared, "blind_twin": blind, **grid, "__doc__": write_docstring(rules, _NATIVE, notes[0])}
    )
    twin = type(f"{name}Text", (GridText,), {**shared, **text, "__doc__": write_docstring(rules, _TEXT, notes[1])})
    register(f"palaestra/{name}-v0", f"{module}:{name}")
    register(f"palaestra/{name}Text-v0", f"{module}:{name}Text")
    return native, twin


def write_docstring(rules: type[GridRules], shared: Mapping[str, str], note: str) -> str:
    """Return the docstring of an environment: its rules' docstring plus the sections that all families share."""
    own = inspect.cleandoc(rules.__doc__ or "")
    names = ["pick up", "drop", "toggle", "done"][: rules.actions - 3]
    if shared is _TEXT:
        names = [f'"{name}"' for name in ("pick up", "drop", "toggle", "wait")[: rules.actions - 3]]
    values = {
        "actions": rules.actions,
        "more": "".join(f", {name}" for name in names),
        "penalty": f", {rules.penalty:g} on a failure" if rules.penalty else "",
        "subgoals": ", ".join(rules.subgoals),
        "note": f" {note}" if note else "",
    }
    head, rest = own.split("\nTermination:")
    end, source = rest.split("\n\nSource:")
    between = [f"{heading}{shared[heading]}" for heading in ("Observation:", "Actions:", "Reward:")]
    parts = [head.rstrip(), *between, f"Termination:{end}{shared['end']}", f"Extras:{_EXTRAS}", f"Source:{source}"]
    return "\n\n".join(part.replace("\n        ", "\n    ") for part in parts).format(**values)
