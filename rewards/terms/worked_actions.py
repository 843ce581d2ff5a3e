"""Reward for taking the steps of the worked solution: name, arguments and form of each action are scored separately.

Inputs are the actions of an episode and ``episode.extra("solution_steps")``, the solver's actions, as supplied by tasks
on web sites.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...checks import check_number
from ...errors import InputError
from ..answers import without_thoughts
from ..episode import Episode
from ..reward import StepReward, register

_PART = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s\[\](),"]+')


def split_action(text: str) -> list[str]:
    """Split an action into its name in lower case and its arguments: ``fill [2] "lamp"`` gives ``fill``, ``2``,
    ``"lamp"``. Thoughts are removed first; of several lines, the last one is the action."""
    lines = (without_thoughts(text) or "").strip().splitlines()
    parts = _PART.findall(lines[-1]) if lines else []
    return [parts[0].lower(), *parts[1:]] if parts else []


def score_action(
    action: Sequence[str], worked: Sequence[str], form: float = 0.2, name: float = 0.3, arguments: float = 0.5
) -> float:
    """Score an action that the environment could read against a worked one, both split by `split_action`. The score is
    ``form``; with the right name also ``name``, and ``arguments`` times the share of arguments that are equal."""
    if not action or not worked or action[0] != worked[0]:
        return form
    most = max(len(action), len(worked)) - 1
    equal = sum(a == b for a, b in zip(action[1:], worked[1:], strict=False))
    return form + name + arguments * (equal / most if most else 1.0)


@register("action-match")
class ActionMatch(StepReward):
    """Share of the worked solution that was done step by step, in [0, 1]; parts of a step count in part.

    Each action is scored against the first worked step that is not done yet (see `score_action`; 0 with an
    ``action_error``). It earns its improvement over the best action so far at that step, divided by the number of
    worked steps. An action that equals the step completes it. So repetition earns nothing, and a failure earns no more
    than a success that follows the solution. (The paper gives rule terms for name, parameters and form, and no
    numbers; these are ours.)

    Args:
        form, name, arguments: parts of a step's reward, each at least 0, with sum 1.

    Raises:
        InputError: a negative part, or parts that do not sum to 1.
    """

    paper = "CRAFT-GUI, arXiv 2508.11360 (rule reward)"
    needs = frozenset({"solution_steps"})
    bounds = (0.0, 1.0)

    def __init__(self, form: float = 0.2, name: float = 0.3, arguments: float = 0.5):
        parts = {"form": form, "name": name, "arguments": arguments}
        self.parts = {part: check_number(part, value, low=0.0) for part, value in parts.items()}
        if abs(sum(self.parts.values()) - 1) > 1e-9:
            raise InputError(f"form, name and arguments must be 1 together, not {form}, {name} and {arguments}.")

    def values(self, episode: Episode) -> list[float] | None:
        steps = episode.extra("solution_steps")
        if not steps:
            return None
        worked = [split_action(str(step)) for step in steps]
        earned, done, best = [], 0, 0.0
        for step in episode.steps:
            action = split_action(str(step.action))
            readable = done < len(worked) and not step.action_error
            score = score_action(action, worked[done], **self.parts) if readable else 0.0
            earned.append(max(score - best, 0.0) / len(worked))
            best = max(best, score)
            if readable and action == worked[done]:
                done, best = done + 1, 0.0
        return earned
