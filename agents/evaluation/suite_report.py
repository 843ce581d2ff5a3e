"""Report on several environments: one table, and one aggregate score that is robust to single environments."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...estimates import interquartile_mean
from ..usage import TokenUsage, sum_usage
from .formats import to_frame
from .intervals import Estimate
from .report import Report, render_table

if TYPE_CHECKING:
    from rich.table import Table

RESAMPLES = 2000


@dataclass(frozen=True)
class SuiteReport:
    """Results of one agent on several environments.

    Attributes:
        name: name and version of the suite; "" for a list of environments.
        reports: one report per environment, in order.
        content_hash: hash of the suite's tasks; None for a list of environments.
        baselines: agent -> environment -> mean success; None if the agent could play no episode.
    """

    name: str
    reports: tuple[Report, ...]
    content_hash: str | None = None
    baselines: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)

    @property
    def agent(self) -> str:
        return self.reports[0].agent

    @property
    def usage(self) -> TokenUsage | None:
        """Tokens and cost of all replies; None if the agent reports none."""
        return sum_usage(report.usage for report in self.reports)

    @property
    def success(self) -> Estimate:
        """Interquartile mean of the environments' success rates, with a 95 % interval by stratified bootstrap.

        The interquartile mean is the mean of the middle half of the environments (Agarwal et al. 2021, arXiv
        2108.13264, section 4.3), so that neither the easiest nor the hardest environments decide. The bootstrap
        resamples the tasks of each environment, with a fixed seed.
        """
        rng = np.random.default_rng(0)
        means, drawn = [], []
        for report in self.reports:
            tasks: dict[Any, list[float]] = {}
            for row in report.results:
                if row["valid"] and row["success"] is not None:
                    tasks.setdefault(row["task_id"] or row["episode"], []).append(float(row["success"]))
            if tasks:
                sums, counts = np.array([[sum(wins), len(wins)] for wins in tasks.values()]).T
                means.append(sums.sum() / counts.sum())
                chosen = rng.integers(len(tasks), size=(RESAMPLES, len(tasks)))
                drawn.append(sums[chosen].sum(1) / counts[chosen].sum(1))
        if not means:
            return Estimate(math.nan, math.nan, math.nan, 0)
        low, high = np.quantile(interquartile_mean(np.stack(drawn, axis=1)), (0.025, 0.975))
        return Estimate(float(interquartile_mean(means)), float(low), float(high), len(means))

    def to_json(self, results: bool = False) -> dict[str, Any]:
        """Return a JSON-serializable dictionary; ``results`` as in `Report.to_json`."""
        success = self.success
        bounds = [None if math.isnan(value) else value for value in (success.mean, success.low, success.high)]
        return {
            "suite": self.name,
            "content_hash": self.content_hash,
            "agent": self.agent,
            "success": bounds[0],
            "ci": bounds[1:],
            **({} if self.usage is None else {"usage": self.usage.to_json()}),
            "reports": [report.to_json(results) for report in self.reports],
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return the results as rows: `Report.row` of each environment, and a row of the aggregate."""
        found = [report.row() for report in self.reports]
        success = self.success
        bounds = {"success": success.mean, "success_low": success.low, "success_high": success.high}
        tasks = sum(report.tasks for report in self.reports)
        return [*found, {"environment": "all", "agent": self.agent, "tasks": tasks, **bounds}]

    def to_frame(self) -> Any:
        """Return `rows` as a pandas data frame. Raises InputError if pandas is not installed."""
        return to_frame(self.rows())

    def table(self) -> Table:
        """Return a rich table: a row for each environment, and the aggregate."""
        from rich.table import Table

        notes = ["all: interquartile mean of the environments; in brackets: 95 % confidence, over tasks"]
        for what, count in (
            ("episodes with an action that was unreadable or not allowed", sum(r.refused for r in self.reports)),
            ("episodes in which the agent raised, counted as failed", sum(r.errored for r in self.reports)),
            ("invalid episodes left out", sum(r.invalid for r in self.reports)),
            (
                "episodes ended by a limit on turns or tokens",
                sum(round(r.truncated * r.episodes) for r in self.reports),
            ),
        ):
            if count:
                notes.append(f"{count} {what}")
        if unplayed := sum(not report.episodes for report in self.reports):
            notes.append(f"{unplayed} environments without a valid episode, left out of all")
        first_error = next((report.first_error for report in self.reports if report.first_error), None)
        if first_error:
            notes.append(f"the first error: {first_error[:200]}")
        if self.usage is not None:
            notes.append(str(self.usage))
        title = f"{self.agent} on {self.name}" if self.name else self.agent
        table = Table(title=title, caption="\n".join(notes))
        # The oracle solves everything, and needs no column.
        baselines = {name: scores for name, scores in self.baselines.items() if name != "oracle"}
        table.add_column("environment", no_wrap=True)
        for heading in ("tasks", "success", "reward", "solved to"):
            table.add_column(heading, justify="right", no_wrap=True)
        for heading in baselines:
            table.add_column(heading.replace("-", "-\n"), justify="right", no_wrap=True)
        for report in self.reports:
            solved = f"{report.solved_to.mean:.2f}" if report.solved_to is not None else "–"
            table.add_row(
                report.env.removeprefix("palaestra/").removesuffix("-v0"),
                str(report.tasks),
                report.success.text(percent=True),
                f"{report.reward.mean:.2f}",
                solved,
                *(_share(scores.get(report.env)) for scores in baselines.values()),
            )
        table.add_section()
        others = [[share or 0.0 for share in scores.values()] for scores in baselines.values()]
        table.add_row(
            "all",
            str(sum(report.tasks for report in self.reports)),
            self.success.text(percent=True),
            *[""] * 2,
            *(_share(float(interquartile_mean(scores))) for scores in others),
            style="bold",
        )
        return table

    def __str__(self) -> str:
        return render_table(self.table())


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"
