"""Policies of the verifier "math": what each setting forgives, that it stands alone, and what no policy accepts."""

from __future__ import annotations

import time

import pytest
from palaestra.errors import InputError
from palaestra.rewards import verify
from palaestra.rewards.audit import measure_fuzz, sheet
from palaestra.rewards.verifiers.mathematics.leniencies import POLICIES, Leniencies

SETTINGS = tuple(Leniencies.__dataclass_fields__)
# For each setting an answer and a reference that are right only with it, and a near miss.
ALONE = {
    "functions": ("f(x)=2x+1", "2x+1", "f(x)=2x"),
    "chains": ("x=5+6=11", "11", "x=5+7=11"),
    "containers": ("(1, 2, 3)", r"\{1, 2, 3\}", "(1, 2)"),
    "percent": ("50%", "50", "0.5%"),
    "words": ("9 (apples)", "9", "9 dozen"),
    "prose": ("The sum is $12$.", "12", "The sum is not $12$."),
    "spellings": ("2 hours 30 minutes", "150 minutes", "2 hours 30 seconds"),
}
# Families of the sheet whose rows a setting may turn from wrong to right: what its documentation says it forgives.
FORGIVEN = {
    "chains": {"notation"},
    "containers": {"tuple", "set", "interval", "matrix", "several answers", "words", "notation"},
    "percent": {"percent", "unit", "currency", "several answers"},
    "words": {"unit", "degrees", "several answers", "unicode", "injection", "notation"},
    "prose": {"integer"},
}


def judge(answer: str, reference: str, **options: bool) -> bool:
    return verify("math", answer, reference, **options).success


@pytest.mark.parametrize("setting", SETTINGS)
def test_each_setting_forgives_its_own_and_nothing_else(setting: str):
    answer, reference, near_miss = ALONE[setting]
    assert not judge(answer, reference)
    assert judge(answer, reference, **{setting: True})
    others = {other: True for other in SETTINGS if other != setting}
    assert not judge(answer, reference, **others)
    assert not verify("math", answer, reference, policy="dataset", **{setting: False}).success
    assert verify("math", answer, reference, policy="dataset").success
    assert not verify("math", near_miss, reference, policy="dataset").success


def test_strict_is_the_default_and_sets_nothing():
    assert POLICIES["strict"] == Leniencies()
    assert all(getattr(POLICIES["dataset"], setting) for setting in SETTINGS)
    for answer, reference, _ in ALONE.values():
        assert verify("math", answer, reference) == verify("math", answer, reference, policy="strict")


def test_a_wrong_answer_of_the_sheet_is_forgiven_only_where_one_setting_says_so():
    rows = [row for row in sheet.load_rows("math") if not row.label and not row.options and len(row.answer) < 200][::2]
    accepted = [row for row in rows if verify("math", row.answer, row.reference, policy="dataset").success]
    assert 20 < len(accepted) < 50
    for row in accepted:
        settings = [name for name in SETTINGS if judge(row.answer, row.reference, **{name: True})]
        assert len(settings) == 1, row
        assert row.family in FORGIVEN.get(settings[0], ()), (settings, row)


def test_random_wrong_answers_are_wrong_under_the_policy_of_data_sets():
    found = measure_fuzz(20, 250, 5, lambda answer, reference: verify("math", answer, reference, policy="dataset"))
    assert (found.refused, found.accepted, found.undecided) == ((), (), ())


def test_what_is_right_is_right_under_every_policy():
    rows = [row for row in sheet.load_rows("math") if row.label and not row.options][::40]
    assert all(verify("math", row.answer, row.reference, policy="dataset").success for row in rows)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"policy": "datasets"}, "did you mean 'dataset'"),
        ({"policy": None}, "policy"),
        ({"prose": "yes"}, "prose must be True or False"),
        ({"policy": "dataset", "chains": 1}, "chains must be True or False"),
    ],
)
def test_an_unknown_policy_or_setting_is_the_callers_error(options: dict, sentence: str):
    with pytest.raises(InputError, match=sentence):
        verify("math", "1", "1", **options)


def test_a_reference_of_several_formulas_is_not_judged_by_its_last():
    for reference in ("$A$ has $3$ rows and $B$ has $4$.", "Adding $2$ to $x$ gives $x+2$.", "Yes. $F(x) = x^2$"):
        with pytest.raises(InputError, match="cannot read"):
            verify("math", "4", reference, policy="dataset")


@pytest.mark.parametrize(
    "hostile",
    [
        "$" * 9_000,
        "$1$" * 3_000,
        "is " * 3_000,
        "5 (" * 3_000,
        "=".join(["1"] * 4_000),
        "x=" * 4_000,
        "{" * 4_000 + r"\over" + "}" * 4_000,
        r"1\over" * 1_500,
        r"\text{" * 1_500,
        "word " * 1_900 + "5",
        "5" + " apples" * 1_400,
        ";1,2" * 2_400,
        r"\{x|" * 2_000,
        r"\{x|x>1" * 1_200,
        "≈".join(["1.5"] * 2_000),
        "3:30 pm " * 1_200,
        "for any integer $" * 500,
        r"\begin{pmatrix}1\\1\end{pmatrix}+" * 250 + r"\begin{pmatrix}1\\1\end{pmatrix}",
        r"(\begin{pmatrix}1\\1\end{pmatrix}" * 250,
        "(" * 3_000 + r"\begin{pmatrix}",
    ],
    ids=lambda text: text[:12],
)
def test_hostile_answers_are_judged_within_the_deadline(hostile: str):
    start = time.perf_counter()
    verdict = verify("math", hostile, "12345", policy="dataset", deadline=1.0)
    # Generous: a busy machine is slow, a pattern that backtracks takes minutes.
    assert time.perf_counter() - start < 30.0
    assert not verdict.success
