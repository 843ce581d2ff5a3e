"""Pages of environments and their index by kind: axes, examples, the solver's play, trivial players, extras, scores."""

from __future__ import annotations

import base64
import functools
from typing import Any

import gymnasium as gym

from ...agents.evaluation import find_suite, suite_names
from ...envs.axes import ChoiceAxis
from ...envs.baselines import DIFFICULTIES
from ...envs.measured import find_measured
from ...envs.registration import ids
from ...envs.tags import group_of, load_family, tags_of
from ...rewards.measures import MEASURES
from ...scripts.docstrings import summary
from ...scripts.list_envs import tags
from ...scripts.list_gallery import Example, entry
from .markdown_text import code, docstring, fence, inline, join, table
from .site_page import SiteContent, SitePage

PLAYERS = {
    "constant": "the best constant answer",
    "loop": "the best blind loop of actions",
    "random": "random legal actions",
    "heuristic": "a player that looks one step ahead",
}


def env_pages() -> list[SitePage]:
    """Return the index of the package's environments and the page of each."""
    names = own_ids()
    kinds = [("envs", name) for name in names]
    pages = [
        SitePage(f"environments/{page_name(kind[1])}.md", (kind,), functools.partial(_page, kind[1])) for kind in kinds
    ]
    return [SitePage("environments/index.md", tuple(kinds), _index), *pages]


def own_ids() -> list[str]:
    """Return the ids that this package registers, without those of tests and other packages."""
    return [name for name in ids() if name.startswith("palaestra/")]


def page_name(env_id: str) -> str:
    """Return the file name of an environment's page, without its suffix."""
    return env_id.partition("/")[2].lower()


def _index() -> SiteContent:
    groups: dict[str, list[list[str]]] = {}
    for env_id in own_ids():
        family = load_family(env_id)
        row = [f"[`{env_id}`]({page_name(env_id)}.md)", inline(summary(family)), ", ".join(tags_of(env_id))]
        groups.setdefault(group_of(family), []).append(row)
    parts = [f"## {group}\n\n{table(('id', 'task', 'tags'), rows)}" for group, rows in sorted(groups.items())]
    head = (
        "# Environments\n\nEvery id is a true `gymnasium.Env`. Make one with "
        '`gymnasium.make("palaestra/Name-v0", difficulty=0.3)`, or play it: `palaestra play palaestra/Name-v0`. '
        "Find one by tags and words: `palaestra list envs planning --tag multi-turn`, or in Python "
        '`palaestra.envs.find("planning", tags=["multi-turn"])`.'
    )
    rows = [[row["facet"], code(row["name"]), row["environments"], inline(row["summary"])] for row in tags()]
    return SiteContent(join(head, *parts, "## Tags", table(("of", "tag", "environments", "meaning"), rows)))


def _tags(env_id: str) -> str:
    return ", ".join(map(code, tags_of(env_id)))


def _page(env_id: str) -> SiteContent:
    found = entry(env_id)
    if not found.examples:
        return SiteContent(join(f"# {env_id}", inline(found.title), f"Tags: {_tags(env_id)}.", inline(found.lacks)))
    env: Any = gym.make(env_id, disable_env_checker=True)
    inner = env.unwrapped
    files: dict[str, bytes] = {}
    examples = [_example(env_id, example, files) for example in found.examples]
    first = next((axis for axis in inner.param_space.axes if axis.harder is not None), inner.param_space.axes[0])
    value = first.choices[0] if isinstance(first, ChoiceAxis) else first.low
    made = fence(
        "import gymnasium as gym\nimport palaestra\n\n"
        f'env = gym.make("{env_id}", difficulty=0.3)\nobservation, info = env.reset(seed=7)',
        "python",
    )
    ways = (
        f"In place of a difficulty, an axis by its name: {code(f'{first.name}={value!r}')}. Held-out tasks: "
        f'`split="test"`. In the terminal: `palaestra play {env_id}`.'
    )
    parts = [
        f"# {env_id}",
        inline(found.title),
        made,
        ways,
        f"Tags: {_tags(env_id)}.",
        "## Axes of difficulty",
        _axes(inner),
        *(part for heading, text in found.sections for part in (f"## {heading}", docstring(text))),
        "## Examples",
        "Held-out tasks with seed 0, each with what the scripted solver (the oracle) does.",
        *examples,
        "## What players without thought earn",
        _blind(env_id, inner),
        _scores(env_id),
        "## Extras",
        _extras(inner),
    ]
    env.close()
    return SiteContent(join(*parts), files)


def _axes(inner: Any) -> str:
    rows = []
    for axis in inner.param_space.axes:
        harder = {"up": "larger", "down": "smaller", None: "neither"}.get(axis.harder, "")
        if isinstance(axis, ChoiceAxis):
            values = ", ".join(code(choice) for choice in axis.choices)
            rows.append([code(axis.name), values, "", "later" if axis.harder else harder])
            continue
        limits = "" if tuple(axis.limits) == (axis.low, axis.high) else f"{axis.limits[0]} to {axis.limits[1]}"
        rows.append([code(axis.name), f"{axis.low} to {axis.high}", limits, harder])
    return table(("axis", "drawn from", "may be asked for", "harder"), rows)


def _example(env_id: str, example: Example, files: dict[str, bytes]) -> str:
    picture = ""
    if example.picture:
        name = f"{page_name(env_id)}-{example.title}.png"
        files[name] = base64.b64decode(example.picture)
        # Each page has a separate folder, which also holds its pictures.
        picture = f"![the {example.title} example as a picture]({name})"
    turns = []
    for asked, answered in example.turns:
        short = "\n" not in answered and len(answered) < 80
        turns.append(fence(asked) if asked else "")
        turns += [f"The oracle: {code(answered)}"] if short else ["The oracle:", fence(answered)]
    steps = [f"{number}. {inline(step)}" for number, step in enumerate(example.steps[:30], 1)]
    way = join("The way to the answer:", "\n".join(steps)) if steps else ""
    return join(f"### {example.title.capitalize()}", code(example.params), picture, *turns, inline(example.more), way)


def _blind(env_id: str, inner: Any) -> str:
    rates = find_measured(env_id, type(inner)).baselines
    if not rates:
        return "Constant answers, blind loops and random actions succeed in at most 2 % of tasks at every difficulty."
    columns = ("player", *(f"difficulty {difficulty:g}" for difficulty in DIFFICULTIES))
    rows = [[PLAYERS.get(name, name), *(f"{rate:.0%}" for rate in values)] for name, values in rates.items()]
    return join(table(columns, rows), "Players that are not named succeed in at most 2 % of tasks.")


def _scores(env_id: str) -> str:
    rows = []
    for name in suite_names():
        suite = find_suite(name)
        for agent, scores in suite.baselines.items():
            if scores.get(env_id) is not None:
                rows.append([code(suite.name), inline(agent), f"{scores[env_id]:.0%}"])
    return join("## Stored scores", table(("suite", "agent", "success"), rows)) if rows else ""


def _extras(inner: Any) -> str:
    names = sorted(getattr(inner, "supplies", ()))
    if not names:
        return "None."
    rows = []
    for name in names:
        shape, meaning = (MEASURES[name].shape, MEASURES[name].summary) if name in MEASURES else ("", "")
        rows.append([code(name), inline(shape), inline(meaning)])
    lead = 'Kept in `info["extras"]` for rewards, teachers and guided rollouts; agents never see them.'
    return join(lead, table(("name", "shape", "meaning"), rows))
