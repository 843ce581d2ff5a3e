"""`Game`: base of families with several turns in text. A new family needs a param_space, a state and four methods.

    class Count(palaestra.envs.Game):
        param_space = ParamSpace([IntAxis("goal", 2, 9)])

        def start(self, rng, params):
            return (int(rng.integers(2, params["goal"] + 1)), 0)          # any picklable value

        def observe(self, state):
            return f"Count to {state[0]}, one number a turn. You are at {state[1]}."

        def act(self, state, action):
            goal, at = state
            if action != str(at + 1):
                return Transition(state, action_error=f"Say {at + 1}.", progress=at / goal)
            return Transition((goal, at + 1), done=at + 1 == goal, success=at + 1 == goal, progress=(at + 1) / goal)

        def oracle(self, state):
            return str(state[1] + 1)

``act`` must depend on its arguments alone: ``start`` draws all randomness and stores it in the state.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from ..errors import InputError, MachineryError
from ..rewards.answers import REQUESTS
from .task_env import TaskEnv
from .unicode import Unicode


@dataclass(slots=True)  # not frozen: making a frozen one would take a tenth of a simple game's step
class Transition:
    """The result of one action.

    Args:
        state: the state after the action.
        done: whether the game is over.
        success: True if the game is won; only together with ``done``.
        progress: the agent's progress, in [0, 1].
        terms: named parts of the reward of this turn, which is their sum; empty means {"success": 1.0 or 0.0}.
        action_error: None, or one sentence that says why the action had no effect and what would be valid.
        valid: False if the environment failed, not the agent: the reward must not be used (``info["reward_valid"]``).
        extras: values of ``info["extras"]`` that are already known; see ``supplies`` of `TaskEnv`.
        feedback: the result of the action in words; empty: ``action_error`` is used.
    """

    state: Any
    done: bool = False
    success: bool = False
    progress: float = 0.0
    terms: Mapping[str, float] = field(default_factory=dict)
    action_error: str | None = None
    valid: bool = True
    extras: Mapping[str, Any] = field(default_factory=dict)
    feedback: str = ""

    def __post_init__(self) -> None:
        if not 0.0 <= self.progress <= 1.0:
            raise InputError(f"a transition's progress must lie in [0, 1], not {self.progress!r}.")
        if self.success and not self.done:
            raise InputError("a transition can only be a success when it is done.")


def is_value(state: Any) -> bool:
    """Return True if ``state`` is immutable: it can be hashed, and compares by its content rather than by identity."""
    try:
        hash(state)
    except TypeError:
        return False
    return type(state).__eq__ is not object.__eq__


def copy_state(state: Any) -> Any:
    """Return a copy of a state, or the state itself if it is immutable (see `is_value`)."""
    return state if is_value(state) else copy.deepcopy(state)


Past = tuple[list[float], list[Any], int]
"""An episode up to a step, from which a game computes its extras: (progress after each step, states from the start
state on if the family ``keeps_states``, number of steps so far). The lists may already contain later steps."""


class Game(TaskEnv):
    """Base of families with several turns.

    A subclass sets ``param_space`` and implements `start`, `observe`, `act` and ``oracle(self, state)``. A reply may
    state its move in a sentence and in upper or lower case ("I choose column 4."): the first reading of the reply (see
    `read_action`) that is a legal move counts. An unreadable action uses up the turn: the state is unchanged, the
    reward is 0, and the next observation begins with the ``action_error``. After `turn_limit` turns the episode is
    truncated.

    ``info["extras"]["completion"]`` is the list of the progress after each step so far. A family with extras that
    depend on earlier states sets ``keeps_states`` and implements `measure_states`; it must not change states in place.
    """

    max_turns: ClassVar[int] = 50
    supplies = frozenset({"completion"})
    keeps_states: ClassVar[bool] = False
    max_observation: ClassVar[int] = 65_536
    answer_form = "move"

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.observation_space = Unicode(self.max_observation)
        self.action_space = Unicode(self.max_action)
        self._request = REQUESTS[self.answer_format]
        self._state: Any = None
        self._turn = 0
        self._limit = 0
        # The start state as long as only a lower bound of the turn limit is known; then None.
        self._start: Any = None
        self._progress = 0.0
        # These lists are only appended to during an episode: infos of earlier steps refer to them.
        self._completion: list[float] = []
        self._states: list[Any] = []

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> Any:
        """Draw a fresh state: any picklable value. All randomness of the episode is drawn here."""
        raise NotImplementedError(f"{type(self).__name__} must implement start(rng, params).")

    def observe(self, state: Any) -> str:
        """Return the text that the agent reads in this state."""
        raise NotImplementedError(f"{type(self).__name__} must implement observe(state) -> str.")

    def act(self, state: Any, action: str) -> Transition:
        """Return the result of ``action``. Must never raise, and must not change ``state`` in place if it returns an
        ``action_error``."""
        raise NotImplementedError(f"{type(self).__name__} must implement act(state, action) -> Transition.")

    def measure_states(self, states: Sequence[Any], name: str) -> Any:
        """Return the extra ``name``, one of ``supplies``, or None if it is not known. Called only if ``keeps_states``.

        Args:
            states: the states of the episode from the start state to the current one, each as `trace_of` returns it.
        """
        return None

    def trace_of(self, state: Any) -> Any:
        """Return the part of a state that `measure_states` receives. Default: the whole state; families with large
        states override this method."""
        return state

    def turn_limit(self, state: Any) -> int:
        """Return the number of turns after which an episode from the start state ``state`` is truncated. Default:
        ``max_turns``."""
        return self.max_turns

    def replay(self, state: Any, seed: int) -> Any:
        """Return the start state of another episode of the instance of ``state``, a start state. Default: ``state``;
        families whose start draws chance that is no part of the instance draw it anew from ``seed``."""
        return state

    def least_turn_limit(self, state: Any) -> int | None:
        """Return a cheap lower bound of an expensive `turn_limit`, which is then called, with the start state, only if
        the episode reaches the bound, or for a snapshot. None (the default): `turn_limit` is called at each reset."""
        return None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        self._state = self.begin(seed, options)
        self._turn = 0
        least = self.least_turn_limit(self._state)
        self._limit = self.turn_limit(self._state) if least is None else least
        self._start = None if least is None else self._state
        self._progress = 0.0
        self._completion = []
        self._states = [self.trace_of(self._state)] if self.keeps_states else []
        return self.observe(self._state) + self._request, self.task_info((self._completion, self._states, 0))

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.require_running()
        try:
            result = self._act_on_reply(action)
        except MachineryError as failure:
            result = Transition(self._state, progress=self._progress, valid=False, feedback=str(failure))
        self._state = result.state
        self._progress = float(result.progress)
        self._turn += 1
        self._completion.append(self._progress)
        if self.keeps_states:
            self._states.append(self.trace_of(result.state))
        truncated = not result.done and self._turn >= self._limit and self._turn >= self._find_limit()
        self._ended = result.done or truncated
        terms = {name: float(value) for name, value in result.terms.items()}
        if not terms:
            terms["success"] = 1.0 if result.success else 0.0
        observation = self.observe(result.state)
        if result.action_error:
            observation = f"{result.action_error}\n{observation}"[: self.max_observation]
        info = self.step_info(
            (self._completion, self._states, self._turn),
            terms,
            success=result.success,
            progress=self._progress,
            valid=result.valid,
            error=result.action_error,
            feedback=result.feedback or result.action_error or "",
            extras=result.extras,
        )
        return observation, sum(terms.values()), result.done, truncated, info

    def _find_limit(self) -> int:
        if self._start is not None:
            self._limit, self._start = self.turn_limit(self._start), None
        return self._limit

    def compute_extra(self, subject: Past, name: str) -> Any:
        completion, states, turns = subject
        if name == "completion":
            return completion[:turns]
        if self.keeps_states and name != "feedback":
            return self.measure_states(states[: turns + 1], name)
        return super().compute_extra(subject, name)

    def _act_on_reply(self, action: Any) -> Transition:
        """Apply the first reading of a reply that is a legal move; if no reading is legal, the first one."""
        found, error = self.read_action(action)
        if error:
            return Transition(self._state, progress=self._progress, action_error=error)
        first = self.act(self._state, found[0])
        if first.action_error is None:
            return first
        for answer in found[1:]:
            result = self.act(self._state, answer)
            if result.action_error is None:
                return result
        return first

    def render(self) -> str | np.ndarray | None:  # type: ignore[override]
        if self.render_mode == "rgb_array":
            return self.draw(self.here())
        return self.observe(self.here()) if self.render_mode == "ansi" else None

    def generate_episode(self, rng: np.random.Generator, params: dict[str, Any]) -> Any:
        return self.start(rng, params)

    def content_of(self, episode: Any) -> str:
        """Return the ``repr`` of the start state. A family must override this method if that text is not the same in
        every process or is very long.

        Raises:
            InputError: the state's class does not define ``__repr__``.
        """
        if type(episode).__repr__ is object.__repr__:
            raise InputError(
                f"a state of class {type(episode).__name__} has no repr of its own; make it a dataclass, "
                f"or let {type(self).__name__} override content_of(state)."
            )
        return repr(episode)

    def here(self) -> Any:
        if self._state is None:
            raise gym.error.ResetNeeded(f"{type(self).__name__} has no state yet; call reset() first.")
        return self._state

    def get_state(self) -> dict[str, Any]:
        episode = {"state": copy_state(self.here()), "turn": self._turn, "limit": self._find_limit()}
        past = {"completion": list(self._completion), "states": list(self._states)}
        return {**super().get_state(), **episode, "progress": self._progress, **past}

    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        self._state = copy_state(state["state"])
        self._turn = state["turn"]
        self._limit, self._start = state["limit"], None
        self._progress = state["progress"]
        self._completion, self._states = list(state["completion"]), list(state["states"])
