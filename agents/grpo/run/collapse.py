"""Detection of a collapse: the policy fails on tasks that it solved some steps ago.

Training success also falls when the teacher makes tasks harder. So if mean success over the latest steps is far below
that over the best earlier window, a collapse is only suspected. The tasks of that window are then played again. If the
policy still succeeds on them, the tasks have become harder. If not, the policy has collapsed, and the run can be
restored to its last good checkpoint.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...evaluation import share_interval, wilson_interval
from ..settings import Collapse
from .folder import RunFolder
from .health import StepSigns

MEMORY = 10
"""Number of windows of steps before the latest one among which the best is sought."""
EPISODES = 64
"""Approximate number of episodes played to distinguish a collapse from harder tasks."""
LEAST = 0.1
"""Success rate below which no fall is detected."""


@dataclass(frozen=True)
class SuspectedCollapse:
    """Suspected collapse.

    Attributes:
        first, last: first and last step of the earlier window with the best success.
        before: mean success in that window.
        since, step: first and last step of the latest window.
        now: mean success in the latest window.
    """

    first: int
    last: int
    before: float
    since: int
    step: int
    now: float


@dataclass(frozen=True)
class ConfirmedCollapse:
    """Confirmed collapse: success has fallen on tasks of the earlier window too.

    Attributes:
        then: mean success on the tasks of the earlier window at that time.
        again, episodes: mean success on new episodes of the same tasks, and number of these episodes.
        norm, at: largest gradient norm since the earlier window, and its step.
    """

    fall: SuspectedCollapse
    then: float
    again: float
    episodes: int
    norm: float
    at: int

    def __str__(self) -> str:
        fall = self.fall
        earlier = f"steps {fall.first}-{fall.last}"
        return (
            f"The policy has lost what it could do: success fell from {fall.before:.0%} ({earlier}) to {fall.now:.0%} "
            f"(steps {fall.since}-{fall.step}), and on {self.episodes} new episodes of the tasks of {earlier} from "
            f"{self.then:.0%} to {self.again:.0%}; the largest gradient norm since was {self.norm:.3g} (step {self.at})"
        )


PlayAgain = Callable[[Sequence[Mapping[str, Any]], int], list[bool]]
"""(parameters of tasks, approximate number of episodes) -> success of each episode on new tasks of these parameters."""


def confirm_collapse(
    fall: SuspectedCollapse, folder: RunFolder, play_again: PlayAgain, share: float
) -> ConfirmedCollapse | None:
    """Play tasks of the earlier window again. Return None if the policy still succeeds on them.

    Args:
        share: share of the earlier success that must be lost; in addition the 95 % intervals of both must not overlap.
    """
    rows = [row for row in folder.read("proposals", fall.first, fall.last) if row["success"] is not None]
    rows = [row for row in rows if not row.get("asked")][:EPISODES]
    wins = play_again([row["params"] for row in rows], EPISODES) if rows else []
    if not wins:
        return None
    then, now = share_interval([row["success"] for row in rows]), wilson_interval(sum(wins), len(wins))
    if now.mean > (1 - share) * then.mean or now.high >= then.low:
        return None
    norms = [
        (row["grad_norm"], row["step"]) for row in folder.read("metrics", fall.last, fall.step) if row["grad_norm"]
    ]
    return ConfirmedCollapse(fall, then.mean, now.mean, len(wins), *max(norms, default=(0.0, fall.step)))


class SuccessWatch:
    """Success of the latest steps, checkpoints that the run can return to, and the number of returns so far.

    Args:
        settings: see `Collapse`.
    """

    def __init__(self, settings: Collapse):
        self.settings = settings
        self.returned = 0
        self.checkpoints: list[int] = []
        """Steps of the checkpoints that may be returned to, oldest first."""
        self._success: deque[tuple[int, float]] = deque(maxlen=(MEMORY + 1) * settings.window)

    def check(
        self, step: int, signs: StepSigns, folder: RunFolder, play_again: PlayAgain
    ) -> tuple[int | None, list[str]]:
        """Add a step and look for a collapse.

        Args:
            play_again: see `PlayAgain`; called if a collapse is suspected.

        Returns:
            (step of the checkpoint that the run must return to, or None; sentences about it for the user).
        """
        # Steps with revealed solutions are skipped, as success is higher with them.
        fall = None if signs.guided or math.isnan(signs.success) else self.observe(step, signs.success)
        if fall is None:
            return None, []
        self.forget()
        collapse = confirm_collapse(fall, folder, play_again, self.settings.fall)
        if collapse is None:
            return None, []
        back, sentence = self.respond(collapse)
        return back, [sentence]

    def observe(self, step: int, success: float) -> SuspectedCollapse | None:
        """Add the success of a step. Return a `SuspectedCollapse` if the latest window is far below the best
        earlier one."""
        self._success.append((step, success))
        size = self.settings.window
        if len(self._success) < 2 * size:
            return None
        steps, values = zip(*self._success, strict=True)
        means = [math.fsum(values[i : i + size]) / size for i in range(len(values) - size + 1)]
        earlier = means[: len(means) - size]
        best = max(range(len(earlier)), key=lambda i: (earlier[i], i))
        before, now = means[best], means[-1]
        if before < LEAST or now > (1 - self.settings.fall) * before:
            return None
        return SuspectedCollapse(steps[best], steps[best + size - 1], before, steps[-size], step, now)

    def forget(self) -> None:
        """Forget earlier steps, with which later ones must not be compared: tasks or policy are no longer the same."""
        self._success.clear()

    def add_checkpoint(self, step: int) -> None:
        """Record a checkpoint and drop those to which no return can lead any more."""
        size = self.settings.window
        if not self.checkpoints or step - self.checkpoints[-1] >= 2 * size:
            self.checkpoints.append(step)
        old = [each for each in self.checkpoints if each <= step - (MEMORY + 1) * size]
        self.checkpoints = self.checkpoints[max(len(old) - 1, 0) :]

    def respond(self, collapse: ConfirmedCollapse) -> tuple[int | None, str]:
        """Decide on a return after a collapse.

        Returns:
            (step of the newest checkpoint from before the fall if the run must return to it, else None; a sentence). A
                return is counted, and later checkpoints are dropped.
        """
        sound = [step for step in self.checkpoints if step <= collapse.fall.last] or self.checkpoints[:1]
        most = self.settings.returns
        if self.returned < most and sound:
            self.returned += 1
            self.checkpoints = sound
            action = f"The run goes on from the checkpoint of step {sound[-1]}, return {self.returned} of {most}."
            return sound[-1], f"{collapse}. {action}"
        used = f", of which it has used all {most}" if self.returned else ""
        return None, (
            f"{collapse}. Lower --lr, hold the policy with --regularisers kl_full or --guards max_token_change, or let "
            f"the run go back to its last good checkpoint with --collapse.returns{used}."
        )

    def state_dict(self) -> dict[str, Any]:
        """Return the state, JSON-able."""
        return {"returned": self.returned, "checkpoints": self.checkpoints, "success": list(self._success)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.returned, self.checkpoints = int(state["returned"]), [int(step) for step in state["checkpoints"]]
        self._success.clear()
        self._success.extend((int(step), float(success)) for step, success in state["success"])
