"""palaestra/Rotation-v0: find how pictures were turned, and perhaps mirrored."""

from __future__ import annotations

import functools
import itertools
import re
from typing import Any, NamedTuple

import numpy as np

from ...rewards import Verdict
from ...rewards.verifiers.registry import CORRECT, rejected
from ..board_picture import draw_board
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .images import PATTERNS, SYMMETRIES, lay_out_panels, pattern_picture, picture_rows, transform_picture

_NUMBERED = re.compile(r"\s*(?:picture\s*|copy\s*)?\d\s*[:.)=]")
_WORD = re.compile(r"[a-z]+|[0-9]+|\S")
_MIRRORED = frozenset({"mirrored", "mirror", "m", "flipped", "flip"})
_FILLERS = frozenset(
    {"degrees", "degree", "deg", "\u00b0", "clockwise", "cw", "turned", "rotated", "by", "and", "then"}
)
_ANGLES = {"0": 0, "90": 90, "180": 180, "270": 270}
# Whether a picture is mirrored, and its clockwise turn after that, in degrees.
Symmetry = tuple[bool, int]


class PicturePair(NamedTuple):
    """A picture and its copy, as rows; the symmetry that made the copy, and the number of digits changed after that."""

    picture: list[str]
    copy: list[str]
    symmetry: Symmetry
    changed: int


class Rotation(Question):
    """Say by how much each picture was turned.

    Description:
        Each picture of digits comes with a copy that was perhaps mirrored left to right, then turned clockwise by 0,
        90, 180 or 270 degrees; at last ``noise`` digits of the copy were changed. Any two possible copies differ in
        more than 2 * noise digits before the change, so that only one is within ``noise`` digits of the copy shown.

    Parameters:
        pictures (1 to 6, on request up to 20): number of pictures, each turned independently.
        size (4 to 8, on request up to 16): digits along each side of a picture.
        noise (0 to 4, on request up to 6): number of digits changed in each copy.
        mirrors ("never", "perhaps"): copies are not mirrored (four possible copies), or may be mirrored (eight).

    Observation:
        Text: how copies are made, and the rows of each picture, each followed by the same row of its copy.

    Actions:
        Text with an angle for each picture in turn, ``90, 0, mirrored 270``, read in ``answer_format``.

    Reward:
        1 if all angles are right, 0 otherwise. Without mirroring, a guess is right by chance in 0.25 of the tasks with
        one picture, and in 0.02 of those with three.

    Termination:
        After the first answer.

    Source:
        The rotation puzzles of PuzzleCraft, arXiv 2512.14944; here with several pictures, noise and mirroring.
    """

    supplies = frozenset({"options"})
    answer_form = "lines"
    param_space = ParamSpace(
        [
            IntAxis("pictures", 1, 6, limits=(1, 20)),
            IntAxis("size", 4, 8, limits=(4, 16)),
            IntAxis("noise", 0, 4, limits=(0, 6)),
            ChoiceAxis("mirrors", ("never", "perhaps")),
        ]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        noise, possible = params["noise"], possible_symmetries(params["mirrors"])
        pairs = [_draw_pair(rng, params["size"], noise, possible) for _ in range(params["pictures"])]
        solution = ", ".join(format_symmetry(pair.symmetry) for pair in pairs)
        lines = []
        for number, pair in enumerate(pairs, 1):
            lines.append(f"Picture {number} and its copy:")
            lines += [f"{row}   {other}" for row, other in zip(pair.picture, pair.copy)]
        listed = "\n".join(lines)
        mirrored = "perhaps mirrored left to right and then " if len(possible) > 4 else ""
        changes = f" Then {noise} digit{'s' * (noise > 1)} of each copy {'were' if noise > 1 else 'was'} changed."
        first, second = ("mirrored 90", "180") if mirrored else ("90", "180")
        cycles = (first, second, "0", first, second, "270"), (second, first, "0", second, first, "270")
        examples = [", ".join(itertools.islice(itertools.cycle(angles), len(pairs))) for angles in cycles]
        example = next(text for text in examples if text != solution)
        many = "each angle" if len(pairs) == 1 else "the angles in turn, separated by commas"
        return Task(
            f"Each copy of a picture was {mirrored}turned clockwise by 0, 90, 180 or 270 degrees."
            f"{changes if noise else ''} How was each made?\n{listed}\n"
            f"Answer with {'the angle' if len(pairs) == 1 else many}"
            f'{", after the word mirrored where the copy was" if mirrored else ""}, such as "{example}".',
            None,
            solution=solution,
            content=listed,
            data=(tuple(pairs), possible),
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        pairs, possible = task.data
        given = _read_symmetries(answer)
        if given is None or len(given) != len(pairs) or not set(given) <= set(possible):
            form = "0, 90, 180 or 270" + (', perhaps after the word "mirrored"' if len(possible) > 4 else "")
            count = "one angle" if len(pairs) == 1 else f"{len(pairs)} angles separated by commas"
            return rejected(f"The answer must be {count}: {form}.")
        right = sum(symmetry == pair.symmetry for symmetry, pair in zip(given, pairs))
        return CORRECT if right == len(pairs) else Verdict(0.0, False, feedback=f"{right} of {len(pairs)} are right.")

    def compute_extra(self, subject: Task, name: str) -> Any:
        if name != "options":
            return super().compute_extra(subject, name)
        pairs, possible = subject.data
        return len(possible) ** len(pairs)

    def solver_cost(self, episode: Task) -> float:
        """Return the number of digits compared by a solver that tries each symmetry until too many digits differ."""
        pairs, possible = episode.data
        compared = 0
        for pair in pairs:
            copy = "".join(pair.copy)
            for symmetry in possible:
                left = pair.changed
                for one, other in zip(_apply_symmetry(pair.picture, symmetry), copy):
                    compared += 1
                    left -= one != other
                    if left < 0:
                        break
        return float(compared)

    def solution_steps(self, task: Task) -> list[str]:
        """List for each picture the number of digits that differ from the copy under each symmetry."""
        pairs, possible = task.data
        steps = []
        for number, pair in enumerate(pairs, 1):
            copy = "".join(pair.copy)
            counts = [
                f"{sum(map(str.__ne__, _apply_symmetry(pair.picture, symmetry), copy))} at {format_symmetry(symmetry)}"
                for symmetry in possible
            ]
            steps.append(f"Digits in which copy {number} differs from the picture: {', '.join(counts)}.")
        return [*steps, self.oracle(task)]

    def draw(self, episode: Task) -> np.ndarray:
        panels = []
        for number, pair in enumerate(episode.data[0], 1):
            panels += [(str(number), pair.picture), ("", pair.copy)]
        return draw_board(lay_out_panels(panels, 2 if len(panels) < 7 else 4), side=20)


def possible_symmetries(mirrors: str) -> tuple[Symmetry, ...]:
    """Return the symmetries that may be applied to a picture."""
    return SYMMETRIES if mirrors == "perhaps" else SYMMETRIES[:4]


def format_symmetry(symmetry: Symmetry) -> str:
    """Write a symmetry as in an answer."""
    return f"mirrored {symmetry[1]}" if symmetry[0] else str(symmetry[1])


def _draw_pair(rng: np.random.Generator, size: int, noise: int, possible: tuple[Symmetry, ...]) -> PicturePair:
    """Draw a picture whose possible copies differ enough, and one of these copies."""
    while True:
        kind, choice, *cells = rng.random(2 + 2 * noise).tolist()
        picture = pattern_picture(PATTERNS[int(kind * len(PATTERNS))], rng, size, size)
        copies = picture.ravel()[_source_cells(size)[: len(possible)]]
        # Two copies differ in as many digits as the picture and some copy, as the symmetries form a group.
        if (copies[1:] != copies[0]).sum(axis=1).min() > 2 * noise:
            break
    chosen = int(choice * len(possible))
    copy = copies[chosen].tolist()
    left = list(range(size * size))
    for place, digit in zip(cells[:noise], cells[noise:]):
        changed = left.pop(int(place * len(left)))
        copy[changed] = (copy[changed] + 1 + int(digit * 9)) % 10
    digits = "".join(map(str, copy))
    rows = [digits[start : start + size] for start in range(0, size * size, size)]
    return PicturePair(picture_rows(picture), rows, possible[chosen], noise)


@functools.cache
def _source_cells(size: int) -> np.ndarray:
    """Return int[8, size * size]: for all symmetries, the cell of a picture that each cell of its copy shows."""
    cells = np.arange(size * size).reshape(size, size)
    return np.stack([transform_picture(cells, *symmetry).ravel() for symmetry in SYMMETRIES])


def _apply_symmetry(rows: list[str], symmetry: Symmetry) -> str:
    """Return the digits of a transformed picture, in reading order."""
    mirrored, degrees = symmetry
    rows = [row[::-1] for row in rows] if mirrored else rows
    for _ in range(degrees // 90):
        rows = ["".join(column) for column in zip(*reversed(rows))]
    return "".join(rows)


def _read_symmetries(answer: str) -> list[Symmetry] | None:
    """Return the symmetries in an answer; None if it is no list of angles, each perhaps with "mirrored"."""
    text = answer.lower().replace("->", ",").replace(";", ",").strip(" .()[]")
    if "," in text:
        parts = [_read_symmetry(part) for part in text.split(",")]
        return [part for part in parts if part is not None] if None not in parts else None
    if (alone := _read_symmetry(text)) is not None:
        return [alone]
    # Without commas, "mirrored" belongs to the angle after it.
    found, mirrored = [], False
    for word in _significant_words(text):
        if word in _ANGLES:
            found.append((mirrored, _ANGLES[word]))
            mirrored = False
        elif word in _MIRRORED and not mirrored:
            mirrored = True
        else:
            return None
    return None if mirrored else found


def _read_symmetry(part: str) -> Symmetry | None:
    """Read one angle and perhaps the word "mirrored", in any order, perhaps numbered."""
    words = _significant_words(_NUMBERED.sub("", part, count=1))
    angles = [_ANGLES[word] for word in words if word in _ANGLES]
    mirrors = sum(word in _MIRRORED for word in words)
    if len(angles) != 1 or mirrors > 1 or len(words) != 1 + mirrors:
        return None
    return mirrors == 1, angles[0]


def _significant_words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text) if word not in _FILLERS]


register("palaestra/Rotation-v0", f"{__name__}:Rotation")
