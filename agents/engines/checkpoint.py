"""Export of a policy to other engines: weights under a checkpoint's names, and the matching configuration.

Adapters are merged into the weights, or exported separately. Embeddings of ids that the tokenizer does not have are cut
off, so that these ids are never sampled. An output matrix that is tied to the embeddings is written separately, because
vLLM's CPU build would keep the old one when the embeddings are replaced. The policy itself is never changed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..language.adapters import ADAPTER_CONFIG
from ..language.head import head_of, text_config

_WRAPPED = ".base_layer."
"""Part that peft inserts into the names of weights of layers with adapters."""


def vocabulary_of(language: Any) -> int:
    """Return the number of ids that can be sampled: the tokenizer's size, at most the rows of the output matrix."""
    return min(len(language.tokenizer), len(head_of(language.model).weight))


@torch.no_grad()
def checkpoint_weights(language: Any, merge: bool = True) -> dict[str, Tensor]:
    """Return the weights of a policy, cut to the vocabulary and untied: name in a checkpoint -> tensor.

    Most tensors are views of the policy's weights.

    Args:
        language: an `agents.language.model.LanguageModel`.
        merge: True adds the adapters to the weights; False leaves the adapters out.
    """
    from transformers.core_model_loading import revert_weight_conversion

    model, rows = language.model, vocabulary_of(language)
    weights = {
        name.replace(_WRAPPED, "."): tensor
        for name, tensor in model.state_dict(keep_vars=False).items()
        if ".lora_" not in name
    }
    for name, module in _adapted(model).items() if merge else ():
        for adapter in module.active_adapters:
            weights[f"{name}.weight"] = weights[f"{name}.weight"] + module.get_delta_weight(adapter)
    names = {id(module): name for name, module in model.named_modules()}
    embedding, head = model.get_input_embeddings(), model.get_output_embeddings()
    for module in (embedding, head):
        for part in ("weight", "bias"):
            if getattr(module, part, None) is not None:
                name = f"{names[id(module)]}.{part}"
                weights[name] = getattr(module, part).detach()[:rows]
    return dict(revert_weight_conversion(model, weights))


def adapter_rank(language: Any) -> int | None:
    """Return the rank of a policy's adapters, or None if there are none or they cannot be exported separately. They
    cannot if ranks or scales differ, if they are not plain products of two matrices, or if their layers have other
    names or shapes in a checkpoint."""
    from transformers.core_model_loading import revert_weight_conversion

    layers, kinds = _adapted(language.model), set()
    for module in layers.values():
        adapters = module.active_adapters
        plain = len(adapters) == 1 and hasattr(module, "lora_A") and not getattr(module, "lora_variant", None)
        if not plain or adapters[0] not in module.lora_A or module.lora_B[adapters[0]].bias is not None:
            return None
        kinds.add((len(module.lora_A[adapters[0]].weight), module.scaling[adapters[0]]))
    base = {f"{name}.weight": module.base_layer.weight for name, module in layers.items()}
    kept = dict(revert_weight_conversion(language.model, dict(base)))
    same = kept.keys() == base.keys() and all(kept[name].shape == weight.shape for name, weight in base.items())
    return kinds.pop()[0] if len(kinds) == 1 and same else None


@torch.no_grad()
def write_adapters(language: Any, folder: Path) -> None:
    """Write a policy's adapters to a new folder in peft's format. `adapter_rank` must not be None.

    Raises:
        OSError: the files cannot be written; the folder may hold a part of them.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    layers = _adapted(language.model)
    weights: dict[str, Tensor] = {}
    rank, scale = 0, 0.0
    for name, module in layers.items():
        (adapter,) = module.active_adapters
        rank, scale = len(module.lora_A[adapter].weight), module.scaling[adapter]
        for part in ("lora_A", "lora_B"):
            tensor = getattr(module, part)[adapter].weight.detach()
            weights[f"base_model.model.{name}.{part}.weight"] = tensor.cpu().contiguous()
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "r": rank,
        "lora_alpha": scale * rank,
        "target_modules": sorted({name.rpartition(".")[2] for name in layers}),
        "bias": "none",
    }
    folder.mkdir(parents=True)
    (folder / ADAPTER_CONFIG).write_text(json.dumps(config, indent=1), encoding="utf-8")
    try:
        save_file(weights, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    except SafetensorError as error:
        raise OSError(f"{folder / 'adapter_model.safetensors'}: {error}") from error


def _adapted(model: Any) -> dict[str, Any]:
    """Return the layers of a model that have adapters, by name."""
    return {
        name: module
        for name, module in model.named_modules()
        if hasattr(module, "get_delta_weight") and getattr(module, "active_adapters", ())
    }


def write_config(language: Any, folder: Path) -> None:
    """Write the ``config.json`` that goes with `checkpoint_weights`."""
    model = language.model
    data = model.config.to_dict()
    text = text_config(model.config)
    for part in (data, *(value for value in data.values() if isinstance(value, dict))):
        if part is data or part.get("vocab_size") == text.vocab_size:
            part["tie_word_embeddings"] = False
        if "vocab_size" in part:
            part["vocab_size"] = vocabulary_of(language)
    data |= {"architectures": [type(model).__name__], "dtype": str(head_of(model).weight.dtype).removeprefix("torch.")}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(data, indent=1), encoding="utf-8")


def write_weights(language: Any, folder: Path, merge: bool = True) -> None:
    """Write `checkpoint_weights` to ``folder`` as safetensors, atomically.

    Raises:
        OSError: the file cannot be written; no part of it is left.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    weights: dict[str, Tensor] = {}
    places: set[int] = set()
    for name, tensor in checkpoint_weights(language, merge).items():
        stored = tensor.detach().cpu().contiguous()
        weights[name] = stored.clone() if stored.data_ptr() in places else stored  # tied ones share their memory
        places.add(stored.data_ptr())
    unfinished = folder / "unfinished"
    try:
        save_file(weights, unfinished, metadata={"format": "pt"})
        unfinished.replace(folder / "model.safetensors")
    except (SafetensorError, OSError) as error:
        unfinished.unlink(missing_ok=True)
        raise OSError(f"{folder / 'model.safetensors'}: {error}") from error
