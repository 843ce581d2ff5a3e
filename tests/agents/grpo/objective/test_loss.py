"""What a loss reports does not depend on how a batch is cut, and ratios are taken against the right log-probabilities.

That no gradient depends on it is tested for every recipe in `test_every_recipe.py`.
"""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.packing import PACKERS
from palaestra.agents.grpo.batch.passes import Passes
from palaestra.agents.grpo.batch.trajectory import Turn
from palaestra.agents.grpo.objective.loss import accumulate_gradients
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES

from ..conftest import group, trajectory  # isort: skip


def test_the_statistics_do_not_depend_on_micro_batches(small, ragged):
    # Trap 8: entropy as a mean of means would.
    model = copy.deepcopy(small.model).double()
    weighted = Objective(RECIPES["dr_grpo"]).rollout_terms.weigh(collate(ragged))
    means = []
    for budget in (1, 10_000):
        means.append(accumulate_gradients(model, weighted, Passes(packer="plain", budget=budget)).means())
    assert means[0].keys() == means[1].keys() >= {"loss", "entropy", "approx_kl", "ess", "clip_fraction"}
    for name, value in means[0].items():
        assert value == pytest.approx(means[1][name], abs=1e-9), name


def gradient_size(model, reward: float, logp: float, **changes) -> float:
    rows = group(
        trajectory(reward, [([5, 6, 7], [50])], [[logp]]), trajectory(1 - reward, [([5, 6, 7], [60])], [[0.0]])
    )
    weighted = Objective(replace(RECIPES["dr_grpo"], **changes)).rollout_terms.weigh(collate([rows]))
    weighted.weight[weighted.batch.episode_of == 1] = 0.0
    model.zero_grad()
    accumulate_gradients(model, weighted, Passes())
    return sum(float(weight.grad.abs().sum()) for weight in model.parameters())


def test_ratios_are_taken_against_the_log_probabilities_of_the_sampler(small):
    # The sampler thought the good action a million times less likely: the ratio is past the clip, so nothing is learned
    # from it; the bad action's ratio is past the clip on the side where learning goes on.
    model = copy.deepcopy(small.model)
    assert gradient_size(model, 1.0, -20.0) == 0.0
    assert gradient_size(model, 0.0, -20.0) > 0.0


def test_with_the_policy_as_the_anchor_the_samplers_gap_is_not_in_the_ratio(small):
    assert gradient_size(copy.deepcopy(small.model), 1.0, -20.0, anchor="policy") > 0.0


@pytest.mark.parametrize("packer", list(PACKERS))
def test_an_episode_of_several_contexts_scores_each_token_in_its_own(small, packer):
    turns = (Turn((5, 6), (7, 8), (-1.0, -1.0), "stop", 0.0), Turn((9, 10), (11,), (-1.0,), "stop", 1.0, fresh=True))
    made = replace(trajectory(1, [([5], [6])]), turns=turns)
    batch = collate([group(made, made, trajectory(0, [([5, 6], [12])]))])
    logp = Passes(packer=packer).measure(small.model, batch).logp[batch.action]

    def alone(ids: list[int], count: int) -> list[float]:
        with torch.no_grad():
            table = small.model(torch.tensor([ids])).logits[0].log_softmax(-1)
        return [float(table[i - 1, ids[i]]) for i in range(len(ids) - count, len(ids))]

    expected = [*alone([5, 6, 7, 8], 2), *alone([9, 10, 11], 1)]
    assert logp.tolist() == pytest.approx([*expected, *expected, *alone([5, 6, 12], 1)], abs=1e-5)


def test_coefficients_carry_any_loss_to_the_weights(small, ragged):
    # sum of coefficient x logp through `backward` is what autograd gives for the same sum.
    model = copy.deepcopy(small.model).double()
    batch = collate(ragged)
    coefficient = torch.linspace(-1, 1, len(batch.ids), dtype=torch.float64) * batch.action
    Passes(budget=50).backward(model, batch, coefficient, entropy=coefficient**2)
    split = torch.cat([weight.grad.flatten() for weight in model.parameters()])
    model.zero_grad()
    (micro,) = Passes(budget=10_000).micro_batches(batch, range(batch.episodes))
    out = Passes().score(model, micro, entropy_grad=True)
    (coefficient[micro.scored] * out.logp + coefficient[micro.scored] ** 2 * out.entropy).sum().backward()
    whole = torch.cat([weight.grad.flatten() for weight in model.parameters()])
    assert (split - whole).abs().max() < 1e-9
    assert whole.abs().max() > 1e-3


def test_rows_that_pad_the_vocabulary_are_neither_sampled_nor_counted(small):
    # Trap 15.
    model = copy.deepcopy(small.model)
    batch = collate([group(trajectory(1, [([5, 6], [7, 8])]))])
    before = Passes(vocabulary=len(small.tokenizer)).measure(model, batch)
    model.resize_token_embeddings(len(small.tokenizer) + 27)
    with torch.no_grad():
        model.get_output_embeddings().weight[-27:] = 3.0
    after = Passes(vocabulary=len(small.tokenizer)).measure(model, batch)
    assert torch.allclose(before.logp, after.logp)
    assert torch.allclose(before.entropy, after.entropy)
    assert not torch.allclose(before.logp, Passes().measure(model, batch).logp)
