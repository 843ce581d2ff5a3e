"""Chains of operations that explain examples: which ones fit, and what they make of a query.

`ListFunctions` and `GridTransformations` list some operations and show what a chain of them does to a few inputs. This
search finds every such chain, so that a task is kept only where all of them give the same answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TypeVar

Value = TypeVar("Value", bound=Hashable)


def run(chain: Sequence[Callable[[Value], Value]], value: Value) -> list[Value]:
    """``value``, and what it is after each operation of the chain in turn."""
    values = [value]
    for operation in chain:
        values.append(operation(values[-1]))
    return values


def fitting_answers(
    operations: Sequence[Callable[[Value], Value]],
    examples: Sequence[tuple[Value, Value]],
    query: Value,
    longest: int,
) -> Iterator[tuple[int, Value]]:
    """What the chains that fit all examples make of the query, shorter chains first.

    Args:
        operations: a chain may use each of them any number of times.
        examples: pairs of input and output; the first is searched most, so let it be one that tells much.
        query: the input whose output is asked for.
        longest: operations in a chain, at most.

    Yields:
        (operations in the chain, what it makes of the query). Chains that have the same effect on all inputs and the
        query up to some point count as one, which is the shortest; the empty chain is not among them.
    """
    images, ahead = _ways(operations, *examples[0], longest)
    outputs = tuple([output for _, output in examples])
    states = [(*(given for given, _ in examples), query)]
    seen = set(states)
    for length in range(1, longest + 1):
        left = longest - length
        reached = []
        for state in states:
            for operation, image in zip(operations, images[state[0]]):
                if ahead.get(image, longest) > left:
                    continue
                after = (image, *map(operation, state[1:]))
                if after not in seen:
                    seen.add(after)
                    reached.append(after)
                    if after[:-1] == outputs:
                        yield length, after[-1]
        states = reached


def applications(operations: Sequence[Callable[[Value], Value]], start: Value, longest: int) -> int:
    """How often a breadth-first search from ``start`` applies an operation, up to chains of ``longest`` operations."""
    seen, level, applied = {start}, [start], 0
    for _ in range(longest):
        applied += len(level) * len(operations)
        images = dict.fromkeys(operation(value) for value in level for operation in operations)
        level = [image for image in images if image not in seen]
        seen.update(level)
    return applied


def _ways(
    operations: Sequence[Callable[[Value], Value]], start: Value, goal: Value, longest: int
) -> tuple[dict[Value, list[Value]], dict[Value, int]]:
    """All ways of at most ``longest`` operations from ``start`` to ``goal``.

    Returns:
        what each operation makes of each value that fewer than ``longest`` of them lead to; and the least number of
        operations that lead from a value to the goal, where it is below ``longest``.
    """
    images: dict[Value, list[Value]] = {}
    sources: defaultdict[Value, list[Value]] = defaultdict(list)
    level = [start]
    for length in range(1, longest + 1):
        fresh = {}
        for value in level:
            row = images[value] = [operation(value) for operation in operations]
            if length == longest:
                if goal in row:
                    sources[goal].append(value)
                continue
            for image in row:
                sources[image].append(value)
                fresh[image] = None
        level = [image for image in fresh if image not in images]
    ahead, level = {goal: 0}, [goal]
    for length in range(1, longest):
        level = [source for value in level for source in sources[value] if ahead.setdefault(source, length) == length]
        level = list(dict.fromkeys(level))
    return images, ahead
