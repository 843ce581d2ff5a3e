"""Weights of objectives by how far they are from settled."""

from __future__ import annotations

import json
import math

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.components.credit.priorities import PrioritisedTerms, priority, terms_of
from palaestra.agents.grpo.components.weights import Priorities
from palaestra.errors import InputError

from ..conftest import group, trajectory  # isort: skip


def batch_of(*paid: tuple[float, float], **changes):
    """One episode for each (difficulty, reward)."""
    return collate([group(*(trajectory(r, [([5], [6, 7])], difficulty=d, **changes) for d, r in paid))])


def weights_after(histories: dict[float, list[float]], **options) -> list[float]:
    """Weights of the episodes of the last of several batches; one episode a difficulty."""
    weigh = Priorities(**options)
    made = torch.zeros(0)
    for paid in zip(*histories.values(), strict=True):
        batch = batch_of(*zip(histories, paid, strict=True))
        made = weigh(batch, batch.action.float())[batch.action][::2]
    return made.tolist()


def test_a_history_in_numbers():
    # Mean 2; later half 3: change 1. Deviation 1. Together 2 over a level of 2.
    assert priority([1.0, 1.0, 3.0, 3.0]) == pytest.approx(1.0)
    # The same up and down: the halves agree, the deviation is 1 over 2.
    assert priority([1.0, 3.0, 1.0, 3.0]) == pytest.approx(0.5)
    assert priority([0.7, 0.7, 0.7]) == pytest.approx(0.0)
    assert priority([0.0, 0.0]) == 0.0
    assert math.isnan(priority([1.0]))


def test_equal_histories_have_weight_one():
    assert weights_after({0.1: [0.2, 0.4, 0.9], 0.9: [0.2, 0.4, 0.9]}) == pytest.approx([1.0, 1.0])
    assert weights_after({0.1: [0.2], 0.9: [0.7]}) == pytest.approx([1.0, 1.0])  # nothing is known yet


def test_an_objective_that_has_settled_counts_less_and_the_weights_add_up():
    got = weights_after({0.1: [1.0, 1.0, 1.0, 1.0], 0.5: [1.0, 1.0, 3.0, 3.0], 0.9: [1.0, 3.0, 1.0, 3.0]})
    shares = [math.exp(s) for s in (0.0, 1.0, 0.5)]
    assert got == pytest.approx([3 * s / sum(shares) for s in shares])
    assert got[0] < 1
    assert sum(got) == pytest.approx(3)


def test_the_temperature_evens_out():
    histories = {0.1: [1.0, 1.0], 0.9: [1.0, 3.0]}
    sharp, even = (weights_after(histories, temperature=t) for t in (0.1, 1e6))
    assert sharp[1] - sharp[0] > 1.5
    assert even == pytest.approx([1.0, 1.0], abs=1e-3)


@pytest.mark.parametrize("scale", [0.001, 7.0, 1e6])
def test_the_scale_of_a_reward_does_not_matter(scale):
    steady, moving = [0.5, 0.6, 0.4], [0.1, 0.2, 0.9]
    one = weights_after({0.1: steady, 0.9: moving})
    assert weights_after({0.1: steady, 0.9: [scale * r for r in moving]}) == pytest.approx(one)


def test_only_the_latest_batches_are_remembered():
    got = weights_after({0.1: [9.0, 0.0, 1.0, 1.0], 0.9: [1.0, 1.0, 1.0, 1.0]}, window=2)
    assert got == pytest.approx([1.0, 1.0])


def test_a_new_objective_has_the_mean_priority_of_the_others():
    weigh = Priorities(temperature=1.0)
    for paid in ([(0.1, 1.0), (0.5, 1.0)], [(0.1, 1.0), (0.5, 3.0), (0.9, 1.0)]):
        batch = batch_of(*paid)
        got = weigh(batch, batch.action.float())[batch.action][::2].tolist()
    # Priorities 0 and (1 + 1) / 2: the last value is 1 above the mean, as is the deviation; the new one has 1/2.
    shares = [math.exp(s) for s in (0.0, 1.0, 0.5)]
    assert got == pytest.approx([3 * s / sum(shares) for s in shares])


def test_kinds_are_intervals_of_difficulty_roles_or_values_of_a_parameter():
    def kinds(changes, **options):
        return [Priorities(**options).kind(trajectory(0.0, [([5], [6])], **change)) for change in changes]

    difficulties = [{"difficulty": d} for d in (0.0, 0.24, 0.25, 0.99, 1.0)]
    assert kinds(difficulties) == ["0", "0", "1", "3", "3"]
    assert kinds([{"role": "solver"}], by="role") == ["solver"]
    assert kinds([{"params": {"terms": 3}}], by="terms") == ["3"]
    with pytest.raises(InputError, match=r"digits.*difficulty, role, terms"):
        kinds([{"params": {"terms": 3}}], by="digits")


def test_what_is_remembered_survives():
    one, other = Priorities(), Priorities()
    for paid in (0.2, 0.9):
        batch = batch_of((0.1, paid), (0.9, 0.5))
        one(batch, batch.action.float())
    other.load_state_dict(json.loads(json.dumps(one.state_dict())))
    batch = batch_of((0.1, 0.3), (0.9, 0.6))
    assert torch.equal(one(batch, batch.action.float()), other(batch, batch.action.float()))
    fresh = Priorities()(batch, batch.action.float())
    assert not torch.allclose(fresh, other(batch, batch.action.float()))


@pytest.mark.parametrize("wrong", [{"window": 1}, {"temperature": 0.0}, {"bins": 0}])
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(InputError):
        Priorities(**wrong)


# Terms of the reward -------------------------------------------------------------------------------------------------


def test_the_terms_of_an_episode_add_up_to_its_outcome():
    made = trajectory(1.0, [([5], [6]), ([7], [8])], shaping={"length": -0.25})
    first, last = made.turns
    named = last.__class__(**{**vars(last), "reward": 1.0, "reward_terms": {"correct": 0.75}})
    made = made.__class__(**{**vars(made), "turns": (first, named)})
    assert terms_of(made) == {"shaping/length": -0.25, "correct": 0.75, "environment": 0.25}
    assert sum(terms_of(made).values()) == made.outcome
    replaced = made.__class__(**{**vars(made), "replaced": True})
    assert sum(terms_of(replaced).values()) == replaced.outcome == -0.25


def test_a_settled_term_counts_less_in_the_return():
    returns = PrioritisedTerms()
    for won, short in ((1.0, 0.5), (3.0, 0.5)):
        rows = [trajectory(won, [([5], [6])], shaping={"short": short}), trajectory(won, [([5], [6])])]
        batch = collate([group(*rows)])
        units = returns(batch)
    # "environment" has priority (1 + 1) / 2 = 1 and "shaping/short" 0 (it is 0.25 in the mean, twice).
    weights = [2 * math.exp(s) / (1 + math.e) for s in (1.0, 0.0)]
    assert units.value.tolist() == pytest.approx([3 * weights[0] + 0.5 * weights[1], 3 * weights[0]])


def test_one_term_alone_is_the_outcome():
    returns = PrioritisedTerms()
    for paid in (0.3, 0.9, 0.1):
        batch = batch_of((0.1, paid), (0.1, 1.0))
        assert torch.equal(returns(batch).value, batch.outcome)
