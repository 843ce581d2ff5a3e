from __future__ import annotations

from collections.abc import Callable

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.roles import (
    critique_reward,
    pair_count_score,
    proposer_reward,
    scorer_reward,
    solution_reward,
)

Maker = Callable[..., Episode]


@pytest.mark.parametrize(("mark", "solution", "critique"), [(1, 0.0, 1.0), (2, 0.5, 0.5), (3, 1.0, 0.0)])
def test_solver_and_critic_share_one_point(mark: int, solution: float, critique: float):
    assert (solution_reward(mark), critique_reward(mark)) == (solution, critique)


def test_the_scorer_earns_the_same_whatever_the_mark(episode: Maker):
    assert {scorer_reward(mark) for mark in (1, 2, 3)} == {0.0}
    reward = make("comas", role="scorer")
    assert [reward(episode(mark=mark)).reward for mark in (2, 3, 7, None, "3")] == [0, 0, -1, -1, -1]


def test_a_mark_that_cannot_be_read_makes_the_others_invalid(episode: Maker):
    assert make("comas")(episode(mark=3)).reward == 1.0
    assert make("comas", role="critique")(episode(mark=3)).reward == 0.0
    assert not make("comas")(episode(mark=2.5)).valid


def test_an_unknown_role_is_refused():
    with pytest.raises(InputError, match="scorer"):
        make("comas", role="scorr")


def test_a_proposer_earns_quality_difficulty_and_form():
    assert proposer_reward(0.9, [0.4, 0.4], 1.0) == pytest.approx(0.8333, abs=1e-4)


def test_difficulty_of_a_poor_question_does_not_count():
    assert proposer_reward(0.6, [0.4], 1.0) == pytest.approx(0.5333, abs=1e-4)


def test_difficulty_counts_from_the_threshold_on():
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


def test_the_reward_of_a_judge_does_not_depend_on_its_score(episode: Maker):
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
