"""Whole runs: their files, and that neither kill -9 nor Ctrl-C loses or changes anything."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from palaestra.agents.grpo.config import StageOverrides, TrainConfig, WarmUp
from palaestra.agents.grpo.learner import Learner, TrainingProgress
from palaestra.agents.grpo.recipes import RECIPES, c, register_recipe
from palaestra.agents.grpo.run.folder import RunFolder, newest_checkpoint
from palaestra.agents.language.language_agent import LanguageAgent
from palaestra.agents.language.model import LanguageModel
from palaestra.errors import InputError
from palaestra.scripts.cli import main

STEPS = 14


@pytest.fixture(scope="module")
def model(small, tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("model") / "small"
    small.save(folder)
    return str(folder)


@pytest.fixture(scope="module")
def config(model) -> TrainConfig:
    return TrainConfig(
        model=model,
        axes={"digits": 1, "terms": [2, 3]},
        warmup=WarmUp(steps=6, batch=8),
        steps=STEPS,
        prompts=3,
        samples=4,
        max_new_tokens=6,
        eval_every=4,
        eval_episodes=10,
        final_episodes=12,
        checkpoint_every=3,
        threads=1,
    )


def rows(run: Path, log: str) -> list[dict]:
    return [json.loads(line) for line in (run / f"{log}.jsonl").read_text().splitlines()]


def outcome(run: Path) -> dict[str, bytes]:
    """All that must be bit-identical between two runs: weights, optimiser, teacher, and every log but the timings."""
    newest = newest_checkpoint(run)
    assert newest is not None
    found = {name: (newest / name).read_bytes() for name in ("model.safetensors", "state.json")}
    for log in ("metrics", "proposals", "evaluations", "trajectories"):
        found[log] = (run / f"{log}.jsonl").read_bytes()
    return found


@pytest.fixture(scope="module")
def whole(config, tmp_path_factory) -> Path:
    """An uninterrupted run in this process."""
    run = tmp_path_factory.mktemp("runs") / "whole"
    assert Learner.start(run, config).run()
    return run


def test_a_run_leaves_a_row_a_step_and_an_evaluation_at_both_ends(whole):
    assert [row["step"] for row in rows(whole, "metrics")] == list(range(1, STEPS + 1))
    timings = rows(whole, "timings")
    assert [row["step"] for row in timings if "seconds" in row] == list(range(1, STEPS + 1))
    assert [row["step"] for row in timings if row.get("evaluation_s", 0) > 0] == [0, 4, 8, 12, STEPS]
    assert [row["step"] for row in rows(whole, "evaluations")] == [0, 4, 8, 12, STEPS]
    assert len(rows(whole, "proposals")) == 3 * STEPS
    assert newest_checkpoint(whole).name == f"step-{STEPS:06d}"
    assert TrainConfig.from_json(json.loads((whole / "config.json").read_text())).steps == STEPS


def test_sampled_log_probabilities_are_those_that_are_trained(whole):
    assert max(row.get("sampler_gap", 0.0) for row in rows(whole, "metrics")) < 1e-5


def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not(whole, config, tmp_path):
    Learner.start(tmp_path / "again", config).run()
    Learner.start(tmp_path / "other", replace(config, seed=1)).run()
    assert outcome(tmp_path / "again") == outcome(whole)
    assert outcome(tmp_path / "other")["model.safetensors"] != outcome(whole)["model.safetensors"]


def test_a_run_that_was_stopped_continues_bit_for_bit(whole, config, tmp_path):
    run = tmp_path / "stopped"
    learner = Learner.start(run, config)

    def stop_at_five(progress: TrainingProgress) -> None:
        if progress.phase == "train" and progress.step == 5:
            learner.stop()

    assert not learner.run(stop_at_five)
    assert newest_checkpoint(run).name == "step-000005"
    assert Learner.resume(run).run()
    assert outcome(run) == outcome(whole)


def command(config: TrainConfig, run: Path) -> list[str]:
    options = {
        "--model": config.model,
        "--warmup.steps": 6,
        "--warmup.batch": 8,
        "--steps": STEPS,
        "--prompts": 3,
        "--samples": 4,
        "--max-new-tokens": 6,
        "--eval-every": 4,
        "--eval-episodes": 10,
        "--final-episodes": 12,
        "--checkpoint-every": 3,
        "--threads": 1,
        "--out": run,
    }
    flat = [str(part) for pair in options.items() for part in pair]
    return ["--axis", "digits=1", "terms=2:3", *flat]


# Waits after a step until there is a file "end", so that it goes no further before somebody comes to end it.
PATIENT = """
import pathlib, sys, time
from palaestra.agents.grpo.run.folder import RunFolder
from palaestra.scripts.train import main
append = RunFolder.append
def append_and_wait(run, log, rows):
    append(run, log, rows)
    while log == "metrics" and run.read(log, last, last) and not pathlib.Path("end").exists():
        time.sleep(0.01)
last, RunFolder.append = int(sys.argv[1]), append_and_wait
sys.exit(main(sys.argv[2:]))
"""


def start(arguments: list[str], cwd: Path, last: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", PATIENT, str(last), *arguments]
    return subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def wait_for_steps(process: subprocess.Popen[bytes], run: Path, steps: int) -> None:
    metrics = run / "metrics.jsonl"
    deadline = time.monotonic() + 300
    while not (metrics.exists() and metrics.read_text().count("\n") >= steps):
        assert process.poll() is None, process.stderr.read().decode()
        assert time.monotonic() < deadline, "the run made no progress"
        time.sleep(0.002)


def test_a_run_that_was_killed_and_then_interrupted_gives_the_same_bits_and_ctrl_c_says_how_to_resume(
    whole, config, tmp_path
):
    run = tmp_path / "run"
    killed = start(command(config, run), tmp_path, last=7)
    wait_for_steps(killed, run, 4)  # one row further than the checkpoint
    os.kill(killed.pid, signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    killed.stderr.close()
    interrupted = start(["--resume", str(run)], tmp_path, last=STEPS - 1)
    wait_for_steps(interrupted, run, 8)
    interrupted.send_signal(signal.SIGINT)
    (tmp_path / "end").touch()
    _, errors = interrupted.communicate(timeout=300)
    assert interrupted.returncode == 130
    assert f"palaestra train --resume {run}" in " ".join(errors.decode().split())
    assert Learner.resume(run).run()
    assert outcome(run) == outcome(whole)


def test_rewards_that_change_during_training_resume_where_they_were(config, tmp_path):
    shrinking = {"kind": "linear", "start": 1, "end": 0}
    faded = c("scheduled", child=c("overlong", cache=6, max_tokens=6), schedule=shrinking)
    if "fading-for-test" not in RECIPES:
        register_recipe(replace(RECIPES["dr_grpo"], name="fading-for-test", shaping=(faded,)))
    config = replace(config, recipe="fading-for-test")
    Learner.start(tmp_path / "whole", config).run()
    punished = [row["shaping/overlong"] for row in rows(tmp_path / "whole", "metrics")]
    assert punished[0] < 0
    assert punished[-1] == 0
    assert all("overlong" in row["shaping"] for row in rows(tmp_path / "whole", "trajectories"))
    learner = Learner.start(tmp_path / "stopped", config)
    learner.run(lambda progress: learner.stop() if progress.phase == "train" and progress.step == 5 else None)
    state = json.loads((newest_checkpoint(tmp_path / "stopped") / "state.json").read_text())
    assert state["objective"]["rewards"] == [{"step": 5, "steps": STEPS}]
    Learner.resume(tmp_path / "stopped").run()
    assert outcome(tmp_path / "stopped") == outcome(tmp_path / "whole")


def test_the_teacher_is_told_how_many_groups_the_run_will_bring(config):
    learner = Learner(replace(config, teacher="palaestra", steps=300, prompts=8))
    assert learner.parts.teacher.state_dict()["own"]["outcomes"] == 2400


def test_a_teacher_is_told_what_the_environments_can_earn(config, tmp_path):
    """Walking into a ball earns -1, which no teacher takes for a return in 0 to 1."""
    short = {"steps": 2, "checkpoint_every": 1, "eval_every": 0, "final_episodes": 2, "warmup": WarmUp(steps=0)}
    env = ("palaestra/MovingObstaclesText-v0", "palaestra/Arithmetic-v0")
    costly = replace(config, env=env, axes={}, env_options={}, teacher="sec", max_new_tokens=4, **short)
    learner = Learner.start(tmp_path / "run", costly)
    assert learner.parts.teacher.return_range == (-1.0, 1.0)
    assert learner.run()
    given = Learner(replace(costly, teacher_options={"return_range": [-2.0, 1.0]}))
    assert given.parts.teacher.return_range == (-2.0, 1.0)
    # Runs of versions that did not ask the environments go on as they began.
    newest = newest_checkpoint(tmp_path / "run")
    assert newest is not None
    state = json.loads((newest / "state.json").read_text())
    state["teacher"]["settings"]["return_range"] = [0.0, 1.0]
    for part in state["teacher"]["own"].get("parts", []):
        part["settings"]["return_range"] = [0.0, 1.0]
    (newest / "state.json").write_text(json.dumps(state))
    assert Learner.resume(tmp_path / "run", replace(costly, steps=3)).parts.teacher.return_range == (0.0, 1.0)


def test_rewards_read_what_the_environment_supplies(config, tmp_path):
    judged = StageOverrides(shaping="error-kind")
    short = {"steps": 1, "eval_every": 0, "warmup": WarmUp(steps=0), "teacher": "random", "stages": judged}
    changed = replace(config, env="palaestra/ProgramSynthesis-v0", axes={"steps": [1, 1], "examples": [2, 2]}, **short)
    assert Learner.start(tmp_path / "run", changed).run()
    assert {row["shaping"]["error-kind"] for row in rows(tmp_path / "run", "trajectories")} <= {-1.0, -0.6, -0.3, 1.0}
    with pytest.raises(InputError, match="'error-kind' needs 'tests' of every episode, which neither this env"):
        Learner(replace(config, stages=judged))


def test_rewards_are_trained_on_the_reference_and_the_rubric_that_a_question_supplies(config, tmp_path):
    short = {"steps": 1, "eval_every": 0, "teacher": "random", "stages": StageOverrides(shaping="answer-f1 + rubric")}
    assert Learner.start(tmp_path / "run", replace(config, **short)).run()
    kept = rows(tmp_path / "run", "trajectories")
    assert kept
    for row in kept:
        assert (row["shaping"]["answer-f1"] == 1.0) == row["is_success"]
        # A sum of two numbers has no value on the way, and so a rubric of its answer alone.
        assert row["shaping"]["rubric"] == row["is_success"] or row["params"]["terms"] > 2


@pytest.mark.parametrize(
    ("shaping", "reward"), [("subgoals", 0.0), ("progress-penalties", 0.0), ("potential", 1.0), ("waypoints", 1.0)]
)
def test_shaping_along_the_way_trains_on_what_doorkey_supplies(config, tmp_path, shaping, reward):
    short = {"steps": 1, "eval_every": 0, "warmup": WarmUp(steps=0), "teacher": "random", "prompts": 1, "samples": 2}
    sizes = {"max_new_tokens": 2, "final_episodes": 1, "axes": {"size": 5, "obstacles": 0}}
    changed = replace(config, env="palaestra/DoorKeyText-v0", stages=StageOverrides(shaping=shaping), **short, **sizes)
    assert Learner.start(tmp_path / "run", changed).run()
    # An untrained model takes no key; the terms of a potential sum to minus that of the start, whatever happens.
    assert [row["shaping"] for row in rows(tmp_path / "run", "trajectories")] == [{shaping: pytest.approx(reward)}]


def test_a_run_can_be_continued_further_than_it_was_meant_to_go(whole, config, tmp_path):
    run = tmp_path / "longer"
    Learner.start(run, replace(config, steps=5)).run()
    assert Learner.resume(run, replace(config, steps=STEPS)).run()
    # The shorter run evaluated once more, at its end.
    longer, expected = outcome(run), outcome(whole)
    assert longer.pop("evaluations") != expected.pop("evaluations")
    assert longer == expected


def test_rows_after_the_checkpoint_and_a_torn_row_are_cut_off(whole, config, tmp_path):
    run = RunFolder.create(tmp_path / "torn", config)
    run.append("metrics", [{"step": 1}, {"step": 2}, {"step": 3}])
    with (run.path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4, "succ')
    run.rewind(2)
    assert rows(run.path, "metrics") == [{"step": 1}, {"step": 2}]


def test_a_checkpoint_that_could_not_be_written_leaves_the_older_ones(config, tmp_path):
    run = RunFolder.create(tmp_path / "full", config)
    with run.checkpoint(3) as place:
        (place / "a").write_text("a")

    def fail() -> None:
        with run.checkpoint(6) as place:
            (place / "a").write_text("half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail()
    assert [path.name for path in (run.path / "checkpoints").iterdir()] == ["step-000003"]


@pytest.mark.parametrize("name", ["optimizer.pt", "state.json", "model.safetensors", "reference.pt"])
@pytest.mark.parametrize("damage", [None, b"", b"{}"], ids=["missing", "empty", "garbage"])
def test_a_damaged_checkpoint_is_refused_with_the_remedy_and_nothing_changes(whole, tmp_path, name, damage):
    run = tmp_path / "damaged"
    shutil.copytree(whole, run)
    newest = newest_checkpoint(run)
    if damage is None:
        (newest / name).unlink()
    else:
        (newest / name).write_bytes(damage)
    saved = TrainConfig.from_json(json.loads((run / "config.json").read_text()))
    before = (run / "config.json").read_bytes()
    with pytest.raises(InputError, match=rf"{newest.name}' cannot be read \(.+\); remove it to resume") as caught:
        Learner.resume(run, replace(saved, steps=STEPS + 1))
    assert len(str(caught.value)) < 600
    assert (run / "config.json").read_bytes() == before
    shutil.rmtree(newest)
    assert Learner.resume(run).step < STEPS


def test_a_full_disk_is_reported_as_such_by_writers_of_tensors(config, tmp_path, monkeypatch):
    run = RunFolder.create(tmp_path / "full", config)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=0))

    def fail() -> None:
        with run.checkpoint(3):
            # What torch says when it cannot write.
            raise RuntimeError("[enforce fail at inline_container.cc] unexpected pos 64 vs 0")

    with pytest.raises(OSError, match="No space left") as caught:
        fail()
    assert caught.value.errno == errno.ENOSPC
    assert list((run.path / "checkpoints").iterdir()) == []


def test_fewer_steps_than_have_been_taken_are_refused(whole, config):
    with pytest.raises(InputError, match=f"has taken {STEPS} steps already"):
        Learner.resume(whole, replace(config, steps=STEPS - 1))


def test_adapters_of_the_tiny_model_outlive_the_checkpoint_that_their_model_came_from(config, tmp_path):
    tiny = replace(
        config, model="tiny", lora=2, steps=5, checkpoint_every=1, eval_every=0, warmup=WarmUp(steps=1, batch=2)
    )
    learner = Learner.start(tmp_path / "run", tiny)
    learner.run(lambda progress: learner.stop() if progress.phase == "train" and progress.step == 1 else None)
    assert Learner.resume(tmp_path / "run").run()
    assert LanguageModel.load(newest_checkpoint(tmp_path / "run")).adapters is not None


def test_the_tiny_model_is_warmed_up_before_it_gets_adapters(config, tmp_path):
    # Otherwise the reference, which is the model without them, would be random.
    tiny = replace(config, model="tiny", lora=2, steps=0, warmup=WarmUp(steps=2, batch=2))
    learner = Learner.start(tmp_path / "run", tiny)
    learner.run()
    fresh = LanguageModel.tiny(tiny.seed).model.get_input_embeddings().weight
    assert not learner.language.model.get_input_embeddings().weight.equal(fresh)


def test_an_agent_loads_from_a_run_and_from_a_model_folder(whole, model):
    for source in (whole, model):
        agent = LanguageAgent.load(source, max_new_tokens=4)
        (action,) = agent.act(["1 + 1 = ?"], [{}])
        assert isinstance(action, str)


def test_a_model_survives_saving_and_loading_bit_for_bit(small, model):
    loaded = LanguageModel.load(model)
    for before, after in zip(small.model.parameters(), loaded.model.parameters(), strict=True):
        assert before.equal(after)
    assert type(loaded.renderer) is type(small.renderer)


def test_loaded_weights_are_aligned_in_memory_like_fresh_ones(model):
    # Matrix products round differently on unaligned weights, so a resumed run would drift from one that went through.
    loaded = LanguageModel.load(model)
    assert {weight.data_ptr() % 64 for weight in loaded.model.parameters()} == {0}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"recipe": "gpro"}, r"unknown recipe 'gpro'; did you mean .*'grpo'"),
        ({"teacher": "alp_gmm"}, r"unknown teacher 'alp_gmm'; did you mean 'alp-gmm'"),
        (
            {"env": "palaestra/Arithmetik-v0"},
            r"unknown environment 'palaestra/Arithmetik-v0'; did you mean 'palaestra/Arithmetic-v0'",
        ),
        ({"packer": "shared"}, r"unknown packer 'shared'; did you mean 'shared_prefix'"),
        ({"axes": {"digits": [1, 99]}}, r"digits.*99"),
        ({"axes": {"digit": 1}}, r"digit"),
        ({"model": "/nowhere/at/all"}, r"'/nowhere/at/all'"),
        ({"teacher_model": "/nowhere/at/all"}, r"'/nowhere/at/all'"),
        ({"context": 12}, r"first observation of \d+ tokens and 6 to answer exceed the context of 12"),
        ({"stages": StageOverrides(surrogate="clip(low=-1)")}, r"low of clip must be a number in \[0, 1\], not -1"),
        ({"samples": 1}, "samples=1 teaches nothing"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(config, tmp_path, changes, sentence):
    run = tmp_path / "never"
    with pytest.raises(InputError, match=sentence) as caught:
        Learner.start(run, replace(config, **changes))
    assert "\n" not in str(caught.value)
    assert not run.exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("steps", -1),
        ("lr", 0.0),
        ("prompts", 0),
        ("temperature", float("nan")),
        ("kl", -1.0),
        ("kl", float("nan")),
        ("beta2", 1.5),
        ("weight_decay", -1.0),
    ],
)
def test_values_out_of_range_are_refused_by_name(config, field, value):
    with pytest.raises(InputError, match=field):
        replace(config, **{field: value})


def test_a_folder_that_exists_is_refused_with_the_remedy(whole, config):
    with pytest.raises(InputError, match=r"exists and is not empty; continue it with --resume"):
        Learner.start(whole, config)


def test_a_checkpoint_of_another_configuration_is_refused(whole, config):
    with pytest.raises(InputError, match=r"another configuration \(lr: 0.1 instead of 0.0003\)"):
        Learner.resume(whole, replace(config, lr=0.1))


def test_a_folder_without_a_run_cannot_be_resumed(tmp_path):
    with pytest.raises(InputError, match="is not a run folder"):
        Learner.resume(tmp_path)


def test_a_folder_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(InputError, match="a folder without a model"):
        LanguageModel.load(tmp_path)


@pytest.mark.parametrize(
    ("recipe", "teacher"), [("grpo", "sec"), ("dr_grpo", "random"), ("dapo", "sec"), ("rloo", "random")]
)
def test_a_run_on_several_turns_in_several_mini_batches_and_epochs(config, tmp_path, recipe, teacher):
    run = tmp_path / "run"
    changed = replace(
        config,
        env="palaestra/GuessNumber-v0",
        axes={},
        recipe=recipe,
        teacher=teacher,
        warmup=WarmUp(steps=1, batch=4),
        steps=2,
        minibatches=2,
        epochs=2,
        final_episodes=2,
    )
    assert Learner.start(run, changed).run()
    assert any(len(row["turns"]) > 1 for row in rows(run, "trajectories"))


# Other ways to hold the weights --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [{"lora": 2}, {"dtype": "bfloat16", "fp32_head": True}, {"gradient_checkpointing": True}],
    ids=["lora", "bfloat16", "checkpointing"],
)
def test_adapters_half_precision_and_recomputation_train_and_resume_bit_for_bit(changes, config, tmp_path):
    short = {"steps": 4, "checkpoint_every": 2, "eval_every": 0, "warmup": WarmUp(steps=0), "lr": 3e-3}
    changed = replace(config, stages=StageOverrides(shaping="overlong(cache=6, max_tokens=6)"), **short, **changes)
    assert Learner.start(tmp_path / "whole", changed).run()
    learner = Learner.start(tmp_path / "halves", changed)

    def stop_at_two(progress: TrainingProgress) -> None:
        if progress.phase == "train" and progress.step == 2:
            learner.stop()

    learner.run(stop_at_two)
    assert Learner.resume(tmp_path / "halves").run()
    name = "adapter_model.safetensors" if changed.lora else "model.safetensors"
    first, last = (newest_checkpoint(tmp_path / run) / name for run in ("whole", "halves"))
    assert first.read_bytes() == last.read_bytes()
    assert (tmp_path / "whole" / "metrics.jsonl").read_bytes() == (tmp_path / "halves" / "metrics.jsonl").read_bytes()
    assert max(row.get("sampler_gap", 0.0) for row in rows(tmp_path / "whole", "metrics")) < (
        0.05 if changed.dtype == "bfloat16" else 1e-5
    )


@pytest.mark.parametrize("lora", [0, 2])
def test_a_run_goes_on_from_another_directory_and_where_the_model_it_began_with_is_gone(
    lora, model, config, tmp_path, monkeypatch
):
    (tmp_path / "started").mkdir()
    shutil.copytree(model, tmp_path / "started" / "base")
    monkeypatch.chdir(tmp_path / "started")
    short = replace(config, model="base", steps=1, eval_every=0, warmup=WarmUp(steps=0), final_episodes=1, lora=lora)
    told: list[str] = []
    assert Learner.start("run", short).run(notify=told.append)
    monkeypatch.chdir(tmp_path)
    run = tmp_path / "started" / "run"
    if not lora:
        (tmp_path / "started" / "base").rename(tmp_path / "gone")
    resumed: list[str] = []
    assert main(["eval", str(run), "--episodes", "1"]) == 0
    assert Learner.resume(run, replace(short, model=f"{tmp_path}/started/base", steps=2)).run(notify=resumed.append)
    assert next(text for text in told if "parameters" in text) in resumed
    if lora:
        (tmp_path / "started" / "base").rename(tmp_path / "gone")
        with pytest.raises(InputError, match="is no longer there; put it back") as refused:
            Learner.resume(run)
        assert "remove it" not in str(refused.value)


def test_a_second_run_of_a_folder_is_refused_and_the_first_is_unaffected(whole, config, tmp_path):
    shutil.copytree(whole, tmp_path / "run")
    first = Learner.resume(tmp_path / "run", replace(config, steps=STEPS + 1))
    for attempt in (Learner.resume, lambda run: Learner.start(run, config)):
        with pytest.raises(InputError, match=rf"a run is under way in '{tmp_path}/run' \(process {os.getpid()} "):
            attempt(tmp_path / "run")
    assert LanguageAgent(tmp_path / "run").name == "language"
    Learner.inspect(tmp_path / "run").close()
    assert first.run()
    assert [row["step"] for row in rows(tmp_path / "run", "metrics")] == list(range(1, STEPS + 2))
    Learner.resume(tmp_path / "run").close()


@pytest.mark.parametrize("schedule", ["cosine", "linear", '{"kind": "linear", "start": 0.5, "end": 1}', "constant"])
def test_a_rate_that_jumps_as_a_run_goes_further_is_said(schedule, config, tmp_path):
    short = replace(config, steps=2, lr=1e-3, lr_warmup=0, lr_schedule=schedule, warmup=WarmUp(steps=0))
    short = replace(short, eval_every=0, final_episodes=1)
    Learner.start(tmp_path / "run", short).run()
    told: list[str] = []
    Learner.resume(tmp_path / "run", replace(short, steps=4)).run(notify=told.append)
    jumps = [sentence for sentence in told if "learning rate jumps" in sentence]
    rates = [row["lr"] for row in rows(tmp_path / "run", "metrics")]
    wanted = (
        f"from {rates[1]:.3g} at step 2 to {rates[2]:.3g} at step 3, as its schedule now spans 4 steps instead of 2"
    )
    assert [wanted in sentence for sentence in jumps] == ([] if schedule == "constant" else [True])


def test_adapters_are_compared_with_the_model_below_them(config, tmp_path):
    lengths_differ = StageOverrides(shaping="overlong(cache=6, max_tokens=6)")
    changed = replace(config, steps=4, eval_every=0, warmup=WarmUp(steps=0), lr=3e-2, lora=2, stages=lengths_differ)
    learner = Learner.start(tmp_path / "run", changed)
    assert learner.run()
    kl = [row["kl"] for row in rows(tmp_path / "run", "metrics")]
    assert kl[0] == pytest.approx(0.0, abs=1e-7)
    assert kl[-1] > 1e-6
    assert not (newest_checkpoint(tmp_path / "run") / "reference.pt").exists()


def test_a_reference_that_must_move_is_refused_with_adapters(config):
    with pytest.raises(InputError, match="cannot follow low-rank adapters"):
        Learner(replace(config, lora=2, stages=StageOverrides(reference="ema(alpha=0.9)")))
