"""palaestra/Zebra-v0: find out from clues who lives in which house with which pet, drink and so on."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.verifiers.registry import CORRECT, rejected
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .zebra_clues import KINDS, RELATIONS, Clue, apply_clue, apply_clues, compile_clue, draw_clues, permutation_sets

# Attribute, the phrase for the person with one of its values, and the values to choose from.
ATTRIBUTES = (
    ("name", "{}", "Anna Boris Clara David Elena Felix Greta Hugo"),
    ("colour", "the person who likes {}", "red green blue white yellow black orange purple"),
    ("pet", "the {} owner", "cat dog horse zebra parrot rabbit turtle snake"),
    ("drink", "the {} drinker", "tea coffee milk water juice cocoa beer lemonade"),
    ("job", "the {}", "baker doctor pilot farmer painter singer lawyer smith"),
    ("sport", "the {} player", "tennis golf chess football hockey rugby cricket squash"),
    ("fruit", "the {} lover", "apple pear cherry plum banana grape melon peach"),
    ("instrument", "the {} teacher", "piano violin flute drum harp guitar trumpet cello"),
)

_LINES = str.maketrans("\r\n", ";;")
_NUMBER = re.compile(r"^ *(?:house )? *[1-9] *[:.)]")


class Zebra(Question):
    """Solve a zebra puzzle.

    Description:
        People live in a row of houses; each attribute has as many values as there are people, one for each. The clues
        have exactly one solution. All but ``spare`` of the clues are needed: leaving out the ``spare`` redundant ones
        changes nothing, leaving out any other one as well allows another solution.

    Parameters:
        houses (3 to 5, on request up to 7): houses in the row.
        attributes (2 to 5, on request up to 8): attributes of each house.
        clues ("direct", "varied"): direct ones give a house, two values of one house, or neighbours with their order;
            varied ones also neighbours without their order, order alone, two houses away, and negations.
        spare (0 to 3, on request up to 6): redundant clues beyond those that are needed; fewer are harder.

    Observation:
        The values of each attribute, numbered clues, and the form of the answer.

    Actions:
        Text with the words for each house in turn, ``Anna red, Boris blue, Clara green``, read in ``answer_format``;
        the order of the words for a house does not matter.

    Reward:
        1 for the solution, 0 otherwise. For three houses and two attributes, the words of each attribute in random
        order are right in one of 36 cases by chance.

    Termination:
        After the first answer.

    Source:
        "Who owns the zebra?", Life International, 17 December 1962.
    """

    answer_form = "lines"
    param_space = ParamSpace(
        [
            IntAxis("houses", 3, 5, limits=(3, 7)),
            IntAxis("attributes", 2, 5, limits=(2, 8)),
            ChoiceAxis("clues", ("direct", "varied")),
            IntAxis("spare", 0, 3, harder="down", limits=(0, 6)),
        ]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        houses, attributes = params["houses"], params["attributes"]
        kinds, spare = KINDS[params["clues"]], params["spare"]
        draws = rng.random((len(ATTRIBUTES) + 1, len(ATTRIBUTES))).tolist()
        chosen = sorted(sorted(range(len(ATTRIBUTES)), key=draws[-1].__getitem__)[:attributes])
        # Value number v of each attribute belongs to house v, so that only the names need shuffling.
        values = []
        for attribute in chosen:
            words = ATTRIBUTES[attribute][2].split()
            values.append(
                [words[place] for place in sorted(range(len(words)), key=draws[attribute].__getitem__)[:houses]]
            )
        clues = draw_clues(houses, attributes, kinds, spare, rng)
        phrases = [ATTRIBUTES[attribute][1] for attribute in chosen]
        sentences = []
        for clue in clues:
            subject = _describe_person(clue.a, clue.v, values, phrases)
            subject = subject[0].upper() + subject[1:]
            if clue.b < 0:
                verb = "lives" if clue.kind == "at" else "does not live"
                sentences.append(f"{subject} {verb} in house {clue.w + 1}.")
            else:
                other = _describe_person(clue.b, clue.w, values, phrases)
                sentences.append(f"{subject} {RELATIONS[clue.kind][0]} {other}.")
        listed = "; ".join(
            f"{ATTRIBUTES[attribute][0]}: {', '.join(sorted(values[place]))}" for place, attribute in enumerate(chosen)
        )
        solution = ", ".join(" ".join(column) for column in zip(*values))
        numbered = "\n".join(f"{number}. {sentence}" for number, sentence in enumerate(sentences, 1))
        return Task(
            f"{houses} people live in a row of houses, numbered 1 to {houses} from left to right. They differ in\n"
            f"{listed}\n{numbered}\nThere is exactly one solution. Answer with the {attributes} words for each house "
            "in turn: words separated by spaces, houses by commas.",
            solution,
            content=f"{listed}\n{numbered}",
            data=(values, phrases, clues),
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        values = task.data[0]
        # A house may have its number before it, as in "1: Anna red"; where semicolons or line ends separate the houses,
        # commas may separate the words.
        text = answer.lower().translate(_LINES).strip(" ;[]()")
        parts = text.replace(",", " ").split(";") if ";" in text else text.split(",")
        given = [sorted(_NUMBER.sub("", part).split()) for part in parts]
        if len(given) != len(values[0]) or any(len(house) != len(values) for house in given):
            form = f"{len(values[0])} houses separated by commas, each {len(values)} words separated by spaces"
            return rejected(f"The answer must be {form}.")
        right = sum(house == sorted(word.lower() for word in column) for house, column in zip(given, zip(*values)))
        if right == len(given):
            return CORRECT
        return Verdict(0.0, False, feedback=f"{right} of {len(given)} houses are right.")

    def random_action(self, episode: Task, rng: np.random.Generator) -> str:
        """Return the words of each attribute in random order."""
        shuffled = [[words[place] for place in rng.permutation(len(words)).tolist()] for words in episode.data[0]]
        return ", ".join(map(" ".join, zip(*shuffled)))

    def solver_cost(self, episode: Task) -> float:
        """Return the number of clues that a solver applies that keeps, for each attribute, the set of permutations
        still possible."""
        values, _, clues = episode.data
        houses = len(values[0])
        return apply_clues(
            [compile_clue(houses, clue) for clue in clues], [sum(permutation_sets(houses)[0])] * len(values)
        )

    def criteria(self, task: Task) -> list[str]:
        values, _, clues = task.data
        return [
            *(f"Clue {number} holds." for number in range(1, len(clues) + 1)),
            "Every word belongs to exactly one house.",
            f"The answer has {len(values[0])} houses of {len(values)} words, from left to right.",
        ]

    def solution_steps(self, task: Task) -> list[str]:
        return [*_write_deduction(*task.data), self.oracle(task)]


def _describe_person(attribute: int, value: int, values: list[list[str]], phrases: list[str]) -> str:
    return phrases[attribute].format(values[attribute][value])


def _write_deduction(values: list[list[str]], phrases: list[str], clues: list[Clue]) -> list[str]:
    """Return a line for each value with its house and the clue from which this follows."""
    houses = len(values[0])
    table, domains = permutation_sets(houses), [sum(permutation_sets(houses)[0])] * len(values)
    unknown = [(a, v) for a in range(len(values)) for v in range(houses)]
    steps = []

    def settle(reason: str) -> None:
        for a, v in list(unknown):
            if not domains[a] & ~table[v][v]:
                unknown.remove((a, v))
                steps.append(f"{reason} {_describe_person(a, v, values, phrases)} lives in house {v + 1}.")

    while unknown:
        changed = 0
        for number, clue in enumerate(clues, 1):
            if latest := apply_clue(compile_clue(houses, clue), domains):
                changed |= latest
                settle(f"By clue {number} and what is known,")
        if unknown and not changed:
            a, v = unknown[0]
            domains[a] &= table[v][v]
            settle("Trying all houses, only one agrees with all clues:")
    return steps


register("palaestra/Zebra-v0", f"{__name__}:Zebra")
