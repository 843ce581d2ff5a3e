"""`McpSession`: plays the episodes of one MCP session, and returns their results in the form of tool results."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ..errors import InputError
from .episode_thread import SessionThread
from .served_session import ServedSession

T = TypeVar("T")
_log = logging.getLogger(__name__)
RESET = "reset"
"""The tool that begins an episode."""
_OVER = "The episode is over"
_MEASURED = ("return", "is_success", "progress", "reward_valid")
_NUMBER, _FLAG, _TEXT = {"type": "number"}, {"type": "boolean"}, {"type": "string"}
STEP_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "observation": {**_TEXT, "description": "what the player sees next"},
        "reward": {"type": ["number", "null"], "description": "of this action; null where it could not be judged"},
        "terminated": {**_FLAG, "description": "the task has ended"},
        "truncated": {**_FLAG, "description": "no turn is left"},
        "action_error": {"type": ["string", "null"], "description": "why the action had no effect"},
        "return": {**_NUMBER, "description": "sum of the episode's rewards"},
        "is_success": _FLAG,
        "progress": {**_NUMBER, "description": "from 0 to 1"},
        "reward_valid": {**_FLAG, "description": "false where the machinery failed: the rewards then say nothing"},
    },
}
"""JSON schema of the structured content of an action's result."""


class McpSession:
    """The environment of one session, run in a separate thread.

    Args:
        env_id, kwargs: id and arguments of the environment.
        seed: seed of the first episode, unless the reset has one.
        step_seconds: time limit of a reset or a step, in seconds; after a longer one, the environment is replaced by a
            new one, and the episode is lost.
    """

    def __init__(self, env_id: str, kwargs: Mapping[str, Any], seed: int | None, step_seconds: float):
        self._made = env_id, dict(kwargs)
        self._seed, self._step_seconds = seed, step_seconds
        self.task: str | None = None
        self._start()

    async def reset(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Begin an episode and return the structured content: the task's text, id, params and difficulty.

        Raises:
            InputError: an argument does not fit.
            RuntimeError: the environment fails.
        """
        if self.task is None and self._seed is not None:
            arguments = {"seed": self._seed, **arguments}
        served = self._served
        text, state = await self._run(lambda: (served.reset(arguments), served.state()))
        self.task = _text_of(text["observation"])
        return {"observation": self.task, **{name: state.get(name) for name in ("task_id", "params", "difficulty")}}

    async def act(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a function of the environment and return the structured content, as in `STEP_SCHEMA`.

        Raises:
            InputError: no episode is running, there is no such function, or the arguments do not fit.
            RuntimeError: the environment fails.
        """
        call = {"name": name, "arguments": dict(arguments)}
        served = self._served
        step, state = await self._run(lambda: (served.step(call), served.state()))
        seen = step["observation"]
        ends = {part: seen[part] for part in ("terminated", "truncated", "action_error")}
        measured = {part: state[part] for part in _MEASURED}
        return {"observation": _text_of(seen), "reward": step["reward"], **ends, **measured}

    async def result(self) -> dict[str, Any]:
        """Return the state of the episode: the task and the measurements."""
        return await self._run(self._served.state)

    async def close(self) -> None:
        """Close the environment once the running call has ended."""
        closing = self._thread.submit(self._served.close)
        self._thread.end()
        await asyncio.wrap_future(closing)

    def _start(self) -> None:
        env_id, kwargs = self._made
        self._served, self._thread = ServedSession([env_id], kwargs), SessionThread()

    async def _run(self, call: Callable[[], T]) -> T:
        try:
            async with asyncio.timeout(self._step_seconds):
                return await asyncio.wrap_future(self._thread.submit(call))
        except TimeoutError:
            self._thread.submit(self._served.close)
            self._thread.end()
            self._start()
            why = f"the environment took longer than {self._step_seconds:g} s"
            raise RuntimeError(f"{why}; its episode does not count, call {RESET}.") from None
        except InputError:
            raise
        except Exception as error:
            _log.exception("an environment failed")
            self._thread.submit(self._served.fail)
            said = f"{type(error).__name__}: {error}"[:500]
            raise RuntimeError(f"the environment failed ({said}); its episode does not count, call {RESET}.") from error


def describe_step(found: Mapping[str, Any]) -> str:
    """Return the text for the player: the error of the action, the next observation, and the end of the episode."""
    parts = [] if (found["action_error"] or "") in found["observation"] else [found["action_error"]]
    parts.append(found["observation"])
    if found["terminated"] or found["truncated"]:
        if not found["reward_valid"]:
            parts.append(f"{_OVER}: it could not be judged.")
        elif found["is_success"]:
            parts.append(f"{_OVER}: solved.")
        else:
            parts.append(f"{_OVER}: no turn is left." if found["truncated"] else f"{_OVER}: not solved.")
    elif found["reward"] is None:
        parts.append("This action could not be carried out: the machinery failed.")
    return "\n".join(filter(None, parts))


def _text_of(observation: Mapping[str, Any]) -> str:
    return str(observation.get("text", ""))
