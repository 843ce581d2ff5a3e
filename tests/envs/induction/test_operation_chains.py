"""The search for chains of operations, against all products of the operations."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from palaestra.envs.induction.operation_chains import apply_chain, count_applications, find_fitting_answers

Operation = Callable[[int], int]


def table_operations(rng: np.random.Generator, count: int, values: int) -> list[Operation]:
    """Random functions on the numbers below ``values``."""
    tables = rng.integers(0, values, (count, values)).tolist()
    return [table.__getitem__ for table in tables]


def all_answers(operations: list[Operation], examples: list[tuple[int, int]], query: int, longest: int) -> set[int]:
    found = set()
    for length in range(1, longest + 1):
        for chain in itertools.product(operations, repeat=length):
            if all(apply_chain(chain, given)[-1] == output for given, output in examples):
                found.add(apply_chain(chain, query)[-1])
    return found


def test_a_run_starts_with_the_value_and_ends_with_the_result():
    assert apply_chain([lambda x: x + 1, lambda x: 2 * x], 3) == [3, 4, 8]
    assert apply_chain([], 3) == [3]


@pytest.mark.parametrize("longest", [1, 2, 3, 4])
def test_the_answers_are_those_of_all_products(longest: int):
    rng = np.random.default_rng(longest)
    several = 0
    for _ in range(150):
        operations = table_operations(rng, 3, 6)
        chain = [operations[i] for i in rng.integers(0, 3, longest)]
        givens = rng.integers(0, 6, 3).tolist()
        examples = [(given, apply_chain(chain, given)[-1]) for given in givens[:2]]
        if all(given == output for given, output in examples):
            continue
        wanted = all_answers(operations, examples, givens[2], longest)
        fitting = list(find_fitting_answers(operations, examples, givens[2], longest))
        assert {answer for _, answer in fitting} == wanted
        lengths = [length for length, _ in fitting]
        assert lengths == sorted(lengths)
        # The shortest is also that of all products.
        assert not lengths[0] > 1 or not all_answers(operations, examples, givens[2], lengths[0] - 1)
        several += len(wanted) > 1
    assert several > 10 or longest == 1


def test_nothing_fits_what_no_chain_does():
    operations: list[Operation] = [lambda x: x + 2, lambda x: x + 4]
    assert not list(find_fitting_answers(operations, [(0, 5)], 1, 4))
    assert not list(find_fitting_answers(operations, [(0, 6), (1, 8)], 1, 4))
    assert list(find_fitting_answers(operations, [(0, 6)], 1, 4)) == [(2, 7)]


def test_applications_are_counted_once_a_value():
    # From 0: one value after no operation, {1} after one (both do the same), {2} after two.
    operations: list[Operation] = [lambda x: x + 1, lambda x: x + 1]
    assert [count_applications(operations, 0, longest) for longest in (1, 2, 3)] == [2, 4, 6]
    # A value met before is not searched again.
    assert count_applications([lambda x: -x], 1, 5) == 2
