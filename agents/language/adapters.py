"""Low-rank adapters: a policy that shares the weights of its reference and trains a few more (Hu et al., arXiv
2106.09685, section 4.1).

peft puts them into the layers of a model, in place, so the forward pass here and the engine run through them unseen.
`BaseOnly` stands for the same model with its adapters off: a reference policy that costs no memory.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...errors import BaseModelError, InputError, needs_extra

ADAPTER_CONFIG = "adapter_config.json"
"""The file that marks a folder of adapters."""
_FINGERPRINT = "base_model.json"
"""File beside saved adapters with the fingerprint of the model below them."""


class BaseOnly:
    """A model seen without its adapters; everything else about it is the model's own. Never trained."""

    def __init__(self, model: Any, adapters: Any):
        self._model, self._adapters = model, adapters

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_model", "_adapters"):
            raise AttributeError(name)
        return getattr(self._model, name)

    @contextmanager
    def bare(self) -> Iterator[Any]:
        """Yield the model itself, with adapters off and gradients unrecorded inside the context."""
        flags = [(weight, weight.requires_grad) for weight in self._model.parameters()]
        try:
            with torch.no_grad(), self._adapters.disable_adapter():
                yield self._model
        finally:
            # peft marks all adapters as trained when it turns them on again.
            for weight, trained in flags:
                if weight.requires_grad is not trained:
                    weight.requires_grad_(trained)


def same_policy(model: Any, reference: Any) -> bool:
    """Return True if a model equals its reference: its weights are equal or, if the reference is the model without
    adapters, its adapters change nothing."""
    if isinstance(reference, BaseOnly):
        return not any(weight.any() for name, weight in model.named_parameters() if ".lora_B." in name)
    return all(map(torch.equal, model.parameters(), reference.parameters()))


class _TrainingDropout(nn.Module):
    """Dropout wherever gradients are recorded: the model stays in evaluation mode, and sampling never drops."""

    def __init__(self, probability: float):
        super().__init__()
        self.probability = probability

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.probability, training=torch.is_grad_enabled())


def add_adapters(
    model: Any,
    rank: int,
    alpha: float,
    targets: str | Sequence[str] = "all-linear",
    dropout: float = 0.0,
    seed: int = 0,
) -> Any:
    """Put fresh adapters into a model's linear layers, in place; they change nothing until they are trained.

    Args:
        model: a transformers model; its own weights are frozen.
        rank, alpha: a layer W becomes W + alpha / rank * B A, with A of ``rank`` rows.
        targets: last names of the layers ("q_proj", ...), or "all-linear" for all but the output head.
        dropout: share of the adapters' inputs that is dropped in training.
        seed: of A's random start; B starts at zero.

    Returns:
        The ``PeftModel`` around the model.

    Raises:
        InputError: rank, dropout or targets cannot be used.
    """
    peft = _peft()
    if rank < 1:
        raise InputError(f"rank must be at least 1, got {rank}.")
    if not 0 <= dropout < 1:
        raise InputError(f"dropout must lie in [0, 1), got {dropout}.")
    chosen = targets if isinstance(targets, str) else list(targets)
    ends = (model.get_input_embeddings(), model.get_output_embeddings())
    names = {name.rpartition(".")[2] for name, module in model.named_modules() if any(module is end for end in ends)}
    if taken := sorted(names & {chosen if isinstance(chosen, str) else name for name in chosen}):
        raise InputError(f"{taken[0]!r} is an embedding or the output head, which takes no adapter; leave it out.")
    config = peft.LoraConfig(r=rank, lora_alpha=alpha, target_modules=chosen, task_type="CAUSAL_LM")
    try:
        with torch.random.fork_rng(), _ignore_peft_warnings():
            torch.manual_seed(seed)
            adapters = peft.get_peft_model(model, config)
    except ValueError as error:
        raise InputError(f"adapters cannot be put into {targets!r} ({error}).") from error
    if dropout:
        for module in model.modules():
            if isinstance(module, peft.tuners.lora.LoraLayer):
                module.lora_dropout["default"] = _TrainingDropout(dropout)
    return adapters


def load_adapters(model: Any, folder: str | Path) -> Any:
    """Put saved adapters into a model, in place and ready to be trained on.

    Raises:
        InputError: the folder has no adapters, or they do not fit the model.
    """
    peft = _peft()
    if not (Path(folder) / ADAPTER_CONFIG).is_file():
        raise InputError(f"{str(folder)!r} has no {ADAPTER_CONFIG}; give a folder that adapters were saved to.")
    try:
        with _ignore_peft_warnings():
            return peft.PeftModel.from_pretrained(model, str(folder), is_trainable=True)
    except (RuntimeError, ValueError) as error:
        raise InputError(f"the adapters in {str(folder)!r} do not fit a {type(model).__name__} ({error}).") from error


def fingerprint(model: Any) -> dict[str, str]:
    """Return the type of a model's weights and the SHA-256 of their names and values."""
    digest, dtype = hashlib.sha256(), ""
    for name, weight in model.state_dict().items():
        digest.update(f"{name} {tuple(weight.shape)}".encode())
        digest.update(weight.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
        dtype = dtype or str(weight.dtype).removeprefix("torch.")
    return {"dtype": dtype, "sha256": digest.hexdigest()}


def save_fingerprint(folder: Path, base: Mapping[str, str]) -> None:
    """Keep the fingerprint of the model below adapters beside them."""
    (folder / _FINGERPRINT).write_text(json.dumps(base) + "\n", encoding="utf-8")


def check_fingerprint(folder: Path, place: str | Path, base: Mapping[str, str]) -> None:
    """Raise BaseModelError if the adapters in ``folder`` were trained on other weights than ``place`` has now. Adapters
    without a fingerprint, and weights loaded in another type, are not compared.
    """
    if not (folder / _FINGERPRINT).is_file():
        return
    known = json.loads((folder / _FINGERPRINT).read_text(encoding="utf-8"))
    if known["dtype"] == base["dtype"] and known["sha256"] != base["sha256"]:
        raise BaseModelError(
            f"the weights of {str(place)!r} are no longer those that the adapters in {str(folder)!r} were trained on; "
            "put the earlier ones back."
        )


@contextmanager
def _ignore_peft_warnings() -> Iterator[None]:
    """Ignore peft's warnings of a name that transformers is to drop, and of an option that it sets itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        warnings.filterwarnings("ignore", "fan_in_fan_out is set to")
        yield


def _peft() -> Any:
    with needs_extra("training adapters", "lora"):
        import peft
    return peft
