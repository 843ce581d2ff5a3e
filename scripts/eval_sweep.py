"""``palaestra eval --sweep FILE``: evaluate several agents on several environments, with one table and a page.

A TOML file lists agents, environments and settings. Each pair of agent and environment is a separate evaluation, whose
episodes are written to the folder --out, so that a stopped sweep can be resumed.

    agents = ["random", "oracle", { name = "small, greedy", agent = "smollm2-135m", greedy = true }]
    environments = ["palaestra/Arithmetic-v0", { env = "palaestra/Dataset-v0", source = "mine.jsonl", rows = "all" }]

    [settings]          # arguments of evaluate(), for every evaluation
    episodes = 100
"""

from __future__ import annotations

import html
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..agents.atomic import write_atomically
from ..agents.evaluation import Report, evaluate
from ..errors import InputError, unknown_name

if TYPE_CHECKING:
    from rich.table import Table

# Arguments of `evaluate` that a sweep may set; other keys of an environment's entry are options of the environment.
SETTINGS = (
    *("episodes", "seed", "split", "difficulties", "axes", "rows", "samples", "history", "shots", "retries"),
    "bins",
)


@dataclass(frozen=True)
class SweepEntry:
    """Agent or environment of a sweep.

    Attributes:
        name: name in the table.
        what: text that names the agent, or environment id.
        options: settings of the agent, or options of the environment.
        settings: arguments of `evaluate` for this environment; they override those of the sweep.
    """

    name: str
    what: str
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Sweep:
    """Agents, environments and settings of a sweep, as read from the file."""

    agents: tuple[SweepEntry, ...]
    environments: tuple[SweepEntry, ...]
    settings: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> Sweep:
        """Read a sweep from a file.

        Raises:
            InputError: the file is no TOML, or has other keys or kinds of values.
        """
        try:
            given = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise InputError(f"the sweep {path} cannot be read: {error}.") from None
        for key in given:
            if key not in ("agents", "environments", "settings"):
                raise unknown_name(f"entry of {path.name}", key, ["agents", "environments", "settings"])
        settings = given.get("settings", {})
        for name in settings:
            if name not in SETTINGS:
                raise unknown_name(f"setting of {path.name}", name, SETTINGS)
        found = {}
        for kind, word in (("agents", "agent"), ("environments", "env")):
            entries = given.get(kind)
            if not isinstance(entries, list) or not entries:
                raise InputError(f"{path.name} must have {kind}, a list of at least one.")
            found[kind] = tuple(_read_entry(entry, word, path.name) for entry in entries)
            names = [entry.name for entry in found[kind]]
            if twice := next((name for name in names if names.count(name) > 1), None):
                raise InputError(f"{path.name} has two {kind} called {twice!r}; give them different names by name=.")
        return cls(found["agents"], found["environments"], settings)


def _read_entry(given: Any, word: str, file: str) -> SweepEntry:
    given = {word: given} if isinstance(given, str) else given
    if not isinstance(given, Mapping) or not isinstance(given.get(word), str):
        raise InputError(f"an entry of {file} is a text or a table with {word}, not {given!r}.")
    own = {name: value for name, value in given.items() if name not in (word, "name")}
    settings = {name: own.pop(name) for name in SETTINGS if word == "env" and name in own}
    return SweepEntry(str(given.get("name", given[word])), given[word], own, settings)


def run_sweep(
    sweep: Sweep, out: Path, find: Callable[[str, Mapping[str, Any]], Any], progress: bool = True
) -> list[tuple[str, str, Report]]:
    """Evaluate each agent on each environment. Finished evaluations are read from ``out``; interrupted ones resume.

    Args:
        out: folder with a file of episodes for each pair of agent and environment.
        find: makes an agent from the text that names it and options.
        progress: True draws progress bars.

    Returns:
        (name of the agent, name of the environment, report) for each pair; all pairs of an agent are adjacent.
    """
    reports = []
    out.mkdir(parents=True, exist_ok=True)
    for agent in sweep.agents:
        player = find(agent.what, agent.options)
        for environment in sweep.environments:
            file = out / f"{_slug(agent.name)}--{_slug(environment.name)}.jsonl"
            settings = {**sweep.settings, **environment.settings}
            report = evaluate(
                player,
                environment.what,
                **settings,
                env_kwargs=environment.options,
                out=file,
                resume=file.is_file() or Path(f"{file}.partial").is_file(),
                progress=progress,
            )
            reports.append((agent.name, environment.name, report))
    return reports


def rows_of(reports: list[tuple[str, str, Report]]) -> list[dict[str, Any]]:
    """Return `Report.row` of each report, with the sweep's names of agent and environment."""
    found = []
    for agent, environment, report in reports:
        row = {name: value for name, value in report.row().items() if name != "difficulty"}
        found.append({**row, "agent": agent, "environment": environment})
    return found


def table_of(reports: list[tuple[str, str, Report]], caption: str) -> Table:
    """Return a rich table of success, with environments as rows and agents as columns."""
    from rich.table import Table

    agents = list(dict.fromkeys(agent for agent, _, _ in reports))
    table = Table(title="success", caption=f"in brackets: 95 % confidence; {caption}")
    for heading in ("environment", *agents):
        table.add_column(heading, overflow="fold")
    cells = {(agent, environment): report.success.text(percent=True) for agent, environment, report in reports}
    for environment in dict.fromkeys(environment for _, environment, _ in reports):
        table.add_row(environment, *(cells[agent, environment] for agent in agents))
    return table


def write_page(reports: list[tuple[str, str, Report]], path: Path) -> None:
    """Write an HTML page with a table of environments by agents; each cell has a bar of success with its interval."""
    agents = list(dict.fromkeys(agent for agent, _, _ in reports))
    cells = {(agent, environment): report for agent, environment, report in reports}
    head = "".join(f"<th>{html.escape(agent)}</th>" for agent in agents)
    lines = [
        f"<tr><th>{html.escape(environment)}</th>{''.join(_cell(cells[agent, environment]) for agent in agents)}</tr>"
        for environment in dict.fromkeys(environment for _, environment, _ in reports)
    ]
    write_atomically(path, _PAGE.replace("HEAD", head).replace("ROWS", "\n".join(lines)))


def _cell(report: Report) -> str:
    success = report.success
    if success.count == 0 or success.mean != success.mean:
        return f"<td>reward {html.escape(report.reward.text())}</td>"
    low, mean, high = (100 * value for value in (success.low, success.mean, success.high))
    title = html.escape(f"{report.episodes} episodes, {report.tasks} tasks, reward {report.reward.text()}", quote=True)
    return (
        f'<td title="{title}"><span class="bar"><i style="width:{mean:.1f}%"></i>'
        f'<b style="left:{low:.1f}%;width:{max(high - low, 0.5):.1f}%"></b></span>'
        f"{html.escape(success.text(percent=True))}</td>"
    )


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name.removeprefix("palaestra/")).strip("-") or "unnamed"


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Success by agent and environment</title>
<style>
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid #8885; padding: .4rem .6rem; text-align: left; }
td { font-variant-numeric: tabular-nums; white-space: nowrap; }
.bar { background: #8883; display: block; height: .6rem; position: relative; }
.bar i { background: #3b7dd8; display: block; height: 100%; }
.bar b { background: currentColor; height: 2px; opacity: .6; position: absolute; top: calc(50% - 1px); }
</style></head><body>
<h1>Success by agent and environment</h1>
<p>Bars: mean success; lines: 95 % intervals over distinct tasks.</p>
<table><thead><tr><th></th>HEAD</tr></thead><tbody>
ROWS
</tbody></table></body></html>
"""
