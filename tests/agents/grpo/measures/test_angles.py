"""Angle concentration, against the states that a plain forward pass has, and the teacher that moves by it."""

from __future__ import annotations

import math

import pytest
import torch
from palaestra.agents.grpo.measures.angles import concentration, mlp_inputs, prompt_angles
from palaestra.errors import InputError

from ..conftest import group, trajectory  # isort: skip


def test_parallel_states_have_concentration_one_and_orthogonal_ones_half():
    same, crossed = torch.tensor([[1.0, 0.0], [2.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.0, 3.0]])
    assert concentration(same, 0, 8.0) == pytest.approx(1.0)
    assert concentration(crossed, 0, 8.0) == pytest.approx(0.5)
    assert concentration(torch.cat([same[:1], crossed]), 1, 8.0) == pytest.approx(0.5 + 8 * 0.5)


def test_states_are_the_input_of_the_last_mlp(instruments):
    model, ids = instruments.language.model, [5, 6, 7]
    with torch.no_grad():
        states = model(torch.tensor([ids]), output_hidden_states=True).hidden_states
        layer = model.model.layers[-1]
        found = mlp_inputs(model, ids)
        # What the layer adds to its input beside its MLP's output is what attention gave.
        last_norm_input = layer.mlp(found[None])[0]
    attended = []
    hook = layer.post_attention_layernorm.register_forward_pre_hook(lambda module, x: attended.append(x[0]))
    with torch.no_grad():
        model(torch.tensor([ids]))
    hook.remove()
    out = model.model.norm(attended[0][0] + last_norm_input)
    assert torch.allclose(out, states[-1][0], atol=1e-5)


def test_the_question_is_what_differs_from_an_empty_prompt(instruments, two_turns):
    (row,) = prompt_angles([group(two_turns)], instruments, weight=2.0)[0]
    ids = two_turns.turns[0].obs_ids
    states = mlp_inputs(instruments.language.model, ids)
    # The small model writes one token before the question and one after it.
    question, before = (torch.nn.functional.normalize(rows, dim=-1) for rows in (states[1:-1], states[:1]))
    expected = float((question @ question.T).mean() + 2 * (question @ before.T).mean())
    assert row["angle_concentration"] == pytest.approx(expected, rel=1e-5)
    empty = trajectory(0.0, [(list(instruments.language.renderer.observation("", first=True)), [7])])
    assert math.isfinite(prompt_angles([group(empty)], instruments)[0][0]["angle_concentration"])


def test_the_window_of_gain_rl_moves_by_the_angles_where_nothing_is_solved(train):
    never = {"env": "palaestra/Arithmetic-v0", "teacher": "gain-rl", "pool": 12, "samples": 2}
    # Without angles a success rate of 0 moves the window by tanh(2 (0 - 0.1)) < 0, so not at all.
    step = train({**never, "teacher_options": {"batch": 1, "beta": 0.1}})
    assert step.metrics[0]["success"] == 0
    assert step.metrics[0]["teacher/mu"] > 0


def test_a_model_without_an_mlp_is_refused():
    layer = torch.nn.Module()
    layer.experts = torch.nn.Linear(2, 2)
    body = torch.nn.Module()
    body.layers = torch.nn.ModuleList([layer])
    body.get_decoder = lambda: body
    with pytest.raises(InputError, match="has no MLP"):
        mlp_inputs(body, [1])
