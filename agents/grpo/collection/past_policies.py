"""Past copies of a policy, which play against it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ....errors import unknown_name
from ...engines.engine import Engine
from ...language.model import LanguageModel
from ..rollouts.episode_player import EpisodePlayer
from .policy_weights import Weights, copy_policy, set_weights, trained_weights

FILE = "past-{}.safetensors"
"""Name of a checkpoint's file with the weights of a copy."""


class PastPolicies:
    """Past copies of a policy: their trained weights, and one model that takes them in turn.

    Args:
        language: the policy.
        open_engine: makes the engine that samples from a model.
    """

    def __init__(self, language: LanguageModel, open_engine: Callable[[LanguageModel], Engine]):
        self._language, self._open_engine = language, open_engine
        self._weights: dict[str, Weights] = {}
        self._copy: LanguageModel | None = None
        self._engine: Engine | None = None

    @property
    def names(self) -> list[str]:
        """Names of the copies, the oldest first."""
        return list(self._weights)

    def add(self, name: str, most: int) -> None:
        """Copy the policy's present weights under a name; drop the oldest copies beyond ``most``."""
        self._weights[name] = trained_weights(self._language)
        for old in self.names[:-most]:
            del self._weights[old]

    def engine(self, name: str) -> Engine:
        """Return an engine that samples from a copy; engines returned before now sample from it, too."""
        if self._copy is None or self._engine is None:
            self._copy = copy_policy(self._language)
            self._engine = self._open_engine(self._copy)
        set_weights(self._copy, self._weights[name])
        return self._engine

    def save(self, folder: Path) -> list[str]:
        """Write the copies' weights; return their names, for `load`."""
        from safetensors.torch import save_file

        for name, weights in self._weights.items():
            save_file(weights, folder / FILE.format(name))
        return self.names

    def load(self, folder: Path, names: Sequence[str]) -> None:
        """Read the copies that `save` wrote."""
        from safetensors.torch import load_file

        self._weights = {name: load_file(folder / FILE.format(name)) for name in names}


@dataclass(frozen=True, eq=False)
class PastPlayers:
    """Past copies of a policy as players; ``make`` makes the player of an engine."""

    policies: PastPolicies
    make: Callable[[Engine], EpisodePlayer]

    @property
    def names(self) -> list[str]:
        return self.policies.names

    def add(self, name: str, most: int) -> None:
        self.policies.add(name, most)

    def player(self, name: str) -> EpisodePlayer:
        """Return the player of a copy; players returned before now are of the same copy."""
        return self.make(self.policies.engine(name))


def load_copy(language: LanguageModel, checkpoint: Path, name: str) -> None:
    """Give a policy the weights of a copy that `PastPolicies.save` wrote into a checkpoint.

    Raises:
        InputError: the checkpoint has no such copy.
    """
    from safetensors.torch import load_file

    names = sorted(path.name.removesuffix(".safetensors") for path in checkpoint.glob(FILE.format("*")))
    known = [each.removeprefix("past-") for each in names]
    if name not in known:
        raise unknown_name(f"copy of {str(checkpoint)!r}", name, known)
    set_weights(language, load_file(checkpoint / FILE.format(name)))
