"""Confidence of the policy at the tokens that it sampled."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from ....checks import check_count
from ..batch.trajectory import Group, Trajectory
from .likelihoods import valid_of
from .producer import Found, ProducerTools, place_rows, produces, split_actions


@produces("token_confidence")
def token_confidence(groups: Sequence[Group], tools: ProducerTools, top: int = 20) -> Found:
    """Minus the mean log-probability of the ``top`` likeliest tokens at each action token (SCOPE, arXiv 2512.15146,
    section 3.1; its engine returns at most 20 candidates per token).

    The values are in one list per step; steps are separated by blank lines.

    Args:
        top: number of likeliest tokens.
    """
    check_count("top", top, 1)
    tokens_until = tools.language.renderer.tokens_until

    def split_steps(trajectory: Trajectory, confidence: list[float]) -> list[list[float]]:
        steps, start = [], 0
        for turn in trajectory.turns:
            own = confidence[start : start + len(turn.act_ids)]
            start += len(own)
            begun = 0
            for end in (*step_ends(turn.action), None):
                stop = len(own) if end is None else tokens_until(turn.act_ids, end)
                steps.append(own[begun:stop])
                begun = stop
        return [step for step in steps if step]

    rows = []
    for logps, trajectory in zip(_likeliest(groups, tools, top), valid_of(groups), strict=True):
        rows.append({"token_confidence": split_steps(trajectory, (-logps.mean(-1)).tolist())})
    return place_rows(groups, rows)


def step_ends(text: str) -> list[int]:
    """Return the number of characters up to the end of each blank line that separates two steps."""
    ends, place = [], 0
    for part in text.split("\n\n")[:-1]:
        place += len(part) + 2
        ends.append(place)
    return ends


@produces("least_confidence", "min_margin")
def mean_confidence(groups: Sequence[Group], tools: ProducerTools) -> Found:
    """Means over the action tokens: 1 minus the probability of the likeliest token ("least_confidence"), and its lead
    over the second ("min_margin") (level scores of PLR, arXiv 2010.03934, table 1); 0 and 1 without tokens."""
    rows = []
    for logps in _likeliest(groups, tools, 2):
        best = logps.exp()
        sure = len(best) == 0
        least = 0.0 if sure else float(1 - best[:, 0].mean())
        margin = 1.0 if sure or best.shape[1] < 2 else float((best[:, 0] - best[:, 1]).mean())
        rows.append({"least_confidence": least, "min_margin": margin})
    return place_rows(groups, rows)


def _likeliest(groups: Sequence[Group], tools: ProducerTools, count: int) -> list[Tensor]:
    """Return the log-probabilities of the likeliest tokens at each action token of each valid trajectory, [T, k]."""
    found: list[Tensor] = []
    for group in groups:  # one at a time, as the hidden states of all would take much memory
        batch, outputs = tools.score([group], hidden=True)
        if outputs.hidden is not None:
            states = split_actions(batch, outputs.hidden)
            model = tools.language.model
            found += [tools.passes.likeliest_logps(model, state, count) for state in states]
    return found
