"""Rollout strategy in which the policy sets its own tasks: the proposer writes parameters, the solver plays."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ....checks import check_choice
from ....errors import InputError
from ..batch.trajectory import Group, Trajectory, Turn
from ..recipes.stages import ROLLOUTS
from .episode_player import EpisodePlayer
from .episode_starts import Conditions, RolloutTask
from .independent import Independent, Strategy

_PAIR = re.compile(r"([A-Za-z_]\w{0,63})\s*[=:]\s*(\"[^\"]*\"|'[^']*'|[^\s,;]+)")


@ROLLOUTS.register("self_play")
@dataclass(eq=False)
class SelfPlay(Strategy):
    """For every task of the teacher, let the policy write the parameters of a new task, and play that task (Absolute
    Zero, arXiv 2505.03335, section 3.2).

    With p the success rate of the solvers, the proposer's reward is 1 - |2p - 1| ("distance", R-Zero arXiv 2508.05004),
    4p(1 - p) ("variance"), or 1 - p if p > 0 and else 0 ("frontier", Absolute Zero, eq. 4). A text that cannot be read
    as parameters gets the reward ``penalty``, and the teacher's task is played. The teacher's task is also played if
    the question to the proposer leaves no context for an answer. The proposals of a step form one group, of role
    "proposer"; solvers have the role "solver". Groups on proposed parameters have ``proposal`` -1.

    Args:
        reward: "distance", "variance" or "frontier".
        penalty: reward of an unreadable proposal.
        question: request to the proposer; ``{axes}`` is replaced by the parameters and their ranges, ``{example}`` by
            the parameters of the teacher's task.
    """

    reward: str = "distance"
    penalty: float = -1.0
    question: str = "Propose a task that is neither too easy nor too hard. {axes} Example: {example}"

    def __post_init__(self) -> None:
        check_choice("reward", self.reward, tuple(LEARNABILITY))
        if "{axes}" not in self.question:
            raise InputError(f"question must contain {{axes}}, not {self.question!r}.")

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        space = player.environments.param_space
        questions = [
            self.question.replace("{axes}", describe_axes(space)).replace("{example}", format_params(task.params))
            for task in tasks
        ]
        answers = player.ask(questions)
        player.overlong |= {(task.proposal, task.seed) for task, answer in zip(tasks, answers) if answer is None}
        proposed = [None if answer is None else read_params(answer.action, space) for answer in answers]
        played = [
            task if params is None else replace(task, params=params, proposal=-1, conditions=Conditions())
            for task, params in zip(tasks, proposed, strict=True)
        ]
        groups = [
            replace(group, trajectories=tuple(replace(t, role="solver") for t in group.trajectories))
            for group in Independent().play(played, player)
        ]
        proposers = [
            self._reward_proposal(task, answer, None if params is None else group, player)
            for task, answer, params, group in zip(tasks, answers, proposed, groups, strict=True)
            if answer is not None
        ]
        return [*groups, Group(-1, tuple(proposers))] if proposers else groups

    def _reward_proposal(
        self, task: RolloutTask, answer: Turn, solved: Group | None, player: EpisodePlayer
    ) -> Trajectory:
        """Make the proposer's episode, rewarded by its solvers' success rate; invalid if all solvers' episodes are."""
        outcomes = [t.success for t in solved.valid] if solved is not None else []
        success = sum(outcomes) / len(outcomes) if outcomes else 0.0
        reward = self.penalty if solved is None else LEARNABILITY[self.reward](success)
        error = None if solved is not None else "The text is no set of parameters."
        return Trajectory(
            task_id="proposal",
            params=dict(task.params),
            difficulty=0.0,
            turns=(replace(answer, reward=reward, reward_terms={"learnability": reward}, action_error=error),),
            success=solved is not None and reward > 0,
            progress=0.0,
            truncated=answer.finish == "length",
            valid=solved is None or bool(outcomes),
            error="" if solved is None or outcomes else next((t.error for t in solved.trajectories), ""),
            max_tokens=player.limits.episode,
            role="proposer",
            version=player.version,
        )


LEARNABILITY = {
    "distance": lambda p: 1 - abs(2 * p - 1),
    "variance": lambda p: 4 * p * (1 - p),
    "frontier": lambda p: 1 - p if p > 0 else 0.0,
}
"""Name -> reward of the proposer as a function of the solvers' success rate p in [0, 1]."""


def describe_axes(space: Any) -> str:
    """Describe the axes of a parameter space in words."""
    parts = []
    for axis in space.axes:
        if hasattr(axis, "choices"):
            parts.append(f"{axis.name} is one of {', '.join(repr(choice) for choice in axis.choices)}")
        else:
            parts.append(f"{axis.name} is from {axis.low} to {axis.high}")
    return "; ".join(parts) + "."


def format_params(params: Mapping[str, Any]) -> str:
    """Format parameters as text that `read_params` reads."""
    return ", ".join(f"{name}={value!r}" for name, value in params.items())


def read_params(text: str, space: Any) -> dict[str, Any] | None:
    """Read parameters from text such as ``digits=3, operations='+-'``; None unless it sets every axis exactly once."""
    given: dict[str, Any] = {}
    for name, value in _PAIR.findall(text):
        if name in given:
            return None
        try:
            given[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            given[name] = value
    try:
        params = space.validate(given)
    except InputError:
        return None
    return params if len(params) == len(space) else None
