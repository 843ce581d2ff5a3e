"""Configuration of a student's run: one frozen record, stored with the run. Importing it imports nothing heavy."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import tyro

from ...checks import check_record, option, record
from ...errors import InputError

_NOTABLE = 1.05
"""Ratio of actual to requested steps of a run above which the difference is reported."""
_Free = Annotated[dict[str, Any], tyro.conf.Suppress]


@record
class StudentConfig:
    """Settings that the runs of all students have. On a CPU, these settings determine a run bit for bit."""

    learner: ClassVar[str] = ""
    extra: ClassVar[str] = ""
    student: ClassVar[str] = ""  # "module:Class" of this package, imported when a run begins
    critic: ClassVar[bool] = False  # True if the student estimates values, which some teachers need
    env: tyro.conf.Positional[str] = option(
        default="palaestra/DoorKey-v0",
        says='environment id with array observations; "module:id" imports the module first.',
    )
    axes: _Free = option(default_factory=dict, says="axes restricted to one value, a range or a list of choices.")
    env_options: _Free = option(default_factory=dict, says="further arguments of the environment.")
    teacher: str | None = option(
        default=None,
        says="registered teacher that chooses the parameters of every episode, or module:name of your own teacher; "
        "None: the environment draws the parameters.",
    )
    teacher_options: _Free = option(default_factory=dict, says="further arguments of the teacher.")
    bonus: tuple[str, ...] = option(
        default=(),
        says="rewards added to the environment's own in training: potential, waypoints, beacons, stages, goal-text, "
        "graph-subgoals, progress-head, designed, subgoals, lare, oni, count, landmarks, empowerment, rnd, rdd, "
        'prediction, hindsight; see `palaestra list bonuses`. Options are given as in "count(weight=0.02)". '
        "Evaluations use no bonus.",
    )
    levels: int = option(
        default=0,
        says="number of levels of the training split to practise repeatedly, the same as in go-explore with the same "
        "seed; 0: a new level each episode.",
    )
    seed: int = option(default=0, says="seed of all random numbers, at least 0.")
    steps: int = option(default=1_000_000, says="environment steps of the run, rounded up to whole iterations.")
    environments: int = option(default=16, low=1, group="run", says="number of environments stepped in parallel.")
    eval_every: int = option(
        default=100_000,
        group="run",
        says="environment steps between evaluations on the test split; 0 evaluates only before and after.",
    )
    eval_episodes: int = option(default=50, low=1, group="run", says="episodes of an evaluation during training.")
    final_episodes: int = option(
        default=200, low=1, group="run", says="episodes of the evaluations before the first and after the last step."
    )
    checkpoint_every: int = option(
        default=100_000,
        low=1,
        group="run",
        says="environment steps between checkpoints. The policy of the best evaluation is also kept.",
    )
    track: tuple[str, ...] = option(
        default=(),
        group="run",
        says='registered trackers that receive the metrics as well, such as "tensorboard" and "wandb".',
    )

    def __post_init__(self) -> None:
        check_record(self)
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
        """The environment as a tuple, the form of learners that train on several."""
        return (self.env,)

    @property
    def iteration(self) -> int:
        """Number of environment steps per iteration; each iteration writes one row of metrics."""
        raise NotImplementedError

    @property
    def schedules(self) -> tuple[str, ...]:
        """Names of settings whose effect depends on the completed share of ``steps``. With any of these, a run that is
        resumed with more ``steps`` differs from a run that had as many from the start."""
        return ()

    def describe_rounding(self) -> list[str]:
        """Return a sentence on the actual number of steps if rounding to whole iterations adds over 5 %; else []."""
        taken = -(-self.steps // self.iteration) * self.iteration
        if taken <= _NOTABLE * self.steps or not self.steps:
            return []
        return [f"{self.steps} steps are rounded up to {taken}, as an iteration takes {self.iteration}."]

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON-serializable data, for ``config.json``."""
        data = dataclasses.asdict(self)
        return {"learner": self.learner, **data, "bonus": list(self.bonus), "track": list(self.track)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Any:
        """Make a configuration from the result of `to_json`. Raises InputError for unknown keys."""
        values: dict[str, Any] = {name: value for name, value in data.items() if name != "learner"}
        if unknown := sorted(set(values) - {item.name for item in dataclasses.fields(cls)}):
            raise InputError(f"the configuration has unknown entries {unknown}; it was written by another version.")
        for name in ("bonus", "track"):
            values[name] = tuple(values.get(name, ()))
        return cls(**values)

    def differences(self, other: StudentConfig) -> list[str]:
        """Return a text "NAME: VALUE instead of VALUE IN OTHER" for each setting that differs."""
        mine, theirs = self.to_json(), other.to_json()
        return [f"{name}: {mine[name]!r} instead of {theirs[name]!r}" for name in mine if mine[name] != theirs[name]]


@record
class QConfig(StudentConfig):
    """Settings of tabular Q-learning (Watkins 1989); for small worlds, as each observation is a separate state."""

    learner: ClassVar[str] = "q"
    student: ClassVar[str] = "tabular_q:QLearning"
    rate: float = option(default=0.2, above=0, high=1, group="learning", says="step size, in (0, 1].")
    discount: float = option(
        default=0.97, low=0, high=1, group="learning", says="discount of future rewards, in [0, 1]."
    )
    explore: float = option(
        default=1.0, low=0, high=1, group="learning", says="share of random actions at the start, in [0, 1]."
    )
    explore_end: float = option(
        default=0.05, low=0, high=1, group="learning", says="share of random actions at the end, in [0, 1]."
    )
    explore_share: float = option(
        default=0.5,
        above=0,
        high=1,
        group="learning",
        says="share of the run after which explore has fallen to explore_end, in (0, 1].",
    )
    initial: float = option(default=0.0, group="learning", says="initial value of untried actions.")
    log_every: int = option(
        default=2_048,
        low=1,
        group="run",
        says="environment steps between rows of the metrics, rounded up to a multiple of ``environments``.",
    )

    @property
    def iteration(self) -> int:
        return -(-self.log_every // self.environments) * self.environments

    @property
    def schedules(self) -> tuple[str, ...]:
        return () if self.explore == self.explore_end else ("explore",)


@record
class PPOConfig(StudentConfig):
    """Settings of proximal policy optimisation (arXiv 1707.06347); defaults as in MiniGrid's starter code, if present
    there."""

    learner: ClassVar[str] = "ppo"
    extra: ClassVar[str] = "train"
    student: ClassVar[str] = "ppo:PPO"
    critic: ClassVar[bool] = True
    rollout: int = option(default=128, low=1, group="learning", says="steps of each environment between updates.")
    epochs: int = option(default=4, low=1, group="learning", says="passes over each rollout.")
    minibatch: int = option(default=256, low=1, group="learning", says="most steps in a minibatch.")
    lr: float = option(default=1e-3, above=0, says="learning rate of Adam.")
    anneal: bool = option(default=True, group="learning", says="let the learning rate fall linearly to 0 over the run.")
    discount: float = option(
        default=0.99, low=0, high=1, group="learning", says="discount of future rewards, in [0, 1]."
    )
    decay: float = option(
        default=0.95, low=0, high=1, group="learning", says="lambda of generalised advantage estimation, in [0, 1]."
    )
    clip: float = option(default=0.2, above=0, group="learning", says="bound of the probability ratio, above 0.")
    value_clip: float | None = option(
        default=None, above=0, group="learning", says="bound on the change of a value in an update; None: no bound."
    )
    value_weight: float = option(default=0.5, low=0, group="learning", says="weight of the value loss.")
    entropy_weight: float = option(default=0.01, low=0, group="learning", says="weight of the entropy bonus.")
    max_grad_norm: float = option(
        default=0.5, above=0, group="learning", says="norm to which larger gradients are scaled down."
    )
    hidden: int = option(default=64, low=1, group="network", says="units per layer.")
    memory: int = option(
        default=0,
        group="network",
        says="units of a recurrent layer (GRU); 0: the policy depends on the current observation only.",
    )
    sequence: int = option(
        default=8,
        low=1,
        group="network",
        says="number of steps of backpropagation through time; must divide ``rollout``.",
    )
    threads: int = option(
        default=1, low=1, group="run", says="CPU threads; a run is only bit-reproducible at the same number."
    )
    device: str = option(default="cpu", group="run", says='"cpu", "cuda", or "auto", a GPU if available.')
    track: tuple[str, ...] = ("tensorboard",)

    def __post_init__(self) -> None:
        super().__post_init__()
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


@record
class GoExploreConfig(PPOConfig):
    """Settings of Go-Explore (arXiv 1901.10995): exploration from stored states, then PPO along the solutions found,
    from their ends backwards. For levels that hardly any episode solves, in environments that can be set to a state."""

    learner: ClassVar[str] = "go-explore"
    student: ClassVar[str] = "go_explore:GoExploreStudent"
    levels: int = option(
        default=1,
        low=1,
        group="exploration",
        says="levels of the training split to explore and learn, each with a separate archive.",
    )
    explore_actions: int = option(
        default=100, low=1, group="exploration", says="number of actions of one exploration from a state."
    )
    repeat: float = option(
        default=3.0,
        low=1,
        group="exploration",
        says="mean number of steps for which a random action is repeated. The paper uses 20 on Atari; in a gridworld, "
        "turning on the spot for so long leads nowhere.",
    )
    power: float = option(
        default=0.5, low=0, group="exploration", says="exponent of the counts in the probability of choosing a state."
    )
    explore_share: float = option(
        default=0.3,
        above=0,
        high=1,
        group="exploration",
        says="share of the run in which levels are explored, in (0, 1]; a longer exploration finds shorter solutions. "
        "If no level is solved by then, exploration continues.",
    )
    move: int = option(
        default=5,
        low=1,
        group="exploration",
        says="actions by which the start of a level's episodes moves back along its solution.",
    )
    start_success: float = option(
        default=0.2,
        above=0,
        high=1,
        group="exploration",
        says="share of a level's latest 20 episodes that must succeed before its start moves, in (0, 1].",
    )
    later: float = option(
        default=0.2,
        low=0,
        high=1,
        group="exploration",
        says="share of episodes that begin anywhere on the rest of the solution, so that the rest is not forgotten.",
    )
    lag: int = option(
        default=50,
        group="exploration",
        says="actions that an episode may take beyond the rest of the solution; without effect once episodes begin at "
        "the level's start.",
    )
    anneal: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.teacher is not None:
            raise InputError(f"go-explore chooses its levels itself; leave --teacher {self.teacher} out.")

    @property
    def schedules(self) -> tuple[str, ...]:
        return (*super().schedules, "explore_share")
