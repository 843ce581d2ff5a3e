"""Runs on several environments: what is played, measured, evaluated and resumed."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from palaestra.agents.grpo.config import TrainConfig, WarmUp
from palaestra.agents.grpo.learner import Learner, TrainingProgress
from palaestra.agents.grpo.run.folder import newest_checkpoint
from palaestra.agents.grpo.run.mixture import environment_of, join_evaluations
from palaestra.errors import InputError
from palaestra.scripts.report import write_report

SUMS, EQUATIONS = "palaestra/Arithmetic-v0", "palaestra/LinearEquation-v0"
TURN_ON = {"kind": "linear", "start": 0.0, "end": 3.0, "over": 3}


@pytest.fixture(scope="module")
def config(small, tmp_path_factory) -> TrainConfig:
    folder = tmp_path_factory.mktemp("model") / "small"
    small.save(folder)
    return TrainConfig(
        env=(SUMS, EQUATIONS),
        env_weights=(1, TURN_ON),
        axes={"Arithmetic.digits": 1, "Arithmetic.terms": [2, 3]},
        model=str(folder),
        warmup=WarmUp(steps=0),
        steps=4,
        prompts=8,
        samples=2,
        max_new_tokens=3,
        eval_every=0,
        final_episodes=5,
        checkpoint_every=2,
        track=(),
        threads=1,
    )


@pytest.fixture(scope="module")
def whole(config, tmp_path_factory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "whole"
    assert Learner.start(run, config).run()
    return run


def rows(run: Path, log: str) -> list[dict]:
    return [json.loads(line) for line in (run / f"{log}.jsonl").read_text().splitlines()]


def test_weights_move_the_blend_from_one_environment_to_both(whole):
    drawn = {step: Counter() for step in (1, 2, 3, 4)}
    for row in rows(whole, "proposals"):
        drawn[row["step"]][row["params"]["env"]] += 1
    assert drawn[1] == {"Arithmetic": 8}
    assert drawn[4]["LinearEquation"] >= 4
    assert [row["teacher/share/LinearEquation"] for row in rows(whole, "metrics")] == [0.0, 0.5, 2 / 3, 0.75]


def test_metrics_and_evaluations_are_of_each_environment(whole):
    first, *_, last = rows(whole, "metrics")
    assert "success/LinearEquation" not in first
    assert last["share/Arithmetic"] + last["share/LinearEquation"] == 1.0
    assert {"success/Arithmetic", "reward/LinearEquation", "length/Arithmetic"} <= set(last)
    for row in rows(whole, "evaluations"):
        assert row["episodes"] == 10
        assert {name: part["episodes"] for name, part in row["environments"].items()} == {
            "Arithmetic": 5,
            "LinearEquation": 5,
        }
    assert "LinearEquation" in write_report(whole).read_text()


def test_axes_are_those_of_each_environment(whole):
    for row in rows(whole, "proposals"):
        own = {name for name in row["params"] if name != "env"}
        assert all(name.startswith(f"{row['params']['env']}.") for name in own)
        assert row["params"].get("Arithmetic.digits", 1) == 1
        assert len(row["unit"]) == len(row["params"])


def test_a_run_that_was_stopped_continues_bit_for_bit(whole, config, tmp_path):
    run = tmp_path / "stopped"
    learner = Learner.start(run, config)

    def stop_at_two(progress: TrainingProgress) -> None:
        if progress.phase == "train" and progress.step == 2:
            learner.stop()

    assert not learner.run(stop_at_two)
    assert Learner.resume(run, config).run()
    for name in ("model.safetensors", "state.json"):
        assert (newest_checkpoint(run) / name).read_bytes() == (newest_checkpoint(whole) / name).read_bytes()
    for log in ("metrics", "proposals", "evaluations", "trajectories"):
        assert rows(run, log) == rows(whole, log)


@pytest.mark.parametrize(
    ("teacher", "options", "metric"),
    [
        ("sec", {}, "value/LinearEquation"),
        ("sec", {"inside": "alp-gmm"}, "families/value/1"),
        ("plr", {}, "observed"),
        ("mopps", {}, "observed"),
    ],
)
def test_teachers_of_every_kind_choose_among_the_environments(teacher, options, metric, config, tmp_path):
    changed = replace(config, teacher=teacher, teacher_options=options, env_weights=(), steps=1, final_episodes=1)
    learner = Learner.start(tmp_path / "run", changed)
    assert learner.run()
    assert f"teacher/{metric}" in rows(tmp_path / "run", "metrics")[0]
    assert learner.parts.teacher.metrics()["observed"] == 8


def test_priorities_are_those_of_each_environment(config, tmp_path):
    learner = Learner.start(tmp_path / "run", replace(config, recipe="recap", env_weights=(1, 1), steps=1))
    assert learner.run()
    state = json.loads((newest_checkpoint(tmp_path / "run") / "state.json").read_text())["objective"]
    assert '"Arithmetic"' in json.dumps(state)
    assert '"LinearEquation"' in json.dumps(state)


def test_a_game_and_a_question_are_trained_together(config, tmp_path):
    envs = (SUMS, "palaestra/GuessNumber-v0")
    changed = replace(config, env=envs, env_weights=(), axes={"GuessNumber.bits": 4}, steps=1, max_new_tokens=2)
    assert Learner.start(tmp_path / "run", changed).run()
    turns = {row["params"]["env"]: len(row["turns"]) for row in rows(tmp_path / "run", "trajectories")}
    assert turns["Arithmetic"] == 1 < turns["GuessNumber"]


def test_a_single_environment_is_played_as_itself():
    config = TrainConfig(env=(SUMS,), axes={"digits": 1}, env_options={"answer_format": "boxed"})
    assert config.env == SUMS
    assert environment_of(config) == (SUMS, {"axes": {"digits": 1}, "answer_format": "boxed"})


def test_options_reach_the_environment_that_they_name():
    config = TrainConfig(
        env=(SUMS, EQUATIONS), env_options={"LinearEquation.answer_format": "boxed", "thoughts": ["t"]}
    )
    env_id, options = environment_of(config)
    assert env_id == "palaestra/Mixture-v0"
    assert options["thoughts"] == ["t"]
    assert [entry["options"] for entry in options["envs"]] == [{}, {"answer_format": "boxed"}]
    with pytest.raises(InputError, match="did you mean 'LinearEquation'"):
        environment_of(replace(config, env_options={"LinearEquatoin.size": 3}))


def test_the_configuration_outlives_json_and_reads_those_of_one_environment():
    config = TrainConfig(env=(SUMS, EQUATIONS), env_weights=(1, TURN_ON))
    assert TrainConfig.from_json(json.loads(json.dumps(config.to_json()))) == config
    assert TrainConfig.from_json({"env": SUMS}).env == SUMS
    assert TrainConfig().to_json()["env"] == SUMS
    assert config.differences(replace(config, env_weights=(1, 1)))[0].startswith("env_weights")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"env_weights": (1,)}, "1 weights were given for 2 environments"),
        ({"env": ()}, "at least one environment"),
        ({"env": (SUMS, "palaestra/Nothing-v0")}, "Nothing"),
        ({"axes": {"digits": 1}}, r"Arithmetic\.digits"),
        ({"env_weights": (1, TURN_ON), "pool": 4}, "cannot follow the weights"),
        ({"env_weights": (1, -1)}, "the weight of LinearEquation"),
    ],
)
def test_what_cannot_be_mixed_is_refused_in_one_sentence(changes, words):
    with pytest.raises(InputError, match=words) as error:
        Learner(TrainConfig(**{"env": (SUMS, EQUATIONS), **changes}))
    assert "\n" not in str(error.value)


def test_joined_evaluations_count_every_episode():
    def row(episodes: int, success: float) -> dict:
        part = {"low": 0.0, "high": 0.2, "episodes": episodes, "success": success, "ci": [0.0, 1.0]}
        return {"step": 3, "split": "test", **part, "by_difficulty": [part]}

    joined = join_evaluations({"A": row(10, 0.5), "B": row(30, 0.1), "C": row(0, float("nan"))})
    assert joined["episodes"] == 40
    assert joined["success"] == pytest.approx(8 / 40)
    assert joined["by_difficulty"][0]["success"] == pytest.approx(8 / 40)
    assert joined["environments"]["B"]["success"] == 0.1


def test_a_run_asks_in_the_form_that_it_records_unless_its_options_say_otherwise(whole):
    assert json.loads((whole / "config.json").read_text())["prompt_form"] == "terse"
    texts = [
        row["turns"][0]["observation"] for row in rows(whole, "trajectories") if row["params"]["env"] == "Arithmetic"
    ]
    assert texts
    assert all(text.endswith("= ? (integer)") for text in texts)
    config = TrainConfig(env=SUMS, prompt_form="terse")
    assert environment_of(config) == (SUMS, {"prompt": "terse"})
    assert environment_of(replace(config, env_options={"prompt": "sentences"})) == (SUMS, {"prompt": "sentences"})
    _, options = environment_of(replace(config, env=(SUMS, EQUATIONS), env_options={"Arithmetic.prompt": "sentences"}))
    assert options["prompt"] == "terse"
    assert options["envs"][0]["options"] == {"prompt": "sentences"}


def test_a_run_of_an_earlier_version_goes_on_in_terse_prompts(whole, tmp_path):
    run = tmp_path / "old"
    shutil.copytree(whole, run)
    stored = json.loads((run / "config.json").read_text())
    del stored["prompt_form"]
    (run / "config.json").write_text(json.dumps(stored))
    environments = Learner.resume(run).parts.environments
    env = environments.take()
    assert env.reset(seed=0, options={"params": {"env": "Arithmetic"}})[0].endswith("= ? (integer)")
