"""Progress bar of an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(episodes: int) -> Iterator[Callable[[int, int | None], None]]:
    """Draw a progress bar on standard error once two seconds have passed.

    Yields:
        A function of (episodes done, episodes succeeded or None) that updates the bar.
    """
    import time

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task("evaluating", total=episodes)
    begun = time.monotonic()
    shown = False

    def on_episode(done: int, succeeded: int | None) -> None:
        nonlocal shown
        success = "playing" if succeeded is None else f"success {100 * succeeded / done:.0f} %"
        bar.update(task, completed=done, description=success)
        if not shown and time.monotonic() - begun > 2:
            bar.start()
            shown = True

    try:
        yield on_episode
    finally:
        if shown:
            bar.stop()
