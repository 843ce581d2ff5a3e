"""palaestra/ListFunctions-v0: apply a chain of operations, known only from examples, to another list."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.verifiers.registry import CORRECT, rejected
from ..param_space import IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .list_operations import KINDS, OPERATIONS
from .operation_chains import ChainProblem, apply_chain, count_applications, draw_problem, word_choice, write_derivation

# The most numbers in an intermediate list, and the largest absolute value of a number in it.
LONGEST, LARGEST = 16, 99
_EXAMPLE = (8, 0, 8)
_NUMBER = re.compile(r"[+-]?[0-9]{1,9}")


class ListFunctions(Question):
    """Infer a function on lists of numbers from examples and apply it.

    Description:
        The function is a chain of operations (reverse, sort, keep, add, running sums, ...; 43 kinds, most with
        constants) out of a list that the prompt shows. All chains of the same number of listed operations, with
        repetitions, that fit all examples give the same output for the query, and no shorter chain fits the examples; a
        search through all chains checks both. No intermediate list is empty or has a number above 99 in absolute value,
        and the answer is neither the query nor an output of an example.

    Parameters:
        operations (1 to 4, on request up to 5): number of operations in the chain.
        listed (6 to 10, on request 2 to 14): number of operations in the list.
        length (4 to 10, on request up to 14): numbers in the longest inputs; the others have up to two fewer.
        examples (8 to 3, harder downwards, on request 2 to 12): number of pairs of input and output.

    Observation:
        Text: the operations, the examples as ``[3, 1, 4] -> [4, 1, 3]``, and the query.

    Actions:
        Text with a list, ``[3, 1, 4]`` (brackets may be left out, and commas too), read in ``answer_format``.

    Reward:
        1 for the output, 0 otherwise. Applying a random listed operation is right by chance in 0.18 of the easiest
        tasks, whose chain has one operation; fixed answers and copies from the prompt are not.

    Termination:
        After the first answer.

    Source:
        Rule, "The child as hacker" (PhD thesis, MIT, 2020) and the task list_functions of BIG-bench (Srivastava et al.,
        arXiv 2206.04615); there the operations are not listed, so that several outputs may follow some rule.
    """

    answer_form = "values"
    param_space = ParamSpace(
        [
            IntAxis("operations", 1, 4, limits=(1, 5)),
            IntAxis("listed", 6, 10, limits=(2, 14)),
            IntAxis("length", 4, 10, limits=(4, 14)),
            IntAxis("examples", 3, 8, harder="down", limits=(2, 12)),
        ]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        rule = draw_problem(lambda: _draw_candidate(rng, params), OPERATIONS)
        answer = apply_chain([OPERATIONS[name] for name in rule.chain], rule.query)[-1]
        which, again, listed = word_choice(rule)
        pairs = "\n".join(f"{list(given)} -> {list(output)}" for given, output in rule.examples)
        return Task(
            f"{which} turns each list before an arrow into the list after it.{again}\n{listed}\nExamples:\n{pairs}\n"
            f"What does it turn {list(rule.query)} into? Answer with a list such as {list(_EXAMPLE)}.",
            list(answer),
            content=f"{listed}\n{pairs}\n{list(rule.query)}",
            data=rule,
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        numbers = read_numbers(answer)
        if numbers is None:
            return rejected(f"The answer must be a list of whole numbers such as {list(_EXAMPLE)}.")
        gold = task.reference
        if numbers == gold:
            return CORRECT
        if len(numbers) != len(gold):
            return Verdict(0.0, False, feedback=f"The list has length {len(numbers)} instead of {len(gold)}.")
        right = sum(map(int.__eq__, numbers, gold))
        return Verdict(0.0, False, feedback=f"{right} of {len(gold)} numbers are right.")

    def solution_steps(self, task: Task) -> list[str]:
        return [*write_derivation(task.data, OPERATIONS, lambda numbers: str(list(numbers))), self.oracle(task)]

    def solver_cost(self, episode: Task) -> float:
        """Return the approximate number of numbers that a breadth-first search through the chains handles on the first
        example."""
        rule: ChainProblem = episode.data
        given = rule.examples[0][0]
        return float(
            count_applications([OPERATIONS[name] for name in rule.listed], given, len(rule.chain)) * len(given)
        )


def read_numbers(answer: str) -> list[int] | None:
    """Return the numbers of a list separated by commas, semicolons or white space, with or without brackets; None if
    the text is no such list."""
    text = answer.strip().replace("\u2212", "-")
    enclosed = text[:1] + text[-1:] in ("[]", "()", "{}")
    body = text[1:-1].strip() if enclosed else text
    if not body or body.lower() in ("empty", "empty list"):
        return [] if body or enclosed else None
    parts = [part.strip() for part in re.split("[,;]", body)] if "," in body or ";" in body else body.split()
    return [int(part) for part in parts] if all(map(_NUMBER.fullmatch, parts)) else None


def _draw_candidate(rng: np.random.Generator, params: dict[str, Any]) -> ChainProblem | None:
    """Draw a random problem on random lists. Return None if the draws name too few operations, a list is too short or
    too long, a number is too large, or the answer occurs in the prompt."""
    count, listed, length, pairs = (params[name] for name in ("operations", "listed", "length", "examples"))
    draws = rng.random(4 * listed + pairs).tolist()
    names: dict[str, None] = {}
    for u, v in zip(draws[pairs::2], draws[pairs + 1 :: 2]):
        kind = KINDS[int(u * len(KINDS))]
        names[kind[int(v * len(kind))]] = None
        if len(names) == listed:
            break
    else:
        return None
    chain = tuple(names)[:count]
    functions = [OPERATIONS[name] for name in chain]
    lists = rng.integers(0, 10, (pairs + 1, length)).tolist()
    # The longest list comes first, as it excludes most chains.
    sizes = [length, *(length - int(3 * u) for u in draws[1:pairs]), length]
    inputs = [tuple(numbers[:size]) for numbers, size in zip(lists, sizes)]
    outputs = []
    for given in inputs:
        way = apply_chain(functions, given)
        for step in way:
            if not 0 < len(step) <= LONGEST or max(map(abs, step)) > LARGEST:
                return None
        outputs.append(way[-1])
    query, answer = inputs.pop(), outputs.pop()
    if answer in outputs or answer in (query, _EXAMPLE) or len(answer) == 1:
        return None
    return ChainProblem(tuple(sorted(names)), chain, tuple(zip(inputs, outputs)), query)


register("palaestra/ListFunctions-v0", f"{__name__}:ListFunctions")
