"""palaestra/Satisfiability-v0: find the assignment that makes every clause true."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.verifiers.grid import GridError, parse_grid
from ...rewards.verifiers.registry import CORRECT, rejected
from ..param_space import IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register


class Satisfiability(Question):
    """Solve a satisfiability problem (k-SAT).

    Description:
        Clauses are drawn that a hidden assignment makes true, each of them false under some assignment that all clauses
        before it leave possible, until the hidden one is the only one left. So there is always exactly one solution.

    Parameters:
        variables (6 to 12): variables, each 0 or 1.
        width (2 to 4): variables in each clause.

    Observation:
        The clauses as lists of numbered variables with signs, ``1 -3 4``, and what they mean.

    Actions:
        Text with the values of all variables in turn, separated by blanks or commas, ``0 1 1 0 1 0``; read as
        ``answer_format`` says.

    Reward:
        1 for an assignment that makes every clause true, 0 otherwise.

    Termination:
        After the first answer.

    Source:
        Stephen Cook, The Complexity of Theorem-Proving Procedures, 1971; generated here.
    """

    answer_form = "lines"
    param_space = ParamSpace([IntAxis("variables", 6, 12), IntAxis("width", 2, 4)])

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        n, width = params["variables"], params["width"]
        hidden = int(rng.random() * (1 << n))
        clauses = _clauses(n, width, hidden, rng)
        listed = "; ".join(" ".join(map(str, clause)) for clause in clauses)
        return Task(
            f"Give each of the variables 1 to {n} the value 0 or 1 so that every clause is true. A clause is true if "
            "at least one of its numbers is: 3 is true if variable 3 is 1, and -3 is true if variable 3 is 0. Clauses: "
            f"{listed}. Answer with the values of variables 1 to {n} in turn: {n} digits 0 or 1 separated by spaces.",
            " ".join(str(hidden >> variable & 1) for variable in range(n)),
            content=f"{n}: {listed}",
            data=(n, clauses),
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        n, clauses = task.data
        try:
            rows = parse_grid(answer.strip("[](){} "))
        except GridError:
            rows = []
        if len(rows) != 1 or len(rows[0]) != n or not all(value in (0, 1) for value in rows[0]):
            return rejected(f"The answer must be {n} digits 0 or 1, separated by spaces.")
        values = rows[0]
        for clause in clauses:
            if not any(values[abs(literal) - 1] == (literal > 0) for literal in clause):
                return Verdict(0.0, False, feedback=f"The clause {' '.join(map(str, clause))} is false.")
        return CORRECT

    def solver_cost(self, episode: Task) -> float:
        """Nodes of a depth-first search over the variables in turn that goes back at a false clause, up to the
        solution, times the number of clauses."""
        n, clauses = episode.data
        full: list[list[tuple[int, ...]]] = [[] for _ in range(n + 1)]
        for clause in clauses:
            full[max(map(abs, clause))].append(clause)
        values: list[int] = []
        nodes = 0

        def place() -> bool:
            nonlocal nodes
            nodes += 1
            if not all(any(values[abs(lit) - 1] == (lit > 0) for lit in clause) for clause in full[len(values)]):
                return False
            if len(values) == n:
                return True
            for value in (0, 1):
                values.append(value)
                if place():
                    return True
                values.pop()
            return False

        place()
        return nodes * len(clauses)

    def solution_steps(self, task: Task) -> list[str]:
        n, clauses = task.data
        return [*_deduction(n, clauses, [int(value) for value in task.reference.split()]), self.oracle(task)]


@functools.cache
def _true(n: int, literal: int) -> int:
    """The set of assignments (bit a for the one whose variables are the bits of a) under which a literal is true."""
    variable, sign = abs(literal) - 1, literal > 0
    return sum(1 << a for a in range(1 << n) if bool(a >> variable & 1) is sign)


def _clauses(n: int, width: int, hidden: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Clauses that leave the hidden assignment alone possible."""
    left, target = (1 << (1 << n)) - 1, 1 << hidden
    clauses: list[tuple[int, ...]] = []
    while True:
        for start, *draws in rng.random((4 * n, n + 1)).tolist():
            # An assignment that is still possible, the first one from a random place on, becomes impossible.
            others = left ^ target
            place = int(start * (1 << n))
            later = others >> place << place or others
            other = (later & -later).bit_length() - 1
            chosen = sorted(range(n), key=draws.__getitem__)[:width]
            if not any((hidden ^ other) >> variable & 1 for variable in chosen):
                # The hidden assignment has to differ somewhere in the clause.
                differing = [variable for variable in range(n) if (hidden ^ other) >> variable & 1]
                chosen[0] = min(differing, key=draws.__getitem__)
            clause = tuple(-v - 1 if other >> v & 1 else v + 1 for v in sorted(chosen))
            false = left
            for literal in clause:
                false &= _true(n, -literal)
            left ^= false
            clauses.append(clause)
            if left == target:
                return clauses


def _deduction(n: int, clauses: list[tuple[int, ...]], values: list[int]) -> list[str]:
    """The variables, one after the other: by a clause with one number left that may be true, where there is one."""
    known: set[int] = set()
    steps = []
    while len(known) < n:
        for clause in clauses:
            free = [literal for literal in clause if abs(literal) not in known]
            settled = any(abs(lit) in known and values[abs(lit) - 1] == (lit > 0) for lit in clause)
            if len(free) == 1 and not settled:
                variable, reason = abs(free[0]), f"clause {' '.join(map(str, clause))} has no other way left"
                break
        else:
            variable = min(set(range(1, n + 1)) - known)
            reason = "the other value leads to a contradiction"
        known.add(variable)
        steps.append(f"Variable {variable} is {values[variable - 1]}: {reason}.")
    return steps


register("palaestra/Satisfiability-v0", f"{__name__}:Satisfiability")
