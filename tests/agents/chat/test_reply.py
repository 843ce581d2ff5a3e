"""Replies as endpoints write them."""

from __future__ import annotations

import json

import pytest
from palaestra.agents.chat.reply import ChatReply, MalformedReply, ToolCall, read_reply


def body(message: dict, **more) -> bytes:
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], **more}).encode()


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thoughts_beside_the_content_are_no_part_of_it_and_go_back_on_request(field):
    reply = read_reply(body({"content": "4", field: "2 + 2"}))
    assert (reply.text, reply.reasoning) == ("4", "2 + 2")
    assert reply.message() == {"role": "assistant", "content": "4"}
    assert reply.message(resend_reasoning=True) == {"role": "assistant", "content": "4", field: "2 + 2"}


def test_calls_are_kept_as_they_were_written():
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
    bare = {"function": {"name": "g", "arguments": {"y": 2}}}
    reply = read_reply(body({"content": None, "tool_calls": [call, bare]}))
    assert reply.calls == (ToolCall("c1", "f", '{"x": 1}'), ToolCall("call_1", "g", '{"y": 2}'))
    assert reply.message()["tool_calls"][0] == call


def test_a_content_in_parts_is_their_text():
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "4"}, {"type": "text", "text": "2"}]
    assert read_reply(body({"content": parts})).text == "42"


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 3}, (5, 3, 0)),
        (
            {"prompt_tokens": 5, "completion_tokens": 3, "completion_tokens_details": {"reasoning_tokens": 2}},
            (5, 3, 2),
        ),
        ({"prompt_tokens": 5, "completion_tokens": 3, "completion_tokens_details": None}, (5, 3, 0)),
        ({"prompt_tokens": "many"}, None),
        (None, None),
    ],
)
def test_token_counts_are_read_where_there_are_any(usage, counts):
    assert read_reply(body({"content": "x"}, usage=usage)).counts == counts


def test_a_reply_costs_its_tokens_at_their_prices_and_nothing_from_a_cache():
    reply = ChatReply("x", finish="length", counts=(1_000_000, 500_000, 0))
    # 1 million read at 2 and half a million written at 8.
    assert (reply.usage((2.0, 8.0)).cost, reply.usage((2.0, 8.0)).cut) == (6.0, 1)
    assert reply.usage(None).cost is None
    assert ChatReply.from_cache(reply.to_text()).usage((2.0, 8.0)).cost == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"choices": [{}]}',
        '{"choices": [{"message": "x"}]}',
        '{"choices": [{"message": {"content": 3}}]}',
        '{"choices": [{"message": {"content": "", "tool_calls": [{}]}}]}',
        '{"choices": [{"message": {"content": "", "tool_calls": [3]}}]}',
        "[" * 50_000,
    ],
)
def test_what_is_no_completion_is_malformed(text):
    with pytest.raises(MalformedReply):
        read_reply(text.encode())
