"""A character tokenizer made in code: one id for each printable ASCII character, the newline, and five special tokens.

It is an ordinary fast tokenizer of transformers, so a model saved with it loads like any other.
"""

from __future__ import annotations

import string
from typing import Any

PAD, UNKNOWN, OBSERVATION, ACTION, END = "<pad>", "<unk>", "<obs>", "<act>", "<end>"
SPECIAL = (PAD, UNKNOWN, OBSERVATION, ACTION, END)
CHARACTERS = tuple(sorted(set(string.printable) - set("\t\r\x0b\x0c")))


def character_tokenizer() -> Any:
    """Make the tokenizer of the tiny model; any other character becomes ``<unk>``.

    Returns:
        transformers.PreTrainedTokenizerFast with 5 special tokens, 95 printable characters and the newline.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {token: index for index, token in enumerate((*SPECIAL, *CHARACTERS))}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    core.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), behavior="isolated")  # type: ignore[assignment]
    core.decoder = decoders.Fuse()  # type: ignore[assignment]
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token=PAD,
        unk_token=UNKNOWN,
        eos_token=END,
        additional_special_tokens=[OBSERVATION, ACTION],
        clean_up_tokenization_spaces=False,
    )
