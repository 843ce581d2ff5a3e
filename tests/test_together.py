"""Cheap cases of a test run as one test in which each is still run, and named where it fails."""

from __future__ import annotations

from collections.abc import Callable, Generator

import pytest

from . import quick_run, together

pytest_plugins = ("pytester",)

FILE = """
import pytest

RAN = []

@pytest.fixture(scope="module")
def kept():
    return 3

@pytest.mark.parametrize("b", ["x", "y"])
@pytest.mark.parametrize("a", [1, 2, 3, pytest.param(4, marks=pytest.mark.xfail(strict=True)), 5])
def test_pair(a, b, kept):
    RAN.append((a, b))
    assert a != 4
    assert (a, b) != (kept, "y"), "three and y"
    assert a != 5 or b != "x", "five and x"

@pytest.mark.parametrize("a", range(5))
def test_with_a_folder_of_its_own(a, tmp_path):
    (tmp_path / "file").touch(exist_ok=False)

@pytest.mark.parametrize("a", range(150))
def test_many(a):
    if a == 140:
        pytest.skip("not on a Tuesday")

def test_all_have_run():
    assert sorted(RAN) == [(a, b) for a in range(1, 6) for b in "xy"]
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Generator[Callable[..., pytest.RunResult]]:
    """``run(*arguments)``: what pytest says of `FILE`, where the case 2-y of test_pair is dear."""
    monkeypatch.setattr(quick_run, "read_durations", lambda: {"test_file.py::test_pair[2-y]": 1.0})
    together._dear.cache_clear()
    pytester.makepyfile(test_file=FILE)

    class Options:
        pytest_addoption = staticmethod(together.add_options)

    def run_pytest(*words: str) -> pytest.RunResult:
        return pytester.runpytest_inprocess("-v", "-p", "no:cacheprovider", *words, plugins=[Options, together])

    yield run_pytest
    together._dear.cache_clear()


def test_each_failed_case_is_named_and_all_others_have_run(run: Callable[..., pytest.RunResult]) -> None:
    result = run()
    # Joined: 7 of test_pair, 100 and 50 of test_many. Alone: one dear and two marked cases, 5 with a folder.
    result.assert_outcomes(failed=1, skipped=1, xfailed=2, passed=8)
    result.stdout.fnmatch_lines(["*2 of 7 cases*", "*three and y*", "*of the case ?3-y?*", "*five and x*"])
    result.stdout.fnmatch_lines(["*SKIPPED (1 of 50 cases: ?140?*"])
    assert "test_pair[2-y] PASSED" in result.stdout.str()


@pytest.mark.parametrize("words", [("--each-case",), ("-k", "3-y"), ("test_file.py::test_pair",), ("-m", "not slow")])
def test_what_is_chosen_runs_case_by_case(run: Callable[..., pytest.RunResult], words: tuple[str, ...]) -> None:
    said = run(*words).stdout.str()
    assert "test_pair[3-y] FAILED" in said
    assert "together" not in said


def test_a_joined_test_is_never_listed_as_dear_and_its_dear_cases_are(tmp_path) -> None:
    file = tmp_path / "durations.json"
    quick_run.write_durations({"a.py::test[together1]": 9.0, "a.py::test[2-y]": 1.0}, file)
    assert quick_run.read_durations(file) == {"a.py::test[2-y]": 1.0}
