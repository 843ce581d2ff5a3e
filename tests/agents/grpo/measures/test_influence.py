"""Gradients of several objectives: their products, and the reward whose weights follow them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from palaestra.agents.grpo.measures.influence import gradient_products
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES, c
from palaestra.agents.grpo.run.folder import newest_checkpoint
from palaestra.agents.language.decoder import last_layer
from palaestra.errors import InputError


@pytest.fixture(scope="module")
def measured(train):
    """A learner of a recipe without standard deviations, and episodes with three objectives: one, its double, none."""
    step = train(baseline="group_mean", scale="none")
    groups = step.learner.parts.collector.collect(2).groups

    def told(trajectory):
        value = float(len(trajectory.turns[0].action) % 2)
        return replace(trajectory, extras={"objective_rewards": {"one": value, "double": 2 * value, "none": 3.0}})

    return step.learner, [replace(g, trajectories=tuple(map(told, g.trajectories))) for g in groups]


def test_products_are_those_of_the_gradients_of_each_objective_alone(measured):
    learner, groups = measured
    model, update = learner.language.model, learner.parts.update
    products = gradient_products(groups, ["one", "double", "none"], update.weigh, model, update.passes)
    assert products[0, 0] > 0
    expected = products[0, 0] * np.outer([1, 2, 0], [1, 2, 0])
    assert products == pytest.approx(expected, rel=1e-4, abs=1e-6 * products[0, 0])
    assert all(weight.grad is None and weight.requires_grad for weight in model.parameters())


def test_the_gradient_is_that_of_the_policys_objective(measured):
    learner, groups = measured
    model, update = learner.language.model, learner.parts.update
    product = gradient_products(groups, ["one"], update.weigh, model, update.passes)
    alone = [
        replace(
            g,
            trajectories=tuple(
                replace(t, shaping={"x": t.extras["objective_rewards"]["one"]}, replaced=True) for t in g.trajectories
            ),
        )
        for g in groups
    ]
    weighted = update.weigh(alone)
    batch, total = weighted.batch, 0.0
    for row in range(batch.rows):
        ids = batch.ids[batch.row_of == row]
        logps = model(ids[None]).logits[0].log_softmax(-1)[:-1].gather(-1, ids[1:, None])[:, 0]
        coefficient = (weighted.advantage * weighted.weight)[batch.row_of == row][1:]
        total = total - (coefficient * logps).sum()
    gradient = torch.autograd.grad(total, list(last_layer(model).parameters()))
    assert product[0, 0] == pytest.approx(sum(float(part.double().square().sum()) for part in gradient), rel=1e-3)


def test_the_weights_of_a_run_follow_the_gradients_and_are_saved(train, plain):
    step = train({"steps": 2}, shaping="gradient-influence(lr=1000.0)")
    weights = [{name: row[f"weight/{name}"] for name in ("correct", "concise", "format")} for row in step.metrics]
    assert sum(weights[0].values()) == pytest.approx(1.0)
    assert max(abs(value - 1 / 3) for value in weights[0].values()) > 1e-3
    assert weights[1] != weights[0]
    state = json.loads((newest_checkpoint(step.learner.folder.path) / "state.json").read_text())
    assert np.exp(state["objective"]["rewards"][0]["log_weights"]).tolist() == pytest.approx(list(weights[1].values()))


def test_a_part_of_another_reward_cannot_learn_from_gradients():
    recipe = RECIPES["grpo"].with_(shaping=c("weighted", child=c("gradient-influence"), weight=0.5))
    with pytest.raises(InputError, match="cannot be a part of 'weighted'"):
        Objective(recipe)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("auxiliary", "others"),
    [("implicit_prm", {"returns": "implicit_token"}), ("token_reward", {"adjustments": "token_reward_weight"})],
)
def test_a_reward_that_follows_gradients_trains_no_auxiliary_model(auxiliary, others, when, train):
    step = train(shaping="gradient-influence", auxiliaries=f"{auxiliary}(when='{when}', lr=1e-3)", **others)
    (part,) = step.learner.parts.objective.auxiliaries
    steps = {int(weight["step"]) for weight in part.target.state()["optimizer"]["state"].values()}
    assert steps == {getattr(part.target, "passes", 1)}
