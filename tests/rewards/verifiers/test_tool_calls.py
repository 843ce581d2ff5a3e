"""ToolRL's matching of tool calls: the numbers of its CHECK, pairing, and what can be read as a call."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra.errors import InputError
from palaestra.rewards import verify
from palaestra.rewards.verifiers.tool_calls import (
    CallError,
    best_assignment,
    parse_tool_calls,
    tool_call_correctness,
)


def call(_name: str, **parameters: Any) -> dict[str, Any]:
    return {"name": _name, "parameters": parameters}


GOLD = [call("f", x=1, y=2)]


def test_one_wrong_value_of_two():
    # names 1, parameter names 1, one equal value: 3 of 1 + (1 + 2) = 4
    assert tool_call_correctness([call("f", x=1, y=3)], GOLD) == pytest.approx(1.5)
    assert verify("toolcall", json.dumps(call("f", x=1, y=3)), GOLD).score == pytest.approx(0.75)


def test_a_wrong_name_is_worth_nothing():
    assert tool_call_correctness([call("g", x=1, y=2)], GOLD) == -3.0


def test_an_exact_match_is_worth_three_and_text_that_cannot_be_read_minus_three():
    assert tool_call_correctness(GOLD, GOLD) == 3.0
    assert tool_call_correctness(None, GOLD) == -3.0
    assert tool_call_correctness([], GOLD) == -3.0


def test_without_a_call_in_the_reference_there_is_only_a_form_to_reward():
    assert tool_call_correctness([], []) == tool_call_correctness(GOLD, []) == 0.0
    assert verify("toolcall", "I need no tool.", []).success
    assert verify("toolcall", json.dumps(GOLD), []).score == 0.0


def test_other_values_are_right_and_parameters_left_out_where_the_reference_says_so():
    gold = [{**call("area", base=10, unit="cm", scale=1), "also": {"unit": ["centimetres"]}, "optional": ["scale"]}]
    for parameters, right in (
        ({"base": 10, "unit": "cm", "scale": 1}, True),
        ({"base": 10, "unit": "centimetres"}, True),
        ({"base": 10, "unit": "mm"}, False),
        ({"base": 10, "unit": "cm", "scale": 2}, False),
        ({"base": 10}, False),
        ({"base": 10, "unit": "cm", "other": 1}, False),
    ):
        assert verify("toolcall", json.dumps(call("area", **parameters)), gold).success is right, parameters


@pytest.mark.parametrize("more", [{"also": {"y": [1]}}, {"also": {"x": 1}}, {"optional": ["y"]}, {"optional": "x"}])
def test_further_values_belong_to_parameters_of_the_call(more: dict[str, Any]):
    with pytest.raises(InputError, match="toolcall verifier needs"):
        verify("toolcall", "[]", [{**call("f", x=1), **more}])


def test_a_missing_parameter_costs_its_name_and_its_value():
    # names 1, parameter names 1/2, one equal value: 2.5 of 4
    assert tool_call_correctness([call("f", x=1)], GOLD) == pytest.approx(6 * 2.5 / 4 - 3)


def test_an_extra_call_costs_half_of_the_names():
    # names 1/2, parameter names 1, two equal values: 3.5 of 4
    assert tool_call_correctness([*GOLD, call("g")], GOLD) == pytest.approx(6 * 3.5 / 4 - 3)


def test_the_order_of_calls_is_irrelevant_on_both_sides():
    gold = [call("f", x=1, y=2), call("f", x=3, y=4), call("g", q="a")]
    made = [call("f", x=1, y=4), call("g", q="b"), call("f", x=1, y=2)]
    results = {
        tool_call_correctness(ours, theirs)
        for ours in itertools.permutations(made)
        for theirs in itertools.permutations(gold)
    }
    # names 1; pairs (1,2)-(1,2): 3, (3,4)-(1,4): 2, g: 1; so 7 of 1 + 3 + 3 + 2 = 9
    assert [round(result, 12) for result in results] == [round(6 * 7 / 9 - 3, 12)]


def test_the_pairing_is_the_best_one_where_taking_the_best_first_is_not():
    # equal values: the first gold call shares 4 and 3 with the two made, the second 3 and 0
    gold = [call("f", a=0, b=0, c=0, d=0, e=0), call("f", a=1, b=0, c=0, d=5, e=5)]
    made = [call("f", a=1, b=0, c=0, d=0, e=0), call("f", a=0, b=1, c=1, d=0, e=0)]
    assert tool_call_correctness(made, gold) == pytest.approx(6 * (1 + 2 + 6) / (1 + 6 + 6) - 3)


@settings(deadline=None, max_examples=200)
@given(
    st.integers(1, 4).flatmap(
        lambda rows: st.lists(st.lists(st.integers(0, 9), min_size=rows, max_size=rows), min_size=1, max_size=4)
    )
)
def test_the_assignment_is_the_best_of_all_pairings(gains: list[list[int]]):
    if len(gains) > len(gains[0]):
        gains = [list(row) for row in zip(*gains)]
    best = max(
        sum(row[column] for row, column in zip(gains, columns))
        for columns in itertools.permutations(range(len(gains[0])), len(gains))
    )
    assert best_assignment(gains) == best


def test_true_is_not_one_and_one_is_one_point_zero():
    assert verify("toolcall", '{"name": "f", "parameters": {"x": 1.0, "y": 2}}', GOLD).success
    assert not verify("toolcall", '{"name": "f", "parameters": {"x": true, "y": 2}}', GOLD).success


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "f", "parameters": {"y": 2, "x": 1}}',
        '[{"name": "f", "arguments": {"x": 1, "y": 2}}]',
        'I call f.\n<tool_call>\n{"name": "f", "parameters": {"x": 1, "y": 2}}\n</tool_call>',
    ],
)
def test_the_forms_of_a_call(text: str):
    assert verify("toolcall", text, GOLD).success


def test_several_blocks_and_several_lines_hold_several_calls():
    line = json.dumps(GOLD[0])
    assert len(parse_tool_calls(f"<tool_call>{line}</tool_call><tool_call>{line}\n{line}</tool_call>")) == 3


@pytest.mark.parametrize(
    "text",
    [
        *('{"name": "f"', "[1]", '{"name": 3}', '{"name": "f", "parameters": 3}', '{"name": "f", "x": 1}'),
        *("<tool_call>{}", "</tool_call>", "<tool_call><tool_call>[]</tool_call></tool_call>", "[" * 100_000),
        *("<tool_call>" * 50_000, "[" + "{}," * 50_000, "{\n" * 50_000, '{"name": "f", "parameters": {"x": NaN}}'),
    ],
)
def test_text_that_cannot_be_read_is_malformed(text: str):
    with pytest.raises(CallError):
        parse_tool_calls(text)
    verdict = verify("toolcall", text, GOLD)
    assert verdict.malformed
    assert len(verdict.feedback) < 200


@pytest.mark.parametrize("reference", [None, "f", 3, [1], {"name": 1}, [{"name": "f", "parameters": {"x": object()}}]])
def test_a_reference_that_is_no_call_is_refused(reference: Any):
    with pytest.raises(InputError, match="reference"):
        verify("toolcall", "[]", reference)
