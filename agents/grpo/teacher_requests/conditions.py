"""Requests on the conditions of play: at temperature 0, with a hint, within a token budget, with a system
text, with a rewritten prompt."""

from __future__ import annotations

from collections.abc import Sequence

from ..rollouts.episode_starts import TokenLimits
from ..rollouts.guidance import extend, guided_start, solve
from .requests import Assignment, RequestContext, request_handler


@request_handler("greedy", "play")
def play_greedily(assignments: Sequence[Assignment], context: RequestContext) -> None:
    """Play at temperature 0 (SELF, arXiv 2510.02230)."""
    for assignment in assignments:
        if assignment.request("greedy"):
            assignment.set_conditions(temperature=0.0)
        assignment.done["greedy"] = float(assignment.request("greedy"))


@request_handler("max_tokens", "play")
def limit_tokens(assignments: Sequence[Assignment], context: RequestContext) -> None:
    """Limit the tokens of an episode, and state the limit in the prompt (arXiv 2508.08940, section 3)."""
    most, settings = context.player.limits, context.settings
    for assignment in assignments:
        tokens = int(assignment.request("max_tokens"))
        limits = TokenLimits(min(most.action, tokens), min(most.episode, tokens), most.context)
        assignment.set_conditions(
            limits=extend(limits, assignment.task.conditions.inserts),  # tokens of a hint are not counted
            note=settings.budget.replace("{tokens}", str(tokens)),
        )
        assignment.done["max_tokens"] = min(most.episode, tokens)


@request_handler("hint", "play")
def give_hints(assignments: Sequence[Assignment], context: RequestContext) -> None:
    """Reveal the first steps of the solution, in the prompt or as beginning of the answer (SEELE, arXiv 2509.06923)."""
    settings = context.settings
    hinted = [assignment for assignment in assignments if assignment.request("hint") > 0]
    solutions = solve([assignment.task for assignment in hinted], context.player)
    for assignment, solution in zip(hinted, solutions, strict=True):
        share = float(assignment.request("hint"))
        start = guided_start(assignment.task, solution, share, context.player, settings.hint_where, settings.hint)
        names = ("inserts", "limits", "oracle_turns", "hint", "guided")
        assignment.set_conditions(**{name: getattr(start, name) for name in names})
    for assignment in assignments:
        assignment.done["hint"] = assignment.task.conditions.guided


@request_handler("system", "play")
def set_system_texts(assignments: Sequence[Assignment], context: RequestContext) -> None:
    """Begin the conversation with a system text, in place of the run's own (pPE, arXiv 2505.14157)."""
    for assignment in assignments:
        text = assignment.request("system")
        assignment.set_conditions(system=text)
        assignment.done["system"] = "used" if text else "none"


@request_handler("rewrite", "play")
def rewrite_prompts(assignments: Sequence[Assignment], context: RequestContext) -> None:
    """Show a rewritten prompt if it passes the checks, else the original (CLPO, arXiv 2509.25004)."""
    tasks = [assignment.task for assignment in assignments]
    manners = [assignment.request("rewrite") for assignment in assignments]
    prompts = context.rewriter.rewrite(tasks, manners, context.player)
    for assignment, prompt in zip(assignments, prompts, strict=True):
        assignment.set_conditions(prompt=prompt.text)
        assignment.done["rewrite"] = prompt.outcome
