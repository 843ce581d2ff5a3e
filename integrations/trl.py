"""Environments, single answers and teachers in TRL's ``GRPOTrainer``.

    from palaestra.integrations import trl
    from trl import GRPOConfig, GRPOTrainer

    GRPOTrainer(                                          # many turns: the actions are tools
        "Qwen/Qwen3-0.6B", args=GRPOConfig("out", max_completion_length=2048),
        train_dataset=trl.dataset("palaestra/Wordle-v0", 1000),
        environment_factory=trl.environment("palaestra/Wordle-v0"),
    ).train()
    data = trl.dataset("palaestra/Countdown-v0", 1000)    # one answer: a reward function
    GRPOTrainer(trl.model("smollm2-135m"), trl.reward("palaestra/Countdown-v0"), train_dataset=data).train()

Every row holds the seed of its episode, so that all generations of a group meet the same task. If the machinery fails,
the reward is invalid and returned as None: TRL leaves the episode out of its group. A model must call the tools; a
reply without a call ends TRL's loop and never reaches the environment. `palaestra.integrations.trl.Curriculum` is a
data set whose rows a teacher draws.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Literal

from ..agents.language.model_cache import find_model
from ..envs.tools.tool_function import ToolFunction
from ..errors import InputError, needs_extra
from .action_tools import action_tools, write_action
from .core import EpisodeResult, EpisodeRow, TextEpisode, has_one_answer, make_rows, make_text_env, write_object
from .trl_curriculum import Curriculum
from .trl_rows import INSTRUCTION, judge, prompt_of

__all__ = [
    "INSTRUCTION",
    "Curriculum",
    "EnvironmentFactory",
    "ToolEnvironment",
    "dataset",
    "environment",
    "model",
    "reward",
]


class ToolEnvironment:
    """Base class of TRL's tool environments, which holds an episode; subclasses have the environment's actions as
    methods. TRL turns all public methods except ``reset`` and ``get_reward`` into tools, so there are no other public
    ones. Members for users have a leading underscore: ``_episode`` (a `TextEpisode`) and ``_result()``."""

    _env_id: str
    _kwargs: str

    def __init__(self) -> None:
        self._episode = TextEpisode()
        self._train = True

    def reset(self, **row: Any) -> str | None:
        """Begin the episode of a row and return the first observation, which TRL appends to the prompt.

        Raises:
            InputError: the row has no seed, or belongs to another environment.
        """
        if row.get("seed") is None:
            raise InputError(
                f"the row has no 'seed', so that a group would mix tasks; train on "
                f"palaestra.integrations.trl.dataset({self._env_id!r}, n)."
            )
        wanted = row.get("env") or self._env_id
        if wanted != self._env_id:
            raise InputError(
                f"a row of {wanted!r} came to the environment {self._env_id!r}; give GRPOTrainer a dictionary of "
                "environments, and the rows a column 'environment' with its keys."
            )
        self._train = bool(row.get("train", True))
        return self._episode.begin(
            EpisodeRow.read({"env": wanted, "kwargs": self._kwargs, **{k: v for k, v in row.items() if v is not None}})
        )

    def get_reward(self) -> float | None:
        """Return the episode's return; None if it is not valid, or the row has ``train=False``."""
        return self._episode.result().score if self._train else None

    def _result(self) -> EpisodeResult:
        return self._episode.result()


class EnvironmentFactory:
    """Picklable factory of the environments of one id; see `environment`. TRL's asynchronous trainer pickles it."""

    def __init__(self, env_id: str, kwargs: str):
        self.env_id, self.kwargs = env_id, kwargs
        _environment_class(env_id, kwargs)  # so that wrong arguments raise here

    def __call__(self) -> ToolEnvironment:
        return _environment_class(self.env_id, self.kwargs)()


def environment(env_id: str, **kwargs: Any) -> EnvironmentFactory:
    """Make the ``environment_factory`` of ``GRPOTrainer`` for an environment.

    Its tools are the environment's tools, or one function such as ``guess(word)``. The end of the episode is reported
    to the model, and later calls are errors. ``get_reward`` returns the episode's return.

    Args:
        env_id: an id with text observations and actions.
        **kwargs: arguments of the environment, such as ``difficulty=0.2``, ``split="train"``; a row's column "kwargs"
            replaces them.

    Raises:
        InputError: an unknown id, an argument that does not fit, or an environment that is not played in text.
    """
    return EnvironmentFactory(env_id, write_object("kwargs", kwargs))


def model(name: str) -> str:
    """Return the folder of a registered model (``palaestra list models``) or GGUF file, for TRL's trainer.

    Any other folder or hub id is returned unchanged.

    Raises:
        InputError: the model is not installed or cannot be read.
    """
    return str(find_model(name))


def dataset(
    env_id: str, n: int, *, split: str = "train", seed: int = 0, tools: bool | None = None, **kwargs: Any
) -> Any:
    """Make a ``datasets.Dataset`` of n episodes, for `environment` or `reward`.

    Its columns are "prompt" (messages), "env", "seed", "kwargs" and "options" (JSON).

    Args:
        env_id: an id with text observations and actions.
        n: number of rows.
        split: "train", "test" or "all".
        seed: seed of the first episode; later episodes count up from it.
        tools: True if the episodes are played with tools: the prompt is then `INSTRUCTION`, to which `environment` adds
            the observation. False makes the question the prompt. None takes False if one answer ends the episode.
        **kwargs: arguments of the environment.

    Raises:
        InputError: see `environment`; or the episodes have several turns and ``tools`` is False.
    """
    with needs_extra("a data set", "datasets"):
        from datasets import Dataset
    rows = make_rows(env_id, n, split, seed, kwargs)
    env = make_text_env(env_id, {**kwargs, "split": split})
    single = has_one_answer(env)
    env.close()
    if tools is False and not single:
        raise InputError(f"an episode of {env_id} has several turns, so it needs tools; leave tools=False out.")
    played = not single if tools is None else tools
    episode = TextEpisode()
    lines = [{"prompt": prompt_of(episode, row, played), **row.plain()} for row in rows]
    episode.close()
    return Dataset.from_list(lines)


def reward(env_id: str, **kwargs: Any) -> Callable[..., list[float | None]]:
    """Make a reward function of ``GRPOTrainer`` for an environment that one answer ends.

    The function returns the environment's reward of each completion, and None if the verdict is not valid or the row is
    of another id, so that the functions of several ids can be used together. It logs the share of successes as
    "NAME/success".

    Args:
        env_id: an id with text observations and actions.
        **kwargs: arguments of the environment, for rows without the column "kwargs".

    Raises:
        InputError: an unknown id, an argument that does not fit, or episodes of several turns.
    """
    with make_text_env(env_id, kwargs) as env:
        if not has_one_answer(env):
            raise InputError(
                f"an episode of {env_id} has several turns; use environment_factory="
                f"palaestra.integrations.trl.environment({env_id!r})."
            )
    text, short = write_object("kwargs", kwargs), env_id.rpartition("/")[2]
    episode = TextEpisode()

    def score(completions: Sequence[Any], log_metric: Any = None, **columns: Any) -> list[float | None]:
        results = list(judge(episode, env_id, text, completions, columns))
        known = [bool(result.is_success) for result in results if result is not None and result.reward_valid]
        if log_metric is not None and known:
            log_metric(f"{short}/success", sum(known) / len(known))
        return [None if result is None else result.score for result in results]

    score.__name__ = score.__qualname__ = short
    return score


@functools.cache
def _environment_class(env_id: str, kwargs: str) -> type[ToolEnvironment]:
    with make_text_env(env_id, EpisodeRow(env_id, 0, kwargs).arguments) as env:
        functions = action_tools(env)
    methods = {_free_name(function.name): _method(function) for function in functions}
    name = "".join(filter(str.isalnum, env_id.rpartition("/")[2].rpartition("-v")[0])) or "Environment"
    fields = {"__doc__": f"{env_id} as TRL plays it.", "_env_id": env_id, "_kwargs": kwargs, **methods}
    return type(name, (ToolEnvironment,), fields)


def _free_name(name: str) -> str:
    """Return the name of a function's method; TRL itself calls ``reset`` and ``get_reward``."""
    return f"{name}_tool" if name in ("reset", "get_reward") or name.startswith("_") else name


def _method(function: ToolFunction) -> Callable[..., str]:
    """Make the method that calls a function; TRL makes the tool's schema from its signature and docstring."""
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    lines = []
    for name in sorted(function.parameters, key=lambda each: each in function.optional):
        described = function.parameters[name]
        kind: Any = int if described.get("type") == "integer" else str
        if "enum" in described:
            kind = Literal[tuple(described["enum"])]
        optional = name in function.optional
        default = None if optional else inspect.Parameter.empty
        annotation = kind | None if optional and isinstance(kind, type) else kind
        parameters.append(
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation)
        )
        lines.append(f"    {name}: {' '.join(str(described.get('description', name)).split())}")
    signature = inspect.Signature(parameters, return_annotation=str)

    def method(self: ToolEnvironment, *args: Any, **arguments: Any) -> str:
        try:
            bound = signature.bind(self, *args, **arguments).arguments
        except TypeError as error:
            raise InputError(f"{function.name} was called wrongly: {error}.") from None
        given = {name: value for name, value in bound.items() if name != "self" and value is not None}
        episode = self._episode
        # TRL shows exceptions to the model.
        return episode.act("" if episode.over else write_action(episode.env, function.name, given))

    method.__name__ = method.__qualname__ = _free_name(function.name)
    arguments = "\n\nArgs:\n" + "\n".join(lines) if lines else ""
    method.__doc__ = f"{function.description}{arguments}\n\nReturns:\n    What comes of it."
    method.__annotations__ = {p.name: p.annotation for p in parameters[1:]} | {"return": str}
    method.__signature__ = signature  # type: ignore[attr-defined]
    return method
