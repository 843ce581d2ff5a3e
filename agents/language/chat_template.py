"""Analysis of a chat template: the text that it writes around messages, found by rendering marker texts.

The result (`ChatTemplate`) has the texts between the messages of a conversation, and the changes that the template
makes to earlier turns. A template that does not render a conversation as a concatenation of turns (because it numbers
turns, moves the system prompt, or leaves messages out) is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import InputError
from .chat_options import DATE, asks_for_date, template_of, with_date

_SYSTEM, _THOUGHT = "\u241asystem\u241a", "\u241athought\u241a"
_USERS = ("\u241auser-a\u241a", "\u241auser-b\u241a", "\u241auser-c\u241a")
_ANSWERS = ("\u241aanswer-a\u241a", "\u241aanswer-b\u241a")
_SPACE = " \n"
_STRIPS: tuple[Callable[[str], str], ...] = (str, str.strip, str.lstrip, str.rstrip)


@dataclass(frozen=True)
class ChatTemplate:
    """Texts that a chat template writes around the messages of a conversation.

    Attributes:
        before_system: text before the system message; "" without one.
        before_user: text before the first user message, after the system message if there is one.
        after_user: text from the first user message to the point where the model begins to write.
        lead: text that the model must write before its answer, such as a space.
        between: text from an answer to the next user message, including the text that ends the answer.
        after_later_user: like ``after_user``, in later turns.
        after_last: text after an answer that ends the conversation.
        strip, strip_system: functions that strip user and system messages as the template does.
        departures: descriptions of changes that the template makes to earlier turns; a sampled conversation is
            continued without these changes.
    """

    before_system: str
    before_user: str
    after_user: str
    lead: str
    between: str
    after_later_user: str
    after_last: str
    strip: Callable[[str], str]
    strip_system: Callable[[str], str]
    departures: tuple[str, ...]

    @classmethod
    def of(cls, tokenizer: Any, system: bool, options: Mapping[str, Any]) -> ChatTemplate:
        """Analyse a tokenizer's template.

        Args:
            system: True if conversations begin with a system message.
            options: further arguments of the template; see `chat_options.complete_options`.

        Raises:
            InputError: the template cannot be rendered turn by turn, or has no place for a system message.
        """
        render = _TemplateRenderer(tokenizer, system, options)
        first = render.prompt(_USERS[0])
        if system and first.count(_SYSTEM) != 1:
            raise InputError(
                f"the chat template shows a system message {first.count(_SYSTEM)} times; leave the system prompt out."
            )
        before, after_user = _cut(first, _USERS[0])
        before_system, before_user = _cut(before, _SYSTEM) if system else ("", before)
        closed = render.ended(_USERS[0], _ANSWERS[0])
        opening, after_last = _cut(closed, _ANSWERS[0])
        later = render.prompt(_USERS[0], _ANSWERS[0], _USERS[1])
        rest = _cut(later, _ANSWERS[0])[1]
        between, after_later_user = _cut(rest, _USERS[1])
        _check_turns(render, later, between, after_later_user)
        departures = []
        if not opening.startswith(first):
            departures.append("opens an answer in the history otherwise than its generation prompt")
        if not later.startswith(opening):
            departures.append("opens the last answer otherwise than earlier ones")
        spaced = render.prompt(_USERS[0], _SPACE + _ANSWERS[0] + _SPACE, _USERS[1])
        if _SPACE + _ANSWERS[0] + _SPACE not in spaced:
            departures.append("strips whitespace around answers")
        thought = f"<think>{_THOUGHT}</think>{_ANSWERS[0]}"
        if thought not in render.prompt(_USERS[0], thought, _USERS[1]):
            departures.append("rewrites or drops the <think> part of earlier answers")
        return cls(
            before_system,
            before_user,
            after_user,
            opening.removeprefix(first) if opening.startswith(first) else "",
            between,
            after_later_user,
            after_last,
            _find_strip(first, _USERS[0], render.prompt(_SPACE + _USERS[0] + _SPACE)),
            _find_strip(first, _SYSTEM, render.prompt_with_spaced_system()) if system else str,
            tuple(departures),
        )


class _TemplateRenderer:
    """Renderer of a template for alternating user and assistant texts, with a marker as system message."""

    def __init__(self, tokenizer: Any, system: bool, options: Mapping[str, Any]):
        self._tokenizer, self._template, self._options = tokenizer, template_of(tokenizer), dict(options)
        if DATE in options and asks_for_date(self._template):
            self._template = with_date(self._template, options[DATE])
        self._system = _SYSTEM if system else None

    def prompt(self, *texts: str) -> str:
        """Render the conversation up to the point where the model begins to write."""
        return self._apply(self._system, texts, True)

    def ended(self, *texts: str) -> str:
        """Render a conversation that ends with an answer."""
        return self._apply(self._system, texts, False)

    def prompt_with_spaced_system(self) -> str:
        """Render the first prompt with whitespace around the system message."""
        return self._apply(_SPACE + _SYSTEM + _SPACE, _USERS[:1], True)

    def _apply(self, system: str | None, texts: tuple[str, ...], prompt: bool) -> str:
        from jinja2.exceptions import TemplateError

        messages = [] if system is None else [{"role": "system", "content": system}]
        for index, text in enumerate(texts):
            messages.append({"role": "assistant" if index % 2 else "user", "content": text})
        try:
            return self._tokenizer.apply_chat_template(
                messages, chat_template=self._template, tokenize=False, add_generation_prompt=prompt, **self._options
            )
        except TemplateError as error:
            remedy = "leave the system prompt out" if system else "set another chat_template"
            raise InputError(
                f"the chat template refuses a conversation of {', '.join(m['role'] for m in messages)} ({error}); "
                f"{remedy}."
            ) from error


def _cut(text: str, marker: str) -> tuple[str, str]:
    """Split a text at the marker of a message, which must occur exactly once (else InputError)."""
    if text.count(marker) != 1:
        role = marker.strip("\u241a").partition("-")[0]
        raise InputError(
            f"the chat template shows one {role} message {text.count(marker)} times, so it cannot be rendered turn by "
            "turn; set another chat_template."
        )
    before, after = text.split(marker)
    return before, after


def _check_turns(render: _TemplateRenderer, later: str, between: str, after: str) -> None:
    """Raise InputError unless the third turn is written like the second, and the system message stays in place."""
    longer = render.prompt(_USERS[0], _ANSWERS[0], _USERS[1], _ANSWERS[1], _USERS[2])
    history, rest = _cut(longer, _ANSWERS[1])
    opening = _cut(_cut(later, _ANSWERS[0])[0], _USERS[0])[1]
    second = _cut(_cut(history, _ANSWERS[0])[1], _USERS[1])
    if _cut(rest, _USERS[2]) != (between, after) or second != (between, opening) or _SYSTEM in between:
        raise InputError(
            "the chat template does not write every turn alike (it counts turns, or moves a message along), so a "
            "conversation cannot be continued without being rewritten; set another chat_template, or leave the system "
            "prompt out."
        )


def _find_strip(plain: str, marker: str, spaced: str) -> Callable[[str], str]:
    """Return the function that strips whitespace around a message as the template does."""
    for strip in _STRIPS:
        if spaced == plain.replace(marker, strip(_SPACE + marker + _SPACE)):
            return strip
    raise InputError("the chat template rewrites the text of messages; set another chat_template.")
