"""Files of an episode: names without folders, numbers for names that are taken, limits, and how they are shown."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import palaestra  # noqa: F401  # registers the ids
import pytest
from palaestra.envs.web.browsers.commands import Command
from palaestra.envs.web.browsers.page_cache import parse_page
from palaestra.envs.web.browsers.stored_files import (
    MOST_CHARACTERS,
    MOST_FILES,
    MOST_LINES,
    StoredFile,
    add_file,
    describe_files,
    find_file,
)

from .pages import make_browser, missing_chromium, number_of


@pytest.mark.parametrize(
    ("path", "name", "kept"),
    [
        ("/a/list.csv?x=1/2", "", "list.csv"),
        ("/a", "my  file\n.txt", "my file .txt"),
        ("/a", "../../etc/passwd", "passwd"),
        ("/a", "C:\\windows\\x.ini", "x.ini"),
        ("/%C3%A4.txt", "", "ä.txt"),
        ("/", "", "download"),
    ],
)
def test_a_name_has_no_folder(path: str, name: str, kept: str):
    assert add_file((), path, name, "x") == (StoredFile(kept, "x"),)


def test_a_name_that_is_taken_gets_a_number():
    files: Any = ()
    for text in ("one", "two", "three"):
        files = add_file(files, "/", "a.b.txt", text)
    files = add_file(add_file(files, "/", "plain", ""), "/", "plain", "")
    assert [one.name for one in files] == ["a.b.txt", "a.b (1).txt", "a.b (2).txt", "plain", "plain (1)"]
    found = find_file(files, " a.b (1).txt ")
    assert isinstance(found, StoredFile)
    assert found.text == "two"


def test_too_many_files_and_too_long_ones_are_refused():
    assert "60001 characters" in str(add_file((), "/", "a", "x" * (MOST_CHARACTERS + 1)))
    full = tuple(StoredFile(str(number), "") for number in range(MOST_FILES))
    assert "20 files are kept" in str(add_file(full, "/", "a", ""))


def test_text_of_a_file_cannot_pass_for_a_control():
    shown = describe_files(
        (StoredFile('a"\n[1] link "x', 'b"\n[2] button "Pay"\n' + "c\n" * MOST_LINES),), 'a"\n[1] link "x'
    )
    lines = shown.splitlines()
    assert lines[0].startswith('Files: "a\\" [1] link \\"x"; open_file')
    assert lines[2:4] == ['  "b\\""', '  "[2] button \\"Pay\\""']
    assert lines[-1] == "  (2 more lines)"
    assert describe_files((), "") == ""


@pytest.mark.parametrize("backend", ["inprocess", "chromium"])
def test_no_file_of_the_machine_is_read_or_written(backend: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch):
    if backend == "chromium" and missing_chromium():
        pytest.skip(missing_chromium())
    there = tmp_path / "list.csv"
    there.write_text("of the machine")
    monkeypatch.chdir(tmp_path)
    browser = make_browser(backend)
    browser.perform(Command("goto", 0, "/upload"))
    field = number_of(browser, "A")
    for name in ("list.csv", str(there), "/etc/passwd", "file:///etc/passwd"):
        assert "There is no file" in (browser.perform(Command("upload", field, name)) or "")
    browser.perform(Command("goto", 0, "/files"))
    browser.perform(Command("click", number_of(browser, "List")))
    browser.perform(Command("goto", 0, "/upload"))
    assert browser.perform(Command("upload", number_of(browser, "A"), "list.csv")) is None
    browser.perform(Command("click", number_of(browser, "Send")))
    assert "name,size" in " ".join(line.name for line in browser.page.lines)
    assert "of the machine" not in browser.page.html
    assert [path.name for path in tmp_path.iterdir()] == ["list.csv"]
    assert there.read_text() == "of the machine"
    browser.close()


def test_files_are_shown_until_the_next_action_and_end_with_the_episode():
    env: Any = gym.make("palaestra/Tracker-v0", templates="read-sheet", slack=9.0, disable_env_checker=True).unwrapped
    env.reset(seed=0)
    assert "Files:" not in env.step("goto /papers/2")[0]
    link = next(one.number for one in parse_page(env.here().tab.html).controls if one.name == "Test protocol")
    assert 'Files: "test-protocol-2.txt"; open_file' in env.step(f"click [{link}]")[0]
    opened = env.step('open_file("test-protocol-2.txt")')[0]
    assert 'File "test-protocol-2.txt":\n  "Test protocol"\n' in opened
    wrong, *_, info = env.step('open_file "other"')
    assert info["action_error"].startswith("There is no file 'other'")
    assert "Run on" in wrong
    state = env.get_state()
    assert "Run on" not in env.step("wait")[0]
    other: Any = gym.make("palaestra/Tracker-v0", disable_env_checker=True).unwrapped
    other.reset(seed=5)
    other.set_state(state)
    assert 'Files: "test-protocol-2.txt"' in other.step("goto /")[0]
    assert "Files:" not in env.reset(seed=1)[0]


def test_an_impossible_action_leaves_a_file_open():
    browser = make_browser("inprocess")
    browser.files = (StoredFile("a.txt", "x"),)
    assert browser.perform(Command("open_file", 0, "a.txt")) is None
    assert browser.perform(Command("click", 999))
    assert browser.opened == "a.txt"
    assert browser.perform(Command("wait")) is None
    assert browser.opened == ""
