"""Rubrics made from pairs of a chosen and a rejected response, and kept where they reproduce the choice.

As for OpenRubrics (arXiv 2510.07743): hard rules that can be checked and principles that a judge decides are written
from the contrast, and a rubric is kept only if the judge who follows it prefers the chosen response. A writer is any
function; `write_by_rules` needs no model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..episode import Episode, Step
from ..verifiers.further_constraints import COUNTS, PLAIN
from ..verifiers.text_parts import count_sentences, count_words, lines_of, paragraphs_of
from .judge import Judge
from .judge_rewards import RubricReward
from .rubric import Criterion
from .rules import RuleJudge

Writer = Callable[[str, str, str], Sequence[Criterion]]
"""Makes criteria of a prompt, a chosen and a rejected response."""

MOST = 4
"""Most hard rules of a rubric."""
LEAD = 0.1
"""Least lead of the chosen response's score by which a principle joins a rubric."""
PRINCIPLES = ("short", "long", "polite", "cites evidence", "does not flatter", "does not praise itself")

_COUNTS: Mapping[str, Callable[[str], int]] = {
    "words": count_words,
    "sentences": count_sentences,
    "paragraphs": lambda text: len(paragraphs_of(text)),
    "lines": lambda text: len(lines_of(text)),
    **COUNTS,
}


def write_by_rules(prompt: str, chosen: str, rejected: str) -> list[Criterion]:
    """Write the criteria by which a chosen response differs from a rejected one.

    Hard rules are constraints on counts, half-way between the two responses, and on the form, the `MOST` with the
    largest relative difference; principles are those of the rule-coded judge with a lead of `LEAD` or more.
    """
    rules: list[tuple[float, dict[str, Any]]] = [
        (1.0, {"kind": kind}) for kind, check in PLAIN.items() if check(chosen) and not check(rejected)
    ]
    for kind, count in _COUNTS.items():
        one, two = count(chosen), count(rejected)
        middle = (one + two) // 2
        if one != two:
            bound = {"min": middle + 1} if one > two else {"max": middle}
            rules.append((abs(one - two) / max(one, two), {"kind": kind, **bound}))
    rules.sort(key=lambda rule: -rule[0])
    hard = [
        Criterion(f"keeps {constraint}", kind="factual", verifier="constraints", reference=[constraint])
        for _, constraint in rules[:MOST]
    ]
    judge = RuleJudge()
    leads = {name: judge.score(name, prompt, [chosen, rejected]).scores for name in PRINCIPLES}
    return [*hard, *(Criterion(name) for name, (one, two) in leads.items() if one - two >= LEAD)]


def prefers_chosen(rubric: Sequence[Criterion], prompt: str, chosen: str, rejected: str, judge: Judge) -> bool | None:
    """Return True if a judge who follows a rubric scores the chosen response above the rejected one; None if the judge
    failed."""
    if not any(criterion.points > 0 for criterion in rubric):
        return False
    sides = [
        Episode("", {}, (Step(prompt, text, 0.0, {}, 0),), False, 0.0, True, False, None) for text in (chosen, rejected)
    ]
    one, two = RubricReward(criteria=list(rubric), judge=judge).group(sides)
    return one.reward > two.reward if one.valid and two.valid else None


def make_rubric(
    prompt: str, chosen: str, rejected: str, judge: Judge, write: Writer = write_by_rules, tries: int = 1
) -> tuple[Criterion, ...] | None:
    """Write a rubric of a pair; None if in ``tries`` attempts none made the judge prefer the chosen response."""
    for _ in range(tries):
        rubric = tuple(write(prompt, chosen, rejected))
        if prefers_chosen(rubric, prompt, chosen, rejected, judge):
            return rubric
    return None
