"""ListFunctions, against every product of the operations that the prompt lists, done by a second implementation."""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter

import numpy as np
import pytest
from palaestra.envs.induction.list_functions import LARGEST, LONGEST, ListFunctions
from palaestra.envs.induction.list_operations import KINDS, OPERATIONS
from palaestra.envs.induction.operation_chains import ChainProblem
from palaestra.envs.measured import find_measured
from palaestra.envs.question import Task

from ...patience import least_processor_seconds  # isort: skip

FAMILY = ListFunctions()
EXAMPLES = (((3, 1, 2), (1, 2)), ((5, 0, 9, 9), (0, 9, 9)))
TASK = Task(
    "", [4, 4], data=ChainProblem(("remove every 1", "reverse the list"), ("reverse the list",), EXAMPLES, (7, 4, 4))
)


def tasks(count: int, **params: int) -> list[Task]:
    rng = np.random.default_rng(count)
    return [FAMILY.generate(rng, params) for _ in range(count)]


@functools.cache
def apply(words: str, x: tuple[int, ...]) -> tuple[int, ...]:
    """An operation by its words alone, written anew and one number at a time."""
    n = len(x)
    places = range(n)
    numbers = [int(number) for number in re.findall(r"\d+", words)]
    k, new = (*numbers, 0, 0)[:2]
    shape = re.sub(r"\d+", "#", words)
    ordered: list[int] = []
    for v in x:
        ordered.insert(sum(w <= v for w in ordered), v)
    if shape == "reverse the list":
        return tuple(x[n - 1 - i] for i in places)
    if shape == "sort the list in increasing order":
        return tuple(ordered)
    if shape == "sort the list in decreasing order":
        return tuple(ordered[n - 1 - i] for i in places)
    if shape == "swap the first and the last number":
        return tuple(x[n - 1 if i == 0 else 0 if i == n - 1 else i] for i in places)
    if shape == "move the first number to the end":
        return tuple(x[(i + 1) % n] for i in places)
    if shape == "move the last number to the front":
        return tuple(x[(i - 1) % n] for i in places)
    if shape == "remove the first # numbers":
        return tuple(x[i] for i in places if i >= k)
    if shape == "remove the last # numbers":
        return tuple(x[i] for i in places if i < n - k)
    if shape == "keep only the first # numbers":
        return tuple(x[i] for i in places if i < k)
    if shape == "keep only the last # numbers":
        return tuple(x[i] for i in places if i >= n - k)
    if shape == "keep every second number, from the first one on":
        return tuple(x[i] for i in places if i % 2 == 0)
    if shape == "keep every second number, from the second one on":
        return tuple(x[i] for i in places if i % 2 == 1)
    if shape == "keep each number only where it comes first":
        return tuple(x[i] for i in places if x[i] not in x[:i])
    if shape == "keep only the even numbers":
        return tuple(v for v in x if str(v)[-1] in "02468")
    if shape == "keep only the odd numbers":
        return tuple(v for v in x if str(v)[-1] in "13579")
    if shape == "keep only the numbers above #":
        return tuple(v for v in x if v > k)
    if shape == "keep only the numbers below #":
        return tuple(v for v in x if v < k)
    if shape == "remove every #":
        return tuple(v for v in x if v != k)
    if shape == "remove the largest number wherever it occurs":
        return tuple(v for v in x if any(w > v for w in x))
    if shape == "add # to each number":
        return tuple(v + k for v in x)
    if shape == "subtract # from each number":
        return tuple(v - k for v in x)
    if shape == "multiply each number by #":
        return tuple(sum([v] * k) for v in x)
    if shape == "subtract each number from #":
        return tuple(k - v for v in x)
    if shape == "halve each number, rounding down":
        return tuple((v - v % 2) // 2 for v in x)
    if shape == "replace each number by its remainder modulo #, never negative":
        return tuple(next(r for r in range(k) if (v - r) / k == (v - r) // k) for v in x)
    if shape == "replace each number above # by #":
        return tuple(k if v > k else v for v in x)
    if shape == "replace every # by #":
        return tuple(new if v == k else v for v in x)
    if shape == "add to each number its position, counted from #":
        return tuple(x[i] + i + k for i in places)
    if shape == "replace each number by how often it is in the list":
        return tuple(Counter(x)[v] for v in x)
    if shape == "replace each number by the sum of it and all before it":
        return tuple(sum(x[: i + 1]) for i in places)
    if shape == "replace each number by the largest number up to it":
        return tuple(max(x[: i + 1]) for i in places)
    if shape == "list how much each number exceeds the one before it":
        return tuple(x[i] - x[i - 1] for i in places if i)
    added, place = re.fullmatch(
        r"(?:put|write) (.*?)(?: also)?(?: (at the (?:front|end)|twice in a row))?", shape
    ).groups()  # type: ignore[union-attr]
    if added == "each number":
        return tuple(x[i // 2] for i in range(2 * n))
    if place == "twice in a row" or added == "the reversed list after the list":
        return tuple(x[i % n] if place else x[min(i, 2 * n - 1 - i)] for i in range(2 * n))
    extra = {"#": [k], "the length of the list": [n], "the sum of the list": [sum(x)]}
    extra |= {"the largest number": ordered[-1:], "the smallest number": ordered[:1]}
    return (*extra[added], *x) if place == "at the front" else (*x, *extra[added])


def shown(task: Task) -> tuple[list[str], list[tuple[tuple[int, ...], tuple[int, ...]]], tuple[int, ...]]:
    """Operations, examples and query, read from the prompt alone."""

    def numbers(text: str) -> tuple[int, ...]:
        return tuple(map(int, re.findall(r"-?\d+", text)))

    operations = re.findall(r"^- (.*)$", task.prompt, re.MULTILINE)
    pairs = re.findall(r"^(\[.*\]) -> (\[.*\])$", task.prompt, re.MULTILINE)
    query = re.findall(r"turn (\[.*\]) into", task.prompt)[0]
    return operations, [(numbers(given), numbers(output)) for given, output in pairs], numbers(query)


def result(chain: tuple[str, ...], x: tuple[int, ...]) -> tuple[int, ...]:
    for words in chain:
        x = apply(words, x)
    return x


def test_every_operation_does_what_its_words_say():
    rng = np.random.default_rng(0)
    lists = [(), (4,), (-3, -3), *(tuple(rng.integers(-6, 12, rng.integers(2, 9)).tolist()) for _ in range(60))]
    assert len(KINDS) == 43
    assert set(OPERATIONS) == set(itertools.chain(*KINDS))
    for words, operation in OPERATIONS.items():
        assert any(operation(x) != x for x in lists), words
        for x in lists:
            assert operation(x) == apply(words, x), (words, x)


@pytest.mark.parametrize(("operations", "listed", "count"), [(1, 10, 60), (2, 10, 60), (3, 7, 40), (4, 6, 12)])
def test_every_chain_that_fits_the_examples_gives_the_answer_and_none_is_shorter(
    operations: int, listed: int, count: int
):
    for task in tasks(count, operations=operations, listed=listed, length=5, examples=3):
        names, examples, query = shown(task)
        assert len(set(names)) == listed
        answers = set()
        for length in range(operations + 1):
            for chain in itertools.product(names, repeat=length):
                if all(result(chain, given) == output for given, output in examples):
                    assert length == operations
                    answers.add(result(chain, query))
        assert answers == {tuple(task.reference)}


def test_tasks_are_what_their_parameters_say():
    for task in tasks(80, operations=2, listed=8, length=6, examples=5):
        names, examples, query = shown(task)
        assert (len(names), len(examples), len(query)) == (8, 5, 6)
        assert all(4 <= len(given) <= 6 and set(given) <= set(range(10)) for given, _ in examples)
        assert task.prompt.startswith("One chain of 2 of these operations ")


def test_long_lists_and_large_numbers_do_not_occur():
    longest = largest = 0
    for task in tasks(400, operations=2, listed=6, length=10, examples=8):
        for given in [task.data.query, *(given for given, _ in task.data.examples)]:
            for words in task.data.chain:
                given = apply(words, given)
                longest, largest = max(longest, len(given)), max(largest, *map(abs, given))
    assert longest == LONGEST == 16
    assert 80 < largest <= LARGEST == 99


def test_the_answer_is_not_the_list_that_shows_its_form(monkeypatch: pytest.MonkeyPatch):
    params = {"operations": 1, "listed": 6, "length": 4, "examples": 3}
    answer = FAMILY.generate(np.random.default_rng(0), params).reference
    monkeypatch.setattr("palaestra.envs.induction.list_functions._EXAMPLE", tuple(answer))
    assert FAMILY.generate(np.random.default_rng(0), params).reference != answer


def test_outputs_say_something_and_the_answer_is_nowhere_in_the_prompt():
    sizes = Counter()
    for task in tasks(300, operations=2, listed=8, length=4, examples=4):
        _, examples, query = shown(task)
        answer = tuple(task.reference)
        assert answer not in [query, (8, 0, 8), *(output for _, output in examples)]
        assert len(answer) > 1
        for given in [query, *(given for given, _ in examples)]:
            for words in task.data.chain:
                given = apply(words, given)
                assert given
        sizes.update(len(given) for given, _ in examples)
    # The first example is as long as any, the others vary.
    assert set(sizes) == {2, 3, 4}


def test_the_longest_prompts_are_short_enough():
    for task in tasks(60, operations=3, listed=10, length=10, examples=8):
        assert len(task.prompt) <= 2000


def test_fixed_answers_and_copies_of_the_prompt_earn_nothing():
    earned = Counter()
    for task in tasks(600, **FAMILY.param_space.at(0.0)):
        query, (_, output) = task.data.query, task.data.examples[0]
        guesses = ["[0, 0]", "[1, 1]", "[1, 2]", "1 2 3", str(list(query)), str(list(output)), task.prompt]
        earned.update(number for number, guess in enumerate(guesses) if FAMILY.verify(task, guess).success)
    assert max(earned.values(), default=0) <= 0.02 * 600


def test_an_operation_picked_at_random_is_right_as_often_as_stated():
    easiest = FAMILY.param_space.at(0.0)
    earned = [
        sum(list(apply(words, task.data.query)) == task.reference for words in task.data.listed)
        for task in tasks(1000, **easiest)
    ]
    assert find_measured("palaestra/ListFunctions-v0", FAMILY).chance == 0.18
    assert 0.16 < sum(earned) / len(earned) / easiest["listed"] <= 0.18


@pytest.mark.parametrize(
    "answer",
    [
        *(
            "[4, 4]",
            "4, 4",
            "4 4",
            "[4,4]",
            "(4, 4)",
            "{4; 4}",
            "[4 4]",
            "[ +4 , 04 ]",
            "4\n4",
        ),
    ],
)
def test_a_list_is_right_in_any_spelling(answer: str):
    assert FAMILY.verify(TASK, answer).success


def test_negative_numbers_are_read():
    task = Task("", [-3, 0])
    for answer in ("[-3, 0]", "-3 0", "\u22123, 0"):
        assert FAMILY.verify(task, answer).success
    assert not FAMILY.verify(task, "[3, 0]").success


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("[4, 5]", "1 of 2 numbers are right"),
        ("[7, 7]", "0 of 2 numbers are right"),
        ("[4, 4, 7]", "length 3 instead of 2"),
        ("44", "length 1 instead of 2"),
        ("[]", "length 0 instead of 2"),
        ("empty", "length 0 instead of 2"),
    ],
)
def test_wrong_lists_are_told_what_is_wrong(answer: str, why: str):
    verdict = FAMILY.verify(TASK, answer)
    assert (verdict.success, verdict.malformed, verdict.score) == (False, False, 0.0)
    assert why in verdict.feedback


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "[4, 4",
        "4, 4]",
        "[4, x]",
        "4,,4",
        "[4, 4,]",
        "four",
        "[[4, 4]]",
        "4.0 4.0",
        "[4, 4] or [5, 5]",
        "4_4",
        "\u0664",
    ],
)
def test_what_is_no_list_of_whole_numbers_is_malformed(answer: str):
    assert FAMILY.verify(TASK, answer).malformed


@pytest.mark.parametrize(
    "answer",
    ["[" * 4096, "," * 4096, "4 " * 2048, "9" * 4096, "output" + " " * 4090, "-" * 4096, "4," * 2048, "*" * 4096],
)
def test_hostile_answers_take_no_time(answer: str):
    def judge() -> None:
        assert not FAMILY.verify(TASK, answer).success

    assert least_processor_seconds(judge, 0.5) < 0.5


def test_the_steps_lead_from_the_inputs_to_the_outputs():
    for task in tasks(30, operations=3, listed=6, length=6, examples=4):
        names, examples, query = shown(task)
        *lines, answer = FAMILY.solution_steps(task)
        assert answer == str(task.reference)
        halves = [("Example", *examples[0], lines[:4]), ("Query", query, tuple(task.reference), lines[4:])]
        for label, value, output, (first, *steps) in halves:
            assert first == f"{label}: {list(value)}"
            for step in steps:
                words, after = step.split(": ")
                assert words in names
                value = apply(words, value)
                assert after == str(list(value))
            assert value == output


def test_work_counts_the_numbers_that_a_search_handles():
    # Two operations on the first example, a list of three.
    assert FAMILY.solver_cost(TASK) == 2 * 3
    deeper = TASK.data._replace(chain=TASK.data.listed)
    # "remove every 1" and "reverse" lead to two further lists, on which both are tried.
    assert FAMILY.solver_cost(Task("", None, data=deeper)) == (2 + 4) * 3


def test_a_seed_keeps_its_task():
    task = FAMILY.generate(np.random.default_rng(1), {"operations": 2, "listed": 6, "length": 4, "examples": 3})
    assert task.prompt == (
        "One chain of 2 of these operations turns each list before an arrow into the list after it. An operation may "
        "be used more than once.\n- halve each number, rounding down\n- put 3 at the end\n- remove every 5\n"
        "- remove the largest number wherever it occurs\n- sort the list in increasing order\n"
        "- write the list twice in a row\nExamples:\n[9, 2, 7, 1] -> [2, 7, 1, 2, 7, 1]\n[3, 9] -> [3, 3]\n"
        "[2, 1, 4, 6] -> [2, 1, 4, 2, 1, 4]\nWhat does it turn [4, 7, 3, 6] into? Answer with a list such as [8, 0, 8]."
    )
    assert FAMILY.solution_steps(task) == [
        "Example: [9, 2, 7, 1]",
        "write the list twice in a row: [9, 2, 7, 1, 9, 2, 7, 1]",
        "remove the largest number wherever it occurs: [2, 7, 1, 2, 7, 1]",
        "Query: [4, 7, 3, 6]",
        "write the list twice in a row: [4, 7, 3, 6, 4, 7, 3, 6]",
        "remove the largest number wherever it occurs: [4, 3, 6, 4, 3, 6]",
        "[4, 3, 6, 4, 3, 6]",
    ]
