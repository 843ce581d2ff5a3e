"""Analyser: writes a report on played episodes for the designer of the next round.

The report is a text with computed statistics of rows of a run's ``trajectories.jsonl`` or of freshly played episodes.
An agent can add the likely causes of failure, which it reads from failed trajectories.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError
from ...rewards import Episode
from ...rewards.design import ProgramValue
from ..agent import Agent
from .asking import ask, shorten

Rows = Sequence[Mapping[str, Any]]

_CHECKPOINTS = 10
"""Number of parts into which a run's episodes are divided; means are shown for each (Eureka, arXiv 2310.12931)."""
_SHOWN_FAILURES, _SHOWN_TURNS = 3, 6


def read_rows(run: Path) -> list[dict[str, Any]]:
    """Read the rows of a run's ``trajectories.jsonl``.

    Raises:
        InputError: the file is missing, or holds no episodes.
    """
    path = run / "trajectories.jsonl"
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise InputError(f"{str(path)!r} cannot be read: {error}; give the folder of a run that has trained.") from None
    if not rows:
        raise InputError(f"{str(path)!r} holds no episodes; give the folder of a run that has trained.")
    return rows


def rows_of(episodes: Sequence[Episode], values: Sequence[ProgramValue]) -> list[dict[str, Any]]:
    """Convert episodes, and the results of a reward program on them, to the form of rows of ``trajectories.jsonl``."""
    return [
        {
            "turns": [
                {"observation": step.observation, "action": step.action, "action_error": step.action_error}
                for step in episode.steps
            ],
            "is_success": episode.success,
            "progress": episode.progress,
            "truncated": episode.truncated,
            "reward_valid": episode.valid,
            "program_value": {"sparse": value.sparse, "dense": dict(value.dense), "error": value.error},
        }
        for episode, value in zip(episodes, values, strict=True)
    ]


def summarise(rows: Rows) -> str:
    """Return statistics of episodes as text: outcomes and, if present, a program's reward terms, over time.

    Args:
        rows: episodes in the order of play.
    """
    rows = [row for row in rows if row["reward_valid"]]
    if not rows:
        return "No valid episode was played."
    parts = [part for part in np.array_split(np.arange(len(rows)), min(_CHECKPOINTS, len(rows))) if len(part)]

    def over_time(values: Sequence[float]) -> str:
        return " ".join(f"{np.mean([values[place] for place in part]):.2f}" for part in parts)

    turns = [row["turns"] for row in rows]
    errors = Counter(turn["action_error"] for steps in turns for turn in steps if turn["action_error"])
    lines = [
        f"{len(rows)} episodes, here in {len(parts)} parts from the first to the last:",
        f"success: {over_time([row['is_success'] for row in rows])}",
        f"progress: {over_time([row['progress'] for row in rows])}",
        f"turns: {over_time([len(steps) for steps in turns])}",
        f"cut off by a limit: {over_time([row['truncated'] for row in rows])}",
    ]
    lines += [f"action error, {count} times: {shorten(error, 160)}" for error, count in errors.most_common(3)]
    values = [row.get("program_value") for row in rows]
    return "\n".join(lines + (_summarise_program(rows, parts) if all(values) else []))


def _summarise_program(rows: Rows, parts: Sequence[np.ndarray]) -> list[str]:
    values = [row["program_value"] for row in rows]
    failures = Counter(value["error"] for value in values if value["error"])
    lines = [f"your program failed on {count} episodes: {error}" for error, count in failures.most_common(3)]
    # A number that is not finite is null in the rows of a run.
    dense = [{name: np.nan if v is None else v for name, v in value["dense"].items()} for value in values]
    for name in sorted({name for terms in dense for name in terms}):
        series = [[v for i in part if np.isfinite(v := dense[i].get(name, np.nan))] for part in parts]
        shown = [
            f"{label} " + " ".join(f"{take(numbers):.3g}" if numbers else "-" for numbers in series)
            for label, take in (("mean", np.mean), ("lowest", min), ("highest", max))
        ]
        infinite = sum(name in terms and not np.isfinite(terms[name]) for terms in dense)
        lines.append(f"dense term {name}: {'; '.join(shown)}" + (f"; not finite {infinite} times" if infinite else ""))
    signs = [int(np.sign(np.nan_to_num(sum(terms.values())))) for terms in dense]
    for label, success in (("successes", True), ("failures", False)):
        own = [sign for sign, row in zip(signs, rows, strict=True) if row["is_success"] is success]
        if own:
            lines.append(
                f"sign of the dense sum for {len(own)} {label}: {own.count(1)} positive, {own.count(-1)} negative, "
                f"{own.count(0)} zero"
            )
    if len(set(signs)) == 1:
        lines.append("As the sign of the dense sum is the same for every episode, it teaches nothing.")
    return lines


def analyse(rows: Rows, analyser: Agent | None = None) -> str:
    """Return the summary of episodes for the designer; an agent ``analyser`` adds causes of failure and suggestions."""
    text = summarise(rows)
    failed = [row for row in rows if row["reward_valid"] and not row["is_success"]]
    if analyser is None or not failed:
        return text
    chosen = [failed[place] for place in np.unique(np.linspace(0, len(failed) - 1, _SHOWN_FAILURES).astype(int))]
    shown = "\n\n".join(f"Failed episode {number}:\n{_show(row)}" for number, row in enumerate(chosen, 1))
    advice = ask(analyser, _ANALYSE.format(statistics=text, episodes=shown))
    return f"{text}\n\nAn analyst's view of failed episodes:\n{advice.strip()}"


def _show(row: Mapping[str, Any]) -> str:
    turns = row["turns"]
    last = turns[-_SHOWN_TURNS:]
    left_out = [f"({len(turns) - len(last)} turns before these)"] if len(turns) > len(last) else []
    lines = [
        f"saw: {shorten(turn['observation'], 600)}\nwrote: {shorten(turn['action'], 300)}"
        + (f"\nerror: {shorten(turn['action_error'], 200)}" if turn["action_error"] else "")
        for turn in last
    ]
    return "\n".join([*left_out, *lines])


_ANALYSE = """You analyse how an agent fails at a task, for the designer of its reward function.

Statistics of the episodes it has played:
{statistics}

{episodes}

Name the likely causes of the failures in a few short lines, and for each what a dense reward should encourage or
punish."""
