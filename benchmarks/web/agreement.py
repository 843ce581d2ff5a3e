"""Whole episodes played in two backends in parallel, and the first difference between them.

Every second episode follows the solver and the others act at random, over five difficulties; on pages with widgets,
half of the random actions use a widget. With ``widgets``, tasks are those that need widgets, and every second action of
a player at random is the solver's, so that it comes to these pages. After each step, observation, reward, termination,
truncation, info, milestones and cookies are compared; at the end, the database rows by which tasks are judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from ...envs.web.browsers.commands import Command
from ...envs.web.browsers.page_cache import parse_page
from ...envs.web.browsers.widgets import RULES, find_effects
from ...envs.web.sites.databases import connect, release
from ...envs.web.tasks.template import judged_rows
from .without_widgets import widget_templates

DIFFICULTIES = (0.0, 0.25, 0.5, 0.75, 1.0)
EVENTS = tuple(dict.fromkeys(event for _, event, _ in RULES))
_VERBS = {"click": "click", "input": "fill"}
"""Event of a widget -> the verb of the action that causes it; all other events are keys."""


@dataclass(frozen=True)
class ComparedEpisode:
    """One episode in both backends.

    Args:
        env_id: id of the environment.
        seed: seed of its reset.
        player: "solver", "random" or "both", which takes turns.
        steps: number of compared steps.
        difference: the first difference in words; empty if the episodes agree.
    """

    env_id: str
    seed: int
    player: str
    steps: int
    difference: str


def compare_backends(
    env_ids: Sequence[str],
    episodes: int,
    seed: int = 0,
    backends: tuple[str, str] = ("inprocess", "chromium"),
    widgets: bool = False,
) -> Iterator[ComparedEpisode]:
    """Play episodes, spread evenly over the ids, in both backends; yield each. With ``widgets``, tasks are those that
    need widgets, on the sites that have some."""
    if widgets:
        env_ids = [env_id for env_id in env_ids if widget_templates(env_id)]
    for place, env_id in enumerate(env_ids):
        # The remainder goes to the first ids.
        count = len(range(place, episodes, len(env_ids)))
        options: dict[str, Any] = {"templates": widget_templates(env_id)} if widgets else {}
        pair = [gym.make(env_id, backend=name, disable_env_checker=True, **options).unwrapped for name in backends]
        try:
            for number in range(seed, seed + count):
                yield play_both(pair, env_id, number, widgets)
        finally:
            for env in pair:
                env.close()


def play_both(pair: Sequence[Any], env_id: str, seed: int, widgets: bool = False) -> ComparedEpisode:
    """Play one episode in two environments; the first one chooses the actions. With ``widgets``, those of a player at
    random take turns with the solver's."""
    first = pair[0]
    rng, solves = np.random.default_rng(seed), seed % 2 == 0
    player = "solver" if solves else "both" if widgets else "random"
    options = {"difficulty": DIFFICULTIES[seed // 2 % len(DIFFICULTIES)]}
    seen = [env.reset(seed=seed, options=options) for env in pair]
    difference, steps, done = _difference([(observation, info) for observation, info in seen]), 0, False
    while not (done or difference):
        is_solver = solves or (widgets and steps % 2 == 0)
        action = first.oracle() if is_solver else random_action(first, rng)
        results = [env.step(action) for env in pair]
        steps += 1
        done = results[0][2] or results[0][3]
        difference = _difference(results)
        tabs = [env.here().tab for env in pair]
        if not difference and (tabs[0].cookies, tabs[0].path) != (tabs[1].cookies, tabs[1].path):
            difference = f"cookies or address: {tabs[0].cookies} {tabs[0].path}, {tabs[1].cookies} {tabs[1].path}"
        if difference:
            difference = f"step {steps}, {action}: {difference}"
    if not difference:
        rows = [rows_at_end(env) for env in pair]
        difference = next((f"end state: {name}" for name in rows[0] if rows[0][name] != rows[1][name]), "")
    return ComparedEpisode(env_id, seed, player, steps, difference)


def random_action(env: Any, rng: np.random.Generator) -> str:
    """Return a random action: one of ten goes back or scrolls, and half of the others use a widget if there is one."""
    if rng.random() < 0.1:
        return "back" if rng.random() < 0.5 else "scroll down"
    page = parse_page(env.here().tab.html)
    uses = [
        (control, event)
        for control in (page.controls if page.has_widgets else ())
        for event in EVENTS
        if not control.disabled and find_effects(control.element, event)
    ]
    if not uses or rng.random() < 0.5:
        return env.random_action(env.here(), rng)
    control, event = uses[int(rng.integers(len(uses)))]
    words = page.lines[int(rng.integers(len(page.lines)))].name.split() or ["a"]
    text = {"click": "", "input": words[0][: int(rng.integers(8))]}.get(event, event)
    return str(Command(_VERBS.get(event, "press"), control.number, text))


def rows_at_end(env: Any) -> Any:
    """Return the database rows of an environment's site by which tasks are judged."""
    database = connect(env.here().database)
    try:
        return judged_rows(env.site, database)
    finally:
        release(database)


def _difference(pair: Sequence[tuple[Any, ...]]) -> str:
    """Describe the first part in which two results of `reset` or `step` differ; "" if there is none."""
    (*first, info), (*second, other) = pair
    for name, one, two in zip(("observation", "reward", "terminated", "truncated"), first, second):
        if one != two:
            return f"{name}: {_part(one, two)!r}, {_part(two, one)!r}"
    for name in info:
        one, two = (known["extras"]["milestones"] if name == "extras" else known[name] for known in (info, other))
        if one != two:
            return f"info {name}: {one!r}, {two!r}"
    return ""


def _part(value: Any, other: Any) -> Any:
    """Return the first line of a text that differs from another text; other values unchanged."""
    if not isinstance(value, str) or not isinstance(other, str):
        return value
    lines, others = value.split("\n"), other.split("\n")
    return next((line for line, there in zip(lines, others) if line != there), f"{len(lines)} lines")
