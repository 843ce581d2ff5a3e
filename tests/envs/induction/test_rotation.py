"""Rotation, against turns worked out cell by cell."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from palaestra.envs.induction.rotation import PicturePair, Rotation, possible_symmetries
from palaestra.envs.measured import find_measured
from palaestra.envs.question import Task

FAMILY = Rotation()
EVERY = possible_symmetries("perhaps")
TURNS = possible_symmetries("never")
Rows = list[str]
# The answers are 90, mirrored 0 and 270.
PAIRS = (
    PicturePair(["12", "34"], ["31", "42"], (False, 90), 0),
    PicturePair(["12", "34"], ["21", "43"], (True, 0), 0),
    PicturePair(["12", "34"], ["24", "13"], (False, 270), 0),
)
THREE = Task("", None, data=(PAIRS, EVERY))
TWO = Task("", None, data=((PAIRS[0], PAIRS[2]), TURNS))
ONE = Task("", None, data=(PAIRS[:1], TURNS))
MIRRORED = Task("", None, data=(PAIRS[1:2], EVERY))


def tasks(count: int, pictures: int = 2, size: int = 5, noise: int = 1, mirrors: str = "perhaps") -> list[Task]:
    rng = np.random.default_rng(count)
    params = {"pictures": pictures, "size": size, "noise": noise, "mirrors": mirrors}
    return [FAMILY.generate(rng, params) for _ in range(count)]


def mirrored(rows: Rows) -> Rows:
    return [row[::-1] for row in rows]


def turned(rows: Rows, degrees: int) -> Rows:
    """The cell in row y and column x goes to row x of the last column but y, once for each quarter turn."""
    size = len(rows)
    for _ in range(degrees // 90):
        cells = [[""] * size for _ in range(size)]
        for y, x in itertools.product(range(size), repeat=2):
            cells[x][size - 1 - y] = rows[y][x]
        rows = ["".join(row) for row in cells]
    return rows


def shown(task: Task) -> list[tuple[Rows, Rows]]:
    blocks = re.findall(r"Picture (\d+) and its copy:\n((?:\d+   \d+\n)+)", task.prompt)
    assert [int(number) for number, _ in blocks] == list(range(1, len(blocks) + 1))
    pairs = [[line.split("   ") for line in block.splitlines()] for _, block in blocks]
    return [([one for one, _ in lines], [other for _, other in lines]) for lines in pairs]


def distance(one: Rows, other: Rows) -> int:
    return sum(map(str.__ne__, "".join(one), "".join(other)))


@pytest.mark.parametrize("mirrors", ["never", "perhaps"])
@pytest.mark.parametrize(("size", "noise"), [(4, 0), (4, 4), (6, 2), (8, 3)])
def test_one_possibility_is_nearer_than_all_others(size: int, noise: int, mirrors: str):
    seen = set()
    for task in tasks(40, size=size, noise=noise, mirrors=mirrors):
        answers = []
        for picture, copy in shown(task):
            assert len(picture) == len(copy) == size
            possible = {str(degrees): turned(picture, degrees) for degrees in (0, 90, 180, 270)}
            if mirrors == "perhaps":
                possible |= {f"mirrored {d}": turned(mirrored(picture), d) for d in (0, 90, 180, 270)}
            (best, least), (_, second) = sorted(
                ((text, distance(rows, copy)) for text, rows in possible.items()), key=lambda item: item[1]
            )[:2]
            assert least == noise
            assert second > noise
            for one, other in itertools.combinations(possible.values(), 2):
                assert distance(one, other) > 2 * noise
            answers.append(best)
        assert FAMILY.oracle(task) == ", ".join(answers)
        seen |= set(answers)
    assert len(seen) == (8 if mirrors == "perhaps" else 4)


def test_pictures_that_equal_their_mirror_image_occur_where_none_is_mirrored():
    same = {"never": 0, "perhaps": 0}
    for mirrors in same:
        for task in tasks(60, size=4, noise=0, mirrors=mirrors):
            same[mirrors] += sum(mirrored(picture) == picture for picture, _ in shown(task))
    assert same["never"] > 0
    assert same["perhaps"] == 0


def test_the_prompt_says_how_many_digits_were_changed_and_of_mirroring_where_there_is_any():
    for noise, said in ((0, ""), (1, "1 digit of each copy was changed"), (3, "3 digits of each copy were changed")):
        (task,) = tasks(1, noise=noise)
        assert said in task.prompt
        assert ("changed" in task.prompt) == (noise > 0)
    assert "mirror" in tasks(1)[0].prompt
    assert "mirror" not in tasks(1, mirrors="never")[0].prompt


@pytest.mark.parametrize("pictures", [1, 6])
@pytest.mark.parametrize("mirrors", ["never", "perhaps"])
def test_the_example_has_the_form_of_the_answer_and_is_not_it(pictures: int, mirrors: str):
    for task in tasks(30, pictures=pictures, mirrors=mirrors):
        (example,) = re.findall(r'such as "(.*)"\.', task.prompt)
        verdict = FAMILY.verify(task, example)
        assert (verdict.malformed, verdict.success) == (False, False)


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        *((ONE, text) for text in ("90", " 90 ", "90 degrees", "90\u00b0", "(90)", "90.")),
        *((ONE, text) for text in ("turned clockwise by 90 deg", "1: 90", "Picture 1: 90", "90 cw")),
        *((TWO, text) for text in ("90, 270", "90 270", "90; 270", "[90, 270]", "90 -> 270", "90,270")),
        *((TWO, text) for text in ("1: 90, 2: 270", "Picture 1: 90 degrees, picture 2: 270 degrees", "1) 90, 2) 270")),
        *((THREE, text) for text in ("90, mirrored 0, 270", "90, 0 mirrored, 270", "90 mirrored 0 270")),
        *((THREE, text) for text in ("90, Mirrored and turned by 0, 270", "90, m0, 270", "90, 0m, 270")),
        *((MIRRORED, text) for text in ("mirrored 0", "0 mirrored", "flipped and then turned by 0 degrees")),
    ],
)  # fmt: skip
def test_angles_are_right_in_any_spelling(task: Task, answer: str):
    verdict = FAMILY.verify(task, answer)
    assert (verdict.success, verdict.reward) == (True, 1.0)


@pytest.mark.parametrize(
    ("answer", "right"),
    [("90, 0, 270", 2), ("mirrored 90, mirrored 0, mirrored 270", 1), ("0, 90, 180", 0), ("90, mirrored 0, 90", 2)],
)
def test_wrong_angles_earn_nothing_and_are_counted(answer: str, right: int):
    verdict = FAMILY.verify(THREE, answer)
    assert (verdict.success, verdict.malformed, verdict.reward) == (False, False, 0.0)
    assert verdict.feedback == f"{right} of 3 are right."


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        *((ONE, text) for text in ("", "45", "360", "-90", "90 90", "90, 90", "x", "90 mirrored", "1", "9 0")),
        *((ONE, text) for text in ("90 left", "mirrored 90", "turn")),
        *((TWO, text) for text in ("90", "90, 270, 0", "90, 270,", "90,, 270", "mirrored 90, 270", "90270")),
        *((THREE, text) for text in ("90, mirrored, 270", "90 0 270 mirrored", "mirrored mirrored 90, 0, 270")),
        *((THREE, text) for text in ("90, mirrored 0 mirrored, 270", "90 mirrored mirrored 0 270", "90, 0 0, 270")),
        *((THREE, text) for text in ("\u0669\u0660, mirrored 0, 270", "90, mirrored 0, 270" * 200, "m" * 4096)),
        *((THREE, text) for text in ("," * 4096, "90 " * 1365, "1:" * 2048, "(" * 4096)),
    ],
)  # fmt: skip
def test_what_is_no_list_of_possible_angles_is_malformed(task: Task, answer: str):
    verdict = FAMILY.verify(task, answer)
    assert (verdict.malformed, verdict.reward) == (True, 0.0)
    assert "0, 90, 180 or 270" in verdict.feedback
    assert ("mirrored" in verdict.feedback) == (len(task.data[1]) == 8)


def test_an_answer_is_right_by_chance_as_often_as_stated():
    made = tasks(1200, pictures=1, size=4, noise=0, mirrors="never")
    for answer in ("0", "90", "180", "270"):
        earned = np.mean([FAMILY.verify(task, answer).reward for task in made])
        # Four standard errors.
        assert abs(earned - find_measured("palaestra/Rotation-v0", FAMILY).chance) < 4 * (0.25 * 0.75 / 1200) ** 0.5


def test_the_work_is_the_digits_compared():
    # Under 90, 4 of 4 digits agree; under 0, 180 and 270 the first one differs.
    assert FAMILY.solver_cost(ONE) == 4 + 3
    # With one change allowed: 0 and 180 fail at the second digit, 270 too.
    assert FAMILY.solver_cost(Task("", None, data=((PAIRS[0]._replace(changed=1),), TURNS))) == 4 + 3 * 2


def test_the_steps_count_the_digits_that_differ():
    for task in tasks(5, pictures=3, noise=2):
        steps = FAMILY.solution_steps(task)
        assert steps[-1] == task.solution
        for (picture, copy), step, answer in zip(shown(task), steps, str(task.solution).split(", "), strict=False):
            counts = {text: count for count, text in re.findall(r"(\d+) at ((?:mirrored )?\d+)", step)}
            assert len(counts) == 8
            for text, count in counts.items():
                start = mirrored(picture) if "m" in text else picture
                assert distance(turned(start, int(text.split()[-1])), copy) == int(count)
            assert min(counts, key=lambda text: int(counts[text])) == answer


def test_a_golden_task():
    task = FAMILY.generate(np.random.default_rng(5), {"pictures": 2, "size": 4, "noise": 1, "mirrors": "perhaps"})
    assert task.prompt == GOLDEN
    assert task.solution == "mirrored 180, mirrored 270"


GOLDEN = """\
Each copy of a picture was perhaps mirrored left to right and then turned clockwise by 0, 90, 180 or 270 degrees. \
Then 1 digit of each copy was changed. How was each made?
Picture 1 and its copy:
3036   6963
6369   9696
9696   9369
6963   3036
Picture 2 and its copy:
7550   7755
7500   5555
5500   5000
5500   0100
Answer with the angles in turn, separated by commas, after the word mirrored where the copy was, such as "mirrored \
90, 180"."""


def test_pictures_stand_beside_their_copies():
    pytest.importorskip("PIL")
    (three,) = tasks(1, pictures=3, size=5)
    assert FAMILY.draw(three).shape == (3 * 6 * 20 + 1, 2 * 6 * 20 + 1, 3)
    (six,) = tasks(1, pictures=6, size=4)
    assert FAMILY.draw(six).shape == (3 * 5 * 20 + 1, 4 * 5 * 20 + 1, 3)
