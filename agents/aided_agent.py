"""Agents whose observations a second agent adds to, or shortens, before they act.

`advised(agent='runs/a', advisor='smollm2-135m', every=5)` on the command line; both names are read as `--agent` reads
its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from ..checks import check_count
from ..errors import shorten
from ..rewards.embedding import HashedNgrams
from .agent import Agent, EndEpisode, register
from .usage import ActionTrace

_GRAMS = HashedNgrams()


class AidedAgent(Agent):
    """Base of agents that show an inner agent what a second agent makes of an observation.

    The second agent is asked in a new conversation each time. If it ends the episode instead of answering, the
    observation stays as it is.

    Args:
        agent: the agent that acts: an `Agent`, or a text for `agents.lookup.find_agent`.
        second: the agent that is asked.
    """

    def __init__(self, agent: Any, second: Any):
        from .lookup import as_agent  # which imports the agents of this package

        self.agent, self.second = as_agent(agent), as_agent(second)
        limits = [each.max_slots for each in (self.agent, self.second) if each.max_slots is not None]
        self.max_slots, self.prompt_form = min(limits, default=None), self.agent.prompt_form

    def question(self, slot: int, observation: str, info: Mapping[str, Any]) -> str | None:
        """Return the question that the second agent is asked about an observation, or None for none."""
        raise NotImplementedError

    def merge(self, slot: int, observation: str, answer: str | None) -> str:
        """Return what the inner agent sees; ``answer`` is None where nothing was asked or answered."""
        raise NotImplementedError

    def act(self, observations: Sequence[Any], infos: Sequence[Mapping[str, Any]]) -> Sequence[Any]:
        shown = list(observations)
        playing = [slot for slot, info in enumerate(infos) if not info.get("idle")]
        asked = {slot: self.question(slot, str(observations[slot]), infos[slot]) for slot in playing}
        answers: dict[int, Any] = {}
        if any(asked.values()):
            own = [{"idle": not asked.get(slot), "fresh": True, **_seed(info)} for slot, info in enumerate(infos)]
            answers = dict(enumerate(self.second.act([asked.get(slot) or "" for slot in range(len(infos))], own)))
        for slot in playing:
            answer = answers.get(slot) if asked[slot] else None
            usable = None if answer is None or isinstance(answer, EndEpisode) else str(answer)
            shown[slot] = self.merge(slot, str(observations[slot]), usable)
        return self.agent.act(shown, infos)

    def reset(self, indices: Sequence[int]) -> None:
        self.agent.reset(indices)
        self.second.reset(indices)

    def trace(self, slot: int) -> ActionTrace | None:
        return self.agent.trace(slot)

    def bind(self, envs: Sequence[gym.Env]) -> None:
        self.agent.bind(envs)
        self.second.bind(envs)


def _seed(info: Mapping[str, Any]) -> dict[str, Any]:
    return {"episode_seed": info["episode_seed"]} if "episode_seed" in info else {}


@dataclass
class _Advice:
    """Newest advice of a slot, the number of observations since, and what was seen and done since."""

    text: str = ""
    age: int = 0
    since: list[str] = field(default_factory=list)


@register("advised")
class AdvisedAgent(AidedAgent):
    """Agent that sees an advisor's advice below each observation; a new one is asked for after ``every`` observations
    (RLAdapter, arXiv 2309.17176).

    The advisor sees the observation, its last advice, and how well that agreed with what followed: the cosine between
    the counts of words in the advice and in the observations since. The paper trains the advisor on this number.

    Args:
        agent: the agent that acts.
        advisor: the agent that gives advice.
        every: number of observations for which an advice stays.
    """

    name = "advised"

    def __init__(self, agent: Any, advisor: Any, every: int = 5):
        super().__init__(agent, advisor)
        self.every = check_count("every", every, 1, "observations")
        self._advice: dict[int, _Advice] = {}

    def reset(self, indices: Sequence[int]) -> None:
        super().reset(indices)
        for slot in indices:
            self._advice.pop(slot, None)

    def question(self, slot: int, observation: str, info: Mapping[str, Any]) -> str | None:
        advice = self._advice.setdefault(slot, _Advice())
        advice.since.append(observation)
        if advice.age % self.every:
            return None
        lines = [f"A player sees:\n{observation}", "Give the player short advice about what to do next."]
        if advice.text:
            lines.insert(1, f"Your last advice was: {advice.text}\nIt agreed {self.agreement(advice):.2f} of 1.")
        return "\n\n".join(lines)

    def agreement(self, advice: _Advice) -> float:
        """Return the cosine between an advice and what was seen since, in [0, 1]."""
        one, other = _GRAMS([advice.text, " ".join(advice.since)])
        return float(np.dot(one, other))

    def merge(self, slot: int, observation: str, answer: str | None) -> str:
        advice = self._advice[slot]
        if answer is not None:
            advice.text, advice.since = answer, []
        advice.age += 1
        return f"{observation}\n\n[Advice]\n{advice.text}" if advice.text else observation


@register("refined")
class RefinedAgent(AidedAgent):
    """Agent that sees a summary in place of a long observation after the first, such as the output of a tool (the
    refiner of AgentCPM-Explore).

    Args:
        agent: the agent that acts.
        refiner: the agent that summarises.
        longest: number of characters from which an observation is summarised; a longer summary is cut.
    """

    name = "refined"

    def __init__(self, agent: Any, refiner: Any, longest: int = 2_000):
        super().__init__(agent, refiner)
        self.longest = check_count("longest", longest, 1, "characters")
        self._tasks: dict[int, str] = {}

    def reset(self, indices: Sequence[int]) -> None:
        super().reset(indices)
        for slot in indices:
            self._tasks.pop(slot, None)

    def question(self, slot: int, observation: str, info: Mapping[str, Any]) -> str | None:
        if slot not in self._tasks:
            self._tasks[slot] = observation
            return None
        if len(observation) <= self.longest:
            return None
        return (
            f"Somebody works on this task:\n{shorten(self._tasks[slot], self.longest)}\n\nA tool answered:\n"
            f"{observation}\n\nWrite down what matters for the task, in at most {self.longest} characters."
        )

    def merge(self, slot: int, observation: str, answer: str | None) -> str:
        return observation if answer is None else f"[Summary]\n{answer[: self.longest]}"
