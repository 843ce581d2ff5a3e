"""palaestra rubrics: files of rubrics from pairs, by rules and by an agent, and from similar prompts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from palaestra.rewards.judges import RubricBook
from palaestra.scripts.cli import main
from palaestra.scripts.rubrics import read_criteria

PAIR = {
    "prompt": [{"role": "user", "content": "How do I boil an egg?"}],
    "chosen": [{"role": "assistant", "content": "1. Boil water [1].\n2. Add the egg."}],
    "rejected": [{"role": "assistant", "content": "Great question! You boil it."}],
}
SAME = {"prompt": "Who?", "chosen": "Me.", "rejected": "Me."}
WRITER = """
asked = []

def writer(observation):
    asked.append(observation)
    return "<think>- no</think>Criteria:\\n- cites evidence\\n2) does not flatter"
"""


def write(file: Path, *rows: object) -> str:
    file.write_text("\n".join(map(json.dumps, rows)))
    return str(file)


def test_pairs_become_rubrics_and_those_who_tell_nothing_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    pairs, out = write(tmp_path / "pairs.jsonl", PAIR, SAME), tmp_path / "rubrics.jsonl"
    assert main(["rubrics", pairs, "--out", str(out)]) == 0
    assert "rubrics of 1 prompts, from 2 rows" in capsys.readouterr().out
    (prompt,) = RubricBook.read(out).rubrics
    assert prompt == "How do I boil an egg?"
    assert main(["rubrics", write(tmp_path / "same.jsonl", SAME), "--out", str(out)]) == 2
    new = write(tmp_path / "new.jsonl", {"question": "How do I boil two eggs?"})
    assert main(["rubrics", new, "--like", str(out), "--out", str(tmp_path / "more.jsonl")]) == 0
    (more,) = RubricBook.read(tmp_path / "more.jsonl").rubrics.values()
    assert more == RubricBook.read(out).rubrics[prompt]


def test_a_model_writes_the_criteria_and_sees_the_contrast_or_similar_rubrics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "rubric_writer.py").write_text(WRITER)
    monkeypatch.syspath_prepend(tmp_path)
    pairs, out = write(tmp_path / "pairs.jsonl", PAIR), tmp_path / "rubrics.jsonl"
    words = ["--agent", "rubric_writer:writer"]
    assert main(["rubrics", pairs, *words, "--out", str(out)]) == 0
    (rubric,) = RubricBook.read(out).rubrics.values()
    assert [criterion.text for criterion in rubric] == ["cites evidence", "does not flatter"]
    new = write(tmp_path / "new.jsonl", {"prompt": "How do I fry an egg?"})
    assert main(["rubrics", new, "--like", str(out), *words, "--out", str(tmp_path / "more.jsonl")]) == 0
    import rubric_writer  # type: ignore[import-not-found]

    contrast, similar = rubric_writer.asked
    assert "A worse reply:\nGreat question!" in contrast
    assert "Prompt:\nHow do I boil an egg?\n- cites evidence" in similar


def test_criteria_are_the_listed_lines():
    assert [c.text for c in read_criteria("Here:\n- one  two\n3. three\nnot four\n• five")] == [
        "one two",
        "three",
        "five",
    ]
