"""Dense returns, one per token or turn: from critics, process rewards and the KL divergence to a reference."""

from __future__ import annotations

import torch
from torch import Tensor

from .....checks import check_count, check_number
from .....errors import InputError
from ...batch.segments import Segments, segment_min, segment_starts, suffix_sum
from .credit_arrays import returns


@returns("gae", per="token")
def token_gae(
    reward_t: Tensor, value_t: Tensor, episode_t: Segments, discount: float = 1.0, decay: float = 0.95
) -> Tensor:
    """Generalised advantage estimate of each action token: sum_k (discount x decay)^k delta_{t+k}, delta = reward +
    discount V(next) - V(this), over action tokens alone (GAE, arXiv 1506.02438, eq. 16).

    The state after the last token has value 0. Use with the baseline "none".
    """
    return advantage_estimates(reward_t, value_t, episode_t.of, discount, decay)


@returns("turn_gae", per="turn")
def turn_gae(
    reward_k: Tensor, value_t: Tensor, turn_t: Segments, episode_k: Segments, discount: float = 1.0, decay: float = 0.95
) -> Tensor:
    """Generalised advantage estimate of each turn, V(turn) being the value before its first action token; one unit per
    turn (turn-level PPO). The state before a turn without action tokens has value 0. Use with the baseline "none"."""
    first = segment_starts(turn_t.of)
    value = torch.zeros_like(reward_k)
    value[turn_t.of[first]] = value_t[first].to(value.dtype)
    return advantage_estimates(reward_k, value, episode_k.of, discount, decay)


@returns("dual_gae", per="token")
def dual_scale_gae(
    reward_t: Tensor,
    value_t: Tensor,
    turn_t: Segments,
    episode_t: Segments,
    inner_discount: float = 1.0,
    inner_decay: float = 1.0,
    discount: float = 1.0,
    decay: float = 0.95,
) -> Tensor:
    """Generalised advantage estimate of each action token on two scales: from token to token of a turn by
    ``inner_discount`` and ``inner_decay``, from a turn's last token to the next turn by ``discount`` and ``decay``
    (When Greedy Wins, arXiv 2509.24923). Equal pairs, or turns of one token, give "gae". Use with the baseline
    "none"."""
    value, last = value_t.to(reward_t.dtype), torch.ones_like(turn_t.of, dtype=torch.bool)
    last[:-1] = turn_t.of[1:] != turn_t.of[:-1]
    following = torch.zeros_like(value)
    following[:-1] = torch.where(episode_t.of[1:] == episode_t.of[:-1], value[1:], 0)
    delta = reward_t + torch.where(last, discount, inner_discount) * following - value
    factor = torch.where(last, discount * decay, inner_discount * inner_decay).tolist()
    estimates, ahead, places = delta.tolist(), 0.0, episode_t.of.tolist()
    for place in reversed(range(len(estimates))):
        if place + 1 < len(places) and places[place + 1] != places[place]:
            ahead = 0.0
        ahead = estimates[place] = estimates[place] + factor[place] * ahead
    return reward_t.new_tensor(estimates)


@returns("kl_gae", per="token")
def token_gae_with_kl(
    reward_t: Tensor,
    value_t: Tensor,
    logp_old_t: Tensor,
    logp_ref_t: Tensor,
    episode_t: Segments,
    beta: float = 0.05,
    discount: float = 1.0,
    decay: float = 0.95,
) -> Tensor:
    """Generalised advantage estimate of each action token as in "gae", with the k1 estimate of the KL divergence to the
    reference in its reward: reward - beta (log pi_old - log ref) (ReFT, arXiv 2401.08967). The critic must have the
    same ``beta``."""
    reward = reward_t - check_number("beta", beta, 0) * (logp_old_t - logp_ref_t).to(reward_t.dtype)
    return advantage_estimates(reward, value_t, episode_t.of, discount, decay)


def advantage_estimates(reward: Tensor, value: Tensor, episode: Tensor, discount: float, decay: float) -> Tensor:
    """Compute generalised advantage estimates of M steps in order: [M], [M], int64 [M] -> [M].

    ``episode`` must be non-decreasing; the value after an episode's last step is 0.
    """
    following = torch.zeros_like(value)
    following[:-1] = torch.where(episode[1:] == episode[:-1], value[1:], 0)
    return suffix_sum(reward + discount * following - value, episode, discount * decay)


@returns("kl_to_go", per="token")
def kl_to_go(
    outcome_e: Tensor,
    logp_old_t: Tensor,
    logp_ref_t: Tensor,
    episode_t: Segments,
    kl_scale_e: Tensor,
    beta: float = 0.01,
    discount: float = 1.0,
) -> Tensor:
    """Discounted return-to-go of each action token, with a KL penalty as reward of every token: sum_{k>=t}
    discount^(k-t) (-beta (log pi_old - log ref)_k), plus the outcome as reward of the last token (REINFORCE++, arXiv
    2501.03262; ReMax, arXiv 2310.10505)."""
    scale = check_number("beta", beta, 0) * episode_t.expand(kl_scale_e)
    reward = -scale * (logp_old_t - logp_ref_t).to(outcome_e.dtype)
    last = segment_starts(episode_t.of.flip(0)).flip(0)
    reward[last] += outcome_e[episode_t.of[last]]
    return suffix_sum(reward, episode_t.of, discount)


@returns("kl_outcome", per="episode")
def kl_outcome(
    outcome_e: Tensor,
    logp_old_t: Tensor,
    logp_ref_t: Tensor,
    episode_t: Segments,
    kl_scale_e: Tensor,
    beta: float = 0.01,
) -> Tensor:
    """Outcome minus beta x sum of (log pi_old - log ref) over the episode; one unit per episode (RLOO, arXiv
    2402.14740, section 3)."""
    divergence = episode_t.sum((logp_old_t - logp_ref_t).to(outcome_e.dtype))
    return outcome_e - check_number("beta", beta, 0) * kl_scale_e * divergence


def gated_deviations(deviation_t: Tensor, episode_t: Segments, gate: float, most: int) -> Tensor:
    """Scale the deviations of each episode's tokens to [0, 1] by their least and largest, and keep the ``most`` largest
    of those above ``gate``; the others become 0, as all do in an episode of equal deviations (RLFR, arXiv 2510.10201,
    section 3.3).

    Tokens that tie with the last one kept are kept, too.
    """
    kept = torch.zeros_like(deviation_t)
    for episode in episode_t.of.unique().tolist():
        place = (episode_t.of == episode).nonzero()[:, 0]
        own = deviation_t[place]
        spread = own.max() - own.min()
        scaled = (own - own.min()) / spread if spread > 0 else torch.zeros_like(own)
        least = scaled.sort(descending=True).values[min(most, len(own)) - 1]
        kept[place] = torch.where((scaled > gate) & (scaled >= least), scaled, 0.0)
    return kept


@returns("flow_return", per="token")
def flow_return(
    reward_t: Tensor,
    flow_deviation_t: Tensor,
    episode_t: Segments,
    weight: float = 0.01,
    gate: float = 0.6,
    most: int = 15,
    discount: float = 1.0,
) -> Tensor:
    """Return-to-go of each action token, whose reward falls by ``weight`` x the deviation of its hidden state from
    those of right answers, where this is large (`gated_deviations`); one unit per token (RLFR, arXiv 2510.10201)."""
    check_number("gate", gate, 0, 1)
    deviation = gated_deviations(flow_deviation_t, episode_t, gate, check_count("most", most, 1, "tokens"))
    return suffix_sum(reward_t - weight * deviation.to(reward_t.dtype), episode_t.of, discount)


@returns("implicit_token", per="token")
def implicit_token(
    outcome_e: Tensor,
    logp_prm_t: Tensor,
    logp_ref_t: Tensor,
    episode_t: Segments,
    beta: float = 0.05,
    discount: float = 1.0,
) -> Tensor:
    """Return-to-go of the implicit process rewards beta (log pi_prm - log ref); one unit per token (PRIME, arXiv
    2502.01456).

    With the baseline "token_rate" this is PRIME's process advantage. The released code also adds a term that sums to
    zero over each response; it is left out here.
    """
    reward = beta * (logp_prm_t - logp_ref_t)
    return suffix_sum(reward.to(outcome_e.dtype), episode_t.of, discount)


@returns("rto", per="token")
def reinforced_token_to_go(
    reward_t: Tensor,
    logp_teacher_t: Tensor,
    logp_old_t: Tensor,
    logp_ref_t: Tensor,
    episode_t: Segments,
    dense: float = 0.05,
    clip: float = 0.05,
    kl: float = 0.01,
    outcome: float = 1.0,
    limit: float = 10.0,
    discount: float = 1.0,
) -> Tensor:
    """Return-to-go of the token rewards of `reinforced_token_rewards` (RTO, arXiv 2404.18922)."""
    gaps = (logp_teacher_t - logp_ref_t, logp_old_t - logp_ref_t)
    return suffix_sum(
        reinforced_token_rewards(reward_t, *gaps, dense, clip, kl, outcome, limit), episode_t.of, discount
    )


@returns("rto_gae", per="token")
def reinforced_token_gae(
    reward_t: Tensor,
    value_t: Tensor,
    logp_teacher_t: Tensor,
    logp_old_t: Tensor,
    logp_ref_t: Tensor,
    episode_t: Segments,
    dense: float = 0.05,
    clip: float = 0.05,
    kl: float = 0.01,
    outcome: float = 1.0,
    limit: float = 10.0,
    discount: float = 1.0,
    decay: float = 0.95,
) -> Tensor:
    """Generalised advantage estimate of each action token as in "gae", of the token rewards of
    `reinforced_token_rewards` (RTO, arXiv 2404.18922, which trains by PPO). The critic must have the same ``dense``,
    ``clip``, ``outcome`` and ``limit``, and ``kl`` as its ``beta``."""
    gaps = (logp_teacher_t - logp_ref_t, logp_old_t - logp_ref_t)
    reward = reinforced_token_rewards(reward_t, *gaps, dense, clip, kl, outcome, limit)
    return advantage_estimates(reward, value_t, episode_t.of, discount, decay)


def reinforced_token_rewards(
    reward: Tensor,
    trained_gap: Tensor,
    gap: Tensor,
    dense: float,
    clip: float,
    kl: float,
    outcome: float,
    limit: float,
) -> Tensor:
    """Compute the reward of each token [M]: dense x ``trained_gap``, limited to ``clip`` either way, - kl x ``gap`` +
    outcome x the reward, limited to ``limit`` either way (RTO, arXiv 2404.18922; values of the released run).

    Args:
        reward: of the environment and of shaping, such as a reward model's, [M].
        trained_gap: log-probability under a model that preferences trained (the model to distil from) minus that under
            the reference, [M].
        gap: log-probability under the sampling policy minus that under the reference, [M].
    """
    check_number("clip", clip, 0)
    check_number("limit", limit, 0)
    tokens = (dense * trained_gap).clamp(-clip, clip) - kl * gap
    return tokens.to(reward.dtype) + outcome * reward.clamp(-limit, limit)


@returns("implicit_turn", per="turn")
def implicit_turn(
    own_reward_k: Tensor, logp_prm_t: Tensor, logp_old_t: Tensor, turn_t: Segments, beta: float = 0.05
) -> Tensor:
    """Implicit reward of each turn, beta x sum over its tokens of log pi_prm - log pi_old; peers are all turns of the
    group (iStar, arXiv 2509.19199)."""
    return beta * turn_t.sum((logp_prm_t - logp_old_t).to(own_reward_k.dtype))


@returns("process_to_go", per="turn")
def process_to_go(process_k: Tensor, episode_k: Segments, discount: float = 1.0) -> Tensor:
    """Discounted sum of process rewards over each turn and all later turns, without the outcome (TP-GRPO, arXiv
    2507.23317). Use with baseline and scale "none", next to a credit term for the outcome."""
    return suffix_sum(process_k, episode_k.of, discount)


@returns("min_form", per="turn")
def soft_minimum(process_k: Tensor, episode_k: Segments, temperature: float = 0.1) -> Tensor:
    """Soft minimum of an episode's process rewards: suffix sums of softmax(-r / temperature)_k r_k, so that turns up to
    the worst one get about the worst reward and later ones about 0 (PURE, arXiv 2504.15275). The outcome is not
    included.

    Raises:
        InputError: the temperature is not positive.
    """
    if temperature <= 0:
        raise InputError(f"temperature={temperature} of the soft minimum must be positive.")
    lowest = episode_k.expand(segment_min(process_k, episode_k.of, episode_k.count))
    weight = ((lowest - process_k) / temperature).exp()
    return suffix_sum(weight / episode_k.shared_sum(weight) * process_k, episode_k.of)
