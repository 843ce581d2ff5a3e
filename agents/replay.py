"""Replays: an episode of any environment as one HTML page that needs no network and no other file.

`ReplayRecorder` wraps an environment and writes a page when an episode ends: observation, action and reward of each
step, with pictures if the environment renders any, and web sites as they look (`draw_html`, in a frame without
scripts). Text of the environment and the agent is escaped; the page's
content-security policy forbids network requests and all scripts but the page's own.
"""

from __future__ import annotations

import base64
import io
import itertools
import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from ..errors import MissingExtra, needs_extra, shorten
from .atomic import write_atomically
from .pages import hash_source, render

_LONGEST = 100_000
"""Longest part of an observation, action or value that is shown, in characters."""
_TOLD = ("reward_terms", "action_error", "feedback", "progress", "is_success", "reward_valid", "fresh")
"""Keys of ``info`` that the page shows separately; ``info["extras"]``, which agents do not see, is left out."""


class ReplayRecorder(gym.Wrapper[Any, Any, Any, Any]):
    """Wrapper that writes every episode as a page, ``folder/episode-0003-success.html``. An episode that a reset or
    ``close`` cuts off is named "unfinished".

    Args:
        env: any environment; pictures come from the render mode "rgb_array".
        folder: output folder, created if missing.
        title: name of the agent, shown on each page.
        numbers: iterator of episode numbers, advanced at each reset; None counts from 0.

    Raises:
        MissingExtra: jinja2 is not installed, or the environment renders pictures and pillow is not installed.
    """

    def __init__(
        self, env: gym.Env[Any, Any], folder: str | Path, title: str = "", numbers: Iterator[int] | None = None
    ):
        super().__init__(env)
        with needs_extra("a replay", "render"):
            import jinja2  # noqa: F401
        if env.render_mode == "rgb_array":
            with needs_extra("pictures in a replay", "render"):
                import PIL  # noqa: F401
        self.folder, self.title = Path(folder), title
        self._numbers = itertools.count() if numbers is None else numbers
        self._number, self._seed = -1, None
        self._task: dict[str, Any] = {}
        self._steps: list[dict[str, Any]] = []
        self._page: Path | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.finish()
        observation, info = self.env.reset(seed=seed, options=options)
        self._page = None
        self._number, self._seed = next(self._numbers), seed
        self._task = {name: info[name] for name in ("task_id", "difficulty", "params") if name in info}
        self._steps = [self._see(observation, {})]
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        # Before the step, as the names of actions may depend on the state.
        said = show_value(name_action(self.env.unwrapped, action))
        self._steps[-1]["page"] = self._draw_page(action)
        result = self.env.step(action)
        observation, reward, terminated, truncated, info = result
        self._steps[-1] |= {
            "action": said,
            "reward": float(reward),
            "terms": {name: float(value) for name, value in (info.get("reward_terms") or {}).items()},
            "error": info.get("action_error"),
            "feedback": str(info.get("feedback") or ""),
            "progress": info.get("progress"),
            "info": {name: show_value(info[name]) for name in info if name not in (*_TOLD, *self._task, "extras")},
        }
        self._steps.append(self._see(observation, info))
        if terminated or truncated:
            success = info.get("is_success")
            outcome = "ended" if success is None else "success" if success else "failure"
            outcome = outcome if info.get("reward_valid", True) else "invalid"
            self._write(outcome, bool(truncated and not terminated))
        return result

    def finish(self) -> str | None:
        """Write the page of an episode that has not ended, if there is one. Return the path of the newest episode's
        page; None if that episode has no action yet."""
        self._write("unfinished")
        return None if self._page is None else str(self._page)

    def close(self) -> None:
        self.finish()
        super().close()

    def _see(self, observation: Any, info: Mapping[str, Any]) -> dict[str, Any]:
        picture = draw_png(self.env.render()) if self.env.render_mode == "rgb_array" else ""
        return {"seen": show_value(observation), "picture": picture, "fresh": bool(info.get("fresh")), "page": ""}

    def _draw_page(self, action: Any) -> str:
        """Return the page of a site, with the control of an action marked; "" in environments without such pages."""
        draw = getattr(self.env.unwrapped, "draw_html", None)
        return "" if draw is None else draw(action)

    def _write(self, outcome: str, truncated: bool = False) -> None:
        """Write the page of the episode if it has at least one action, and clear the recorded steps."""
        steps, self._steps = self._steps, []
        if len(steps) < 2:
            return
        # The other steps have their pages from before their actions.
        steps[-1]["page"] = self._draw_page(None)
        name = self.env.spec.id if self.env.spec else type(self.env.unwrapped).__name__
        facts = {"agent": self.title, "seed": self._seed, **self._task}
        page = make_page(name, facts, steps, outcome, truncated)
        self._page = write_atomically(self.folder / f"episode-{self._number:04d}-{outcome}.html", page)


def make_page(
    name: str, facts: Mapping[str, Any], steps: list[dict[str, Any]], outcome: str, truncated: bool = False
) -> str:
    """Make the page of an episode.

    Args:
        name: name of the environment.
        facts: properties of the task and the agent, in order; values that are None or "" are left out.
        steps: steps in order, as `ReplayRecorder` records them; the last one has no action.
        outcome: "success", "failure", "invalid" (the reward could not be computed), "ended" (success not reported) or
            "unfinished".
        truncated: True if a limit ended the episode.
    """
    source = files(__package__ or __name__)
    script = source.joinpath("replay.js").read_text(encoding="utf-8")
    return render(
        source.joinpath("replay.html"),
        "a replay",
        name=name,
        facts={key: show_value(value) for key, value in facts.items() if value is not None and value != ""},
        steps=steps,
        outcome=outcome,
        truncated=truncated,
        total=sum(step.get("reward", 0.0) for step in steps),
        script=script,
        digest=hash_source(script),
    )


def show_value(value: Any) -> str:
    """Return a value as text for a page: mappings as ``key=value``, large arrays as dtype and shape, the rest as JSON
    (or, failing that, repr), cut to 100,000 characters."""
    if isinstance(value, str):
        return shorten(value, _LONGEST)
    if isinstance(value, np.ndarray) and value.size > 400:
        return f"array of {value.dtype}, {' × '.join(map(str, value.shape))}"
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={show_value(item)}" for key, item in value.items())
    try:
        return shorten(json.dumps(value, ensure_ascii=False), _LONGEST)
    except (TypeError, ValueError):
        return shorten(repr(value), _LONGEST)


def name_action(inner: Any, action: Any) -> Any:
    """Return the name of a numbered action if the environment has an enumeration ``actions`` (that of gridworlds needs
    MiniGrid); else the action."""
    try:
        names = getattr(inner, "actions", None)
        return action if isinstance(action, str) or names is None else names(action).name
    except (TypeError, ValueError, AttributeError, MissingExtra):
        return action


def draw_png(picture: Any) -> str:
    """Encode a picture, uint8[height, width, 3], as PNG in base64."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(np.asarray(picture, dtype=np.uint8)).save(buffer, format="PNG", optimize=True)
    return base64.b64encode(buffer.getvalue()).decode()
