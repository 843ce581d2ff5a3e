"""lm_eval itself evaluates the tasks that we write for it, on a model behind an endpoint."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from palaestra.integrations.core import TextEpisode, make_rows
from palaestra.integrations.datasets import save
from palaestra.integrations.lm_eval_tasks import name_of

from ..extras import needs

pytestmark = needs("datasets")

N, SOLVED = 5, 2
QUESTION, ODD = "palaestra/Countdown-v0", "odd_weights:trial/OddWeightQuestion-v0"


@pytest.fixture(scope="module")
def outcome(
    serve_solver: Any, peer_home: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What one call of lm_eval finds. The endpoint knows the first `SOLVED` answers of Countdown, and no other."""
    home, folder = peer_home(".venv-peers"), tmp_path_factory.mktemp("lm_eval")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parent)
        for env_id in (QUESTION, ODD):
            save(folder / "tasks" / name_of(env_id), env_id, 1, test=N, seed=3, lm_eval=True, difficulty=0.0)
    rows = make_rows(QUESTION, SOLVED, "test", 3, {"difficulty": 0.0})
    with serve_solver(rows) as server:
        command = [str(home / "bin" / "python"), str(Path(__file__).with_name("lm_eval_trial.py"))]
        command += [str(folder / "tasks"), f"{server.url}/chat/completions", name_of(QUESTION), name_of(ODD)]
        environment = {**os.environ, "OPENAI_API_KEY": "none"}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def metrics(outcome: dict[str, Any], env_id: str) -> dict[str, float]:
    names = ("success", "reward", "valid")
    return {name: outcome[name_of(env_id)][f"{name},none"] for name in names}


def test_the_share_that_the_model_solves_is_its_success(outcome):
    assert metrics(outcome, QUESTION) == {"success": SOLVED / N, "reward": SOLVED / N, "valid": 1.0}


def test_what_could_not_be_judged_is_in_no_mean(outcome):
    episode = TextEpisode()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parent)
        prompts = [episode.begin(row) for row in make_rows(ODD, N, "test", 3, {"difficulty": 0.0})]
    judged = sum(int(prompt.split()[3]) % 2 == 0 for prompt in prompts)
    assert 0 < judged < N
    assert metrics(outcome, ODD) == {"success": 1.0, "reward": 1.0, "valid": judged / N}
