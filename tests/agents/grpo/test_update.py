"""What an update checks before its first step."""

from __future__ import annotations

import copy

import pytest
from palaestra.agents.grpo.config import TrainConfig
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.agents.grpo.update import Update
from palaestra.errors import InputError


def test_compiling_a_model_that_runs_its_own_code_is_refused(small):
    model = copy.deepcopy(small.model)
    model.config.model_type = "gemma2"
    with pytest.raises(InputError, match="--compile does not reach"):
        Update(TrainConfig(compile=True), Objective(RECIPES["dr_grpo"]), model, None, None)
    assert Update(TrainConfig(compile=True), Objective(RECIPES["dr_grpo"]), small.model, None, None).forward.compile
