"""The human agent: prints the observations that a model would receive and reads actions from the keyboard."""

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
    """Agent for one person in a terminal, one episode at a time.

    Each line is one action, passed to the environment as typed. In an environment with numbered actions the prompt is
    repeated until the line is a legal number or, if the environment names its actions, a name. In a terminal, lines are
    wrapped at words, and arrow keys type the texts of the environment's ``arrow_keys``; without them, they edit the
    line.

    Args:
        stdin: stream of actions, one per line; standard input by default.
        stdout: stream to which observations are printed; standard output by default.
        commands: lines that are returned as they are although they are no actions, for the caller to obey.
    """

    name = "human"
    max_slots = 1

    def __init__(self, stdin: TextIO | None = None, stdout: TextIO | None = None, commands: Sequence[str] = ()):
        self._commands = frozenset(commands)
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

        console = Console(file=self._stdout or sys.stdout, highlight=False)
        if slot in self._fresh:
            self._fresh.discard(slot)
            console.rule("new episode")
        # Text, never markup: an observation may hold square brackets that rich would otherwise read as styles.
        if shown := self._format_observation(slot, observation):
            show_text(console, shown)
        error = str(info.get("action_error") or "")
        # Games already begin their observations with the error.
        if error and error not in str(observation):
            show_text(console, error, "red")
        space = self._envs[slot].action_space if slot < len(self._envs) else None
        numbered = space if isinstance(space, gym.spaces.Discrete) else None
        names = self._action_names(slot)
        while True:
            answer = self._read_line(console, f"{self._prompt(slot, numbered, names)}> ", self.arrow_keys(slot))
            if numbered is None or answer.strip() in self._commands:
                return answer
            action = names.get(answer.strip().lower())
            if action is None and answer.strip().lstrip("-").isdecimal():
                action = int(answer)
            if action is not None and numbered.contains(action):
                return action
            show_text(console, f"{answer!r} is not an action here.", "red")

    def arrow_keys(self, slot: int = 0) -> Mapping[str, str]:
        """Return the text that each arrow key ("up", "down", "left", "right") types; {} if actions are no directions. A
        text that ends with a line break is sent at once."""
        if slot >= len(self._envs):
            return {}
        names = self._action_names(slot)
        turns = {"up": "forward", "left": "left", "right": "right"}
        walks = {key: f"{name}\n" for key, name in turns.items()} if set(turns.values()) <= set(names) else {}
        return getattr(self._envs[slot].unwrapped, "arrow_keys", None) or walks

    def _read_line(self, console: Any, prompt: str, keys: Mapping[str, str]) -> str:
        """Read a line. In a terminal, the line can be edited, and arrow keys type ``keys`` or recall earlier lines."""
        from rich.text import Text

        if self._stdin is None and self._stdout is None and sys.stdin.isatty() and sys.stdout.isatty():
            with contextlib.suppress(ImportError):
                import readline

                for key, (letter, default) in _ARROWS.items():
                    # A key that is sent at once replaces the typed line.
                    text = f"\\C-a\\C-k{keys[key][:-1]}\\C-m" if keys.get(key, "").endswith("\n") else keys.get(key, "")
                    for start in ("[", "O"):
                        readline.parse_and_bind(f'"\\e{start}{letter}": ' + (f'"{text}"' if text else default))
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
        """Return the observation as text; for one that is not text, the environment's text rendering, or a repr."""
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

    def action_words(self, slot: int = 0) -> str:
        """Describe the actions in a sentence: the numbers and names of a numbered environment, or text."""
        space = self._envs[slot].action_space
        if not isinstance(space, gym.spaces.Discrete):
            return "An action is a line of text, in the form that the environment asks for."
        names = ", ".join(f"{number} ({name})" for name, number in self._action_names(slot).items())
        return f"An action is a number: {names or f'{space.start} to {space.start + space.n - 1}'}."

    def _action_names(self, slot: int) -> dict[str, int]:
        """Map lower-case names of actions to numbers by the enumeration ``env.actions`` (as in MiniGrid); else {}."""
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


def show_text(console: Any, text: str, style: str = "") -> None:
    """Print a text literally, never as markup; lines wider than the terminal are wrapped at words."""
    from rich.text import Text

    console.print(Text(text, style=style), soft_wrap=not console.is_terminal)


_ARROWS = {
    "up": ("A", "previous-history"),
    "down": ("B", "next-history"),
    "right": ("C", "forward-char"),
    "left": ("D", "backward-char"),
}
"""Arrow key -> the last letter of its terminal escape sequence, and its default action in readline."""
