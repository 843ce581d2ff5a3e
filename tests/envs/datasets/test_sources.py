"""Records are read from files and folders in every form in which they are published, and faults say where they are."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import sys
from pathlib import Path
from typing import Any

import pytest
from palaestra.envs.datasets.layouts import CHOICE
from palaestra.envs.datasets.sources import Record, is_hub_name, read_hub, read_source
from palaestra.errors import InputError, MissingExtra

ROWS: list[dict[str, Any]] = [{"question": "One?", "answer": "a\nb"}, {"question": "Two, \u2028 \u00e9?", "answer": ""}]
LINES = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)
CSV = 'question,answer\nOne?,"a\nb"\n"Two, \u2028 \u00e9?",\n'


def read(path: Path, **options: Any) -> list[Record]:
    return list(read_source(str(path), **options))


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", LINES),
        ("windows.jsonl", "\ufeff" + LINES.replace("\n", "\r\n")),
        ("blank.jsonl", "\n" + LINES + "\n\n"),
        ("a.json", json.dumps(ROWS, indent=1)),
        ("lines.json", LINES),
        ("a.csv", CSV),
        ("a.jsonl.gz", gzip.compress(LINES.encode(), mtime=0)),
        ("a.json.gz", gzip.compress(json.dumps(ROWS).encode(), mtime=0)),
        ("a.csv.gz", gzip.compress(CSV.encode(), mtime=0)),
    ],
)
def test_every_kind_of_file_gives_the_same_records(tmp_path: Path, name: str, content: str | bytes):
    assert [record for _, record in read(write(tmp_path, name, content))] == ROWS


def test_places_say_file_and_line(tmp_path: Path):
    assert [place for place, _ in read(write(tmp_path, "a.jsonl", "\n" + LINES))] == [
        "a.jsonl, line 2",
        "a.jsonl, line 3",
    ]
    assert [place for place, _ in read(write(tmp_path, "a.json", json.dumps(ROWS)))] == [
        "a.json, record 1",
        "a.json, record 2",
    ]
    assert [place for place, _ in read(write(tmp_path, "a.csv", CSV))] == ["a.csv, line 3", "a.csv, line 4"]


def test_a_file_of_one_record_is_one_record(tmp_path: Path):
    """As MATH was published: a folder for each part and subject, a file for each problem."""
    for part, number in (("train", 3), ("test", 1), ("test", 2)):
        write(tmp_path, f"{part}/algebra/{number}.json", json.dumps({"problem": f"{part} {number}"}))
    assert [record["problem"] for _, record in read(tmp_path, part="test")] == ["test 1", "test 2"]
    assert read(tmp_path, part="train")[0][0] == "train/algebra/3.json, record 1"


@pytest.mark.parametrize(
    ("file", "part"),
    [
        ("train.jsonl", "train"),
        ("main/train-00000-of-00001.jsonl", "train"),
        ("data/test-00000-of-00001-8fb6a3.jsonl", "test"),
        ("test/anatomy_test.jsonl", "test"),
        ("anatomy_val.jsonl", "val"),
        ("ARC-Easy-Dev.jsonl", "dev"),
        ("auxiliary_train/race.jsonl", "auxiliary_train"),
        ("auxiliary_train.jsonl", "auxiliary_train"),
    ],
)
def test_the_part_of_a_file_is_in_its_name_or_its_folders(tmp_path: Path, file: str, part: str):
    write(tmp_path, file, LINES)
    write(tmp_path, "other/validation.jsonl", '{"other": 1}')
    assert [record for _, record in read(tmp_path, part=part)] == ROWS


def test_parts_of_a_folder_are_never_mixed_unasked(tmp_path: Path):
    write(tmp_path, "train.jsonl", LINES)
    assert len(read(tmp_path)) == 2
    write(tmp_path, "test.jsonl", LINES)
    with pytest.raises(InputError, match=r"parts test, train; say which, such as part='train'"):
        read(tmp_path)
    with pytest.raises(InputError, match=r"no part 'dev'; .*: test, train"):
        read(tmp_path, part="dev")


def test_files_beside_the_data_are_not_read(tmp_path: Path):
    for name in ("dataset_info.json", ".cache/a.jsonl", ".hidden.jsonl", "README.md", "a.txt"):
        write(tmp_path, name, "no data")
    with pytest.raises(InputError, match=r"holds no \.parquet or \.jsonl"):
        read(tmp_path)
    write(tmp_path, "problems.jsonl", LINES)
    assert [record for _, record in read(tmp_path)] == ROWS


def test_csv_without_a_header_takes_the_columns_of_the_layout(tmp_path: Path):
    """As MMLU was published."""
    row = '"What is 1 + 1?",a,b,c,d,B\n'
    expected = {"question": "What is 1 + 1?", "A": "a", "B": "b", "C": "c", "D": "d", "answer": "B"}
    assert [r for _, r in read(write(tmp_path, "a_test.csv", row * 2), columns=CHOICE.columns)] == [expected] * 2
    headed = "Question,A,B,C,D,Answer\n" + row
    assert [r["Question"] for _, r in read(write(tmp_path, "b.csv", headed), columns=CHOICE.columns)] == [
        "What is 1 + 1?"
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", LINES + "{'question': 1}\n", r"a\.jsonl, line 3 is not JSON \(.*column 2\)"),
        ("a.json", LINES + "[", r"a\.json, line 3 is not JSON"),
        ("a.jsonl", "[1]\n", r"a\.jsonl, line 1 is list, not a record"),
        ("a.json", "[[1]]", r"a\.json, record 1 is list, not a record"),
        ("a.json", "7", r"a\.json holds int"),
        ("a.jsonl", '{"a": ' + "9" * 5000 + "}", r"a\.jsonl, line 1 is not JSON that can be read"),
        ("a.jsonl", "[" * 200_000, r"a\.jsonl, line 1 is not JSON"),
        ("a.jsonl", b"\xff\xfe\x00", r"a\.jsonl cannot be read \(.*UTF-8"),
        ("a.csv", "question,answer,answer\n1,2,3\n", "a.csv, line 1 has the column 'answer' twice"),
        ("a.json", '{"train": [{"a": 1}], "test": [{"a": 2}]}', "a.json has the parts test, train; say which"),
        ("a.jsonl.gz", LINES, r"a\.jsonl\.gz cannot be read"),
        ("a.jsonl.gz", gzip.compress(LINES.encode(), mtime=0)[:-12], r"a\.jsonl\.gz cannot be read"),
        ("a.csv", "question,answer\n1,2\n1,2,3\n", r"a\.csv, line 3 has 3 columns and the header 2"),
        ("a.csv", "question,answer\n1," + "x" * 200_000, r"a\.csv, line 2 is not CSV"),
        ("a.txt", LINES, r"a\.txt is not a \.jsonl, \.json, \.csv, \.tsv or \.parquet file"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_naming_the_place(
    tmp_path: Path, name: str, content: str | bytes, message: str
):
    with pytest.raises(InputError, match=message) as error:
        read(write(tmp_path, name, content))
    assert "\n" not in str(error.value)


def test_part_and_config_are_refused_where_they_mean_nothing(tmp_path: Path):
    path = write(tmp_path, "a.jsonl", LINES)
    with pytest.raises(InputError, match="part='train' is for folders"):
        read(path, part="train")
    with pytest.raises(InputError, match="config='main' is for data sets of the hub"):
        read(path, config="main")


def test_what_is_a_hub_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert is_hub_name("openai/gsm8k")
    for other in ("gsm8k", "train.jsonl", "data/train.jsonl", "a/b/c", "../gsm8k", "/openai/gsm8k", "~/gsm8k"):
        assert not is_hub_name(other)
    write(tmp_path, "openai/gsm8k/train.jsonl", LINES)
    assert not is_hub_name("openai/gsm8k")
    with pytest.raises(InputError, match="there is no file or folder nothing"):
        read(Path("nothing"))


def test_without_the_library_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtra, match=r"'openai/gsm8k', which is no file .*\[datasets\]"):
        list(read_source("openai/gsm8k"))
    with pytest.raises(MissingExtra, match=r"a\.parquet .*\[datasets\]"):
        read(write(tmp_path, "a.parquet", b""))


# With the library itself: a local folder takes the place of a data set on the hub, which it loads in the same way.


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    datasets.disable_progress_bars()
    folder = tmp_path / "set"
    folder.mkdir()
    datasets.Dataset.from_list(ROWS).to_parquet(folder / "train-00000-of-00001.parquet")
    datasets.Dataset.from_list(ROWS[:1]).to_parquet(folder / "test-00000-of-00001.parquet")
    return folder


def test_parquet_files_are_read(published: Path):
    assert [record for _, record in read(published, part="train")] == ROWS
    assert read(published / "test-00000-of-00001.parquet") == [("test-00000-of-00001.parquet, row 1", ROWS[0])]
    with pytest.raises(InputError, match=r"bad\.parquet cannot be read as parquet"):
        read(write(published.parent, "bad.parquet", b"PAR1"))


def test_a_data_set_of_the_hub_is_read_part_by_part(published: Path):
    assert [record for _, record in read_hub(str(published), "train", None)] == ROWS
    assert list(read_hub(str(published), "test", None)) == [(f"{published}, test, row 1", ROWS[0])]
    with pytest.raises(InputError, match="has the parts test, train; say which"):
        list(read_hub(str(published), None, None))
    with pytest.raises(InputError, match=r"part='dev' .*Unknown split"):
        list(read_hub(str(published), "dev", None))
    (published / "test-00000-of-00001.parquet").unlink()
    assert len(list(read_hub(str(published), None, None))) == 2


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.ndjson", LINES),
        ("a.tsv", "question\tanswer\n" + "\n".join(f'"{r["question"]}"\t"{r["answer"]}"' for r in ROWS)),
        ("a.json", json.dumps({"data": ROWS})),
        ("a.json", json.dumps({"test": ROWS})),
        ("a.json", json.dumps({name: [row[name] for row in ROWS] for name in ROWS[0]})),
        ("a.json", json.dumps({name: {str(n): row[name] for n, row in enumerate(ROWS)} for name in ROWS[0]})),
        ("a.jsonl.xz", lzma.compress(LINES.encode())),
        ("a.jsonl.bz2", bz2.compress(LINES.encode())),
        ("a.jsonl", LINES.encode("utf-16")),
    ],
)
def test_other_ways_to_write_the_same_records_are_read(tmp_path: Path, name: str, content: str | bytes):
    assert [record for _, record in read(write(tmp_path, name, content))] == ROWS


def test_a_part_of_a_json_file_is_chosen_by_its_name(tmp_path: Path):
    path = write(tmp_path, "a.json", json.dumps({"train": ROWS, "test": ROWS[:1]}))
    assert [record for _, record in read_source(str(path), "test")] == ROWS[:1]
    with pytest.raises(InputError, match=r"no part 'dev'; it has train, test"):
        list(read_source(str(path), "dev"))
