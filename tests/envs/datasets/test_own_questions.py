"""palaestra/Dataset-v0: columns, verifiers and levels of a data set of one's own, guessed or named."""

from __future__ import annotations

import csv
import json
import logging
import pickle
from pathlib import Path
from typing import Any

import gymnasium as gym
import palaestra
import pytest
from palaestra.envs import from_dataset
from palaestra.errors import InputError
from palaestra.scripts.cli import main

SUMS = [{"id": n, "Problem": f"What is {n} + {n}?", "label": 2 * n, "level": f"Level {n % 3}"} for n in range(60)]


def write(path: Path, records: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def judge(env: Any, answer: str) -> bool:
    return env.step(answer)[4]["is_success"]


def test_columns_and_verifier_are_guessed_and_told(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    source = write(tmp_path / "sums.jsonl", SUMS)
    with caplog.at_level(logging.WARNING):
        env = from_dataset(source)
    told = caplog.messages[0]
    assert all(word in told for word in (source, "'problem'", "'label'", "'number'", "'id'"))
    observation, _ = env.reset(seed=1)
    number = int(observation.split()[2])
    assert observation == f"What is {number} + {number}?"
    assert judge(env, f"{2 * number}.0")
    caplog.clear()
    from_dataset(source, prompt="Problem", answer="label", verifier="number")
    assert not caplog.messages


@pytest.mark.parametrize(
    ("answers", "right", "wrong"),
    [
        ([7, "3/4", 0.5, 2.0], ["7", "6/8", ".5", "2"], "about 7"),
        ([r"\frac{1}{2}", "$x^2$", r"\pi"], ["0.5", "x*x", r"\pi"], r"\frac{2}{2}"),
        (["Oslo", "7", ["Rome"]], ["oslo", "7", "Rome"], "Bergen"),
    ],
)
def test_the_verifier_follows_the_answers(tmp_path: Path, answers: list[Any], right: list[str], wrong: str):
    records = [{"prompt": f"Question {place}", "answer": answer} for place, answer in enumerate(answers)]
    env = from_dataset(write(tmp_path / "a.jsonl", records), split="all")
    for seed in range(12):
        observation, _ = env.reset(seed=seed)
        assert judge(env, right[int(observation[-1])])
        env.reset(seed=seed)
        assert not judge(env, wrong)


def test_messages_are_shown_one_below_the_other(tmp_path: Path):
    chat = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Capital of Norway?"}]
    source = write(tmp_path / "chat.jsonl", [{"messages": chat, "target": "Oslo"}])
    env = from_dataset(source, instruction="Answer with its name.", split="all")
    assert env.reset(seed=0)[0] == "Be short.\n\nCapital of Norway?\nAnswer with its name."


def test_a_column_of_levels_is_an_axis(tmp_path: Path):
    env: Any = from_dataset(write(tmp_path / "sums.jsonl", SUMS), level="level", split="all")
    for level in range(3):
        observation, info = env.reset(seed=level, options={"params": {"level": level}})
        assert info["params"]["level"] == level == int(observation.split()[2]) % 3
    with pytest.raises(InputError, match=r"'problem' must hold whole numbers.*leave level= out"):
        from_dataset(str(tmp_path / "sums.jsonl"), level="Problem")


def test_csv_worked_solutions_and_copies(tmp_path: Path):
    with (tmp_path / "a.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["task", "why", "gold"])
        rows.writerows([f"{n} squared?", f"{n} * {n}\n= {n * n}", n * n] for n in range(20))
    env: Any = from_dataset(str(tmp_path / "a.csv"), prompt="task", answer="gold", solution="why", split="all")
    copy = pickle.loads(pickle.dumps(env))
    assert env.reset(seed=4) == copy.reset(seed=4)
    *steps, answer = env.unwrapped.solution_steps(env.unwrapped.here())
    assert steps[-1] == f"= {answer}"
    assert judge(copy, env.unwrapped.oracle())


def test_columns_within_columns_are_named_with_a_dot(tmp_path: Path):
    records = [
        {"task": {"Text": f"{n} + 1?"}, "gold": {"value": n + 1}, "about": {"level": 1 + n % 3}} for n in range(30)
    ]
    source = write(tmp_path / "a.jsonl", records)
    env: Any = from_dataset(source, prompt="task.text", answer="gold.value", level="about.level", split="all")
    assert "level=1:3" in str([f"{axis.name}={axis.low}:{axis.high}" for axis in env.unwrapped.param_space.axes])
    env.reset(seed=0)
    assert judge(env, env.unwrapped.oracle())
    with pytest.raises(InputError, match=r"'task' has columns of its own; name one, such as task\.Text"):
        from_dataset(source, prompt="task", answer="gold.value")


@pytest.mark.parametrize("mark", [";", "\t"])
def test_other_marks_may_separate_columns(tmp_path: Path, mark: str):
    (tmp_path / "a.csv").write_text(
        "".join(f"{q}{mark}{a}\n" for q, a in [("prompt", "answer"), ("1, or 2?", 2), ("ü?", 3)])
    )
    env: Any = from_dataset(str(tmp_path / "a.csv"), split="all", verifier="number", prompt="prompt", answer="answer")
    assert {env.reset(seed=seed)[0] for seed in range(20)} == {"1, or 2?", "ü?"}


def test_records_that_cannot_be_judged_are_left_out_and_counted(tmp_path: Path):
    records = [*SUMS[:5], {"Problem": "None?", "label": None}, {"Problem": "Many?", "label": "two"}]
    source = write(tmp_path / "a.jsonl", records)
    with pytest.warns(UserWarning, match=r"2 of 7 Dataset records .* line 6: the column 'label' is empty"):
        env = from_dataset(source, answer="label", verifier="number", split="all")
    assert {env.reset(seed=seed)[0] for seed in range(60)} == {record["Problem"] for record in SUMS[:5]}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"prompt": "task"}, r"no column 'task' for the prompt \(there is 'id', 'Problem', 'label', 'level'\)"),
        ({"answer": 3}, "answer must be text, not 3"),
        ({"verifier": "nubmer"}, "did you mean 'number'"),
        ({"promt": "task"}, "did you mean 'prompt'"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(tmp_path: Path, options: dict[str, Any], words: str):
    with pytest.raises(InputError, match=words):
        from_dataset(write(tmp_path / "sums.jsonl", SUMS), **options)


def test_a_data_set_is_evaluated_by_words_on_the_command_line(tmp_path: Path):
    source = write(tmp_path / "sums.jsonl", SUMS)
    line = f"eval palaestra/Dataset-v0 --env-option source={source} level=level --agent oracle --episodes 10"
    assert main([*line.split(), "--json", str(tmp_path / "scores.json")]) == 0
    assert json.loads((tmp_path / "scores.json").read_text())["success"] == 1.0
    report = palaestra.evaluate(
        lambda text: str(2 * int(text.split()[2])),
        "palaestra/Dataset-v0",
        episodes=10,
        env_kwargs={"source": source},
    )
    assert report.success.mean == 1.0


def test_prompt_names_a_column_or_the_form_of_prompts(tmp_path):
    file = tmp_path / "mine.jsonl"
    lines = [json.dumps({"task": f"What is {n} + 1?", "question": "?", "gold": n + 1}) for n in range(40)]
    file.write_text("\n".join(lines))
    env = gym.make("palaestra/Dataset-v0", source=str(file), prompt="task", answer="gold", verifier="number")
    assert env.reset(seed=0)[0].startswith("What is")
    forms = {form: gym.make("palaestra/Dataset-v0", prompt=form).reset(seed=0) for form in ("sentences", "terse")}
    assert forms["sentences"][0] == f"{forms['terse'][0]}\nAnswer with an integer only."
    assert forms["sentences"][1]["task_id"] == forms["terse"][1]["task_id"]


def judge_rows(tmp_path: Path, answers: list[Any], replies: list[str], **options: Any) -> list[bool]:
    """The success of each reply to the row with its answer."""
    text = "".join(
        json.dumps({"question": f"Question {n}?", "answer": answer}) + "\n" for n, answer in enumerate(answers)
    )
    (tmp_path / "a.jsonl").write_text(text)
    env: Any = from_dataset(str(tmp_path / "a.jsonl"), **options).unwrapped
    found = []
    for row, reply in zip(env.rows, replies, strict=True):
        env.reset(options={"row": row})
        found.append(judge(env, reply))
    return found


@pytest.mark.parametrize(
    ("answers", "replies"),
    [
        (["1,000", "2,001", "\u22123", 4.0, "$5"], ["1000", "2,001.0", "-3", "four is 4", "5 dollars"]),
        (["1%", "20%", "0.5%"], ["1 %", "20", r"0.5\%"]),
        (["Half is <<8/2=4>>4.\n#### 4", "It is 5.\n#### 5"], ["So it is 4.", "#### 5"]),
        (["First.\nSo $\\boxed{x+1}$.", "Then\n$\\boxed{\\frac{1}{2}}$"], ["1+x", "0.5"]),
        ([True, False], ["Yes.", "false"]),
        ([["NYC", "New York City"], ["Rome"]], ["new york city", "Rome!"]),
        ([{"text": ["a dog", "dog"], "answer_start": [1, 2]}, {"text": ["cat"], "answer_start": [0]}], ["dog", "cat"]),
        (
            ["Thank you", "---", "Line one\nLine two", '"quoted"'],
            ["Thank you", "---", "Line one\nLine two", '"quoted"'],
        ),
    ],
)
def test_answers_in_the_spellings_of_files_are_right(tmp_path: Path, answers: list[Any], replies: list[str]):
    assert all(judge_rows(tmp_path, answers, replies))
    assert not any(judge_rows(tmp_path, answers, ["12345"] * len(answers)))


def test_rows_that_hold_no_answer_are_left_out_and_named(tmp_path: Path):
    answers = [None, 1, float("nan"), 3, "", 5, "about 7", *range(7, 20)]
    records = [{"question": f"Question {n}?", "answer": answer} for n, answer in enumerate(answers)]
    source = write(tmp_path / "a.jsonl", records)
    with pytest.warns(UserWarning, match=r"4 of 20 Dataset records .* line 1: the column 'answer' is empty"):
        env: Any = from_dataset(source, split="all").unwrapped
    assert len(env.rows) == 16
    assert env.verifier == "number"
    with pytest.raises(InputError, match=r"holds no Dataset question .* .the first record"):
        from_dataset(source, verifier="toolcall")


@pytest.mark.parametrize(
    ("verifier", "answer", "right", "wrong"),
    [
        ("constraints", [{"kind": "lower"}], "all is low", "Not All"),
        ("toolcall", {"name": "area", "arguments": {"b": 2}}, "[area(b=2)]", "[area(b=3)]"),
        (
            "toolcall",
            '[{"name": "area", "arguments": {"b": 2}}]',
            '{"name": "area", "arguments": {"b": 2}}',
            "area(c=2)",
        ),
        ("verdict", "A", "Both are good. [[A]]", "[[B]]"),
        ("verdict", "[[B]]", "[[B]]", "[[A]]"),
        ("list", ["x", "y z"], "x, y z", "x, z"),
        ("json", {"a": [1]}, '{"a": [1]}', '{"a": 1}'),
    ],
)
def test_references_that_are_no_text_stand_in_a_file(
    tmp_path: Path, verifier: str, answer: Any, right: str, wrong: str
):
    assert judge_rows(tmp_path, [answer, answer], [right, wrong], verifier=verifier) == [True, False]


def test_constraints_that_cannot_be_read_are_left_out_and_named(tmp_path: Path):
    answers = [[{"kind": kind}] for kind in ("lower", "lowre", "upper")] + [[{"kind": "words", "least": 3}]]
    source = write(tmp_path / "a.jsonl", [{"question": f"Write {n}.", "answer": one} for n, one in enumerate(answers)])
    with pytest.warns(UserWarning, match=r"2 of 4 Dataset records .* line 2: .* 'lowre'; did you mean 'lower'"):
        env: Any = from_dataset(source, verifier="constraints", split="all").unwrapped
    assert len(env.rows) == 2


def test_options_of_the_verifier_and_levels_in_words(tmp_path: Path):
    options = {"verifier": "text", "verifier_options": {"ignore_case": False}}
    assert judge_rows(tmp_path, ["Oslo", "Rome"], ["Oslo", "rome"], **options) == [True, False]
    with pytest.raises(InputError, match="belong to a verifier"):
        judge_rows(tmp_path, ["Oslo"], ["Oslo"], verifier_options={"ignore_case": False})
    for levels, span in ((["easy", "hard", "medium"], (1, 3)), ([-8, -1, "Level -3"], (-8, -1))):
        records = [{"question": f"{n}?", "answer": n, "level": level} for n, level in enumerate(levels)]
        env: Any = from_dataset(write(tmp_path / "l.jsonl", records), level="level", split="all")
        axis = env.unwrapped.param_space["level"]
        assert (axis.low, axis.high) == span


def test_a_passage_is_shown_and_options_to_choose_from_are_refused(tmp_path: Path):
    records = [{"passage": "It rains.", "question": "Does it rain?", "answer": True}] * 2
    env = from_dataset(write(tmp_path / "p.jsonl", records), split="all")
    assert env.reset(seed=0)[0] == "It rains.\n\nDoes it rain?"
    records = [{"question": "Which?", "choices": ["a", "b"], "answer": 1}]
    with pytest.raises(InputError, match="take palaestra/MultipleChoiceQuestions-v0"):
        from_dataset(write(tmp_path / "c.jsonl", records))


def test_every_row_is_asked_once_in_the_order_of_the_file(tmp_path: Path):
    records = [{"id": f"r{n % 9}", "question": f"Which number is {n}?", "answer": n} for n in range(12)]
    source = write(tmp_path / "a.jsonl", records)
    report = palaestra.evaluate("oracle", "palaestra/Dataset-v0", rows="all", env_kwargs={"source": source})
    assert [row["row"] for row in report.results] == [
        *(f"r{n}" for n in range(9)),
        *(f"r{n - 9} ({n + 1})" for n in (9, 10, 11)),
    ]
    assert (report.episodes, report.tasks, report.success.mean) == (12, 12, 1.0)
    some = palaestra.evaluate("oracle", "palaestra/Dataset-v0", rows=["r3", "r1"], env_kwargs={"source": source})
    assert [row["row"] for row in some.results] == ["r3", "r1"]
    for rows, words in (
        ("r3", "must be 'all'"),
        (13, "has 12 rows, not 13"),
        (["r33"], "did you mean 'r3"),
        ([], "empty"),
    ):
        with pytest.raises(InputError, match=words):
            palaestra.evaluate("oracle", "palaestra/Dataset-v0", rows=rows, env_kwargs={"source": source})
    with pytest.raises(InputError, match="makes its tasks, so that it has no rows"):
        palaestra.evaluate("oracle", "palaestra/Arithmetic-v0", rows="all")
    with pytest.raises(InputError, match="leave difficulties and axes out"):
        palaestra.evaluate(
            "oracle", "palaestra/Dataset-v0", rows="all", env_kwargs={"source": source}, difficulties=[0.5]
        )


def test_a_file_is_scored_row_by_row_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source = write(tmp_path / "sums.jsonl", SUMS)
    words = ["eval", "palaestra/Dataset-v0", "--agent", "oracle", "--env-option", f"source={source}"]
    assert main([*words, "--out", str(tmp_path / "played.jsonl")]) == 0
    rows = [json.loads(line) for line in (tmp_path / "played.jsonl").read_text().splitlines()]
    assert [row["row"] for row in rows] == [str(n) for n in range(60)]
    (tmp_path / "ids.txt").write_text("7\n3\n")
    assert main([*words, "--rows", str(tmp_path / "ids.txt"), "--json", str(tmp_path / "s.json")]) == 0
    assert json.loads((tmp_path / "s.json").read_text())["episodes"] == 2
    assert main([*words, "--rows", "4", "--split", "all"]) != 0
    assert "leave --split out" in capsys.readouterr().err


def test_a_file_stands_in_a_mixture(tmp_path: Path):
    source = write(tmp_path / "sums.jsonl", SUMS)
    parts = ["palaestra/Arithmetic-v0", {"id": "palaestra/Dataset-v0", "source": source, "weight": 3}]
    env = gym.make("palaestra/Mixture-v0", envs=parts, split="all")
    assert {env.reset(seed=seed)[1]["params"]["env"] for seed in range(20)} == {"Arithmetic", "Dataset"}


def test_the_right_calls_reach_rewards_of_tool_use(tmp_path: Path):
    call = {"name": "area", "arguments": {"b": 2}}
    records = [{"question": f"{n}?", "answer": [call]} for n in range(2)]
    env: Any = from_dataset(write(tmp_path / "a.jsonl", records), verifier="toolcall", split="all").unwrapped
    env.reset(seed=0)
    assert "expected_calls" in env.supplies
    assert env.compute_extra(env.here(), "expected_calls") == [{"name": "area", "parameters": {"b": 2}}]
