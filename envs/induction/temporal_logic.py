"""palaestra/TemporalLogic-v0: write a requirement in signal temporal logic."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ...rewards import Verdict
from ...rewards.verifiers.registry import rejected
from ..param_space import IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .signal_logic import Formula, UnreadableFormula, parse_formula, robustness, sample_traces

SIGNALS = ("speed", "temp", "pressure", "voltage", "altitude", "load", "humidity", "torque", "flow", "power")
# Wordings with placeholders for the parts. Each marks where a part ends, so that no sentence is ambiguous.
WORDINGS = {
    ">": ("{s} is above {c}", "{s} exceeds {c}", "{s} is greater than {c}"),
    "<": ("{s} is below {c}", "{s} is less than {c}", "{s} is under {c}"),
    "G": (
        "at every step from {a} to {b} later, {0}",
        "always between {a} and {b} steps later, {0}",
        "all through steps {a} to {b} from then, {0}",
    ),
    "F": (
        "at some step from {a} to {b} later, {0}",
        "at least once between {a} and {b} steps later, {0}",
        "eventually, {a} to {b} steps later, {0}",
    ),
    "U": (
        "there is a step {a} to {b} later at which {1}, and at every step before that one {0}",
        "some step {a} to {b} later has it that {1}, and until just before then {0}",
    ),
    "and": ("both {0} and {1}", "two things hold: {0}; and {1}"),
    "or": ("either {0} or {1}, or both", "at least one of two things holds: {0}; or {1}"),
    "->": ("if {0}, then {1}", "in case {0}, it must be that {1}"),
    "not": ("it is not true that {0}", "it is not the case that {0}"),
}
# Operators, repeated by their frequency; "not" is for compound parts only, as a negated proposition is a proposition.
_KINDS = ("G", "G", "F", "F", "and", "or", "->", "U", "not")
# Numbers of sampled traces and of moments on each, and the highest signal value. The second, larger sample is used
# only for formulas that agree on the first.
SAMPLES, HIGH = ((12, 400), (60, 1000)), 100.0
_NUMBERED = re.compile(r"#([0-9]+)")
# The weight of each reward term. All are exact in binary, so that they add up to 1.
WEIGHTS = {"semantics": 0.5, "propositions": 0.25, "operators": 0.125, "succinctness": 0.125}


class Requirement(NamedTuple):
    """Data of a task: the formula, the signals that an answer may use, the most steps that an answer may look ahead,
    and the parts of the requirement, inner ones first: (English, formula), in which #1, #2, ... stand for earlier
    parts."""

    formula: Formula
    signals: tuple[str, ...]
    farthest: int
    parts: tuple[tuple[str, str], ...]


class TemporalLogic(Question):
    """Write a requirement in signal temporal logic.

    Description:
        A requirement on signals over time is given in English, in unambiguous wordings; a clause that would be nested
        in another one is numbered and given on a separate line. Any formula with the same meaning is right: one with
        the same robustness, the margin by which it holds, at every moment of sampled traces.

    Parameters:
        depth (0 to 4, on request up to 6): nesting depth of the operators; 0 is a proposition such as speed > 30.
        signals (1 to 4, on request up to 10): number of signals named; a requirement with fewer propositions uses
            only some of them.
        horizon (4 to 12, on request 1 to 60): the longest window, in steps.

    Observation:
        Text: the requirement, the signals, and how formulas are written.

    Actions:
        Text with one formula, ``G[0,5](speed < 30 and F[0,3](temp > 20))``, read in ``answer_format``. Operators
        may also be spelled as words (always, eventually, until), as symbols (&, |, !, =>) or as in logic.

    Reward:
        Sum of four terms. If the meaning is right: "semantics" 0.5, "propositions" 0.25, "operators" 0.125, and
        "succinctness" 0.125 times the size of the requirement's formula divided by that of the answer, at most 1.
        Otherwise each term is half of its weight times a score: for "semantics" the fraction of moments with the right
        robustness; for "propositions" the F1 score of the propositions; for "operators" and "succinctness" the F1 score
        of the operators and the ratio of sizes, each times the F1 score of the propositions, so that form alone earns
        nothing. A failure earns less than 0.5, a success 0.875 or more.

    Termination:
        After the first answer.

    Source:
        RESTL, reinforcement learning from English to signal temporal logic, 2025; its four rewards are computed here,
        not learned. Robustness as in Fainekos & Pappas, Theoretical Computer Science 410, 2009.
    """

    param_space = ParamSpace(
        [
            IntAxis("depth", 0, 4, limits=(0, 6)),
            IntAxis("signals", 1, 4, limits=(1, len(SIGNALS))),
            IntAxis("horizon", 4, 12, limits=(1, 60)),
        ]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        draws = itertools.chain.from_iterable(rng.random(300).tolist() for _ in itertools.count())
        places = sorted(range(len(SIGNALS)), key=[next(draws) for _ in SIGNALS].__getitem__)
        signals = tuple(SIGNALS[place] for place in places[: params["signals"]])
        formula = _draw_formula(params["depth"], "", params["horizon"], signals, {}, draws)
        parts: list[tuple[str, str]] = []
        nodes: list[Formula] = []
        _describe_parts(formula, draws, parts, nodes)
        sentence, *clauses = _write_sentences(nodes, [words for words, _ in parts])
        listed = "".join(f"\n({number}): {clause}" for number, clause in enumerate(clauses, 1))
        named = f"The signal is {signals[0]}" if len(signals) == 1 else f"The signals are {', '.join(signals)}"
        solution = str(formula)
        return Task(
            f'A requirement: "{sentence[0].upper()}{sentence[1:]}."{listed}\n'
            f"Write it in signal temporal logic. {named}. Write P > 3 and P < 3 for "
            "propositions about a signal P; not A; A and B; A or B; A -> B; G[a,b] A (A at every step from a to b "
            "later); F[a,b] A (A at some such step); A U[a,b] B (B at some such step, and A at every step before that "
            "one, from the present one on). Windows count from the step at which their part is looked at. Use "
            "parentheses. Any formula that always has the same robustness is right. "
            'Answer with one formula on one line, such as "G[1,4](wind < 7 -> F[0,2](rain > 1))".',
            solution,
            content=f"{', '.join(signals)}: {solution}",
            data=Requirement(formula, signals, max(4, params["depth"]) * params["horizon"], tuple(parts)),
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        wanted, signals, farthest, _ = task.data
        try:
            given = parse_formula(answer, signals, farthest)
        except UnreadableFormula as error:
            return rejected(str(error))
        agreement = 1.0 if given == wanted else _measure_agreement(given, wanted, signals)
        brevity = min(1.0, wanted.size / given.size)
        if agreement == 1.0:
            terms = {**WEIGHTS, "succinctness": WEIGHTS["succinctness"] * brevity}
            return Verdict(sum(terms.values()), True, terms=terms, feedback="Correct.")
        right = _f1(_propositions(given), _propositions(wanted))
        shares = (agreement, right, right * _f1(_operators(given), _operators(wanted)), right * brevity)
        terms = {name: weight * share / 2 for (name, weight), share in zip(WEIGHTS.items(), shares)}
        feedback = (
            f"The formula means something else: it agrees at {int(100 * agreement)} % of the moments sampled, and the "
            f"F1 score of its propositions is {right:.2f}."
        )
        return Verdict(sum(terms.values()), False, terms=terms, feedback=feedback)

    def solution_steps(self, task: Task) -> list[str]:
        """List the formula of each part, inner ones first."""
        numbered = enumerate(task.data.parts, 1)
        return [*(f"#{number} {words}: {formula}" for number, (words, formula) in numbered), self.oracle(task)]


def _draw_formula(
    depth: int, above: str, horizon: int, signals: tuple[str, ...], used: dict[Formula, None], draws: Iterator[float]
) -> Formula:
    """Draw a formula of exactly this depth, for a place under the operator ``above``; ``used`` collects its
    propositions."""
    if depth == 0:
        signal = signals[len(used) % len(signals)]
        while True:
            kind, constant = "<>"[int(2 * next(draws))], 20 + 5 * int(13 * next(draws))
            if all((other.signal, other.constant) != (signal, constant) for other in used):
                break
        proposition = Formula(kind, signal=signal, constant=float(constant))
        used[proposition] = None
        return proposition
    kinds = [kind for kind in _KINDS if kind != above and (kind, depth) != ("not", 1)]
    kind = kinds[int(next(draws) * len(kinds))]
    parts = [_draw_formula(depth - 1, kind, horizon, signals, used, draws)]
    if kind in ("and", "or", "->", "U"):
        other = _draw_formula(min(depth - 1, int(2 * next(draws))), kind, horizon, signals, used, draws)
        parts.insert(int(2 * next(draws)), other)
    if kind not in "GFU":
        return Formula(kind, tuple(parts))
    last = 1 + int(next(draws) * horizon)
    first = int(max(0.0, 2 * next(draws) - 1) * last)
    return Formula(kind, tuple(parts), (first, last))


def _describe_parts(
    formula: Formula, draws: Iterator[float], parts: list[tuple[str, str]], nodes: list[Formula]
) -> str:
    """Append the formula and its parts to ``parts`` and ``nodes``, and return the formula's number there."""
    inner = [_describe_parts(part, draws, parts, nodes) for part in formula.parts]
    wordings = WORDINGS[formula.operator]
    wording = wordings[int(next(draws) * len(wordings))]
    first, last = formula.window
    words = wording.format(*inner, s=formula.signal, c=f"{formula.constant:g}", a=first, b=last)
    parts.append((words, formula.format_with(inner)))
    nodes.append(formula)
    return f"#{len(parts)}"


def _write_sentences(nodes: list[Formula], texts: list[str]) -> list[str]:
    """Write the last part as a sentence, followed by the clauses (1), (2), ... that the sentences refer to.

    Args:
        nodes: the formula of each part.
        texts: the words of each part, in which #1 stands for the first part, and so on.
    """
    clauses = [len(nodes) - 1]

    def expand(place: int) -> str:
        return _NUMBERED.sub(lambda mark: refer_to(int(mark[1]) - 1, place), texts[place])

    def refer_to(place: int, above: int) -> str:
        parts = nodes[place].parts
        # A clause without inner clauses may end a sentence; elsewhere its own end would not be clear.
        plain = not any(part.parts for part in parts) and min(len(parts), len(nodes[above].parts)) < 2
        if not parts or (plain and texts[above].endswith(f"#{place + 1}")):
            return expand(place)
        clauses.append(place)
        return f"({len(clauses) - 1})"

    sentences: list[str] = []
    while len(sentences) < len(clauses):
        sentences.append(expand(clauses[len(sentences)]))
    return sentences


def _measure_agreement(given: Formula, wanted: Formula, signals: tuple[str, ...]) -> float:
    """Return the fraction of moments of sampled traces at which both formulas have the same robustness."""
    digest = hashlib.blake2b(str(wanted).encode(), digest_size=8).digest()
    rng = np.random.default_rng(int.from_bytes(digest, "big"))
    farthest, agreement = max(given.reach, wanted.reach), 1.0
    for count, moments in SAMPLES:
        traces = sample_traces(rng, signals, count, moments + farthest, HIGH)
        one, other = (robustness(formula, traces)[:, :moments] for formula in (given, wanted))
        agreement = float((abs(one - other) <= 1e-9).mean())
        if agreement < 1.0:
            break
    return agreement


def _propositions(formula: Formula) -> Counter[Hashable]:
    return Counter({(node.signal, node.operator, node.constant): 1 for node in formula.nodes() if not node.parts})


def _operators(formula: Formula) -> Counter[Hashable]:
    return Counter(node.operator for node in formula.nodes() if node.parts)


def _f1(given: Counter[Hashable], wanted: Counter[Hashable]) -> float:
    """Return the F1 score of two multisets."""
    return 2 * (given & wanted).total() / max(1, given.total() + wanted.total())


register("palaestra/TemporalLogic-v0", f"{__name__}:TemporalLogic")
