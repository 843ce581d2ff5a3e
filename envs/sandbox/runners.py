"""Registration of the sandbox as the runner of reward and factor programs, which `rewards.design` imports by name."""

from __future__ import annotations

from ...rewards.design.factors import FACTOR_RUNNERS
from ...rewards.design.program_values import RUNNERS

RUNNERS.add("sandbox", f"{__package__}.reward_programs:judge_in_sandbox")
FACTOR_RUNNERS.add("sandbox", f"{__package__}.factor_programs:compute_in_sandbox")
