"""Policies small enough to enumerate: the learner's own components, weighted by exact probabilities instead of being
sampled, against gradients and optima that are known in closed form.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.batch.batch import Batch, collate
from palaestra.agents.grpo.batch.tally import Tally
from palaestra.agents.grpo.batch.trajectory import Group
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES, Credit, Recipe, c
from palaestra.agents.grpo.recipes.stages import SURROGATES
from torch import Tensor

from .components.tokens import scored_of  # isort: skip
from .conftest import trajectory  # isort: skip

Reward = Callable[[tuple[int, ...]], float]

PLAIN = Recipe(name="plain", paper="", summary="", credit=(Credit(scale=c("none")),), surrogate=c("clip"))
"""GRPO without its division by the standard deviation, which has another fixed point."""


# Policies ------------------------------------------------------------------------------------------------------------


def table(*rows: Sequence[float]) -> Tensor:
    """Logits of a policy: the first row at the first step, row 1 + a after action a, in double precision."""
    return torch.tensor(rows, dtype=torch.float64)


def answers(logits: Tensor) -> list[tuple[int, ...]]:
    """Every answer: one action where there is one row, else two."""
    steps = 1 if len(logits) == 1 else 2
    return list(itertools.product(range(logits.shape[1]), repeat=steps))


def logps(logits: Tensor) -> Tensor:
    """Log-probability of each token of each answer, [answers, steps]."""
    steps = logits.log_softmax(-1)
    return torch.stack([torch.stack([steps[0, a[0]], *(steps[1 + a[0], b] for b in a[1:])]) for a in answers(logits)])


def expected_reward(logits: Tensor, reward: Reward) -> Tensor:
    return (logps(logits).sum(1).exp() * torch.tensor([reward(a) for a in answers(logits)])).sum()


def divergence(logits: Tensor, other: Tensor) -> Tensor:
    """KL(pi || other) of whole answers, by definition."""
    mine, theirs = logps(logits).sum(1), logps(other).sum(1)
    return (mine.exp() * (mine - theirs)).sum()


def slope(function: Callable[[Tensor], Tensor], logits: Tensor) -> Tensor:
    at = logits.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(function(at), at)
    return gradient


# The learner on them -------------------------------------------------------------------------------------------------


def every_answer(logits: Tensor, reward: Reward, other: Tensor | None, greedy: float | None = None) -> Batch:
    """One episode for each answer, as sampled by the policy; ``other`` is reference and teacher."""
    known = logps(logits)
    rows = [
        trajectory(reward(a), [([9], list(a))], [row.tolist()]) for a, row in zip(answers(logits), known, strict=True)
    ]
    batch = collate([Group(0, tuple(rows), greedy=greedy)])
    theirs = known if other is None else logps(other)
    place = batch.action.nonzero()[:, 0]

    def at(values: Tensor) -> Tensor:
        return torch.zeros(len(batch.ids), dtype=torch.float64).index_copy(0, place, values.flatten())

    return batch.with_(logp_old=at(known), logp_ref=at(theirs), logp_teacher=at(theirs))


def learned(
    recipe: Recipe | Objective, logits: Tensor, reward: Reward, other: Tensor | None = None, greedy: float | None = None
) -> Tensor:
    """Minus the gradient of a recipe's loss with respect to the logits, in expectation over the policy's answers; the
    loss of an answer is the sum over its tokens.
    """
    batch = every_answer(logits, reward, other, greedy)
    objective = Objective(recipe, teacher_model=True) if isinstance(recipe, Recipe) else recipe
    weighted = objective.rollout_terms.weigh(batch)
    at = logits.clone().requires_grad_()
    logp = logps(at).flatten()
    place = batch.action.nonzero()[:, 0]
    probability = logps(logits).sum(1).exp()
    scored = scored_of(
        logp,
        logp.detach(),
        weighted.advantage[place].to(logp),
        episode=batch.episode_of[place],
        weight=batch.per_token(probability)[place],
        outcome=batch.outcome.to(logp),
        group=batch.group_of,
        logp_ref=batch.measurement("logp_ref")[place],
        logp_teacher=batch.measurement("logp_teacher")[place],
    )
    (gradient,) = torch.autograd.grad(weighted.loss(scored, Tally()), at)
    return -gradient


def close(one: Tensor, other: Tensor) -> bool:
    # Rewards and advantages are single precision.
    return torch.allclose(one, other, atol=2e-6)


TWO_STEPS = table((0.3, -0.4, 0.1), (0.5, 0.2, -0.7), (-0.2, 0.9, 0.0), (1.1, -0.6, 0.4))
OTHER = table((-0.5, 0.2, 0.6), (0.1, -0.3, 0.2), (0.8, 0.0, -0.4), (-0.9, 0.3, 0.3))


def mixed(answer: tuple[int, ...]) -> float:
    """Every answer is paid differently."""
    return math.sin(1.0 + 2.0 * answer[0] + 5.0 * answer[-1])


def test_grpo_has_the_gradient_of_the_expected_reward():
    # The mean over the group is a constant here, as the group holds every answer.
    exact = slope(lambda z: expected_reward(z, mixed), TWO_STEPS)
    assert close(learned(PLAIN, TWO_STEPS, mixed), exact)
    assert exact.abs().max() > 0.05


# BroRL (arXiv 2510.01180): what one step on N sampled tokens does to the mass of the correct ones --------------------

LOGITS = torch.tensor([0.7, -0.3, 0.2, 1.1, -0.9, 0.4, 0.0, -0.5], dtype=torch.float64)
CORRECT = torch.tensor([True, False, True, False, False, True, False, False])


def moved_mass(sampled: Sequence[int], rate: float, logits: Tensor = LOGITS) -> float:
    """Change of the probability of the correct tokens after one step on the REINFORCE loss over sampled tokens, paid 1
    where they are correct and -1 elsewhere.
    """
    at = logits.clone().requires_grad_()
    logp = at.log_softmax(-1)[list(sampled)]
    paid = torch.where(CORRECT, 1.0, -1.0).double()[list(sampled)]
    scored = scored_of(logp, logp.detach(), paid, weight=logp.detach().exp() / len(sampled))
    value = (scored.weight * SURROGATES["reinforce"](scored).value).sum()
    (gradient,) = torch.autograd.grad(value, at)
    before, after = logits.softmax(-1), (logits + rate * gradient).softmax(-1)
    return float(after[CORRECT].sum() - before[CORRECT].sum())


def predicted_mass(sampled: Sequence[int], rate: float) -> float:
    """The paper's identity."""
    p = LOGITS.softmax(-1)
    seen = torch.zeros(len(p), dtype=torch.bool)
    seen[list(sampled)] = True
    level = float(p[seen & CORRECT].sum() - p[seen & ~CORRECT].sum())
    good, bad = float(p[CORRECT].sum()), float(p[~CORRECT].sum())
    seen_good, seen_bad, unseen_good, unseen_bad = (
        float(p[where].square().sum()) for where in (seen & CORRECT, seen & ~CORRECT, ~seen & CORRECT, ~seen & ~CORRECT)
    )
    terms = (1 - level) * bad * seen_good + (level + 1) * good * seen_bad
    return rate / len(sampled) * (terms + level * (good * unseen_bad - bad * unseen_good))


@pytest.mark.parametrize("sampled", [(0, 1), (0, 2, 5), (1, 3, 4), (3,), (0, 1, 3, 4, 6), tuple(range(8))])
def test_a_reinforce_step_moves_the_correct_mass_as_the_identity_says(sampled):
    rate = 1e-5
    symmetric = (moved_mass(sampled, rate) - moved_mass(sampled, -rate)) / 2
    assert symmetric == pytest.approx(predicted_mass(sampled, rate), rel=1e-6)
    assert moved_mass(sampled, rate) == pytest.approx(predicted_mass(sampled, rate), rel=1e-4)


def test_only_unsampled_tokens_can_lower_the_correct_mass():
    # An unlikely correct token alone is sampled: a likely one pays for its rise.
    likely = LOGITS + torch.tensor([3.0] + [0.0] * 7, dtype=torch.float64)
    assert moved_mass((2,), 1e-3, likely) < 0
    assert moved_mass((0, 2), 1e-3, likely) > 0
    assert moved_mass(range(8), 1e-3, likely) > 0


# RL with KL penalties as Bayesian inference (arXiv 2205.11275): the optimum is pi_0 exp(r / beta) / Z ----------------


def converged(recipe: Recipe, base: Tensor, reward: Reward, steps: int = 50, rate: float = 2.0) -> list[float]:
    objective = Objective(recipe)
    logits = torch.zeros_like(base)
    for _ in range(steps):
        logits = logits + rate * learned(objective, logits, reward, base)
    return logits[0].softmax(-1).tolist()


def in_return(beta: float) -> Recipe:
    return replace(PLAIN, credit=(Credit(c("kl_outcome", beta=beta), scale=c("none")),))


def in_loss(name: str, beta: float) -> Recipe:
    return replace(PLAIN, regularisers=(c(name, coefficient=beta),))


def first_pays(answer: tuple[int, ...]) -> float:
    return float(answer[0] == 0)


@pytest.mark.parametrize(("base", "beta"), [((0.5, 0.5), 1.0), ((0.2, 0.8), 1.0), ((0.5, 0.5), 0.5)])
@pytest.mark.parametrize("kind", ["return", "kl_k2", "kl_straight"])
def test_a_run_ends_at_the_posterior(kind, base, beta):
    recipe = in_return(beta) if kind == "return" else in_loss(kind, beta)
    start = table([math.log(p) for p in base])
    z = base[0] * math.exp(1 / beta) + base[1]
    assert converged(recipe, start, first_pays) == pytest.approx(
        [base[0] * math.exp(1 / beta) / z, base[1] / z], abs=1e-4
    )


def test_the_values_of_the_two_armed_bandit():
    base = table((0.0, 0.0))
    best = converged(in_return(1.0), base, first_pays)
    assert best == pytest.approx([0.7311, 0.2689], abs=1e-4)
    logits = table([math.log(p) for p in best])
    assert float(expected_reward(logits, first_pays) - divergence(logits, base)) == pytest.approx(0.6201, abs=1e-4)


def test_k3_in_the_loss_ends_elsewhere():
    # Its gradient is that of KL(pi_0 || pi), so p (1 - p) = p - 1/2 at the end: p = 1 / sqrt(2).
    got = converged(in_loss("kl_k3", 1.0), table((0.0, 0.0)), first_pays)
    assert got[0] == pytest.approx(1 / math.sqrt(2), abs=1e-4)


# FRPO (arXiv 2601.10201): the KL of what follows ---------------------------------------------------------------------


def objective_gradient(beta: float) -> Tensor:
    return slope(lambda z: expected_reward(z, mixed) - beta * divergence(z, OTHER), TWO_STEPS)


@pytest.mark.parametrize("beta", [0.1, 1.0])
def test_the_kl_of_what_follows_has_the_gradient_of_the_penalised_objective(beta):
    recipe = replace(PLAIN, adjustments=(c("suffix_kl", beta=beta),))
    assert close(learned(recipe, TWO_STEPS, mixed, OTHER), objective_gradient(beta))


def test_so_has_the_kl_in_the_return_of_each_token_or_episode():
    for returns in ("kl_outcome", "kl_to_go"):
        recipe = replace(PLAIN, credit=(Credit(c(returns, beta=1.0), c("none"), c("none")),))
        assert close(learned(recipe, TWO_STEPS, mixed, OTHER), objective_gradient(1.0))


@pytest.mark.parametrize("local", ["kl_k3", "kl_k2"])
def test_a_penalty_at_each_token_has_not(local):
    # Neither estimate sees that the first action decides which divergence the second one meets.
    got = learned(in_loss(local, 1.0), TWO_STEPS, mixed, OTHER)
    assert (got - objective_gradient(1.0)).abs().max() > 0.02


# KDRL (arXiv 2506.02208): estimates of the divergence from a teacher -------------------------------------------------

POLICY, TEACHER = table((0.2, -0.5, 0.9)), table((1.0, 0.3, -0.6))


def unpaid(answer: tuple[int, ...]) -> float:
    return 0.0


@pytest.mark.parametrize(
    "recipe",
    [
        replace(PLAIN, regularisers=(c("kdrl", coefficient=1.0),)),
        in_loss("kl_k2", 1.0),
        replace(PLAIN, surrogate=c("distill")),
    ],
    ids=["kdrl", "kl_k2", "distill"],
)
def test_k2_has_the_gradient_of_the_reverse_divergence(recipe):
    assert close(learned(recipe, POLICY, unpaid, TEACHER), -slope(lambda z: divergence(z, TEACHER), POLICY))


def test_k3_has_the_gradient_of_the_forward_divergence():
    got = learned(in_loss("kl_k3", 1.0), POLICY, unpaid, TEACHER)
    assert close(got, -slope(lambda z: divergence(TEACHER, z), POLICY))
    assert (got + slope(lambda z: divergence(z, TEACHER), POLICY)).abs().max() > 0.05


@pytest.mark.parametrize("recipe", ["kl_k2", "kl_k3", "kdrl"])
def test_at_the_teacher_there_is_no_gradient(recipe):
    assert close(learned(in_loss(recipe, 1.0), TEACHER, unpaid, TEACHER), torch.zeros_like(TEACHER))


def test_where_everyone_succeeds_the_teacher_is_not_asked():
    recipe = replace(PLAIN, regularisers=(c("kdrl", coefficient=1.0, unless="group"),))
    assert not learned(recipe, POLICY, lambda answer: 1.0, TEACHER).any()
    assert learned(recipe, POLICY, unpaid, TEACHER).any()


# ReMax (arXiv 2310.10505): the greedy answer as the baseline ---------------------------------------------------------


def remax(beta: float = 0.0) -> Recipe:
    return RECIPES["remax"].with_(returns=f"kl_to_go(beta={beta})")


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_the_greedy_baseline_is_unbiased(p):
    logits = table((math.log(p), math.log(1 - p)))
    greedy = float(p >= 0.5)
    exact = table((p * (1 - p), -p * (1 - p)))
    assert close(learned(remax(), logits, first_pays, greedy=greedy), exact)


def test_the_recipe_has_the_gradient_of_its_objective_over_several_steps():
    greedy = mixed((0, 0))
    got = learned(remax(beta=0.5), TWO_STEPS, mixed, OTHER, greedy=greedy)
    assert close(got, objective_gradient(0.5))


def test_the_greedy_answer_itself_teaches_nothing():
    batch = every_answer(POLICY, mixed, None, greedy=mixed((2,)))
    advantage = Objective(remax()).rollout_terms.weigh(batch).advantage[batch.action]
    assert advantage[2].item() == pytest.approx(0.0, abs=1e-7)
    assert advantage[:2].abs().min() > 0.1
