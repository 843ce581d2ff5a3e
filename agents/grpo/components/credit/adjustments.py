"""Adjustments: functions from the advantages of tokens to changed advantages, [N] -> [N]."""

from __future__ import annotations

import torch
from torch import Tensor

from .....checks import check_number
from .....errors import InputError
from ...batch.batch import Batch
from ...batch.rounding import ROUNDING
from ...batch.scored import needs
from ...batch.segments import number_combinations, prefix_mean, segment_places, segment_sum, suffix_sum
from ...batch.trajectory import Origin
from ...recipes.stages import ADJUSTMENTS
from .scales import standardise
from .tree import tree_of
from .units import turns_left


@ADJUSTMENTS.register("whiten")
def whiten_tokens(advantage: Tensor, batch: Batch, eps: float = 1e-8) -> Tensor:
    """Standardise to mean 0 and deviation 1 over the tokens that the policy sampled (PRIME, arXiv 2502.01456)."""
    counted = batch.written_by(Origin.POLICY).to(advantage.dtype)
    return torch.where(batch.action, standardise(advantage, counted, eps), 0)


@ADJUSTMENTS.register("given")
def use_stored_advantages(advantage: Tensor, batch: Batch) -> Tensor:
    """Replace the advantage of episodes that have a stored one (`Trajectory.advantage`, as replayed episodes do)."""
    known = [float("nan") if t.advantage is None else t.advantage for t in batch.trajectories]
    own = batch.per_token(torch.tensor(known, dtype=advantage.dtype))
    return torch.where(own.isnan() | ~batch.action, advantage, own)


@ADJUSTMENTS.register("token_contrast")
@needs("token_contrast")
def take_token_contrast(advantage: Tensor, batch: Batch) -> Tensor:
    """Replace the advantages by the contrast of each token, in [-1/2, 1/2] (T-REG, arXiv 2412.02685)."""
    return batch.measurement("token_contrast").to(advantage)


@ADJUSTMENTS.register("span_weights")
@needs("span_weights")
def take_span_weights(advantage: Tensor, batch: Batch) -> Tensor:
    """Replace the advantages by the weight of each token, in [0, 1], whatever the outcome (SRUM, arXiv 2510.12784)."""
    return batch.measurement("span_weights").to(advantage)


@ADJUSTMENTS.register("sign_weights")
def sign_weights(advantage: Tensor, batch: Batch, positive: float = 1.0, negative: float = 1.0) -> Tensor:
    """Multiply positive advantages by ``positive``, negative ones by ``negative`` (W-REINFORCE, arXiv 2506.01347)."""
    return torch.where(advantage > 0, positive * advantage, negative * advantage)


@ADJUSTMENTS.register("bounded")
def limit_advantages(advantage: Tensor, batch: Batch, low: float = -5.0, high: float = 5.0) -> Tensor:
    """Limit advantages to [low, high]."""
    return advantage.clamp(low, high)


@ADJUSTMENTS.register("sigma_filter")
def sigma_filter(advantage: Tensor, batch: Batch, sigmas: float = 3.0) -> Tensor:
    """Set advantages to 0 that are more than ``sigmas`` standard deviations from the mean over the policy's tokens
    (StableReinforce, arXiv 2505.02835).

    The released code compares standardised advantages with the mean before standardising; here mean and deviation are
    of the same values.
    """
    z = standardise(advantage, batch.written_by(Origin.POLICY).to(advantage.dtype), 1e-8)
    return torch.where(z.abs() <= sigmas, advantage, 0)


@ADJUSTMENTS.register("amplify")
def amplify(advantage: Tensor, batch: Batch, full: float = 1.0, factor: float = 3.0) -> Tensor:
    """Set advantages to 1 in episodes whose outcome is at least ``full``; in others multiply those that are not
    negative by ``factor`` (R3L, arXiv 2601.03715)."""
    raised = torch.where(advantage >= 0, factor * advantage, advantage)
    return torch.where(batch.action & batch.per_token(batch.outcome >= full), 1.0, raised)


@ADJUSTMENTS.register("suffix_kl")
@needs("logp_old", "logp_ref")
def suffix_kl(advantage: Tensor, batch: Batch, beta: float = 0.005, chunk: int = 1) -> Tensor:
    """Subtract beta x sum of log pi_old - log ref over this and all later tokens: the gradient of the KL divergence of
    whole episodes, unlike a penalty at each token (FRPO, arXiv 2601.10201).

    Args:
        chunk: number of tokens per chunk; the sum starts at the first token of the token's chunk. The released script
            has 256.
    """
    gap = (batch.measurement("logp_old") - batch.measurement("logp_ref"))[batch.action].to(advantage.dtype)
    episode = batch.episode_of[batch.action]
    ahead = suffix_sum(gap, episode)
    # The sum at the first token of each token's chunk.
    ahead = ahead[torch.arange(len(episode)) - segment_places(episode) % int(chunk)]
    if batch.kl_scale is not None:
        ahead = batch.kl_scale.nan_to_num(1.0).to(ahead)[episode] * ahead
    adjusted = advantage.clone()
    adjusted[batch.action] -= check_number("beta", beta, 0) * ahead
    return adjusted


@ADJUSTMENTS.register("confidence")
@needs("prompt_logp")
def confidence(advantage: Tensor, batch: Batch, alpha: float = 0.1, share: float = 0.2) -> Tensor:
    """Add alpha (confidence in the prompt - confidence in the answer) in groups with any return other than 0, so that
    answers of which the policy is confident are reinforced less (ProGRPO, arXiv 2602.05281).

    Confidence is the geometric mean probability of the ceil(share x n) least likely of n tokens. The paper does not
    state its alpha.
    """
    asked = least_likely(batch.measurement("prompt_logp"), batch.prompt, batch, share)
    answered = least_likely(batch.logp_mu, batch.written_by(Origin.POLICY), batch, share)
    rewarded = batch.sum_by_group(batch.outcome.abs()) > 0
    bonus = torch.where(rewarded[batch.group_of], alpha * (asked - answered), 0).to(advantage)
    return torch.where(batch.action, advantage + batch.per_token(bonus), advantage)


def least_likely(logp: Tensor, tokens: Tensor, batch: Batch, share: float) -> Tensor:
    """Return the geometric mean probability of the ceil(share x n) least likely of each episode's n ``tokens``, [E].

    Args:
        logp: log-probability of each token, nats, [N].
        tokens: mask of the tokens that count, bool [N]; an episode without any gets 1.
    """
    logp, episode = logp[tokens], batch.episode_of[tokens]
    order = logp.argsort(stable=True)
    order = order[episode[order].argsort(stable=True)]
    count = torch.bincount(episode, minlength=batch.episodes)
    wanted = (share * count.double() - 1e-9).ceil()
    low = segment_places(episode) < wanted[episode]
    total = segment_sum(logp[order][low], episode[low], batch.episodes)
    return (total / wanted.clamp(min=1).to(total.dtype)).exp()


@ADJUSTMENTS.register("entropy_shaped")
@needs("entropy")
def entropy_shaped(advantage: Tensor, batch: Batch, alpha: float = 0.4, kappa: float = 2.0) -> Tensor:
    """Add min(alpha H, |A| / kappa), H being the entropy of the token's distribution: uncertain tokens count more, and
    with kappa > 1 no advantage changes its sign (arXiv 2506.14758)."""
    bonus = torch.minimum(alpha * batch.measurement("entropy").to(advantage.dtype), advantage.abs() / kappa)
    return torch.where(batch.action, advantage + bonus, advantage)


@ADJUSTMENTS.register("dual_uncertainty")
@needs("entropy", "prompt_divergence", "twin_prompt")
def dual_uncertainty(
    advantage: Tensor,
    batch: Batch,
    alpha: float = 0.4,
    kappa: float = 2.0,
    twin_alpha: float = 1.0,
    twin_kappa: float = 2.0,
) -> Tensor:
    """Add min(alpha H, |A| / kappa) + min(twin_alpha u, |A| / twin_kappa), at most |A| by default (VOGUE, arXiv
    2510.01444).

    H is the entropy of the token's distribution, u the symmetric KL divergence between the distributions after two
    wordings of the prompt, 0 in episodes without a reworded prompt.
    """
    size = advantage.abs()
    bonus = torch.minimum(alpha * batch.measurement("entropy").to(size), size / kappa)
    bonus = bonus + torch.minimum(twin_alpha * batch.measurement("prompt_divergence").to(size), size / twin_kappa)
    return torch.where(batch.action, advantage + bonus, advantage)


@ADJUSTMENTS.register("shared_mean")
@needs("nodes")
def shared_mean(advantage: Tensor, batch: Batch) -> Tensor:
    """Average the advantages of a token over the episodes of the group that share it (ARPO's hard estimate, arXiv
    2507.19849)."""
    tree = tree_of(batch)
    node, visit = tree.of_token[batch.action], tree.visit_of_token[batch.action]
    shared = number_combinations(node, segment_places(visit))
    count = torch.bincount(shared)
    own = advantage[batch.action]
    total, size = (segment_sum(value, shared, len(count)) for value in (own, own.abs()))
    total = torch.where(total.abs() <= ROUNDING * size, 0, total)
    adjusted = advantage.clone()
    adjusted[batch.action] = (total / count.clamp(min=1))[shared]
    return adjusted


@ADJUSTMENTS.register("turn_discount")
def discount_turns(advantage: Tensor, batch: Batch, discount: float = 0.95) -> Tensor:
    """Multiply by discount^(number of turns that follow in the episode)."""
    return advantage * (discount ** turns_left(batch).to(advantage.dtype))[batch.turn_of]


@ADJUSTMENTS.register("turns_ahead")
def turns_ahead(advantage: Tensor, batch: Batch, discount: float = 1.0) -> Tensor:
    """Replace the advantage of turn k by A_k + discount x A_{k+1} + discount^2 x A_{k+2} + ..., A_k being the mean
    advantage of the turn: turn rewards are first compared with their peers, then credited to earlier turns (MT-GRPO,
    arXiv 2505.11821, eq. 5)."""
    turn = batch.turn_of[batch.action]
    total = segment_sum(advantage[batch.action], turn, len(batch.episode_of_turn))
    mean = total / torch.bincount(turn, minlength=len(total)).clamp(min=1)
    return torch.where(batch.action, suffix_sum(mean, batch.episode_of_turn, discount)[batch.turn_of], 0)


@ADJUSTMENTS.register("thoughts")
def thoughts(advantage: Tensor, batch: Batch, term: str = "step", alpha: float = 0.5) -> Tensor:
    """Change the advantages of steps that are known to be wrong (thought-level TP-GRPO, arXiv 2507.23317).

    In a successful episode, a wrong step loses alpha x success rate of the group. In a failed episode, the steps that
    led to the wrong answer count as right and keep the advantage; the other, "wrong" ones get 0. The paper merges
    successive steps that are all right or all wrong into one thought, which gives the same result.

    Args:
        term: name of a reward term of turns (of the environment or of a turn reward) that is positive exactly for right
            steps; turns without the term keep their advantage.
    """
    turns = [(e, turn) for e, trajectory in enumerate(batch.trajectories) for turn in trajectory.turns]
    wrong = torch.tensor([term in t.terms and t.terms[term] <= 0 for _, t in turns], dtype=torch.bool)
    won = torch.tensor([float(t.success) for t in batch.trajectories], dtype=advantage.dtype)
    rate = batch.sum_by_group(won) / batch.sum_by_group(torch.ones_like(won)).clamp(min=1)
    lower = torch.where(batch.per_token(won > 0), advantage - alpha * batch.per_token(rate[batch.group_of]), 0)
    return torch.where(wrong[batch.turn_of] & batch.action, lower, advantage)


@ADJUSTMENTS.register("token_reward_weight")
@needs("value")
def token_reward_weight(
    advantage: Tensor,
    batch: Batch,
    positive: float = 1.0,
    negative: float = 0.5,
    threshold: float = 0.5,
    top: float | None = None,
) -> Tensor:
    """Weight tokens by the predicted success of the episode's prefix (OREAL, arXiv 2502.06781, eqs. 8 and 9).

    Let c_t be the mean of the token rewards s up to token t (the auxiliary model "token_reward"). The weight is
    clip((sigma(c_t) - threshold) / (1 - threshold), 0, 1) where A > 0, and clip((1 - sigma(c_t) - threshold) / (1 -
    threshold), 0, 1) elsewhere. Under the reduction "token_mean", each sign is averaged separately, and the averages
    are weighted by ``positive`` and ``negative``.

    Args:
        top: share of an episode's tokens to keep, those with the largest weights (number rounded down; ties are broken
            in favour of earlier tokens); the others get 0. None keeps all.

    Raises:
        InputError: the threshold is not in [0, 1), or the share not in [0, 1].
    """
    if not 0 <= threshold < 1 or not (top is None or 0 <= top <= 1):
        raise InputError(f"threshold must lie in [0, 1) and top in [0, 1], not {threshold} and {top}.")
    action = batch.action
    a = advantage[action]
    promise = prefix_mean(batch.measurement("value")[action], batch.episode_of[action]).sigmoid()
    good = torch.where(a > 0, promise, 1 - promise)
    weight = ((good - threshold) / (1 - threshold)).clamp(0, 1).to(a)
    if top is not None:
        weight = weight * _select_largest(weight, batch, top)
    share = torch.where(
        a > 0, positive * len(a) / (a > 0).sum().clamp(min=1), negative * len(a) / (a < 0).sum().clamp(min=1)
    )
    result = torch.zeros_like(advantage)
    result[action] = a * weight * share.to(a)
    return result


def _select_largest(weight: Tensor, batch: Batch, top: float) -> Tensor:
    """Return the mask of the int(top x n) largest weights among the n action tokens of each episode, bool [A]."""
    keep = torch.zeros_like(weight, dtype=torch.bool)
    begin = 0
    for count in batch.action_count.tolist():
        order = weight[begin : begin + count].sort(descending=True, stable=True).indices
        keep[begin + order[: int(top * count)]] = True
        begin += count
    return keep
