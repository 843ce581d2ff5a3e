"""What a step is trained on: tasks of the curriculum, played, shaped, filtered and mixed with what is remembered; and
what streams draw beside it.

Every random number of step t is derive_seed from the run's seed, t, and what it is for.
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
"""Streams of random numbers; the warm-up uses stream 1."""


def derive_seed(*keys: int) -> int:
    """A seed below 2**63 from several numbers."""
    return int(np.random.SeedSequence(list(keys)).generate_state(1, np.uint64)[0] >> 1)


def token_limits(config: TrainConfig) -> TokenLimits:
    """The budgets of a run."""
    return TokenLimits(config.max_new_tokens, config.max_episode_tokens, config.context)


def check_room(environments: Environments, language: LanguageModel, limits: TokenLimits) -> None:
    """Refuse a context that the first observation of the easiest or the hardest task fills.

    Raises:
        InputError: it leaves no room for an action; raised here before a warm-up rather than after it.
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
    """What came of a step's rollouts.

    Attributes:
        played: all that the curriculum asked for, shaped.
        beside: groups that the rollout strategy played of its own accord, such as a proposer's.
        trainable: what is trained, after filters and replay.
    """

    played: list[PlayedProposal]
    beside: list[Group]
    trainable: list[Group]

    @property
    def groups(self) -> list[Group]:
        """All that was played."""
        return [*(practice.group for practice in self.played), *self.beside]


class Collector:
    """Plays for a learner.

    Args:
        teacher: the curriculum.
        language: the policy, whose present weights play.
        teacher_model: the model to distil from, or None.
        measure: log-probabilities under the present policy, for streams that compare with them, [N].
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
        """Made only where a stream has the model play: most just score with it."""
        assert self.teacher_model is not None
        return self._engine_of(self.teacher_model)

    def collect(self, step: int) -> Collected:
        """Ask the curriculum, play, tell it what came; again while the recipe's filters leave too few groups."""
        config, objective = self.config, self.objective
        played: list[PlayedProposal] = []
        trainable: list[Group] = []
        beside: list[Group] = []
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
            # A teacher may ask to evaluate only.
            wanted = [proposal.train for proposal in proposals]
            shaped = objective.shape([group for group, train in zip(groups, wanted, strict=True) if train])
            trainable += objective.keep(shaped)
            rest = iter(shaped)
            groups = [next(rest) if train else group for group, train in zip(groups, wanted, strict=True)]
            played += [PlayedProposal(*triple) for triple in zip(proposals, tasks, groups, strict=True)]
            beside += own
            if len(trainable) >= config.prompts:
                break
        chosen = trainable[: config.prompts] + objective.keep(beside)
        mixed = objective.replay.refresh().mix(chosen, step, np.random.default_rng([config.seed, REPLAY, step]))
        return Collected(played, beside, mixed)

    def draw(self, step: int, played: Sequence[PlayedProposal]) -> list[list[Group]]:
        """What each stream of the recipe is trained on in this step."""
        streams = enumerate(self.objective.streams)
        return [stream.source.refresh().draw(self._supply(step, number, played)) for number, stream in streams]

    def prepare_streams(self) -> None:
        """Let sources do what they do once, before the first step."""
        for number, stream in enumerate(self.objective.streams):
            stream.source.refresh().prepare(self._supply(0, number))

    def _player(self, step: int, *keys: int, engine: Any = None) -> Player:
        """The policy as it is (or another engine), to play with; ``keys`` name its random numbers."""
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
        """What an episode is worth before credit is assigned."""
        (shaped,) = self.objective.shape([Group(-1, (trajectory,))])
        return shaped.trajectories[0].outcome

    def _supply(self, step: int, number: int, played: Sequence[PlayedProposal] = ()) -> Supply:
        """What stream ``number`` can draw from."""

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
    """What a proposal asks to play; ``seed`` and ``samples`` where it leaves them open."""
    params, own = teachers.instance(proposal.task)
    return RolloutTask(params, seed if own is None else own, samples if proposal.n is None else proposal.n, proposal.id)


def _set_weight(group: Group, proposal: teachers.Proposal) -> Group:
    """The group with the weight that its proposal asks for."""
    weight = float(proposal.meta.get("weight", 1.0))
    return (
        group
        if weight == 1.0
        else replace(group, trajectories=tuple(replace(trajectory, weight=weight) for trajectory in group.trajectories))
    )


def _make_outcome(
    proposal: teachers.Proposal, attempts: Sequence[Trajectory], needs: Iterable[str]
) -> teachers.Outcome:
    """What the curriculum hears of a task: all that was tried without help, whatever is trained."""
    valid = [trajectory for trajectory in attempts if trajectory.valid]
    return teachers.Outcome(
        proposal.id,
        proposal.task,
        returns=[trajectory.env_return for trajectory in valid],
        successes=[trajectory.success for trajectory in valid],
        cost=float(sum(trajectory.action_tokens for trajectory in attempts)),
        extras={name: [MEASURES[name](trajectory) for trajectory in valid] for name in needs},
    )
