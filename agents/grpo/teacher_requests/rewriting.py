"""Rewriter of prompts: asks the policy, or another agent, to reword a question, and checks the result.

The verifier's reference answer does not change, so a rewritten prompt must ask for the same answer. That cannot be
proved. The rewriter checks that the new prompt has every number of the original, does not reveal the answer, and leaves
as much context for an answer. If a check fails, the original is shown.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....errors import InputError
from ....rewards.answers import REQUESTS as FORMAT_REQUESTS
from ...agent import Agent
from ..rollouts.environments import begin
from ..rollouts.episode_player import EpisodePlayer
from ..rollouts.episode_starts import RolloutTask
from ..settings import RequestSettings

_log = logging.getLogger(__name__)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True)
class RewrittenPrompt:
    """Result of one request.

    Attributes:
        text: the prompt to show; "" for the original.
        outcome: "used", or the reason for showing the original: "empty", "unchanged", "answer" (the text reveals the
            answer), "numbers" (one is missing), "long" (the text leaves too little context for an answer), "unasked"
            (the request does not fit into the context) or "failed" (the environment raised).
    """

    text: str
    outcome: str


@dataclass(frozen=True)
class OriginalPrompt:
    """Prompt to rewrite.

    Attributes:
        question: the text to rewrite.
        request: sentence on the form of the answer at the end of the prompt, which is not rewritten; "" if there is
            none.
        answer: the right answer; "" if the environment has neither a reference nor a solver.
    """

    question: str
    request: str
    answer: str


class Rewriter:
    """Rewrites first observations.

    Args:
        settings: templates of the questions.
        agent: agent that rewrites; None: the policy, at the training temperature.
    """

    def __init__(self, settings: RequestSettings, agent: Agent | None = None):
        self.settings, self.agent = settings, agent

    def rewrite(
        self, tasks: Sequence[RolloutTask], manners: Sequence[str], player: EpisodePlayer
    ) -> list[RewrittenPrompt]:
        """Rewrite the prompt of each task in the manner given for it, "simplify" or "diversify"."""
        originals = [read_prompt(task, player) for task in tasks]
        templates = {"simplify": self.settings.simplify, "diversify": self.settings.diversify}
        asked: dict[int, str] = {}
        for number, (original, manner) in enumerate(zip(originals, manners, strict=True)):
            if original is not None:
                question = templates[manner].replace("{question}", original.question)
                if self.agent is not None or player.room_to_answer(question) > 0:
                    asked[number] = question
        seeds = [[tasks[number].seed, tasks[number].proposal + 1, player.step] for number in asked]
        answers = dict(zip(asked, self._ask(list(asked.values()), seeds, player), strict=True))
        prompts = []
        for number, original in enumerate(originals):
            if original is None or number not in answers:
                prompts.append(RewrittenPrompt("", "failed" if original is None else "unasked"))
                continue
            text = read_rewriting(answers[number])
            fault = find_fault(original, text, player)
            prompts.append(RewrittenPrompt("" if fault else text + original.request, fault or "used"))
        return prompts

    def _ask(self, questions: Sequence[str], seeds: Sequence[Sequence[int]], player: EpisodePlayer) -> list[str]:
        if not questions:
            return []
        if self.agent is None:
            longest = max(len(player.renderer.observation(question, first=True)) for question in questions)
            turns = player.ask(questions, most=max(player.limits.action, longest))
            return ["" if turn is None else turn.action for turn in turns]
        answers: list[Any] = []
        slots = min(self.agent.max_slots or len(questions), len(questions))
        for first in range(0, len(questions), slots):
            part = questions[first : first + slots]
            combined = [np.random.SeedSequence(list(seed)).generate_state(1) for seed in seeds[first : first + slots]]
            infos = [{"episode_seed": int(seed[0])} for seed in combined]
            if hasattr(self.agent, "seed"):  # a stochastic agent must repeat its answers in a resumed run
                self.agent.seed(infos[0]["episode_seed"])  # type: ignore[attr-defined]
            self.agent.reset(range(len(part)))
            answers += self.agent.act(part, infos)
        if wrong := [answer for answer in answers if not isinstance(answer, str)]:
            raise InputError(f"the rewriter {self.agent.name!r} must return text, not {wrong[0]!r}.")
        return answers

    def state_dict(self) -> dict[str, Any]:
        """Return the agent's state, JSON-able; {} if it has none."""
        return self.agent.state_dict() if hasattr(self.agent, "state_dict") else {}  # type: ignore[union-attr]

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if state:
            self.agent.load_state_dict(state)  # type: ignore[union-attr]


def read_prompt(task: RolloutTask, player: EpisodePlayer) -> OriginalPrompt | None:
    """Return a task's prompt from its environment; None if the environment raises, which is no fault of the policy."""
    env = player.environments.take()
    try:
        observation, info = begin(env, task.seed, task.params)
        reference = info.get("extras", {}).get("reference")
        answer = _solve(env.unwrapped) if reference is None else str(reference)
    except InputError:
        raise
    except Exception:
        _log.exception("an environment failed to begin; its prompt is not rewritten")
        return None
    player.environments.give_back(env)
    request = next((text for text in FORMAT_REQUESTS.values() if text and observation.endswith(text)), "")
    return OriginalPrompt(observation.removesuffix(request), request, answer.strip())


def _solve(env: Any) -> str:
    try:
        return str(env.oracle())
    except (AttributeError, NotImplementedError):
        return ""


def read_rewriting(action: str) -> str:
    """Return the new question in a reply: the text after its thoughts, without enclosing quotation marks."""
    text = action.rpartition("</think>")[2].strip()
    return text[1:-1].strip() if len(text) > 1 and text[0] == text[-1] == '"' else text


def find_fault(original: OriginalPrompt, text: str, player: EpisodePlayer) -> str:
    """Return the reason why a new question cannot be shown, see `RewrittenPrompt.outcome`; "" if it can be shown."""
    if not text:
        return "empty"
    if "".join(text.split()) == "".join(original.question.split()):
        return "unchanged"
    if text == original.answer or (
        _mentions(text, original.answer) and not _mentions(original.question, original.answer)
    ):
        return "answer"
    if Counter(_NUMBER.findall(original.question)) - Counter(_NUMBER.findall(text)):
        return "numbers"
    enough = min(player.limits.action, player.room_to_answer(original.question + original.request))
    return "long" if player.room_to_answer(text + original.request) < enough else ""


def _mentions(text: str, answer: str) -> bool:
    """Return True if the text contains the answer as whole words."""
    return bool(answer) and re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text) is not None
