"""T8: PPO on gridworlds under teachers."""

from __future__ import annotations

import pytest
from palaestra.benchmarks.teachers import command, gridworlds
from palaestra.errors import InputError

ROOMS = {"env": "palaestra/FourRooms-v0", "axes": {"size": [7, 9]}}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gridworlds, "ON_THE_WAY", 4)
    monkeypatch.setattr(gridworlds, "AT_THE_END", 8)


@pytest.mark.parametrize("teacher", ["random", "plr"])
def test_a_run_is_a_function_of_teacher_and_seed_and_leaves_no_folder(teacher, quick, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = gridworlds.train(ROOMS, teacher, 3, 4096)
    assert found.curve[0] == [0.0, 2048.0, 4096.0]
    assert found.score == found.curve[1][-1]
    assert set(found.measures) == set(gridworlds.TABLE.columns)
    assert list(tmp_path.glob("palaestra-*")) == []
    if teacher == "random":
        assert gridworlds.train(ROOMS, teacher, 3, 4096) == found


OWN = """
import palaestra
from palaestra.envs import FloatAxis, ParamEnv

def make(**kwargs):
    return ParamEnv("CartPole-v1", [FloatAxis("gravity", 5, 20)], return_range=(0, 500), success=20, **kwargs)

palaestra.envs.register("own-cart/Cart-v0", make)
"""


def test_an_environment_of_ones_own_is_a_setting(quick, monkeypatch, tmp_path, capsys):
    (tmp_path / "own_cart.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    words = ["--env", "own_cart:own-cart/Cart-v0", "--teachers", "alp-gmm", "--seeds", "1", "--episodes", "2048"]
    assert command.main([*words, "--jobs", "1", "--format", "csv"]) == 0
    header, *rows, _ = capsys.readouterr().out.splitlines()
    assert header.startswith("table,setting,teacher,seeds,score,")
    assert [row.split(",")[:4] for row in rows] == [
        ["T8", "own_cart:own-cart/Cart-v0", teacher, "1"] for teacher in ("random", "alp-gmm")
    ]
    assert float(rows[0].split(",")[4]) > 0.0
    with pytest.raises(InputError, match="has no parameters for a teacher to choose"):
        command.main(["--env", "CartPole-v1"])
    assert command.add_environments(command.TeacherBenchOptions()) == command.TeacherBenchOptions()
    assert set(gridworlds.SETTINGS) == {"DoorKey", "MultiRoom"}


def test_the_table_is_known_by_its_name_and_not_among_the_defaults():
    assert command.load_table(command.TABLES["T8"]) is gridworlds.TABLE
    assert "T8" not in command.TeacherBenchOptions().tables
    chosen = command.choose_teachers(
        command.TeacherBenchOptions(tables=("T8",), teachers=("all",)), {"T8": gridworlds.TABLE}
    )
    assert {"plr", "alp-gmm", "exp3"} <= set(chosen["T8"])
    assert "mopps" not in chosen["T8"]
