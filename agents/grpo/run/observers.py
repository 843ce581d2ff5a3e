"""Messages to observers of a run: its progress, and notices for the user.

Notices are sentences on values chosen for the run, on settings without effect, and on problems. They are sent to the
terminal as they arise and stored in ``notices.jsonl``, from which the report reads them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .folder import RunFolder

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TrainingProgress:
    """Progress of a run after a step.

    Attributes:
        phase: "warmup", "train" or "evaluate".
        step, steps: current step of this phase, and number of steps.
        values: metrics of the step, with "tokens_per_s" during training, or the evaluation's success.
    """

    phase: str
    step: int
    steps: int
    values: dict[str, float]


class Notices:
    """Forwards notices to the user and stores them in the run folder.

    Args:
        folder: folder of the run.
        notify: function called with each notice; by default it is logged as a warning.
    """

    def __init__(self, folder: RunFolder, notify: Callable[[str], None] = _log.warning):
        self._folder, self._notify = folder, notify
        self._overlong = False

    def add(self, step: int, kind: str, *sentences: str) -> None:
        """Forward and store sentences of one kind: "start", "resume", "overlong", "health" or "end"."""
        for sentence in sentences:
            self._folder.append("notices", [{"step": step, "kind": kind, "sentence": sentence}])
            self._notify(sentence)

    def read(self, kind: str) -> list[str]:
        """Return the sentences of one kind that were stored when the run began (step 0)."""
        return [row["sentence"] for row in self._folder.read("notices", 0, 0) if row["kind"] == kind]

    def repeat(self, sentences: Iterable[str]) -> None:
        """Forward notices of the run's beginning again, when the run is continued."""
        for sentence in sentences:
            self._notify(sentence)

    def report_overlong(self, step: int, count: int, proposed: int, context: int) -> None:
        """Add a notice, once per run, that tasks with too long prompts are left out."""
        if count and not self._overlong:
            self._overlong = True
            self.add(
                step,
                "overlong",
                f"The prompts of {count} of {proposed} proposed tasks leave no room to answer in a context of "
                f"{context} tokens: such tasks are left out, and counted as overlong_prompts in metrics.jsonl; raise "
                "--context to play them.",
            )
