"""A chat endpoint as an agent: one conversation a slot, with whatever model an OpenAI-compatible server offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..rewards.judges.endpoint import EndpointJudge
from .agent import EndEpisode, SlotAgent, register


@register("endpoint")
class EndpointAgent(SlotAgent):
    """Plays text environments through an OpenAI-compatible chat endpoint: a hosted one, vLLM, llama.cpp.

    An episode whose request failed in every attempt ends there as invalid; the log has the reason.

    Args:
        model: the endpoint's name of the model; None takes the environment variable ``PALAESTRA_JUDGE_MODEL``.
        base_url: such as "http://localhost:8000/v1"; None takes ``OPENAI_BASE_URL``, or else the SDK's default.
        instruction: system message of every conversation; "" for none.
        temperature, seed, max_tokens, timeout, retries: see `EndpointJudge`; the key comes from the environment
            variable ``OPENAI_API_KEY``.
        concurrency: requests in flight at once, if the evaluation does not say (``--concurrency``).
    """

    name = "endpoint"

    def __init__(
        self,
        model: str | None = None,
        base_url: str | None = None,
        instruction: str = "",
        temperature: float = 0.7,
        seed: int | None = None,
        max_tokens: int = 4096,
        timeout: float = 120.0,
        retries: int = 4,
        concurrency: int = 8,
    ):
        self._endpoint = EndpointJudge(
            model,
            base_url=base_url,
            temperature=temperature,
            seed=seed,
            max_tokens=max_tokens,
            timeout=timeout,
            retries=retries,
            concurrency=concurrency,
        )
        self.threads = concurrency
        self._opening = [{"role": "system", "content": instruction}] if instruction else []
        self._messages: dict[int, list[dict[str, str]]] = {}

    def reset(self, indices: Sequence[int]) -> None:
        for slot in indices:
            self._messages.pop(slot, None)

    def respond(self, slot: int, observation: Any, info: Mapping[str, Any]) -> str | EndEpisode:
        if info.get("fresh"):
            self._messages.pop(slot, None)
        messages = self._messages.setdefault(slot, list(self._opening))
        messages.append({"role": "user", "content": str(observation)})
        reply = self._endpoint.chat(messages)
        messages.append({"role": "assistant", "content": reply or ""})
        return EndEpisode(valid=False) if reply is None else reply
