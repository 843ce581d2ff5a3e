"""Environments for verifiers (version 1) and projects that read its tasksets, such as prime-rl.

    vf-eval palaestra_vf --env.taskset.env palaestra/Wordle-v0 --env.taskset.n 50 -m MODEL --no-push

The module offers one taskset over all ids played in text, the environment that plays them, and a harness for plain
conversations; see `palaestra.integrations.verifiers_taskset`. It is a top-level module because verifiers takes a
taskset's id as the name of a module.
"""

from palaestra.integrations.verifiers_harness import ChatHarness  # pyright: ignore[reportMissingImports]
from palaestra.integrations.verifiers_taskset import PalaestraEnv, PalaestraTaskset  # pyright: ignore[reportMissingImports]

__all__ = ["ChatHarness", "PalaestraEnv", "PalaestraTaskset"]
