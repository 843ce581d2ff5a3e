"""Rollout strategy that estimates the values of the states along each episode by further episodes from these states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....checks import check_number
from ..batch.trajectory import Group, Node, Trajectory
from ..recipes.stages import ROLLOUTS
from .episode_player import EpisodePlayer
from .episode_starts import FinishedEpisode, RolloutTask, Start, branch
from .episode_tree import check_steps, place_of, step_starts
from .independent import Strategy, play_by_task


@ROLLOUTS.register("vine")
@dataclass(eq=False)
class Vine(Strategy):
    """Estimate Monte-Carlo values of states (VinePPO, arXiv 2410.01679, section 4).

    Each sample is divided into segments. The value of the state before a segment is the mean return of further episodes
    from that state, which are not trained. With one continuation at temperature 0 this is the value of a prefix under
    its deterministic completion (DenseGRPO, arXiv 2601.20218).

    Args:
        at: parts that are segments, see `episode_tree.step_starts`.
        every: number of tokens of a segment.
        continuations: number of further episodes from each state; those from the beginning are shared by the group.
        heat: temperature of the further episodes; None: the training temperature.
    """

    at: str = "turn"
    every: int = 100
    continuations: int = 9
    heat: float | None = None

    provides = frozenset({"nodes", "node_values"})

    def __post_init__(self) -> None:
        check_steps(self.at, self.every)
        check_number("continuations", self.continuations, 1)

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        mains = play_by_task(player, [[Start(task)] * task.samples for task in tasks], states=True)
        places = [[self.cuts(p.trajectory, player) for p in played] for played in mains]
        begun = play_by_task(player, [[Start(task, temperature=self.heat)] * self.continuations for task in tasks])
        states = [
            [
                [branch(task, p, *place_of(p.trajectory, cut), temperature=self.heat)] * self.continuations
                for p, cuts in zip(played, several, strict=True)
                for cut in cuts
            ]
            for task, played, several in zip(tasks, mains, places, strict=True)
        ]
        ends = iter(_mean_returns(play_by_task(player, [s for by_state in states for s in by_state]), player))
        groups = []
        for task, played, several, initial in zip(tasks, mains, places, _mean_returns(begun, player), strict=True):
            members = []
            for number, (p, cuts) in enumerate(zip(played, several, strict=True)):
                values = [initial, *(next(ends) for _ in cuts)]
                edges = [0, *cuts, p.trajectory.action_tokens]
                stretches = zip(edges, edges[1:], values)
                nodes = tuple(Node(f"{number}:{a}", b - a, value) for a, b, value in stretches if b > a)
                # A state whose value could not be estimated makes the episode invalid.
                valid = p.trajectory.valid and None not in values
                error = p.trajectory.error or ("" if valid else "the value of one of its states could not be estimated")
                members.append(replace(p.trajectory, nodes=nodes, valid=valid, error=error))
            groups.append(Group(task.proposal, tuple(members)))
        return groups

    def cuts(self, trajectory: Trajectory, player: EpisodePlayer) -> list[int]:
        """Return the index of each segment's first token, except the first segment's, among the episode's action
        tokens."""
        return step_starts(trajectory, player.renderer.action, self.at, self.every) if trajectory.valid else []


def _mean_returns(by_state: Sequence[Sequence[FinishedEpisode]], player: EpisodePlayer) -> list[float | None]:
    """Return the mean return of the valid episodes from each state; None if there are none."""
    judged = player.judge([Group(-1, tuple(p.trajectory for p in played)) for played in by_state])
    returns = [[t.outcome for t in group.valid] for group in judged]
    return [sum(values) / len(values) if values else None for values in returns]
