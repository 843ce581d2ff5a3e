"""Engines by name: samplers for runs and agents.

An engine is a `Sampler` that can also load new weights and free its memory. Its class declares its abilities, so that
an ability that a recipe needs and the engine lacks is reported before a model is loaded. In: a language model and
sizes. Out: an engine that samples from it.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ...errors import InputError, needs_extra, unknown_name
from ...registry import Registry
from .sampler import Completion, Request

if TYPE_CHECKING:
    from .truncation import Truncation

ABILITIES: dict[str, str] = {
    "entropies": "returns the entropy at each token",
    "forced": "scores tokens that it is given",
    "fp32_head": "computes the logits of half-precision weights in single precision",
    "truncation": "leaves unlikely tokens out",
    "top": "returns the likeliest tokens with their log-probabilities",
}
"""Optional abilities of an engine beyond sampling with log-probabilities -> description, after "the engine"."""

ENGINES: Registry[type[Engine]] = Registry("engine", group="palaestra.engines", modules=[str(__package__)])
"""Classes of engines by name."""

E = TypeVar("E", bound="Engine")


class Engine:
    """Base of the engines; see `sampler.Sampler` for the methods without a body here.

    `serve` creates an engine; its further keyword arguments are the options of ``--engine-option``.

    Attributes:
        abilities: names out of `ABILITIES`.
        copies: True if the engine holds a copy of the weights, which must be updated with `follow`. Such an engine is
            made once; an engine that reads the model's weights in place is made anew for each use.
        alone: True if the engine cannot run in a process that shares an update with others, because it creates its own
            process groups in `torch.distributed`.
        interruptible: True if `step` takes a function that is called every few tokens, and returns the finished
            requests as soon as the function returns True.
        truncation: truncation of the sampling distributions, set before the first request; only for engines with the
            ability "truncation".
    """

    abilities: ClassVar[frozenset[str]] = frozenset()
    copies: ClassVar[bool] = False
    alone: ClassVar[bool] = False
    interruptible: ClassVar[bool] = False
    truncation: Truncation | None = None
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
            slots: conversations held at once.
            max_length: longest conversation in tokens.
            fp32_head: compute logits in single precision; only for engines with the ability "fp32_head".

        An engine with a parameter ``spare`` receives the bytes of GPU memory to leave free for the run.
        """
        raise NotImplementedError

    @classmethod
    def measure_held(cls, weights: int, free: int, ahead: bool, **options: Any) -> int:
        """Return the bytes of GPU memory that the engine holds while the policy is trained on the same GPU.

        Args:
            weights: bytes of the policy's weights.
            free: free bytes before the engine is made, after the optimiser's state.
            ahead: True if the engine samples while the policy is trained, see ``--staleness``.
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
        """Restart the noise: an answer to a request without a seed depends on ``seed``, its session and how many the
        session had before."""
        self._seed = seed

    def follow(self, language: Any) -> None:
        """Sample from another model of the same shape from the next `load_weights` on."""

    def load_weights(self, version: int) -> None:
        """Load the model's present weights, unless the engine already has this version.

        Args:
            version: number of updates of the weights.
        """

    def sleep(self) -> None:
        """Give memory back until `wake`, where the engine can; no request may be in flight."""

    def wake(self) -> None:
        """Take the memory again."""

    def shut_down(self) -> None:
        """Give everything back; the engine is not used again."""


def check_engine(name: str, options: Mapping[str, Any], needs: Mapping[str, Collection[str]]) -> type[Engine]:
    """Find an engine and check its options and abilities. Loads no model.

    Args:
        options: options of the engine.
        needs: component, as in "the rollout strategy 'tool_branch'" -> names of the abilities that it needs.

    Raises:
        InputError: the engine or an option is unknown, or the engine lacks an ability.
        MissingExtra: torch is absent.
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
    """Raise InputError if an engine cannot be in one of several processes that share an update."""
    if ENGINES[name].alone:
        raise InputError(
            f"the engine {name!r} cannot be in one of several processes that share an update; take --engine "
            "vllm-server, or train without --nproc."
        )
