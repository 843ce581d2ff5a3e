"""Split of a recipe's objective for asynchronous training: one objective for collection, one for updates.

The collecting side plays, measures, judges, filters, replays and draws the streams' groups; the training side assigns
credit and computes losses. Each has a separate clock, because collection is some steps ahead. The state of one side
must not depend on what the other does at the same time. A checkpoint merges both states into the format of a run with a
single objective.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ....errors import InputError
from .binding import Bound
from .objective import Objective

_COLLECTING = ("rollout", "measures", "filters", "replay")
"""Stages whose components act while data is collected, as do the sources of streams."""
_OF_REFERENCE = frozenset({"logp_ref", "kl_ref"})


def collecting_parts(objective: Objective) -> dict[str, Bound]:
    """Return the components that act while data is collected, by their names in `Objective.parts`."""
    sources = {id(stream.source) for stream in objective.streams}
    return {
        name: part
        for name, part in objective.parts.items()
        if name.partition("/")[0] in _COLLECTING or id(part) in sources
    }


def check_separable(objective: Objective) -> None:
    """Check that data can be collected while earlier data is trained on; loads no model.

    Raises:
        InputError: a component of the collecting side depends on state that updates change.
    """
    reasons = [
        f"the reward {reward.name!r} learns from the gradients of each update" for reward in objective.gradient_rewards
    ]
    reasons += [
        f"the measure {part.component.name!r} has weights of its own that follow each update"
        for part in objective.copies
    ]
    moves = getattr(objective.reference.target, "moves", True)
    trained = {name: aux for aux in objective.auxiliaries for name in aux.target.provides}
    for part in collecting_parts(objective).values():
        if moves and part.needs & _OF_REFERENCE:
            reasons.append(
                f"{part.component.name!r} measures by a reference policy that moves "
                f"({objective.reference.component.name!r})"
            )
        reasons += [
            f"{part.component.name!r} reads {name!r} of {trained[name].component.name!r}, which each update trains"
            for name in sorted(part.needs & trained.keys())
        ]
    if reasons:
        raise InputError(
            f"recipe {objective.recipe.name!r} cannot collect ahead of its updates, as {reasons[0]}; train it with "
            "--staleness 0."
        )


def make_training_side(collecting: Objective, extras: frozenset[str], teacher_model: bool) -> Objective:
    """Make the objective that trains on data of ``collecting``: the same recipe without rewards and measures.

    Args:
        collecting: objective of the collecting side.
        extras: names of the extras (`info["extras"]`) that the environment supplies.
        teacher_model: True if the run has a model to distil from.
    """
    producers = (*collecting.producers, *collecting.teacher_producers)
    measured = extras.union(*(part.target.provides for part in producers))
    recipe = replace(collecting.recipe, shaping=(), measures=())
    return Objective(recipe, teacher_model=teacher_model, extras=measured)


def join_states(collecting: dict[str, Any], training: Objective) -> dict[str, Any]:
    """Merge the states of both sides into the state of a single objective.

    Args:
        collecting: the `Objective.state_dict` of the collecting side.
        training: objective of the training side.
    """
    own = collecting_parts(training).keys()
    trained = {name: part for name, part in training.state_dict()["parts"].items() if name not in own}
    parts = {
        name: state
        for name, state in collecting["parts"].items()
        # Its other components exist but are never called.
        if name in own or name.startswith("measures/")
    }
    return {"rewards": collecting["rewards"], "parts": parts | trained}


def load_training_side(training: Objective, state: dict[str, Any]) -> None:
    """Restore the training side from a result of `join_states`, or from the state of a single objective."""
    own = training.parts.keys() - collecting_parts(training).keys()
    parts = {name: saved for name, saved in state["parts"].items() if name in own}
    training.load_state_dict({"rewards": [], "parts": parts})
