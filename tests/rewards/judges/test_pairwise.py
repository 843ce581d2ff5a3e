"""Matches of two responses, judged in both orders, and the reward "pairwise"."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from palaestra import rewards
from palaestra.rewards import Episode, Step
from palaestra.rewards.judges import Judge, Judgement
from palaestra.rewards.judges.pairwise import mean_preference, play_matches, preference


def saying(text: str, valid: bool = True, **extras: str) -> Episode:
    return Episode("t", {}, (Step("prompt", text, 0.0, {}, 1),), False, 0.0, valid, False, None, extras)


class Picky(Judge):
    """Fails on any question with "?" in a response; otherwise scores by length."""

    name = "picky"

    def __init__(self) -> None:
        self.rounds: list[int] = []

    def score(self, principle: str, prompt: str, responses: Sequence[str], reference: str | None = None) -> Judgement:
        if any("?" in response for response in responses):
            return Judgement.failed("puzzled")
        return Judgement(tuple(len(response) / 10 for response in responses))

    def gather(self, calls):  # type: ignore[no-untyped-def]
        self.rounds.append(len(calls))
        return super().gather(calls)


def test_pairs_are_judged_in_both_orders_in_one_round():
    judge = Picky()
    assert play_matches(judge, "", "p", ["a", "ab"], [(0, 1), (1, 0)]) == [
        (pytest.approx(0.1), pytest.approx(0.2)),
        (pytest.approx(0.2), pytest.approx(0.1)),
    ]
    assert judge.rounds == [4]


def test_pairwise_pays_the_share_of_matches_won():
    verdicts = rewards.make("pairwise", judge=Picky()).group([saying("a"), saying("abc"), saying("xyz"), saying("ab")])
    # Lengths 1, 3, 3, 2: the two longest draw with each other and win the rest.
    assert [verdict.reward for verdict in verdicts] == pytest.approx([0, 2.5 / 3, 2.5 / 3, 1 / 3])


def test_a_seat_bias_cancels():
    class Seated(Judge):
        def score(
            self, principle: str, prompt: str, responses: Sequence[str], reference: str | None = None
        ) -> Judgement:
            return Judgement((1.0, *(0.0 for _ in responses[1:])))

    verdicts = rewards.make("pairwise", judge=Seated()).group([saying("a"), saying("b"), saying("c")])
    assert [verdict.reward for verdict in verdicts] == [0.5, 0.5, 0.5]


def test_pairs_without_a_result_are_left_out():
    verdicts = rewards.make("pairwise", judge=Picky()).group([saying("a"), saying("?"), saying("abc")])
    assert [verdict.valid for verdict in verdicts] == [True, False, True]
    assert [verdict.reward for verdict in verdicts] == [0.0, 0.0, 1.0]


def test_a_single_episode_neither_wins_nor_loses():
    assert rewards.make("pairwise")(saying("a")).reward == 0.5


def test_a_preference_is_a_win_a_loss_or_half():
    assert [preference(result) for result in ((0.2, 0.1), (0.1, 0.2), (0.3, 0.1 + 0.2))] == [1.0, 0.0, 0.5]
    assert mean_preference(3, [(0, 1)], [(1.0, 0.0)]) == [1.0, 0.0, None]
