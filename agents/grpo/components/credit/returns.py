"""Returns of whole episodes and of single turns: what there is to be credited."""

from __future__ import annotations

import torch
from torch import Tensor

from .....errors import InputError
from ...batch.batch import Batch
from ...recipes.stages import RETURNS
from .units import Units, episode_units, suffix_sum, token_units, turn_units, turns_left


@RETURNS.register("outcome")
def outcome(batch: Batch) -> Units:
    """The sum of an episode's rewards, one unit an episode."""
    return episode_units(batch, batch.outcome)


@RETURNS.register("success")
def success(batch: Batch) -> Units:
    """1 where the episode succeeded, else 0, whatever was paid; one unit an episode."""
    return episode_units(batch, torch.tensor([float(t.success) for t in batch.trajectories], dtype=batch.outcome.dtype))


@RETURNS.register("given")
def given(batch: Batch) -> Units:
    """The advantage that each trajectory brought along; goes with the baseline "none" and the scale "none".

    Raises:
        InputError: a trajectory has none.
    """
    known = [t.advantage for t in batch.trajectories if t.advantage is not None]
    if len(known) < batch.episodes:
        raise InputError(
            f"{batch.episodes - len(known)} of {batch.episodes} episodes have no advantage of their own; give each, "
            "or take the adjustment 'given', which leaves the others as they are."
        )
    return episode_units(batch, torch.tensor(known, dtype=batch.outcome.dtype))


@RETURNS.register("outcome_by_turn")
def outcome_by_turn(batch: Batch, discount: float = 1.0) -> Units:
    """discount^(turns that follow) x outcome of the episode; one unit a turn, so that long episodes count more often in
    a group's statistics (step-wise rows, as in verl-agent and SkyRL).
    """
    return turn_units(
        batch, batch.outcome[batch.episode_of_turn] * discount ** turns_left(batch).to(batch.outcome.dtype)
    )


@RETURNS.register("outcome_by_token")
def outcome_by_token(batch: Batch, discount: float = 1.0) -> Units:
    """discount^(action tokens that follow) x outcome of the episode; one unit a token (REINFORCE++, arXiv 2501.03262,
    without its KL).
    """
    left = suffix_sum(batch.action.to(batch.outcome.dtype), batch.episode_of) - 1
    return token_units(batch, batch.per_token(batch.outcome) * discount ** left.clamp(min=0))


@RETURNS.register("turn_reward")
def turn_reward(batch: Batch) -> Units:
    """What each turn itself was paid, nothing of what follows; one unit a turn (MT-GRPO's turn level, arXiv
    2505.11821).

    Shaping of whole episodes is not in it.
    """
    return turn_units(batch, batch.turn_reward)


@RETURNS.register("turn_return")
def turn_return(batch: Batch, discount: float = 1.0) -> Units:
    """Discounted return-to-go of each turn, sum over later turns of discount^k x reward; one unit a turn, compared with
    all turns of the group (Sutton & Barto 2018, eq. 3.8).

    Shaping that was paid for the episode as a whole counts at its last turn.
    """
    return turn_units(batch, suffix_sum(paid_by_turn(batch), batch.episode_of_turn, discount))


def paid_by_turn(batch: Batch) -> Tensor:
    """Reward of each turn, [K], with what was paid for the episode as a whole at its last turn."""
    value = batch.turn_reward.clone()
    last = turns_left(batch) == 0
    paid = torch.zeros_like(batch.outcome).index_add_(0, batch.episode_of_turn, batch.turn_reward)
    value[last] += (batch.outcome - paid)[batch.episode_of_turn[last]]
    return value


def paid_by_token(batch: Batch) -> Tensor:
    """Reward of each action token, [A]: what a turn was paid lies at its last action token.

    A turn without action tokens is paid at the nearest action token of its episode.
    """
    turn, episode = batch.turn_of[batch.action], batch.episode_of[batch.action]
    paid = torch.zeros(len(turn), dtype=batch.outcome.dtype)
    if not len(turn):
        return paid
    at = torch.searchsorted(turn, torch.arange(len(batch.turn_reward)), right=True) - 1
    mine = (at >= 0) & (episode[at.clamp(min=0)] == batch.episode_of_turn)
    at = torch.where(mine, at, at + 1).clamp(max=len(turn) - 1)
    there = episode[at] == batch.episode_of_turn
    return paid.index_add_(0, at[there], paid_by_turn(batch)[there])
