"""Agent that plays through an OpenAI-compatible chat endpoint, with one conversation per slot."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from ...checks import check_count, check_number
from ...envs.tools.tool_function import functions_of
from ...errors import InputError
from ..agent import AGENTS, EndEpisode, SlotAgent
from ..usage import ActionTrace, TokenUsage
from .client import ChatClient, Connection, ContextFull, NoReply
from .reply import ChatReply
from .served_models import find_served_model
from .tool_forms import TOOL_FORMS, ReplyStep, ToolForm

_log = logging.getLogger(__name__)

MOST_FAULTS = 3
"""Most malformed tool calls in one turn that are reported to the model; after that its reply is the action as it is."""


@dataclass
class _Conversation:
    """Conversation of a slot.

    Attributes:
        messages: the messages so far.
        episode: ``info["episode_seed"]`` of the episode.
        asked: number of requests in the episode so far.
        acted: True once the episode has had an action.
        steps: steps of the newest reply that have not been played yet.
        waiting: id of the tool call that the next observation answers, or None.
    """

    messages: list[dict[str, Any]]
    episode: int
    asked: int = 0
    acted: bool = False
    steps: deque[ReplyStep] = field(default_factory=deque)
    waiting: str | None = None


class ChatAgent(SlotAgent):
    """Agent that plays text environments through an OpenAI-compatible endpoint (hosted, vLLM, llama.cpp): openai:MODEL.

    If all attempts of a request fail, the episode ends as invalid, with the reason as its error. If the conversation no
    longer fits the model's context, the episode ends as truncated. Thoughts that a server returns in a separate field
    are written to the record of the episode, and never scored.

    Args:
        model: name of the model at the endpoint; None: the environment variable ``PALAESTRA_JUDGE_MODEL`` or, if that
            is not set, the only model that the endpoint serves.
        base_url, api, timeout, retries, backoff, requests_per_minute, concurrency, cache, extra: see `Connection`.
        system: the system prompt of every conversation; "" for none.
        temperature: sampling temperature in [0, 2]; None: the endpoint's default.
        max_tokens: most tokens of a reply; None: the endpoint's default.
        seed: number from which a different seed is derived for each request; None sends no seed.
        stop: texts that end a reply.
        tools: how tools are called in environments that have them: "native" (function calls of the endpoint), "react"
            (text), or None (as the environment's prompt describes). Other environments are played as with None.
        resend_reasoning: True sends earlier thoughts back to the endpoint as part of the conversation.
        prices: price of a million prompt tokens and of a million completion tokens, for the cost in reports.

    Raises:
        InputError: an argument is out of range, or no model is given and the endpoint does not serve exactly one; on
            use, the endpoint refuses the key or the model.
        MissingExtra: the package openai (extra [chat]) is not installed.
    """

    threads = None

    def __init__(
        self,
        model: str | None = None,
        base_url: str | None = None,
        system: str = "",
        temperature: float | None = None,
        max_tokens: int | None = 4096,
        seed: int | None = None,
        stop: Sequence[str] = (),
        api: str = "chat",
        tools: str | None = None,
        resend_reasoning: bool = False,
        prices: Sequence[float] | None = None,
        timeout: float = 600.0,
        retries: int = 5,
        backoff: float = 0.5,
        requests_per_minute: float | None = None,
        concurrency: int | None = None,
        cache: str | Path | None = None,
        extra: Mapping[str, Any] | None = None,
    ):
        chosen = model or os.environ.get("PALAESTRA_JUDGE_MODEL") or find_served_model(base_url)
        if tools == "native" and api == "completions":
            raise InputError('tools="native" needs api="chat"; take tools="react" for completions.')
        self._tools = None if tools is None else TOOL_FORMS[tools]
        self.name = f"openai:{chosen}" if tools is None else f"openai:{chosen} ({tools} tools)"
        connection = Connection(
            chosen, base_url, api, timeout, retries, backoff, requests_per_minute, concurrency, cache, extra
        )
        self._client = ChatClient(connection)
        self._system, self._seed = system, None if seed is None else check_count("seed", seed)
        self._stop = [stop] if isinstance(stop, str) else list(stop)
        if api == "completions":
            self._stop.append("\nUser:")
        self._settings: dict[str, Any] = {}
        if temperature is not None:
            self._settings["temperature"] = check_number("temperature", temperature, 0.0, 2.0)
        if max_tokens is not None:
            self._settings["max_tokens"] = check_count("max_tokens", max_tokens, 1, "tokens")
        self._prices: tuple[float, float] | None = None
        if prices is not None:
            if not isinstance(prices, list | tuple) or len(prices) != 2:
                raise InputError(f"prices must be two numbers, of a million tokens read and written, not {prices!r}.")
            self._prices = check_number("prices", prices[0], 0.0), check_number("prices", prices[1], 0.0)
        self._resend = bool(resend_reasoning)
        self._form = ToolForm()
        self._conversations: dict[int, _Conversation] = {}
        self._traces: dict[int, ActionTrace] = {}

    def bind(self, envs: Sequence[gym.Env]) -> None:
        self._form = ToolForm()
        if self._tools is not None and envs:
            functions = functions_of(envs[0])
            if functions:
                self._form = self._tools(functions, envs[0].unwrapped.write_call)  # type: ignore[attr-defined]
            else:
                name = type(envs[0].unwrapped).__name__
                _log.warning("%s offers no tools; it is played without.", name)

    def closing(self) -> Callable[[], Awaitable[None]]:
        return self._client.close

    def reset(self, indices: Sequence[int]) -> None:
        for slot in indices:
            self._conversations.pop(slot, None)
            self._traces.pop(slot, None)

    def trace(self, slot: int) -> ActionTrace | None:
        return self._traces.pop(slot, None)

    async def respond(self, slot: int, observation: Any, info: Mapping[str, Any]) -> Any:
        self._traces.pop(slot, None)
        talk = self._conversation(slot, info)
        talk.messages.append(self._form.tell(_plain(str(observation)), talk.waiting))
        usage, faults = TokenUsage(), []
        reply: ChatReply | None = None
        try:
            while True:
                while talk.steps:
                    step = talk.steps.popleft()
                    if step.action is not None:
                        return self._act(slot, talk, step, reply, faults)
                    faults.append(step.fault)
                    talk.messages.append(self._form.tell(step.fault, step.call_id))
                if reply is not None and len(faults) >= MOST_FAULTS:
                    written = "".join(f"{call.name} {call.arguments}\n" for call in reply.calls)
                    return self._act(slot, talk, ReplyStep(reply.text or written), reply, faults)
                reply = await self._ask(talk)
                usage += reply.usage(self._prices)
                talk.messages.append(_plain(reply.message(self._resend)))
                talk.steps.extend(self._form.read(reply))
        except ContextFull as full:
            return EndEpisode(valid=talk.acted, reason=f"the conversation is longer than the context: {full}")
        except NoReply as error:
            return EndEpisode(valid=False, reason=str(error))
        finally:
            notes = self._traces[slot].notes if slot in self._traces else {}
            self._traces[slot] = ActionTrace(usage if usage.replies else None, notes)

    def _conversation(self, slot: int, info: Mapping[str, Any]) -> _Conversation:
        talk = self._conversations.get(slot)
        if talk is None or info.get("fresh"):
            instruction = "\n\n".join(part for part in (self._system, self._form.instruction) if part)
            opening = [{"role": "system", "content": instruction}] if instruction else []
            asked, acted = (0, False) if talk is None else (talk.asked, talk.acted)
            talk = _Conversation(opening, int(info.get("episode_seed", 0)), asked, acted)
            self._conversations[slot] = talk
        return talk

    async def _ask(self, talk: _Conversation) -> ChatReply:
        settings = {**self._settings, **self._form.settings}
        if stop := [*self._stop, *self._form.stop]:
            settings["stop"] = stop
        draw = (talk.episode, talk.asked)
        if self._seed is not None:
            settings["seed"] = int(np.random.SeedSequence([self._seed, *draw]).generate_state(1)[0] >> 1)
        talk.asked += 1
        return self._form.clean(await self._client.ask(talk.messages, settings, draw))

    def _act(
        self, slot: int, talk: _Conversation, step: ReplyStep, reply: ChatReply | None, faults: Sequence[str]
    ) -> Any:
        """Return the action of a step, and store its trace."""
        talk.waiting, talk.acted = step.call_id, True
        notes: dict[str, Any] = {}
        if step.call is not None:
            notes["tool_call"] = dict(step.call)
        if faults:
            notes["faults"] = list(faults)
        if reply is not None:
            if reply.text and reply.text != step.action:
                notes["text"] = reply.text
            if reply.reasoning:
                notes["reasoning"] = reply.reasoning
            notes["finish"] = reply.finish
            if reply.counts is not None:
                names = ("prompt_tokens", "completion_tokens", "reasoning_tokens")
                notes.update(zip(names, reply.counts, strict=True))
            if reply.cached:
                notes["cached"] = True
        self._traces[slot] = ActionTrace(None, notes)
        return step.action


def _plain(value: Any) -> Any:
    """Replace lone surrogates, which cannot be encoded in a request, in all texts of nested dicts and lists."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


AGENTS.add("chat", ChatAgent)
AGENTS.add("endpoint", ChatAgent)  # its former name
