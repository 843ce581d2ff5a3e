"""Every command without its optional packages: one sentence that names the extra, never a traceback."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from palaestra.envs import find

# Runs commands in a process that cannot import some packages; prints [exit code, standard output, standard error] each.
_PROGRAM = """if True:
    import contextlib, importlib.machinery, io, json, sys

    absent, commands = json.loads(sys.argv[1])

    class Finder(importlib.machinery.PathFinder):
        @classmethod
        def find_spec(cls, name, path=None, target=None):
            if name.partition(".")[0] not in absent:
                return importlib.machinery.PathFinder.find_spec(name, path, target)

    sys.meta_path[:] = [Finder if one is importlib.machinery.PathFinder else one for one in sys.meta_path]
    from palaestra.scripts.cli import main

    outcomes = []
    for argv in commands:
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            code = main(argv)
        outcomes.append([code, out.getvalue(), err.getvalue()])
    print(json.dumps(outcomes))
"""
ALL = [
    *("torch", "transformers", "safetensors", "scipy", "matplotlib", "tensorboard", "filelock", "jinja2", "minigrid"),
    *("sympy", "lxml", "playwright", "werkzeug", "bm25s", "duckdb", "sqlglot", "psycopg", "openai", "datasets", "PIL"),
    *("peft", "docker", "jsonschema", "miniwob", "reasoning_gym", "stable_baselines3", "Box2D", "pygame"),
]
ARITHMETIC = "palaestra/Arithmetic-v0"
# Arguments -> the extra that is named.
LACKING = {
    ("list", "components"): "train",
    ("list", "measures"): "train",
    ("list", "envs", "arithmetic", "--html"): "render",
    ("train", ARITHMETIC, "--out", "OUT/run"): "train",
    ("train", ARITHMETIC, "--model", "OUT/model"): "train",
    ("eval", ARITHMETIC, "--agent", "OUT"): "train",
    ("eval", ARITHMETIC, "--agent", "openai:m", "--base-url", "http://127.0.0.1:9/v1", "--episodes", "1"): "chat",
    ("eval", ARITHMETIC, "--episodes", "1", "--replay", "OUT/replay"): "render",
    ("eval", "palaestra/MATH-v0", "--episodes", "1"): "math",
    ("eval", "palaestra/Shop-v0", "--episodes", "1"): "web",
    ("eval", "palaestra/MiniWoB-v0", "--episodes", "1"): "miniwob",
    ("eval", "palaestra/StumpTracks-v0", "--episodes", "1"): "box2d",
    ("eval", "palaestra/WikiSearch-v0", "--episodes", "1", "--agent", "oracle"): "web",
    ("eval", "palaestra/ReasoningGym-v0", "--episodes", "1"): "reasoning-gym",
    ("eval", "palaestra/TextToSQL-v0", "--episodes", "1", "--env-option", "engine=duckdb"): "sql",
    ("eval", "palaestra/TextToSQL-v0", "--episodes", "1", "--env-option", "engine=postgres"): "sql",
    ("eval", "palaestra/Dataset-v0", "--env-option", "source=OUT/questions.parquet"): "datasets",
    ("export", "OUT", "--out", "OUT/model"): "train",
    ("audit", "OUT"): "train",
    ("dataset", ARITHMETIC, "--out", "OUT/data"): "datasets",
    ("design", ARITHMETIC, "--author", "OUT"): "train",
    ("bench", "learner"): "train",
    ("bench", "web"): "web",
}
"""Commands, with OUT for a folder of a run, that need a package that is absent."""
LACKING_CARDS = {
    "Shop": "A task on a web site needs the extra [web]: pip install 'palaestra[web]'.",
    "WikiSearch": "Search in the made-up encyclopaedia needs the extra [web]: pip install 'palaestra[web]'.",
    "StumpTracks": "palaestra/StumpTracks-v0 needs the extra [box2d]: pip install 'palaestra[box2d]'.",
    "PythonTool": "The sandbox 'local' needs Linux and the program bwrap",
}
"""Environment -> beginning of what the gallery says in place of its examples."""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory) -> dict[tuple[str, ...], list]:
    out = tmp_path_factory.mktemp("run")
    (out / "config.json").write_text(json.dumps({"env": ARITHMETIC}))
    (out / "questions.parquet").write_bytes(b"PAR1")
    return dict(zip(LACKING, run_without(ALL, [[word.replace("OUT", str(out)) for word in argv] for argv in LACKING])))


def run_without(absent: list[str], commands: list[list[str]]) -> list[list]:
    argv = [sys.executable, "-c", _PROGRAM, json.dumps([absent, commands])]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("argv", LACKING, ids=" ".join)
def test_the_extra_is_named_in_one_sentence(argv, outcomes):
    code, _, err = outcomes[argv]
    (sentence,) = [line for line in err.splitlines() if line.startswith("palaestra: ")]
    assert code == 2
    assert sentence.endswith(f"needs the extra [{LACKING[argv]}]: pip install 'palaestra[{LACKING[argv]}]'.")


def test_what_needs_no_extra_works_without_any(tmp_path: Path):
    out = str(tmp_path / "played.jsonl")
    commands = [
        ["list", "--json"],
        ["completion", "bash"],
        ["eval", ARITHMETIC, "--episodes", "2", "--agent", "oracle", "--out", out],
        ["compare", out, out],
    ]
    assert [(code, err) for code, _, err in run_without(ALL, commands)] == [(0, "")] * len(commands)


def test_the_gallery_needs_no_torch():
    ((code, page, err),) = run_without(["torch", "transformers"], [["list", "envs", "sokoban", "--html"]])
    assert (code, err) == (0, "")
    assert "palaestra/Sokoban-v0" in page


def test_the_gallery_has_a_card_for_each_environment_that_cannot_be_made(monkeypatch):
    monkeypatch.setenv("PATH", "")
    absent = [name for name in ALL if name not in ("jinja2", "PIL")]
    ((code, page, err),) = run_without(absent, [["list", "envs", "--html"]])
    assert (code, err) == (0, "")
    cards = dict(re.findall(r'<article id="palaestra-([^"]+)-v\d">(.*?)</article>', page, flags=re.S))
    for name, sentence in LACKING_CARDS.items():
        assert f'<p class="lacks">{sentence}' in html.unescape(cards[name])
        assert "<dt>Description</dt>" in cards[name]
        assert 'class="example"' not in cards[name]
    assert sum('class="lacks"' in card for card in cards.values()) == len(find(tags=["needs-bwrap"])) + sum(
        len(find(tags=[f"needs-{extra}"])) for extra in ("box2d", "math", "reasoning-gym", "web")
    )
