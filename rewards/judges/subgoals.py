"""Subgoal labels from a judge: for each step of an episode, the subgoals that the step achieves.

A transition goes to the judge as text: the previous state as the prompt, the action and the next state as the response.
`SubgoalJudge` makes any registered judge the argument ``achieved`` of the reward "subgoals"; `label_steps` labels many
episodes at a time, for a learner.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from ...checks import Declared, declared, option
from ...errors import InputError
from ..episode import Episode
from .judge import check_judge

QUESTION = "Did this step achieve the subgoal: {subgoal}?"
DECOMPOSITION = "Name at most {most} subgoals on the way to solving this task, one a line, and nothing else.\n{task}"
"""Prompt for a model that names subgoals (CALM, arXiv 2409.12798, section 3, in our own words)."""

Transition = tuple[str, Episode, int]
"""A subgoal, an episode, and the index of one of its steps."""

_BULLET = re.compile(r"^\s*(?:[-*•]|\(?\d{1,3}[.):])\s*")


def read_subgoals(text: str, most: int) -> list[str]:
    """Read the first ``most`` subgoals of a list: its distinct lines, without bullets and numbers."""
    lines = (_BULLET.sub("", line).strip() for line in text.splitlines())
    return list(dict.fromkeys(line for line in lines if line))[:most]


def check_question(name: str, question: str) -> str:
    """Return ``question`` if it has the placeholder ``{subgoal}``.

    Raises:
        InputError: the placeholder is missing.
    """
    if not isinstance(question, str) or "{subgoal}" not in question:
        raise InputError(f"the {name} needs the place {{subgoal}}, as in {QUESTION!r}, not {question!r}.")
    return question


def describe_step(episode: Episode, t: int) -> tuple[str, str]:
    """Describe step ``t`` as two texts: the state before it, and the action with what followed. What followed is the
    next observation, or after the last step the environment's feedback and the success or failure."""
    step = episode.steps[t]
    if t + 1 < len(episode.steps):
        after = str(episode.steps[t + 1].observation)
    else:
        end = "The task is solved." if episode.success else "The episode ended without success."
        after = f"{step.feedback} {end}".strip()
    return str(step.observation), f"Action: {step.action}\nAfterwards: {after}"


def label_steps(
    episodes: Sequence[Episode],
    subgoals: Sequence[Sequence[str]],
    judge: Callable[[list[Transition]], Sequence[bool | None]],
) -> list[list[list[str] | None]]:
    """Judge each subgoal at each step of each episode, until a step achieves the subgoal.

    Args:
        episodes: any number of episodes; step t of all episodes is judged in one call.
        subgoals: the subgoals of each episode.
        judge: called with transitions; returns True for each transition that achieves its subgoal, None if unknown.

    Returns:
        For each step of each episode the subgoals achieved; None from the first step on that could not be judged.
    """
    labels: list[list[list[str] | None]] = [[] for _ in episodes]
    left = [list(dict.fromkeys(names)) for names in subgoals]
    unknown = [False] * len(episodes)
    for t in range(max((len(episode.steps) for episode in episodes), default=0)):
        going = [n for n, episode in enumerate(episodes) if t < len(episode.steps)]
        asked = [(n, name) for n in going if not unknown[n] for name in left[n]]
        verdicts = judge([(name, episodes[n], t) for n, name in asked]) if asked else []
        achieved: dict[int, list[str]] = {n: [] for n in going}
        for (n, name), verdict in zip(asked, verdicts, strict=True):
            unknown[n] |= verdict is None
            if verdict:
                achieved[n].append(name)
        for n in going:
            left[n] = [name for name in left[n] if name not in achieved[n]]
            labels[n].append(None if unknown[n] else achieved[n])
    return labels


@declared
class SubgoalJudge(Declared):
    """Annotator of subgoals by a judge: the argument ``achieved`` of the reward "subgoals". It is called with a
    subgoal, an episode and the index of a step, and returns None if the judge failed."""

    judge: Any = option(check=check_judge, says="see `as_judge`.")
    question: str = option(default=QUESTION, check=check_question, says="the judge's principle, with ``{subgoal}``.")
    threshold: float = option(default=0.5, low=0, high=1, says="lowest score of a step that achieves the subgoal.")

    def __call__(self, subgoal: str, episode: Episode, t: int) -> bool | None:
        return self.judge_all([(subgoal, episode, t)])[0]

    def judge_all(self, transitions: Sequence[Transition]) -> list[bool | None]:
        """Judge several transitions, in one call of `Judge.gather`."""

        def ask(subgoal: str, episode: Episode, t: int):
            before, after = describe_step(episode, t)
            return self.judge.score(self.question.replace("{subgoal}", subgoal), before, [after])

        answers = self.judge.gather([lambda asked=asked: ask(*asked) for asked in transitions])
        return [answer.scores[0] >= self.threshold if answer.valid else None for answer in answers]
