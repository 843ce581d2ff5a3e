"""Sampling from the joined logits of several models that read the same conversation.

`JointRunner` takes the place of `ModelRunner`: each model has its own key-value cache, whose rows move together, the
hidden states of all models stand side by side, and a `LogitRule` joins their logits. A run without a rule has neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from ..language.attention import Attend
from ..language.soft_tokens import SoftInputs
from .cache import KeyValueCache
from .prompts import SharedPrompts
from .runner import ModelRunner

HIDDEN_LOGIT = -1e9
"""Logit of an excluded id: finite, so that sums of probability times log-probability are finite too."""


class LogitRule(Protocol):
    """Function that joins the logits of the policy and of further models.

    Attributes:
        models: the further transformers models, whose vocabulary is the policy's.
        slope: derivative of a joined logit with respect to the policy's own, at ids that are not excluded.
        policies: transformers models that are scored under the rule: the policy, and its reference.
    """

    models: Sequence[Any]
    slope: float
    policies: Sequence[Any]

    def __call__(self, own: Tensor, others: Sequence[Tensor]) -> Tensor:
        """Return the joined logits, `HIDDEN_LOGIT` or less at excluded ids.

        Args:
            own: logits of the policy, [R, V].
            others: logits of ``models``, [R, V] each.
        """
        ...


class JointCache:
    """Key-value caches of several models, one row per conversation in each."""

    def __init__(self, caches: Sequence[KeyValueCache]):
        self._caches = caches
        self.rows, self.device, self.fixed = caches[0].rows, caches[0].device, caches[0].fixed

    def release(self) -> None:
        for cache in self._caches:
            cache.release()

    def addresses(self) -> tuple[int, ...]:
        return tuple(address for cache in self._caches for address in cache.addresses())

    def reserve(self, length: int) -> None:
        for cache in self._caches:
            cache.reserve(length)

    def swap(self, a: int, filled_a: int, b: int, filled_b: int) -> None:
        for cache in self._caches:
            cache.swap(a, filled_a, b, filled_b)

    def share(self, row: int, filled: int, others: Sequence[int]) -> None:
        for cache in self._caches:
            cache.share(row, filled, others)

    def prepare_extension(self, *where: Any) -> tuple[Tensor, list[Attend]]:
        """Prepare the addition of tokens in all caches; see `KeyValueCache.prepare_extension`."""
        prepared = [cache.prepare_extension(*where) for cache in self._caches]
        return prepared[0][0], [attend for _, attend in prepared]

    def prepare_step(self, *where: Any) -> list[Attend]:
        """Prepare the addition of one token in all caches; see `KeyValueCache.prepare_step`."""
        return [cache.prepare_step(*where) for cache in self._caches]


class JointRunner(ModelRunner):
    """Runner of several models over the same sequences.

    Args:
        models: the policy, then the rule's models.
        caches: a cache for each model.
        prompts: store of shared prompts, without any place.
        vocabulary, fp32_head: see `ModelRunner`.
        rule: joins the models' logits.
    """

    def __init__(
        self,
        models: Sequence[Any],
        caches: Sequence[KeyValueCache],
        prompts: SharedPrompts,
        vocabulary: int,
        fp32_head: bool,
        rule: LogitRule,
    ):
        self.joint = JointCache(caches)
        super().__init__(models[0], self.joint, prompts, vocabulary, fp32_head)
        places = zip(models, caches, strict=True)
        self._members = [ModelRunner(model, cache, prompts, vocabulary, fp32_head) for model, cache in places]
        self._rule = rule
        self._widths: list[int] = []
        self._dtypes: list[torch.dtype] = []

    def hidden(self, ids: Tensor, positions: Tensor, attend: Any, soft: SoftInputs | None = None) -> Tensor:
        """Return the hidden states of all models side by side, [N, sum of widths]."""
        states = [each.hidden(ids, positions, one, soft) for each, one in zip(self._members, attend, strict=True)]
        self._widths, self._dtypes = [each.shape[-1] for each in states], [each.dtype for each in states]
        return torch.cat(states, -1)

    def logits(self, hidden: Tensor) -> Tensor:
        parts = zip(self._members, hidden.split(self._widths, -1), self._dtypes, strict=True)
        own, *others = (each.logits(part.to(dtype).contiguous()) for each, part, dtype in parts)
        return self._rule(own, others)

    def addresses(self) -> tuple[int, ...]:
        return tuple(address for each in self._members for address in each.addresses())
