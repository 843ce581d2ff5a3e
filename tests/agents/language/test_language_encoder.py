"""Encoder of reward models by a language model."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from palaestra.agents.language.language_encoder import LanguageEncoder
from palaestra.rewards.models import Preference, RewardModel


def encoder(small: Any, **options: Any) -> LanguageEncoder:
    body = copy.deepcopy(small.model.base_model)
    return LanguageEncoder(body, small.tokenizer.backend_tokenizer, **options)


def test_texts_beside_a_text_and_what_it_holds_of_special_tokens_do_not_change_it(small: Any):
    made = encoder(small)
    alone = made.encode(["7 + 5"])
    beside = made.encode(["7 + 5", "a much longer text than that", "\ud800"])
    assert torch.allclose(alone[0], beside[0], atol=1e-5)
    assert beside.shape == (3, made.dim)
    assert not torch.allclose(made.encode(["<end>"]), made.encode(["e"]), atol=1e-3)
    row = made._tokenizer.encode("<end>", add_special_tokens=False)
    assert len(row.ids) == len("<end>")


def test_the_last_tokens_of_a_long_text_are_read(small: Any):
    made = encoder(small, context=4)
    assert torch.equal(made.encode(["xxxx1234"]), made.encode(["yy1234"]))


def test_a_frozen_body_has_no_gradient_and_the_head_learns(small: Any):
    model = RewardModel(encoder(small, frozen=True), hidden=8)
    before = copy.deepcopy(model.encoder.body.state_dict())
    model.fit([Preference("p", "red", "cat")], epochs=8, learning_rate=0.01)
    assert all(torch.equal(before[name], value) for name, value in model.encoder.body.state_dict().items())
    assert all(weight.grad is None for weight in model.encoder.parameters())
    assert model.accuracy([Preference("p", "red", "cat")]) == 1.0


def test_a_saved_model_describes_its_own_encoder(small: Any, tmp_path: Path):
    model = RewardModel(encoder(small), hidden=8)
    model.save(tmp_path / "model.safetensors")
    loaded = RewardModel.load(tmp_path / "model.safetensors")
    scores = [one.score(["p", "p"], ["red", "a cat"]) for one in (model, loaded)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)


def test_a_saved_model_loads_where_its_encoder_was_never_imported(small: Any, tmp_path: Path):
    RewardModel(encoder(small)).save(tmp_path / "scorer.safetensors")
    program = (
        "import sys\nfrom palaestra.rewards.models.reward_model import RewardModel\n"
        "assert 'palaestra.agents.language.language_encoder' not in sys.modules\n"
        "print(type(RewardModel.load(sys.argv[1]).encoder).__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "scorer.safetensors")], capture_output=True, text=True
    )
    assert done.stdout.strip() == "LanguageEncoder", done.stderr
