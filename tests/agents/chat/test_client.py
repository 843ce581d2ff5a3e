"""Requests to an endpoint that is busy, slow or broken, their pace, and the cache; against a real server."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from email.utils import formatdate

import pytest
from palaestra.agents.chat.client import ChatClient, Connection, ContextFull, NoReply
from palaestra.errors import InputError, MissingExtra

from ...patience import PATIENCE, with_more_time  # isort: skip

HELLO = [{"role": "user", "content": "hello"}]
BUSY = {"status": 429, "body": "{}"}


def ask(server, *draws, messages=HELLO, settings=None, **options):
    """Ask once for each draw, side by side, with a new client; one reply or a list of them."""

    async def run():
        client = ChatClient(Connection(**{"model": "m", "base_url": server.url, "backoff": 0.0, **options}))
        try:
            asked = [client.ask(messages, settings or {}, (0, draw)) for draw in draws or (0,)]
            return await asyncio.gather(*asked)
        finally:
            await client.close()

    replies = asyncio.run(run())
    return replies if draws else replies[0]


def first(*replies):
    """A script with these replies in turn, and then a good one."""
    return lambda request, number: replies[number] if number < len(replies) else {"content": "fine"}


@pytest.mark.parametrize(
    "failure",
    [
        {"status": 500, "body": "{}"},
        {"status": 429, "body": "{}"},
        {"body": "not JSON"},
        {"body": '{"choices": []}'},
        {"body": '{"error": {"message": "overloaded"}}'},
        {"content": "x" * 100, "cut": 40},
        {"hang": 2.0},
        {"content": "x" * 500, "drip": 0.04},
    ],
    ids=["500", "429", "no JSON", "no choice", "an error with 200", "broken off", "hung", "dripping"],
)
def test_an_attempt_that_fails_is_repeated(chat, failure):
    def check(timeout: float) -> None:
        # What the first attempt waits for takes longer than it waits.
        longer = {name: value * timeout if name in ("hang", "drip") else value for name, value in failure.items()}
        with chat.serving(first(longer)) as server:
            assert ask(server, timeout=timeout).text == "fine"
            assert len(server.requests) == 2

    with_more_time(check, (0.5, 3.0, 20.0))


def test_when_all_attempts_fail_the_last_reason_is_told(chat):
    overloaded = {"status": 503, "body": '{"error": {"message": "come back later"}}'}
    with chat.serving(lambda request, number: overloaded) as server:
        with pytest.raises(NoReply, match=r"503.*come back later"):
            ask(server, retries=2)
        assert len(server.requests) == 3


def test_a_refused_request_is_not_repeated(chat):
    with chat.serving(lambda request, number: {"status": 400, "body": '{"error": {"message": "no"}}'}) as server:
        with pytest.raises(NoReply, match="400"):
            ask(server)
        assert len(server.requests) == 1


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_wrong_key_or_model_is_the_users_to_mend(chat, status):
    with (
        chat.serving(lambda request, number: {"status": status, "body": "{}"}) as server,
        pytest.raises(InputError, match=f"{status}.*'m'.*OPENAI_API_KEY"),
    ):
        ask(server)


@pytest.mark.parametrize(
    "error",
    [
        {"message": "This model's maximum context length is 4096 tokens.", "code": 400},
        {"message": "too long", "code": "context_length_exceeded"},
        {"message": "the request exceeds the available context size", "type": "exceed_context_size_error"},
    ],
    ids=["vLLM", "OpenAI", "llama.cpp"],
)
def test_a_conversation_that_no_longer_fits_is_told_apart(chat, error):
    refusal = {"status": 400, "body": json.dumps({"error": error})}
    with chat.serving(lambda request, number: refusal) as server, pytest.raises(ContextFull):
        ask(server)


def test_a_pause_that_the_endpoint_asks_for_holds_up_all_requests(chat):
    arrived = []

    def script(request, number):
        arrived.append(time.monotonic())
        return {**BUSY, "headers": {"Retry-After": "0.4"}} if number == 0 else {"content": "fine"}

    with chat.serving(script) as server:
        # One at a time, so that the second waits for the pause that the first was asked for.
        assert [reply.text for reply in ask(server, 1, 2, concurrency=1)] == ["fine", "fine"]
    assert arrived[1] - arrived[0] >= 0.4


def test_a_pause_may_be_a_date(chat):
    def script(request, number):
        # A date has whole seconds: two seconds from now are more than one.
        return {**BUSY, "headers": {"Retry-After": formatdate(time.time() + 2, usegmt=True)}} if number == 0 else {}

    with chat.serving(script) as server:
        begun = time.monotonic()
        ask(server)
    assert time.monotonic() - begun > 0.9


def test_requests_keep_their_pace(chat):
    with chat.serving(first()) as server:
        begun = time.monotonic()
        ask(server, 1, 2, 3, 4, requests_per_minute=600)
    assert time.monotonic() - begun >= 3 * 0.1


def test_concurrency_bounds_the_requests_in_flight(chat):
    together = threading.Barrier(3, timeout=PATIENCE)

    def wait(request, number):
        together.wait()  # for two others; a fourth would come meanwhile
        return {"content": "fine", "hang": 0.05}

    with chat.serving(wait) as server:
        ask(server, *range(9), concurrency=3)
        assert server.most_busy == 3


def test_a_model_that_knows_the_limit_by_another_name_is_told_by_that(chat):
    def reasoning_model(request, number):
        if "max_tokens" in request:
            said = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            return {"status": 400, "body": json.dumps({"error": {"message": said}})}
        return {"content": str(request["max_completion_tokens"])}

    with chat.serving(reasoning_model) as server:
        assert [reply.text for reply in ask(server, 1, settings={"max_tokens": 7})] == ["7"]


def test_completions_send_the_conversation_as_one_text(chat):
    turns = [{"role": "system", "content": "Add."}, *HELLO, {"role": "assistant", "content": "2"}, *HELLO]
    with chat.serving(lambda request, number: {"content": " 3\n"}) as server:
        assert ask(server, messages=turns, api="completions").text == "3"
        asked = server.requests[0]
    assert asked["path"] == "/v1/completions"
    assert asked["prompt"] == "Add.\n\nUser: hello\n\nAssistant: 2\n\nUser: hello\n\nAssistant:"


def test_further_fields_are_sent(chat):
    with chat.serving(lambda request, number: {"content": request["reasoning_effort"]}) as server:
        assert ask(server, extra={"reasoning_effort": "low"}).text == "low"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"api": "chats"}, "api"),
        ({"timeout": 0}, "timeout"),
        ({"retries": -1}, "retries"),
        ({"requests_per_minute": 0}, "requests_per_minute"),
        ({"concurrency": 0}, "concurrency"),
        ({"extra": "low"}, "extra must map"),
    ],
)
def test_arguments_out_of_range_are_refused(options, sentence):
    with pytest.raises(InputError, match=sentence):
        Connection("m", **options)


def test_without_the_sdk_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtra, match=r"palaestra\[chat\]"):
        ChatClient(Connection("m"))


class TestCache:
    def test_a_reply_is_asked_for_once_and_says_where_it_comes_from(self, chat, tmp_path):
        def think(request, number):
            return {"content": "4", "message": {"reasoning": "2 + 2"}, "usage": {"prompt_tokens": 3}}

        with chat.serving(think) as server:
            new, kept = (ask(server, cache=tmp_path) for _ in range(2))
            assert len(server.requests) == 1
        assert (new.text, new.reasoning, new.counts, new.cached) == ("4", "2 + 2", (3, 0, 0), False)
        assert (kept.text, kept.reasoning, kept.counts, kept.cached) == ("4", "2 + 2", (3, 0, 0), True)

    def test_all_that_decides_a_reply_makes_another_question(self, chat, tmp_path):
        changes = [
            {},
            {"model": "n"},
            {"messages": [{"role": "user", "content": "Hello"}]},
            {"settings": {"temperature": 0.5}},
            {"settings": {"seed": 1}},
            {"extra": {"reasoning_effort": "low"}},
            {"api": "completions"},
        ]
        with chat.serving(first()) as server:
            for change in changes * 2:
                ask(server, cache=tmp_path, **change)
            assert len(server.requests) == len(changes)

    def test_no_two_samples_share_a_reply(self, chat, tmp_path):
        with chat.serving(lambda request, number: {"content": str(number)}) as server:
            drawn = {reply.text for reply in ask(server, 1, 2, 3, cache=tmp_path)}
            again = {reply.text for reply in ask(server, 1, 2, 3, cache=tmp_path)}
        assert drawn == again == {"0", "1", "2"}

    def test_a_failure_is_not_kept(self, chat, tmp_path):
        with chat.serving(first({"body": "not JSON"})) as server:
            with pytest.raises(NoReply):
                ask(server, cache=tmp_path, retries=0)
            assert ask(server, cache=tmp_path).text == "fine"

    def test_a_kill_tears_no_entry(self, chat, tmp_path):
        with chat.serving(lambda request, number: {"content": "x" * 100_000}) as server:
            program = (
                "import asyncio\nfrom palaestra.agents.chat.client import ChatClient, Connection\n"
                f"client = ChatClient(Connection('m', {server.url!r}, cache={str(tmp_path)!r}))\n"
                "async def run():\n"
                "    for draw in range(10**6):\n        await client.ask([], {}, (0, draw))\n"
                "asyncio.run(run())"
            )
            child = subprocess.Popen([sys.executable, "-c", program])
            while len(server.requests) < 20:
                assert child.poll() is None
                time.sleep(0.01)
            child.send_signal(signal.SIGKILL)
            child.wait()
            asked = len(server.requests)
            kept = ask(server, *range(10), messages=[], cache=tmp_path)
            assert len(server.requests) == asked
        assert all(reply.cached and reply.text == "x" * 100_000 for reply in kept)
        with sqlite3.connect(tmp_path / "replies.sqlite") as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()
