"""Vectors of answers, by a plain forward pass and by autograd, and the rewards that compare them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from palaestra.agents.grpo.measures.features import AnswerFeatures, ReferenceFeatures, TokenFeatures, gradient_features
from palaestra.errors import InputError
from palaestra.rewards import make
from palaestra.rewards.terms.novelty import token_gradients

from ..conftest import group  # isort: skip


def hidden(instruments, ids):
    with torch.no_grad():
        out = instruments.language.model(torch.tensor([list(ids)]), output_hidden_states=True)
    return out.hidden_states[-1][0].double().numpy()


def flatten(trajectory):
    ids = [i for turn in trajectory.turns for i in (*turn.obs_ids, *turn.act_ids)]
    acted = [flag for t in trajectory.turns for flag in (*[False] * len(t.obs_ids), *[True] * len(t.act_ids))]
    return ids, np.array(acted)


def test_features_are_the_mean_hidden_state_of_the_action_tokens(instruments, two_turns):
    (row,) = AnswerFeatures()([group(two_turns)], instruments)[0]
    ids, acted = flatten(two_turns)
    assert row["features"] == pytest.approx(hidden(instruments, ids)[acted].mean(0), abs=1e-5)


def test_the_reference_answer_stands_in_the_place_of_the_last_action(instruments, two_turns):
    told = replace(two_turns, extras={"reference": "4"})
    (row,) = ReferenceFeatures()([group(told)], instruments)[0]
    ids, _ = flatten(two_turns)
    before, answer = ids[: -len(two_turns.turns[-1].act_ids)], instruments.encode("4")
    states = hidden(instruments, [*before, *answer])
    assert row["reference_features"] == pytest.approx(states[-len(answer) :].mean(0), abs=1e-5)
    untold = replace(two_turns, extras={"reference": None})
    assert ReferenceFeatures()([group(untold)], instruments) == [[{"reference_features": None}]]
    (row,) = TokenFeatures()([group(told)], instruments)[0]
    assert row["reference_token_features"] == pytest.approx(states[-len(answer) :], abs=1e-5)
    last = hidden(instruments, ids)[-len(two_turns.turns[-1].act_ids) :]
    assert row["token_features"] == pytest.approx(last, abs=1e-5)


def test_gradient_features_are_the_gradient_in_the_hidden_states(instruments, two_turns):
    (row,) = gradient_features([group(two_turns)], instruments)[0]
    ids, acted = flatten(two_turns)
    states = torch.from_numpy(hidden(instruments, ids)).float()
    places = np.flatnonzero(acted)
    weights = instruments.language.model.lm_head.weight.detach()[: len(instruments.language.tokenizer)]
    probabilities = (states[places - 1] @ weights.T).softmax(-1).numpy()
    expected = token_gradients(probabilities, np.array(ids)[places], weights.numpy()).sum(0)
    assert row["gradient_features"] == pytest.approx(expected, abs=1e-4)
    assert instruments.language.model.lm_head.weight.grad is None


@pytest.mark.parametrize(
    "shaping",
    [
        "gradient-novelty",
        "repexp(embedder='reference')",
        "semantic-similarity(embedder='policy')",
        "bmas(embedder='policy')",
        "self-reference(embedder='policy')",
    ],
)
def test_rewards_compare_what_the_model_makes_of_answers(shaping, train, plain):
    step = train(shaping=shaping)
    name = shaping.split("(")[0]
    assert len({row["shaping"][name] for row in step.trajectories}) > 1
    assert step.actions == plain.actions
    assert step.weights_differ(plain)


def test_states_of_a_half_precision_model_are_compared_too(train):
    step = train({"dtype": "bfloat16"}, shaping="bmas(embedder='policy')")
    assert len({row["shaping"]["bmas"] for row in step.trajectories}) > 1


def test_the_novelty_among_votes_is_that_of_the_models_states(train, plain):
    texts = ("evol-rl(embedder='policy', answer_format='whole')", "evol-rl(answer_format='whole')")
    by_state, by_words = (train(shaping=text) for text in texts)
    assert by_state.actions == by_words.actions == plain.actions
    assert by_state.metrics[0]["shaping/evol-rl"] != by_words.metrics[0]["shaping/evol-rl"]


def test_the_frozen_model_is_loaded_where_its_states_are_compared(train):
    objective = train(shaping="repexp(embedder='reference')").learner.parts.objective
    assert "logp_ref" in objective.needs


def test_an_embedder_of_another_name_is_refused():
    with pytest.raises(InputError, match="policy"):
        make("repexp", embedder="polcy")
    with pytest.raises(InputError, match="cannot be measured by a model"):
        make("bmas", embedder="policy", reference=lambda episode: "x")
