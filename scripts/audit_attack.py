"""Attack on students for ``palaestra audit``: success while cells of the view are changed, by aim and at random."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ..errors import InputError

WEAK = 0.2
"""Success rate without changes below which the cost of an attack cannot be measured."""


@dataclasses.dataclass(frozen=True)
class AttackRow:
    """Success of a student under an attack with a given number of changed cells.

    Attributes:
        cells: largest number of cells of a view that are changed.
        kind: "none", "random" or "targeted".
        success: success rate of the episodes.
        low, high: 95 % interval of the success rate.
        closer: mean over steps of the decrease, by the changes, of the KL divergence to the adversary's intended
            policy, in nats.
    """

    cells: int
    kind: str
    success: float
    low: float
    high: float
    closer: float


def attack_student(
    run: Path, cells: Sequence[int], episodes: int, tries: int, prefer: str, seed: int, play: int, watch: Any = None
) -> tuple[float, list[AttackRow]]:
    """Attack the newest policy of a run on held-out tasks; the run is not changed.

    Args:
        run: folder of a run of ppo or go-explore on a gridworld.
        cells: numbers of cells to change.
        episodes: episodes per evaluation.
        tries: random changes tried for each cell.
        prefer: the adversary's goal, one of `observation_attack.PREFERENCES`.
        seed: seed of the attack and the tasks.
        play: steps of play from which the adversary learns its goal.
        watch: called with a progress message before each part.

    Returns:
        The share of held-out preferences that the learned intention agrees with, and the rows: without changes, then
        for each number of cells at random and by aim.

    Raises:
        InputError: the folder is no run, or its student cannot be attacked.
    """
    from ..agents.evaluation import evaluate
    from ..agents.students.observation_attack import AttackedAgent, CellAdversary, Intention, check_victim, collect_play
    from ..agents.students.student_envs import environment_of_run, make_environment
    from ..agents.students.student_run import open_student

    tell = watch or (lambda sentence: None)
    student, config = open_student(run)
    victim = check_victim(student)
    tell("learning what the adversary wants")
    with closing(make_environment(config, "train")) as env:
        found = collect_play(victim, env, prefer, seed, play)
    intention = Intention(victim, found, seed)
    env_id, options = environment_of_run(config)
    axes = options.pop("axes", None)
    rows = []
    for count, kind in [(0, "none"), *((count, kind) for count in cells for kind in ("random", "targeted"))]:
        tell(f"{kind} changes of {count} cells" if count else "without an attack")
        adversary = CellAdversary(victim, intention, found.tiles, count, tries, aim=kind != "random")
        agent = AttackedAgent(adversary, seed)
        report = evaluate(
            *(agent, env_id, episodes, seed, "test"), axes=axes, num_envs=min(16, episodes), env_kwargs=options
        )
        success = report.success
        rows.append(AttackRow(count, kind, success.mean, success.low, success.high, agent.closer / max(agent.steps, 1)))
    return intention.agreement, rows


def print_attack(agreement: float, rows: Sequence[AttackRow], prefer: str, console: Any) -> None:
    """Print the rows as a table, and a conclusion."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title="success on held-out tasks", title_justify="left")
    for heading in ("cells", "changed", "success", "closer to what is wanted"):
        table.add_column(heading, justify="left" if heading == "changed" else "right", no_wrap=True)
    for row in rows:
        success = f"{100 * row.success:.0f} % [{100 * row.low:.0f}, {100 * row.high:.0f}]"
        table.add_row(str(row.cells), _WAYS[row.kind], success, f"{row.closer:.2f} nats")
    console.print(table)
    wish = "go away from the end" if prefer == "away" else "stay in place"
    console.print(
        f"The adversary wants the agent to {wish}, and has learned {100 * agreement:.0f} % of its preferences. "
        + judge_attack(rows)
    )


def judge_attack(rows: Sequence[AttackRow]) -> str:
    """Return a sentence on the success that changes by aim cost, compared with random ones.

    Args:
        rows: rows in the order of `attack_student`.
    """
    plain = rows[0].success
    if plain < WEAK:
        return (
            f"The student succeeds in {100 * plain:.0f} % of the episodes when nothing is changed, too few to say what "
            "an attack costs; train it further."
        )
    cost = max(random.success - aimed.success for random, aimed in zip(rows[1::2], rows[2::2], strict=True))
    if cost <= 0:
        return "Changes by aim cost no more success than as many at random."
    return f"Changes by aim cost up to {100 * cost:.0f} points of success more than as many at random."


_WAYS = {"none": "", "random": "at random", "targeted": "by aim"}


def check_cells(cells: Sequence[int], episodes: int, tries: int) -> None:
    """Raise InputError unless ``cells`` is not empty and all numbers are at least 1."""
    for name, value in (*(("cells", count) for count in cells), ("episodes", episodes), ("tries", tries)):
        if value < 1:
            raise InputError(f"--{name} must be at least 1, not {value}.")
    if not cells:
        raise InputError("--cells needs a number of cells, such as --cells 1 2 4.")
