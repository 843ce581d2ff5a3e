"""Masks against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.components import masks, weights
from palaestra.agents.grpo.components.reductions import token_mean
from palaestra.agents.grpo.recipes.stages import REDUCTIONS
from palaestra.errors import InputError

from ..conftest import group, trajectory  # isort: skip


def batch_of(*outcomes_by_group, lengths=None):
    counts = iter(lengths or [1] * sum(map(len, outcomes_by_group)))
    return collate([group(*(trajectory(r, [([5], [6] * next(counts))]) for r in rs)) for rs in outcomes_by_group])


def at_actions(batch, values):
    token = torch.zeros(len(batch.ids))
    token[batch.action] = torch.tensor(values)
    return token


def nothing(batch):
    return torch.zeros(len(batch.ids))


def test_two_of_ten_tokens_have_the_highest_entropy_whatever_observations_have():
    batch = batch_of([1, 0], lengths=[4, 6])
    entropy = at_actions(batch, [0.1, 0.9, 0.3, 0.2, 0.5, 0.4, 0.8, 0.6, 0.0, 0.7])
    entropy[~batch.action] = 100.0
    batch = batch.with_(entropy=entropy)
    kept = masks.top_entropy(batch, nothing(batch))
    assert kept[batch.action].nonzero()[:, 0].tolist() == [1, 6]
    assert not kept[~batch.action].any()
    # ceil(0.8) = 1 and ceil(1.2) = 2 of each episode
    each = masks.top_entropy(batch, nothing(batch), scope="episode")
    assert each[batch.action].nonzero()[:, 0].tolist() == [1, 6, 9]
    assert masks.top_entropy(batch, nothing(batch), share=1.0)[batch.action].all()


def test_tokens_that_tie_with_the_last_one_kept_are_kept():
    batch = batch_of([1], lengths=[5])
    batch = batch.with_(entropy=at_actions(batch, [0.5, 0.5, 0.1, 0.5, 0.1]))
    assert masks.top_entropy(batch, nothing(batch))[batch.action].tolist() == [True, True, False, True, False]


def test_a_mask_by_entropy_divides_by_what_it_keeps_and_a_weight_by_all():
    batch = batch_of([1], lengths=[5])
    batch = batch.with_(entropy=at_actions(batch, [0.1, 0.5, 0.2, 0.3, 0.4]))
    masked = token_mean(batch, batch.action & masks.top_entropy(batch, nothing(batch)))
    weighed = token_mean(batch, batch.action) * weights.top_entropy(batch, nothing(batch))
    assert masked[batch.action].tolist() == [0, 1, 0, 0, 0]
    assert weighed[batch.action].tolist() == pytest.approx([0, 0.2, 0, 0, 0])


def test_the_least_likely_tokens_are_the_forks():
    batch = collate([group(trajectory(1, [([5], [6] * 5)], [[-0.1, -3.0, -0.2, -0.3, -1.0]]))])
    kept = masks.low_probability(batch, nothing(batch), share=0.4)
    assert kept[batch.action].tolist() == [False, True, False, False, True]


def test_of_hints_only_the_uncertain_tokens_are_trained():
    made = trajectory(1, [([5], [6] * 4)])
    origins = (int(Origin.HINT), int(Origin.HINT), 0, 0)
    batch = collate([group(replace(made, turns=(replace(made.turns[0], origins=origins),)))])
    batch = batch.with_(entropy=at_actions(batch, [0.1, 0.2, 0.0, 0.0]))
    assert masks.hint_entropy(batch, nothing(batch))[batch.action].tolist() == [False, True, True, True]


@pytest.mark.parametrize(("share", "scope", "words"), [(0.0, "batch", "share=0.0"), (0.2, "row", "scope='row'")])
def test_a_share_of_tokens_must_be_one(share, scope, words):
    batch = batch_of([1]).with_(entropy=torch.zeros(2))
    with pytest.raises(InputError, match=words):
        masks.top_entropy(batch, nothing(batch), share=share, scope=scope)


def test_turns_are_chosen_by_their_place_in_the_episode():
    batch = collate([group(trajectory(1, [([5], [6])] * 3), trajectory(1, [([5], [6])]))])
    assert masks.first_turns(batch, nothing(batch), 2)[batch.action].tolist() == [True, True, False, True]
    assert masks.last_turns(batch, nothing(batch), 1)[batch.action].tolist() == [False, False, True, True]


def test_signs_of_the_advantage_choose_tokens():
    batch = batch_of([1, 0, 0])
    advantage = at_actions(batch, [1.0, -1.0, 0.0])
    assert masks.positive(batch, advantage)[batch.action].tolist() == [True, False, False]
    assert masks.negative(batch, advantage)[batch.action].tolist() == [False, True, False]
    assert masks.nonzero(batch, advantage)[batch.action].tolist() == [True, True, False]
    largest = float(advantage.abs().max())
    assert not masks.nonzero(batch, advantage, least=largest).any()  # minimal advantage


def test_episodes_are_chosen_by_what_they_are():
    rows = [
        trajectory(1, [([5], [6] * 16)], role="x"),
        trajectory(0, [([5], [6] * 8)], guided=0.5),
    ]
    batch = collate([group(*rows)])
    by = {
        "success": masks.successful(batch, nothing(batch)),
        "guided": masks.unguided(batch, nothing(batch)),
        "role": masks.role(batch, nothing(batch), who="x"),
        "length": ~masks.within_length(batch, nothing(batch), share=0.5),
    }
    for kept in by.values():
        assert kept[batch.episode_of == 0].all()
        assert not kept[batch.episode_of == 1].any()


def test_turns_that_the_environment_refused_can_be_left_out():
    made = trajectory(1, [([5], [6]), ([5], [7])])
    turns = (replace(made.turns[0], action_error="no such tool"), made.turns[1])
    batch = collate([group(replace(made, turns=turns))])
    assert masks.without_errors(batch, nothing(batch))[batch.action].tolist() == [False, True]


@pytest.mark.parametrize("reduction", ["token_mean", "sequence_mean", "turn_mean", "prompt_mean"])
def test_turns_after_the_first_success_change_nothing(reduction):
    won = trajectory(1.0, [([5], [6, 7]), ([8], [9])])
    won = replace(won, turns=tuple(replace(turn, solved=place == 1) for place, turn in enumerate(won.turns)))
    idle = replace(won.turns[-1], reward=0.0)
    lost = trajectory(0.0, [([5], [7]), ([8], [6, 6])])
    weights_of = []
    for padded in (won, replace(won, turns=(*won.turns, idle, idle))):
        batch = collate([group(padded, lost)])
        advantage = batch.per_token(torch.tensor([1.0, -1.0]))
        weight = REDUCTIONS[reduction](batch, batch.action & masks.until_success(batch, advantage))
        assert batch.outcome.tolist() == [1.0, 0.0]
        weights_of.append((weight * advantage)[weight != 0].tolist())
    assert len(weights_of[0]) == 6
    assert weights_of[0] == pytest.approx(weights_of[1])
