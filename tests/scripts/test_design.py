"""``palaestra design`` as it is typed."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from palaestra.scripts.cli import main

BROKEN = "def reward(episode) return 1"
RAISING = "def reward(episode):\n    return 1, 1 / 0"
NEARER = """Nearer is better:
```python
def reward(episode):
    path = episode["goal_distance"]
    errors = sum(turn["error"] is not None for turn in episode["turns"])
    return int(episode["success"]), {"nearer": path[0] - path[-1], "errors": -errors}
```"""
LETTERS = """def reward(episode):
    letters = sum(len(turn["action"]) for turn in episode["turns"])
    return int(episode["success"]), {"odd": letters % 2 - 0.5}"""
DOORS = ["palaestra/DoorKeyText-v0", "--axis", "size=5", "--episodes", "2"]
STEP = (
    "--steps 1 --warmup.steps 0 --prompts 1 --samples 4 --max-new-tokens 3 --max-episode-tokens 12 --final-episodes 1 "
    "--eval-every 0 --threads 1 --patience.no-signal 0 --track --context 512"
)


def rows(path: Path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def replies(tmp_path: Path):
    def write(*texts: str) -> list[str]:
        files = [tmp_path / f"reply-{number}.txt" for number in range(len(texts))]
        for file, text in zip(files, texts, strict=True):
            file.write_text(text)
        return ["--author", f"scripted:{','.join(map(str, files))}", "--out", str(tmp_path / "design")]

    return write


def test_the_third_reply_is_the_first_program_that_is_accepted(tmp_path, replies, capsys):
    assert main(["design", *DOORS, *replies(BROKEN, RAISING, NEARER)]) == 0
    attempts = rows(tmp_path / "design" / "design.jsonl")
    assert [row["accepted"] for row in attempts] == [False, False, True]
    assert all(before["critique"] in after["prompt"] for before, after in pairwise(attempts))
    assert (tmp_path / "design" / "reward.py").read_text().startswith("def reward(episode):\n    path =")
    shown = capsys.readouterr().out
    assert "round-1, attempt 2: rejected: the program failed on 4 of 4 recorded episodes" in shown
    assert (
        f"train palaestra/DoorKeyText-v0 --axis size=5 --shaping \"program(file='{tmp_path}/design/reward.py')\""
        in shown
    )


def test_a_program_trains_a_policy_and_the_run_informs_the_next_round(tmp_path, replies, small):
    small.save(tmp_path / "model")
    line = [*DOORS, "--rounds", "2", "--attempts", "1", *replies(LETTERS, BROKEN)]
    assert main(["design", *line, "--", *STEP.split(), "--model", str(tmp_path / "model")]) == 0
    out = tmp_path / "design"
    played = rows(out / "round-1" / "run" / "trajectories.jsonl")
    assert set(played[0]["shaping"]) == {"sparse", "dense"}
    assert abs(played[0]["shaping"]["dense"]) == 0.1
    assert set(played[0]["program_value"]["dense"]) == {"odd"}
    _, second = rows(out / "design.jsonl")
    assert "The program of the last round:\n```python\ndef reward(episode):\n    letters =" in second["prompt"]
    assert f"{len(played)} episodes, here in" in second["prompt"]
    assert "dense term odd: mean" in second["prompt"]
    assert not (out / "round-2").exists()
    assert "letters" in (out / "reward.py").read_text()
    # The same from the run alone, with a call of its own.
    (tmp_path / "nearer.txt").write_text(NEARER)
    again = ["--run", str(out / "round-1" / "run"), "--author", f"scripted:{tmp_path / 'nearer.txt'}"]
    assert main(["design", *DOORS, *again, "--out", str(tmp_path / "again")]) == 0
    assert rows(tmp_path / "again" / "design.jsonl")[0]["prompt"] == second["prompt"]


def test_of_several_candidates_the_one_that_trains_best_is_carried_on(tmp_path, replies, small, monkeypatch):
    from palaestra.scripts import design

    success = {"candidate-1": 0.75, "candidate-2": 0.25}
    monkeypatch.setattr(design, "_newest_success", lambda run: success[run.parent.name])
    small.save(tmp_path / "model")
    line = [*DOORS, "--candidates", "2", *replies(LETTERS, NEARER), "--", *STEP.split()]
    assert main(["design", *line, "--model", str(tmp_path / "model")]) == 0
    assert "letters" in (tmp_path / "design" / "reward.py").read_text()


def test_without_training_the_recorded_episodes_are_analysed(tmp_path, replies):
    assert main(["design", *DOORS, "--rounds", "2", *replies(LETTERS, NEARER)]) == 0
    prompt = rows(tmp_path / "design" / "design.jsonl")[1]["prompt"]
    assert "success: 1.00 1.00 0.00 0.00" in prompt  # two of the oracle, two of the random agent


ROLES = f"""
reviews = iter(["REJECT: it pays for letters.", "ACCEPT", "ACCEPT"])

def play(prompt):
    if prompt.startswith("You review"):
        return next(reviews)
    return "It only says hello." if prompt.startswith("You analyse") else {LETTERS!r}
"""


def test_one_author_is_designer_critic_and_analyser(tmp_path, monkeypatch):
    (tmp_path / "three_roles.py").write_text(ROLES)
    monkeypatch.syspath_prepend(tmp_path)
    out = tmp_path / "design"
    assert main(["design", *DOORS, "--author", "three_roles:play", "--rounds", "2", "--out", str(out)]) == 0
    first, again, second = (row["prompt"] for row in rows(out / "design.jsonl"))
    assert "reviewer" not in first
    assert "It was rejected: a reviewer says: it pays for letters." in again
    assert "An analyst's view of failed episodes:\nIt only says hello." in second


def test_no_accepted_program_is_exit_code_1(tmp_path, replies):
    assert main(["design", *DOORS, "--attempts", "2", *replies(BROKEN, RAISING)]) == 1
    assert not (tmp_path / "design" / "reward.py").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--rounds", "0"], "--rounds must be at least 1, not 0"),
        (["--candidates", "2"], "--candidates 2 are chosen among by training"),
        (["--", "--shaping", "none"], "palaestra design sets --shaping of the training itself"),
        (["--run", "nowhere"], "'nowhere/trajectories.jsonl' cannot be read"),
        (["--players", "nobody"], "unknown agent 'nobody'"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(words, sentence, replies, capsys):
    assert main(["design", *DOORS, *replies(BROKEN), *words]) == 2
    assert sentence in capsys.readouterr().err


def test_factors_are_designed_and_train_a_student(tmp_path, capsys):
    (tmp_path / "bad.py").write_text("def factors(step):\n    return {'a': step['colour']}\n")
    good = Path(__file__).parents[1] / "factor_program.py"
    grid = ["palaestra/DoorKey-v0", "--axis", "size=5", "obstacles=0"]
    author = f"scripted:{tmp_path / 'bad.py'},{good}"
    out = ["--out", str(tmp_path / "design")]
    assert main(["design", *grid, "--what", "factors", "--author", author, "--episodes", "1", *out]) == 0
    printed = capsys.readouterr().out
    assert "attempt 1: rejected: the program failed on" in printed
    assert "attempt 2: accepted, with door, goal, key, step" in printed
    rows = [json.loads(row) for row in (tmp_path / "design" / "design.jsonl").read_text().splitlines()]
    assert [row["accepted"] for row in rows] == [False, True]
    assert "KeyError" in rows[1]["prompt"]
    bonus = ["--bonus", f"lare(factors='{tmp_path / 'design' / 'factors.py'}', hidden=0, settle=1)"]
    small = ["--learner", "q", "--environments", "2", "--steps", "200", "--log-every", "200", "--eval-every", "0"]
    assert main(["train", *grid, *small, *bonus, "--final-episodes", "1", "--out", str(tmp_path / "run")]) == 0
    (row,) = [json.loads(row) for row in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert row["invalid_episodes"] == 0


def test_factors_are_designed_without_training(capsys):
    words = ["design", "palaestra/DoorKey-v0", "--what", "factors", "--author", "random", "--rounds", "2"]
    assert main(words) == 2
    assert "leave --rounds, --run and -- out" in capsys.readouterr().err
