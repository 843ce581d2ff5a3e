"""Masks, weights, reductions and filters against numbers worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.components import masks, weights
from palaestra.agents.grpo.components.filters import (
    balanced,
    fewer_failures,
    high_variance,
    largest_advantage,
    max_variance,
    one_of_each,
    pass_rate,
    shortest,
    sound,
    untruncated,
)
from palaestra.agents.grpo.components.reductions import constant, delta_l, prompt_mean, token_mean, turn_mean
from palaestra.errors import InputError

from .conftest import group, trajectory  # isort: skip


def batch_of(*outcomes_by_group, lengths=None):
    counts = iter(lengths or [1] * sum(map(len, outcomes_by_group)))
    return collate([group(*(trajectory(r, [([5], [6] * next(counts))]) for r in rs)) for rs in outcomes_by_group])


def at_actions(batch, values):
    token = torch.zeros(len(batch.ids))
    token[batch.action] = torch.tensor(values)
    return token


def nothing(batch):
    return torch.zeros(len(batch.ids))


# Masks ---------------------------------------------------------------------------------------------------------------


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


# Weights -------------------------------------------------------------------------------------------------------------


def answers(reward_of, text):
    rows = []
    for letter in text:
        made = trajectory(reward_of.get(letter, 0.0), [([5], [6])])
        rows.append(replace(made, turns=(replace(made.turns[0], action=letter),)))
    return group(*rows)


def test_puzzles_weigh_by_difficulty_and_diversity():
    batch = collate([answers({"A": 1.0}, "ABBBBBBB"), answers({"A": 1.0}, "ABBCCDEF"), answers({"A": 1.0}, "AA")])
    weight = weights.mid_difficulty(batch, nothing(batch), diversity=0.5, choices=6)
    first = [weight[batch.episode_of == e][0].item() for e in (0, 8, 16)]
    assert first == pytest.approx([0.2006, 0.4303, 0], abs=1e-4)


def test_difficulty_alone_is_a_parabola():
    batch = batch_of([1, 0], [1, 1, 1, 0])
    weight = weights.mid_difficulty(batch, nothing(batch))
    assert weight[batch.action].tolist() == pytest.approx([1, 1] + [0.75] * 4)


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


# Reductions ----------------------------------------------------------------------------------------------------------


def test_every_prompt_counts_the_same():
    batch = batch_of([1, 0], [1], lengths=[1, 3, 2])
    assert prompt_mean(batch, batch.action)[batch.action].tolist() == pytest.approx([1 / 8] * 4 + [1 / 4] * 2)


def test_every_turn_of_an_episode_counts_the_same():
    rows = group(trajectory(1, [([5], [6]), ([5], [6, 6])]), trajectory(0, [([5], [6, 6])]))
    batch = collate([rows])
    got = turn_mean(batch, batch.action)[batch.action].tolist()
    assert got == pytest.approx([1 / 4, 1 / 8, 1 / 8, 1 / 4, 1 / 4])
    # a turn that is not trained leaves the mean over turns
    keep = batch.action & ~((batch.turn_of == 0) & batch.action)
    assert turn_mean(batch, keep)[keep].tolist() == pytest.approx([1 / 4] * 4)


def test_delta_l_weighs_by_the_inverse_length_and_is_the_constant_for_equal_lengths():
    batch = batch_of([1, 0], lengths=[1, 4])
    # 1 and 1/4 over 5/4, over the budget of 16
    got = delta_l(batch, batch.action)[batch.action].tolist()
    assert got == pytest.approx([0.8 / 16] + [0.2 / 16] * 4)
    same = batch_of([1, 0], lengths=[3, 3])
    assert delta_l(same, same.action).tolist() == pytest.approx(constant(same, same.action).tolist())


# Filters -------------------------------------------------------------------------------------------------------------


def sampled(*outcomes, lengths=None, **changes):
    counts = lengths or [1] * len(outcomes)
    rows = (
        trajectory(r, [([5], [6 + i] * n)], **changes) for i, (r, n) in enumerate(zip(outcomes, counts, strict=True))
    )
    return group(*rows)


def outcomes_of(groups):
    return [[t.outcome for t in g.trajectories] for g in groups]


def test_pass_rates_outside_the_bounds_are_dropped():
    groups = [sampled(*[1] * wins, *[0] * (5 - wins)) for wins in range(6)]
    assert pass_rate(groups) == groups[1:5]
    assert pass_rate(groups, low=0.5, high=1.0) == groups[3:]


def test_truncated_and_void_episodes_leave_the_group_and_are_remembered():
    cut = trajectory(0, [([5], [6])], truncated=True)
    bad = trajectory(0, [([5], [6])])
    bad = replace(bad, turns=(replace(bad.turns[0], action_error="no"),))
    silent = trajectory(0, [([5], [])])
    fine = trajectory(1, [([5], [6])])
    assert untruncated([group(cut, fine)])[0].trajectories == (fine,)
    assert untruncated([group(cut)]) == []
    (kept,) = sound([group(bad, fine, silent)])
    assert kept.trajectories == (fine,)
    assert kept.drawn == (0, 1, 0)


def test_three_of_four_groups_with_the_highest_variance_stay():
    groups = [sampled(1, 0), sampled(0.6, 0.4), sampled(0.9, 0.1), sampled(0.5, 0.5)]
    assert high_variance(groups) == groups[:3]
    assert high_variance(groups, share=0.25) == groups[:1]
    assert high_variance(groups, share=1.0) == groups[:3]


def test_the_shortest_or_the_most_efficient_are_kept():
    rows = [sampled(1, 1, 0, 0.5, lengths=[4, 2, 3, 1])]
    assert outcomes_of(shortest(rows, keep=2)) == [[1, 0.5]]
    # efficiencies 1/4, 1/2, 0, 1/2
    assert outcomes_of(shortest(rows, keep=2, by="efficiency")) == [[1, 0.5]]
    assert [t.action_tokens for t in shortest(rows, keep=2)[0].trajectories] == [2, 1]
    with pytest.raises(InputError, match="by='speed'"):
        shortest(rows, by="speed")


def test_the_subset_of_highest_variance_has_both_ends():
    assert outcomes_of(max_variance([sampled(0, 1, 1, 1, 0.9, 0.1)], keep=4)) == [[0, 1, 1, 0.1]]
    # the best subset among all of them, by brute force
    assert outcomes_of(max_variance([sampled(5, 0, 4.5, 4)], keep=2)) == [[5, 0]]
    assert outcomes_of(max_variance([sampled(1, 0)], keep=4)) == [[1, 0]]


def test_the_largest_advantages_are_kept_and_the_mean_is_that_of_all():
    (kept,) = largest_advantage([sampled(1, 0, 0, 0.3)], share=0.5)
    # mean 0.325: distances 0.675, 0.325, 0.325, 0.025
    assert sorted(t.outcome for t in kept.trajectories) == [0, 1]
    assert kept.drawn == (1, 0, 0, 0.3)


def test_one_success_and_one_failure_are_kept():
    assert sorted(outcomes_of(one_of_each([sampled(1, 0, 1, 0), sampled(1, 1)]))[0]) == [0, 1]
    assert len(one_of_each([sampled(1, 0, 1, 0), sampled(1, 1)])) == 1


@pytest.mark.parametrize(("wins", "expected"), [(4, 2), (1, 1), (7, 3), (8, 4), (0, 0)])
def test_half_are_successes_where_there_are_enough_of_both(wins, expected):
    (kept,) = balanced([sampled(*[1] * wins, *[0] * (8 - wins))], keep=4)
    assert len(kept.trajectories) == 4
    assert sum(t.success for t in kept.trajectories) == expected


def test_failures_are_dropped_until_there_are_no_more_than_successes():
    assert sorted(outcomes_of(fewer_failures([sampled(1, 0, 0, 0)]))[0]) == [0, 1]
    assert outcomes_of(fewer_failures([sampled(1, 1, 0)])) == [[1, 1, 0]]
    assert outcomes_of(fewer_failures([sampled(0, 0)])) == [[0, 0]]


@pytest.mark.parametrize(
    "choose",
    [one_of_each, lambda g: balanced(g, keep=2), lambda g: max_variance(g, keep=3), lambda g: shortest(g, keep=2)],
)
def test_the_choice_does_not_depend_on_the_order_of_episodes(choose):
    rows = sampled(1, 1, 1, 0, 0, 0)
    turned = replace(rows, trajectories=rows.trajectories[::-1])
    chosen = {t.turns[0].act_ids for t in choose([rows])[0].trajectories}
    assert chosen == {t.turns[0].act_ids for t in choose([turned])[0].trajectories}


def test_invalid_episodes_are_neither_chosen_nor_remembered():
    lost = trajectory(1, [([5], [6])], valid=False)
    (kept,) = shortest([group(lost, trajectory(0, [([5], [6, 6])]))], keep=2)
    assert outcomes_of([kept]) == [[0]]
    assert kept.drawn == (0,)


def test_a_number_of_episodes_may_follow_a_schedule():
    for choose in (balanced, max_variance, shortest):
        assert len(choose([sampled(1, 0, 1, 0)], keep=1.7)[0].trajectories) == 2


@pytest.mark.parametrize("choose", [balanced, max_variance, shortest])
def test_nothing_to_keep_is_refused(choose):
    with pytest.raises(InputError, match="at least 1"):
        choose([sampled(1, 0)], keep=0)
