"""Measures computed from the episodes alone: outcomes, limits, answers and sampled tokens; no model is queried."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....rewards.answers.formats import enclosed_contents
from ....rewards.terms.refusals import answer_part, is_refusal
from ..batch.trajectory import Group, Origin, Trajectory
from ..components.credit.peers import answer_dispersion
from .producer import Found, ProducerTools, measure_of, produces


@measure_of("objective")
def progress_as_objective(trajectory: Trajectory) -> float:
    """Value that a search over solutions maximises: the environment's progress, in [0, 1]."""
    return trajectory.progress


@measure_of("dense_reward")
def progress_as_dense_reward(trajectory: Trajectory) -> float:
    """Dense reward for environments that name none: the environment's progress, in [0, 1]."""
    return trajectory.progress


@measure_of("target_tokens")
def budget_of_tokens(trajectory: Trajectory) -> float:
    """Target length of an answer: the limit on action tokens in force, which a teacher may set."""
    return float(trajectory.max_tokens)


@measure_of("policy_entropy")
def sampled_entropy(trajectory: Trajectory) -> float:
    """Mean -log p of the tokens that the policy sampled, nats: an unbiased estimate of the policy's entropy."""
    logps = [
        logp
        for turn in trajectory.turns
        for logp, origin in zip(turn.logps, turn.token_origins)
        if origin == Origin.POLICY
    ]
    return -math.fsum(logps) / len(logps) if logps else 0.0


@produces("refusal")
def refusals(groups: Sequence[Group], tools: ProducerTools) -> Found:
    """1 for a reply that refuses, 0 for another one (AlphaAlign, arXiv 2507.14987)."""
    return [[{"refusal": float(_refuses(t))} for t in group.trajectories] for group in groups]


@produces("over_refusal", needs=["forbidden"])
def over_refusals(groups: Sequence[Group], tools: ProducerTools) -> Found:
    """1 for a reply that refuses an allowed request, 0 for another reply to one; None for a forbidden request."""

    def measure(trajectory: Trajectory) -> float | None:
        return None if trajectory.extras.get("forbidden") else float(_refuses(trajectory))

    return [[{"over_refusal": measure(t)} for t in group.trajectories] for group in groups]


def _refuses(trajectory: Trajectory) -> bool:
    return is_refusal(answer_part(trajectory.episode.response))


ANSWER_FORMS = ("boxed", "tag", "bare")


def answer_form(text: str) -> str:
    """Return the form of the answer in a reply, one of `ANSWER_FORMS`: that of the last box or tag, or "bare"."""
    ends = {form: found[1] for form in ("boxed", "tag") if (found := enclosed_contents(text, form)) is not None}
    return max(ends, key=ends.__getitem__) if ends else "bare"


@produces(*(f"{what}_{form}" for what in ("form", "won") for form in ANSWER_FORMS), as_="answer_forms")
def forms_of_answers(groups: Sequence[Group], tools: ProducerTools) -> Found:
    """Form of each episode's last answer, in a box, between tags or bare, and its success by form. Means over a step
    are the shares of the forms, which sum to 1, and their accuracies (Echo Chamber, arXiv 2504.07912)."""

    def forms(trajectory: Trajectory) -> dict[str, float | None]:
        mine = answer_form(trajectory.turns[-1].action if trajectory.turns else "")
        won = float(trajectory.success)
        return {f"form_{form}": float(form == mine) for form in ANSWER_FORMS} | {
            f"won_{form}": won if form == mine else None for form in ANSWER_FORMS
        }

    return [[forms(trajectory) for trajectory in group.trajectories] for group in groups]


@produces("system_text")
def read_system_texts(groups: Sequence[Group], tools: ProducerTools) -> Found:
    """System text of each episode: the one that the teacher requested, or the run's own; "" without one."""
    own = tools.language.renderer.system or ""
    return [[{"system_text": trajectory.system or own} for trajectory in group.trajectories] for group in groups]


@produces("answer_dispersion")
def dispersion_of_groups(groups: Sequence[Group], tools: ProducerTools, choices: int | None = None) -> Found:
    """Dispersion of the answers of each group, the same number for all its episodes (see
    `components.credit.peers.answer_dispersion`).

    Args:
        choices: number of possible answers to a task; None: the task's number.
    """
    found = [{"answer_dispersion": answer_dispersion(group.valid, choices)} for group in groups]
    return [[value] * len(group.trajectories) for group, value in zip(groups, found, strict=True)]
