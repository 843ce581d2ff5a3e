"""Folders of which each is one record, as APPS is published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from palaestra.envs.datasets.sources import read_source
from palaestra.errors import InputError

RESULTS = {"+": ["10\n", "10\n"], "-": ["4\n", "6\n"], "*": ["21\n", "16\n"]}
SOLUTION = "a, b = map(int, input().split())\nprint(a {sign} b)"


def problem(folder: Path, question: str, sign: str, **files: str) -> None:
    """A problem on two numbers in the files that APPS has for one."""
    folder.mkdir(parents=True)
    pairs = {"inputs": ["7 3\n", "8 2\n"], "outputs": RESULTS[sign]}
    files = {
        "question.txt": question,
        "input_output.json": json.dumps(pairs),
        "solutions.json": json.dumps([SOLUTION.format(sign=sign)]),
        "metadata.json": json.dumps({"difficulty": "interview", "url": "https://example.org/1"}),
        **files,
    }
    for name, text in files.items():
        (folder / name).write_text(text)


@pytest.fixture
def published(tmp_path: Path) -> Path:
    problem(tmp_path / "train" / "0000", "Add two numbers.", "+")
    problem(tmp_path / "train" / "0001", "Multiply two numbers.", "*", **{"starter_code.py": "x = 1\n"})
    problem(tmp_path / "test" / "0000", "Subtract a number from another.", "-")
    return tmp_path


def test_each_folder_is_a_record_of_its_files(published: Path) -> None:
    (first, fields), (second, more) = read_source(str(published), "train")
    assert (first, second) == ("train/0000", "train/0001")
    assert fields["question"] == "Add two numbers."
    assert (fields["difficulty"], fields["url"]) == ("interview", "https://example.org/1")
    assert json.loads(fields["input_output"])["outputs"] == ["10\n", "10\n"]
    assert set(fields) == {"question", "input_output", "solutions", "difficulty", "url"}
    assert more["starter_code"] == "x = 1\n"


def test_a_single_folder_is_a_record_too(published: Path) -> None:
    ((_, fields),) = read_source(str(published / "test" / "0000"))
    assert fields["question"] == "Subtract a number from another."


def test_parts_are_not_mixed(published: Path) -> None:
    with pytest.raises(InputError, match="has the parts test, train; say which"):
        list(read_source(str(published)))


def test_apps_asks_and_judges_what_the_folders_hold(published: Path) -> None:
    env: Any = gym.make("palaestra/APPS-v0", source=str(published), part="train", split="all").unwrapped
    asked = set()
    for seed in range(8):
        prompt, info = env.reset(seed=seed)
        assert info["params"]["level"] == 2
        asked.add(prompt.split("\n")[0])
        assert env.step(env.oracle())[1] == 1.0
        env.reset(seed=seed)
        assert env.step("```python\na, b = map(int, input().split())\nprint(a - b)\n```")[1] == 0.0
    assert asked == {"Add two numbers.", "Multiply two numbers."}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("metadata.json", "{", r"0000/metadata\.json is not JSON"),
        ("metadata.json", "[]", r"0000/metadata\.json is list, not a record"),
        ("question.txt", b"\xff", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(published: Path, name: str, content: Any, message: str) -> None:
    file = published / "train" / "0000" / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=message):
        list(read_source(str(published), "train"))
