"""Critic of a run as a value of states: the head that the run trains on its policy's hidden states."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ...errors import InputError
from ..grpo.batch.batch import collate
from ..grpo.batch.passes import Passes
from ..grpo.batch.trajectory import Group, Trajectory
from ..grpo.components.auxiliaries.critic import Critic
from ..grpo.config import TrainConfig
from ..grpo.objective.notices import apply_overrides
from ..grpo.recipes import RECIPES
from ..language.language_agent import find_weights, read_run_settings


def state_values(critic: Critic, model: Any, passes: Passes, trajectories: Sequence[Trajectory]) -> list[Tensor]:
    """Return the critic's value of the state before each action token of valid trajectories, one tensor [L] each.

    Args:
        model: the policy whose hidden states the critic reads.
    """
    batch = collate([Group(-1, tuple(trajectories))])
    hidden = passes.measure(model, batch, hidden=True).hidden
    assert hidden is not None
    batch = batch.with_(hidden=hidden)
    value = critic.measure(batch, passes)["value"]
    return list(value[batch.action].split(batch.action_count.tolist()))


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
