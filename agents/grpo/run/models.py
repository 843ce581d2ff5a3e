"""Loading of a run's models: the policy, and the model that it is distilled from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch

from ....errors import InputError
from ...language.language_agent import load_model
from ...language.model import LanguageModel
from ...language.precision import cast_weights
from ...language.tokenizer import learned_tokenizer
from ..config import TrainConfig
from .folder import checkpoint_errors


def load_policy(config: TrainConfig, checkpoint: Path | None = None, texts: Iterable[str] = ()) -> LanguageModel:
    """Load the policy from a checkpoint of this run, or else as configured.

    The tiny model learns its vocabulary from ``texts``, and has no adapters yet, as its warm-up must train all weights:
    see `add_missing_adapters`.

    Raises:
        InputError: the model or the checkpoint cannot be read.
        BaseModelError: the checkpoint has adapters, and their base model is missing or a different one.
    """
    if checkpoint is not None:
        with checkpoint_errors(checkpoint):
            language = LanguageModel.load(checkpoint, config.dtype, config.system, config.chat_options)
        language = language.to(config.device)
        language = language.for_examples() if config.shots else language
        if config.model == "tiny":
            # Checkpoints of adapters include their base model unless it has a path. The checkpoint's path will not do:
            # it is deleted when newer checkpoints are saved.
            language.model.config.name_or_path = ""
        return language
    if config.model == "tiny":
        tokenizer = learned_tokenizer(texts, config.vocabulary) if config.vocabulary else None
        language = LanguageModel.tiny(config.seed, tokenizer)
        cast_weights(language.model, getattr(torch, config.dtype))
    else:
        language = load_model(config.model, config.dtype, config.system, chat_options=config.chat_options)
        if config.lora:
            language = language.with_lora(config.lora, alpha=2.0 * config.lora, seed=config.seed)
    language = language.for_examples() if config.shots else language
    return language.to(config.device)


def add_missing_adapters(config: TrainConfig, language: LanguageModel) -> LanguageModel:
    """Add the configured adapters to the policy if it has none yet."""
    if not config.lora or language.adapters is not None:
        return language
    return language.with_lora(config.lora, alpha=2.0 * config.lora, seed=config.seed).to(config.device)


def load_teacher(config: TrainConfig, language: LanguageModel) -> LanguageModel:
    """Load the model to distil from, with frozen weights.

    Raises:
        InputError: the vocabularies of model and policy differ, so that tokens cannot be compared.
    """
    assert config.teacher_model is not None
    teacher = load_model(config.teacher_model, config.dtype, config.system)
    if teacher.tokenizer.get_vocab() != language.tokenizer.get_vocab():
        raise InputError(
            f"the teacher model {config.teacher_model!r} has another vocabulary than the policy; take one of the same "
            "family, as distillation compares token by token."
        )
    teacher.to(config.device).model.eval().requires_grad_(False)
    return teacher
