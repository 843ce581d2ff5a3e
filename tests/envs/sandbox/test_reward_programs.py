"""Reward programs that mean harm, past the grammar that refuses them: the sandbox contains what they do."""

from __future__ import annotations

from pathlib import Path

import pytest
from palaestra.envs.sandbox import reward_programs
from palaestra.envs.sandbox.reward_programs import judge_in_sandbox

from ...patience import with_more_time  # isort: skip

EPISODES = [{"success": False}] * 2


@pytest.mark.parametrize(
    ("program", "error"),
    [
        ("def reward(e):\n    open('/etc/passwd').read()\n    return 0, 1", "FileNotFoundError (line 2)"),
        (
            "import socket\ndef reward(e): socket.create_connection(('127.0.0.1', 22), 1)",
            "OSError",
        ),
        ("def reward(e):\n    x = 'a'\n    while True: x += x", "MemoryError (line 3)"),
        ("def reward(e): return 0, [0] * 10**12", "MemoryError (line 1)"),
        ("import os\ndef reward(e):\n    while True: os.fork()", "BlockingIOError (line 3)"),
        ("import os\ndef reward(e): os._exit(0)", "The program ended before it answered."),
        ("raise SystemExit(3)", "SystemExit (line 1): 3"),
    ],
)
def test_a_hostile_program_gets_an_error_and_no_value(program, error, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reward_programs, "SECONDS", 20.0)
    for sparse, dense, text in judge_in_sandbox(program, EPISODES) or [(9, {}, "")]:
        assert (sparse, dense) == (0, {})
        assert error in text


def test_a_program_that_never_ends_is_ended_and_the_other_episodes_have_their_values(monkeypatch: pytest.MonkeyPatch):
    program = "def reward(e):\n    while e['loop']: pass\n    return 0, e['number']"

    def check(seconds: float) -> None:
        monkeypatch.setattr(reward_programs, "SECONDS", seconds)
        answers = judge_in_sandbox(program, [{"loop": number == 1, "number": number} for number in range(3)])
        assert answers == [
            [0, {"dense": 0.0}, ""],
            [0, {}, f"TimeoutError: no answer within {seconds:g} s"],
            [0, {"dense": 2.0}, ""],
        ]

    with_more_time(check)


def test_nothing_that_a_program_writes_or_remembers_reaches_another_episode(tmp_path: Path):
    program = (
        "seen = []\ndef reward(e):\n    seen.append(1)\n    e['success'] = 5\n"
        f"    try:\n        open({str(tmp_path / 'out')!r}, 'w').write('x')\n    except OSError:\n        pass\n"
        "    return 0, len(seen)"
    )
    assert judge_in_sandbox(program, EPISODES) == [[0, {"dense": 1.0}, ""]] * 2
    assert list(tmp_path.iterdir()) == []
