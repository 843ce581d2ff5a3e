"""Collection of a step's training data: tasks proposed by the teacher are played, shaped, filtered and mixed with
replayed groups. A recipe's streams (further sources of training data) draw groups of their own.

Every random number of step t is derived from the run's seed, t and its purpose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from torch import Tensor

from ... import teachers
from ...errors import InputError
from ..language.model import LanguageModel
from .batch.batch import Batch
from .batch.trajectory import Group, Origin, Trajectory
from .components.streams.supply import Supply
from .config import TrainConfig
from .measures import MEASURES
from .objective.objective import Objective
from .rollouts.environments import Environments, begin
from .rollouts.independent import Independent
from .rollouts.player import Player
from .rollouts.starts import RolloutTask, Start, TokenLimits
from .run.logs import PlayedProposal

ROLLOUT, NOISE, EVALUATION, REPLAY, STREAM = 2, 3, 4, 5, 6
"""Keys of the random streams; the warm-up has key 1."""


def derive_seed(*keys: int) -> int:
    """Derive a seed below 2**63 from several numbers."""
    return int(np.random.SeedSequence(list(keys)).generate_state(1, np.uint64)[0] >> 1)


def token_limits(config: TrainConfig) -> TokenLimits:
    """The token budgets of a run."""
    return TokenLimits(config.max_new_tokens, config.max_episode_tokens, config.context)


def check_room(environments: Environments, language: LanguageModel, limits: TokenLimits) -> None:
    """Check that the first observations of the easiest and the hardest task leave room for an action.

    Raises:
        InputError: one does not; raised before a warm-up rather than after it.
    """
    env = environments.take()
    for difficulty in (0.0, 1.0):
        observation, _ = begin(env, 0, environments.param_space.at(difficulty))
        count = len(language.renderer.observation(observation, first=True))
        if count + limits.action > limits.context:
            raise InputError(
                f"a first observation of {count} tokens and {limits.action} to answer exceed the context of "
                f"{limits.context}; raise --context or lower --max-new-tokens."
            )
    environments.give_back(env)


@dataclass(frozen=True)
class Collected:
    """The groups of a step.

    Attributes:
        played: the teacher's proposals with their groups, shaped.
        extra: further groups of the rollout strategy, such as a proposer's.
        trainable: groups to train on, after filters and replay.
    """

    played: list[PlayedProposal]
    extra: list[Group]
    trainable: list[Group]

    @property
    def groups(self) -> list[Group]:
        """All groups that were played."""
        return [*(practice.group for practice in self.played), *self.extra]


class Collector:
    """Collects the training data of a learner's steps.

    Args:
        teacher: proposes the tasks.
        language: the policy, which plays with its present weights.
        teacher_model: the model to distil from, or None.
        measure: computes log-probabilities of a batch under the present policy, [N], for streams that need them.
    """

    def __init__(
        self,
        config: TrainConfig,
        objective: Objective,
        environments: Environments,
        teacher: teachers.Teacher,
        language: LanguageModel,
        teacher_model: LanguageModel | None,
        measure: Callable[[Batch], Tensor],
    ):
        self.config, self.objective, self.environments = config, objective, environments
        self.teacher, self.language = teacher, language
        self.teacher_model = teacher_model
        self._engine = self._engine_of(language)
        self._measure = measure

    def _engine_of(self, language: LanguageModel) -> Any:
        config = self.config
        return language.engine(min(256, config.prompts * config.samples), config.context, config.fp32_head)

    @cached_property
    def _teacher_engine(self) -> Any:
        """The engine of the model to distil from; made on first use, as few streams sample from it."""
        assert self.teacher_model is not None
        return self._engine_of(self.teacher_model)

    def collect(self, step: int) -> Collected:
        """Play the teacher's proposals and report their outcomes, until enough groups have passed the filters."""
        config, objective = self.config, self.objective
        played: list[PlayedProposal] = []
        trainable: list[Group] = []
        extra: list[Group] = []
        for round_ in range(objective.recipe.refill):
            rng = np.random.default_rng([config.seed, ROLLOUT, step, round_])
            proposals = self.teacher.propose(config.prompts)
            seeds = rng.integers(2**31, size=len(proposals)).tolist()
            tasks = [_make_task(proposal, seed, config.samples) for proposal, seed in zip(proposals, seeds)]
            player = self._player(step, round_)
            groups = objective.rollout.refresh().play(tasks, player)
            groups, own = groups[: len(tasks)], groups[len(tasks) :]
            groups = [_set_weight(group, proposal) for group, proposal in zip(groups, proposals, strict=True)]
            attempted = [proposal for proposal in proposals if proposal.id in player.attempts]
            needs = sorted(self.teacher.needs)
            self.teacher.observe([_make_outcome(each, player.attempts[each.id], needs) for each in attempted])
            # A teacher may propose tasks that are evaluated only.
            wanted = [proposal.train for proposal in proposals]
            shaped = objective.shape([group for group, train in zip(groups, wanted, strict=True) if train])
            trainable += objective.keep(shaped)
            rest = iter(shaped)
            groups = [next(rest) if train else group for group, train in zip(groups, wanted, strict=True)]
            played += [PlayedProposal(*triple) for triple in zip(proposals, tasks, groups, strict=True)]
            extra += own
            if len(trainable) >= config.prompts:
                break
        chosen = trainable[: config.prompts] + objective.keep(extra)
        mixed = objective.replay.refresh().mix(chosen, step, np.random.default_rng([config.seed, REPLAY, step]))
        return Collected(played, extra, mixed)

    def draw(self, step: int, played: Sequence[PlayedProposal]) -> list[list[Group]]:
        """Draw the groups of each stream of the recipe for this step."""
        streams = enumerate(self.objective.streams)
        return [stream.source.refresh().draw(self._supply(step, number, played)) for number, stream in streams]

    def prepare_streams(self) -> None:
        """Call ``prepare`` of each stream's source, once before the first step."""
        for number, stream in enumerate(self.objective.streams):
            stream.source.refresh().prepare(self._supply(0, number))

    def _player(self, step: int, *keys: int, engine: Any = None) -> Player:
        """Make a player of the present policy (or another engine); ``keys`` select its random numbers."""
        config = self.config
        engine = engine or self._engine
        engine.seed(derive_seed(config.seed, NOISE, step, *keys))
        return Player(
            self.environments,
            engine,
            self.language.renderer,
            token_limits(config),
            config.temperature,
            np.random.default_rng([config.seed, ROLLOUT, step, *keys, 1]),
            step=max(step - 1, 0),
            steps=config.steps,
            version=max(step - 1, 0),
            return_of=self._return_of,
        )

    def _return_of(self, trajectory: Trajectory) -> float:
        """Return of an episode with the recipe's shaping."""
        (shaped,) = self.objective.shape([Group(-1, (trajectory,))])
        return shaped.trajectories[0].outcome

    def _supply(self, step: int, number: int, played: Sequence[PlayedProposal] = ()) -> Supply:
        """Make the supply of stream ``number``."""

        def play(tasks: Sequence[RolloutTask]) -> list[Group]:
            return self.objective.shape(Independent().play(tasks, self._player(step, 1000 + number)))

        def demonstrate(tasks: Sequence[RolloutTask]) -> list[Trajectory]:
            starts = [Start(task, oracle_turns=math.inf, oracle_origin=Origin.TEACHER) for task in tasks]
            return [played.trajectory for played in self._player(step, 2000 + number).play(starts)]

        def play_teacher(tasks: Sequence[RolloutTask]) -> list[Group]:
            return Independent().play(tasks, self._player(step, 3000 + number, engine=self._teacher_engine))

        return Supply(
            step=step,
            steps=self.config.steps,
            rng=np.random.default_rng([self.config.seed, STREAM, step, number]),
            param_space=self.environments.param_space,
            task=lambda params, seed, samples: RolloutTask(params, seed, samples),
            tasks=tuple(practice.task for practice in played),
            groups=tuple(practice.group for practice in played),
            play=play,
            demonstrate=demonstrate,
            measure=self._measure,
            play_teacher=None if self.teacher_model is None else play_teacher,
        )


def _make_task(proposal: teachers.Proposal, seed: int, samples: int) -> RolloutTask:
    """Make the task of a proposal; ``seed`` and ``samples`` apply if the proposal leaves them open."""
    params, own = teachers.instance(proposal.task)
    return RolloutTask(params, seed if own is None else own, samples if proposal.n is None else proposal.n, proposal.id)


def _set_weight(group: Group, proposal: teachers.Proposal) -> Group:
    """Set the weight of a group's trajectories to the one that its proposal asks for."""
    weight = float(proposal.meta.get("weight", 1.0))
    if weight == 1.0:
        return group
    return replace(group, trajectories=tuple(replace(t, weight=weight) for t in group.trajectories))


def _make_outcome(
    proposal: teachers.Proposal, attempts: Sequence[Trajectory], needs: Iterable[str]
) -> teachers.Outcome:
    """Make the report of a proposal: returns and measures of its valid unaided episodes, whichever are trained."""
    valid = [trajectory for trajectory in attempts if trajectory.valid]
    return teachers.Outcome(
        proposal.id,
        proposal.task,
        returns=[trajectory.env_return for trajectory in valid],
        successes=[trajectory.success for trajectory in valid],
        cost=float(sum(trajectory.action_tokens for trajectory in attempts)),
        extras={name: [MEASURES[name](trajectory) for trajectory in valid] for name in needs},
    )
