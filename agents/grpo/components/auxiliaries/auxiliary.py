"""Base class of the auxiliary models, and the value head that two of them use.

For each optimiser batch the learner (1) measures log-probabilities under policy and reference and hidden states, (2)
trains the auxiliary models with ``when="before"``, (3) calls `measure` of every auxiliary model, (4) trains the policy,
(5) trains the other auxiliary models. Batches that the policy is not trained on are only measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from .....checks import check_choice
from ...batch.batch import Batch
from ...batch.passes import Passes

Stats = dict[str, tuple[float, float]]
"""Name of a statistic -> (sum, count)."""


class Auxiliary:
    """Base class of models that are trained together with the policy; a subclass implements all methods that raise
    here.

    Attributes:
        provides: fields of `Batch` that `measure` fills.
        needs: measurements that must be made before `measure` and `train`; see `batch.scored.needs`.

    Args:
        when: "after": the model measures a batch before it is trained on it; "before": it is trained first.
    """

    provides: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()

    def __init__(self, when: str = "after"):
        self.when = check_choice("when", when, ("after", "before"))
        self._early: list[Stats] = []  # statistics of `train_early` that `update` has not returned yet

    def attach(self, model: Any, reference: Any) -> None:
        """Create weights and optimiser, before the first step.

        Args:
            model: the policy.
            reference: the reference policy, or None.
        """
        raise NotImplementedError

    def train_early(self, batch: Batch, passes: Passes) -> None:
        """Train on a batch before it is measured, if ``when`` is "before"; otherwise do nothing."""
        if self.when == "before":
            self._early.append(self.train(batch, passes))

    def measure(self, batch: Batch, passes: Passes) -> dict[str, Tensor]:
        """Return the measurements named in ``provides``, [N] each, without gradient; 0 at other than action tokens."""
        raise NotImplementedError

    def update(self, batch: Batch, passes: Passes) -> Stats:
        """Train on a batch after the policy, if ``when`` is "after"; return statistics of `train` or `train_early`."""
        if self.when == "after":
            return self.train(batch, passes)
        return self._early.pop(0) if self._early else {}

    def train(self, batch: Batch, passes: Passes) -> Stats:
        """Train on a batch and return statistics."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """Return everything needed to resume, for `torch.save`."""
        raise NotImplementedError

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore the state that `state` returned; `attach` must have been called."""
        raise NotImplementedError


class ValueHead(nn.Module):
    """Multilayer perceptron with one hidden layer and a scalar output: [N, inputs] -> [N].

    The last layer starts at 0, so all values start at 0; the first layer's weights are drawn from ``seed``. All weights
    are in double precision: Adam's first steps have the size of the learning rate however small a gradient is, so
    rounding errors must stay far below Adam's epsilon.
    """

    def __init__(self, inputs: int, width: int, seed: int):
        super().__init__()
        self.first, self.last = nn.Linear(inputs, width).double(), nn.Linear(width, 1).double()
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            self.first.weight.copy_(torch.randn(width, inputs, generator=generator) / inputs**0.5)
            for weight in (self.first.bias, self.last.weight, self.last.bias):
                weight.zero_()

    def forward(self, x: Tensor) -> Tensor:
        return self.last(torch.tanh(self.first(x)))[:, 0]


class ValueHeadModel(Auxiliary):
    """A `ValueHead` on detached features of the policy, with a separate AdamW optimiser.

    Args:
        lr: learning rate of AdamW.
        width: number of units in the hidden layer.
        passes: gradient steps on each batch.
        seed: seed of the initial weights.
        when: see `Auxiliary`.
    """

    provides = frozenset({"value"})
    needs = frozenset({"hidden"})
    head: ValueHead

    def __init__(self, lr: float, width: int, passes: int, seed: int, when: str = "after"):
        super().__init__(when)
        self.lr, self.width, self.passes, self.seed = lr, width, passes, seed

    def attach(self, model: Any, reference: Any) -> None:
        self.head = ValueHead(self._inputs(model), self.width, self.seed)
        self._optimizer = torch.optim.AdamW(self.head.parameters(), lr=self.lr, weight_decay=0.0)

    def measure(self, batch: Batch, passes: Passes) -> dict[str, Tensor]:
        value = torch.zeros(len(batch.ids))
        with torch.no_grad():
            value[batch.action] = self.head(self._features(batch)).to(value.dtype)
        return {"value": value}

    def _inputs(self, model: Any) -> int:
        return model.config.hidden_size

    def _features(self, batch: Batch) -> Tensor:
        """Return the head's inputs at each action token, [A, inputs]."""
        return batch.measurement("hidden")[batch.action].double()

    def _descend(self, loss: Tensor) -> None:
        self._optimizer.zero_grad()
        loss.backward()
        for group in self._optimizer.param_groups:
            group["lr"] = self.lr
        self._optimizer.step()

    def state(self) -> dict[str, Any]:
        return {"head": self.head.state_dict(), "optimizer": self._optimizer.state_dict()}

    def load(self, state: Mapping[str, Any]) -> None:
        self.head.load_state_dict(state["head"])
        self._optimizer.load_state_dict(dict(state["optimizer"]))
