"""``palaestra bench verifiers``: what it prints and writes, and that a peer that hangs, dies or writes is survived."""

from __future__ import annotations

import contextlib
import json
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from palaestra.benchmarks.verifiers import command as bench_verifiers
from palaestra.benchmarks.verifiers import peers as bench_peers
from palaestra.benchmarks.verifiers.command import Peer
from palaestra.rewards.audit import sheet
from palaestra.rewards.audit.sheet import Row
from palaestra.scripts.cli import main

from ...patience import with_more_time  # isort: skip

# Answers as a peer does; what it does depends on the answer it is asked about.
UNRULY = """
    import os, time

    def find_installed():
        return {"unruly": "1"}

    def answer(grader, answer, reference):
        if answer == "hang":
            time.sleep(600)
        if answer == "die":
            os._exit(1)
        if answer == "write":
            open("canary", "w").close()
        return {"accepted": answer == "yes", "error": "ValueError: x" if answer == "raise" else None}
"""


def row(answer: str) -> Row:
    return Row("math", answer, "1", False, "made up")


@pytest.fixture
def unruly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    script = tmp_path / "unruly.py"
    script.write_text(textwrap.dedent(UNRULY))
    monkeypatch.setattr(bench_peers, "__file__", str(script))
    peer = Peer("unruly", Path(sys.executable), 60.0)
    yield peer
    peer.close()


def test_a_peer_that_hangs_or_dies_is_started_again(unruly: Peer):
    def check(deadline: float) -> None:
        with contextlib.closing(Peer("unruly", Path(sys.executable), deadline)) as peer:
            assert peer(row("yes")) is True
            assert peer(row("hang")) is None
            assert peer(row("yes")) is True
            assert peer(row("die")) is None
            assert peer(row("no")) is False

    with_more_time(check, (0.5, 4.0, 20.0))


def test_what_a_peer_raises_is_an_error_of_the_row(unruly: Peer):
    with pytest.raises(RuntimeError, match="ValueError: x"):
        unruly(row("raise"))
    assert unruly(row("yes")) is True


def test_files_that_a_peer_leaves_are_counted_and_removed(unruly: Peer):
    for answer in ("yes", "write", "yes", "write"):
        unruly(row(answer))
    assert unruly.wrote == 2


def test_installed_graders_are_listed_with_their_version():
    assert bench_peers.find_installed().keys() <= bench_peers.GRADERS.keys()
    assert bench_peers.find_installed().get("math-verify", "0")[0].isdigit()


def report(tmp_path: Path, *argv: str) -> list[dict[str, Any]]:
    path = tmp_path / "figures.json"
    assert main(["bench", "verifiers", "--no-peers", "--json", str(path), *argv]) == 0
    return json.loads(path.read_text())["graders"]


def test_figures_are_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    graders = report(tmp_path, "--kinds", "integer", "choice", "--failures")
    assert [line["rows"] for line in graders] == ["integer", "choice", "all"]
    assert graders[-1]["n"] == graders[0]["n"] + graders[1]["n"]
    assert all(line["false_positives"] == line["false_negatives"] == 0 for line in graders)
    assert "palaestra" in capsys.readouterr().out


def test_failures_are_listed_in_plain_characters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bench_verifiers.sheet, "grade", lambda row: True)
    graders = report(tmp_path, "--kinds", "verdict", "--failures")
    assert graders[-1]["false_positives"] == len(graders[-1]["failures"]) > 0
    out = capsys.readouterr().out
    # each once, though the line "all" holds them as well
    assert out.count("accepted though wrong") == len(graders[-1]["failures"])
    assert "\\u0410" in out
    assert "\u0410" not in out


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["verifier"], "did you mean 'verifiers'"),
        (["verifiers", "--kinds", "intger"], "did you mean 'integer'"),
        (["verifiers", "--deadline", "0"], "--deadline must be positive"),
        (["verifiers", "--right-pairs", "-1"], "--right-pairs must be 0 or more"),
        (["verifiers", "--kinds", "math", "--peer-python", "/no/such/python"], "--peer-python"),
        (["verifiers", "--references", "/no/such/folder"], "--references must name a folder"),
        (["verifiers", "--labelled", __file__], "jsonl"),
    ],
)
def test_what_the_user_can_mend_is_one_sentence(argv: list[str], sentence: str, capsys: pytest.CaptureFixture[str]):
    assert main(["bench", *argv]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


def test_references_of_a_folder_are_counted_by_policy_and_the_unreadable_ones_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "sub").mkdir()
    records = [{"answer": "Steps.\n#### 1/2"}, {"answer": "9 (apples)"}, {"answer": ""}, {"answer": "Who knows?"}]
    (tmp_path / "sub" / "a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (tmp_path / "b.json").write_text(json.dumps([{"solution": "So \\boxed{x^2}."}, {"final_answer": ["$1$", "2"]}]))
    (tmp_path / "none.jsonl").write_text(json.dumps({"question": "?"}) + "\n")
    figures = tmp_path / "figures" / "out.json"
    figures.parent.mkdir()
    assert main(["bench", "verifiers", "--references", str(tmp_path), "--json", str(figures)]) == 0
    measured = {line["file"]: line for line in json.loads(figures.read_text())["references"]}
    assert measured.keys() == {"b.json", "sub/a.jsonl"}
    assert [measured[name]["references"] for name in ("b.json", "sub/a.jsonl")] == [2, 3]
    assert measured["b.json"]["unreadable"] == {"strict": [], "dataset": []}
    unreadable = measured["sub/a.jsonl"]["unreadable"]
    assert [reference for reference, _ in unreadable["strict"]] == ["9 (apples)", "Who knows?"]
    assert [reference for reference, _ in unreadable["dataset"]] == ["Who knows?"]
    out = capsys.readouterr().out
    assert "66.67%" in out
    assert "Who knows?" in out


def test_a_field_says_where_the_references_are(tmp_path: Path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"answer": "A", "value": "1 + "}) + "\n")
    figures = tmp_path / "out.txt"
    arguments = ["--references", str(tmp_path), "--field", "value", "--json", str(figures)]
    assert main(["bench", "verifiers", *arguments]) == 0
    assert json.loads(figures.read_text())["references"][0]["unreadable"]["strict"][0][0] == "1 +"


def test_labelled_answers_are_judged_under_each_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    rows = [
        ("1/2", "0.5", True),
        ("1/3", "0.5", False),
        ("9 apples", "9", True),
        ("50%", "50", False),
        ("1", "?", True),
    ]
    records = [{"answer": a, "reference": r, "label": label} for a, r, label in rows]
    path = tmp_path / "labelled.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    figures = tmp_path / "out.json"
    assert main(["bench", "verifiers", "--labelled", str(path), "--failures", "--json", str(figures)]) == 0
    strict, dataset = json.loads(figures.read_text())["labelled"]
    assert strict["counts"]["right"] == {"accepted": 1, "refused": 1, "undecided": 0, "unreadable": 1}
    assert strict["counts"]["wrong"] == {"accepted": 0, "refused": 2, "undecided": 0, "unreadable": 0}
    assert dataset["counts"]["right"]["accepted"] == 2
    assert dataset["counts"]["wrong"]["accepted"] == 1
    assert ["50%", "50", False] in dataset["disagreements"]
    assert "'50%' for '50', labelled wrong" in capsys.readouterr().out


def test_help_names_the_benchmarks(capsys: pytest.CaptureFixture[str]):
    assert main(["bench"]) == 0
    assert "verifiers" in capsys.readouterr().out


def test_random_pairs_and_rows_said_anew_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        bench_verifiers.sheet, "load_rows", lambda kind=None: [sheet.Row("math", "b+a", "a+b", True, "made up")]
    )
    path = tmp_path / "figures.json"
    counts = ("--right-pairs", "20", "--wrong-pairs", "30", "--throughput-seconds", "0.01")
    assert main(["bench", "verifiers", "--no-peers", "--kinds", "math", "--json", str(path), *counts]) == 0
    figures = json.loads(path.read_text())
    assert figures["random_pairs"] == {"right": 20, "wrong": 30, "refused": [], "accepted": [], "undecided": []}
    # Delimiters, names, order.
    assert {line["rows"]: line["n"] for line in figures["graders"]}["math, said anew"] == 3
    assert "0 of 30 wrong ones accepted" in " ".join(capsys.readouterr().out.split())


@pytest.mark.skipif("math-verify" not in bench_peers.find_installed(), reason="math-verify is not installed")
def test_a_peer_is_measured_beside_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rows = [row("1"), row("2"), row("__import__('os').system('touch canary')")]
    monkeypatch.setattr(bench_verifiers.sheet, "load_rows", lambda kind=None: rows)
    monkeypatch.setattr(bench_verifiers.sheet, "grade", lambda row: row.answer == "1")
    path = tmp_path / "figures.json"
    monkeypatch.setattr(bench_verifiers, "SHARED", "integer")
    monkeypatch.setattr(bench_verifiers, "verify", lambda *arguments: None)
    assert main(["bench", "verifiers", "--kinds", "integer", "--json", str(path)]) == 0
    graders = {line["grader"]: line for line in json.loads(path.read_text())["graders"]}
    peer = next(line for name, line in graders.items() if name.startswith("math-verify"))
    # the first row, labelled wrong here, equals its reference
    assert (peer["n"], peer["false_positives"], peer["undecided"]) == (3, 1, 0)
