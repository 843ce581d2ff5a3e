"""Producers that keep a moving average of the policy's weights and score episodes with this average.

A producer that owns weights has four further methods: `attach` is called once before the first step, `follow` after the
optimiser steps of each update, `state` and `load` for checkpoints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ....checks import check_count
from ....errors import InputError
from ....rewards.answers import check_format, extract
from ....rewards.verifiers.text import normalise
from ...language.average_copy import AverageCopy
from ..batch.trajectory import Group
from ..rollouts.episode_player import EpisodePlayer
from .likelihoods import list_logps, reference_ids, valid_of
from .producer import Found, ProducerTools, place_rows, produces


@produces("base_logps", needs=("reference",))
class NoThinkLogps(AverageCopy):
    """Log-probabilities under the average, at temperature 1, of the reference answer right after the prompt (the
    no-think baseline of RLP, arXiv 2510.01265, section 3, which has decay 0.999); None if the reference is not text."""

    def __call__(self, groups: Sequence[Group], tools: ProducerTools) -> Found:
        prompts = [t.turns[0].obs_ids for t in valid_of(groups)]
        scored = tools.score_texts(prompts, reference_ids(groups, tools), self.model)
        return place_rows(groups, ({"base_logps": list_logps(text)} for text in scored))


@produces("teacher_answer")
class TeacherAnswer(AverageCopy):
    """Most frequent answer of the average to a task's prompt (Co-rewarding-II, arXiv 2508.00410, section 3.3).

    Args:
        decay: see `AverageCopy`. In the paper it rises along a cosine, as with a schedule:
            ``teacher_answer(decay=schedule_cosine(start=0.99, end=1.0))``.
        samples: number of answers per prompt that vote.
        answer_format: format of the answer in a response (`palaestra.rewards.answers.FORMATS`).
        crossed: exchange the labels of a task's two wordings, which share a value of ``extras["pair"]``
            (Co-rewarding-III).

    Raises:
        InputError: when called, an episode has several turns and so no single prompt to answer.
    """

    def __init__(self, decay: float = 0.99, samples: int = 8, answer_format: str = "any", crossed: bool = False):
        super().__init__(decay)
        self.crossed = crossed
        self.samples = check_count("samples", samples, 1)
        check_format(answer_format)
        self.answer_format = answer_format
        self._engine: Any = None

    def __call__(self, groups: Sequence[Group], tools: ProducerTools) -> Found:
        if any(len(trajectory.turns) > 1 for trajectory in valid_of(groups)):
            raise InputError("'teacher_answer' needs tasks of one answer, but episodes here have several turns.")
        asked = [group.valid[0] for group in groups if group.valid]
        player = self._player(tools)
        questions = [one.turns[0].observation for one in asked for _ in range(self.samples)]
        answers = iter(["" if turn is None else turn.action for turn in player.ask(questions)])
        labels = [self._vote([next(answers) for _ in range(self.samples)]) for _ in asked]
        if self.crossed:
            labels = cross_labels(labels, [one.extras.get("pair") for one in asked])
        label = iter(labels)
        found = []
        for group in groups:
            told = {"teacher_answer": next(label)} if group.valid else {}
            found.append([told if t.valid else {} for t in group.trajectories])
        return found

    def _player(self, tools: ProducerTools) -> EpisodePlayer:
        """Return a player that samples from the average, seeded anew for this step."""
        ours = tools.player
        if self._engine is None:
            language = replace(tools.language, model=self.model)
            self._engine = language.engine(256, ours.limits.context, tools.passes.fp32_head)
        self._engine.seed(int(tools.rng.integers(2**63)))
        return EpisodePlayer(ours.environments, self._engine, ours.renderer, ours.limits, ours.temperature, tools.rng)

    def _vote(self, texts: Sequence[str]) -> str | None:
        answers = [extract(text, self.answer_format) for text in texts]
        votes = Counter(normalise(answer) for answer in answers if answer)
        return max(votes, key=lambda answer: votes[answer]) if votes else None


def cross_labels(labels: Sequence[str | None], pairs: Sequence[Any]) -> list[str | None]:
    """Give each task the label of the other task with the same pair id; None if there is no such task."""
    members: dict[Any, list[int]] = {}
    for number, pair in enumerate(pairs):
        members.setdefault((number,) if pair is None else pair, []).append(number)
    other = {mine: theirs for two in members.values() if len(two) == 2 for mine, theirs in (two, two[::-1])}
    return [labels[other[number]] if number in other else None for number in range(len(labels))]
