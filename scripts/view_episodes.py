"""Collection of episodes of runs and evaluations, and packing of them for the page of ``palaestra view``.

Each episode becomes a short entry of the page's list, and a record. Records are packed in chunks (JSON, gzip, base64),
so that the page unpacks only the chunks that are viewed, and no text of a model can break out of its HTML element.
Texts longer than a bound are cut in the middle, with a note on the page.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..agents.grpo.run.folder import DEFAULT_LEARNER
from ..errors import InputError
from .report import Row, is_finite_number, iterate_rows_from, read_config
from .view_pictures import encode_pictures

SUCCESS, FAILED, UNREADABLE, TRUNCATED, ERRORED, INVALID = 1, 2, 4, 8, 16, 32
CHUNK_EPISODES, CHUNK_CHARACTERS = 100, 1_000_000
"""Number of episodes, and of characters, either of which completes a chunk."""
COST = "cost in the currency of the prices"
SNIPPET = 100
"""Longest part of the first observation in the list, in characters."""


@dataclass(frozen=True)
class EpisodeFile:
    """File of episodes.

    Attributes:
        path: file with one JSON object per line, which has "turns".
        name: short name, unique within a page.
        env: environment of rows without "env".
        report: report of the run that the file belongs to, or None.
    """

    path: Path
    name: str
    env: str = ""
    report: Path | None = None


@dataclass
class EpisodeCollection:
    """Packed episodes of a page.

    Attributes:
        files: name, path, agent and report (a link) of each file.
        envs: names of the environments.
        entries: entries of the list, as `make_entry` makes them.
        chunks: packed records, in the order of the entries.
        sizes: number of episodes in each chunk.
        notes: sentences about missing episodes.
    """

    files: list[dict[str, Any]] = field(default_factory=list)
    envs: list[str] = field(default_factory=list)
    entries: list[list[Any]] = field(default_factory=list)
    chunks: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def find_files(paths: Sequence[Path], growing: bool = False) -> list[EpisodeFile]:
    """Find the files of episodes in runs, evaluations (also unfinished ones), and folders of either.

    Args:
        growing: accept a run that has kept no episode yet.

    Raises:
        InputError: a path does not exist, or has no episodes.
    """
    found: list[EpisodeFile] = []
    for path in paths:
        if not path.exists():
            raise InputError(
                f"{str(path)!r} does not exist; give the folder of a run or a file of palaestra eval --out."
            )
        inside = [path]
        if path.is_dir() and not (path / "config.json").is_file():
            parts = [*path.glob("*.jsonl"), *path.glob("*.jsonl.partial")]
            runs = [file.parent for file in path.glob("*/trajectories.jsonl")]
            inside = sorted([part for part in parts if _has_episodes(part)] + runs)
        if not inside:
            raise InputError(
                f"{str(path)!r} has neither a run in it nor a file of palaestra eval --out; give a folder that has."
            )
        found += [_read_file(part, growing) for part in inside]
    names: dict[str, int] = {}
    for place, file in enumerate(found):
        names[file.name] = names.get(file.name, 0) + 1
        if names[file.name] > 1:
            found[place] = EpisodeFile(file.path, f"{file.name}~{names[file.name]}", file.env, file.report)
    return found


def _read_file(path: Path, growing: bool) -> EpisodeFile:
    if not path.is_dir():
        return EpisodeFile(path, _printable(path.name.removesuffix(".partial").removesuffix(".jsonl")))
    config = read_config(path) if (path / "config.json").is_file() else {}
    file = path / "trajectories.jsonl"
    if not file.is_file():
        if config.get("learner", DEFAULT_LEARNER) != DEFAULT_LEARNER:
            raise InputError(
                f"the run {str(path)!r} is of a student, which keeps no episodes of its training; play some with "
                f"palaestra eval {path} --out played.jsonl, and view that file."
            )
        if not growing:
            raise InputError(
                f"the run {str(path)!r} has kept no episode yet (no trajectories.jsonl); train it further."
            )
    env = config.get("env", "")
    report = path / "report.html"
    name = _printable(path.resolve().name)
    return EpisodeFile(file, name, env if isinstance(env, str) else " ".join(env), report if report.is_file() else None)


def _printable(name: str) -> str:
    """Return a file's name as printable text, as its bytes may be invalid UTF-8."""
    return name.encode("utf-8", "replace").decode("utf-8")


def _has_episodes(path: Path) -> bool:
    with path.open("rb") as stream:
        return b'"turns"' in stream.readline()


class EpisodeReader:
    """Reader of files of episodes, which may grow, into an `EpisodeCollection`.

    Args:
        link: returns the URL of a replay or a report.
        longest: longest text in characters; longer texts are cut.
        most: most episodes; further episodes are counted but left out.
    """

    def __init__(self, link: Callable[[Path], str], longest: int, most: int):
        self.made = EpisodeCollection()
        self._link, self._longest, self._most = link, longest, most
        self._places: dict[Path, tuple[int, int]] = {}  # file -> bytes and lines that were read
        self._tasks: dict[tuple[int, str], int] = {}
        self._seen: dict[str, int] = {}
        self._left_out = self._cut = 0

    def read(self, files: Sequence[EpisodeFile]) -> None:
        """Add what the files hold beyond the last call. New files come after those of earlier calls.

        Raises:
            InputError: a line is no episode.
        """
        for file in files:
            if file.path not in self._places:
                self._places[file.path] = (0, 0)
                report = None if file.report is None else self._link(file.report)
                self.made.files.append({"name": file.name, "path": str(file.path), "agent": "", "report": report})
        waiting: list[str] = []
        for file in files:
            self._read_file(file, list(self._places).index(file.path), waiting)
        if waiting:
            _close_chunk(self.made, waiting)
        notes = self.made.notes = []
        if self._left_out:
            most = self._most + self._left_out
            notes.append(f"{self._left_out:,} further episodes are not in this page (palaestra view --most {most})")
        if self._cut:
            notes.append(f"{self._cut:,} episodes have texts cut at {self._longest:,} characters")

    def is_outdated(self) -> bool:
        """Return True if a file that was read is gone or has become shorter, so that all must be read again."""
        sizes = ((path, read) for path, (read, _) in self._places.items() if read)
        return any(not path.is_file() or path.stat().st_size < read for path, read in sizes)

    def _read_file(self, file: EpisodeFile, number: int, waiting: list[str]) -> None:
        start, lines = self._places[file.path]
        if not file.path.is_file():
            return
        for line, row, end in iterate_rows_from(file.path, start, lines):
            self._places[file.path] = end, line
            if not isinstance(row.get("turns"), list) or not all(isinstance(turn, dict) for turn in row["turns"]):
                raise InputError(f"line {line} of {str(file.path)!r} is no episode: it has no list of turns.")
            if len(self.made.entries) >= self._most:
                self._left_out += 1
                continue
            self._add(file, number, row, line, waiting)

    def _add(self, file: EpisodeFile, number: int, row: Row, line: int, waiting: list[str]) -> None:
        made = self.made
        made.files[number]["agent"] = made.files[number]["agent"] or str(row.get("agent") or "")
        name = str(row.get("env") or (row.get("params") or {}).get("env") or file.env or "?")
        if name not in made.envs:
            made.envs.append(name)
        env, task = made.envs.index(name), -1
        if row.get("task_id"):
            task = self._tasks.setdefault((env, str(row["task_id"])), len(self._tasks))
        name = name_episode(file.name, row)
        self._seen[name] = self._seen.get(name, 0) + 1
        name = name if self._seen[name] == 1 else f"{name}~{self._seen[name]}"
        record, cut = shorten_texts(encode_pictures(row), self._longest)
        self._cut += bool(cut)
        made.entries.append(make_entry(row, number, env, name, task, line, cut, find_replay(file, row, self._link)))
        waiting.append(json.dumps(record, allow_nan=False))
        if len(waiting) >= CHUNK_EPISODES or sum(map(len, waiting)) >= CHUNK_CHARACTERS:
            _close_chunk(made, waiting)


def _close_chunk(made: EpisodeCollection, waiting: list[str]) -> None:
    made.chunks.append(pack(f"[{','.join(waiting)}]"))
    made.sizes.append(len(waiting))
    waiting.clear()


def pack(text: str) -> str:
    """Compress an ASCII text by gzip, without a time stamp, and encode it in base64."""
    return base64.b64encode(gzip.compress(text.encode("ascii"), compresslevel=6, mtime=0)).decode()


def name_episode(file: str, row: Mapping[str, Any]) -> str:
    """Return the name of an episode: "played/12", for a further sample "played/12.1", in a run "first/step-4"."""
    if "episode" in row:
        sample = f".{row['sample']}" if row.get("sample") else ""
        return f"{file}/{row['episode']}{sample}"
    return f"{file}/step-{row.get('step', 0)}"


def make_entry(
    row: Row, file: int, env: int, name: str, task: int, line: int, cut: int, replay: str | None
) -> list[Any]:
    """Make the entry of an episode in the page's list: file, environment, name, outcome flags, difficulty, reward,
    number of turns, progress, step, task, sample, snippet, replay, number of cut characters, line, label, quantities,
    role.
    """
    valid, success = row.get("reward_valid") is not False, row.get("is_success")
    errored = bool(row.get("agent_failed")) or (valid and row.get("error") is not None)
    refused = row.get("refused") or any(turn.get("action_error") is not None for turn in row["turns"])
    flags = (
        (SUCCESS if valid and success else 0)
        | (FAILED if valid and success is not None and not success else 0)
        | (UNREADABLE if refused else 0)
        | (TRUNCATED if row.get("truncated") else 0)
        | (ERRORED if errored else 0)
        | (0 if valid else INVALID)
    )
    numbers = [row.get(key) for key in ("difficulty", "return", "progress", "step")]
    difficulty, reward, progress, step = (value if is_finite_number(value) else None for value in numbers)
    first = row["turns"][0].get("observation") if row["turns"] else ""
    if isinstance(first, dict):
        first = next((first[name] for name in ("text", "mission") if isinstance(first.get(name), str)), first)
    text = first if isinstance(first, str) else json.dumps(row.get("params") or {})
    snippet = " ".join(text[: 4 * SNIPPET].split())[:SNIPPET]
    label = ", ".join(f"{word} {row[key]}" for word, key in (("row", "row"), ("task", "task_id")) if row.get(key))
    results = [flags, difficulty, reward, len(row["turns"]), progress, step]
    rest = [replay, cut, line, label, measure_quantities(row), str(row.get("role") or "")]
    return [file, env, name, *results, task, row.get("sample") or 0, snippet, *rest]


def measure_quantities(row: Row) -> dict[str, float]:
    """Return the numbers of an episode by which the page filters: tokens, cost, seconds, and each reward term as its
    sum over the turns. Unknown ones are left out."""
    usage = row.get("usage") or {}
    names = {"prompt_tokens": "tokens read", "completion_tokens": "tokens written", "cost": COST, "seconds": "seconds"}
    found: dict[str, float] = {}
    for key, name in names.items():
        of_turns = [
            part.get(key) for turn in row["turns"] for part in (turn, turn.get("agent")) if isinstance(part, dict)
        ]
        known = [value for value in of_turns if is_finite_number(value)]
        whole = usage.get(key, row.get(key)) if isinstance(usage, dict) else row.get(key)
        if is_finite_number(whole) or known:
            found[name] = whole if is_finite_number(whole) else sum(known)
    for turn in row["turns"]:
        for term, value in (turn.get("reward_terms") or {}).items():
            if is_finite_number(value):
                found[f"reward term {term}"] = found.get(f"reward term {term}", 0.0) + value
    return found


def find_replay(file: EpisodeFile, row: Mapping[str, Any], link: Callable[[Path], str]) -> str | None:
    """Return the URL of an episode's replay; None without a replay, or if the file no longer exists."""
    named = row.get("replay")
    if not isinstance(named, str) or not named.endswith(".html"):
        return None
    path = file.path.parent / named
    return link(path) if path.is_file() else None


def shorten_texts(value: Any, longest: int) -> tuple[Any, int]:
    """Cut all texts of more than ``longest`` characters in JSON data in the middle.

    Returns:
        The data, with infinite numbers and NaN as text, and the number of characters that were left out.
    """
    if isinstance(value, str):
        if len(value) <= longest:
            return value, 0
        head, tail = longest - longest // 4, longest // 4
        left_out = len(value) - head - tail
        return (
            f"{value[:head]}\n[… {left_out:,} characters are left out here …]\n{value[len(value) - tail :]}",
            left_out,
        )
    if isinstance(value, float) and not math.isfinite(value):
        return str(value), 0
    if isinstance(value, dict):
        shortened = {key: shorten_texts(item, longest) for key, item in value.items()}
        return {key: item for key, (item, _) in shortened.items()}, sum(cut for _, cut in shortened.values())
    if isinstance(value, list):
        # A long array of numbers is converted to text, so that its length is bounded, too.
        if len(value) > 1000 and len(text := json.dumps(value)) > longest:
            return shorten_texts(text, longest)
        parts = [shorten_texts(item, longest) for item in value]
        return [item for item, _ in parts], sum(cut for _, cut in parts)
    return value, 0


def format_news(made: EpisodeCollection, chunks: int) -> str:
    """Return what follows the first ``chunks`` chunks, as JSON, for a page that is already open."""
    news = {"files": made.files, "envs": made.envs, "notes": made.notes, "sizes": made.sizes[chunks:]}
    return json.dumps(news | {"chunks": made.chunks[chunks:], "entries": made.entries[sum(made.sizes[:chunks]) :]})


def iterate_page_data(made: EpisodeCollection, follow: int = 0) -> Iterator[str]:
    """Yield the HTML elements of the page that contain the data; with the number of a
    reader as ``follow``, the page asks for its news."""
    head = {"files": made.files, "envs": made.envs, "notes": made.notes, "chunks": made.sizes, "follow": follow}
    # Names are not packed here; the escape prevents them from closing the element.
    yield f'<script type="application/json" id="head">{json.dumps(head).replace("<", chr(92) + "u003c")}</script>\n'
    yield f'<script type="text/plain" id="entries">{pack(json.dumps(made.entries))}</script>\n'
    for number, chunk in enumerate(made.chunks):
        yield f'<script type="text/plain" id="chunk-{number}">{chunk}</script>\n'
