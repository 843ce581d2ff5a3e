"""Recorded episodes as an audit reads them: the calls that were made, and what is usual for the environment.

An episode is a row of a file of ``palaestra eval --out`` or of a run's ``trajectories.jsonl``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]


def any_of(*patterns: str) -> re.Pattern[str]:
    """Compile a pattern that finds any of the patterns, in any case."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE | re.MULTILINE)


_CALL = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*\((.*)\)\s*", re.DOTALL)
_TAGGED = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Signal:
    """Sign that something is wrong.

    Args:
        name: a name in `SIGNALS`.
        turn: index of the turn in which it begins.
        detail: the text or number that shows it, at most 120 characters.
    """

    name: str
    turn: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One action as a call of a tool.

    Args:
        tool: name of the tool; the first word of a command, or the whole of another action.
        arguments: all else, as text.
        before, after: observation before and after the action; None if not recorded.
        failed: True if the environment could not use the action or answered by an error.
        text: the action as text.
    """

    tool: str
    arguments: str
    before: Any = None
    after: Any = None
    failed: bool = False
    text: str = ""


@dataclass(frozen=True)
class Trace:
    """An episode to scan.

    Args:
        row: the row of the file.
        calls: its actions.
        usual_turns: usual number of turns of a successful episode of the same task; None if not known.
        usual_return: usual sum of rewards of a successful episode; None if not known.
    """

    row: Row
    calls: Sequence[RecordedCall] = field(default=())
    usual_turns: float | None = None
    usual_return: float | None = None

    @property
    def succeeded(self) -> bool:
        return bool(self.row.get("is_success"))


def read_call(action: Any) -> tuple[str, str]:
    """Split an action into the name of a tool and its arguments: ``{"name": ...}``, ``name(...)``, or a command whose
    first word is the name. Actions that are no text have no arguments."""
    if not isinstance(action, str):
        return json.dumps(action), ""
    tagged = _TAGGED.findall(action)
    text = (tagged[-1] if tagged else action).strip()
    if text.startswith("{"):
        try:
            value = json.loads(text)
        except ValueError:
            value = {}
        if isinstance(value, dict) and isinstance(name := value.get("name", value.get("tool")), str):
            rest = value.get("arguments", value.get("parameters", value.get("args", {})))
            return name, json.dumps(rest, sort_keys=True)
    if match := _CALL.fullmatch(text):
        return match[1], match[2]
    name, _, rest = text.partition(" ")
    return name, rest.strip()


_FAILURE = re.compile(r"^\s*(?:error\b|exception\b|traceback\b|invalid\b|unknown\b|failed\b)", re.IGNORECASE)


def read_trace(row: Row, usual_turns: float | None = None, usual_return: float | None = None) -> Trace:
    """Read the actions of an episode; see `Trace`."""
    turns = list(row.get("turns") or ())
    calls = []
    for place, turn in enumerate(turns):
        after = turns[place + 1].get("observation") if place + 1 < len(turns) else row.get("final_observation")
        failed = turn.get("action_error") is not None or (isinstance(after, str) and bool(_FAILURE.match(after)))
        action = turn.get("action")
        text = action if isinstance(action, str) else ""
        calls.append(RecordedCall(*read_call(action), turn.get("observation"), after, failed, text))
    return Trace(row, calls, usual_turns, usual_return)
