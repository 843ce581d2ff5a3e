"""Pools of solutions by several authors: a second model, an endpoint, the data set, the policy itself."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.config import TrainConfig, WarmUp
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES, StageOverrides
from palaestra.agents.grpo.rollouts.episode_starts import Start
from palaestra.agents.grpo.rollouts.guided import Guided
from palaestra.agents.grpo.rollouts.solution_sources import SOLUTIONS, gather_solutions, make_sources
from palaestra.agents.grpo.rollouts.teacher_rows import TeacherRows
from palaestra.errors import InputError

from ..arms import ENV, trained_on  # isort: skip
from .conftest import ARITHMETIC, GUESS, WORDS, answer_of, read_rows, secret_of, steps_of  # isort: skip

_server = Path(__file__).parents[3] / "rewards" / "judges" / "chat_server.py"
_spec = importlib.util.spec_from_file_location("chat_server", _server)
assert _spec is not None
assert _spec.loader is not None
chat = importlib.util.module_from_spec(_spec)
sys.modules.setdefault("chat_server", chat)
_spec.loader.exec_module(chat)


def pool_of(w: Any, text: str) -> list[tuple[str, ...]]:
    """The actions of each solution in the pool of the world's task."""
    (pool,) = gather_solutions(make_sources(text), [w.task], w.player)
    for solution in pool:
        turns = solution.played.trajectory.turns
        assert {origin for turn in turns for origin in turn.origins} == {Origin.TEACHER}
        assert {logp for turn in turns for logp in turn.logps} == {0.0}
    return [solution.actions for solution in pool]


def test_the_pool_holds_the_right_solutions_of_every_author_once(world):
    worked = "\n".join(steps_of(world(WORDS, "")))
    right = steps_of(world(WORDS, ""))[-1]
    w, second = world(WORDS, "0"), world(WORDS, lambda session, text: [worked, f"So it is {right}.", "0"][session % 3])
    w.player.teacher = lambda: second.player
    # Of three samples of the model one is the oracle's text, one is wrong.
    assert pool_of(w, "oracle + model(samples=3)") == [(worked,), (f"So it is {right}.",)]


def test_the_rationale_of_a_record_is_a_solution_where_it_differs_from_the_steps(world, tmp_path):
    solution = "How many pens? ** She has 3+4=<<3+4=7>>7 pens.\nShe gives away 2, so 7-2=<<7-2=5>>5 are left."
    plain = "It has 3+4=7 legs.\nIt loses 2, so 7-2=5 are left."
    for name, text, count in (("notes", solution, 2), ("plain", plain, 1)):
        record = {"question": "How many are left?", "answer": f"{text}\n#### 5"}
        source = tmp_path / f"{name}.jsonl"
        source.write_text(json.dumps(record), encoding="utf-8")
        w = world("palaestra/GSM8K-v0", "0", options={"source": str(source), "split": "all"})
        found = pool_of(w, "oracle + rationale")
        assert len(found) == count
        assert found[-1] == (f"{text}\n5",)


def test_a_second_model_is_asked_for_where_the_run_has_none(world):
    w = world(WORDS, "0")
    with pytest.raises(InputError, match="--teacher-model"):
        pool_of(w, "model")
    assert len(pool_of(w, "oracle + model(optional=True)")) == 1
    with pytest.raises(InputError, match="--teacher-model"):
        Objective(RECIPES["luffy"].with_(rollout="teacher_rows(sources='model')"))
    assert Objective(RECIPES["luffy"].with_(rollout="teacher_rows(sources='model')"), teacher_model=True)


def test_an_endpoint_writes_solutions_and_the_verifier_drops_wrong_ones(world):
    right = answer_of(world(ARITHMETIC, ""))
    w = world(ARITHMETIC, "0")
    replies = [f"I add.\n{right}", "I guess.\n0", f"I add.\n{right}"]
    with chat.serving(lambda request, number: {"content": replies[number]}) as server:
        found = pool_of(w, f"endpoint(model='m', base_url='{server.url}', samples=3, concurrency=1)")
    assert found == [(f"I add.\n{right}",)]
    (system, user) = server.requests[0]["messages"]
    assert "step" in system["content"]
    assert steps_of(w)[0].partition(" =")[0] in user["content"]


def test_an_endpoint_plays_a_game_turn_by_turn(world):
    secret = secret_of(world(GUESS, ""))
    w = world(GUESS, "1")
    with chat.serving(lambda request, number: {"content": "1" if number == 0 else secret}) as server:
        assert pool_of(w, f"endpoint(model='m', base_url='{server.url}')") == [("1", secret)]
    assert [len(request["messages"]) for request in server.requests] == [2, 4]


def test_a_failing_endpoint_gives_no_solution_and_a_refusing_one_stops_the_run(world, caplog):
    w = world(ARITHMETIC, "0")
    with chat.serving(lambda request, number: {"status": 500}) as server:
        assert pool_of(w, f"endpoint(model='m', base_url='{server.url}', retries=0)") == []
    assert "500" in caplog.text
    with chat.serving(lambda request, number: {"status": 401}) as server, pytest.raises(InputError, match="401"):
        pool_of(w, f"endpoint(model='m', base_url='{server.url}', retries=0)")


def test_own_successes_are_found_again_by_their_task(world):
    right = steps_of(world(WORDS, ""))[-1]
    own = f"It must be {right}."
    strategy = TeacherRows(trigger="all_fail", merge="failures", most=4, sources="oracle + own(most=2)")
    strategy.play([world(WORDS, own).task], world(WORDS, own).player)
    state = json.loads(json.dumps(strategy.state_dict()))
    resumed = TeacherRows(trigger="all_fail", merge="failures", most=4, sources="oracle + own(most=2)")
    resumed.load_state_dict(state)
    w = world(WORDS, "0", samples=3)
    (group,) = resumed.play([w.task], w.player)
    worked = "\n".join(steps_of(w))
    assert [t.turns[0].action for t in group.trajectories] == [worked, own, "0"]
    assert [t.success for t in group.trajectories] == [True, True, False]


def test_guided_episodes_take_turns_with_the_solutions_of_the_pool(world):
    steps = steps_of(world(WORDS, ""))
    other = f"First one adds.\nThen one takes away.\n{steps[-1]}"
    w, second = world(WORDS, "0", samples=4), world(WORDS, other)
    w.player.teacher = lambda: second.player
    strategy = Guided(trigger="always", amount="fixed(share=0.5)", template="{hint}", sources="oracle + model")
    strategy.play([w.task], w.player)
    prompts = [w.texts(request.ids) for request in w.sampler.requests]
    assert ["First one adds." in prompt for prompt in prompts] == [False, True, False, True]
    assert [steps[0] in prompt for prompt in prompts] == [True, False, True, False]


def test_a_task_without_a_right_solution_is_not_guided(world):
    w, second = world(WORDS, "0"), world(WORDS, "0")
    w.player.teacher = lambda: second.player
    (group,) = Guided(sources="model").play([w.task], w.player)
    assert (len(w.sampler.requests), [t.guided for t in group.trajectories]) == (2, [0.0, 0.0])
    (group,) = Guided(trigger="always", sources="model").play([w.task], w.player)
    assert (len(w.sampler.requests), [t.guided for t in group.trajectories]) == (4, [0.0, 0.0])


def test_a_solution_that_outgrows_the_context_is_no_row_but_still_gives_hints(world):
    w = world(WORDS, "0")
    (start,) = w.player.play([Start(w.task)])
    w.player.limits = replace(w.player.limits, context=len(start.trajectory.turns[0].obs_ids) + 20)
    assert pool_of(w, "oracle") == []
    ((solution,),) = gather_solutions(make_sources("oracle"), [w.task], w.player, complete=False)
    assert solution.text(0.75).splitlines() == steps_of(w)[:3]


def test_unknown_sources_are_refused_with_close_names():
    with pytest.raises(InputError, match="oracle"):
        make_sources("orakle")
    with pytest.raises(InputError, match="at least one"):
        make_sources("none")
    with pytest.raises(InputError, match="samples"):
        make_sources("model(sample=2)")
    assert {"oracle", "rationale", "model", "endpoint", "own"} <= set(SOLUTIONS)


def test_a_run_takes_teacher_rows_from_an_endpoint_by_the_words_of_the_command_line(train):
    """The endpoint solves the addition that it reads; its row joins each group beside the policy's own samples."""

    def solve(request: dict[str, Any], number: int) -> dict[str, Any]:
        a, b = request["messages"][-1]["content"].partition(" =")[0].split(" + ")
        return {"content": f"Adding gives {int(a) + int(b)}.\n{int(a) + int(b)}"}

    with chat.serving(solve) as server:
        rollout = f"teacher_rows(sources=\"endpoint(model='m', base_url='{server.url}')\")"
        words = ["--axis", "digits=1", "terms=2", "operations=+", "--recipe", "luffy", "--rollout", rollout]
        run = train(ARITHMETIC, *words, "--prompts", "2")
    assert len(server.requests) == 2
    (row,) = read_rows(run, "metrics")
    assert row["episodes"] == 6


def test_a_run_samples_its_second_model_for_teacher_rows(small, tmp_path):
    for name in ("policy", "teacher"):
        trained_on(small, {"policy": "a", "teacher": "b"}[name]).save(tmp_path / name)
    config = TrainConfig(
        env=ENV,
        recipe="ampo_multi_guidance",
        stages=StageOverrides(
            rollout="teacher_rows(trigger='all_fail', merge='failures', most=2, sources='model(samples=2)')"
        ),
        model=str(tmp_path / "policy"),
        teacher_model=str(tmp_path / "teacher"),
        teacher="random",
        warmup=WarmUp(steps=0),
        steps=1,
        prompts=1,
        samples=4,
        max_new_tokens=3,
        context=256,
        final_episodes=1,
        threads=1,
        track=(),
    )
    learner = Learner.start(tmp_path / "run", config)
    learner._prepare()
    (group,) = learner.parts.collector.collect(1).groups
    # Both samples of the teacher say b; equal texts are one row.
    assert [t.turns[0].action for t in group.trajectories] == ["b", "a", "a", "a"]
    assert [t.version for t in group.trajectories] == [-1, 0, 0, 0]
