"""Policies of a run besides its own: each with weights or adapters, objective, optimiser and checkpoint."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ....errors import InputError
from ...engines.engine import Engine
from ...engines.policy_engine import PolicyEngine
from ...engines.sampler import Completion, Request
from ...language.adapters import AdapterSwitch
from ...language.language_agent import load_model
from ...language.model import LanguageModel
from ..batch.trajectory import Group
from ..config import TrainConfig
from ..objective.notices import apply_overrides
from ..objective.objective import Objective
from ..recipes import RECIPES
from ..run.folder import POLICIES
from ..settings import MAIN, PolicySpec, read_policies
from ..update import Update


class SwitchedEngine:
    """Engine of a policy with adapters on a model that others share: its adapters act while it works."""

    def __init__(self, engine: Engine, policy: Policy):
        self._engine, self._policy = engine, policy

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def submit(self, request: Request) -> None:
        self._engine.submit(request)

    def step(self) -> list[Completion]:
        """Continue with the policy's adapters."""
        with self._policy.acting():
            return self._engine.step()

    def close(self, session: int) -> None:
        self._engine.close(session)


@dataclass(eq=False)
class Policy:
    """A policy besides the run's own.

    Attributes:
        spec: its description.
        config: the run's configuration with its recipe and learning rate.
        language: its model, which it may share with others.
        objective: its recipe's objective; None if it is frozen.
        switch: chooses its adapters in a shared model; None if the model is its own.
        update: its optimiser and passes, after `prepare`; None if it is frozen.
    """

    spec: PolicySpec
    config: TrainConfig
    language: LanguageModel
    objective: Objective | None
    switch: AdapterSwitch | None = None
    update: Update | None = None
    engine: Any = field(default=None)

    def acting(self) -> AbstractContextManager[None]:
        """Return a context in which its adapters act, and are those that can be trained."""
        return nullcontext() if self.switch is None else self.switch.use(self.spec.name)

    def prepare(self) -> None:
        """Make the optimiser and the engine."""
        config, language = self.config, self.language
        with self.acting():
            if self.objective is not None:
                wanted = self.objective.needs & {"logp_ref", "kl_ref"}
                reference = language.reference().model if wanted else None
                self.update = Update(config, self.objective, language.model, reference, None, len(language.tokenizer))
            slots = min(256, config.prompts * config.samples)
            engine = PolicyEngine().open(language, slots, config.context, config.fp32_head)
        self.engine = engine if self.switch is None else SwitchedEngine(engine, self)

    def train(self, groups: Sequence[Group], step: int, rate: float) -> dict[str, float]:
        """Take the optimiser steps of an update; return its metrics, with the policy's name before each."""
        own = episodes_of(groups, self.spec.name)
        prefix = f"{MAIN}/{self.spec.name}"
        metrics: dict[str, float] = {f"{prefix}/episodes": float(sum(len(group.trajectories) for group in own))}
        if self.update is None or self.objective is None:
            return metrics
        with self.acting():
            self.objective.advance(step, self.config.steps)
            tally, statistics = self.update.run(self.objective.filter_groups(own), [], rate)
            values = {**tally.means(), **statistics}
            self.update.move_reference(step, values)
        return metrics | {f"{prefix}/{name}": value for name, value in values.items()}

    @property
    def voice(self) -> tuple[Any, Any]:
        """Its engine and its renderer."""
        return self.engine, self.language.renderer

    @property
    def has_signal(self) -> bool:
        """True if the latest update had a training signal other than penalties."""
        return self.update is not None and self.update.has_signal

    def save(self, folder: Path) -> dict[str, Any]:
        """Write weights and optimiser to a new folder; return the state of the objective."""
        if self.switch is not None:
            self.switch.save(self.spec.name, folder)
        else:
            folder.mkdir(parents=True)
            self.language.save(folder)
        if self.update is None or self.objective is None:
            return {}
        self.update.save(folder)
        return self.objective.state_dict()

    def load(self, folder: Path, state: Mapping[str, Any]) -> None:
        """Restore what `save` wrote; before `prepare` only the weights, after it the rest, too."""
        if self.update is not None and self.objective is not None:
            with self.acting():
                self.update.load(folder)
            self.objective.load_state_dict(state)


def check_policies(config: TrainConfig, roles: Collection[str], ranks: bool) -> None:
    """Check the policies of a configuration before a model is loaded.

    Args:
        roles: the roles of the rollout strategy.

    Raises:
        InputError: a role is not one of the strategy's, or another setting of the run does not go with several
            policies.
    """
    if not config.role_policies:
        return
    for role in config.role_policies:
        if role not in roles:
            known = f"has the roles {', '.join(roles)}" if roles else "has no roles; take --rollout table or debate"
            raise InputError(f"--policies names the role {role!r}, but the rollout strategy {known}.")
    _, specs = read_policies(config.role_policies)
    for given, name in ((config.staleness, "--staleness"), (config.ray, "--ray"), (ranks, "--nproc")):
        if given:
            raise InputError(f"several policies are trained in one process, in turn with playing; leave {name} out.")
    if config.engine != "torch":
        raise InputError(f"several policies are sampled by --engine torch, not {config.engine!r}.")
    if config.compile:
        raise InputError("several policies may share a model, which --compile fixes; leave it out.")
    for spec in specs.values():
        if spec.recipe is not None:
            apply_overrides(RECIPES[spec.recipe], config)
        if spec.lora and spec.model == config.model and not config.lora:
            raise InputError(
                f"the role {spec.name!r} has adapters on the run's own model, whose weights the run trains; add "
                "--lora, so that both train adapters, or name another model."
            )


def make_policies(
    config: TrainConfig, main: LanguageModel, supplies: frozenset[str], saved: Path | None
) -> dict[str, Policy]:
    """Make the policies besides the run's own, without optimisers.

    Args:
        main: the run's own policy, warmed up.
        supplies: see `Objective`.
        saved: folder of a checkpoint with their weights; None: they begin as described.
    """
    _, specs = read_policies(config.role_policies)
    found: dict[str, Policy] = {}
    bases: dict[str, AdapterSwitch] = {}
    for number, spec in enumerate(specs.values()):
        own = replace(
            config, recipe=spec.recipe or config.recipe, lr=config.lr if spec.lr is None else spec.lr, role_policies={}
        )
        recipe = apply_overrides(RECIPES[own.recipe], own)
        objective = None if spec.frozen else Objective(replace(recipe, shaping=()), extras=supplies)
        folder = None if saved is None else saved / POLICIES / spec.name
        if not spec.lora:
            language = _load_whole(config, spec, main, folder)
            if spec.frozen:
                language.model.requires_grad_(False)
            found[spec.name] = Policy(spec, own, language, objective)
            continue
        if spec.model not in bases:
            if spec.model == config.model:
                assert main.adapters is not None
                bases[spec.model] = AdapterSwitch(main)
            else:
                bases[spec.model] = AdapterSwitch(load_model(spec.model, config.dtype, config.system).to(config.device))
        switch = bases[spec.model]
        switch.add(spec.name, spec.lora, seed=config.seed + 1 + number, trained=not spec.frozen, folder=folder)
        found[spec.name] = Policy(spec, own, switch.language, objective, switch)
    for policy in found.values():
        policy.prepare()
    return found


def _load_whole(config: TrainConfig, spec: PolicySpec, main: LanguageModel, folder: Path | None) -> LanguageModel:
    if folder is not None:
        return LanguageModel.load(folder, config.dtype, config.system).to(config.device)
    if spec.model != config.model:
        return load_model(spec.model, config.dtype, config.system).to(config.device)
    if main.adapters is not None:
        raise InputError(
            f"the role {spec.name!r} has the run's own model, of which the run trains adapters only; write "
            f"{spec.model}:lora."
        )
    copied = main.copy()
    copied.model.requires_grad_(True)
    return copied


def save_policies(policies: Mapping[str, Policy], place: Path) -> dict[str, Any]:
    """Write all policies into a checkpoint; return their states, JSON-able."""
    return {name: policy.save(place / POLICIES / name) for name, policy in policies.items()}


def load_policies(policies: Mapping[str, Policy], place: Path, states: Mapping[str, Any]) -> None:
    """Restore optimisers and objectives from a checkpoint."""
    for name, policy in policies.items():
        policy.load(place / POLICIES / name, states[name])


def episodes_of(groups: Sequence[Group], policy: str = "") -> list[Group]:
    """Return the groups with the episodes of one policy only, by default the run's own, without empty groups."""
    kept = [replace(group, trajectories=tuple(t for t in group.trajectories if t.policy == policy)) for group in groups]
    return [group for group in kept if group.trajectories]
