"""The agent at the keyboard: shows the observations that a model would receive and reads the answers."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

import gymnasium as gym

from ..envs.question import Question
from ..errors import InputError
from .agent import Agent, register


@register("human")
class HumanAgent(Agent):
    """One person in a terminal, one episode at a time.

    Text goes to the environment as typed. In an environment with numbered actions the prompt is repeated until
    the line is a legal number or, where the environment names its actions, a name.

    Args:
        stdin: where answers are read, one line each; standard input by default.
        stdout: where the observation is shown; standard output by default.
    """

    name = "human"
    max_slots = 1

    def __init__(self, stdin: TextIO | None = None, stdout: TextIO | None = None):
        self._stdin = stdin
        self._stdout = stdout
        self._envs: list[gym.Env] = []
        self._fresh: set[int] = set()

    def bind(self, envs: Sequence[gym.Env]) -> None:
        self._envs = list(envs)

    def reset(self, indices: Sequence[int]) -> None:
        self._fresh.update(indices)

    def act(self, observations: Sequence[Any], infos: Sequence[Mapping[str, Any]]) -> list[Any]:
        return [
            None if info.get("idle") else self._ask(slot, observation, info)
            for slot, (observation, info) in enumerate(zip(observations, infos))
        ]

    def _ask(self, slot: int, observation: Any, info: Mapping[str, Any]) -> Any:
        from rich.console import Console
        from rich.text import Text

        console = Console(file=self._stdout or sys.stdout, highlight=False)
        if slot in self._fresh:
            self._fresh.discard(slot)
            console.rule("new episode")
        # Text, never markup: an observation may hold square brackets that rich would otherwise read as styles.
        if shown := self._format_observation(slot, observation):
            console.print(Text(shown), soft_wrap=True)
        error = str(info.get("action_error") or "")
        # Games begin their observations with it.
        if error and not str(observation).startswith(error):
            console.print(Text(error, style="red"))
        space = self._envs[slot].action_space if slot < len(self._envs) else None
        numbered = space if isinstance(space, gym.spaces.Discrete) else None
        names = self._action_names(slot)
        while True:
            answer = self._read_line(console, f"{self._prompt(slot, numbered, names)}> ")
            if numbered is None:
                return answer
            action = names.get(answer.strip().lower())
            if action is None and answer.strip().lstrip("-").isdecimal():
                action = int(answer)
            if action is not None and numbered.contains(action):
                return action
            console.print(Text(f"{answer!r} is not an action here.", style="red"))

    def _read_line(self, console: Any, prompt: str) -> str:
        """Read a line; in a terminal it can be edited, and the arrow keys bring back earlier ones."""
        from rich.text import Text

        if self._stdin is None and self._stdout is None and sys.stdin.isatty() and sys.stdout.isatty():
            with contextlib.suppress(ImportError):
                import readline  # noqa: F401  # `input` uses it once it is imported.
            with contextlib.suppress(EOFError):
                return input(prompt)
            line = ""
        else:
            console.print(Text(prompt, style="bold"), end="")
            line = (self._stdin or sys.stdin).readline()
        if not line:
            raise InputError("the input ended in the middle of an episode; type an answer, or press Ctrl-C to stop.")
        return line.rstrip("\r\n")

    def _format_observation(self, slot: int, observation: Any) -> str:
        """Return the observation as text; if it is no text, the environment's own text rendering, or its repr."""
        if isinstance(observation, str):
            return observation
        if isinstance(observation, Mapping) and isinstance(observation.get("mission"), str):
            title = f"{observation['mission']}\n"
        else:
            title = ""
        if slot < len(self._envs):
            env = self._envs[slot]
            if env.render_mode == "ansi":
                return f"{title}{env.render()}"
            # MiniGrid draws its world as text, whatever the render mode.
            draw = getattr(env.unwrapped, "pprint_grid", None)
            if callable(draw):
                return f"{title}{draw()}"
        return repr(observation)

    def _action_names(self, slot: int) -> dict[str, int]:
        """Map lower-case names to numbers if the environment names its actions in an enumeration (as MiniGrid does)."""
        if slot >= len(self._envs):
            return {}
        actions = getattr(self._envs[slot].unwrapped, "actions", None)
        return {
            name.lower(): int(member)
            for name, member in getattr(actions, "__members__", {}).items()
            if member is not None
        }

    def _prompt(self, slot: int, space: gym.spaces.Discrete | None, names: Mapping[str, int]) -> str:
        if space is None:
            return "answer" if slot >= len(self._envs) or isinstance(self._envs[slot].unwrapped, Question) else "action"
        numbers = f"{space.start}–{space.start + space.n - 1}"
        return f"action ({', '.join(names)}, or {numbers})" if names else f"action ({numbers})"
