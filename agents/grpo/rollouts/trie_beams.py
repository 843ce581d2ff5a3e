"""Rollout strategy whose group is a beam search over the answers that a task admits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ....errors import InputError
from ..batch.trajectory import Group, Origin
from ..recipes.stages import ROLLOUTS
from .environments import Environments, begin
from .episode_player import EpisodePlayer
from .episode_starts import Insert, RolloutTask, Start
from .independent import Strategy, play_by_task

ALLOWED = "allowed_answers"
"""Extra of an environment that names the answers of the current task."""

Trie = dict[int, Any]
"""Token -> the trie of the tokens that may follow it; empty after the last token of an answer."""


def make_trie(answers: Sequence[Sequence[int]]) -> Trie:
    """Return the trie of token sequences, none of which may be the beginning of another."""
    root: Trie = {}
    for ids in answers:
        node = root
        for token in ids:
            node = node.setdefault(token, {})
    return root


@ROLLOUTS.register("trie_beams")
@dataclass(eq=False)
class TrieBeams(Strategy):
    """Play the likeliest of the answers that a task admits, found by beam search over a trie of their tokens (ReRe,
    arXiv 2510.12211, section 3.2).

    A group has as many different answers as the run has samples, or as there are answers. Beams are ranked by the
    log-probability of their tokens, renormalised at each token over those that the trie admits; an episode's rank, from
    0, is its ``extras["beam_rank"]``. The log-probabilities for ratios are the policy's own. A later turn of an episode
    is sampled freely, and so is a task whose environment names no answers.

    Args:
        answers: the answers: a file with one a line, or a text such as "yes|no"; "": those that the environment names.
    """

    answers: str = ""

    abilities = frozenset({"forced"})
    provides = frozenset({"beam_rank"})

    def __post_init__(self) -> None:
        self._listed: list[str] = []
        if self.answers:
            file = Path(self.answers)
            if "|" not in self.answers and not file.is_file():
                raise InputError(
                    f"answers={self.answers!r} of trie_beams is no file; give a file with one answer a line, or join "
                    "answers by |."
                )
            found = self.answers.split("|") if "|" in self.answers else file.read_text(encoding="utf-8").splitlines()
            self._listed = [text.strip() for text in found if text.strip()]

    def check(self, environments: Environments) -> None:
        if not self.answers and ALLOWED not in environments.supplies:
            raise InputError(
                "this environment does not name the answers that a task admits; list them in a file, "
                "--rollout \"trie_beams(answers='FILE')\"."
            )

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        starts = [self._starts(task, player) for task in tasks]
        groups = []
        for task, played in zip(tasks, play_by_task(player, starts), strict=True):
            members = [
                replace(p.trajectory, extras={**p.trajectory.extras, "beam_rank": rank})
                for rank, p in enumerate(played)
            ]
            groups.append(Group(task.proposal, tuple(members)))
        return groups

    def _starts(self, task: RolloutTask, player: EpisodePlayer) -> list[Start]:
        """Search the beams of a task; return a start for each, which is given its tokens."""
        env = player.environments.take()
        observation, info = begin(env, task.seed, task.params)
        player.environments.give_back(env)
        answers = self._listed or info["extras"].get(ALLOWED)
        prompt = player.renderer.observation(task.conditions.show(observation), first=True)
        if not answers:
            return [Start(task)] * task.samples
        allowed = [tuple(player.renderer.action_ids(text)) for text in dict.fromkeys(answers)]
        if len(prompt) + max(map(len, allowed)) > player.limits.context:
            return [Start(task)] * task.samples  # too long; played, so that it is counted as such
        beams = search_beams(make_trie(allowed), prompt, task.samples, player)
        logps = player.log_likelihoods([prompt] * len(beams), beams, player.temperature)
        policy = int(Origin.POLICY)
        inserts = [Insert(0, ids, (policy,) * len(ids), own) for ids, own in zip(beams, logps, strict=True)]
        return [Start(task, inserts=(insert,)) for insert in inserts]


def search_beams(trie: Trie, prompt: Sequence[int], width: int, player: EpisodePlayer) -> list[tuple[int, ...]]:
    """Return the ids of the ``width`` likeliest answers in a trie, likeliest first.

    Answers of different lengths compete by the sum of their tokens' renormalised log-probabilities.
    """
    beams: list[tuple[float, tuple[int, ...], Trie]] = [(0.0, (), trie)]
    while any(node for _, _, node in beams):
        wide = [(ids, node) for _, ids, node in beams if len(node) > 1]
        contexts = [(*prompt, *ids) for ids, node in wide for _ in node]
        scores = iter(player.log_likelihoods(contexts, [(token,) for _, node in wide for token in node]))
        grown = []
        for score, ids, node in beams:
            own = [next(scores)[0] for _ in node] if len(node) > 1 else [0.0] * len(node)
            total = float(np.logaddexp.reduce(own)) if own else 0.0
            grown += [(score + one - total, (*ids, token), node[token]) for one, token in zip(own, node, strict=True)]
            grown += [] if node else [(score, ids, node)]
        beams = sorted(grown, key=lambda beam: (-beam[0], beam[1]))[:width]
    return [ids for _, ids, _ in beams]
