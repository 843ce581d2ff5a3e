"""``palaestra rubrics``: write rubrics from pairs of replies, or for new prompts from the rubrics of similar ones.

Input are JSON lines with prompt, chosen and rejected, as palaestra dataset --pairs writes them; with --like, prompts
suffice. A rubric of a pair is kept if the judge who follows it prefers the chosen reply. The output is read by the
reward rubric: --shaping "rubric(criteria='rubrics.jsonl')".

examples:
  palaestra rubrics pairs.jsonl --out rubrics.jsonl
  palaestra rubrics pairs.jsonl --agent openai:MODEL --judge '{"judge": "endpoint", "model": "MODEL"}' --out made.jsonl
  palaestra rubrics prompts.jsonl --like rubrics.jsonl --agent runs/writer --out more.jsonl
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tyro

from ..agents import agent_judge  # noqa: F401  (registers the judge "agent")
from ..agents.agent import Agent
from ..agents.atomic import check_output, write_atomically
from ..agents.lookup import find_agent
from ..envs.datasets.overlap import question_of
from ..errors import InputError
from ..rewards.judges import Criterion, RubricBook, as_judge
from ..rewards.judges.contrast_rubrics import make_rubric, write_by_rules
from ..rewards.models.preference_rows import read_preference
from .report import iterate_rows

_LINE = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+(\S.*)$", re.MULTILINE)
_REQUEST = (
    "Write the criteria by which replies to this prompt should be judged: what a good reply does, in general words "
    "that do not quote it. One criterion a line, each line beginning with a hyphen."
)


@dataclass(frozen=True)
class RubricOptions:
    file: tyro.conf.Positional[Path]
    """JSON lines with prompt, chosen and rejected; with --like, with prompts."""
    out: Path
    """File for the rubrics, .jsonl."""
    agent: str | None = None
    """Model that writes the criteria, named as for palaestra eval; by default they are written by rules."""
    judge: str = "rules"
    """Judge who must prefer the chosen reply: a name, or JSON with "judge" and its options."""
    tries: int = 3
    """Attempts of a model for each pair."""
    like: Path | None = None
    """Rubrics of other prompts, from which those of the prompts in the file are made."""
    similar: int = 3
    """With --like, number of similar prompts whose rubrics are joined, or shown to the model."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = tyro.cli(RubricOptions, args=argv, prog="palaestra rubrics", description=__doc__)
    check_output(options.out, "--out")
    agent = find_agent(options.agent) if options.agent else None
    make = _like_others if options.like else _from_pairs
    rows = [row for _, row in iterate_rows(options.file)]
    rubrics: dict[str, tuple[Criterion, ...]] = {}
    for prompt, rubric in make(options, rows, agent):
        if rubric:
            rubrics.setdefault(prompt, rubric)
    if not rubrics:
        raise InputError(f"no rubric of the {len(rows)} rows of {options.file} made the judge prefer the chosen reply.")
    lines = (
        json.dumps({"prompt": prompt, "rubric": [asdict(criterion) for criterion in rubric]}, ensure_ascii=False)
        for prompt, rubric in rubrics.items()
    )
    write_atomically(options.out, "".join(f"{line}\n" for line in lines))
    print(f"{options.out}: rubrics of {len(rubrics):,} prompts, from {len(rows):,} rows")
    return 0


def _from_pairs(
    options: RubricOptions, rows: Sequence[Any], agent: Agent | None
) -> Iterator[tuple[str, tuple[Criterion, ...] | None]]:
    judge = as_judge(json.loads(options.judge) if options.judge.lstrip().startswith("{") else options.judge)

    def write(prompt: str, chosen: str, rejected: str) -> Sequence[Criterion]:
        assert agent is not None
        contrast = f"Prompt:\n{prompt}\n\nA better reply:\n{chosen}\n\nA worse reply:\n{rejected}"
        return read_criteria(_ask(agent, f"{_REQUEST}\n\n{contrast}"))

    for row in rows:
        prompt, chosen, rejected = read_preference(row).texts
        if agent is None:
            yield prompt, make_rubric(prompt, chosen, rejected, judge, write_by_rules)
        else:
            yield prompt, make_rubric(prompt, chosen, rejected, judge, write, options.tries)


def _like_others(
    options: RubricOptions, rows: Sequence[Any], agent: Agent | None
) -> Iterator[tuple[str, tuple[Criterion, ...] | None]]:
    assert options.like is not None
    book = RubricBook.read(options.like)
    for prompt in map(question_of, rows):
        if agent is None:
            yield prompt, book.find(prompt, options.similar)
            continue
        examples = (
            "\n".join([f"Prompt:\n{other}", *(f"- {criterion.text}" for criterion in rubric)])
            for other, rubric in book.nearest(prompt, options.similar)
        )
        yield prompt, tuple(read_criteria(_ask(agent, "\n\n".join([_REQUEST, *examples, f"Prompt:\n{prompt}"]))))


def _ask(agent: Agent, text: str) -> str:
    agent.reset([0])
    (reply,) = agent.act([text], [{}])
    return str(reply).rpartition("</think>")[2]


def read_criteria(text: str) -> list[Criterion]:
    """Read the lines of a text that begin with a hyphen, a bullet or a number, each as a criterion of one point."""
    return [Criterion(" ".join(found.split())) for found in _LINE.findall(text)]
