"""Programs descend from programs: parents from the database, children into it, and none is run twice."""

from __future__ import annotations

import json
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from palaestra.agents.grpo.rollouts.environments import Environments
from palaestra.agents.grpo.rollouts.episode_starts import RolloutTask
from palaestra.agents.grpo.rollouts.evolve import Evolve
from palaestra.agents.grpo.rollouts.program_database import ProgramDatabase
from palaestra.envs.code import open_problem
from palaestra.errors import InputError

PARAMS = {"problem": "golomb_ruler", "level": 0}
RULER = Path(__file__).parents[3] / "ruler_program.py"


def program(*marks: int) -> str:
    return f"```python\ndef construct():\n    return {list(marks)}\n```"


def test_children_become_parents_and_the_database_resumes(world):
    replies = iter([program(0, 1, 4, 9, 30), "no program", "", "", "", ""])
    shown: list[str] = []

    def says(session, text):
        shown.append(text)
        return next(replies)

    strategy = Evolve(islands=1, explore=0.0, exploit=0.0)
    one = world("palaestra/OpenProblem-v0", says).player
    for seed in (0, 1):
        (group,) = strategy.play([RolloutTask(PARAMS, seed, 2, 0)], one)
        assert len(group.trajectories) == 2
    assert "2 ** i" in shown[0]
    assert "2 ** i" in shown[1]
    assert all("return [0, 1, 4, 9, 30]" in text for text in shown[2:])
    assert strategy.metrics() == {"evolve/programs": 1.0, "evolve/best": 11 / 30}
    other = Evolve(islands=1, explore=0.0, exploit=0.0)
    other.load_state_dict(json.loads(json.dumps(strategy.state_dict())))
    assert other.state_dict() == strategy.state_dict()


def test_a_known_program_is_no_change_and_is_not_run(monkeypatch):
    env = gym.make("palaestra/OpenProblem-v0", disable_env_checker=True).unwrapped
    env.reset(seed=0, options={"params": PARAMS})
    parent = "def construct():\n    return [0, 1, 4, 9, 30]"
    seen = env.descend(parent, frozenset({open_problem.identity("def construct():\n    return [0, 1, 4, 9, 40]")}))
    assert parent in seen
    state = env.get_state()
    monkeypatch.setattr(open_problem, "run", lambda *args, **kwargs: pytest.fail("the program was run"))
    for answer, objective in (
        ("I would keep it.", "no-diff"),
        ("<<<<<<< SEARCH\nnot there\n=======\nx\n>>>>>>> REPLACE", "no-diff"),
        ("<<<<<<< SEARCH\n9, 30\n=======\n9,  30\n>>>>>>> REPLACE", "no-change"),
        (program(0, 1, 4, 9, 40), "no-change"),
    ):
        env.set_state(state)
        assert env.step(answer)[4]["extras"]["objective"] == objective
    monkeypatch.undo()
    for answer, objective in (
        (program(0, 1, 2, 9, 40), "invalid"),
        ("```python\ndef construct():\n    return 1 / 0\n```", "error"),
        ("<<<<<<< SEARCH\n9, 30\n=======\n9, 22\n>>>>>>> REPLACE", 11 / 22),
        (program(0, 1, 4, 9, 11), 1.0),
    ):
        env.set_state(state)
        assert env.step(answer)[4]["extras"]["objective"] == objective


def test_parents_come_from_everywhere_from_the_archive_or_are_the_best():
    rng = np.random.default_rng(0)

    def drawn(**options):
        database = ProgramDatabase(islands=1, archive=2, **options)
        for number in range(5):
            assert database.add(f"a = {number}", number / 10, 0)
        assert not database.add("a  =  4", 0.9, 0)
        return {database.draw(rng).objective for _ in range(80)}

    assert drawn(explore=1.0, exploit=0.0) == {0.0, 0.1, 0.2, 0.3, 0.4}
    assert drawn(explore=0.0, exploit=1.0) == {0.3, 0.4}
    assert drawn(explore=0.0, exploit=0.0) == {0.4}


def test_the_best_migrate_to_the_next_island_and_the_worst_are_dropped():
    database = ProgramDatabase(islands=3, interval=2, capacity=3)
    database.add("a = 1", 0.5, 0)
    database.add("a = 2", 0.1, 0)
    assert {(p.text, p.island) for p in database.programs} >= {("a = 1", 0), ("a = 1", 1)}
    database.add("a = 3", 0.2, 2)
    database.add("a = 4", 0.3, 2)
    assert "a = 2" not in {p.text for p in database.programs}


def test_files_seed_the_database_and_other_environments_are_refused(world):
    shown: list[str] = []
    strategy = Evolve(programs=(str(RULER),))
    one = world("palaestra/OpenProblem-v0", lambda session, text: shown.append(text) or "")
    strategy.play([RolloutTask(PARAMS, 0, 1, 0)], one.player)
    assert "return [0, 1, 4, 9, 20]" in shown[0]
    assert strategy.metrics()["evolve/best"] == 11 / 20
    with pytest.raises(InputError, match="OpenProblem"):
        strategy.check(Environments("palaestra/Arithmetic-v0"))
    with pytest.raises(InputError, match="exploit"):
        Evolve(explore=0.5, exploit=0.7)
    with pytest.raises(InputError, match="no file"):
        Evolve(programs=("missing.py",))
