"""Rewards for programs that tests have judged: the share that passed, the kind of failure, code that Python can read.

The extra "tests" says for each test how it failed: "" (it passed), "wrong" (another value or output), "error" (an
exception, a signal, an exit code), "limit" (time, memory, output) or "syntax" (it is no Python); None where no program
was judged. The code environments supply it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...checks import check_number
from ...errors import InputError
from ..episode import Episode
from ..reward import Reward, register

KINDS = ("", "wrong", "error", "limit", "syntax")


def failures_of(episode: Episode) -> Sequence[str]:
    """The extra "tests"; () where no program was judged.

    Raises:
        InputError: it is missing, or holds something else.
    """
    failures = episode.extra("tests")
    if failures is None:
        return ()
    if isinstance(failures, (list, tuple)) and all(failure in KINDS for failure in failures):
        return failures
    raise InputError(f"the extra 'tests' must be a list of {', '.join(map(repr, KINDS))}, or None, not {failures!r}.")


def share_passed(episode: Episode) -> float:
    """Of the tests; 1 for a success alone, 0 where no program was judged."""
    failures = failures_of(episode)
    if episode.success:
        return 1.0
    # A success needs more than its tests where a program also has to be fast.
    return min(failures.count("") / len(failures), 1.0 - 1.0 / (len(failures) + 1)) if failures else 0.0


def outcome_of(episode: Episode) -> str:
    """How a program that is no success failed: by the worst kind among its tests ("syntax" where there was none to
    judge, "wrong" where all of them passed)."""
    failures = failures_of(episode)
    return max(failures, key=KINDS.index) or "wrong" if failures else "syntax"


@register("tests-passed")
class TestsPassed(Reward):
    """The whole worth of a program: 1 for a success, and up to ``partial`` for the share of the tests that passed.

    Args:
        partial: what all tests together would be worth to a program that fails one; below 1.
        power: of the share: above 1, the last tests count most.

    Raises:
        InputError: an argument out of its range; when called, an extra "tests" of another form.
    """

    paper = "APPS, arXiv 2105.09938 (test case average, strict accuracy)"
    complete = True
    ranks_success = True
    needs = frozenset({"tests"})

    def __init__(self, partial: float = 1.0, power: float = 1.0):
        self.partial = check_number("partial", partial, low=0.0, high=1.0)
        self.power = check_number("power", power, low=1e-3)

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def value(self, episode: Episode) -> float:
        share = share_passed(episode)
        return share if share == 1.0 else self.partial * share**self.power


@register("error-kind")
class ErrorKind(Reward):
    """The whole worth of a program: 1 for a success, and less by how the worst of its tests failed.

    Args:
        syntax: value of text that Python cannot read, or that holds no program.
        error: value of a program that an exception, a signal, an exit code or a limit ended in some test.
        wrong: value of one that runs, with another result in some test.
        adaptive: of one that runs, pay up to 1 by the share of its tests that passed, from ``wrong`` on (RLTF).

    Raises:
        InputError: not ``syntax <= error <= wrong < 1``; when called, an extra "tests" of another form.
    """

    paper = "CodeRL, arXiv 2207.01780, Eq. 5; RLTF, arXiv 2307.04349 (adaptive feedback)"
    complete = True
    ranks_success = True
    needs = frozenset({"tests"})

    def __init__(self, syntax: float = -1.0, error: float = -0.6, wrong: float = -0.3, adaptive: bool = False):
        self.wrong = check_number("wrong", wrong, high=1.0 - 1e-9)
        self.error = check_number("error", error, high=self.wrong)
        self.syntax = check_number("syntax", syntax, high=self.error)
        self.adaptive = adaptive

    @property
    def bounds(self) -> tuple[float, float]:
        return self.syntax, 1.0

    def value(self, episode: Episode) -> float:
        kind = outcome_of(episode)
        if episode.success:
            return 1.0
        if kind == "syntax":
            return self.syntax
        if kind != "wrong":
            return self.error
        return self.wrong + (1.0 - self.wrong) * share_passed(episode) * self.adaptive


@register("syntax")
class Syntax(Reward):
    """A term for a program that Python can read.

    Args:
        bonus: value of one that it can read.
        penalty: value of text that it cannot, or that holds no program; not above ``bonus``.

    Raises:
        InputError: ``penalty > bonus``; when called, an extra "tests" of another form.
    """

    paper = "PPOCoder, arXiv 2301.13816 (compiler feedback)"
    needs = frozenset({"tests"})

    def __init__(self, bonus: float = 0.0, penalty: float = -1.0):
        self.bonus = check_number("bonus", bonus)
        self.penalty = check_number("penalty", penalty, high=self.bonus)

    @property
    def bounds(self) -> tuple[float, float]:
        return self.penalty, self.bonus

    def value(self, episode: Episode) -> float:
        return self.penalty if outcome_of(episode) == "syntax" else self.bonus
