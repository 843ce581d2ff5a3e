"""The gradient of a batch does not depend on how it is cut, ordered or packed: for every recipe."""

from __future__ import annotations

import copy

import pytest
import torch
from palaestra.agents.grpo.batch import collate
from palaestra.agents.grpo.objective import Objective, accumulate_gradients
from palaestra.agents.grpo.packing import PACKERS
from palaestra.agents.grpo.recipes import RECIPES


@pytest.fixture(scope="module")
def models(small):
    """A model and a different reference, in double precision, so that what is left is not rounding."""
    model = copy.deepcopy(small.model).double()
    reference = copy.deepcopy(model)
    with torch.no_grad():
        for weight in reference.parameters():
            weight.mul_(1.01)
    return model, reference


def gradient(models, recipe: str, groups, **settings) -> torch.Tensor:
    model, reference = models
    objective = Objective(RECIPES[recipe])
    weighted = objective.weigh(collate(objective.keep(objective.shape(groups))))
    model.zero_grad()
    accumulate_gradients(model, objective, weighted, reference=reference, **settings)
    return torch.cat([weight.grad.flatten() for weight in model.parameters()])


@pytest.mark.parametrize("recipe", list(RECIPES))
class TestEveryRecipe:
    def test_micro_batches_do_not_change_the_gradient(self, recipe, models, ragged):
        whole = gradient(models, recipe, ragged, packer="plain", budget=10_000)
        assert whole.abs().max() > 1e-4
        for budget in (1, 40, 90):
            assert len(PACKERS["plain"](collate(ragged), range(16), budget)) > 1
            assert (gradient(models, recipe, ragged, packer="plain", budget=budget) - whole).abs().max() < 1e-6

    def test_order_does_not_change_the_gradient(self, recipe, models, ragged):
        from dataclasses import replace

        whole = gradient(models, recipe, ragged)
        shuffled = [
            replace(group, trajectories=group.trajectories[::-1]) for group in (ragged[i] for i in (3, 0, 4, 2, 1))
        ]
        assert (gradient(models, recipe, shuffled) - whole).abs().max() < 1e-6

    def test_packing_does_not_change_the_gradient(self, recipe, models, ragged):
        whole = gradient(models, recipe, ragged, packer="plain")
        for budget in (10_000, 60):
            assert (gradient(models, recipe, ragged, packer="shared_prefix", budget=budget) - whole).abs().max() < 1e-6

    def test_a_data_parallel_split_adds_up_to_the_gradient(self, recipe, models, ragged):
        # Weights come from the whole batch; two workers each train half of the rows.
        from dataclasses import replace

        model, reference = models
        objective = Objective(RECIPES[recipe])
        weighted = objective.weigh(collate(objective.keep(objective.shape(ragged))))
        whole = gradient(models, recipe, ragged)
        total = torch.zeros_like(whole)
        for worker in (0, 1):
            model.zero_grad()
            half = replace(weighted, rows=weighted.rows[worker::2])
            accumulate_gradients(model, objective, half, reference=reference)
            total += torch.cat([weight.grad.flatten() for weight in model.parameters()])
        assert (total - whole).abs().max() < 1e-6

    def test_one_step_raises_the_log_probability_of_what_was_better(self, recipe, small):
        from .conftest import group, trajectory

        good, bad = [([5, 6, 7], [50, 4])], [([5, 6, 7], [60, 4])]
        groups = [group(trajectory(1.0, good), trajectory(0.0, bad))]
        model = copy.deepcopy(small.model)
        objective = Objective(RECIPES[recipe])

        def preference() -> float:
            with torch.no_grad():
                logits = model(torch.tensor([[5, 6, 7]])).logits[0, -1]
            return float(logits[50] - logits[60])

        with torch.no_grad():
            logps = model(torch.tensor([[5, 6, 7, 50]])).logits[0, 2].log_softmax(-1)
        # On-policy: the behaviour log-probabilities are the model's own.
        from dataclasses import replace

        groups = [
            replace(
                groups[0],
                trajectories=tuple(
                    replace(t, turns=(replace(t.turns[0], logps=(float(logps[t.turns[0].act_ids[0]]), -4.6)),))
                    for t in groups[0].trajectories
                ),
            )
        ]
        before = preference()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        accumulate_gradients(model, objective, objective.weigh(collate(groups)), reference=copy.deepcopy(model))
        optimizer.step()
        assert preference() > before


def test_the_statistics_do_not_depend_on_micro_batches(models, ragged):
    # Trap 8: entropy as a mean of means would.
    model, reference = models
    objective = Objective(RECIPES["grpo"])
    weighted = objective.weigh(collate(ragged))
    means = []
    for budget in (1, 10_000):
        tally = accumulate_gradients(model, objective, weighted, packer="plain", budget=budget, reference=reference)
        means.append(tally.means())
    assert means[0].keys() == means[1].keys()
    for name, value in means[0].items():
        assert value == pytest.approx(means[1][name], abs=1e-9), name


def test_ratios_are_taken_against_the_log_probabilities_of_the_sampler(small):
    # The sampler thought the good action a hundred times less likely: the ratio is past the clip, so nothing is learned
    # from it; the bad action's ratio is past the clip on the side where learning goes on.
    from .conftest import group, trajectory

    def gradient(reward: float, logp: float) -> float:
        rows = group(
            trajectory(reward, [([5, 6, 7], [50])], [[logp]]), trajectory(1 - reward, [([5, 6, 7], [60])], [[0.0]])
        )
        weighted = objective.weigh(collate([rows]))
        weighted.weight[weighted.batch.row_of == 1] = 0.0
        small.model.zero_grad()
        accumulate_gradients(small.model, objective, weighted)
        return sum(float(weight.grad.abs().sum()) for weight in small.model.parameters())

    objective = Objective(RECIPES["dr_grpo"])
    assert gradient(1.0, -20.0) == 0.0
    assert gradient(0.0, -20.0) > 0.0
    small.model.zero_grad()
