"""Scores by a judge: the policy, asked a yes-or-no question, or any registered judge.

The policy's score is its probability of "yes" relative to "no", so that even a model that cannot write judgements gives
one. Another judge is a registered name or data: ``judge_score(judge={'judge': 'endpoint', 'model': '...'})``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Protocol

from ....checks import check_count, check_number
from ....rewards import Episode
from ....rewards.judges.judge import as_judge
from ....rewards.terms.step_scores import blank_spans, equal_spans
from ..batch.trajectory import Group, Trajectory
from ..rollouts.episode_player import EpisodePlayer
from .producer import Found, ProducerTools, produces

POLICY = "policy"

QUESTIONS = {
    "judge_score": "Is the answer right?",
    "process_score": "Is the reasoning sound?",
    "thinking_score": "Is the thinking careful and to the point?",
    "consistency": "Does the answer follow from the reasoning?",
}
"""Name of a measure of the whole response -> question to the judge."""

JudgeLike = str | Mapping[str, Any]


class PolicyTools(Protocol):
    """Tools of a judge that may be the policy: the player with which the policy is asked."""

    @property
    def player(self) -> EpisodePlayer: ...


def policy_scores(texts: Sequence[str], question: str | Sequence[str], tools: PolicyTools) -> list[float | None]:
    """Return the policy's probability of "yes" rather than "no" to a question about each text; None if not even the
    question fits into the context.

    The words are compared at the first token in which they differ, as for one-token answers in MMLU (arXiv 2009.03300)
    and P(True) (arXiv 2207.05221). Whole words would favour the shorter one: a character-level model finds "no"
    likelier than "yes" after any text.

    Args:
        question: one question for all texts, or one for each.
    """
    player = tools.player
    questions = [question] * len(texts) if isinstance(question, str) else question
    yes, no = (player.renderer.action_ids(word)[:-1] for word in ("yes", "no"))
    compared = 1 + sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(yes, no)))
    contexts = [_fit_context(text, asked, compared, tools) for text, asked in zip(texts, questions, strict=True)]
    known = [context for context in contexts if context is not None]
    options = [yes[:compared], no[:compared]] * len(known)
    logps = player.log_likelihoods([c for c in known for _ in range(2)], options)
    excess = iter([no[-1] - yes[-1] for yes, no in zip(logps[::2], logps[1::2], strict=True)])
    return [None if context is None else 1 / (1 + math.exp(min(700.0, next(excess)))) for context in contexts]


def _fit_context(text: str, question: str, answer: int, tools: PolicyTools) -> tuple[int, ...] | None:
    """Return the ids of text and question, cutting the beginning of a text that is too long; None if nothing fits."""
    player = tools.player
    while True:
        ids = player.renderer.observation(f"{text}\n{question} Answer yes or no.", first=True)
        if len(ids) + answer <= player.limits.context:
            return ids
        if not text:
            return None
        text = text[len(text) // 2 + 1 :]


def judge_responses(
    judge: JudgeLike, question: str, pairs: Sequence[tuple[str, str]], tools: PolicyTools
) -> list[float | None]:
    """Score each (prompt, response); None if the judge failed."""
    if judge == POLICY:
        return policy_scores([f"{prompt}\n{response}" for prompt, response in pairs], question, tools)
    made = as_judge(judge)
    calls = [lambda p=prompt, r=response: made.score(question, p, [r]) for prompt, response in pairs]
    return [answer.scores[0] if answer.valid else None for answer in made.gather(calls)]


def for_each_valid(
    groups: Sequence[Group], measure: Callable[[list[Trajectory]], Sequence[Mapping[str, Any]]]
) -> list[list[Mapping[str, Any]]]:
    """Measure the valid trajectories of all groups in one call of ``measure``; the others get an empty mapping."""
    valid = [trajectory for group in groups for trajectory in group.valid]
    found = iter(measure(valid) if valid else ())
    return [[next(found) if trajectory.valid else {} for trajectory in group.trajectories] for group in groups]


def _register(name: str, asked: str) -> None:
    @produces(name)
    def judge_episodes(
        groups: Sequence[Group], tools: ProducerTools, judge: Any = POLICY, question: str = asked
    ) -> Found:
        """Score of the response by a judge: the policy by default, else a registered judge by name or data."""

        def measure(trajectories: list[Trajectory]) -> list[dict[str, Any]]:
            pairs = [(t.episode.prompt, t.episode.response) for t in trajectories]
            return [{name: score} for score in judge_responses(judge, question, pairs, tools)]

        return for_each_valid(groups, measure)


for _name, _question in QUESTIONS.items():
    _register(_name, _question)


@produces("mark", needs=["judge_score"])
def marks(groups: Sequence[Group], tools: ProducerTools) -> Found:
    """Mark of the response, 1 to 3 (CoMAS, arXiv 2510.08529): thirds of the judge's score; None without a score."""

    def mark(trajectory: Trajectory) -> int | None:
        score = trajectory.extras.get("judge_score")
        return None if score is None else min(3, 1 + int(3 * score))

    return [[{"mark": mark(trajectory)} for trajectory in group.trajectories] for group in groups]


@produces("atom_scores")
def atom_scores(
    groups: Sequence[Group],
    tools: ProducerTools,
    judge: Any = POLICY,
    question: str = "Is the last of these thoughts right and useful?",
    most: int = 16,
) -> Found:
    """Scores of the atomic thoughts of the response, which are its sentences up to the answer (Atom-Searcher,
    2508.12800).

    Args:
        most: largest number of thoughts; the rest of a longer response belongs to the last one.
    """
    check_count("most", most, 1)

    def measure(trajectories: list[Trajectory]) -> list[dict[str, Any]]:
        ends = [sentence_ends(t.episode.response, most) for t in trajectories]
        pairs = [
            (t.episode.prompt, t.episode.response[:end])
            for t, several in zip(trajectories, ends, strict=True)
            for end in several
        ]
        rest = iter(judge_responses(judge, question, pairs, tools))
        return [{"atom_scores": [next(rest) for _ in several]} for several in ends]

    return for_each_valid(groups, measure)


def sentence_ends(text: str, most: int) -> list[int]:
    """Return the number of characters up to the end of each sentence, the text's own length last; of more than ``most``
    sentences, the last ones are one."""
    ends = [match.end() for match in re.finditer(r"[.!?\n]\s+", text) if match.end() < len(text)]
    return [*ends[: most - 1], len(text)]


@produces("span_weights", needs=["judge_score", "atom_scores"])
def span_weights(groups: Sequence[Group], tools: ProducerTools, start: float = 0.5) -> Found:
    """Weight of each action token, (g + 1) / 2 x max(start, (s + 1) / 2), g and s in [-1, 1] being the judge's scores
    of the response and of the sentence in which the token is (SRUM, arXiv 2510.12784, whose regions are of an image);
    None where the judge failed.

    Scores in [0, 1] are taken for (g + 1) / 2 and (s + 1) / 2. Tokens of turns before the last have no sentence, and a
    weight by ``start``.
    """
    check_number("start", start, 0.0, 1.0)

    def measure(trajectory: Trajectory) -> list[float] | None:
        score, scores = trajectory.extras.get("judge_score"), trajectory.extras.get("atom_scores")
        if score is None or not scores or None in scores:
            return None
        last = trajectory.turns[-1]
        weights = [start] * (trajectory.action_tokens - len(last.act_ids))
        for end, own in zip(sentence_ends(last.action, len(scores)), scores, strict=False):
            stop = tools.language.renderer.tokens_until(last.act_ids, end)
            weights += [max(start, own)] * (trajectory.action_tokens - len(last.act_ids) + stop - len(weights))
        weights += [start] * (trajectory.action_tokens - len(weights))
        return [score * weight for weight in weights]

    return [[{"span_weights": measure(t) if t.valid else None} for t in g.trajectories] for g in groups]


@produces("coalition_values")
def coalition_values(
    groups: Sequence[Group],
    tools: ProducerTools,
    judge: Any = POLICY,
    question: str = "Is the answer right?",
    spans: int = 4,
    most: int = 6,
) -> Found:
    """Score of the episode for every subset of its turns, with the other turns left out (SCAR, arXiv 2505.20417).

    In an episode of one turn, the subsets are those of up to ``spans`` spans of its text; spans left out are blanked.

    Args:
        spans: number of spans in an episode of one turn.
        most: most turns; an episode with more gets NaN, which makes it invalid. Each turn doubles the cost.
    """

    def measure(trajectories: list[Trajectory]) -> list[dict[str, Any]]:
        texts = [_coalitions(t.episode, spans, most) for t in trajectories]
        pairs = [(t.episode.prompt, text) for t, several in zip(trajectories, texts) for text in several]
        rest = iter(judge_responses(judge, question, pairs, tools))
        found = [[next(rest) for _ in several] for several in texts]
        unknown = [math.nan]
        return [{"coalition_values": unknown if not row or None in row else row} for row in found]

    return for_each_valid(groups, measure)


def _coalitions(episode: Episode, spans: int, most: int) -> list[str]:
    """Return the episode's text for each subset of its turns or spans; the subset {i, j} is at index 2**i + 2**j.

    [] for an episode with more than ``most`` turns.
    """
    if len(episode.steps) == 1:
        parts = equal_spans(episode.response, spans)
        subsets = [{i for i in range(len(parts)) if mask >> i & 1} for mask in range(2 ** len(parts))]
        return [blank_spans(episode.response, parts, kept) for kept in subsets]
    players = len(episode.steps)
    if players > most:
        return []
    turns = [f"{step.action}\n" for step in episode.steps]
    return ["".join(t for i, t in enumerate(turns) if mask >> i & 1) for mask in range(2**players)]
