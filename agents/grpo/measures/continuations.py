"""Values of prefixes, estimated by continuing them: forced answers after each part of a response, and states after
turns.

Scores and labels of steps follow from them (Math-Shepherd, arXiv 2312.08935): the value of a step is the probability of
success after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....checks import check_count
from ....rewards.models.model_rewards import load_models
from ....rewards.models.recorded_pairs import list_prefixes
from ....rewards.terms.model_scores import sigmoid
from ....rewards.terms.prefixes import PrefixProbe
from ...search.error_search import Halving
from ..batch.trajectory import Group, Origin, Trajectory
from ..rollouts.environments import begin, snapshot
from ..rollouts.episode_player import EpisodePlayer
from ..rollouts.episode_starts import Insert, Moment, RolloutTask, Start
from .judgements import for_each_valid
from .producer import Found, ProducerTools, produces


@produces("prefix_values")
@dataclass(eq=False)
class PrefixValues:
    """Success rate of episodes that continue from each prefix: the empty one, then after each part of a single
    response, or after each turn. The last value is the episode's own success, 0 or 1.

    After a part of a response, ``cue`` forces an answer, as in MRT (arXiv 2503.07572) and VSRM (arXiv 2508.10293).

    Args:
        samples: number of episodes from each prefix.
        cue: text that forces the answer after a part.
        temperature: sampling temperature; None: the training temperature, 0: deterministic completion.
        min_segment: least length of a part in characters; see `rewards.terms.prefixes.PrefixProbe`.
        max_segments: most parts of a response.
    """

    samples: int = 1
    cue: str = "\n"
    temperature: float | None = None
    min_segment: int = 100
    max_segments: int = 32

    def __post_init__(self) -> None:
        check_count("samples", self.samples, 1)
        self._probe = PrefixProbe(min_segment=self.min_segment, max_segments=self.max_segments)

    def __call__(self, groups: Sequence[Group], tools: ProducerTools) -> Found:
        player = tools.player

        def measure(trajectories: list[Trajectory]) -> list[dict[str, Any]]:
            starts = [self._starts(trajectory, player) for trajectory in trajectories]
            flat = [start for several in starts for start in several for _ in range(self.samples)]
            ends = iter([played.trajectory for played in player.play(flat)])
            rows = []
            for trajectory, several in zip(trajectories, starts, strict=True):
                values = [self._mean([next(ends) for _ in range(self.samples)]) for _ in several]
                rows.append({"prefix_values": [*values, float(trajectory.success)]})
            return rows

        return for_each_valid(groups, measure)

    @staticmethod
    def _mean(ends: Sequence[Trajectory]) -> float:
        """Return the success rate of the valid episodes; NaN, which makes the verdict invalid, if there are none."""
        known = [end.success for end in ends if end.valid]
        return sum(known) / len(known) if known else float("nan")

    def _starts(self, trajectory: Trajectory, player: EpisodePlayer) -> list[Start]:
        """Return a start for each prefix except the whole episode."""
        task = RolloutTask(trajectory.params, trajectory.seed, 1)
        options = {"temperature": self.temperature, "role": "probe"}
        if len(trajectory.turns) != 1:
            return [Start(task, moment, **options) for moment in replay_moments(trajectory, player)]
        turn = trajectory.turns[0]
        cue = player.renderer.action_ids(self.cue)[:-1] if self.cue else ()
        starts = [Start(task, **options)]
        for _, stop in self._probe.split_parts(turn.action)[:-1]:
            ids = (*turn.act_ids[: player.renderer.tokens_until(turn.act_ids, stop)], *cue)
            starts.append(Start(task, inserts=(Insert.of(0, ids, Origin.COPY),), **options))
        return starts


@produces("wrong_step", "step_labels")
@dataclass(eq=False)
class FirstWrongStep(PrefixValues):
    """First wrong step of failed episodes, found by halving: the step after which no continuation succeeds any more, in
    log2(steps) probes instead of one for each step (OmegaPRM, arXiv 2406.06592).

    Steps are the parts and turns of `PrefixValues`, whose options it has. The labels are True before the first wrong
    step and False from it on; all are True in a successful episode. Name it among the measures of a recipe to replace
    the labels of `step_labels`.
    """

    samples: int = 4

    def __call__(self, groups: Sequence[Group], tools: ProducerTools) -> Found:
        player = tools.player

        def measure(trajectories: list[Trajectory]) -> list[dict[str, Any]]:
            starts = [self._starts(trajectory, player) for trajectory in trajectories]
            searches = [Halving(0, len(several)) for several in starts]
            while running := [n for n, t in enumerate(trajectories) if not (t.success or searches[n].over)]:
                probes = [starts[n][searches[n].middle] for n in running for _ in range(self.samples)]
                ends = iter([played.trajectory for played in player.play(probes)])
                for n in running:
                    several = [next(ends) for _ in range(self.samples)]
                    searches[n].report(any(end.valid and end.success for end in several))
            rows = []
            for trajectory, several, search in zip(trajectories, starts, searches, strict=True):
                wrong = len(several) if trajectory.success else search.high - 1
                rows.append({"wrong_step": wrong, "step_labels": [step < wrong for step in range(len(several))]})
            return rows

        return for_each_valid(groups, measure)


def replay_moments(trajectory: Trajectory, player: EpisodePlayer) -> list[Moment]:
    """Return the `Moment` before each turn, found by replaying the episode's actions in an environment."""
    env = player.environments.take()
    observation, info = begin(env, trajectory.seed, trajectory.params)
    moments = []
    for number, turn in enumerate(trajectory.turns):
        moments.append(Moment(snapshot(env), observation, dict(info), trajectory.turns[:number], turn.fresh))
        observation = env.step(turn.action)[0]
    player.environments.give_back(env)
    return moments


@produces("step_scores", needs=["prefix_values"])
class StepScores:
    """Scores of steps: chance of success after each, or probability by a process reward model that it is right.

    The chance of success is that of `PrefixValues` (Math-Shepherd, arXiv 2312.08935, soft estimation), whose parts and
    turns are the steps in either case.

    Args:
        model: file or folder of process reward models (``--learner reward-model --objective process``), whose scores
            are averaged; None: the chance of success.
        min_segment: with a model, the least length of a part in characters.
    """

    def __init__(self, model: str | None = None, min_segment: int = 100):
        self.needs = frozenset({"prefix_values"}) if model is None else frozenset[str]()
        self.models = [] if model is None else load_models(model)
        self._probe = PrefixProbe(min_segment=min_segment)

    def __call__(self, groups: Sequence[Group], tools: ProducerTools) -> Found:
        if not self.models:
            return [[{"step_scores": list(_after_steps(t))} for t in group.trajectories] for group in groups]

        def measure(trajectories: list[Trajectory]) -> list[dict[str, Any]]:
            prefixes = [list_prefixes([turn.action for turn in t.turns], self._probe) for t in trajectories]
            prompts = [t.episode.prompt for t, several in zip(trajectories, prefixes) for _ in several]
            texts = [text for several in prefixes for text in several]
            found = iter(np.mean([model.score(prompts, texts) for model in self.models], axis=0).tolist())
            return [{"step_scores": [sigmoid(next(found)) for _ in several]} for several in prefixes]

        return for_each_valid(groups, measure)


@produces("step_labels", needs=["prefix_values"])
def step_labels(groups: Sequence[Group], tools: ProducerTools) -> Found:
    """Labels of steps: in a successful episode, True if success is possible after the step; in a failed one, True if
    most continuations fail after the step (Math-Shepherd's hard estimation, for TP-GRPO 2507.23317)."""
    return [
        [
            {"step_labels": [value > 0 if t.success else value < 0.5 for value in _after_steps(t)]}
            for t in group.trajectories
        ]
        for group in groups
    ]


def _after_steps(trajectory: Trajectory) -> Sequence[float]:
    return trajectory.extras.get("prefix_values", (0.0,))[1:]
