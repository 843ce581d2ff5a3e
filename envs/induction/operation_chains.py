"""Search for the chains of operations that explain examples, and for the answers that these chains give to a query.

`ListFunctions` and `GridTransformations` list some operations and show the effect of a chain of them on a few inputs.
The search finds every such chain, so that a task is kept only if all of them give the same answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

Value = TypeVar("Value", bound=Hashable)


class ChainProblem(NamedTuple):
    """A problem: the words of the operations to choose from, the words of the hidden chain, the examples as pairs of
    input and output (the most informative one first), and the query, the input whose output is asked for."""

    listed: tuple[str, ...]
    chain: tuple[str, ...]
    examples: tuple[tuple[Any, Any], ...]
    query: Any


def draw_problem(
    draw: Callable[[], ChainProblem | None], operations: Mapping[str, Callable[[Any], Any]]
) -> ChainProblem:
    """Return the first problem made by ``draw`` whose examples leave one answer."""
    while (rule := draw()) is None or not has_one_answer(rule, operations):
        pass
    return rule


class ChainWording(NamedTuple):
    """Parts of a prompt: the subject that turns inputs into outputs, a sentence on repeated operations (empty for
    chains of one operation), and the list of operations."""

    which: str
    again: str
    listed: str


def word_choice(rule: ChainProblem) -> ChainWording:
    count = len(rule.chain)
    return ChainWording(
        "One of these operations" if count == 1 else f"One chain of {count} of these operations",
        "" if count == 1 else " An operation may be used more than once.",
        "\n".join(f"- {words}" for words in rule.listed),
    )


def has_one_answer(rule: ChainProblem, operations: Mapping[str, Callable[[Any], Any]]) -> bool:
    """Return True if the examples leave one answer.

    No shorter chain may fit the examples, and all chains of the same length that fit must give the same output for the
    query. ``operations`` are all known operations by their words.
    """
    chain = [operations[words] for words in rule.chain]
    for skipped in range(len(chain)):
        rest = chain[:skipped] + chain[skipped + 1 :]
        # A quick test before the full search.
        if all(apply_chain(rest, given)[-1] == output for given, output in rule.examples):
            return False
    answer = apply_chain(chain, rule.query)[-1]
    fitting = find_fitting_answers([operations[words] for words in rule.listed], rule.examples, rule.query, len(chain))
    return all(length == len(chain) and output == answer for length, output in fitting)


def write_derivation(
    rule: ChainProblem, operations: Mapping[str, Callable[[Any], Any]], write: Callable[[Any], str]
) -> list[str]:
    """Write the chain applied to the first example, then to the query, one operation per line."""
    chain = [operations[words] for words in rule.chain]
    lines = []
    for label, given in (("Example", rule.examples[0][0]), ("Query", rule.query)):
        labels = (label, *rule.chain)
        lines += [f"{words}: {write(value)}" for words, value in zip(labels, apply_chain(chain, given))]
    return lines


def apply_chain(chain: Sequence[Callable[[Value], Value]], value: Value) -> list[Value]:
    """Return ``value`` and its successive results under the operations of the chain."""
    values = [value]
    for operation in chain:
        values.append(operation(values[-1]))
    return values


def find_fitting_answers(
    operations: Sequence[Callable[[Value], Value]], examples: Sequence[tuple[Value, Value]], query: Value, longest: int
) -> Iterator[tuple[int, Value]]:
    """Yield the outputs for the query of the chains that fit all examples, shorter chains first.

    Args:
        operations: a chain may use each of them any number of times.
        examples: pairs of input and output; the first is searched most, so it should be the most informative one.
        query: the input whose output is asked for.
        longest: the most operations in a chain.

    Yields:
        (length of the chain, its output for the query). Chains with the same effect on all inputs and the query up to
            some point count as one, the shortest; the empty chain is not included.
    """
    images, ahead = _search_first_example(operations, *examples[0], longest)
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


def count_applications(operations: Sequence[Callable[[Value], Value]], start: Value, longest: int) -> int:
    """Count the operations applied by a breadth-first search from ``start``, up to chains of ``longest`` operations."""
    seen, level, applied = {start}, [start], 0
    for _ in range(longest):
        applied += len(level) * len(operations)
        images = dict.fromkeys(operation(value) for value in level for operation in operations)
        level = [image for image in images if image not in seen]
        seen.update(level)
    return applied


def _search_first_example(
    operations: Sequence[Callable[[Value], Value]], start: Value, goal: Value, longest: int
) -> tuple[dict[Value, list[Value]], dict[Value, int]]:
    """Find all chains of at most ``longest`` operations from ``start`` to ``goal``.

    Returns:
        the results of all operations on each value reached by fewer than ``longest`` operations; and the least number
            of operations that lead from a value to the goal, if it is below ``longest``.
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
