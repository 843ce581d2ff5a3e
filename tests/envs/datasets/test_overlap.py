"""Questions of a test set in training data: what counts as a repetition, and that it is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from palaestra.envs import from_dataset
from palaestra.envs.datasets.overlap import TestTexts, question_of
from palaestra.errors import InputError
from palaestra.scripts import dataset

QUESTION = "A baker bakes twelve loaves in each of three ovens and sells nine of them"  # fifteen words


def test_more_than_half_of_a_questions_words_in_common_runs_is_a_repetition():
    tests = TestTexts([QUESTION, "What is 7 times 8?"])
    words = QUESTION.lower().split()
    assert tests.overlap(f"So: {QUESTION}! How many?") == 1.0
    assert tests.overlap(" ".join(words[:8])) == pytest.approx(8 / 15)
    assert tests.has(" ".join(words[:8]))
    assert not tests.has(" ".join(words[:7]))  # no run of eight
    assert not tests.has(" ".join(reversed(words)))
    assert not TestTexts([f"{QUESTION} and gives the rest away"]).has(" ".join(words[:10]))  # 10 of 20
    assert tests.has("Tell me: what is 7 times 8")  # shorter than a run: as a whole
    assert not tests.has("What is 7 times 9?")
    assert TestTexts([]).overlap(QUESTION) == 0.0


def test_the_question_of_a_record_is_its_prompt_and_not_its_replies():
    assert question_of({"id": "x" * 90, "Question": "why?"}) == "why?"
    messages = [{"role": "user", "content": "why?"}, {"role": "assistant", "content": "so"}]
    assert question_of({"messages": messages}) == "why?"
    assert question_of({"a": "short", "b": "a longer text"}) == "a longer text"
    assert question_of({"a": 1}) == ""


def write(file: Path, rows: list[dict[str, Any]]) -> str:
    file.write_text("\n".join(map(json.dumps, rows)))
    return str(file)


def test_a_data_set_leaves_the_questions_of_its_tests_out(tmp_path: Path):
    asked = [f"{QUESTION}, then {n} more. How many are left?" for n in range(3)]
    rows = [{"question": text, "answer": n} for n, text in enumerate([*asked, "How much is 3 + 4?", "And 5 + 6?"])]
    train = write(tmp_path / "train.jsonl", rows)
    tests = write(tmp_path / "test.jsonl", [{"prompt": asked[1]}])
    with pytest.warns(UserWarning, match="3 of 5 questions .* are left out"):
        env: Any = from_dataset(train, prompt="question", answer="answer", against=tests, split="all").unwrapped
    assert {env.reset(options={"row": row})[0] for row in env.rows} == {"How much is 3 + 4?", "And 5 + 6?"}
    with pytest.raises(InputError, match="all 5 questions"):
        from_dataset(train, prompt="question", answer="answer", against=[train])
    with pytest.raises(InputError, match="has no questions"):
        from_dataset(train, prompt="question", answer="answer", against=write(tmp_path / "none.jsonl", [{"a": 1}]))


def test_rows_of_episodes_are_written_without_the_questions_of_a_test(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    turn = {"observation": QUESTION, "action": "27", "reward": 1.0}
    episodes = [
        {"env": "e", "task_id": str(n), "is_success": True, "turns": [{**turn, "observation": text}]}
        for n, text in enumerate([QUESTION, "Two and two?"])
    ]
    played, tests = write(tmp_path / "played.jsonl", episodes), write(tmp_path / "t.jsonl", [{"question": QUESTION}])
    out = tmp_path / "sft.jsonl"
    assert dataset.main(["--from", played, "--against", tests, "--out", str(out)]) == 0
    assert "1 rows that repeat a test question left out" in capsys.readouterr().out
    assert [question_of(json.loads(line)) for line in out.read_text().splitlines()] == ["Two and two?"]
