"""Parts of a run: checked and created from its configuration before a model is loaded or anything is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ... import teachers
from ...errors import InputError
from ...teachers.budgets import Budgeted
from ..engines.engine import check_engine, check_ranks
from ..engines.policy_engine import PolicyEngine
from ..language.model import LanguageModel
from ..lookup import find_agent
from .batch.packing import PACKERS
from .collection.asynchronous import StepCollection
from .collection.policies import Policy, check_policies
from .collection.task_collector import TaskCollector
from .config import TrainConfig
from .objective.dry_run import dry_run
from .objective.notices import apply_overrides
from .objective.objective import Objective
from .objective.split_objective import check_separable, make_training_side
from .ranks.leader import Ranks
from .recipes import RECIPES, Component, Recipe
from .rollouts.environments import Environments
from .rollouts.independent import Strategy
from .run.evaluations import Evaluations
from .run.mixture import embed_prompts
from .run.trackers import TRACKERS
from .teacher_requests.requests import check_requests_known
from .teacher_requests.rewriting import Rewriter
from .update import Update
from .warmup import Syllabus


@dataclass(eq=False, repr=False)
class RunParts:
    """All stateful parts of a run, and the objects made from them. A return to a checkpoint replaces this object.

    Attributes:
        evaluations: plays the evaluations.
        environments: environments of the training tasks.
        teacher: proposes the tasks.
        collecting: the recipe's objective for the collection of episodes.
        objective: the objective of the updates: the same object as ``collecting`` unless collection is ahead of the
            updates.
        rewriter: rewrites prompts.
        language: the policy, set when it is loaded.
        distilled: the model to distil from, or None.
        policies: name -> policy besides the run's own.
        update, collector, collection: set once the policy has been warmed up or restored.
    """

    evaluations: Evaluations
    environments: Environments
    teacher: teachers.Teacher
    collecting: Objective
    objective: Objective
    rewriter: Rewriter
    policies: dict[str, Policy] = field(default_factory=dict)
    language: LanguageModel = field(init=False)
    distilled: LanguageModel | None = field(init=False)
    update: Update = field(init=False)
    collector: TaskCollector = field(init=False)
    collection: StepCollection = field(init=False)

    @property
    def needs(self) -> frozenset[str]:
        """Needs of all components of the recipe, see `batch.scored.needs`."""
        return self.objective.needs | self.collecting.needs


def check_config(config: TrainConfig, ranks: bool = False) -> Recipe:
    """Check the names in a configuration; nothing is created.

    Args:
        ranks: True if several processes share the update.

    Returns:
        The recipe, with the configuration's overrides.

    Raises:
        InputError: a packer, tracker, recipe, stage or engine is unknown.
    """
    PACKERS[config.packer]
    for name in config.track:
        TRACKERS[name]
    if ranks:
        check_ranks(config.engine)
    return apply_overrides(RECIPES[config.recipe], config)


def make_parts(config: TrainConfig, recipe: Recipe, engine: PolicyEngine, ranks: bool = False) -> RunParts:
    """Create the parts that need no model, and check that they are compatible.

    Args:
        recipe: the recipe that `check_config` returned.
        engine: the run's engine.
        ranks: True if several processes share the update.

    Raises:
        InputError: the recipe cannot work with this environment, teacher or engine.
    """
    evaluations = Evaluations(config, engine)
    environments = evaluations.environments("train")
    supplies, distils = environments.supplies, config.teacher_model is not None
    dry_run(recipe, samples=config.samples, steps=config.steps, teacher_model=distils, extras=supplies)
    if config.warmup.most_steps(config.model):
        Syllabus(environments, config.warmup)
    teacher = make_practice_teacher(config, environments)
    check_requests_known(teacher.asks)
    uses = {"teacher_needs": teacher.needs, "teacher_uses": teacher.uses}
    objective = collecting = Objective(recipe, teacher_model=distils, extras=supplies, **uses)
    strategy = collecting.rollout.target
    if isinstance(strategy, Strategy):
        strategy.check(environments)
    check_policies(config, getattr(strategy, "roles", ()), ranks)
    if config.staleness and getattr(strategy, "keeps_copies", False):
        raise InputError("past copies of the policy are kept between updates only; take --staleness 0.")
    if (config.staleness or ranks or config.role_policies) and recipe.logits.name != "none":
        raise InputError(
            f"the logit rule {recipe.logits.name!r} joins models in one process, in turn with the updates; leave "
            "--staleness, --nproc and --policies out."
        )
    if config.staleness:
        check_separable(collecting)
        objective = make_training_side(collecting, supplies, distils)
    for terms in (objective.rollout_terms, *objective.streams) if ranks else ():
        Ranks.check(terms.loss, config.recipe)
    if ranks and objective.balance.target.reads_slope:
        raise InputError(
            f"the balance {recipe.balance} measures gradients in one process; train without --nproc, or take "
            f"{recipe.balance.name}(utility_rate=0)."
        )
    head = {"--fp32-head": {"fp32_head"}} if config.fp32_head else {}
    check_engine(*config.serving, collecting.engine_needs | head)
    if config.lora and recipe.reference.name != "frozen" and "logp_ref" in objective.needs | collecting.needs:
        raise InputError(
            f"the reference policy {recipe.reference} cannot follow low-rank adapters, whose reference is the "
            "base model; train without --lora, or take --reference frozen."
        )
    if objective.reference.target.returns_policy and (ranks or config.dtype != "float32"):
        raise InputError(
            f"the reference policy {recipe.reference} sets the policy's weights, which must be float32 and in one "
            "process; train without --dtype and --nproc."
        )
    author = config.requests.rewriter
    rewriter = Rewriter(config.requests, None if author == "policy" else find_agent(author))
    return RunParts(evaluations, environments, teacher, collecting, objective, rewriter)


def make_practice_teacher(config: TrainConfig, environments: Environments, **range_options: Any) -> teachers.Teacher:
    """Create the teacher of a run.

    Args:
        environments: environments of the training split.
        range_options: ``return_range``, overrides the environments' declaration; ``config.teacher_options`` override
            both.

    Raises:
        InputError: the teacher or the allocator of its budget is unknown, or an option or the space of tasks is
            unsuitable for it.
    """
    space = environments.param_space
    tasks = teachers.fixed_pool(config.teacher, space, config.pool, config.seed) if config.pool else space
    options = {**environments.range_options, **range_options, **config.teacher_options}
    if isinstance(options.get("generator"), str):  # an agent that writes tasks
        options["generator"] = find_agent(options["generator"])
    if environments.families and getattr(teachers.TEACHERS[config.teacher], "asks_embeddings", False):
        env = environments.take()
        options.setdefault("embeddings", embed_prompts(env, environments.families))
        environments.give_back(env)
    teacher = teachers.make(config.teacher, tasks, seed=config.seed, **options)
    if config.budget is not None:
        allocator = Component.parse(config.budget)
        teacher = Budgeted(teacher, allocator.name, **{"rollouts": config.samples, **allocator.params})
    teacher.expect(max(config.steps, 1) * config.prompts)  # one outcome per group
    return teacher
