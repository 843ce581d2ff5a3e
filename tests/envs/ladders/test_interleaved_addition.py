"""InterleavedAddition: the answer is the sum, and all rungs are of one shape."""

from __future__ import annotations

import re

import pytest
from palaestra.envs.ladders.interleaved_addition import InterleavedAddition


def value(digits: list[int], base: int) -> int:
    return sum(digit * base**place for place, digit in enumerate(digits))


@pytest.mark.parametrize(("places", "base", "shown"), [(3, 10, 8), (7, 10, 8), (9, 4, 10), (5, 2, 8)])
def test_the_answer_is_the_sum_of_the_two_numbers(places, base, shown):
    env = InterleavedAddition(places=places, base=base)
    for seed in range(30):
        prompt, _ = env.reset(seed=seed)
        pairs = re.findall(r"\b(\d)(\d)\b", prompt.rpartition(":")[2])
        one, other = ([int(pair[i]) for pair in pairs] for i in range(2))
        answer = [int(digit) for digit in env.oracle().split(", ")]
        assert len(pairs) == len(answer) == shown
        assert value(answer, base) == value(one, base) + value(other, base)
        assert max(answer) < base
        # The larger number has exactly so many digits.
        assert base ** (places - 1) <= max(value(one, base), value(other, base)) < base**places


def test_digits_of_a_place_may_be_exchanged_without_leaving_the_split():
    env = InterleavedAddition(split="all", places=3)
    env.reset(seed=0)
    task = env.here()
    pairs = task.content.partition(" base")[0].split()
    swapped = f"{[sorted(map(int, pair[::-1])) for pair in pairs[:3]]} base {task.data[1]}"
    assert task.split_key == swapped


@pytest.mark.parametrize(("answer", "right"), [("[4, 8, 3, 0]", True), ("4 8 3 0", True), ("4, 8, 3", False)])
def test_answers_are_lists_of_all_digits(answer, right):
    env = InterleavedAddition(width=1, places=3, base=10)
    env.reset(seed=0)
    task = env.here()
    written = answer.translate(str.maketrans("4830", "".join(map(str, task.reference))))
    assert env.verify(task, written).success is right
