"""Sums of tokens and costs."""

from __future__ import annotations

import json

from palaestra.agents.usage import TokenUsage, sum_usage

ONE = TokenUsage(replies=1, prompt_tokens=1200, completion_tokens=30, reasoning_tokens=20, cost=0.5)


def test_a_sum_adds_every_count():
    both = ONE + TokenUsage(replies=2, cached=1, uncounted=1, cut=1, prompt_tokens=4)
    assert both == TokenUsage(3, 1, 1, 1, 1204, 30, 20, 0.5)


def test_a_cost_is_unknown_only_where_no_part_has_one():
    assert (TokenUsage() + TokenUsage()).cost is None
    assert (ONE + ONE).cost == 1.0
    assert sum_usage([None, None]) is None
    assert sum_usage([None, ONE, ONE]) == ONE + ONE


def test_it_is_read_back_from_json():
    assert TokenUsage.from_json(json.loads(json.dumps(ONE.to_json()))) == ONE


def test_one_line_says_what_there_is_to_say():
    assert str(TokenUsage(replies=1, prompt_tokens=5)) == "5 tokens read, 0 written"
    told = str(ONE + TokenUsage(replies=2, cached=1, uncounted=1, cut=1))
    assert told == (
        "1,200 tokens read, 30 written, 20 of them thoughts; 1 of 3 replies without counts; cost 0.5; "
        "1 of 3 replies from the cache; 1 cut at the limit of tokens"
    )
