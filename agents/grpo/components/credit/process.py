"""Dense returns: critics, process rewards and the KL to a reference, for each token or turn."""

from __future__ import annotations

import torch
from torch import Tensor

from .....errors import InputError
from ...batch.batch import Batch
from ...batch.scored import needs
from ...recipes.stages import RETURNS
from .returns import paid_by_token, paid_by_turn
from .units import Units, episode_units, suffix_sum, token_units, turn_units


@RETURNS.register("gae")
@needs("value")
def gae(batch: Batch, discount: float = 1.0, decay: float = 0.95) -> Units:
    """Generalised advantage estimate of each action token: sum_k (discount x decay)^k delta_{t+k}, delta = reward +
    discount V(next) - V(this), over action tokens alone (GAE, arXiv 1506.02438, eq. 16).

    The state after the last token is worth 0. Goes with the baseline "none".
    """
    value = batch.measured("value")[batch.action]
    return _scattered(batch, _advantages(paid_by_token(batch), value, batch.episode_of[batch.action], discount, decay))


@RETURNS.register("turn_gae")
@needs("value")
def turn_gae(batch: Batch, discount: float = 1.0, decay: float = 0.95) -> Units:
    """The same with turns as steps: V(turn) is the value before its first action token; one unit a turn (turn-level
    PPO). A turn without action tokens is worth nothing before it.
    """
    turn = batch.turn_of[batch.action]
    first = torch.ones_like(turn, dtype=torch.bool)
    first[1:] = turn[1:] != turn[:-1]
    value = torch.zeros_like(batch.turn_reward)
    value[turn[first]] = batch.measured("value")[batch.action][first].to(value.dtype)
    return turn_units(batch, _advantages(paid_by_turn(batch), value, batch.episode_of_turn, discount, decay))


def _advantages(paid: Tensor, value: Tensor, episode: Tensor, discount: float, decay: float) -> Tensor:
    """Generalised advantage estimates of M steps: [M], [M], [M] -> [M]."""
    following = torch.zeros_like(value)
    same = episode[1:] == episode[:-1]
    following[:-1] = torch.where(same, value[1:], 0)
    return suffix_sum(paid + discount * following - value, episode, discount * decay)


@RETURNS.register("kl_to_go")
@needs("logp_old", "logp_ref")
def kl_to_go(batch: Batch, beta: float = 0.01, discount: float = 1.0) -> Units:
    """Discounted return of each action token with the KL to the reference as a reward of every token: sum_{k>=t}
    discount^(k-t) (-beta (log pi_old - log ref)_k), and the outcome at the last token (REINFORCE++, arXiv 2501.03262;
    ReMax, arXiv 2310.10505).
    """
    gap = (batch.measured("logp_old") - batch.measured("logp_ref"))[batch.action]
    episode = batch.episode_of[batch.action]
    paid = -beta * gap.to(batch.outcome.dtype)
    last = torch.ones_like(episode, dtype=torch.bool)
    last[:-1] = episode[1:] != episode[:-1]
    paid[last] += batch.outcome[episode[last]]
    return _scattered(batch, suffix_sum(paid, episode, discount))


@RETURNS.register("kl_outcome")
@needs("logp_old", "logp_ref")
def kl_outcome(batch: Batch, beta: float = 0.01) -> Units:
    """outcome - beta x sum of (log pi_old - log ref) over the episode, one unit an episode (RLOO, arXiv 2402.14740,
    section 3).
    """
    gap = torch.where(batch.action, batch.measured("logp_old") - batch.measured("logp_ref"), 0)
    return episode_units(batch, batch.outcome - beta * batch.sum_by_episode(gap.to(batch.outcome.dtype)))


@RETURNS.register("implicit_token")
@needs("logp_prm", "logp_ref")
def implicit_token(batch: Batch, beta: float = 0.05, discount: float = 1.0) -> Units:
    """Return-to-go of the implicit process rewards beta (log pi_prm - log ref), one unit a token (PRIME, arXiv
    2502.01456).

    With the baseline "token_rate" this is PRIME's process advantage. The released code adds a term that sums to zero
    over each response; it is not here.
    """
    reward = beta * (batch.measured("logp_prm") - batch.measured("logp_ref"))[batch.action]
    return _scattered(batch, suffix_sum(reward.to(batch.outcome.dtype), batch.episode_of[batch.action], discount))


@RETURNS.register("implicit_turn")
@needs("logp_prm", "logp_old")
def implicit_turn(batch: Batch, beta: float = 0.05) -> Units:
    """Implicit reward of each turn, beta x sum over its tokens of log pi_prm - log pi_old, compared with all turns of
    the group (iStar, arXiv 2509.19199).
    """
    gap = torch.where(batch.action, batch.measured("logp_prm") - batch.measured("logp_old"), 0)
    value = torch.zeros_like(batch.turn_reward).index_add_(0, batch.turn_of, gap.to(batch.turn_reward.dtype))
    return turn_units(batch, beta * value)


@RETURNS.register("min_form")
def min_form(batch: Batch, temperature: float = 0.1) -> Units:
    """Process rewards of turns credited by their soft minimum: suffix sums of softmax(-r / temperature)_k r_k, so that
    turns up to the worst one see about its reward and later ones about nothing (PURE, arXiv 2504.15275).

    Raises:
        InputError: the temperature is not positive.
    """
    if temperature <= 0:
        raise InputError(f"temperature={temperature} of the soft minimum must be positive.")
    reward, episode = batch.turn_reward, batch.episode_of_turn
    lowest = torch.full_like(batch.outcome, torch.inf).scatter_reduce_(0, episode, reward, "amin")
    weight = ((lowest[episode] - reward) / temperature).exp()
    total = torch.zeros_like(batch.outcome).index_add_(0, episode, weight)
    return turn_units(batch, suffix_sum(weight / total[episode] * reward, episode))


def _scattered(batch: Batch, action_value: Tensor) -> Units:
    """Token units from values at the action tokens alone: [A]."""
    value = action_value.new_zeros(len(batch.ids))
    value[batch.action] = action_value
    return token_units(batch, value)
