"""``palaestra export`` as it is typed."""

from __future__ import annotations

import pytest
import torch
from palaestra.agents.grpo.run.folder import find_checkpoint
from palaestra.agents.language.model import LanguageModel
from palaestra.scripts.cli import main

QUICK = ["--warmup.steps", "0", "--prompts", "2", "--samples", "8", "--final-episodes", "2", "--threads", "1"]


@pytest.fixture(scope="module")
def runs(small, tmp_path_factory):
    """A run of two steps with adapters, and one without."""
    folder = tmp_path_factory.mktemp("export")
    small.save(folder / "model")
    shaping = ["--shaping", "overlong(cache=8, max_tokens=8)", "--max-new-tokens", "8", "--lr", "0.05"]
    common = ["--model", str(folder / "model"), "--steps", "2", "--lr-warmup", "0", *shaping, *QUICK]
    assert main(["train", *common, "--lora", "2", "--out", str(folder / "lora")]) == 0
    assert main(["train", *common, "--out", str(folder / "plain")]) == 0
    return folder


def logits(model: object) -> torch.Tensor:
    with torch.no_grad():
        return model(torch.arange(5, 15)[None]).logits


def test_merged_adapters_are_a_model_that_transformers_loads_and_that_says_what_the_policy_says(runs, tmp_path, capsys):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    out = tmp_path / "merged"
    assert main(["export", str(runs / "lora"), "--merge", "--out", str(out)]) == 0
    assert capsys.readouterr().out.strip() == str(out)
    assert not (out / "adapter_config.json").exists()
    merged = AutoModelForCausalLM.from_pretrained(out)
    policy = LanguageModel.load(find_checkpoint(runs / "lora"))
    assert torch.allclose(logits(merged), logits(policy.model), atol=1e-5)
    before = LanguageModel.load(runs / "model")
    assert not torch.allclose(logits(merged), logits(before.model), atol=1e-3)
    assert len(AutoTokenizer.from_pretrained(out)) == len(before.tokenizer)


def test_a_policy_without_adapters_is_written_as_it_is_with_merge_or_without(runs, tmp_path):
    newest = (find_checkpoint(runs / "plain") / "model.safetensors").read_bytes()
    for options in ([], ["--merge"]):
        out = tmp_path / f"plain{len(options)}"
        assert main(["export", str(runs / "plain"), "--out", str(out), *options]) == 0
        assert (out / "model.safetensors").read_bytes() == newest
        assert not (out / "optimizer.pt").exists()


def test_the_best_checkpoint_can_be_written_and_the_default_place_is_in_the_run(runs):
    assert main(["export", str(runs / "plain"), "--checkpoint", "best"]) == 0
    best = find_checkpoint(runs / "plain", "best") / "model.safetensors"
    assert (runs / "plain" / "export" / "model.safetensors").read_bytes() == best.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], ["'nowhere'", "folder"]),
        (["RUN", "--out", "RUN"], ["exists and is not empty"]),
        (["RUN", "--checkpoint", "7"], ["'7'", "newest", "best"]),
        (["RUN/model", "--checkpoint", "best"], ["no run", "'best'"]),
    ],
)
def test_bad_input_is_one_sentence(runs, tmp_path, capsys, arguments, words):
    places = {"RUN": str(runs / "plain"), "RUN/model": str(runs / "model")}
    typed = [places.get(word, word) for word in arguments]
    if "--out" not in typed:
        typed += ["--out", str(tmp_path / "never")]
    assert main(["export", *typed]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()[-1:]
    for word in words:
        assert word in line
    assert list(tmp_path.iterdir()) == []


def test_a_blend_has_weights_between_those_of_two_models(runs, tmp_path):
    model, plain = LanguageModel.load(runs / "model").model, LanguageModel.load(find_checkpoint(runs / "plain")).model
    out = tmp_path / "blend"
    command = ["export", str(runs / "plain"), "--blend", str(runs / "model"), "--weight", "0.25", "--out"]
    assert main([*command, str(out)]) == 0
    blended = dict(LanguageModel.load(out).model.named_parameters())
    theirs = dict(model.named_parameters())
    for name, own in plain.named_parameters():
        assert torch.allclose(blended[name], 0.75 * theirs[name] + 0.25 * own, atol=1e-6)
    assert main(["export", str(runs / "lora"), "--blend", str(runs / "model"), "--out", str(tmp_path / "no")]) == 2
    assert not (tmp_path / "no").exists()
