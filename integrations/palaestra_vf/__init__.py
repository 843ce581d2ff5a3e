"""Environments for verifiers (version 1) and what reads its tasksets, such as prime-rl: a module of its own, since
verifiers takes a taskset's id for the name of a module.

    vf-eval palaestra_vf --env.taskset.env palaestra/Wordle-v0 --env.taskset.n 50 -m MODEL --no-push

It has one taskset over all ids played in text, the environment that plays them, and a harness that sends the model's
turns from this process; see `palaestra_vf.taskset`.
"""

from .harness import ChatHarness
from .taskset import PalaestraEnv, PalaestraTaskset

__all__ = ["ChatHarness", "PalaestraEnv", "PalaestraTaskset"]
