"""A real chat model, SmolLM2-135M, through the commands as they are typed: played, trained, resumed and exported."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from palaestra.agents.grpo.run.folder import find_checkpoint
from palaestra.agents.language.model import LanguageModel
from palaestra.integrations import trl
from palaestra.scripts.cli import main

NAME = "smollm2-135m"
TASK = ["palaestra/Arithmetic-v0", "--axis", "digits=1", "terms=2"]
# Entropy gives a gradient where all samples earn the same.
TRAIN = (
    f"--model {NAME} --prompts 2 --samples 2 --max-new-tokens 8 --regularisers entropy_bonus --warmup.steps 0 "
    "--threads 1 --lr-warmup 0 --eval-every 0 --final-episodes 1 --teacher random"
)


@pytest.fixture(autouse=True)
def converted(real_models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALAESTRA_CACHE", str(real_models))


@pytest.fixture(scope="module")
def run(real_models: Path, tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """A run of one step, resumed to two."""
    folder = tmp_path_factory.mktemp("real") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PALAESTRA_CACHE", str(real_models))
        assert main(["train", *TASK, *TRAIN.split(), "--steps", "1", "--out", str(folder)]) == 0
        assert main(["train", "--resume", str(folder), "--steps", "2"]) == 0
    yield folder
    shutil.rmtree(folder)  # two gigabytes


def read_rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_it_answers_in_its_chat_template(tmp_path):
    out, report = tmp_path / "played.jsonl", tmp_path / "report.json"
    words = ["--agent", NAME, "--greedy", "--max-new-tokens", "16", "--episodes", "8", "--json", str(report)]
    assert main(["eval", *TASK, *words, "--out", str(out)]) == 0
    assert json.loads(report.read_text())["agent"] == NAME
    answers = [row["turns"][0]["action"] for row in read_rows(out)]
    assert len(answers) == 8
    # It begins a sentence, or with a number; few of its sums are right.
    assert sum(bool(re.match(r"(To|The|In|If|First|We|Let|I)\b|-?\d", answer)) for answer in answers) >= 6, answers
    assert not any("<|im_" in answer for answer in answers)


def test_trl_is_given_the_folder_of_its_weights():
    folder = Path(trl.model(NAME))
    assert (folder / "model.safetensors").stat().st_size > 500e6
    assert json.loads((folder / "config.json").read_text())["num_hidden_layers"] == 30
    assert trl.model("mine/of-the-hub") == "mine/of-the-hub"


def test_it_is_trained_and_resumed_under_the_name_that_was_typed(run):
    assert json.loads((run / "config.json").read_text())["model"] == NAME
    rows = read_rows(run / "metrics.jsonl")
    assert [(row["step"], row["updates"]) for row in rows] == [(1, 1), (2, 1)]
    assert all(0 < row["sampler_gap"] < 1e-4 for row in rows)


def test_a_checkpoint_is_a_whole_model_and_so_is_its_export(run, tmp_path):
    assert main(["export", str(run), "--out", str(tmp_path / "model")]) == 0
    from transformers import AutoModelForCausalLM, AutoTokenizer

    exported = AutoModelForCausalLM.from_pretrained(tmp_path / "model").state_dict()
    assert AutoTokenizer.from_pretrained(tmp_path / "model").chat_template is not None
    policy = LanguageModel.load(find_checkpoint(run)).model.state_dict()
    start = LanguageModel.load(NAME).model.state_dict()
    assert all((exported[name] == weight).all() for name, weight in policy.items())
    assert any((start[name] != weight).any() for name, weight in policy.items())
    shutil.rmtree(tmp_path / "model")


def test_the_model_itself_is_exported_by_name(tmp_path, capsys):
    assert main(["export", NAME]) == 2
    assert f"'{NAME}' is no folder to write to; give --out." in capsys.readouterr().err
    assert main(["export", NAME, "--out", str(tmp_path / "model")]) == 0
    assert (tmp_path / "model" / "model.safetensors").stat().st_size > 5e8
    shutil.rmtree(tmp_path / "model")
