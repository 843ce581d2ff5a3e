"""``palaestra train --learner reward-model`` as it is typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401  registers the environments
import pytest
import torch
from palaestra import rewards
from palaestra.agents.learners import load_player
from palaestra.agents.reward_training import RewardModelConfig
from palaestra.agents.reward_training.reward_model_run import first_error_rate
from palaestra.rewards import Episode, Step
from palaestra.rewards.models import RewardModel, StepLabel
from palaestra.rewards.models.model_rewards import load_models
from palaestra.scripts.cli import main

COLOURS, OTHERS = ("red", "green", "blue", "white"), ("one", "two", "three", "four")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs of a colour and a number, for forty prompts."""
    rows = [
        {"prompt": f"Name a colour ({n}).", "chosen": COLOURS[n % 4], "rejected": OTHERS[n // 4 % 4]} for n in range(40)
    ]
    path = tmp_path_factory.mktemp("pairs") / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def train(*words: str) -> int:
    return main(["train", "--learner", "reward-model", "--model", "ngrams", "--hidden", "8", *words])


def rows(run: Path, log: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / f"{log}.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def run(pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of forty steps on the pairs."""
    out = tmp_path_factory.mktemp("run") / "colours"
    words = [
        "--pairs",
        str(pairs),
        "--steps",
        "40",
        "--held-out",
        "0.3",
        "--checkpoint-every",
        "20",
        "--eval-every",
        "20",
    ]
    assert train(*words, "--out", str(out)) == 0
    return out


def test_it_learns_what_held_out_prompts_show_as_well(run: Path):
    losses = [row["loss"] for row in rows(run, "metrics")]
    assert losses[0] == pytest.approx(np.log(2), abs=0.1)
    assert losses[-1] < 0.5
    last = rows(run, "evaluations")[-1]
    assert last["success"] == 1.0
    assert {"calibration_error", "ci"} <= last.keys()
    assert {row["prompt"] for row in rows(run, "pairs")}.isdisjoint(row["prompt"] for row in rows(run, "held-out"))
    assert (run / "report.html").is_file()


def test_a_resumed_run_continues_as_if_it_had_not_stopped(pairs: Path, run: Path, tmp_path: Path):
    out = tmp_path / "again"
    words = ["--pairs", str(pairs), "--held-out", "0.3", "--checkpoint-every", "20", "--eval-every", "20"]
    assert train(*words, "--steps", "20", "--out", str(out)) == 0
    assert main(["train", "--resume", str(out), "--steps", "40"]) == 0
    assert rows(out, "metrics") == rows(run, "metrics")
    weights = [RewardModel.load(place / "model.safetensors").state_dict() for place in (out, run)]
    assert all(torch.equal(value, weights[1][name]) for name, value in weights[0].items())


def test_the_saved_model_rewards_episodes_alone_or_beside_the_environment(run: Path):
    def episode(text: str) -> Episode:
        return Episode("t", {}, (Step("Name a colour (3).", text, 0.0, {}, 1),), False, 0.0, True, False, None)

    alone = rewards.make("reward-model", model=str(run), alone=True)
    assert (alone.complete, rewards.make("reward-model", model=str(run)).complete) == (True, False)
    good, bad = (alone(episode(text)).reward for text in ("red", "two"))
    assert 1 > good > bad + 0.05 > 0.05


def test_an_ensemble_counts_as_its_worst_or_its_mean_minus_the_variance(pairs: Path, tmp_path: Path):
    out = tmp_path / "members"
    assert train("--pairs", str(pairs), "--steps", "2", "--members", "3", "--out", str(out)) == 0
    scores = np.array([model.score(["p"], ["red"]) for model in load_models(out)])
    assert len(set(scores[:, 0])) == 3
    step = (Step("p", "red", 0.0, {}, 1),)
    episode = Episode("t", {}, step, False, 0.0, True, False, None)
    for combine, wanted in (
        ("mean", scores.mean()),
        ("worst", scores.min()),
        ("uncertain", scores.mean() - scores.var()),
    ):
        reward = rewards.make("reward-model", model=str(out), combine=combine, squash=False)
        assert reward(episode).reward == pytest.approx(wanted)


def test_strength_flips_labels_that_the_models_contradict(pairs: Path, tmp_path: Path):
    words = ["--pairs", str(pairs), "--steps", "30", "--noise", "0.15", "--held-out", "0.1"]
    for name, more in (("noisy", ()), ("corrected", ("--strength", "3"))):
        assert train(*words, *more, "--out", str(tmp_path / name)) == 0
    wrong = {
        name: sum(row["chosen"] in OTHERS for row in rows(tmp_path / name, "pairs")) for name in ("noisy", "corrected")
    }
    assert wrong["noisy"] >= 4 > wrong["corrected"]
    corrected = rows(tmp_path / "corrected", "pairs")
    assert any(row["margin"] > 0.1 for row in corrected)
    assert any(row["smoothing"] == 0.2 for row in corrected)


def test_peers_train_on_fewer_pairs_as_the_run_goes_on(pairs: Path, tmp_path: Path):
    out = tmp_path / "peers"
    words = ["--pairs", str(pairs), "--steps", "5", "--batch", "10", "--peers", "--keep", "0.6"]
    assert train(*words, "--out", str(out)) == 0
    assert [row["pairs"] for row in rows(out, "metrics")] == [20, 18, 16, 14, 12]
    assert len(load_models(out)) == 2


@pytest.mark.parametrize("objective", ["pointwise", "regression", "contrastive", "meta"])
def test_every_objective_lowers_its_loss(objective: str, pairs: Path, tmp_path: Path):
    out = tmp_path / "run"
    assert train("--pairs", str(pairs), "--steps", "12", "--objective", objective, "--out", str(out)) == 0
    losses = [row["loss"] for row in rows(out, "metrics")]
    assert losses[-1] < losses[0]


def test_labelled_steps_of_spoilt_solutions_train_a_process_model(tmp_path: Path):
    words = ["palaestra/Arithmetic-v0", "--axis", "digits=1", "terms=2", "--objective", "process", "--questions", "12"]
    assert train(*words, "--steps", "3", "--out", str(tmp_path / "run")) == 0
    labels = rows(tmp_path / "run", "pairs")
    assert all(row["prefix"].count("\n") == row["step"] for row in labels)
    assert {row["right"] for row in labels} == {True, False}
    assert 0 <= rows(tmp_path / "run", "evaluations")[-1]["first_error"] <= 1


def test_the_first_wrong_step_or_its_lack_must_be_found():
    labels = [StepLabel("p", "", right, step, 2) for right, step in ((True, 0), (True, 1), (True, 0), (False, 1))]
    assert first_error_rate(labels, [1.0, 1.0, 1.0, -1.0]) == 1.0
    assert first_error_rate(labels, [1.0, -1.0, 1.0, -1.0]) == 0.5
    assert first_error_rate(labels, [1.0, 1.0, -1.0, -1.0]) == 0.5


def test_an_agents_attempts_make_pairs_and_a_best_of_n_curve(tmp_path: Path):
    lines = ("import random", "draw = random.Random(2)", "def act(text):", "    return draw.choice(['yes', 'no'])")
    (tmp_path / "guess.py").write_text("\n".join(lines))
    words = ["palaestra/Formats-v0", "--axis", "format=yes_no", "--player", f"{tmp_path / 'guess.py'}:act"]
    words += ["--attempts", "2", "--questions", "12", "--held-out", "0.5", "--steps", "2"]
    assert train(*words, "--out", str(tmp_path / "run")) == 0
    assert {row["chosen"] for row in rows(tmp_path / "run", "pairs")} <= {"yes", "no"}
    last = rows(tmp_path / "run", "evaluations")[-1]
    assert [point["n"] for point in last["best_of_n"]] == [1, 2]
    assert 0 < last["best_of_n"][0]["gold"] < 1


def test_the_model_judges_pairs(run: Path):
    env = gym.make("palaestra/JudgePairs-v0")
    observation, info = env.reset(seed=0)
    judge = load_player(run)
    (verdict,) = judge.act([observation], [info])
    model = RewardModel.load(run / "model.safetensors")
    judge.models = [type("Reversed", (), {"score": lambda self, *texts: [-value for value in model.score(*texts)]})()]  # type: ignore[attr-defined]
    assert {verdict, *judge.act([observation], [info])} == {"[[A]]", "[[B]]"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--peers", "--members", "2"], "peers are two models"),
        (["--objective", "process", "--strength", "3"], "labels of steps are no pairs"),
        (["--pairs", "missing.jsonl"], "there is no file or folder missing.jsonl"),
        (["--teacher-option", "a=1"], "no --teacher-option"),
        (["palaestra/GuessNumber-v0"], "questions with one answer"),
    ],
)
def test_bad_input_is_one_sentence(words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert train(*words, "--out", str(tmp_path / "run")) == 2
    error = capsys.readouterr().err.strip()
    assert said in error
    assert len(error.splitlines()) == 1


def test_prompts_have_the_form_of_the_run_whose_weights_a_model_has(tmp_path: Path):
    (tmp_path / "checkpoints").mkdir()
    for form in ("terse", "sentences"):
        (tmp_path / "config.json").write_text(json.dumps({"prompt_form": form}))
        assert RewardModelConfig(env="palaestra/Arithmetic-v0", model=str(tmp_path)).form == form
    assert RewardModelConfig(env="palaestra/Arithmetic-v0").form == "terse"
    assert RewardModelConfig(env="palaestra/Arithmetic-v0", model="ngrams").form == "sentences"
