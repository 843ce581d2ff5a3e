"""``palaestra train`` as it is typed."""

from __future__ import annotations

import json

import pytest
from palaestra.scripts.cli import main

QUICK = ["--warmup.steps", "0", "--prompts", "2", "--samples", "2", "--eval-episodes", "4", "--final-episodes", "4"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of one step with the tiny model."""
    out = tmp_path_factory.mktemp("runs") / "one"
    arguments = [
        "train",
        "--axis",
        "digits=1",
        "terms=2:3",
        "--steps",
        "1",
        "--threads",
        "1",
        "--out",
        str(out),
        *QUICK,
    ]
    assert main(arguments) == 0
    return out


def refused(capsys, *arguments: str) -> str:
    """The one sentence that a refused command prints."""
    assert main(["train", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.strip().splitlines()
    return line


def test_axes_reach_the_configuration_and_the_tasks(run):
    assert json.loads((run / "config.json").read_text())["axes"] == {"digits": 1, "terms": [2, 3]}
    rows = [json.loads(line) for line in (run / "proposals.jsonl").read_text().splitlines()]
    assert {row["params"]["digits"] for row in rows} == {1}
    assert {row["params"]["terms"] for row in rows} <= {2, 3}


def test_a_run_ends_with_a_report(run):
    assert "<html" in (run / "report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["palaestra/Aritmetic-v0"], ["'palaestra/Aritmetic-v0'", "'palaestra/Arithmetic-v0'"]),
        (["--axis", "digits=1:40"], ["digits", "40", "6"]),
        (["--axis", "digit=1"], ["'digit'", "digits"]),
        (["--recipe", "grpoo"], ["'grpoo'", "'grpo'"]),
        (["--teacher", "alp-gm"], ["'alp-gm'", "'alp-gmm'"]),
        (["--teacher-option", "histroy=250"], ["histroy"]),
        (["--model", "no/such/folder"], ["'no/such/folder'", "config.json"]),
        (["--steps", "-3"], ["steps", "-3"]),
        (["--kl", "-1"], ["kl", "-1"]),
        (["--device", "cuda:77"], ["'cuda:77'", "'cpu'"]),
        (["--warmup.lr", "0"], ["warm-up", "lr=0.0"]),
        (["--surrogate", "clip(low='a')"], ["low", "'clip'", "a number", "'a'"]),
        (["--baseline", "greedy"], ["'greedy'", "--rollout greedy_twin"]),
        (["--returns", "gae"], ["'value'", "--auxiliaries critic"]),
        (["--regularisers", "kdrl"], ["'logp_teacher'", "--teacher-model"]),
        (["palaestra/DoorKey-v0"], ["'palaestra/DoorKey-v0'", "text"]),
    ],
)
def test_bad_input_is_one_sentence_with_exit_code_2_and_nothing_written(capsys, tmp_path, arguments, words):
    sentence = refused(capsys, *arguments, *QUICK, "--out", str(tmp_path / "run"))
    for word in words:
        assert word in sentence
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_use_is_refused_with_the_way_to_continue(capsys, run):
    before = sorted(path.name for path in run.iterdir())
    sentence = refused(capsys, "--out", str(run), *QUICK)
    assert f"--resume {run}" in sentence
    assert sorted(path.name for path in run.iterdir()) == before


def test_resuming_with_another_configuration_names_the_difference(capsys, run):
    assert "recipe: 'rloo' instead of 'grpo'" in refused(capsys, "--resume", str(run), "--recipe", "rloo")


def test_resuming_with_other_stages_names_the_stage_alone(capsys, run):
    sentence = refused(capsys, "--resume", str(run), "--surrogate", "cispo")
    assert "(surrogate: 'cispo' instead of None)" in sentence


def test_a_run_that_is_resumed_stays_in_its_folder(capsys, run, tmp_path):
    assert "--out" in refused(capsys, "--resume", str(run), "--out", str(tmp_path / "other"))


def test_resuming_what_is_no_run_is_refused(capsys, tmp_path):
    assert "is not a run folder" in refused(capsys, "--resume", str(tmp_path))


def test_resuming_goes_further_when_more_steps_are_asked_for_and_reports_again(run):
    (run / "report.html").unlink()
    assert main(["train", "--resume", str(run), "--steps", "2"]) == 0
    assert (run / "report.html").exists()
    assert [json.loads(line)["step"] for line in (run / "metrics.jsonl").read_text().splitlines()] == [1, 2]


def test_help_shows_examples(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["train", "--help"])
    assert caught.value.code == 0
    assert "palaestra train --resume runs/first" in capsys.readouterr().out
