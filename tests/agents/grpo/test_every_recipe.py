"""What holds for every recipe: its gradient does not depend on how a batch is cut, ordered, packed or shared out, one
update makes the better answer likelier, and a run of a few steps learns the better of two arms.
"""

from __future__ import annotations

import copy
import functools
import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from palaestra.agents.grpo.batch.batch import Batch, collate
from palaestra.agents.grpo.batch.packing import PACKERS
from palaestra.agents.grpo.batch.passes import Passes
from palaestra.agents.grpo.batch.trajectory import Group, Node
from palaestra.agents.grpo.config import TrainConfig, WarmUp
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.objective.dry_run import with_measurements
from palaestra.agents.grpo.objective.loss import accumulate_gradients
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.agents.grpo.update import Update
from palaestra.agents.language.model import LanguageModel
from palaestra.errors import InputError

from .arms import ENV, SUPPLIED, both_arms, measured, preference, trained_on  # isort: skip
from .conftest import trajectory  # isort: skip

WITHOUT_LABELS = {"evol_rl", "ttrl", "co_rewarding", "co_rewarding_ema", "co_rewarding_both"}
"""Recipes that strengthen what the policy mostly says already; they begin where that is right."""

BEYOND_ARMS = {"comas", "r_nad", "spar", "theta_evolve"}
"""Recipes that the two arms cannot serve: with marks of a scorer, with a game of two seats, with pairs of a model that
can refine an answer, and with programs to edit."""

WITHOUT_OUTCOME = {"rlp"}
"""Recipes that pay whatever makes the reference likelier afterwards, which need not be the reference itself."""

every_recipe = pytest.mark.parametrize("name", list(RECIPES))


# Invariance ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def models(small):
    """A model, a different reference and a third to distil from, in double precision, so that what is left is not
    rounding.
    """
    made = [copy.deepcopy(small.model).double() for _ in range(3)]
    with torch.no_grad():
        for model, factor in zip(made, (1.0, 1.01, 1.02), strict=True):
            for weight in model.parameters():
                weight.mul_(factor)
    return made


@pytest.fixture(scope="module")
def full(ragged, models):
    """The ragged groups with everything that a rollout strategy may provide. Every other episode was sampled by nearly
    the policy that is trained, the rest by one whose ratios are past most bounds.
    """
    batch = collate(ragged)
    logps = iter(Passes().measure(models[0], batch).logp[batch.action].tolist())
    noise = np.random.default_rng(0)

    def sampled(number, trajectory):
        spread = 0.002 if number % 2 else 0.4
        turns = tuple(
            replace(turn, logps=tuple(next(logps) + spread * noise.normal() for _ in turn.act_ids))
            for turn in trajectory.turns
        )
        return replace(trajectory, turns=turns)

    ragged = [replace(g, trajectories=tuple(sampled(i, t) for i, t in enumerate(g.trajectories))) for g in ragged]

    def grown(number, trajectory):
        tokens = trajectory.action_tokens
        first = len(trajectory.turns[0].act_ids)
        nodes = (Node("root", first, 0.5), Node(f"{number}", tokens - first, 0.25))
        return replace(trajectory, nodes=nodes if tokens > first else nodes[:1])

    # Answers repeat, so that votes have a majority.
    def answering(place, number, trajectory):
        turns = (*trajectory.turns[:-1], replace(trajectory.turns[-1], action=str(number % 2)))
        labels = [bool((number + k) % 3) for k in range(len(turns))]
        extras = {**SUPPLIED, "step_labels": labels, "reference": "1"}
        extras |= measured(place, "1", trajectory.action_tokens, number > 0) | {"objective": number / 3}
        return replace(trajectory, turns=turns, extras={**extras, "thought_logps": [-0.1 * number]})

    return [
        replace(
            group,
            trajectories=tuple(answering(place, i % 3, grown(i, t)) for i, t in enumerate(group.trajectories)),
            greedy=0.5,
            drawn=(0.0, 1.0, *(t.outcome for t in group.trajectories)),
        )
        for place, group in enumerate(ragged)
    ]


def update_of(models, name: str, **settings) -> Update:
    config = TrainConfig(recipe=name, **settings)
    objective = Objective(RECIPES[name], teacher_model=True, extras=SUPPLIED)
    objective.advance(3, 10)
    return Update(config, objective, *models)


WAYS: dict[str, dict[str, Any]] = {
    "cutting it into micro-batches": {"token_budget": 35},
    "another order of its groups and episodes": {"shuffle": True},
    "packing prompts that episodes share": {"packer": "shared_prefix"},
    "sharing it out between two workers": {"workers": 2},
}
"""What a batch may go through on its way; by default it goes in one piece."""


def gradient(models, name: str, groups, *, packer="plain", token_budget=10_000, shuffle=False, workers=1):
    """Of the first mini-batch, summed over the workers."""
    if shuffle:
        groups = [replace(groups[i], trajectories=groups[i].trajectories[::-1]) for i in (3, 0, 4, 2, 1)]
    update = update_of(models, name, minibatches=1, epochs=1, packer=packer, token_budget=token_budget)
    update.model.zero_grad()
    kept = update.objective.filter_groups(update.objective.add_rewards(groups))
    streams = [groups for _ in update.objective.streams]
    for part in update._weigh_minibatches(kept, streams)[0]:
        for worker in range(workers):
            share = range(worker, part.batch.episodes, workers)
            accumulate_gradients(update.model, part, update.passes, reference=update.reference, episodes=share)
    return gradient_of(update.model)


def gradient_of(model) -> torch.Tensor:
    zero = [torch.zeros_like(w) if w.grad is None else w.grad for w in model.parameters()]
    return torch.cat([grad.flatten() for grad in zero])


def apart(one: torch.Tensor, other: torch.Tensor) -> float:
    return float((one - other).abs().max()) / max(1.0, float(other.abs().max()))


def test_the_ways_of_a_batch_make_single_and_several_episodes_and_prompts_in_common(full):
    batch = collate(full)
    for share in (range(0, batch.episodes, 2), range(1, batch.episodes, 2)):
        cut = PACKERS["shared_prefix"](batch, share, WAYS["cutting it into micro-batches"]["token_budget"])
        sizes = [len(micro.episodes) for micro in cut]
        assert min(sizes) == 1 < max(sizes)
        assert any(segment.context for micro in cut for segment in micro.segments)


@every_recipe
def test_the_gradient_does_not_depend_on_how_a_batch_is_cut_ordered_packed_or_shared_out(name, models, full):
    # Trap 9: no normaliser is local to a micro-batch.
    whole = gradient(models, name, full)
    assert torch.isfinite(whole).all()
    assert whole.abs().max() > 1e-6

    def changed(**settings) -> bool:
        return apart(gradient(models, name, full, **settings), whole) >= 1e-6

    if changed(**{key: value for settings in WAYS.values() for key, value in settings.items()}):
        alone = [way for way, settings in WAYS.items() if changed(**settings)]
        pytest.fail(f"the gradient is changed by {', by '.join(alone) or 'all ways together, by none alone'}")


def spares(name: str) -> bool:
    """True if failed episodes are left out while the policy is its reference, though not otherwise."""
    loss = Objective(RECIPES[name], teacher_model=True, extras=SUPPLIED).rollout_terms.loss
    return not loss.coupled and loss.trains_every_row() and not loss.trains_every_row(at_reference=True)


@pytest.mark.parametrize("name", [name for name in RECIPES if spares(name)])
def test_at_the_reference_the_episodes_that_are_left_out_have_no_gradient(name, models, full):
    model = models[0]
    # A group without variance among others.
    groups = [replace(full[0], trajectories=(full[0].trajectories[0],) * len(full[0].trajectories)), *full[1:]]
    update = update_of((model, copy.deepcopy(model), models[2]), name, minibatches=1, epochs=1, token_budget=10_000)
    kept = update.objective.filter_groups(update.objective.add_rewards(groups))
    needs = (
        update.objective.rollout_terms.needs_before
        | update.objective.rollout_terms.loss.needs
        | update.objective.auxiliary_needs
    )
    batch = update._measure(collate(kept), needs, old=True)
    weighted = update.objective.rollout_terms.weigh(batch, live_anchor=False)
    found = []
    for episodes in (weighted.episodes, weighted.episodes_at_reference):
        model.zero_grad()
        accumulate_gradients(model, replace(weighted, episodes=list(episodes)), update.passes, reference=models[0])
        found.append(gradient_of(model).clone())
    model.zero_grad()
    assert apart(found[1], found[0]) < 1e-6


# Equal returns -------------------------------------------------------------------------------------------------------

SIZES = (*range(2, 9), 16)
LEVELS = (0.1, -0.1, 10.1, 100.1, 1000.1, 1e4 + 0.1, 1e5 + 0.1, 1e6 + 0.1, 1e20 / 3)


def short(number: float) -> float:
    """Nearly the same number with so few digits that its sums have no rounding."""
    mantissa, exponent = math.frexp(number)
    return math.ldexp(round(mantissa * 1024), exponent - 10)


def paid(groups: Sequence[Sequence[Sequence[float]]]) -> list[Group]:
    """Groups of episodes alike in all but the rewards of their turns."""
    made = []
    for number, rewards in enumerate(groups):
        members = []
        for member, own in enumerate(rewards):
            turns = [([5 + turn], [7, 8]) for turn in range(len(own))]
            extras = {**SUPPLIED, **measured(number, "1", 2 * len(own), True)}
            one = trajectory(0.0, turns, texts=["1"] * len(own), extras=extras)
            value = math.fsum(own)
            nodes = [
                Node("root", 2, value),
                *([Node(f"{member}", one.action_tokens - 2, value)] if len(own) > 1 else []),
            ]
            turns = tuple(replace(turn, reward=r) for turn, r in zip(one.turns, own, strict=True))
            members.append(replace(one, turns=turns, nodes=tuple(nodes)))
        outcomes = tuple(t.outcome for t in members)
        made.append(Group(number, tuple(members), greedy=outcomes[0], drawn=outcomes))
    return made


@functools.cache
def batch_of(groups: tuple[tuple[tuple[float, ...], ...], ...]) -> Batch:
    """The batch of `paid` groups, which is the same for all recipes."""
    return collate(paid(groups))


def advantages(name: str, groups: Sequence[Sequence[Sequence[float]]]) -> torch.Tensor:
    """Of the action tokens, measurements being the same for all of them."""
    objective = Objective(RECIPES[name], teacher_model=True, extras=SUPPLIED)
    objective.advance(3, 10)
    batch = batch_of(tuple(tuple(map(tuple, group)) for group in groups))
    batch = with_measurements(batch, objective)
    return objective.rollout_terms.weigh(batch).advantage[batch.action]


@every_recipe
def test_returns_that_differ_by_rounding_alone_have_advantage_zero(name):
    def check(groups):
        # Recipes that compare siblings are those without an advantage where no sum is rounded.
        exact = advantages(name, [[list(map(short, episode)) for episode in group] for group in groups])
        return bool(exact.any()) or not advantages(name, groups).any()

    def equal(*levels):
        return [[[level]] * size for level in levels for size in SIZES]

    assert check(equal(*LEVELS))
    assert check(equal(0.1))
    assert check(equal(1e6 + 0.1))
    for rewards in ((0.1, 0.2, -0.3, 0.7), (1000.1, 0.2, -1000.3, 0.7)):
        assert check([list(itertools.permutations(rewards))[:size] for size in (3, 5, 16)])


@every_recipe
def test_a_constant_that_is_added_to_all_returns_changes_no_advantage(name):
    returns = (2.47, -0.35, 0.1, 0.1, 1.9)

    def shifted(by):
        return [[[r + by] for r in returns[:size]] for size in (2, 3, 5)]

    def close(one, other):
        return torch.allclose(one, other, rtol=1e-5, atol=1e-6)

    plain = advantages(name, shifted(0))
    if close(advantages(name, shifted(8)), plain) and close(advantages(name, shifted(-4)), plain):
        for level in (1e3, -1e5, 1e7):
            assert close(advantages(name, shifted(level)), plain), level


def test_many_recipes_compare_siblings_or_the_batch():
    for name in ("grpo", "dapo", "rloo", "gspo", "branch_grpo", "gigpo", "lite_ppo", "reinforce_pp_baseline", "copo"):
        assert not advantages(name, [[[0.0, -0.125]] * 8] * 2).any()
        assert advantages(name, [[[0.0, -0.125], [0.0, 0.5], [0.0, 0.1]]] * 2).any()


def test_flat_rewards_are_no_signal(models):
    flat = paid([[[-0.1]] * 8, [[0.7]] * 7])
    for name in ("dr_grpo", "dpo", "prdp"):
        update = update_of(models, name, minibatches=1, epochs=1)
        _, figures = update.run(flat, [], rate=0.0)
        assert not update.has_signal
        assert figures["grad_norm"] == 0.0


# Learning ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def undecided(small) -> LanguageModel:
    """Pulls either arm with probability one half."""
    return trained_on(small, "ab")


@pytest.fixture(scope="session")
def folders(small, undecided, tmp_path_factory) -> tuple[str, str]:
    """The undecided model and one that mostly says b, as folders."""
    place = tmp_path_factory.mktemp("arms")
    undecided.save(place / "undecided")
    trained_on(small, "abbb").save(place / "teacher")
    return str(place / "undecided"), str(place / "teacher")


@pytest.fixture(scope="session")
def pulled(undecided) -> list[Group]:
    """What the undecided model played."""
    return both_arms(undecided)


@pytest.fixture(scope="session")
def teacher(folders) -> LanguageModel:
    """The model to distil from."""
    return LanguageModel.load(folders[1])


@pytest.fixture(scope="session")
def preferences(undecided, teacher) -> tuple[float, float]:
    """Of the undecided model and of the teacher."""
    return preference(undecided), preference(teacher)


@every_recipe
def test_one_update_makes_the_better_answer_likelier(name, undecided, teacher, pulled, preferences):
    language = LanguageModel.of(copy.deepcopy(undecided.model), undecided.tokenizer)
    config = TrainConfig(recipe=name, lr=1e-3)
    objective = Objective(RECIPES[name], teacher_model=True, extras=SUPPLIED)
    objective.advance(1, 10)
    update = Update(config, objective, language.model, copy.deepcopy(language.model), copy.deepcopy(teacher.model))
    groups = objective.filter_groups(objective.add_rewards(pulled))
    right = [replace(g, trajectories=tuple(t for t in g.trajectories if t.success)) for g in groups]
    update.run(groups, [right for _ in objective.streams], rate=1e-3)
    assert preference(language) > preferences[0]


def distils(name: str) -> bool:
    """Whether a recipe cannot do without a model to distil from."""
    try:
        Objective(RECIPES[name], extras=SUPPLIED)
    except InputError:
        return True
    return False


@pytest.mark.parametrize("name", [name for name in RECIPES if name not in BEYOND_ARMS | WITHOUT_OUTCOME])
def test_five_steps_learn_the_better_arm(name, folders, preferences, tmp_path):
    config = TrainConfig(
        env=ENV,
        recipe=name,
        model=folders[name in WITHOUT_LABELS],
        teacher_model=folders[1] if distils(name) else None,
        teacher="random",
        warmup=WarmUp(steps=0),
        steps=5,
        prompts=2,
        samples=8,
        lr=3e-3,
        lr_warmup=1,
        max_new_tokens=3,
        max_episode_tokens=6,
        context=256,
        eval_every=0,
        final_episodes=1,
        checkpoint_every=5,
        threads=1,
        track=(),
    )
    learner = Learner.start(tmp_path / "run", config)
    assert learner.run()
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert len(rows) == 5
    assert all(math.isfinite(value) for row in rows for value in row.values() if isinstance(value, float))
    assert all(torch.isfinite(weight).all() for weight in learner.language.model.parameters())
    assert preference(learner.language) > preferences[name in WITHOUT_LABELS] + 0.1
