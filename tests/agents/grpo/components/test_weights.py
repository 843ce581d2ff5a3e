"""Weights against numbers worked out by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.components import weights
from palaestra.agents.grpo.components.streams.demonstrations import Oracle
from palaestra.agents.grpo.components.weights import Priorities, entropy_factor
from palaestra.agents.grpo.recipes.stages import WEIGHTS
from palaestra.errors import InputError

from ..conftest import group, trajectory
from .streams.supplies import answer, supply, tasks


def test_older_episodes_count_less():
    rows = [trajectory(1, [([5], [6, 7])], version=v) for v in (10, 8, -1)]
    batch = collate([group(*rows)])
    weight = WEIGHTS["version_decay"](batch, torch.zeros(len(batch.ids)), decay=0.5)
    assert weight.tolist() == [1.0] * 3 + [0.25] * 3 + [1.0] * 3


def test_the_entropy_factor_by_hand():
    batch = collate([group(answer(1.0, 1), answer(0.0, 1))])
    batch = batch.with_(entropy=torch.tensor([0.0, 1.0, 3.0, 0.0, 2.0, 2.0]))  # 2 nats on average
    advantage = torch.tensor([0.0, 1.0, 1.0, 0.0, -1.0, -1.0])
    down, up = 0.5 * np.exp(-2.0), 0.1 * np.exp(2.0)
    assert entropy_factor(batch, advantage, scale=0.5, power=-1.0)[batch.action].tolist() == pytest.approx([down] * 4)
    some = entropy_factor(batch, advantage, sign="positive")
    assert some[batch.action].tolist() == pytest.approx([up, up, 1, 1])


def test_the_entropy_factor_can_leave_a_teachers_tokens_alone():
    batch = collate([*Oracle().draw(supply(tasks=tasks(3))), group(answer(1.0, 1))])
    batch = batch.with_(entropy=torch.zeros(len(batch.ids)))
    factor = entropy_factor(batch, torch.ones(len(batch.ids)), origin="policy")
    assert factor[batch.action].tolist() == pytest.approx([1.0, 1.0, 0.1, 0.1])


def kinds_of(*paid: tuple[float, float], **changes):
    """One episode for each (difficulty, reward)."""
    return collate([group(*(trajectory(r, [([5], [6, 7])], difficulty=d, **changes) for d, r in paid))])


def weights_after(histories: dict[float, list[float]], **options) -> list[float]:
    """Weights of the episodes of the last of several batches; one episode a difficulty."""
    weigh = Priorities(**options)
    made = torch.zeros(0)
    for paid in zip(*histories.values(), strict=True):
        batch = kinds_of(*zip(histories, paid, strict=True))
        made = weigh(batch, batch.action.float())[batch.action][::2]
    return made.tolist()


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
        batch = kinds_of(*paid)
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
    with pytest.raises(InputError, match=r"digits.*difficulty, environment, role, terms"):
        kinds([{"params": {"terms": 3}}], by="digits")


def test_what_is_remembered_survives():
    one, other = Priorities(), Priorities()
    for paid in (0.2, 0.9):
        batch = kinds_of((0.1, paid), (0.9, 0.5))
        one(batch, batch.action.float())
    other.load_state_dict(json.loads(json.dumps(one.state_dict())))
    batch = kinds_of((0.1, 0.3), (0.9, 0.6))
    assert torch.equal(one(batch, batch.action.float()), other(batch, batch.action.float()))
    fresh = Priorities()(batch, batch.action.float())
    assert not torch.allclose(fresh, other(batch, batch.action.float()))


@pytest.mark.parametrize("wrong", [{"window": 1}, {"temperature": 0.0}, {"bins": 0}])
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(InputError):
        Priorities(**wrong)


def batch_of(*outcomes_by_group, lengths=None):
    counts = iter(lengths or [1] * sum(map(len, outcomes_by_group)))
    return collate([group(*(trajectory(r, [([5], [6] * next(counts))]) for r in rs)) for rs in outcomes_by_group])


def at_actions(batch, values):
    token = torch.zeros(len(batch.ids))
    token[batch.action] = torch.tensor(values)
    return token


def nothing(batch):
    return torch.zeros(len(batch.ids))


def answers(reward_of, text):
    rows = []
    for letter in text:
        made = trajectory(reward_of.get(letter, 0.0), [([5], [6])])
        rows.append(replace(made, turns=(replace(made.turns[0], action=letter),)))
    return group(*rows)


def with_options(puzzle, count):
    """The group of a task that says how many answers are possible."""
    told = (replace(t, extras={"options": count}) for t in puzzle.trajectories)
    return replace(puzzle, trajectories=tuple(told))


def test_puzzles_weigh_by_difficulty_and_diversity():
    puzzles = [answers({"A": 1.0}, "ABBBBBBB"), answers({"A": 1.0}, "ABBCCDEF"), answers({"A": 1.0}, "AA")]
    batch = collate([with_options(puzzle, 6) for puzzle in puzzles])
    weight = weights.mid_difficulty(batch, nothing(batch), diversity=0.5)
    first = [weight[batch.episode_of == e][0].item() for e in (0, 8, 16)]
    assert first == pytest.approx([0.2006, 0.4303, 0], abs=1e-4)


def test_difficulty_alone_is_a_parabola():
    batch = batch_of([1, 0], [1, 1, 1, 0])
    weight = weights.mid_difficulty(batch, nothing(batch))
    assert weight[batch.action].tolist() == pytest.approx([1, 1] + [0.75] * 4)


def test_accuracy_is_the_share_of_successes_whatever_rewards_are():
    # Four of eight succeed, but all are paid a bonus: the mean reward is 1 and says "solved".
    rows = [replace(trajectory(1.0, [([5], [6])]), success=number < 4) for number in range(8)]
    batch = collate([group(*rows)])
    assert weights.mid_difficulty(batch, nothing(batch))[batch.action].tolist() == [0] * 8
    assert weights.mid_difficulty(batch, nothing(batch), level="accuracy")[batch.action].tolist() == [1] * 8
    one = collate([group(*(replace(row, success=number < 1) for number, row in enumerate(rows)))])
    assert weights.mid_difficulty(one, nothing(one), level="accuracy")[0].item() == pytest.approx(0.4375)


def test_hard_tasks_weigh_more_by_their_pass_rate():
    batch = batch_of([1, 0, 0, 0], [1, 1])
    assert weights.pass_rate(batch, nothing(batch), power=2)[batch.action].tolist() == [0.5625] * 4 + [0, 0]


def test_signs_weigh_by_the_sign():
    batch = batch_of([0, 0, 0])
    got = weights.signs(batch, at_actions(batch, [3.0, -3.0, 0.0]), positive=0.5, negative=2.0)
    assert got[batch.action].tolist() == [0.5, 2, 1]


def test_lengths_weigh_by_a_power_with_mean_one():
    batch = batch_of([1, 0], lengths=[1, 4])
    got = weights.length_power(batch, nothing(batch), alpha=0.5)
    # 1 and 1/2 over 3/4
    assert got[batch.action].tolist() == pytest.approx([4 / 3] + [2 / 3] * 4)


def test_a_preference_of_power_zero_prefers_none_and_of_one_the_long():
    batch = batch_of([1, 0], [1], lengths=[1, 3, 2])
    assert weights.length_preference(batch, nothing(batch)).tolist() == pytest.approx([1.0] * len(batch.ids))
    # z = -+1: softmax of 8/9 and 10/9, times 2
    got = weights.length_preference(batch, nothing(batch), power=1.0)[batch.action].tolist()
    short = 2 / (1 + math.exp(2 / 9))
    assert got == pytest.approx([short] + [2 - short] * 3 + [1, 1], abs=1e-5)


def test_roles_and_turns_have_weights():
    batch = collate([group(trajectory(1, [([5], [6])] * 2, role="x"), trajectory(1, [([5], [6])]))])
    assert weights.roles(batch, nothing(batch), {"x": 3.0})[batch.action].tolist() == [3, 3, 1]
    assert weights.turn_discount(batch, nothing(batch), 0.5)[batch.action].tolist() == [1, 0.5, 1]
