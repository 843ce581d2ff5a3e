"""Harness of verifiers that holds a plain conversation from this process: no shell, no tools, no program to start.

Verifiers' own ``null`` harness starts a Python program for each turn, which takes nearly all the time of a game's turn.
"""

from __future__ import annotations

from typing import Any

import verifiers.v1 as vf  # pyright: ignore[reportMissingImports]
from openai import APIError, AsyncOpenAI
from verifiers.v1.dialects.chat import message_to_wire  # pyright: ignore[reportMissingImports]


class ChatHarnessConfig(vf.HarnessConfig):
    max_retries: int = 2
    """Most retries of a request that the endpoint refuses temporarily."""


class ChatHarness(vf.Harness[ChatHarnessConfig]):
    """Harness that sends the conversation to the endpoint of the rollout, which records the reply."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    def __init__(self, config: ChatHarnessConfig):
        super().__init__(config)
        self._client: AsyncOpenAI | None = None

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        system, prompt = self.resolve_prompt(data)
        messages: list[Any] = [{"role": "system", "content": system}] if system else []
        if isinstance(prompt, str):
            messages.append({"role": "user", "content": prompt})
        else:
            messages += [message_to_wire(message) for message in prompt or ()]
        if self._client is None:  # one for all rollouts; verifiers limits the time of a rollout
            self._client = AsyncOpenAI(base_url=endpoint, api_key=secret, timeout=None)
        client = self._client.with_options(base_url=endpoint, api_key=secret, max_retries=self.config.max_retries)
        try:
            await client.chat.completions.create(model=ctx.model, messages=messages)
        except APIError as error:  # the endpoint keeps the error for the trace
            return vf.ProgramResult(exit_code=1, stdout="", stderr=str(error))
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")
