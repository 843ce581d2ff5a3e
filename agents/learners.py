"""Registry of the learners of ``palaestra train --learner``: the configuration, run class and agent of each.

A learner's configuration is a frozen dataclass with ``to_json`` and ``from_json``; its run class has ``start``,
``resume``, ``run``, ``stop``, ``close``, ``step``, ``folder`` and ``config``, like `grpo.Learner`. Classes whose
modules need torch are given as text and imported on first use. Other packages add learners through the entry-point
group ``palaestra.learners``.
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
    """Entry of a learner in the registry `LEARNERS`.

    Attributes:
        summary: one line for ``--help``.
        config: class of the configuration.
        run: "module:attribute" of the run class.
        agent: "module:attribute" of a function that takes a run's folder, and options such as ``checkpoint`` and
            ``temperature``, and returns an `Agent`.
        extra: optional dependency group (``pip install palaestra[extra]``) that the learner needs; "" for none.
    """

    summary: str
    config: type[Any]
    run: str
    agent: str
    extra: str = ""

    def load_run(self) -> Any:
        """Import and return the run class. Raises MissingExtra if torch or transformers is not installed."""
        return self._load(self.run, "training")

    def load_agent(self) -> Callable[..., Agent]:
        """Import and return the function ``agent``. Raises MissingExtra like `load_run`."""
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
    "learner",
    group="palaestra.learners",
    modules=[f"{__package__}.students.student_config", f"{__package__}.reward_training.reward_model_config"],
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
    """Return the name of the learner of the run in a folder; for a model's folder or a hub id, `DEFAULT_LEARNER`."""
    return read_learner(Path(source)) if is_run(Path(source)) else DEFAULT_LEARNER


def load_player(folder: str | Path, **options: Any) -> Agent:
    """Make an agent that plays the policy of a run, or a language model.

    The agent's name is the folder, followed by the checkpoint if one is given in ``options``: "runs/first@best".

    Args:
        folder: folder of a run of any learner, or any source that `LanguageModel.load` accepts.
        options: options of the learner's agent, such as ``checkpoint`` and ``temperature``.

    Raises:
        InputError: the folder cannot be played, or the agent does not take an option.
        MissingExtra: torch or transformers is not installed.
    """
    agent = LEARNERS[learner_of(folder)].load_agent()(folder, **options)
    checkpoint = options.get("checkpoint", "newest")
    agent.name = str(Path(folder)) if checkpoint == "newest" else f"{Path(folder)}@{checkpoint}"
    return agent
