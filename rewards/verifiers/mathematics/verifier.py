r"""Verifier "math": values and expressions in closed form, compared by value and structure.

Only the grammar of this package reads an answer; it is never evaluated, and a worker process receives only the tree.
If equality is neither proved nor refuted within the deadline, the verdict is ``valid=False``.
"""

from __future__ import annotations

import importlib.util
import math
import time
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ....errors import InputError, MissingExtra
from ...verdict import Verdict
from ..registry import CORRECT, WRONG, rejected
from ..workers import WorkerFailure, WorkerPool
from .approximate import is_approximate, without_approximation
from .canonical import holds_giant
from .compare import Comparison, ComparisonOptions
from .leniencies import STRICT, Leniencies, further_pairs, make_leniencies, read_under
from .normal import WHOLE_BUDGET, Budget
from .plain_numbers import read_short_number
from .spellings import respell
from .tree import Apply, Malformed, Num, Quantity, Scalar, Value, Words, as_num, is_scalar, with_leaves

POOL = WorkerPool(f"{__package__}.symbolic:answer_problems")

# Exact arithmetic in this process takes a quarter of the deadline at most; the rest is for a worker.
TERMS_PER_SECOND = 75_000
MIN_SECONDS = 0.01

_OTHER_FORM = Verdict(0.0, False, feedback="The answer is not of the form that is asked for.")
_OTHER_UNIT = Verdict(0.0, False, feedback="The answer's unit is missing, superfluous or of another kind.")
_UNDECIDED = Verdict(0.0, False, valid=False, feedback="It could not be decided whether the answer is correct.")
_FAILURES = {
    "deadline": "The comparison took too long; the answer is not judged.",
    "memory": "The comparison took too much memory; the answer is not judged.",
    "busy": "All workers were busy with other answers for too long; the answer is not judged.",
}


def verify_math(
    answer: str,
    reference: str | int | Fraction,
    *,
    units: str = "required",
    assignment: bool = True,
    ordered: bool = True,
    tolerance: float | Fraction | None = None,
    absolute_tolerance: float | Fraction | None = None,
    decimals: int | None = None,
    log_base: int | str | None = None,
    deadline: float = 2.0,
    wait: float = 60.0,
    policy: str = "strict",
    functions: bool | None = None,
    chains: bool | None = None,
    containers: bool | None = None,
    percent: bool | None = None,
    words: bool | None = None,
    prose: bool | None = None,
    spellings: bool | None = None,
) -> Verdict:
    r"""Check that ``answer`` is mathematically the same as ``reference``.

    Accepted are LaTeX and plain text: integers, decimals, fractions, mixed numbers, scientific notation, thousands
    separators, percent, units and currency, intervals, sets, tuples, matrices, equations, inequalities, expressions
    with variables, elementary functions, π, e, i, ∞, ±, and plain words if the reference is words. ``\boxed{}``,
    dollar signs, ``**``, ``####`` and a full stop are allowed around the whole answer; other text is not.

    Rules of the comparison: 50% is 0.5 and not 50; 500 cm is 5 m and not 5; tuples, bare lists and brackets keep
    order and kind; sets, ± and lists joined by "or" and "and" have no order, and if the reference has no order the
    answer's values may be joined by commas; equations are equal up to a swap of sides and a constant factor other than
    zero, inequalities up to a positive factor; an inequality of one variable equals its interval; ratios may be scaled;
    variables differ by name and case. Several answers are wrong if the reference is one value. Numbers are exact:
    0.3333 is not 1/3.

    Variables are real and functions take principal values (odd roots the real one), so that ``sqrt(x^2)`` is ``|x|``
    and not ``x``, and ``ln(x^2)`` is not ``2 ln(x)``. Expressions are equal if they are equal at every real point where
    both are defined, so that ``(x^2-1)/(x-1)`` is ``x+1``. Points where neither is a real number do not count unless i
    occurs in one of them, so that ``ln(x^3)`` is ``3 ln(x)``; if equality at all other points cannot be proved, as
    for ``(x-1) sqrt(x-1)`` and ``sqrt((x-1)^3)``, the answer is undecided. ``log`` without a base stands for any base
    unless ``log_base`` is set. ``f``, ``g``, ``h`` and their capitals before brackets, and every variable before a
    number in brackets, are functions: ``f(2)`` is not ``2f``, and is compared as it is written. Directly after a number
    "million" and similar words (dozen, hundred, thousand, billion, trillion, in the short scale) are factors; other
    words that change a number ("5 halves") are separate units and are never ignored.

    Letters after a number are variables or a unit (``3m``): two values are equal if they agree with variables on both
    sides, or with units on both sides. Such a unit belongs to one number or one product: ``1 + 2m`` has a variable and
    is ``2m + 1``, never ``3m``. Spelled out or in ``\text{}``, a unit may also follow a sum that cannot be computed
    (``2 + \sqrt{3} \text{ cm}``), but not ``1 + 2``.

    Answers that score 0 although a person might accept them: another form than the reference (a list for a set,
    ``2 < x < 5`` for the possible point ``(2, 5)``, a number for digits with a base); numbers too large to compute
    (``9^9^9``) unless the normal forms agree; an undefined answer if the reference is defined; ``x=2, x=1`` for the
    list ``1, 2``, in which order counts.

    Further notations of whole answers: several formulas (``$2$ or $-2$``), times of day (``3:30 pm`` is 15:30 and
    not 3:30), a number and a counted noun of several words (``65\text{ children tickets}``), ``{1 \over 3}``, set
    builders (``\{x \mid x > 0\}`` is an interval; conditions that give neither an interval nor a list are compared as
    they are), sums and products of matrices and numbers. ``{17}`` is the set if the other side is a set, else 17; a
    name with a prime, an arrow, a bar or dots is another name; four or more letters that are neighbours in the alphabet
    (``wxyz``) are a product. Before ``\approx`` the exact side counts; a number that is only stated as approximate is
    not an answer, unless the reference is approximate, too.

    A policy is more lenient. ``policy="dataset"`` sets all of the following options, "strict" none; each can also be
    set alone.

    * functions: ``f(x) = E`` and ``y = E`` count as E if the reference is not an equation, and E counts if the
      reference is such an equation. Refused: two different names, an E that contains the name.
    * chains: ``x = 5+6 = 11`` and ``5+6 = 11`` count as 11; after ≈ the last side counts. Refused: links that
      contradict each other, equations to be solved (``2x = 6``), ``5 = 5``, a bare ``≈ 11``.
    * containers: tuples, sets, lists, angle brackets, rows and columns, a single value in brackets, and ``x=1, y=2``
      are compared by their values, in the reference's order if it has one; so ``2, 3`` is right for the interval
      ``(2, 3)``. Refused: ``[1, 2]`` and ``[1, 2)`` for any other container, and containers with infinity.
    * percent: 50 is right for 50%, and 50% for 50. Refused: 0.5% for 0.5, and two percentages that differ.
    * words: words after a number, in brackets or not (``9 (apples)``): a unit of the reference may be missing, and a
      counted noun, a sign of currency or a degree sign may be added; of two nouns one may have more words. Refused:
      other nouns, units that the reference lacks, a missing letter that may be a variable (``5m``), words that change a
      number (``9 dozen``) or express doubt.
    * prose: the last formula in prose, or several as a list if only commas or "and" separate them; without a formula
      the value after the last "is" or colon; and a "yes" or "no" at the beginning. Refused: prose that denies, doubts,
      quantifies or makes conditions, numbers after the formula, a lone name, and references with several formulas or
      with one after a "yes".
    * spellings: "all real numbers", "DNE", "no solution"; ``x \neq 2`` for its intervals; ``AB = 5`` for 5, ``P(1, 2)``
      and ``y = 2, x = 1`` for (1, 2), cases likewise; ``(A) 5`` for 5; ``2 hours 30 minutes``; ``12,34,567`` and
      ``1 234 567``; ``0.1(6)`` and ``0.1666...``; ``C(5, 2)``; a base in words; dots in a list as in the reference;
      marks and counting words of Chinese. Refused: the same with another value.

    Not supported (malformed as answers, an error as references): ``\gcd``, ``\max``, ``\min``, ``\angle ABC``,
    ``\triangle``, congruences, dots of continuation, sums, integrals, limits, several units in one value
    (``5 ft 6 in``), and words with digits (dates, ``6^{th}``).

    Args:
        answer: text of at most 10,000 characters.
        reference: text in the same grammar, or an exact number.
        units: "required": a unit on one side only is wrong, except a currency sign; "optional": it is ignored.
        assignment: accept ``x = 5`` for ``5``, and 5 for ``x = 5``.
        ordered: the order of a bare list ``1, 2`` counts.
        tolerance: largest difference of two numbers, relative to the reference; finite and positive.
        absolute_tolerance: largest absolute difference of two numbers; finite and positive.
        decimals: numbers are equal if they agree after rounding to this number of places, 0 to 100.
        log_base: base of ``log``: a whole number above 1, or "e".
        deadline: seconds for symbolic work, without the wait for a free worker; up to 600.
        wait: seconds to wait for a free worker, up to 3600; after that the verdict has ``valid=False``. There is one
            worker per core, or as many as the environment variable PALAESTRA_WORKERS says.
        policy: "strict" or "dataset", see above.
        functions, chains, containers, percent, words, prose, spellings: leniencies, see above; None takes the policy's
            setting.

    Raises:
        InputError: an option out of range, or a reference outside the grammar.
        MissingExtra: sympy is needed and not installed.
    """
    settings = (functions, chains, containers, percent, words, prose, spellings)
    leniencies = STRICT
    if policy != "strict" or settings != (None,) * 7:
        leniencies = make_leniencies(policy, dict(zip(Leniencies.__dataclass_fields__, settings)))
    options = _options(units, assignment, ordered, tolerance, absolute_tolerance, decimals, log_base, leniencies)
    if not _is_number(deadline) or not 0.0 < deadline <= 600.0:
        raise InputError(f"deadline must be more than 0 and at most 600 seconds, not {deadline!r}.")
    if not _is_number(wait) or not 0.0 < wait <= 3600.0:
        raise InputError(f"wait must be more than 0 and at most 3600 seconds, not {wait!r}.")
    if type(reference) is str and not options.inexact:
        # Most answers are plain numbers, to which no other option applies.
        given, gold = read_short_number(answer), read_short_number(reference)
        if given is not None and gold is not None:
            return CORRECT if given == gold else WRONG
    until = time.monotonic() + deadline
    if not leniencies.spellings:
        return _verify_as_written(answer, reference, options, leniencies, deadline, until, wait)
    respelled = respell(reference) if isinstance(reference, str) else {}
    first: Verdict | None = None
    unreadable: InputError | None = None
    for given, nameless in {answer: False, **respell(answer)}.items():
        for gold, also in {reference: False, **respelled}.items():
            if nameless and also:
                continue
            try:
                verdict = _verify_as_written(given, gold, options, leniencies, deadline, until, wait)
            except InputError as error:
                unreadable = unreadable or error
                continue
            if verdict.success:
                return verdict
            first = first or verdict
    if first is None:
        assert unreadable is not None
        raise unreadable
    return first


def _verify_as_written(
    answer: str,
    reference: Any,
    options: ComparisonOptions,
    leniencies: Leniencies,
    deadline: float,
    until: float,
    wait: float,
) -> Verdict:
    """Compare an answer and a reference without respelling them."""
    gold_written, gold_value, gold_is_giant = _reference(reference, options, leniencies)
    allowed = gold_written is not gold_value and is_approximate(gold_written)
    try:
        written = read_under(answer, leniencies)
        value = (
            without_approximation(written, allowed or options.inexact)
            if "≈" in answer or "approx" in answer
            else written
        )
        if isinstance(value, Words) and not isinstance(gold_value, Words):
            return rejected("The answer must be a mathematical value, not words.")
        value = with_log_base(value, options.log_base)
        comparison = Comparison(options, budget=Budget(int(min(TERMS_PER_SECOND * deadline, WHOLE_BUDGET))))
        if holds_giant(value, comparison.budget) and not gold_is_giant:
            return rejected("The answer holds a number that is too large to be computed.")
        verdict = _compare_values(comparison, value, gold_value, until, wait)
        if verdict.success or leniencies is STRICT:
            return verdict
        further = further_pairs((answer, written, value), (reference, gold_written, gold_value), leniencies)
        return _judge_further(verdict, further, options, until, wait)
    except Malformed as error:
        return rejected(str(error))
    except RecursionError:
        return rejected("The expression is nested too deeply.")


def _judge_further(
    verdict: Verdict, further: Iterable[tuple[Value, Value]], options: ComparisonOptions, until: float, wait: float
) -> Verdict:
    """Return the verdict on the first of the further pairs that is equal; without one, ``verdict``, or the verdict on
    an undecided pair if there is any."""
    budget = Budget(WHOLE_BUDGET)
    for a, b in further:
        pair = with_log_base(a, options.log_base), with_log_base(b, options.log_base)
        try:
            other = _compare_values(Comparison(options, budget=budget), *pair, until, wait)
        except Malformed:
            continue
        if other.success:
            return other
        verdict = verdict if other.valid else other
    return verdict


def _compare_values(comparison: Comparison, value: Value, gold: Value, until: float, wait: float) -> Verdict:
    same = comparison.same(value, gold)
    if same is None and comparison.questions:
        questions, comparison.questions = comparison.questions, {}
        if importlib.util.find_spec("sympy") is None:
            raise MissingExtra("symbolic equivalence", "math")
        try:
            replies = POOL.run(list(questions.values()), max(until - time.monotonic(), MIN_SECONDS), wait=wait)
        except WorkerFailure as failure:
            return Verdict(0.0, False, valid=False, feedback=_FAILURES.get(failure.reason, _UNDECIDED.feedback))
        comparison.answers.update(zip(questions, replies))
        same = comparison.same(value, gold)
    if same is None:
        return _UNDECIDED
    if same:
        return CORRECT
    return {"form": _OTHER_FORM, "unit": _OTHER_UNIT}.get(comparison.reason, WRONG)


def _reference(reference: Any, options: ComparisonOptions, leniencies: Leniencies) -> tuple[Value, Value, bool]:
    """Read the reference. Return its parsed value, its value for the comparison, and True if a number is too large."""
    if isinstance(reference, (int, Fraction)) and not isinstance(reference, bool):
        return as_num(reference), as_num(reference), False
    if not isinstance(reference, str):
        raise InputError(f"the math verifier needs text, an int or a Fraction as reference, not {reference!r}.")
    try:
        written = read_under(reference, leniencies, is_reference=True)
        value = without_approximation(written, allowed=True) if "≈" in reference or "approx" in reference else written
        value = with_log_base(value, options.log_base)
        return written, value, holds_giant(value, Budget())
    except (Malformed, RecursionError) as error:
        raise InputError(
            f"the math verifier cannot read the reference {reference[:100]!r} ({error}); write it in closed form."
        ) from None


def _options(
    units: str,
    assignment: bool,
    ordered: bool,
    tolerance: float | Fraction | None,
    absolute_tolerance: float | Fraction | None,
    decimals: int | None,
    log_base: int | str | None,
    leniencies: Leniencies,
) -> ComparisonOptions:
    given = (tolerance, absolute_tolerance, decimals, log_base)
    if given == (None,) * 4 and units == "required" and assignment is ordered is True and leniencies is STRICT:
        return _DEFAULTS
    if units not in ("required", "optional"):
        raise InputError(f'units must be "required" or "optional", not {units!r}.')
    for name, value in (("tolerance", tolerance), ("absolute_tolerance", absolute_tolerance)):
        if value is not None and not (_is_number(value) and math.isfinite(value) and value > 0):
            raise InputError(f"{name} must be finite and positive, not {value!r}.")
    if decimals is not None and (isinstance(decimals, bool) or decimals not in range(101)):
        raise InputError(f"decimals must be a whole number from 0 to 100, not {decimals!r}.")
    if log_base is not None and log_base != "e" and (not isinstance(log_base, int) or log_base < 2):
        raise InputError(f'log_base must be "e" or a whole number above 1, not {log_base!r}.')
    return ComparisonOptions(
        units=units,
        assignment=assignment,
        ordered=ordered,
        tolerance=None if tolerance is None else Fraction(tolerance),
        absolute_tolerance=None if absolute_tolerance is None else Fraction(absolute_tolerance),
        decimals=decimals,
        log_base=Fraction(log_base) if isinstance(log_base, int) else log_base,
        containers=leniencies.containers,
        words=leniencies.words,
    )


_DEFAULTS = ComparisonOptions()


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Fraction)) and not isinstance(value, bool)


def with_log_base(value: Value, base: Fraction | str | None) -> Value:
    """Give every logarithm without a base the base ``base``; None changes nothing."""
    if base is None:
        return value

    def give_base(leaf: Value) -> Value:
        if isinstance(leaf, Quantity):
            plain = None if leaf.plain is None else _with_base(leaf.plain, base)
            return replace(leaf, value=_with_base(leaf.value, base), plain=plain)
        return _with_base(leaf, base) if is_scalar(leaf) else leaf  # type: ignore[arg-type]

    return with_leaves(value, give_base)


def _with_base(value: Scalar, base: Fraction | str) -> Scalar:
    if not isinstance(value, Apply) or not value.args:
        return value
    args = tuple(_with_base(arg, base) for arg in value.args)
    if value.op == "log" and len(args) == 1:
        return Apply("ln", args) if base == "e" else Apply("log", (args[0], Num(Fraction(base))))
    return Apply(value.op, args)
