"""Language model with weights, tokenizer and renderer, loaded from a folder or the hub and saved to a folder."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch

from ...envs.datasets.hub_access import find_model_files
from ...errors import BaseModelError, InputError, needs_extra
from ..engines.torch_engine import TorchEngine
from .adapters import (
    ADAPTER_CONFIG,
    BaseOnly,
    add_adapters,
    check_fingerprint,
    fingerprint,
    load_adapters,
    save_fingerprint,
)
from .decoder import check_architecture, check_model
from .model_cache import find_model
from .renderer import Renderer, renderer_for
from .vocabulary import check_vocabulary

DTYPES = ("float32", "bfloat16")
_BASE = "base"
"""Subfolder of saved adapters with their base model, if the base model has no path or hub id to load it from."""


def resolve_device(device: str) -> str:
    """Return ``device``; for "auto", "cuda" if a GPU is available, else "cpu"."""
    if device != "auto":
        return device
    return "cuda" if torch.cuda.is_available() else "cpu"


@contextmanager
def _quiet() -> Iterator[None]:
    """Turn off transformers' progress bars within the context, as they would break the bars of this package."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """Transformers causal language model with its tokenizer and renderer.

    Attributes:
        model: a transformers causal language model that `agents.language.decoder.check_model` accepts.
        tokenizer: the model's fast tokenizer.
        renderer: conversion of text to ids and back.
        adapters: the ``PeftModel`` around ``model`` if the model has low-rank adapters, which are then the only trained
            weights; else None.
        base: fingerprint of the base model below the adapters, if that model has a path or hub id; else None.
    """

    model: Any
    tokenizer: Any
    renderer: Renderer
    adapters: Any = None
    base: Mapping[str, str] | None = None

    @classmethod
    def of(
        cls, model: Any, tokenizer: Any, system: str | None = None, chat_options: Mapping[str, Any] | None = None
    ) -> LanguageModel:
        """Wrap a model and tokenizer that are already in memory.

        Args:
            system: system prompt of every conversation; None: the chat template's default.
            chat_options: further arguments of the chat template, such as ``{"enable_thinking": False}``; see
                `agents.language.renderer.ChatRenderer`.

        Raises:
            InputError: the model or its chat template is not supported, or the template does not read an option.
        """
        check_model(model)
        # A generation config may name several ids that end an answer.
        ids = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
        stop_ids = [] if ids is None else [ids] if isinstance(ids, int) else list(ids)
        renderer = renderer_for(tokenizer, stop_ids, system, chat_options)
        check_vocabulary(model, tokenizer, renderer)
        return cls(model, tokenizer, renderer)

    @classmethod
    def tiny(cls, seed: int, tokenizer: Any = None) -> LanguageModel:
        """Make the built-in tiny model, randomly initialised; ``tokenizer`` None: the character tokenizer."""
        from .tiny import tiny_model

        return cls.of(*tiny_model(seed, tokenizer=tokenizer))

    @classmethod
    def load(
        cls,
        source: str | Path,
        dtype: Literal["float32", "bfloat16"] = "float32",
        system: str | None = None,
        chat_options: Mapping[str, Any] | None = None,
    ) -> LanguageModel:
        """Load a model from a folder, a GGUF file, a hub id, or a name in ``palaestra list models``.

        A folder of adapters is loaded together with the base model.

        Args:
            source: the folder, file, id or name. GGUF files are converted on first use and cached (see
                `agents.language.model_cache`).
            dtype: dtype of the weights; adapters are always float32. bfloat16 weights must be trained with
                `agents.grpo.optimizers.make_optimizer`, as otherwise small steps are lost to rounding.
            system: system prompt of every conversation; None: the chat template's default.
            chat_options: see `of`.

        Raises:
            InputError: there is no such model, or its architecture is not supported.
            BaseModelError: the base model of adapters is missing, or its weights have changed.
        """
        if dtype not in DTYPES:
            raise InputError(f"dtype must be one of {', '.join(DTYPES)}, got {dtype!r}.")
        if (Path(source) / ADAPTER_CONFIG).is_file():
            place = _find_base(Path(source))
            try:
                bare = cls.load(place, dtype, system, chat_options)
            except InputError as error:
                if place == Path(source) / _BASE:
                    raise
                raise BaseModelError(
                    f"the adapters in {str(source)!r} need the model that they were trained on: {error}"
                ) from error
            adapted = bare.with_adapters(source)
            if adapted.base is not None:
                check_fingerprint(Path(source), place, adapted.base)
            return adapted
        with needs_extra("a language model", "train"):
            from transformers import AutoModelForCausalLM, AutoTokenizer
        place = find_model(source)
        _, local = _read_config(place)
        try:
            with _quiet():
                tokenizer = AutoTokenizer.from_pretrained(place, **local)
                model = AutoModelForCausalLM.from_pretrained(place, dtype=dtype, **local)
        except (OSError, ValueError) as error:
            raise InputError(
                f"{str(source)!r} has a config.json but its tokenizer or weights cannot be read: {error}"
            ) from error
        if Path(source).is_dir():
            # Adapters are saved with the place of their model, which other working directories must find.
            model.config.name_or_path = str(Path(source).absolute())
        for name in ("is_local", "local_files_only"):
            # These loading options would be saved with the tokenizer.
            tokenizer.init_kwargs.pop(name, None)
        with torch.no_grad():
            for weight in model.parameters():
                # Weights read from a file may not be aligned in memory, which changes the rounding of matrix products:
                # a resumed run would drift from an uninterrupted one.
                weight.data = weight.data.clone()
        if place != source:
            # Saved adapters name their base model by this; the path in the cache would be specific to this machine.
            path = Path(source).expanduser()
            model.name_or_path = model.config.name_or_path = str(path.resolve() if path.is_file() else source)
        return cls.of(model.eval(), tokenizer, system, chat_options)

    def for_examples(self) -> LanguageModel:
        """Return the same model with the renderer for prompts with worked examples; see `renderer.PlainRenderer`."""
        return replace(self, renderer=self.renderer.for_examples())

    def to(self, device: str) -> LanguageModel:
        """Move the weights to a device, in place, and return this object; "auto" is a GPU if available.

        Raises:
            InputError: the device is unknown or not available.
        """
        try:
            self.model.to(resolve_device(device))
        except (RuntimeError, AssertionError) as error:  # torch without CUDA fails an assertion
            raise InputError(f"the device {device!r} cannot be used here ({error}); take 'auto' or 'cpu'.") from error
        return self

    def with_lora(
        self,
        rank: int = 16,
        alpha: float = 32.0,
        targets: str | Sequence[str] = "all-linear",
        dropout: float = 0.0,
        seed: int = 0,
    ) -> LanguageModel:
        """Insert new low-rank adapters, which alone are trained, into the model, in place; return the adapted model.

        The arguments are those of `agents.language.adapters.add_adapters`.

        Raises:
            InputError: the model already has adapters, or the settings cannot be used.
        """
        self._refuse_adapters()
        base = self._take_fingerprint()
        return replace(self, base=base, adapters=add_adapters(self.model, rank, alpha, targets, dropout, seed))

    def with_adapters(self, folder: str | Path) -> LanguageModel:
        """Insert the adapters saved in ``folder`` into the model, in place, and return the adapted model.

        Raises:
            InputError: the model has adapters already, or the adapters in the folder do not fit.
        """
        self._refuse_adapters()
        base = self._take_fingerprint()
        return replace(self, base=base, adapters=load_adapters(self.model, folder))

    def _take_fingerprint(self) -> Mapping[str, str] | None:
        """Return the fingerprint of the base model; None if it has no path and is saved together with its adapters."""
        return fingerprint(self.model) if self.model.config.name_or_path else None

    def _refuse_adapters(self) -> None:
        if self.adapters is not None:
            raise InputError("the model has adapters already; save it with merge=True and load that first.")

    def save(self, folder: Path, merge: bool = False) -> None:
        """Write configuration, weights (safetensors) and tokenizer to ``folder``.

        For a model with adapters, the weights are only the adapters (and the base model if it has no path).

        Args:
            merge: True merges the adapters into the weights, and writes a whole model that needs no peft.
        """
        with _quiet():
            if self.adapters is None:
                self.model.save_pretrained(folder)
            elif merge:
                copy.deepcopy(self.adapters).merge_and_unload().save_pretrained(folder)
            else:
                if self.model.config.name_or_path:
                    for config in self.adapters.peft_config.values():
                        config.base_model_name_or_path = self.model.config.name_or_path
                # With the default "auto", peft would query the hub about the embeddings.
                self.adapters.save_pretrained(folder, selected_adapters=["default"], save_embedding_layers=False)
                if self.base is not None:
                    save_fingerprint(Path(folder), self.base)
                if not self.model.config.name_or_path:
                    copy.deepcopy(self.adapters).unload().save_pretrained(Path(folder) / _BASE)
                    self.tokenizer.save_pretrained(Path(folder) / _BASE)
            self.tokenizer.save_pretrained(folder)

    def copy(self) -> LanguageModel:
        """Return a model with a frozen copy of the weights, adapters included, and the same tokenizer and renderer."""
        model = copy.deepcopy(self.model).eval().requires_grad_(False)
        return LanguageModel(model, self.tokenizer, self.renderer)

    def reference(self) -> LanguageModel:
        """Return a reference policy: the model without its adapters, if it has some, else a frozen copy. The model
        without adapters never changes during training, so no weight is copied."""
        if self.adapters is None:
            return self.copy()
        return LanguageModel(BaseOnly(self.model, self.adapters), self.tokenizer, self.renderer)

    def engine(self, slots: int = 128, max_length: int = 4096, fp32_head: bool = False) -> TorchEngine:
        """Return a sampling engine that reads the weights, adapters included, in place."""
        return TorchEngine.serve(self, slots, max_length, fp32_head)

    @property
    def parameters(self) -> int:
        """Number of weights."""
        return sum(weight.numel() for weight in self.model.parameters())


def _read_config(source: str | Path) -> tuple[Any, Mapping[str, bool]]:
    """Return a model's configuration, and the loading options from `find_model_files`. Raises InputError if there is no
    configuration, or the architecture is not supported."""
    with needs_extra("a language model", "train"):
        from transformers import AutoConfig
    local = find_model_files(source)
    try:
        config = AutoConfig.from_pretrained(source, **local)
    except (OSError, ValueError) as error:
        where = (
            "a folder without a model"
            if Path(source).is_dir()
            else "neither a model folder nor a hub id that can be read"
        )
        raise InputError(
            f"{str(source)!r} is {where}; give a folder with config.json, tokenizer and safetensors weights, "
            "a name of palaestra list models, or a hub id."
        ) from error
    check_architecture(config)
    return config, local


def outline(source: str | Path) -> Any:
    """Return the transformers model of a source for `LanguageModel.load` on the device "meta", without weights.

    Raises:
        InputError: there is no such model, or its architecture is not supported.
    """
    if (Path(source) / ADAPTER_CONFIG).is_file():
        source = _find_base(Path(source))
    config, _ = _read_config(find_model(source))
    from transformers import AutoModelForCausalLM

    try:
        with torch.device("meta"):
            return AutoModelForCausalLM.from_config(config)
    except ValueError as error:
        raise InputError(f"{str(source)!r} is no causal language model ({error}); give another one.") from error


def _find_base(folder: Path) -> str | Path:
    """Return the folder or hub id of the base model of the adapters in ``folder``.

    Raises:
        BaseModelError: the folder of the base model no longer exists.
    """
    if (folder / _BASE).is_dir():
        return folder / _BASE
    base = json.loads((folder / ADAPTER_CONFIG).read_text()).get("base_model_name_or_path")
    if not base:
        raise InputError(f"the adapters in {str(folder)!r} do not tell their model; load it and use with_adapters.")
    if Path(base).is_absolute() and not Path(base).is_dir():
        raise BaseModelError(
            f"the model {base!r}, which the adapters in {str(folder)!r} were trained on, is no longer there; put it "
            f"back, or write its new place into {ADAPTER_CONFIG} there."
        )
    return base
