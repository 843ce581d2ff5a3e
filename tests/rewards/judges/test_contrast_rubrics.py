"""Rubrics from pairs: they reproduce the choice or are dropped; and rubrics found for similar prompts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, Step, make
from palaestra.rewards.judges import Criterion, RubricBook, RuleJudge
from palaestra.rewards.judges.contrast_rubrics import make_rubric, prefers_chosen, write_by_rules

CHOSEN = "1. Boil water, as reported by the cook [1].\n2. Add salt."
REJECTED = "Great question! You boil water and you add some salt, and that is all there is to it, I would say."


def test_the_contrast_is_written_as_rules_that_can_be_checked_and_principles():
    rubric = write_by_rules("How?", CHOSEN, REJECTED)
    hard = [criterion.reference[0] for criterion in rubric if criterion.verifier == "constraints"]
    assert {"kind": "numbered-items", "min": 2} in hard
    assert len(hard) <= 4
    assert {"cites evidence", "does not flatter"} <= {criterion.text for criterion in rubric}


def test_a_rubric_is_kept_if_the_judge_who_follows_it_prefers_the_chosen_response():
    judge = RuleJudge()
    rubric = make_rubric("How?", CHOSEN, REJECTED, judge)
    assert rubric is not None
    assert prefers_chosen(rubric, "How?", CHOSEN, REJECTED, judge)
    # Flipped labels drop every kept rubric of a judge who is deterministic.
    assert not prefers_chosen(rubric, "How?", REJECTED, CHOSEN, judge)
    # A rubric that both meet is dropped, and so is one that no criterion is left of.
    both = [Criterion("keeps words", kind="factual", verifier="constraints", reference=[{"kind": "words", "min": 1}])]
    assert not prefers_chosen(both, "How?", CHOSEN, REJECTED, judge)
    assert make_rubric("How?", CHOSEN, REJECTED, judge, write=lambda *pair: both, tries=3) is None
    assert make_rubric("How?", CHOSEN, CHOSEN, judge) is None


def write(file: Path, rows: list[dict[str, object]]) -> str:
    file.write_text("\n".join(map(json.dumps, rows)))
    return str(file)


def test_a_prompt_that_is_not_in_the_book_gets_the_criteria_of_those_most_like_it(tmp_path: Path):
    rows = [
        {"prompt": "How do I boil an egg?", "rubric": [{"text": "cites evidence", "points": 2}, "short"]},
        {"prompt": "How do I fry an egg?", "rubric": ["short", "polite"]},
        {"prompt": "Who painted the ceiling of the chapel?", "rubric": ["long"]},
    ]
    file = write(tmp_path / "rubrics.jsonl", rows)
    book = RubricBook.read(file)
    assert [c.text for c in book.find("How do I fry an egg?")] == ["short", "polite"]
    near = book.find("How do I boil an egg softly?", 2)
    assert {c.text for c in near} == {"cites evidence", "short", "polite"}
    assert [prompt for prompt, _ in book.nearest("The ceiling of the chapel, who?", 1)] == [rows[2]["prompt"]]

    def answer(prompt: str, text: str) -> float:
        step = Step(prompt, text, 0.0, {}, 1)
        return make("rubric", criteria=file, similar=1)(Episode("", {}, (step,), True, 1.0, True, False, None)).reward

    assert answer("Who painted the ceiling of a chapel?", "x" * 900) == 1.0
    assert answer("How do I boil an egg?", "see also [1], according to arxiv") == 1.0
    assert answer("How do I boil an egg?", "no") == pytest.approx(1 / 3)


def test_files_that_are_no_rubrics_are_refused(tmp_path: Path):
    for rows in ([], [{"prompt": "x"}], [{"prompt": "x", "rubric": []}], [{"prompt": "x", "rubric": [7]}]):
        with pytest.raises(InputError):
            RubricBook.read(write(tmp_path / "r.jsonl", rows))
    with pytest.raises(InputError, match="no file of rubrics"):
        make("rubric", criteria=str(tmp_path / "none.jsonl"))
