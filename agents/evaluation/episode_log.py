"""File of an evaluation's episodes, from which a stopped evaluation can be resumed.

During the evaluation, each episode is appended to ``OUT.partial`` when it ends. When all have ended, they are sorted by
the plan and written to ``OUT``. ``OUT`` is therefore always complete, and a kill loses no finished episode.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError
from ..atomic import write_atomically
from .episodes import EpisodePlan, EpisodeRecord


class EpisodeLog:
    """Log of finished episodes. Each line is a JSON object: the evaluation's settings and `EpisodeRecord.to_json`.

    Args:
        path: the final file.
        settings: environment, agent, split and so on; a resumed evaluation must have the same settings.
        resume: True continues with the episodes in ``path``.partial or, if that does not exist, in ``path``.

    Attributes:
        records: (index, sample) -> episode; episodes read from the file have no turns.
        source: the file that holds the episodes: ``path`` if it was resumed and nothing was appended, else
            ``path``.partial.

    Raises:
        InputError: ``path``.partial exists and ``resume`` is False; a line is not of this form; or the settings differ.
    """

    def __init__(self, path: str | Path, settings: Mapping[str, Any], resume: bool = False):
        self.path = Path(path)
        self.partial = self.path.with_name(self.path.name + ".partial")
        self._settings = json.loads(json.dumps(settings, default=to_plain_data))
        self.records: dict[tuple[int, int], EpisodeRecord] = {}
        self._lines: dict[tuple[int, int], tuple[int, int]] = {}  # where a line begins, and its length in bytes
        self._sound = False
        if self.partial.exists() and not resume:
            raise InputError(
                f"{self.partial} holds the episodes of an evaluation that was stopped; go on with it (resume=True, "
                "--resume), or remove it."
            )
        # A whole evaluation is only copied when an episode is added to it, after all checks.
        whole = resume and not self.partial.exists() and self.path.exists()
        self.source = self.path if whole else self.partial
        self._end = self._read() if resume and self.source.exists() else 0
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._stream = None

    def _read(self) -> int:
        """Read the episodes of `source`; return the byte offset at which the last complete line ends."""
        end = 0
        with self.source.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                if not line.endswith(b"\n"):
                    break  # the process was killed while it wrote this line
                try:
                    row = json.loads(line)
                    record = EpisodeRecord.from_json(row)
                    found = {name: row.get("shots", 0) if name == "shots" else row[name] for name in self._settings}
                except (ValueError, KeyError, TypeError) as error:
                    raise InputError(
                        f"line {number} of {self.source} is no episode of an evaluation: {error}."
                    ) from None
                if differing := [name for name in found if found[name] != self._settings[name]]:
                    name = differing[0]
                    raise InputError(
                        f"{self.source} was begun with {name} {found[name]!r}, not {self._settings[name]!r}; go on "
                        "with the same settings, or give another file."
                    )
                self._keep(record, end, len(line))
                end += len(line)
        return end

    def _keep(self, record: EpisodeRecord, start: int, length: int) -> None:
        self.records[record.index, record.sample] = record
        self._lines[record.index, record.sample] = start, length
        self._sound = self._sound or record.error is None

    def check_plan(self, plan: EpisodePlan) -> None:
        """Raise InputError if an episode read from the file does not match ``plan``."""
        for (index, sample), record in self.records.items():
            planned, _ = plan.begin(index, sample)
            for name in ("seed", "requested"):
                if getattr(planned, name) != getattr(record, name):
                    asked = "difficulty" if name == "requested" else "seed"
                    raise InputError(
                        f"episode {index} of {self.source} has {asked} {getattr(record, name)}, not "
                        f"{getattr(planned, name)}; go on with the same seed, number of episodes and difficulties."
                    )

    def forget(self, key: tuple[int, int]) -> None:
        """Remove an episode that will be played again."""
        del self.records[key], self._lines[key]

    def append(self, record: EpisodeRecord) -> None:
        """Append a finished episode to the file.

        Raises:
            InputError: the file cannot be written; earlier episodes are kept.
        """
        row = {**self._settings, **record.to_json()}
        if record.replay is not None:  # relative, so that the files can be moved together
            row["replay"] = os.path.relpath(record.replay, self.path.parent)
        line = (json.dumps(row, default=to_plain_data) + "\n").encode()
        try:
            if self._stream is None:
                if self.source != self.partial:
                    shutil.copyfile(self.source, self.partial)
                    self.source = self.partial
                self._stream = self.partial.open("r+b" if self.partial.exists() else "w+b")
                self._stream.truncate(self._end)
                self._stream.seek(self._end)
            self._stream.write(line)
            self._stream.flush()
        except OSError as error:
            raise InputError(
                f"{self.partial} cannot be written: {error}. The episodes in it are kept; go on with --resume."
            ) from error
        self._keep(record, self._end, len(line))
        self._end += len(line)

    def finish(self) -> None:
        """Write all episodes to ``path`` in the order of the plan, and delete ``path``.partial."""
        self.close()
        write_atomically(self.path, self._ordered())
        self.partial.unlink(missing_ok=True)

    def _ordered(self) -> Iterator[str]:
        if not self._lines:
            return
        with self.source.open("rb") as stream:
            for start, length in (self._lines[key] for key in sorted(self._lines)):
                stream.seek(start)
                yield stream.read(length).decode()

    def close(self) -> None:
        """Close the file; delete ``path``.partial if every episode in it ended with an error."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
            if not self._sound:
                self.partial.unlink(missing_ok=True)


def to_plain_data(value: Any) -> Any:
    """Convert a value for JSON: numpy arrays and scalars to lists and numbers, anything else to its repr."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return repr(value)
