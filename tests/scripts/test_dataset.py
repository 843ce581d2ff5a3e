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


def test_good_episodes_of_an_evaluation_are_rows_to_train_on(tmp_path, monkeypatch, capsys):
    import datasets

    monkeypatch.chdir(tmp_path)
    (tmp_path / "sums.py").write_text(
        "seen = []\n\n"
        "def often(text):\n    a, b = text.removeprefix('What is ').split('?')[0].split(' + ')\n"
        "    seen.append(text)\n    return str(int(a) + int(b) + seen.count(text) - 1)\n"
    )
    played = ["eval", "palaestra/Arithmetic-v0", "--agent", "sums.py:often", "--axis", "terms=2", "operations=+"]
    assert main([*played, "--episodes", "4", "--samples", "2", "--out", "played.jsonl"]) == 0
    capsys.readouterr()
    assert main(["dataset", "--from", "played.jsonl", "--out", "sft.jsonl"]) == 0
    assert capsys.readouterr().out == "sft.jsonl: 4 different rows of 8 episodes, 4 of them good\n"
    rows = datasets.load_dataset("json", data_files="sft.jsonl", split="train", cache_dir=str(tmp_path / "cache"))
    assert [[said["role"] for said in row["messages"]] for row in rows] == [["user", "assistant"]] * 4
    assert main(["dataset", "--from", "played.jsonl", "--pairs", "--system", "Add.", "--out", "pairs.parquet"]) == 0
    pairs = datasets.Dataset.from_parquet("pairs.parquet", cache_dir=str(tmp_path / "cache"))
    assert pairs.column_names == ["prompt", "chosen", "rejected"]
    assert pairs[0]["prompt"][0] == {"role": "system", "content": "Add."}
    assert {int(row["rejected"][0]["content"]) - int(row["chosen"][0]["content"]) for row in pairs} == {1}
    for words, message in [
        (["--from", "played.jsonl", "--out", "rows.csv"], "ending in .jsonl or .parquet"),
        (["--from", "played.jsonl", "--n", "3", "--out", "rows.jsonl"], "--n is for tasks of an environment"),
        (["palaestra/Arithmetic-v0", "--pairs", "--out", "rows"], "--pairs is for episodes"),
        (["--from", "played.jsonl", "--min-reward", "2", "--out", "rows.jsonl"], "none is good; lower --min-reward"),
        (["--out", "rows"], "give the id of an environment, or episodes by --from"),
    ]:
        assert main(["dataset", *words]) == 2
        assert message in capsys.readouterr().err
