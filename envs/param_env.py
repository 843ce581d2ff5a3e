"""`ParamEnv`: any Gymnasium environment with task parameters, a difficulty, and thus a curriculum.

    space = [FloatAxis("gravity", 5.0, 20.0), FloatAxis("force_mag", 4.0, 10.0, harder="down")]
    env = ParamEnv("CartPole-v1", space, return_range=(0, 500), success=475)
    env.reset(seed=7, options={"difficulty": 0.5})               # or {"params": {"gravity": 12.0}}
    env = TeacherWrapper(env, "alp-gmm")

A parameter sets an attribute of the environment, an argument of the environment's constructor, an option of its reset,
or whatever a given function changes. An environment whose own reset reads ``options["params"]`` gets the rest,
difficulty and splits, where commands make it (`make_task_env`).
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec, load_env_creator

from ..checks import WatchedMapping
from ..errors import InputError, find_near, unknown_name
from .param_space import Axis, FloatAxis, IntAxis, ParamSpace
from .registration import make_registered
from .splits import check_split
from .task_env import TaskEnv

Place = Literal["attribute", "argument", "option", "params"] | Callable[[Any, Any], None]
PLACES = ("attribute", "argument", "option", "params")


class ParamEnv(gym.Env[Any, Any]):
    """Wrapper that sets parameters of any environment at each reset.

    ``info["params"]`` and ``info["difficulty"]`` are those of the present task. Parameters that the environment does
    not read in the first episode are named in a warning.

    Args:
        env: an environment, wrapped or not, or the id of one.
        param_space: the axes (see `ParamSpace`), each with its range and its harder side.
        apply: axis -> the place where its value goes: "attribute" (of ``env.unwrapped``, set before each reset),
            "argument" (of the constructor; if the value changes, a new environment is made), "option" (of the reset),
            "params" (an entry of the reset's option of that name), or a function called with ``(env.unwrapped, value)``
            before each reset. An axis without an entry sets the attribute of its name, or if there is none, the
            constructor's argument of its name.
        difficulty: difficulty of all tasks; None draws the parameters uniformly at each reset.
        return_range: minimum and maximum return of an episode, for teachers.
        success: minimum return for ``info["is_success"]``; None leaves that key to ``env``.
        axes: narrower ranges of axes; see `ParamSpace.restrict`.
        render_mode: render mode of an environment that is given by its id.
        split: "train", "test" or "all"; only stored. All splits have the same tasks.
        **fixed: axes by name, each fixed to one value.

    Raises:
        InputError: there is no such environment, it has no such parameter, or an argument has an invalid value.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any] | str,
        param_space: ParamSpace | Sequence[Axis],
        *,
        apply: Mapping[str, Place] | None = None,
        difficulty: float | None = None,
        return_range: tuple[float, float] = (0.0, 1.0),
        success: float | None = None,
        axes: Mapping[str, Any] | None = None,
        render_mode: str | None = None,
        split: str = "train",
        **fixed: Any,
    ):
        if isinstance(env, str):
            env = make_registered(env, **({} if render_mode is None else {"render_mode": render_mode}))
        elif render_mode not in (None, env.render_mode):
            raise InputError(f"the render mode of {env} is {env.render_mode!r}; make it with {render_mode!r} instead.")
        space = param_space if isinstance(param_space, ParamSpace) else ParamSpace(param_space)
        for name in {*fixed, *(apply or {})}:
            if name not in space.names:
                raise unknown_name(f"argument or axis of {type(self).__name__}", name, space.names)
        self.env = env
        self.param_space = space.restrict(**{**(axes or {}), **fixed})
        self.difficulty = None if difficulty is None else self.param_space.check_difficulty(difficulty)
        self.return_range, self.success, self.split = return_range, success, check_split(split)
        self.observation_space, self.action_space = env.observation_space, env.action_space
        self.metadata, self.render_mode = env.metadata, env.render_mode
        self._places = {name: self._find_place(name, (apply or {}).get(name)) for name in space.names}
        self._arguments: dict[str, Any] = {}
        self._params: dict[str, Any] = {}
        self._task_difficulty = 0.0
        self._return = 0.0
        # Parameters that have not been read yet; None after the end of the first episode.
        told = ("attribute", "option", "params")
        self._unread: set[str] | None = {name for name, place in self._places.items() if place in told}
        self._options = WatchedMapping({})
        self._family = type(env.unwrapped)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: seed of the drawn parameters, and of the inner environment's reset.
            options: "difficulty", "params" (axis -> value), and any others, which the inner environment's reset gets.

        Raises:
            InputError: an unknown parameter, or a value out of range.
        """
        super().reset(seed=seed)
        others = dict(options or {})
        given, difficulty = others.pop("params", None), others.pop("difficulty", None)
        space, rng = self.param_space, self.np_random
        params = space.complete(
            space.ask(given or {}), rng, self.difficulty if difficulty is None else space.check_difficulty(difficulty)
        )
        others |= self._apply(params)
        if self._unread is not None:
            self._unread -= self._find_read()
            if isinstance(others.get("params"), dict):
                others["params"] = WatchedMapping(others["params"])
            others = self._options = WatchedMapping(others)
            self._watch_attributes(self._unread)
        # Without a seed, an environment made anew would draw one that this generator does not determine.
        inner_seed = int(rng.integers(2**31)) if seed is None else seed
        observation, info = self.env.reset(seed=inner_seed, options=others or None)
        self._return = 0.0
        self._params, self._task_difficulty = params, space.difficulty(params)
        return observation, self._tell(info, False)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._return += float(reward)
        over = terminated or truncated
        if over:
            self._end_watch()
        return observation, reward, terminated, truncated, self._tell(info, over)

    def _tell(self, info: Mapping[str, Any], over: bool) -> dict[str, Any]:
        told = {"params": dict(self._params), "difficulty": self._task_difficulty}
        if self.success is not None:
            told["is_success"] = bool(over and self._return >= self.success)
        return {**info, **told}

    def render(self) -> Any:
        return self.env.render()

    def close(self) -> None:
        self.env.close()

    def _find_place(self, name: str, asked: Any) -> Any:
        inner: Any = self.env.unwrapped
        attributes = [known for known in dir(inner) if known[0] != "_"]
        arguments = list(inspect.signature(type(inner).__init__).parameters)[1:]
        if asked is not None and asked not in PLACES and not callable(asked):
            raise InputError(f"apply of {name} must be one of {', '.join(PLACES)}, or a function, not {asked!r}.")
        known = {"attribute": attributes, "argument": arguments}
        if asked is None:
            asked = next((place for place in known if name in known[place]), None)
        if asked is None or (isinstance(asked, str) and asked in known and name not in known[asked]):
            near = find_near(name, [*attributes, *arguments])
            mean = f"; did you mean {', '.join(map(repr, near))}?" if near else "."
            raise InputError(
                f"{type(inner).__name__} has no {asked or 'attribute or argument'} {name!r}{mean} Where it goes "
                f"elsewhere, say so: apply={{{name!r}: 'option'}}, or a function (env, value)."
            )
        return asked

    def _apply(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Set the parameters and return those that are options of the reset."""
        arguments = {name: value for name, value in params.items() if self._places[name] == "argument"}
        if arguments != self._arguments:
            self._remake(arguments)
        options: dict[str, Any] = {}
        for name, value in params.items():
            place = self._places[name]
            if place == "attribute":
                setattr(self.env.unwrapped, name, value)
            elif place == "option":
                options[name] = value
            elif place == "params":
                options.setdefault("params", {})[name] = value
            elif callable(place):
                place(self.env.unwrapped, value)
        return options

    def _remake(self, arguments: dict[str, Any]) -> None:
        old = self.env
        if old.spec is not None:
            env = gym.make(old.spec, disable_env_checker=True, **arguments)
        elif old is old.unwrapped:
            env = type(old)(**arguments)
        else:
            raise InputError(
                f"{old} cannot be made again for its arguments {', '.join(arguments)}: gymnasium.make did not make it."
            )
        if (env.observation_space, env.action_space) != (self.observation_space, self.action_space):
            env.close()
            raise InputError(f"{type(env.unwrapped).__name__} has other spaces with {arguments}; use other axes.")
        old.close()
        self.env, self._arguments = env, arguments

    # The first episode: which parameters are read?

    def _watch_attributes(self, unread: set[str]) -> None:
        """Remove attributes from ``unread`` as they are read, until the end of the episode: the environment's class is
        replaced by a subclass that notices reads."""
        inner, family = self.env.unwrapped, self._family
        names = {name for name in unread if self._places[name] == "attribute"}
        if not names or type(inner) is not family:
            return

        def read(env: Any, name: str) -> Any:
            if name in names:
                unread.discard(name)
            return super(watched, env).__getattribute__(name)

        watched = type(family.__name__, (family,), {"__getattribute__": read, "__module__": family.__module__})
        try:
            inner.__class__ = watched
        except TypeError:  # a class with slots, or not made in Python
            unread -= names

    def _find_read(self) -> set[str]:
        """Return the options of the first reset that were read, and the entries of its "params"."""
        params = dict.get(self._options, "params")
        return self._options.read | (params.read if isinstance(params, WatchedMapping) else set())

    def _end_watch(self) -> None:
        if self._unread is None:
            return
        unread, self._unread = self._unread - self._find_read(), None
        if type(self.env.unwrapped) is not self._family:
            self.env.unwrapped.__class__ = self._family
        if unread:
            warnings.warn(
                f"{self._family.__name__} did not read {', '.join(sorted(unread))} in the first episode, so that tasks "
                "do not differ by it; is it an argument of its constructor (apply={...: 'argument'})?",
                stacklevel=3,
            )


class _ArrayParams(gym.Wrapper[Any, Any, Any, Any]):
    """Hand the parameters x0, x1, ... to an environment as one value of its ``param_space``, a Box or a Discrete."""

    def __init__(self, env: gym.Env[Any, Any], space: gym.spaces.Box | gym.spaces.Discrete):
        super().__init__(env)
        self._space = space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        if options and "params" in options:
            values = list(options["params"].values())
            one = isinstance(self._space, gym.spaces.Discrete)
            task = values[0] if one else np.array(values, self._space.dtype).reshape(self._space.shape)
            options = {**options, "params": task}
        return self.env.reset(seed=seed, options=options)


def as_task_env(env: gym.Env[Any, Any], **shared: Any) -> gym.Env[Any, Any]:
    """Give difficulty, axes and splits to an environment that has only a ``param_space`` (its own or a wrapper's) and
    reads tasks from ``options["params"]``. Any other environment is returned unchanged.

    The space may be a `ParamSpace`, or a bounded Box or Discrete, whose axes are called x0, x1, ..., with the hard side
    up. The range of returns is the declared ``return_range``, and success is as the environment reports it.

    Args:
        env: an environment.
        shared: ``difficulty``, ``axes`` and ``split``, as for `ParamEnv`.

    Raises:
        InputError: the space is of another kind or unbounded, or an argument has an invalid value.
    """
    is_complete = any(hasattr(env.unwrapped, name) for name in ("split", "takes_difficulty"))
    if is_complete or not env.has_wrapper_attr("param_space"):
        return env
    space, inner = env.get_wrapper_attr("param_space"), env
    if isinstance(space, gym.spaces.Box | gym.spaces.Discrete):
        inner, space = _ArrayParams(env, space), ParamSpace(_find_axes(space))
    if not isinstance(space, ParamSpace):
        raise InputError(f"the param_space of {env} must be a ParamSpace, a bounded Box or a Discrete, not {space!r}.")
    span = env.get_wrapper_attr("return_range") if env.has_wrapper_attr("return_range") else (0.0, 1.0)
    made = ParamEnv(inner, space, apply=dict.fromkeys(space.names, "params"), return_range=span, **shared)
    made.spec = env.spec
    return made


def _find_axes(space: gym.spaces.Box | gym.spaces.Discrete) -> list[Axis]:
    if isinstance(space, gym.spaces.Discrete):
        return [IntAxis("x0", int(space.start), int(space.start + space.n - 1))]
    if not space.is_bounded():
        raise InputError(f"{space} is unbounded; a param_space needs finite low and high.")
    kind: Any = IntAxis if np.issubdtype(space.dtype or np.float64, np.integer) else FloatAxis
    bounds = zip(np.ravel(space.low).tolist(), np.ravel(space.high).tolist(), strict=True)
    return [kind(f"x{i}", low, high) for i, (low, high) in enumerate(bounds)]


def make_task_env(spec: EnvSpec, **kwargs: Any) -> gym.Env[Any, Any]:
    """Make an environment by its spec, with ``difficulty``, ``axes`` and ``split`` among the arguments even if
    only `as_task_env` gives it these. An environment without parameters has no splits; ``split`` is ignored.

    Raises:
        InputError: the environment has no parameters, but difficulty or axes are given; or as in `as_task_env`.
    """
    entry = load_env_creator(spec.entry_point) if isinstance(spec.entry_point, str) else spec.entry_point
    shared = {name: kwargs.pop(name) for name in ("difficulty", "axes", "split") if name in kwargs}
    if not (isinstance(entry, type) and issubclass(entry, TaskEnv)):
        env = gym.make(spec, disable_env_checker=True, **kwargs)
        if not env.has_wrapper_attr("param_space"):
            if given := sorted(name for name in shared if name != "split" and shared[name]):
                raise InputError(f"{spec.id!r} has no difficulty and no axes; leave {' and '.join(given)} out.")
            return env
        made = as_task_env(env, **shared)
        if made is not env or not shared:
            return made
        env.close()
    return gym.make(spec, disable_env_checker=True, **kwargs, **shared)
