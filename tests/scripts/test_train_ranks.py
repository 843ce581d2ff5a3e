"""``palaestra train --nproc`` as it is typed: real processes, which are lost in the middle of a step."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import pytest
import torch
from palaestra.agents.language.model import LanguageModel
from palaestra.agents.language.tokenizer import character_tokenizer
from palaestra.scripts.cli import main

SIZES = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 512,
}
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "llama": {"tie_word_embeddings": False},
    "qwen2": {"tie_word_embeddings": True},
    "gemma3_text": {"sliding_window": 16, "query_pre_attn_scalar": 32},
}
# Rewards differ by length, as random weights solve nothing.
QUICK = [
    *("--axis", "digits=1", "terms=2:3", "--warmup.steps", "0", "--prompts", "2", "--samples", "4", "--threads", "1"),
    *("--eval-every", "0", "--eval-episodes", "2", "--final-episodes", "2", "--checkpoint-every", "1", "--track"),
    *("--context", "256", "--max-new-tokens", "8", "--shaping", "overlong(cache=8, max_tokens=8)", "--nproc", "2"),
]
STEPS = 12
# Sums, of which none is made once there are as many steps as a file says: no run ends before it is disturbed.
HELD = """
import os, pathlib, time
import palaestra
from palaestra.envs.math.arithmetic import Arithmetic

class Held(Arithmetic):
    __doc__ = Arithmetic.__doc__

    def generate(self, rng, params):
        while "HELD_AT" in os.environ and has_to_wait(*map(pathlib.Path, os.environ["HELD_AT"].split(os.pathsep))):
            time.sleep(0.01)
        return super().generate(rng, params)

def has_to_wait(limit, log):
    return log.exists() and log.read_text().count("\\n") >= int(limit.read_text())

palaestra.envs.register("test/Held-v0", Held)
"""


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The id of an environment that waits where it is told to."""
    (tmp_path / "held.py").write_text(HELD)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    return "held:test/Held-v0"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> Callable[[str], str]:
    """``checkpoint(architecture)``: the folder of a small model with random weights."""
    from transformers import AutoConfig, AutoModelForCausalLM

    def make(name: str) -> str:
        tokenizer = character_tokenizer()
        words = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
        words |= {"bos_token_id": None, "eos_token_id": tokenizer.eos_token_id}
        with torch.random.fork_rng():
            torch.manual_seed(1)
            model = AutoModelForCausalLM.from_config(
                AutoConfig.for_model(name, **SIZES, **words, **ARCHITECTURES[name])
            )
        folder = tmp_path_factory.mktemp(name)
        LanguageModel.of(model.eval(), tokenizer).save(folder)
        return str(folder)

    return make


@pytest.fixture(scope="module", autouse=True)
def end_preloaded() -> Iterator[None]:
    """End the process that those of runs started here are forks of; it would stay until the tests end."""
    yield
    forkserver._forkserver._stop()  # type: ignore[attr-defined]


def rows(run: Path, log: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / f"{log}.jsonl").read_text().splitlines()]


def weights(run: Path) -> dict[str, bytes]:
    (newest,) = sorted((run / "checkpoints").iterdir(), key=lambda path: path.stat().st_mtime)[-1:]
    return {path.name: path.read_bytes() for path in newest.glob("*.safetensors")}


@pytest.mark.parametrize("name", ["qwen2", "gemma3_text"])
def test_two_processes_train_a_checkpoint(name, checkpoint, tmp_path):
    model, run = Path(checkpoint(name)), tmp_path / "run"
    arguments = ["palaestra/Arithmetic-v0", "--model", str(model), "--steps", "1", *QUICK, "--out", str(run)]
    assert main(["train", *arguments]) == 0
    (row,) = rows(run, "metrics")
    assert row["grad_norm"] > 0
    assert weights(run) != {path.name: path.read_bytes() for path in model.glob("*.safetensors")}


class Running:
    """A run in processes of its own, with its temporary files in ``folder``. Its environment waits after the step that
    it is held at."""

    def __init__(self, *arguments: str, run: Path, folder: Path):
        self.run = run
        self.limit = run.with_name("limit")
        self.seen: set[int] = set()
        self.hold_at(2)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "palaestra.scripts.train", *arguments, "--out", str(run)],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(folder), "HELD_AT": f"{self.limit}{os.pathsep}{run / 'metrics.jsonl'}"},
        )

    def hold_at(self, steps: int) -> None:
        self.limit.with_name("next limit").write_text(str(steps))
        self.limit.with_name("next limit").rename(self.limit)

    def ranks(self) -> list[int]:
        """Process ids, in order of the ranks: forks of a process that this one has started."""
        children = children_of(self.process.pid)
        forks = [fork for child in children for fork in children_of(child)]
        self.seen |= {*children, *forks}
        return sorted(forks)

    def lose(self, rank: int) -> int:
        """Kill a process as soon as it has taken part in a whole step and begins the next; its process id."""
        before = self.steps()
        self.hold_at(before + 2)
        wait_for(lambda: self.steps() > before and len(self.ranks()) == 2, self)
        lost = self.ranks()[rank]
        os.kill(lost, signal.SIGKILL)
        wait_for(lambda: not exists(lost))
        self.hold_at(before + 3)
        return lost

    def steps(self) -> int:
        log = self.run / "metrics.jsonl"
        return log.read_text().count("\n") if log.exists() else 0


def children_of(pid: int) -> list[int]:
    """Process ids of the children that a process has at present."""
    try:
        return [int(c) for task in Path(f"/proc/{pid}/task").iterdir() for c in (task / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def wait_for(condition: Callable[[], bool], running: Running | None = None, seconds: float = 300) -> None:
    """Wait until a condition holds; fail if a run ends before."""
    end = time.monotonic() + seconds
    while not condition():
        assert running is None or running.process.poll() is None, running.process.communicate()[1]
        assert time.monotonic() < end
        time.sleep(0.01)


def exists(pid: int) -> bool:
    """True if a process has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_run_that_lost_processes_in_mid_step_is_the_run_that_lost_none(checkpoint, held, tmp_path, capsys):
    model = checkpoint("llama")
    arguments = [held, "--model", model, "--steps", str(STEPS), *QUICK]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    temporary = Path(tempfile.mkdtemp())  # a short path, as sockets lie below it
    assert main(["train", *arguments, "--out", str(whole)]) == 0

    running = Running(*arguments, "--max-restarts", "1", run=broken, folder=temporary)
    try:
        running.lose(0)
        killed = running.lose(1)
        begun = time.monotonic()
        said = running.process.communicate(timeout=300)[1]
        assert time.monotonic() - begun < 120
    finally:
        running.process.kill()
    assert running.process.returncode == 1
    wait_for(lambda: not any(map(exists, running.seen)), seconds=60)
    temporary.rmdir()  # it is empty
    first, last = [line for line in said.splitlines() if line.startswith("palaestra: ")]
    assert "goes on from what is complete (start 2)" in first
    assert f"process 1 of 2 (pid {killed}) was killed by SIGKILL after 1 restart" in last
    assert last.endswith(f"continue with: palaestra train --resume {broken} --nproc 2")
    assert running.steps() < STEPS

    assert main(["train", "--resume", str(broken), "--nproc", "2"]) == 0
    for log in ("metrics", "proposals", "trajectories", "evaluations"):
        assert rows(broken, log) == rows(whole, log)
    assert weights(broken) == weights(whole)
    capsys.readouterr()


def test_sigterm_to_the_command_ends_a_run_of_several_processes_after_its_step(checkpoint, held, tmp_path):
    temporary = Path(tempfile.mkdtemp())
    arguments = [held, "--model", checkpoint("llama"), "--steps", str(STEPS), *QUICK]
    running = Running(*arguments, run=tmp_path / "run", folder=temporary)
    try:
        wait_for(lambda: running.steps() >= 1, running)
        running.process.send_signal(signal.SIGTERM)
        running.hold_at(STEPS + 1)
        said = running.process.communicate(timeout=300)[1]
    finally:
        running.process.kill()
    assert running.process.returncode == 143
    assert f"continue with: palaestra train --resume {tmp_path}/run --nproc 2" in " ".join(said.split())
    assert 1 <= running.steps() < STEPS
    temporary.rmdir()


def test_a_run_whose_models_are_split_goes_on_after_a_loss_and_in_one_process(checkpoint, held, tmp_path, capsys):
    arguments = [held, "--model", checkpoint("qwen2"), *QUICK, "--shard"]
    whole, broken, temporary = tmp_path / "whole", tmp_path / "broken", Path(tempfile.mkdtemp())
    assert main(["train", *arguments, "--steps", "5", "--out", str(whole)]) == 0
    running = Running(*arguments, "--steps", "5", "--max-restarts", "1", run=broken, folder=temporary)
    try:
        running.lose(1)
        running.hold_at(1_000)
        said = running.process.communicate(timeout=300)[1]
    finally:
        running.process.kill()
    assert running.process.returncode == 0
    assert "goes on from what is complete (start 2)" in said
    wait_for(lambda: not any(map(exists, running.seen)), seconds=60)
    temporary.rmdir()  # it is empty
    for log in ("metrics", "proposals", "trajectories", "evaluations"):
        assert rows(broken, log) == rows(whole, log)
    assert weights(broken) == weights(whole)

    newest = broken / "checkpoints" / "step-000005"
    assert not (newest / "optimizer.pt").exists()
    assert len(list((newest / "shards").glob("__*"))) == 2
    assert main(["train", "--resume", str(broken), "--steps", "6"]) == 0
    assert rows(broken, "metrics")[-1]["updates"] == 1
    assert not (broken / "checkpoints" / "step-000006" / "shards").exists()
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--shard"], ["--shard", "--nproc 2"]),
        (
            ["--model", "any", "--nproc", "2", "--shard", "--warmup.steps", "7"],
            ["warm-up of 7 steps", "--warmup.steps 0"],
        ),
        (["--nproc", "0"], ["--nproc", "0"]),
        (["--nproc", "2", "--rank-timeout", "0"], ["--rank-timeout", "0.0"]),
        (["--max-restarts", "1"], ["--max-restarts 1", "--nproc"]),
        (["--nproc", "2", "--device", "cuda:0"], ["cuda:0", "--device cuda"]),
        (["--nproc", "2", "--axis", "digits=77"], ["77"]),
        (["palaestra/DoorKey-v0", "--learner", "ppo", "--nproc", "2"], ["'ppo'", "--nproc"]),
    ],
)
def test_what_several_processes_cannot_do_is_refused_before_they_start(arguments, words, tmp_path, capsys):
    assert main(["train", *arguments, "--out", str(tmp_path / "run")]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    for word in words:
        assert word in line
    assert list(tmp_path.iterdir()) == []


def test_processes_that_torchrun_started_are_not_multiplied(monkeypatch, capsys):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert main(["train", "--nproc", "3"]) == 2
    assert "torchrun has started 2 processes" in capsys.readouterr().err
    assert main(["train", "palaestra/DoorKey-v0", "--learner", "ppo"]) == 2
    assert "trains in one process" in capsys.readouterr().err
