"""The critic of a run, loaded to value the states of a search at evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ...errors import InputError
from ..grpo.batch.passes import Passes
from ..grpo.batch.trajectory import Trajectory
from ..grpo.components.auxiliaries.critic import Critic, state_values
from ..grpo.config import TrainConfig
from ..grpo.objective.notices import apply_overrides
from ..grpo.recipes import RECIPES
from ..language.language_agent import LanguageAgent, find_weights, read_run_settings


def load_critic(source: str | Path, checkpoint: str, model: Any) -> Critic:
    """Load the critic of a run's checkpoint.

    Args:
        model: the policy of the checkpoint.

    Raises:
        InputError: the source is no run, its recipe trains no critic, or the checkpoint holds the policy alone.
    """
    own = read_run_settings(source)
    config = TrainConfig.from_json(own) if own else None
    parts = () if config is None else apply_overrides(RECIPES[config.recipe], config).auxiliaries
    places = [place for place, part in enumerate(parts) if part.name == "critic"]
    if not places:
        raise InputError(
            f"{str(source)!r} has no critic for the search value 'critic'; take a run of a recipe such as ppo."
        )
    file = Path(find_weights(source, checkpoint)) / "auxiliaries.pt"
    if not file.is_file():
        raise InputError(
            f"the checkpoint {checkpoint!r} of {str(source)!r} has no critic; take the newest one, or a step."
        )
    critic = Critic(**parts[places[0]].params)
    critic.attach(model, None)
    critic.load(torch.load(file, weights_only=True)[places[0]])
    return critic


def critic_of(agent: LanguageAgent) -> Callable[[Sequence[Trajectory]], list[Tensor]]:
    """Return the function that values states by the critic of the run that an agent plays.

    Raises:
        InputError: as in `load_critic`, or the agent was given a loaded model.
    """
    source, checkpoint = agent.source
    if source is None:
        raise InputError("a LanguageModel has no critic for the search value 'critic'; give the folder of a run.")
    model = agent.language.model
    return partial(state_values, load_critic(source, checkpoint, model), model, Passes())
