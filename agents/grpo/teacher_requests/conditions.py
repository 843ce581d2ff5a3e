"""Requests on the conditions of play: at temperature 0, with a hint, within a token budget, with a rewritten prompt."""

from __future__ import annotations

from collections.abc import Sequence

from ..rollouts.episode_starts import TokenLimits
from ..rollouts.guidance import extend, guided_start, solve
from .requests import Assignment, Workplace, carries_out


@carries_out("greedy", "play")
def play_greedily(assignments: Sequence[Assignment], workplace: Workplace) -> None:
    """Play at temperature 0 (SELF, arXiv 2510.02230)."""
    for assignment in assignments:
        if assignment.request("greedy"):
            assignment.set_conditions(temperature=0.0)
        assignment.done["greedy"] = float(assignment.request("greedy"))


@carries_out("max_tokens", "play")
def limit_tokens(assignments: Sequence[Assignment], workplace: Workplace) -> None:
    """Limit the tokens of an episode, and state the limit in the prompt (arXiv 2508.08940, section 3)."""
    most, settings = workplace.player.limits, workplace.settings
    for assignment in assignments:
        tokens = int(assignment.request("max_tokens"))
        limits = TokenLimits(min(most.action, tokens), min(most.episode, tokens), most.context)
        assignment.set_conditions(
            limits=extend(limits, assignment.task.conditions.inserts),  # tokens of a hint are not counted
            note=settings.budget.replace("{tokens}", str(tokens)),
        )
        assignment.done["max_tokens"] = min(most.episode, tokens)


@carries_out("hint", "play")
def give_hints(assignments: Sequence[Assignment], workplace: Workplace) -> None:
    """Reveal the first steps of the solution, in the prompt or as beginning of the answer (SEELE, arXiv 2509.06923)."""
    settings = workplace.settings
    hinted = [assignment for assignment in assignments if assignment.request("hint") > 0]
    solutions = solve([assignment.task for assignment in hinted], workplace.player)
    for assignment, solution in zip(hinted, solutions, strict=True):
        share = float(assignment.request("hint"))
        start = guided_start(assignment.task, solution, share, workplace.player, settings.hint_where, settings.hint)
        names = ("inserts", "limits", "oracle_turns", "hint", "guided")
        assignment.set_conditions(**{name: getattr(start, name) for name in names})
    for assignment in assignments:
        assignment.done["hint"] = assignment.task.conditions.guided


@carries_out("rewrite", "play")
def rewrite_prompts(assignments: Sequence[Assignment], workplace: Workplace) -> None:
    """Show a rewritten prompt if it passes the checks, else the original (CLPO, arXiv 2509.25004)."""
    tasks = [assignment.task for assignment in assignments]
    manners = [assignment.request("rewrite") for assignment in assignments]
    prompts = workplace.rewriter.rewrite(tasks, manners, workplace.player)
    for assignment, prompt in zip(assignments, prompts, strict=True):
        assignment.set_conditions(prompt=prompt.text)
        assignment.done["rewrite"] = prompt.outcome
