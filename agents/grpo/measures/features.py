"""Vectors that represent an answer: hidden states of a model, and the gradient of the answer's log-probability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ....checks import check_choice
from ..batch.trajectory import Group, Origin
from .likelihoods import reference_ids, valid_of
from .producer import Found, ProducerTools, conversation, place_rows, produces

_MODELS = ("policy", "reference")


class _Features:
    """Base class of producers of hidden states, after the last layer and norm, of the policy or the reference."""

    def __init__(self, model: str = "policy"):
        self.model = check_choice("model", model, _MODELS)
        self.needs = type(self).needs | ({"logp_ref"} if model == "reference" else frozenset())

    needs: frozenset[str] = frozenset()

    def states(self, rows: Sequence[tuple[Sequence[int], int]], tools: ProducerTools) -> list[torch.Tensor | None]:
        """Return the hidden states of each (ids, start) row from token ``start`` on, [L, H]; None if it is too long."""
        model: Any = tools.reference if self.model == "reference" else None
        # The state at a token is returned with the next token, which it predicts; so one more token is scored.
        contexts = [ids[: start + 1] for ids, start in rows]
        texts = [(*ids[start + 1 :], ids[0]) for ids, start in rows]
        scored = tools.score_texts(contexts, texts, model, hidden=True)
        return [None if text is None else text.hidden for text in scored]

    def answers(self, groups: Sequence[Group], tools: ProducerTools) -> list[torch.Tensor | None]:
        """Return the states at the action tokens of each valid trajectory since the last restart of its context."""
        rows, acted = [], []
        for ids, action in map(conversation, valid_of(groups)):
            start = action.index(True) if True in action else len(ids)
            rows.append((ids, min(start, len(ids) - 1)))
            acted.append(action[rows[-1][1] :])
        states = self.states(rows, tools)
        return [None if found is None else found[torch.tensor(mask)] for found, mask in zip(states, acted, strict=True)]


@produces("features")
class AnswerFeatures(_Features):
    """Mean hidden state of the action tokens (RepExp, arXiv 2510.11686, section 3.1, with the frozen base model).

    Args:
        model: model of the hidden states, "policy" or "reference".
    """

    def __call__(self, groups: Sequence[Group], tools: ProducerTools) -> Found:
        rows = ({"features": _mean_state(found)} for found in self.answers(groups, tools))
        return place_rows(groups, rows)


@produces("reference_features", needs=("reference",))
class ReferenceFeatures(_Features):
    """Mean hidden state of the reference answer's tokens, read in place of the answer; None if the reference is not
    text.

    Args:
        model: see `AnswerFeatures`.
    """

    def __call__(self, groups: Sequence[Group], tools: ProducerTools) -> Found:
        rows = ({"reference_features": _mean_state(found)} for found in _reference_states(self, groups, tools))
        return place_rows(groups, rows)


@produces("token_features", "reference_token_features", needs=("reference",))
class TokenFeatures(_Features):
    """Hidden states of the tokens of the last action, and of the reference answer read in its place.

    Args:
        model: see `AnswerFeatures`.
    """

    def __call__(self, groups: Sequence[Group], tools: ProducerTools) -> Found:
        last = [len(trajectory.turns[-1].act_ids) for trajectory in valid_of(groups)]
        answers = self.answers(groups, tools)
        rows = [
            {
                "token_features": _rows_of(None if own is None else own[-n:]),
                "reference_token_features": _rows_of(theirs),
            }
            for own, n, theirs in zip(answers, last, _reference_states(self, groups, tools), strict=True)
        ]
        return place_rows(groups, rows)


def _reference_states(producer: _Features, groups: Sequence[Group], tools: ProducerTools) -> list[torch.Tensor | None]:
    """Return the states at the tokens of each valid trajectory's reference answer, read after the last observation."""
    rows, places = [], []
    for trajectory, ids in zip(valid_of(groups), reference_ids(groups, tools), strict=True):
        conversed, _ = conversation(trajectory)
        before = conversed[: len(conversed) - len(trajectory.turns[-1].act_ids)]
        places.append(bool(ids))
        rows.append(([*before, *ids], len(before) if ids else len(before) - 1))
    states = producer.states(rows, tools)
    return [found if known else None for found, known in zip(states, places, strict=True)]


def _mean_state(states: torch.Tensor | None) -> list[float] | None:
    return None if states is None or not len(states) else states.double().mean(0).tolist()


def _rows_of(states: torch.Tensor | None) -> np.ndarray | None:
    return None if states is None else states.double().numpy()


@produces("gradient_features")
def gradient_features(groups: Sequence[Group], tools: ProducerTools) -> Found:
    """Gradient of the log-probability of the answer with respect to the hidden states that predict its tokens, summed
    over the tokens that the policy sampled (G2RL, arXiv 2512.15687): W'(onehot - probability) for output weights W."""
    rows = []
    for group in groups:  # one at a time, as the hidden states of all would take much memory
        batch, outputs = tools.score([group], hidden=True)
        sampled = batch.written_by(Origin.POLICY)
        total = torch.zeros(batch.episodes, 0 if outputs.hidden is None else outputs.hidden.shape[1])
        if outputs.hidden is not None:
            model, states = tools.language.model, outputs.hidden[sampled]
            slopes = tools.passes.logp_slopes(model, states, batch.ids[sampled])
            total = total.double().index_add_(0, batch.episode_of[sampled], slopes.double())
        rows += [{"gradient_features": row} for row in total.tolist()]
    return place_rows(groups, rows)
