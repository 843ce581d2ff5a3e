"""palaestra/Probability-v0: exact probabilities of dice, urns and cards."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .counting import draw_below

# An experiment: its description, the name of its quantity, the number of equally likely ways to each value from 0 on,
# a formula for these ways in the value v, w = v - 1 and r = number of draws - v, and a formula for all ways.
Experiment = tuple[str, str, list[int], str, str]

_SUITS = (("hearts", 13), ("black cards", 26), ("aces", 4), ("kings or queens", 8), ("face cards (J, Q, K)", 12))


class Probability(Question):
    """Find the exact probability of an event.

    Description:
        Fair dice are rolled, balls are drawn from an urn with or without putting them back, or cards from a pack of 52.
        The event is about one whole number: the sum or the largest number of the dice, or the number of dice, balls or
        cards of some kind. The probability is never 0, 1/2 or 1.

    Parameters:
        draws (2 to 5, on request up to 6): number of dice, balls or cards.
        size (8 to 20, on request 6 to 60): dice have more than size / 2 and at most size faces, and urns as many balls
            of a colour (blue perhaps one more); fewer than size, and than 20, cards are missing from the pack.
        event ("exactly", "at least", "given"): the number equals a stated value, is at least a stated value, or equals
            one given that it is at least another.

    Observation:
        Text such as ``2 fair dice with faces 1 to 6 are rolled. What is the probability that the sum is exactly 7?``

    Actions:
        Text with one exact number (``1/6``, ``6/36``, ``0.25``), read in ``answer_format``.

    Reward:
        1 for the exact probability, 0 otherwise. The commonest one, 4/9, is right by chance in 0.021 of the easiest
        tasks.

    Termination:
        After the first answer.

    Source:
        School probability; generated here.
    """

    param_space = ParamSpace(
        [
            IntAxis("draws", 2, 5, limits=(2, 6)),
            IntAxis("size", 8, 20, limits=(6, 60)),
            ChoiceAxis("event", ("exactly", "at least", "given")),
        ]
    )
    verifier = "number"

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        chosen = _EXPERIMENTS[int(rng.random() * len(_EXPERIMENTS))]
        while True:
            draws = iter(rng.random(12).tolist())
            done, quantity, ways, *formulas = chosen(params["draws"], params["size"], draws)
            possible = [value for value, count in enumerate(ways) if count]
            value = possible[draw_below(draws, len(possible))]
            known = possible[draw_below(draws, len(possible))] if params["event"] == "given" else 0
            # The condition must exclude some values, but not the event itself.
            if params["event"] == "given" and not possible[0] < known < value:
                continue
            wanted = range(value, len(ways) if params["event"] == "at least" else value + 1)
            among = range(known, len(ways))
            probability = Fraction(sum(ways[v] for v in wanted), sum(ways[v] for v in among))
            if probability not in (0, Fraction(1, 2), 1):
                break
        event = f"{quantity} is {'at least' if params['event'] == 'at least' else 'exactly'} {value}"
        if params["event"] == "given":
            event += f", given that it is at least {known}"
        prompt = f"{done} What is the probability that {event}? Answer with a fraction p/q."
        data = (ways, formulas, params["draws"], wanted, among)
        # Two experiments with as many ways to each value are one task, such as with the blue and green balls exchanged.
        key = f"{ways} {wanted} {among}"
        return Task(prompt, str(probability), content=f"{done} {event}", split_key=key, data=data)

    def solver_cost(self, episode: Task) -> float:
        """Return the total number of digits of the counts of ways that the solution needs."""
        ways, _, _, wanted, among = episode.data
        # Without a condition, all ways are counted by one formula.
        counts = [ways[v] for v in wanted] + ([ways[v] for v in among] if among[0] else [sum(ways)])
        return float(sum(len(str(count)) for count in counts))

    def solution_steps(self, task: Task) -> list[str]:
        """List the ways to each value involved, the sum of the favourable ways, the sum of all, and the quotient."""
        ways, (formula, whole), draws, wanted, among = task.data
        lines = []
        for v in among if among[0] else wanted:
            computed = f"{formula.format(v=v, w=v - 1, r=draws - v)} = " if formula else ""
            lines.append(f"{v}: {computed}{ways[v]}")
        hits, total = sum(ways[v] for v in wanted), sum(ways[v] for v in among)
        lines.append(f"Ways that count: {_format_sum(ways[v] for v in wanted)}")
        lines.append(f"Ways in all: {_format_sum(ways[v] for v in among) if among[0] else f'{whole} = {total}'}")
        if f"{hits}/{total}" != task.reference:
            lines.append(f"{hits}/{total} = {task.reference}")
        return [*lines, self.oracle(task)]


def _format_sum(counts: Iterable[int]) -> str:
    """Write ``1 + 4 = 5``, or one number alone."""
    terms = list(counts)
    return " + ".join(map(str, terms)) + (f" = {sum(terms)}" if len(terms) > 1 else "")


def _dice(number: int, size: int, draws: Iterator[float]) -> Experiment:
    faces = size // 2 + 1 + draw_below(draws, size - size // 2)
    done = f"{number} fair dice, each with the faces 1 to {faces}, are rolled."
    kind = draw_below(draws, 3)
    if kind == 0:
        ways = [1]
        for _ in range(number):
            ways = _add_die(ways, faces)
        return done, "the sum", ways, "", f"{faces}^{number}"
    if kind == 1:
        largest = [top**number - (top - 1) ** number for top in range(1, faces + 1)]
        return done, "the largest number rolled", [0, *largest], f"{{v}}^{number} - {{w}}^{number}", f"{faces}^{number}"
    least = 2 + draw_below(draws, faces - 1)
    # Exclude events of probability 1/2, which would make many tasks alike.
    least += 2 * (faces + 1 - least) == faces
    return (
        done,
        f"the number of dice that show {least} or more",
        *_independent_draws(number, faces + 1 - least, least - 1),
    )


def _independent_draws(number: int, good: int, bad: int) -> tuple[list[int], str, str]:
    """Count hits in independent draws, each with ``good`` ways to hit and ``bad`` ways to miss."""
    ways = [math.comb(number, hits) * good**hits * bad ** (number - hits) for hits in range(number + 1)]
    return ways, f"C({number}, {{v}}) * {good}^{{v}} * {bad}^{{r}}", f"{good + bad}^{number}"


def _joint_draws(number: int, good: int, bad: int) -> tuple[list[int], str, str]:
    """Count hits among items drawn together, of which ``good`` are hits and ``bad`` are not."""
    ways = [math.comb(good, hits) * math.comb(bad, number - hits) for hits in range(number + 1)]
    return ways, f"C({good}, {{v}}) * C({bad}, {{r}})", f"C({good + bad}, {number})"


def _add_die(ways: list[int], faces: int) -> list[int]:
    """Return the ways to each sum with one more die, given the ways without this die."""
    longer, window = [0], 0
    for total in range(1, len(ways) + faces):
        window += ways[total - 1] if total <= len(ways) else 0
        window -= ways[total - faces - 1] if total > faces else 0
        longer.append(window)
    return longer


def _urn(number: int, size: int, draws: Iterator[float]) -> Experiment:
    red, blue, green = (size // 2 + 1 + draw_below(draws, size - size // 2) for _ in range(3))
    green = green if next(draws) < 0.5 else 0
    blue += red == blue and not green
    held = f"{red} red, {blue} blue and {green} green balls" if green else f"{red} red and {blue} blue balls"
    back = next(draws) < 0.5
    how = "one after the other, each being put back before the next" if back else "at once"
    ways = (_independent_draws if back else _joint_draws)(number, red, blue + green)
    return f"An urn holds {held}. {number} balls are drawn {how}.", "the number of red balls drawn", *ways


def _cards(number: int, size: int, draws: Iterator[float]) -> Experiment:
    name, good = _SUITS[draw_below(draws, len(_SUITS))]
    gone = draw_below(draws, min(size, 20))
    missing = f", from which {gone} cards other than {name} are missing," if gone else ""
    done = f"From a pack of 52 cards{missing} {number} cards are drawn at once."
    return done, f"the number of {name} drawn", *_joint_draws(number, good, 52 - gone - good)


_EXPERIMENTS = (_dice, _urn, _cards)

register("palaestra/Probability-v0", f"{__name__}:Probability")
