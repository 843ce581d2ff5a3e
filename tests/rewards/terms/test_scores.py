from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from palaestra import rewards
from palaestra.errors import InputError
from palaestra.rewards import Episode
from palaestra.rewards.judges.judge import Judge, Judgement
from palaestra.rewards.judges.judge import make as make_judge
from palaestra.rewards.terms.scores import ScoreSource, read_score, read_scores

Maker = Callable[..., Episode]


def test_a_score_comes_from_the_scorer_or_else_from_the_extra(episode: Maker):
    judged = episode(judge_score=0.25)
    assert ScoreSource(None, "judge_score")(judged) == 0.25
    assert ScoreSource(lambda _: 0.75, "judge_score")(judged) == 0.75
    assert ScoreSource(None, "judge_score").needs == {"judge_score"}
    assert not ScoreSource(lambda _: 0.75, "judge_score").needs


def test_an_extra_that_was_not_supplied_is_named(episode: Maker):
    with pytest.raises(InputError, match="judge_score"):
        ScoreSource(None, "judge_score")(episode())


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (None, None),
        (math.nan, None),
        (-3, 0.0),
        (3, 1.0),
        (math.inf, 1.0),
        (True, 1.0),
        (np.float32(0.5), 0.5),
    ],
)
def test_scores_are_clipped_and_what_is_no_number_is_missing(given: Any, read: float | None):
    assert read_score(given, "s", 0.0, 1.0) == read


def test_infinity_without_an_end_of_the_scale_is_missing():
    assert read_score(math.inf, "s") is None


def test_a_whole_number_beyond_any_float_is_infinite():
    assert read_score(-(10**5000), "s", 0.0, 1.0) == 0.0
    assert read_score(10**5000, "s") is None


@pytest.mark.parametrize("wrong", ["0.5", [0.5], object()])
def test_what_is_not_a_number_at_all_is_refused(wrong: Any):
    with pytest.raises(InputError, match="'s'"):
        read_score(wrong, "s")


def test_one_missing_score_makes_the_sequence_missing():
    assert read_scores([0.5, 2], "s", 0.0, 1.0) == [0.5, 1.0]
    assert read_scores([0.5, None], "s") is read_scores(None, "s") is None
    assert read_scores([], "s") == []
    with pytest.raises(InputError, match="sequence"):
        read_scores("ab", "s")


def test_a_scorer_must_be_callable():
    with pytest.raises(InputError, match="callable"):
        ScoreSource(0.5, "judge_score")  # type: ignore[arg-type]


@pytest.mark.parametrize("scorer", ["rules", "math", {"name": "judge"}, {"name": "math"}, make_judge("rules")])
def test_a_reward_a_judge_or_a_verifier_is_a_scorer(scorer, episode):
    reward = rewards.make("posterior", scorer=scorer)
    assert reward.needs <= {"reference"}
    found = reward(episode(text="<think>a</think><answer>7</answer>", reference="7"))
    assert found.valid
    assert found.reward >= 0


class Unreachable(Judge):
    """Fails on the answers with an odd number of letters."""

    def score(self, principle: str, prompt: str, responses: Any, reference: str | None = None) -> Judgement:
        return Judgement.failed(f"no answer on {responses[0][-3:]}") if len(responses[0]) % 2 else Judgement((0.5,))


def test_a_reward_whose_judge_failed_says_why(episode: Maker):
    reward = rewards.make("posterior", scorer=Unreachable())
    odd, even, last = (
        episode(text=f"<think>a</think><answer>{end}</answer>", success=True) for end in ("12", "7", "34")
    )
    verdicts = reward.group([odd, even, last])
    assert [verdict.valid for verdict in verdicts] == [False, True, False]
    assert [verdict.feedback for verdict in verdicts] == ["no answer on er>", "", "no answer on er>"]
    several = rewards.make("lsc", scorers={"length": lambda judged: 1.0, "judge": Unreachable()})
    assert several(odd).feedback == "no answer on er>"


def test_a_reward_that_compares_siblings_is_no_scorer():
    with pytest.raises(InputError, match="compares several episodes"):
        rewards.make("posterior", scorer={"name": "pairwise"})
    with pytest.raises(InputError, match="verifier"):
        rewards.make("posterior", scorer="mth")
