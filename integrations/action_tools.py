"""Actions of any environment as functions with typed parameters, for trainers and evaluations that call tools.

    from palaestra.integrations.action_tools import action_tools, write_action

    env = make_text_env("palaestra/Wordle-v0")
    action_tools(env)                                # (ToolFunction(name="guess", parameters={"word": ...}),)
    env.step(write_action(env, "guess", {"word": "crane"}))

An environment with tools offers its tools, plus a function for the answer if none of the tools takes the answer. Any
other environment offers one function, named as in `NAMES` or after the form of its answers (`FORMS`), and described by
the section "Action" of its docstring.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

import gymnasium as gym

from ..envs.tools.tool_function import OffersFunctions, ToolFunction, find_function, functions_of

DIRECTIONS = ("left", "right", "up", "down")
GRID_ACTIONS = ("turn left", "turn right", "go forward", "pick up", "drop", "toggle", "wait")
NAMES: dict[str, tuple[str, str, Any]] = {
    "2048": ("slide", "direction", DIRECTIONS),
    "Bandit": ("pull", "arm", int),
    "BlindAuction": ("bid", "points", int),
    "CombinationLock": ("open_door", "door", int),
    "ConnectFour": ("drop_disc", "column", int),
    "Domineering": ("put_domino", "square", str),
    "GuessNumber": ("guess", "number", int),
    "Hangman": ("guess", "letter_or_word", str),
    "KuhnPoker": ("bet", "move", ("check", "bet", "call", "fold")),
    "LeducPoker": ("bet", "move", ("check", "raise", "call", "fold")),
    "LiarsDice": ("bid", "bid_or_liar", str),
    "Mastermind": ("guess", "code", str),
    "MemoryStores": ("write", "commands", str),
    "Minesweeper": ("open_cells", "cells", str),
    "Nim": ("take", "move", str),
    "ConnectFourSeat": ("drop_disc", "cell", str),
    "Othello": ("put_disc", "square_or_pass", str),
    "MovingObstaclesText": ("move", "action", GRID_ACTIONS[:3]),
    "ProgramDebugging": ("submit", "program_or_call", str),
    "RushHour": ("move", "moves", str),
    "SQLDebugging": ("submit", "query", str),
    "SlidingTiles": ("slide", "tiles", str),
    "Sokoban": ("move", "moves", str),
    "TutorDialogue": ("say", "act", str),
    "TwentyQuestions": ("ask", "word", str),
    "WikiRace": ("command", "text", str),
    "Wordle": ("guess", "word", str),
}
"""Environment id without namespace and version -> (function, its parameter, the parameter's type or allowed values)."""
FORMS: dict[str, tuple[str, str]] = {
    "program": ("submit", "program"),
    "move": ("act", "action"),
    "moves": ("act", "actions"),
}
"""Form of answers -> (function, its parameter); for any other form the function is ``answer(text)``."""
_ANSWER = ToolFunction(
    "answer",
    "Give the answer, which ends the task.",
    {"text": {"type": "string", "description": "The answer."}},
    (),
    True,
)
_ACTION = re.compile(r"^Actions?:\n(.*?)(?=\n\s*\n|\n\S|\Z)", re.DOTALL | re.MULTILINE)


def action_tools(env: gym.Env[Any, Any]) -> tuple[ToolFunction, ...]:
    """List the functions, at least one, that together express every action of an environment with text actions."""
    own = functions_of(env)
    if own:
        return own if any(function.answers for function in own) else (*own, _ANSWER)
    name, parameter, values = _signature(env)
    found = _ACTION.search(inspect.getdoc(type(env.unwrapped)) or "")
    text = " ".join(found[1].split()).replace("``", "`") if found else "Text, as the task asks for."
    described: dict[str, Any] = {
        "type": "integer" if values is int else "string",
        "description": re.sub(r"[,;.]? ?(It is |are )?[Rr]ead in `answer_format`", "", text).strip(),
    }
    if isinstance(values, tuple):
        described["enum"] = list(values)
    if name == _ANSWER.name:
        return (ToolFunction(name, _ANSWER.description, {parameter: described}, (), True),)
    sentence = "Take an action and read what comes of it."
    return (ToolFunction(name, sentence, {parameter: described}, (), False),)


def write_action(env: gym.Env[Any, Any], name: str, arguments: Mapping[str, Any]) -> str:
    """Convert a call of one of `action_tools` to the text of the environment's action.

    Raises:
        InputError: there is no such function, or the arguments do not fit; the message is a sentence for the agent.
    """
    own, inner = functions_of(env), env.unwrapped
    if isinstance(inner, OffersFunctions) and any(function.name == name for function in own):
        return inner.write_call(name, arguments)
    checked = find_function(action_tools(env), name).check(arguments)
    return str(next(iter(checked.values())))


def _signature(env: gym.Env[Any, Any]) -> tuple[str, str, Any]:
    spec, form = env.unwrapped.spec, getattr(env.unwrapped, "answer_form", "line")
    name = re.sub(r"-v\d+$", "", spec.id.rpartition("/")[2]) if spec is not None else ""
    if name in NAMES:
        return NAMES[name]
    actions = getattr(env.unwrapped, "legal_actions", None)
    if name.endswith("Text") and form == "move" and actions is None:
        return "move", "action", GRID_ACTIONS
    return (*FORMS.get(form, ("answer", "text")), str)
