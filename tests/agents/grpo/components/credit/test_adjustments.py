"""Adjustments against numbers worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.components.credit.adjustments import (
    amplify,
    confidence,
    discount_turns,
    dual_uncertainty,
    entropy_shaped,
    limit_advantages,
    sigma_filter,
    sign_weights,
    suffix_kl,
    thoughts,
    token_reward_weight,
    turns_ahead,
    use_stored_advantages,
    whiten_tokens,
)
from palaestra.errors import InputError

from ...conftest import group, trajectory  # isort: skip


def answers(*rewards: float, lengths=(3, 2, 4, 1)):
    """One group: right answers end in 11, wrong ones in 12."""
    members = [
        trajectory(r, [([5, 6], [7 + i] * (n - 1) + [11 if r > 0.5 else 12])], success=r > 0.5)
        for i, (r, n) in enumerate(zip(rewards, lengths, strict=False))
    ]
    return group(*members)


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


def batch_of(*outcomes_by_group, tokens=1):
    return collate([group(*(trajectory(r, [([5], [6] * tokens)]) for r in rs)) for rs in outcomes_by_group])


def at_actions(batch, values):
    token = torch.zeros(len(batch.ids))
    token[batch.action] = torch.tensor(values)
    return token


def centred(batch):
    mean = batch.sum_by_group(batch.outcome) / batch.sum_by_group(torch.ones(batch.episodes))
    return torch.where(batch.action, batch.per_token(batch.outcome - mean[batch.group_of]), 0)


def test_turns_are_credited_with_those_that_follow():
    # A_1 + d A_2 for the first turn and A_2 for the second; two tokens and one
    batch = collate([group(trajectory(1, [([5], [6, 6]), ([5], [6])]), trajectory(0, [([5], [6])]))])
    advantage = at_actions(batch, [0.5, 0.5, -1.0, 0.25])
    assert turns_ahead(advantage, batch)[batch.action].tolist() == pytest.approx([-0.5, -0.5, -1.0, 0.25])
    assert turns_ahead(advantage, batch, 0.5)[batch.action].tolist() == pytest.approx([0.0, 0.0, -1.0, 0.25])
    assert not turns_ahead(advantage, batch)[~batch.action].any()


def test_whitening_makes_mean_zero_and_deviation_one_and_leaves_observations_alone():
    batch = batch_of([0, 0, 0, 0])
    got = whiten_tokens(at_actions(batch, [1.0, 2, 3, 4]), batch)
    assert got[batch.action].tolist() == pytest.approx([v / 1.25**0.5 for v in (-1.5, -0.5, 0.5, 1.5)])
    assert not got[~batch.action].any()


def test_tokens_that_others_wrote_do_not_count_in_the_statistics():
    made = trajectory(0, [([5], [6, 6, 6])])
    made = replace(made, turns=(replace(made.turns[0], origins=(0, 0, int(Origin.HINT))),))
    batch = collate([group(made)])
    assert whiten_tokens(at_actions(batch, [1.0, -1.0, 7.0]), batch)[batch.action].tolist() == pytest.approx([1, -1, 7])


def test_the_two_signs_have_weights_of_their_own():
    batch = batch_of([0, 0])
    assert sign_weights(at_actions(batch, [2.0, -2.0]), batch, 0.1, 0.5)[batch.action].tolist() == [
        pytest.approx(0.2),
        -1,
    ]


def test_advantages_are_bounded():
    batch = batch_of([0, 0])
    assert limit_advantages(at_actions(batch, [9.0, -2.0]), batch, -1, 5)[batch.action].tolist() == [5, -1]


def test_only_what_is_beyond_three_deviations_is_dropped():
    batch = batch_of([0] * 20)
    values = [10.0] + [0.5, -0.5] * 9 + [0.5]
    # the outlier lies 4.3 deviations from the mean
    got = sigma_filter(at_actions(batch, values), batch)[batch.action].tolist()
    assert got == [0.0, *values[1:]]
    assert sigma_filter(at_actions(batch, values), batch, sigmas=5)[batch.action].tolist() == values


def test_successes_are_amplified_and_failures_left():
    # R3L: (1, 0, 0, 0) and (.5, 0, 0, .1)
    batch = batch_of([1, 0, 0, 0], [0.5, 0, 0, 0.1])
    got = amplify(centred(batch), batch)
    expected = [1, -0.25, -0.25, -0.25, 1.05, -0.15, -0.15, -0.05]
    assert got[batch.action].tolist() == pytest.approx(expected)
    assert not got[~batch.action].any()


def test_the_kl_of_all_that_follows_is_subtracted():
    # FRPO: delta = (.1, .2, .3), beta = .5, A = 1
    batch = batch_of([1], tokens=3)
    batch = batch.with_(logp_old=at_actions(batch, [0.0] * 3), logp_ref=at_actions(batch, [-0.1, -0.2, -0.3]))
    one = at_actions(batch, [1.0] * 3)
    assert suffix_kl(one, batch, beta=0.5)[batch.action].tolist() == pytest.approx([0.7, 0.75, 0.85])
    assert suffix_kl(one, batch, beta=0.5, chunk=2)[batch.action].tolist() == pytest.approx([0.7, 0.7, 0.85])
    assert suffix_kl(one, batch, beta=0.0).tolist() == one.tolist()


def test_the_kl_of_the_next_episode_is_not_subtracted():
    batch = batch_of([1, 1])
    batch = batch.with_(logp_old=at_actions(batch, [0.0, 0.0]), logp_ref=at_actions(batch, [0.0, -5.0]))
    assert suffix_kl(at_actions(batch, [1.0, 1.0]), batch, beta=0.1)[batch.action].tolist() == pytest.approx([1, 0.5])


def asked(batch, *logps: float):
    """The batch with these log-probabilities at the prompt tokens of each episode."""
    token = torch.zeros(len(batch.ids))
    token[batch.prompt] = torch.tensor(logps).repeat(batch.episodes)
    return batch.with_(prompt_logp=token)


def test_the_less_confident_of_two_right_answers_is_reinforced_more():
    # the least likely fifth of five tokens is one: probabilities 1/4 and 3/4, against 1/2 in the prompt
    sure, unsure = (torch.tensor([1.0, 1, 1, 1, p]).log().tolist() for p in (0.75, 0.25))
    rows = [trajectory(r, [([5, 7, 8], [6] * 5)], [logps]) for r, logps in ((1, sure), (1, unsure))]
    batch = collate([group(*rows), group(*(replace(t, turns=(replace(t.turns[0], reward=0.0),)) for t in rows))])
    batch = asked(batch, math.log(0.5), math.log(0.9))
    got = confidence(torch.zeros(len(batch.ids)), batch, alpha=0.4)[batch.action].reshape(4, 5)
    assert got[:, 0].tolist() == pytest.approx([-0.1, 0.1, 0, 0])
    assert torch.equal(got, got[:, :1].expand(-1, 5))
    assert (confidence(torch.zeros(len(batch.ids)), batch, alpha=0.0) == 0).all()


def test_six_tokens_have_two_in_their_least_likely_fifth():
    logps = torch.tensor([0.25, 0.5, 0.8, 0.9, 1, 1]).log().tolist()
    rows = [trajectory(1, [([5, 7], [6] * 6)], [values]) for values in (logps, [0.0] * 6)]
    batch = asked(collate([group(*rows)]), 0.0)
    # geometric means sqrt(1/8) and 1, against 1 in the prompt
    got = confidence(torch.zeros(len(batch.ids)), batch, alpha=1.0)[batch.action].reshape(2, 6)[:, 0]
    assert got.tolist() == pytest.approx([1 - 0.125**0.5, 0], abs=1e-6)


def test_two_uncertainties_add_at_most_the_advantage():
    batch = batch_of([0, 0, 0])
    batch = batch.with_(
        entropy=at_actions(batch, [0.25, 5.0, 0.0]), prompt_divergence=at_actions(batch, [0.5, 5.0, 0.1])
    )
    got = dual_uncertainty(at_actions(batch, [-0.4, -1.0, 2.0]), batch)[batch.action].tolist()
    # min(0.1, 0.2) + min(0.5, 0.2); both caps; 0 + 0.1
    assert got == pytest.approx([-0.1, 0.0, 2.1])


def test_entropy_adds_at_most_half_of_the_advantage():
    batch = batch_of([0, 0, 0])
    batch = batch.with_(entropy=at_actions(batch, [0.5, 5.0, 5.0]))
    got = entropy_shaped(at_actions(batch, [1.0, 1.0, -1.0]), batch)[batch.action].tolist()
    assert got == pytest.approx([1.2, 1.5, -0.5])


def test_earlier_turns_are_discounted():
    batch = collate([group(trajectory(1, [([5], [6])] * 3), trajectory(1, [([5], [6])]))])
    assert discount_turns(batch.action.float(), batch, 0.5)[batch.action].tolist() == [0.25, 0.5, 1, 1]


def test_episodes_with_an_advantage_of_their_own_keep_it():
    batch = collate([group(trajectory(1, [([5], [6])], advantage=-2.0), trajectory(1, [([5], [6])]))])
    got = use_stored_advantages(at_actions(batch, [0.5, 0.5]), batch)
    assert got[batch.action].tolist() == [-2, 0.5]
    assert not got[~batch.action].any()


def stepped(reward, labels):
    made = trajectory(reward, [([5], [6])] * len(labels))
    turns = (replace(t, reward_terms={"step": v}) for t, v in zip(made.turns, labels, strict=True))
    return replace(made, turns=tuple(turns))


def test_wrong_thoughts_lose_in_won_episodes_and_are_spared_in_lost_ones():
    # TP-GRPO: right, wrong, right with A = 1 and a loss of 0.8 x 1/2; agreeing, not, agreeing with A = -0.8
    batch = collate([group(stepped(1, [1, -1, 1]), stepped(0, [1, 0, 1]))])
    got = thoughts(at_actions(batch, [1.0] * 3 + [-0.8] * 3), batch, alpha=0.8)
    assert got[batch.action].tolist() == pytest.approx([1, 0.6, 1, -0.8, 0, -0.8])


def test_turns_without_a_verdict_keep_their_advantage():
    batch = batch_of([1, 0])
    assert thoughts(centred(batch), batch)[batch.action].tolist() == [0.5, -0.5]
