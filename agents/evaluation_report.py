"""The report of an evaluation: estimates with 95 % confidence intervals, overall and by difficulty.

In go the episodes' values, summarised by `wilson_interval`, `mean_interval` and `share_interval`; a `Report` prints
itself as a table and converts itself to JSON.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

Z95 = 1.959963984540054  # the standard normal's 97.5 % quantile


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % confidence interval; all NaN when there are no values."""

    mean: float
    low: float
    high: float
    count: int

    def __str__(self) -> str:
        return self.text()

    def text(self, percent: bool = False) -> str:
        """``"0.80 [0.49, 0.94]"``, or ``"80 % [49, 94]"``; the interval is left out if it is unknown."""
        if math.isnan(self.mean):
            return "–"
        if percent:
            middle, bounds = f"{100 * self.mean:.0f} %", (f"{100 * self.low:.0f}", f"{100 * self.high:.0f}")
        else:
            middle, bounds = f"{self.mean:.2f}", (f"{self.low:.2f}", f"{self.high:.2f}")
        return middle if math.isnan(self.low) else f"{middle} [{bounds[0]}, {bounds[1]}]"


def wilson_interval(successes: int, count: int, z: float = Z95) -> Estimate:
    """Estimate a proportion with Wilson's score interval (Wilson 1927; Brown, Cai, DasGupta 2001, eq. 4).

    Unlike mean ± z·s/√n it stays inside [0, 1] and keeps a width at 0 and at all successes.

    Raises:
        InputError: ``successes`` is not in 0 … ``count``.
    """
    if not 0 <= successes <= count:
        raise InputError(f"successes must be in 0 … count, not {successes} of {count}.")
    if count == 0:
        return Estimate(math.nan, math.nan, math.nan, 0)
    share = successes / count
    denominator = 1 + z * z / count
    centre = (share + z * z / (2 * count)) / denominator
    half = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / denominator
    # At the ends the formula gives 0 and 1 exactly, except for rounding.
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == count else centre + half
    return Estimate(share, low, high, count)


def mean_interval(values: Sequence[float], low: float = -math.inf, high: float = math.inf, z: float = Z95) -> Estimate:
    """Estimate a mean with the normal interval mean ± z·s/√n, clipped to the quantity's own range [low, high].

    The bounds of a single value are NaN.
    """
    count = len(values)
    if count == 0:
        return Estimate(math.nan, math.nan, math.nan, 0)
    mean = math.fsum(values) / count
    if count == 1:
        return Estimate(mean, math.nan, math.nan, 1)
    half = z * math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1) / count)
    return Estimate(mean, max(low, mean - half), min(high, mean + half), count)


def share_interval(values: Sequence[float], z: float = Z95) -> Estimate:
    """Estimate a mean of values in [0, 1], such as pass@k of several tasks, with its interval over these values.

    Agresti and Coull's interval (1998, The American Statistician 52, section 2), carried over from 0 and 1 to anything
    between: z²/2 made-up values of 0 and as many of 1 join the real ones, then centre ± z·s/√(count + z²), cut off at 0
    and 1. Of zeros and ones it is theirs to the digit. It is chosen because it draws nothing at random, holds the mean,
    and keeps a width where all values are equal, at 0 and at 1 above all, where a t-interval and a bootstrap over the
    values have none; for few values it is rather too wide than too narrow.

    Raises:
        InputError: a value is not in [0, 1].
    """
    if outside := [value for value in values if not 0 <= value <= 1]:
        raise InputError(f"a share must be in [0, 1], not {outside[0]}.")
    if not values:
        return Estimate(math.nan, math.nan, math.nan, 0)
    weight = z * z
    total = len(values) + weight
    centre = (math.fsum(values) + weight / 2) / total
    squares = math.fsum((value - centre) ** 2 for value in values)
    squares += weight / 2 * ((1 - centre) ** 2 + centre**2)
    half = z * math.sqrt(squares) / total
    return Estimate(math.fsum(values) / len(values), max(0.0, centre - half), min(1.0, centre + half), len(values))


@dataclass(frozen=True)
class PassAtK:
    """The share of tasks that at least one of ``k`` samples solves.

    Attributes:
        estimate: mean over the tasks with at least k samples, and its interval over these tasks.
        left_out: tasks with fewer samples, which the estimate leaves out.
    """

    k: int
    estimate: Estimate
    left_out: int = 0

    def to_json(self) -> dict[str, Any]:
        """A JSON-able dictionary; unknown numbers are None."""
        return {
            "k": self.k,
            "value": _number(self.estimate.mean),
            "ci": _interval(self.estimate),
            "tasks": self.estimate.count,
            "left_out": self.left_out,
        }


@dataclass(frozen=True)
class Bin:
    """Results of the episodes with a difficulty in [low, high). The last bin includes 1; low = high is one exact
    difficulty.
    """

    low: float
    high: float
    success: Estimate
    reward: Estimate

    @property
    def episodes(self) -> int:
        """Number of episodes, or of tasks if each was played several times."""
        return self.reward.count

    @property
    def label(self) -> str:
        return f"{self.low:.2f}" if self.low == self.high else f"{self.low:.2f}–{self.high:.2f}"


@dataclass(frozen=True)
class Report:
    """One agent on one environment.

    Attributes:
        env: the environment id.
        agent: the agent's name.
        split: "train", "test" or "all"; None for an environment that has no splits.
        seed: the root of all episode seeds.
        episodes: number of valid episodes.
        invalid: episodes left out because the machinery failed.
        truncated: share of the episodes that were cut by a limit.
        success: Wilson's interval; NaN for an environment that does not report ``is_success``.
        reward: summed over an episode's steps.
        progress: in [0, 1], at the end of an episode; NaN for an environment that does not report it.
        length: steps (turns) an episode.
        by_difficulty: bins with at least one episode, easiest first; empty where the environment has no difficulty.
        samples: how often each task was played. Above 1 the values of a task are averaged first, every interval is over
            tasks, estimates count tasks, and success has `share_interval`.
        pass_at_k: for 1, 2, 4, … up to ``samples``; () where each task was played once.
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

    @property
    def _unit(self) -> str:
        """The unit that the estimates count."""
        return "tasks" if self.samples > 1 else "episodes"

    def to_json(self) -> dict[str, Any]:
        """A JSON-able dictionary; unknown numbers are None. With a "step" added it is a line of a run's
        evaluations.jsonl.
        """
        result: dict[str, Any] = {
            "env": self.env,
            "agent": self.agent,
            "split": self.split,
            "seed": self.seed,
            "episodes": self.episodes,
            "invalid": self.invalid,
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
                "success": _number(row.success.mean),
                "ci": _interval(row.success),
                "reward": _number(row.reward.mean),
                "reward_ci": _interval(row.reward),
            }
            for row in self.by_difficulty
        ]
        return result

    def table(self) -> Table:
        """A rich table: one row per difficulty bin, one for all episodes, and a caption with what has no row."""
        from rich.table import Table

        split = f", {self.split} split" if self.split else ""
        caption = [f"turns {self.length}"]
        if self.samples > 1:
            caption.insert(0, f"{self.episodes} episodes, {self.samples} of each task")
        if not math.isnan(self.progress.mean):
            caption.append(f"progress {self.progress}")
        if self.truncated > 0:
            caption.append(f"{100 * self.truncated:.0f} % cut by a limit")
        if self.invalid:
            caption.append(f"{self.invalid} invalid episodes left out")
        table = Table(
            title=f"{self.agent} on {self.env}{split}, seed {self.seed}",
            caption="\n".join([*caption, "in brackets: 95 % confidence"]),
        )
        table.add_column("difficulty")
        table.add_column(self._unit, justify="right")
        table.add_column("success", justify="right")
        table.add_column("reward", justify="right")
        for row in self.by_difficulty:
            table.add_row(row.label, str(row.episodes), row.success.text(percent=True), row.reward.text())
        if self.by_difficulty:
            table.add_section()
        table.add_row("all", str(self.reward.count), self.success.text(percent=True), self.reward.text(), style="bold")
        for item in self.pass_at_k[1:]:
            table.add_row(f"pass@{item.k}", str(item.estimate.count), item.estimate.text(percent=True), "")
        return table

    def __str__(self) -> str:
        from rich.console import Console

        stream = io.StringIO()
        Console(file=stream, width=110, no_color=True).print(self.table())
        return "\n".join(line.rstrip() for line in stream.getvalue().rstrip("\n").split("\n"))


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _interval(estimate: Estimate) -> list[float | None]:
    return [_number(estimate.low), _number(estimate.high)]
