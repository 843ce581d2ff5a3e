"""Scripts from files: those that cannot be repeated are dropped, and the rest is asked about."""

from __future__ import annotations

import json

import gymnasium as gym
import pytest
from palaestra.envs import sandbox
from palaestra.envs.code import snippets
from palaestra.envs.code.snippets import is_repeatable, load_snippets
from palaestra.errors import InputError

GOOD = ["print(6 * 7)", "import sys\nprint('so far', file=sys.stderr)\nprint([1, 2][5])"]
BAD = [
    *("import random\nprint(random.random())", "import time\nprint(1)", "x = 1", "print(input())", "while True: pass"),
    "print(object())",  # another address each time
]


@pytest.fixture
def folder(tmp_path):
    for number, text in enumerate((*GOOD, *BAD, GOOD[0])):
        (tmp_path / f"{number}.py").write_text(text)
    return tmp_path


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    monkeypatch.setattr(snippets, "LIMITS", sandbox.Limits(seconds=0.4))


def test_only_scripts_that_write_the_same_again_are_asked_about(folder):
    found = load_snippets(str(folder))
    assert [snippet.source for snippet in found] == GOOD
    assert dict(found[0].streams) == {"stdout": "42", "stderr": ""}
    assert dict(found[1].streams)["stderr"].startswith("so far\nTraceback")
    assert [is_repeatable(text) for text in ("runtime = 1", "x.time()")] == [True, False]


def test_an_environment_asks_about_them_and_the_oracle_answers(folder):
    seen = set()
    env = gym.make("palaestra/StreamPrediction-v0", snippets=str(folder), split="all").unwrapped
    for seed in range(8):
        observation, info = env.reset(seed=seed)
        seen.add(info["task_id"])
        assert any(text in observation for text in GOOD)
        assert env.step(env.oracle())[4]["is_success"]
    assert len(seen) == 2


def test_alike_scripts_are_left_out_and_files_without_any_refused(tmp_path):
    rows = [f"x = {n}\nprint(x + 1)\nprint(x + 2)" for n in range(3)] + ["for w in 'ab': print(w * 3)"]
    file = tmp_path / "s.jsonl"
    file.write_text("\n".join(json.dumps({"code": row}) for row in rows))
    assert len(load_snippets(str(file), 0.5)) == 2
    file.write_text('{"text": "print(1)"}')
    with pytest.raises(InputError, match="'code'"):
        load_snippets(str(file))
    (tmp_path / "t.jsonl").write_text('{"code": "x = 1"}')
    with pytest.raises(InputError, match="none can be asked"):
        load_snippets(str(tmp_path / "t.jsonl"))
