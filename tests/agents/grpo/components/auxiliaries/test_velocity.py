import copy

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.passes import Passes
from palaestra.agents.grpo.batch.segments import Segments
from palaestra.agents.grpo.components.auxiliaries.velocity import Velocity, flow_error
from palaestra.agents.grpo.components.credit.process import gated_deviations

from ...conftest import group, trajectory  # isort: skip


def test_only_large_deviations_count_and_at_most_so_many():
    deviation = torch.cat((torch.tensor([1.0, 3.0, 2.0, 2.3]), torch.linspace(0, 1, 41), torch.tensor([7.0, 7.0])))
    episode = Segments(torch.tensor([0] * 4 + [1] * 41 + [3] * 2), 4)
    found = gated_deviations(deviation, episode, gate=0.6, most=15)
    assert found[:4].tolist() == pytest.approx([0.0, 1.0, 0.0, 0.65])  # (d - 1) / 2, above 0.6
    assert int((found[4:45] > 0).sum()) == 15  # of the sixteen above the gate
    assert found[45:].tolist() == [0.0, 0.0]


def test_the_error_is_that_of_the_straight_line_from_noise_to_state():
    state, noise, t = torch.tensor([[2.0, 4.0]]), torch.tensor([[1.0, 0.0]]), torch.tensor([0.25])

    def network(x, at):
        assert x.tolist() == [[1.25, 1.0]]
        return torch.tensor([[1.0, 2.0]])

    assert flow_error(network, state, noise, t).tolist() == [(0.0 + 4.0) / 2]


def test_states_like_those_of_right_answers_deviate_less_after_training(small):
    velocity = Velocity(lr=1e-2, width=32, passes=50)
    velocity.attach(small.model, None)
    size = small.model.config.hidden_size
    members = [trajectory(1.0, [([1], [5] * 12)], success=True), trajectory(0.0, [([1], [6] * 12)], success=False)]
    batch = collate([group(*members)])
    direction = torch.randn(size, generator=torch.Generator().manual_seed(1))
    right = batch.per_token(torch.tensor([True, False]))
    hidden = torch.where(right[:, None], direction, -direction) * batch.action[:, None]
    batch = batch.with_(hidden=hidden)
    for _ in range(5):
        statistics = velocity.train(batch, Passes())
    found = velocity.measure(batch, Passes())["flow_deviation"]
    assert found[batch.action & right].max() < found[batch.action & ~right].min()
    assert not found[~batch.action].any()
    again = Velocity(lr=1e-2, width=32, passes=50)
    again.attach(small.model, None)
    again.load(copy.deepcopy(velocity.state()))
    assert again.train(batch, Passes()) == velocity.train(batch, Passes())
    assert statistics["velocity_loss"][0] > 0
