"""Rewards from a judge: by a principle, with references, in one round of questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from palaestra import rewards
from palaestra.rewards import Episode, Step
from palaestra.rewards.judges import Judge, Judgement
from palaestra.rewards.judges.rubric import rubric_of_solution


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


@pytest.mark.parametrize(
    "data",
    [
        {"name": "judge", "judge": Picky()},
        {"name": "pairwise", "judge": Picky()},
        {"name": "tournament", "judge": Picky()},
        {"name": "rubric", "judge": Picky(), "criteria": ["is short"]},
        {"name": "weighted", "child": {"name": "judge", "judge": Picky()}, "weight": 0.5},
        {"name": "sum", "a": {"name": "verifiable"}, "b": {"name": "judge", "judge": Picky()}},
    ],
    ids=lambda data: data["name"],
)
def test_a_verdict_says_what_the_judge_says_that_failed(data):
    verdicts = rewards.build(data).group([saying("a?"), saying("b?")])
    assert [(verdict.valid, verdict.feedback) for verdict in verdicts] == [(False, "puzzled")] * 2


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


# Criteria that need no judge


WORKED = ["3 + 4 = 7", "7 * 2 = 14", "14"]


def worked(response: str, success: bool = False) -> Episode:
    return replace(saying(response), success=success, extras={"rubric": rubric_of_solution(WORKED)})


def test_results_of_steps_and_the_outcome_are_scored_without_a_judge():
    reward = rewards.make("rubric", aggregation="mean")
    assert reward(worked("3+4=7\n15")).reward == pytest.approx(1 / 4)
    assert reward(worked("14", success=True)).reward == pytest.approx(3 / 4)
    assert reward(worked("It is 7, so 14.", success=True)).reward == pytest.approx(1.0)
    assert reward(worked("17 and 141")).reward == 0.0


def test_a_verdict_of_a_rubric_names_the_criteria_that_are_not_met():
    assert rewards.make("rubric")(worked("3+4=7\n15")).feedback.splitlines() == [
        "finds that 7 * 2 = 14",
        "gives the right answer",
    ]
    assert rewards.make("rubric")(worked("7 and 14", success=True)).feedback == ""


def test_a_rubric_may_be_the_whole_reward():
    assert not rewards.make("rubric").complete
    assert rewards.make("rubric", complete=True).complete
