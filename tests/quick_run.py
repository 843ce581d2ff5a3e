"""Chooses the tests of a quick run: all cheap ones, a tenth of the dear ones in turn, and all that mirror a change. A
plugin, see conftest.py.

``durations.json`` has the seconds of each test that takes longer than `DEAR`, by file; a run of all tests with
``--write-durations`` writes it. With ``--quick`` the dear ones are dealt into ten shares of equal time, of which each
run takes the next, so that ten runs meet every test. Tests of files that have changed since the branch left origin's,
or since the last commit, are all run.
"""

from __future__ import annotations

import datetime
import json
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

DEAR = 0.15
"""Seconds from which a test is dear: more than nine tenths of the tests are cheaper."""
SHARES = 10
_FILE = Path(__file__).with_name("durations.json")
_ROOT = Path(__file__).parent.parent
_CHOICE = pytest.StashKey[dict[str, Any]]()
_TAKEN: dict[str, float] = {}


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("palaestra")
    group.addoption(
        "--quick", action="store_true", help=f"leave out {SHARES - 1} of {SHARES} tests that take over {DEAR} s"
    )
    group.addoption("--write-durations", action="store_true", help=f"write {_FILE.name} of what this run takes")


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("--quick"):
        return
    if hasattr(config, "workerinput"):
        config.stash[_CHOICE] = config.workerinput["quick_run"]
        return
    cache = getattr(config, "cache", None)  # absent with -p no:cacheprovider
    last = cache.get("palaestra/share", datetime.date.today().toordinal()) if cache else 0
    share = (int(last) + 1) % SHARES
    if cache:
        cache.set("palaestra/share", share)
    config.stash[_CHOICE] = {"share": share, "changed": changed_files(_ROOT)}


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    if _CHOICE in node.config.stash:
        node.workerinput["quick_run"] = node.config.stash[_CHOICE]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if _CHOICE in config.stash:
        choice, dear = config.stash[_CHOICE], read_durations()
        terminalreporter.write_line(
            f"A quick run: share {choice['share'] + 1} of {SHARES} of the {len(dear):,} tests that take over {DEAR} s, "
            f"all that mirror {len(choice['changed'])} changed files, and all cheaper ones. --full runs every test."
        )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if _CHOICE not in config.stash:
        return
    choice = config.stash[_CHOICE]
    dealt = deal(read_durations(), SHARES)
    left_out = [
        item
        for item in items
        if dealt.get(item.nodeid, choice["share"]) != choice["share"]
        and not mirrors(item.nodeid.partition("::")[0], choice["changed"])
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(map(id, left_out))
        items[:] = [item for item in items if id(item) not in gone]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    # Fixtures are included. Where pytest-xdist runs the tests, the process that deals them out sees all reports.
    _TAKEN[report.nodeid] = _TAKEN.get(report.nodeid, 0.0) + report.duration
    if report.when == "call":
        # Cases that ran together with others and took long.
        _TAKEN.update((name, took) for name, took in report.user_properties if isinstance(took, float))


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.getoption("--write-durations") and not hasattr(session.config, "workerinput"):
        write_durations(_TAKEN)


def read_durations(path: Path = _FILE) -> dict[str, float]:
    """Seconds of each dear test, by its id."""
    if not path.exists():
        return {}
    files = json.loads(path.read_text("utf-8"))
    return {f"{file}::{test}": seconds for file, tests in files.items() for test, seconds in tests.items()}


def write_durations(seconds: Mapping[str, float], path: Path = _FILE) -> None:
    """Write the dear ones of all tests."""
    files: dict[str, dict[str, float]] = {}
    for test, took in sorted(seconds.items()):
        # Cheap cases that run together are none of them dear.
        if took >= DEAR and "[together" not in test:
            file, _, name = test.partition("::")
            files.setdefault(file, {})[name] = float(f"{took:.2g}")
    path.write_text(json.dumps(files, indent=0, ensure_ascii=False) + "\n", "utf-8")


def deal(seconds: Mapping[str, float], shares: int) -> dict[str, int]:
    """Deal tests into shares of about equal time: the longest first, each to the share that has least."""
    filled = [0.0] * shares
    dealt = {}
    for test in sorted(seconds, key=lambda test: (-seconds[test], test)):
        dealt[test] = min(range(shares), key=filled.__getitem__)
        filled[dealt[test]] += seconds[test]
    return dealt


def changed_files(root: Path) -> list[str]:
    """Files that differ from the commit where this branch left origin's, or from the last commit; [] without git."""

    def git(*words: str) -> list[str]:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True)
        return done.stdout.splitlines() if done.returncode == 0 else []

    try:
        base = git("merge-base", "HEAD", "origin/HEAD") or ["HEAD"]
        return sorted({*git("diff", "--name-only", base[0]), *git("ls-files", "--others", "--exclude-standard")})
    except OSError:
        return []


def mirrors(test_file: str, changed: Iterable[str]) -> bool:
    """True if ``tests/a/b/test_c.py``, a helper in its folder, or the source file ``a/b/c.py`` has changed."""
    path = PurePosixPath(test_file)
    for name in map(PurePosixPath, changed):
        if name == path or (name.parent == path.parent and not name.name.startswith("test_") and name.parts[1:-1]):
            return True
        own = path.stem.removeprefix("test_")
        if "tests" / name.parent == path.parent and (own == name.stem or own.startswith(f"{name.stem}_")):
            return True
    return False
