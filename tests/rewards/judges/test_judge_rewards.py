"""Rewards from a judge: by a principle, with references, in one round of questions."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from palaestra import rewards
from palaestra.rewards import Episode, Step
from palaestra.rewards.judges import Judge, Judgement


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


def test_the_judges_score_is_the_reward():
    reward = rewards.make("judge", principle="keywords: a, b")
    assert [verdict.reward for verdict in reward.group([saying("a"), saying("a b"), saying("x")])] == [0.5, 1.0, 0.0]


def test_the_reference_reaches_the_judge():
    reward = rewards.make("judge", principle="matches the reference")
    assert reward(saying("Blue  whale", reference="blue whale")).reward == 1.0
    assert reward(saying("whale", reference="blue whale")).reward == 0.0


def test_an_episode_without_judgement_is_invalid_and_the_others_are_not():
    verdicts = rewards.make("judge", judge=Picky()).group([saying("ab"), saying("?"), saying("abc", valid=False)])
    assert [(verdict.valid, verdict.reward) for verdict in verdicts] == [(True, 0.2), (False, 0.0), (False, 0.0)]


def test_all_groups_are_judged_in_one_round():
    judge = Picky()
    batch = rewards.make("judge", judge=judge).batch([[saying("a"), saying("ab")], [], [saying("abc")]])
    assert judge.rounds == [3]
    assert [[verdict.reward for verdict in group] for group in batch] == [[0.1, 0.2], [], [0.3]]


@pytest.mark.parametrize("name", ["judge", "pairwise", "tournament"])
def test_a_judged_reward_can_be_made_from_data_and_prints_its_judge(name: str):
    judge = {"judge": "votes", "votes": 2}
    reward = rewards.make(name, judge=judge, principle="short")
    assert "votes(rules, 2)" in reward.tree()
    assert reward.bounds == (0.0, 1.0)
