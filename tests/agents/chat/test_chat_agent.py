from __future__ import annotations

import importlib.util
import sys
import threading
from pathlib import Path

import palaestra
import pytest
from palaestra.agents import EndEpisode
from palaestra.agents.lookup import find_agent
from palaestra.errors import InputError
from palaestra.scripts.cli import main

_spec = importlib.util.spec_from_file_location(
    "chat_server", Path(__file__).parents[2] / "rewards" / "judges" / "chat_server.py"
)
assert _spec is not None
assert _spec.loader is not None
chat = sys.modules.setdefault("chat_server", importlib.util.module_from_spec(_spec))
_spec.loader.exec_module(chat)


def halve(request, number):
    """Play GuessNumber by halving what is left, from the answers in the conversation."""
    low, high = 1, 16
    messages = request["messages"]
    for said, answer in zip(messages[1::2], messages[2::2], strict=True):
        guess = int(said["content"])
        low, high = (guess + 1, high) if "higher" in answer["content"] else (low, guess - 1)
    return {"content": str((low + high) // 2)}


def test_an_endpoint_plays_whole_conversations_of_many_slots():
    with chat.serving(halve) as server:
        agent = find_agent(f"endpoint(model='m', base_url={server.url!r})")
        report = palaestra.evaluate(agent, "palaestra/GuessNumber-v0", episodes=6, axes={"bits": 4})
    assert report.success.mean == 1.0


def test_a_request_that_fails_ends_the_episode_as_invalid():
    with chat.serving(lambda request, number: {"status": 500, "body": "{}"}) as server:
        agent = find_agent(f"endpoint(model='m', base_url={server.url!r}, retries=0)")
        ended, idle = agent.act(["hello", "there"], [{}, {"idle": True}])
    assert isinstance(ended, EndEpisode)
    assert not ended.valid
    assert "500" in ended.reason
    assert idle is None


def test_an_address_is_an_endpoint_whose_model_the_environment_names(monkeypatch):
    with chat.serving(lambda request, number: {"content": request["model"]}) as server:
        monkeypatch.setenv("PALAESTRA_JUDGE_MODEL", "named")
        assert find_agent(server.url).act(["hello"], [{}]) == ["named"]
        monkeypatch.delenv("PALAESTRA_JUDGE_MODEL")
        with pytest.raises(InputError, match="needs a model"):
            find_agent(server.url)


def test_the_command_line_sets_what_an_endpoint_is_asked(capsys):
    with chat.serving(lambda request, number: {"content": "1"}) as server:
        words = [
            "eval",
            "palaestra/Arithmetic-v0",
            "--agent",
            "openai:mine",
            "--base-url",
            server.url,
            "--episodes",
            "3",
        ]
        words += [
            "--episodes",
            "3",
            "--system",
            "Be short.",
            "--temperature",
            "0.5",
            "--max-new-tokens",
            "77",
            "--concurrency",
            "3",
        ]
        assert main(words) == 0
        asked = server.requests
    assert "openai:mine on palaestra/Arithmetic-v0" in capsys.readouterr().out
    assert [request["model"] for request in asked] == ["mine"] * 3
    assert all(request["temperature"] == 0.5 for request in asked)
    assert all(77 in (request.get("max_tokens"), request.get("max_completion_tokens")) for request in asked)
    assert all(request["messages"][0] == {"role": "system", "content": "Be short."} for request in asked)


def test_replies_are_waited_for_side_by_side():
    arrived = threading.Barrier(4, timeout=20)

    def wait(request, number):
        arrived.wait()
        return {"content": "1"}

    with chat.serving(wait) as server:
        agent = find_agent(f"endpoint(model='m', base_url={server.url!r})")
        report = palaestra.evaluate(agent, "palaestra/Arithmetic-v0", episodes=4, concurrency=4)
    assert report.invalid == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--agent", "random", "--base-url", "http://x/v1"], "--base-url is for an endpoint, --agent openai:MODEL"),
        (["--agent", "openai:m", "--context", "9"], "an endpoint takes no --context"),
    ],
)
def test_what_an_endpoint_does_not_take_is_one_sentence(words, sentence, capsys):
    assert main(["eval", "palaestra/Arithmetic-v0", *words]) == 2
    assert sentence in capsys.readouterr().err
