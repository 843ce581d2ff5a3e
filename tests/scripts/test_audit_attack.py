"""``palaestra audit`` of a student, as it is typed."""

from __future__ import annotations

import json

import pytest
from palaestra.agents.students import PPOConfig, QConfig
from palaestra.agents.students.student_run import StudentRun
from palaestra.scripts.audit_attack import AttackRow, judge_attack
from palaestra.scripts.cli import main


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "maze"
    config = PPOConfig(
        **{"env": "palaestra/BlockMaze-v0", "axes": {"size": 5, "blocks": 0}, "env_options": {"max_steps": 20}},
        **{"steps": 1024, "environments": 8, "rollout": 64, "eval_every": 0, "final_episodes": 1, "track": ()},
    )
    StudentRun.start(out, config).run(notify=lambda sentence: None)
    return out


def test_success_is_shown_under_changes_by_aim_and_at_random_and_the_run_is_left_alone(run, tmp_path, capsys):
    files = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    argv = ["audit", str(run), "--cells", "1", "2", "--episodes", "3", "--tries", "8", "--play", "512"]
    assert main([*argv, "--json", str(tmp_path / "attack.json")]) == 0
    shown = capsys.readouterr().out
    assert (shown.count("at random"), shown.count(" nats")) == (3, 5)
    assert "wants the agent to go away from the end" in " ".join(shown.split())
    found = json.loads((tmp_path / "attack.json").read_text())
    kinds = [(row["cells"], row["kind"]) for row in found["rows"]]
    assert kinds == [(0, "none"), (1, "random"), (1, "targeted"), (2, "random"), (2, "targeted")]
    assert all(row["low"] <= row["success"] <= row["high"] for row in found["rows"])
    assert 0.5 < found["agreement"] <= 1.0
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == files


def test_what_an_attack_costs_is_said_only_of_a_student_that_succeeds_without():
    def said(*successes: float) -> str:
        kinds = [(0, "none"), (1, "random"), (1, "targeted"), (2, "random"), (2, "targeted")]
        pairs = zip(kinds, successes, strict=True)
        return judge_attack([AttackRow(*kind, success, 0.0, 1.0, 0.0) for kind, success in pairs])

    assert "cost up to 30 points of success more than as many at random" in said(0.9, 0.9, 0.8, 0.7, 0.4)
    assert said(0.9, 0.5, 0.7, 0.4, 0.4) == "Changes by aim cost no more success than as many at random."
    assert "succeeds in 10 % of the episodes when nothing is changed, too few" in said(0.1, 0.0, 0.2, 0.3, 0.0)


def test_bad_numbers_and_other_students_are_refused(run, tmp_path, capsys):
    assert main(["audit", str(run), "--cells", "0"]) == 2
    assert "--cells must be at least 1, not 0" in capsys.readouterr().err
    assert main(["audit", str(run), "--samples", "3"]) == 2
    assert "is a run of a student; --samples is for language models, leave it out" in capsys.readouterr().err
    config = QConfig(env="palaestra/BlockMaze-v0", axes={"size": 5}, steps=64, eval_every=0, final_episodes=1)
    StudentRun.start(tmp_path / "q", config).run(notify=lambda sentence: None)
    assert main(["audit", str(tmp_path / "q")]) == 2
    assert "only policies of ppo and go-explore can be attacked, not QLearning" in capsys.readouterr().err
