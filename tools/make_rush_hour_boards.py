"""Write envs/puzzles/rush_hour.txt, the boards from which palaestra/RushHour-v0 makes its tasks.

    python -m palaestra.tools.make_rush_hour_boards

It takes about half an hour. A line of the file is a board, row by row: letters are cars; car A must leave.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..envs.puzzles.rush_hour import NAMES, SIDE, RushHour, find_position_layers

COUNT = 96
TABLE = Path(__file__).parents[1] / "envs" / "puzzles" / "rush_hour.txt"
# Row of the exit; number of changes after which the search of a board starts again.
EXIT, PATIENCE = 2, 150

Cars = list[tuple[int, ...]]


def main() -> None:
    """Write the table. The result is the same each time."""
    from rich.progress import track

    rng = np.random.default_rng(2024)
    boards: list[str] = []
    for _ in track(range(COUNT), description="boards"):
        boards.append(hard_board(rng, RushHour.param_space.at(1.0)["moves"]))
    TABLE.write_text("\n".join(boards) + "\n", encoding="ascii")


def hard_board(rng: np.random.Generator, moves: int) -> str:
    """Return a board with a position at least ``moves`` moves from the end.

    Hill climbing: cars are replaced at random, and a change is kept unless it brings the farthest position nearer.
    """
    while True:
        cars = random_cars([(SIDE * EXIT, SIDE * EXIT + 1)], int(rng.integers(8, len(NAMES) + 1)), rng)
        depth = depth_of(cars)
        for _ in range(PATIENCE):
            if depth >= moves:
                return format_board(cars)
            kept = [car for car in cars[1:] if rng.random() > 0.2]
            changed = random_cars([cars[0], *kept], len(cars), rng)
            if (new := depth_of(changed)) >= depth:
                cars, depth = changed, new


def random_cars(cars: Cars, count: int, rng: np.random.Generator) -> Cars:
    """Return ``cars`` with random ones added, up to ``count`` in total; none of the new ones lies along the exit's
    row."""
    cars, taken = list(cars), {square for car in cars for square in car}
    for length, along, line, place in rng.integers([2, 0, 0, 0], [4, 2, SIDE, SIDE], (40, 4)).tolist():
        if len(cars) == count:
            break
        if place + length > SIDE or (along and line == EXIT):
            continue
        first, step = (SIDE * line + place, 1) if along else (SIDE * place + line, SIDE)
        car = tuple(first + step * k for k in range(length))
        if taken.isdisjoint(car):
            cars.append(car)
            taken.update(car)
    return cars


def depth_of(cars: Cars) -> int:
    """Return the number of moves from the end to the farthest position; -1 without an end, or with too many
    positions."""
    found = find_position_layers(format_board(cars))
    return len(found) - 1 if found and found[0] else -1


def format_board(cars: Cars) -> str:
    names = dict.fromkeys(range(SIDE * SIDE), "-")
    for name, car in zip(NAMES, cars):
        names.update(dict.fromkeys(car, name))
    return "".join(names.values())


if __name__ == "__main__":
    main()
