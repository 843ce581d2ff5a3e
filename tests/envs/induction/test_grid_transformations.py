"""GridTransformations, against every product of the operations that the prompt lists."""

from __future__ import annotations

import itertools
import re
from collections import Counter

import numpy as np
import pytest
from palaestra.envs.induction.grid_operations import KINDS, OPERATIONS, Grid
from palaestra.envs.induction.grid_transformations import LARGEST, GridTransformations
from palaestra.envs.induction.operation_chains import ChainProblem
from palaestra.envs.measured import find_measured
from palaestra.envs.question import Task

from ...patience import least_processor_seconds  # isort: skip

FAMILY = GridTransformations()
EXAMPLES = ((("120", "000"), ("021", "000")), (("003", "100"), ("300", "001")))
RULE = ChainProblem(("mirror the grid, left to right", "turn the grid by 180 degrees"), (), EXAMPLES, ("200", "012"))
TASK = Task("", "002/210", data=RULE._replace(chain=RULE.listed[:1]))


def tasks(count: int, **params: int) -> list[Task]:
    rng = np.random.default_rng(count)
    return [FAMILY.generate(rng, params) for _ in range(count)]


def shown(task: Task) -> tuple[list[str], list[tuple[Grid, Grid]], Grid]:
    """Operations, examples and query, read from the prompt alone."""
    operations = re.findall(r"^- (.*)$", task.prompt, re.MULTILINE)
    grids = [tuple(block.split()) for block in re.findall(r"put:\n((?:[0-9]+\n)+)", task.prompt)]
    return operations, list(zip(grids[:-1:2], grids[1::2])), grids[-1]


def result(chain: tuple[str, ...], grid: Grid) -> Grid:
    for words in chain:
        grid = OPERATIONS[words](grid)
    return grid


@pytest.mark.parametrize(("operations", "listed", "count"), [(1, 10, 60), (2, 8, 50), (3, 6, 30)])
def test_every_chain_that_fits_the_examples_gives_the_answer_and_none_is_shorter(
    operations: int, listed: int, count: int
):
    for task in tasks(count, operations=operations, listed=listed, size=4, colours=3, examples=2):
        names, examples, query = shown(task)
        assert len(set(names)) == listed
        answers = set()
        for length in range(operations + 1):
            for chain in itertools.product(names, repeat=length):
                if all(result(chain, given) == output for given, output in examples):
                    assert length == operations
                    answers.add("/".join(result(chain, query)))
        assert answers == {task.reference}


@pytest.mark.parametrize(("size", "colours", "examples"), [(3, 2, 4), (8, 5, 2)])
def test_tasks_are_what_their_parameters_say(size: int, colours: int, examples: int):
    sizes, digits = set(), Counter()
    for task in tasks(60, operations=2, listed=7, size=size, colours=colours, examples=examples):
        names, pairs, query = shown(task)
        assert (len(names), len(pairs)) == (7, examples)
        assert task.prompt.startswith("One chain of 2 of these operations ")
        givens = [query, *(given for given, _ in pairs)]
        sizes |= {(len(grid), len(grid[0])) for grid in givens}
        digits[len(set("".join(map("".join, givens))) - {"0"})] += 1
        # The operations name no other colours than those of the task.
        assert len(set("".join(map("".join, givens))) | set(re.findall(r"\b[1-9]\b", " ".join(names)))) <= colours + 3
    ends = {size, max(3, size - 1)}
    assert sizes == set(itertools.product(ends, ends))
    assert max(digits) == colours


def test_outputs_say_something_and_the_answer_is_nowhere_in_the_prompt():
    largest = 0
    for task in tasks(300, operations=2, listed=8, size=5, colours=2, examples=2):
        _, examples, query = shown(task)
        answer = tuple(task.reference.split("/"))
        assert answer not in [query, ("012", "340", "500"), *(output for _, output in examples)]
        for given in [query, *(given for given, _ in examples)]:
            for words in task.data.chain:
                given = OPERATIONS[words](given)
                largest = max(largest, len(given), len(given[0]))
            assert len("".join(given)) >= 4
            assert len(set("".join(given))) > 1
    assert largest == LARGEST == 10


def test_outputs_have_four_cells_at_least(monkeypatch: pytest.MonkeyPatch):
    def scene(rows: int, columns: int, palette: list[str], draws: list[float]) -> Grid:
        """One or two rows of two cells, amid zeros."""
        a, b, c, d = (palette[int(draw * len(palette))] for draw in draws[1:5])
        return ("0000", f"0{a}{b}0", *([f"0{c}{d}0"] if draws[0] < 0.5 else []), "0000")

    kinds = [kind for kind in KINDS if kind[0].startswith(("keep", "cut", "remove", "mirror the grid,"))]
    monkeypatch.setattr("palaestra.envs.induction.grid_transformations.KINDS", kinds)
    monkeypatch.setattr("palaestra.envs.induction.grid_transformations._draw_grid", scene)
    found = tasks(60, operations=1, listed=6, size=4, colours=4, examples=2)
    outputs = [output for task in found for _, output in task.data.examples]
    outputs += [tuple(task.reference.split("/")) for task in found]
    assert min(len("".join(output)) for output in outputs) == 4


def test_the_answer_is_not_the_grid_that_shows_its_form(monkeypatch: pytest.MonkeyPatch):
    params = {"operations": 1, "listed": 6, "size": 3, "colours": 2, "examples": 2}
    answer = FAMILY.generate(np.random.default_rng(0), params).reference
    monkeypatch.setattr("palaestra.envs.induction.grid_transformations._EXAMPLE", tuple(answer.split("/")))
    assert FAMILY.generate(np.random.default_rng(0), params).reference != answer


def test_fixed_answers_and_copies_of_the_prompt_earn_nothing():
    earned = Counter()
    for task in tasks(600, **FAMILY.param_space.at(0.0)):
        query, (_, output) = task.data.query, task.data.examples[0]
        guesses = ["00/00", "10", "111/111/111", "/".join(query), "/".join(output), task.prompt]
        earned.update(number for number, guess in enumerate(guesses) if FAMILY.verify(task, guess).success)
    assert max(earned.values(), default=0) <= 0.02 * 600


def test_an_operation_picked_at_random_is_right_as_often_as_stated():
    easiest = FAMILY.param_space.at(0.0)
    earned = [
        sum("/".join(OPERATIONS[words](task.data.query)) == task.reference for words in task.data.listed)
        for task in tasks(1000, **easiest)
    ]
    assert find_measured("palaestra/GridTransformations-v0", FAMILY).chance == 0.18
    assert 0.16 < sum(earned) / len(earned) / easiest["listed"] <= 0.18


def test_the_longest_prompts_are_short_enough():
    for operations, colours in ((1, 5), (3, 2)):
        for task in tasks(60, operations=operations, listed=10, size=8, colours=colours, examples=4):
            assert len(task.prompt) <= 2000


def test_nearly_all_kinds_of_operations_occur():
    seen = Counter()
    for task in tasks(800, operations=1, listed=8, size=5, colours=3, examples=3):
        seen.update(re.sub(r"\b[1-9]\b", "{}", words) for words in task.data.chain)
    assert seen["change each {} that no path of zeros joins to the edge to {}".replace("{}", "0", 1)] > 4
    assert len(seen) >= 41


@pytest.mark.parametrize(
    "answer",
    [
        *("002/210", "002 / 210", "002\n210", "0 0 2 / 2 1 0", "0,0,2/2,1,0", "0 0 2\n2 1 0", "002 210", "002, 210"),
        *(
            "[[0, 0, 2], [2, 1, 0]]",
            "[[0,0,2],\n[2,1,0]]",
            "[ [0, 0, 2], [2, 1, 0] ]",
            '["002", "210"]',
            "/002/210/",
        ),
        *(
            "002|210",
            "002; 210",
        ),
    ],
)
def test_a_grid_is_right_in_any_spelling(answer: str):
    assert FAMILY.verify(TASK, answer).success


def test_a_grid_of_one_row_or_one_column_is_read():
    for gold, answers in {
        "0120": ("0120", "0 1 2 0", "[[0, 1, 2, 0]]"),
        "0/1/2": ("0/1/2", "0\n1\n2", "[[0],[1],[2]]"),
    }.items():
        for answer in answers:
            assert FAMILY.verify(Task("", gold), answer).success


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("002/211", "5 of 6 cells are right"),
        ("111/002", "0 of 6 cells are right"),
        ("002/210/000", "3 x 3 instead of 2 x 3"),
        ("02/21/00", "3 x 2 instead of 2 x 3"),
        ("[[0, 0, 2, 0], [2, 1, 0, 0]]", "2 x 4 instead of 2 x 3"),
        ("002210", "1 x 6 instead of 2 x 3"),
    ],
)
def test_wrong_grids_are_told_what_is_wrong(answer: str, why: str):
    verdict = FAMILY.verify(TASK, answer)
    assert (verdict.success, verdict.malformed, verdict.score) == (False, False, 0.0)
    assert why in verdict.feedback


@pytest.mark.parametrize(
    "answer",
    [
        *(
            "",
            "/",
            "00/210",
            "002//210",
            "0x2/210",
            "-1/12",
            "[[0, 0, 2], [2, 1]]",
            "[[0, 0, 12], [2, 1, 0]]",
            "[[12, 0], [21, 0]]",
            "[[]]",
        ),
        *("[[0, -1, 2], [2, 1, 0]]", "[[0.0]]", "[[true]]", "[", "[[", "[]", "\u0660\u0661/12", "the same grid"),
    ],
)
def test_what_is_no_grid_of_digits_is_malformed(answer: str):
    verdict = FAMILY.verify(TASK, answer)
    assert verdict.malformed
    assert not verdict.success


@pytest.mark.parametrize(
    "answer",
    ["[" * 4096, "/" * 4096, "1/" * 2048, "9" * 4096, "[[" + "0," * 2040 + "0]]", "1 " * 2048, "output" + "=" * 4090],
)
def test_hostile_answers_take_no_time(answer: str):
    def judge() -> None:
        assert not FAMILY.verify(TASK, answer).success

    assert least_processor_seconds(judge, 0.5) < 0.5


def test_the_steps_lead_from_the_inputs_to_the_outputs():
    for task in tasks(30, operations=2, listed=6, size=5, colours=3, examples=3):
        names, examples, query = shown(task)
        *lines, answer = FAMILY.solution_steps(task)
        assert answer == task.reference
        halves = [("Example", *examples[0], lines[:3]), ("Query", query, tuple(answer.split("/")), lines[3:])]
        for label, grid, output, (first, *steps) in halves:
            assert first == f"{label}: {'/'.join(grid)}"
            for step in steps:
                words, after = step.split(": ")
                assert words in names
                grid = OPERATIONS[words](grid)
                assert after == "/".join(grid)
            assert grid == output


def test_work_counts_the_cells_that_a_search_handles():
    # Two operations on the first example, a grid of six cells; each leads to another grid, on which both are tried.
    assert FAMILY.solver_cost(TASK) == 2 * 6
    assert FAMILY.solver_cost(Task("", None, data=RULE._replace(chain=RULE.listed))) == (2 + 4) * 6


def test_pictures_show_the_examples_and_the_query_one_below_the_other():
    pytest.importorskip("PIL")
    picture = FAMILY.draw(TASK)
    # Three bands of two rows with a row between; three columns of input, the arrow, three of output.
    assert picture.shape == (8 * 20 + 1, 7 * 20 + 1, 3)

    def colour(row: int, column: int) -> tuple[int, ...]:
        return tuple(picture[row * 20 + 3, column * 20 + 3].tolist())

    black, blue, red = (0, 0, 0), (0x1E, 0x6F, 0xD9), (0xE5, 0x38, 0x3B)
    assert [colour(0, column) for column in range(3)] == [blue, red, black]
    assert [colour(0, column) for column in range(4, 7)] == [black, red, blue]
    assert [colour(7, column) for column in range(3)] == [black, blue, red]
    # The arrow stands beside the first row of a band.
    assert (picture[1:20, 61:80] != picture[21:40, 61:80]).any()
    # Nothing of the answer is shown.
    assert len({colour(row, column) for row in (6, 7) for column in range(3, 7)}) == 1


def test_a_seed_keeps_its_task():
    params = {"operations": 1, "listed": 6, "size": 3, "colours": 2, "examples": 2}
    task = FAMILY.generate(np.random.default_rng(1), params)
    assert task.prompt == (
        "One of these operations turns each input grid into its output grid. Neighbours share a side; an object is a "
        "group of non-zero cells joined through neighbours, whatever their digits.\n"
        "- change each 0 to the nearest other digit below it, if any\n"
        "- change each 0 to the nearest other digit left of it, if any\n"
        "- in each column, move all non-zero cells to the bottom\n"
        "- make the bottom half the mirror image of the top half\n- mirror the grid, top to bottom\n"
        "- put a copy of the grid below it\nInput:\n733\n733\n333\nOutput:\n733\n733\n733\nInput:\n333\n370\n770\n"
        "Output:\n333\n370\n333\nInput:\n077\n033\n070\nWhat is the output? Answer with its rows on one line, "
        "separated by slashes, such as 012/340/500."
    )
    assert FAMILY.solution_steps(task) == [
        "Example: 733/733/333",
        "make the bottom half the mirror image of the top half: 733/733/733",
        "Query: 077/033/070",
        "make the bottom half the mirror image of the top half: 077/033/077",
        "077/033/077",
    ]
