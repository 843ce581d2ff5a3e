"""Implicit process reward model: a second copy of the policy whose log-ratio to a reference is a reward per token.

``r_t = beta log pi_phi(y_t | y_<t) / pi_ref(y_t | y_<t)``. The model is trained on outcomes alone: by cross-entropy on
the sum over the response (PRIME, arXiv 2502.01456) or on pairs of episodes of one task (iStar, arXiv 2509.19199, per
turn and with the old policy as reference). The rewards of an episode sum to its sequence reward. Needs torch.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid

from ...checks import Declared, check_choice, keyword_declared, option
from ...errors import InputError
from .token_episode import TokenEpisode

LogProbs = Callable[[Tensor], Tensor]
"""Callable from ids [n, T] (int64, padded on the right with 0) to the log-probability [n, T], in nats, of each token
given the tokens before it. The first column of the result is not read."""


class CausalLogProbs(nn.Module):
    """`LogProbs` of a causal model whose forward maps ids [n, T] to logits [n, T, V], or to an object
    with ``.logits``."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor) -> Tensor:
        output = self.model(ids[:, :-1])
        logits = getattr(output, "logits", output)
        # Log-softmax only at the given tokens, to save a second [n, T, V] tensor.
        chosen = logits.gather(-1, ids[:, 1:, None])[..., 0].float()
        logps = chosen - logits.float().logsumexp(-1)
        return torch.cat([torch.zeros_like(logps[:, :1]), logps], 1)


@dataclass(frozen=True, slots=True)
class PRMUpdate:
    """Result of `ImplicitPRM.update`.

    Attributes:
        rewards: for each episode, one reward per turn.
        loss: loss before the step, nats; None if the objective had nothing to compare.
        accuracy: share of the pairs of a better and a worse episode of one group that the model orders correctly before
            the step; None without a pair.
    """

    rewards: tuple[tuple[float, ...], ...]
    loss: float | None
    accuracy: float | None


@keyword_declared
class ImplicitPRM(Declared):
    """Rewards per token or turn from the log-ratio of two models, trained on outcomes.

    Without a reference the model is copied and frozen, so that all rewards are 0 before training. A model that is a
    function needs both ``reference`` and ``parameters``. Both papers take 0.05 for beta, and a learning rate of 1e-6
    for large models.

    Raises:
        InputError: a function without ``reference`` or ``parameters``, or no parameter that can be trained.
    """

    paper = "PRIME, arXiv 2502.01456; iStar, arXiv 2509.19199"
    model: Any = option(kw_only=False, says="the reward model phi: a causal ``nn.Module`` or a `LogProbs`.")
    reference: Any = option(default=None, kw_only=False, says="the reference model, of either kind.")
    objective: Literal["ce", "pairwise"] = option(default="ce", says="cross-entropy (PRIME), or pairs (iStar).")
    beta: float = option(default=0.05, low=0, says="scale of the rewards.")
    learning_rate: float = option(default=1e-6, low=0, says="step size of AdamW.")
    parameters: Iterable[nn.Parameter] | None = option(
        default=None, check=lambda _, weights: list(weights), says="the trained weights; None takes those of ``model``."
    )
    clip: float = option(default=10.0, low=0, says="largest norm of the gradient.")
    chunk: int = option(default=16, low=1, unit="episodes", says="episodes in one forward pass.")

    def setup(self) -> None:
        if not isinstance(self.model, nn.Module) and (self.reference is None or self.parameters is None):
            raise InputError("a model given as a function cannot be copied or searched: pass reference and parameters.")
        if self.reference is None:
            self.reference = copy.deepcopy(self.model).eval().requires_grad_(False)
        trained = self.parameters if self.parameters is not None else self.model.parameters()
        self._parameters = [weight for weight in trained if weight.requires_grad]
        if not self._parameters:
            raise InputError("the implicit reward model has no parameter with requires_grad; nothing could be trained.")
        self._optimiser = torch.optim.AdamW(self._parameters, lr=self.learning_rate, weight_decay=0.0)

    def token_rewards(self, episodes: Sequence[TokenEpisode]) -> list[tuple[float, ...]]:
        """Compute ``beta log pi_phi / pi_ref`` of every action token of each episode, in order."""
        with torch.no_grad():
            ratios = self._ratios(episodes)
        return [
            tuple(value for start, end in episode.turns for value in row[start:end].tolist())
            for episode, row in zip(episodes, ratios)
        ]

    def turn_rewards(self, episodes: Sequence[TokenEpisode]) -> list[tuple[float, ...]]:
        """Sum the token rewards of every turn of each episode, in order."""
        with torch.no_grad():
            ratios = self._ratios(episodes)
        return [
            tuple(float(row[start:end].sum()) for start, end in episode.turns) for episode, row in zip(episodes, ratios)
        ]

    def sequence_rewards(self, episodes: Sequence[TokenEpisode]) -> Tensor:
        """Sum the token rewards of each episode, [n], with gradient."""
        rows = self._ratios(episodes)
        sums = [torch.stack([row[start:end].sum() for start, end in e.turns]).sum() for e, row in zip(episodes, rows)]
        return torch.stack(sums)

    def loss(self, episodes: Sequence[TokenEpisode]) -> Tensor | None:
        """Compute the mean loss of the objective, nats; None if there is nothing to compare.

        "ce" averages over the episodes, with outcomes as probabilities; "pairwise" over all pairs of a better and a
        worse episode of one group.
        """
        return self._loss(episodes, self.sequence_rewards(episodes)) if episodes else None

    def update(self, episodes: Sequence[TokenEpisode], scores: str = "before") -> PRMUpdate:
        """Take one optimiser step on these episodes and return their rewards.

        Args:
            episodes: episodes of any groups.
            scores: compute the rewards with the weights "before" (PRIME) or "after" the step.
        """
        check_choice("scores", scores, ("before", "after"))
        if not episodes:
            return PRMUpdate((), None, None)
        sums = self.sequence_rewards(episodes)
        pairs = _pairs(episodes)
        values = sums.detach().tolist()
        correct = [0.5 if values[i] == values[j] else float(values[i] > values[j]) for i, j in pairs]
        accuracy = sum(correct) / len(pairs) if pairs else None
        before = self.turn_rewards(episodes) if scores == "before" else None
        loss = self._loss(episodes, sums)
        if loss is not None:
            self._optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self._parameters, self.clip)
            self._optimiser.step()
        rewards = before if before is not None else self.turn_rewards(episodes)
        return PRMUpdate(tuple(rewards), None if loss is None else float(loss.detach()), accuracy)

    def _loss(self, episodes: Sequence[TokenEpisode], sums: Tensor) -> Tensor | None:
        if self.objective == "ce":
            outcomes = torch.tensor([episode.outcome for episode in episodes], dtype=sums.dtype, device=sums.device)
            return binary_cross_entropy_with_logits(sums, outcomes)
        pairs = _pairs(episodes)
        if not pairs:
            return None
        better, worse = (torch.tensor(side, device=sums.device) for side in zip(*pairs))
        return -logsigmoid(sums[better] - sums[worse]).mean()

    def _ratios(self, episodes: Sequence[TokenEpisode]) -> list[Tensor]:
        """Compute ``beta (log pi_phi - log pi_ref)`` of every token: one row per episode, without padding."""
        device, rows = self._parameters[0].device, []
        for low in range(0, len(episodes), self.chunk):
            part = episodes[low : low + self.chunk]
            longest = max(len(episode.ids) for episode in part)
            padded = [episode.ids + (0,) * (longest - len(episode.ids)) for episode in part]
            ids = torch.tensor(padded, dtype=torch.int64, device=device)
            with torch.no_grad():
                reference = _logps(self.reference, ids)
            ratio = self.beta * (_logps(self.model, ids) - reference)
            rows += [ratio[index, : len(episode.ids)] for index, episode in enumerate(part)]
        return rows

    def state_dict(self) -> dict[str, Any]:
        """Return the trained weights and the optimiser's state, for `torch.save`."""
        weights = [weight.detach().clone() for weight in self._parameters]
        return {"parameters": weights, "optimiser": self._optimiser.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state returned by `state_dict`.

        Raises:
            InputError: the state belongs to a model of another shape.
        """
        shapes = [tuple(weight.shape) for weight in state["parameters"]]
        if shapes != [tuple(weight.shape) for weight in self._parameters]:
            raise InputError("the saved state belongs to a model of another shape; load it into the same architecture.")
        with torch.no_grad():
            for weight, saved in zip(self._parameters, state["parameters"]):
                weight.copy_(saved)
        self._optimiser.load_state_dict(state["optimiser"])


def _logps(model: Any, ids: Tensor) -> Tensor:
    if isinstance(model, nn.Module) and not isinstance(model, CausalLogProbs):
        return CausalLogProbs(model)(ids)
    return model(ids)


def _pairs(episodes: Sequence[TokenEpisode]) -> list[tuple[int, int]]:
    """List (better, worse) index pairs of the episodes of one group whose outcomes differ."""
    pairs = []
    for i, j in itertools.combinations(range(len(episodes)), 2):
        one, two = episodes[i], episodes[j]
        if one.group == two.group and one.outcome != two.outcome:
            pairs.append((i, j) if one.outcome > two.outcome else (j, i))
    return pairs
