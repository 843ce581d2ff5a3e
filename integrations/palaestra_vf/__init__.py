"""Environments for verifiers (version 1) and projects that read its tasksets, such as prime-rl. This is a separate
module because verifiers takes a taskset's id as the name of a module.

    vf-eval palaestra_vf --env.taskset.env palaestra/Wordle-v0 --env.taskset.n 50 -m MODEL --no-push

It offers one taskset over all ids played in text, the environment that plays them, and a harness for plain
conversations; see `palaestra.integrations.verifiers_taskset`.
"""

from palaestra.integrations.verifiers_harness import ChatHarness  # pyright: ignore[reportMissingImports]
from palaestra.integrations.verifiers_taskset import PalaestraEnv, PalaestraTaskset  # pyright: ignore[reportMissingImports]

__all__ = ["ChatHarness", "PalaestraEnv", "PalaestraTaskset"]
