"""Files that are written whole or not at all, and places that cannot be written."""

from __future__ import annotations

import os
import re

import pytest
from palaestra.agents.atomic import check_output, write_atomically
from palaestra.errors import InputError


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path):
    path = write_atomically(tmp_path / "deep" / "x.json", "old")

    def pieces():
        yield "new"
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        write_atomically(path, pieces())
    assert path.read_text() == "old"
    assert [file.name for file in path.parent.iterdir()] == ["x.json"]


def test_a_place_that_cannot_be_is_one_sentence_and_nothing_is_made(tmp_path):
    (tmp_path / "afile").write_text("")
    for place in (tmp_path / "afile" / "x", tmp_path / "afile" / "deep" / "x"):
        sentence = f"{re.escape(repr(str(place)))} cannot be written: Not a directory; choose another"
        for folder in (False, True):
            with pytest.raises(InputError, match=f"{sentence} --out"):
                check_output(place, "--out", folder=folder)
        with pytest.raises(InputError, match=sentence):
            write_atomically(place, "text")
    with pytest.raises(InputError, match=r"--out must be a file, but .* is a folder"):
        check_output(tmp_path, "--out")
    with pytest.raises(InputError, match=r"--out must be a folder, but .* is a file"):
        check_output(tmp_path / "afile", "--out", folder=True)
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        check_output("/proc/x.json", "--json")
    check_output(tmp_path / "new" / "deep", "--out")
    check_output(None, "--out")
    assert [file.name for file in tmp_path.iterdir()] == ["afile"]


def test_a_pipe_is_written_and_stays_one(tmp_path):
    reading, writing = os.pipe()
    place = f"/dev/fd/{writing}"
    check_output(place, "--json")
    write_atomically(place, "text")
    os.close(writing)
    with os.fdopen(reading) as stream:
        assert stream.read() == "text"
