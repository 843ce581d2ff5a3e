"""Lists: order, multiplicity, separators, partial credit, and elements that cannot be judged."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra.errors import InputError
from palaestra.rewards import VERIFIERS, Verdict, verify
from palaestra.rewards.verifiers import sequence
from palaestra.rewards.verifiers.sequence import ListError, split_elements


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        ("1, 2, 3", ["1", "2", "3"]),
        ("[1, 2, 3]", ["1", "2", "3"]),
        ("{1; 2}", ["1", "2"]),
        ("1\n2\n\n3\n", ["1", "2", "3"]),
        ("- a, b\n- c", ["a, b", "c"]),
        ("(1, 2), (3, 4)", ["(1, 2)", "(3, 4)"]),
        ("[(1, 2), [0, 1)]", ["(1, 2)", "[0, 1)"]),
        ("[\"a, b\", 'c']", ["a, b", "c"]),
        ("don't, can't", ["don't", "can't"]),
        ("[\n 1,\n 2\n]", ["1", "2"]),
        ("7", ["7"]),
        ("[]", []),
    ],
)
def test_the_reading_of_a_list(text: str, elements: list[str]):
    assert split_elements(text) == elements


@pytest.mark.parametrize("text", ["", " ", "1,,2", "1,", ",1", "[1, 2", "1, 2]", "[1}", "{1)", "[" * 100_000, "," * 9])
def test_a_text_that_is_no_list_is_malformed(text: str):
    with pytest.raises(ListError):
        split_elements(text)
    assert verify("list", text, ["1", "2"]).malformed


def test_order_counts_unless_it_is_said_not_to():
    assert verify("list", "3, 1, 2", [3, 1, 2], element="integer").success
    assert not verify("list", "1, 2, 3", [3, 1, 2], element="integer").success
    assert verify("list", "1, 2, 3", [3, 1, 2], element="integer", ordered=False).success


@pytest.mark.parametrize(
    "text", ["a, b and c", "a, b, and c", "a, b, & c", "a; b; and c", "[a, b, and c]", "a\nb\nand c"]
)
def test_and_before_the_last_element_is_no_part_of_it(text: str):
    assert verify("list", text, ["a", "b", "c"]).success
    assert not verify("list", text, ["a", "b", "d"]).success
    assert not verify("list", text, ["a", "b"]).success


def test_and_is_part_of_elements_that_hold_it():
    assert verify("list", "sand, salt and pepper", ["sand", "salt and pepper"]).success
    assert verify("list", "a, and b", ["a", "and b"]).success
    assert not verify("list", "a, and b", ["a", "and c"]).success
    assert not verify("list", "and b", ["b"]).success


def test_duplicates_count():
    for ordered in (True, False):
        assert verify("list", "1, 1, 2", [1, 1, 2], element="integer", ordered=ordered).success
        assert not verify("list", "1, 2, 2", [1, 1, 2], element="integer", ordered=ordered).success
        assert not verify("list", "1, 2", [1, 1, 2], element="integer", ordered=ordered).success


def test_elements_are_judged_by_the_verifier_that_is_named():
    assert verify("list", "0.5, 4/6", ["1/2", "2/3"], element="number").success
    assert not verify("list", "0.5, 4/6", ["1/2", "2/3"], element="text").success
    assert verify("list", "A", ["a"], element_options={"ignore_case": True}).success
    assert not verify("list", "A", ["a"], element_options={"ignore_case": False}).success


def test_partial_credit_is_a_share_of_the_longer_list_and_never_a_success():
    # two of four places
    verdict = verify("list", "1, 9, 3, 8", [1, 2, 3, 4], element="integer", partial=True)
    assert (verdict.score, verdict.success) == (0.5, False)
    # 2 and 3 of max(3, 4), in any order
    assert verify("list", "3, 2, 9", [1, 2, 3, 4], element="integer", partial=True, ordered=False).score == 0.5
    # listing everything scores low: 1 of 10
    assert verify("list", "0,1,2,3,4,5,6,7,8,9", [4], element="integer", partial=True, ordered=False).score == 0.1
    assert verify("list", "1, 9", [1, 2], element="integer").score == 0.0


def test_an_element_that_cannot_be_read_makes_the_list_malformed():
    verdict = verify("list", "1, two", [1, 2], element="integer")
    assert verdict.malformed
    assert "Element 2" in verdict.feedback


def shaky(answer: str, reference: str) -> Verdict:
    """Right, wrong, or undecided for "?"."""
    if answer == "?":
        return Verdict(0.0, False, valid=False)
    return Verdict(1.0, True) if answer == reference else Verdict(0.0, False)


@pytest.fixture
def with_shaky(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(VERIFIERS._entries, "shaky", shaky)


@pytest.mark.usefixtures("with_shaky")
@pytest.mark.parametrize("ordered", [True, False])
def test_what_depends_on_an_element_without_verdict_has_none(ordered: bool):
    assert not verify("list", "a, ?", ["a", "b"], element="shaky", ordered=ordered).valid
    assert not verify("list", "?, ?", ["a", "b"], element="shaky", ordered=ordered).valid
    # another element is wrong, whatever that one is
    assert verify("list", "x, ?", ["a", "b"], element="shaky", ordered=ordered).valid
    assert verify("list", "?, x", ["a", "b"], element="shaky", ordered=ordered).valid


class Slow:
    """A verifier of text on a clock of its own: each comparison takes half a second."""

    def __init__(self) -> None:
        self.now, self.asked = 100.0, list[tuple[str, str]]()
        self.deadlines: list[float] = []

    def __call__(self, answer: str, reference: str, *, deadline: float = 9.0) -> Verdict:
        self.now += 0.5
        self.asked.append((answer, reference))
        self.deadlines.append(deadline)
        return Verdict(1.0, True) if answer.lower() == reference.lower() else Verdict(0.0, False)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    verifier = Slow()
    monkeypatch.setitem(VERIFIERS._entries, "slow", verifier)
    monkeypatch.setattr(sequence, "time", SimpleNamespace(monotonic=lambda: verifier.now))
    return verifier


@pytest.mark.parametrize("ordered", [True, False])
def test_one_deadline_holds_for_the_whole_list(slow: Slow, ordered: bool):
    letters = list("abcde")
    verdict = verify("list", "a,b,c,d,e", letters, element="slow", ordered=ordered)
    assert (verdict.score, verdict.valid) == (0.0, False)
    assert "too long" in verdict.feedback
    # two seconds are four comparisons, and each receives what is left
    assert slow.deadlines == [2.0, 1.5, 1.0, 0.5]
    assert verify("list", "a,b,c,d", letters[:4], element="slow", ordered=ordered).success
    options = {"deadline": 2.5}
    assert verify("list", "a,b,c,d,e", letters, element="slow", element_options=options, ordered=ordered).success


def test_a_pair_is_compared_once_and_equal_texts_first(slow: Slow):
    options = {"deadline": 100.0}
    assert verify("list", "c,a,b", ["a", "b", "c"], element="slow", element_options=options, ordered=False).success
    assert slow.asked == [("c", "c"), ("a", "a"), ("b", "b")]
    slow.asked.clear()
    verify("list", "C,A,x,y,B", ["a", "b", "c"], element="slow", element_options=options, ordered=False, partial=True)
    assert len(set(slow.asked)) == len(slow.asked)
    assert len(slow.asked) <= 15


def test_a_list_in_any_order_is_wrong_with_the_first_element_that_fits_none(slow: Slow):
    options = {"deadline": 100.0}
    assert verify("list", "x,a,b", ["a", "b", "c"], element="slow", element_options=options, ordered=False).valid
    assert len(slow.asked) == 3


def test_elements_of_mathematics_that_take_long_are_undecided_together():
    answer = ", ".join(f"(x+y+z+{n})^{{60}}" for n in range(40))
    reference = [f"x+{n}" for n in range(40)]
    options = {"deadline": 0.2}
    verdict = verify("list", answer, reference, element="math", ordered=False, partial=True, element_options=options)
    assert not verdict.valid


@pytest.mark.parametrize(
    ("element", "options"),
    [
        ("text", {"foo": 1}),
        ("number", {"ignore_case": True}),
        ("text", {"deadline": 1.0}),
        ("text", [1]),
        ("math", {"deadline": 0}),
        ("math", {"deadline": "soon"}),
        ("math", {"deadline": float("nan")}),
        (["text"], None),
    ],
)
def test_options_that_the_elements_do_not_have_are_refused(element: Any, options: Any):
    with pytest.raises(InputError):
        verify("list", "1", ["1"], element=element, element_options=options)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=7), st.data())
def test_in_any_order_equals_sorting(reference: list[int], data: st.DataObject):
    answer = data.draw(st.permutations(reference) | st.lists(st.integers(0, 3), min_size=1, max_size=7))
    verdict = verify("list", ",".join(map(str, answer)), reference, element="integer", ordered=False)
    assert verdict.success == (sorted(answer) == sorted(reference))


@pytest.mark.parametrize("text", ["1," * 40_000 + "1", "'" * 99_999, "[" * 50_000 + "]" * 50_000, "9" * 5_000_000])
def test_long_texts_get_a_verdict(text: str):
    assert verify("list", text, [1] * 300, element="integer", ordered=False, partial=True).score < 0.01


def test_many_equal_elements_do_not_take_long(monkeypatch):
    # A slow machine may take longer than the deadline that is meant for one; how often elements are compared counts.
    monkeypatch.setattr(sequence, "SECONDS", 60.0)
    text = ",".join(["1"] * 300)
    reference = [1] * 150 + [2] * 150
    assert verify("list", text, reference, element="integer", ordered=False, partial=True).score == 0.5


@pytest.mark.parametrize(
    ("reference", "element"), [("abc", "text"), (3, "text"), ([1.5], "integer"), (["a"], "nothing")]
)
def test_a_reference_that_cannot_be_used_is_refused(reference: Any, element: str):
    with pytest.raises(InputError):
        verify("list", "1", reference, element=element)
