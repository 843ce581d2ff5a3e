from __future__ import annotations

import re
from typing import Any

import pytest
from palaestra.envs.datasets.layouts import AIME, CHOICE, GSM8K, MATH, Fields, Item, Layout, UnusableRecord, find_boxed
from palaestra.errors import InputError


def read(layout: Layout, record: dict[str, Any], index: int = 0) -> Item:
    return layout.read(Fields(record, "a.jsonl, line 7", layout.asks), index)


CLIPS = "In May she sold 48/2 = <<48/2=24>>24 clips.\nTogether 48+24 = <<48+24=72>>72.\n#### 72"


def test_gsm8k():
    item = read(GSM8K, {"question": " How many? ", "answer": CLIPS})
    assert item == Item("How many?", "72", ("In May she sold 48/2 = 24 clips.", "Together 48+24 = 72."), 2)


def test_the_socratic_questions_of_gsm8k_are_not_steps():
    answer = "How many in May? ** She sold 48/2 = <<48/2=24>>24.\n#### 24"
    assert read(GSM8K, {"question": "q", "answer": answer}).steps == ("She sold 48/2 = 24.",)


@pytest.mark.parametrize(
    ("text", "value"), [("1,200", "1200"), ("$18", "18"), ("-3", "-3"), ("7.5", "7.5"), ("72.", "72"), ("20%", "20")]
)
def test_answers_of_gsm8k(text: str, value: str):
    assert read(GSM8K, {"question": "q", "answer": f"a\n#### {text}"}).answer == value


@pytest.mark.parametrize(("lines", "steps"), [(0, 2), (1, 2), (2, 2), (3, 3), (8, 8), (11, 8)])
def test_steps_are_counted_from_two_to_eight(lines: int, steps: int):
    assert read(GSM8K, {"question": "q", "answer": "a\n\n" * lines + "#### 5"}).rung == steps


def test_math():
    solution = "Half of it is $1.5$. So we get\n\\[x = \\boxed{\\frac{3}{2}}.\\]"
    record = {"problem": "Find $x$.", "level": "Level 4", "type": "Algebra", "solution": solution}
    assert read(MATH, record) == Item(
        "Find $x$.", "\\frac{3}{2}", ("Half of it is $1.5$.", "So we get \\[x = \\boxed{\\frac{3}{2}}.\\]"), 4
    )


def test_math_500_gives_the_answer_beside_the_solution_and_the_level_as_a_number():
    record = {"problem": "p", "solution": "It is \\boxed{x}.", "answer": "p - q", "subject": "Algebra", "level": 2}
    assert (read(MATH, record).answer, read(MATH, record).rung) == ("p - q", 2)
    assert read(MATH, {"problem": "p", "answer": 14, "level": "5"}) == Item("p", "14", (), 5)


@pytest.mark.parametrize(
    ("solution", "answer"),
    [
        (r"\boxed{1} and then \boxed{\sqrt{\frac{2}{3}}}", r"\sqrt{\frac{2}{3}}"),
        (r"$\fbox{7}$", "7"),
        (r"so it is $\boxed 9$.", "9"),
        ("\\boxed{\\begin{pmatrix} 1 \\\\\n 2 \\end{pmatrix}}", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}"),
        (r"\boxed{3", ""),
        ("none", ""),
    ],
)
def test_the_last_box_holds_the_answer(solution: str, answer: str):
    assert find_boxed(solution) == answer


@pytest.mark.parametrize(
    ("record", "number"),
    [
        ({"ID": "2024-II-4", "Problem": "p", "Solution": "s", "Answer": 33}, 4),
        ({"ID": "1983-12", "Year": 1983, "Problem Number": 12, "Question": "p", "Answer": "33", "Part": None}, 12),
        ({"id": 68, "problem": "p", "solution": "s", "answer": "033", "year": "2024", "url": "a/2024/Problem_9"}, 9),
        ({"id": "68", "problem": "p", "answer": "33", "url": "a/2024_AIME_I_Problems/Problem_15/"}, 15),
        ({"problem_idx": 17, "problem": "p", "answer": 33}, 2),
        ({"question": "p", "answer": "33^\\circ"}, 8),
        ({"id": "AIME24I-1", "year": 2024, "contest": "AIME I", "problem": 1, "question": "p", "answer": "33"}, 1),
        ({"id": "99", "problem": "p", "answer": 33.0}, 8),
        ({"id": "3", "problem": "p", "answer": 33}, 8),
        ({"id": "10012", "problem": "p", "answer": 33}, 8),
        ({"problem": "p", "solution": "$\\boxed{033}$"}, 8),
    ],
)
def test_aime(record: dict[str, Any], number: int):
    item = read(AIME, record, index=22)
    assert (item.question, item.answer, item.rung) == ("p", "33", number)


OPTIONS = ("Oxygen", "Iron", "3")


@pytest.mark.parametrize(
    "fields",
    [
        {"question": "q", "subject": "chemistry", "choices": ["Oxygen", "Iron", "3"], "answer": 1},
        {"question": "q", "choices": ["Oxygen", " Iron ", 3], "answer": "B"},
        {"question": "q", "choices": ["Oxygen", "Iron", "3"], "answer": "(B)"},
        {"question": "q", "choices": ["Oxygen", "Iron", "3"], "answer": "b."},
        {"question": "q", "choices": ["Oxygen", "Iron", "3"], "answer": "1"},
        {"question": "q", "choices": ["Oxygen", "Iron", "3"], "answer": "Iron"},
        {"question": "q", "choices": {"text": ["Oxygen", "Iron", "3"], "label": ["A", "B", "C"]}, "answerKey": "B"},
        {"question": "q", "choices": {"text": ["Oxygen", "Iron", "3"], "label": ["1", "2", "3"]}, "answerKey": "2"},
        {"question_stem": "q", "choices": {"text": list(OPTIONS), "label": ["A", "B", "C"]}, "answerKey": "B"},
        {
            "question": {"stem": "q", "choices": [{"text": t, "label": c} for t, c in zip(OPTIONS, "ABC")]},
            "answerKey": "B",
        },
        {"question": "q", "A": "Oxygen", "B": "Iron", "C": "3", "D": "", "answer": "b"},
        {"question": "q", "options": list(OPTIONS), "answer": "B", "answer_index": 1},
        {"Question": "q", "Options": list(OPTIONS), "answer_index": 1},
    ],
)
def test_multiple_choice(fields: dict[str, Any]):
    assert read(CHOICE, fields) == Item("q", "1", (), 0, OPTIONS)


def test_a_label_comes_before_an_index():
    """ARC's labels may be numerals from 1, MMLU's indices count from 0."""
    labelled = {"question": "q", "choices": {"text": ["a", "b"], "label": ["1", "2"]}, "answerKey": "1"}
    assert read(CHOICE, labelled).answer == "0"
    assert read(CHOICE, {"question": "q", "choices": ["a", "b"], "answer": "1"}).answer == "1"
    assert read(CHOICE, {"question": "q", "choices": ["a", "b"], "answer": 0}).answer == "0"


def test_the_content_of_a_question_does_not_depend_on_spacing_and_order():
    one = Item("What  is\nit?", "0", (), 0, ("a", "b"))
    assert one.content == Item("What is it?", "1", (), 0, ("b", "a")).content
    assert one.content != Item("What is it?", "0", (), 0, ("a", "c")).content


@pytest.mark.parametrize(
    ("layout", "record", "words"),
    [
        (GSM8K, {}, "'question' is missing"),
        (GSM8K, {"problem": "q"}, "'question' is missing or empty (there is 'problem')"),
        (GSM8K, {"question": "q", "answer": ""}, "'answer' is missing or empty"),
        (GSM8K, {"question": 7, "answer": "#### 7"}, "'question' must be text that is not blank, not 7"),
        (GSM8K, {"question": "q", "answer": "It is 7."}, "no line with '####'"),
        (MATH, {"level": 1, "solution": "s"}, "'problem' is missing"),
        (MATH, {"problem": "p", "solution": "\\boxed{3}"}, "'level' is missing"),
        (MATH, {"problem": "p", "level": 1, "solution": ""}, "'solution' and 'answer' are missing"),
        (AIME, {"answer": 3}, "is missing or empty (there is 'answer')"),
        (AIME, {"problem": "p", "solution": "s"}, "'answer' is missing"),
        (CHOICE, {"choices": ["a", "b"], "answer": 0}, "'question' is missing"),
        (CHOICE, {"question": "q", "answer": 0}, "'choices' is missing, and so is the column 'A'"),
        (CHOICE, {"question": "q", "choices": "a, b", "answer": 0}, "'choices' must be a list of texts, not one text"),
        (CHOICE, {"question": "q", "choices": [["a"], ["b"]], "answer": 0}, "'choices' must be a list"),
        (CHOICE, {"question": "q", "choices": {"text": ["a", "b"], "label": ["A"]}, "answer": 0}, "of equal length"),
    ],
)
def test_a_record_of_another_layout_is_refused_naming_place_field_and_remedy(
    layout: Layout, record: dict[str, Any], words: str
):
    with pytest.raises(InputError, match=f"^a.jsonl, line 7: .*{re.escape(words)}.*; an? {layout.name} record has"):
        read(layout, record)


@pytest.mark.parametrize(
    ("layout", "record"),
    [
        (GSM8K, {"question": "q", "answer": "#### many"}),
        (MATH, {"problem": "p", "level": "Level ?", "solution": "\\boxed{3}"}),
        (MATH, {"problem": "p", "level": 0, "answer": "3"}),
        (MATH, {"problem": "p", "level": 3, "solution": "no box"}),
        (AIME, {"problem": "p", "answer": "1000"}),
        (AIME, {"problem": "p", "answer": "-5"}),
        (AIME, {"problem": "p", "answer": "3.5"}),
        (AIME, {"problem": "p", "answer": "12 or 13"}),
        (CHOICE, {"question": "q", "choices": ["a", "a"], "answer": 0}),
        (CHOICE, {"question": "q", "choices": ["a"], "answer": 0}),
        (CHOICE, {"question": "q", "choices": ["a", "b"], "answerKey": ""}),
        *(
            (CHOICE, {"question": "q", "choices": ["a", "b"], "answer": key})
            for key in (2, "C", True, -1, "A, B", "(C)")
        ),
    ],
)
def test_a_record_that_cannot_be_judged_is_left_out(layout: Layout, record: dict[str, Any]):
    with pytest.raises(UnusableRecord):
        read(layout, record)
