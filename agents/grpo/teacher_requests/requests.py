"""Execution of the requests in proposals: one registered function for each key of `Proposal.meta`.

A request is carried out at one of three moments: "play", before its task is played; "group", on the finished group,
before it is reported and judged; "train", when the group is prepared for training. The function receives all proposals
of a round of collection that make its request:

    @request_handler("swap_units", "play")
    def swap_units(assignments, context): ...
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
    """A proposal while it is processed in a round of a step's collection.

    Attributes:
        proposal: the proposal.
        task: the task, with the conditions under which it is played.
        group: the episodes, once they have been played.
        joined: number of episodes, at the end of the group, from earlier proposals.
        trained: False to leave the group out of training.
        done: request -> its result, a number or a word (JSON-able).
    """

    proposal: Proposal
    task: RolloutTask
    group: Group
    joined: int = 0
    trained: bool = True
    done: dict[str, Any] = field(default_factory=dict)

    def request(self, name: str) -> Any:
        """Return the value of the request ``name``, a key of `Proposal.meta`."""
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
        """Group without the episodes of earlier proposals."""
        if not self.joined:
            return self.group
        return replace(self.group, trajectories=self.group.trajectories[: -self.joined])


@dataclass(eq=False)
class RequestContext:
    """Tools of the functions that carry out requests.

    Attributes:
        player: player of the episodes of this round.
        settings: settings of requests in this run.
        rewriter: rewrites prompts.
        screened: proposal id -> episodes of an earlier proposal that was for evaluation only.
    """

    player: EpisodePlayer
    settings: RequestSettings
    rewriter: Rewriter
    screened: dict[int, tuple[Trajectory, ...]]


Act = Callable[[Sequence[Assignment], RequestContext], None]
F = TypeVar("F", bound=Act)


@dataclass(frozen=True)
class Handler:
    """Function that carries out a request, and the moment at which it is called."""

    moment: Moment
    act: Act


HANDLERS: Registry[Handler] = Registry(
    "request that this learner carries out",
    group="palaestra.request_handlers",
    modules=[f"{__package__}.{name}" for name in ("conditions", "training")],
)


def request_handler(name: str, moment: Moment) -> Callable[[F], F]:
    """Register the function that carries out the request ``name`` at ``moment``."""

    def add(act: F) -> F:
        HANDLERS.add(name, Handler(moment, act))
        return act

    return add


def check_requests_known(names: Iterable[str]) -> None:
    """Raise InputError for a request that is unknown, or for which no function is registered."""
    for name in names:
        if not REQUESTS[name].label and name not in HANDLERS:
            raise InputError(
                f"nothing carries out the request {name!r} of the teacher; register a function for it with "
                "agents.grpo.teacher_requests.requests.request_handler."
            )


def run_requests(moment: Moment, assignments: Sequence[Assignment], context: RequestContext) -> None:
    """Carry out all requests of ``moment``, in alphabetical order."""
    names = {name for assignment in assignments for name in assignment.proposal.meta}
    check_requests_known(names)
    for name in sorted(names):
        if name in HANDLERS and HANDLERS[name].moment == moment:
            HANDLERS[name].act([a for a in assignments if name in a.proposal.meta], context)


def count_requests(assignments: Sequence[Assignment]) -> dict[str, float]:
    """Count a step's requests for ``metrics.jsonl``.

    Returns:
        "requests/NAME": number of proposals with this request; "requests/NAME/WORD": number with this word as result;
            "requests/NAME/mean": mean of the numbers that are results.
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
