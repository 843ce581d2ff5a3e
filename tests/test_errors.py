"""Messages about names that are not known (near ones, at most five, or where to see all), and about absent packages."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest
from palaestra.agents.grpo.recipes.stages import STAGES
from palaestra.envs.registration import ids, unknown_environment
from palaestra.errors import MissingExtra, find_extra, find_near, needs_extra, unknown_name
from palaestra.registry import Registry
from palaestra.teachers import TEACHERS


def test_the_likest_comes_first_and_there_are_at_most_five():
    names = [f"palaestra/Grid{letter}-v0" for letter in "ABCDEFGH"]
    assert find_near("gridc", names)[0] == "palaestra/GridC-v0"
    assert len(find_near("Grid-v0", names)) == 5


@pytest.mark.parametrize(
    ("received", "first"),
    [
        ("ALP_GMM", "alp-gmm"),
        ("sudoku", "palaestra/Sudoku-v0"),
        ("gmm", "alp-gmm"),
        ("Sudoku-v3", "palaestra/Sudoku-v0"),
    ],
)
def test_case_dashes_namespace_version_and_parts_are_near(received, first):
    assert find_near(received, ["palaestra/Sokoban-v0", "palaestra/Sudoku-v0", "alp-gmm", "grpo"])[0] == first


def test_an_exact_part_leaves_far_names_out():
    assert find_near("alp-gmm", ["alp-gmm", "almagam"]) == ["alp-gmm"]


def test_of_a_few_names_all_are_told_and_of_many_where_to_see_them():
    few = str(unknown_name("split", "zzz", ["train", "test"]))
    assert few == "unknown split 'zzz'; known: 'test', 'train'."
    many = [f"teacher-{number}" for number in range(170)]
    told = str(unknown_name("teacher", "zzz", many, "teachers"))
    assert told == "unknown teacher 'zzz'; none is near, and palaestra list teachers shows all 170."
    assert str(unknown_name("teacher", "zzz", many)).count("'teacher-") == 5
    assert str(unknown_name("teacher", "zzz", [])) == "unknown teacher 'zzz'; none is registered."


def test_every_package_of_an_extra_leads_to_an_extra_that_has_it():
    import tomllib

    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    extras = {
        extra: {re.match(r"[\w-]+", requirement)[0] for requirement in requirements}
        for extra, requirements in project["optional-dependencies"].items()
        if extra not in ("all", "dev", "eval")
    }
    extras["browsergym"].discard("palaestra")  # it has the extra [web], too
    other = {
        "box2d": "Box2D",
        "browsergym-core": "browsergym",
        "browsergym-experiments": "browsergym",
        "gem-llm": "gem",
        "pillow": "PIL",
        "pygame-ce": "pygame",
    }
    modules = {name: other.get(name, name.replace("-", "_")) for names in extras.values() for name in names}
    for name, module in modules.items():
        assert name in extras.get(find_extra(module), ()), name
    assert find_extra("numpy") is None


def test_only_an_absent_package_of_an_extra_is_a_missing_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtra, match=r"a query needs the extra \[sql\]"), needs_extra("a query", "sql"):
        import duckdb  # noqa: F401
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), needs_extra("a query", "sql"):
        importlib.import_module("no_such_module")


def test_a_long_name_is_cut_in_the_message():
    assert len(str(unknown_name("teacher", "z" * 10**6, ["alp-gmm"]))) < 120


def test_a_registry_says_which_table_shows_its_names():
    registry: Registry[int] = Registry("fruit", table="fruits")
    for number in range(20):
        registry.add(f"fruit-{number}", number)
    with pytest.raises(ValueError, match="none is near, and palaestra list fruits shows all 20"):
        registry["zzz"]


def test_tables_that_messages_name_exist():
    from palaestra.scripts.list import TABLES

    assert TEACHERS.table in TABLES
    assert {stage.table for stage in STAGES.values()} == {f"components {name}" for name in STAGES}


def test_an_environment_of_any_package_can_be_near_and_only_ours_are_counted():
    assert "'CartPole-v1'" in str(unknown_environment("CartPole-v9"))
    assert "'palaestra/Wordle-v0'" in str(unknown_environment("palaestra/Wordel-v0"))
    for name in ("qqq", "nope", "runs/nope", "palaestra/Nope-v0"):
        assert f"none is near, and palaestra list envs shows all {len(ids())}." in str(unknown_environment(name))
    assert "'Hopper-v5'" in str(unknown_environment("Hoper-v5"))
