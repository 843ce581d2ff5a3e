"""`TextTwin`: any Gymnasium environment with discrete actions, played in text.

    env = TextTwin("CartPole-v1", actions=["left", "right"], names=["position", "velocity", "angle", "rotation"])
    env.reset(seed=0)[0]       # "position: 0.01396\\nvelocity: -0.02302\\n...\\nAnswer with one action: left or right."
    env.step("I push left.")

A `TextTwin` of a `ParamEnv` takes the parameters and the difficulty of that `ParamEnv`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from ..checks import check_choice, check_count
from ..errors import InputError
from ..rewards.answers import THOUGHTS
from ..rewards.answers.readings import readings_up_to
from .param_space import ParamSpace
from .registration import make_registered
from .task_env import MAX_ACTION
from .unicode import Unicode

_MOST_ACTION = 4_096
"""Characters of an action within a reply."""


class TextTwin(gym.Env[str, str]):
    """Wrapper that writes observations as text, and reads actions by their names in a reply.

    An action that cannot be read takes a turn, but no step of the inner environment; ``info["action_error"]`` and the
    next observation then list the valid actions.

    Args:
        env: an environment, wrapped or not, or the id of one; the action space must be `Discrete`.
        actions: the name of each action; None for numbers as names.
        names: names of the entries of an observed vector; None numbers them. For dict observations, a mapping from key
            to names.
        about: one or two sentences on the task, at the top of the first observation.
        write: function that writes an observation as text, in place of named numbers.
        digits: significant digits of real numbers.
        max_turns: turns after which an episode is truncated, unless the environment ends it before.
        render_mode: None, or "ansi" for the latest observation.

    Raises:
        InputError: there is no such environment, its actions are not discrete, or the number of names is wrong.
    """

    metadata = {"render_modes": ["ansi"]}  # noqa: RUF012
    answer_form = "move"

    def __init__(
        self,
        env: gym.Env[Any, Any] | str,
        *,
        actions: Sequence[str] | None = None,
        names: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
        about: str = "",
        write: Callable[[Any], str] | None = None,
        digits: int = 4,
        max_turns: int = 1_000,
        render_mode: str | None = None,
    ):
        if isinstance(env, str):
            env = make_registered(env)
        space = env.action_space
        if not isinstance(space, gym.spaces.Discrete):
            raise InputError(f"a text twin needs discrete actions, and those of {env} are {space}.")
        self.render_mode = None if render_mode is None else check_choice("render_mode", render_mode, ("ansi",))
        self.env, self._about, self._names, self._write = env, about, names, write
        every = [str(space.start + i) for i in range(int(space.n))] if actions is None else list(map(str, actions))
        if len(every) != space.n or len({name.lower() for name in every}) < len(every):
            raise InputError(f"{env} has {space.n} actions, whose names must differ; {len(every)} are given: {every}.")
        self._actions = {name.lower(): space.start + place for place, name in enumerate(every)}
        self._request = f"Answer with one action: {', '.join(every[:-1])}{' or ' if every[1:] else ''}{every[-1]}."
        self._digits, self._most = check_count("digits", digits, 1), check_count("max_turns", max_turns, 1)
        self.param_space = _attribute(env, "param_space", ParamSpace(()))
        self.return_range = _attribute(env, "return_range", (0.0, 1.0))
        self.takes_difficulty = len(self.param_space) > 0
        self.observation_space, self.action_space = Unicode(1_000_000), Unicode(MAX_ACTION)
        self._observation, self._turn = "", 0
        self._known: Mapping[str, Any] = {}
        if write is None:
            self._describe(env.observation_space.sample())  # raises if the names do not fit

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        observation, info = self.env.reset(seed=seed, options=options)
        self._observation, self._turn, self._known = self._show(observation), 0, info
        return f"{self._about}\n{self._observation}".lstrip(), info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self._turn += 1
        number = self._read(action)
        if number is None:
            reward, terminated, truncated, info = 0.0, False, False, copy.deepcopy(dict(self._known))
            error = f"There is no such action. {self._request}"
            observation = f"{error}\n{self._observation}"
        else:
            seen, reward, terminated, truncated, info = self.env.step(number)
            error, observation = None, self._show(seen)
            self._observation, self._known = observation, info
        truncated = bool(truncated) or (not terminated and self._turn >= self._most)
        terms = {"env": float(reward)}
        info = {"reward_terms": terms, "reward_valid": True, "feedback": error or "", **info, "action_error": error}
        return observation, float(reward), bool(terminated), truncated, info

    def render(self) -> str:  # type: ignore[override]
        return self._observation

    def close(self) -> None:
        self.env.close()

    def _read(self, action: Any) -> Any:
        """Return the inner environment's action named in a reply; None if there is none."""
        if not isinstance(action, str) or len(action) > MAX_ACTION:
            return None
        found, _ = readings_up_to(_MOST_ACTION, action, "any", "move", THOUGHTS, marks=False)
        return next((self._actions[text.lower()] for text in found if text.lower() in self._actions), None)

    def _show(self, observation: Any) -> str:
        text = self._describe(observation) if self._write is None else self._write(observation)
        return f"{text}\n{self._request}"

    def _describe(self, observation: Any) -> str:
        if isinstance(observation, Mapping):
            names = self._names if isinstance(self._names, Mapping) else {}
            parts = [(str(part), value, names.get(part)) for part, value in observation.items()]
        elif isinstance(observation, tuple):
            parts = [(str(place), value, None) for place, value in enumerate(observation)]
        else:
            return self._lines("", observation, None if isinstance(self._names, Mapping) else self._names)
        return "\n".join(self._lines(part, value, names) for part, value, names in parts)

    def _lines(self, part: str, value: Any, names: Sequence[str] | None) -> str:
        """Write one part of an observation: a number or text on one line, a vector with one named number a line, a
        larger array row by row."""
        head = f"{part}: " if part else ""
        if isinstance(value, str) or np.ndim(value) == 0:
            return f"{head}{self._number(value)}"
        array = np.asarray(value)
        if array.ndim == 1:
            if names is not None and len(names) != len(array):
                raise InputError(f"{len(array)} numbers are observed{f' as {part}' if part else ''}, not {len(names)}.")
            every = [f"{part} {place}".strip() for place in range(len(array))] if names is None else names
            return "\n".join(f"{name}: {self._number(number)}" for name, number in zip(every, array))
        rows = array.reshape(len(array), -1)
        return "\n".join([head.rstrip(), *(" ".join(map(self._number, row)) for row in rows)]).lstrip("\n")

    def _number(self, value: Any) -> str:
        if isinstance(value, float | np.floating):
            return f"{float(value):.{self._digits}g}"
        return str(value)


def _attribute(env: gym.Env[Any, Any], name: str, default: Any) -> Any:
    """Return an attribute of the outermost wrapper that has it, or of the environment; ``default`` if none has it."""
    return env.get_wrapper_attr(name) if env.has_wrapper_attr(name) else default
