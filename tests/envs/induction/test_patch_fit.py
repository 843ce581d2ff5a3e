"""PatchFit: the rules are checked on pictures as the prompt shows them, with each patch put into each hole."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from palaestra.envs.induction.patch_fit import PatchFit, PatchPuzzle, find_fitting_patches
from palaestra.envs.measured import find_measured
from palaestra.envs.question import Task

FAMILY = PatchFit()
RULES = ("mirror", "repeat", "smooth")
Rows = list[str]
# 1 1 1 ... with two holes; patch 2 fits the first one and patch 4 the second one.
TWO = Task("", None, data=PatchPuzzle(np.zeros((8, 12)), "smooth", ((0, 0), (4, 4)), np.zeros((5, 2, 2)), (2, 4)))
ONE = Task("", None, data=TWO.data._replace(holes=((0, 0),), fitting=(3,)))
MIDDLE = {"holes": 2, "side": 3, "patches": 6, "changed": 2}


def tasks(count: int, **params: int | str) -> list[Task]:
    rng = np.random.default_rng(count)
    return [FAMILY.generate(rng, {**MIDDLE, **params}) for _ in range(count)]


def shown(task: Task) -> tuple[Rows, dict[int, Rows]]:
    lines = task.prompt.split("\n")
    picture = list(itertools.takewhile(lambda line: re.fullmatch(r"[0-9A-C]+", line), lines[1:]))
    patches = re.findall(r"Patch (\d+):\n((?:\d+\n)+)", task.prompt)
    assert [int(number) for number, _ in patches] == list(range(1, len(patches) + 1))
    return picture, {int(number): rows.split() for number, rows in patches}


def filled(picture: Rows, letter: str, patch: Rows) -> Rows:
    """The picture with a patch in one hole."""
    digits = iter("".join(patch))
    return ["".join(next(digits) if cell == letter else cell for cell in row) for row in picture]


def keeps(picture: Rows, prompt: str) -> bool:
    """Whether all pairs of digits that the rule in the prompt speaks of agree; letters agree with everything."""
    height, width = len(picture), len(picture[0])
    cells = list(itertools.product(range(height), range(width)))
    if "mirrors" in prompt:
        pairs, most = [((y, x), (y, width - 1 - x)) for y, x in cells], 0
    elif "columns further right" in prompt:
        across, down = map(int, re.findall(r"the one (\d) columns further right and the one (\d) rows", prompt)[0])
        pairs, most = [((y, x), other) for y, x in cells for other in ((y + down, x), (y, x + across))], 0
    else:
        assert "side by side or one above the other differ by at most 1" in prompt
        pairs, most = [((y, x), other) for y, x in cells for other in ((y + 1, x), (y, x + 1))], 1
    pairs = [((y, x), (v, u)) for (y, x), (v, u) in pairs if v < height and u < width]
    known = [
        (int(picture[y][x]), int(picture[v][u]))
        for (y, x), (v, u) in pairs
        if (picture[y][x] + picture[v][u]).isdigit()
    ]
    return all(abs(one - other) <= most for one, other in known)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("holes", "side", "patches"), [(1, 2, 4), (1, 4, 8), (2, 3, 6), (3, 2, 8), (3, 4, 7)])
def test_exactly_one_patch_fits_each_hole_and_no_patch_two(rule: str, holes: int, side: int, patches: int):
    for changed in (1, 3):
        for task in tasks(15, rule=rule, holes=holes, side=side, patches=patches, changed=changed):
            picture, candidates = shown(task)
            letters = "ABC"[:holes]
            assert {letter: "".join(picture).count(letter) for letter in letters} == dict.fromkeys(letters, side**2)
            assert len(candidates) == len(set(map(tuple, candidates.values()))) == patches
            assert keeps(picture, task.prompt)
            fitting = []
            for letter in letters:
                (number,) = [n for n, rows in candidates.items() if keeps(filled(picture, letter, rows), task.prompt)]
                fitting.append(str(number))
            assert len(set(fitting)) == holes
            assert FAMILY.oracle(task) == " ".join(fitting)
            for letter, number in zip(letters, fitting):
                picture = filled(picture, letter, candidates[int(number)])
            assert keeps(picture, task.prompt)


@pytest.mark.parametrize(
    ("patch", "fit"),
    [("4444", True), ("3444", True), ("5445", True), ("3544", False), ("3454", False), ("4435", False)],
)
def test_a_smooth_patch_agrees_inside(patch: str, fit: bool):
    digits = np.array([int(digit) for digit in patch]).reshape(1, 2, 2)
    assert find_fitting_patches(np.full((4, 4), 4), "smooth", (1, 1), digits).tolist() == [fit]


def test_a_smooth_patch_agrees_on_all_sides():
    for y, x in ((0, 1), (0, 2), (1, 0), (2, 0), (1, 3), (2, 3), (3, 1), (3, 2)):
        for digit, fit in ((5, True), (3, True), (6, False)):
            picture = np.full((4, 4), 4)
            # The rest of that side follows, so that only the patch may disagree.
            side = (slice(y, y + 1), slice(None)) if y in (0, 3) else (slice(None), slice(x, x + 1))
            picture[side] = 5 if digit == 6 else digit
            picture[y, x] = digit
            assert find_fitting_patches(picture, "smooth", (1, 1), np.full((1, 2, 2), 4)).tolist() == [fit]


def test_a_smooth_patch_at_the_corner_has_neighbours_on_two_sides():
    picture = np.array([[0, 0, 3], [0, 0, 4], [3, 4, 5]])
    patches = np.array([[[9, 9], [9, 9]], [[3, 3], [3, 4]], [[1, 2], [2, 3]], [[3, 3], [3, 2]]])
    assert find_fitting_patches(picture, "smooth", (0, 0), patches).tolist() == [False, True, True, False]


def test_holes_lie_in_both_halves_of_mirrored_pictures():
    left = 0
    made = tasks(40, rule="mirror", holes=1)
    for task in made:
        left += any("A" in row[:6] for row in shown(task)[0])
    assert 5 < left < 35


def test_each_hole_is_a_square_apart_from_the_others():
    for task in tasks(60, rule="repeat", holes=3, side=4):
        picture, _ = shown(task)
        for letter in "ABC":
            rows = [row for row in picture if letter in row]
            assert len(rows) == 4
            assert all(re.fullmatch(rf"\d*{letter}{{4}}\d*", row) for row in rows)
            assert len({row.index(letter) for row in rows}) == 1
        assert all(len({*one, *other} & set("ABC")) < 2 for one, other in itertools.pairwise(picture))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("changed", [1, 3])
def test_most_wrong_patches_differ_from_a_right_one_in_as_many_digits_as_asked(rule: str, changed: int):
    counts = []
    for task in tasks(40, rule=rule, changed=changed, holes=1, side=4, patches=8):
        _, candidates = shown(task)
        right = "".join(candidates.pop(int(FAMILY.oracle(task))))
        counts += [sum(map(str.__ne__, "".join(rows), right)) for rows in candidates.values()]
    assert min(counts) >= 1
    assert 0.5 < counts.count(changed) / len(counts) < 0.95
    if changed == 3:
        assert counts.count(1) / len(counts) < 0.05


def test_wrong_patches_are_also_turned_ones_and_pieces_from_one_off():
    turned = moved = 0
    for task in tasks(40, rule="smooth", holes=1, side=3, patches=8):
        picture, candidates = shown(task)
        right = candidates.pop(int(FAMILY.oracle(task)))
        whole = filled(picture, "A", right)
        y = next(y for y, row in enumerate(picture) if "A" in row)
        x = picture[y].index("A")
        near = [
            [row[u : u + 3] for row in whole[v : v + 3]] for v, u in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1))
        ]
        across = [[row[::-1] for row in right], right[::-1], list(map("".join, zip(*right)))]
        moved += any(rows in near for rows in candidates.values())
        turned += any(rows in across for rows in candidates.values())
    assert turned > 10
    assert moved > 10


@pytest.mark.parametrize(
    "answer",
    ["2 4", "2, 4", "2; 4", "[2, 4]", "A 2, B 4", "A2 B4", "a: 2, b: 4", "B = 4, A = 2", "Hole A: patch 2, hole B: 4",
     "patch 2 and patch 4", "02 04", "A-2, B-4", "- A: 2\n- B: 4"],
)  # fmt: skip
def test_patches_are_right_in_any_spelling(answer: str):
    verdict = FAMILY.verify(TWO, answer)
    assert (verdict.success, verdict.reward) == (True, 1.0)


@pytest.mark.parametrize("answer", ["3", "A 3", "A: 3", "patch 3", "(3)", "3."])
def test_one_patch_is_right_in_any_spelling(answer: str):
    assert FAMILY.verify(ONE, answer).success


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("4 2", "4 does not fit hole A"),
        ("2 2", "2 does not fit hole B"),
        ("5 4", "5 does not fit hole A"),
        ("A 2, B 1", "1 does not fit hole B"),
    ],
)
def test_a_wrong_patch_earns_nothing_and_is_named(answer: str, why: str):
    verdict = FAMILY.verify(TWO, answer)
    assert (verdict.success, verdict.malformed, verdict.reward) == (False, False, 0.0)
    assert why in verdict.feedback


@pytest.mark.parametrize(
    "answer",
    ["", "2", "-2 4", "2 -4", "-2 -4", "A -2, B 4", "2.4", "2 4.0",
     "2 4 1", "0 4", "2 6", "24", "x", "2 x", "A 2", "A 2, C 4", "A 2, A 4", "A 1, A 2, B 4", "A 2, B 4, C 1",
     "A 2, 4", "2 B 4", "\u0662 4", "2 \u00b2", "1" * 4096, "2 " * 2048, "A 2, " * 819, "patch" * 819, "hole" * 1024],
)  # fmt: skip
def test_what_does_not_name_a_patch_for_each_hole_is_malformed(answer: str):
    verdict = FAMILY.verify(TWO, answer)
    assert (verdict.malformed, verdict.reward) == (True, 0.0)
    assert "2 numbers from 1 to 5" in verdict.feedback


def test_a_number_is_right_by_chance_as_often_as_stated():
    made = tasks(1200, rule="mirror", holes=1, side=2, patches=4, changed=3)
    for answer in "1234":
        earned = np.mean([FAMILY.verify(task, answer).reward for task in made])
        # Four standard errors.
        assert abs(earned - find_measured("palaestra/PatchFit-v0", FAMILY).chance) < 4 * (0.25 * 0.75 / 1200) ** 0.5


@pytest.mark.parametrize("holes", [1, 3])
def test_the_example_has_the_form_of_the_answer_and_is_not_it(holes: int):
    for task in tasks(60, rule="mirror", holes=holes, side=2, patches=4):
        (example,) = re.findall(r'such as "(.*)"\.', task.prompt)
        verdict = FAMILY.verify(task, example)
        assert (verdict.malformed, verdict.success) == (False, False)


def test_the_work_is_the_digits_compared():
    picture = np.array([[1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]])
    picture = np.pad(picture, ((0, 0), (0, 8)), constant_values=1)
    patches = np.array([[[1, 1], [1, 1]], [[1, 1], [1, 5]], [[5, 1], [1, 1]]])
    exact = PatchPuzzle(picture, "mirror", ((0, 1),), patches, (1,))
    assert FAMILY.solver_cost(Task("", None, data=exact)) == 4 + 4 + 1
    # The hole lies at the upper edge. The first patch: its first digit has a neighbour left; its second one left and
    # right; the third left, above and below; the fourth on all four sides. The second fails at the seventh pair,
    # the first one of its last digit; the third at once.
    smooth = exact._replace(rule="smooth")
    assert FAMILY.solver_cost(Task("", None, data=smooth)) == 10 + 7 + 1


@pytest.mark.parametrize("rule", RULES)
def test_the_steps_show_the_patches_that_fit(rule: str):
    for task in tasks(10, rule=rule, holes=3):
        picture, candidates = shown(task)
        *steps, last = FAMILY.solution_steps(task)
        assert last == task.solution
        for letter, number, step in zip("ABC", last.split(), steps, strict=True):
            assert step.startswith(f"Hole {letter}:")
            assert f"patch {number}" in step
            assert " ".join(candidates[int(number)]) in step
            if rule == "smooth":
                rows = [y for y, row in enumerate(picture) if letter in row]
                x = picture[rows[0]].index(letter)
                seen = dict(re.findall(r"(above|below|left|right)(?: of)? it (\d+)", step))
                assert seen.get("above", "") == (picture[rows[0] - 1][x : x + 3] if rows[0] else "")
                assert seen.get("below", "") == "".join(row[x : x + 3] for row in picture[rows[-1] + 1 : rows[-1] + 2])
                assert seen.get("left", "") == ("".join(picture[y][x - 1] for y in rows) if x else "")
                assert seen.get("right", "") == "".join(picture[y][x + 3 : x + 4] for y in rows)


def test_a_golden_task():
    task = FAMILY.generate(
        np.random.default_rng(3), {"rule": "repeat", "holes": 2, "side": 2, "patches": 4, "changed": 2}
    )
    assert task.prompt == GOLDEN
    assert task.solution == "1 4"


GOLDEN = """\
This picture has the holes A B of 2 x 2 digits.
AA1309213092
AA5248652486
174021740217
921309213092
865248652486
17BB21740217
92BB09213092
865248652486
Each digit is the same as the one 5 columns further right and the one 3 rows further down, also in the holes. \
Exactly one of these patches fits each, as it is.
Patch 1:
92
86
Patch 2:
52
66
Patch 3:
13
40
Patch 4:
40
13
Answer with the numbers of the patches for the holes in this order, such as "2 1"."""


def test_pictures_show_the_holes_and_the_patches():
    pytest.importorskip("PIL")
    (task,) = tasks(1, rule="repeat", holes=1, side=3, patches=8)
    # A title and 8 rows of 12 digits, a gap; three patches of three digits in a row, with titles: three such rows.
    assert FAMILY.draw(task).shape == ((9 + 3 * 4) * 20 + 1, 13 * 20 + 1, 3)
