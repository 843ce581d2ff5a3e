"""Stages of the learner: one registry of components per stage, from which the rest of the learner derives what it
needs.

A component is a function, or a class whose instances are called in the same way if it keeps a state between updates
(``state_dict`` and ``load_state_dict``, JSON-able). Its parameters beyond the stage's arguments are keyword arguments
with defaults from the paper; in a recipe a number may be a schedule. To add a component, add it to a file of its
stage's package. To add a stage, add a row here and a field of `recipe.Recipe` (and of `recipe.StageOverrides`, if the
command line can replace it); an `Objective` then resolves, checks and saves its components.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ....registry import Registry, take_callable

_LEARNER = __name__.removesuffix(".recipes.stages")


class Stage(Registry[Callable[..., Any]]):
    """Stage of the pipeline: the registry of its components.

    Args:
        name: field of a recipe that names its components.
        kind: word for a component in error messages.
        modules: modules with the components, below ``agents/grpo``, or packages with their direct modules; imported
            when the stage is first read.
        arguments: number of leading arguments of a component that is a function; its options follow.
        many: True if a recipe names any number of components, which act in order; False if it names exactly one.
        part: part of the objective that resolves the components: "objective" (the `Objective`), "credit" (each credit
            term), "selection" (of tokens), "loss", or "streams" (each stream).
        group: see `Registry`.
    """

    def __init__(
        self,
        name: str,
        kind: str,
        *modules: str,
        arguments: int = 0,
        many: bool = False,
        part: str = "objective",
        group: str | None = None,
    ):
        homes = [f"{_LEARNER}.{module}" for module in modules]
        super().__init__(kind, group=group, modules=homes, table=f"components {name}", take=take_callable)
        self.name, self.arguments, self.many, self.part = name, arguments, many, part

    def parameters(self, component: str) -> dict[str, inspect.Parameter]:
        """Return the parameters of a component that a recipe may set."""
        target = self[component]
        parameters = list(inspect.signature(target).parameters.values())
        filled = 0 if inspect.isclass(target) else self.arguments
        return {parameter.name: parameter for parameter in parameters[filled:]}


STAGES: dict[str, Stage] = {}
"""Stage name, as in a recipe -> the stage, in the order of the pipeline."""


def _add(stage: Stage) -> Stage:
    STAGES[stage.name] = stage
    return stage


ROLLOUTS = _add(Stage("rollout", "rollout strategy", "rollouts", group="palaestra.rollouts"))
"""``strategy(**params)``; ``.play(tasks, player) -> list[Group]``, one group per task (see `rollouts.independent`)."""

LOGITS = _add(Stage("logits", "logit rule", "components.logits"))
"""``rule(**params)``; ``rule(own [R, V], others) -> [R, V]``: the logits that tokens are drawn from and scored under
(see `agents.engines.joint.LogitRule`)."""

THINKING = _add(Stage("thinking", "way of thinking", "components.thinking"))
"""``way(**params)``; ``.open(tokenizer) -> SoftThinking | None``: settings of the soft tokens with which answers begin
(see `agents.engines.soft_thinking`)."""

PRODUCERS = _add(
    Stage("measures", "producer of measures", "measures", arguments=2, many=True, group="palaestra.measures")
)
"""``(groups, tools, **params) -> [[{name: value}]]``: values of each trajectory, produced before rewards score it (see
`measures.producer`). Producers that a reward or the teacher needs are added to a recipe automatically."""

FILTERS = _add(Stage("filters", "filter", "components.filters", arguments=1, many=True))
"""``(groups, **params) -> groups``: the groups and trajectories to train on."""

REPLAYS = _add(Stage("replay", "replay", "components.replay"))
"""``replay(**params)``; ``.mix(groups, step, rng) -> groups`` stores new episodes and mixes in old ones."""

RETURNS = _add(Stage("returns", "return", "components.credit", arguments=1, part="credit"))
"""``(batch, **params) -> Units``: returns, by token, turn or episode (see `credit.units`)."""

BASELINES = _add(Stage("baseline", "baseline", "components.credit", arguments=2, part="credit"))
"""``(units, batch, **params) -> [M]``: baseline of each unit, subtracted from its return."""

SCALES = _add(Stage("scale", "scale", "components.credit", arguments=2, part="credit"))
"""``(units, batch, **params) -> [M]``: advantages of units whose values are returns minus baselines."""

ADJUSTMENTS = _add(Stage("adjustments", "adjustment", "components.credit", arguments=2, many=True))
"""``(advantage [N], batch, **params) -> advantage [N]``: changed advantages of the tokens."""

MASKS = _add(Stage("masks", "mask", "components.masks", arguments=2, many=True, part="selection"))
"""``(batch, advantage [N], **params) -> bool [N]``: True for tokens to train; denominators count only these."""

WEIGHTS = _add(Stage("weights", "weight", "components.weights", arguments=2, many=True, part="selection"))
"""``(batch, advantage [N], **params) -> float [N]``: factors on the tokens' weights; denominators do not change."""

CORRECTORS = _add(Stage("corrector", "corrector", "components.correctors", arguments=1, part="loss"))
"""``(scored, **params) -> factor [A]``, without gradient: corrects for the gap between sampler and anchor, or between
either of them and the policy; 0 drops a token."""

SURROGATES = _add(Stage("surrogate", "surrogate", "components.surrogates", arguments=1, part="loss"))
"""``(scored, **params) -> LossTerm``: the objective to maximise, at each token."""

REGULARISERS = _add(
    Stage("regularisers", "regulariser", "components.regularisers", arguments=1, many=True, part="loss")
)
"""``(scored, **params) -> LossTerm``: penalty added to the loss at each token, including its coefficient."""

REDUCTIONS = _add(Stage("reduction", "reduction", "components.reductions", arguments=2, part="selection"))
"""``(batch, keep [N] bool, **params) -> weight [N]``, called once for the whole optimiser batch."""

SOURCES = _add(Stage("source", "stream source", "components.streams", part="streams"))
"""``source(**params)``; ``.draw(supply) -> list[Group]``: groups of a stream, trained with the rollouts."""

BALANCES = _add(Stage("balance", "balance", "components.balances"))
"""``balance(**params)``; ``.rollouts`` and ``.streams`` multiply the coefficients of the loss's terms, and
``.after_step(entropy, slope)`` moves them after an optimiser batch."""

AUXILIARIES = _add(Stage("auxiliaries", "auxiliary model", "components.auxiliaries", many=True))
"""A model trained with the policy: ``aux(**params)``; ``.measure(batch) -> {name: [N]}``, ``.update(batch)``."""

REFERENCES = _add(Stage("reference", "reference policy", "components.references"))
"""``rule(**params)``; ``.after_step(step, metrics) -> float | None``: share by which the reference moves to the policy
after an optimiser batch (1 replaces it), or None to leave it."""

GUARDS = _add(Stage("guards", "guard", "components.guards", arguments=1, many=True))
"""``(statistics, **params) -> bool``: True to apply an update, given the means of its loss's statistics. A guard that
needs "after_update" gets ``change_t`` [T], the change of each sampled token in nats; False undoes the update."""
