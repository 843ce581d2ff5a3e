"""Dry run of a recipe on synthetic episodes, before a model is loaded or anything is written.

Components check the ranges of their parameters when they are called. The dry run calls them at the first, the middle
and the last step of a run, so that a mistake costs a second instead of a warm-up.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import torch

from .... import rewards
from ....errors import InputError
from ..batch.batch import Batch, collate
from ..batch.passes import Outputs
from ..batch.tally import Tally
from ..batch.trajectory import Group, Node, Origin, Trajectory, Turn
from ..recipes import Recipe
from .loss import WeightedBatch, add_loss_statistics, make_scored
from .objective import TOKEN_MEASURES, Objective


def dry_run(
    recipe: Recipe, *, samples: int, steps: int, teacher_model: bool = False, extras: Collection[str] = ()
) -> None:
    """Filter, weight and score synthetic groups by a recipe; its rewards and rollouts are not called.

    Args:
        samples: number of episodes per task.
        steps: number of optimiser batches of the run, for schedules.
        teacher_model: True if the run has a model to distil from.
        extras: names of the extras (`info["extras"]`) that the environment supplies.

    Raises:
        InputError: a component raises it, a result is not finite, the recipe's scale cancels a reward that scales whole
            batches, or ``samples`` is 1 and the recipe's gradient is 0 for groups of one episode.
    """
    # Synthetic episodes have neither rewards nor the measures that rewards read.
    objective = Objective(replace(recipe, shaping=(), measures=()), teacher_model=teacher_model, extras=extras)
    for step in sorted({1, (steps + 1) // 2, steps} - {0}):
        objective.advance(step, steps)
        groups = [synthetic_group(number, max(samples, 2)) for number in range(3)]
        if recipe.replay.name != "none":  # replayed episodes may carry a stored advantage
            groups = [replace(g, trajectories=tuple(replace(t, advantage=0.5) for t in g.trajectories)) for g in groups]
        objective.filter_groups(groups)
        tally = Tally()
        batch = with_measurements(collate(groups), objective)
        for number, terms in enumerate((objective.rollout_terms, *objective.streams)):
            _score(recipe, terms.weigh(batch), tally, f"stream{number}/" if number else "")
        for guard in objective.guards:
            guard(torch.zeros(1) if "after_update" in guard.needs else tally.means())
        _check_batch_factor(recipe, objective, batch)
    if samples == 1 and not _learns_from_single_episodes(objective):
        raise InputError(
            f"recipe {recipe.name!r} compares the episodes of a task with each other, so that samples=1 teaches "
            "nothing; take 2 or more, or a recipe such as 'spo_single' that needs no siblings."
        )


def _check_batch_factor(recipe: Recipe, objective: Objective, batch: Batch) -> None:
    """Raise InputError if a reward multiplies a whole batch by one number and the recipe's scale cancels this."""
    scaling = [name for part in recipe.shaping if (name := _find_batch_factor(rewards.build(part.data())))]
    if not scaling:
        return
    one = objective.rollout_terms.weigh(batch).advantage
    two = objective.rollout_terms.weigh(
        replace(batch, outcome=2 * batch.outcome, turn_reward=2 * batch.turn_reward)
    ).advantage
    if torch.allclose(one, two, rtol=0.01, atol=1e-6):
        scales = " and ".join(sorted({term.scale.name for term in recipe.credit}))
        raise InputError(
            f"the reward {scaling[0]!r} multiplies all rewards of a batch by one number, which the scale {scales} of "
            f"recipe {recipe.name!r} divides by again; take --scale none, or the recipe 'hypervolume'."
        )


def _find_batch_factor(reward: rewards.Reward) -> str:
    """Return the name of the first reward in a tree that scales whole batches, or ""."""
    if getattr(reward, "scales_batch", False):
        return reward.name
    return next((name for child in reward.children.values() if (name := _find_batch_factor(child))), "")


def _score(recipe: Recipe, weighted: WeightedBatch, tally: Tally, prefix: str) -> None:
    """Evaluate the loss as an update does; raise InputError if advantages, weights or loss are not finite."""
    batch = weighted.batch
    place = batch.action.nonzero()[:, 0]
    inputs = [torch.full((len(place),), value).requires_grad_() for value in (-1.0, 0.5, 0.1)]
    everyone = torch.arange(batch.episodes)
    top = batch.measurement("top_logp")[place].requires_grad_()
    outputs = Outputs(*inputs, logp_top=top)
    scored = make_scored(weighted, place, batch.episode_of[place], everyone, outputs)
    own = Tally()
    value = weighted.loss(scored, own)
    add_loss_statistics(own, scored, value)
    tally.merge(own, prefix)
    for what, number in (("advantages", weighted.advantage), ("weights", weighted.weight), ("loss", value)):
        if not torch.isfinite(number).all():
            raise InputError(
                f"the {what} of recipe {recipe.name!r} are no finite numbers on a made-up batch; a parameter of its "
                f"{_MADE_BY[what]} is out of range."
            )


_MADE_BY = {
    "advantages": "returns, baseline, scale or adjustments",
    "weights": "weights or reduction",
    "loss": "surrogate, corrector or regularisers",
}


def _learns_from_single_episodes(objective: Objective) -> bool:
    """Return True if groups of one episode can have a gradient besides that of penalties."""
    recipe, loss = objective.recipe, objective.rollout_terms.loss
    if recipe.streams or recipe.auxiliaries or (recipe.rollout.name, recipe.replay.name) != ("independent", "none"):
        return True
    if "logp_teacher" in loss.needs or loss.surrogate.needs & {"every_row", "batch"}:
        return True
    batch = with_measurements(collate([synthetic_group(number, 1) for number in range(4)]), objective)
    return bool((objective.rollout_terms.weigh(batch).advantage != 0).any())


def synthetic_group(number: int, samples: int) -> Group:
    """Make a group of episodes with two turns, tokens of every origin and a tree; every second episode succeeds."""
    members = tuple(_synthetic_trajectory(number, sample) for sample in range(samples))
    return Group(number, members, greedy=0.5, drawn=(0.0, 1.0, *(t.outcome for t in members)))


def _synthetic_trajectory(group: int, sample: int) -> Trajectory:
    won = float((group + sample) % 2)
    origins = tuple(map(int, (Origin.POLICY, Origin.HINT, Origin.TEACHER, Origin.COPY)))
    first = Turn((1, 2), (3, 4), (-1.1, -0.9), "stop", 0.0, "?", "a", entropies=(0.5, 0.6))
    last = Turn((5,), (6, 7, 8, 9), (-1.0, 0.0, 0.0, -1.0), "stop", won, "?", str(sample % 2), origins=origins)
    return Trajectory(
        task_id=f"task {group}",
        params={},
        difficulty=0.5,
        turns=(first, last),
        success=won > 0,
        progress=won,
        truncated=False,
        valid=True,
        max_tokens=16,
        nodes=(Node("root", 2, 0.5), Node(f"leaf {sample}", 4, 0.25)),
    )


def with_measurements(batch: Batch, objective: Objective) -> Batch:
    """Return the batch with a plausible value for every measurement."""
    found: dict[str, Any] = {
        name: torch.where(batch.action, value, 0.0)
        for name, value in {
            "logp_old": -1.0,
            "entropy": 0.5,
            "logp_ref": -1.2,
            "logp_teacher": -0.8,
            "logp_prm": -1.1,
            "value": 0.5,
        }.items()
    }
    found |= {name: torch.where(batch.action, 0.25, 0.0) for name in TOKEN_MEASURES}
    found["prompt_divergence"] = torch.where(batch.action, 0.3, 0.0)
    found["prompt_logp"] = torch.where(batch.prompt, -2.0, 0.0)
    found["top_ids"] = torch.tensor([0, 1, 2]).repeat(len(batch.ids), 1)
    found["top_logp"] = torch.tensor([-0.5, -1.0, -6.0]).repeat(len(batch.ids), 1)
    found["hidden"] = torch.linspace(-1, 1, len(batch.ids))[:, None].repeat(1, 4)
    for part in objective.auxiliaries:
        found |= {name: found.get(name, found["value"]) for name in part.target.provides}
    found["head"] = lambda hidden, ids: hidden.new_zeros(len(hidden), len(ids))
    return batch.with_(**found)
