"""Constraints on the form of a text: each kind with a text that keeps it and one that breaks it."""

from __future__ import annotations

from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import verify
from palaestra.rewards.verifiers.constraints import KINDS, count_phrase, count_sentences

# kind, parameters, a text that keeps it, one that breaks it
FIXTURES: list[tuple[str, dict[str, Any], str, str]] = [
    ("words", {"min": 3, "max": 4}, "It's a well-known fact", "one two"),
    ("words", {"max": 2}, "one two", "one two three"),
    ("sentences", {"min": 2, "max": 2}, "It costs 3.5 euros. Really!", "One. Two. Three."),
    ("paragraphs", {"min": 2}, "a\n\nb", "a\nb"),
    ("lines", {"max": 2}, "a\n\nb", "a\nb\nc"),
    ("bullets", {"min": 2, "max": 2}, "List:\n- a\n* b", "- a\n-b"),
    ("characters", {"max": 5}, " abcde ", "abcdef"),
    ("placeholders", {"min": 1}, "Dear [name]", "Dear name"),
    ("highlights", {"min": 2}, "this *word* here, **bold**", "2 * 3 * 4 and *one*"),
    ("capital-words", {"max": 1}, "It is NOT so", "IT IS"),
    ("occurrences", {"text": "cat", "min": 2, "max": 2}, "Cat and cat, concatenated", "cat"),
    ("letters", {"text": "q", "min": 2}, "Queen, quick", "Queen"),
    ("parts", {"text": "***", "min": 2, "max": 2}, "one\n***\ntwo\n***\n", "one"),
    ("lower", {}, "all small 1", "Not all"),
    ("upper", {}, "ALL BIG 1", "ALL bIG"),
    ("no-commas", {}, "a; b", "a, b"),
    ("json", {}, '```json\n{"a": 1}\n```', "{a: 1}"),
    ("quoted", {}, ' "text" ', '"text'),
    ("title", {}, "<<Poem>>\nx", "<Poem>"),
    ("keywords", {"texts": ["red", "blue sky"]}, "Blue\nsky, red sun", "blue sky, reddish"),
    ("any-of", {"texts": ["yes", "no"]}, "Yes!", "nothing"),
    ("forbidden", {"texts": ["red"]}, "reddish", "a red one"),
    ("starts-with", {"text": "Once"}, " Once more", "once more"),
    ("ends-with", {"text": "The end."}, "It is. The end.\n", "The end"),
    ("paragraph-starts", {"text": "then", "paragraph": 2}, "First this.\n\n**Then** that.", "Then this."),
]


def test_every_kind_has_fixtures():
    assert {fixture[0] for fixture in FIXTURES} == set(KINDS)


@pytest.mark.parametrize(("kind", "parameters", "kept", "broken"), FIXTURES)
def test_a_text_that_keeps_it_and_one_that_breaks_it(kind: str, parameters: dict[str, Any], kept: str, broken: str):
    reference = [{"kind": kind, **parameters}]
    assert verify("constraints", kept, reference).success
    verdict = verify("constraints", broken, reference)
    assert (verdict.score, verdict.success) == (0.0, False)
    assert kind in verdict.feedback


def test_the_score_is_the_share_that_is_kept_and_success_is_all():
    reference = [{"kind": "lower"}, {"kind": "no-commas"}, {"kind": "words", "max": 2}, {"kind": "words", "min": 9}]
    verdict = verify("constraints", "one two", reference)
    assert (verdict.score, verdict.success) == (0.75, False)


def test_a_blank_text_keeps_nothing():
    for text in ("", " \n", "\u00a0"):
        verdict = verify("constraints", text, [{"kind": "no-commas"}, {"kind": "forbidden", "texts": ["a"]}])
        assert (verdict.score, verdict.malformed) == (0.0, True)


def test_sentences_by_hand():
    assert count_sentences('He said "No." Then he left') == 2
    assert count_sentences("Wait... what?! (Yes.) ...") == 3


def test_a_phrase_counts_as_whole_words():
    assert count_phrase("The art of art, artful ART", "art") == 3
    assert count_phrase("a.b a.b", "a.b") == 2


@pytest.mark.parametrize(
    "text",
    ["." * 199_999 + "x", '."' * 90_000, "\n " * 90_000, "-" * 199_999, "a'" * 90_000, "<<" * 90_000, "[" * 199_999],
)
def test_long_texts_get_a_verdict(text: str):
    reference = [{"kind": kind, **parameters} for kind, parameters, *_ in FIXTURES]
    assert not verify("constraints", text, reference).success


@pytest.mark.parametrize(
    "reference",
    [
        *([], None, [{}], [{"kind": "words"}], [{"kind": "words", "max": -1}], [{"kind": "words", "max": 1.5}]),
        *([{"kind": "keywords"}], [{"kind": "keywords", "texts": []}], [{"kind": "keywords", "texts": "ab"}]),
        *([{"kind": "lower", "max": 1}], [{"kind": "poem"}], [{"kind": "starts-with", "text": " "}]),
    ],
)
def test_constraints_that_cannot_be_used_are_refused(reference: Any):
    with pytest.raises(InputError, match="constraint"):
        verify("constraints", "x", reference)
