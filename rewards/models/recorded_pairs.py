"""Preference pairs and labels of steps in recorded rows: files of pairs, of labelled steps, and of episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import InputError, shorten
from ..terms.prefixes import PrefixProbe
from .preference_rows import has_preference, read_preference
from .preferences import Preference

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StepLabel:
    """Label of a step of a response, for process reward models.

    Args:
        prompt: the prompt.
        prefix: the response up to the end of the step.
        right: True for a right step.
        step: index of the step.
        steps: number of steps of the response.
    """

    prompt: str
    prefix: str
    right: bool
    step: int
    steps: int


def last_response(row: Row) -> tuple[str, str]:
    """Return the first observation and the last action of a recorded episode.

    Raises:
        InputError: the row has no turns.
    """
    turns = row.get("turns")
    if not isinstance(turns, list) or not turns:
        raise InputError(f"a row must be a pair, labelled steps or an episode with turns, not {shorten(str(row), 80)}.")
    return str(turns[0].get("observation")), str(turns[-1].get("action"))


def read_pairs(rows: Sequence[Row]) -> list[Preference]:
    """Read preference pairs from rows with "prompt", "chosen" and "rejected", as `read_preference`, and from episodes.

    A pair may have a "margin" (or "strength", the same) and a "smoothing". Episodes are rows of a file of `evaluate` or
    of a run's ``trajectories.jsonl``: of the valid ones of a task, every success is paired with every failure whose
    text differs.

    Raises:
        InputError: a row is neither.
    """
    pairs: list[Preference] = []
    tasks: dict[tuple[Any, Any], tuple[list[tuple[str, str]], list[tuple[str, str]]]] = {}
    for row in rows:
        if has_preference(row):
            found = read_preference(row)
            if not (found.chosen and found.rejected):
                raise InputError(f"a reward model learns from pairs, not from one labelled reply: {shorten(str(row))}.")
            pairs.append(Preference(*found.texts, found.strength or 0.0, float(row.get("smoothing", 0.0))))
            continue
        response = last_response(row)
        if row.get("reward_valid") is not False:
            tasks.setdefault((row.get("env"), row.get("task_id")), ([], []))[not row.get("is_success")].append(response)
    for won, lost in tasks.values():
        pairs += [
            Preference(prompt, right, wrong)
            for prompt, right in won
            for _, wrong in lost
            if right.strip() != wrong.strip()
        ]
    return pairs


def list_prefixes(actions: Sequence[str], probe: PrefixProbe) -> list[str]:
    """Return the text of an episode up to the end of each turn, or of each part of its only turn."""
    if len(actions) == 1:
        return [actions[0][:stop] for _, stop in probe.split_parts(actions[0])]
    return ["\n".join(actions[: n + 1]) for n in range(len(actions))]


def read_step_labels(rows: Sequence[Row], min_segment: int = 100) -> list[StepLabel]:
    """Read labels of steps from rows with "prompt", "steps" and "labels", and from episodes with measures.

    Labels are booleans, or numbers of which those above 0 are right (PRM800K, arXiv 2305.20050). An episode has them in
    "step_labels" of its "measures", as a run with ``--measures wrong_step`` or ``step_labels`` writes it to
    ``trajectories.jsonl``; its steps are its turns, or the parts of its only turn.

    Args:
        rows: the rows.
        min_segment: shortest part of a response in characters, as in the run that labelled the episodes.

    Raises:
        InputError: a row without labels, or with another number of them than of steps.
    """
    probe = PrefixProbe(min_segment=min_segment)
    found = []
    for row in rows:
        if "steps" in row and "labels" in row:
            prompt, labels = str(row.get("prompt", "")), row["labels"]
            prefixes = ["\n".join(map(str, row["steps"][: n + 1])) for n in range(len(row["steps"]))]
        else:
            prompt, _ = last_response(row)
            labels = (row.get("measures") or {}).get("step_labels")
            prefixes = list_prefixes([str(turn.get("action")) for turn in row["turns"]], probe)
        if not isinstance(labels, list) or len(labels) != len(prefixes):
            raise InputError(
                f"{len(prefixes)} steps need as many labels, not {shorten(repr(labels), 60)}; train with --measures "
                "wrong_step, and give --min-segment as there."
            )
        found += [
            StepLabel(prompt, text, label > 0, n, len(labels)) for n, (text, label) in enumerate(zip(prefixes, labels))
        ]
    return found
