"""palaestra/Satisfiability-v0: find the assignment that makes every clause true."""

from __future__ import annotations

import functools
import itertools
from bisect import bisect_right
from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.verifiers.registry import CORRECT, rejected
from ..param_space import IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .numbers_in_order import read_numbers_in_order

# Up to this many variables, the solution is made unique, by means of the set of all assignments.
MOST_UNIQUE = 14
# With more variables, by clause width: clauses per variable, near the threshold above which large random formulas are
# unsatisfiable; and the weights of clauses with 1, 2, ... literals that are true under the hidden assignment, such that
# a literal is true as often as false ("Generating hard satisfiable formulas by hiding solutions deceptively", Jia,
# Moore and Strain, Journal of Artificial Intelligence Research 28, 2007).
RATIO = {2: 1.0, 3: 4.2, 4: 9.8}
_WEIGHTS = {2: (1.0, 0.0), 3: (3 * 0.618, 3 * 0.618**2, 0.618**3), 4: (4 * 0.839, 6 * 0.839**2, 4 * 0.839**3, 0.839**4)}


class Satisfiability(Question):
    """Solve a satisfiability problem (k-SAT).

    Description:
        Clauses are drawn that a hidden assignment makes true, each of them false under some assignment that all clauses
        before it leave possible, until only the hidden assignment is left. So there is always exactly one solution.
        With more than 14 variables there may be further solutions, which are accepted, too: then clauses are drawn in
        which a literal is true as often as false under the hidden assignment, about as many as a random formula can
        have and still be satisfiable.

    Parameters:
        variables (6 to 12, on request 4 to 60): variables, each 0 or 1.
        width (2 to 4): variables in each clause.

    Observation:
        The clauses as lists of numbered variables with signs, ``1 -3 4``, and what they mean.

    Actions:
        Text with the values of all variables in turn, separated by blanks or commas, ``0 1 1 0 1 0``, or each after the
        number of its variable: ``1: 0, 2: 1``; read in ``answer_format``.

    Reward:
        1 for an assignment that makes every clause true, 0 otherwise. A player who sets one variable after the other
        without going back (one that a clause forces, or else the one whose sign in the open clauses is the most
        one-sided) wins most of the easiest tasks and few of the hardest.

    Termination:
        After the first answer.

    Source:
        Stephen Cook, The Complexity of Theorem-Proving Procedures, 1971; generated here.
    """

    answer_form = "lines"
    param_space = ParamSpace([IntAxis("variables", 6, 12, limits=(4, 60)), IntAxis("width", 2, 4)])

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        n, width = params["variables"], params["width"]
        hidden = sum(1 << variable for variable, u in enumerate(rng.random(n).tolist()) if u < 0.5)
        clauses = (_draw_clauses if n <= MOST_UNIQUE else _draw_many_clauses)(n, width, hidden, rng)
        listed = "; ".join(" ".join(map(str, clause)) for clause in clauses)
        return Task(
            f"Give each of the variables 1 to {n} the value 0 or 1 so that every clause is true. A clause is true if "
            "at least one of its numbers is: 3 is true if variable 3 is 1, and -3 is true if variable 3 is 0. Clauses: "
            f"{listed}. Answer with the values of variables 1 to {n} in turn: {n} digits 0 or 1 separated by spaces.",
            " ".join(str(hidden >> variable & 1) for variable in range(n)),
            content=f"{n}: {listed}",
            split_key=f"{n} {sorted(clauses)}",
            data=(n, clauses),
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        n, clauses = task.data
        values = read_numbers_in_order(answer, n)
        if values is None or not all(value in (0, 1) for value in values):
            return rejected(f"The answer must be {n} digits 0 or 1, separated by spaces.")
        for clause in clauses:
            if not any(values[abs(literal) - 1] == (literal > 0) for literal in clause):
                return Verdict(0.0, False, feedback=f"The clause {' '.join(map(str, clause))} is false.")
        return CORRECT

    def heuristic_action(self, episode: Task) -> str:
        """Return an assignment made without backtracking: the next variable is one that a clause forces, else the one
        whose sign in the clauses not yet true is the most one-sided."""
        n, clauses = episode.data
        values: dict[int, bool] = {}
        while len(values) < n:
            waiting = [clause for clause in clauses if not any(values.get(abs(x)) == (x > 0) for x in clause)]
            free = [[x for x in clause if abs(x) not in values] for clause in waiting]
            forced = next((clause[0] for clause in free if len(clause) == 1), 0)
            if not forced:
                balance = dict.fromkeys((v for v in range(1, n + 1) if v not in values), 0)
                for clause in free:
                    for literal in clause:
                        balance[abs(literal)] += 1 if literal > 0 else -1
                variable = max(balance, key=lambda v: abs(balance[v]))
                forced = variable if balance[variable] >= 0 else -variable
            values[abs(forced)] = forced > 0
        return " ".join(str(int(values[variable])) for variable in range(1, n + 1))

    def solver_cost(self, episode: Task) -> float | None:
        """Return the number of clauses times the number of nodes of a depth-first search for a solution, over the
        variables in order, that backtracks at false clauses; None for more than `MOST_UNIQUE` variables."""
        n, clauses = episode.data
        if n > MOST_UNIQUE:
            return None
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

    def criteria(self, task: Task) -> list[str]:
        n, _ = task.data
        return [
            "In every clause at least one number is true.",
            "A variable has the same value wherever it occurs.",
            f"The answer is {n} digits, each 0 or 1.",
        ]

    def solution_steps(self, task: Task) -> list[str]:
        n, clauses = task.data
        return [*_write_deduction(n, clauses, [int(value) for value in task.reference.split()]), self.oracle(task)]


@functools.cache
def _assignments_with(n: int, literal: int) -> int:
    """Return the set of assignments under which a literal is true, as an int: bit a stands for the assignment whose
    true variables are the bits set in a."""
    half = 1 << abs(literal) - 1
    block = ((1 << half) - 1) << (half if literal > 0 else 0)
    while half < 1 << n - 1:
        half *= 2
        block |= block << half
    return block


def _draw_clauses(n: int, width: int, hidden: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Draw clauses that only the hidden assignment satisfies."""
    left, target = (1 << (1 << n)) - 1, 1 << hidden
    clauses: list[tuple[int, ...]] = []
    while True:
        for start, *draws in rng.random((4 * n, n + 1)).tolist():
            # Exclude an assignment that is still possible, the first one from a random place on.
            others = left ^ target
            place = int(start * (1 << n))
            later = others >> place << place or others
            other = (later & -later).bit_length() - 1
            chosen = sorted(range(n), key=draws.__getitem__)[:width]
            if not any((hidden ^ other) >> variable & 1 for variable in chosen):
                # The clause must contain a variable in which the hidden assignment differs.
                differing = [variable for variable in range(n) if (hidden ^ other) >> variable & 1]
                chosen[0] = min(differing, key=draws.__getitem__)
            clause = tuple(-v - 1 if other >> v & 1 else v + 1 for v in sorted(chosen))
            false = left
            for literal in clause:
                false &= _assignments_with(n, -literal)
            left ^= false
            clauses.append(clause)
            if left == target:
                return clauses


def _draw_many_clauses(n: int, width: int, hidden: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Draw clauses that the hidden assignment satisfies, and whose signs do not reveal it."""
    weights = list(itertools.accumulate(_WEIGHTS[width]))
    clauses: dict[tuple[int, ...], None] = {}
    while len(clauses) < round(RATIO[width] * n):
        for u, *draws in rng.random((n, 2 * n + 1)).tolist():
            variables = sorted(range(n), key=draws.__getitem__)[:width]
            right = 1 + bisect_right(weights, u * weights[-1])
            true = set(sorted(variables, key=draws[n:].__getitem__)[:right])
            signs = [(hidden >> v & 1) == (v in true) for v in variables]
            clauses[tuple(sorted([v + 1 if sign else -v - 1 for v, sign in zip(variables, signs)], key=abs))] = None
    return list(clauses)[: round(RATIO[width] * n)]


def _write_deduction(n: int, clauses: list[tuple[int, ...]], values: list[int]) -> list[str]:
    """Return a line for each variable with its value, in an order in which as many as possible follow from a clause in
    which only one literal can still be true."""
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
            reason = "the other value leads to a contradiction" if n <= MOST_UNIQUE else "this leaves a solution"
        known.add(variable)
        steps.append(f"Variable {variable} is {values[variable - 1]}: {reason}.")
    return steps


register("palaestra/Satisfiability-v0", f"{__name__}:Satisfiability")
