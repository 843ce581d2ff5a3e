"""Inspect itself evaluates our tasks, by its own command line, on models behind an endpoint."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from palaestra.integrations.core import TextEpisode, make_rows

N = 3
QUESTION, GAME = "palaestra/Countdown-v0", "palaestra/RushHour-v0"
TRIAL = Path(__file__).with_name("inspect_trial.py")


@pytest.fixture(scope="module")
def logs(
    serve_solver: Any, peer_home: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], dict[str, Any]]:
    """The log of each task and model, of one call of ``inspect eval``."""
    folder, home = tmp_path_factory.mktemp("inspect"), peer_home(".venv-peers")
    rows = [row for env_id in (QUESTION, GAME) for row in make_rows(env_id, N, "test", 3, {"difficulty": 0.0})]
    with serve_solver(rows) as server:
        command = [str(home / "bin" / "inspect"), "eval", QUESTION, GAME]
        command += [f"{TRIAL}@{name}" for name in ("odd_weights", "message_limit", "nobody_plays", "own_solver")]
        command += ["--model", "openai-api/here/solver,openai-api/here/guesser", "-T", f"n={N}", "-T", "seed=3"]
        command += ["-T", "difficulty=0.0", "--log-dir", "logs", "--log-format", "json", "--display", "none"]
        command += ["--no-fail-on-error", "--max-retries", "0"]
        environment = {**os.environ, "HERE_BASE_URL": server.url, "HERE_API_KEY": "none"}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    found = [json.loads(path.read_text()) for path in sorted((folder / "logs").glob("*.json"))]
    return {(log["eval"]["task"], log["eval"]["model"].rpartition("/")[2]): log for log in found}


def means(log: dict[str, Any]) -> dict[str, float]:
    return {score["name"]: score["metrics"]["mean"]["value"] for score in log["results"]["scores"]}


@pytest.mark.parametrize("task", [QUESTION, GAME])
def test_a_model_that_solves_has_1_and_one_that_guesses_0(logs, task: str):
    for model, value in (("solver", 1.0), ("guesser", 0.0)):
        log = logs[task, model]
        assert [sample.get("error") for sample in log["samples"]] == [None] * N
        assert [sample["scores"]["outcome"]["value"]["success"] for sample in log["samples"]] == [value] * N
        found = means(log)
        assert found["success"] == found["reward"] == value


def test_a_game_is_a_conversation_and_the_log_says_how_it_went(logs):
    row = make_rows(GAME, 1, "test", 3, {"difficulty": 0.0})[0]
    episode = TextEpisode()
    said = [("user", episode.begin(row))]
    while not episode.over:
        action = episode.env.unwrapped.oracle()  # type: ignore[attr-defined]
        said += [("assistant", action), ("user", episode.act(action))]
    sample, result = logs[GAME, "solver"]["samples"][0], episode.result()
    assert [(message["role"], message["content"]) for message in sample["messages"]] == said
    assert {name: sample["metadata"][name] for name in row.plain()} == row.plain()
    told = sample["scores"]["outcome"]["metadata"]
    assert (told["task_id"], told["turns"], told["reward_terms"]) == (result.task_id, 2, result.reward_terms)
    assert logs[GAME, "guesser"]["samples"][0]["scores"]["outcome"]["metadata"]["refused"] > 2


def test_what_could_not_be_judged_is_in_no_mean(logs):
    log = logs["odd_weights", "solver"]
    weights = [int(sample["input"].split()[-1]) for sample in log["samples"]]
    judged = sum(weight % 2 == 0 for weight in weights)
    assert 0 < judged < len(weights)
    success = log["results"]["scores"][0]
    assert (success["scored_samples"], success["unscored_samples"]) == (judged, len(weights) - judged)
    assert means(log)["success"] == 1.0
    assert {sample["scores"]["outcome"].get("reason") for sample in log["samples"]} == {None, "scoring_failed"}


def test_what_a_limit_cuts_short_is_scored_as_far_as_it_went(logs):
    sample = logs["message_limit", "guesser"]["samples"][0]
    assert sample["limit"]["type"] == "message"
    assert sample["scores"]["outcome"]["value"]["success"] == 0.0
    assert 0 < sample["scores"]["outcome"]["metadata"]["turns"] < 3


def test_a_question_takes_any_solver_and_a_game_that_was_not_played_is_an_error(logs):
    assert means(logs["own_solver", "solver"])["success"] == 1.0
    assert means(logs["own_solver", "guesser"])["success"] == 0.0
    assert "take the solver 'play'" in logs["nobody_plays", "solver"]["samples"][0]["error"]["message"]
