import copy

import pytest
import torch
from palaestra.agents.engines.graphs import NoCapture
from palaestra.agents.engines.sampler import Request
from palaestra.agents.engines.torch_engine import TorchEngine
from palaestra.agents.grpo.components.logits import LaggedNucleus, MixedLogits, ShiftedLogits
from palaestra.errors import InputError


@pytest.fixture(scope="module")
def other(small):
    """The same model with other weights."""
    model = copy.deepcopy(small.model)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn(weight.shape, generator=generator) * weight.std())
    return model


def play(language, model, rule=None, capture=None):
    """Answers of two turns in six sessions, three of which begin with a forced token, in four rows."""
    sizes = (language.renderer.stop_ids, len(language.tokenizer), 4, 128)
    engine = TorchEngine(model, *sizes, capture=capture or "auto")
    if rule is not None:
        engine.rule = rule
    found = []
    for turn in range(2):
        for number in range(6):
            ids = language.renderer.observation(f"{number}+2?", first=True) if turn == 0 else [5, 6, 7]
            forced = tuple(language.renderer.action_ids("1")[:1]) if number % 2 else ()
            engine.submit(Request(number, ids, 8, entropies=True, seed=10 * turn + number, forced=forced))
        done = []
        while finished := engine.step():
            done += finished
        found += sorted(done, key=lambda each: each.session)
    return found


def same(one, two):
    return all(a.ids == b.ids and torch.allclose(torch.tensor(a.logps), torch.tensor(b.logps), atol=1e-4)
               and torch.allclose(torch.tensor(a.entropies), torch.tensor(b.entropies), atol=1e-4)
               for a, b in zip(one, two, strict=True))  # fmt: skip


def of(rule, *models):
    rule.models = models
    return rule


def test_rows_of_several_models_are_decoded_together(small, other):
    ours, theirs = play(small, small.model), play(small, other)
    assert not same(ours, theirs)
    assert same(ours, play(small, small.model, of(MixedLogits("", weight=1.0), other)))
    assert same(theirs, play(small, small.model, of(MixedLogits("", weight=0.0), other)))
    assert same(ours, play(small, small.model, of(ShiftedLogits("", ""), other, other)))
    assert same(theirs, play(small, small.model, of(ShiftedLogits("", ""), other, small.model)))
    half = play(small, small.model, of(MixedLogits("", weight=0.5), other))
    assert not same(half, ours)
    assert not same(half, theirs)
    assert same(half, play(small, small.model, of(MixedLogits("", weight=0.5), other), capture=lambda: NoCapture()))


def test_every_sampled_token_lies_in_the_nucleus_of_the_mask_policy(small, other):
    rule = of(LaggedNucleus(top_p=0.3, least=1), other)
    greedy = of(LaggedNucleus(top_p=1e-6, least=1), other)
    for answer in play(small, small.model, greedy):
        forced = answer.session % 2  # a forced token is scored, even outside the mask
        assert max(answer.entropies[forced:]) < 1e-4  # one id is left
    assert not same(play(small, small.model, rule), play(small, small.model))


def test_an_engine_that_cannot_join_logits_says_so(small, tmp_path):
    from palaestra.agents.lookup import find_agent

    small.save(tmp_path / "model")
    with pytest.raises(InputError, match="joins the logits of several models, which 'scripted' does not"):
        find_agent(f"language(model='{tmp_path}/model', engine='scripted', logits=nucleus(top_p=0.5))")
    with pytest.raises(InputError, match="logit rule"):
        find_agent(f"language(model='{tmp_path}/model', logits=nucleous(top_p=0.5))")
    agent = find_agent(f"language(model='{tmp_path}/model', logits=mixed(reference='{tmp_path}/model', weight=3))")
    assert agent.engine.rule.weight == 3
    assert len(agent.engine.rule.models) == 1
