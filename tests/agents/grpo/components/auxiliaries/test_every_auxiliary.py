"""Every auxiliary against numbers worked out by hand."""

from __future__ import annotations

import copy
import io

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.components.auxiliaries.critic import Critic
from palaestra.agents.grpo.components.auxiliaries.token_reward import TokenReward
from palaestra.agents.grpo.recipes.stages import AUXILIARIES
from palaestra.errors import InputError

from .conftest import PASSES, make_auxiliary, measure_batch  # isort: skip


@pytest.mark.parametrize("name", list(AUXILIARIES))
def test_it_measures_what_it_provides_and_leaves_the_policy_alone(name, small):
    before = copy.deepcopy(small.model.state_dict())
    model, batch = make_auxiliary(name, small), measure_batch(small)
    found = model.measure(batch, PASSES)
    assert set(found) == model.provides
    for value in found.values():
        assert value.shape == batch.ids.shape
        assert not value.requires_grad
        assert (value[~batch.action] == 0).all()
    model.train(batch.with_(**found), PASSES)
    assert all(torch.equal(weight, before[key]) for key, weight in small.model.state_dict().items())
    assert all(weight.grad is None for weight in small.model.parameters())


@pytest.mark.parametrize("name", list(AUXILIARIES))
def test_it_goes_on_from_a_saved_state(name, small):
    one, other = make_auxiliary(name, small, lr=1e-2), make_auxiliary(name, small, lr=1e-2)
    batch = measure_batch(small)

    def train(model):
        return model.train(batch.with_(**model.measure(batch, PASSES)), PASSES)

    train(one)
    file = io.BytesIO()
    torch.save(one.state(), file)
    file.seek(0)
    other.load(torch.load(file, weights_only=True))
    assert train(one) == train(other)
    for name in one.provides:
        assert torch.equal(one.measure(batch, PASSES)[name], other.measure(batch, PASSES)[name])


@pytest.mark.parametrize("name", list(AUXILIARIES))
def test_a_batch_without_episodes_teaches_nothing(name, small):
    model, batch = make_auxiliary(name, small), collate([])
    empty = torch.zeros(0)
    batch = batch.with_(logp_old=empty, logp_ref=empty, value=empty, hidden=torch.zeros(0, 32))
    assert model.train(batch, PASSES) == {}


def test_wrong_parameters_are_refused():
    with pytest.raises(InputError, match="whole number of at least 1"):
        Critic(passes=0)
    with pytest.raises(InputError, match="did you mean 'after'"):
        TokenReward(when="afterwards")
