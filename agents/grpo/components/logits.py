"""Rules that join the policy's logits with those of further models, in sampling and in training alike.

A rule is a row of the stage "logits". The engine draws tokens from the joined logits, and the learner scores them under
the same distribution, so that ratios are 1 before the first update. `agents.engines.joint.LogitRule` is the protocol; a
rule that owns weights has the methods of a producer with weights besides (see `measures.averages`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ....checks import check_count, check_number, check_share
from ....errors import InputError
from ...engines.joint import HIDDEN_LOGIT
from ...language.average_copy import AverageCopy
from ...language.language_agent import load_run_model
from ...language.model import LanguageModel
from ..recipes.stages import LOGITS


class LogitsOfModels:
    """Base class of rules; ``sources`` are runs, folders or names of the further models."""

    abilities = frozenset({"logits"})
    slope = 1.0
    policies: Sequence[Any] = ()
    models: Sequence[Any] = ()
    sources: Sequence[str] = ()

    def open(self, language: LanguageModel) -> None:
        """Load the further models for a policy.

        Raises:
            InputError: a model cannot be read, or has another vocabulary than the policy.
        """
        known = language.tokenizer.get_vocab()
        found = []
        for source in self.sources:
            other = load_run_model(Path(source) if Path(source).is_dir() else source)
            if other.tokenizer.get_vocab() != known:
                raise InputError(
                    f"the logits of {source!r} are over another vocabulary than the policy's ({len(known)} tokens); "
                    "name a model with the same tokenizer."
                )
            found.append(other.model.to(next(language.model.parameters()).device).eval().requires_grad_(False))
        self.models = found

    def __call__(self, own: Tensor, others: Sequence[Tensor]) -> Tensor:
        """Return the joined logits; see `agents.engines.joint.LogitRule`."""
        raise NotImplementedError


@LOGITS.register("none")
class OwnLogits(LogitsOfModels):
    """Leave the policy's logits as they are."""

    abilities = frozenset()


@LOGITS.register("mixed")
class MixedLogits(LogitsOfModels):
    """(1 - weight) log pi_ref + weight log pi (RLG, arXiv 2508.21016).

    If pi was trained with a KL penalty of coefficient beta to pi_ref, so that pi is proportional to pi_ref exp(r /
    beta), the mixture is the policy of coefficient beta / weight: weights above 1 go beyond the training, weights
    between 0 and 1 go back.

    Args:
        reference: model that was tuned to the policy.
        weight: 0 samples from the reference, 1 from the policy.
    """

    def __init__(self, reference: str, weight: float = 1.5):
        self.sources, self.reference = (reference,), reference
        self.weight = check_number("weight", weight)

    @property
    def slope(self) -> float:  # type: ignore[override]
        return self.weight

    def __call__(self, own: Tensor, others: Sequence[Tensor]) -> Tensor:
        return torch.lerp(others[0].to(own), own, self.weight)


@LOGITS.register("shifted")
class ShiftedLogits(LogitsOfModels):
    """Logits plus ``weight`` x (logits of a small tuned model - logits of the small model before its training) (RAST,
    arXiv 2506.15710).

    Args:
        tuned: small model after its training.
        base: the same model before.
        weight: factor on the difference.
    """

    def __init__(self, tuned: str, base: str, weight: float = 1.0):
        self.sources, self.tuned, self.base = (tuned, base), tuned, base
        self.weight = check_number("weight", weight)

    def __call__(self, own: Tensor, others: Sequence[Tensor]) -> Tensor:
        return own + self.weight * (others[0] - others[1]).to(own)


@LOGITS.register("nucleus")
class LaggedNucleus(LogitsOfModels, AverageCopy):
    """Exclude what lies outside the nucleus of a past policy (NLPO, arXiv 2210.01241, section 4.1).

    The mask policy is a copy of the policy, taken anew after every ``every`` updates. Its nucleus is that of the
    distribution at temperature 1, and ids that are as likely as the last of it belong to it.

    Args:
        top_p: probability of the nucleus; 1 excludes nothing.
        least: smallest number of ids that are kept.
        every: number of updates after which the mask policy is replaced.
    """

    def __init__(self, top_p: float = 0.9, least: int = 100, every: int = 5):
        AverageCopy.__init__(self, decay=0.0)
        self.top_p = check_share("top_p", top_p, positive=True)
        self.least = check_count("least", least, 1, "ids")
        self.every = check_count("every", every, 1, "updates")
        self._updates = 0

    def open(self, language: LanguageModel) -> None:
        super().open(language)
        self.attach(language.model)

    def attach(self, model: Any) -> None:
        if self.models:  # the engine and the passes hold the copy already
            return
        super().attach(model)
        self.models = (self.model,)

    def follow(self, model: Any) -> None:
        """Count an update; replace the mask policy when ``every`` of them are done."""
        self._updates += 1
        if self._updates % self.every == 0:
            super().follow(model)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "updates": self._updates}

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        self._updates = int(state["updates"])

    def __call__(self, own: Tensor, others: Sequence[Tensor]) -> Tensor:
        return own.masked_fill(~self.allowed(others[0]), HIDDEN_LOGIT)

    def allowed(self, logits: Tensor) -> Tensor:
        """Return the mask of the admitted ids, bool [R, V], given the logits of the mask policy, [R, V]."""
        probability = logits.float().softmax(-1)
        ordered = probability.sort(-1, descending=True).values
        before = ordered.cumsum(-1) - ordered
        kept = (before < self.top_p).sum(-1, keepdim=True).clamp(min=min(self.least, logits.shape[-1]))
        return probability >= ordered.gather(-1, kept - 1)
