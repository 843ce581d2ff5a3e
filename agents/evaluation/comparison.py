"""Comparison of two agents on the same tasks, paired by task to remove the variance between tasks."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from .formats import to_frame
from .intervals import Z95, Estimate, mean_interval
from .report import Report, render_table

if TYPE_CHECKING:
    from rich.table import Table

Results = dict[tuple[str, str], tuple[list[float], list[float]]]
"""(environment, task id) -> successes and rewards of the task's episodes."""


@dataclass(frozen=True)
class PairedComparison:
    """Comparison of two agents on the tasks that both have played.

    Attributes:
        agents: names of the agents; if the names are equal, with the file or "first" and "second" added.
        env: the environment; None for the total over several environments.
        tasks: number of tasks that both have played; each counts once, with the mean over the task's episodes.
        left_out: number of tasks that only one agent has played.
        success: success rate of each agent, in [0, 1].
        difference: success rate of the second agent minus that of the first, with a 95 % interval for paired data.
        reward: difference of the mean rewards, second minus first, with a 95 % interval for paired data.
        repeated: number of episodes beyond one per task, over both agents.
        only: number of tasks that the first agent solved more often than the second, and vice versa.
        by_env: the comparison on each environment; () for a single environment.
    """

    agents: tuple[str, str]
    env: str | None
    tasks: int
    left_out: int
    success: tuple[float, float]
    difference: Estimate
    reward: Estimate
    only: tuple[int, int]
    repeated: int = 0
    by_env: tuple[PairedComparison, ...] = ()

    @property
    def better(self) -> str | None:
        """Name of the agent whose success is significantly higher (95 %); None if there is none."""
        if self.difference.low > 0:
            return self.agents[1]
        return self.agents[0] if self.difference.high < 0 else None

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "agents": list(self.agents),
            "env": self.env,
            "tasks": self.tasks,
            "left_out": self.left_out,
            "success": list(self.success),
            "difference": self.difference.mean,
            "difference_ci": [self.difference.low, self.difference.high],
            "reward_difference": self.reward.mean,
            "reward_difference_ci": [None if math.isnan(v) else v for v in (self.reward.low, self.reward.high)],
            "solved_by_one_alone": list(self.only),
            "repeated": self.repeated,
            "better": self.better,
        }
        if self.by_env:
            found["by_env"] = [row.to_json() for row in self.by_env]
        return found

    def rows(self) -> list[dict[str, Any]]:
        """Return the comparison as rows: one per environment, and a total row for several environments."""
        return [
            {
                "environment": row.env or "all",
                "tasks": row.tasks,
                "first": row.agents[0],
                "second": row.agents[1],
                "success_first": row.success[0],
                "success_second": row.success[1],
                "difference": row.difference.mean,
                "difference_low": row.difference.low,
                "difference_high": row.difference.high,
                "only_first": row.only[0],
                "only_second": row.only[1],
            }
            for row in (*self.by_env, self)
        ]

    def to_frame(self) -> Any:
        """Return `rows` as a pandas data frame. Raises InputError if pandas is not installed."""
        return to_frame(self.rows())

    def table(self) -> Table:
        from rich.table import Table

        first, second = self.agents
        verdict = f"{self.better} solves more" if self.better else "neither is better beyond chance"
        notes = [f"{verdict} (95 % confidence, paired by task)"]
        if self.left_out:
            notes.append(f"{self.left_out} tasks of only one are left out")
        if self.repeated:
            notes.append(f"{self.repeated} episodes of tasks that come again count with the mean of their task, once")
        where = f" on {self.env}" if self.env else ""
        table = Table(title=f"A: {first}\nB: {second}{where}", caption="\n".join(notes))
        for heading in (*(["environment"] if self.by_env else []), "tasks", "A", "B", "B - A", "only A", "only B"):
            table.add_column(heading, justify="left" if heading == "environment" else "right", overflow="fold")
        for row in self.by_env:
            table.add_row(row.env or "", *row._cells())
        if self.by_env:
            table.add_section()
        table.add_row(*(["all"] if self.by_env else []), *self._cells(), style="bold")
        return table

    def __str__(self) -> str:
        return render_table(self.table())

    def _cells(self) -> list[str]:
        low, middle, high = (100 * value for value in (self.difference.low, self.difference.mean, self.difference.high))
        shares = [f"{100 * share:.0f} %" for share in self.success]
        difference = f"{middle:+.1f} [{low:+.1f}, {high:+.1f}]"
        return [str(self.tasks), *shares, difference, *(str(count) for count in self.only)]


def compare(first: Report | str | Path, second: Report | str | Path) -> PairedComparison:
    """Compare two evaluations task by task.

    Args:
        first, second: reports, files of ``palaestra eval --json``, or of trajectories (``--out``).

    Raises:
        InputError: a file has another format, or no task was played by both.
    """
    (name_a, a), (name_b, b) = _read(first), _read(second)
    if name_a == name_b:
        name_a, name_b = (
            f"{name} ({source if isinstance(source, str | Path) else position})"
            for name, source, position in ((name_a, first, "first"), (name_b, second, "second"))
        )
    names = (name_a, name_b)
    common, left_out = sorted(a.keys() & b.keys()), sorted(a.keys() ^ b.keys())
    if not common:
        raise InputError(
            f"no task was played by both: {_describe(a)} against {_describe(b)}; evaluate both with the same "
            "environment, split, seed and difficulties."
        )
    envs = list(dict.fromkeys(env for env, _ in common))
    rows = tuple(
        _paired(names, env, [key for key in common if key[0] == env], a, b, sum(key[0] == env for key in left_out))
        for env in envs
    )
    if len(rows) == 1:
        return rows[0]
    whole = _paired(names, None, common, a, b, len(left_out))
    return PairedComparison(**{**whole.__dict__, "by_env": rows})


def _paired(
    names: tuple[str, str], env: str | None, tasks: Sequence[tuple[str, str]], a: Results, b: Results, left_out: int
) -> PairedComparison:
    wins = [(_mean(a[task][0]), _mean(b[task][0])) for task in tasks]
    rewards = [_mean(b[task][1]) - _mean(a[task][1]) for task in tasks]
    return PairedComparison(
        agents=names,
        env=env,
        tasks=len(tasks),
        left_out=left_out,
        success=(_mean([x for x, _ in wins]), _mean([y for _, y in wins])),
        difference=paired_difference([y - x for x, y in wins]),
        reward=mean_interval(rewards),
        only=(sum(x > y for x, y in wins), sum(y > x for x, y in wins)),
        repeated=sum(len(results[task][0]) - 1 for results in (a, b) for task in tasks),
    )


def paired_difference(differences: Sequence[float], z: float = Z95) -> Estimate:
    """Return the mean of differences in [-1, 1], with Bonett and Price's interval for paired proportions.

    The adjusted Wald interval (2012, Journal of Educational and Behavioral Statistics 37, eq. 7) adds one pseudo-pair
    in which only the first succeeded and one in which only the second succeeded. It is computed from the sums of d and
    d², and therefore also applies to success rates over several episodes per task.
    """
    count = len(differences) + 2
    shift = math.fsum(differences) / count
    squares = (math.fsum(value * value for value in differences) + 2) / count
    half = z * math.sqrt(max(squares - shift * shift, 0.0) / count)
    mean = _mean(differences)
    return Estimate(mean, max(-1.0, min(shift - half, mean)), min(1.0, max(shift + half, mean)), len(differences))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _describe(results: Results) -> str:
    envs = sorted({env for env, _ in results})
    return f"{len(results)} tasks of {', '.join(envs[:3])}{', …' if len(envs) > 3 else ''}"


def _read(source: Report | str | Path) -> tuple[str, Results]:
    """Read the agent's name and the results by environment and task from a report or a file."""
    if isinstance(source, Report):
        return _collect([_rows_of_report(source.to_json(results=True), "the report")], "the report")
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8")
    except IsADirectoryError:
        own = f", such as that of palaestra eval {path} --json scores.json" if (path / "config.json").is_file() else ""
        raise InputError(f"{path} is a folder; give a file of palaestra eval --json or --out{own}.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; give a file of palaestra eval --json.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} cannot be read: {error}.") from None
    try:
        whole = json.loads(text)
    except ValueError:
        whole = None  # several lines of JSON
    if whole is None or (isinstance(whole, dict) and "turns" in whole):
        return _collect([_rows_of_trajectories(text, path)], path)
    try:
        reports = whole.get("reports", [whole])
        return _collect([_rows_of_report(report, path) for report in reports], path)
    except (AttributeError, TypeError, KeyError) as error:
        raise InputError(f"{path} is no report of palaestra eval --json: {error!r}.") from None


def _rows_of_report(report: Mapping[str, Any], path: Path | str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    if "results" not in report:
        raise InputError(f"{path} has no results of single episodes; write it again with palaestra eval --json.")
    return ((str(report["agent"]), str(report["env"]), row) for row in report["results"])


def _rows_of_trajectories(text: str, path: Path) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for number, line in enumerate(text.splitlines(), 1):
        try:
            row = json.loads(line)
            found = {
                "episode": row["episode"],
                "task_id": row["task_id"],
                "success": row["is_success"],
                "reward": row["return"],
                "valid": row["reward_valid"],
            }
            yield str(row["agent"]), str(row["env"]), found
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"line {number} of {path} is no episode of palaestra eval --out: {error}.") from None


def _collect(sources: Sequence[Iterator[tuple[str, str, Mapping[str, Any]]]], path: Path | str) -> tuple[str, Results]:
    results: Results = defaultdict(lambda: ([], []))
    name = ""
    for rows in sources:
        for agent, env, row in rows:
            name = name or agent
            if row["valid"] and row["success"] is not None:
                wins, rewards = results[env, str(row["task_id"] or row["episode"])]
                wins.append(float(row["success"]))
                rewards.append(float(row["reward"]))
    if not results:
        raise InputError(f"{path} holds no valid episode of an environment that reports success.")
    return name, dict(results)
