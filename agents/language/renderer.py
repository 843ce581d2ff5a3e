"""Renderers: conversion of observations to the token ids appended at each turn, and of sampled ids to actions.

A renderer only renders the *delta*: the tokens between the last sampled token and the next one. Sampled tokens are
never rendered again, even if a chat template would change them later. Text of the environment cannot forge special
tokens. `renderer_for` chooses by the tokenizer: one with the special tokens of the tiny model, one with a chat
template, or one with neither.
"""

from __future__ import annotations

import copy
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Protocol

from ...errors import InputError, shorten
from ..shots import FewShotPrompt
from .chat_options import complete_options
from .chat_template import ChatTemplate
from .tokenizer import ACTION, OBSERVATION

_SYSTEM_TEXTS = 64
"""Most renderers that one keeps for other system texts."""


class Renderer(Protocol):
    """Conversion between text and token ids, for one tokenizer.

    Attributes:
        stop_ids: ids that end an action.
        options: options of the chat template, if any.
        system: system text of every conversation, or None.
    """

    stop_ids: tuple[int, ...]
    options: Mapping[str, Any]
    system: str | None

    def observation(self, text: str, first: bool, stopped: bool = True) -> tuple[int, ...]:
        """Return the ids to append before an action.

        Args:
            text: the environment's observation.
            first: True at the start of a conversation.
            stopped: True if the previous action ended with a stop token, False if its token budget ran out.
        """
        ...

    def action(self, ids: Sequence[int]) -> str:
        """Return the text of sampled ids, without special tokens."""
        ...

    def action_ids(self, text: str) -> tuple[int, ...]:
        """Tokenize an action that was not sampled, such as an oracle's; the stop token is included."""
        ...

    def tokens_until(self, ids: Sequence[int], characters: int) -> int:
        """Return the smallest number of first tokens whose text has at least ``characters`` characters; the number of
        all tokens if their text is shorter."""
        ...

    def for_examples(self) -> Renderer:
        """Return the renderer for conversations that begin with worked examples (`FewShotPrompt`)."""
        ...

    def with_system(self, system: str) -> Renderer:
        """Return the renderer that differs in its system text alone."""
        ...


class _TokenizerRenderer:
    """Base of the three renderers.

    Args:
        tokenizer: a fast tokenizer of transformers.
        stop_ids: ids that end an answer, in addition to the tokenizer's end token; None entries are ignored.
        system: system prompt of every conversation, or None.

    Raises:
        InputError: no id ends an answer.
    """

    options: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, tokenizer: Any, stop_ids: Sequence[int | None], system: str | None):
        self.tokenizer = tokenizer
        self.system = system
        known = [i for i in dict.fromkeys((*stop_ids, tokenizer.eos_token_id)) if i is not None and i < len(tokenizer)]
        if not known:
            raise InputError("the tokenizer has no end token, so no answer would end; set its eos_token.")
        self.stop_ids = tuple(known)
        self._with_texts: dict[str, Any] = {}
        self._encode = lru_cache(maxsize=8192)(self._encode_text)
        self._special = {i for i, token in tokenizer.added_tokens_decoder.items() if token.special}
        # Some tokenizers add a space before every text, and some of these also after each special token, but none after
        # a newline.
        a, end = self._raw("a"), tokenizer.convert_ids_to_tokens(self.stop_ids[-1])
        self._anchor = self._raw("\n") if tokenizer.decode([*a, *self._raw("b")]) != "ab" else ()
        self._space_after_special = self._raw(f"{end}a", True)[-len(a) :] == a
        # The ids that the tokenizer puts before a text, such as a BOS token.
        text = "a1\n"
        bare, whole = self._raw(text), tuple(self.tokenizer(text, split_special_tokens=True).input_ids)
        places = range(len(whole) - len(bare) + 1)
        self._start = next((whole[:place] for place in places if whole[place : place + len(bare)] == bare), ())

    def _raw(self, text: str, special: bool = False) -> tuple[int, ...]:
        return tuple(self.tokenizer(text, add_special_tokens=False, split_special_tokens=not special).input_ids)

    def _encode_text(self, text: str, special: bool = False, start: bool = False) -> tuple[int, ...]:
        """Tokenize a part of a conversation.

        Args:
            special: True recognises special tokens written in the text.
            start: True encodes the text like the beginning of a separate text (some tokenizers add a space).
        """
        if self._anchor and text and not start:
            ids = self._raw("\n" + text, special)
            if ids[: len(self._anchor)] == self._anchor:
                return ids[len(self._anchor) :]
        return self._raw(text, special)

    def _after(self, before: Sequence[int], text: str, special: bool = False) -> tuple[int, ...]:
        """Tokenize a part of a conversation that follows the ids ``before``."""
        start = not before or (before[-1] in self._special and self._space_after_special)
        return self._encode(text, special, start)

    def action(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)

    def action_ids(self, text: str) -> tuple[int, ...]:
        return (*self._encode(text), self.stop_ids[0])

    def tokens_until(self, ids: Sequence[int], characters: int) -> int:
        # Binary search: the text of a longer prefix is never shorter, as replacement characters are counted, too.
        return min(len(ids), bisect_left(range(len(ids) + 1), characters, key=lambda n: len(self.action(ids[:n]))))

    def for_examples(self) -> Renderer:
        return self

    def with_system(self, system: str) -> Renderer:
        if system not in self._with_texts:
            if len(self._with_texts) == _SYSTEM_TEXTS:
                self._with_texts.clear()
            self._with_texts[system] = self._remake(system)
        return self._with_texts[system]

    def _remake(self, system: str) -> Renderer:
        """Make the renderer for another system text. Tokens of other texts do not depend on it."""
        other = copy.copy(self)
        other.system, other._with_texts = system, {}
        return other

    def observation(self, text: str, first: bool, stopped: bool = True) -> tuple[int, ...]:
        if not isinstance(text, FewShotPrompt):
            return self._observe(text, first, stopped)
        ids: tuple[int, ...] = ()
        for question, answer in text.examples:
            ids += self._observe(question, first, stopped) + self.action_ids(answer)
            first, stopped = False, True
        return ids + self._observe(text.question, first, stopped)

    def _observe(self, text: str, first: bool, stopped: bool) -> tuple[int, ...]:
        raise NotImplementedError

    def _prefixed(self, text: str, first: bool) -> str:
        """Return the observation, preceded by the system prompt at the start of a conversation."""
        return f"{self.system}\n{text}" if first and self.system else text


class MarkerRenderer(_TokenizerRenderer):
    """Renderer that writes ``<obs>text<act>`` before each action, for tokenizers with these two special tokens."""

    def __init__(self, tokenizer: Any, stop_ids: Sequence[int] = (), system: str | None = None):
        super().__init__(tokenizer, (tokenizer.eos_token_id, *stop_ids), system)
        self._open, self._close = tokenizer.convert_tokens_to_ids([OBSERVATION, ACTION])

    def _observe(self, text: str, first: bool, stopped: bool) -> tuple[int, ...]:
        start = self._start if first else ()
        return (*start, self._open, *self._encode(self._prefixed(text, first)), self._close)


class ChatRenderer(_TokenizerRenderer):
    """Renderer by the tokenizer's chat template; later turns continue the template after an assistant message.

    The text that the template writes around a message is found once, by rendering marker texts (see `ChatTemplate`),
    and tokenized with its special tokens; the environment's text is tokenized without recognising special tokens. If
    the template would rewrite earlier turns (drop their ``<think>`` part, strip their whitespace, begin answers
    differently from its generation prompt), the conversation keeps the sampled tokens; ``departures`` lists these
    differences.

    Args:
        options: further arguments of the template, such as ``{"enable_thinking": False}``; ``date`` is the date for
            templates that write one, by default today.

    Attributes:
        options: the arguments of the template, including the date.

    Raises:
        InputError: the template cannot be rendered turn by turn, does not accept a system prompt, or does not read an
            option.
    """

    def __init__(
        self,
        tokenizer: Any,
        stop_ids: Sequence[int] = (),
        system: str | None = None,
        options: Mapping[str, Any] | None = None,
    ):
        self.options: Mapping[str, Any] = complete_options(tokenizer, options or {})
        template = ChatTemplate.of(tokenizer, system is not None, self.options)
        super().__init__(tokenizer, (tokenizer.eos_token_id, *stop_ids), system)
        self.departures = template.departures
        self._strip = template.strip
        self._lead = template.lead
        before = self._after((), template.before_system, True)
        if system is not None:
            before += self._after(before, template.strip_system(system))
        before += self._after(before, template.before_user, True)
        self._first = before, self._encode(template.after_user, True)
        between = self._encode(template.between, True)
        end = self._end_of_turn(self._encode(template.after_last, True), between)
        place = between.index(end) + 1 if end is not None else 0
        # Ids that the policy must sample after its text: the template's text up to the end of the turn.
        self._closing = between[:place] if end is not None else (self.stop_ids[0],)
        if end is not None:
            self.stop_ids = (end, *(i for i in self.stop_ids if i != end))
        after = self._encode(template.after_later_user, True)
        self._later_stopped = between[place:], after
        self._later_cut = between, after

    def _end_of_turn(self, last: Sequence[int], between: Sequence[int]) -> int | None:
        """Return the special token that ends an assistant message; None if the template writes none.

        Args:
            last: ids that the template writes after a final assistant message.
            between: ids that the template writes between an assistant and a user message.
        """
        for ids, candidates in ((last, self._special), (between, set(self.stop_ids))):
            found = next((i for i in ids if i in candidates), None)
            if found is not None and found in between:
                return found
        return None

    def _observe(self, text: str, first: bool, stopped: bool) -> tuple[int, ...]:
        before, after = self._first if first else self._later_stopped if stopped else self._later_cut
        return (*before, *self._after(before, self._strip(text)), *after)

    def _remake(self, system: str) -> Renderer:
        return ChatRenderer(self.tokenizer, self.stop_ids, system, self.options)

    def action_ids(self, text: str) -> tuple[int, ...]:
        return (*self._after(self._first[1], self._lead + text), *self._closing)


class PlainRenderer(_TokenizerRenderer):
    """Renderer for a base model without a template, which writes ``text\\n`` before each action.

    A conversation begins with the ids that the tokenizer puts before a text, such as a BOS token. Worked examples are
    text before the question.

    Args:
        one_line: True ends an answer at any token with a newline, as a base model seldom writes its end token. For
            questions with worked examples whose answers are one line.
    """

    def __init__(
        self, tokenizer: Any, stop_ids: Sequence[int | None] = (), system: str | None = None, one_line: bool = False
    ):
        given = (tokenizer.eos_token_id, *stop_ids)
        self._lines: frozenset[int] = frozenset()
        super().__init__(tokenizer, given, system)
        self._given, self._one_line = given, one_line
        if one_line:
            texts = tokenizer.batch_decode([[i] for i in range(len(tokenizer))], clean_up_tokenization_spaces=False)
            newline = self._raw("\n")[-1]
            self._lines = frozenset(i for i, text in enumerate(texts) if "\n" in text) | {newline}
            self.stop_ids = tuple(dict.fromkeys((newline, *self.stop_ids, *sorted(self._lines))))

    def for_examples(self) -> Renderer:
        return self if self._one_line else PlainRenderer(self.tokenizer, self._given, self.system, one_line=True)

    def action(self, ids: Sequence[int]) -> str:
        text = super().action(ids)
        return text.rstrip("\n") if ids and ids[-1] in self._lines else text

    def observation(self, text: str, first: bool, stopped: bool = True) -> tuple[int, ...]:
        if isinstance(text, FewShotPrompt) and (long := [answer for _, answer in text.examples if "\n" in answer]):
            raise InputError(
                f"an answer of the worked examples has several lines ({shorten(long[0])!r}), so that a model without a "
                "chat template would not end its own; take a model with one, or leave --shots out."
            )
        return self._observe(text, first, stopped)

    def _observe(self, text: str, first: bool, stopped: bool) -> tuple[int, ...]:
        if not first:
            return self._encode("\n" + text + "\n")
        return (*self._start, *self._after((), self._prefixed(text, first) + "\n"))


def renderer_for(
    tokenizer: Any, stop_ids: Sequence[int] = (), system: str | None = None, options: Mapping[str, Any] | None = None
) -> Renderer:
    """Choose the renderer that suits a tokenizer.

    Args:
        stop_ids: ids that end an answer besides the tokenizer's end token, such as those in a generation config.
        system: system prompt of every conversation, or None.
        options: further arguments of a chat template; see `ChatRenderer`.

    Raises:
        InputError: the chat template cannot be rendered turn by turn, does not accept a system prompt, or does not read
            an option; or options are given and the tokenizer has no chat template.
    """
    known = tokenizer.get_vocab()
    marked = OBSERVATION in known and ACTION in known
    if getattr(tokenizer, "chat_template", None) and not marked:
        return ChatRenderer(tokenizer, stop_ids, system, options)
    if options:
        raise InputError(
            f"the model has no chat template, which the option {next(iter(options))!r} would be for; leave it out."
        )
    return (MarkerRenderer if marked else PlainRenderer)(tokenizer, stop_ids, system)
