"""Collection of a step's training data: tasks proposed by the teacher are played, shaped, filtered and mixed with
replayed groups. A recipe's streams (further sources of training data) draw groups of their own.

Every random number of step t is derived from the run's seed, t and its purpose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ... import teachers
from ...errors import InputError
from ..engines.engine import Engine
from ..engines.serving import Serving
from ..language.decoder import context_limit
from ..language.model import LanguageModel
from .batch.forward import Forward
from .batch.trajectory import Group, Trajectory, group_from_json, group_to_json
from .components.streams.supply import Supply
from .config import TrainConfig
from .measures.instruments import Instruments, add_measures
from .objective.objective import Objective
from .proposals.requests import Assignment, Workplace, carry_out, count_requests
from .proposals.rewriting import Rewriter
from .rollouts.environments import Environments, begin
from .rollouts.guidance import solve
from .rollouts.independent import Independent
from .rollouts.player import Player
from .rollouts.starts import RolloutTask, TokenLimits
from .run.logs import PlayedProposal

ROLLOUT, NOISE, EVALUATION, REPLAY, STREAM, MEASURE = 2, 3, 4, 5, 6, 7
"""Keys of the random streams; the warm-up has key 1."""


def derive_seed(*keys: int) -> int:
    """Derive a seed below 2**63 from several numbers."""
    return int(np.random.SeedSequence(list(keys)).generate_state(1, np.uint64)[0] >> 1)


def played_version(step: int, staleness: int) -> int:
    """Return the version (number of updates) of the policy that plays the data of a step (from 1)."""
    return max(step - 1 - staleness, 0)


def token_limits(config: TrainConfig) -> TokenLimits:
    """Return the token budgets of a run."""
    return TokenLimits(config.max_new_tokens, config.max_episode_tokens, config.context)


def check_room(
    environments: Environments, language: LanguageModel, limits: TokenLimits, most_overlong: float = 1.0
) -> float:
    """Estimate the share of tasks whose first observation leaves no room for an action.

    A few tasks, spread evenly over the difficulties, are measured, and more of them if one does not fit.

    Args:
        most_overlong: largest share that is accepted.

    Raises:
        InputError: the model has fewer positions than the context, no easiest task fits, or more tasks than the
            accepted share do not fit; raised before a warm-up rather than after it.
    """
    if limits.context > (most := context_limit(language.model)):
        raise InputError(
            f"a context of {limits.context} tokens exceeds the {most} positions of the model; lower --context."
        )
    env = environments.take()

    def measure(seed: int, difficulty: float) -> int:
        # With several environments, the longest observation counts.
        observations = [begin(env, seed, space.at(difficulty))[0] for space in environments.spaces]
        return max(len(language.renderer.observation(observation, first=True)) for observation in observations)

    room = limits.context - limits.action
    share = 0.0
    if max(measure(i, i / (_FEW - 1)) for i in range(_FEW)) > room:
        if (shortest := min(measure(seed, 0.0) for seed in range(_EASIEST))) > room:
            raise InputError(
                f"a first observation of {shortest} tokens and {limits.action} to answer exceed the context of "
                f"{limits.context}, on the easiest tasks already; raise --context or lower --max-new-tokens."
            )
        counts = [measure(i, i / (_MANY - 1)) for i in range(_MANY)]
        share = sum(count > room for count in counts) / _MANY
        if share > most_overlong:
            raise InputError(
                f"{share:.0%} of the first observations (the longest has {max(counts)} tokens) and {limits.action} "
                f"tokens to answer exceed the context of {limits.context}, more than the {most_overlong:.0%} that "
                "--max-overlong allows; raise --context or --max-overlong, or take easier tasks with --axis."
            )
    environments.give_back(env)
    return share


_FEW, _EASIEST, _MANY = 16, 8, 64
"""Tasks that `check_room` measures: over all difficulties at first, of difficulty 0, and over all difficulties."""


@dataclass(frozen=True)
class Collected:
    """The groups of a step.

    Attributes:
        played: the teacher's proposals with their groups, shaped.
        extra: further groups of the rollout strategy, such as a proposer's.
        trainable: groups to train on, after filters and replay.
        requests: figures of the proposals' requests, for ``metrics.jsonl``.
        overlong: proposed tasks whose first observation left no room for an action; they were not played.
    """

    played: list[PlayedProposal]
    extra: list[Group]
    trainable: list[Group]
    requests: dict[str, float] = field(default_factory=dict)
    overlong: int = 0

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
        forward: the learner's passes through a model.
        reference: the reference model, or None if nothing needs one.
        rewriter: rewrites prompts where proposals ask for it; None for the policy.
        engines: the run's engine, from which the policy is sampled; the model to distil from has an engine of torch.
        spare: bytes of a GPU that the optimiser will take later, and keep.

    Where it is ahead of the updates, ``objective``, ``language`` and ``forward`` are its own.
    """

    def __init__(
        self,
        config: TrainConfig,
        objective: Objective,
        environments: Environments,
        teacher: teachers.Teacher,
        language: LanguageModel,
        teacher_model: LanguageModel | None,
        forward: Forward,
        reference: Any = None,
        rewriter: Rewriter | None = None,
        engines: Serving | None = None,
        spare: int = 0,
    ):
        self.config, self.objective, self.environments = config, objective, environments
        self.teacher, self.language = teacher, language
        self.teacher_model = teacher_model
        self._engine = self._open(engines or Serving(), language, spare)
        self._forward, self._reference = forward, reference
        self._instruments = self._make_instruments(0)
        self.rewriter = rewriter or Rewriter(config.requests)
        self._screened: dict[int, tuple[Trajectory, ...]] = {}

    def follow_policy(self) -> None:
        """Let the engine sample from the policy's present weights, whatever it was used for meanwhile."""
        self._engine.follow(self.language)

    def _open(self, engines: Serving, language: LanguageModel, spare: int = 0) -> Engine:
        config = self.config
        slots = min(256, config.prompts * config.samples)
        return engines.open(language, slots, config.context, config.fp32_head, spare)

    @cached_property
    def _teacher_engine(self) -> Engine:
        """The engine of the model to distil from; made on first use, as few streams sample from it."""
        assert self.teacher_model is not None
        return self._open(Serving(), self.teacher_model)

    def collect(self, step: int) -> Collected:
        """Play the teacher's proposals and report their outcomes, until enough groups have passed the filters."""
        config, objective = self.config, self.objective
        assignments: list[Assignment] = []
        trainable: list[Group] = []
        extra: list[Group] = []
        overlong = rounds = 0
        most = objective.recipe.refill
        while rounds < most and len(trainable) < config.prompts:
            played, own, unplayed = self._play_round(step, rounds)
            trainable += objective.keep([assignment.group for assignment in played if assignment.trained])
            assignments += played
            overlong += unplayed
            extra += own
            rounds += 1
            if any(self._is_put_aside(assignment) for assignment in played):
                most = max(most, config.requests.rounds)
        chosen = cut_batch(trainable, config.prompts) + objective.keep(extra)
        mixed = objective.replay.refresh().mix(chosen, step, np.random.default_rng([config.seed, REPLAY, step]))
        rows = [PlayedProposal(a.proposal, a.task, a.own_group, a.done) for a in assignments]
        return Collected(rows, extra, mixed, count_requests(assignments), overlong)

    def _play_round(self, step: int, round_: int) -> tuple[list[Assignment], list[Group], int]:
        """Play and report one batch of proposals.

        Returns:
            (the batch, judged; the strategy's further groups; the number of tasks that were overlong).
        """
        config = self.config
        rng = np.random.default_rng([config.seed, ROLLOUT, step, round_])
        proposals = self.teacher.propose(config.prompts)
        seeds = rng.integers(2**31, size=len(proposals)).tolist()
        assignments = [
            Assignment(each, _make_task(each, seed, config.samples), Group(each.id, ()), trained=each.train)
            for each, seed in zip(proposals, seeds, strict=True)
        ]
        self._instruments = self._make_instruments(step, round_)
        player = self._player(step, round_)  # after the other, as both seed the engine
        workplace = Workplace(player, config.requests, self.rewriter, self._screened)
        carry_out("play", assignments, workplace)
        groups = self.objective.rollout.refresh().play([assignment.task for assignment in assignments], player)
        groups, own = groups[: len(assignments)], groups[len(assignments) :]
        for assignment, group in zip(assignments, groups, strict=True):
            assignment.group = group
        carry_out("group", assignments, workplace)
        self._report(assignments, player)
        carry_out("train", assignments, workplace)
        # A teacher may propose tasks that are evaluated only.
        trained = [assignment for assignment in assignments if assignment.trained]
        for assignment, group in zip(trained, self.judge([each.group for each in trained]), strict=True):
            assignment.group = group
        # Episodes of another role, such as a proposer's, already have their rewards.
        unjudged = [group for group in own if not any(t.role for t in group.trajectories)]
        judged = iter(self.judge(unjudged))
        own = [group if any(t.role for t in group.trajectories) else next(judged) for group in own]
        return assignments, own, len(player.overlong)

    def _report(self, assignments: Sequence[Assignment], player: Player) -> None:
        """Report outcomes to the teacher. Keep the screening episodes that its later proposals may ask to join."""
        attempted = [each for each in assignments if each.proposal.id in player.attempts]
        tried = [Group(each.proposal.id, tuple(player.attempts[each.proposal.id])) for each in attempted]
        tried = add_measures(tried, self.objective.teacher_producers, self._instruments)
        outcomes = [_make_outcome(*pair, self.teacher) for pair in zip(attempted, tried, strict=True)]
        self.teacher.observe(outcomes)
        screened = {a.proposal.id: a.group.valid for a in assignments if not a.proposal.train}
        wanted = self.teacher.joinable()
        self._screened = {id: each for id, each in (self._screened | screened).items() if id in wanted}

    def _is_put_aside(self, assignment: Assignment) -> bool:
        """True for a proposal that left a gap in the batch which its teacher means the learner to fill."""
        screens = bool(self.teacher.asks & {"joins", "greedy"}) and not assignment.proposal.train
        return screens or assignment.done.get("band") == "outside"

    def state_dict(self) -> dict[str, Any]:
        """State that later steps depend on, JSON-able; {} where that is nothing."""
        screened = [group_to_json(Group(id, members)) for id, members in self._screened.items()]
        state = {"screened": screened, "rewriter": self.rewriter.state_dict()}
        return {name: value for name, value in state.items() if value}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        groups = [group_from_json(data) for data in state.get("screened", ())]
        self._screened = {group.proposal: group.trajectories for group in groups}
        self.rewriter.load_state_dict(state.get("rewriter", {}))

    def draw(self, step: int, played: Sequence[PlayedProposal]) -> list[list[Group]]:
        """Draw the groups of each stream of the recipe for this step."""
        streams = enumerate(self.objective.streams)
        return [stream.source.refresh().draw(self._supply(step, number, played)) for number, stream in streams]

    def prepare_streams(self) -> None:
        """Call ``prepare`` of each stream's source, once before the first step."""
        for number, stream in enumerate(self.objective.streams):
            stream.source.refresh().prepare(self._supply(0, number))

    def _player(self, step: int, *keys: int, engine: Engine | None = None) -> Player:
        """Make a player of the present policy (or another engine); ``keys`` select its random numbers."""
        config = self.config
        engine, version = engine or self._engine, played_version(step, config.staleness)

        def play_teacher() -> Player:
            return self._player(step, 5000, *keys, engine=self._teacher_engine)

        engine.load_weights(version)
        noise = derive_seed(config.seed, NOISE, step, *keys)
        engine.seed(noise)
        return Player(
            self.environments,
            engine,
            self.language.renderer,
            token_limits(config),
            config.temperature,
            np.random.default_rng([config.seed, ROLLOUT, step, *keys, 1]),
            step=max(step - 1, 0),
            steps=config.steps,
            version=version,
            judge=self.judge,
            teacher=None if self.teacher_model is None else play_teacher,
            noise=noise,
        )

    def _make_instruments(self, step: int, *keys: int) -> Instruments:
        """Create the instruments for measures; their random numbers are independent of the rollouts'."""
        return Instruments(
            self._player(step, 4000, *keys),
            self.language,
            self._forward,
            self._reference,
            np.random.default_rng([self.config.seed, MEASURE, step, *keys]),
        )

    def judge(self, groups: Sequence[Group]) -> list[Group]:
        """Measure and add the recipe's rewards to the episodes that have none yet."""
        renderer = self.language.renderer
        if self.objective.producers:
            groups = add_measures(groups, self.objective.producers, self._instruments)
        return self.objective.shape(groups, lambda turn, characters: renderer.tokens_until(turn.act_ids, characters))

    def _supply(self, step: int, number: int, played: Sequence[PlayedProposal] = ()) -> Supply:
        """Make the supply of stream ``number``."""

        def play(tasks: Sequence[RolloutTask]) -> list[Group]:
            return self.judge(Independent().play(tasks, self._player(step, 1000 + number)))

        def demonstrate(tasks: Sequence[RolloutTask]) -> list[Trajectory]:
            return [solution.played.trajectory for solution in solve(tasks, self._player(step, 2000 + number))]

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
            measure=lambda batch: self._forward.measure(self.language.model, batch).logp,
            play_teacher=None if self.teacher_model is None else play_teacher,
        )


def _make_task(proposal: teachers.Proposal, seed: int, samples: int) -> RolloutTask:
    """Make the task of a proposal; ``seed`` and ``samples`` apply if the proposal leaves them open."""
    params, own = teachers.instance(proposal.task)
    return RolloutTask(params, seed if own is None else own, samples if proposal.n is None else proposal.n, proposal.id)


def cut_batch(groups: Sequence[Group], count: int) -> list[Group]:
    """Return the first ``count`` groups, and one more if it completes a pair."""
    if 0 < count < len(groups) and groups[count].pair >= 0 and groups[count].pair == groups[count - 1].pair:
        count += 1
    return list(groups[:count])


def _make_outcome(assignment: Assignment, attempts: Group, teacher: teachers.Teacher) -> teachers.Outcome:
    """Make the report of a proposal: returns and measures of its valid unaided episodes, whichever are trained."""
    # A measurement that failed is a failure of the machinery, like an invalid reward.
    valid = [t for t in attempts.valid if all(t.extras[name] is not None for name in teacher.needs)]
    known = {name for name in teacher.uses if all(t.extras.get(name) is not None for t in valid)}
    names = sorted(teacher.needs | known)
    return teachers.Outcome(
        assignment.proposal.id,
        assignment.proposal.task,
        returns=[trajectory.env_return for trajectory in valid],
        successes=[trajectory.success for trajectory in valid],
        cost=float(sum(trajectory.action_tokens for trajectory in attempts.trajectories)),
        extras={name: [float(trajectory.extras[name]) for trajectory in valid] for name in names},
        done=assignment.done,
    )
