"""Settings of the hand-over from a demonstrator to a learner. Importing this module imports nothing heavy."""

from __future__ import annotations

from typing import ClassVar, Literal

from ...checks import option, record
from ...errors import InputError
from .student_config import StudentConfig


@record
class HandOverConfig(StudentConfig):
    """Settings of the gradual hand-over from a demonstrator to a learner that explores around a policy cloned from
    demonstrations, with an ensemble of critics whose disagreement gives control back (after MoDem-V2, arXiv
    2309.14236). For environments with a solver (``oracle``)."""

    learner: ClassVar[str] = "hand-over"
    extra: ClassVar[str] = "train"
    student: ClassVar[str] = "hand_over:HandOverStudent"
    demonstrations: int = option(
        default=20, low=1, group="control", says="successful episodes of the solver before the run."
    )
    demonstrator: Literal["clone", "solver"] = option(
        default="clone",
        group="control",
        says='policy that acts where the learner does not: "clone", learned from the demonstrations, or "solver", the '
        "environment's own, from the state in which the learner left it. A solver that remembers its own calls does "
        "not resume to the same bytes.",
    )
    clock: Literal["run", "episode"] = option(
        default="run",
        group="control",
        says="count of the steps t0 and t1: environment steps of the run, or steps of the episode.",
    )
    t0: int = option(default=0, group="control", says="step up to which the demonstrator always acts.")
    t1: int = option(
        default=20_000,
        group="control",
        says="step from which the learner always acts, unless vetoed; in between it acts with probability "
        "(t - t0) / (t1 - t0).",
    )
    veto: float | None = option(
        default=0.2,
        low=0,
        group="control",
        says="standard deviation of the critics' values of the learner's action, in units of the return, above which "
        "the demonstrator acts instead (in evaluations the clone); None: no veto.",
    )
    sigma: float = option(
        default=0.1,
        low=0,
        high=1,
        group="exploration",
        says="width of the proposals around the clone's action at the start: for Discrete actions the share of "
        "proposals drawn uniformly, for a Box the standard deviation in units of half the range. With 0, the learner "
        "acts as the clone.",
    )
    sigma_end: float = option(default=0.5, low=0, high=1, group="exploration", says="``sigma`` at the end of the run.")
    proposals: int = option(
        default=16,
        low=1,
        group="exploration",
        says="proposed actions per step, the first one the clone's own; the learner takes the one of highest value.",
    )
    critics: int = option(default=5, low=2, group="learning", says="number of critics.")
    value: Literal["mean", "min"] = option(
        default="mean", group="learning", says="value of an action: mean or minimum over the critics."
    )
    demo_share: float = option(
        default=0.5, low=0, high=1, group="learning", says="share of demonstrations in a minibatch at the start."
    )
    demo_share_end: float = option(
        default=0.25, low=0, high=1, group="learning", says="share of demonstrations in a minibatch at the end."
    )
    clone_updates: int = option(
        default=1_000, group="learning", says="updates of the clone on the demonstrations before the run."
    )
    update_every: int = option(default=8, low=1, group="learning", says="environment steps per update of the critics.")
    minibatch: int = option(default=64, low=1, group="learning", says="steps in a minibatch.")
    lr: float = option(default=1e-3, above=0, says="learning rate of Adam.")
    discount: float = option(
        default=0.97, low=0, high=1, group="learning", says="discount of future rewards, in [0, 1]."
    )
    target_rate: float = option(
        default=0.02, above=0, high=1, group="learning", says="share by which target critics approach the critics."
    )
    capacity: int = option(default=100_000, low=1, group="learning", says="most own steps that are remembered.")
    hidden: int = option(default=64, low=1, group="network", says="units per layer.")
    threads: int = option(
        default=1, low=1, group="run", says="CPU threads; a run is only bit-reproducible at the same number."
    )
    log_every: int = option(
        default=2_048,
        low=1,
        group="run",
        says="environment steps between rows of the metrics, rounded up to a multiple of ``environments``.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.t0 < self.t1:
            raise InputError(f"t1 must be above t0, {self.t0}, not {self.t1}.")

    @property
    def iteration(self) -> int:
        return -(-self.log_every // self.environments) * self.environments

    @property
    def schedules(self) -> tuple[str, ...]:
        pairs = {"sigma": self.sigma_end, "demo_share": self.demo_share_end}
        return tuple(name for name, end in pairs.items() if getattr(self, name) != end)
