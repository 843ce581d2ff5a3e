"""Check that a model's embedding has a row for every token that can occur in a conversation.

A tokenizer may have special tokens without a row: text is tokenized without them, and the model cannot sample them.
Conversely, rows of the embedding without a token are never sampled.
"""

from __future__ import annotations

from typing import Any

from ...errors import InputError
from .head import head_of
from .renderer import Renderer


def check_vocabulary(model: Any, tokenizer: Any, renderer: Renderer) -> None:
    """Raise InputError if a text, or the text that the renderer writes around it, can contain a token without a row in
    the model's embedding."""
    rows = min(model.get_input_embeddings().weight.shape[0], head_of(model).weight.shape[0])
    beyond = {index: token for token, index in tokenizer.get_vocab().items() if index >= rows}
    if not beyond:
        return
    special = {index for index, token in tokenizer.added_tokens_decoder.items() if token.special}
    written = {*renderer.observation("a", first=True), *renderer.action_ids("a")}
    written |= {index for stopped in (True, False) for index in renderer.observation("a", first=False, stopped=stopped)}
    if found := sorted(beyond.keys() & (written | beyond.keys() - special)):
        raise InputError(
            f"the tokenizer's token {beyond[found[0]]!r} has the id {found[0]}, but the model's embedding has {rows} "
            "rows; load a tokenizer without it, or enlarge the embedding by resize_token_embeddings and save the model."
        )
