"""``palaestra eval``: play an agent on an environment, and print success by difficulty with confidence intervals.

examples:
  palaestra eval palaestra/Arithmetic-v0 --agent random --episodes 200
  palaestra eval palaestra/Arithmetic-v0 --agent oracle --axis digits=1:2 terms=3
  palaestra eval palaestra/GuessNumber-v0 --agent human --episodes 3
  palaestra eval palaestra/Countdown-v0 --agent my_module:my_function --json scores.json
  palaestra eval palaestra/Arithmetic-v0 --agent runs/first --out trajectories.jsonl
  palaestra eval palaestra/Arithmetic-v0 --agent runs/first --episodes 50 --samples 8
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import gymnasium as gym
import tyro

from ..agents import AGENTS, Agent, as_agent, make
from ..agents.atomic import write_atomically
from ..agents.evaluation import environment_spec, evaluate
from ..errors import InputError, MissingExtra, unknown_name
from .axes import parse_axes


@dataclass(frozen=True)
class EvalOptions:
    env: tyro.conf.Positional[str]
    """Environment id; "module:id" imports the module first."""
    agent: str = "random"
    """A registered agent, module:attribute (an agent or any callable observation -> action), the folder of a run or of
    a model, or a hub id."""
    episodes: int = 100
    """How many to play."""
    seed: int = 0
    """Root of the episode seeds; the same seed plays the same episodes."""
    split: Literal["train", "test", "all"] = "test"
    """Which tasks."""
    difficulty: tuple[float, ...] = ()
    """Difficulties dealt out in turn, each from 0 to 1; by default spread evenly."""
    axis: tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]] = ()
    """Restrict axes: name=value, name=low:high or name=choice,choice."""
    bins: int = 5
    """Difficulty bins in the table."""
    samples: int = 1
    """How often each task is played; above 1 the table has pass@k, and its intervals are over tasks."""
    num_envs: int = 32
    """Environments played side by side; does not change the result."""
    json: Path | None = None
    """Write the report here as JSON."""
    out: Path | None = None
    """Write the trajectories here, one JSON object a line."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    from rich.console import Console

    config = tyro.cli(EvalOptions, args=argv, prog="palaestra eval", description=__doc__)
    if config.json is not None and config.json.is_dir():
        raise InputError(f"--json must be a file, but {str(config.json)!r} is a folder.")
    texts = [text for group in config.axis for text in group]
    axes = _parse_axes(config.env, texts) if texts else None
    report = evaluate(
        find_agent(config.agent),
        config.env,
        episodes=config.episodes,
        seed=config.seed,
        split=config.split,
        difficulties=config.difficulty or None,
        axes=axes,
        num_envs=config.num_envs,
        out=config.out,
        progress=True,
        bins=config.bins,
        samples=config.samples,
    )
    if config.json is not None:
        write_atomically(config.json, json.dumps(report.to_json(), indent=2) + "\n")
    Console().print(report.table())
    return 0


def find_agent(text: str) -> Agent:
    """Find the agent that a command line names: registered, in a folder (a run's or a model's), ``module:attribute``,
    or a hub id.

    Raises:
        InputError: it is none of these.
        MissingExtra: it is a model, and torch or transformers is absent.
    """
    if text in AGENTS:
        return make(text)
    if Path(text).is_dir():
        return _load_model(text)
    module, colon, attribute = text.rpartition(":")
    if not colon or os.sep in text:
        # One slash has the form of a hub id. If the part before it is a folder here, the rest is mistyped, and a
        # request to the hub would only cost time.
        if text.count("/") == 1 and not (Path(text).parent.is_dir() or text[0] in "./"):
            return _load_model(text)
        if os.sep in text or text.startswith("."):
            raise InputError(f"the agent {text!r} is no folder; give the folder of a run or of a model.")
        raise unknown_name("agent", text, AGENTS)
    try:
        value = importlib.import_module(module)
    except ImportError as error:
        raise InputError(f"the module {module!r} of agent {text!r} cannot be imported: {error}.") from error
    for part in attribute.split("."):
        if not hasattr(value, part):
            raise unknown_name(f"attribute of {module}", part, [name for name in dir(value) if name[0] != "_"])
        value = getattr(value, part)
    return as_agent(value)


def _load_model(source: str) -> Agent:
    try:
        from ..agents.language.language_agent import LanguageAgent
    except ModuleNotFoundError as error:
        if error.name in ("torch", "transformers", "safetensors"):
            raise MissingExtra("a language model", "train") from error
        raise
    return LanguageAgent.load(source)


def _parse_axes(env_id: str, texts: Sequence[str]) -> dict[str, object]:
    env = gym.make(environment_spec(env_id), disable_env_checker=True)
    space = getattr(env.unwrapped, "param_space", None)
    env.close()
    if space is None:
        raise InputError(f"{env_id!r} has no axes; leave --axis out.")
    return parse_axes(texts, space)


if __name__ == "__main__":
    from .cli import run_guarded

    sys.exit(run_guarded(main, sys.argv[1:]))
