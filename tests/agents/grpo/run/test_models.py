"""The policy of a run: what a checkpoint gives back is what was trained."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import torch
from palaestra.agents.grpo.config import TrainConfig
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.run.folder import RunFolder
from palaestra.agents.grpo.run.models import load_policy
from palaestra.agents.grpo.settings import WarmUp
from palaestra.agents.language import chat_options
from palaestra.agents.language.attention import attend_causally
from palaestra.agents.language.decoder import hidden_states
from palaestra.agents.language.language_agent import load_run_model
from palaestra.agents.language.model import LanguageModel
from palaestra.agents.language.tiny import TinyShape, tiny_model
from palaestra.agents.language.tokenizer import FEWEST_TOKENS, learned_tokenizer
from palaestra.errors import InputError
from palaestra.scripts.cli import main
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_policy_computes_the_same_after_it_was_saved_and_loaded(dtype, tmp_path):
    config = TrainConfig(dtype=dtype, device="cpu")
    begun = load_policy(config)
    begun.save(tmp_path)
    resumed = load_policy(config, tmp_path)
    ids = torch.arange(5, 85).tile(4)
    place = torch.arange(len(ids))
    with torch.no_grad():
        first, second = (hidden_states(x.model, ids, place, attend_causally([len(ids)])) for x in (begun, resumed))
    assert first.dtype == getattr(torch, dtype)
    assert torch.equal(first, second)


def test_half_precision_weights_leave_rotary_frequencies_as_they_are():
    model = load_policy(TrainConfig(dtype="bfloat16", device="cpu")).model
    assert {weight.dtype for weight in model.parameters()} == {torch.bfloat16}
    assert {buffer.dtype for buffer in model.buffers()} == {torch.float32}


class Day:
    """``datetime``, on a day."""

    def __init__(self, day: int):
        self._day = day

    def now(self) -> datetime:
        return datetime(2026, 1, self._day)

    fromisoformat = staticmethod(datetime.fromisoformat)


@pytest.fixture
def dated(tmp_path: Path) -> Path:
    """The folder of a small model whose chat template writes the date, and can leave thoughts out."""
    tokenizer = learned_tokenizer(["Today's Date: January 05, 2026.\n"], FEWEST_TOKENS)
    core = json.loads(tokenizer.backend_tokenizer.to_str().replace("<obs>", "<user>").replace("<act>", "<model>"))
    renamed = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(core)), eos_token="<end>", pad_token="<pad>"
    )
    renamed.chat_template = (
        "Day {{ strftime_now('%d') }}\n{% for m in messages %}<user>{{ m.content }}<end>{% endfor %}"
        "{% if add_generation_prompt and not quick %}<model>{% endif %}"
    )
    shape = TinyShape(hidden=32, layers=1, heads=4, kv_heads=2, head_dim=8, intermediate=48, context=512)
    LanguageModel.of(*tiny_model(0, shape, renamed)).save(tmp_path / "model")
    return tmp_path / "model"


def first_tokens(language: LanguageModel) -> str:
    return language.tokenizer.decode(language.renderer.observation("", first=True))


def test_a_run_keeps_the_day_of_its_start_and_its_options_of_the_chat_template(dated, tmp_path, monkeypatch):
    few: dict[str, Any] = {
        "steps": 1,
        "prompts": 1,
        "samples": 2,
        "final_episodes": 1,
        "max_new_tokens": 2,
        "track": (),
    }
    config = TrainConfig(model=str(dated), warmup=WarmUp(steps=0), chat_options={"quick": True}, threads=1, **few)
    run = tmp_path / "run"
    monkeypatch.setattr(chat_options, "datetime", Day(5))
    begun = Learner.start(run, config)
    assert first_tokens(begun.language) == "Day 05\n<user><end>"
    begun.run()
    begun.close()
    monkeypatch.setattr(chat_options, "datetime", Day(6))
    kept = {"quick": True, "date": "2026-01-05"}
    for expected in (None, replace(config, steps=2)):
        resumed = Learner.resume(run, expected)
        assert first_tokens(resumed.language) == "Day 05\n<user><end>"
        assert RunFolder.reopen(run)[1].chat_options == kept
        resumed.close()
    with pytest.raises(InputError, match="chat_options"):
        Learner.resume(run, replace(config, chat_options={}))
    assert first_tokens(load_run_model(run)) == "Day 05\n<user><end>"
    other = load_run_model(run, chat_options={"date": "2026-01-09", "quick": False})
    assert first_tokens(other) == "Day 09\n<user><end><model>"
    assert first_tokens(load_run_model(dated)) == "Day 06\n<user><end><model>"
    assert main(["export", str(run), "--out", str(tmp_path / "out")]) == 0
    assert first_tokens(LanguageModel.load(tmp_path / "out")) == "Day 06\n<user><end>"


def test_an_option_that_the_chat_template_does_not_read_is_refused_by_the_commands(dated, tmp_path, capsys):
    option = ["--chat-option", "quick=true", "thinking=true"]
    for command in (
        ["export", str(dated), "--out", str(tmp_path / "out")],
        ["eval", "palaestra/Arithmetic-v0", "--agent", str(dated)],
        ["train", "--model", str(dated), "--warmup.steps", "0", "--out", str(tmp_path / "run")],
    ):
        assert main([*command, *option]) != 0
        assert "no option 'thinking' (it reads date, quick)" in " ".join(capsys.readouterr().err.split())
        assert not list(tmp_path.glob("[or]u*"))


def test_the_tiny_model_takes_no_options_of_a_chat_template():
    with pytest.raises(InputError, match="'tiny' has no chat template"):
        TrainConfig(chat_options={"enable_thinking": False})


@pytest.mark.parametrize("vocabulary", [0, 300])
def test_a_policy_is_saved_to_the_same_bytes_after_it_was_loaded(vocabulary, tmp_path):
    config = TrainConfig(device="cpu", vocabulary=vocabulary)
    load_policy(config, texts=["one and two are three"] * 9).save(tmp_path / "first")
    load_policy(config, tmp_path / "first").save(tmp_path / "second")
    first, second = ({file.name: file.read_bytes() for file in (tmp_path / x).iterdir()} for x in ("first", "second"))
    assert first == second
