"""Base class and registry of engines, which sample from a language model for runs and agents.

An engine is a `Sampler` that can also load new weights and free its memory. Its class declares its abilities, so that
an ability that a recipe needs and the engine lacks is reported before a model is loaded.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ...errors import InputError, needs_extra, unknown_name
from ...registry import Registry
from .sampler import Completion, Request

if TYPE_CHECKING:
    from .joint import LogitRule
    from .soft_thinking import SoftThinking
    from .truncation import Truncation

ABILITIES: dict[str, str] = {
    "entropies": "returns the entropy at each token",
    "forced": "scores tokens that it is given",
    "fp32_head": "computes the logits of half-precision weights in single precision",
    "truncation": "leaves unlikely tokens out",
    "logits": "joins the logits of several models",
    "soft": "samples thoughts of soft tokens",
    "top": "returns the likeliest tokens with their log-probabilities",
}
"""Optional abilities of an engine beyond sampling with log-probabilities: name -> predicate of the sentence "The engine
returns ..."."""

ENGINES: Registry[type[Engine]] = Registry("engine", group="palaestra.engines", modules=[str(__package__)])
"""Classes of engines by name."""

E = TypeVar("E", bound="Engine")


class Engine:
    """Base of engines; `submit`, `step` and `close` are documented in `sampler.Sampler`.

    `serve` creates an engine; a subclass's additional parameters of `serve` are the options of ``--engine-option``.

    Attributes:
        abilities: names out of `ABILITIES`.
        copies: True if the engine holds a copy of the weights, which `load_weights` updates. Such an engine is made
            once; an engine that reads the model's weights in place is made anew for each use.
        alone: True if the engine cannot run in a process of distributed training, because it creates its own process
            groups in `torch.distributed`.
        interruptible: True if `step` takes a function that is called every few tokens, and returns the finished
            requests as soon as the function returns True.
        truncation: truncation of the sampling distributions, set before the first request; only for engines with the
            ability "truncation".
        rule: joins the logits of several models, set before the first request; only for engines with the ability
            "logits".
        thinking: settings of soft tokens, with which answers begin to requests that ask for it (`Request.thinks`), set
            before the first request; only for engines with the ability "soft".
    """

    abilities: ClassVar[frozenset[str]] = frozenset()
    copies: ClassVar[bool] = False
    alone: ClassVar[bool] = False
    interruptible: ClassVar[bool] = False
    truncation: Truncation | None = None
    rule: LogitRule | None = None
    thinking: SoftThinking | None = None
    _seed = 0

    @classmethod
    def check(cls, **options: Any) -> None:
        """Check the options' values and the engine's installation. Called before a model is loaded.

        Raises:
            InputError: the engine cannot be created here; one sentence with the remedy.
        """

    @classmethod
    def serve(cls: type[E], language: Any, slots: int, max_length: int, fp32_head: bool = False, **options: Any) -> E:
        """Make an engine that samples from a model.

        Args:
            language: an `agents.language.model.LanguageModel`.
            slots: number of conversations held at the same time.
            max_length: longest conversation in tokens.
            fp32_head: compute logits in single precision; only for engines with the ability "fp32_head".
            options: options of the engine. A parameter ``spare``, if a subclass has one, is not an option: it receives
                the number of bytes of GPU memory that the engine must leave free for training.
        """
        raise NotImplementedError

    @classmethod
    def measure_held(cls, weights: int, free: int, ahead: bool, **options: Any) -> int:
        """Return the bytes of GPU memory that the engine holds while the policy is trained on the same GPU.

        Args:
            weights: bytes of the policy's weights.
            free: bytes that are free once the optimiser's state is allocated and before the engine is made.
            ahead: True if the engine samples while the policy is trained (``--staleness``).
            options: options of `serve`.
        """
        return 0

    def submit(self, request: Request) -> None:
        raise NotImplementedError

    def step(self) -> list[Completion]:
        raise NotImplementedError

    def close(self, session: int) -> None:
        raise NotImplementedError

    def seed(self, seed: int) -> None:
        """Restart the sampling noise. The answer to a request without a seed then depends on ``seed``, its session, and
        the number of earlier requests of the session."""
        self._seed = seed

    def follow(self, language: Any) -> None:
        """Set the model whose weights the next `load_weights` loads; it must have the same shape as the current one."""

    def load_weights(self, version: int) -> None:
        """Load the model's current weights, unless the engine already has this version.

        Args:
            version: number of updates of the weights.
        """

    def sleep(self) -> None:
        """Free memory until `wake`, if the engine can. No request may be in flight."""

    def wake(self) -> None:
        """Allocate the memory that `sleep` has freed."""

    def shut_down(self) -> None:
        """Free all resources. The engine must not be used afterwards."""


def check_engine(name: str, options: Mapping[str, Any], needs: Mapping[str, Collection[str]]) -> type[Engine]:
    """Return the class of an engine after checking its options and abilities. Loads no model.

    Args:
        name: name of the engine in `ENGINES`.
        options: options of the engine.
        needs: description of a component ("the rollout strategy 'tool_branch'") -> abilities that the component needs.

    Raises:
        InputError: the engine or an option is unknown, or the engine lacks an ability.
        MissingExtra: torch is not installed.
    """
    with needs_extra("an engine", "train"):
        engine = ENGINES[name]
    known = inspect.signature(engine.serve).parameters
    own = [option for option in known if option not in ("language", "slots", "max_length", "fp32_head", "spare")]
    for option in options:
        if option not in own:
            if not own:
                raise InputError(f"the engine {name!r} takes no options; leave --engine-option {option} out.")
            raise unknown_name(f"option of the engine {name!r}:", option, own)
    for what, abilities in needs.items():
        for ability in sorted(set(abilities) - engine.abilities):
            raise InputError(
                f"{what} needs an engine that {ABILITIES[ability]}, which {name!r} does not; take --engine torch."
            )
    engine.check(**options)
    return engine


def check_ranks(name: str) -> None:
    """Raise InputError if an engine cannot run in distributed training (`Engine.alone`)."""
    if ENGINES[name].alone:
        raise InputError(
            f"the engine {name!r} cannot be in one of several processes that share an update; take --engine "
            "vllm-server, or train without --nproc."
        )
