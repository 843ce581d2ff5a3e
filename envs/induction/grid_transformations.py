"""palaestra/GridTransformations-v0: apply a chain of operations, known only from examples, to another grid."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.verifiers.grid import GridError, parse_grid
from ...rewards.verifiers.registry import CORRECT, rejected
from ..board_picture import Cell, draw_board
from ..param_space import IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .grid_operations import KINDS, OPERATIONS, Grid
from .operation_chains import ChainProblem, apply_chain, count_applications, draw_problem, word_choice, write_derivation

# The most rows and columns of any intermediate grid.
LARGEST = 10
_EXAMPLE = ("012", "340", "500")
# Random numbers for one object: its kind, height, width, top, left, colour.
_DRAWS = 6
_COLOURS = (
    *("#000000", "#1e6fd9", "#e5383b", "#2f9e44", "#ffd43b"),
    *("#9a9a9a", "#d6336c", "#f76707", "#74c0fc", "#7b341e"),
)


class GridTransformations(Question):
    """Infer from examples how grids of coloured cells are transformed, and transform another one.

    Description:
        Grids of digits hold rectangles in a few colours on a background of zeros. The transformation is a chain of
        operations (turn, mirror, recolour, crop, tile, let cells fall, fill what is enclosed, ...; 43 kinds) out of a
        list that the prompt shows. All chains of the same number of listed operations, with repetitions, that fit all
        examples give the same output for the query, and no shorter chain fits the examples; a search through all
        chains checks both. Every output has at least four cells and two different digits; the answer is neither the
        query nor an output of an example.

    Parameters:
        operations (1 to 3, on request up to 4): number of operations in the chain.
        listed (6 to 10, on request 2 to 14): number of operations in the list.
        size (3 to 8, on request up to 10): the most rows and columns of an input; beyond 3, some inputs have one less.
        colours (2 to 5, on request up to 9): number of digits other than 0 to draw with.
        examples (4 to 2, harder downwards, on request 1 to 8): number of pairs of input and output.

    Observation:
        Text: the operations, the examples, and the query; each row of a grid is a line of digits.

    Actions:
        Text with the rows of the output on one line, ``012/340/500`` (``[[0, 1, 2], [3, 4, 0], [5, 0, 0]]`` is read
        too), in ``answer_format``.

    Reward:
        1 for the output, 0 otherwise. Applying a random listed operation is right by chance in 0.18 of the easiest
        tasks, whose chain has one operation; fixed answers and copies from the prompt are not.

    Termination:
        After the first answer.

    Source:
        Chollet, "On the measure of intelligence", arXiv 1911.01547; there the operations are not listed, so that
        several outputs may follow some rule.
    """

    answer_form = "lines"
    param_space = ParamSpace(
        [
            IntAxis("operations", 1, 3, limits=(1, 4)),
            IntAxis("listed", 6, 10, limits=(2, 14)),
            IntAxis("size", 3, 8, limits=(3, 10)),
            IntAxis("colours", 2, 5, limits=(2, 9)),
            IntAxis("examples", 2, 4, harder="down", limits=(1, 8)),
        ]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        rule = draw_problem(lambda: _draw_candidate(rng, params), OPERATIONS)
        answer = apply_chain([OPERATIONS[name] for name in rule.chain], rule.query)[-1]
        which, again, listed = word_choice(rule)
        pairs = "\n".join("Input:\n{}\nOutput:\n{}".format(*map("\n".join, pair)) for pair in rule.examples)
        query = "\n".join(rule.query)
        return Task(
            f"{which} turns each input grid into its output grid.{again} Neighbours share a side; an object is a group "
            f"of non-zero cells joined through neighbours, whatever their digits.\n{listed}\n{pairs}\nInput:\n{query}\n"
            "What is the output? Answer with its rows on one line, separated by slashes, such as "
            f"{'/'.join(_EXAMPLE)}.",
            "/".join(answer),
            content=f"{listed}\n{pairs}\n{query}",
            data=rule,
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        rows = read_grid(answer)
        if rows is None:
            return rejected(
                "The answer must be rows of digits, all of the same length, separated by slashes: "
                f"{'/'.join(_EXAMPLE)}."
            )
        gold = task.reference.split("/")
        height, width = len(gold), len(gold[0])
        if (len(rows), len(rows[0])) != (height, width):
            size = f"{len(rows)} x {len(rows[0])} instead of {height} x {width}"
            return Verdict(0.0, False, feedback=f"The grid has {size} rows and columns.")
        right = sum(map(str.__eq__, "".join(rows), "".join(gold)))
        if right == height * width:
            return CORRECT
        return Verdict(0.0, False, feedback=f"{right} of {height * width} cells are right.")

    def solution_steps(self, task: Task) -> list[str]:
        return [*write_derivation(task.data, OPERATIONS, "/".join), self.oracle(task)]

    def solver_cost(self, episode: Task) -> float:
        """Return the approximate number of cells that a breadth-first search through the chains handles on the first
        example."""
        rule: ChainProblem = episode.data
        given = rule.examples[0][0]
        return float(
            count_applications([OPERATIONS[name] for name in rule.listed], given, len(rule.chain))
            * len(given)
            * len(given[0])
        )

    def draw(self, episode: Task) -> np.ndarray:
        """Draw inputs on the left, outputs on the right, and the query below them."""
        rule: ChainProblem = episode.data
        pairs = [*rule.examples, (rule.query, ("?",))]
        left, right = (max(len(pair[side][0]) for pair in pairs) for side in (0, 1))
        cells: list[list[Cell]] = []
        for given, output in pairs:
            if cells:
                cells.append([Cell()] * (left + 1 + right))
            for y in range(max(len(given), len(output))):
                cells.append([*_draw_row(given, y, left), Cell(">" if y == 0 else ""), *_draw_row(output, y, right)])
        return draw_board(cells, 20)


def read_grid(answer: str) -> list[str] | None:
    """Return the rows of a grid of digits; None if the text is no grid, or if its rows differ in length.

    Rows are separated by slashes, line ends, semicolons or bars; then blanks and commas may separate digits. Without
    such separators, blanks or commas separate rows. A list of lists of digits is read as well.
    """
    text = answer.strip()
    if text.startswith("[") and "[" in text[1:]:
        try:
            rows = ["".join(map(str, row)) if max(row) <= 9 else "" for row in parse_grid(text)]
        except GridError:
            return None
    else:
        if text.startswith("[") and text.endswith("]"):
            text = text[1:-1].replace('"', "").replace("'", "")
        parts = [part.replace(",", " ").split() for part in re.split(r"[/\n;|]", text.strip("/ "))]
        # Without row separators, each part longer than one digit is a row.
        one_line = len(parts) == 1 and max(map(len, parts[0]), default=0) > 1
        rows = parts[0] if one_line else ["".join(part) for part in parts]
    readable = all(row.isascii() and row.isdigit() for row in rows) and len(set(map(len, rows))) == 1
    return rows if readable else None


def _draw_row(grid: Grid, y: int, width: int) -> list[Cell]:
    row = grid[y] if y < len(grid) else ""
    cells = [Cell(fill=_COLOURS[int(digit)]) if digit != "?" else Cell("?") for digit in row]
    return cells + [Cell()] * (width - len(row))


def _draw_candidate(rng: np.random.Generator, params: dict[str, Any]) -> ChainProblem | None:
    """Draw a random problem on random grids. Return None if the draws name too few operations, or an output is too
    uniform or too large."""
    count, listed, size, pairs = (params[name] for name in ("operations", "listed", "size", "examples"))
    objects = 2 + size // 3
    draws = rng.random(9 + 6 * listed + (pairs + 1) * (2 + _DRAWS * objects)).tolist()
    palette = sorted("123456789", key=dict(zip("123456789", draws)).__getitem__)[: params["colours"]]
    names: dict[str, None] = {}
    taken = draws[9 : 9 + 6 * listed]
    for u, v, w in zip(taken[::3], taken[1::3], taken[2::3]):
        words, colours = KINDS[int(u * len(KINDS))]
        first = int(v * len(palette))
        second = (first + 1 + int(w * (len(palette) - 1))) % len(palette)
        names[words.format(palette[first], palette[second]) if colours else words] = None
        if len(names) == listed:
            break
    else:
        return None
    chain = tuple(names)[:count]
    functions = [OPERATIONS[name] for name in chain]
    inputs = []
    for start in range(9 + 6 * listed, len(draws), 2 + _DRAWS * objects):
        rows, columns = (max(3, size - int(2 * u)) for u in draws[start : start + 2])
        inputs.append(_draw_grid(rows, columns, palette, draws[start + 2 : start + 2 + _DRAWS * objects]))
    outputs = []
    for given in inputs:
        way = apply_chain(functions, given)
        cells = "".join(way[-1])
        if max([max(len(step), len(step[0])) for step in way]) > LARGEST or len(cells) < 4 or len(set(cells)) == 1:
            return None
        outputs.append(way[-1])
    query, answer = inputs.pop(), outputs.pop()
    if answer in outputs or answer in (query, _EXAMPLE):
        return None
    return ChainProblem(tuple(sorted(names)), chain, tuple(zip(inputs, outputs)), query)


def _draw_grid(rows: int, columns: int, palette: list[str], draws: list[float]) -> Grid:
    """Draw rectangles of at most 4 by 4 cells. About 20 % are single cells, and 30 % are hollow if the grid has more
    than 3 rows and columns."""
    cells = [["0"] * columns for _ in range(rows)]
    for start in range(0, len(draws), _DRAWS):
        kind, height, width, top, left, colour = draws[start : start + _DRAWS]
        hollow = kind < 0.3 and min(rows, columns) > 3
        least = 3 if hollow else 1
        most = 1 if kind >= 0.8 else 4
        tall = least + int(height * (min(rows, most) + 1 - least))
        wide = least + int(width * (min(columns, most) + 1 - least))
        top, left = int(top * (rows - tall + 1)), int(left * (columns - wide + 1))
        digit = palette[int(colour * len(palette))]
        for y in range(top, top + tall):
            cells[y][left : left + wide] = digit * wide
        if hollow:
            for y in range(top + 1, top + tall - 1):
                cells[y][left + 1 : left + wide - 1] = "0" * (wide - 2)
    return tuple(map("".join, cells))


register("palaestra/GridTransformations-v0", f"{__name__}:GridTransformations")
