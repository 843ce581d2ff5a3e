"""Truncated distributions, against those of transformers, and in an engine."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from palaestra.agents import LanguageAgent
from palaestra.agents.engines.sampler import Request
from palaestra.agents.engines.truncation import Truncation, read_generation_config, truncate
from palaestra.errors import InputError


def logits_of(probabilities: list[float]) -> torch.Tensor:
    return torch.tensor([probabilities], dtype=torch.float64).log()


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({}, [0, 1, 2, 3]),
        ({"top_k": 0}, [0, 1, 2, 3]),
        ({"top_k": 2}, [0, 2]),
        ({"top_k": 9}, [0, 1, 2, 3]),
        ({"top_p": 1.0}, [0, 1, 2, 3]),
        ({"top_p": 0.41}, [0, 2]),  # 0.4 alone is below 0.41
        ({"top_p": 0.39}, [2]),
        ({"top_p": 0.001}, [2]),
        ({"min_p": 0.6}, [0, 2]),  # at least 0.24
        ({"min_p": 1.0}, [2]),
        ({"top_k": 3, "top_p": 0.75}, [0, 2]),  # of 0.9 that are left, 0.7 is 0.78
    ],
)
def test_the_ids_that_stay_are_those_of_the_definitions(settings, kept):
    cut = truncate(logits_of([0.3, 0.2, 0.4, 0.1]), Truncation(**settings))
    assert cut.isfinite()[0].nonzero()[:, 0].tolist() == kept
    assert bool(Truncation(**settings)) == (len(kept) < 4 or settings.get("top_k") == 9)


@pytest.mark.parametrize(
    "settings",
    [{"top_k": 7}, {"top_p": 0.9}, {"top_p": 0.3}, {"min_p": 0.05}, {"top_k": 20, "top_p": 0.8, "min_p": 0.1}],
)
@pytest.mark.parametrize("temperature", [0.6, 1.0, 1.7])
def test_what_stays_is_what_transformers_keeps(settings, temperature):
    from transformers.generation.logits_process import (
        MinPLogitsWarper,
        TemperatureLogitsWarper,
        TopKLogitsWarper,
        TopPLogitsWarper,
    )

    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn((16, 60), generator=generator, dtype=torch.float64)
    theirs = (
        TemperatureLogitsWarper(temperature)(torch.zeros((1, 1), dtype=torch.long), logits)
        if temperature != 1
        else logits
    )
    for name, warper in {"top_k": TopKLogitsWarper, "top_p": TopPLogitsWarper, "min_p": MinPLogitsWarper}.items():
        if name in settings:
            theirs = warper(settings[name])(torch.zeros((1, 1), dtype=torch.long), theirs)
    ours = truncate(logits / temperature, Truncation(**settings))
    assert torch.equal(ours.isfinite(), theirs.isfinite())
    torch.testing.assert_close(ours.softmax(-1), theirs.softmax(-1))


@pytest.mark.parametrize("settings", [{"top_k": -1}, {"top_k": 1.5}, {"top_p": 0}, {"top_p": 1.1}, {"min_p": -0.1}])
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        Truncation(**settings)


def sampled(language: Any, truncation: Truncation | None, temperature: float = 3.0) -> list[tuple[Any, list[Any]]]:
    """The tokens of four answers, each with the ids that are as likely or likelier."""
    engine = language.engine(slots=4, max_length=64)
    engine.truncation = truncation
    ids = language.renderer.observation("1+1", first=True)
    for session in range(4):
        engine.submit(Request(session, ids, 12, temperature, seed=session))
    done = []
    while found := engine.step():
        done += found
    ranked = []
    for completion in done:
        with torch.no_grad():
            logits = language.model(torch.tensor([[*ids, *completion.ids]])).logits[0, len(ids) - 1 : -1]
        for token, row in zip(completion.ids, logits, strict=True):
            ranked.append((token, (row >= row[token]).nonzero()[:, 0].tolist()))
    return ranked


def test_an_engine_draws_only_what_stays(small):
    assert max(len(likelier) for _, likelier in sampled(small, None)) > 3
    assert max(len(likelier) for _, likelier in sampled(small, Truncation(top_k=3))) <= 3
    assert {len(likelier) for _, likelier in sampled(small, Truncation(top_p=1e-6))} == {1}


def test_an_agent_takes_the_settings_that_it_is_given_or_those_of_the_model(small, monkeypatch):
    from transformers import GenerationConfig

    agent = LanguageAgent(small, top_p=0.9, top_k=5, slots=1)
    assert agent._engine.truncation == Truncation(top_k=5, top_p=0.9)
    assert LanguageAgent(small, slots=1)._engine.truncation is None
    own = GenerationConfig(do_sample=True, temperature=0.7, top_p=0.8, top_k=20)
    monkeypatch.setattr(small.model, "generation_config", own)
    agent = LanguageAgent(small, sampling="model", top_k=4, slots=1)
    assert agent._engine.truncation == Truncation(top_k=4, top_p=0.8)
    assert agent._temperature == 0.7
    assert LanguageAgent(small, sampling="model", temperature=0.5, slots=1)._temperature == 0.5
    assert LanguageAgent(small, slots=1)._temperature == 1.0
    with pytest.raises(InputError, match="sampling is 'model'"):
        LanguageAgent(small, sampling="own")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="top_p needs an engine that leaves unlikely tokens out"):
        LanguageAgent(small, top_p=0.5, engine="ray")


def test_a_generation_config_is_read_as_transformers_reads_it():
    from transformers import GenerationConfig

    assert read_generation_config(GenerationConfig()) == (0.0, {})
    assert read_generation_config(GenerationConfig(do_sample=True)) == (1.0, {})
    named = GenerationConfig(do_sample=True, temperature=0.6, top_k=20, top_p=0.95, min_p=0.0, repetition_penalty=1.0)
    assert read_generation_config(named) == (0.6, {"top_k": 20, "top_p": 0.95, "min_p": 0.0})
    for unknown in ({"repetition_penalty": 1.05}, {"num_beams": 4}, {"typical_p": 0.2}):
        with pytest.raises(InputError, match=next(iter(unknown))):
            read_generation_config(GenerationConfig(do_sample=True, **unknown))
    with pytest.raises(InputError, match="no generation config"):
        read_generation_config(None)
