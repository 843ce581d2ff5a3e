"""The graders of other projects, one a process: reads pairs from standard input and answers with a verdict a line.

It runs as a plain file under whatever Python has the peer installed, so it imports nothing of this package.

    python -P peers.py --list               the graders installed here, as JSON
    python -P peers.py math-verify          then one {"answer": ..., "reference": ...} a line
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import importlib.util
import json
import sys
import time
from collections.abc import Callable

MEMORY = 4 << 30


def math_verify() -> Callable[[str, str], bool]:
    """parse and verify on both texts as they would stand in a model's response: in a box."""
    package = importlib.import_module("math_verify")
    parse, verify = package.parse, package.verify
    return lambda answer, reference: bool(verify(parse(box_text(reference)), parse(box_text(answer))))


def gem() -> Callable[[str, str], bool]:
    """GEM's reward function for boxed answers, in its thorough mode, which its environments of mathematics use."""
    reward = importlib.import_module("gem.utils.math_grader").boxed_reward_fn
    return lambda answer, reference: reward(box_text(answer), reference, fast=False)[1] == 1.0


def reasoning_gym() -> Callable[[str, str], bool]:
    """reasoning-gym's general scorer; a full score counts as accepted."""
    score = getattr(importlib.import_module("reasoning_gym"), "cascade_score", None)
    if score is not None:
        return lambda answer, reference: score(answer=answer, expected=reference) >= 1.0
    # Scorer of numbers in versions up to 0.1.23.
    reward = importlib.import_module("reasoning_gym.utils").compute_decimal_reward
    return lambda answer, reference: reward(answer, reference) >= 1.0


# Name -> (distribution, module, maker of the grader).
GRADERS: dict[str, tuple[str, str, Callable[[], Callable[[str, str], bool]]]] = {
    "math-verify": ("math-verify", "math_verify", math_verify),
    "gem": ("gem-llm", "gem", gem),
    "reasoning-gym": ("reasoning-gym", "reasoning_gym", reasoning_gym),
}


def box_text(text: str) -> str:
    return f"\\boxed{{{text}}}"


def find_installed() -> dict[str, str]:
    """Graders whose package is here, with its version."""
    found: dict[str, str] = {}
    for name, (distribution, module, _) in GRADERS.items():
        with contextlib.suppress(importlib.metadata.PackageNotFoundError, ImportError, ValueError):
            if importlib.util.find_spec(module) is not None:
                found[name] = importlib.metadata.version(distribution)
    return found


def serve_grader(name: str) -> None:
    """Answer {"accepted", "error", "seconds"} to each line; prints of the grader go to standard error."""
    with contextlib.suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    # Redirect prints of the grader to standard error, so that they do not mix with the verdicts.
    out, sys.stdout = sys.stdout, sys.stderr
    grader = GRADERS[name][2]()
    with contextlib.suppress(Exception):
        # The first call triggers the peer's lazy imports, which must not count for the first row.
        grader("1", "1")
    print(json.dumps({"ready": name}), file=out, flush=True)
    for line in sys.stdin:
        pair = json.loads(line)
        accepted, error = False, None
        start = time.perf_counter()
        try:
            accepted = bool(grader(pair["answer"], pair["reference"]))
        # Also SystemExit and the peers' own errors that are no Exception.
        except BaseException as raised:
            error = f"{type(raised).__name__}: {raised}"[:200]
        print(
            json.dumps({"accepted": accepted, "error": error, "seconds": time.perf_counter() - start}),
            file=out,
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print(json.dumps(find_installed()))
    else:
        serve_grader(sys.argv[1])
