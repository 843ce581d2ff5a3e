"""``palaestra doctor``: real components, each in a process that is bounded in time and leaves nothing behind."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time

import pytest
from palaestra.agents.language import registered_models
from palaestra.agents.language.model_cache import CONVERSION, converted_folder
from palaestra.agents.language.registered_models import MODELS
from palaestra.scripts.cli import main
from palaestra.scripts.doctor import examine
from palaestra.scripts.doctor_checks import MachineCheck, find_checks, find_extras, run_check

from ..patience import wait_until  # isort: skip


def test_the_core_works_here_and_is_exit_code_0(capsys):
    assert main(["doctor", "python", "environments", "disk", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["core_works"] is True
    states = {check["name"]: (check["group"], check["add"]) for check in found["checks"] if check["state"] == "ok"}
    assert states["environments"] == states["python"] == ("core", "")


def test_a_core_that_gives_no_outcome_in_time_is_exit_code_1(capsys):
    began = time.monotonic()
    assert main(["doctor", "environments", "--seconds", "0.01"]) == 1
    assert time.monotonic() - began < 60
    assert "failed  environments  no outcome within 0.01 s" in capsys.readouterr().out


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bwrap")
def test_a_program_runs_in_the_sandbox():
    (finding,) = examine({"bubblewrap": find_checks()["bubblewrap"]}, 60)
    assert finding.state == "ok", finding
    assert "a program was run in " in finding.found


def test_what_is_missing_has_its_use_and_the_command_that_adds_it(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["doctor", "bubblewrap"]) == 0
    shown = capsys.readouterr().out
    assert "missing bubblewrap  the sandbox 'local' needs Linux and the program bwrap" in shown
    assert "needed for environments that run programs" in shown
    assert "add it with: apt-get install bubblewrap" in shown


def test_an_absent_package_is_added_by_the_extra_that_its_user_names(monkeypatch):
    monkeypatch.setitem(sys.modules, "docker", None)
    outcome = run_check("docker")
    assert (outcome["state"], outcome["add"]) == ("missing", "pip install 'palaestra[code]'")


@pytest.mark.skipif(not os.path.isdir("/usr/lib/postgresql"), reason="needs PostgreSQL")
def test_a_server_that_was_started_is_gone_with_its_folder(monkeypatch, tmp_path):
    tmp_path.chmod(0o755)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (finding,) = examine({"postgres": find_checks()["postgres"]}, 120)
    assert finding.state == "ok", finding
    assert list(tmp_path.iterdir()) == []


def test_what_a_check_has_started_ends_with_it(monkeypatch, tmp_path):
    started = tmp_path / "pid"
    # The process of the check runs this instead of Python: it starts another one, and never ends.
    program = tmp_path / "python"
    program.write_text(
        f"#!/bin/sh\nsleep 600 >/dev/null 2>&1 & echo $! > {started}.new; mv {started}.new {started}; wait\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    for seconds in (1, 5, 25):  # longer ones for a machine on which it has not started the other one
        (finding,) = examine({"slow": MachineCheck("web", "nothing", "nothing", str)}, seconds)
        assert finding.found == f"no outcome within {seconds} s"
        if started.exists():
            break
    child = int(started.read_text())
    wait_until(lambda: _state_of(child) in ("", "Z"))


def _state_of(process: int) -> str:
    """Its state, by a letter; "" where there is no such process."""
    try:
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def test_a_check_that_crashes_is_told():
    (finding,) = examine({"no such check": MachineCheck("web", "nothing", "nothing", str)}, 60)
    assert finding.state == "failed"
    assert finding.found.startswith("the check ended with 1: KeyError")


def test_memory_is_told_where_the_system_counts_it_and_else_not(monkeypatch):
    measure = os.sysconf

    def without_free_pages(name):  # as on macOS
        if name == "SC_AVPHYS_PAGES":
            raise ValueError("unrecognized configuration name")
        return measure(name)

    monkeypatch.setattr(os, "sysconf", without_free_pages)
    assert "GiB free" in run_check("memory")["found"]
    monkeypatch.delattr(os, "sysconf")  # as on Windows
    assert run_check("memory") == {"state": "ok", "found": "not measured on this system", "add": ""}


def test_each_extra_says_what_it_is_for():
    checks = find_checks()
    assert {"grid", "train", "vllm", "ray"} <= set(find_extras())
    assert not [name for name in find_extras() if checks[f"extra {name}"].needed_for.startswith("what needs")]


def test_registered_models_are_there_or_have_the_command_that_brings_them(monkeypatch, tmp_path):
    monkeypatch.setenv("PALAESTRA_CACHE", str(tmp_path))
    monkeypatch.setattr(registered_models.importlib.util, "find_spec", lambda package: None)
    missing = run_check("model smollm2-135m")
    assert (missing["state"], missing["add"]) == ("missing", MODELS["smollm2-135m"].install)
    monkeypatch.setattr(registered_models.importlib.util, "find_spec", lambda package: object())
    assert run_check("model smollm2-135m")["found"] == "134,515,008 parameters; converted on first use"
    folder = converted_folder("smollm2-135m", MODELS["smollm2-135m"].sha256)
    folder.mkdir(parents=True)
    (folder / "conversion.json").write_text(json.dumps({"conversion": CONVERSION, "sizes": {}}))
    assert run_check("model smollm2-135m")["found"] == f"134,515,008 parameters, in {folder}"


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["bublewrap"], "unknown check 'bublewrap'; did you mean 'bubblewrap'?"),
        (["--seconds", "0"], "--seconds must be above 0, not 0."),
    ],
)
def test_bad_input_is_one_sentence(argv, sentence, capsys):
    assert main(["doctor", *argv]) == 2
    assert sentence in capsys.readouterr().err
