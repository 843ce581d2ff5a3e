"""Process against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.agents.grpo.recipes.stages import BASELINES, RETURNS
from palaestra.errors import InputError

from ...conftest import group  # isort: skip
from .conftest import episode_of  # isort: skip


def at_actions(batch, values):
    """A token tensor that holds these values at the action tokens."""
    token = torch.zeros(len(batch.ids))
    token[batch.action] = torch.tensor(values)
    return token


def test_gae_of_three_tokens_in_two_turns():
    batch = collate([group(episode_of([0, 1], tokens=[2, 1]))])
    batch = batch.with_(value=at_actions(batch, [0.5, 0.25, 0.75]))
    # deltas with discount 1: -0.25, 0.5, 0.25; with decay 0.5: 0.25; 0.5 + 0.125; -0.25 + 0.3125
    assert RETURNS["gae"](batch, 1.0, 0.5).value.tolist() == pytest.approx([0.0625, 0.625, 0.25])
    # decay 1 is return - value whatever the critic says of later states
    assert RETURNS["gae"](batch, 1.0, 1.0).value.tolist() == pytest.approx([0.5, 0.75, 0.25])


def test_gae_on_two_scales_tells_the_tokens_of_a_turn_from_the_steps_between_turns():
    batch = collate([group(episode_of([0, 1], tokens=[2, 1]), episode_of([1]))])
    batch = batch.with_(value=at_actions(batch, [0.5, 0.25, 0.75, 0.5]))
    # Deltas: 0.25 - 0.5 inside the first turn, 0.5 x 0.75 - 0.25 to the next one, 1 - 0.75 at the end; then 0.125 +
    # 0.5 x 0.4 x 0.25 = 0.175, and -0.25 + 0.175, as nothing is lost inside a turn.
    found = RETURNS["dual_gae"](batch, discount=0.5, decay=0.4).value.tolist()
    assert found == pytest.approx([-0.075, 0.175, 0.25, 0.5])
    equal = RETURNS["dual_gae"](batch, inner_discount=0.9, inner_decay=0.5, discount=0.9, decay=0.5)
    assert equal.value.tolist() == pytest.approx(RETURNS["gae"](batch, 0.9, 0.5).value.tolist())
    short = collate([group(episode_of([1, 0, 2]))])
    short = short.with_(value=at_actions(short, [0.5, 0.25, 0.75]))
    assert RETURNS["dual_gae"](short, discount=0.9, decay=0.5).value.tolist() == pytest.approx(
        RETURNS["gae"](short, 0.9, 0.5).value.tolist()
    )


def test_gae_with_turns_as_steps_reads_the_value_before_each_turn():
    batch = collate([group(episode_of([0, 1], tokens=[2, 1]), episode_of([1], tokens=2))])
    batch = batch.with_(value=at_actions(batch, [0.5, 0.9, 0.75, 0.25, 0.9]))
    # deltas 0.75 - 0.5 and 1 - 0.75; the other episode's 1 - 0.25 does not leak
    assert RETURNS["turn_gae"](batch, 1.0, 0.5).value.tolist() == pytest.approx([0.375, 0.25, 0.75])


def test_the_kl_to_the_reference_is_a_reward_of_every_token():
    batch = collate([group(episode_of([1], tokens=3))])
    batch = batch.with_(logp_old=at_actions(batch, [0.0, 0.0, 0.0]), logp_ref=at_actions(batch, [-0.1, -0.2, -0.3]))
    # 1 - 0.5 x (0.6, 0.5, 0.3)
    assert RETURNS["kl_to_go"](batch, beta=0.5).value.tolist() == pytest.approx([0.7, 0.75, 0.85])
    assert RETURNS["kl_outcome"](batch, beta=0.5).value.tolist() == pytest.approx([0.7])
    # discounted: -0.15 + 1 = 0.85; -0.1 + 0.425; -0.05 + 0.1625
    assert RETURNS["kl_to_go"](batch, beta=0.5, discount=0.5).value.tolist() == pytest.approx([0.1125, 0.325, 0.85])


def test_implicit_rewards_of_tokens_add_up_to_that_of_the_episode():
    batch = collate([group(episode_of([1], tokens=3))])
    batch = batch.with_(logp_prm=at_actions(batch, [-1.0, -1, -1]), logp_ref=at_actions(batch, [-2.0, -1, -5]))
    assert RETURNS["implicit_token"](batch, beta=0.1).value.tolist() == pytest.approx([0.5, 0.4, 0.4])
    same = batch.with_(logp_prm=batch.logp_ref)
    assert RETURNS["implicit_token"](same).value.tolist() == [0, 0, 0]


def test_primes_process_advantage_is_the_suffix_sum_of_rewards_less_the_others_mean_reward():
    batch = collate([group(episode_of([1], tokens=2), episode_of([0], tokens=2))])
    prm, ref = [1.0, 2.0, 3.0, 5.0], [0.0] * 4
    batch = batch.with_(logp_prm=at_actions(batch, prm), logp_ref=at_actions(batch, ref))
    units = RETURNS["implicit_token"](batch, beta=1.0)
    # mean rewards 1.5 and 4: first episode (1 - 4) + (2 - 4), (2 - 4); second (3 - 1.5) + (5 - 1.5), (5 - 1.5)
    assert (units.value - BASELINES["token_rate"](units, batch)).tolist() == pytest.approx([-5, -2, 5, 3.5])


def test_primes_outcome_advantage_of_one_success_in_two():
    batch = collate([group(episode_of([1]), episode_of([0]))])
    units = replace(RETURNS["success"](batch), value=batch.outcome)
    assert (units.value - BASELINES["leave_one_out"](units, batch)).tolist() == [1, -1]


def test_rto_without_a_trained_model_is_a_reward_with_a_kl_penalty():
    batch = collate([group(episode_of([2.0], tokens=2))])
    old, ref = at_actions(batch, [-1.0, -2.0]), at_actions(batch, [-1.5, -4.0])
    batch = batch.with_(logp_old=old, logp_ref=ref, logp_teacher=ref)
    # rewards -0.1 x 0.5 and 2 - 0.1 x 2
    assert RETURNS["rto"](batch, kl=0.1).value.tolist() == pytest.approx([1.75, 1.8])


def test_rto_pays_each_token_by_the_trained_model_up_to_a_limit_and_limits_the_outcome():
    batch = collate([group(episode_of([20.0], tokens=2))])
    ref = at_actions(batch, [-1.0, -1.0])
    batch = batch.with_(logp_old=ref, logp_ref=ref, logp_teacher=at_actions(batch, [-0.6, -5.0]))
    free = RETURNS["rto"](batch, dense=0.1, clip=100.0).value.tolist()
    assert free == pytest.approx([0.1 * (0.4 - 4.0) + 10, 0.1 * -4.0 + 10])  # the sequence's reward is their sum
    assert RETURNS["rto"](batch, dense=0.1).value.tolist() == pytest.approx([0.04 - 0.05 + 10, -0.05 + 10])


def test_rto_with_a_critic_is_gae_over_the_same_rewards():
    batch = collate([group(episode_of([20.0], tokens=2))])
    ref = at_actions(batch, [-1.0, -1.0])
    batch = batch.with_(logp_old=at_actions(batch, [-0.5, -1.0]), logp_ref=ref)
    batch = batch.with_(logp_teacher=at_actions(batch, [-0.6, -5.0]), value=at_actions(batch, [3.0, 4.0]))
    # rewards 0.1 x 0.4 - 0.1 x 0.5 and -0.05 + 0.5 x 10; deltas -0.01 + 4 - 3 and 4.95 - 4
    estimates = RETURNS["rto_gae"](batch, dense=0.1, kl=0.1, outcome=0.5, decay=0.5).value.tolist()
    assert estimates == pytest.approx([0.99 + 0.5 * 0.95, 0.95])
    plain = batch.with_(value=torch.zeros_like(batch.logp_ref))
    whole = RETURNS["rto_gae"](plain, decay=1.0).value.tolist()
    assert whole == pytest.approx(RETURNS["rto"](plain).value.tolist())


def test_implicit_rewards_of_turns_sum_over_their_tokens():
    batch = collate([group(episode_of([0, 1], tokens=[2, 1]))])
    batch = batch.with_(logp_prm=at_actions(batch, [-1.0, -1, -1]), logp_old=at_actions(batch, [-2.0, -2, -5]))
    assert RETURNS["implicit_turn"](batch, beta=0.05).value.tolist() == pytest.approx([0.1, 0.2])


def judged(rewards):
    """An episode of which a reward judged the turns."""
    made = episode_of([0.0] * len(rewards), stepwise=True)
    return replace(made, turns=tuple(replace(t, shaping=r) for t, r in zip(made.turns, rewards, strict=True)))


def test_the_soft_minimum_credits_turns_up_to_the_worst():
    # PURE's example: weights softmax(-r / 0.1) make r* = (.0005, -.1998, .00004)
    batch = collate([group(judged([0.5, -0.2, 0.8]))])
    assert RETURNS["min_form"](batch).value.tolist() == pytest.approx([-0.1993, -0.1998, 0.00004], abs=1e-4)
    hard = RETURNS["min_form"](batch, temperature=1e-3).value.tolist()
    assert hard == pytest.approx([-0.2, -0.2, 0], abs=1e-6)
    # one more good turn would add 1 to a sum
    more = RETURNS["min_form"](collate([group(judged([0.5, -0.2, 0.8, 1.0]))]))
    assert more.value[0].item() == pytest.approx(RETURNS["min_form"](batch).value[0].item(), abs=1e-3)


def test_without_a_reward_of_turns_pure_counts_the_outcome_once():
    batch = collate([group(*(episode_of([r], success=r > 0) for r in (0.0, 1.0, 0.0, 1.0)))])
    got = Objective(RECIPES["pure"]).rollout_terms.weigh(batch).advantage[batch.action]
    assert got.tolist() == pytest.approx([-2 / 3, 2 / 3, -2 / 3, 2 / 3])
    # The environment's rewards on the way are process rewards, that of the end is the outcome.
    assert collate([group(episode_of([0.1, 0.2, 1.0]))]).process_reward.tolist() == [0.1, 0.2, 0.0]


def test_the_soft_minimum_needs_a_temperature():
    with pytest.raises(InputError, match="must be positive"):
        RETURNS["min_form"](collate([group(episode_of([1]))]), temperature=0)


def test_gae_with_the_kl_in_the_reward_of_each_token():
    batch = collate([group(episode_of([0, 1], tokens=[2, 1]))])
    batch = batch.with_(
        value=at_actions(batch, [0.5, 0.25, 0.75]),
        logp_old=at_actions(batch, [0.0, 0.0, 0.0]),
        logp_ref=at_actions(batch, [-0.1, -0.2, -0.3]),
    )
    # At decay 1 it is the return less the value; the KL takes 0.5 x (0.6, 0.5, 0.3) from the returns.
    assert RETURNS["kl_gae"](batch, 0.5, 1.0, 1.0).value.tolist() == pytest.approx([0.2, 0.5, 0.1])
    assert RETURNS["kl_gae"](batch, 0.0, 1.0, 0.5).value.tolist() == RETURNS["gae"](batch, 1.0, 0.5).value.tolist()
