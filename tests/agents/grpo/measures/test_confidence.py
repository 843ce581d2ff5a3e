"""Confidence of the policy, by a plain forward pass; the vote and the level scores that it weighs."""

from __future__ import annotations

import pytest
import torch
from palaestra.agents.grpo.measures.confidence import mean_confidence, step_ends, token_confidence

from ..conftest import group, trajectory  # isort: skip


@pytest.fixture(scope="module")
def episode(instruments):
    """One answer of two steps."""
    renderer = instruments.language.renderer
    turn = (list(renderer.observation("1 + 1 = ?", first=True)), list(renderer.action_ids("1+1\n\nis 2")))
    return trajectory(1.0, [turn], texts=["1+1\n\nis 2"])


def distributions(instruments, ids):
    """Log-probabilities of all tokens after each token of a sequence."""
    with torch.no_grad():
        logits = instruments.language.model(torch.tensor([list(ids)])).logits[0]
    return logits[:, : len(instruments.language.tokenizer)].log_softmax(-1)


def test_steps_are_parted_by_blank_lines():
    assert step_ends("a\n\nbc\n\nd") == [3, 7]
    assert step_ends("one step") == []


def test_each_step_has_minus_the_mean_log_probability_of_the_likeliest_tokens(instruments, episode):
    (row,) = token_confidence([group(episode)], instruments, top=3)[0]
    (turn,) = episode.turns
    logps = distributions(instruments, (*turn.obs_ids, *turn.act_ids))[len(turn.obs_ids) - 1 : -1]
    flat = (-logps.topk(3).values.mean(-1)).tolist()
    first, second = row["token_confidence"]
    assert [*first, *second] == pytest.approx(flat, abs=1e-5)
    renderer = instruments.language.renderer
    assert renderer.action(turn.act_ids[: len(first)]) == "1+1\n\n"


def test_confidence_and_margin_are_means_over_tokens(instruments, episode):
    (row,) = mean_confidence([group(episode)], instruments)[0]
    (turn,) = episode.turns
    best = distributions(instruments, (*turn.obs_ids, *turn.act_ids))[len(turn.obs_ids) - 1 : -1].topk(2).values.exp()
    assert row["least_confidence"] == pytest.approx(float(1 - best[:, 0].mean()), abs=1e-6)
    assert row["min_margin"] == pytest.approx(float((best[:, 0] - best[:, 1]).mean()), abs=1e-6)


def test_a_vote_is_weighted_by_the_confidence_of_steps(train, plain):
    step = train(shaping="scope")
    assert {row["shaping"]["scope"] for row in step.trajectories} <= {0.0, 1.0}
    assert step.weights_differ(plain)
    (producer,) = step.learner.parts.objective.producers
    assert "token_confidence" in producer.target.provides


@pytest.mark.parametrize("score", ["least_confidence", "min_margin"])
def test_levels_are_scored_by_the_policys_confidence(score, train):
    step = train({"teacher": "plr", "teacher_options": {"score": score}})
    # A small untrained model is nearly uniform over about a hundred tokens.
    assert step.metrics[-1]["teacher/score_mean"] == pytest.approx(0.985, abs=0.015)
