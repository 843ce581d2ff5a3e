"""Rows of the recipe table: no two alike, each with its source, and the constants that papers state."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.passes import Outputs
from palaestra.agents.grpo.batch.tally import Tally
from palaestra.agents.grpo.batch.trajectory import Node
from palaestra.agents.grpo.objective.dry_run import with_measurements
from palaestra.agents.grpo.objective.loss import make_scored
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES, Recipe

from ..conftest import group, trajectory  # isort: skip

ROWS = {
    "bapo": {"surrogate": "bapo(share=0.4)", "minibatches": "4", "epochs": "2"},
    "dapo": {"surrogate": "clip(low=0.2, high=0.28)", "minibatches": "16"},
    "dr_grpo": {"minibatches": "8"},
    "cispo": {"surrogate": "cispo(cap=5.0)", "reduction": "token_mean", "minibatches": "16"},
    "dcpo": {"surrogate": "dcpo(low=0.16, high=0.2)", "minibatches": "16"},
    "dppo": {"surrogate": "dppo_tv(low=0.15, high=0.15)"},
    "dppo_kl": {"surrogate": "dppo_kl(low=0.05, high=0.05)"},
    "entropy_advantage": {"adjustments": "entropy_shaped(alpha=0.4, kappa=2.0)"},
    "frpo": {"adjustments": "suffix_kl(beta=0.005, chunk=256)"},
    "gdpo": {"credit": "whiten_units[outcome - none]"},
    "gmpo": {"surrogate": "gmpo(low=0.4, high=0.4)", "reduction": "sequence_mean"},
    "gspo": {"surrogate": "gspo(low=0.0003, high=0.0004)", "reduction": "sequence_mean", "minibatches": "4"},
    "intellect_2": {"surrogate": "two_sided(low=0.2, high=0.2, delta=4.0)", "regularisers": "kl_k3(coefficient=0.001)"},
    "luspo": {"surrogate": "gspo(low=0.002, high=0.0025)", "reduction": "sequence_sum"},
    "m2po": {"corrector": "m2po(limit=0.04)", "surrogate": "ratio", "reduction": "token_mean"},
    "ngrpo": {"surrogate": "clip(low=0.16, high=0.24)"},
    "prime": {"filters": "pass_rate(low=0.2, high=0.8)"},
    "prime_rl": {"surrogate": "dppo_tv(low=0.2, high=0.2, form='ratio')"},
    "prorl": {"surrogate": "clip(low=0.2, high=0.4)"},
    "qae": {"credit": "group_std(ddof=1, eps=0.0001)[outcome - quantile(level=0.4)]"},
    "rl_plus": {"credit": "none[outcome - own_mean]"},
    "reft": {"shaping": "partial-number", "regularisers": "none", "epochs": "2"},
    "observe_r1": {"weights": "mid_difficulty(factor=4.0, level='accuracy')"},
    "unlikeliness": {"regularisers": "kl_k3(coefficient=0.1)", "epochs": "2"},
    "sapo": {"surrogate": "sapo(tau_positive=1.0, tau_negative=1.05)"},
}


def advantages(name: str, *episodes) -> list[float]:
    """Of the action tokens of one group's episodes."""
    batch = collate([group(*episodes)])
    return Objective(RECIPES[name]).rollout_terms.weigh(batch).advantage[batch.action].tolist()


def paid(*rewards: float):
    """An episode of one token a turn with these rewards."""
    made = trajectory(0.0, [([5], [6])] * len(rewards))
    return replace(made, turns=tuple(replace(t, reward=r) for t, r in zip(made.turns, rewards, strict=True)))


def test_tree_rpo_divides_by_the_population_deviation_of_siblings():
    one, other = (replace(trajectory(r, [([5], [6])]), nodes=(Node(f"leaf {r}", 1),)) for r in (1.0, 0.0))
    assert advantages("tree_rpo", one, other) == pytest.approx([1.0, -1.0], abs=1e-3)


def test_mt_grpo_hands_the_last_turns_advantage_back():
    # First turns are paid 1 and 0, last ones 0 and 1: A = +-.7071 each, and the first turn has the sum (eq. 5).
    half = 0.5**0.5
    got = advantages("mt_grpo", paid(1.0, 0.0), paid(0.0, 1.0))
    assert got == pytest.approx([0.0, -half, 0.0, half], abs=2e-4)
    # An episode of one turn is GRPO's.
    assert advantages("mt_grpo", paid(1.0), paid(0.0)) == pytest.approx(advantages("grpo", paid(1.0), paid(0.0)))


def test_no_two_rows_are_equal_but_for_name_paper_and_summary():
    rows: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for name, recipe in RECIPES.items():
        rows.setdefault(tuple(recipe.stages().items()), []).append(name)
    assert [names for names in rows.values() if len(names) > 1] == []


@pytest.mark.parametrize("name", list(RECIPES))
def test_a_row_says_where_it_comes_from_and_what_differs(name):
    recipe = RECIPES[name]
    assert recipe.summary
    assert not recipe.summary.endswith(".")
    # Besides its number in the archive, or instead of it, a method has a name.
    assert re.match(r"[\w-]{2,}", re.sub(r",? arXiv \d{4}\.\d{5}", "", recipe.paper))


@pytest.mark.parametrize("name", list(ROWS))
def test_a_row_holds_the_papers_constants(name):
    stages = RECIPES[name].stages()
    assert {stage: stages[stage] for stage in ROWS[name]} == ROWS[name]


def directions(updates: Callable[[Recipe], int]) -> dict[str, torch.Tensor]:
    """Direction of each recipe's gradient with respect to log-probabilities and entropies, at ratios that a step of
    ``updates`` updates has: 1 at the first update, anything at later ones.
    """
    found = {}
    for name, recipe in RECIPES.items():
        objective = Objective(replace(recipe, shaping=()), teacher_model=True, extras={"passage"})
        objective.advance(5, 10)
        batch = with_measurements(collate(objective.filter_groups(played_groups())), objective)
        weighted = objective.rollout_terms.weigh(replace(batch, logp_old=batch.logp_mu))
        place = batch.action.nonzero()[:, 0]
        moved = 0.4 * torch.randn(len(batch.ids), generator=torch.Generator().manual_seed(0))[place]
        logp = batch.logp_mu[place] + (moved if updates(recipe) > 1 else 0)
        leaves = [logp.clone().requires_grad_(), *(x.requires_grad_() for x in (0.5 - 0.1 * logp, 0.1 * logp**2))]
        outputs = Outputs(*leaves, logp_top=batch.measurement("top_logp")[place])
        scored = make_scored(weighted, place, batch.episode_of[place], torch.arange(batch.episodes), outputs)
        slopes = torch.autograd.grad(weighted.loss(scored, Tally()), leaves, allow_unused=True)
        slope = torch.cat([torch.zeros_like(x) if s is None else s for s, x in zip(slopes, leaves, strict=True)])
        if slope.abs().max() > 0:
            found[name] = slope / slope.norm()
    return found


def count_distinct(found: Mapping[str, torch.Tensor]) -> int:
    kinds: list[torch.Tensor] = []
    for slope in found.values():
        if not any(slope.shape == other.shape and slope @ other > 1 - 1e-6 for other in kinds):
            kinds.append(slope)
    return len(kinds)


def played_groups():
    """Three groups of eight episodes of unequal length whose log-probabilities differ."""
    noise = torch.Generator().manual_seed(1)
    groups = []
    for number in range(3):
        rows = []
        for sample in range(8):
            turns = [([1, 2], [3] * (2 + (sample + turn) % 3)) for turn in range(2)]
            logps = [(-torch.rand(len(act), generator=noise) - 0.1).tolist() for _, act in turns]
            won = float((number + sample) % (2 + number) == 0)
            made = trajectory(won, turns, logps, [f"{sample % 2}"] * 2, params={}, version=4)
            first = len(made.turns[0].act_ids)
            nodes = (Node("root", first, 0.5), Node(f"leaf {sample}", made.action_tokens - first, 0.25))
            rows.append(replace(made, nodes=nodes))
        groups.append(replace(group(*rows), greedy=0.5, drawn=(0.0, 1.0, *(t.outcome for t in rows))))
    return groups


def labelled(labels: list[bool], success: bool):
    made = trajectory(float(success), [([5], [6])] * len(labels), success=success)
    return replace(made, extras={"step_labels": labels})


def test_tp_grpo_spares_right_thoughts_of_failures_and_charges_wrong_ones_of_successes():
    objective = Objective(RECIPES["tp_grpo"], extras={"step_labels"})
    groups = objective.add_rewards([group(labelled([True, False, True], True), labelled([True, False, True], False))])
    batch = collate(groups)
    got = objective.rollout_terms.weigh(batch).advantage[batch.action].tolist()
    # The outcomes are standardised to 1 and -1; half of the group's accuracy is 1/4.
    assert got == pytest.approx([1.0, 0.75, 1.0, -1.0, 0.0, -1.0], abs=1e-6)


RATIO_FAMILY = (
    *("gspo", "gmpo", "sapo", "dcpo", "m2po", "cispo", "kl_cov", "dual_clip", "aspo", "bapo", "dppo", "dppo_kl"),
    *("vespo", "dapo", "intellect_2"),
)
"""Rows that differ in what they do with the ratio: at ratio 1 they are two or three."""


def test_recipes_differ_at_the_number_of_updates_that_they_ship_with():
    at_one, shipped = directions(lambda recipe: 1), directions(lambda recipe: recipe.minibatches * recipe.epochs)
    assert count_distinct(shipped) >= count_distinct(at_one) + 20
    # Most recipes that only differ in rewards, rollouts or filters point where GRPO does on these episodes.
    assert count_distinct({name: at_one[name] for name in RATIO_FAMILY}) <= 6
    assert count_distinct({name: shipped[name] for name in RATIO_FAMILY}) == len(RATIO_FAMILY)


def judged(process: tuple[float, ...], outcome: float):
    """An episode of one token a turn with process rewards, and its outcome paid by the environment at the end."""
    made = trajectory(outcome, [([5], [6])] * len(process), stepwise=True)
    turns = (replace(turn, shaping=reward) for turn, reward in zip(made.turns, process, strict=True))
    return replace(made, turns=tuple(turns), shaping={"process": sum(process)})


def test_pure_takes_process_rewards_apart_from_the_outcome():
    got = advantages("pure", judged((0.5, 0.8, -0.2), 1.0), judged((0.4, 0.6), 0.0))
    # The soft minimum alone is -0.199 and 0.42; the outcome adds 1 to the won episode and -1 to the lost one.
    assert got[:3] == pytest.approx([0.165, 0.376, 0.588], abs=1e-3)
