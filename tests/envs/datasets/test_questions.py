"""Environments over data sets: sources, axes, splits and warnings."""

from __future__ import annotations

import json
import logging
import os
import pickle
import re
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import gymnasium as gym
import palaestra.envs  # noqa: F401
import pytest
from palaestra.envs.datasets import collection as collections_module
from palaestra.envs.datasets.questions import BUILT_IN
from palaestra.envs.splits import split_of
from palaestra.errors import InputError

FAMILIES = {"GSM8K": "gsm8k", "MATH": "math", "AIME": "aime", "MultipleChoiceQuestions": "multiple_choice"}


def make(family: str, source: Any = None, **kwargs: Any) -> Any:
    source = source if source is None or isinstance(source, (int, list)) else str(source)
    return gym.make(f"palaestra/{family}-v0", disable_env_checker=True, source=source, **kwargs).unwrapped


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def word_problem(number: int, steps: int = 2, answer: int | str = 72) -> dict[str, Any]:
    return {"question": f"Question {number}: how many clips?", "answer": "A step.\n" * steps + f"#### {answer}"}


def problem(number: int, level: int, answer: str = "x") -> dict[str, Any]:
    text = f"Problem {number}."
    return {"problem": text, "level": f"Level {level}", "solution": f"It is $\\boxed{{{answer}}}$."}


def in_split(split: str, count: int, **fields: Any) -> list[dict[str, Any]]:
    numbers = (n for n in range(10_000) if split_of(word_problem(n)["question"]) == split)
    return [word_problem(next(numbers), **fields) for _ in range(count)]


@pytest.mark.parametrize(("family", "name"), FAMILIES.items())
def test_a_copy_of_the_built_in_file_asks_the_same_questions(family: str, name: str, tmp_path: Path):
    records = (BUILT_IN / f"{name}.jsonl").read_text().splitlines()
    (tmp_path / "train.json").write_text("[" + ",\n".join(reversed(records)) + "]")
    # Of a published set all options are shown unless fewer are asked for.
    axes = {"axes": {"options": (2, 4)}} if family == "MultipleChoiceQuestions" else {}
    own, copied = make(family, **axes), make(family, tmp_path, part="train", **axes)
    assert own.param_space == copied.param_space
    for seed in range(20):
        assert own.reset(seed=seed) == copied.reset(seed=seed)


def test_a_source_is_read_once_in_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = write(tmp_path / "a.jsonl", [word_problem(n) for n in range(20)])
    make("GSM8K", path)

    def unreadable(*_: Any) -> Any:
        raise AssertionError("read a second time")

    monkeypatch.setattr(collections_module, "read_source", unreadable)
    make("GSM8K", path, difficulty=0.5).reset(seed=1)
    with pytest.raises(AssertionError, match="second time"):
        make("MATH", path)


def test_a_pickle_holds_the_name_of_the_source_and_not_its_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = write(tmp_path / "a.jsonl", [word_problem(n) for n in range(5_000)])
    monkeypatch.chdir(tmp_path)
    env = make("GSM8K", "a.jsonl")
    env.reset(seed=1)
    packed = pickle.dumps(env)
    assert len(packed) < 10_000 < path.stat().st_size
    # As in another process, with another working directory.
    monkeypatch.setattr(collections_module, "_CACHE", {})
    monkeypatch.chdir("/")
    assert pickle.loads(packed).reset(seed=3) == env.reset(seed=3)


def test_a_source_that_goes_or_changes_is_told_at_the_next_reset(tmp_path: Path):
    records = [word_problem(n) for n in range(20)]
    path = write(tmp_path / "a.jsonl", records)
    env = make("GSM8K", path)
    first = env.reset(seed=1)
    path.unlink()
    with pytest.raises(InputError, match=rf"no file or folder {path}"):
        env.reset(seed=1)
    write(path, records)
    os.utime(path, ns=(1, 1))
    assert env.reset(seed=1) == first
    write(path, records[:-1])
    with pytest.raises(InputError, match="has changed since this environment was made; make it anew"):
        env.reset(seed=1)
    make("GSM8K", path).reset(seed=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": "nothing.jsonl"}, "there is no file or folder"),
        ({"source": ""}, "source must name a file"),
        ({"source": 5}, "source must name a file.*5"),
        ({"source": ["a"]}, "source must name a file"),
        ({"source": "x\0y"}, "there is no file or folder"),
        ({"part": "train"}, "part and config belong to a source"),
        ({"config": "main"}, "part and config belong to a source"),
        ({"source": "openai/gsm8k", "part": 1}, "part must be text"),
        ({"source": "openai/gsm8k", "config": 1}, "config must be text"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str):
    with pytest.raises(InputError, match=message):
        make("GSM8K", **arguments)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_source_without_questions_is_refused(family: str, tmp_path: Path):
    for text in ("", "\n\n"):
        (tmp_path / "a.jsonl").write_text(text)
        with pytest.raises(InputError, match=r"a\.jsonl holds no .* question that can be asked; an? .* record has"):
            make(family, tmp_path / "a.jsonl")


def test_faults_of_a_record_name_file_line_and_field(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", [word_problem(1), {"question": "Two?", "solution": "#### 3"}])
    with pytest.warns(UserWarning, match=r"1 of 2 GSM8K records .* a\.jsonl, line 2: the field 'answer' is missing"):
        make("GSM8K", path, split="all")
    path = write(tmp_path / "b.jsonl", [{"question": "Two?", "solution": "#### 3"}])
    with pytest.raises(InputError, match=r"^b\.jsonl, line 1: the field 'answer' is missing"):
        make("GSM8K", path)
    path = write(tmp_path / "c.jsonl", [word_problem(1), *[{"question": "Two?"}] * 2])
    with pytest.raises(InputError, match=r"2 of 3 GSM8K records .*, the first being c\.jsonl, line 2"):
        make("GSM8K", path)


def test_records_that_cannot_be_judged_are_left_out_with_one_warning(tmp_path: Path):
    records = [problem(1, 1, "\\sum_{k} k"), problem(2, 1), problem(3, 2), {**problem(4, 1), "level": "Level ?"}]
    path = write(tmp_path / "a.jsonl", records)
    with pytest.warns(
        UserWarning, match=r"^2 of 4 MATH records of .*a\.jsonl are left out, .* a\.jsonl, line 1: .*sum"
    ):
        env = make("MATH", path, split="all")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make("MATH", path, split="all")
        prompts = {env.reset(seed=seed)[0].split("\n")[0] for seed in range(40)}
    assert prompts == {"Problem 2.", "Problem 3."}


def test_questions_that_are_far_too_long_are_left_out(tmp_path: Path):
    records = [word_problem(1), {"question": "x" * 12_001, "answer": "#### 3"}]
    with pytest.warns(UserWarning, match="line 2: the question has more than 12000 characters"):
        env = make("GSM8K", write(tmp_path / "a.jsonl", records), split="all")
    assert {env.reset(seed=seed)[0][:9] for seed in range(20)} == {"Question "}
    env = make("GSM8K", write(tmp_path / "b.jsonl", [{"question": "x" * 12_000, "answer": "#### 3"}]), split="all")
    assert env.observation_space.contains(env.reset(seed=0)[0])


def test_a_question_that_stands_twice_counts_once_and_the_first_answer_holds(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", [word_problem(1)] + [word_problem(1, answer=5)] * 99 + [word_problem(2)])
    with pytest.warns(UserWarning, match=r"99 questions .* again with another answer, such as row a\.jsonl, l"):
        env = make("GSM8K", path, split="all")
    assert {env.oracle() for seed in range(20) if env.reset(seed=seed)} == {"72"}
    counts = Counter(env.reset(seed=seed)[0] for seed in range(200))
    assert len(counts) == 2
    assert min(counts.values()) > 60


def test_axes_span_what_the_source_holds(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", [problem(n, level) for n, level in enumerate([2, 2, 4] * 9)])
    axis = make("MATH", path, split="all").param_space["level"]
    assert (axis.low, axis.high) == (2, 4)
    with pytest.raises(InputError, match="level must be a whole number from 2 to 4"):
        make("MATH", path, level=5)


@pytest.mark.parametrize(("wanted", "met"), [(1, 1), (2, 1), (3, 3), (4, 3), (5, 5)])
def test_a_level_without_problems_means_the_nearest_one(tmp_path: Path, wanted: int, met: int):
    path = write(tmp_path / "a.jsonl", [problem(n, level) for n, level in enumerate([1, 3, 5] * 9)])
    env = make("MATH", path, split="all")
    for seed in range(10):
        _, info = env.reset(seed=seed, options={"params": {"level": wanted}})
        assert info["params"]["level"] == wanted
        assert env.here().data.rung == met


def test_length_goes_from_the_shorter_half_to_the_longer(tmp_path: Path):
    lengths = [1, 3, 5, 7, 9, 11]
    records = [{**problem(n, 1), "problem": "x" * length} for n, length in enumerate(lengths)]
    env = make("MATH", write(tmp_path / "a.jsonl", records), split="all")

    def met(length: float) -> set[int]:
        options = {"params": {"length": length}}
        return {len(env.reset(seed=seed, options=options)[0].split("\n")[0]) for seed in range(60)}

    assert (met(0.0), met(0.7), met(1.0)) == ({1, 3, 5}, {5, 7, 9}, {7, 9, 11})


def test_the_split_of_a_question_is_the_same_in_every_source(tmp_path: Path):
    records = [word_problem(n, steps=2 + n % 3) for n in range(100)]
    seen: dict[str, set[str]] = {"train": set(), "test": set()}
    for name in ("a", "b"):
        path = write(tmp_path / f"{name}.jsonl", records if name == "a" else records[::-2])
        for split, met in seen.items():
            env = make("GSM8K", path, split=split)
            met |= {" ".join(env.reset(seed=seed)[0].split("\n")[0].split()) for seed in range(150)}
    assert not seen["train"] & seen["test"]
    assert all(split_of(question) == split for split, met in seen.items() for question in met)
    assert len(seen["train"]) > 60


def test_a_split_that_a_level_lacks_is_served_by_the_nearest(tmp_path: Path):
    records = in_split("train", 9, steps=2) + in_split("test", 1, steps=5)
    env = make("GSM8K", write(tmp_path / "a.jsonl", records), split="test", steps=2)
    assert env.reset(seed=0)[0].startswith(records[-1]["question"])


def test_a_source_without_a_question_of_the_split_is_refused(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", in_split("train", 3))
    make("GSM8K", path)
    with pytest.raises(InputError, match=r"3 questions and none of them is in split 'test'; use split='all'"):
        make("GSM8K", path, split="test")


def told(caplog: pytest.LogCaptureFixture, env: Any, **options: Any) -> list[str]:
    """What resets of ``env`` log."""
    caplog.clear()
    with caplog.at_level(logging.WARNING, "palaestra"):
        for seed in range(3):
            env.reset(seed=seed, options=options or None)
    return [record.getMessage() for record in caplog.records]


def test_a_split_with_fewer_than_thirty_questions_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path = write(tmp_path / "a.jsonl", in_split("train", 30) + in_split("test", 29))
    assert told(caplog, make("GSM8K", path)) == []
    (message,) = told(caplog, make("GSM8K", path, split="test"))
    assert message.startswith("GSM8K, split 'test', has only 29 different questions with steps=2 in ")
    assert "source=" in message
    assert "\n" not in message
    assert told(caplog, make("GSM8K", path, split="test")) == []


def test_the_questions_that_are_counted_are_those_that_can_be_drawn(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    def source() -> Path:
        records = in_split("train", 40, steps=2)[:25] + in_split("train", 40, steps=5)[25:]
        return write(tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl", records)

    assert told(caplog, make("GSM8K", source())) == []
    assert "only 15 different questions with steps=5" in told(caplog, make("GSM8K", source(), difficulty=1.0))[0]
    assert "only 15 different" in told(caplog, make("GSM8K", source()), difficulty=1.0)[0]
    assert "only 25 different" in told(caplog, make("GSM8K", source()), params={"steps": 2})[0]
    assert "only 25 different" in told(caplog, make("GSM8K", source(), axes={"steps": [2, 3]}))[0]
    leveled = [problem(number, 1) for number in range(50)]
    maths = write(tmp_path / "maths.jsonl", leveled)
    assert told(caplog, make("MATH", maths, split="all")) == []
    assert "only 25 different" in told(caplog, make("MATH", maths, split="all", length=0.5))[0]


def question(
    right: int = 0, options: tuple[str, ...] = ("Oxygen", "Iron", "Neon", "Gold"), text: str = "Which?"
) -> Any:
    return {"question": text, "choices": list(options), "answer": right}


def listed(prompt: str) -> dict[str, str]:
    return dict(re.findall(r"^([A-Z])\) (.*)$", prompt, re.MULTILINE))


def test_without_shuffling_the_order_is_that_of_the_record(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", [question(2)])
    env = make("MultipleChoiceQuestions", path, split="all", shuffle=False)
    for seed in range(20):
        texts = list(listed(env.reset(seed=seed, options={"params": {"options": 3}})[0]).values())
        assert texts == [text for text in ("Oxygen", "Iron", "Neon", "Gold") if text in texts]
        assert "Neon" in texts
        assert len(texts) == 3


def test_transforms_take_data_sets():
    env: Any = gym.make("palaestra/HintPrefix-v0", of="palaestra/GSM8K-v0", split="test", difficulty=0.0).unwrapped
    env.reset(seed=0)
    assert env.step(env.oracle())[1] == 1.0
    with pytest.raises(InputError, match="no steps of a solution"):
        gym.make("palaestra/HintPrefix-v0", of="palaestra/MultipleChoiceQuestions-v0")
