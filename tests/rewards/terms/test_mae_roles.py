from __future__ import annotations

from collections.abc import Callable

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.mae_roles import enters_pool, pair_count_score, proposer_reward

Maker = Callable[..., Episode]


def test_a_proposer_earns_quality_difficulty_and_form():
    assert proposer_reward(0.9, [0.4, 0.4], 1.0) == pytest.approx(0.8333, abs=1e-4)
    assert enters_pool(0.9, 1.0)


def test_difficulty_of_a_poor_question_does_not_count():
    assert proposer_reward(0.6, [0.4], 1.0) == pytest.approx(0.5333, abs=1e-4)
    assert not enters_pool(0.6, 1.0)


def test_a_question_enters_the_pool_from_the_threshold_on():
    assert enters_pool(0.7, 1.0)
    assert proposer_reward(0.7, [0.4], 1.0) == pytest.approx((0.7 + 0.6 + 1.0) / 3)


def test_a_question_that_cannot_be_read_earns_nothing():
    assert proposer_reward(0.9, [0.0], 0.0) == 0.0


@pytest.mark.parametrize(("text", "score"), [("<q>a</q>", 1.0), ("<q>a</q><q>b</q>", 0.5), ("<q>", 0.0), ("", 0.0)])
def test_form_counts_pairs_of_tags(text: str, score: float):
    assert pair_count_score(text, "q") == score


def test_a_solver_earns_half_by_the_judge_and_half_by_form(episode: Maker):
    reward = make("multi-agent-evolve")
    assert reward(episode(text="<answer>4</answer>", judge_score=0.6)).reward == pytest.approx(0.8)
    assert not reward(episode(judge_score=None)).valid


def test_a_judge_earns_the_same_whatever_it_says(episode: Maker):
    reward = make("multi-agent-evolve", role="judge")
    assert not reward.needs
    assert reward(episode(text="<score>1</score>")).reward == reward(episode(text="<score>9</score>")).reward == 1.0


def test_a_proposer_reads_what_solvers_scored(episode: Maker):
    reward = make("multi-agent-evolve", role="proposer", scorer=lambda _: 0.9)
    assert reward.needs == {"solver_scores"}
    verdict = reward(episode(text="<question>?</question>", solver_scores=[0.2, 0.6]))
    assert verdict.reward == pytest.approx(0.8333, abs=1e-4)


def test_an_unknown_role_names_the_nearest():
    with pytest.raises(InputError, match="proposer"):
        make("multi-agent-evolve", role="propose")
