"""Probabilities, checked by listing all outcomes of the experiment that the prompt describes."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable
from fractions import Fraction

import pytest
from palaestra.envs.math.probability import Probability, _add_die


def outcomes(prompt: str) -> tuple[Iterable[tuple], str]:
    """All equally likely outcomes, and the rest of the prompt."""
    done, asked = prompt.split(" What is the probability that ")
    if found := re.fullmatch(r"(\d) fair dice, each with the faces 1 to (\d+), are rolled\.", done):
        return itertools.product(range(1, int(found[2]) + 1), repeat=int(found[1])), asked
    if done.startswith("An urn"):
        balls = [colour for number, colour in re.findall(r"(\d+) (red|blue|green)", done) for _ in range(int(number))]
        number = int(re.search(r"(\d+) balls are drawn", done)[1])  # type: ignore[index]
        if "put back" in done:
            return itertools.product(balls, repeat=number), asked
        return itertools.combinations(balls, number), asked
    missing = r"(?:, from which (\d+) cards other than .* are missing,)?"
    found = re.fullmatch(rf"From a pack of 52 cards{missing} (\d+) cards are drawn at once\.", done)
    assert found, done
    name = re.search(r"number of (.+) drawn is", asked)[1]  # type: ignore[index]
    pack = [rank + suit for rank in "23456789TJQKA" for suit in "cdhs"]
    marks = sorted("hit" if hit(card, name) else "miss" for card in pack)
    # Sorted, so that those that are missing are others.
    return itertools.combinations(marks[: 52 - int(found[1] or 0)], int(found[2])), asked


def hit(card: str, name: str) -> bool:
    return {
        "hearts": card[1] == "h",
        "black cards": card[1] in "cs",
        "aces": card[0] == "A",
        "kings or queens": card[0] in "KQ",
        "face cards (J, Q, K)": card[0] in "JQK",
    }[name]


def quantity(outcome: tuple, asked: str) -> int:
    if asked.startswith("the sum"):
        return sum(outcome)
    if asked.startswith("the largest"):
        return max(outcome)
    if found := re.match(r"the number of dice that show (\d+) or more", asked):
        return sum(face >= int(found[1]) for face in outcome)
    if asked.startswith("the number of red balls"):
        return outcome.count("red")
    return outcome.count("hit")


@pytest.mark.parametrize("event", ["exactly", "at least", "given"])
def test_probabilities_agree_with_listing(event: str):
    kinds = set()
    for draws, seeds in ((2, 60), (3, 10)):
        env = Probability(event=event, draws=draws)
        for seed in range(seeds):
            prompt, _ = env.reset(seed=seed, options={"params": {"size": 9}})
            every, asked = outcomes(prompt)
            kinds.add(re.sub(r"\d+", "#", asked.split(" is ")[0]))
            values = [quantity(outcome, asked) for outcome in every]
            how, value = re.search(r" is (exactly|at least) (\d+)", asked).groups()  # type: ignore[union-attr]
            given = re.search(r"given that it is at least (\d+)", asked)
            assert (how == "at least") == (event == "at least")
            assert (given is not None) == (event == "given")
            among = [v for v in values if not given or v >= int(given[1])]
            hits = sum(v >= int(value) if how == "at least" else v == int(value) for v in among)
            assert Fraction(env.oracle()) == Fraction(hits, len(among)), prompt
            assert not given or (0 < len(among) < len(values) and int(given[1]) < int(value))
            assert Fraction(env.oracle()) not in (0, Fraction(1, 2), 1)
    assert len(kinds) >= 6


@pytest.mark.parametrize("size", [8, 13, 20])
def test_dice_urns_and_packs_have_the_size_asked_for(size: int):
    env = Probability(size=size)
    faces, coloured, blue, gone = set(), set(), set(), set()
    for seed in range(800):
        done = env.reset(seed=seed)[0].split(" What is")[0]
        if found := re.search(r"faces 1 to (\d+)", done):
            faces.add(int(found[1]))
        elif done.startswith("An urn"):
            coloured |= set(map(int, re.findall(r"(\d+) (?:red|green)", done)))
            blue |= set(map(int, re.findall(r"(\d+) blue", done)))
        else:
            found = re.search(r"from which (\d+) cards", done)
            gone.add(int(found[1]) if found else 0)
    half = size // 2
    assert faces == coloured == set(range(half + 1, size + 1))
    assert coloured <= blue <= {*coloured, size + 1}
    assert gone == set(range(size))


def test_no_single_draw_is_the_toss_of_a_coin():
    env = Probability(size=8)
    for seed in range(600):
        prompt, _ = env.reset(seed=seed)
        done, asked = prompt.split(" What is the probability that ")
        balls = {colour: int(number) for number, colour in re.findall(r"(\d+) (red|blue|green)", done)}
        assert not balls or "green" in balls or balls["red"] != balls["blue"]
        if found := re.match(r"the number of dice that show (\d+) or more", asked):
            faces = int(re.search(r"faces 1 to (\d+)", done)[1])  # type: ignore[index]
            assert 2 * (faces + 1 - int(found[1])) != faces


def test_equal_numbers_count_in_any_form_and_near_ones_do_not():
    env = Probability()
    env.reset(seed=5)
    task = env.here()
    p = Fraction(task.reference)
    for answer in (task.reference, f"{3 * p.numerator}/{3 * p.denominator}", f" {p.numerator} / {p.denominator} "):
        assert env.verify(task, answer).success
    rounded = f"{float(p):.6f}"
    wrong = [f"{p.numerator + 1}/{p.denominator}", f"{p.denominator}/{p.numerator}", str(1 - p), "", "0", "1/0", "9**9"]
    for answer in [*wrong, *([rounded] if Fraction(rounded) != p else [])]:
        assert env.verify(task, answer).score == 0, answer


def statement(text: str) -> Fraction:
    assert re.fullmatch(r"[0-9C(), ^*/+-]+", text), text
    text = re.sub(r"C\((\d+), (\d+)\)", lambda m: str(math.comb(int(m[1]), int(m[2]))), text).replace("^", "**")
    return Fraction(eval(re.sub(r"(\d+)/(\d+)", r"Fraction(\1, \2)", text), {"Fraction": Fraction}))


def test_every_equation_in_a_solution_is_true():
    env = Probability()
    for seed in range(200):
        env.reset(seed=seed)
        *steps, answer = env.solution_steps(env.here())
        totals = {}
        for step in steps:
            name, _, equation = step.rpartition(": ")
            sides = [statement(side) for side in equation.split(" = ")]
            assert len(set(sides)) == 1, step
            totals[name] = sides[-1]
        assert totals["Ways that count"] / totals["Ways in all"] == Fraction(answer)


def test_sums_of_dice_have_their_known_ways():
    two = _add_die(_add_die([1], 6), 6)
    assert two == [0, 0, 1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1]
    assert _add_die([1], 4) == [0, 1, 1, 1, 1]
