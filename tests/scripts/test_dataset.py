"""``palaestra dataset`` as it is typed."""

from __future__ import annotations

from pathlib import Path

import pytest
from palaestra.scripts.cli import main

from ..extras import needs

pytestmark = needs("datasets")


def test_a_folder_with_the_asked_axes_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    import datasets

    out = tmp_path / "sums"
    command = ["dataset", "palaestra/Arithmetic-v0", "--n", "4", "--test", "2", "--seed", "9", "--out", str(out)]
    assert main([*command, "--axis", "digits=1:2", "terms=3"]) == 0
    assert capsys.readouterr().out.strip() == str(out)
    loaded = datasets.load_dataset(str(out), cache_dir=str(tmp_path / "cache"))
    assert {split: part["seed"][:] for split, part in loaded.items()} == {"train": [9, 10, 11, 12], "test": [9, 10]}
    assert all('"terms": 3' in params for params in loaded["train"]["params"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["palaestra/Arithmetic-v0"], "either --out FOLDER or --push USER/NAME"),
        (["palaestra/Arithmetic-v0", "--out", "x", "--private"], "--private is of --push"),
        (["palaestra/Arithmetc-v0", "--out", "x"], "did you mean 'palaestra/Arithmetic-v0'"),
        (["palaestra/Arithmetic-v0", "--out", "x", "--axis", "digits=99"], "digits"),
    ],
)
def test_a_wrong_word_is_one_sentence(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["dataset", *words]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
