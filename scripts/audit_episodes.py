"""Scan of a file of episodes for ``palaestra audit``: the table of signals, and the worst episodes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..agents.atomic import write_atomically
from ..agents.pages import render
from ..errors import InputError, shorten
from ..rewards.audit.planted import PlantedReport, measure_scanner
from ..rewards.audit.signals import SIGNALS, Scanned, scan_rows
from .report import format_episode, format_number, iterate_rows
from .view_episodes import find_files, name_episode

TEMPLATE = Path(__file__).with_name("audit_episodes.html")
SHOWN, LONGEST = 40, 1_200
"""Most episodes on a page, and most characters of an observation or action."""


def audit_episodes(path: Path, top: int, plant: int, seed: int, out: Path | None, html: Path | None = None) -> int:
    """Scan a file, print what was found, and return the exit code.

    Args:
        path: the file of episodes.
        top: number of episodes to name.
        plant: number of copies in which each kind of cheat is planted; 0 for none.
        seed: seed of the planted cheats.
        out: file for the results as JSON, or None.
        html: file for a page with the signals and the worst episodes, or None.

    Raises:
        InputError: a number below 0, or the file holds no episodes.
    """
    from rich.console import Console

    for name, value in (("top", top), ("plant", plant)):
        if value < 0:
            raise InputError(f"--{name} must be at least 0, not {value}.")
    (file,) = find_files([path])
    rows: list[Any] = []
    lines: list[int] = []
    for line, row in iterate_rows(path):
        if not isinstance(row.get("turns"), list) or not all(isinstance(turn, dict) for turn in row["turns"]):
            raise InputError(f"line {line} of {str(path)!r} is no episode: it has no list of turns.")
        rows.append(row)
        lines.append(line)
    if not rows:
        raise InputError(f"{str(path)!r} holds no episode.")
    scanned = scan_rows(rows, file.env)
    report = measure_scanner(rows, plant, seed, file.env) if plant else None
    console = Console()
    names = [f"line {n}, {name_episode(file.name, row)}" for n, row in zip(lines, rows)]
    _print_signals(console, scanned, names, top)
    if report is not None:
        _print_planted(console, report)
    if html is not None:
        write_page(html, path, scanned, names, report)
        console.print(f"page in {html}", soft_wrap=True)
    if out is not None:
        episodes = [
            {"line": line, "severity": one.severity, "signals": [_to_json(signal) for signal in one.signals]}
            for line, one in zip(lines, scanned)
            if one.signals
        ]
        planted = (
            None if report is None else {name: [report.found[name], report.planted[name]] for name in report.found}
        )
        found = {"episodes": len(rows), "signals": _count(scanned), "found": episodes, "planted": planted}
        write_atomically(out, json.dumps(found, allow_nan=False) + "\n")
    return 0


def _to_json(signal: Any) -> dict[str, Any]:
    return {"name": signal.name, "kind": SIGNALS[signal.name][0], "turn": signal.turn, "detail": signal.detail}


def _count(scanned: Sequence[Scanned]) -> dict[str, int]:
    """Count the episodes that have each signal."""
    return dict(Counter(name for one in scanned for name in {signal.name for signal in one.signals}))


def _list_signals(scanned: Sequence[Scanned]) -> list[tuple[str, ...]]:
    """Return (kind, signal, episodes with it, their share, share of the successes) of each signal that was found."""
    wins = [one for one in scanned if one.row.get("is_success")]
    counts, of_wins = _count(scanned), _count(wins)
    return [
        (
            *(kind, name, f"{counts[name]:,}", f"{100 * counts[name] / len(scanned):.1f} %"),
            f"{100 * of_wins.get(name, 0) / len(wins):.1f} %" if wins else "-",
        )
        for name, (kind, _) in SIGNALS.items()
        if name in counts
    ]


def write_page(
    html: Path, path: Path, scanned: Sequence[Scanned], names: Sequence[str], report: PlantedReport | None = None
) -> None:
    """Write a page about a scanned file: the signals, and the `SHOWN` episodes with the most of them.

    Args:
        html: the file to write.
        path: the scanned file.
        scanned, names: the episodes.
        report: result for planted cheats, or None.
    """
    marked = [(one, name) for one, name in zip(scanned, names) if one.signals]
    successes = sum(bool(one.row.get("is_success")) for one in scanned)
    cheats = sum(any(SIGNALS[signal.name][0] == "cheat" for signal in one.signals) for one in scanned)
    tiles = [
        ("episodes", f"{len(scanned):,}", f"{successes:,} successes"),
        ("with a signal", f"{len(marked):,}", f"{100 * len(marked) / len(scanned):.1f} %"),
        ("with the signal of a cheat", f"{cheats:,}", f"{100 * cheats / len(scanned):.1f} %"),
    ]
    table = _list_signals(scanned)
    if report is not None:
        found = f"{report.false_alarms} of {report.sound} successes of the file have a signal"
        tiles.append(("planted cheats found", f"{100 * report.recall:.1f} %", found))
        shares = {name: f"{report.found[name]} of {count}" for name, count in report.planted.items()}
        table = [(*row, shares.pop(row[1], "")) for row in table]
        table += [(SIGNALS[name][0], name, "0", "", "", share) for name, share in shares.items()]
    worst = sorted(marked, key=lambda pair: -len(pair[0].signals))[:SHOWN]
    page = render(
        TEMPLATE,
        "the page of a scan",
        filters={"number": format_number},
        name=path.name,
        file=str(path),
        tiles=tiles,
        table=table,
        planted=report is not None,
        episodes=[_show_episode(one, name) for one, name in worst],
    )
    write_atomically(html, page)


def _show_episode(one: Scanned, name: str) -> dict[str, Any]:
    """Return an episode for the page, with the turns in which a signal begins, and the last turn."""
    episode = format_episode(dict(one.row))
    last = len(episode["turns"]) - 1
    turns = sorted({last, *(signal.turn for signal in one.signals)} & set(range(last + 1)))
    shown = []
    for n in turns:
        texts = {key: shorten(episode["turns"][n][key], LONGEST) for key in ("observation", "action")}
        signals = [signal for signal in one.signals if signal.turn == n]
        shown.append({**episode["turns"][n], **texts, "number": n + 1, "signals": signals})
    return {**episode, "name": name, "shown": shown}


def _print_signals(console: Any, scanned: Sequence[Scanned], names: Sequence[str], top: int) -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    total = len(scanned)
    marked = [(one, name) for one, name in zip(scanned, names) if one.signals]
    if not marked:
        console.print(f"None of {total:,} episodes has a signal.")
        return
    grid = Table(box=box.SIMPLE_HEAD, title="signals", title_justify="left")
    for heading in ("kind", "signal", "episodes", "share", "of successes"):
        grid.add_column(heading, justify="left" if heading in ("kind", "signal") else "right", no_wrap=True)
    for row in _list_signals(scanned):
        grid.add_row(*row)
    console.print(grid)
    console.print(f"{len(marked):,} of {total:,} episodes have a signal.")
    for one, name in sorted(marked, key=lambda pair: -len(pair[0].signals))[:top]:
        texts = [f"{signal.name} in turn {signal.turn + 1} ({signal.detail})" for signal in one.signals]
        console.print(f"  {escape(name)}: {escape('; '.join(texts))}", highlight=False)


def _print_planted(console: Any, report: PlantedReport) -> None:
    from rich import box
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, title="planted in copies of successful episodes", title_justify="left")
    for heading in ("signal", "planted", "found"):
        grid.add_column(heading, justify="left" if heading == "signal" else "right", no_wrap=True)
    for name, count in report.planted.items():
        grid.add_row(name, str(count), f"{100 * report.found[name] / count:.0f} %" if count else "-")
    console.print(grid)
    console.print(
        f"{100 * report.recall:.1f} % of the planted ones are found; {report.false_alarms} of {report.sound} "
        "successful episodes of the file itself have a signal."
    )
