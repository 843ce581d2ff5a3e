"""Soft Q-learning: the published numbers, and the optimum pi ~ exp(r)."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.teachers.prompts.prompt_policy import WordPolicy
from palaestra.teachers.prompts.soft_q import gap_reward, path_consistency, shape_range, z_scores


def test_gaps_count_200_or_180_fold():
    assert gap_reward(0.1) == pytest.approx(20)
    assert gap_reward(-0.1) == pytest.approx(-18)


def test_equal_rewards_have_z_scores_of_0_and_others_the_deviation_1():
    assert z_scores([7.0, 7.0]).tolist() == [0.0, 0.0]
    assert z_scores([0.0, 2.0]) == pytest.approx([-1 / 1.0001, 1 / 1.0001])
    assert [shape_range(reward) for reward in (0, 50, 100)] == [-10.0, 0.0, 10.0]


def test_one_word_whose_values_are_its_rewards_has_no_loss():
    rewards = np.array([1.0, -2.0, 0.5])
    value = np.log(np.exp(rewards).sum())
    for word in range(3):
        found = path_consistency([rewards[word] - value], [value], rewards[word])
        assert found.loss == pytest.approx(0)
        assert found.slope_t == pytest.approx([0])


def test_losses_of_two_words_worked_by_hand():
    # A = (-1, -2), V = (3, 1), r = 4. Single: -1 - (1 - 3), -2 - (4 - 1). Multi: -3 - (4 - 3), -2 - (4 - 1).
    found = path_consistency([-1.0, -2.0], [3.0, 1.0], 4.0)
    assert found.single_step == pytest.approx(0.5 * (1 + 25) / 2)
    assert found.multi_step == pytest.approx(0.5 * (16 + 25) / 2)
    assert found.loss == pytest.approx(0.5 * (6.5 + 10.25))


def test_slope_is_the_derivative_of_the_loss():
    adv, value = np.array([-1.0, -0.3, -2.0]), np.array([0.5, 1.0, -1.0])
    slope = path_consistency(adv, value, 0.7).slope_t
    for t in range(3):
        moved = [path_consistency(adv + step * (np.arange(3) == t), value, 0.7).loss for step in (1e-6, -1e-6)]
        assert slope[t] == pytest.approx((moved[0] - moved[1]) / 2e-6, rel=1e-5)


def test_training_leads_to_probabilities_in_proportion_to_exp_reward():
    rewards, policy = np.array([0.0, 1.0, 2.0]), WordPolicy(words=3, length=1, hidden=8)
    wanted = np.exp(rewards) / np.exp(rewards).sum()

    def probabilities():
        q = policy.values(policy.features([0]))[0][0]
        return np.exp(q - q.max()) / np.exp(q - q.max()).sum()

    assert np.abs(probabilities() - wanted).max() > 0.2
    for step in range(200):
        # On-policy, as the derivation wants it, and without the noise of draws.
        texts = [[word] for word in np.repeat(range(3), np.round(20 * probabilities()).astype(int))]
        policy.learn(texts, [float(rewards[text[0]]) for text in texts], rate=0.03 * (1 - step / 200), polyak=0.3)
    assert probabilities() == pytest.approx(wanted, abs=0.05)
