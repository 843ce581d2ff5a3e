"""palaestra/PatchFit-v0: choose the patches that fill the holes in a picture."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

import numpy as np

from ...rewards import Verdict
from ...rewards.verifiers.registry import CORRECT, rejected
from ..board_picture import Cell, draw_board
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .images import (
    PATTERNS,
    SYMMETRIES,
    lay_out_panels,
    pattern_picture,
    picture_rows,
    smooth_picture,
    transform_picture,
)

WIDTH = 12
HOLES = "ABCDEF"
_RULES = {
    "mirror": "Its right half mirrors its left half",
    "repeat": "Each digit is the same as the one {across} columns further right and the one {down} rows further down",
    "smooth": "Digits side by side or one above the other differ by at most 1",
}
_FILLERS = re.compile(r"patch(?:es)?|holes?|and|[\s,;:=()\[\]|/.-]+")
_EXAMPLES = (("2 1 3", "1 2 4"), ("2 1 3 5 4 6", "1 2 4 3 6 5"))
# Negative numbers and decimals name no patch.
_NO_PATCH = re.compile(r"(?<![a-z0-9])-[0-9]|[0-9]\.[0-9]")
_LABELLED = re.compile(r"([a-z]) ?([0-9]{1,2})")


class PatchPuzzle(NamedTuple):
    """Data of a task: the picture without holes, int[height, width]; its rule; the upper left cell of each hole; the
    patches, int[n, side, side]; and for each hole the number, from 1, of the patch that fits."""

    picture: np.ndarray
    rule: str
    holes: tuple[tuple[int, int], ...]
    patches: np.ndarray
    fitting: tuple[int, ...]


class PatchFit(Question):
    """Choose the patches that fill the holes in a picture.

    Description:
        A picture of digits follows a stated rule and has square holes. Exactly one of the patches shown fits each hole
        by the rule, a different one for each hole. The others are fitting patches with some digits changed, or turned
        or mirrored, and parts of the picture one row or column away from a hole.

    Parameters:
        rule ("mirror", "repeat", "smooth"): the halves of the picture mirror each other, the picture repeats itself
            across and down, or neighbouring digits differ by at most 1.
        holes (1 to 3, on request up to 6): number of holes.
        side (2 to 4, on request up to 5): digits along each side of a hole.
        patches (4 to 8, on request 2 to 16): number of patches to choose from, at least one more than holes.
        changed (3 to 1, harder downwards, on request 4): number of digits by which wrong patches with changed digits
            differ from fitting ones.

    Observation:
        Text: the rule, the picture with letters for the digits of the holes, and the numbered patches.

    Actions:
        Text with the number of a patch for each hole in turn, ``3 1``, or with letters, ``A 3, B 1``, read in
        ``answer_format``.

    Reward:
        1 if every hole gets its patch, 0 otherwise. A guess is right by chance in 0.25 of the tasks with one hole and
        four patches, and in 0.03 with two holes and six patches.

    Termination:
        After the first answer.

    Source:
        The odd-patch puzzles of PuzzleCraft, arXiv 2512.14944; here the rule that a patch must follow is stated.
    """

    supplies = frozenset({"options"})
    answer_form = "lines"
    param_space = ParamSpace(
        [
            ChoiceAxis("rule", tuple(_RULES)),
            IntAxis("holes", 1, 3, limits=(1, len(HOLES))),
            IntAxis("side", 2, 4, limits=(2, 5)),
            IntAxis("patches", 4, 8, limits=(2, 16)),
            IntAxis("changed", 1, 3, harder="down", limits=(1, 4)),
        ]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        rule, side, count = params["rule"], params["side"], max(params["patches"], params["holes"] + 1)
        height = max(8, params["holes"] * (side + 2))
        while True:
            across, down = rng.integers(3, 6, 2).tolist()
            picture = _draw_picture(rng, rule, height, down, across)
            holes = _draw_holes(rng, rule, height, params["holes"], side)
            right = np.stack([picture[y : y + side, x : x + side] for y, x in holes])
            alone = all(find_fitting_patches(picture, rule, hole, right).sum() == 1 for hole in holes)
            wrong = _make_wrong_patches(rng, picture, rule, holes, right, params["changed"], count) if alone else []
            if len(wrong) >= count - len(holes):
                break
        order = rng.permutation(count)
        patches = np.stack([*right, *wrong[: count - len(holes)]])[order]
        fitting = tuple((order.argsort()[: len(holes)] + 1).tolist())
        shown = _mark_holes(picture, holes, side)
        listed = "\n".join("\n".join((f"Patch {i}:", *picture_rows(patch))) for i, patch in enumerate(patches, 1))
        stated = _RULES[rule].format(across=across, down=down)
        shown_as = _EXAMPLES[len(holes) > 3]
        example = next(text for text in shown_as if text[: 2 * len(holes)].split() != list(map(str, fitting)))
        one = len(holes) == 1
        where = "the hole A" if one else f"the holes {' '.join(HOLES[: len(holes)])}"
        form = "the number of the patch" if one else "the numbers of the patches for the holes in this order"
        content = "\n".join([stated, *shown, listed])
        return Task(
            f"This picture has {where} of {side} x {side} digits.\n" + "\n".join(shown) + f"\n{stated}, also in the "
            f"{'hole' if one else 'holes'}. Exactly one of these patches fits {'it' if one else 'each'}, as it is.\n"
            f'{listed}\nAnswer with {form}, such as "{example[: 2 * len(holes) - 1]}".',
            None,
            solution=" ".join(map(str, fitting)),
            content=content,
            data=PatchPuzzle(picture, rule, holes, patches, fitting),
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        fitting, count = task.data.fitting, len(task.data.patches)
        given = _read_numbers(answer, len(fitting), count)
        if given is None:
            number = "one number" if len(fitting) == 1 else f"{len(fitting)} numbers"
            return rejected(f"The answer must be {number} from 1 to {count}, separated by spaces.")
        wrong = [HOLES[i] for i, (one, other) in enumerate(zip(given, fitting)) if one != other]
        if not wrong:
            return CORRECT
        return Verdict(0.0, False, feedback=f"Patch {given[HOLES.index(wrong[0])]} does not fit hole {wrong[0]}.")

    def compute_extra(self, subject: Task, name: str) -> Any:
        if name != "options":
            return super().compute_extra(subject, name)
        return math.perm(len(subject.data.patches), len(subject.data.fitting))

    def solver_cost(self, episode: Task) -> float:
        """Return the number of digits compared if each patch is tried in each hole until two digits disagree."""
        picture, rule, holes, patches, _ = episode.data
        side = len(patches[0])
        return float(
            sum(
                _count_comparisons(picture.tolist(), rule, y, x, patch)
                for y, x in holes
                for patch in patches.reshape(-1, side, side).tolist()
            )
        )

    def solution_steps(self, task: Task) -> list[str]:
        """List the digits that the rule requires in each hole, or those around it, and the patch that fits."""
        picture, rule, holes, patches, fitting = task.data
        side = len(patches[0])
        steps = []
        for letter, (y, x), number in zip(HOLES, holes, fitting):
            rows = " ".join(picture_rows(patches[number - 1]))
            if rule == "smooth":
                around = {
                    "above it": picture[max(y - 1, 0) : y, x : x + side],
                    "below it": picture[y + side : y + side + 1, x : x + side],
                    "left of it": picture[y : y + side, max(x - 1, 0) : x].T,
                    "right of it": picture[y : y + side, x + side : x + side + 1].T,
                }
                seen = ", ".join(f"{where} {picture_rows(part)[0]}" for where, part in around.items() if part.size)
                steps.append(f"Hole {letter}: {seen}; this takes patch {number}, {rows}.")
            else:
                steps.append(f"Hole {letter}: by the rule it is {rows}, patch {number}.")
        return [*steps, self.oracle(task)]

    def draw(self, episode: Task) -> np.ndarray:
        picture, _, holes, patches, _ = episode.data
        side = len(patches[0])
        panels = [(str(number), picture_rows(patch)) for number, patch in enumerate(patches, 1)]
        cells = lay_out_panels([("", _mark_holes(picture, holes, side))], 1) + lay_out_panels(
            panels, (WIDTH + 1) // (side + 1)
        )
        return draw_board([[*row, *[Cell()] * (WIDTH + 1 - len(row))] for row in cells], side=20)


def find_fitting_patches(picture: np.ndarray, rule: str, hole: tuple[int, int], patches: np.ndarray) -> np.ndarray:
    """Return bool[n]: True for each of the patches, int[n, side, side], that follows the rule in a hole. ``picture`` is
    the picture without holes."""
    (y, x), side = hole, patches.shape[1]
    if rule != "smooth":
        # Each digit of the hole equals a visible one.
        return (patches == picture[y : y + side, x : x + side]).all(axis=(1, 2))
    top, left = max(y - 1, 0), max(x - 1, 0)
    filled = np.repeat(picture[None, top : y + side + 1, left : x + side + 1], len(patches), axis=0)
    filled[:, y - top : y - top + side, x - left : x - left + side] = patches
    down, across = abs(np.diff(filled, axis=1)), abs(np.diff(filled, axis=2))
    return (down.max(axis=(1, 2)) <= 1) & (across.max(axis=(1, 2)) <= 1)


def _draw_picture(rng: np.random.Generator, rule: str, height: int, down: int, across: int) -> np.ndarray:
    if rule == "smooth":
        return smooth_picture(rng, height, WIDTH, 1)
    kind = PATTERNS[int(rng.random() * len(PATTERNS))]
    if rule == "mirror":
        half = pattern_picture(kind, rng, height, WIDTH // 2)
        return np.hstack([half, half[:, ::-1]])
    return np.tile(pattern_picture(kind, rng, down, across), (height // down + 1, WIDTH // across + 1))[:height, :WIDTH]


def _draw_holes(rng: np.random.Generator, rule: str, height: int, count: int, side: int) -> tuple[tuple[int, int], ...]:
    """Draw the upper left cells of the holes, each in a separate band of rows with a free row below the hole. With
    "mirror" each hole lies in one half; with "repeat" rows are long enough to show each hidden digit elsewhere."""
    band, half = height // count, WIDTH // 2
    holes = []
    for start, (u, v, w) in zip(range(0, height, band), rng.random((count, 3)).tolist()):
        y = start + int(u * (band - side))
        x = int(v * (half - side + 1)) + half * int(2 * w) if rule == "mirror" else int(v * (WIDTH - side + 1))
        holes.append((y, x))
    return tuple(holes)


def _make_wrong_patches(
    rng: np.random.Generator,
    picture: np.ndarray,
    rule: str,
    holes: tuple[tuple[int, int], ...],
    right: np.ndarray,
    changed: int,
    count: int,
) -> list[np.ndarray]:
    """Return different wrong patches: of 2 * ``count`` candidates those that fit no hole."""
    side = right.shape[1]
    made = []
    for i, (kind, choice, *cells) in enumerate(rng.random((2 * count, 2 + 2 * changed)).tolist()):
        patch, (y, x) = right[i % len(holes)], holes[i % len(holes)]
        if kind < 0.6:
            patch = patch.copy()
            left = list(range(side * side))
            for place, digit in zip(cells[:changed], cells[changed:]):
                row, column = divmod(left.pop(int(place * len(left))), side)
                if rule == "smooth":
                    # Change by 1 or 2 only, as a larger difference would be obvious.
                    value, change = patch[row, column], (-2, -1, 1, 2)[int(digit * 4)]
                    patch[row, column] = value + (change if 0 <= value + change <= 9 else -change)
                else:
                    patch[row, column] = (patch[row, column] + 1 + int(digit * 9)) % 10
        elif kind < 0.8:
            patch = transform_picture(patch, *SYMMETRIES[1 + int(choice * 7)])
        else:
            dy, dx = ((0, 1), (1, 0), (0, -1), (-1, 0))[int(choice * 4)]
            patch = picture[max(y + dy, 0) : y + dy + side, max(x + dx, 0) : x + dx + side]
        if patch.shape == (side, side):
            made.append(patch)
    fitting = np.any([find_fitting_patches(picture, rule, hole, np.stack(made)) for hole in holes], axis=0).tolist()
    return list({patch.tobytes(): patch for patch, fit in zip(made, fitting) if not fit}.values())


def _mark_holes(picture: np.ndarray, holes: tuple[tuple[int, int], ...], side: int) -> list[str]:
    """Return the rows of the picture with letters in the holes."""
    rows = picture_rows(picture)
    for letter, (y, x) in zip(HOLES, holes):
        for row in range(y, y + side):
            rows[row] = rows[row][:x] + letter * side + rows[row][x + side :]
    return rows


def _count_comparisons(picture: list[list[int]], rule: str, y: int, x: int, patch: list[list[int]]) -> int:
    """Count the pairs of digits compared, cell by cell, until two disagree with the rule."""
    side, compared = len(patch), 0
    for row in range(side):
        for column in range(side):
            digit = patch[row][column]
            if rule != "smooth":
                compared += 1
                if digit != picture[y + row][x + column]:
                    return compared
                continue
            for dy, dx in ((0, -1), (-1, 0), (0, 1), (1, 0)):
                inside = 0 <= row + dy < side and 0 <= column + dx < side
                if inside and dy + dx > 0:
                    continue  # This pair is counted at the other cell.
                down, across = y + row + dy, x + column + dx
                if not inside and not (0 <= down < len(picture) and 0 <= across < WIDTH):
                    continue
                compared += 1
                if abs(digit - (patch[row + dy][column + dx] if inside else picture[down][across])) > 1:
                    return compared
    return compared


def _read_numbers(answer: str, holes: int, patches: int) -> list[int] | None:
    """Return the number of a patch for each hole; None if the answer does not give exactly these numbers."""
    if _NO_PATCH.search(answer.lower()):
        return None
    words = _FILLERS.sub(" ", answer.lower()).split()
    text = " ".join(words)
    labelled = _LABELLED.findall(text)
    if labelled:
        found = dict(labelled)
        # Either a letter occurs twice, or the answer has text beside its pairs of a letter and a number.
        if len(found) != len(labelled) or "".join(words) != "".join(map("".join, labelled)):
            return None
        words = [found.get(letter.lower(), "") for letter in HOLES[:holes]]
        if len(found) != holes:
            return None
    if len(words) != holes or not all(word.isascii() and word.isdigit() and len(word) < 3 for word in words):
        return None
    numbers = list(map(int, words))
    return numbers if all(1 <= number <= patches for number in numbers) else None


register("palaestra/PatchFit-v0", f"{__name__}:PatchFit")
