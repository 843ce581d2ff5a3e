"""The learners of ``palaestra train --learner``: what defines a run of each, what trains it, what plays its policy.

A learner's configuration is a frozen dataclass with ``to_json`` and ``from_json``, and its runs have ``start``,
``resume``, ``run``, ``stop``, ``close``, ``step``, ``folder`` and ``config``, as `grpo.Learner` has them. Modules that
need torch are named, and loaded on first use. Other packages contribute through the entry-point group
``palaestra.learners``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import MissingExtra
from ..registry import Registry
from .agent import Agent
from .grpo.config import TrainConfig
from .grpo.run.folder import DEFAULT_LEARNER, is_run, read_learner


@dataclass(frozen=True)
class LearnerKind:
    """A learner.

    Attributes:
        summary: one line for ``--help``.
        config: class of the record that defines a run.
        run: "module:attribute" of the class of its runs.
        agent: "module:attribute" of a function from a run's folder, and options such as ``checkpoint`` and
            ``temperature``, to an `Agent`.
        extra: the extra of the package that it needs; "" for none.
    """

    summary: str
    config: type[Any]
    run: str
    agent: str
    extra: str = ""

    def load_run(self) -> Any:
        """Return the class of its runs. Raises MissingExtra where torch or transformers is absent."""
        return self._load(self.run, "training")

    def load_agent(self) -> Callable[..., Agent]:
        """Return the function that makes an agent of a run. Raises MissingExtra as `load_run`."""
        return self._load(self.agent, "a trained policy")

    def _load(self, place: str, feature: str) -> Any:
        module, _, attribute = place.partition(":")
        try:
            return getattr(importlib.import_module(module), attribute)
        except ImportError as error:
            if self.extra and error.name in ("torch", "transformers", "safetensors"):
                raise MissingExtra(feature, self.extra) from None
            raise


LEARNERS: Registry[LearnerKind] = Registry(
    "learner", group="palaestra.learners", modules=[f"{__package__}.students.student_config"]
)
LEARNERS.add(
    DEFAULT_LEARNER,
    LearnerKind(
        "GRPO and its relatives, for language models on environments in text",
        TrainConfig,
        f"{__package__}.grpo.learner:Learner",
        f"{__package__}.language.language_agent:LanguageAgent",
        "train",
    ),
)


def learner_of(source: str | Path) -> str:
    """Name the learner of the run in a folder; of a model's folder or a hub id, the one of language models."""
    return read_learner(Path(source)) if is_run(Path(source)) else DEFAULT_LEARNER


def load_player(folder: str | Path, **options: Any) -> Agent:
    """Make an agent of the folder of a run, of whatever learner, or of what `LanguageModel.load` takes.

    It bears the folder's name, with the checkpoint where one is asked for: "runs/first@best".

    Raises:
        InputError: the folder cannot be played, or the agent does not take an option.
        MissingExtra: torch or transformers is absent.
    """
    agent = LEARNERS[learner_of(folder)].load_agent()(folder, **options)
    checkpoint = options.get("checkpoint", "newest")
    agent.name = str(Path(folder)) if checkpoint == "newest" else f"{Path(folder)}@{checkpoint}"
    return agent
