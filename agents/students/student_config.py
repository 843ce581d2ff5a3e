"""Everything that defines a run of a student, as one frozen record stored with the run. Imports nothing heavy."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import tyro

from ...checks import check_count, check_number, check_share
from ...errors import InputError

_NOTABLE = 1.05
"""Ratio of actual to requested steps of a run above which the difference is reported."""
_Free = Annotated[dict[str, Any], tyro.conf.Suppress]


@dataclass(frozen=True)
class StudentConfig:
    """Settings of the runs of all students (a run is a function of this record, bit for bit on a CPU).

    Attributes:
        env: environment id with array observations; "module:id" imports the module first.
        axes: axes restricted to one value, a range or a list of choices.
        env_options: further arguments of the environment.
        teacher: registered teacher that chooses the parameters of every episode, or module:name of your own teacher;
            None: the environment draws them.
        teacher_options: further arguments of the teacher.
        bonus: rewards added to the environment's own in training: potential, waypoints, stages, goal-text,
            graph-subgoals, progress-head, designed, subgoals, lare, oni, count, landmarks, empowerment, rnd, rdd,
            prediction, hindsight; see `palaestra list bonuses`. With their arguments if any, as in
            "count(weight=0.02)". Evaluations use no bonus.
        levels: number of levels of the training split to practise repeatedly, the same as in go-explore with the same
            seed; 0: a new level each episode.
        seed: root of all randomness, at least 0.
        steps: environment steps in all, rounded up to whole iterations.
        environments: number of environments stepped in parallel.
        eval_every: environment steps between evaluations on the test split; 0 evaluates only before and after.
        eval_episodes: episodes of an evaluation during training.
        final_episodes: episodes of the evaluations before the first and after the last step.
        checkpoint_every: environment steps between checkpoints. The policy of the best evaluation is also kept.
        track: registered trackers that receive the figures besides the run folder, such as "tensorboard" and "wandb".
    """

    learner: ClassVar[str] = ""
    extra: ClassVar[str] = ""
    student: ClassVar[str] = ""  # "module:Class" of this package, loaded when a run begins
    critic: ClassVar[bool] = False  # whether it estimates values, which some teachers need
    env: tyro.conf.Positional[str] = "palaestra/DoorKey-v0"
    axes: _Free = field(default_factory=dict)
    env_options: _Free = field(default_factory=dict)
    teacher: str | None = None
    teacher_options: _Free = field(default_factory=dict)
    bonus: tuple[str, ...] = ()
    levels: int = 0
    seed: int = 0
    steps: int = 1_000_000
    environments: int = 16
    eval_every: int = 100_000
    eval_episodes: int = 50
    final_episodes: int = 200
    checkpoint_every: int = 100_000
    track: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, least in {
            **{"levels": 0, "seed": 0, "steps": 0, "environments": 1, "eval_every": 0, "eval_episodes": 1},
            **{"final_episodes": 1, "checkpoint_every": 1},
        }.items():
            check_count(name, getattr(self, name), least)
        for name in ("split", "axes"):
            if name in self.env_options:
                raise InputError(
                    f"{name!r} is no option to set here: the splits are the learner's to choose, and axes are given as "
                    "name=low:high."
                )
        if self.teacher_options and self.teacher is None:
            raise InputError(f"{sorted(self.teacher_options)} are options of a teacher; name it with --teacher.")

    @property
    def envs(self) -> tuple[str]:
        """The environment, as the runs of learners of several have it."""
        return (self.env,)

    @property
    def iteration(self) -> int:
        """Environment steps of an iteration: those between two rows of the metrics."""
        raise NotImplementedError

    @property
    def schedules(self) -> tuple[str, ...]:
        """Settings whose effect follows the share of ``steps`` that is done. With any, a run that goes on to more steps
        than it began with is not the same as one that began with these."""
        return ()

    def describe_rounding(self) -> list[str]:
        """Say how many steps a run takes, where whole iterations make that many more than were asked for."""
        taken = -(-self.steps // self.iteration) * self.iteration
        if taken <= _NOTABLE * self.steps or not self.steps:
            return []
        return [f"{self.steps} steps are rounded up to {taken}, as an iteration takes {self.iteration}."]

    def to_json(self) -> dict[str, Any]:
        """Plain types, for ``config.json``."""
        data = dataclasses.asdict(self)
        return {"learner": self.learner, **data, "bonus": list(self.bonus), "track": list(self.track)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Any:
        """The inverse of `to_json`; unknown keys raise InputError."""
        values: dict[str, Any] = {name: value for name, value in data.items() if name != "learner"}
        if unknown := sorted(set(values) - {item.name for item in dataclasses.fields(cls)}):
            raise InputError(f"the configuration has unknown entries {unknown}; it was written by another version.")
        for name in ("bonus", "track"):
            values[name] = tuple(values.get(name, ()))
        return cls(**values)

    def differences(self, other: StudentConfig) -> list[str]:
        """``name: ours instead of theirs`` for each entry that differs."""
        mine, theirs = self.to_json(), other.to_json()
        return [f"{name}: {mine[name]!r} instead of {theirs[name]!r}" for name in mine if mine[name] != theirs[name]]


@dataclass(frozen=True)
class QConfig(StudentConfig):
    """Tabular Q-learning (Watkins 1989): for small worlds, as each observation is a separate state.

    Attributes:
        rate: step size, in (0, 1].
        discount: discount of future rewards, in [0, 1].
        explore: share of random actions at the start, in [0, 1].
        explore_end: share of random actions at the end, in [0, 1].
        explore_share: share of the run after which explore has fallen to explore_end, in (0, 1].
        initial: initial value of untried actions.
        log_every: environment steps between rows of the metrics, rounded up to whole rounds of all environments.
    """

    learner: ClassVar[str] = "q"
    student: ClassVar[str] = "tabular_q:QLearning"
    rate: float = 0.2
    discount: float = 0.97
    explore: float = 1.0
    explore_end: float = 0.05
    explore_share: float = 0.5
    initial: float = 0.0
    log_every: int = 2_048

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("rate", "explore_share"):
            check_share(name, getattr(self, name), positive=True)
        for name in ("discount", "explore", "explore_end"):
            check_share(name, getattr(self, name))
        check_number("initial", self.initial)
        check_count("log_every", self.log_every, 1)

    @property
    def iteration(self) -> int:
        return -(-self.log_every // self.environments) * self.environments

    @property
    def schedules(self) -> tuple[str, ...]:
        return () if self.explore == self.explore_end else ("explore",)


@dataclass(frozen=True)
class PPOConfig(StudentConfig):
    """Proximal policy optimisation (arXiv 1707.06347), with the defaults of MiniGrid's starter code as far as it has
    the option.

    Attributes:
        rollout: steps of each environment between updates.
        epochs: passes over each rollout.
        minibatch: steps in a minibatch, at most.
        lr: learning rate of Adam.
        anneal: let the learning rate fall to 0 over the run, in a straight line.
        discount: of future rewards, in [0, 1].
        decay: lambda of generalised advantage estimation, in [0, 1].
        clip: bound of the probability ratio, above 0.
        value_clip: bound of the change of a value in an update; None: no bound.
        value_weight: weight of the value loss.
        entropy_weight: weight of the entropy bonus.
        max_grad_norm: gradients are scaled down to this norm.
        hidden: units of the layers.
        memory: units of a recurrent layer (GRU); 0: the policy sees the present observation only.
        sequence: steps that gradients flow back through the memory; divides ``rollout``.
        threads: CPU threads; a run is only bit-reproducible at the same number.
        device: "cpu", "cuda", or "auto", a GPU if available.
    """

    learner: ClassVar[str] = "ppo"
    extra: ClassVar[str] = "train"
    student: ClassVar[str] = "ppo:PPO"
    critic: ClassVar[bool] = True
    rollout: int = 128
    epochs: int = 4
    minibatch: int = 256
    lr: float = 1e-3
    anneal: bool = True
    discount: float = 0.99
    decay: float = 0.95
    clip: float = 0.2
    value_clip: float | None = None
    value_weight: float = 0.5
    entropy_weight: float = 0.01
    max_grad_norm: float = 0.5
    hidden: int = 64
    memory: int = 0
    sequence: int = 8
    threads: int = 1
    device: str = "cpu"
    track: tuple[str, ...] = ("tensorboard",)

    def __post_init__(self) -> None:
        super().__post_init__()
        least = {"rollout": 1, "epochs": 1, "minibatch": 1, "hidden": 1, "memory": 0, "sequence": 1, "threads": 1}
        for name, low in least.items():
            check_count(name, getattr(self, name), low)
        for name in ("discount", "decay"):
            check_share(name, getattr(self, name))
        for name in ("lr", "clip", "max_grad_norm"):
            check_number(name, getattr(self, name), above=0.0)
        for name in ("value_weight", "entropy_weight"):
            check_number(name, getattr(self, name), low=0.0)
        if self.value_clip is not None:
            check_number("value_clip", self.value_clip, above=0.0)
        if self.memory and self.rollout % self.sequence:
            raise InputError(
                f"sequence must divide the {self.rollout} steps of a rollout, not be {self.sequence}; take "
                f"{max(n for n in range(1, self.sequence + 1) if self.rollout % n == 0)}."
            )

    @property
    def iteration(self) -> int:
        return self.rollout * self.environments

    @property
    def schedules(self) -> tuple[str, ...]:
        return ("anneal",) if self.anneal else ()


@dataclass(frozen=True)
class GoExploreConfig(PPOConfig):
    """Go-Explore (arXiv 1901.10995): exploration from reached states, then PPO from the ends of the solutions,
    backwards. For environments that can be set to a state, and levels that hardly any episode solves.

    Attributes:
        levels: levels of the training split to explore and learn, each with a separate archive.
        explore_actions: actions of an exploration from a state.
        repeat: mean number of steps for which a random action is repeated. The paper uses 20 on Atari; in a gridworld,
            turning on the spot for so long leads nowhere.
        power: exponent of the counts by which states are chosen.
        explore_share: share of the run in which levels are explored, in (0, 1]; solutions get shorter in it. If no
            level is solved by then, exploration continues.
        move: actions by which the start of a level's episodes moves back along its solution.
        start_success: share of a level's latest 20 episodes that must succeed before its start moves, in (0, 1].
        later: share of the episodes that begin anywhere on the rest of the solution, so that it is not forgotten.
        lag: actions that an episode may take beyond the rest of the solution; without effect once episodes begin at the
            level's start.
    """

    learner: ClassVar[str] = "go-explore"
    student: ClassVar[str] = "go_explore:GoExploreStudent"
    levels: int = 1
    explore_actions: int = 100
    repeat: float = 3.0
    power: float = 0.5
    explore_share: float = 0.3
    move: int = 5
    start_success: float = 0.2
    later: float = 0.2
    lag: int = 50
    anneal: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("levels", "explore_actions", "move"):
            check_count(name, getattr(self, name), 1)
        check_number("repeat", self.repeat, low=1.0)
        check_number("power", self.power, low=0.0)
        for name in ("explore_share", "start_success"):
            check_share(name, getattr(self, name), positive=True)
        check_share("later", self.later)
        check_count("lag", self.lag, 0)
        if self.teacher is not None:
            raise InputError(f"go-explore chooses its levels itself; leave --teacher {self.teacher} out.")

    @property
    def schedules(self) -> tuple[str, ...]:
        return (*super().schedules, "explore_share")
