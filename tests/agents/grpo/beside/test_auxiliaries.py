"""Models beside the policy: losses by hand, learning, and states."""

from __future__ import annotations

import copy
import io
import math

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.forward import Forward
from palaestra.agents.grpo.batch.segments import Segments, prefix_mean
from palaestra.agents.grpo.components.auxiliaries.auxiliary import Head
from palaestra.agents.grpo.components.auxiliaries.critic import Critic
from palaestra.agents.grpo.components.auxiliaries.implicit_prm import ImplicitPRM
from palaestra.agents.grpo.components.auxiliaries.token_reward import TokenReward
from palaestra.agents.grpo.components.credit.adjustments import token_reward_weight
from palaestra.agents.grpo.recipes.stages import AUXILIARIES
from palaestra.errors import InputError

from ..conftest import group, trajectory  # isort: skip


FORWARD = Forward()


def answers(*rewards: float, lengths=(3, 2, 4, 1)):
    """One group: right answers end in 11, wrong ones in 12."""
    members = [
        trajectory(r, [([5, 6], [7 + i] * (n - 1) + [11 if r > 0.5 else 12])], success=r > 0.5)
        for i, (r, n) in enumerate(zip(rewards, lengths, strict=False))
    ]
    return group(*members)


def measured(small, *groups):
    batch = collate(groups or [answers(1.0, 0.0, 0.0, 1.0)])
    out = FORWARD.measure(small.model, batch, hidden=True)
    return batch.with_(logp_old=out.logp, logp_ref=out.logp, hidden=out.hidden)


def attached(name: str, small, **params):
    model = AUXILIARIES[name](**params)
    model.attach(small.model, small.model)
    return model


# All of them ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(AUXILIARIES))
def test_it_measures_what_it_provides_and_leaves_the_policy_alone(name, small):
    before = copy.deepcopy(small.model.state_dict())
    model, batch = attached(name, small), measured(small)
    found = model.measure(batch, FORWARD)
    assert set(found) == model.provides
    for value in found.values():
        assert value.shape == batch.ids.shape
        assert not value.requires_grad
        assert (value[~batch.action] == 0).all()
    model.update(batch.with_(**found), FORWARD)
    assert all(torch.equal(weight, before[key]) for key, weight in small.model.state_dict().items())
    assert all(weight.grad is None for weight in small.model.parameters())


@pytest.mark.parametrize("name", list(AUXILIARIES))
def test_it_goes_on_from_a_saved_state(name, small):
    one, other = attached(name, small, lr=1e-2), attached(name, small, lr=1e-2)
    batch = measured(small)

    def train(model):
        return model.update(batch.with_(**model.measure(batch, FORWARD)), FORWARD)

    train(one)
    file = io.BytesIO()
    torch.save(one.state(), file)
    file.seek(0)
    other.load(torch.load(file, weights_only=True))
    assert train(one) == train(other)
    for name in one.provides:
        assert torch.equal(one.measure(batch, FORWARD)[name], other.measure(batch, FORWARD)[name])


@pytest.mark.parametrize("name", list(AUXILIARIES))
def test_a_batch_without_episodes_teaches_nothing(name, small):
    model, batch = attached(name, small), collate([])
    empty = torch.zeros(0)
    batch = batch.with_(logp_old=empty, logp_ref=empty, value=empty, hidden=torch.zeros(0, 32))
    assert model.update(batch, FORWARD) == {}


# Implicit process rewards --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["ce", "pairwise"])
def test_a_reward_model_equal_to_its_base_has_loss_ln_2_and_no_rewards(objective, small):
    model, batch = attached("implicit_prm", small, objective=objective), measured(small)
    assert torch.allclose(model.measure(batch, FORWARD)["logp_prm"], batch.logp_ref)
    loss, count = model.update(batch, FORWARD)["prm_loss"]
    assert count == 1
    assert loss == pytest.approx(math.log(2), abs=1e-6)


@pytest.mark.parametrize("objective", ["ce", "pairwise"])
def test_training_moves_likelihood_from_failures_to_successes(objective, small):
    model, batch = attached("implicit_prm", small, objective=objective, lr=1e-2), measured(small)
    accuracy = []
    for _ in range(20):
        total, count = model.update(batch, FORWARD)["prm_accuracy"]
        accuracy.append(total / count)
    reward = batch.sum_by_episode(model.measure(batch, FORWARD)["logp_prm"] - batch.logp_ref)
    assert reward[[0, 3]].min() > reward[[1, 2]].max()
    assert (accuracy[0], accuracy[-1]) == (0.5, 1.0)


@pytest.mark.parametrize(("when", "still"), [("after", True), ("before", False)])
def test_when_says_whether_rewards_know_the_batch(when, still, small):
    model, batch = attached("implicit_prm", small, when=when, lr=1e-2), measured(small)
    first = model.measure(batch, FORWARD)["logp_prm"]
    stats = model.update(batch, FORWARD)
    assert torch.allclose(first, batch.logp_ref) == still
    assert "prm_loss" in stats


def test_the_gradient_is_that_of_the_loss_written_out(small):
    model, batch = attached("implicit_prm", small, beta=0.5), measured(small)
    with torch.no_grad():
        for weight in model.model.parameters():
            weight.mul_(1.05)
    score = 0.5 * batch.sum_by_episode(model.measure(batch, FORWARD)["logp_prm"] - batch.logp_ref)
    sigma = score.sigmoid()
    expected = -(sigma[[0, 3]].log().sum() + (1 - sigma[[1, 2]]).log().sum()) / 4
    assert model.update(batch, FORWARD)["prm_loss"][0] == pytest.approx(expected.item(), rel=1e-5)


def test_pairs_are_within_groups_and_of_different_returns():
    batch = collate([answers(1.0, 0.0, 0.5), answers(0.0, 0.0), answers(1.0)])
    better, worse = Segments(batch.group_of, batch.groups).pairs(batch.outcome)
    assert sorted(zip(better.tolist(), worse.tolist(), strict=True)) == [(0, 1), (0, 2), (2, 1)]


def test_without_pairs_the_pairwise_objective_leaves_the_model_alone(small):
    model, batch = attached("implicit_prm", small, objective="pairwise"), measured(small, answers(1.0, 1.0))
    assert model.update(batch, FORWARD) == {}


def test_each_objective_has_the_base_of_its_paper():
    assert ImplicitPRM(objective="ce").needs == {"logp_ref"}
    assert ImplicitPRM(objective="pairwise").needs == {"logp_old"}


# Critic --------------------------------------------------------------------------------------------------------------


def test_a_fresh_head_is_worth_nothing_and_depends_on_its_seed_alone():
    x = torch.randn(5, 8, dtype=torch.float64)
    assert (Head(8, 4, seed=1)(x) == 0).all()
    assert torch.equal(Head(8, 4, seed=1).first.weight, Head(8, 4, seed=1).first.weight)
    assert not torch.equal(Head(8, 4, seed=1).first.weight, Head(8, 4, seed=2).first.weight)


def test_the_critic_learns_the_return(small):
    critic, batch = attached("critic", small, decay=1.0, lr=3e-3, passes=20), measured(small)
    errors = []
    for _ in range(30):
        found = critic.measure(batch, FORWARD)
        total, count = critic.update(batch.with_(**found), FORWARD)["critic_error"]
        errors.append(total / count)
    # At first V = 0 and the targets are the outcomes: 4 of the 10 tokens have 1. The first state is the same in all
    # four episodes, of which two succeed: 4 x 1/4 of squared error stay.
    assert errors[0] == pytest.approx(0.4)
    assert errors[-1] == pytest.approx(0.1, abs=0.02)


def test_the_critics_target_is_advantage_plus_value(small):
    # One token a state, V = 0 everywhere and decay 0: the target is the next reward, so only last tokens have 1.
    critic, batch = attached("critic", small, decay=0.0), measured(small)
    error, count = critic.update(batch.with_(**critic.measure(batch, FORWARD)), FORWARD)["critic_error"]
    assert (error, count) == (2.0, 10)


def test_the_critics_target_bootstraps_from_the_measured_value(small):
    # Measured values of 1/2 and decay 0: six tokens have 1/2 as their target, the last ones the outcomes 1, 0, 0, 1.
    critic, batch = attached("critic", small, decay=0.0), measured(small)
    error, _ = critic.update(batch.with_(value=torch.full((len(batch.ids),), 0.5)), FORWARD)["critic_error"]
    assert error == pytest.approx(6 / 4 + 2)


# Token rewards -------------------------------------------------------------------------------------------------------


def test_an_untrained_token_reward_has_loss_ln_2(small):
    model = attached("token_reward", small, when="after")
    assert model.update(measured(small), FORWARD)["token_reward_loss"] == (pytest.approx(math.log(2)), 1)


def test_token_rewards_tell_right_from_wrong(small):
    model, batch = attached("token_reward", small, passes=200), measured(small)
    score = model.measure(batch, FORWARD)["value"]
    mean = batch.sum_by_episode(score) / batch.action_count
    assert mean[[0, 3]].min() > 0 > mean[[1, 2]].max()


def test_the_mean_over_a_prefix_is_taken_within_each_episode():
    value, episode = torch.tensor([1.0, 3.0, 8.0, -2.0, 0.0]), torch.tensor([0, 0, 1, 2, 2])
    assert prefix_mean(value, episode).tolist() == [1.0, 2.0, 8.0, -2.0, -1.0]
    assert prefix_mean(value[:0], episode[:0]).tolist() == []


def weighed(sigma: float, advantage: float, **params) -> torch.Tensor:
    """Weights over advantage, of three tokens of one episode."""
    batch = collate([answers(1.0)]).with_(value=torch.full((5,), math.log(sigma / (1 - sigma))))
    a = advantage * batch.action
    return (token_reward_weight(a, batch, negative=1.0, **params) / advantage)[batch.action]


def test_a_promise_of_three_quarters_weighs_one_half_in_a_success_and_nothing_in_a_failure():
    assert weighed(0.75, 2.0).tolist() == pytest.approx([0.5] * 3)
    assert weighed(0.75, -2.0).tolist() == [0.0] * 3
    assert weighed(0.25, -2.0).tolist() == pytest.approx([0.5] * 3)


def test_an_undecided_promise_weighs_nothing():
    assert weighed(0.5, 1.0).tolist() == weighed(0.5, -1.0).tolist() == [0.0] * 3


def test_without_a_threshold_the_weight_is_the_promise():
    assert weighed(0.3, 1.0, threshold=0.0).tolist() == pytest.approx([0.3] * 3)
    assert weighed(0.3, -1.0, threshold=0.0).tolist() == pytest.approx([0.7] * 3)


@pytest.mark.parametrize(("top", "count"), [(0.0, 0), (0.34, 1), (0.67, 2), (1.0, 3)])
def test_the_top_share_keeps_exactly_that_many_tokens(top, count):
    assert (weighed(0.75, 1.0, top=top) > 0).sum() == count


def test_each_sign_is_averaged_over_its_own_tokens():
    batch = collate([answers(1.0, 0.0, lengths=(1, 3))])
    batch = batch.with_(value=torch.tensor([0, 0, 50.0, 0, 0, -50.0, -50.0, -50.0]))
    advantage = torch.tensor([0, 0, 1.0, 0, 0, -1.0, -1.0, -1.0])
    # Weight 1 everywhere: 1 / N+ of one token and 1/2 / N- of three, times the four tokens of the whole batch.
    assert token_reward_weight(advantage, batch)[batch.action].tolist() == pytest.approx([4.0] + [-0.5 * 4 / 3] * 3)


def test_a_threshold_of_one_is_refused():
    with pytest.raises(InputError, match="not 1"):
        weighed(0.5, 1.0, threshold=1)


def test_wrong_parameters_are_refused():
    with pytest.raises(InputError, match="whole number of at least 1"):
        Critic(passes=0)
    with pytest.raises(InputError, match="did you mean 'after'"):
        TokenReward(when="afterwards")
