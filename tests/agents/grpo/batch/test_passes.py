"""Measurements of a whole batch beyond the log-probabilities of its actions."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.passes import TOP, Passes

from ..conftest import group, trajectory  # isort: skip


def dense(model, ids: list[int]) -> torch.Tensor:
    """Log-probabilities at every position, [N, V]."""
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].log_softmax(-1)


def test_prompts_are_measured_token_by_token_and_alike_for_all_who_share_one(small):
    prompt, other = [5, 9, 7, 30], [8, 6]
    batch = collate(
        [
            group(trajectory(1.0, [(prompt, [11, 12]), ([3], [4])]), trajectory(0.0, [(prompt, [13])])),
            group(trajectory(0.0, [(other, [14])])),
        ]
    )
    logp = Passes().measure_prompts(small.model, batch)
    expected = dense(small.model, prompt)
    wanted = [0.0, *(expected[i, prompt[i + 1]].item() for i in range(3))]
    for episode in (0, 1):
        found = logp[batch.episode_of == episode]
        assert found[:4].tolist() == pytest.approx(wanted, abs=1e-4)
        assert (found[4:] == 0).all()
    assert logp[batch.episode_of == 2].tolist() == pytest.approx(
        [0.0, dense(small.model, other)[0, 6].item(), 0.0], abs=1e-4
    )


def test_the_likeliest_tokens_are_those_of_the_distribution_that_the_action_was_drawn_from(small):
    batch = collate([group(trajectory(1.0, [([5, 9], [11, 12])]), trajectory(0.0, [([5, 9], [13])]))])
    ids, logps = Passes().likeliest(small.model, batch)
    assert ids.shape[1] == min(TOP, len(small.tokenizer))
    second = batch.action.nonzero()[1, 0]
    best, expected = dense(small.model, [5, 9, 11])[-1].sort(descending=True)
    assert logps[second].tolist() == pytest.approx(best[: logps.shape[1]].tolist(), abs=1e-4)
    assert ids[second, 0] == expected[0]
    assert (logps[~batch.action] == 0).all()


def test_the_divergence_between_two_wordings_is_symmetric_and_zero_without_another_wording(small):
    prompt, twin = [5, 9, 7], [5, 8]
    reworded = replace(trajectory(1.0, [(prompt, [11, 12])]), extras={"twin_prompt": twin})
    same = replace(reworded, extras={"twin_prompt": prompt})
    batch = collate([group(reworded, trajectory(0.0, [(prompt, [11, 12])]), same)])
    found = Passes().measure_prompt_divergence(small.model, batch)[batch.action].tolist()
    expected = []
    for before in ([], [11]):
        p, q = (dense(small.model, [*words, *before])[-1] for words in (prompt, twin))
        expected.append(float(((p.exp() - q.exp()) * (p - q)).sum()) / 2)
    assert found == pytest.approx([*expected, 0, 0, 0, 0], abs=1e-5)
    assert min(expected) > 1e-4
