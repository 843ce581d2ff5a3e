"""The learner's side of a proposal's requests: one registered function for each key of `Proposal.meta`.

A request is carried out at one of three moments: before its task is played ("play"), on its finished group, before that
is reported and judged ("group"), or when it is prepared for training ("train"). A function receives all proposals of
the round that make its request:

    @carries_out("swap_units", "play")
    def swap_units(assignments, workplace): ...
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from ....errors import InputError
from ....registry import Registry
from ....teachers import Proposal
from ....teachers.requests import REQUESTS
from ..batch.trajectory import Group, Trajectory
from ..rollouts.episode_player import EpisodePlayer
from ..rollouts.episode_starts import RolloutTask
from ..settings import RequestSettings
from .rewriting import Rewriter

Moment = Literal["play", "group", "train"]


@dataclass(eq=False)
class Assignment:
    """A proposal on its way through a round of a step.

    Attributes:
        proposal: the proposal.
        task: the task, with the conditions that it is played under.
        group: the episodes, once they have been played.
        joined: number of episodes at the end of the group that come from earlier proposals.
        trained: whether the group is trained on.
        done: request -> its result, a number or a word (JSON-able).
    """

    proposal: Proposal
    task: RolloutTask
    group: Group
    joined: int = 0
    trained: bool = True
    done: dict[str, Any] = field(default_factory=dict)

    def request(self, name: str) -> Any:
        """Return the value of a request."""
        return self.proposal.meta[name]

    def set_conditions(self, **changes: Any) -> None:
        """Change the conditions under which the task is played."""
        self.task = replace(self.task, conditions=replace(self.task.conditions, **changes))

    def change_each(self, change: Callable[[Trajectory], Mapping[str, Any]]) -> None:
        """Update every trajectory with the fields that ``change`` returns for it."""
        members = tuple(replace(t, **change(t)) for t in self.group.trajectories)
        self.group = replace(self.group, trajectories=members)

    @property
    def own_group(self) -> Group:
        """The group without the episodes of earlier proposals."""
        if not self.joined:
            return self.group
        return replace(self.group, trajectories=self.group.trajectories[: -self.joined])


@dataclass(eq=False)
class Workplace:
    """Tools of the functions that answer requests.

    Attributes:
        player: plays the round.
        settings: of the run.
        rewriter: rewrites prompts.
        screened: episodes of earlier proposals that were for evaluation only, by the proposal's id.
    """

    player: EpisodePlayer
    settings: RequestSettings
    rewriter: Rewriter
    screened: dict[int, tuple[Trajectory, ...]]


Act = Callable[[Sequence[Assignment], Workplace], None]
F = TypeVar("F", bound=Act)


@dataclass(frozen=True)
class Handler:
    """A function and the moment at which it acts."""

    moment: Moment
    act: Act


HANDLERS: Registry[Handler] = Registry(
    "request that this learner carries out",
    group="palaestra.request_handlers",
    modules=[f"{__package__}.{name}" for name in ("conditions", "training")],
)


def carries_out(name: str, moment: Moment) -> Callable[[F], F]:
    """Register the function that carries out a request at a moment."""

    def add(act: F) -> F:
        HANDLERS.add(name, Handler(moment, act))
        return act

    return add


def check_requests_known(names: Iterable[str]) -> None:
    """Raise InputError for a request that is unknown, or that no function carries out."""
    for name in names:
        if not REQUESTS[name].label and name not in HANDLERS:
            raise InputError(
                f"nothing carries out the request {name!r} of the teacher; register a function for it with "
                "agents.grpo.teacher_requests.requests.carries_out."
            )


def carry_out(moment: Moment, assignments: Sequence[Assignment], workplace: Workplace) -> None:
    """Carry out all requests of this moment."""
    names = {name for assignment in assignments for name in assignment.proposal.meta}
    check_requests_known(names)
    for name in sorted(names):
        if name in HANDLERS and HANDLERS[name].moment == moment:
            HANDLERS[name].act([a for a in assignments if name in a.proposal.meta], workplace)


def count_requests(assignments: Sequence[Assignment]) -> dict[str, float]:
    """Count a step's requests for ``metrics.jsonl``.

    Returns:
        "requests/NAME": proposals with this request; "requests/NAME/WORD": those where this was done about it;
        "requests/NAME/mean": the mean where a number was done about it.
    """
    counts: Counter[str] = Counter()
    sums: dict[str, float] = {}
    for assignment in assignments:
        for name, done in assignment.done.items():
            counts[f"requests/{name}"] += 1
            if isinstance(done, str):
                counts[f"requests/{name}/{done}"] += 1
            else:
                sums[f"requests/{name}"] = sums.get(f"requests/{name}", 0.0) + float(done)
    means = {f"{name}/mean": total / counts[name] for name, total in sums.items()}
    return {name: float(value) for name, value in sorted((counts | means).items())}
