"""Columns of suites from reports that `palaestra eval --suite` has written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from palaestra.errors import InputError
from palaestra.tools import update_suites


def test_a_report_becomes_a_column_of_its_suite_if_the_tasks_are_the_same(tmp_path: Path, monkeypatch):
    shutil.copy(update_suites.FOLDER / "sql.json", tmp_path)
    before = json.loads((tmp_path / "sql.json").read_text())
    monkeypatch.setattr(update_suites, "FOLDER", tmp_path)
    monkeypatch.setattr(update_suites, "suite_names", lambda: ["palaestra/sql"])
    monkeypatch.setattr(update_suites, "content_hash", lambda suite: before["content_hash"])  # takes seconds
    reports = [
        {"env": env, "success": share} for env, share in zip(before["baselines"]["random"], (0.12345, None, 0, 1))
    ]
    report = {"suite": f"palaestra/sql {before['version']}", "content_hash": before["content_hash"], "success": 0.1}
    file = tmp_path / "report.json"
    for suite, hash_of in (("palaestra/math 1", "other"), (report["suite"], report["content_hash"])):
        file.write_text(json.dumps({**report, "suite": suite, "content_hash": hash_of, "reports": reports}))
        assert update_suites.main([f"mine={file}"]) == 0
    after = json.loads((tmp_path / "sql.json").read_text())
    assert list(after["baselines"].pop("mine").values()) == [0.1235, None, 0, 1]
    assert after == before
    file.write_text(json.dumps({**report, "content_hash": "other", "reports": reports}))
    assert update_suites.main(["sql"]) == 0
    with pytest.raises(InputError, match="unknown suite 'squirrel'"):
        update_suites.main(["squirrel"])
    with pytest.raises(InputError, match="measured on other tasks than palaestra/sql has now"):
        update_suites.main([f"mine={file}"])
