"""Encoder of reward models: the hidden state of a language model's last token. Needs torch and transformers.

Importing this module makes `RewardModel.load` read files of models with this encoder; learners import it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ...checks import check_count
from ...rewards.models.reward_model import ENCODERS


@ENCODERS.register("language")
class LanguageEncoder(nn.Module):
    """Hidden state of a language model after the last token of a text, the input of a reward model's head.

    A text is read without special tokens, so that none written in a response is recognised.

    Args:
        body: a transformers model without its head, such as ``Qwen3Model``.
        tokenizer: a ``tokenizers.Tokenizer``, which is copied.
        context: most tokens that are read, the last ones of a longer text.
        frozen: True to train the head alone.
    """

    def __init__(self, body: nn.Module, tokenizer: Any, context: int = 512, frozen: bool = False):
        super().__init__()
        self.body: Any = body.requires_grad_(not frozen)
        self.frozen, self.context = frozen, check_count("context", context, 1, "tokens")
        self.dim: int = self.body.config.hidden_size
        self._tokenizer = type(tokenizer).from_str(tokenizer.to_str())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True

    def encode(self, texts: Sequence[str]) -> Tensor:
        """Encode texts as [n, dim], float32."""
        plain = [text.encode("utf-8", "replace").decode() for text in texts]
        rows = [
            row.ids[-self.context :] or [0] for row in self._tokenizer.encode_batch(plain, add_special_tokens=False)
        ]
        lengths = torch.tensor([len(row) for row in rows])
        ids = torch.zeros(len(rows), int(lengths.max()), dtype=torch.long)
        for place, row in zip(ids, rows):
            place[: len(row)] = torch.tensor(row)
        device = next(self.body.parameters()).device
        # A causal model does not look at what follows, so padding at the end needs no mask.
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.frozen):
            states = self.body(input_ids=ids.to(device), use_cache=False).last_hidden_state
        return states[torch.arange(len(rows), device=device), lengths.to(device) - 1].float()

    def settings(self) -> dict[str, Any]:
        """Return what `from_settings` needs, JSON-able: configuration of the model, tokenizer, context."""
        config = json.loads(self.body.config.to_json_string(use_diff=False))
        return {
            "config": config,
            "tokenizer": self._tokenizer.to_str(),
            "context": self.context,
            "frozen": self.frozen,
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> LanguageEncoder:
        """Make an encoder with random weights from the result of `settings`."""
        from tokenizers import Tokenizer
        from transformers import AutoConfig, AutoModel

        config = AutoConfig.for_model(**settings["config"])
        tokenizer = Tokenizer.from_str(settings["tokenizer"])
        return cls(AutoModel.from_config(config).float(), tokenizer, settings["context"], settings["frozen"])
