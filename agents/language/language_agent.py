"""Agent that samples from a language model, with one conversation per slot, whose tokens are encoded only once."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...errors import InputError, needs_extra
from ..agent import EndEpisode, SlotAgent, register
from ..engines.engine import Engine, check_engine
from ..engines.policy_engine import PolicyEngine
from ..engines.sampler import Request
from ..prompt_form import FORM_OF_OLD_RUNS, SENTENCES, TERSE

if TYPE_CHECKING:
    from .model import LanguageModel


@dataclass(eq=False)
class _Conversation:
    """Conversation of a slot.

    Attributes:
        session: id of the engine's session.
        used: number of tokens in the conversation.
        acted: number of action tokens in the episode so far.
        asked: number of actions requested in the episode so far.
        stopped: True if the last action ended with a stop token.
    """

    session: int
    used: int = 0
    acted: int = 0
    asked: int = 0
    stopped: bool = True


LARGE = 50_000_000
"""Number of weights above which a model gets larger default token limits, with space for thoughts."""


@register("language")
class LanguageAgent(SlotAgent):
    """Agent for text environments that samples from a language model, with the token budgets of training.

    Every slot holds a conversation, to which each observation appends only new tokens. An episode ends as truncated
    when its token budgets allow no further action; if they allow not even the first action, the episode is invalid.

    For an argument that is None, the run's setting applies if ``model`` is a run folder, else the default stated here.

    Args:
        model: a `LanguageModel`, a run folder, or an argument of `LanguageModel.load`.
        temperature: 1 samples from the model's distribution, 0 takes the most likely token. Default 1.
        top_p, top_k, min_p: exclude unlikely tokens, see `agents.engines.truncation.Truncation`; by default none.
        sampling: "model" takes temperature, top_p, top_k and min_p from the model's generation config unless they are
            given; without ``do_sample`` in the config it is greedy.
        max_new_tokens: longest action in tokens. Default 64; for a model of more than 50 million weights half of the
            context, but at most 1,024.
        max_episode_tokens: most action tokens in an episode. Default no limit.
        context: longest conversation in tokens, at most the model's number of positions. Default 1,024; for a model of
            more than 50 million weights 4,096.
        fp32_head: compute logits of half-precision weights in single precision. Default False.
        slots: most rows that decode at the same time; further observations wait. Default 128; for a model of more than
            50 million weights 32.
        seed: seed of the sampling noise. The samples of an episode depend on ``seed`` and ``info["episode_seed"]``, not
            on concurrent episodes; without an episode seed, all slots share one source of noise.
        checkpoint: checkpoint of a run: "newest", "best" (of its evaluations), a step, the name of another of its
            policies, or of a past copy, such as "past-40".
        engine: engine that samples from the model, such as "vllm"; see `palaestra list engines`.
        engine_options: further arguments of the engine.
        system: system prompt, in place of the run's; not allowed with a `LanguageModel`.
        chat_options: further arguments of the chat template, such as ``{"enable_thinking": False}``, which extend or
            override the run's; not allowed with a `LanguageModel`.
        logits: rule that joins the model's logits with those of further models, such as
            ``mixed(reference='smollm2-135m', weight=2)``: a component of the stage "logits", or its text; see
            `palaestra list components logits`. Default none.
        thinking: way in which answers begin, such as ``soft(tokens=64)`` for thoughts of soft tokens: a component of
            the stage "thinking", or its text. Default none, also for a run that was trained with one.
    """

    def __init__(
        self,
        model: LanguageModel | str | Path,
        temperature: float | None = None,
        max_new_tokens: int | None = None,
        context: int | None = None,
        slots: int | None = None,
        seed: int = 0,
        max_episode_tokens: int | None = None,
        fp32_head: bool | None = None,
        checkpoint: str = "newest",
        system: str | None = None,
        engine: str = "torch",
        engine_options: Mapping[str, Any] | None = None,
        chat_options: Mapping[str, Any] | None = None,
        top_p: float | None = None,
        top_k: int | None = None,
        min_p: float | None = None,
        sampling: Literal["model"] | None = None,
        logits: Any = None,
        thinking: Any = None,
    ):
        own: dict[str, Any] = read_run_settings(model) if isinstance(model, str | Path) else {}
        fp32_head = own.get("fp32_head", False) if fp32_head is None else fp32_head
        if sampling not in (None, "model"):
            raise InputError(f"sampling is 'model', for the model's generation config, or left out, not {sampling!r}.")
        given = {"top_p": top_p, "top_k": top_k, "min_p": min_p}
        given = {name: value for name, value in given.items() if value is not None}
        rule = None if logits is None else _read_component("logits", logits)
        way = None if thinking is None else _read_component("thinking", thinking)
        if engine != "torch" or engine_options:
            needs = {f"the logit rule {logits}": rule.abilities} if rule else {}
            needs |= {f"the way of thinking {thinking}": way.abilities} if way else {}
            needs |= {"fp32_head": {"fp32_head"}} if fp32_head else {}
            needs |= {next(iter(given), "sampling='model'"): {"truncation"}} if given or sampling else {}
            check_engine(engine, engine_options or {}, needs)
        # Where the model was loaded from: (source, checkpoint); (None, ...) if it was given loaded.
        self.source = (model if isinstance(model, str | Path) else None), checkpoint
        if isinstance(model, str | Path):
            model = load_run_model(model, checkpoint, system, chat_options).to("auto")
        elif system is not None or chat_options:
            what = "chat options" if system is None else "system prompt"
            raise InputError(f"a LanguageModel has its {what}; give the {what} where it is loaded.")
        self.language = model
        self.name = "language"
        from ..engines.truncation import Truncation, read_generation_config
        from .decoder import context_limit  # loads torch
        from .renderer import MarkerRenderer

        suited = TERSE if isinstance(model.renderer, MarkerRenderer) else SENTENCES
        self.prompt_form = own.get("prompt_form", FORM_OF_OLD_RUNS) if own else suited

        def choose(name: str, value: Any, default: Any) -> Any:
            return own.get(name, default) if value is None else value

        if sampling == "model":
            own_temperature, named = read_generation_config(getattr(model.model, "generation_config", None))
            temperature, given = own_temperature if temperature is None else temperature, {**named, **given}
        truncation = Truncation(**given)
        self._temperature = choose("temperature", temperature, 1.0)
        large = model.parameters > LARGE
        self._context = min(choose("context", context, 4096 if large else 1024), context_limit(model.model))
        longest = min(self._context // 2, 1024) if large else 64
        self._max_new_tokens = choose("max_new_tokens", max_new_tokens, longest)
        self._max_episode_tokens = choose("max_episode_tokens", max_episode_tokens, math.inf)
        slots = (32 if large else 128) if slots is None else slots
        self._truncation, self._slots, self._fp32_head = truncation, slots, bool(fp32_head)
        self._serving = PolicyEngine(engine, engine_options)
        self._rule = rule
        self._thinking = None if way is None else way.open(model.tokenizer)
        if rule is not None:
            rule.open(model)
        self._open_engine()
        self.seed(seed)
        self._conversations: dict[int, _Conversation] = {}
        self._asked: dict[int, tuple[_Conversation, Future[str]]] = {}  # by session
        self._sessions = 0
        self.threads = None
        self.max_slots = slots

    def _open_engine(self) -> None:
        self._engine = self._serving.open(self.language, self._slots, self._context, self._fp32_head)
        self._engine.load_weights(0)
        if self._rule is not None:
            self._engine.rule = self._rule
        if self._thinking is not None:
            self._engine.thinking = self._thinking
        if self._truncation:
            self._engine.truncation = self._truncation

    @property
    def engine(self) -> Engine:
        """The engine that samples from the model."""
        return self._engine

    @property
    def temperature(self) -> float:
        """The sampling temperature."""
        return self._temperature

    @property
    def limits(self) -> tuple[int, float, int]:
        """Most tokens of an action, of all actions of an episode, and of a conversation."""
        return self._max_new_tokens, self._max_episode_tokens, self._context

    def bind(self, envs: Sequence[Any]) -> None:
        """Switch to the renderer for worked examples if an environment shows some (`ShotsWrapper`)."""
        if not any(env.has_wrapper_attr("shows_examples") for env in envs):
            return
        stops, self.language = self.language.renderer.stop_ids, self.language.for_examples()
        if stops != self.language.renderer.stop_ids:
            self._serving.shut_down()
            self._open_engine()
            self.seed(self._seed)

    @classmethod
    def load(cls, path: str | Path, **options: Any) -> LanguageAgent:
        """Make an agent from a run folder (its newest checkpoint) or an argument of `LanguageModel.load`."""
        return cls(path, **options)

    def seed(self, seed: int) -> None:
        """Restart the sampling noise from ``seed``."""
        self._seed = seed
        self._engine.seed(seed)

    def reset(self, indices: Sequence[int]) -> None:
        """Close the conversations of slots ``indices``."""
        for slot in indices:
            self._close(slot)

    def act(self, observations: Sequence[Any], infos: Sequence[Mapping[str, Any]]) -> list[str | EndEpisode | None]:
        """Sample one action for every slot that is not idle; end episodes whose token budgets allow no action."""
        for slot, info in enumerate(infos):
            if info.get("idle"):
                self._close(slot)
        return super().act(observations, infos)

    def start(self, slot: int, observation: Any, info: Mapping[str, Any]) -> Future[str] | EndEpisode:
        """Request an action, which `advance` samples. Return its future, or an `EndEpisode` if the token budgets allow
        no action."""
        # A subclass of str, such as `FewShotPrompt`, must not be converted to a plain str.
        text = observation if isinstance(observation, str) else str(observation)
        session = self._submit(slot, text, bool(info.get("fresh")), info.get("episode_seed"))
        if isinstance(session, EndEpisode):
            return session
        action: Future[str] = Future()
        self._asked[session] = self._conversations[slot], action
        return action

    def advance(self) -> bool:
        """Sample until at least one action is complete. Return False if none is requested."""
        if not self._asked:
            return False
        for completion in self._engine.step():
            conversation, action = self._asked.pop(completion.session)
            conversation.used += len(completion.ids)
            conversation.acted += len(completion.ids)
            conversation.stopped = completion.finish == "stop"
            if action.set_running_or_notify_cancel():
                action.set_result(self.language.renderer.action(completion.ids))
        return True

    def _submit(self, slot: int, text: str, fresh: bool, episode: int | None) -> int | EndEpisode:
        """Request an action for a slot's observation. Return the session, or an `EndEpisode` if the token budgets allow
        no action.

        Args:
            fresh: True if the observation replaces the conversation so far.
            episode: ``info["episode_seed"]``, or None.
        """
        conversation = self._conversations.get(slot)
        first = conversation is None
        if conversation is None or fresh:
            before = conversation or _Conversation(0)
            self._close(slot)
            conversation = _Conversation(self._sessions, acted=before.acted, asked=before.asked)
            self._conversations[slot] = conversation
            self._sessions += 1
        ids = self.language.renderer.observation(text, first=first or fresh, stopped=conversation.stopped)
        left = self._max_episode_tokens - conversation.acted
        room = min(self._max_new_tokens, left, self._context - conversation.used - len(ids))
        if room <= 0:
            self._close(slot)
            return EndEpisode(valid=not first)
        seed = None
        if episode is not None:
            root = np.random.SeedSequence([self._seed, int(episode), conversation.asked])
            seed = int(root.generate_state(1, np.uint64)[0])
        self._engine.submit(Request(conversation.session, ids, int(room), self._temperature, seed=seed, thinks=True))
        conversation.used += len(ids)
        conversation.asked += 1
        return conversation.session

    def _close(self, slot: int) -> None:
        conversation = self._conversations.pop(slot, None)
        if conversation is not None:
            self._asked.pop(conversation.session, None)
            self._engine.close(conversation.session)


def _read_component(stage: str, described: Any) -> Any:
    """Return what a component of a stage, or its text, describes."""
    from ..grpo.objective.binding import Clock, bind
    from ..grpo.recipes import Component
    from ..grpo.recipes.stages import STAGES

    component = described if isinstance(described, Component) else Component.parse(str(described))
    return bind(STAGES[stage], component, Clock()).target


def read_run_settings(source: str | Path) -> dict[str, Any]:
    """Return the stored configuration of the run in a folder; {} if the source is no run folder."""
    from ..grpo.run.folder import is_run

    if not is_run(Path(source)):
        return {}
    return json.loads((Path(source) / "config.json").read_text(encoding="utf-8"))


def load_run_model(
    source: str | Path,
    checkpoint: str = "newest",
    system: str | None = None,
    chat_options: Mapping[str, Any] | None = None,
) -> LanguageModel:
    """Load the policy of a run with the run's precision, system prompt and chat-template options.

    Any other source is loaded with defaults: float32, no system prompt, no options.

    Args:
        system: system prompt, in place of the run's; None keeps the run's.
        chat_options: options that extend or override the run's.
    """
    own = read_run_settings(source)
    system = own.get("system") if system is None else system
    options = {**own.get("chat_options", {}), **(chat_options or {})}
    language = load_model(source, own.get("dtype", "float32"), system, checkpoint, options)
    return language.for_examples() if own.get("shots") else language


def find_weights(source: str | Path, checkpoint: str = "newest") -> str | Path:
    """Return the folder of a run's checkpoint; return a source that is no run unchanged.

    Args:
        checkpoint: "newest", "best" (of the run's evaluations), a step, or the name of another of the run's policies.

    Raises:
        InputError: the run has no such checkpoint, or the source is no run and ``checkpoint`` is not "newest".
    """
    if (Path(source) / "checkpoints").is_dir():
        from ..grpo.run.folder import find_checkpoint

        return find_checkpoint(Path(source), checkpoint)
    if checkpoint != "newest":
        raise InputError(f"{str(source)!r} is no run, so that it has no checkpoint {checkpoint!r}; leave it out.")
    return source


def load_model(
    source: str | Path,
    dtype: Literal["float32", "bfloat16"] = "float32",
    system: str | None = None,
    checkpoint: str = "newest",
    chat_options: Mapping[str, Any] | None = None,
) -> LanguageModel:
    """Load a checkpoint of a run folder (see `find_weights`), or any other source that `LanguageModel.load` accepts.

    The checkpoint "past-40" of a run is its copy of that name in the newest checkpoint (rollout "table").
    """
    past = checkpoint if checkpoint.startswith("past-") else ""
    place = find_weights(source, "newest" if past else checkpoint)
    with needs_extra("a language model", "train"):
        from .model import LanguageModel
    language = LanguageModel.load(place, dtype, system, chat_options)
    if past:
        from ..grpo.collection.past_policies import load_copy

        load_copy(language, Path(place), past)
    return language
