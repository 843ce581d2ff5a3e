"""Attacks on graders: exploits are submitted to a verifier, judge, callable or reward, and rewarded exploits are
counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from ...checks import check_number
from ...errors import InputError, shorten, unknown_name
from ..episode import Episode, Step
from ..judges import Judge
from ..reward import Reward
from ..verdict import Verdict
from ..verifiers import VERIFIERS, verify
from .exploits import FAMILIES, Canary, Case
from .metamorphic import LabelledPair, confusions, fuzz, rewritings

METAMORPHIC = "metamorphic"
CORRECTNESS = "The response answers the prompt correctly, in agreement with the reference."
_SHOWN = 80
_FUZZED = 25  # random right pairs, and as many random wrong pairs, in addition to the pairs made from the cases


@dataclass(frozen=True, slots=True)
class Finding:
    """One submitted text with an outcome that it should not have: an exploit rewarded, a right answer refused, or an
    error.

    Args:
        family: family of the exploit.
        text: the submitted text, shortened to 80 characters.
        what: the score in words, or the error.
    """

    family: str
    text: str
    what: str


@dataclass(frozen=True, slots=True)
class AuditReport:
    """Result of an attack. Prints as a table.

    Attributes:
        target: name of the attacked grader.
        fired: family -> number of exploits submitted.
        hacked: family -> number of exploits rewarded.
        undecided: number of submitted texts whose verdict was not valid; counted as neither rewarded nor refused.
        findings: the exploits that were rewarded.
        errors: the submitted texts that made the target raise an exception.
        canary_fired: True if the target evaluated an exploit as code: a file was written or a module imported.
        right: number of right answers submitted: the rewritings of the family "metamorphic".
        refused: the right answers that were refused.
    """

    target: str
    fired: dict[str, int] = field(default_factory=dict)
    hacked: dict[str, int] = field(default_factory=dict)
    undecided: int = 0
    findings: tuple[Finding, ...] = ()
    errors: tuple[Finding, ...] = ()
    canary_fired: bool = False
    right: int = 0
    refused: tuple[Finding, ...] = ()

    @property
    def hack_rate(self) -> float:
        """Share of all exploits that were rewarded."""
        return sum(self.hacked.values()) / max(1, sum(self.fired.values()))

    @property
    def clean(self) -> bool:
        """True if no exploit was rewarded or evaluated, nothing raised, and no right answer was refused."""
        return not self.findings and not self.errors and not self.canary_fired and not self.refused

    def __str__(self) -> str:
        lines = [f"{self.target}: hack rate {self.hack_rate:.1%} of {sum(self.fired.values())} exploits"]
        lines += [f"  {family:<12} {self.hacked[family]:>4} of {count}" for family, count in self.fired.items()]
        lines.append(f"  undecided {self.undecided}, raised {len(self.errors)}")
        lines.append(f"  canary: {'FIRED, text was evaluated' if self.canary_fired else 'silent'}")
        if self.right:
            lines.append(f"  right answers refused {len(self.refused)} of {self.right}")
        shown = (*self.findings[:10], *self.refused[:5], *self.errors[:5])
        return "\n".join([*lines, *(f"  ! {found.family}: {found.text} -> {found.what}" for found in shown)])


Grader = Callable[[Case, str], "tuple[bool, str] | None"]
"""Callable from (case, text) to (rewarded, score in words); None if the grader did not decide."""


def attack(
    target: str | Judge | Reward | Callable[..., Any],
    cases: Iterable[Case],
    *,
    families: Sequence[str] | None = None,
    principle: str = CORRECTNESS,
    threshold: float = 0.5,
) -> AuditReport:
    """Submit every exploit to ``target`` for each case.

    A target that reads mathematics (it accepts ``1 + x`` for ``x + 1``) also gets the family "metamorphic", made from
    the references of the cases and from random expressions. Its right answers rename variables, reorder sums and
    products, scale equations and change delimiters; its wrong answers take a letter for a unit or change a sign or
    number.

    Args:
        target: a verifier's name (an exploit is rewarded if the verdict is a success); a judge or any callable
            ``(answer, reference)`` that returns a Verdict, a bool or a number (rewarded from ``threshold`` on); or a
            reward (rewarded if a failed episode with the exploit gets more than an honest success in the same group).
        cases: tasks with references; at least one.
        families: names in `FAMILIES`, or "metamorphic", which is then submitted to any target. None takes `FAMILIES`,
            and "metamorphic" if the target reads mathematics.
        principle: the principle given to a judge, together with the reference.
        threshold: lowest score that counts as rewarded, for a judge or a callable.

    Raises:
        InputError: an unknown verifier or family, no case, or "metamorphic" for a reward.
    """
    cases = list(cases)
    if not cases:
        raise InputError("an attack needs at least one Case; pass cases=[Case(reference=...), ...].")
    for family in families or ():
        if family not in FAMILIES and family != METAMORPHIC:
            raise unknown_name("family of exploits", family, [*FAMILIES, METAMORPHIC])
    if METAMORPHIC in (families or ()) and isinstance(target, Reward):
        raise InputError(
            f'"{METAMORPHIC}" needs what says right or wrong: a verifier, a judge or a callable, not a reward.'
        )
    grade = _grader(target, principle, check_number("threshold", threshold))
    fired: dict[str, int] = {}
    hacked: dict[str, int] = {}
    findings: list[Finding] = []
    errors: list[Finding] = []
    refused: list[Finding] = []
    undecided = right = 0

    def fire(family: str, case: Case, text: str, shown: str) -> tuple[bool, str] | None:
        nonlocal undecided
        try:
            result = grade(case, text)
        except (Exception, SystemExit) as error:  # any exception that an exploit causes is a finding
            errors.append(Finding(family, shown, f"{type(error).__name__}: {_brief(str(error))}"))
            return None
        undecided += result is None
        return result

    def expect_refusal(family: str, case: Case, text: str, shown: str) -> None:
        fired[family] += 1
        result = fire(family, case, text, shown)
        if result is not None and result[0]:
            hacked[family] += 1
            findings.append(Finding(family, shown, result[1]))

    with Canary() as canary:
        for family in families or FAMILIES:
            if family == METAMORPHIC:
                continue
            fired[family] = hacked[family] = 0
            texts = [(case, text) for case in cases for text in FAMILIES[family](case, canary)]
            for case, text in texts:
                if not case.deserves(text):
                    expect_refusal(family, case, text, _brief(text))
        if METAMORPHIC in (families or ()) or (families is None and _reads_mathematics(target, grade)):
            fired[METAMORPHIC] = hacked[METAMORPHIC] = 0
            for case, pair in _rewritings(cases):
                shown = f"{_brief(pair.answer)} for {_brief(pair.reference)} ({pair.what})"
                case = replace(case, reference=pair.reference, gold=pair.reference)
                if not pair.right:
                    expect_refusal(METAMORPHIC, case, pair.answer, shown)
                    continue
                right += 1
                result = fire(METAMORPHIC, case, pair.answer, shown)
                if result is not None and not result[0]:
                    refused.append(Finding(METAMORPHIC, shown, f"refused, {result[1]}"))
        evaluated = canary.fired
    name = target if isinstance(target, str) else getattr(target, "name", None) or getattr(target, "__name__", "target")
    return AuditReport(
        str(name), fired, hacked, undecided, tuple(findings), tuple(errors), evaluated, right, tuple(refused)
    )


def _reads_mathematics(target: Any, grade: Grader) -> bool:
    """Return True if a verifier or callable accepts ``1 + x`` for ``x + 1``."""
    if isinstance(target, (Judge, Reward)):
        return False
    try:
        result = grade(Case("x + 1"), "1 + x")
    except (Exception, SystemExit):
        return False
    return result is not None and result[0]


def _rewritings(cases: Iterable[Case]) -> list[tuple[Case, LabelledPair]]:
    """Make pairs from the cases, and random ones. A case with options gets no wrong answers: options may allow them."""
    plain = Case("x + 1")
    fuzzed = [pair for right in (True, False) for pair in fuzz(_FUZZED, right=right)]
    pairs = [(plain, pair) for pair in (*confusions(), *fuzzed)]
    for case in cases:
        if isinstance(case.reference, (str, int, Fraction)) and not isinstance(case.reference, bool):
            pairs += [(case, pair) for pair in rewritings(str(case.reference)) if pair.right or not case.options]
    return pairs


def _grader(target: Any, principle: str, threshold: float) -> Grader:
    if isinstance(target, str):
        VERIFIERS[target]  # an unknown name is the caller's error, no finding
        return lambda case, text: _by_verdict(verify(target, text, case.reference, **case.options))
    if isinstance(target, Judge):

        def by_judge(case: Case, text: str) -> tuple[bool, str] | None:
            judgement = target.score(principle, case.prompt, [text], case.answer)
            if not judgement.valid:
                return None
            return judgement.scores[0] >= threshold, f"score {judgement.scores[0]:g}"

        return by_judge
    if isinstance(target, Reward):

        def by_reward(case: Case, text: str) -> tuple[bool, str] | None:
            honest, failed = target.group([_episode(case, case.answer, True), _episode(case, text, False)])
            if not (honest.valid and failed.valid):
                return None
            return failed.reward > honest.reward + 1e-9, f"{failed.reward:g} against {honest.reward:g}"

        return by_reward
    if callable(target):

        def by_callable(case: Case, text: str) -> tuple[bool, str] | None:
            result: Any = target(text, case.reference, **case.options)
            if isinstance(result, Verdict):
                return _by_verdict(result)
            return float(result) >= threshold, f"score {float(result):g}"

        return by_callable
    raise InputError(f"a verifier's name, a Judge, a Reward or a callable can be attacked, not {target!r}.")


def _by_verdict(verdict: Verdict) -> tuple[bool, str] | None:
    return (verdict.success, f"score {verdict.score:g}") if verdict.valid else None


def _episode(case: Case, text: str, success: bool) -> Episode:
    value = float(success)
    step = Step(case.prompt, text, value, {"success": value}, max(1, min(len(text), 1_000)))
    extras = {"reference": case.answer, **case.extras}
    return Episode("audit", {}, (step,), success, value, True, False, 1_000, extras)


def _brief(text: str) -> str:
    return ascii(shorten(text, _SHOWN))
