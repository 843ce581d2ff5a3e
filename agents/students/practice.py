"""Parallel training environments of a student, with the teacher that chooses their tasks and the bonuses.

An episode's seed is derived from the run's seed, the slot (index of the environment) and the number of the episode in
the slot. A saved state therefore holds only the actions of the episodes in progress, which `load_state_dict` replays;
the environment must be deterministic given the seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from ...errors import InputError
from ...rewards import RewardWrapper, StepReward
from ...teachers import Outcome, Proposal, Teacher
from ...teachers.levels.trajectories import trajectory_extras
from ...teachers.pools import instance
from ...teachers.requests import REQUESTS
from .backward_starts import BackwardStarts
from .bonuses.learned_bonus import LearnedBonus
from .bonuses.slot_bonus import SlotBonus, conditions_policy

_KEY = 1


@dataclass(frozen=True)
class PracticeStep:
    """Results of one step of all N environments.

    Attributes:
        rewards: float64[N], including bonuses.
        terminated, truncated: bool[N]; never both True.
        trained: bool[N], False if the step must not be learned from, because the reward is invalid or the teacher
            proposed the task for evaluation only.
        last: slot -> last observation of an episode that was truncated in this step.
    """

    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    trained: np.ndarray
    last: Mapping[int, Any]


@dataclass(frozen=True)
class PracticeEpisode:
    """Results of a training episode. ``reward`` is the return without bonuses, ``bonus`` the sum of bonuses, ``origin``
    the kind of proposal by the teacher."""

    reward: float
    bonus: float
    length: int
    success: bool | None
    progress: float | None
    valid: bool
    task_id: str
    params: Mapping[str, Any]
    difficulty: float | None
    origin: str | None


@dataclass(eq=False)
class _Slot:
    """Environment with its current episode; the fields in `_SAVED` are part of a saved state. ``way`` are the actions
    that are taken before the episode begins for the student (see `BackwardStarts`); they are neither trained on nor
    rewarded."""

    env: gym.Env[Any, Any]
    observation: Any = None
    info: Mapping[str, Any] = field(default_factory=dict)
    begun: int = 0
    seed: int = 0
    options: dict[str, Any] | None = None
    proposal: Proposal | None = None
    way: list[Any] = field(default_factory=list)
    actions: list[Any] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    bonuses: float = 0.0
    valid: bool = True
    cut: bool = False
    values: list[float] = field(default_factory=list)


_SAVED = ("begun", "seed", "options", "way", "actions", "rewards", "bonuses", "valid", "values")


@dataclass
class _Waiting:
    """Proposal of the teacher whose episodes have not all finished, with the results so far."""

    proposal: Proposal
    begun: int = 0
    ended: int = 0
    returns: list[float] = field(default_factory=list)
    successes: list[bool | None] = field(default_factory=list)
    extras: dict[str, list[float]] = field(default_factory=dict)


class Practice:
    """Set of N training environments of one kind; an environment whose episode ends begins the next one at once.

    Args:
        make: makes an environment.
        count: N.
        seed: number from which the episodes' seeds are derived.
        teacher: proposes the parameters of each episode and receives the outcomes; None: environments draw them.
        bonuses: rewards that are added to the environment's at each step; all environments share their state.
        discount, decay: discount and lambda of the student, for teachers that need measurements of the critic.
        critic: True if the student passes its values of observations to `step`.
        levels: seeds of the tasks to practise; empty: each episode has a new task.

    Attributes:
        observations: the N current observations.
        measures: True if the teacher needs the student's values in `step`.
        starts: curriculum of starts along solutions, or None; set by `GoExploreStudent`.

    Raises:
        InputError: the teacher needs measurements that the student does not have, or is combined with ``levels``.
    """

    def __init__(
        self,
        make: Callable[[], gym.Env[Any, Any]],
        count: int,
        seed: int,
        teacher: Teacher | None = None,
        bonuses: Sequence[StepReward] = (),
        discount: float = 0.99,
        decay: float = 0.95,
        critic: bool = False,
        levels: Sequence[int] = (),
    ):
        if levels and teacher is not None:
            raise InputError(f"a teacher chooses the tasks itself; leave it or the {len(levels)} levels out.")
        self.levels = tuple(levels)
        self.seed, self.teacher, self.bonuses = seed, teacher, tuple(bonuses)
        self._discount, self._decay = discount, decay
        self._names = [bonus.name for bonus in bonuses]
        self.starts: BackwardStarts | None = None
        self._waiting: dict[int, _Waiting] = {}
        self._finished: list[PracticeEpisode] = []
        if teacher is not None:
            _check_teacher(teacher, critic)
        self._make, self._opened = make, ExitStack()
        with ExitStack() as unless_made:
            unless_made.callback(self.close)
            self._slots = [_Slot(self._wrap(self.open(), number)) for number in range(count)]
            for bonus in bonuses:
                if isinstance(bonus, LearnedBonus):
                    bonus.bind(self.observation_space, self.action_space)
                elif isinstance(bonus, SlotBonus):
                    bonus.attach([slot.env.unwrapped for slot in self._slots])
            unless_made.pop_all()
        self.measures = teacher is not None and bool(teacher.needs)

    def _wrap(self, env: gym.Env[Any, Any], number: int) -> gym.Env[Any, Any]:
        for bonus in self.bonuses:
            own = bonus.of_slot(number) if isinstance(bonus, SlotBonus) else bonus
            env = RewardWrapper(env, own, by_step=True)
        for bonus in self.bonuses:
            if conditions_policy(bonus):
                env = bonus.condition(env, number)  # type: ignore[attr-defined]
        return env

    @property
    def observations(self) -> list[Any]:
        return [slot.observation for slot in self._slots]

    @property
    def observation_space(self) -> gym.Space[Any]:
        return self._slots[0].env.observation_space

    @property
    def action_space(self) -> gym.Space[Any]:
        return self._slots[0].env.action_space

    def begin(self) -> None:
        """Begin the first episode in every environment."""
        for number, slot in enumerate(self._slots):
            self._begin(number, slot)

    def step(self, actions: Sequence[Any], values: Sequence[float] | None = None) -> PracticeStep:
        """Step every environment. If an episode ends, the next one begins.

        Args:
            actions: one action per environment.
            values: the student's values of `observations`; required if `measures` is True.
        """
        count = len(self._slots)
        rewards = np.zeros(count)
        terminated, truncated = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        trained = np.ones(count, dtype=bool)
        last = {}
        for number, slot in enumerate(self._slots):
            action = actions[number]
            observation, reward, terminated[number], truncated[number], info = slot.env.step(action)
            truncated[number] &= not terminated[number]
            rewards[number] = reward
            late = self.starts is not None and self.starts.is_late(slot.seed, len(slot.way), len(slot.actions) + 1)
            slot.cut = late and not (terminated[number] or truncated[number])
            truncated[number] |= slot.cut
            terms = info.get("reward_terms") or {}
            bonus = math.fsum(terms.get(name, 0.0) for name in self._names)
            slot.actions.append(action)
            slot.rewards.append(float(reward) - bonus)
            slot.bonuses += bonus
            if self.measures and values is not None:
                slot.values.append(float(values[number]))
            valid = bool(info.get("reward_valid", True))
            slot.valid = slot.valid and valid
            trained[number] = valid and (slot.proposal is None or slot.proposal.train)
            slot.observation, slot.info = observation, info
            if terminated[number] or truncated[number]:
                if truncated[number]:
                    last[number] = observation
                self._end(slot, bool(terminated[number]))
                self._begin(number, slot)
        return PracticeStep(rewards, terminated, truncated, trained, last)

    def solver_action(self, number: int) -> Any:
        """Return the next action of the solver of an environment, given by its index."""
        return self._slots[number].env.get_wrapper_attr("oracle")()

    def take_finished(self) -> list[PracticeEpisode]:
        """Return the episodes that have ended since the last call."""
        finished, self._finished = self._finished, []
        return finished

    def open(self) -> gym.Env[Any, Any]:
        """Make an additional environment of the same kind, without bonuses; `close` closes it with the others."""
        if hasattr(self, "_slots") and (shown := [bonus.name for bonus in self.bonuses if conditions_policy(bonus)]):
            raise InputError(f"the bonus {shown[0]!r} shows sub-goals, which this learner cannot; take --learner ppo.")
        env = self._make()
        self._opened.callback(env.close)
        return env

    def close(self) -> None:
        """Close all environments; further calls do nothing."""
        self._opened.close()

    # Episodes ---------------------------------------------------------------------------------------------------------

    def _begin(self, number: int, slot: _Slot) -> None:
        key = [self.seed, _KEY, number, slot.begun]
        slot.seed, slot.options, slot.proposal = int(np.random.SeedSequence(key).generate_state(1)[0]), None, None
        if self.levels:
            slot.seed = self.levels[slot.seed % len(self.levels)]
        if self.teacher is not None:
            waiting = self._next_proposal(self.teacher)
            waiting.begun += 1
            slot.proposal = waiting.proposal
            params, own = instance(waiting.proposal.task)
            slot.seed, slot.options = slot.seed if own is None else own, {"params": params}
        slot.way = []
        if self.starts is not None and (start := self.starts.draw(slot.seed)) is not None:
            slot.seed, slot.way = start
        slot.begun += 1
        slot.actions, slot.rewards, slot.values, slot.bonuses, slot.valid = [], [], [], 0.0, True
        self._replay(slot)

    def _replay(self, slot: _Slot) -> None:
        """Reset a slot's environment, and replay the recorded actions of the episode."""
        slot.observation, slot.info = slot.env.reset(seed=slot.seed, options=slot.options)
        for action in [*slot.way, *slot.actions]:
            given = np.asarray(action, dtype=np.float32) if isinstance(action, list) else action
            slot.observation, _, _, _, slot.info = slot.env.step(given)

    def _next_proposal(self, teacher: Teacher) -> _Waiting:
        """Return the oldest proposal with episodes left to begin; if there is none, a new one of the teacher."""
        for waiting in self._waiting.values():
            if waiting.begun < (waiting.proposal.n or 1):
                return waiting
        proposal = teacher.propose(1)[0]
        return self._waiting.setdefault(proposal.id, _Waiting(proposal))

    def _end(self, slot: _Slot, terminated: bool) -> None:
        info, total = slot.info, math.fsum(slot.rewards)
        success = bool(info["is_success"]) if "is_success" in info else False if slot.cut else None
        difficulty, proposal = info.get("difficulty"), slot.proposal
        if self.starts is not None and slot.valid:
            self.starts.report(slot.seed, bool(success), len(slot.way))
        self._finished.append(
            PracticeEpisode(
                *(total, slot.bonuses, len(slot.rewards), success, info.get("progress"), slot.valid),
                *(str(info.get("task_id", "")), dict(info.get("params") or {})),
                None if difficulty is None else float(difficulty),
                None if proposal is None else proposal.origin,
            )
        )
        if proposal is None or self.teacher is None:
            return
        waiting = self._waiting[proposal.id]
        waiting.ended += 1
        if slot.valid:
            waiting.returns.append(total)
            waiting.successes.append(success)
            for name, value in self._measure(slot, terminated).items():
                waiting.extras.setdefault(name, []).append(value)
        if waiting.ended == (proposal.n or 1):
            del self._waiting[proposal.id]
            if waiting.returns:
                known = [flag for flag in waiting.successes if flag is not None]
                flags = known if len(known) == len(waiting.returns) else None
                outcome = Outcome(proposal.id, proposal.task, waiting.returns, flags, extras=waiting.extras)
                self.teacher.observe([outcome])

    def _measure(self, slot: _Slot, terminated: bool) -> dict[str, float]:
        """Compute the measurements of an episode that the teacher needs. The value of the observation after a truncated
        episode is approximated by that of the observation before."""
        if not self.measures or self.teacher is None:
            return {}
        ends = np.zeros(len(slot.rewards), dtype=bool)
        ends[-1] = terminated
        values = [*slot.values, slot.values[-1]]
        found = trajectory_extras(slot.rewards, values, ends, self._discount, self._decay)
        return {name: found[name] for name in self.teacher.needs}

    # Saving -----------------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the state of teacher, bonuses and current episodes as JSON-serializable values."""
        slots = [
            {name: getattr(slot, name) for name in _SAVED}
            | {"proposal": None if slot.proposal is None else slot.proposal.id}
            for slot in self._slots
        ]
        waiting = [{**vars(one), "proposal": _as_data(one.proposal)} for one in self._waiting.values()]
        return {
            "slots": slots,
            "waiting": waiting,
            "teacher": None if self.teacher is None else self.teacher.state_dict(),
            "bonuses": [bonus.state_dict() for bonus in self.bonuses],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state of `state_dict`, by replaying the current episodes."""
        # Bonuses are also loaded before the replay, so that they do not repeat work done for these episodes.
        self._load_bonuses(state["bonuses"])
        self._waiting = {}
        for row in state["waiting"]:
            proposal = Proposal(**row["proposal"])
            self._waiting[proposal.id] = _Waiting(**{**row, "proposal": proposal})
        for slot, row in zip(self._slots, state["slots"], strict=True):
            for name in _SAVED:
                setattr(slot, name, row[name])
            slot.proposal = None if row["proposal"] is None else self._waiting[row["proposal"]].proposal
            self._replay(slot)
        if self.teacher is not None:
            self.teacher.load_state_dict(state["teacher"])
        # Loaded again, as bonuses have counted the replayed steps a second time.
        self._load_bonuses(state["bonuses"])

    def _load_bonuses(self, states: Sequence[Mapping[str, Any]]) -> None:
        for bonus, saved in zip(self.bonuses, states, strict=True):
            bonus.load_state_dict(saved)


def _as_data(proposal: Proposal) -> dict[str, Any]:
    data = {**vars(proposal), "meta": dict(proposal.meta)}
    if math.isnan(proposal.prob):
        del data["prob"]
    return data


def _check_teacher(teacher: Teacher, critic: bool) -> None:
    from ...teachers.levels.trajectories import CRITIC_EXTRAS

    if missing := sorted(teacher.needs - (CRITIC_EXTRAS if critic else frozenset())):
        raise InputError(
            f"{type(teacher).__name__} needs {missing} of every episode, which this learner does not measure; take "
            "another teacher."
        )
    asked = sorted(name for name in teacher.asks if not REQUESTS[name].label)
    if asked:
        raise InputError(
            f"{type(teacher).__name__} asks the learner for {asked}, which only the learner 'grpo' can do; take "
            "another teacher."
        )
