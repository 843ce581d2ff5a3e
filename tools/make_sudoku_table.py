"""Write envs/puzzles/sudoku.txt, the minimal puzzles from which palaestra/Sudoku-v0 makes its tasks.

    python -m palaestra.tools.make_sudoku_table

It takes some minutes. A line of the file is the solution of one puzzle, row by row: digits are clues, letters (a for 1)
are empty cells. Small letters are cells that naked and hidden singles fill; capital letters are the remaining cells.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..envs.puzzles.sudoku import BOXES, count_solutions, fill_singles

COUNTS = {4: 60, 6: 200, 9: 400}
TABLE = Path(__file__).parents[1] / "envs" / "puzzles" / "sudoku.txt"


def main() -> None:
    """Write the table. The result is the same each time."""
    rng = np.random.default_rng(2024)
    lines = [minimal(full_grid(size, rng), rng) for size, count in COUNTS.items() for _ in range(count)]
    TABLE.write_text("\n".join(lines) + "\n", encoding="ascii")


def full_grid(size: int, rng: np.random.Generator) -> list[int]:
    """Return a full grid, filled cell by cell with the first digit, in random order, that can be completed."""
    cells = [0] * (size * size)
    wide = BOXES[size][1]
    # The box at the top left is any permutation, which leaves the rest soluble.
    for place, digit in enumerate(rng.permutation(size).tolist()):
        cells[place // wide * size + place % wide] = digit + 1
    for cell in range(size * size):
        if cells[cell]:
            continue
        for digit in rng.permutation(size).tolist():
            cells[cell] = digit + 1
            if count_solutions(cells)[0]:
                break
    return cells


def minimal(solution: list[int], rng: np.random.Generator) -> str:
    """Return the line of a puzzle with this solution that has a second solution without any one of its clues."""
    clues, line = list(solution), list(map(str, solution))
    for cell in rng.permutation(len(solution)).tolist():
        clues[cell] = 0
        if count_solutions(clues, limit=2)[0] == 1:
            line[cell] = chr(96 + solution[cell])
        else:
            clues[cell] = solution[cell]
    return "".join([mark if filled else mark.upper() for mark, filled in zip(line, fill_singles(clues))])


if __name__ == "__main__":
    main()
