"""``palaestra completion``: scripts that the shells themselves run, with the words of the parsers and registries."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from palaestra.benchmarks import BENCHMARKS
from palaestra.scripts.cli import COMMANDS, main

_WRITE = """if True:
    import json, sys
    from palaestra.scripts.completion import collect_words
    from palaestra.scripts.completion_scripts import render_script
    words = collect_words()
    assert not {"torch", "transformers"} & set(sys.modules)
    scripts = [render_script(shell, words) for shell in ("bash", "zsh", "fish")]
    print(json.dumps({"options": words.options, "scripts": scripts}))
"""


@pytest.fixture(scope="module")
def written() -> dict:
    """The options of every command and the three scripts, made in a process that must not load torch."""
    done = subprocess.run([sys.executable, "-c", _WRITE], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def scripts(written, tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("completion")
    paths = {"bash": folder / "palaestra.bash", "zsh": folder / "_palaestra", "fish": folder / "palaestra.fish"}
    for path, text in zip(paths.values(), written["scripts"]):
        path.write_text(text)
    return paths


CASES = [
    (["trai"], ["train"]),
    (["bench", "bas"], ["baselines"]),
    (["train", "palaestra/Sud"], ["palaestra/Sudoku-v0"]),
    (["train", "palaestra/Sudoku-v0", "--teacher", "alp-gmm-w"], ["alp-gmm-windowed"]),
    (["bench", "teachers", "--teachers", "alp-gmm", "curro"], ["currot"]),
    (["train", "--recipe", "dap"], ["dapo"]),
    (["train", "--recipe", "dapo", "palaestra/Wordl"], ["palaestra/Wordle-v0"]),
    (["eval", "--suite", "cor"], ["core"]),
    (["eval", "--split", "t"], ["test", "train"]),
    (["eval", "--greedy", "palaestra/Wordl"], ["palaestra/Wordle-v0"]),
    (["list", "rec"], ["recipes"]),
    (["export", "--che"], ["--checkpoint"]),
    (["completion", "z"], ["zsh"]),
]


@pytest.mark.parametrize(("typed", "completed"), CASES)
def test_bash_completes_by_itself(typed, completed, scripts):
    # Without a path nothing can be started: what completes is bash alone.
    code = (
        f"PATH=; source {scripts['bash']}; COMP_WORDS=(palaestra {' '.join(typed)}); COMP_CWORD={len(typed)}; "
        "_palaestra; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert (sorted(done.stdout.split()), done.stderr) == (completed, "")


def test_bash_completes_an_id_without_its_namespace_and_leaves_files_to_the_shell(scripts):
    code = (
        f"source {scripts['bash']}; COMP_WORDS=(palaestra play Sudo); COMP_CWORD=2; _palaestra; echo $COMPREPLY; "
        "COMP_WORDS=(palaestra compare x); _palaestra; echo ${#COMPREPLY[@]}; complete -p palaestra"
    )
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["palaestra/Sudoku-v0", "0"]
    assert "-o default" in done.stdout


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
def test_zsh_finds_the_same(scripts):
    calls = "\n".join(f"__palaestra_find {' '.join(typed)}; print -- $found" for typed, _ in CASES)
    code = f"compdef() {{ : }}; source {scripts['zsh']}; {calls}"
    done = subprocess.run(["zsh", "-fc", code], capture_output=True, text=True, check=True)
    for (typed, completed), line in zip(CASES, done.stdout.splitlines(), strict=True):
        assert sorted(word for word in line.split() if word.startswith(typed[-1])) == completed


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
def test_fish_completes_the_same(scripts, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    calls = "; ".join(f"complete -C 'palaestra {' '.join(typed)}'; echo end" for typed, _ in CASES)
    done = subprocess.run(["fish", "-Nc", f"source {scripts['fish']}; {calls}"], capture_output=True, text=True)
    for (_, completed), block in zip(CASES, done.stdout.split("end\n")):
        assert sorted(block.split()) == completed


def test_every_command_and_benchmark_has_its_options(written):
    commands = {name for name in COMMANDS if name != "bench"} | {f"bench {name}" for name in BENCHMARKS}
    assert set(written["options"]) == commands
    assert [name for name, options in written["options"].items() if "--help" not in options] == []


def test_the_command_prints_the_script_of_the_shell(capsys):
    assert main(["completion", "fish"]) == 0
    assert "complete -c palaestra" in capsys.readouterr().out
