"""``palaestra play``: play an environment yourself, in the terminal.

You see the observations that a model would get, and type its answers. ``?`` shows the next step of a solution,
``/help`` the actions, and ``/quit`` ends. If actions are directions, the arrow keys type them. After each episode its
result is shown, and after a failure the solver's answer.

examples:
  palaestra play palaestra/Sokoban-v0
  palaestra play palaestra/LinearEquation-v0 --difficulty 0.2 --episodes 3
  palaestra play palaestra/Sudoku-v0 --axis size=4 --seed 7
  palaestra play palaestra/SQLExplorer-v0 --env-option 'of_kwargs={"engine": "duckdb"}'
  palaestra play palaestra/Shop-v0 --browser --out played.jsonl
"""

from __future__ import annotations

import contextlib
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import gymnasium as gym
import tyro

from ..agents.evaluation import environment_spec
from ..agents.human import HumanAgent, show_text
from ..agents.oracle import has_solver
from ..envs import Question
from ..envs.param_env import ParamEnv, make_task_env
from ..envs.tools.tool_question import ToolQuestion
from ..errors import InputError
from ..rewards.answers.blocks import strip_block_marks
from .axes import parse_axes
from .docstrings import summary
from .options import parse_options

HINT, HELP, QUIT = "?", "/help", "/quit"


@dataclass(frozen=True)
class PlayOptions:
    env: tyro.conf.Positional[str]
    """Environment id; "module:id" imports the module first."""
    difficulty: float | None = None
    """Difficulty, from 0 to 1; by default drawn for each episode."""
    axis: tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]] = ()
    """Restrict axes: name=value, name=low:high or name=choice,choice."""
    env_option: tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]] = ()
    """Further arguments of the environment: name=value, such as engine=duckdb; a value may be JSON."""
    episodes: int = 1
    """Number of episodes."""
    seed: int | None = None
    """Seed of the first episode; the same seed gives the same episodes. By default random."""
    split: Literal["train", "test", "all"] = "all"
    """Split of the tasks."""
    browser: bool = False
    """Play a task on a web site in your browser, at a local address that is printed."""
    out: Path | None = None
    """With --browser: write the episodes to this file, as palaestra eval does."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    from rich.console import Console
    from rich.text import Text

    config = tyro.cli(PlayOptions, args=argv, prog="palaestra play", description=__doc__)
    if config.episodes < 1:
        raise InputError(f"--episodes must be at least 1, not {config.episodes}.")
    if config.seed is not None and config.seed < 0:
        raise InputError(f"--seed must not be negative, but it is {config.seed}.")
    if config.out is not None and not config.browser:
        raise InputError("--out is of --browser; leave it out, or play with palaestra eval --agent human --out FILE.")
    console = Console(highlight=False)
    if config.browser:
        return _play_in_browser(config, lambda text: show_text(console, text))
    env = _make(config)
    kind = type(env.unwrapped.env.unwrapped if isinstance(env.unwrapped, ParamEnv) else env.unwrapped)
    console.print(Text(f"{config.env}: {summary(kind)}", style="bold"))
    player = HumanAgent(commands=(HINT, HELP, QUIT))
    player.bind([env])
    solved = isinstance(env.unwrapped, Question) or has_solver(env)
    about = f"{HINT} shows the next step of a solution, {HELP} the actions" if solved else f"{HELP} shows the actions"
    console.print(Text(f"{about}, {QUIT} ends.", style="dim"))
    if sys.stdin.isatty() and (keys := player.arrow_keys()):
        at_once = all(text.endswith("\n") for text in keys.values())
        about = "The arrow keys move." if at_once else "The arrow keys write moves, Enter sends them."
        console.print(Text(about, style="dim"))
    won = played = 0
    for episode in range(config.episodes):
        player.reset([0])
        info = _play(env, player, config.seed if episode == 0 else None, lambda *said: show_text(console, *said))
        if info is None:
            break
        won, played = won + bool(info.get("is_success")), played + 1
    if config.episodes > 1:
        console.print(f"{won} of {played} won.")
    env.close()
    return 0


def _play_in_browser(config: PlayOptions, say: Callable[[str], None]) -> int:
    """Play the episodes in the person's browser, and write them to ``config.out``."""
    from ..agents import evaluate
    from .play_browser import BrowserPlayer

    options = parse_options((text for group in config.env_option for text in group), "an environment")
    axes = None
    if texts := [text for group in config.axis for text in group]:
        with contextlib.closing(gym.make(environment_spec(config.env), disable_env_checker=True, **options)) as env:
            axes = parse_axes(texts, env.unwrapped.param_space)  # type: ignore[attr-defined]
    player = BrowserPlayer(say)
    seed = secrets.randbelow(1 << 31) if config.seed is None else config.seed
    levels = None if config.difficulty is None else [config.difficulty]
    try:
        report = evaluate(
            player, config.env, config.episodes, seed, config.split, levels, axes, env_kwargs=options, out=config.out
        )
        text = f"{sum(bool(one['success']) for one in report.results)} of {config.episodes} won."
        player.say_goodbye(text)
    finally:
        player.close()
    say(text if config.out is None else f"{text} Written to {config.out}.")
    return 0


def _make(config: PlayOptions) -> gym.Env[Any, Any]:
    """Make the environment, with text rendering if it has one."""
    spec = environment_spec(config.env)
    options = parse_options((text for group in config.env_option for text in group), "an environment")
    env = make_task_env(spec, **options)
    space = getattr(env.unwrapped, "param_space", None)
    modes = env.metadata.get("render_modes", [])
    env.close()
    texts = [text for group in config.axis for text in group]
    if space is None and (texts or config.difficulty is not None):
        raise InputError(f"{config.env!r} has no difficulty and no axes; leave --difficulty and --axis out.")
    if space is not None:
        options |= {"split": config.split, "difficulty": config.difficulty, "axes": parse_axes(texts, space) or None}
    if "ansi" in modes:
        options["render_mode"] = "ansi"
    return make_task_env(spec, **options)


def _play(env: gym.Env[Any, Any], player: HumanAgent, seed: int | None, say: Any) -> Mapping[str, Any] | None:
    """Play one episode and return its last ``info``, or None if the player quits."""
    observation, info = env.reset(seed=seed)
    inner, solution = env.unwrapped, ""
    if isinstance(inner, Question):
        solution = inner.oracle(inner.here())
    elif isinstance(inner, ToolQuestion):
        solution = str(info["extras"]["reference"])
    total, hints, done = 0.0, 0, False
    while not done:
        action = player.act([observation], [info])[0]
        command = action.strip() if isinstance(action, str) else ""
        if command == QUIT:
            return None
        if command in (HINT, HELP):
            say(_hint(env, hints) if command == HINT else player.action_words(), "cyan")
            hints += command == HINT
            # The observation is not printed again after a hint or help.
            observation, info = "" if isinstance(observation, str) else observation, {}
            continue
        observation, reward, terminated, truncated, info = env.step(action)
        total += float(reward)
        done = terminated or truncated
    why = "" if info.get("is_success") else "out of turns" if truncated else str(info.get("feedback") or "")
    # The last observation of a game begins with the error, which is printed as the reason below.
    if isinstance(observation, str) and (rest := observation.removeprefix(why).strip("\n")):
        say(rest)
    if info.get("is_success"):
        say(f"Solved; reward {total:g}.", "green")
    else:
        say(f"Not solved; reward {total:g}{f' ({why})' if why else ''}.", "red")
        if solution:
            say(f"The solver's answer: {strip_block_marks(solution)}")
    return info


def _hint(env: gym.Env[Any, Any], given: int) -> str:
    """Return the solver's next step: for a question the solution step of index ``given``, for a game the next move."""
    inner: Any = env.unwrapped
    if isinstance(inner, Question):
        steps = inner.solution_steps(inner.here())
        return steps[min(given, len(steps) - 1)]
    try:
        return strip_block_marks(str(inner.oracle()))
    except (AttributeError, NotImplementedError):
        return f"{type(inner).__name__} has no solver to ask."
