"""Go-Explore: it solves levels at random from where it has been, and then plays them without going back."""

from __future__ import annotations

import json
from contextlib import closing

import gymnasium as gym
import numpy as np
import pytest
from palaestra.agents.students import GoExploreConfig, QConfig
from palaestra.agents.students.student_run import StudentRun
from palaestra.errors import InputError
from palaestra.scripts.cli import main

QUIET = {"eval_every": 0, "final_episodes": 4, "track": ()}


def train(path, config: GoExploreConfig) -> list[dict]:
    StudentRun.start(path, config).run(notify=lambda sentence: None)
    return [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]


def test_it_explores_and_then_learns_to_play_a_level_from_its_start(tmp_path):
    config = GoExploreConfig(
        **{
            "env": "palaestra/DoorKey-v0",
            "axes": {"size": 5},
            "steps": 28_672,
            "rollout": 64,
            "environments": 8,
            "move": 15,
        },
        **QUIET,
    )
    rows = train(tmp_path / "run", config)
    explored = [row for row in rows if "loss" not in row]
    learned = [row for row in rows if "loss" in row]
    assert len(explored) == pytest.approx(0.3 * len(rows), abs=1)
    assert [row["cells"] for row in explored] == sorted(row["cells"] for row in explored)
    assert learned[0]["levels_solved"] == 1.0
    assert learned[0]["start"] > 0.5
    assert learned[-1]["start"] == 0.0
    assert learned[-1]["success_from_start"] >= 0.8


def test_levels_that_are_not_solved_have_every_second_turn(tmp_path):
    config = GoExploreConfig(env="palaestra/DoorKey-v0", axes={"size": 5}, levels=4, environments=1, **QUIET)
    with closing(StudentRun(config)) as run:
        student = run.student
        plain = [student.archives.index(student._next_archive()) for _ in range(8)]
        assert plain == [0, 1, 2, 3, 0, 1, 2, 3]
        for archive in student.archives[:3]:
            archive.solution = [2]
        turns = [student.archives.index(student._next_archive()) for _ in range(8)]
        assert turns == [0, 3, 1, 3, 2, 3, 3, 3]
        student.archives[3].solution = [2]
        assert [student.archives.index(student._next_archive()) for _ in range(4)] == [0, 1, 2, 3]


def test_other_learners_practise_the_same_levels_where_they_are_asked_to():
    """Its ``levels`` are those of PPO and Q-learning with the same seed."""
    options = {"env": "palaestra/DeceptiveMaze-v0", "axes": {"pockets": 1}, "levels": 2, "seed": 3, "environments": 12}
    with closing(StudentRun(GoExploreConfig(**options, **QUIET))) as run:
        levels = [archive.level for archive in run.student.archives]
        run.practice.begin()
        # Before there are solutions its own episodes begin anywhere.
        assert len({slot.seed for slot in run.practice._slots}) > 2
    with closing(StudentRun(QConfig(**options, **QUIET))) as run:
        run.practice.begin()
        assert {slot.seed for slot in run.practice._slots} == set(levels)
    with pytest.raises(InputError, match="leave it or the 2 levels out"):
        StudentRun(QConfig(**options, teacher="random", **QUIET))


def test_while_nothing_is_solved_it_goes_on_exploring(tmp_path):
    config = GoExploreConfig(
        **{"env": "palaestra/DeceptiveMaze-v0", "axes": {"pockets": 3, "depth": 7}, "explore_actions": 5},
        **{"steps": 512, "rollout": 16, "environments": 4},
        **QUIET,
    )
    rows = train(tmp_path / "run", config)
    assert all("loss" not in row and row["levels_solved"] == 0.0 for row in rows)
    assert rows[-1]["cells"] > 1


def test_episodes_under_way_begin_on_the_solution_and_are_paid_from_there(tmp_path):
    config = GoExploreConfig(
        **{"env": "palaestra/DoorKey-v0", "axes": {"size": 5}, "steps": 4096, "rollout": 32, "environments": 4},
        **QUIET,
    )
    run = StudentRun.start(tmp_path / "run", config)
    run.run(notify=lambda sentence: None)
    (level,) = run.student.starts.solutions
    begun = [slot for slot in run.practice._slots if slot.way]
    assert begun or run.student.starts.starts[level] == 0
    for slot in run.practice._slots:
        env = gym.make("palaestra/DoorKey-v0", axes={"size": 5}, split="train")
        observation, _ = env.reset(seed=level)
        for action in [*slot.way, *slot.actions]:
            observation, *_ = env.step(action)
        assert slot.seed == level
        assert all(np.array_equal(observation[name], slot.observation[name]) for name in ("image", "direction"))
        assert len(slot.rewards) == len(slot.actions)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--teacher", "sec"], "chooses its levels itself"),
        (["--repeat", "0.5"], "repeat"),
        (["--levels", "0"], "levels"),
        (["--explore-share", "0"], "explore_share"),
    ],
)
def test_bad_input_is_one_sentence(arguments, words, tmp_path, capsys):
    command = ["train", "palaestra/DoorKey-v0", "--learner", "go-explore", *arguments, "--out", str(tmp_path / "run")]
    assert main(command) == 2
    (sentence,) = capsys.readouterr().err.strip().splitlines()
    assert words in sentence


def test_environments_that_it_cannot_return_in_are_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be set to an earlier state"):
        StudentRun.start(tmp_path / "a", GoExploreConfig(env="CartPole-v1", **QUIET))
    with pytest.raises(InputError, match="Discrete actions"):
        StudentRun.start(tmp_path / "b", GoExploreConfig(env="Pendulum-v1", **QUIET))
