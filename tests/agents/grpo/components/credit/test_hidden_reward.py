"""What an update on one token does to the likelihood of correct answers."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.batch.batch import Batch, collate
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.components.credit import hidden_reward as module
from palaestra.agents.grpo.components.credit.hidden_reward import (
    hidden_reward,
    influence_on_correct,
    negative_hidden_reward,
)
from palaestra.agents.grpo.config import TrainConfig
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.agents.grpo.update import Update
from palaestra.errors import InputError

from ...conftest import group, trajectory  # isort: skip


VOCABULARY, WIDTH = 7, 4


def policy(batch: Batch, seed: int = 0) -> tuple[Batch, torch.Tensor, torch.Tensor]:
    """The batch as a single-layer softmax policy sees it: pi(y | t) = softmax(W h_t) with fixed h, in double precision;
    with W [V, H] and h [N, H].
    """
    noise = torch.Generator().manual_seed(seed)
    weight = torch.randn(VOCABULARY, WIDTH, generator=noise, dtype=torch.float64)
    hidden = torch.randn(len(batch.ids), WIDTH, generator=noise, dtype=torch.float64) * batch.action[:, None]
    logp = torch.where(batch.action, logps(weight, hidden, batch.ids), 0)
    head = lambda states, ids: states @ weight[ids].T  # noqa: E731
    return batch.with_(hidden=hidden, logp_old=logp, head=head), weight, hidden


def logps(weight: torch.Tensor, hidden: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    return (hidden @ weight.T).log_softmax(-1).gather(1, ids[:, None])[:, 0]


def answers(*ids: tuple[float, list[int]]):
    return collate([group(*(trajectory(reward, [([0], act)]) for reward, act in ids))])


def every_token() -> Batch:
    """Three episodes, one of them correct, in which all ids occur."""
    return answers((1.0, [1, 2, 3]), (0.0, [4, 5, 6]), (0.0, [0, 1]))


def everyone(batch: Batch) -> torch.Tensor:
    return torch.ones(batch.groups, dtype=torch.bool)


def double_sum(batch: Batch, weight: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
    """sum over correct tokens c of (g_t . g_c)(h_t . h_c), by its definition."""
    probability = (hidden @ weight.T).softmax(-1)
    g = torch.eye(VOCABULARY, dtype=torch.float64)[batch.ids] - probability
    good = batch.action & batch.per_token(batch.outcome > 0.5)
    pairs = (g @ g[good].T) * (hidden @ hidden[good].T)
    return torch.where(batch.action, pairs.sum(1), 0)


def test_the_matrix_form_is_the_double_sum():
    batch, weight, hidden = policy(every_token())
    assert torch.allclose(influence_on_correct(batch, everyone(batch)), double_sum(batch, weight, hidden), atol=1e-6)


def test_pieces_do_not_change_it(monkeypatch):
    batch, weight, hidden = policy(every_token())
    monkeypatch.setattr(module, "_ELEMENTS", 2 * VOCABULARY)
    assert torch.allclose(influence_on_correct(batch, everyone(batch)), double_sum(batch, weight, hidden), atol=1e-6)


def test_a_step_changes_the_likelihood_of_the_correct_answers_by_the_sum_of_rewards():
    # One gradient step of size eta on sum A log pi, A = 1 for the correct and -1 for the other episodes.
    batch, weight, hidden = policy(every_token())
    advantage = torch.where(batch.action, torch.where(batch.per_token(batch.outcome > 0.5), 1.0, -1.0), 0.0).double()
    thr = influence_on_correct(batch, everyone(batch)) * advantage.sign()
    good = batch.action & (advantage > 0)

    def step(eta: float) -> float:
        w = weight.clone().requires_grad_()
        (advantage * logps(w, hidden, batch.ids)).sum().backward()
        moved = (weight + eta * w.grad) if w.grad is not None else weight
        return logps(moved, hidden, batch.ids)[good].sum().item()

    slope = (step(1e-5) - step(-1e-5)) / 2e-5
    assert slope == pytest.approx(thr.sum().item(), rel=1e-6)
    assert abs(slope) > 0.1


def test_only_ids_of_the_group_are_looked_at():
    # Ids 5 and 6 occur in the other group only. What is left out is what g has at ids that do not occur.
    batch = collate(
        [
            group(trajectory(1.0, [([0], [1, 2])]), trajectory(0.0, [([0], [3])])),
            group(trajectory(1.0, [([0], [5])]), trajectory(0.0, [([0], [6])])),
        ]
    )
    batch, weight, hidden = policy(batch)
    asked: list[list[int]] = []
    head = batch.head
    assert head is not None
    spied = replace(batch, head=lambda states, ids: (asked.append(ids.tolist()), head(states, ids))[1])
    got = influence_on_correct(spied, everyone(batch))
    assert asked == [[1, 2, 3]] * 2 + [[5, 6]] * 2
    g = (torch.eye(VOCABULARY, dtype=torch.float64)[batch.ids] - (hidden @ weight.T).softmax(-1))[:, [5, 6]]
    first, second = (batch.action & (batch.group_of[batch.episode_of] == 1)).nonzero()[:, 0].tolist()
    assert got[second].item() == pytest.approx((g[second] @ g[first] * (hidden[second] @ hidden[first])).item())


def test_without_strength_or_threshold_nothing_changes():
    batch, _, _ = policy(every_token())
    advantage = torch.where(batch.action, torch.sin(torch.arange(len(batch.ids)).double()), 0)
    assert torch.equal(hidden_reward(advantage, batch, p=0.0, tau=0.0), advantage)


def test_tokens_that_help_the_correct_answers_count_more_and_others_less():
    batch, weight, hidden = policy(every_token())
    advantage = torch.where(batch.action, torch.where(batch.per_token(batch.outcome > 0.5), 2.0, -1.0), 0.0).double()
    thr = (double_sum(batch, weight, hidden) * advantage.sign())[batch.action]
    assert (thr > 0).any()
    assert (thr < 0).any()
    for p in (0.2, -0.2):
        factor = (hidden_reward(advantage, batch, p=p) / advantage)[batch.action]
        assert factor.tolist() == pytest.approx([1 + p if t > 0 else 1 - p for t in thr.tolist()])
    bound = 1.001 * thr.abs().median().item()
    left = hidden_reward(advantage, batch, p=0.0, tau=bound)[batch.action] != 0
    assert left.tolist() == [abs(t) > bound for t in thr.tolist()]


def test_what_the_policy_did_not_write_neither_counts_nor_changes():
    batch, _, _ = policy(every_token())
    last = torch.arange(len(batch.ids)) == batch.action.nonzero()[2, 0]
    hinted = replace(batch, origin=torch.where(last, int(Origin.HINT), batch.origin))
    shorter, _, _ = policy(every_token())
    shorter = replace(shorter, action=shorter.action & ~last)
    one, other = (influence_on_correct(b, everyone(b)) for b in (hinted, shorter))
    keep = batch.action & ~last
    assert torch.allclose(one[keep], other[keep])
    advantage = torch.where(batch.action, -1.0, 0.0).double()
    assert hidden_reward(advantage, hinted, p=0.5, tau=1e9)[last].item() == -1.0


@pytest.mark.parametrize("wrong", [{"p": 1.5}, {"tau": -1.0}])
def test_wrong_parameters_are_refused(wrong):
    batch, _, _ = policy(every_token())
    with pytest.raises(InputError):
        hidden_reward(torch.zeros(len(batch.ids)), batch, **wrong)


@pytest.mark.parametrize(("won", "of", "eta"), [(2, 4, 0.0), (1, 4, 0.5), (1, 10, 0.8)])
def test_shared_tokens_of_failures_are_punished_less_near_one_half(won, of, eta):
    # A failure that is word for word a success, in the same states: its tokens act on the success as its own do.
    batch = answers(*[(1.0, [1, 2])] * won, *[(0.0, [1, 2])] * (of - won))
    batch, weight, _ = policy(batch)
    place = torch.where(batch.action, batch.position, 0)
    state = torch.randn(3, WIDTH, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    hidden = state[place] * batch.action[:, None]
    batch = batch.with_(hidden=hidden, logp_old=torch.where(batch.action, logps(weight, hidden, batch.ids), 0))
    advantage = torch.where(batch.action, torch.where(batch.per_token(batch.outcome > 0.5), 1.0, -1.0), 0.0).double()
    got = negative_hidden_reward(advantage, batch, beta=0.01)
    failed = batch.action & ~batch.per_token(batch.outcome > 0.5)
    assert got[failed].tolist() == pytest.approx([-eta] * int(failed.sum()))
    assert torch.equal(got[~failed], advantage[~failed])
    punished = negative_hidden_reward(-advantage.abs(), batch, beta=0.01)  # a success that is punished all the same
    assert torch.equal(punished[~failed], -advantage.abs()[~failed])


def test_the_bound_is_beta_times_the_least_mean_influence_of_a_success():
    batch, weight, hidden = policy(answers((1.0, [1, 2, 3]), (1.0, [4]), (0.0, [5, 6, 0]), (0.0, [1, 1])), seed=3)
    advantage = torch.where(batch.action, torch.where(batch.per_token(batch.outcome > 0.5), 1.0, -1.0), 0.0).double()
    influence = double_sum(batch, weight, hidden)
    means = batch.sum_by_episode(influence) / torch.tensor([3, 1, 3, 2])
    for beta in (0.02, 0.1):
        bound = beta * min(means[:2]).item()
        expected = [0.0 if s > bound else -1.0 for s in influence[batch.action][4:].tolist()]
        assert negative_hidden_reward(advantage, batch, beta)[batch.action][4:].tolist() == pytest.approx(expected)
        assert 0 < expected.count(0.0) < 5


def test_a_group_without_a_success_keeps_its_advantages():
    batch, _, _ = policy(answers((0.4, [1, 2]), (0.0, [3])))
    advantage = torch.where(batch.action, torch.where(batch.episode_of == 0, 0.2, -0.2), 0.0).double()
    assert torch.equal(negative_hidden_reward(advantage, batch), advantage)
    assert torch.equal(hidden_reward(advantage, batch), advantage)


def test_the_learner_supplies_what_it_needs_at_the_sampling_temperature(small):
    # The influence on tokens of a real model, against logits of its whole vocabulary.
    groups = [group(trajectory(1.0, [([5, 6], [7, 8])]), trajectory(0.0, [([5, 6], [9, 7])]))]
    objective = Objective(RECIPES["thr"])
    update = Update(TrainConfig(recipe="thr", temperature=0.7), objective, small.model, None, None)
    batch = update._measure(collate(groups), objective.rollout_terms.needs_before, old=True)
    ids = torch.tensor([7, 8, 9])
    with torch.no_grad():
        states = batch.measurement("hidden")[batch.action]
        logits = small.model.lm_head(states) / 0.7
    probability = logits.softmax(-1)
    g = (torch.eye(logits.shape[1])[batch.ids[batch.action]] - probability)[:, ids]
    expected = ((g @ g[:2].T) * (states @ states[:2].T)).sum(1)
    assert influence_on_correct(batch, everyone(batch))[batch.action].tolist() == pytest.approx(
        expected.tolist(), rel=1e-3, abs=1e-6
    )
