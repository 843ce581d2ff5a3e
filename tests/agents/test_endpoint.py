from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import palaestra
import pytest
from palaestra.agents import EndEpisode
from palaestra.agents.lookup import find_agent
from palaestra.errors import InputError

_spec = importlib.util.spec_from_file_location(
    "chat_server", Path(__file__).parents[1] / "rewards" / "judges" / "chat_server.py"
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
        assert agent.act(["hello", "there"], [{}, {"idle": True}]) == [EndEpisode(valid=False), None]


def test_an_address_is_an_endpoint_whose_model_the_environment_names(monkeypatch):
    with chat.serving(lambda request, number: {"content": request["model"]}) as server:
        monkeypatch.setenv("PALAESTRA_JUDGE_MODEL", "named")
        assert find_agent(server.url).act(["hello"], [{}]) == ["named"]
        monkeypatch.delenv("PALAESTRA_JUDGE_MODEL")
        with pytest.raises(InputError, match="needs a model"):
            find_agent(server.url)
