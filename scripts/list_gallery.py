"""Gallery of environments, one HTML page: ``palaestra list envs --html > gallery.html``.

For every registered environment it shows description, tags, axes, and an easy and a hard example, played by the solver.
An environment that cannot be made here has the reason in place of the examples. The page is searched and filtered by
tags in the browser.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import gymnasium as gym

from ..agents.pages import render
from ..agents.replay import draw_png, name_action
from ..envs import datasets
from ..envs.tags import ABSENT, FACETS, SYNONYMS, group_of, load_family, tags_of
from ..errors import MachineryError, MissingExtra, needs_extra
from .axes import format_axis

SIZES = (("easy", 0.0), ("hard", 1.0))
TURNS = 4  # most turns of a game that are shown


@dataclass(frozen=True)
class Example:
    """Worked example of a task: observations and solver's actions in ``turns``, the worked solution in ``steps``;
    ``more`` says how many turns are not shown, and what a picture lacks."""

    title: str
    params: str
    turns: list[tuple[str, str]]
    more: str
    steps: list[str]
    picture: str


@dataclass(frozen=True)
class GalleryEntry:
    """Environment on the page.

    Attributes:
        id: registered id.
        name: the id without the package's own namespace.
        group: part of the package, "math".
        title: first line of the docstring.
        sections: pairs (heading, text) of the docstring.
        tags: see `palaestra.envs.tags`.
        axes: axes with their ranges.
        examples: an easy and a hard one; none if the environment cannot be made here.
        lacks: sentence on what must be installed before the environment can be made; "" if nothing.
    """

    id: str
    name: str
    group: str
    title: str
    sections: list[tuple[str, str]]
    tags: tuple[str, ...]
    axes: list[str]
    examples: list[Example]
    lacks: str

    @property
    def anchor(self) -> str:
        return self.id.replace("/", "-")

    @property
    def words(self) -> str:
        """Text in which the search of the page looks: names, title, tags, and words that stand for these tags."""
        synonyms = [word for word, tag in SYNONYMS.items() if tag in self.tags]
        return " ".join([self.id, self.group, self.title, *self.tags, *synonyms]).lower().replace("-", " ")


def page(ids: Sequence[str]) -> str:
    """Return the page with the given environments as HTML.

    Raises:
        MissingExtra: jinja2 is not installed.
    """
    groups: dict[str, list[GalleryEntry]] = {}
    with _without_notices_on_data():
        for found in map(entry, ids):
            groups.setdefault(found.group, []).append(found)
    used = {tag for entries in groups.values() for found in entries for tag in found.tags}
    facets = {facet: {tag: text for tag, text in tags.items() if tag in used} for facet, tags in FACETS.items()}
    template = files(__package__ or __name__).joinpath("list_gallery.html")
    values = {"groups": dict(sorted(groups.items())), "facets": facets, "absent": dict(ABSENT), "count": len(ids)}
    return render(template, "the gallery", **values)


@contextmanager
def _without_notices_on_data() -> Iterator[None]:
    """Silence warnings that few questions of a data set come with the package, as two examples need no more."""
    logger = logging.getLogger(datasets.__name__)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def entry(env_id: str) -> GalleryEntry:
    """Make the entry of one environment, whose oracle plays the examples."""
    env: Any
    family = env = load_family(env_id)
    examples, lacks = [], ""
    try:
        env = gym.make(env_id, disable_env_checker=True).unwrapped
        env.close()
        family = type(env)
        examples = [_example(env_id, *size) for size in SIZES]
    except (MissingExtra, MachineryError) as error:
        lacks = str(error)
    title, sections = headings(family)
    return GalleryEntry(
        id=env_id,
        name=env_id.removeprefix("palaestra/"),
        group=group_of(family),
        title=title,
        sections=sections,
        tags=tags_of(env_id),
        axes=[format_axis(axis) for axis in env.param_space.axes],
        examples=examples,
        lacks=lacks if lacks.startswith(env_id) else lacks[:1].upper() + lacks[1:],
    )


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
    picture, notes = "", []
    if env.render_mode == "rgb_array":
        try:
            with needs_extra("A picture", "render"):
                picture = draw_png(env.render())
        except MissingExtra as error:
            notes.append(str(error))
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
    if played > TURNS:
        notes.insert(0, f"… {ending} after {played} turns.")
    env.close()
    return Example(title, params, turns, " ".join(notes), steps, picture)
