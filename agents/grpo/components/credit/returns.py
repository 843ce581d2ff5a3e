"""Returns: the values of episodes, turns and tokens from which baselines are subtracted."""

from __future__ import annotations

from torch import Tensor

from .....errors import InputError
from ...batch.batch import Batch
from ...batch.segments import Segments, suffix_sum
from ...recipes.stages import RETURNS
from .credit_arrays import returns
from .units import Units, episode_units


@returns("outcome", per="episode")
def outcome(outcome_e: Tensor) -> Tensor:
    """Sum of an episode's rewards, shaping included (`Trajectory.outcome`); one unit per episode."""
    return outcome_e


@returns("success", per="episode")
def success(success_e: Tensor) -> Tensor:
    """1 for an episode that succeeded, else 0, whatever its reward; one unit per episode."""
    return success_e


@RETURNS.register("given")
def own_advantage(batch: Batch) -> Units:
    """Advantage stored in each trajectory, as in replayed ones; use with the baseline "none" and the scale "none".

    Raises:
        InputError: a trajectory has no stored advantage.
    """
    known = [t.advantage for t in batch.trajectories if t.advantage is not None]
    if len(known) < batch.episodes:
        raise InputError(
            f"{batch.episodes - len(known)} of {batch.episodes} episodes have no advantage of their own; give each, "
            "or take the adjustment 'given', which leaves the others as they are."
        )
    return episode_units(batch, batch.outcome.new_tensor(known))


@returns("outcome_by_turn", per="turn")
def outcome_by_turn(outcome_e: Tensor, episode_k: Segments, turns_left_k: Tensor, discount: float = 1.0) -> Tensor:
    """Outcome of the episode x discount^(number of turns that follow); one unit per turn, so that long episodes count
    more often in a group's statistics (step-wise rows, as in verl-agent and SkyRL)."""
    return episode_k.expand(outcome_e) * discount ** turns_left_k.to(outcome_e.dtype)


@returns("outcome_by_token", per="token")
def outcome_by_token(outcome_e: Tensor, episode_t: Segments, discount: float = 1.0) -> Tensor:
    """Outcome of the episode x discount^(number of action tokens that follow); one unit per token (REINFORCE++, arXiv
    2501.03262, without its KL penalty)."""
    outcome_t = episode_t.expand(outcome_e)
    left = suffix_sum(outcome_t.new_ones(len(outcome_t)), episode_t.of) - 1
    return outcome_t * discount**left


@returns("turn_reward", per="turn")
def turn_reward(own_reward_k: Tensor) -> Tensor:
    """Reward of each turn alone, without later turns; one unit per turn (MT-GRPO's turn level, arXiv 2505.11821).

    Shaping of whole episodes is not included.
    """
    return own_reward_k


@returns("turn_return", per="turn")
def turn_return(reward_k: Tensor, episode_k: Segments, discount: float = 1.0) -> Tensor:
    """Discounted return-to-go of each turn, the sum over it and the k-th later turns of discount^k x reward; one unit
    per turn, peers are all turns of the group (Sutton & Barto 2018, eq. 3.8).

    Shaping of whole episodes counts as reward of the last turn.
    """
    return suffix_sum(reward_k, episode_k.of, discount)


@returns("round_return", per="turn")
def round_return(reward_k: Tensor, round_k: Segments, discount: float = 1.0) -> Tensor:
    """Discounted return-to-go of each turn within its episode of a block (palaestra/Recurring-v0); one unit per turn.
    Unlike with "turn_return", nothing that a later episode earns is credited to an earlier one (arXiv 2508.01287)."""
    return suffix_sum(reward_k, round_k.of, discount)


@returns("token_return", per="token")
def token_return(reward_t: Tensor, episode_t: Segments, discount: float = 1.0) -> Tensor:
    """Discounted return-to-go of each action token; one unit per token. The reward of a part of an action counts at the
    part's last token, as MRT (arXiv 2503.07572) and VSRM (arXiv 2508.10293) need to credit each part of the
    reasoning."""
    return suffix_sum(reward_t, episode_t.of, discount)
