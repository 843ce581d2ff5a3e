"""Matches between two responses, each judged in both orders, so that a judge's preference for a position cancels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .judge import Judge, Judgement

Match = tuple[int, int]
MatchResult = tuple[float, float]
"""Result of a match: (score of the first player, score of the second), each in [0, 1]."""


def play_matches(
    judge: Judge,
    principle: str,
    prompt: str,
    responses: Sequence[str],
    pairs: Sequence[Match],
    reference: str | None = None,
) -> list[MatchResult | str]:
    """Judge several matches. The result of a player is the mean of the scores in both positions.

    Args:
        judge: called twice per match, with all calls in one `Judge.gather`.
        principle: the standard of judgement, in words.
        prompt: the task of the responses.
        responses: the players.
        pairs: the two players of each match, as indices.
        reference: an answer known to be good, or None.

    Returns:
        One result for each pair, or the error message if its judgement failed.
    """

    def call(one: int, two: int) -> Callable[[], Judgement]:
        return lambda: judge.score(principle, prompt, [responses[one], responses[two]], reference)

    answers = judge.gather([ordered for i, j in pairs for ordered in (call(i, j), call(j, i))])
    results: list[MatchResult | str] = []
    for there, back in zip(answers[::2], answers[1::2]):
        if not (there.valid and back.valid):
            results.append((back if there.valid else there).error or "the judge failed")
            continue
        results.append(((there.scores[0] + back.scores[1]) / 2, (there.scores[1] + back.scores[0]) / 2))
    return results


def preference(result: MatchResult) -> float:
    """Return 1 if the first player won, 0 if the second won, 0.5 for a draw."""
    one, two = result
    return 0.5 if abs(one - two) < 1e-12 else float(one > two)


def mean_preference(count: int, pairs: Sequence[Match], results: Sequence[MatchResult | str]) -> list[float | None]:
    """Return each player's share of matches won, with draws as half; None for a player without a result."""
    won: list[list[float]] = [[] for _ in range(count)]
    for (i, j), result in zip(pairs, results):
        if not isinstance(result, str):
            won[i].append(preference(result))
            won[j].append(1.0 - preference(result))
    return [sum(points) / len(points) if points else None for points in won]
