"""``palaestra mcp``: the command, from its first line to its end, with the client of the reference SDK."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from typing import Any

import pytest
from palaestra.scripts.cli import main

pytest.importorskip("mcp", reason="needs the extra [mcp]")
from mcp import Client, StdioServerParameters

WORDS = ["-m", "palaestra.scripts.cli", "mcp", "palaestra/GuessNumber-v0"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_episode_over_standard_input_and_output(mode: str):
    environ = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    options = ["--axis", "bits=4", "--split", "train", "--seed", "3"]
    server = StdioServerParameters(command=sys.executable, args=[*WORDS, *options], env=environ)

    async def episode() -> list[Any]:
        async with Client(server, mode=mode) as client:
            begun = (await client.call_tool("reset")).structured_content
            steps, low, high = [begun], 1, 16
            while not steps[-1].get("terminated"):
                guess = (low + high) // 2
                steps.append((await client.call_tool("guess", {"number": guess})).structured_content)
                low, high = (guess + 1, high) if steps[-1]["observation"].endswith("higher.") else (low, guess - 1)
            return steps

    begun, *_, last = asyncio.run(episode())
    assert begun["observation"].startswith("Guess my number from 1 to 16.")
    assert last["is_success"] is True
    assert asyncio.run(episode())[0]["task_id"] == begun["task_id"]


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_it_serves_until_it_is_told_to_end(transport: str, end: signal.Signals):
    command = [sys.executable, *WORDS, "--transport", transport, *(["--port", "0"] if transport == "http" else [])]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:  # type: ignore[call-overload]
        try:
            if transport == "http":
                assert "/mcp    Ctrl-C ends it" in process.stdout.readline()
            else:
                process.stdin.write('{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
                process.stdin.flush()
                assert '"id":1' in process.stdout.readline()
            process.send_signal(end)
            process.wait(30)
            said = process.stderr.read()
        finally:
            process.kill()
    assert process.returncode == 0, said
    assert "Traceback" not in said
    assert transport == "stdio" or "served 0 sessions." in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["palaestra/Sokobann-v0"], "did you mean"),
        (["palaestra/DoorKey-v0"], "take palaestra/DoorKeyText-v0"),
        (["palaestra/Sokoban-v0", "--step-seconds", "0"], "--step-seconds must be above 0, not 0."),
        (["palaestra/Sokoban-v0", "--seed", "-1"], "--seed must not be negative"),
        (["palaestra/Sokoban-v0", "--difficulty", "7"], "difficulty"),
        (["palaestra/Sokoban-v0", "--axis", "sice=4"], "did you mean 'size'?"),
        (["palaestra/Sokoban-v0", "--transport", "http", "--port", "99999"], "cannot be taken"),
        (
            ["palaestra/Sokoban-v0", "--port", "8001", "--idle-seconds", "9"],
            "--port, --idle-seconds needs --transport http",
        ),
    ],
)
def test_what_cannot_be_served_is_one_sentence(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]):
    assert main(["mcp", *arguments]) == 2
    assert sentence in capsys.readouterr().err
