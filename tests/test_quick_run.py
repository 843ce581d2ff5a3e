"""A quick run leaves out nothing for good: ten runs meet every test, and what has changed is met at once."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from . import quick_run
from .quick_run import DEAR, SHARES, changed_files, deal, mirrors, read_durations, write_durations


def test_shares_are_of_equal_time_and_hold_every_test() -> None:
    seconds = {f"tests/test_{n}.py::test": 0.3 + (n * 37 % 101) / 10 for n in range(500)}
    dealt = deal(seconds, SHARES)
    sums = [sum(seconds[test] for test in dealt if dealt[test] == share) for share in range(SHARES)]
    assert dealt.keys() == seconds.keys()
    assert max(sums) - min(sums) < max(seconds.values())
    assert deal(dict(reversed(seconds.items())), SHARES) == dealt


def test_durations_of_dear_tests_are_kept(tmp_path: Path) -> None:
    seconds = {"tests/test_a.py::test[x::y]": 1.2345, "tests/b/test_b.py::test": DEAR, "tests/test_a.py::test_c": 0.01}
    write_durations(seconds, tmp_path / "durations.json")
    assert read_durations(tmp_path / "durations.json") == {
        "tests/b/test_b.py::test": DEAR,
        "tests/test_a.py::test[x::y]": 1.2,
    }


@pytest.mark.parametrize(
    ("changed", "chosen"),
    [
        ("envs/web/bids.py", {"tests/envs/web/test_bids.py", "tests/envs/web/test_bids_real.py"}),
        ("tests/envs/web/test_bids.py", {"tests/envs/web/test_bids.py"}),
        ("tests/envs/web/pages.py", {f"tests/envs/web/test_{name}.py" for name in ("bids", "bids_real", "bid")}),
        ("envs/bids.py", set()),
        ("README.md", set()),
        ("tests/conftest.py", set()),
    ],
)
def test_what_mirrors_a_change_is_run(changed: str, chosen: set[str]) -> None:
    files = [f"tests/envs/web/test_{name}.py" for name in ("bids", "bids_real", "bid")]
    files += ["tests/envs/test_every_env.py", "tests/test_readme.py"]
    assert {file for file in files if mirrors(file, [changed])} == chosen


def test_files_that_differ_from_where_a_branch_began_are_changed(tmp_path: Path) -> None:
    def git(*words: str, folder: str = "mine") -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        subprocess.run(["git", "-C", str(tmp_path / folder), *who, *words], check=True, capture_output=True)

    assert changed_files(tmp_path) == []
    (tmp_path / "theirs").mkdir()
    git("init", "-b", "main", folder="theirs")
    git("commit", "--allow-empty", "-m", "first", folder="theirs")
    git("clone", str(tmp_path / "theirs"), str(tmp_path / "mine"), folder="theirs")
    for name in ("committed", "changed", "new"):
        (tmp_path / "mine" / f"{name}.py").write_text("1\n")
        if name != "new":
            git("add", f"{name}.py")
        if name == "committed":
            git("commit", "-m", "second")
    assert changed_files(tmp_path / "mine") == ["changed.py", "committed.py", "new.py"]


def test_a_quick_run_takes_its_share_of_the_dear_tests_and_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"tests/envs/test_{name}.py::test" for name in ("a", "b", "c", "cheap")]
    monkeypatch.setattr(quick_run, "read_durations", lambda: dict.fromkeys(names[:3], 1.0))
    dealt, left_out = deal(dict.fromkeys(names[:3], 1.0), SHARES), []
    choice = {"share": dealt[names[0]], "changed": ["envs/b.py"]}
    hook = SimpleNamespace(pytest_deselected=lambda items: left_out.extend(item.nodeid for item in items))
    config: Any = SimpleNamespace(stash={quick_run._CHOICE: choice}, hook=hook)
    items: list[Any] = [SimpleNamespace(nodeid=name) for name in names]
    quick_run.pytest_collection_modifyitems(config, items)
    assert [item.nodeid for item in items] == [names[0], names[1], names[3]]
    assert left_out == [names[2]]
