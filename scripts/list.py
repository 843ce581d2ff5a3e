"""``palaestra list``: list what is registered: environments, agents, teachers, recipes, rewards and so on.

examples:
  palaestra list
  palaestra list envs teachers
  palaestra list envs solve equation         environments whose name, summary or tags fit every word
  palaestra list envs --tag multi-turn --tag safety    environments with both tags
  palaestra list tags                       tags of environments: turns, tools, modality, horizon, needs, purpose
  palaestra list recipes dapo gspo          every stage of the named recipes
  palaestra list rewards overlong           one reward in full, with its options: type, default, range, meaning
  palaestra list components                 what recipes are made of, stage by stage
  palaestra list components surrogate kl_k3 one stage, and one component in full
  palaestra list designers                  algorithms that design reward tables, for the bonus "designed"
  palaestra list engines                    engines that sample from a model
  palaestra list models                     models for --model NAME, with licence and install command
  palaestra list bonuses                    rewards that --bonus adds for students, with effect on optimal policies
  palaestra list searches values            searches over steps for palaestra eval --search, and their values
  palaestra list measures                   quantities that rewards, teachers and components read, with suppliers
  palaestra list --json
  palaestra list envs --html > gallery.html  every environment with worked examples, as a page
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import tyro

from ..agents.agent import AGENTS
from ..agents.engines.engine import ENGINES
from ..agents.evaluation import find_suite, suite_names
from ..agents.history import HISTORIES
from ..agents.language.registered_models import MODELS
from ..agents.learners import LEARNERS
from ..envs.tags import check_tags
from ..errors import InputError, unknown_name
from ..registry import Registry
from ..rewards import REWARDS, VERIFIERS, BatchReward, GroupReward, StepReward
from ..rewards.algebra import Composite
from ..teachers import TEACHERS
from ..teachers.budgets import ALLOCATORS
from ..teachers.requests import REQUESTS
from .docstrings import paper, summary
from .list_envs import envs, select_rows, tags
from .list_measures import measure_rows, measures
from .list_options import describe_class, option_rows
from .list_stages import Row, component_rows, components, parameters, recipe_rows, recipes, stage_rows
from .list_terminal import print_tables


@dataclass(frozen=True)
class ListOptions:
    what: tyro.conf.Positional[tuple[str, ...]] = ()
    """Tables: envs, agents, histories, suites, learners, teachers, requests, recipes, rewards, verifiers, all of these
    by default; or allocators (of --budget), bonuses, components, designers, engines, measures, models, searches, tags
    or values (of searches).
    Further words filter the rows: the name or the summary must contain each word; of environments, a word may also
    stand for a tag ("planning"). Whole names of recipes, components, stages, measures, teachers, rewards, bonuses,
    histories, agents, designers, searches, values or verifiers show these in full."""
    tag: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    """With envs: show only environments with this tag, and with all of several; see palaestra list tags."""
    show: tuple[str, ...] = ()
    """Names of recipes (or, after components, of stages and components) to show in full."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Same as --format json."""
    html: tyro.conf.FlagCreatePairsOff[bool] = False
    """With envs: print the gallery, an HTML page with an easy and a hard example of each environment."""
    format: Literal["table", "markdown", "json"] = "table"
    """Format of the output."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command. Return the exit code."""
    options = tyro.cli(ListOptions, args=argv, prog="palaestra list", description=__doc__)
    known = [*TABLES, *ON_REQUEST]
    kinds = [word for word in options.what if word in known]
    words = [*(word for word in options.what if word not in known), *options.show]
    if not kinds and options.tag:
        kinds = ["envs"]
    if words and not kinds and options.show:
        kinds = ["recipes"]
    if words and not kinds:
        raise unknown_name("table", words[0], known)
    kinds = kinds or list(TABLES)
    if options.html and kinds != ["envs"]:
        raise InputError(f"--html is the gallery of environments, not of {kinds[0]}; write list envs --html.")
    if options.tag and kinds != ["envs"]:
        raise InputError(f"--tag {options.tag[0]} is for environments, not for {kinds[0]}; write list envs --tag.")
    if options.html:
        from .list_gallery import page

        print(page([row["id"] for row in select_rows({"envs": _tagged(options.tag)}, words)["envs"]]))
        return 0
    tables = {kind: (TABLES | ON_REQUEST)[kind]() if kind != "envs" else _tagged(options.tag) for kind in kinds}
    if words and len(kinds) == 1 and (kind := kinds[0]) in _IN_FULL:
        # The names that show a row, or all rows of a stage, in full.
        whole = {row[column] for row in tables[kind] for column in ("name", "stage") if column in row}
        if whole.issuperset(words):
            rows = _IN_FULL[kind](words)
            return _print_or_dump({kind: rows}, _in_full(kind, rows), options)
    tables = select_rows(tables, words)
    return _print_or_dump(tables, tables, options)


def _tagged(wanted: Sequence[str]) -> list[Row]:
    """Return the rows of the environments with all tags. Raises InputError for an unknown tag, or if there is none."""
    check_tags(wanted)
    rows = [row for row in envs() if set(wanted) <= set(row["tags"].split(", "))]
    if not rows:
        raise InputError(f"no environment has all of the tags {', '.join(wanted)}; leave one out.")
    return rows


def _rows_with_options(kind: str, names: Sequence[str]) -> list[Row]:
    """Return the named rows of a table with the whole docstring and the options."""
    rows = []
    for row in (TABLES | ON_REQUEST)[kind]():
        value = WITH_OPTIONS[kind]()[row["name"]] if row["name"] in names else None
        if value is not None:
            when = {"when to use": value.when} if getattr(value, "when", "") else {}
            rows.append({**row, **when, "docstring": describe_class(value), "options": option_rows(value)})
    return rows


def _bonuses() -> Registry[Any]:
    from ..agents.students.bonuses import BONUSES

    return BONUSES


def _designers() -> Registry[Any]:
    from ..rewards.tabular import DESIGNERS

    return DESIGNERS


def _searches() -> Registry[Any]:
    from ..agents.search.searches import SEARCHES

    return SEARCHES


def _values() -> Registry[Any]:
    from ..agents.search.values import VALUES

    return VALUES


WITH_OPTIONS: dict[str, Callable[[], Registry[Any]]] = {
    "teachers": lambda: TEACHERS,
    "rewards": lambda: REWARDS,
    "verifiers": lambda: VERIFIERS,
    "designers": _designers,
    "bonuses": _bonuses,
    "histories": lambda: HISTORIES,
    "agents": lambda: AGENTS,
    "searches": _searches,
    "values": _values,
}
"""Table whose rows have options -> function that returns its registry."""


_IN_FULL: dict[str, Callable[[Sequence[str]], list[Row]]] = {
    "recipes": recipe_rows,
    "components": component_rows,
    "measures": measure_rows,
    **{kind: partial(_rows_with_options, kind) for kind in WITH_OPTIONS},
}
"""Table -> function that returns the rows of given names in full."""


def _in_full(kind: str, rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Arrange rows in full as tables for printing: title -> rows."""
    if kind == "recipes":
        return {f"{row['name']}: {row['summary']} ({row['paper']})": stage_rows(row) for row in rows}
    if kind == "measures":
        return {kind: list(rows)}
    tables: dict[str, list[Row]] = {}
    if kind in WITH_OPTIONS:
        for row in rows:
            shown = {name: value for name, value in row.items() if name not in ("docstring", "options")}
            tables[f"{kind} {row['name']}"] = [shown | {"summary": re.sub(r"(?<=\S)\n(?=\S)", " ", row["docstring"])}]
            tables |= {f"options of {row['name']}": row["options"]} if row["options"] else {}
        return tables
    for row in rows:
        shown = {name: value for name, value in row.items() if name not in ("stage", "docstring")}
        tables.setdefault(row["stage"], []).append(shown | {"summary": row.get("docstring", row["summary"])})
    return tables


def _print_or_dump(data: dict[str, list[Row]], tables: dict[str, list[Row]], options: ListOptions) -> int:
    """Print ``data`` as JSON or, in another format, ``tables``; return the exit code 0."""
    if options.json or options.format == "json":
        print(json.dumps(data, indent=2, ensure_ascii=False))
    elif options.format == "markdown":
        print(markdown(tables))
    else:
        print_tables(tables)
    return 0


def teachers() -> list[Row]:
    """List every teacher: name, kind of task space, summary, paper."""
    return [
        {"name": name, "kind": getattr(value, "kind", ""), "summary": text, "paper": paper(value)}
        for name, value, text in _entries(TEACHERS)
    ]


def requests() -> list[Row]:
    """List every request that a teacher's proposal can make of the learner: key, value, effect, and its teachers."""
    made = {name: getattr(value, "asks", ()) for name, value, _ in _entries(TEACHERS)}
    return [
        {
            "name": name,
            "value": request.value,
            "summary": request.effect,
            "teachers": ", ".join(teacher for teacher, asks in made.items() if name in asks),
        }
        for name, request in REQUESTS.items()
    ]


def verifiers() -> list[Row]:
    """List every verifier of `palaestra.rewards.verify`: kind, summary, paper."""
    return [{"name": name, "summary": text, "paper": paper(value)} for name, value, text in _entries(VERIFIERS)]


def rewards() -> list[Row]:
    """List every reward: name, summary, its input (a step, an episode, a group, ...), measures that it needs, paper."""
    rows = []
    for name, value, text in _entries(REWARDS):
        sees = next((word for base, word in _SEES if value is not None and issubclass(value, base)), "an episode")
        needs = ", ".join(sorted(getattr(value, "needs", ())))
        if supplies := getattr(value, "user_supplies", ""):
            needs = f"{needs}; bring {supplies}".removeprefix("; ")
        rows.append({"name": name, "summary": text, "sees": sees, "needs": needs, "paper": paper(value)})
    return rows


_SEES = (
    (Composite, "its parts"),
    (BatchReward, "all groups of a step"),
    (GroupReward, "a group"),
    (StepReward, "each step"),
)


def agents() -> list[Row]:
    """List every registered agent: name, summary."""
    rows, names = [], {}
    for name, value, text in _entries(AGENTS):
        # An agent that cannot be imported has no value; its text is the error.
        first = name if value is None else names.setdefault(value, name)
        rows.append({"name": name, "summary": text if first == name else f"Another name of {first}."})
    return rows


def engines() -> list[Row]:
    """List every engine: name, summary, abilities beyond sampling, options."""
    rows = []
    for name, value, text in _entries(ENGINES):
        fixed = ("language", "slots", "max_length", "fp32_head")
        options = [option for option in inspect.signature(value.serve).parameters if option not in fixed]
        abilities = ", ".join(sorted(value.abilities))
        rows.append({"name": name, "summary": text, "abilities": abilities, "options": ", ".join(options)})
    return rows


def histories() -> list[Row]:
    """List every history: name, summary."""
    return [{"name": name, "summary": text} for name, _, text in _entries(HISTORIES)]


def searches() -> list[Row]:
    """List every search of ``palaestra eval --search``: name, summary, options, paper."""
    return _rows_with_parameters(_searches())


def values() -> list[Row]:
    """List every value of a search: name, summary, options, paper."""
    return _rows_with_parameters(_values())


def _rows_with_parameters(registry: Registry[Any]) -> list[Row]:
    return [
        {"name": name, "summary": text, "options": parameters(value), "paper": paper(value)}
        for name, value, text in _entries(registry)
    ]


def learners() -> list[Row]:
    """List every learner of ``palaestra train --learner``: name, summary."""
    return [{"name": name, "summary": kind.summary} for name, kind in LEARNERS.items()]


def bonuses() -> list[Row]:
    """List every bonus of ``palaestra train --bonus``: name, summary, effect on the optimal policies, paper."""
    from ..agents.students.bonuses import make_bonuses

    rows = []
    for name, _, text in _entries(_bonuses()):
        (bonus,) = make_bonuses([name], 0.99)
        row = {"name": name, "summary": text, "optimal policies": bonus.optimum, "paper": paper(type(bonus.reward))}
        rows.append(row)
    return rows


def designers() -> list[Row]:
    """List every designer of rewards on tables: name, summary, effect on the optimal policies, paper."""
    return [
        {"name": name, "summary": text, "optimal policies": value.effect, "paper": paper(value)}
        for name, value, text in _entries(_designers())
    ]


def models() -> list[Row]:
    """List every registered model: name, summary, size, precision, licence, origin, install command."""
    return [
        {
            "name": name,
            "summary": model.summary,
            "parameters": f"{model.parameters:,}",
            "size": f"{model.megabytes} MB",
            "precision": model.precision,
            "licence": model.licence,
            "origin": model.origin,
            "install": "installed" if model.installed else model.install,
        }
        for name, model in MODELS.items()
    ]


def suites() -> list[Row]:
    """List every evaluation suite: name, version, environments, episodes, summary, and the hash of its tasks."""
    found = [find_suite(name) for name in suite_names()]
    return [
        {
            "name": suite.name,
            "version": str(suite.version),
            "environments": str(len(suite.entries)),
            "episodes": str(suite.episodes),
            "content hash": suite.content_hash,
            "summary": suite.summary,
        }
        for suite in found
    ]


TABLES: dict[str, Callable[[], list[Row]]] = {
    "envs": envs,
    "agents": agents,
    "histories": histories,
    "suites": suites,
    "learners": learners,
    "teachers": teachers,
    "requests": requests,
    "recipes": recipes,
    "rewards": rewards,
    "verifiers": verifiers,
}


ON_REQUEST: dict[str, Callable[[], list[Row]]] = {
    "allocators": lambda: _rows_with_parameters(ALLOCATORS),
    "bonuses": bonuses,
    "components": components,
    "designers": designers,
    "engines": engines,
    "measures": measures,
    "models": models,
    "searches": searches,
    "tags": tags,
    "values": values,
}
"""Tables that need torch or interest few users, which are only printed on request."""


def _entries(registry: Registry[Any]) -> Iterator[tuple[str, Any, str]]:
    """Yield name, object and summary of each entry; for an entry that cannot be imported, None and the error."""
    for name in registry:
        try:
            value = registry[name]
        except ImportError as error:
            yield name, None, f"cannot be imported: {error}"
            continue
        yield name, value, summary(value)


def markdown(tables: dict[str, list[Row]]) -> str:
    """Format tables as Markdown, with a heading each, and arXiv numbers as links."""
    parts = []
    for kind, rows in tables.items():
        if not rows:
            continue
        # The column "differs" is too wide for Markdown; `palaestra list recipes` shows it.
        columns = [column for column in rows[0] if column != "differs"]
        lines = [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
        lines += [f"| {' | '.join(_cell(column, row[column]) for column in columns)} |" for row in rows]
        parts.append(f"### {kind.capitalize().replace('Envs', 'Environments')}\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def _cell(column: str, text: str) -> str:
    if column in ("id", "name"):
        return f"`{text}`"
    text = " ".join(text.replace("|", "\\|").split())
    if column == "axes":
        return ", ".join(f"`{part}`" for part in text.split(", ")) if text else ""
    return re.sub(r"arXiv (\d{4}\.\d{4,5})", r"[arXiv \1](https://arxiv.org/abs/\1)", text)
