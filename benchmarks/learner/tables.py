"""Statistics of the learner benchmark (medians, quartiles) and their tables in Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from ..harness import Spread, format_markdown
from .curves import format_curves


def summarise_steps(reports: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """Return spreads of times (s), medians of counts, peak memory (MB), and mean rewards of the first and last quarter.

    ``tokens_per_s`` is the median number of sampled tokens over the median time of a step.
    """
    rewards = [report["reward"] for report in reports]
    part = max(1, len(reports) // 4)
    spreads = {name: Spread.of([report[name] for report in reports]) for name in ("seconds", "rollout_s", "train_s")}
    medians = {
        name: statistics.median(report.get(name, 0.0) for report in reports)
        for name in ("tokens", "flat", "processed", "extra_mb")
    }
    return {
        **{name: spread.to_json() for name, spread in spreads.items()},
        **medians,
        "tokens_per_s": medians["tokens"] / spreads["seconds"].median,
        "peak_mb": max(report["peak_mb"] for report in reports),
        "reward_first": statistics.fmean(rewards[:part]),
        "reward_last": statistics.fmean(rewards[-part:]),
    }


def format_tables(results: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Format one table per part, with its ratios below."""
    return "\n".join(_part(part, list(cases)) for part, cases in results.items())


def _part(part: str, cases: list[Mapping[str, Any]]) -> str:
    played = cases[0]["settings"]["played"]
    rows = [
        (f"{case['settings']['label']}, {name}", *_cells(side, played))
        for case in cases
        for name, side in case["sides"].items()
    ]
    lines = [format_markdown((part, *(_PLAYED if played else _READY_MADE)), rows), ""]
    for case in cases:
        if case["ratios"]:
            lines += [f"{case['settings']['label']}: {_ratios(case['ratios'], played)}", ""]
    if "curves" in cases[0]:
        lines.append(format_curves(cases))
    return "\n".join(lines)


_PLAYED_RATIOS = {"seconds": "step", "cpu_s": "processor time", "peak_mb": "peak memory"}
_READY_MADE_RATIOS = {"train_s": "training", "cpu_s": "processor time", "extra_mb": "memory"}
_PLAYED = ("step, ms", "rollout, ms", "train, ms", "tokens a step", "flat", "peak memory, MB", "reward, first to last")
_READY_MADE = ("train, ms", "tokens encoded", "extra memory, MB")


def _milliseconds(spread: Mapping[str, float]) -> str:
    return f"{1e3 * spread['median']:.0f} ({1e3 * spread['low']:.0f}-{1e3 * spread['high']:.0f})"


def _cells(side: Mapping[str, Any], played: bool) -> list[str]:
    if not played:
        return [_milliseconds(side["train_s"]), f"{side['processed']:,.0f}", f"{side['extra_mb']:,.0f}"]
    return [
        _milliseconds(side["seconds"]),
        *(f"{1e3 * side[part]['median']:.0f}" for part in ("rollout_s", "train_s")),
        f"{side['tokens']:,.0f}",
        f"{side['flat']:.0%}",
        f"{side['peak_mb']:,.0f}",
        f"{side['reward_first']:.2f} to {side['reward_last']:.2f}",
    ]


def _ratios(ratios: Mapping[str, Mapping[str, float]], played: bool) -> str:
    sentences = []
    for key, name in (_PLAYED_RATIOS if played else _READY_MADE_RATIOS).items():
        if key in ratios:
            median, quartiles = Spread(**ratios[key]).show(".2f")
            sentences.append(f"{name} {median} times ours ({quartiles})")
    if "processed" in ratios and not played:
        sentences.append(f"tokens encoded {ratios['processed']['median']:.1f} times ours")
    return "TRL's " + ", ".join(sentences) + "."
