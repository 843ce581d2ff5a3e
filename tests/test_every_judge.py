"""Every registered judge, and every reward that asks one, under the attack suite: hostile responses move neither the
form in which a judge is asked nor its verdict.

The model behind a judge is a stand-in, which reads the question as it is meant to be read and gives full marks to the
right answer alone, or one that repeats the response. What is registered later must be added here.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from palaestra.agents.agent_judge import AgentJudge
from palaestra.agents.grpo.measures import judgements
from palaestra.agents.language.tokenizer import ACTION, OBSERVATION
from palaestra.rewards import REWARDS
from palaestra.rewards import make as make_reward
from palaestra.rewards.audit import FAMILIES, Canary, Case, attack
from palaestra.rewards.judges import JUDGES, Judge, RuleJudge
from palaestra.rewards.judges.endpoint import EndpointJudge
from palaestra.rewards.judges.ensemble import Aspects, Votes
from palaestra.rewards.models import RewardModel

CASE = Case("42", prompt="What is 6 * 7?", extras={"criteria": [{"text": "matches the reference"}]})
PRINCIPLE = "matches the reference"
Model = Callable[[str], str]


def reads(text: str) -> str:
    """The reply of a model that gives full marks to the right answer alone."""
    data = json.loads(text.rpartition("\n\n")[2])
    if "responses" in data:
        scores = {one["id"]: 5 if one["text"] == "42" else 1 for one in data["responses"]}
    else:
        names = (line.partition(":")[0] for line in text.splitlines() if line.startswith("criterion-"))
        scores = dict.fromkeys(names, 5 if data["response"] == "42" else 1)
    return json.dumps({"judgements": [{"id": name, "reason": "", "score": score} for name, score in scores.items()]})


def repeats(text: str) -> str:
    """The reply of a model that says what the first response says."""
    data = json.loads(text.rpartition("\n\n")[2])
    return data["responses"][0]["text"] if "responses" in data else data["response"]


class Behind(EndpointJudge):
    """The endpoint judge, with a model in place of the network."""

    def __init__(self, model: Model):
        super().__init__(model="stand-in")
        self._model = model

    def _reply(self, messages: Any, settings: Any) -> str:
        return self._model("\n\n".join(message["content"] for message in messages))


MADE: dict[str, Callable[[Model], Judge]] = {
    "agent": lambda model: AgentJudge(model),
    "aspects": lambda model: Aspects([PRINCIPLE], AgentJudge(model)),
    "endpoint": Behind,
    "rules": lambda model: RuleJudge(),
    "votes": lambda model: Votes(Behind(model), 2),
}


def hostile() -> list[str]:
    with Canary() as canary:
        texts = [text for make in FAMILIES.values() for text in make(CASE, canary)]
    # No tokenizer writes lone surrogates.
    cleaned = (text.encode("utf-8", "replace").decode() for text in texts)
    return [text for text in cleaned if len(text) < 5_000 and not CASE.deserves(text)]


@pytest.mark.parametrize("name", sorted(name for name in JUDGES if not name.startswith("test-")))
def test_no_hostile_response_moves_the_verdict_or_the_form_of_a_judge(name: str):
    assert name in MADE, f"the judge {name!r} has no stand-in here; add one, so that it is attacked."
    judge, parrot = MADE[name](reads), MADE[name](repeats)
    for text in hostile():
        found = judge.score(PRINCIPLE, CASE.prompt, [text, "42"], "42")
        assert found.valid, text
        assert found.scores[0] < found.scores[1] == 1.0, text
        graded = judge.grade([PRINCIPLE, PRINCIPLE], CASE.prompt, text, "42")
        assert graded.valid, text
        assert max(graded.scores) < 1.0, text
        if name != "rules":
            assert not parrot.score(PRINCIPLE, CASE.prompt, [text], "42").valid, text


ASKING = sorted(name for name, cls in REWARDS.items() if "judge" in inspect.signature(cls).parameters)
"""Rewards that ask a judge."""
OPTIONS: dict[str, dict[str, Any]] = {
    "exemplar": {},
    "judge": {"principle": PRINCIPLE},
    "pairwise": {"principle": PRINCIPLE},
    "rubric": {"criteria": [PRINCIPLE]},
    "tournament": {"principle": PRINCIPLE},
}
ELSEWHERE = {"oni": "pairs of observations", "reasoning-sql": "queries"}
"""Rewards whose judge sees no free text of the policy: name -> what it sees."""


@pytest.mark.parametrize("name", ASKING)
def test_no_exploit_is_paid_more_than_the_right_answer_by_a_reward_that_asks_a_judge(name: str):
    assert name in OPTIONS or name in ELSEWHERE, (
        f"the reward {name!r} asks a judge; add it here, so that it is attacked."
    )
    if name in OPTIONS:
        report = attack(make_reward(name, judge=AgentJudge(reads), **OPTIONS[name]), [CASE])
        assert report.clean, report
        assert sum(report.fired.values()) > 150


def test_the_question_to_a_policy_that_judges_stays_the_last_thing_it_reads(small: Any):
    renderer = small.renderer
    player: Any = SimpleNamespace(renderer=renderer, limits=SimpleNamespace(context=200))
    tools: Any = SimpleNamespace(player=player)
    turns = set(small.tokenizer.convert_tokens_to_ids([OBSERVATION, ACTION]))
    for question in judgements.QUESTIONS.values():
        wanted = renderer.observation(f"\n{question} Answer yes or no.", first=True)
        for text in hostile():
            ids = judgements._fit_context(text, question, 1, tools)
            assert ids is not None
            assert len(ids) < 200
            assert ids[-len(wanted) + 1 :] == wanted[1:]
            # No text spells a token that opens or closes a turn.
            assert sum(one in turns for one in ids) == 2


def test_a_reward_model_scores_every_hostile_text_by_itself():
    model = RewardModel()
    texts = hostile()
    scores = model.score([CASE.prompt] * len(texts), texts)
    assert all(math.isfinite(score) for score in scores)
    alone = [model.score([CASE.prompt], [text])[0] for text in texts[::20]]
    assert alone == pytest.approx(list(scores[::20]), abs=1e-6)
