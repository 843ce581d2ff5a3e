"""Tokenizers of the tiny model: a fixed one with an id for each printable ASCII character, the newline and five special
tokens; and one learned from texts.

Both are ordinary fast tokenizers of transformers, so a model saved with one loads like any other.
"""

from __future__ import annotations

import string
from collections.abc import Iterable
from typing import Any

from ...errors import InputError

PAD, UNKNOWN, OBSERVATION, ACTION, END = "<pad>", "<unk>", "<obs>", "<act>", "<end>"
SPECIAL = (PAD, UNKNOWN, OBSERVATION, ACTION, END)
FEWEST_TOKENS = len(SPECIAL) + 256
_TEMPLATE = (
    "{% for message in messages %}{% if message.role == 'assistant' %}{{ message.content }}{{ eos_token }}"
    "{% else %}" + OBSERVATION + "{{ message.content }}" + ACTION + "{% endif %}{% endfor %}"
)
"""Chat template that writes a conversation like `renderer.MarkerRenderer`, for other trainers and servers."""
CHARACTERS = tuple(sorted(set(string.printable) - set("\t\r\x0b\x0c")))


def character_tokenizer() -> Any:
    """Make the character tokenizer of the tiny model.

    Returns:
        transformers.PreTrainedTokenizerFast with 5 special tokens, 95 printable characters and the newline; any other
        character becomes ``<unk>``.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    vocabulary = {token: index for index, token in enumerate((*SPECIAL, *CHARACTERS))}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    core.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), behavior="isolated")  # type: ignore[assignment]
    core.decoder = decoders.Fuse()  # type: ignore[assignment]
    return _wrap(core)


def learned_tokenizer(texts: Iterable[str], size: int) -> Any:
    """Learn byte-pair encoding (Sennrich et al., arXiv 1508.07909) from texts.

    The pre-tokenizer splits text into words with a space after them, single digits, and runs of anything else; no token
    crosses the border of such a piece. A name therefore has the same tokens in a sentence and in quotation marks, and
    can be copied token by token; with the usual space before words, a name's first word would have different tokens.
    Bytes are the smallest tokens, so every text is encoded without loss.

    Args:
        size: number of tokens, at least `FEWEST_TOKENS`; the result has fewer if the texts have too few pairs.

    Returns:
        transformers.PreTrainedTokenizerFast with the special tokens of the character tokenizer.

    Raises:
        InputError: ``size`` is below `FEWEST_TOKENS`.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    if size < FEWEST_TOKENS:
        raise InputError(f"a learned vocabulary has at least {FEWEST_TOKENS} tokens, not {size}.")
    core = Tokenizer(models.BPE(unk_token=None))
    core.pre_tokenizer = pre_tokenizers.Sequence(  # type: ignore[assignment]
        [
            pre_tokenizers.Split(Regex(r"\p{L}+ ?|\p{N}|[^\p{L}\p{N}]+"), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    core.decoder = decoders.ByteLevel()  # type: ignore[assignment]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=list(SPECIAL), initial_alphabet=alphabet, show_progress=False
    )
    core.train_from_iterator(texts, trainer)
    return _wrap(core)


def _wrap(core: Any) -> Any:
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token=PAD,
        unk_token=UNKNOWN,
        eos_token=END,
        additional_special_tokens=[OBSERVATION, ACTION],
        clean_up_tokenization_spaces=False,
        chat_template=_TEMPLATE,
    )
