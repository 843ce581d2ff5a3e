"""What an agent is shown of a run: its output, what ended it, and of much text the ends."""

from __future__ import annotations

from ...sandbox import Limits, Result


def output_of(result: Result, limits: Limits) -> str:
    """What a run printed, its error output included, and the limit or signal that ended it; "" where there is
    nothing."""
    parts = [result.stdout.strip("\n"), result.stderr.strip("\n")]
    if result.reason == "time":
        parts.append(f"(stopped: it took more than {limits.seconds:g} s)")
    elif result.reason == "memory":
        parts.append(f"(stopped: it used more than {limits.memory_mb:g} MiB)")
    elif result.reason == "output":
        parts.append("(stopped: it wrote too much)")
    elif result.reason == "signal":
        parts.append(f"(ended by signal {-(result.exit_code or 0)})")
    return "\n".join(filter(None, parts))


def ends_of(text: str, most: int) -> str:
    """``text``; where it has more than ``most`` characters, without its middle."""
    if len(text) <= most:
        return text
    half = most // 2 - 25
    return f"{text[:half]}\n... ({len(text) - 2 * half} characters left out)\n{text[-half:]}"
