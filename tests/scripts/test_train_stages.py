"""Stages of training: which words each run gets, where it starts, what is done again, and a real run of three."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.scripts import train
from palaestra.scripts.train_stages import is_finished, read_stages, run_stages

STAGES = """
env = "palaestra/Arithmetic-v0"
axis = { digits = 1, terms = "2:3" }
seed = 4

[[stages]]
name = "imitate"
recipe = "sft"
track = true

[[stages]]
name = "prefer"
recipe = "ln_dpo"

[[stages]]
name = "reinforce"
start = "imitate"
teacher-model = "{prefer}"
grid = { recipe = ["rto", "grpo"], seed = [0, 1, 2] }
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "stages.toml"
    file.write_text(text)
    return file


class Runs:
    """Stands for ``palaestra train``: writes down the words and leaves a finished run, or fails."""

    def __init__(self, fails: str = ""):
        self.fails = fails
        self.words: list[list[str]] = []

    def __call__(self, words: Sequence[str]) -> int:
        self.words.append(list(words))
        folder = Path(words[-1])
        folder.mkdir(parents=True, exist_ok=True)
        config = {"env": words[0], "recipe": "sft", "seed": 0, "steps": 3, "model": "tiny"}
        (folder / "config.json").write_text(json.dumps(config))
        if folder.name == self.fails:
            return 130
        (folder / "checkpoints" / "step-000003").mkdir(parents=True)
        (folder / "report.html").write_text("")
        return 0


def test_a_stage_starts_from_the_one_before_or_from_the_one_that_it_names(tmp_path: Path):
    train, out = Runs(), tmp_path / "out"
    assert run_stages(write(tmp_path, STAGES), out, train) == 0
    first, second, third, *_ = train.words
    common = ["palaestra/Arithmetic-v0"]
    axis = ["--axis", "digits=1", "terms=2:3", "--seed", "4"]
    assert first == [*common, *axis, "--recipe", "sft", "--track", "--out", str(out / "imitate")]
    assert second == [
        *common,
        "--model",
        str(out / "imitate"),
        *axis,
        "--recipe",
        "ln_dpo",
        "--out",
        str(out / "prefer"),
    ]
    assert third[third.index("--model") + 1] == str(out / "imitate")
    assert third[third.index("--teacher-model") + 1] == str(out / "prefer")


def test_a_grid_is_the_full_product_with_its_own_seeds(tmp_path: Path):
    runs = [run for run in read_stages(write(tmp_path, STAGES)) if run.choices]
    assert [(run.options["recipe"], run.options["seed"]) for run in runs] == [
        (recipe, seed) for recipe in ("rto", "grpo") for seed in (0, 1, 2)
    ]
    assert runs[0].name == "reinforce,recipe=rto,seed=0"
    assert len({run.name for run in runs}) == 6


def test_the_same_call_again_continues_and_does_nothing_twice(tmp_path: Path):
    file, out = write(tmp_path, STAGES), tmp_path / "out"
    assert run_stages(file, out, Runs(fails="prefer")) == 130
    assert is_finished(out / "imitate")
    assert not is_finished(out / "prefer")
    page = (out / "report.html").read_text()
    assert "prefer</a> (not finished)" in page
    assert "6 not begun yet" in page
    again = Runs()
    assert run_stages(file, out, again) == 0
    assert again.words[0] == ["--resume", str(out / "prefer")]
    assert len(again.words) == 7
    last = Runs()
    assert run_stages(file, out, last) == 0
    assert last.words == []
    with pytest.raises(InputError, match="begun with other options"):
        run_stages(write(tmp_path, STAGES.replace("ln_dpo", "dpo")), out, Runs())


def test_what_a_file_lacks_is_said(tmp_path: Path):
    for text, said in (
        ("", r"must have stages"),
        ("[[stages]]\nname='a'", "has no environment"),
        ("env='x'\n[[stages]]\nrecipe='sft'", "needs a name"),
        ("env='x'\n[[stages]]\nname='a'\nstart='b'", "'b'"),
        ("env='x'\n[[stages]]\nname='a'\nout='b'", "leave it out"),
        ("env='x'\n[[stages]]\nname='a'\n[stages.grid]\nseed=[1,2]\n[[stages]]\nname='b'", "name the stage"),
        ("env='x'\n[[stages]]\nname='a'\n[stages.grid]\nseed=1", "list of values"),
    ):
        with pytest.raises(InputError, match=said):
            read_stages(write(tmp_path, text))
    with pytest.raises(InputError, match="write it into"):
        train.main(["--stages", "stages.toml", "--steps", "4"])


def test_each_stage_trains_the_weights_of_the_one_before(
    small: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    small.save(tmp_path / "small")
    text = f"""
    env = "palaestra/Arithmetic-v0"
    axis = {{ digits = 1, terms = 2 }}
    teacher = "random"
    steps = 1
    prompts = 2
    samples = 2
    lr = 1e-2
    lr-warmup = 1
    max-new-tokens = 4
    max-episode-tokens = 4
    eval-every = 0
    final-episodes = 1
    "patience.no-signal" = 0

    [[stages]]
    name = "imitate"
    model = "{tmp_path / "small"}"
    recipe = "sft"
    max-new-tokens = 40
    max-episode-tokens = 40

    [[stages]]
    name = "reinforce"
    teacher-model = "{tmp_path / "small"}"
    recipe = "rto"
    """
    out = tmp_path / "out"
    assert train.main(["--stages", str(write(tmp_path, text)), "--out", str(out)]) == 0
    weights = [
        next(folder.glob("**/model.safetensors")).read_bytes()
        for folder in (tmp_path / "small", out / "imitate", out / "reinforce")
    ]
    assert len(set(weights)) == 3
    assert json.loads((out / "reinforce" / "config.json").read_text())["model"] == str(out / "imitate")
    assert 'href="reinforce/report.html"' in (out / "report.html").read_text()
