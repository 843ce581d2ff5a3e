"""Values of the episodes in a search tree, and of their steps.

Only "verdict" reads the environment's verdict. With it, a search is a search with a verifier, to be compared with
pass@k; the other values are what a policy has at a new task.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ...checks import check_choice
from ...errors import InputError
from ...registry import Registry, take_callable
from ...rewards.models.model_rewards import load_models
from ..grpo.batch.trajectory import Trajectory
from ..grpo.measures.judgements import POLICY, JudgeLike, judge_responses
from ..grpo.recipes.recipe import Component
from ..grpo.rollouts.episode_player import EpisodePlayer
from .step_tree import StepNode, StepTree

VALUES: Registry[Callable[..., Valuer]] = Registry("search value", table="values", take=take_callable)


@dataclass
class Scores:
    """Values that a value function gives to one tree.

    Attributes:
        episodes: index of a member -> value; may contain members that were valued before.
        steps: node -> value of its prefix.
    """

    episodes: dict[int, float] = field(default_factory=dict)
    steps: dict[StepNode, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Grown:
    """Additions of a wave to a tree: indices of valid members, and new nodes, parents first."""

    tree: StepTree
    members: Sequence[int]
    nodes: Sequence[StepNode]


class Valuer:
    """Base class of value functions; a subclass defines ``__call__``.

    Attributes:
        conclusive: True if the value 1 means that the task is solved, so that its search can end.
        needs: what a run must supply, as for components (`batch.scored.needs`).
    """

    conclusive = False
    needs: ClassVar[frozenset[str]] = frozenset()

    def __call__(self, grown: Sequence[Grown], player: EpisodePlayer) -> list[Scores]:
        """Value what a wave has added to the trees.

        Args:
            player: plays or scores with the policy.

        Returns:
            the scores of each tree, all in [0, 1].
        """
        raise NotImplementedError(f"{type(self).__name__} must define __call__(grown, player).")


@VALUES.register("verdict")
class VerdictValue(Valuer):
    """The environment's verdict on the finished episode.

    Args:
        of: "success" (1 or 0), "progress", or "return" (the sum of rewards, limited to [0, 1]).
    """

    conclusive = True

    def __init__(self, of: str = "success"):
        self.of = check_choice("of", of, ("success", "progress", "return"))

    def __call__(self, grown: Sequence[Grown], player: EpisodePlayer) -> list[Scores]:
        return [Scores({n: self._value(g.tree.members[n].trajectory) for n in g.members}) for g in grown]

    def _value(self, trajectory: Trajectory) -> float:
        if self.of == "return":
            return min(1.0, max(0.0, trajectory.env_return))
        return float(trajectory.success if self.of == "success" else trajectory.progress)


@VALUES.register("votes")
class VotesValue(Valuer):
    """Share of the tree's episodes with the same answer, 0 without an answer (self-consistency, arXiv 2203.11171).

    It changes with every wave, for earlier episodes too."""

    def __call__(self, grown: Sequence[Grown], player: EpisodePlayer) -> list[Scores]:
        return [Scores(self._shares(g.tree)) for g in grown]

    @staticmethod
    def _shares(tree: StepTree) -> dict[int, float]:
        answers = tree_answers(tree)
        counts = Counter(answers.values())
        return {n: counts[a] / len(answers) if a is not None else 0.0 for n, a in answers.items()}


@VALUES.register("likelihood")
class LikelihoodValue(Valuer):
    """Geometric mean of the probabilities of the action tokens, of the episode and of each prefix."""

    def __call__(self, grown: Sequence[Grown], player: EpisodePlayer) -> list[Scores]:
        found = []
        for g in grown:
            episodes = {n: self._mean(g.tree.members[n].trajectory, None) for n in g.members}
            steps = {node: self._mean(g.tree.members[node.member].trajectory, node.end) for node in g.nodes}
            found.append(Scores(episodes, steps))
        return found

    @staticmethod
    def _mean(trajectory: Trajectory, end: int | None) -> float:
        logps = [logp for turn in trajectory.turns for logp in turn.logps][:end]
        return math.exp(sum(logps) / max(1, len(logps)))


@dataclass(frozen=True)
class _Asking:
    player: EpisodePlayer


@VALUES.register("judge")
class JudgeValue(Valuer):
    """Score of the response by a judge.

    Args:
        judge: "policy" (its probability of "yes" rather than "no"), or a registered judge by name or data.
        question: question to the judge.
        steps: also judge every prefix.
    """

    def __init__(self, judge: JudgeLike = POLICY, question: str = "Is the answer right?", steps: bool = False):
        self.judge, self.question, self.steps = judge, question, steps

    def __call__(self, grown: Sequence[Grown], player: EpisodePlayer) -> list[Scores]:
        texts = [_texts(g, player, self.steps) for g in grown]
        pairs = [pair for several in texts for _, pair in several]
        scores = iter(judge_responses(self.judge, self.question, pairs, _Asking(player)))
        return [_sort([(place, next(scores)) for place, _ in several]) for several in texts]


@VALUES.register("model")
class ModelValue(Valuer):
    """Score by a reward model of the response, and of every prefix as by a process reward model.

    Args:
        model: file written by `rewards.models.RewardModel.save`, or a folder with an ensemble, whose mean score counts.
        pool: value of an episode: the score of the "last" step, the "min", or the "product" over the steps (best-of-N
            as in MedS3, arXiv 2501.12051).
    """

    def __init__(self, model: str, pool: str = "last"):
        self.pool = check_choice("pool", pool, ("last", "min", "product"))
        self.models = load_models(model)

    def __call__(self, grown: Sequence[Grown], player: EpisodePlayer) -> list[Scores]:
        texts = [_texts(g, player, True) for g in grown]
        pairs = [pair for several in texts for _, pair in several]
        prompts, responses = [prompt for prompt, _ in pairs], [response for _, response in pairs]
        raw = np.mean([model.score(prompts, responses) for model in self.models], axis=0).tolist()
        rest = iter([1 / (1 + math.exp(-max(-700.0, min(700.0, score)))) for score in raw])
        found = []
        for g, several in zip(grown, texts, strict=True):
            scores = _sort([(place, next(rest)) for place, _ in several])
            if self.pool != "last":
                pool = min if self.pool == "min" else math.prod
                for n in scores.episodes:
                    known = [scores.steps.get(node, node.estimate) for node in g.tree.leaves[n].path()[1:]]
                    scores.episodes[n] = pool([value for value in known if value is not None])
            found.append(scores)
        return found


@VALUES.register("critic")
class CriticValue(Valuer):
    """Value of every prefix, and of an episode before its last token, by the critic that the run trains (a head on the
    policy's hidden states, the auxiliary model "critic"), limited to [0, 1]."""

    needs = frozenset({"value"})

    def __call__(self, grown: Sequence[Grown], player: EpisodePlayer) -> list[Scores]:
        if player.critic is None:
            raise InputError(
                "the search value 'critic' reads the critic that a run trains with its policy; take a run of a recipe "
                "such as ppo, or --auxiliaries critic."
            )
        trajectories = [g.tree.members[n].trajectory for g in grown for n in g.members]
        each = iter(player.critic(trajectories) if trajectories else ())
        found = []
        for g in grown:
            values = {n: next(each).clamp(0.0, 1.0).tolist() for n in g.members}
            steps = {node: values[node.member][min(node.end, len(values[node.member]) - 1)] for node in g.nodes}
            found.append(Scores({n: row[-1] for n, row in values.items()}, steps))
        return found


def _texts(grown: Grown, player: EpisodePlayer, steps: bool) -> list[tuple[int | StepNode, tuple[str, str]]]:
    """Return (member or node, (prompt, text of the actions so far)) of what a wave has added to a tree."""
    tree = grown.tree
    places: list[tuple[int | StepNode, int, int | None]] = [(n, n, None) for n in grown.members]
    places += [(node, node.member, node.end) for node in grown.nodes] if steps else []
    return [(place, _text_up_to(tree, member, end, player)) for place, member, end in places]


def prefix_text(tree: StepTree, node: StepNode, player: EpisodePlayer) -> tuple[str, str]:
    """Return (prompt, text of the actions up to a node), as the value "model" reads them."""
    return _text_up_to(tree, node.member, node.end, player)


def _text_up_to(tree: StepTree, member: int, end: int | None, player: EpisodePlayer) -> tuple[str, str]:
    turns = tree.members[member].trajectory.turns
    parts, left = [], math.inf if end is None else end
    for turn in turns:
        if left <= 0:
            break
        ids = turn.act_ids if left >= len(turn.act_ids) else turn.act_ids[: int(left)]
        parts.append(player.renderer.action(ids))
        left -= len(turn.act_ids)
    return turns[0].observation, "\n".join(parts)


def _sort(scored: Sequence[tuple[int | StepNode, float | None]]) -> Scores:
    """Sort values by members and nodes; a value that could not be found is left out."""
    scores = Scores()
    for place, value in scored:
        if value is None:
            continue
        if isinstance(place, StepNode):
            scores.steps[place] = value
        else:
            scores.episodes[place] = value
    return scores


def tree_answers(tree: StepTree) -> dict[int, str | None]:
    """Return the answer of each valid member; None for an episode without an answer."""
    members = ((n, member.trajectory) for n, member in enumerate(tree.members))
    return {n: trajectory.episode.answer for n, trajectory in members if trajectory.valid and trajectory.turns}


class Scorer:
    """Values episodes and steps by one value function or the mean of several.

    Args:
        text: names in `VALUES` with parameters, joined by +: "votes", "likelihood+model(model='prm.pt')".

    Raises:
        InputError: the text is no sum of value functions, or one is unknown.
    """

    def __init__(self, text: str):
        self.parts: list[Valuer] = [VALUES.make(part.name, **part.params) for part in Component.parse_all(text)]
        if not self.parts:
            raise InputError(f"value names at least one of {', '.join(VALUES)}, not {text!r}.")
        self.conclusive = all(part.conclusive for part in self.parts)
        self.needs = frozenset[str]().union(*(part.needs for part in self.parts))

    def __call__(self, grown: Sequence[Grown], player: EpisodePlayer) -> None:
        """Set the rewards of episodes and the estimates of steps that a wave has added, and those that have changed.

        An episode that a part could not value has the mean of the other parts; without any value it has none.
        """
        by_part = [part(grown, player) for part in self.parts]
        for place, g in enumerate(grown):
            scores = [found[place] for found in by_part]
            for n, values in _merge([s.episodes for s in scores]).items():
                g.tree.set_reward(n, values)
            for node, values in _merge([s.steps for s in scores]).items():
                node.estimate = sum(values.values()) / len(values)


def _merge(parts: Sequence[dict[Any, float]]) -> dict[Any, dict[int, float]]:
    """Return for each key the values by index of the part."""
    found: dict[Any, dict[int, float]] = {}
    for number, values in enumerate(parts):
        for key, value in values.items():
            found.setdefault(key, {})[number] = value
    return found
