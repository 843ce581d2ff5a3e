"""A chat endpoint as an agent: conversations, tools, records, samples and the command line; against a real server."""

from __future__ import annotations

import hashlib
import json
import logging
import re
import threading

import gymnasium as gym
import palaestra
import pytest
from palaestra.agents import ChatAgent, EndEpisode
from palaestra.agents.lookup import find_agent
from palaestra.envs.code.python_tool import write_script
from palaestra.envs.web.browsers.commands import read_command
from palaestra.errors import InputError
from palaestra.scripts.cli import main


def halve(request, number):
    """Play GuessNumber by halving what is left, from the answers in the conversation."""
    low, high = 1, 16
    messages = request["messages"]
    for said, answer in zip(messages[1::2], messages[2::2], strict=True):
        guess = int(said["content"])
        low, high = (guess + 1, high) if "higher" in answer["content"] else (low, guess - 1)
    return {"content": str((low + high) // 2)}


def test_an_endpoint_plays_whole_conversations_of_many_slots(chat):
    with chat.serving(halve) as server:
        agent = find_agent(f"endpoint(model='m', base_url={server.url!r})")
        report = palaestra.evaluate(agent, "palaestra/GuessNumber-v0", episodes=6, axes={"bits": 4})
    assert report.success.mean == 1.0


def test_a_request_that_fails_ends_the_episode_as_invalid(chat):
    with chat.serving(lambda request, number: {"status": 500, "body": "{}"}) as server:
        agent = find_agent(f"endpoint(model='m', base_url={server.url!r}, retries=0)")
        ended, idle = agent.act(["hello", "there"], [{}, {"idle": True}])
    assert isinstance(ended, EndEpisode)
    assert not ended.valid
    assert "500" in ended.reason
    assert idle is None


def test_an_address_is_an_endpoint_whose_model_the_environment_names(chat, monkeypatch):
    with chat.serving(lambda request, number: {"content": request["model"]}) as server:
        monkeypatch.setenv("PALAESTRA_JUDGE_MODEL", "named")
        assert find_agent(server.url).act(["hello"], [{}]) == ["named"]


def test_of_an_address_the_only_model_that_is_served_is_asked(chat, monkeypatch, capsys):
    monkeypatch.delenv("PALAESTRA_JUDGE_MODEL", raising=False)
    with chat.serving(lambda request, number: {"content": request["model"]}) as server:
        server.models = ["only-one"]
        agent = find_agent(server.url)
        assert (agent.name, agent.act(["hello"], [{}])) == ("openai:only-one", ["only-one"])
        server.models = ["b", "a"]
        with pytest.raises(InputError, match=r"serves 2 models \('a', 'b'\); name one: --agent-option model=NAME"):
            find_agent(server.url)
        words = ["eval", "palaestra/Arithmetic-v0", "--agent", server.url, "--episodes", "1"]
        assert main([*words, "--agent-option", "model=b"]) == 0
        assert [request["model"] for request in server.requests] == ["only-one", "b"]
        server.models = []
        with pytest.raises(InputError, match="serves no model"):
            find_agent(server.url)
        gone = server.url
    assert main([*words[:3], gone, *words[4:]]) == 2
    error = capsys.readouterr().err
    assert "does not tell which models it serves (Connection error); check the address" in error
    assert "JUDGE" not in error
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(InputError, match=r"a chat agent needs a model, openai:MODEL or model=NAME, or the address"):
        find_agent("chat")


@pytest.mark.parametrize("agent", ["localhost:8000/v1", "127.0.0.1:8765", "openai:m"])
def test_an_address_without_its_scheme_is_said_to_lack_it(agent, capsys):
    words = ["eval", "palaestra/Arithmetic-v0", "--agent", agent, "--episodes", "1"]
    assert main([*words, "--base-url", "127.0.0.1:8765"] if agent == "openai:m" else words) == 2
    address = "127.0.0.1:8765" if agent == "openai:m" else agent
    assert f"http://{address}." in capsys.readouterr().err


def test_the_command_line_sets_what_an_endpoint_is_asked(chat, capsys):
    with chat.serving(lambda request, number: {"content": "1"}) as server:
        words = f"--agent openai:mine --base-url {server.url} --episodes 3 --temperature 0.5 --max-tokens 77"
        words = ["eval", "palaestra/Arithmetic-v0", "--system", "Be short.", "--concurrency", "3", *words.split()]
        assert main(words) == 0
        asked = server.requests
    assert "openai:mine on palaestra/Arithmetic-v0" in capsys.readouterr().out
    assert [request["model"] for request in asked] == ["mine"] * 3
    assert all(request["temperature"] == 0.5 for request in asked)
    assert all(77 in (request.get("max_tokens"), request.get("max_completion_tokens")) for request in asked)
    assert all(request["messages"][0] == {"role": "system", "content": "Be short."} for request in asked)


def test_replies_are_waited_for_side_by_side(chat):
    arrived = threading.Barrier(4, timeout=60)

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
        (["--agent", "oracle", "--cache", "kept"], "--cache is for an endpoint"),
        (["--agent", "openai:m", "--tools", "native"], "'palaestra/Arithmetic-v0' offers no tools; leave --tools out"),
        (["--agent", "openai:m", "--agent-option", "retrys=3"], "'retrys'; did you mean 'retries'"),
        (["--agent", "openai:m", "--agent-option", "prices=3"], "prices must be two numbers"),
    ],
)
def test_what_an_endpoint_does_not_take_is_one_sentence(words, sentence, capsys):
    assert main(["eval", "palaestra/Arithmetic-v0", *words]) == 2
    assert sentence in capsys.readouterr().err


class Remembered(gym.Wrapper):
    """Keeps what an episode began with, for a server that plays by the solver of the environment."""

    def reset(self, **options):
        result = self.env.reset(**options)
        self.first = result[0]
        return result


def call_of(action):
    """A solver's action as the call of a function; None where it is an answer in text."""
    block = re.fullmatch(r"```(\w*)\n(.*)\n```", action, re.DOTALL)
    if block is not None and block[1]:
        return {"python": ("python", {"code": block[2]}), "sql": ("sql", {"query": block[2]})}[block[1]]
    if block is not None and block[2].split()[0] in ("tables", "describe", "query", "answer"):
        name, _, rest = block[2].partition(" ")
        return name, {"describe": {"table": rest}, "tables": {}}.get(name, {"query": rest})
    if found := re.fullmatch(r"(search|open|next|answer)\[(.*)\]", action, re.DOTALL):
        return found[1], {"search": {"query": found[2]}, "open": {"title": found[2]}}.get(found[1], {"text": found[2]})
    if re.match(r"(click|fill|select|press|scroll|back|goto|answer)\b", action):
        command = read_command(action)
        return command.verb, {"control": command.number, "text": command.text}
    return None


def write_native(action):
    if (call := call_of(action)) is None:
        return {"content": action}
    function = {"name": call[0], "arguments": json.dumps(call[1])}
    return {"content": "", "message": {"tool_calls": [{"id": "c", "type": "function", "function": function}]}}


def write_react(action):
    call = call_of(action)
    if call is None or call[0] == "answer":
        return {
            "content": f"Thought: I know.\nFinal Answer: {action if call is None else next(iter(call[1].values()))}"
        }
    return {"content": f"Thought: I see.\nAction: {call[0]}\nAction Input: {json.dumps(call[1])}"}


@pytest.mark.parametrize("tools", ["native", "react"])
@pytest.mark.parametrize("name", ["PythonTool", "ToolUse", "SQLExplorer", "WikiSearch", "Shop"])
def test_environments_with_tools_are_solved_by_calls(chat, name, tools):
    envs = []

    def make():
        env = gym.make(f"palaestra/{name}-v0", disable_env_checker=True, split="test")
        envs.append(Remembered(env))
        return envs[-1]

    def play(request, number):
        first = next(message["content"] for message in request["messages"] if message["role"] == "user")
        env = next(env for env in envs if env.first == first)
        action = env.unwrapped.oracle()
        if name == "Shop" and tools == "react" and action.startswith("answer"):
            action = f"answer[{read_command(action).text}]"
        return write_native(action) if tools == "native" else write_react(action)

    with chat.serving(play) as server:
        agent = find_agent(f"chat(model='m', base_url={server.url!r}, tools={tools!r})")
        report = palaestra.evaluate(agent, make, episodes=3, num_envs=2)
        asked = server.requests
    assert (report.success.mean, report.refused) == (1.0, 0)
    results = [message for message in asked[-1]["messages"] if message["role"] == "tool"]
    seen = [message for message in asked[-1]["messages"] if str(message["content"]).startswith("Observation: ")]
    assert bool(results) == (tools == "native")
    assert bool(seen) == (tools == "react")


def think_and_compute(request, number):
    """Answer a question of PythonTool with a program, by native calls."""
    told = request["messages"][-1]
    reply = {
        "usage": {"prompt_tokens": 10, "completion_tokens": 4, "completion_tokens_details": {"reasoning_tokens": 1}}
    }
    if told["role"] == "tool":
        return {
            **reply,
            "content": told["content"].split("\n")[1],
            "message": {"reasoning_content": "It printed that."},
        }
    function = {"name": "python", "arguments": json.dumps({"code": write_script(told["content"], "")})}
    message = {
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        "reasoning_content": "Compute: 7.",
    }
    return {**reply, "content": None, "message": message, "finish": "tool_calls"}


def run(server, env, *words):
    return main(["eval", env, "--agent", "openai:m", "--base-url", server.url, "--episodes", "3", *map(str, words)])


def test_a_run_tells_tokens_cost_thoughts_and_calls(chat, tmp_path, capsys):
    words = ["--tools", "native", "--out", tmp_path / "played.jsonl", "--json", tmp_path / "scores.json"]
    with chat.serving(think_and_compute) as server:
        assert run(server, "palaestra/PythonTool-v0", *words, "--agent-option", "prices=[1,2]") == 0
        asked = server.requests
    # Three episodes of two replies with 10 tokens read and 4 written each: 60 at 1 and 24 at 2 a million.
    table = " ".join(capsys.readouterr().out.split())
    assert "60 tokens read, 24 written, 6 of them thoughts; cost 0.000108" in table
    scores = json.loads((tmp_path / "scores.json").read_text())
    assert (scores["success"], scores["agent"]) == (1.0, "openai:m (native tools)")
    assert scores["usage"] == {
        "replies": 6,
        "cached": 0,
        "uncounted": 0,
        "cut": 0,
        "prompt_tokens": 60,
        "completion_tokens": 24,
        "reasoning_tokens": 6,
        "cost": pytest.approx(0.000108),
    }
    row = json.loads((tmp_path / "played.jsonl").read_text().splitlines()[0])
    call, answer = (turn["agent"] for turn in row["turns"])
    assert (call["tool_call"]["name"], call["reasoning"], call["finish"]) == ("python", "Compute: 7.", "tool_calls")
    assert (answer["reasoning"], answer["completion_tokens"]) == ("It printed that.", 4)
    assert "thoughts" not in row["turns"][1]["action"]
    assert row["usage"]["prompt_tokens"] == 20
    assert all("reasoning_content" not in message for request in asked for message in request["messages"])


def test_what_an_episode_has_cost_before_it_failed_counts_when_it_is_played_again(chat):
    def fail_once(request, number):
        return {"status": 500, "body": "{}"} if number == 1 else think_and_compute(request, number)

    with chat.serving(fail_once) as server:
        agent = ChatAgent("m", server.url, tools="native", retries=0)
        report = palaestra.evaluate(agent, "palaestra/PythonTool-v0", episodes=1, retries=1)
    assert (report.success.mean, report.invalid) == (1.0, 0)
    assert report.usage.replies == 3  # one of the first try, two of the second
    assert report.usage.prompt_tokens == 30


def test_thoughts_go_back_on_request(chat):
    with chat.serving(think_and_compute) as server:
        agent = ChatAgent("m", server.url, tools="native", resend_reasoning=True)
        palaestra.evaluate(agent, "palaestra/PythonTool-v0", episodes=1)
        assert server.requests[1]["messages"][2]["reasoning_content"] == "Compute: 7."


def test_thoughts_alone_are_no_answer(chat):
    with chat.serving(
        lambda r, n: {"content": None, "message": {"reasoning": "It is 4."}, "finish": "length"}
    ) as server:
        report = palaestra.evaluate(ChatAgent("m", server.url), "palaestra/Arithmetic-v0", episodes=2)
    assert (report.success.mean, report.refused, report.invalid) == (0.0, 2, 0)
    assert report.usage.cut == report.usage.uncounted == 2


def add_up_by_chance(request, number):
    """The right sum for half of all requests, by what is asked and the seed alone."""
    asked = request["messages"][-1]["content"]
    digest = hashlib.sha256(f"{asked} {request['seed']}".encode()).digest()
    right = sum(int(number) for number in re.findall(r"\d+", asked))
    return {"content": str(right - digest[0] % 2), "usage": {"prompt_tokens": len(asked), "completion_tokens": 1}}


def test_samples_give_pass_at_k_and_the_same_table_at_any_concurrency(chat, tmp_path):
    words = ["--axis", "operations=+", "--samples", "4", "--seed", "3"]
    with chat.serving(add_up_by_chance) as server:
        for concurrency in (1, 12):
            out = ["--json", tmp_path / f"{concurrency}.json", "--out", tmp_path / f"{concurrency}.jsonl"]
            assert run(server, "palaestra/Arithmetic-v0", *words, "--concurrency", concurrency, *out) == 0
        seeds = [request["seed"] for request in server.requests]
    for suffix in ("json", "jsonl"):
        assert (tmp_path / f"1.{suffix}").read_bytes() == (tmp_path / f"12.{suffix}").read_bytes()
    scores = json.loads((tmp_path / "1.json").read_text())
    assert [row["k"] for row in scores["pass_at_k"]] == [1, 2, 4]
    assert scores["pass_at_k"][0]["value"] == scores["success"] < scores["pass_at_k"][2]["value"]
    assert len(set(seeds)) == 12  # one for each task and sample, the same in both runs


def test_a_cache_answers_a_second_run(chat, tmp_path, capsys):
    words = ["--axis", "operations=+", "--samples", "2", "--cache", tmp_path / "kept", "--agent-option", "prices=[1,1]"]
    with chat.serving(add_up_by_chance) as server:
        for name in ("new", "kept"):
            assert run(server, "palaestra/Arithmetic-v0", *words, "--json", tmp_path / f"{name}.json") == 0
        assert len(server.requests) == 6
    new, kept = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("new", "kept"))
    assert (new["success"], new["pass_at_k"]) == (kept["success"], kept["pass_at_k"])
    assert new["usage"]["cost"] > kept["usage"]["cost"] == 0.0
    assert "6 of 6 replies from the cache" in " ".join(capsys.readouterr().out.split())


def test_an_endpoint_that_is_down_is_one_sentence(chat, capsys):
    with chat.serving(lambda request, number: {"status": 500, "body": "{}"}) as server:
        assert run(server, "palaestra/Arithmetic-v0", "--agent-option", "retries=0") == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert re.search(r"agent 'openai:m' failed in episode \d", err)
    assert "the endpoint answered 500" in err


def test_a_conversation_that_outgrows_the_context_is_cut_and_not_left_out(chat):
    full = {"status": 400, "body": '{"error": {"message": "maximum context length is 9"}}'}
    with chat.serving(lambda request, number: {"content": "1"} if len(request["messages"]) < 2 else full) as server:
        report = palaestra.evaluate(ChatAgent("m", server.url), "palaestra/GuessNumber-v0", episodes=2, seed=1)
    assert (report.episodes, report.invalid, report.truncated, report.length.mean) == (2, 0, 1.0, 1.0)


def call_functions(*calls):
    listed = [
        {"id": f"c{place}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for place, (name, arguments) in enumerate(calls)
    ]
    return {"content": "", "message": {"tool_calls": listed}}


def test_several_calls_in_one_reply_are_made_one_after_the_other(chat):
    both = call_functions(("python", '{"code": "print(6)"}'), ("python", '{"code": "print(7)"}'))
    with chat.serving(lambda request, number: both if number == 0 else {"content": "0"}) as server:
        report = palaestra.evaluate(ChatAgent("m", server.url, tools="native"), "palaestra/PythonTool-v0", episodes=1)
        assert len(server.requests) == 2
        results = server.requests[1]["messages"][-2:]
    assert report.length.mean == 3
    assert [(result["tool_call_id"], result["content"].split("\n")[1]) for result in results] == [
        ("c0", "6"),
        ("c1", "7"),
    ]


def test_a_faulty_call_is_told_to_the_model_and_costs_no_turn(chat):
    replies = [call_functions(("fly", "{}")), call_functions(("python", "no JSON")), {"content": "0"}]
    with chat.serving(lambda request, number: replies[number]) as server:
        report = palaestra.evaluate(ChatAgent("m", server.url, tools="native"), "palaestra/PythonTool-v0", episodes=1)
        told = [message["content"] for message in server.requests[2]["messages"] if message["role"] == "tool"]
    assert report.length.mean == 1
    assert told == [
        "unknown tool 'fly'; known: 'python'.",
        "The arguments of python must be a JSON object.",
    ]


def test_a_model_that_only_makes_faulty_calls_comes_to_an_end(chat):
    with chat.serving(lambda request, number: call_functions(("fly", "{}"))) as server:
        report = palaestra.evaluate(ChatAgent("m", server.url, tools="native"), "palaestra/PythonTool-v0", episodes=1)
        assert len(server.requests) == 3
    assert (report.success.mean, report.length.mean) == (0.0, 1.0)


def test_without_tools_on_offer_an_agent_with_tools_plays_plainly_and_says_so(chat, caplog):
    with chat.serving(lambda request, number: {"content": "1"}) as server, caplog.at_level(logging.WARNING):
        palaestra.evaluate(ChatAgent("m", server.url, tools="native"), "palaestra/Arithmetic-v0", episodes=1)
        assert "tools" not in server.requests[0]
    assert "Arithmetic offers no tools" in caplog.text


def test_text_that_no_request_can_hold_is_sent_all_the_same(chat):
    with chat.serving(lambda request, number: {"content": request["messages"][-1]["content"]}) as server:
        assert ChatAgent("m", server.url).act(["a\ud800"], [{}]) == ["a?"]
