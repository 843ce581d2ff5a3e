"""Gallery of environments, one HTML page: ``palaestra list envs --html > gallery.html``.

For every registered environment it shows description, axes, and an easy and a hard example, played by the solver.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import gymnasium as gym

from ..agents.pages import render
from ..agents.replay import draw_png, name_action
from ..errors import MachineryError, MissingExtra
from .axes import format_axis

SIZES = (("easy", 0.0), ("hard", 1.0))
TURNS = 4  # most turns of a game that are shown


@dataclass(frozen=True)
class Example:
    """Worked example of a task: observations and solver's actions in ``turns``, the worked solution in ``steps``."""

    title: str
    params: str
    turns: list[tuple[str, str]]
    more: str
    steps: list[str]
    picture: str


@dataclass(frozen=True)
class GalleryEntry:
    """Environment on the page; ``sections`` are pairs (heading, text) of the docstring."""

    id: str
    anchor: str
    group: str
    title: str
    sections: list[tuple[str, str]]
    axes: list[str]
    examples: list[Example]


def page(ids: Sequence[str]) -> str:
    """Return the page with the given environments as HTML.

    Raises:
        MissingExtra: jinja2 is not installed.
    """
    groups: dict[str, list[GalleryEntry]] = {}
    for env_id in ids:
        found = entry(env_id)
        groups.setdefault(found.group, []).append(found)
    template = files(__package__ or __name__).joinpath("list_gallery.html")
    return render(template, "the gallery", groups=groups, count=len(ids))


def entry(env_id: str) -> GalleryEntry:
    """Make the entry of one environment, whose oracle plays the examples."""
    anchor = env_id.replace("/", "-")
    try:
        env = gym.make(env_id, disable_env_checker=True)
    except (MissingExtra, MachineryError) as error:
        return GalleryEntry(env_id, anchor, "not installed", str(error), [], [], [])
    inner: Any = env.unwrapped
    title, sections = headings(type(inner))
    axes = [format_axis(axis) for axis in inner.param_space.axes]
    # "palaestra.envs.math.arithmetic" is of the group "math".
    group = (type(inner).__module__.split(".envs.")[-1]).split(".")[0]
    group = "SQL" if group == "sql" else group
    found = GalleryEntry(env_id, anchor, group, title, sections, axes, [_example(env_id, *size) for size in SIZES])
    env.close()
    return found


def headings(family: type) -> tuple[str, list[tuple[str, str]]]:
    """Return the first line of a class's docstring, and (heading, text) of each section."""
    title, *lines = inspect.cleandoc(family.__doc__ or "").splitlines() or [""]
    sections: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.endswith(":") and line[:1].isalpha():
            sections.append((line[:-1], []))
        elif sections:
            sections[-1][1].append(line.strip())
    return title, [(heading, "\n".join(text).strip()) for heading, text in sections]


def _example(env_id: str, title: str, difficulty: float) -> Example:
    modes = gym.make(env_id, disable_env_checker=True).metadata.get("render_modes", [])
    mode = "rgb_array" if "rgb_array" in modes else None
    env: Any = gym.make(env_id, disable_env_checker=True, split="test", render_mode=mode)
    observation, info = env.reset(seed=0, options={"difficulty": difficulty})
    inner: Any = env.unwrapped
    params = ", ".join(f"{name}={value}" for name, value in info["params"].items())
    picture = draw_png(env.render()) if env.render_mode == "rgb_array" else ""
    steps = inner.solution_steps(inner.here())[:-1] if hasattr(inner, "solution_steps") else []
    turns, done, played = [], False, 0
    while not done:
        action = inner.oracle()
        if played < TURNS:
            turns.append((observation if isinstance(observation, str) else "", str(name_action(inner, action))))
        observation, _, terminated, truncated, info = env.step(action)
        played += 1
        done = terminated or truncated
    ending = "solved" if info["is_success"] else "not solved, ended"
    more = f"… {ending} after {played} turns." if played > TURNS else ""
    env.close()
    return Example(title, params, turns, more, steps, picture)
