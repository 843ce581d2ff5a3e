"""Text for agents about a run of a program: its output and its end, with the middle of long text left out."""

from __future__ import annotations

from ...sandbox import Limits, Result


def describe_output(result: Result, limits: Limits) -> str:
    """Describe a run: its output, its error output, and the limit or signal that ended it. Return "" if there is
    nothing to report."""
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


def keep_ends(text: str, most: int) -> str:
    """Return ``text``; if it has more than ``most`` characters, leave out its middle."""
    if len(text) <= most:
        return text
    half = most // 2 - 25
    return f"{text[:half]}\n... ({len(text) - 2 * half} characters left out)\n{text[-half:]}"
