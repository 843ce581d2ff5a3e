"""Judging as a task: solutions to questions of other families, right ones and spoilt ones, and a verdict to give.

env = gym.make("palaestra/JudgePairs-v0", of=["palaestra/Arithmetic-v0", "palaestra/Sequences-v0"], error="subtle")

`flaws` spoils a worked solution, so that the truth is known; `presentation` writes solutions so that neither place nor
length nor layout tells which one is right; `judging.Judging` is the base of the families; `shortcuts` measures judges
who look at nothing but place, length or layout.
"""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
