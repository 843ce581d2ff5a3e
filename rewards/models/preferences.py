"""Preference pairs for reward models.

A pair holds two responses to one prompt, the better one first. Pairs come from episodes of one task, and from responses
and their corrupted, truncated or rewritten copies.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...checks import check_choice, check_count
from ...errors import InputError
from ..answers import extract
from ..episode import Episode

Rewrite = Callable[[str, str, bool], "str | None"]
"""Callable from (response, dimension, better) to the response rewritten to be better (True) or worse (False) in that
dimension alone; None if rewriting failed."""

DIMENSIONS = ("factual accuracy", "logical rigour", "coherence")


@dataclass(frozen=True, slots=True)
class Preference:
    """Preference pair: a better and a worse response to one prompt.

    Args:
        prompt: the prompt of both responses.
        chosen, rejected: the better and the worse response.
        margin: required lead of the chosen score in `bradley_terry_loss`.
        smoothing: probability in [0, 1] that the label is wrong; 1 means that it is flipped.
    """

    prompt: str
    chosen: str
    rejected: str
    margin: float = 0.0
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.smoothing <= 1.0 or not math.isfinite(self.margin):
            raise InputError(
                f"a preference needs a finite margin and a smoothing in [0, 1], not {self.margin} and {self.smoothing}."
            )


def preference_pairs(episodes: Sequence[Episode], by: str = "success", most: int | None = None) -> list[Preference]:
    """Pair each valid episode with every worse one of the same task; ties and equal texts make no pair.

    Args:
        episodes: episodes of any tasks, in any order; those with the same ``task_id`` are compared.
        by: "success" (a success over a failure) or "reward" (the larger sum of step rewards).
        most: largest number of pairs per task, the first ones; None keeps all.
    """
    check_choice("by", by, ("success", "reward"))
    if most is not None:
        check_count("most", most, 1, "pairs")
    tasks: dict[str, list[Episode]] = {}
    for episode in episodes:
        if episode.valid:
            tasks.setdefault(episode.task_id, []).append(episode)
    pairs: list[Preference] = []
    for group in tasks.values():
        found = []
        for one, two in itertools.combinations(group, 2):
            values = [float(e.success) if by == "success" else e.reward for e in (one, two)]
            better, worse = (one, two) if values[0] > values[1] else (two, one)
            if values[0] != values[1] and better.response != worse.response:
                found.append(Preference(better.prompt, better.response, worse.response))
        pairs += found[:most]
    return pairs


def corrupt_answer(response: str, rng: np.random.Generator) -> str | None:
    """Change the final answer of ``response`` and nothing else: right reasoning, wrong result (Cooper).

    In a number one digit is replaced; in other answers one letter is deleted or doubled. Return None if the response
    has no answer that could be changed, or the changed number has the same value.
    """
    answer = extract(response)
    if answer is None:
        return None
    at = response.rfind(answer)
    digits = [i for i, character in enumerate(answer) if character in "0123456789"]
    if digits:
        place = int(rng.choice(digits))
        others = [digit for digit in "0123456789" if digit != answer[place]]
        changed = answer[:place] + str(rng.choice(others)) + answer[place + 1 :]
        # Changing a zero that does not count, as in 07 or 1.50, may leave the value the same.
        if _plain(changed) == _plain(answer):
            return None
    else:
        letters = [i for i, character in enumerate(answer) if character.isalpha()]
        if not letters:
            return None
        place = int(rng.choice(letters))
        changed = answer[:place] + answer[place] * int(2 * rng.integers(2)) + answer[place + 1 :]
        if not changed.strip():
            changed = answer + answer[place]
    return response[:at] + changed + response[at + len(answer) :]


def _plain(number: str) -> str:
    text = number.strip().lstrip("+-0") or "0"
    return text.rstrip("0").rstrip(".") if "." in text else text


def corrupted_pairs(episodes: Sequence[Episode], rng: np.random.Generator) -> list[Preference]:
    """Pair each successful valid episode (chosen) with a copy whose answer is corrupted (Cooper, stage 2).

    Cooper, arXiv 2508.05613: the positive is a rollout that a precise rule accepts.
    """
    pairs = []
    for episode in episodes:
        negative = corrupt_answer(episode.response, rng) if episode.valid and episode.success else None
        if negative is not None:
            pairs.append(Preference(episode.prompt, episode.response, negative))
    return pairs


def truncated_pairs(episodes: Sequence[Episode]) -> list[Preference]:
    """Pair each successful valid episode (chosen) with its own first sentence, so that openers without an answer score
    low.

    One Token to Fool LLM-as-a-Judge, arXiv 2507.08794: training on such negatives makes a judge robust to openers.
    """
    pairs = []
    for episode in episodes:
        text = episode.response
        ends = [text.find(mark) + 1 for mark in (". ", ":", "\n", "! ", "? ") if text.find(mark) >= 0]
        opener = text[: min(ends, default=0)].strip()
        if episode.valid and episode.success and opener and opener != text.strip():
            pairs.append(Preference(episode.prompt, text, opener))
    return pairs


def graded_pairs(
    episodes: Sequence[Episode], rewrite: Rewrite, dimensions: Sequence[str] = DIMENSIONS
) -> list[Preference]:
    """Pair each valid response with a better and a worse version of it, along each dimension of good reasoning.

    The pairs are better over original, original over worse, and better over worse, for the scorer of Posterior-GRPO
    (arXiv 2508.05170, optimised-degraded pairs). A missing version makes no pair, and neither do two equal texts. On
    held-out pairs, `RewardModel.accuracy` measures how well a scorer ranks reasoning.

    Args:
        episodes: episodes of any tasks.
        rewrite: see `Rewrite`; called twice for each episode and dimension.
        dimensions: dimensions of quality, in words.
    """
    pairs = []
    for episode in episodes:
        if not episode.valid:
            continue
        for dimension in dimensions:
            better, worse = (rewrite(episode.response, dimension, up) for up in (True, False))
            for one, two in itertools.combinations((better, episode.response, worse), 2):
                if one is not None and two is not None and one != two:
                    pairs.append(Preference(episode.prompt, one, two))
    return pairs


def preference_strength(differences: Sequence[Sequence[float]]) -> np.ndarray:
    """Return the mean over an ensemble of reward models of ``score(chosen) - score(rejected)``.

    Args:
        differences: [models][pairs]; Secrets of RLHF II (arXiv 2401.06080) takes about ten models.

    Returns:
        [pairs]; negative where the ensemble contradicts the label.

    Raises:
        InputError: another shape, or no models.
    """
    array = np.asarray(differences, float)
    if array.ndim != 2 or not len(array):
        raise InputError(f"differences must be [models][pairs], not of shape {array.shape}.")
    return array.mean(0)


def correct_pairs(
    pairs: Sequence[Preference], strength: Sequence[float], flip: float = 0.2, soft: float = 0.2, smoothing: float = 0.2
) -> list[Preference]:
    """Correct pairs by their strength: flip the weakest, smooth the next, give all others their strength as margin.

    Secrets of RLHF II, arXiv 2401.06080 (flip the lowest 20 %, whose strength is negative; soft labels for the
    ambiguous; adaptive margin).

    Args:
        pairs: the pairs.
        strength: `preference_strength` of each pair.
        flip: share of the pairs, the weakest, whose label is flipped if their strength is negative.
        soft: share of the pairs, the next weakest, whose label is smoothed.
        smoothing: `Preference.smoothing` of the smoothed pairs.

    Raises:
        InputError: the numbers of pairs and strengths differ.
    """
    if len(strength) != len(pairs):
        raise InputError(f"{len(pairs)} pairs need as many strengths, not {len(strength)}.")
    order = np.argsort(np.asarray(strength, float), kind="stable")
    place = {int(index): rank for rank, index in enumerate(order)}
    flipped, softened = round(flip * len(pairs)), round((flip + soft) * len(pairs))
    result = []
    for index, pair in enumerate(pairs):
        if place[index] < flipped and strength[index] < 0:
            result.append(replace(pair, chosen=pair.rejected, rejected=pair.chosen, margin=-float(strength[index])))
        elif place[index] < softened:
            result.append(replace(pair, smoothing=smoothing))
        else:
            result.append(replace(pair, margin=max(float(strength[index]), 0.0)))
    return result
