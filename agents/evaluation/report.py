"""Report of an evaluation: estimates with 95 % confidence intervals, overall and by difficulty.

A `Report` can be printed as a table and converted to JSON.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...errors import shorten
from ..usage import TokenUsage
from .formats import to_frame
from .intervals import Estimate

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class PassAtK:
    """Share of tasks that at least one of ``k`` samples solves.

    Attributes:
        estimate: mean over the tasks with at least k samples, with an interval over these tasks.
        left_out: number of tasks with fewer than k samples, which are left out of the estimate.
    """

    k: int
    estimate: Estimate
    left_out: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serializable dictionary; unknown numbers are None."""
        return {
            "k": self.k,
            "value": _number(self.estimate.mean),
            "ci": _interval(self.estimate),
            "tasks": self.estimate.count,
            "left_out": self.left_out,
        }


@dataclass(frozen=True)
class Bin:
    """Results of the episodes with a difficulty in [low, high), or exactly ``low`` if ``low`` equals ``high``. The last
    bin includes 1. ``tasks`` counts distinct tasks."""

    low: float
    high: float
    success: Estimate
    reward: Estimate
    tasks: int = 0

    @property
    def episodes(self) -> int:
        """Number of episodes; if each task of the plan was played several times, number of tasks."""
        return self.reward.count

    @property
    def label(self) -> str:
        return f"{self.low:.2f}" if self.low == self.high else f"{self.low:.2f}–{self.high:.2f}"


@dataclass(frozen=True)
class Report:
    """Results of one agent on one environment.

    All intervals are clustered by task, because episodes of the same task are not independent (`effective_count`).

    Attributes:
        env: the environment id.
        agent: the agent's name.
        split: "train", "test" or "all"; None for an environment without splits.
        seed: number from which all episode seeds are derived.
        episodes: number of valid episodes.
        invalid: number of episodes left out because environment or reward failed, or the agent could not play.
        truncated: share of the valid episodes that a limit on turns or tokens ended.
        success: success rate with Wilson's interval; NaN for an environment that does not report ``is_success``.
        reward: return of an episode.
        progress: progress in [0, 1] at the end of an episode; NaN for an environment that does not report it.
        length: number of steps (turns) of an episode.
        by_difficulty: bins with at least one episode, easiest first; empty for an environment without difficulty.
        samples: episodes per task of the plan. Above 1, each task's values are averaged first, the estimates count
            tasks, and the interval of ``success`` is `share_interval`.
        pass_at_k: pass@k for k = 1, 2, 4, … and ``samples``; () if each task was played once.
        tasks: number of distinct tasks among the valid episodes.
        errored: number of episodes in which the agent raised an exception; these count as failed.
        refused: number of episodes with an action that was unreadable or not allowed.
        safe_failures: (number of failed episodes in which the agent did nothing that nobody asked for, number of failed
            episodes); None if none failed, or the environment does not report it.
        figures: mean of each number that the environment reports of whole episodes (``info["extras"]["figures"]``).
        first_error: message of the first exception of the agent or the environment, or None.
        solved_to: the difficulty at which a fitted curve falls to 50 % success (`intervals.solved_to`); None with too
            few episodes or difficulties.
        usage: tokens and cost of the agent's replies, including invalid episodes; None if the agent reports none.
        results: for each episode a dictionary of episode, sample, task_id, difficulty, success, reward and valid.
    """

    env: str
    agent: str
    split: str | None
    seed: int
    episodes: int
    invalid: int
    truncated: float
    success: Estimate
    reward: Estimate
    progress: Estimate
    length: Estimate
    by_difficulty: tuple[Bin, ...] = ()
    samples: int = 1
    pass_at_k: tuple[PassAtK, ...] = ()
    tasks: int = 0
    errored: int = 0
    refused: int = 0
    safe_failures: tuple[int, int] | None = None
    figures: Mapping[str, Estimate] = field(default_factory=dict)
    first_error: str | None = None
    solved_to: Estimate | None = None
    usage: TokenUsage | None = None
    results: tuple[dict[str, Any], ...] = field(default=(), repr=False)

    @property
    def _unit(self) -> str:
        """Unit that the estimates count: "tasks" or "episodes"."""
        return "tasks" if self.samples > 1 else "episodes"

    def to_json(self, results: bool = False) -> dict[str, Any]:
        """Return a JSON-serializable dictionary; unknown numbers are None.

        Lines of a run's ``evaluations.jsonl`` have this form, with "step" added.

        Args:
            results: True includes the result of every episode, for `compare`.
        """
        result: dict[str, Any] = {
            "env": self.env,
            "agent": self.agent,
            "split": self.split,
            "seed": self.seed,
            "episodes": self.episodes,
            "distinct": self.tasks,
            "invalid": self.invalid,
            "errored": self.errored,
            "refused": self.refused,
            "truncated": _number(self.truncated),
            "success": _number(self.success.mean),
            "ci": _interval(self.success),
        }
        for name in ("reward", "progress", "length"):
            estimate: Estimate = getattr(self, name)
            result[name] = _number(estimate.mean)
            result[f"{name}_ci"] = _interval(estimate)
        if self.samples > 1:
            result["samples"] = self.samples
            result["pass_at_k"] = [item.to_json() for item in self.pass_at_k]
        result["by_difficulty"] = [
            {
                "low": row.low,
                "high": row.high,
                self._unit: row.episodes,
                "distinct": row.tasks,
                "success": _number(row.success.mean),
                "ci": _interval(row.success),
                "reward": _number(row.reward.mean),
                "reward_ci": _interval(row.reward),
            }
            for row in self.by_difficulty
        ]
        if self.solved_to is not None:
            result["solved_to"] = self.solved_to.mean
            result["solved_to_ci"] = _interval(self.solved_to)
        if self.safe_failures is not None:
            result["safe_failures"], result["failures"] = self.safe_failures
        if self.figures:
            result["figures"] = {
                name: {"mean": _number(one.mean), "ci": _interval(one)} for name, one in self.figures.items()
            }
        if self.first_error is not None:
            result["first_error"] = self.first_error
        if self.usage is not None:
            result["usage"] = self.usage.to_json()
        if results:
            result["results"] = list(self.results)
        return result

    @property
    def _common(self) -> dict[str, Any]:
        """Columns that all rows share."""
        return {"environment": self.env, "agent": self.agent, "split": self.split, "seed": self.seed}

    def row(self) -> dict[str, Any]:
        """Return the results of all episodes as one row; see `rows`."""
        whole = {**self._common, "difficulty": "all", "episodes": self.episodes, "tasks": self.tasks}
        estimates = _columns(success=self.success, reward=self.reward, progress=self.progress, length=self.length)
        return whole | estimates | {"truncated": self.truncated, "refused": self.refused, "invalid": self.invalid}

    def rows(self) -> list[dict[str, Any]]:
        """Return the results as rows: one per difficulty, then `row`, then one per pass@k with k > 1. Shares are in [0,
        1]; ``x_low`` and ``x_high`` bound the 95 % interval of ``x``; unknown numbers are NaN."""
        common = self._common
        found = [
            {**common, "difficulty": row.label, "episodes": row.episodes, "tasks": row.tasks}
            | _columns(success=row.success, reward=row.reward)
            for row in self.by_difficulty
        ]
        found.append(self.row())
        found += [
            {**common, "difficulty": f"pass@{item.k}", "episodes": self.episodes, "tasks": item.estimate.count}
            | _columns(success=item.estimate)
            for item in self.pass_at_k[1:]
        ]
        return found

    def to_frame(self) -> Any:
        """Return `rows` as a pandas data frame. Raises InputError if pandas is not installed."""
        return to_frame(self.rows())

    def table(self) -> Table:
        """Return a rich table: a row per difficulty bin, a row for all episodes, rows of pass@k, and a caption."""
        from rich.table import Table

        split = f", {self.split} split" if self.split else ""
        caption = [f"turns {self.length}"]
        if not math.isnan(self.progress.mean):
            caption.append(f"progress {self.progress}")
        if self.solved_to is not None:
            beyond = {
                0.0: "fewer than half of the easiest tasks are solved",
                1.0: "more than half of the hardest tasks are solved",
            }
            at = f"half of the tasks are solved at difficulty {self.solved_to}"
            caption.append(beyond.get(self.solved_to.mean, at))
        if self.samples > 1:
            caption.append(f"{self.episodes} episodes, {self.samples} of each task")
        repeated = 0 < self.tasks < self.reward.count
        if repeated:
            caption.append(f"only {self.tasks} distinct tasks; the intervals allow for that")
        if self.truncated > 0:
            caption.append(f"{100 * self.truncated:.0f} % ended by a limit on turns or tokens")
        if self.refused:
            caption.append(f"{self.refused} episodes with an action that was unreadable or not allowed")
        if self.safe_failures is not None:
            caption.append("{} of {} failed episodes did nothing that was not asked for".format(*self.safe_failures))
        if self.figures:
            caption.append(", ".join(f"{name} {one}" for name, one in self.figures.items()))
        if self.errored:
            caption.append(f"{self.errored} episodes in which the agent raised, counted as failed")
        if self.invalid:
            caption.append(f"{self.invalid} invalid episodes left out")
        if self.first_error is not None:
            caption.append(f"the first error: {shorten(self.first_error, 200)}")
        if self.usage is not None:
            caption.append(str(self.usage))
        table = Table(
            title=f"{self.agent} on {self.env}{split}, seed {self.seed}",
            caption="\n".join([*caption, "in brackets: 95 % confidence"]),
        )
        for heading in ("difficulty", self._unit, *(["distinct"] if repeated else []), "success", "reward"):
            table.add_column(heading, justify="left" if heading == "difficulty" else "right")
        for row in self.by_difficulty:
            counts = [str(row.episodes), *([str(row.tasks)] if repeated else [])]
            table.add_row(row.label, *counts, row.success.text(percent=True), row.reward.text())
        if self.by_difficulty:
            table.add_section()
        counts = [str(self.reward.count), *([str(self.tasks)] if repeated else [])]
        table.add_row("all", *counts, self.success.text(percent=True), self.reward.text(), style="bold")
        for item in self.pass_at_k[1:]:
            counts = [str(item.estimate.count), *([""] if repeated else [])]
            table.add_row(f"pass@{item.k}", *counts, item.estimate.text(percent=True), "")
        return table

    def __str__(self) -> str:
        return render_table(self.table())


def render_table(table: Table) -> str:
    """Return a table as plain text of at most 110 columns."""
    from rich.console import Console

    stream = io.StringIO()
    Console(file=stream, width=110, no_color=True).print(table)
    return "\n".join(line.rstrip() for line in stream.getvalue().rstrip("\n").split("\n"))


def _columns(**estimates: Estimate) -> dict[str, float]:
    return {
        f"{name}{end}": value
        for name, each in estimates.items()
        for end, value in (("", each.mean), ("_low", each.low), ("_high", each.high))
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _interval(estimate: Estimate) -> list[float | None]:
    return [_number(estimate.low), _number(estimate.high)]
