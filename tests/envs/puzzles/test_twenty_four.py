"""TwentyFour: solvable hands only, all four numbers exactly once, exact values."""

from __future__ import annotations

import functools
import itertools
import re
from fractions import Fraction

import numpy as np
import pytest
from palaestra.envs.puzzles.twenty_four import TwentyFour, _format_last_step, count_ways, find_last_steps
from palaestra.envs.question import Task


@functools.cache
def values(cards: tuple[int, ...]) -> set[Fraction]:
    """All that the cards can make, by plain recursion."""
    if len(cards) == 1:
        return {Fraction(cards[0])}
    made = set()
    for size in range(1, len(cards)):
        for left in itertools.combinations(range(len(cards)), size):
            right = tuple(card for place, card in enumerate(cards) if place not in left)
            for a in values(tuple(cards[place] for place in left)):
                for b in values(right):
                    made |= {a + b, a - b, a * b} | ({a / b} if b else set())
    return made


def ways(cards: tuple[int, ...], target: int) -> int:
    steps = set()
    for size in (1, 2, 3):
        for left in itertools.combinations(range(4), size):
            right = tuple(card for place, card in enumerate(cards) if place not in left)
            for a in values(tuple(cards[place] for place in left)):
                for b in values(right):
                    low, high = sorted((a, b))
                    steps |= {(low, "+", high)} if a + b == target else set()
                    steps |= {(low, "*", high)} if a * b == target else set()
                    steps |= {(a, "-", b)} if a - b == target else set()
                    steps |= {(a, "/", b)} if b and a / b == target else set()
    return len(steps)


def computations(cards: tuple[int, ...]) -> list[Fraction]:
    """The value of every computation with all the cards, by plain recursion: each pair of operands is taken once."""
    if len(cards) == 1:
        return [Fraction(cards[0])]
    made = []
    # The first card is on the left.
    for size in range(len(cards) - 1):
        for chosen in itertools.combinations(range(1, len(cards)), size):
            left = tuple(cards[place] for place in (0, *chosen))
            right = tuple(card for place, card in enumerate(cards) if place and place not in chosen)
            for a, b in itertools.product(computations(left), computations(right)):
                made += [a + b, a * b, a - b, b - a, *([a / b] if b else []), *([b / a] if a else [])]
    return made


def hand(*cards: int, target: int = 24) -> Task:
    return Task("", {"numbers": list(cards), "target": target})


def test_ways_and_solvability_agree_with_plain_recursion():
    rng = np.random.default_rng(0)
    for _ in range(12):
        cards = tuple(sorted(rng.integers(1, 17, 4).tolist()))
        target = int(rng.integers(24, 61))
        assert len(find_last_steps(cards, (target, 1))) == ways(cards, target), (cards, target)
        assert count_ways(cards, target) == computations(cards).count(Fraction(target)), (cards, target)


def test_a_search_for_the_target_takes_longer_at_each_difficulty():
    costs = []
    for difficulty in (0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0):
        env, total = TwentyFour(difficulty=difficulty), 0.0
        for seed in range(40):
            env.reset(seed=seed)
            total += 1 / count_ways(tuple(env.here().reference["numbers"]), env.here().reference["target"])
        costs.append(total / 40)
    assert costs == sorted(costs)


def test_566_of_the_715_hands_up_to_ten_make_24():
    """The count that collections of the game give; 1362 of 1820 up to thirteen is the other one."""
    hands = list(itertools.combinations_with_replacement(range(1, 11), 4))
    assert len(hands) == 715
    assert sum(bool(find_last_steps(cards, (24, 1))) for cards in hands) == 566


def test_the_oracle_uses_the_given_numbers_and_hits_the_target():
    for difficulty in (0.0, 0.5, 1.0):
        env = TwentyFour(difficulty=difficulty)
        for seed in range(100):
            prompt, info = env.reset(seed=seed)
            target, given = re.match(r"Make (\d+) from the numbers ([\d, ]+)\.", prompt).groups()  # type: ignore[union-attr]
            cards = sorted(map(int, given.split(", ")))
            expression = env.oracle()
            assert sorted(map(int, re.findall(r"\d+", expression))) == cards
            assert re.fullmatch(r"[-+*/() 0-9]+", expression)
            exact = re.sub(r"(\d+)", r"Fraction(\1)", expression)
            assert eval(exact, {"Fraction": Fraction}) == int(target) == info["params"]["target"]
            assert max(cards) <= info["params"]["largest"]
            if seed < 3:
                count = computations(tuple(cards)).count(Fraction(int(target)))
                assert info["params"]["ways"] <= count <= 2 * info["params"]["ways"]


@pytest.mark.parametrize(
    ("cards", "answer"),
    [
        ((3, 3, 8, 8), "8 / (3 - 8 / 3)"),
        ((3, 3, 8, 8), "8/(3-8/3)"),
        ((3, 3, 8, 8), "8 / (3 - 8 / 3) = 24"),
        ((3, 3, 8, 8), r"\frac{8}{3 - \frac{8}{3}} = 24"),
        ((1, 5, 5, 5), "5 * (5 - 1 / 5)"),
        ((1, 5, 5, 5), "5 \u00d7 (5 \u2212 1 \u00f7 5)"),
        ((1, 2, 3, 4), "1*2*3*4"),
        ((4, 4, 10, 10), "((10*10)-4)/4"),
    ],
)
def test_right_answers(cards: tuple[int, ...], answer: str):
    assert TwentyFour().verify(hand(*cards), answer).success


@pytest.mark.parametrize(
    ("cards", "answer"),
    [
        ((7, 7, 9, 3), "1*2*3*4"),
        ((3, 5, 5, 5), "(5*5)-(3/5)"),
        ((1, 3, 8, 8), "3 * 8"),
        ((1, 3, 8, 8), "3 * 8 * 1"),
        ((3, 3, 8, 8), "3 * 8"),
        ((3, 3, 8, 8), "8 / (3 - 8 / 3) = 23"),
        ((3, 3, 8, 8), "3 * 8 = 24"),
        ((3, 3, 8, 8), "24"),
        ((3, 3, 8, 8), "24 = 24"),
        ((2, 3, 4, 8), "23 + 4 / 4"),
        ((3, 3, 8, 8), "3 * 8 + 0 * 3 * 8"),
        ((2, 2, 9, 9), "99**98**97"),
        ((2, 2, 9, 9), "9**9**9"),
        ((1, 1, 11, 13), "11 + 13 + 0*__import__('os').getpid()"),
        ((1, 1, 11, 13), "11 + 13 + (1 - 1) / (1 - 1)"),
        ((1, 1, 12, 12), "12 + 12 + 1 / (1 - 1)"),
        ((3, 3, 8, 8), "(" * 2000 + "8" + ")" * 2000),
        ((3, 3, 8, 8), ""),
    ],
)
def test_wrong_answers_earn_nothing(cards: tuple[int, ...], answer: str):
    verdict = TwentyFour().verify(hand(*cards), answer)
    assert not verdict.success
    assert verdict.score == 0.0
    assert verdict.feedback


def test_every_way_is_written_with_the_parentheses_that_it_needs():
    env = TwentyFour()
    for cards in [(2, 3, 4, 5), (1, 2, 8, 10), (1, 5, 5, 5), (3, 3, 8, 8), (4, 6, 7, 9)]:
        for last in find_last_steps(cards, (24, 1)):
            text, _ = _format_last_step(last)
            assert env.verify(hand(*cards), text).success, text


def test_nought_may_occur_on_the_way():
    (step,) = find_last_steps((5, 5), (0, 1))
    assert step[:3] == ((5, 1), "-", (5, 1))
    assert find_last_steps((3, 4), (0, 1)) == []
    # 5 * (4 - 4) and (4 - 4) / 5, but not 5 / (4 - 4).
    assert {step[:3] for step in find_last_steps((4, 4, 5), (0, 1))} == {((5, 1), "*", (0, 1)), ((0, 1), "/", (5, 1))}


def test_each_step_is_a_true_equation_over_numbers_at_hand():
    env = TwentyFour(axes={"ways": [1, 1]})
    fractions = 0
    for seed in range(60):
        env.reset(seed=seed)
        task = env.here()
        left = [Fraction(number) for number in task.reference["numbers"]]
        *steps, _ = env.solution_steps(task)
        assert len(steps) == 3
        for step in steps:
            a, operator, b, result = re.fullmatch(r"(\(.+?\)|\S+) ([-+*/]) (\(.+?\)|\S+) = (\S+)", step).groups()  # type: ignore[union-attr]
            x, y, z = Fraction(a.strip("()")), Fraction(b.strip("()")), Fraction(result)
            assert z == {"+": x + y, "-": x - y, "*": x * y, "/": x / y if y else None}[operator]
            left.remove(x)
            left.remove(y)
            left.append(z)
            fractions += z.denominator > 1
        assert left == [task.reference["target"]]
    assert fractions


def test_fewer_ways_and_larger_targets_take_a_search_longer():
    def effort(**params: int) -> float:
        env = TwentyFour(split="all")
        rng = np.random.default_rng(1)
        params = {"ways": 6, "largest": 13, "target": 40} | params
        return sum(env.solver_cost(env.generate(rng, params)) for _ in range(25))

    assert effort(ways=12) < effort(ways=1)
    assert effort(target=24) < effort(target=60)
