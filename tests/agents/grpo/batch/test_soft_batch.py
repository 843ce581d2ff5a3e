"""Soft tokens in the learner, against the model's own forward pass on mixed embeddings and against the engine."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest
import torch
from palaestra.agents.engines.sampler import Request
from palaestra.agents.engines.soft_thinking import SoftThinking
from palaestra.agents.engines.torch_engine import TorchEngine
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.packing import PACKERS
from palaestra.agents.grpo.batch.passes import Passes
from palaestra.agents.grpo.batch.trajectory import Origin, Turn, group_from_json, group_to_json
from palaestra.agents.language.decoder import has_own_forward
from palaestra.agents.language.soft_tokens import SoftToken, gumbel_logp

from ..conftest import group, trajectory  # isort: skip
from ..thoughts import with_thoughts  # isort: skip


@pytest.fixture(scope="module")
def thoughtful(ragged):
    return with_thoughts(ragged)


def by_hand(model, episode, temperature: float):
    """Scores of an episode's action tokens by the model's own forward pass: the formula, token by token."""
    table = model.get_input_embeddings()
    ids, inputs, targets = [], [], []
    for turn in episode.turns:
        soft = [*turn.thought, *[None] * (len(turn.act_ids) - len(turn.thought))]
        ids += [*turn.obs_ids, *turn.act_ids]
        targets += [*[None] * len(turn.obs_ids), *zip(turn.act_ids, soft, strict=True)]
    for i, target in zip(ids, targets, strict=True):
        token = SoftToken((i,), (1.0,), ()) if target is None or target[1] is None else target[1]
        weights = torch.tensor(token.weights, dtype=torch.float32).to(table.weight.dtype)
        inputs.append(weights @ table(torch.tensor(token.ids)))
    logps = (model(inputs_embeds=torch.stack(inputs)[None]).logits[0] / temperature).log_softmax(-1)
    found = []
    for place, target in enumerate(targets):
        if target is not None and target[1] is not None:
            among = logps[place - 1, list(target[1].ids)].log_softmax(-1)[: len(target[1].values)]
            noise = torch.tensor(target[1].values) - among
            found.append((-noise - (-noise).exp()).mean())
        elif target is not None:
            found.append(logps[place - 1, target[0]])
    return torch.stack(found)


@pytest.mark.parametrize("own", [True, False])
def test_scores_and_gradients_are_those_of_the_models_own_pass_however_the_batch_is_packed(own, small, thoughtful):
    model, batch = copy.deepcopy(small.model).double(), collate(thoughtful)
    if not own:
        model.config.hidden_act = "gelu"
        for layer in model.model.layers:
            layer.mlp.act_fn = torch.nn.GELU()
    assert has_own_forward(model) == own
    assert batch.soft is not None
    slope = torch.cos(torch.arange(len(batch.ids)).double())
    expected = torch.cat([by_hand(model, t, 0.7) for t in batch.trajectories])
    (slope[batch.action] * expected).sum().backward()
    gradient = {name: weight.grad.clone() for name, weight in model.named_parameters()}
    plain = Passes(temperature=0.7).measure(model, replace(batch, soft=None)).logp[batch.action]
    assert (plain - expected.detach()).abs().max() > 0.1
    for packer in PACKERS:
        for budget in (40, 10_000):
            passes = Passes(packer, budget, 0.7)
            found = passes.measure(model, batch).logp[batch.action]
            assert torch.allclose(found, expected.detach(), atol=1e-6)
            model.zero_grad()
            passes.backward(model, batch, slope * batch.action)
            for name, weight in model.named_parameters():
                assert torch.allclose(weight.grad, gradient[name], atol=1e-5), (name, packer, budget)


def test_the_density_has_the_slope_of_its_formula_and_ignores_what_does_not_count():
    values = torch.tensor([[0.4, -2.0, 0.0, 0.0]], dtype=torch.float64)
    logps = torch.tensor([[-0.2, -2.5, -4.0, -torch.inf]], dtype=torch.float64, requires_grad=True)
    kept = torch.tensor([[True, True, False, False]])
    score = gumbel_logp(values, logps, kept)
    noise = [0.6, 0.5]
    assert score.item() == pytest.approx(sum(-n - torch.tensor(-n).exp().item() for n in noise) / 2)
    (gradient,) = torch.autograd.grad(score.sum(), logps)
    slopes = [(1 - torch.tensor(-n).exp().item()) / 2 for n in noise]
    assert gradient.tolist() == [pytest.approx([*slopes, 0.0, 0.0])]


def test_at_the_sampling_policy_the_learner_finds_the_engines_scores(small):
    thinking, renderer = SoftThinking(temperature=0.5, tokens=4), small.renderer
    engine = TorchEngine(small.model, renderer.stop_ids, len(small.tokenizer), 4, 128)
    engine.thinking = thinking
    turns: list[list[Turn]] = [[] for _ in range(6)]
    for turn in range(2):
        asked = [renderer.observation(f"{number // 2}+2?", first=turn == 0) for number in range(6)]
        for number, ids in enumerate(asked):
            engine.submit(Request(number, ids, 9, 1.3, seed=10 * turn + number, thinks=number != 5))
        while done := engine.step():
            for c in done:
                one = Turn(asked[c.session], c.ids, c.logps, c.finish, 0.0, thought=c.thought)
                turns[c.session].append(one)
    assert {len(turn.thought) for own in turns for turn in own} == {0, 4}
    played = [replace(trajectory(1.0, [([5], [6])]), turns=tuple(own)) for own in turns]
    batch = collate([group(*played[i : i + 2]) for i in (0, 2, 4)])
    for packer in PACKERS:
        found = Passes(packer, 60, 1.3).measure(small.model, batch).logp
        ratio = (found - batch.logp_mu)[batch.action].exp()
        assert torch.allclose(ratio, torch.ones_like(ratio), atol=1e-4)
    with torch.no_grad():
        moved = copy.deepcopy(small.model)
        moved.model.embed_tokens.weight.mul_(1.1)  # the mixtures are made of the current table
    changed = Passes(temperature=1.3).measure(moved, batch).logp
    assert (changed - batch.logp_mu)[batch.action].abs().max() > 1e-2


def test_thoughts_are_saved_exactly_and_other_turns_as_before(thoughtful, ragged):
    for groups in (thoughtful, ragged):
        assert [group_from_json(json.loads(json.dumps(group_to_json(g)))) for g in groups] == groups
    plain = group_to_json(ragged[0])["trajectories"][0]["turns"][0]
    assert "thought" not in plain
    assert collate(ragged).soft is None
    turn = next(turn for t in thoughtful[0].trajectories for turn in t.turns if turn.thought)
    assert turn.attributed_to(Origin.TEACHER).thought == ()
    with pytest.raises(ValueError, match="soft tokens"):
        replace(turn, thought=turn.thought * 9)
