"""Low-rank adapters (LoRA; Hu et al., arXiv 2106.09685, section 4.1): small trained matrices beside frozen weights.

peft inserts adapters into the layers of a model, in place, so the forward pass and the engine need no special code.
`BaseOnly` is a view of the same model with the adapters off: a reference policy that costs no memory.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...errors import BaseModelError, InputError, needs_extra

ADAPTER_CONFIG = "adapter_config.json"
"""File whose presence marks a folder of saved adapters."""
_FINGERPRINT = "base_model.json"
"""File in a folder of saved adapters with the fingerprint of the base model."""


class BaseOnly:
    """View of a model without its adapters; all attributes are the model's. It cannot be trained."""

    def __init__(self, model: Any, adapters: Any):
        self._model, self._adapters = model, adapters

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_model", "_adapters"):
            raise AttributeError(name)
        return getattr(self._model, name)

    @contextmanager
    def bare(self) -> Iterator[Any]:
        """Yield the model; within the context its adapters are off and no gradients are recorded."""
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
    """Return True if a model's weights equal those of its reference, or, for a reference of type `BaseOnly`, if the
    adapters change nothing."""
    if isinstance(reference, BaseOnly):
        return not any(
            weight.any() for name, weight in model.named_parameters() if ".lora_B." in name and weight.requires_grad
        )
    return all(map(torch.equal, model.parameters(), reference.parameters()))


class _TrainingDropout(nn.Module):
    """Dropout that is active whenever gradients are recorded, because the model always stays in evaluation mode."""

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
    """Insert new adapters into a model's linear layers, in place. They change nothing until they are trained.

    Args:
        model: a transformers model, whose weights are frozen.
        rank, alpha: a layer W becomes W + alpha / rank * B A, with A of ``rank`` rows.
        targets: last parts of the names of the layers ("q_proj", ...), or "all-linear" for all but the output head.
        dropout: dropout probability of the adapters' inputs in training, in [0, 1).
        seed: seed of A's random initialisation; B is initialised with zeros.

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
    """Insert saved adapters into a model, in place; they can be trained further. Return the ``PeftModel``.

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
    """Return the "dtype" of a model's weights and the "sha256" of their names, shapes and values."""
    digest, dtype = hashlib.sha256(), ""
    for name, weight in model.state_dict().items():
        digest.update(f"{name} {tuple(weight.shape)}".encode())
        digest.update(weight.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
        dtype = dtype or str(weight.dtype).removeprefix("torch.")
    return {"dtype": dtype, "sha256": digest.hexdigest()}


def save_fingerprint(folder: Path, base: Mapping[str, str]) -> None:
    """Save the fingerprint of the base model in a folder of adapters."""
    (folder / _FINGERPRINT).write_text(json.dumps(base) + "\n", encoding="utf-8")


def check_fingerprint(folder: Path, place: str | Path, base: Mapping[str, str]) -> None:
    """Raise BaseModelError if the adapters in ``folder`` were trained on other weights than those of ``place``, whose
    fingerprint is ``base``. Adapters without a fingerprint, and weights of another dtype, pass."""
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
    """Suppress peft's warnings of a name that transformers deprecates, and of an option that peft sets itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        warnings.filterwarnings("ignore", "fan_in_fan_out is set to")
        yield


def _peft() -> Any:
    with needs_extra("training adapters", "lora"):
        import peft
    return peft


class AdapterSwitch:
    """Several adapters on one model, of which one acts at a time; the model's own weights are in memory once.

    Args:
        language: a `LanguageModel`; if it has adapters, they act outside `use`, else the bare model does.
    """

    def __init__(self, language: Any):
        self.language = language
        self._rest: list[str] = ["default"] if language.adapters is not None else []
        self._layers: list[Any] = []
        self._flags: dict[str, list[nn.Parameter]] = {}
        self._trained: dict[str, bool] = {"default": True}

    def add(self, name: str, rank: int, seed: int, trained: bool = True, folder: str | Path | None = None) -> None:
        """Insert further adapters, of the layers and scale of `add_adapters`.

        Args:
            trained: False for adapters that stay as they are.
            folder: saved adapters; None: new ones, which change nothing until they are trained.
        """
        peft = _peft()
        language = self.language
        with torch.random.fork_rng(), _ignore_peft_warnings():
            torch.manual_seed(seed)
            config = peft.LoraConfig(r=rank, lora_alpha=2.0 * rank, target_modules="all-linear", task_type="CAUSAL_LM")
            if language.adapters is None:
                adapters = peft.get_peft_model(language.model, config, adapter_name=name)
                self.language = language = replace(language, adapters=adapters)
            else:
                language.adapters.add_adapter(name, config)
            if folder is not None:
                state = peft.utils.load_peft_weights(str(folder), device="cpu")
                peft.set_peft_model_state_dict(language.adapters, state, adapter_name=name)
        layers = [
            each for each in language.model.modules() if isinstance(each, peft.tuners.tuners_utils.BaseTunerLayer)
        ]
        self._layers, self._trained[name] = layers, trained
        self._flags = {
            own: [weight for key, weight in language.model.named_parameters() if f".{own}." in key and ".lora_" in key]
            for own in language.adapters.peft_config
        }
        for weight in (weight for own in self._flags.values() for weight in own):
            weight.requires_grad_(False)
        self._act(self._rest)

    @contextmanager
    def use(self, name: str) -> Iterator[None]:
        """Let adapters act, and be those that can be trained, within the context."""
        before = list(self._layers[0].active_adapters)
        self._act([name])
        try:
            yield
        finally:
            self._act(before)

    def save(self, name: str, folder: Path) -> None:
        """Write adapters to ``folder``, whose last part must be their name."""
        for config in self.language.adapters.peft_config.values():
            config.base_model_name_or_path = self.language.model.config.name_or_path
        self.language.adapters.save_pretrained(folder.parent, selected_adapters=[name], save_embedding_layers=False)

    def _act(self, names: Sequence[str]) -> None:
        # peft's own method goes through all modules by name, which takes longer than a token of a small model.
        for layer in self._layers:
            layer._active_adapter = list(names)
        for own, weights in self._flags.items():
            trained = own in names and self._trained[own]
            if weights and weights[0].requires_grad is not trained:
                for weight in weights:
                    weight.requires_grad_(trained)
