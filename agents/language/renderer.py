"""Between text and token ids: what is appended to a conversation at each turn, and what an action says.

A renderer only ever renders the *delta*: the tokens that stand between the last sampled token and the next one. Text of
the environment cannot forge special tokens. `renderer_for` picks by what the tokenizer has: the special tokens of the
character model, a chat template, or neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

from .tokenizer import ACTION, OBSERVATION


class Renderer(Protocol):
    """Text to ids, for one tokenizer."""

    stop_ids: tuple[int, ...]

    def observation(self, text: str, first: bool, stopped: bool = True) -> tuple[int, ...]:
        """Ids to append before an action.

        Args:
            text: what the environment says.
            first: True at the start of an episode.
            stopped: whether the action before ended with a stop token (False where its token budget ran out).
        """
        ...

    def action(self, ids: Sequence[int]) -> str:
        """The text of sampled ids, without special tokens."""
        ...

    def action_ids(self, text: str) -> tuple[int, ...]:
        """Ids of an action written by somebody else (an oracle), stop token included."""
        ...


class _Rendering:
    """What the three renderers share."""

    def __init__(self, tokenizer: Any, stop_ids: tuple[int, ...]):
        self.tokenizer = tokenizer
        self.stop_ids = stop_ids
        self._encode = lru_cache(maxsize=8192)(self._encode_text)

    def _encode_text(self, text: str) -> tuple[int, ...]:
        return tuple(self.tokenizer(text, add_special_tokens=False, split_special_tokens=True).input_ids)

    def action(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(list(ids), skip_special_tokens=True)

    def action_ids(self, text: str) -> tuple[int, ...]:
        return (*self._encode(text), self.stop_ids[0])


class MarkerRenderer(_Rendering):
    """``<obs>text<act>`` before each action, for tokenizers that have these two special tokens."""

    def __init__(self, tokenizer: Any):
        super().__init__(tokenizer, (tokenizer.eos_token_id,))
        self._open, self._close = tokenizer.convert_tokens_to_ids([OBSERVATION, ACTION])

    def observation(self, text: str, first: bool, stopped: bool = True) -> tuple[int, ...]:
        return (self._open, *self._encode(text), self._close)


class ChatRenderer(_Rendering):
    """The tokenizer's own chat template; later turns are the template's continuation after an assistant message.

    The scaffold around a message is found once, by rendering marker texts, and encoded with its special tokens; the
    environment's text between them is encoded without.
    """

    _USER, _ASSISTANT = "\u241auser\u241a", "\u241aassistant\u241a"

    def __init__(self, tokenizer: Any):
        super().__init__(tokenizer, (tokenizer.eos_token_id,))
        user = {"role": "user", "content": self._USER}
        assistant = {"role": "assistant", "content": self._ASSISTANT}
        first = tokenizer.apply_chat_template([user], tokenize=False, add_generation_prompt=True)
        later = tokenizer.apply_chat_template([user, assistant, user], tokenize=False, add_generation_prompt=True)
        after = later.split(self._ASSISTANT, 1)[1]
        self._first = self._split(first)
        end = tokenizer.eos_token
        self._later_stopped = self._split(after[len(end) :] if after.startswith(end) else after)
        self._later_cut = self._split(after)

    def _split(self, text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        before, after = text.split(self._USER, 1)
        scaffold = [self.tokenizer(part, add_special_tokens=False).input_ids for part in (before, after)]
        return tuple(scaffold[0]), tuple(scaffold[1])

    def observation(self, text: str, first: bool, stopped: bool = True) -> tuple[int, ...]:
        before, after = self._first if first else self._later_stopped if stopped else self._later_cut
        return (*before, *self._encode(text), *after)


class PlainRenderer(_Rendering):
    """Text and newlines only, for a base model without a template: ``text\\n`` before each action."""

    def __init__(self, tokenizer: Any):
        super().__init__(tokenizer, (tokenizer.eos_token_id,))

    def observation(self, text: str, first: bool, stopped: bool = True) -> tuple[int, ...]:
        return self._encode(text + "\n") if first else self._encode("\n" + text + "\n")


def renderer_for(tokenizer: Any) -> Renderer:
    """The renderer that suits a tokenizer."""
    known = tokenizer.get_vocab()
    if OBSERVATION in known and ACTION in known:
        return MarkerRenderer(tokenizer)
    if getattr(tokenizer, "chat_template", None):
        return ChatRenderer(tokenizer)
    return PlainRenderer(tokenizer)
