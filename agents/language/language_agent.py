"""A language model as an agent: one conversation per slot, never encoded twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ...errors import InputError, MissingExtra
from ..agent import Agent, register
from ..engines.sampler import Request, Sampler

if TYPE_CHECKING:
    from .model import LanguageModel


@dataclass(eq=False)
class _Conversation:
    """A slot's session, its length in tokens, and whether its last action ended with a stop token."""

    session: int
    used: int = 0
    stopped: bool = True


@register("language")
class LanguageAgent(Agent):
    """Plays text environments by sampling from a language model.

    Every slot holds a conversation; an observation appends only its own tokens to it. When a conversation would outgrow
    ``context``, it starts again from the newest observation.

    Args:
        model: a `LanguageModel`, a model folder, a run folder, or a hub id.
        temperature: 1 samples from the model as it is, 0 takes the most likely token.
        max_new_tokens: longest action in tokens.
        context: longest conversation in tokens.
        slots: rows that decode at once; more observations than that are refilled as rows finish.
        seed: of the sampling noise.
    """

    def __init__(
        self,
        model: LanguageModel | str | Path,
        temperature: float = 1.0,
        max_new_tokens: int = 64,
        context: int = 1024,
        slots: int = 128,
        seed: int = 0,
    ):
        self.language = load_model(model).to("auto") if isinstance(model, str | Path) else model
        self.name = "language"
        self._temperature = temperature
        self._max_new_tokens = max_new_tokens
        self._context = context
        self._engine: Sampler = self.language.engine(slots, context)
        self._engine.seed(seed)
        self._conversations: dict[int, _Conversation] = {}
        self._sessions = 0
        self.max_slots = slots

    @classmethod
    def load(cls, path: str | Path, **options: Any) -> LanguageAgent:
        """An agent from a model folder, a run folder (its newest checkpoint) or a hub id."""
        return cls(path, **options)

    def reset(self, indices: Sequence[int]) -> None:
        """Forget the conversations of these slots."""
        for slot in indices:
            self._close(slot)

    def act(self, observations: Sequence[Any], infos: Sequence[Mapping[str, Any]]) -> list[str | None]:
        """Sample one action for every slot that is not idle."""
        slots: dict[int, int] = {}  # session -> slot
        for slot, (observation, info) in enumerate(zip(observations, infos, strict=True)):
            if info.get("idle"):
                self._close(slot)
                continue
            slots[self._submit(slot, str(observation))] = slot
        actions: list[str | None] = [None] * len(observations)
        while slots:
            for completion in self._engine.step():
                slot = slots.pop(completion.session)
                conversation = self._conversations[slot]
                conversation.used += len(completion.ids)
                conversation.stopped = completion.finish == "stop"
                actions[slot] = self.language.renderer.action(completion.ids)
        return actions

    def _submit(self, slot: int, text: str) -> int:
        """Request an action for a slot's observation; return the session."""
        renderer = self.language.renderer
        conversation = self._conversations.get(slot)
        if conversation is not None:
            ids = renderer.observation(text, first=False, stopped=conversation.stopped)
            if conversation.used + len(ids) + self._max_new_tokens > self._context:
                self._close(slot)
                conversation = None
        if conversation is None:
            ids = renderer.observation(text, first=True)
            if len(ids) + self._max_new_tokens > self._context:
                raise InputError(
                    f"an observation of {len(ids)} tokens and {self._max_new_tokens} to answer exceed the context of "
                    f"{self._context}; raise it."
                )
            conversation = self._conversations[slot] = _Conversation(self._sessions)
            self._sessions += 1
        self._engine.submit(Request(conversation.session, ids, self._max_new_tokens, self._temperature))
        conversation.used += len(ids)
        return conversation.session

    def _close(self, slot: int) -> None:
        conversation = self._conversations.pop(slot, None)
        if conversation is not None:
            self._engine.close(conversation.session)


def load_model(
    source: str | Path, dtype: Literal["float32", "bfloat16"] = "float32", system: str | None = None
) -> LanguageModel:
    """Load a model folder, the newest checkpoint of a run folder, or a hub id; see `LanguageModel.load`."""
    checkpoints = Path(source) / "checkpoints"
    if checkpoints.is_dir():
        from ..grpo.run.folder import newest_checkpoint

        newest = newest_checkpoint(Path(source))
        if newest is None:
            raise InputError(f"the run {str(source)!r} has no checkpoint yet; train it further or give a model folder.")
        source = newest
    try:
        from .model import LanguageModel
    except ImportError as error:
        if error.name != "torch":
            raise
        raise MissingExtra("a language model", "train") from None
    return LanguageModel.load(source, dtype, system)
