"""Verifiers itself evaluates our taskset, by its own command line, on a model behind an endpoint."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from palaestra.integrations.core import EpisodeRow, TextEpisode, make_rows

N, SOLVED = 4, 2
QUESTION, GAME, ODD = "palaestra/Countdown-v0", "palaestra/RushHour-v0", "odd_weights:trial/OddWeightGame-v0"
KWARGS = {"difficulty": 0.0}


def rows_of(env_id: str) -> list[EpisodeRow]:
    return make_rows(env_id, N, "test", 3, KWARGS)


@pytest.fixture(scope="module")
def traces(
    serve_solver: Any, peer_home: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[dict[str, Any]]]:
    """By environment, the traces of one call of ``vf-eval``, two of each task. The endpoint knows how to solve the
    first `SOLVED` episodes of each environment, and no other."""
    home, folder = peer_home(".venv-verifiers"), tmp_path_factory.mktemp("verifiers")
    env_ids = f"{QUESTION}, {GAME}, {ODD}"
    command = [str(home / "bin" / "vf-eval"), "palaestra_vf", "--env.taskset.env", env_ids, "--env.taskset.n", str(N)]
    command += ["--env.taskset.seed", "3", "--env.taskset.split", "test", "-r", "2", "-m", "solver"]
    command += ["--env.taskset.kwargs", json.dumps(KWARGS), "--client.api-key-var", "KEY_OF_NOBODY"]
    command += ["--no-push", "--no-rich", "-o", str(folder), "--run.dir", "run"]
    environment = {**os.environ, "KEY_OF_NOBODY": "none", "PYTHONPATH": str(Path(__file__).parent)}
    with serve_solver([row for env_id in (QUESTION, GAME) for row in rows_of(env_id)[:SOLVED]]) as server:
        command += ["--client.base-url", server.url]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    lines = map(json.loads, (folder / "run" / "traces.jsonl").read_text().splitlines())
    found: dict[str, list[dict[str, Any]]] = {env_id: [] for env_id in (QUESTION, GAME, ODD)}
    for trace in sorted((line["traces"][0] for line in lines), key=lambda trace: trace["task"]["data"]["idx"]):
        found[trace["task"]["data"]["env"]].append(trace)
    return found


@pytest.mark.parametrize("env_id", [QUESTION, GAME])
def test_what_the_model_solves_has_the_reward_1_and_the_rest_0(traces, env_id: str):
    rewards = [trace["rewards"]["reward"]["score"] for trace in traces[env_id]]
    assert rewards == [1.0, 1.0] * SOLVED + [0.0, 0.0] * (N - SOLVED)
    assert [trace["metrics"]["success"] for trace in traces[env_id]] == rewards
    assert {(trace["ok"], len(trace["errors"])) for trace in traces[env_id]} == {(True, 0)}


def test_rollouts_of_a_task_have_one_key_and_play_the_episode_of_its_row(traces):
    keys = [trace["task"]["key"] for trace in traces[QUESTION] + traces[GAME]]
    # From the row alone, so that it is the same in every process that loads the taskset.
    rows = [*rows_of(QUESTION), *rows_of(GAME)]
    assert keys[::2] == keys[1::2] == [f"{row.env} {row.seed} {row.kwargs} {row.options}" for row in rows]
    episode = TextEpisode()
    for trace, row in zip(traces[GAME][::2], rows_of(GAME)):
        assert trace["task"]["data"]["prompt"] == episode.begin(row)
        assert trace["info"]["palaestra"]["task_id"] == episode.result().task_id


def test_a_game_is_a_conversation(traces):
    trace = traces[GAME][0]
    episode = TextEpisode()
    said = [("user", episode.begin(rows_of(GAME)[0]))]
    while not episode.over:
        action = episode.env.unwrapped.oracle()  # type: ignore[attr-defined]
        said += [("assistant", action), ("user", episode.act(action))]
    assert [(node["message"]["role"], node["message"]["content"]) for node in trace["nodes"]] == said[:-1]
    assert trace["info"]["palaestra"]["reward_terms"] == episode.result().reward_terms


def test_what_could_not_be_judged_is_an_error_and_no_reward(traces):
    # An even weight, which ends the prompt, can be judged.
    known = [int(trace["task"]["data"]["prompt"][-1]) % 2 == 0 for trace in traces[ODD]]
    assert [trace["ok"] for trace in traces[ODD]] == known
    assert set(known) == {True, False}
    for trace in traces[ODD]:
        if trace["ok"]:
            assert trace["rewards"]["reward"]["score"] == 1.0
        else:
            assert "could not be judged" in trace["errors"][0]["message"]
