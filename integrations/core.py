"""Episodes in text from plain data: the basis of every integration.

    from palaestra.integrations.core import TextEpisode, make_rows

    row = make_rows("palaestra/GuessNumber-v0", n=1, split="test")[0]
    episode = TextEpisode()
    text = episode.begin(row)                      # what the player reads first
    while not episode.over:
        text = episode.act(str(len(text) % 100))   # any player; the text says when the episode is over
    print(episode.result())                        # reward, success, terms, validity

An `EpisodeRow` names an episode by id, arguments, options and seed: strings and an int, so that it fits any table and
gives the same episode in every process. `TextEpisode` builds the environment and plays it; `EpisodeResult` is the
outcome.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from ..agents.evaluation import environment_spec
from ..checks import check_count
from ..envs.param_env import make_task_env
from ..envs.question import Question
from ..envs.registration import make_registered
from ..envs.unicode import Unicode
from ..errors import InputError, shorten
from ..rewards.recording import Recording

OVER = "The episode is over"
"""Beginning of the sentence that reports the end of an episode to the player."""
COLUMNS = (
    "prompt", "answer", "env", "seed", "kwargs", "options", "task_id", "params", "difficulty",
)  # fmt: skip
"""Columns of a sample: the first observation; the reference solver's answer to a question ("" for other environments);
the episode, as in `EpisodeRow`; the task's hash, parameters (JSON) and difficulty."""


@dataclass(frozen=True)
class EpisodeRow:
    """One episode as plain data.

    Args:
        env: id of an environment.
        seed: seed for ``reset``, at least 0.
        kwargs: arguments of the environment, as the text of a JSON object.
        options: options for ``reset``, as the text of a JSON object: ``{"difficulty": 0.5}`` or ``{"params": {...}}``.

    Raises:
        InputError: a text is not a JSON object, or the seed is not a non-negative int.
    """

    env: str
    seed: int
    kwargs: str = "{}"
    options: str = "{}"

    def __post_init__(self) -> None:
        if not isinstance(self.env, str):
            raise InputError(f"env must be the id of an environment, not {self.env!r}.")
        object.__setattr__(self, "seed", check_count("seed", self.seed))
        read_object("kwargs", self.kwargs)
        read_object("options", self.options)

    @classmethod
    def of(
        cls, env: str, seed: int, kwargs: Mapping[str, Any] | None = None, options: Mapping[str, Any] | None = None
    ) -> EpisodeRow:
        """Make a row from arguments and options given as mappings."""
        return cls(env, seed, write_object("kwargs", kwargs or {}), write_object("options", options or {}))

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> EpisodeRow:
        """Take the row out of a mapping that may have further columns; ``kwargs`` and ``options`` may be missing.

        Raises:
            InputError: ``env`` or ``seed`` is missing, or a value does not fit.
        """
        for name in ("env", "seed"):
            if row.get(name) is None:
                raise InputError(f"a row needs the columns 'env' and 'seed'; {name!r} is missing of {sorted(row)}.")
        return cls(row["env"], row["seed"], row.get("kwargs") or "{}", row.get("options") or "{}")

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the environment as a mapping."""
        return read_object("kwargs", self.kwargs)

    def plain(self) -> dict[str, Any]:
        """Return the row as a mapping."""
        return asdict(self)


@dataclass(frozen=True)
class EpisodeResult:
    """Outcome of an episode so far, as plain data.

    Attributes:
        reward: sum of all rewards (the return).
        is_success: False until the episode has ended in success; None if the environment never reports it.
        progress: in [0, 1]; 0 if the environment does not report it.
        reward_terms: name -> sum over the turns; they sum to ``reward``.
        reward_valid: False if the machinery failed at any turn: the reward then says nothing about the player.
        action_error: why the last turn's action could not be used, one sentence; None for a usable action.
        turns: number of turns played.
        refused: number of turns with an action error.
        terminated, truncated: flags of the last step.
        task_id, params, difficulty: of the task.
    """

    reward: float
    is_success: bool | None
    progress: float
    reward_terms: dict[str, float]
    reward_valid: bool
    action_error: str | None
    turns: int
    refused: int
    terminated: bool
    truncated: bool
    task_id: str
    params: dict[str, Any]
    difficulty: float | None

    @property
    def score(self) -> float | None:
        """Return of the episode, or None if it is not valid; trainers that accept None leave it out of the group."""
        return self.reward if self.reward_valid else None

    def plain(self) -> dict[str, Any]:
        """Return the result as a mapping of JSON-able values."""
        return asdict(self)


class TextEpisode:
    """Player of one episode after another, each from its row; the environment is kept while id and arguments stay the
    same. An object must not be used by several threads at a time: make one for each."""

    def __init__(self) -> None:
        self._made: tuple[str, str] | None = None
        self._env: gym.Env[Any, Any] | None = None
        self._recording: Recording | None = None
        self._has_failed = False

    @property
    def env(self) -> gym.Env[Any, Any]:
        """Environment of the present episode. Raises InputError before the first `begin`."""
        if self._env is None:
            raise InputError("no episode has begun; call begin(row) first.")
        return self._env

    @property
    def over(self) -> bool:
        """True once the episode has ended, or its environment has failed."""
        return self.recording.over or self._has_failed

    @property
    def recording(self) -> Recording:
        """Record of the episode. Raises InputError before the first `begin`."""
        if self._recording is None:
            raise InputError("no episode has begun; call begin(row) first.")
        return self._recording

    def begin(self, row: EpisodeRow | Mapping[str, Any]) -> str:
        """Begin the episode of a row and return the first observation.

        Raises:
            InputError: see `EpisodeRow` and `make_text_env`, or the options do not fit.
        """
        row = row if isinstance(row, EpisodeRow) else EpisodeRow.read(row)
        if self._made != (row.env, row.kwargs):
            self.close()
            self._env = make_text_env(row.env, read_object("kwargs", row.kwargs))
            self._made = (row.env, row.kwargs)
        self._recording, self._has_failed = None, False
        observation, info = self.env.reset(seed=row.seed, options=read_object("options", row.options) or None)
        self._recording = Recording(observation, info)
        return observation

    def act(self, action: Any) -> str:
        """Take a turn and return the text for the player: the next observation, or at the end the feedback.

        The text includes the error of a faulty action, and after the end a sentence that begins with `OVER`. An
        exception of the environment is a failure of the machinery: it is propagated, and the episode is over without a
        score.

        Raises:
            InputError: the episode is over or has not begun.
        """
        recording = self.recording
        if self.over:
            raise InputError(f"{OVER}; nothing more can be done in it.")
        try:
            result = self.env.step(action)
        except BaseException:
            self._has_failed = True
            raise
        step = recording.add(action, result)
        text = result[0]
        if recording.over and not text:
            text = step.feedback
        if step.action_error and step.action_error not in text:
            text = f"{step.action_error}\n{text}".rstrip("\n")
        return "\n".join(filter(None, (text, self._tell_end()))) if recording.over else text

    def result(self) -> EpisodeResult:
        """Return the outcome so far. Raises InputError before the first `begin`."""
        recording = self.recording
        terms: dict[str, list[float]] = {}
        for step in recording.steps:
            for name, value in step.terms.items():
                terms.setdefault(name, []).append(float(value))
        return EpisodeResult(
            reward=math.fsum(step.reward for step in recording.steps),
            is_success=recording.success if recording.steps else False,
            progress=recording.progress or 0.0,
            reward_terms={name: math.fsum(values) for name, values in terms.items()},
            reward_valid=recording.valid and not self._has_failed,
            action_error=recording.steps[-1].action_error if recording.steps else None,
            turns=len(recording.steps),
            refused=sum(step.action_error is not None for step in recording.steps),
            terminated=recording.terminated,
            truncated=recording.truncated,
            task_id=recording.task_id,
            params=as_plain(recording.params),
            difficulty=recording.difficulty,
        )

    def close(self) -> None:
        """Close the environment; `begin` makes a new one."""
        env, self._env, self._made, self._recording = self._env, None, None, None
        self._has_failed = False
        if env is not None:
            env.close()

    def _tell_end(self) -> str:
        recording = self.recording
        if not recording.valid:
            return f"{OVER}: it could not be judged."
        if recording.success is None:
            return f"{OVER}."
        if recording.success:
            return f"{OVER}: solved."
        return f"{OVER}: no turn is left." if recording.truncated else f"{OVER}: not solved."


def make_text_env(env_id: str, kwargs: Mapping[str, Any] | None = None) -> gym.Env[Any, Any]:
    """Make an environment whose observations and actions are text.

    Raises:
        InputError: an unknown id, an argument that does not fit, or an environment whose spaces are not text.
    """
    try:
        env = make_registered(env_id, **(kwargs or {}))
    except (gym.error.Error, TypeError) as error:
        raise InputError(f"{env_id} cannot be made with {dict(kwargs or {})}: {error}") from None
    if not (is_text(env.observation_space) and is_text(env.action_space)):
        spaces = f"{shorten(str(env.observation_space))} and {shorten(str(env.action_space))}"
        env.close()
        twin = env_id.replace("-v", "Text-v")
        remedy = f"take {twin}" if twin in gym.registry else "take one whose spaces are text"
        raise InputError(f"{env_id} is not played in text (its spaces are {spaces}); {remedy}.")
    return env


def make_array_env(env_id: str, kwargs: Mapping[str, Any] | None = None) -> gym.Env[Any, Any]:
    """Make an environment for policies over arrays: one that is not played in text.

    Raises:
        InputError: an unknown id, or an environment that is played in text.
    """
    env = make_task_env(environment_spec(env_id), **(kwargs or {}))
    if is_text(env.observation_space) or is_text(env.action_space):
        env.close()
        twin = env_id.replace("Text-v", "-v")
        remedy = f"take {twin}" if twin != env_id and twin in gym.registry else "take a gridworld, or palaestra train"
        raise InputError(f"{env_id} is played in text, which policies over arrays cannot read; {remedy}.")
    return env


def has_one_answer(env: gym.Env[Any, Any]) -> bool:
    """Return True if one answer ends every episode of the environment."""
    return isinstance(env.unwrapped, Question)


def make_rows(
    env_id: str, n: int, split: str = "train", seed: int = 0, kwargs: Mapping[str, Any] | None = None
) -> list[EpisodeRow]:
    """Make the rows of n episodes, with the seeds from ``seed`` on.

    Args:
        env_id: id of an environment.
        n: number of rows.
        split: "train", "test" or "all", for environments that have splits.
        seed: seed of the first row; later rows count up from it.
        kwargs: further arguments of the environment.

    Raises:
        InputError: n or the seed is not a non-negative int, or ``kwargs`` is not JSON-able or also has the split.
    """
    if kwargs and "split" in kwargs:
        raise InputError("the split is given twice; leave it out of the environment's arguments.")
    first, count = check_count("seed", seed), check_count("n", n)
    text = write_object("kwargs", {**(kwargs or {}), "split": split})
    return [EpisodeRow(env_id, each, text) for each in range(first, first + count)]


def make_samples(
    env_id: str, n: int, split: str = "train", seed: int = 0, kwargs: Mapping[str, Any] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the rows of `make_rows` together with prompt, answer and task, as mappings with the keys `COLUMNS`.

    Raises:
        InputError: see `make_rows` and `make_text_env`.
    """
    episode = TextEpisode()
    try:
        for row in make_rows(env_id, n, split, seed, kwargs):
            prompt = episode.begin(row)
            result = episode.result()
            env: Any = episode.env.unwrapped
            yield {
                "prompt": prompt,
                # The first action of a game is of no use by itself.
                "answer": str(env.oracle()) if has_one_answer(episode.env) else "",
                **row.plain(),
                "task_id": result.task_id,
                "params": json.dumps(result.params, sort_keys=True),
                "difficulty": result.difficulty,
            }
    finally:
        episode.close()


def read_object(name: str, text: Any) -> dict[str, Any]:
    """Parse the text of a JSON object. Raises InputError for anything else; ``name`` names the value in the message."""
    try:
        value = json.loads(text)
    except (TypeError, ValueError):
        value = None
    if not isinstance(value, dict):
        raise InputError(f"{name} must be the text of a JSON object, not {shorten(repr(text))}.")
    return value


def write_object(name: str, value: Mapping[str, Any]) -> str:
    """Write a mapping as JSON with sorted keys. Raises InputError if a value has no JSON form."""
    try:
        return json.dumps(as_plain(value), sort_keys=True, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be plain data, not {shorten(repr(value))}: {error}.") from None


def as_plain(value: Any) -> Any:
    """Convert Numpy's numbers and arrays, at any depth, to Python's numbers and lists."""
    if isinstance(value, Mapping):
        return {str(key): as_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def is_text(space: gym.Space[Any]) -> bool:
    return isinstance(space, Unicode | gym.spaces.Text)
