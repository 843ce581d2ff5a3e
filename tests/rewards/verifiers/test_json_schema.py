"""JSON: strictness where Python is lenient, exact comparison, schemas, and texts built to exhaust a parser."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra.errors import InputError
from palaestra.rewards import verify
from palaestra.rewards.verifiers.json_text import (
    JsonError,
    depth,
    hashable_json,
    parse_json,
    same_json,
    strip_code_fence,
)

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ('{"b": [1, 2], "a": null}', {"a": None, "b": [1, 2]}),
        ("1.0", 1),
        ("1e2", 100),
        ("0.1", 0.1),
        ('"\\u00e9"', "é"),
        (" [ ] ", []),
        ("[1, 2]", (1, 2)),
        ("-0", 0),
    ],
)
def test_equal_values(answer: str, reference: Any):
    assert verify("json", answer, reference).success


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        *(("true", 1), ("1", True), ("0", False), ("null", False), ('"1"', 1), ("[2, 1]", [1, 2]), ("[1]", [1, 1])),
        *(("{}", []), ('{"a": 1}', {"a": 1, "b": 2}), ('{"a": 1, "b": 2}', {"a": 1}), ("0.10000000000000001", 0.1)),
        *(("0.30000000000000004", 0.3), ("9007199254740993", 9007199254740992), ('"A"', "a"), ('""', None)),
    ],
)
def test_unequal_values(answer: str, reference: Any):
    verdict = verify("json", answer, reference)
    assert (verdict.score, verdict.malformed) == (0.0, False)


@pytest.mark.parametrize(
    "answer",
    [
        *("", " ", "{", "NaN", "[Infinity]", "-Infinity", "1e400", "01", "+1", ".5", "1.", "'a'", "{a: 1}", "[1,]"),
        *('{"a": 1, "a": 1}', "True", "None", "1 2", "```json\n1\n```", "// 1", '"\t"', "\ufeff1", "٣", "[" * 100_000),
        *("[" * 60 + "]" * 60, '{"a":' * 60 + "1" + "}" * 60, "9" * 5_000, "0." + "1" * 5_000, "9" * 2_000_000),
        *('"' + '\\"' * 90_000, "1e-999999999", '"' * 199_999, '[{"a":[' * 20_000),
    ],
)
def test_what_is_no_json_is_malformed(answer: str):
    verdict = verify("json", answer, 1)
    assert verdict.malformed
    assert len(verdict.feedback) < 200


def test_depth_is_counted_outside_strings():
    assert depth('[{"a": "[[[[\\"[[", "b": [1]}, [1]]') == 3
    assert depth('{"a":' * 7) == 7


def test_a_code_fence_is_accepted_only_where_it_is_asked_for():
    fenced = "```json\n{}\n```"
    assert not verify("json", fenced, {}).success
    assert verify("json", fenced, {}, fenced=True).success
    assert strip_code_fence("```\n```") == ""
    assert strip_code_fence("```json\n1\n``` 2") == "```json\n1\n``` 2"


def test_a_key_given_twice_is_an_option():
    assert verify("json", '{"a": 1, "a": 2}', {"a": 2}, duplicate_keys=True).success


def test_a_schema_is_checked_beside_the_value_or_alone():
    pytest.importorskip("jsonschema")
    assert verify("json", '{"name": "Ada", "age": 36}', {"name": "Ada", "age": 36}, schema=PERSON).success
    assert verify("json", '{"name": "Bob"}', None, schema=PERSON, compare=False).success
    wrong = verify("json", '{"name": "Bob"}', {"name": "Ada"}, schema=PERSON)
    assert (wrong.score, wrong.malformed) == (0.0, False)


@pytest.mark.parametrize(
    "answer",
    ["{}", '{"name": 3}', '{"name": "a", "x": 1}', '{"name": "a", "age": -1}', "[]", '{"name":"a","age":true}'],
)
def test_what_breaks_the_schema_is_malformed(answer: str):
    pytest.importorskip("jsonschema")
    verdict = verify("json", answer, None, schema=PERSON, compare=False)
    assert verdict.malformed
    assert "schema" in verdict.feedback


def test_unique_items_take_no_time_with_the_square_of_their_number():
    pytest.importorskip("jsonschema")
    schema = {"type": "array", "uniqueItems": True}
    many = "[" + ",".join(f'{{"a":{n}}}' for n in range(15_000)) + "]"
    assert verify("json", many, None, schema=schema, compare=False).success
    assert verify("json", '[1, 1.0, {"a": 1}]', None, schema=schema, compare=False).malformed
    assert verify("json", "[1, true]", None, schema=schema, compare=False).success


def test_a_schema_nested_without_end_is_undecided():
    pytest.importorskip("jsonschema")
    verdict = verify("json", "1", None, schema={"$ref": "#"}, compare=False)
    assert (verdict.score, verdict.valid) == (0.0, False)


@pytest.mark.parametrize(("number", "step"), [("1" * 999, 0.5), ("9" * 400, 0.1), ("0.3", 0.1), ("-1.5e300", 1e-300)])
def test_multiples_are_exact_for_numbers_of_any_size(number: str, step: float):
    pytest.importorskip("jsonschema")
    assert verify("json", number, None, schema={"multipleOf": step}, compare=False).success
    nested = {"items": {"multipleOf": step}}
    assert verify("json", f"[{number}]", None, schema=nested, compare=False).success


@pytest.mark.parametrize(("number", "step"), [("1" * 998, 0.75), ("0.35", 0.1), ("7", 2), ("1e-300", 1e300)])
def test_what_is_no_multiple_is_malformed(number: str, step: float):
    # 998 ones add up to 998, so 3 does not divide the first
    pytest.importorskip("jsonschema")
    assert verify("json", number, None, schema={"multipleOf": step}, compare=False).malformed


TWICE = {"items": {"$ref": "#"}, "anyOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}, "maxItems": 0}]}


@pytest.mark.parametrize("draft", [None, "http://json-schema.org/draft-07/schema#"])
def test_a_schema_that_takes_time_exponential_in_the_depth_is_undecided(draft: str | None):
    pytest.importorskip("jsonschema")
    schema = TWICE if draft is None else {"$schema": draft, **TWICE}
    assert verify("json", "[[[]]]", None, schema=schema, compare=False).success
    verdict = verify("json", "[" * 40 + "]" * 40, None, schema=schema, compare=False, seconds=0.1)
    assert (verdict.score, verdict.valid) == (0.0, False)
    assert "0.1 s" in verdict.feedback


def test_a_part_that_names_its_draft_keeps_our_bounds():
    pytest.importorskip("jsonschema")
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "multipleOf": 0.5, "items": {"$ref": "#"}}
    assert verify("json", f"[{'1' * 999}]", None, schema=schema, compare=False).success


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/nope"},
        {"$ref": "http://example.invalid/schema"},
        {"items": {"$ref": "#/$defs/nope"}, "$defs": {"there": {}}},
        {"$id": "http://example.invalid/a", "properties": {"x": {"$ref": "b"}}},
        {"$dynamicRef": "#nope"},
    ],
)
def test_a_reference_to_what_the_schema_does_not_hold_is_refused_whatever_the_answer(schema: Any):
    pytest.importorskip("jsonschema")
    for answer in ("1", "[1]", "no json"):
        with pytest.raises(InputError, match=r"refers to"):
            verify("json", answer, None, schema=schema, compare=False)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}},
        {"$schema": "http://json-schema.org/draft-04/schema#", "$ref": "#/definitions/a", "definitions": {"a": {}}},
        {"$id": "http://example.invalid/a", "$ref": "b", "$defs": {"b": {"$id": "b", "type": "integer"}}},
        {"$ref": "#name", "$defs": {"b": {"$anchor": "name", "type": "integer"}}},
        {"not": {"$ref": "https://json-schema.org/draft/2020-12/schema"}},
        {"properties": {"$ref": {"type": "integer"}}, "enum": [1, {"$ref": "#/nope"}]},
    ],
)
def test_references_within_the_schema_and_to_the_drafts_are_followed(schema: Any):
    pytest.importorskip("jsonschema")
    assert verify("json", "1", None, schema=schema, compare=False).success


@pytest.mark.parametrize(
    ("reference", "options"),
    [
        *((object(), {}), ({1: 2}, {}), (float("nan"), {}), ({"a": {1}}, {}), (None, {"compare": False})),
        (None, {"compare": False, "schema": {"type": "nothing"}}),
        (None, {"compare": False, "schema": {"multipleOf": float("inf")}}),
    ],
)
def test_a_reference_or_schema_that_cannot_be_used_is_refused(reference: Any, options: Any):
    with pytest.raises(InputError, match=r"reference|schema"):
        verify("json", "1", reference, **options)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([1.0, 0.5, -0.0])
    | st.sampled_from(["", "a", "1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=6,
)


@settings(deadline=None)
@given(VALUES, VALUES)
def test_the_canonical_form_agrees_with_equality(one: Any, other: Any):
    assert same_json(one, one)
    assert same_json(one, other) == same_json(other, one) == (hashable_json(one) == hashable_json(other))


@settings(deadline=None)
@given(st.text(alphabet='[]{}",:\\1aenrtul ', max_size=40))
def test_any_text_is_read_or_refused(text: str):
    with contextlib.suppress(JsonError):
        parse_json(text)
