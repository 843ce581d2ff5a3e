"""`connect`: an environment behind any OpenEnv server as a Gymnasium environment in text.

    env = connect("http://127.0.0.1:8000", token="secret")
    observation, info = env.reset(seed=7, options={"difficulty": 0.5})     # options go to the server as they are
    observation, reward, terminated, truncated, info = env.step("42")
    palaestra.evaluate(my_agent, lambda: connect("http://127.0.0.1:8000"), episodes=20)

If the server refuses an action, the reason is the step's ``info["action_error"]``. If the server fails or the
connection is lost, the episode ends with ``info["reward_valid"]`` False, and the next reset connects again. A reset
that fails raises `ServerFailure`.
"""

from __future__ import annotations

import contextlib
import copy
import json
import math
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import gymnasium as gym

from ...envs.unicode import Unicode
from ...errors import InputError, needs_extra, shorten

_MOST = 10**6
_MOST_BYTES = 100 * 2**20
_REFUSALS = ("VALIDATION_ERROR", "INVALID_JSON", "UNKNOWN_TYPE")


class ServerFailure(RuntimeError):
    """Error for a failure of the server, or of the connection to it: a fault of the machinery, not of the player."""


class OpenEnvClient(gym.Env[str, str]):
    """Gymnasium environment over one connection to a server; see `connect`."""

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        url: str,
        token: str | None,
        seconds: float,
        show: Callable[[Mapping[str, Any]], str],
        write: Callable[[str], Mapping[str, Any]] | None,
    ):
        self.url, self._seconds, self._show = url, seconds, show
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._write = write or _writer(self._get_schema())
        self.observation_space, self.action_space = Unicode(_MOST), Unicode(_MOST)
        self._socket: Any = None
        self._about: dict[str, Any] = {}
        self._running = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: sent to the server, whose environment may use it.
            options: further arguments of the server's reset.

        Raises:
            InputError: the server refuses the reset.
            ServerFailure: the server cannot be reached, is full, or fails.
        """
        super().reset(seed=seed)
        self._running = False
        message = {"type": "reset", "data": {**(options or {}), **({} if seed is None else {"seed": seed})}}
        was_open = self._socket is not None
        try:
            kind, found = self._ask(message)
        except ServerFailure as error:
            if not was_open or isinstance(error.__cause__, TimeoutError):
                raise
            kind, found = self._ask(message)  # servers end connections that idle
        if kind == "error":
            if found.get("code") in _REFUSALS:
                raise InputError(f"the server at {self.url} refuses the reset: {_message(found)}")
            self._leave()
            raise ServerFailure(f"the server at {self.url} fails in the reset: {_message(found)}")
        self._running = True
        state = self._state()
        difficulty = state.get("difficulty")
        self._about = {
            "task_id": str(state.get("task_id") or state.get("episode_id") or ""),
            "params": state.get("params") or {},
            "difficulty": difficulty if isinstance(difficulty, int | float) else None,
        }
        return self._show(found.get("observation") or {}), copy.deepcopy(self._about)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if not self._running:
            raise gym.error.ResetNeeded("no episode is running; call reset first.")
        try:
            if not self.action_space.contains(action):
                raise InputError(f"an action is a text of at most {_MOST:,} characters.")
            message = {"type": "step", "data": dict(self._write(action))}
            kind, found = self._ask(message)
        except InputError as error:
            return "", 0.0, False, False, self._step_info({}, 0.0, str(error))
        except ServerFailure as error:
            return self._fail(str(error))
        if kind == "error":
            if found.get("code") in _REFUSALS:
                return "", 0.0, False, False, self._step_info({}, 0.0, _message(found))
            return self._fail(_message(found))
        observation = found.get("observation") or {}
        reward, done = _read_reward(found.get("reward")), bool(found.get("done"))
        if reward is None:
            return self._fail(f"the reward {shorten(repr(found.get('reward')))} is no number.")
        truncated = done and bool(observation.get("truncated")) and not observation.get("terminated")
        self._running = not done
        # A missing reward may mean that the machinery failed; only the state says so.
        state = self._state() if done or found.get("reward") is None else {}
        info = self._step_info(state, reward, observation.get("action_error"))
        if state.get("reward_valid") is False:
            info["reward_valid"] = False
        return self._show(observation), reward, done and not truncated, truncated, info

    def close(self) -> None:
        self._running = False
        if self._socket is not None:
            with contextlib.suppress(Exception):
                self._socket.send(json.dumps({"type": "close"}))
        self._leave()

    def _leave(self) -> None:
        """Close the connection at once, so that a late answer is not mistaken for the answer to another message."""
        socket, self._socket = self._socket, None
        if socket is not None:
            with contextlib.suppress(Exception):
                socket.close()

    def _fail(self, why: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self._running = False
        self._leave()
        return "", 0.0, False, True, {**self._step_info({}, 0.0, why), "reward_valid": False}

    def _step_info(self, state: Mapping[str, Any], reward: float, error: str | None) -> dict[str, Any]:
        known = {name: state[name] for name in ("is_success", "progress") if state.get(name) is not None}
        terms = {"server": reward}
        return {
            **copy.deepcopy(self._about),
            **known,
            "reward_terms": terms,
            "reward_valid": True,
            "action_error": error,
        }

    def _state(self) -> dict[str, Any]:
        try:
            kind, found = self._ask({"type": "state"})
        except ServerFailure:
            return {}
        return dict(found) if kind == "state" else {}

    def _ask(self, message: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Send a message, over a new connection if none is open; return the type and the data of the answer."""
        from websockets.exceptions import ConnectionClosed, WebSocketException
        from websockets.sync.client import connect as open_socket

        try:
            if self._socket is None:
                parts = urlsplit(self.url)
                scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
                address = urlunsplit((scheme, parts.netloc, parts.path.rstrip("/") + "/ws", "", ""))
                options: dict[str, Any] = {"open_timeout": self._seconds, "close_timeout": 1.0, "proxy": None}
                options |= {"max_size": _MOST_BYTES, "additional_headers": self._headers}
                self._socket = open_socket(address, **options).__enter__()
            # If the server refused the connection, its reason can still be read after the connection is closed.
            with contextlib.suppress(ConnectionClosed):
                self._socket.send(json.dumps(message))
            answer = json.loads(self._socket.recv(self._seconds))
            return str(answer["type"]), dict(answer.get("data") or {})
        except (OSError, WebSocketException, TimeoutError, ValueError, KeyError, TypeError) as error:
            self._leave()
            said = " ".join(str(error).split()) or type(error).__name__
            raise ServerFailure(f"the server at {self.url} was lost: {said}.") from error
        except BaseException:  # Ctrl-C while an answer is waited for
            self._leave()
            raise

    def _get_schema(self) -> dict[str, Any]:
        parts = urlsplit(self.url)
        scheme = {"ws": "http", "wss": "https"}.get(parts.scheme, parts.scheme)
        address = urlunsplit((scheme, parts.netloc, parts.path.rstrip("/") + "/schema", "", ""))
        try:
            request = urllib.request.Request(address, headers=self._headers)
            with urllib.request.urlopen(request, timeout=self._seconds) as response:
                found = json.load(response)
        except urllib.error.HTTPError as error:
            raise InputError(f"{address} answers {error.code} ({error.reason}); is it an OpenEnv server?") from error
        except (OSError, ValueError) as error:
            raise InputError(f"no OpenEnv server answers at {address}: {error}.") from error
        return found if isinstance(found, dict) else {}


def connect(
    url: str,
    token: str | None = None,
    *,
    seconds: float = 60.0,
    show: Callable[[Mapping[str, Any]], str] | None = None,
    write: Callable[[str], Mapping[str, Any]] | None = None,
) -> OpenEnvClient:
    """Connect to an OpenEnv server and return its environment.

    Args:
        url: address of the server, ``http://``, ``https://``, ``ws://`` or ``wss://``, without ``/ws``.
        token: sent as ``Authorization: Bearer TOKEN``.
        seconds: longest wait for an answer.
        show: converts an observation (a mapping) to text; None takes `show_observation`.
        write: converts a text to the server's action. By default the text becomes the action's only field (the field
            that the server's schema calls "action", or its only required field), or is read as a JSON object with all
            fields.

    Raises:
        MissingExtra: websockets is absent.
        InputError: no OpenEnv server answers at the address.
    """
    with needs_extra("palaestra.integrations.openenv", "serve"):
        import websockets.sync.client  # noqa: F401
    if urlsplit(url).scheme not in ("http", "https", "ws", "wss"):
        raise InputError(f"the address of a server begins with http://, https://, ws:// or wss://, unlike {url!r}.")
    return OpenEnvClient(url, token, seconds, show or show_observation, write)


def show_observation(observation: Mapping[str, Any]) -> str:
    """Convert an observation to text: its entry "text", or else its only text, or else the whole mapping as JSON."""
    if isinstance(observation.get("text"), str):
        return observation["text"]
    rest = {name: value for name, value in observation.items() if name not in ("metadata", "done", "reward")}
    texts = [value for value in rest.values() if isinstance(value, str)]
    return texts[0] if len(rest) == len(texts) == 1 else json.dumps(rest, ensure_ascii=False, indent=1)


def _writer(schema: Mapping[str, Any]) -> Callable[[str], Mapping[str, Any]]:
    action = schema.get("action") or {}
    fields = [name for name in action.get("properties") or {} if name != "metadata"]
    required = [name for name in action.get("required") or [] if name != "metadata"]
    only = (
        "action" if "action" in fields else required[0] if len(required) == 1 else fields[0] if len(fields) == 1 else ""
    )

    def write(text: str) -> Mapping[str, Any]:
        if only:
            return {only: text}
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise InputError(f"an action is a JSON object with {', '.join(fields)}, not {shorten(repr(text))}.")
        return found

    return write


def _read_reward(value: Any) -> float | None:
    """Convert a reward to a finite number; 0 for a missing reward, None if it is not a finite number."""
    if value is not None and not isinstance(value, bool | int | float):
        return None
    try:
        reward = float(value or 0.0)
    except OverflowError:
        return None
    return reward if math.isfinite(reward) else None


def _message(found: Mapping[str, Any]) -> str:
    return str(found.get("message") or found)
