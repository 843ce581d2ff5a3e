"""Rows of TRL's data sets and the judgement of completions, for `palaestra.integrations.trl`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..errors import InputError
from .core import EpisodeResult, EpisodeRow, TextEpisode

INSTRUCTION = (
    "Take every action by calling a tool; text outside of a call is not seen. Stop calling when you are told that the "
    "episode is over."
)
"""System prompt of episodes that are played with tools."""


def prompt_of(episode: TextEpisode, row: EpisodeRow, tools: bool) -> list[dict[str, str]]:
    """Return the messages of a row's prompt: the observation, or with ``tools`` only `INSTRUCTION`."""
    if tools:
        return [{"role": "system", "content": INSTRUCTION}, {"role": "user", "content": ""}]
    return [{"role": "user", "content": episode.begin(row)}]


def judge(
    episode: TextEpisode, env_id: str, kwargs: str, completions: Sequence[Any], columns: Mapping[str, Sequence[Any]]
) -> Iterator[EpisodeResult | None]:
    """Play each completion as the answer to its row and yield the result; None for a row of another id.

    Raises:
        InputError: there is no column "seed".
    """
    if "seed" not in columns:
        raise InputError(f"the data set has no column 'seed'; take palaestra.integrations.trl.dataset({env_id!r}, n).")
    for index, completion in enumerate(completions):
        row = {name: columns[name][index] for name in ("env", "seed", "kwargs", "options") if name in columns}
        if row.get("env", env_id) != env_id:
            yield None
            continue
        episode.begin(EpisodeRow.read({"kwargs": kwargs, **row, "env": env_id}))
        text = completion
        if not isinstance(completion, str):  # messages, of which the last one counts
            text = (completion[-1].get("content") if completion else None) or ""
        if isinstance(text, list):
            text = "".join(part.get("text", "") for part in text)
        episode.act(text)
        yield episode.result()
