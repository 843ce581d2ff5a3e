"""Reply of a chat or completions endpoint: text, thoughts, tool calls and token counts, parsed from the JSON body."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from ...errors import shorten
from ..usage import TokenUsage

REASONING_FIELDS = ("reasoning_content", "reasoning")
"""Fields in which servers return thoughts: DeepSeek, vLLM and llama.cpp the first; OpenRouter, Groq and newer vLLM the
second."""


class MalformedReply(ValueError):
    """Error for a body that is not a valid reply of an endpoint; the message names the defect."""


@dataclass(frozen=True)
class ToolCall:
    """Tool call as the model wrote it; ``arguments`` is unchecked text, which should be a JSON object."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class ChatReply:
    """Reply of an endpoint.

    Attributes:
        text: text of the answer; "" for a reply with only thoughts or calls.
        reasoning, reasoning_field: thoughts that came in a separate field, and the field's name; "" for none.
        calls: tool calls, in order.
        finish: the endpoint's finish reason: "stop", "length", "tool_calls", ...
        counts: number of tokens in the prompt, in the completion, and in the completion's thoughts; None if the server
            gives no counts.
        cached: True if the reply came from a cache.
    """

    text: str
    reasoning: str = ""
    reasoning_field: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish: str = ""
    counts: tuple[int, int, int] | None = None
    cached: bool = False

    def message(self, resend_reasoning: bool = False) -> dict[str, Any]:
        """Return the reply as a message of the conversation."""
        message: dict[str, Any] = {"role": "assistant", "content": self.text}
        if resend_reasoning and self.reasoning:
            message[self.reasoning_field] = self.reasoning
        if self.calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in self.calls
            ]
        return message

    def usage(self, prices: tuple[float, float] | None) -> TokenUsage:
        """Return the tokens and cost of the reply; ``prices`` are per million prompt and completion tokens."""
        read, written, thought = self.counts or (0, 0, 0)
        cost = None
        if prices is not None:
            cost = 0.0 if self.cached else (read * prices[0] + written * prices[1]) / 1e6
        return TokenUsage(
            replies=1,
            cached=int(self.cached),
            uncounted=int(self.counts is None),
            cut=int(self.finish == "length"),
            prompt_tokens=read,
            completion_tokens=written,
            reasoning_tokens=thought,
            cost=cost,
        )

    def to_text(self) -> str:
        """Serialize the reply to JSON, for a cache."""
        return json.dumps(asdict(self))

    @classmethod
    def from_cache(cls, text: str) -> ChatReply:
        """Parse the text that `to_text` returned; the reply is marked as cached."""
        row = json.loads(text)
        calls = tuple(ToolCall(**call) for call in row.pop("calls"))
        counts = row.pop("counts")
        return replace(cls(**row), calls=calls, counts=tuple(counts) if counts else None, cached=True)


def read_reply(body: bytes) -> ChatReply:
    """Parse the first choice of a chat completion or of a text completion.

    Raises:
        MalformedReply: ``body`` is neither.
    """
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        raise MalformedReply("the endpoint's answer is not JSON") from None
    if isinstance(data, Mapping) and data.get("error") and not data.get("choices"):
        raise MalformedReply(f"the endpoint answered with an error: {shorten(str(data['error']), 200)}")
    try:
        choice = data["choices"][0]
        finish, counts = str(choice.get("finish_reason") or ""), _counts(data.get("usage"))
        if "message" not in choice:
            if not isinstance(choice["text"], str):
                raise TypeError
            return ChatReply(choice["text"].strip(), finish=finish, counts=counts)
        message = choice["message"]
        field = next((name for name in REASONING_FIELDS if isinstance(message.get(name), str) and message[name]), "")
        calls = tuple(_call(call, place) for place, call in enumerate(message.get("tool_calls") or ()))
        return ChatReply(_text(message.get("content")), message.get(field, ""), field, calls, finish, counts)
    except (LookupError, TypeError, AttributeError):
        raise MalformedReply("the endpoint's answer is not a completion") from None


def _text(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, list):  # a list of parts; thoughts and pictures are left out
        return "".join(part["text"] for part in content if part.get("type") == "text")
    if not isinstance(content, str):
        raise TypeError
    return content


def _call(call: Any, place: int) -> ToolCall:
    name, arguments = call["function"]["name"], call["function"].get("arguments")
    if not isinstance(name, str):
        raise TypeError
    # Some servers give the arguments as an object instead of text, and some give no id.
    text = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
    return ToolCall(str(call.get("id") or f"call_{place}"), name, text)


def _counts(usage: Any) -> tuple[int, int, int] | None:
    if not isinstance(usage, Mapping):
        return None
    details = usage.get("completion_tokens_details")
    thought = details.get("reasoning_tokens") if isinstance(details, Mapping) else 0
    found = [usage.get("prompt_tokens"), usage.get("completion_tokens", 0), thought or 0]
    if not all(isinstance(count, int) and count >= 0 for count in found):
        return None
    return found[0], found[1], found[2]
