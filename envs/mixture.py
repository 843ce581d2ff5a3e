"""palaestra/Mixture-v0: several environments as one, each with its own axes, options and weight.

env = gym.make("palaestra/Mixture-v0", envs=[
    "palaestra/Arithmetic-v0",
    {"id": "palaestra/GSM8K-v0", "weight": 2, "options": {"answer_format": "boxed"}},
])
env.reset(seed=0, options={"params": {"env": "Arithmetic", "Arithmetic.digits": 2}})
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from ..checks import check_count
from ..errors import InputError
from .family_space import FAMILY, FamilySpace
from .question import Question
from .registration import make_registered, register
from .task_env import MAX_TRIES, TaskEnv
from .unicode import Unicode

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_VERSION = re.compile(r"-v[0-9]+$")
# Arguments that belong to the mixture as a whole.
_SHARED = ("difficulty", "split", "render_mode")
DEFAULT = ("palaestra/Arithmetic-v0", "palaestra/LinearEquation-v0", "palaestra/GuessNumber-v0")


@dataclass(frozen=True)
class MixturePart:
    """One environment of a mixture.

    Attributes:
        id: the registered id of an environment with text actions.
        name: the environment's name in parameters and logs; empty: the id without namespace and version.
        weight: relative frequency of draws: a number, or a schedule of training progress.
        axes: axis name (without prefix) -> new range.
        options: further constructor arguments of the environment, also axes fixed to one value.
        longest_answer: most characters of the right answer to a question; questions with a longer answer are not
            played. None: the limit of the whole mixture.
    """

    id: str
    name: str = ""
    weight: Any = 1.0
    axes: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    longest_answer: int | None = None

    @classmethod
    def read(cls, given: Any) -> MixturePart:
        """Return the part described by an id, or by a mapping of the fields above; other names in the mapping are added
        to ``options``, and ``options`` itself takes precedence.

        Raises:
            InputError: neither an id nor a mapping, a mapping without id, or a value of the wrong kind.
        """
        if isinstance(given, MixturePart):
            return given
        if isinstance(given, str):
            given = {"id": given}
        if not isinstance(given, Mapping) or not isinstance(given.get("id"), str):
            raise InputError(
                f'an environment of a mixture is an id or a mapping such as {{"id": ..., "weight": 2}}, not {given!r}.'
            )
        for name in ("axes", "options"):
            if not isinstance(given.get(name, {}), Mapping):
                raise InputError(f"{name} of {given['id']} must map names to values, not be {given[name]!r}.")
        # A name that is no field of a part is an argument of its environment.
        own = {str(name): value for name, value in given.items() if name not in cls.__dataclass_fields__}
        fields: dict[str, Any] = {name: value for name, value in given.items() if name in cls.__dataclass_fields__}
        fields["options"] = {**own, **given.get("options", {})}
        part = cls(**fields)
        if part.longest_answer is not None:
            check_count("longest_answer", part.longest_answer, low=1, unit="characters")
        if part.name and not _NAME.fullmatch(str(part.name)):
            raise InputError(f"the name of {part.id} must be of letters, digits, - and _, not {part.name!r}.")
        taken = sorted({*_SHARED, "axes"} & set(part.options))
        if taken:
            where = "its axes" if taken == ["axes"] else "the mixture itself"
            raise InputError(f"{', '.join(taken)} in the options of {part.id} must be given to {where}.")
        return part


def read_parts(envs: Any) -> dict[str, MixturePart]:
    """Read the ``envs`` of a mixture and return the parts by name; all names are distinct.

    If no name is given, a second environment with the same id is called "Arithmetic-2".

    Raises:
        InputError: no environment, an invalid one, or two with the same given name.
    """
    if isinstance(envs, str | Mapping) or not isinstance(envs, Sequence) or not envs:
        raise InputError(f"envs must be a list of ids or mappings, at least one, not {envs!r}.")
    parts: dict[str, MixturePart] = {}
    for part in map(MixturePart.read, envs):
        stem = part.name or _VERSION.sub("", part.id.rpartition(":")[2].rpartition("/")[2])
        name, count = stem, 1
        while name in parts:
            if part.name:
                raise InputError(f"two environments of a mixture have the name {name!r}; give them different names.")
            count += 1
            name = f"{stem}-{count}"
        parts[name] = part
    return parts


class Mixture(TaskEnv):
    """Play tasks of several environments, one environment in each episode.

    Description:
        Each of ``envs`` is the id of an environment with text actions, or a mapping with ``id`` and any of ``name``,
        ``weight`` (a number, or a schedule such as ``{"kind": "linear", "start": 0, "end": 1}``), ``axes``,
        ``options`` and ``longest_answer``. A reset draws an environment by the weights, unless the parameters name one.
        Tasks, splits, answers and solutions come from the environment in play.

    Parameters:
        env ("Arithmetic", "LinearEquation", "GuessNumber" unless ``envs`` says otherwise): the environment; none is
            harder than another.
        The axes of each environment, prefixed with its name; by default Arithmetic.terms (2 to 6, on request 2 to
        20), Arithmetic.digits (1 to 6, on request 1 to 15), Arithmetic.operations ("+", "+-", "+-*"),
        LinearEquation.size (5 to 50, on request 3 to 10000), LinearEquation.sides ("one", "both"),
        LinearEquation.solution ("integer", "fraction"), GuessNumber.bits (4 to 16, on request 1 to 60),
        GuessNumber.slack (4 to 0, harder downwards, on request 0 to 100). ``info["params"]`` has only ``env`` and the
        axes of the environment in play.

    Observation:
        The text of the environment in play.

    Actions:
        Text, as the environment in play asks for.

    Reward:
        The reward of the environment in play. With the default environments, a player that guesses 1, 2, 3 and so on
        wins the easiest games of GuessNumber by chance, and so 0.22 of the episodes.

    Termination:
        When the episode of the environment in play ends.

    Source:
        Domain blends as in Nemotron-CrossThink (arXiv 2504.13941); rehearsal of general data as in RECAP (arXiv
        2510.21978).

    Args:
        envs: the environments, see above.
        longest_answer: most characters of the right answer to a question; questions with a longer answer are not
            played, as verifying long answers is unreliable. An environment's own value overrides this. None: no limit.
        **kwargs: arguments of `TaskEnv`. ``axes`` names axes as above: ``{"env": ["Arithmetic"],
            "Arithmetic.digits": [1, 2]}``. ``split``, ``prompt``, ``answer_format``, ``max_action`` and ``thoughts``
            are passed on to every environment; the options of an environment override them.

    Raises:
        InputError: an environment is unknown, has no text actions, or is a mixture itself.
    """

    def __init__(
        self,
        *,
        envs: Sequence[str | Mapping[str, Any] | MixturePart] = DEFAULT,
        longest_answer: int | None = None,
        answer_format: str | None = None,
        render_mode: str | None = None,
        **kwargs: Any,
    ):
        self.blend = read_parts(envs)
        if longest_answer is not None:
            check_count("longest_answer", longest_answer, low=1, unit="characters")
        self.longest_answer = longest_answer
        shared = {name: kwargs[name] for name in ("split", "max_action", "thoughts", "prompt") if name in kwargs}
        if answer_format is not None:
            shared["answer_format"] = answer_format
        self.parts = {name: _make_part(part, render_mode, shared) for name, part in self.blend.items()}
        made = list(self.parts.values())
        self.param_space = FamilySpace(
            {name: FamilySpace.add_prefix(name, env.param_space) for name, env in self.parts.items()},
            {name: part.weight for name, part in self.blend.items()},
        )
        modes = [mode for mode in ("ansi", "rgb_array") if all(mode in env.metadata["render_modes"] for env in made)]
        self.metadata = {**self.metadata, "render_modes": modes}
        self.supplies = frozenset().union(*(env.supplies for env in made))
        self.return_range = min(env.return_range[0] for env in made), max(env.return_range[1] for env in made)
        self.needs_sandbox = any(getattr(env, "needs_sandbox", False) for env in made)
        self.blind_loops = tuple(loop for env in made for loop in env.blind_loops)  # pyright: ignore
        super().__init__(answer_format=answer_format, render_mode=render_mode, **kwargs)
        texts: list[Any] = [(env.observation_space, env.action_space) for env in made]
        self.observation_space = Unicode(max(seen.max_length for seen, _ in texts))
        self.action_space = Unicode(max(said.max_length for _, said in texts))
        self._part: TaskEnv | None = None

    @property
    def part(self) -> TaskEnv:
        """The environment in play. Raise ResetNeeded before the first reset."""
        if self._part is None:
            raise gym.error.ResetNeeded("Mixture has no task yet; call reset() first.")
        return self._part

    def set_progress(self, step: int, steps: int) -> None:
        """Set the progress of training, ``step`` of ``steps`` updates, for scheduled weights."""
        space: Any = self.param_space
        space.set_progress(step, steps)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        gym.Env.reset(self, seed=seed)
        params = self._choose_params(self.np_random, options)
        part = self.parts[params[FAMILY]]
        space: Any = self.param_space
        own = {"params": space.own_params(params)}
        most = self.blend[params[FAMILY]].longest_answer or self.longest_answer
        for _ in range(MAX_TRIES):
            # Not the seed itself: the first random numbers of the seed have already chosen the environment.
            observation, info = part.reset(seed=int(self.np_random.integers(2**31)), options=own)
            if most is None or not isinstance(part, Question) or len(str(part.oracle(part.here()))) <= most:
                break
        else:
            raise InputError(
                f"{params[FAMILY]} with {own['params']} has no task with so short an answer in {MAX_TRIES} draws; "
                "raise longest_answer."
            )
        self._part, self._params, self._ended = part, params, False
        self._task_difficulty = self.param_space.difficulty(params)
        self._task_id = f"{params[FAMILY]}:{info['task_id']}"
        return observation, self._mix_info(info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.require_running()
        observation, reward, terminated, truncated, info = self.part.step(action)
        self._ended = terminated or truncated
        return observation, float(reward), terminated, truncated, self._mix_info(info)

    def _mix_info(self, info: Mapping[str, Any]) -> dict[str, Any]:
        """Return the info of the environment in play, with task id, parameters and difficulty of the mixture."""
        return {**info, **self.task_info(info.get("extras"))}

    def compute_extra(self, subject: Mapping[str, Any] | None, name: str) -> Any:
        """Return an extra from ``subject``, the extras of the environment in play; None if it is missing."""
        return subject[name] if subject is not None and name in subject else None

    def render(self) -> Any:
        return self.part.render()

    # Everything else is delegated to the environment in play.

    def here(self) -> Any:
        return self.part.here()

    def oracle(self, *args: Any, **kwargs: Any) -> Any:
        return self.part.oracle(*args, **kwargs)

    def solution_steps(self, *args: Any) -> list[str]:
        """Return the worked solution of a task of the environment in play.

        Raises:
            InputError: the environment in play has no worked solutions.
        """
        steps: Any = getattr(self.part, "solution_steps", None)
        if steps is None:
            raise InputError(f"{type(self.part).__name__} has no worked solutions.")
        return steps(*args)

    def content_of(self, episode: Any) -> str:
        return self.part.content_of(episode)

    def split_key(self, episode: Any) -> str:
        return self.part.split_key(episode)

    def random_action(self, episode: Any, rng: np.random.Generator) -> Any:
        return self.part.random_action(episode, rng)

    def guess_action(self, episode: Any, known: Mapping[str, Any], rng: np.random.Generator) -> Any:
        own = FamilySpace.own_params({**known, FAMILY: self._params[FAMILY]})
        return self.part.guess_action(episode, own, rng)

    def heuristic_action(self, episode: Any) -> Any:
        return self.part.heuristic_action(episode)

    def solver_cost(self, episode: Any) -> float | None:
        return self.part.solver_cost(episode)

    def draw(self, episode: Any) -> np.ndarray:
        return self.part.draw(episode)

    def read_action(self, action: Any, *args: Any, **kwargs: Any) -> tuple[list[str], str | None]:
        reader = super() if self._part is None else self._part
        return reader.read_action(action, *args, **kwargs)

    def write_action(self, answer: Any) -> Any:
        return super().write_action(answer) if self._part is None else self._part.write_action(answer)

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "part": self.part.get_state()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        if isinstance(state, Mapping) and state.get("family") == type(self).__name__:
            name = state["params"][FAMILY]
            if name not in self.parts:
                raise InputError(f"the snapshot by get_state is of {name!r}, which is not in this mixture.")
            self.parts[name].set_state(state["part"])
            self._part = self.parts[name]
        super().set_state(state)

    def close(self) -> None:
        for part in self.parts.values():
            part.close()


def _make_part(part: MixturePart, render_mode: str | None, shared: Mapping[str, Any]) -> TaskEnv:
    options = {**shared, **part.options}
    if part.axes:
        options["axes"] = dict(part.axes)
    try:
        env: Any = make_registered(part.id, render_mode=render_mode, **options).unwrapped
    except TypeError as error:
        raise InputError(f"{part.id} cannot be part of a mixture: {error}.") from None
    if isinstance(env, Mixture):
        raise InputError(f"{part.id} is a mixture itself; list its environments beside the others.")
    if not isinstance(env, TaskEnv) or not isinstance(env.action_space, Unicode):
        raise InputError(
            f"{part.id} takes actions from {type(env.action_space).__name__}, or is no TaskEnv; only environments of "
            "palaestra.envs with text actions can be mixed."
        )
    return env


register("palaestra/Mixture-v0", f"{__name__}:Mixture")
