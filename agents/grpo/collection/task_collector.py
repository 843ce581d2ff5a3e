"""Collector of a step's data: has the teacher propose tasks, plays and judges them, and reports the outcomes.

Input: the teacher, the environments and the policy. Output: `Collected`, the step's groups; those to train on have
passed the recipe's filters and are mixed with replayed ones. A recipe's streams (further sources of training data) draw
separate groups. Every random number of step t is derived from the run's seed, t and its purpose (`run.seeds`).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from .... import teachers
from ...engines.engine import Engine
from ...engines.policy_engine import PolicyEngine
from ...language.model import LanguageModel
from ..batch.passes import Passes
from ..batch.trajectory import Group, Trajectory, group_from_json, group_to_json
from ..components.auxiliaries.critic import Critic, state_values
from ..components.streams.supply import Supply
from ..config import TrainConfig
from ..measures.producer import ProducerTools, add_measures
from ..objective.binding import Bound
from ..objective.objective import Objective
from ..rollouts.context_check import token_limits
from ..rollouts.environments import Environments
from ..rollouts.episode_player import EpisodePlayer, FinishedEpisode
from ..rollouts.episode_starts import RolloutTask, Start
from ..rollouts.guidance import solve
from ..rollouts.independent import Independent
from ..run.durations import DurationLog
from ..run.logs import PlayedProposal
from ..run.seeds import MEASURE, NOISE, REPLAY, ROLLOUT, STREAM, derive_seed
from ..run.step_log import Collected
from ..settings import read_policies
from ..teacher_requests.requests import Assignment, RequestContext, count_requests, run_requests
from ..teacher_requests.rewriting import Rewriter
from .past_policies import PastPlayers, PastPolicies
from .policy_weights import played_version


class TaskCollector:
    """Collects the episodes of a learner's steps, and the groups of its streams.

    If collection is ahead of the updates, ``objective``, ``language`` and ``passes`` must not be shared with the
    update.

    Args:
        teacher: proposes the tasks.
        language: the policy, which plays with its current weights.
        teacher_model: the model to distil from, or None.
        passes: the learner's passes through a model.
        reference: the reference model, or None if nothing needs one.
        rewriter: rewrites prompts if proposals request it; None: the policy rewrites.
        policy_engine: the run's engine, which samples from the policy; torch samples from the model to distil from.
        policies: name -> policy besides the run's own (`policies.Policy`), with an engine and a language model.
        durations: recorded durations of environment steps, which replace measured ones; None: durations count as
            measured.
        spare: bytes of GPU memory that the optimiser will allocate later, to be left free.
    """

    def __init__(
        self,
        config: TrainConfig,
        objective: Objective,
        environments: Environments,
        teacher: teachers.Teacher,
        language: LanguageModel,
        teacher_model: LanguageModel | None,
        passes: Passes,
        reference: Any = None,
        rewriter: Rewriter | None = None,
        policy_engine: PolicyEngine | None = None,
        spare: int = 0,
        policies: Mapping[str, Any] | None = None,
        durations: DurationLog | None = None,
    ):
        self.config, self.objective, self.environments = config, objective, environments
        self.teacher, self.language = teacher, language
        self.teacher_model = teacher_model
        self._policies = policies or {}
        self._durations = durations
        self._engine = self._open(policy_engine or PolicyEngine(), language, spare)
        if objective.logit_rule is not None:
            self._engine.rule = objective.logit_rule
        if (thinking := objective.thinking.target.open(language.tokenizer)) is not None:
            self._engine.thinking = thinking
        self._passes, self._reference = passes, reference
        wanted = getattr(objective.rollout.target, "keeps_copies", False)
        # Past copies of the policy, if the rollout strategy plays against them.
        self.past = PastPolicies(language, lambda copy: self._open(PolicyEngine(), copy)) if wanted else None
        self._tools = self._make_tools(0)
        self.rewriter = rewriter or Rewriter(config.requests)
        self._screened: dict[int, tuple[Trajectory, ...]] = {}

    def follow_policy(self) -> None:
        """Make the engine sample from the policy's current weights, also after other models have used it."""
        self._engine.follow(self.language)

    def _open(self, policy_engine: PolicyEngine, language: LanguageModel, spare: int = 0) -> Engine:
        config = self.config
        slots = min(256, config.prompts * config.samples)
        return policy_engine.open(language, slots, config.context, config.fp32_head, spare)

    @cached_property
    def _teacher_engine(self) -> Engine:
        """Engine of the model to distil from; created on first use, as few recipes sample from this model."""
        assert self.teacher_model is not None
        return self._open(PolicyEngine(), self.teacher_model)

    def collect(self, step: int) -> Collected:
        """Play the teacher's proposals and report outcomes, in rounds, until enough groups have passed the filters."""
        config, objective = self.config, self.objective
        assignments: list[Assignment] = []
        trainable: list[Group] = []
        further_groups: list[Group] = []
        overlong = rounds = 0
        most = objective.recipe.refill
        while rounds < most and len(trainable) < config.prompts:
            played, further, unplayed = self._play_round(step, rounds)
            trainable += objective.filter_groups([assignment.group for assignment in played if assignment.trained])
            assignments += played
            overlong += unplayed
            further_groups += further
            rounds += 1
            # Proposals for screening, or outside the band, leave gaps in the batch; further rounds fill them.
            screening = bool(self.teacher.asks & {"joins", "greedy"})
            if any((screening and not a.proposal.train) or a.done.get("band") == "outside" for a in played):
                most = max(most, config.requests.rounds)
        trainable = cut_batch(trainable, config.prompts) + objective.filter_groups(further_groups)
        trainable = objective.replay.refresh().mix(trainable, step, np.random.default_rng([config.seed, REPLAY, step]))
        rows = [PlayedProposal(a.proposal, a.task, a.own_group, a.done) for a in assignments]
        counts = {**count_requests(assignments), **getattr(objective.rollout.target, "metrics", dict)()}
        return Collected(rows, further_groups, trainable, counts, overlong)

    def _play_round(self, step: int, round_: int) -> tuple[list[Assignment], list[Group], int]:
        """Play and report one round of proposals.

        Returns:
            (judged assignments; further groups of the strategy; number of tasks whose prompt left no context for an
                action).
        """
        config = self.config
        rng = np.random.default_rng([config.seed, ROLLOUT, step, round_])
        proposals = self.teacher.propose(config.prompts)
        seeds = rng.integers(2**31, size=len(proposals)).tolist()
        assignments = []
        for proposal, seed in zip(proposals, seeds, strict=True):
            params, own_seed = teachers.instance(proposal.task)
            samples = config.samples if proposal.n is None else proposal.n
            task = RolloutTask(params, seed if own_seed is None else own_seed, samples, proposal.id)
            assignments.append(Assignment(proposal, task, Group(proposal.id, ()), trained=proposal.train))
        self._tools = self._make_tools(step, round_)
        player = self._player(step, round_)  # after the tools' player: both seed the engine, and this seed must hold
        context = RequestContext(player, config.requests, self.rewriter, self._screened)
        run_requests("play", assignments, context)
        groups = self.objective.rollout.refresh().play([assignment.task for assignment in assignments], player)
        if self._durations is not None:
            groups = self._durations.repeat(step, round_, groups)
        further_groups = groups[len(assignments) :]
        for assignment, group in zip(assignments, groups[: len(assignments)], strict=True):
            assignment.group = group
        run_requests("group", assignments, context)
        self._report(assignments, player)
        run_requests("train", assignments, context)
        # A teacher may propose tasks for evaluation only, which are not judged.
        trained = [assignment for assignment in assignments if assignment.trained]
        for assignment, group in zip(trained, self.judge([each.group for each in trained]), strict=True):
            assignment.group = group
        # Episodes of another role, such as a proposer's, already have their rewards.
        unjudged = [not any(t.role for t in group.trajectories) for group in further_groups]
        judged = iter(self.judge([group for group, wanted in zip(further_groups, unjudged, strict=True) if wanted]))
        further_groups = [
            next(judged) if wanted else group for group, wanted in zip(further_groups, unjudged, strict=True)
        ]
        return assignments, further_groups, len(player.overlong)

    def _report(self, assignments: Sequence[Assignment], player: EpisodePlayer) -> None:
        """Report outcomes to the teacher, and keep episodes of screening proposals that later proposals may join."""
        attempted = [each for each in assignments if each.proposal.id in player.attempts]
        tried = [Group(each.proposal.id, tuple(player.attempts[each.proposal.id])) for each in attempted]
        tried = add_measures(tried, self.objective.teacher_producers, self._tools)
        outcomes = [_make_outcome(*pair, self.teacher) for pair in zip(attempted, tried, strict=True)]
        self.teacher.observe(outcomes)
        screened = {a.proposal.id: a.group.valid for a in assignments if not a.proposal.train}
        wanted = self.teacher.joinable()
        self._screened = {id: each for id, each in (self._screened | screened).items() if id in wanted}

    def state_dict(self) -> dict[str, Any]:
        """Return the state that later steps depend on, JSON-able; {} if there is none."""
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
        """Call ``prepare`` of each stream's source; must be called once, before the first step."""
        for number, stream in enumerate(self.objective.streams):
            stream.source.refresh().prepare(self._supply(0, number))

    def _player(
        self, step: int, *keys: int, engine: Engine | None = None, renderer: Any = None, policy: str = ""
    ) -> EpisodePlayer:
        """Make a player of the current policy (or of another engine, with its renderer and name); ``keys`` are part of
        its random seeds."""
        config, others = self.config, dict[str, EpisodePlayer]()
        if engine is None and self._policies:
            made = {
                name: self._player(
                    *(step, 7000 + number, *keys), engine=each.engine, renderer=each.language.renderer, policy=name
                )
                for number, (name, each) in enumerate(self._policies.items())
            }
            others = {role: made[name] for role, name in read_policies(config.role_policies)[0].items()}
        engine, version = engine or self._engine, played_version(step, config.staleness)

        critic = next((part for part in self.objective.auxiliaries if isinstance(part.target, Critic)), None)

        def play_teacher() -> EpisodePlayer:
            return self._player(step, 5000, *keys, engine=self._teacher_engine)

        def play_copy(copy: Engine) -> EpisodePlayer:
            return self._player(step, 6000, *keys, engine=copy)

        engine.load_weights(version)
        noise = derive_seed(config.seed, NOISE, step, *keys)
        engine.seed(noise)
        return EpisodePlayer(
            self.environments,
            engine,
            renderer or self.language.renderer,
            token_limits(config),
            config.temperature,
            np.random.default_rng([config.seed, ROLLOUT, step, *keys, 1]),
            step=max(step - 1, 0),
            steps=config.steps,
            version=version,
            judge=self.judge,
            teacher=None if self.teacher_model is None else play_teacher,
            noise=noise,
            past=None if self.past is None else PastPlayers(self.past, play_copy),
            others=others,
            policy=policy,
            timed="seconds" in self.objective.needs,
            critic=None if critic is None or policy else partial(self._value_states, critic),
        )

    def _value_states(self, critic: Bound, trajectories: Sequence[Trajectory]) -> list[Any]:
        return state_values(critic.target, self.language.model, self._passes, trajectories)

    def _make_tools(self, step: int, *keys: int) -> ProducerTools:
        """Make the tools of measures; their random numbers are independent of the rollouts'."""
        return ProducerTools(
            self._player(step, 4000, *keys),
            self.language,
            self._passes,
            self._reference,
            np.random.default_rng([self.config.seed, MEASURE, step, *keys]),
        )

    def judge(self, groups: Sequence[Group]) -> list[Group]:
        """Measure the episodes that are not judged yet and add the recipe's rewards to them."""
        renderer = self.language.renderer
        if self.objective.producers:
            groups = add_measures(groups, self.objective.producers, self._tools)
        return self.objective.add_rewards(
            groups, lambda turn, characters: renderer.tokens_until(turn.act_ids, characters)
        )

    def judge_apart(self, step: int, groups: Sequence[Group]) -> list[Group]:
        """Judge groups that do not belong to the run: the state of measures and rewards does not change."""
        state, tools = copy.deepcopy(self.objective.state_dict()), self._tools
        self._tools = self._make_tools(step, 8000)
        try:
            return self.judge(groups)
        finally:
            self._tools = tools
            self.objective.load_state_dict(state)

    def play_apart(self, step: int, starts: Sequence[Start]) -> list[FinishedEpisode]:
        """Play episodes that do not belong to the run, with the policy."""
        return self._player(step, 8100).play(starts)

    def _supply(self, step: int, number: int, played: Sequence[PlayedProposal] = ()) -> Supply:
        """Make the `Supply` of stream ``number``."""

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
            measure=lambda batch: self._passes.measure(self.language.model, batch).logp,
            encode=self._tools.encode,
            context=self.config.context,
            play_teacher=None if self.teacher_model is None else play_teacher,
        )


def cut_batch(groups: Sequence[Group], count: int) -> list[Group]:
    """Return the first ``count`` groups, and one more if it completes a pair."""
    if 0 < count < len(groups) and groups[count].pair >= 0 and groups[count].pair == groups[count - 1].pair:
        count += 1
    return list(groups[:count])


def _make_outcome(assignment: Assignment, attempts: Group, teacher: teachers.Teacher) -> teachers.Outcome:
    """Make the outcome of a proposal: returns and measures of its valid unaided episodes, trained or not."""
    # Episodes without a required measure are left out, like invalid ones: the failure is not the agent's.
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
