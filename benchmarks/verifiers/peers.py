"""Graders of other projects: a file for `peer_server` that imports nothing of this package.

A request has "grader", "answer" and "reference", and is answered by {"accepted": bool, "error": text or null}.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.metadata
import importlib.util
from collections.abc import Callable

MEMORY = 4 << 30


def math_verify() -> Callable[[str, str], bool]:
    """Return a grader by math-verify's ``parse`` and ``verify``, with both texts boxed as in a model's response."""
    package = importlib.import_module("math_verify")
    parse, verify = package.parse, package.verify
    return lambda answer, reference: bool(verify(parse(box_text(reference)), parse(box_text(answer))))


def gem() -> Callable[[str, str], bool]:
    """Return a grader by GEM's reward function for boxed answers, in the thorough mode of its mathematics
    environments."""
    reward = importlib.import_module("gem.utils.math_grader").boxed_reward_fn
    return lambda answer, reference: reward(box_text(answer), reference, fast=False)[1] == 1.0


def reasoning_gym() -> Callable[[str, str], bool]:
    """Return a grader by reasoning-gym's general scorer; a full score counts as accepted."""
    score = getattr(importlib.import_module("reasoning_gym"), "cascade_score", None)
    if score is not None:
        return lambda answer, reference: score(answer=answer, expected=reference) >= 1.0
    # Scorer of numbers in versions up to 0.1.23.
    reward = importlib.import_module("reasoning_gym.utils").compute_decimal_reward
    return lambda answer, reference: reward(answer, reference) >= 1.0


# Name -> (distribution, module, function that makes the grader).
GRADERS: dict[str, tuple[str, str, Callable[[], Callable[[str, str], bool]]]] = {
    "math-verify": ("math-verify", "math_verify", math_verify),
    "gem": ("gem-llm", "gem", gem),
    "reasoning-gym": ("reasoning-gym", "reasoning_gym", reasoning_gym),
}


def box_text(text: str) -> str:
    return f"\\boxed{{{text}}}"


def find_installed() -> dict[str, str]:
    """Return the graders whose package is installed here, with its version."""
    found: dict[str, str] = {}
    for name, (distribution, module, _) in GRADERS.items():
        with contextlib.suppress(importlib.metadata.PackageNotFoundError, ImportError, ValueError):
            if importlib.util.find_spec(module) is not None:
                found[name] = importlib.metadata.version(distribution)
    return found


@functools.cache
def load_grader(name: str) -> Callable[[str, str], bool]:
    """Import a grader, and limit the memory of this process."""
    with contextlib.suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    return GRADERS[name][2]()


def answer(grader: str, answer: str, reference: str) -> dict[str, bool | str | None]:
    try:
        return {"accepted": bool(load_grader(grader)(answer, reference)), "error": None}
    # Catch SystemExit, too, and errors of peers that are no Exception.
    except BaseException as raised:
        return {"accepted": False, "error": f"{type(raised).__name__}: {raised}"[:200]}
