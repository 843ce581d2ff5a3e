"""Rollout workers in a real Ray cluster: they answer as the engine in this process does, and lost ones are replaced."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
import torch
from palaestra.agents.engines.engine import ENGINES, check_engine
from palaestra.agents.engines.ray_engine import RayEngine
from palaestra.agents.engines.sampler import Completion, Request
from palaestra.agents.grpo.config import TrainConfig
from palaestra.agents.grpo.rollouts.environment_processes import EnvironmentProcesses
from palaestra.agents.grpo.rollouts.environments import Environments, begin
from palaestra.errors import InputError
from palaestra.scripts.cli import main

CPUS = {"num_cpus": 1, "object_store_memory": 80_000_000}


def converse(
    engine: Any, sessions: int, turns: int, disturb: Callable[[int], None] = lambda step: None
) -> tuple[dict[int, list[Completion]], list[int]]:
    """Random conversations, of all that a request can ask for. Return the answers of each session, and the order in
    which they came; ``disturb`` is called before each step."""
    rng = random.Random(0)

    def ask(session: int, turn: int) -> Request:
        ids = rng_of[session].choices(range(5, 100), k=1 + (session + turn) % 9)
        forced = (7, 8) if session % 3 == 1 else ()
        seed = None if session % 2 else 100 * session + turn
        return Request(session, ids, 12, (1.0, 0.5, 0.0)[session % 3], session % 2 == 0, forced, session % 4, seed)

    rng_of = {session: random.Random(rng.random()) for session in range(sessions)}
    said: dict[int, list[Completion]] = {session: [] for session in range(sessions)}
    order, step = [], 0
    for session in said:
        engine.submit(ask(session, 0))
    while True:
        disturb(step := step + 1)
        if not (completions := engine.step()):
            return said, order
        for completion in completions:
            session = completion.session
            order.append(session)
            said[session].append(completion)
            if len(said[session]) < turns:
                engine.submit(ask(session, len(said[session])))
            else:
                engine.close(session)


def one_gb(language: Any) -> float:
    """GB of the keys and values of a conversation of 400 tokens and the place after it."""
    config = language.model.config
    size = next(language.model.parameters()).element_size()
    return 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * 401 * size / 1e9


def ids_of(said: dict[int, list[Completion]]) -> dict[int, list[Any]]:
    return {session: [(each.ids, each.finish) for each in answers] for session, answers in said.items()}


@pytest.fixture(scope="module")
def two_nodes(ray_nodes) -> Generator[dict[str, Any]]:
    """The nodes of `engine`, by their ids."""
    nodes = {node.node_id: node for node in (ray_nodes.add_node(**CPUS) for _ in range(2))}
    yield nodes
    for node in nodes.values():
        ray_nodes.remove_node(node)


@pytest.fixture(scope="module")
def engine(ray_nodes, two_nodes, small) -> Generator[RayEngine]:
    """Two workers on two nodes, each with room for fewer conversations than it holds."""
    engine = RayEngine.serve(
        small, 8, 400, address=ray_nodes.address, workers=2, tokens=3, cache_gb=3.5 * one_gb(small)
    )
    engine.load_weights(0)
    yield engine
    engine.shut_down()


def test_two_workers_sample_the_tokens_of_the_engine_in_this_process(engine, small):
    own = ENGINES["torch"].serve(small, 8, 400)
    engine.seed(5)
    said, _ = converse(engine, 8, 3)
    assert engine.abilities == own.abilities - {"truncation", "logits", "soft"}
    # Requests without a seed of their own are left out: each engine has its own noise for them.
    expected, _ = converse(own, 8, 3)
    for session in range(0, 8, 2):
        assert ids_of(said)[session] == ids_of(expected)[session]
        for one, other in zip(said[session], expected[session], strict=True):
            assert one.logps == pytest.approx(other.logps, abs=1e-5)
            assert one.entropies == pytest.approx(other.entropies, abs=1e-5)
            assert [[token for token, _ in place] for place in one.top] == [[t for t, _ in p] for p in other.top]
    # Each kept to its own memory, which held 3 of its 4 conversations.
    rows = [worker.actor.__ray_call__.remote(lambda actor: actor._engine._cache.rows) for worker in engine._workers]
    assert engine._ray.get(rows) == [3, 3]
    # Both had some to answer.
    assert len({place.node for place in engine.places()}) == 2


def test_workers_that_die_or_hang_in_mid_step_are_replaced_and_no_bit_is_other(engine, caplog, monkeypatch):
    engine.seed(5)
    undisturbed = converse(engine, 8, 3)
    engine.seed(6)
    assert ids_of(converse(engine, 8, 3)[0]) != ids_of(undisturbed[0])
    before = [place.process for place in engine.places()]

    start = engine._start

    def start_patiently(workers: Any) -> None:
        if workers:
            engine._patience = 300.0
        start(workers)

    def disturb(step: int) -> None:
        if step == 4:
            assert all(worker.busy for worker in engine._workers)
            engine._patience = 10.0  # longer than it takes to see that the other one is dead
            os.kill(before[0], signal.SIGSTOP)
            os.kill(before[1], signal.SIGKILL)

    monkeypatch.setattr(engine, "_start", start_patiently)
    engine.seed(5)
    assert converse(engine, 8, 3, disturb) == undisturbed
    assert not set(before) & {place.process for place in engine.places()}
    assert "worker 0 was lost (it did not answer within 10 seconds)" in caplog.text
    assert "worker 1 was lost (The actor died" in caplog.text


def test_the_next_version_of_the_weights_is_sampled_from_and_no_earlier_one(engine, small):
    request = Request(0, [5, 6, 7], 0, forced=range(20, 40))

    def score(sampler: Any) -> tuple[float, ...]:
        sampler.submit(request)
        (answer,) = sampler.step()
        sampler.close(0)
        return answer.logps

    other = small.copy()
    other.model.requires_grad_(True)
    engine.follow(other)
    engine.load_weights(1)
    old = score(engine)
    assert old == pytest.approx(score(ENGINES["torch"].serve(small, 1, 400)), abs=1e-5)
    with torch.no_grad():
        for weight in other.model.parameters():
            weight.mul_(1.1)
    engine.load_weights(1)
    assert score(engine) == old
    engine.load_weights(2)
    new = score(engine)
    assert new == pytest.approx(score(ENGINES["torch"].serve(other, 1, 400)), abs=1e-5)
    assert new != pytest.approx(old, abs=1e-2)


def test_without_room_for_a_lost_worker_the_others_take_over_its_episodes(
    engine, ray_nodes, two_nodes, caplog, monkeypatch
):
    engine.seed(5)
    undisturbed, _ = converse(engine, 8, 3)

    def disturb(step: int) -> None:
        if step == 4:
            lost = engine.places()[0]
            ray_nodes.remove_node(two_nodes.pop(lost.node), allow_graceful=False)
            with contextlib.suppress(ProcessLookupError):
                os.kill(lost.process, signal.SIGKILL)

    start = engine._start

    def start_shortly(workers: Any) -> None:
        before, engine._patience = engine._patience, 4.0 if workers else engine._patience
        start(workers)
        engine._patience = before

    monkeypatch.setattr(engine, "_start", start_shortly)
    engine.seed(5)
    said, _ = converse(engine, 8, 3, disturb)
    assert ids_of(said) == ids_of(undisturbed)
    assert len(engine.places()) == 1
    assert "had no room for a rollout worker (1 CPUs) for 4 seconds; the run goes on with 1 workers" in caplog.text


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (Request(0, [5] * 390, 11), "session 0 would reach 401 tokens; the limit is 400"),
        (Request(0, [5], 3, forced=[10**6]), r"forced ids must lie in \[0, "),
    ],
)
def test_a_request_that_no_worker_can_answer_is_refused_here(engine, request_, said):
    with pytest.raises(ValueError, match=said):
        engine.submit(request_)


def test_environments_live_in_the_cluster_and_outlive_their_processes(ray_nodes):
    node = ray_nodes.add_node(**CPUS)
    processes = EnvironmentProcesses(1, seconds=60.0, address=ray_nodes.address)
    far, near = (Environments("palaestra/GuessNumber-v0", None, where).take() for where in (processes, None))
    params = near.unwrapped.param_space.at(0.5)
    assert begin(far, 3, params) == begin(near, 3, params)
    (host,) = processes.hosts
    for turn in range(3):
        assert far.step("9") == near.step("9")
        if turn == 1:
            os.kill(host.process, signal.SIGKILL)
    assert host.process not in [each.process for each in processes.hosts]
    processes.close()
    ray_nodes.remove_node(node)


LINE = (
    "palaestra/Arithmetic-v0 --axis digits=1 terms=2 operations=+ --regularisers entropy_bonus(coefficient=0.5) "
    "--lr 0.003 --steps 4 --prompts 2 --samples 4 --max-new-tokens 10 --final-episodes 4 --checkpoint-every 1 --track "
    "--patience.no-signal 0 --patience.truncated 0 --threads 1 --context 300"
)


def test_a_run_goes_on_when_a_node_is_lost_and_resumes_when_all_are(ray_nodes, small, tmp_path, monkeypatch, capsys):
    """One worker that decodes a token a round has the batches of the engine in this process, so that each bit of a run
    is the same."""
    small.save(tmp_path / "model")
    line = ["train", *LINE.split(), "--model", str(tmp_path / "model")]
    on_ray = ["--ray", ray_nodes.address, "--engine-option", "tokens=1"]
    assert main([*line, "--out", str(tmp_path / "here")]) == 0
    nodes = {node.node_id: node for node in (ray_nodes.add_node(**CPUS) for _ in range(2))}
    rounds, ask = [], RayEngine._ask

    def ask_and_lose(self: RayEngine, worker: Any) -> Any:
        answer = ask(self, worker)
        rounds.append(len(worker.rounds))
        if len(rounds) in (36, 49):  # in the second step and in the third
            os.kill(worker.place.process, signal.SIGSTOP)  # so that it does not answer before its node is lost
            ray_nodes.remove_node(nodes.pop(worker.place.node), allow_graceful=False)
            os.kill(worker.place.process, signal.SIGKILL)  # as a machine that is lost takes it along
            if not nodes:
                self._patience = 3.0
        return answer

    monkeypatch.setattr(RayEngine, "_ask", ask_and_lose)
    assert main([*line, *on_ray, "--out", str(tmp_path / "there")]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "had no room for a rollout worker (1 CPUs) for 3 seconds; start nodes with: ray start" in said
    steps = len(read(tmp_path / "there"))
    assert 1 <= steps < 4
    node = ray_nodes.add_node(**CPUS)
    try:
        assert main(["train", "--resume", str(tmp_path / "there")]) == 0
    finally:
        ray_nodes.remove_node(node)
    rows = read(tmp_path / "here")
    assert len({row["entropy"] for row in rows}) == 4
    for name in ("metrics", "trajectories", "evaluations"):
        here, there = ((tmp_path / folder / f"{name}.jsonl").read_bytes() for folder in ("here", "there"))
        assert here == there, name


def read(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"workers": 0}, "the engine option workers must be"),
        ({"address": "ray://here:10001"}, "cannot reach it through ray://here:10001"),
        ({"patience": 0}, "the engine option patience"),
        ({"cache_gb": 0}, "the engine option cache_gb must be a finite number above 0, not 0"),
        ({"cache_gb": "all"}, "the engine option cache_gb must be a finite number above 0, not 'all'"),
    ],
)
def test_options_that_cannot_be_used_are_refused(options, said):
    with pytest.raises(InputError, match=said):
        check_engine("ray", options, {})


def test_a_cache_that_holds_no_conversation_is_refused_before_the_cluster_is_joined(small, monkeypatch):
    monkeypatch.setattr("palaestra.agents.engines.ray_engine.Cluster", None)
    with pytest.raises(InputError, match="holds no conversation of 400 tokens"):
        RayEngine.serve(small, 8, 400, workers=2, cache_gb=0.9 * one_gb(small))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "--workers 2 --engine-option cache_gb=-1",
            "the engine option cache_gb must be a finite number above 0, not -1",
        ),
        ("--workers 2 --engine vllm", "the engine 'vllm' does not run in workers of a Ray cluster"),
        ("--ray local --engine vllm", "the engine 'vllm' does not run in workers of a Ray cluster"),
    ],
)
def test_a_command_line_without_sense_is_refused(line, said, tmp_path, capsys):
    assert main(["train", *line.split(), "--out", str(tmp_path / "run")]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "run").exists()


def test_several_workers_alone_are_on_this_machine():
    assert TrainConfig(workers=2).serving == ("ray", {"address": "local", "workers": 2})
    assert TrainConfig(workers=1).serving == ("torch", {})


def test_without_ray_the_extra_is_named(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["train", "--ray", "local", "--out", str(tmp_path / "run")]) == 2
    assert "pip install 'palaestra[ray]'" in capsys.readouterr().err
