"""Every auxiliary against numbers worked out by hand."""

from __future__ import annotations

import copy
import io

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.forward import Forward
from palaestra.agents.grpo.components.auxiliaries.critic import Critic
from palaestra.agents.grpo.components.auxiliaries.token_reward import TokenReward
from palaestra.agents.grpo.recipes.stages import AUXILIARIES
from palaestra.errors import InputError

from ...conftest import group, trajectory  # isort: skip


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
    model.train(batch.with_(**found), FORWARD)
    assert all(torch.equal(weight, before[key]) for key, weight in small.model.state_dict().items())
    assert all(weight.grad is None for weight in small.model.parameters())


@pytest.mark.parametrize("name", list(AUXILIARIES))
def test_it_goes_on_from_a_saved_state(name, small):
    one, other = attached(name, small, lr=1e-2), attached(name, small, lr=1e-2)
    batch = measured(small)

    def train(model):
        return model.train(batch.with_(**model.measure(batch, FORWARD)), FORWARD)

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
    assert model.train(batch, FORWARD) == {}


def test_wrong_parameters_are_refused():
    with pytest.raises(InputError, match="whole number of at least 1"):
        Critic(passes=0)
    with pytest.raises(InputError, match="did you mean 'after'"):
        TokenReward(when="afterwards")
