"""The command line: what the user can mend is one sentence and exit code 2; anything else keeps its traceback."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import gymnasium as gym
import pytest
from palaestra.errors import InputError, MissingExtra
from palaestra.scripts import cli
from palaestra.scripts.cli import COMMANDS, main, run_guarded


def sentence(capsys) -> str:
    """What was said on standard error, which must be one line; nothing may have been said on standard output."""
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("palaestra: ")
    assert err.count("\n") == 1
    return err


def raising(error: BaseException):
    def command(argv):
        raise error

    return command


class TestHelp:
    @pytest.mark.parametrize("argv", [[], ["--help"], ["-h"], ["help"]])
    def test_it_names_every_command_on_a_line_of_its_own(self, argv, capsys):
        assert main(argv) == 0
        lines = capsys.readouterr().out.splitlines()
        for command, (_, summary) in COMMANDS.items():
            assert any(line.split()[:1] == [command] and summary in line for line in lines)

    def test_version_is_the_packages(self, capsys):
        from palaestra import __version__

        assert main(["--version"]) == 0
        assert capsys.readouterr().out == f"palaestra {__version__}\n"

    @pytest.mark.parametrize("command", ["eval", "list", "report"])
    def test_each_command_shows_examples(self, command, capsys):
        with pytest.raises(SystemExit) as stopped:
            main([command, "--help"])
        assert stopped.value.code == 0
        assert f"examples:\n  palaestra {command}" in capsys.readouterr().out


class TestErrors:
    def test_an_unknown_command_is_answered_with_the_close_one(self, capsys):
        assert main(["evl"]) == 2
        assert "unknown command 'evl'; did you mean 'eval'?" in sentence(capsys)

    @pytest.mark.parametrize(
        "error",
        [
            InputError("digits must be\nat most 6."),
            MissingExtra("the report", "train"),
            gym.error.NameNotFound("Environment `Foo` doesn't exist."),
        ],
    )
    def test_what_the_user_can_mend_is_one_sentence_and_exit_code_2(self, error, capsys):
        assert run_guarded(raising(error), []) == 2
        assert " ".join(str(error).split()) in sentence(capsys)

    def test_a_package_that_an_extra_brings_is_one_sentence_and_any_other_a_traceback(self, capsys):
        absent = ModuleNotFoundError("No module named 'lxml'", name="lxml")
        assert run_guarded(raising(absent), []) == 2
        assert "which imports lxml, needs the extra [web]: pip install 'palaestra[web]'." in sentence(capsys)
        for name in ("palaestra.nowhere", "torch.nowhere", None):
            with pytest.raises(ModuleNotFoundError):
                run_guarded(raising(ModuleNotFoundError("No module", name=name)), [])

    def test_a_warning_to_the_user_is_one_line_without_a_place_in_the_code(self):
        code = (
            "import warnings; from palaestra.scripts.cli import run_guarded; before = warnings.formatwarning; "
            "run_guarded(lambda argv: warnings.warn('two records\\nare left out'), []); "
            "assert warnings.formatwarning is before"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stderr == "palaestra: two records are left out\n"

    def test_a_full_disk_is_one_sentence(self, capsys):
        def write(argv):
            raise OSError(errno.ENOSPC, "No space left on device", "runs/first/metrics.jsonl")

        assert run_guarded(write, []) == 1
        assert capsys.readouterr().err == (
            "palaestra: No space left on device: runs/first/metrics.jsonl; what was complete is kept.\n"
        )

    @pytest.mark.parametrize(
        ("command", "option"),
        [
            ("eval palaestra/Arithmetic-v0", "--json"),
            ("eval palaestra/Arithmetic-v0", "--out"),
            ("eval palaestra/Arithmetic-v0", "--replay"),
            ("eval palaestra/Arithmetic-v0 palaestra/Maze-v0", "--out"),
            ("view afile", "--out"),
            ("export .", "--out"),
            ("compare afile afile", "--json"),
            ("audit .", "--json"),
            ("dataset palaestra/Arithmetic-v0", "--out"),
            ("design palaestra/DoorKey-v0 --author scripted:afile", "--out"),
            ("bench teachers", "--out"),
            ("bench verifiers", "--json"),
        ],
    )
    def test_a_place_that_cannot_be_written_is_said_before_anything_is_done(
        self, command, option, capsys, tmp_path, monkeypatch
    ):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "afile").write_text("")
        assert main([*command.split(), option, "afile/x"]) == 2
        assert (
            sentence(capsys) == f"palaestra: 'afile/x' cannot be written: Not a directory; choose another {option}.\n"
        )
        assert [path.name for path in tmp_path.iterdir()] == ["afile"]

    def test_ctrl_c_is_130(self, capsys):
        assert run_guarded(raising(KeyboardInterrupt()), []) == 130
        sentence(capsys)

    def test_ctrl_c_before_the_command_has_begun_is_130(self, monkeypatch, capsys):
        def stopped(command, argv):
            raise KeyboardInterrupt

        monkeypatch.setattr(cli, "run_guarded", stopped)
        assert main(["list"]) == 130
        assert sentence(capsys) == "palaestra: stopped.\n"

    def test_a_defect_of_ours_keeps_its_traceback(self):
        with pytest.raises(ZeroDivisionError):
            run_guarded(raising(ZeroDivisionError()), [])

    def test_a_commands_own_exit_code_is_kept(self):
        assert run_guarded(lambda argv: 1, []) == 1
        assert run_guarded(lambda argv: None, []) == 0

    def test_a_command_receives_what_stands_after_its_name(self, monkeypatch):
        received = []
        monkeypatch.setattr("palaestra.scripts.list.main", lambda argv: received.append(argv))
        assert main(["list", "envs", "--format", "json"]) == 0
        assert received == [["envs", "--format", "json"]]

    def test_a_reader_that_goes_away_causes_no_traceback(self):
        code = "import sys; from palaestra.scripts.cli import main; sys.exit(main(['list', '--format', 'json']))"
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        assert process.stderr.read() == b""
        process.stderr.close()
        assert process.wait() == 141


class TestAsModules:
    @pytest.mark.parametrize("module", ["cli", "eval", "list", "report"])
    def test_each_runs_as_a_module(self, module):
        subprocess.run([sys.executable, "-m", f"palaestra.scripts.{module}", "--help"], check=True, capture_output=True)

    def test_a_module_answers_bad_input_as_the_command_does(self):
        argv = [sys.executable, "-m", "palaestra.scripts.eval", "palaestra/Arithmetic-v9"]
        done = subprocess.run(argv, capture_output=True, text=True)
        assert done.returncode == 2
        assert done.stderr.startswith("palaestra: unknown environment 'palaestra/Arithmetic-v9'")
        assert done.stderr.count("\n") == 1


def test_every_command_of_this_module_exists_or_is_one_line_from_it():
    for command, (module, summary) in cli.COMMANDS.items():
        assert module.isidentifier()
        assert command == module
        assert summary


def test_threads_wait_asleep_unless_the_user_has_said_how_they_wait(monkeypatch):
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv(name, "")
    assert run_guarded(lambda argv: 0, []) == 0
    assert os.environ["GOMP_SPINCOUNT"] == ""
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
        monkeypatch.delenv(name)
    assert run_guarded(lambda argv: 0, []) == 0
    assert os.environ["GOMP_SPINCOUNT"] == "1000"
    monkeypatch.delenv("GOMP_SPINCOUNT")
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    assert run_guarded(lambda argv: 0, []) == 0
    assert "GOMP_SPINCOUNT" not in os.environ
