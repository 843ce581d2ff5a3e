"""The judge "agent", which asks any agent for its scores. Importing this module registers it; learners import it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..checks import declared, option
from ..rewards.judges import JUDGES, Judge, Judgement
from ..rewards.judges.prompts import JudgeQuestion, grading_question, scoring_question
from .agent import AgentError, EndEpisode
from .lookup import as_agent

_SCALE = (1.0, 5.0)


@JUDGES.register("agent")
@declared
class AgentJudge(Judge):
    """Judge that asks an agent for scores from 1 to 5 in one prompt and parses the reply like that of an endpoint."""

    name = "agent"
    agent: Any = option(
        check=lambda _, value: as_agent(value),
        says='an agent, a function of the prompt, or a name as on the command line: "openai:MODEL", the folder of a '
        "run or of a model, module:attribute.",
    )
    max_characters: int = option(
        default=32_000, low=1, unit="characters", says="longest part of each response that is shown."
    )

    def score(self, principle: str, prompt: str, responses: Sequence[str], reference: str | None = None) -> Judgement:
        if not responses:
            return Judgement(())
        return self._ask(scoring_question(principle, prompt, responses, reference, _SCALE, self.max_characters))

    def grade(self, criteria: Sequence[str], prompt: str, response: str, reference: str | None = None) -> Judgement:
        """Grade all criteria in one prompt."""
        if not criteria:
            return Judgement(())
        return self._ask(grading_question(criteria, prompt, response, reference, _SCALE, self.max_characters))

    def _ask(self, question: JudgeQuestion) -> Judgement:
        self.agent.reset([0])
        text = "\n\n".join(message["content"] for message in question.messages)
        try:
            (reply,) = self.agent.act([text], [{}])
        except AgentError as error:
            return Judgement.failed(f"the agent {self.agent.name!r} failed: {error}")
        self.agent.reset([0])
        if reply is None or isinstance(reply, EndEpisode):
            reason = (reply and reply.reason) or "it ended the episode"
            return Judgement.failed(f"the agent {self.agent.name!r} gave no reply: {reason}")
        return question.read(str(reply).rpartition("</think>")[2].strip())

    def __repr__(self) -> str:
        return f"agent {self.agent.name}"
