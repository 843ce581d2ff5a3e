"""Guru's scorers: cells, orderings, grids, structures and first words, with the numbers of its CHECK."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra.errors import InputError
from palaestra.rewards import Verdict, verify
from palaestra.rewards.verifiers.ordering import edit_distance

ZEBRA = {"house 1": {"colour": "red", "pet": "dog"}, "house 2": {"colour": "blue", "pet": "cat"}}


@pytest.mark.parametrize("k", range(5))
def test_k_of_n_cells(k: int):
    values = ["red", "dog", "blue", "cat"]
    a, b, c, d = [value if place < k else "none" for place, value in enumerate(values)]
    text = f'{{"house 1": {{"colour": "{a}", "pet": "{b}"}}, "house 2": {{"colour": "{c}", "pet": "{d}"}}}}'
    verdict = verify("cells", text, ZEBRA)
    assert (verdict.score, verdict.success) == (k / 4, k == 4)


def test_cells_are_compared_without_case_and_found_by_their_place():
    assert verify("cells", '```json\n[["RED", " dog "], [1]]\n```', [["red", "dog"], [1]]).success
    assert not verify("cells", '["RED"]', ["red"], ignore_case=False).success
    assert verify("cells", '["dog", "red"]', ["red", "dog"]).score == 0.0


def test_cells_that_are_too_many_cost():
    # 2 right cells of 4 given
    verdict = verify("cells", '["a", "b", "c", "d"]', ["a", "b"])
    assert (verdict.score, verdict.success) == (0.5, False)


def test_an_empty_row_counts_as_a_cell():
    # 2 right cells of 3 given, though the third holds nothing
    verdict = verify("cells", '[["a"], ["b"], []]', [["a"], ["b"]])
    assert (verdict.score, verdict.success) == (pytest.approx(2 / 3), False)
    assert verify("cells", '[["a"], {}]', [["a"], []]).score == 0.5
    assert verify("cells", '[["a"], []]', [["a"], []]).success


def test_an_ordering_is_scored_by_edit_distance():
    gold = ["a", "b", "c", "d"]
    assert verify("ordering", "a, b, c, d", gold).success
    # one missing: 1 edit of 4; two neighbours exchanged: 2 edits of 4; one too many: 1 edit of 5
    for text, score in (("a, c, d", 0.75), ("b, a, c, d", 0.5), ("a, b, x, c, d", 0.8), ("x", 0.0)):
        verdict = verify("ordering", text, gold)
        assert (verdict.score, verdict.success) == (pytest.approx(score), False)
    assert verify("ordering", ",".join(gold * 30), gold).score == 0.0


def test_edit_distance_by_hand():
    assert edit_distance("kitten", "sitting") == 3
    assert edit_distance("", "abc") == edit_distance("abc", "") == 3


def test_a_grid_larger_by_a_row_is_not_exact_though_the_overlap_matches():
    verdict = verify("grid", "[[1, 2], [3, 4], [0, 0]]", [[1, 2], [3, 4]])
    # 4 of 6 cells
    assert (verdict.score, verdict.success) == (pytest.approx(4 / 6), False)
    # the padding itself never counts as equal: 1 of 3
    assert verify("grid", "[[1, 2]]", [[1], [2]]).score == pytest.approx(1 / 3)
    # nor does a cell that is -1 match what is not there
    assert not verify("grid", "[[1, 2], [-1, -1]]", [[1, 2]]).success


def test_the_two_ways_to_write_a_grid():
    for text in ("[[1,2],[3,4]]", "1 2\n3 4", "1, 2\n3, 4\n", "```\n1 2\n3 4\n```"):
        assert verify("grid", text, [[1, 2], [3, 4]]).success
    assert verify("grid", "[[1,2],[3,5]]", [[1, 2], [3, 4]]).score == 0.75


@pytest.mark.parametrize(
    "text", ["", "[[1,2],[3]]", "[]", "[[]]", "[[true]]", "[[1.0]]", "1 2\n3", "a b", "[1, 2]", "١"]
)
def test_what_is_no_grid_is_malformed(text: str):
    assert verify("grid", text, [[1, 2], [3, 4]]).malformed


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("{'a': (1, True), 'b': None}", {"a": [1, True], "b": None}),
        ('{"b": null, "a": [1, true]}', {"a": (1, "True"), "b": "null"}),
        ('"[1, {\\"x\\": 2}]"', [1, {"x": 2}]),
        ("True", True),
        ("true", "True"),
        ("hello", "hello"),
        ("'he\\'s'", "he's"),
        ("(1, 2,)", [1, 2]),
        ("'\\x41\\n'", "A\n"),
        ("1.0", 1),
        ("[]", ()),
    ],
)
def test_equal_structures(text: str, reference: Any):
    assert verify("structure", text, reference).success


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        *(("1", True), ("True", 1), ("[1, 2]", [2, 1]), ("'1'", 1), ("[1, 2]", [1, 2, 3]), ("0.1", 0.10000000001)),
        *(("1 + 1", 2), ("[i for i in (1, 2)]", [1, 2]), ("[,]", []), ("(,)", []), ("[1,,]", [1]), ("1\n2", 1)),
        *(("__import__('os').getpid()", 1), ("{1, 2}", [1, 2]), ("hello", "Hello"), ("none", None), ("None", False)),
    ],
)
def test_unequal_structures(text: str, reference: Any):
    assert not verify("structure", text, reference).success


def test_only_the_first_word_counts_and_as_a_whole():
    for text in ("Berlin", " berlin.", "**Berlin**, because", "berlin\nparis"):
        assert verify("first-word", text, "Berlin").success
    for text in ("Paris Berlin", "Berliner", "Ber lin", "not Berlin", "Berlin-Mitte"):
        assert not verify("first-word", text, "Berlin").success
    assert verify("first-word", "...", "Berlin").malformed
    assert not verify("first-word", "berlin", "Berlin", ignore_case=False).success


SCORERS: list[tuple[str, Any]] = [
    ("cells", ZEBRA),
    ("ordering", ["a", "b"]),
    ("grid", [[1, 2], [3, 4]]),
    ("structure", {"a": [1]}),
    ("first-word", "x"),
]
ATTACKS = [
    *("", "\0", "\ud800", "[" * 200_000, "(" * 40_000, "{'a':" * 9_000, "9" * 1_000_000, "-" * 40_000, "'" * 40_000),
    *(
        "[[" + "1," * 20_000 + "1]]",
        "1 " * 20_000,
        "1\n" * 20_000,
        "a," * 40_000 + "a",
        '"' + '\\"' * 24_000,
        "a" * 10**6,
    ),
    *("__import__('os').abort()", "\\" * 40_000, "[" + "[1]," * 10_000 + "[1]]", "{'a': " + "9" * 40_000 + "}"),
]


@pytest.mark.parametrize(("kind", "reference"), SCORERS)
def test_scorers_never_raise_nor_pay_on_hostile_text(kind: str, reference: Any):
    for attack in ATTACKS:
        verdict = verify(kind, attack, reference)
        assert verdict.score < 0.5
        assert not verdict.success
        assert len(verdict.feedback) < 200


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=60) | st.text(alphabet="[]{}()'\",: 12aTrue\\\n", max_size=60))
def test_scorers_never_raise_on_arbitrary_text(text: str):
    for kind, reference in SCORERS:
        assert 0.0 <= verify(kind, text, reference).score <= 1.0


def test_scorers_work_off_the_main_thread():
    verdicts: list[Verdict] = []
    answers = ['["a"]', "a, b", "1 2\n3 4", "{'a': [1]}", "x"]
    thread = threading.Thread(
        target=lambda: verdicts.extend(verify(kind, text, gold) for (kind, gold), text in zip(SCORERS, answers))
    )
    thread.start()
    thread.join()
    assert [verdict.success for verdict in verdicts] == [False, True, True, True, True]


@pytest.mark.parametrize(
    ("kind", "reference"),
    [
        *(
            ("cells", {}),
            ("cells", [[], {}]),
            ("cells", "red"),
            ("cells", object()),
            ("ordering", []),
            ("ordering", "ab"),
            ("ordering", [1]),
        ),
        *(("grid", []), ("grid", [[1], [1, 2]]), ("grid", [[True]]), ("grid", "12"), ("structure", object())),
        *(("first-word", "two words"), ("first-word", ""), ("first-word", None)),
    ],
)
def test_a_reference_that_cannot_be_used_is_refused(kind: str, reference: Any):
    with pytest.raises(InputError, match=r"reference|word"):
        verify(kind, "x", reference)
