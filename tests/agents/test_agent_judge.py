"""Any agent as a judge."""

from __future__ import annotations

import json
import re

import palaestra.agents.agent_judge  # noqa: F401  registers the judge
import pytest
from palaestra.agents import EndEpisode
from palaestra.errors import InputError
from palaestra.rewards.judges import as_judge


def scorer(prompt: str) -> str:
    """Likes the second response of the prompt's JSON object, and says so in the form that is asked for."""
    ids = list(dict.fromkeys(re.findall(r"\b(?:response-[0-9a-f]+|criterion)-\d+", prompt)))
    entries = [{"id": name, "reason": "seen", "score": 1 + 4 * (name == ids[-1])} for name in ids]
    return "<think>which?</think>" + json.dumps({"judgements": entries})


def test_an_agent_scores_responses_and_criteria():
    judge = as_judge({"judge": "agent", "agent": scorer})
    assert judge.score("is right", "1 + 1", ["3", "2"]).scores == (0.0, 1.0)
    assert judge.grade(["short", "right"], "1 + 1", "2").scores == (0.0, 1.0)
    assert judge.score("is right", "1 + 1", []).scores == ()


@pytest.mark.parametrize("reply", ["no idea", None, EndEpisode(False, "gone")])
def test_a_reply_that_is_none_is_a_failure_and_no_score(reply):
    judge = as_judge({"judge": "agent", "agent": lambda prompt: reply})
    judgement = judge.score("is right", "1 + 1", ["2"])
    assert not judgement.valid
    assert ("gone" in judgement.error) == isinstance(reply, EndEpisode)


def test_an_unknown_agent_is_refused():
    with pytest.raises(InputError, match="unknown agent"):
        as_judge({"judge": "agent", "agent": "nobody"})
