"""Objectives of reward models: their formulas by hand, and that each of them learns to order pairs."""

from __future__ import annotations

import math

import pytest
import torch
from palaestra.errors import InputError
from palaestra.rewards.models.losses import contrast, lead_regression_loss, pointwise_loss, view_contrast_loss
from palaestra.rewards.models.ngram_encoder import NgramEncoder, ReferenceEncoder, with_reference
from palaestra.rewards.models.objectives import META_RATE, OBJECTIVES
from palaestra.rewards.models.preferences import Preference, correct_pairs, preference_strength
from palaestra.rewards.models.reward_model import RewardModel

PAIRS = [
    Preference("Name a colour.", one, two) for one in ("red", "green", "blue") for two in ("seven", "a cat", "nine")
]


def small(seed: int = 0) -> RewardModel:
    torch.manual_seed(seed)
    return RewardModel(NgramEncoder(dim=16, buckets=512), hidden=32, seed=seed)


def test_the_pointwise_loss_is_the_cross_entropy_of_the_log_odds():
    loss = pointwise_loss(torch.tensor([0.0, 2.0, 2.0]), torch.tensor([1.0, 1.0, 0.0]))
    assert loss.tolist() == pytest.approx([math.log(2), math.log(1 + math.exp(-2)), 2 + math.log(1 + math.exp(-2))])


def test_a_lead_equal_to_the_strength_costs_nothing():
    loss = lead_regression_loss(torch.tensor([2.0, 1.0]), torch.tensor([0.5, 1.0]), torch.tensor([1.5, 1.0]))
    assert loss.tolist() == [0.0, 1.0]


def test_two_views_cost_ln_n_if_all_are_equal_and_nothing_if_orthogonal():
    assert float(view_contrast_loss(torch.ones(4, 3), torch.ones(4, 3))) == pytest.approx(math.log(4))
    assert float(view_contrast_loss(torch.eye(3), torch.eye(3))) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("objective", list(OBJECTIVES))
def test_every_objective_learns_the_order_and_is_repeatable(objective: str):
    one, two = small(), small()
    before = torch.random.get_rng_state()
    fits = [model.fit(PAIRS, objective=objective, epochs=40, seed=3) for model in (one, two)]
    assert torch.equal(torch.random.get_rng_state(), before)
    assert fits[0] == fits[1]
    assert fits[0].losses[-1] < fits[0].losses[0]
    assert fits[0].accuracy == 1.0


def test_an_unknown_objective_is_refused():
    with pytest.raises(InputError, match="objective of a reward model"):
        small().fit(PAIRS, objective="hinge")


def test_metas_gradient_is_that_of_the_loss_one_step_up_the_contrast():
    model, other = small(), small()
    OBJECTIVES["meta"](model, PAIRS)
    weights = list(other.parameters())
    step = torch.autograd.grad(contrast(torch.cat(other.score_pairs(PAIRS))), weights, allow_unused=True)
    with torch.no_grad():
        for weight, change in zip(weights, step):
            if change is not None:
                weight += META_RATE * change
    OBJECTIVES["bradley-terry"](other, PAIRS)
    fresh = small()
    for weight, moved, untouched in zip(model.parameters(), weights, fresh.parameters()):
        assert torch.equal(weight, untouched)  # the step up is taken back
        if moved.grad is not None and weight.grad is not None:
            assert torch.allclose(weight.grad, moved.grad)
    OBJECTIVES["bradley-terry"](fresh, PAIRS)
    shifted = [a.grad for a in model.parameters() if a.grad is not None]
    plain = [b.grad for b in fresh.parameters() if b.grad is not None]
    assert any(not torch.equal(one, two) for one, two in zip(shifted, plain, strict=True))


def test_corrected_pairs_undo_wrong_labels():
    wrong = [Preference(pair.prompt, pair.rejected, pair.chosen) for pair in PAIRS[:2]]
    labelled = [*wrong, *PAIRS[2:]]
    judges = [small(seed) for seed in range(3)]
    for judge in judges:
        judge.fit(PAIRS, epochs=40)
    strength = preference_strength([judge.differences(labelled) for judge in judges])
    corrected = correct_pairs(labelled, strength.tolist(), flip=2 / 9, soft=0.0)
    assert [(pair.chosen, pair.rejected) for pair in corrected] == [(pair.chosen, pair.rejected) for pair in PAIRS]
    assert all(pair.margin > 0 for pair in corrected)


def test_a_model_that_is_shown_references_judges_answers_that_it_has_never_seen():
    def pairs(numbers: range) -> list[Preference]:
        return [
            Preference(
                with_reference(f"What is {n} + {n}?", str(2 * n)), f"It is {2 * n}.", f"It is {2 * n + n % 7 + 1}."
            )
            for n in numbers
        ]

    model = RewardModel(ReferenceEncoder(), hidden=16, seed=0)
    model.fit(pairs(range(10, 60)), objective="pointwise", epochs=30)
    assert model.accuracy(pairs(range(100, 150))) >= 0.9
    with pytest.raises(InputError, match="with_reference"):
        model.score(["What is 2 + 2?"], ["4"])
