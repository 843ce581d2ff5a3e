"""Data sets as environments: what a source holds is what is asked, judged fairly, and kept out of the wrong split."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import pickle
import re
import time
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
from palaestra.errors import InputError, MissingExtra

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


def asked(path: Path, family: str, record: dict[str, Any], answer: str, **kwargs: Any) -> tuple[float, dict[str, Any]]:
    """Reward and info for an answer to the only question of a source, through ``step``."""
    env = make(family, write(path / "one.jsonl", [record]), split="all", **kwargs)
    env.reset(seed=0)
    _, reward, _, _, info = env.step(answer)
    return reward, info


def in_split(split: str, count: int, **fields: Any) -> list[dict[str, Any]]:
    numbers = (n for n in range(10_000) if split_of(word_problem(n)["question"]) == split)
    return [word_problem(next(numbers), **fields) for _ in range(count)]


# Sources.


@pytest.mark.parametrize(("family", "name"), FAMILIES.items())
def test_a_copy_of_the_built_in_file_asks_the_same_questions(family: str, name: str, tmp_path: Path):
    records = (BUILT_IN / f"{name}.jsonl").read_text().splitlines()
    (tmp_path / "train.json").write_text("[" + ",\n".join(reversed(records)) + "]")
    own, copied = make(family), make(family, tmp_path, part="train")
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
    with pytest.raises(InputError, match=r"^a\.jsonl, line 2: the field 'answer' is missing"):
        make("GSM8K", path)


@pytest.mark.parametrize(
    ("reference", "number"), [("3s^2", False), ("1+2m", False), ("3 \\text{ cm}^2", True), ("3\\mbox{ m}", True)]
)
def test_a_unit_may_be_left_out_of_a_MATH_answer_and_a_variable_may_not(reference: str, number: bool, tmp_path: Path):
    env = make("MATH", write(tmp_path / "a.jsonl", [problem(1, 1, reference)]), split="all")
    for answer, right in ((reference, True), ("3", number)):
        env.reset(seed=1)
        assert env.step(answer)[4]["is_success"] == right


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
    env = make("GSM8K", path, split="all")
    assert {env.oracle() for seed in range(20) if env.reset(seed=seed)} == {"72"}
    counts = Counter(env.reset(seed=seed)[0] for seed in range(200))
    assert len(counts) == 2
    assert min(counts.values()) > 60


# Axes and splits.


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


# GSM8K.


@pytest.mark.parametrize(
    "answer",
    ["72", "#### 72.", "72.0", "$72", "####72", "#### 72", "**72**", "72 dollars", "72 clips", "Steps.\n#### 72"],
)
def test_spellings_of_the_answer_to_a_word_problem(answer: str, tmp_path: Path):
    reward, info = asked(tmp_path, "GSM8K", word_problem(1), answer)
    assert (reward, info["is_success"], info["action_error"]) == (1.0, True, None)


@pytest.mark.parametrize("answer", ["71", "-72", "72.5", "7200", "720", "1/72"])
def test_another_number_is_wrong_and_not_malformed(answer: str, tmp_path: Path):
    reward, info = asked(tmp_path, "GSM8K", word_problem(1), answer)
    assert (reward, info["action_error"], info["feedback"]) == (0.0, None, "The answer is not correct.")


@pytest.mark.parametrize("answer", ["It is 72 or 73", "70 + 2", "72 thousand", "clips", "72\nI am sure."])
def test_what_is_not_a_number_alone_is_malformed(answer: str, tmp_path: Path):
    reward, info = asked(tmp_path, "GSM8K", word_problem(1), answer)
    assert (reward, info["action_error"]) == (0.0, "The answer must be one number alone, such as 125 or 7.5.")


@pytest.mark.parametrize("text", ["1,200", "-3", "7.5", "125", "0"])
def test_the_oracle_knows_every_kind_of_number_and_the_example_is_another(text: str, tmp_path: Path):
    env = make("GSM8K", write(tmp_path / "a.jsonl", [word_problem(1, answer=text)]), split="all")
    prompt, _ = env.reset(seed=0)
    assert not prompt.endswith(f" {text}.")
    assert env.step(env.oracle())[1] == 1.0


def test_golden_word_problem():
    env = make("GSM8K", steps=2)
    assert env.reset(seed=3)[0] == (
        "A hall has 14 rows of 22 seats. At a concert 39 seats stay empty. How many people sit in the hall?\n"
        "Answer with the number alone, such as 125."
    )
    assert env.solution_steps(env.here()) == [
        "There are 14*22=308 seats.",
        "So 308-39=269 people sit in the hall.",
        "269",
    ]


# MATH.


@pytest.mark.parametrize(
    ("question", "reference", "answer", "reward"),
    [
        ("p", r"\frac{3}{2}", "1.5", 1.0),
        ("p", r"\frac{3}{2}", r"Thus it is\n\boxed{\dfrac{6}{4}}", 1.0),
        ("p", "x^2 - 1", "(x+1)(x-1)", 1.0),
        ("p", "x^2 - 1", "x^2 + 1", 0.0),
        ("Find both.", "-2, 1", "1, -2", 1.0),
        ("Find both in increasing order.", "-2, 1", "1, -2", 0.0),
        ("Find both in increasing order.", "-2, 1", "-2, 1", 1.0),
        ("Find the point.", "(-2, 1)", "(1, -2)", 0.0),
        ("How long is it?", r"10\text{ cm}", "10", 1.0),
        ("How long is it?", r"10\text{ cm}", "10 cm", 1.0),
        ("How long is it?", r"10\text{ cm}", "0.1 m", 1.0),
        ("How long is it?", r"10\text{ cm}", "10 m", 0.0),
        ("How long is it?", r"10\text{ cm}", "11", 0.0),
        ("How long is it in cm?", r"10\text{ cm}", "10 m", 0.0),
        ("How large is the angle?", r"60^\circ", "60", 1.0),
        ("How many minutes does it take?", r"\frac{15}{2}", "7.5 minutes", 1.0),
        ("How many minutes does it take?", r"\frac{15}{2}", "7.5 hours", 0.0),
        ("What percent is it?", "28", r"28\%", 1.0),
        ("What percent is it?", r"28\%", "28", 1.0),
        ("Which?", r"\text{even}", "even", 1.0),
    ],
)
def test_answers_in_closed_form(question: str, reference: str, answer: str, reward: float, tmp_path: Path):
    record = {"problem": question, "level": 3, "answer": reference}
    assert asked(tmp_path, "MATH", record, answer.replace("\\n", "\n"))[0] == reward


@pytest.mark.parametrize(
    ("reference", "answer", "wrong"),
    [
        (r"28\%", "28", "2.8"),
        ("9 (apples)", "9", "8"),
        ("2x+1", "f(x)=2x+1", "f(x)=2x"),
        (r"\{1,2\}", "(1, 2)", "(1, 3)"),
        ("11", "x=5+6=11", "x=5+6=12"),
    ],
)
def test_the_policy_of_a_family_is_that_of_data_sets_unless_it_is_strict(
    reference: str, answer: str, wrong: str, tmp_path: Path
):
    record = {"problem": "p", "level": 3, "answer": reference}
    assert asked(tmp_path, "MATH", record, answer)[0] == 1.0
    assert asked(tmp_path, "MATH", record, wrong)[0] == 0.0
    strict = {"policy": "strict", "split": "all"}
    if reference == "9 (apples)":
        with pytest.raises(InputError, match="holds no MATH question"), pytest.warns(UserWarning, match="9 .apples"):
            make("MATH", write(tmp_path / "one.jsonl", [record]), **strict)
        return
    env = make("MATH", write(tmp_path / "one.jsonl", [record]), **strict)
    env.reset(seed=0)
    assert env.step(answer)[1] == 0.0


def test_an_unknown_policy_is_refused():
    with pytest.raises(InputError, match="did you mean 'dataset'"):
        make("MATH", policy="datasets")


def test_an_answer_that_is_no_mathematics_is_malformed(tmp_path: Path):
    for answer in ("I do not know", "((", "\\frac{1}{"):
        reward, info = asked(tmp_path, "MATH", problem(1, 1, "5"), answer)
        assert reward == 0.0
        assert info["action_error"]


def test_the_examples_of_the_prompt_are_not_the_answer(tmp_path: Path):
    for answer in (r"\frac{7}{9}", "7/9"):
        env = make("MATH", write(tmp_path / "a.jsonl", [problem(1, 1, answer)]), split="all")
        assert env.reset(seed=0)[0].endswith(r"such as \sqrt{23} or sqrt(23).")


def test_hostile_answers_are_judged_in_time(tmp_path: Path):
    env = make("MATH", write(tmp_path / "a.jsonl", [problem(1, 1, r"10\text{ cm}")]), split="all")
    for answer in ("9^" * 2048, "(" * 4096, "x^2+" * 1023 + "1", "\\sqrt{" * 680, "10" + "0" * 4000 + " cm"):
        env.reset(seed=0)
        start = time.perf_counter()
        assert env.step(answer[:4096])[1] == 0.0
        assert time.perf_counter() - start < 10


def test_without_sympy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "sympy" else find(name, *a))
    with pytest.raises(MissingExtra, match=r"palaestra/MATH-v0 .*\[math\]"):
        make("MATH")


# AIME.


@pytest.mark.parametrize(
    ("answer", "reward", "malformed"),
    [
        *((spelling, 1.0, False) for spelling in ("33", "033", "33.0", "$33$", r"\boxed{033}", "33.", "33^\\circ")),
        *((wrong, 0.0, False) for wrong in ("34", "-33", "330", "33.5", "3/3")),
        *((other, 0.0, True) for other in ("thirty-three", "33 apples", "33 or 34", "30+3", "p")),
    ],
)
def test_answers_to_a_contest_problem(answer: str, reward: float, malformed: bool, tmp_path: Path):
    earned, info = asked(tmp_path, "AIME", {"problem": "p", "answer": 33}, answer)
    assert (earned, info["action_error"] is not None) == (reward, malformed)


def test_the_example_of_a_contest_problem_is_not_the_answer(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", [{"problem": "p", "answer": 125}])
    assert make("AIME", path, split="all").reset(seed=0)[0].endswith("such as 48.")


# Multiple choice.


def question(
    right: int = 0, options: tuple[str, ...] = ("Oxygen", "Iron", "Neon", "Gold"), text: str = "Which?"
) -> Any:
    return {"question": text, "choices": list(options), "answer": right}


def listed(prompt: str) -> dict[str, str]:
    return dict(re.findall(r"^([A-Z])\) (.*)$", prompt, re.MULTILINE))


@pytest.mark.parametrize("shown", [2, 3, 4])
def test_options_and_letters_are_spread_evenly(shown: int, tmp_path: Path):
    env = make("MultipleChoiceQuestions", write(tmp_path / "a.jsonl", [question(2)]), split="all", options=shown)
    letters, others = Counter(), Counter()
    for k in range(600):
        options = listed(env.reset(seed=None if k else 0)[0])
        assert list(options) == list("ABCD"[:shown])
        assert set(options.values()) <= {"Oxygen", "Iron", "Neon", "Gold"}
        letters[next(letter for letter, text in options.items() if text == "Neon")] += 1
        others.update(options.values())
    assert len(letters) == shown
    assert max(letters.values()) < 1.35 * 600 / shown
    wrong = [others[text] for text in ("Oxygen", "Iron", "Gold")]
    assert max(wrong) < 1.25 * sum(wrong) / 3


def test_the_letter_and_the_text_of_the_option_are_right_and_no_other(tmp_path: Path):
    env = make("MultipleChoiceQuestions", write(tmp_path / "a.jsonl", [question(1)]), split="all", options=4)
    for seed in range(5):
        options = listed(env.reset(seed=seed)[0])
        snapshot = env.get_state()
        right = next(letter for letter, text in options.items() if text == "Iron")
        answers = {right: 1, f"({right.lower()})": 1, "iron": 1, f"{right}) Iron": 1, f"Answer: {right}": 1}
        answers |= {letter: 0 for letter in "ABCD" if letter != right}
        for answer, reward in {**answers, "Gold": 0, "E": 0, "A or B": 0, "": 0}.items():
            env.set_state(snapshot)
            assert env.step(answer)[1] == reward, answer


def test_without_shuffling_the_order_is_that_of_the_record(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", [question(2)])
    env = make("MultipleChoiceQuestions", path, split="all", shuffle=False)
    for seed in range(20):
        texts = list(listed(env.reset(seed=seed, options={"params": {"options": 3}})[0]).values())
        assert texts == [text for text in ("Oxygen", "Iron", "Neon", "Gold") if text in texts]
        assert "Neon" in texts
        assert len(texts) == 3


@pytest.mark.parametrize(
    "last",
    [
        *(
            "All of the above",
            "None of these",
            "Both A and B",
            "A and C only",
            "(A) and (B)",
            "A, B",
            "Neither of these",
        ),
        *("both of the above", "Any of the above.", "All the above", "None of the other answers", "A or B"),
    ],
)
def test_options_that_speak_of_others_keep_their_places(last: str, tmp_path: Path):
    path = write(tmp_path / "a.jsonl", [question(3, ("Oxygen", "Iron", "Neon", last))])
    env = make("MultipleChoiceQuestions", path, split="all", options=2)
    for seed in range(10):
        assert list(listed(env.reset(seed=seed)[0]).values()) == ["Oxygen", "Iron", "Neon", last]
        assert env.step("D")[1] == 1.0


@pytest.mark.parametrize("plain", ["A cat and a dog", "All mammals", "Vitamin A", "I and II only", "None", "Plan B"])
def test_other_options_are_shuffled(plain: str, tmp_path: Path):
    path = write(tmp_path / "a.jsonl", [question(3, ("Oxygen", "Iron", "Neon", plain))])
    env = make("MultipleChoiceQuestions", path, split="all", options=4)
    assert len({env.reset(seed=seed)[0] for seed in range(20)}) > 5


def test_options_reach_as_far_as_the_source(tmp_path: Path):
    ten = tuple(f"Option {n}" for n in range(10))
    records = [question(9, ten, text="Which of ten?"), question(1, ("Yes", "No"), text="Which of two?")]
    env = make("MultipleChoiceQuestions", write(tmp_path / "a.jsonl", records), split="all", difficulty=1.0)
    assert env.param_space["options"].high == 10
    assert {len(listed(env.reset(seed=seed, options={"params": {"length": 0.0}})[0])) for seed in range(9)} == {2}
    assert {len(listed(env.reset(seed=seed, options={"params": {"length": 1.0}})[0])) for seed in range(9)} == {10}


def test_one_letter_is_right_as_often_as_chance_has_it():
    env = make("MultipleChoiceQuestions", difficulty=0.0)
    earned = 0.0
    for k in range(600):
        env.reset(seed=None if k else 0)
        earned += env.step("A")[1] / 600
    assert abs(earned - type(env).chance) < 0.08


# As parts of other environments.


def test_transforms_take_data_sets():
    env: Any = gym.make("palaestra/HintPrefix-v0", of="palaestra/GSM8K-v0", split="test", difficulty=0.0).unwrapped
    env.reset(seed=0)
    assert env.step(env.oracle())[1] == 1.0
    with pytest.raises(InputError, match="no steps of a solution"):
        gym.make("palaestra/HintPrefix-v0", of="palaestra/MultipleChoiceQuestions-v0")
