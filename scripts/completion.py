"""``palaestra completion``: write a shell script that completes commands, options and names (ids, teachers, ...).

The script contains all words, so that Tab starts no Python; write it again after an upgrade.

examples:
  palaestra completion bash > ~/.local/share/bash-completion/completions/palaestra
  palaestra completion zsh > ~/.zfunc/_palaestra      with fpath+=~/.zfunc before compinit in ~/.zshrc
  palaestra completion fish > ~/.config/fish/completions/palaestra.fish
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import tyro

from ..registry import Registry
from .bench import find_benchmarks
from .completion_scripts import CompletionWords, render_script

Shell = Literal["bash", "zsh", "fish"]


@dataclass(frozen=True)
class CompletionOptions:
    shell: tyro.conf.Positional[Shell]
    """Shell that the script is for."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = tyro.cli(CompletionOptions, args=argv, prog="palaestra completion", description=__doc__)
    print(render_script(options.shell, collect_words()), end="")
    return 0


def collect_words() -> CompletionWords:
    """Collect the options of every command from its parser, and names from the registries; torch is not imported."""
    from .cli import COMMANDS, run_command
    from .list import ON_REQUEST, TABLES

    package = find_benchmarks()
    benchmarks: dict[str, Any] = package.BENCHMARKS if package else {}
    found = CompletionWords({"": tuple(COMMANDS), "bench": tuple(benchmarks)})
    names: dict[str, Iterable[str]] = {"shells": get_args(Shell), "tables": [*TABLES, *ON_REQUEST]}
    for kind, place in _NAMES.items():
        module, _, attribute = place.partition(":")
        listed: Any = getattr(importlib.import_module(f"...{module}", __name__), attribute)
        names[kind] = listed if isinstance(listed, Registry) else listed()
    # A suite may also be given without its namespace.
    names["suites"] = [spelling for name in names["suites"] for spelling in (name.rpartition("/")[2], name)]
    # Only names without characters that are special in a shell.
    plain = re.compile(r"[\w./+-]+")
    registered = {kind: tuple(filter(plain.fullmatch, listed)) for kind, listed in names.items()}
    calls: dict[str, Callable[[Sequence[str]], Any]] = {
        **{name: lambda argv, name=name: run_command([name, *argv]) for name in COMMANDS if name != "bench"},
        **{f"bench {name}": lambda argv, name=name: run_command(["bench", name, *argv]) for name in benchmarks},
    }
    for command, call in calls.items():
        # tyro's completion script contains the table of a parser's options. A command whose extra is missing has none.
        with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.suppress(SystemExit, ImportError):
            call(["--tyro-print-completion", "bash"])
        table = re.search(r"^COMPLETION_SPEC = (\{.*\})$", printed.getvalue(), re.MULTILINE)
        _add_command(found, command, ast.literal_eval(table[1])["options"] if table else [], registered)
    return found


def _add_command(
    found: CompletionWords, command: str, options: Iterable[dict[str, Any]], registered: dict[str, tuple[str, ...]]
) -> None:
    flags: list[str] = []
    for option in options:
        keys = [f"{command} {flag}" for flag in option["flags"]]
        flags += option["flags"]
        if not option.get("nargs"):
            found.flags.extend(keys)
        elif option["nargs"] == 1:
            found.singles.extend(keys)
        words = tuple(option.get("choices", ())) or registered.get(_OPTIONS.get(option["flags"][0], ""), ())
        if words:
            found.values.setdefault(words, []).extend(keys)
    found.options[command] = tuple(flags)
    if kind := _POSITIONALS.get(command):
        found.values.setdefault(registered[kind], []).append(f"{command} ")


_NAMES = {
    "envs": "envs.registration:ids",
    "teachers": "teachers:TEACHERS",
    "recipes": "agents.grpo.recipes:RECIPES",
    "rewards": "rewards:REWARDS",
    "suites": "agents.evaluation:suite_names",
    "agents": "agents.agent:AGENTS",
    "histories": "agents.history:HISTORIES",
    "models": "agents.language.registered_models:MODELS",
    "bonuses": "agents.students.bonuses:BONUSES",
    "learners": "agents.learners:LEARNERS",
}
"""Kind of names -> the registry with these names, or a function that lists them."""
_OPTIONS = {
    "--teacher": "teachers",
    "--teachers": "teachers",
    "--recipe": "recipes",
    "--shaping": "rewards",
    "--suite": "suites",
    "--agent": "agents",
    "--history": "histories",
    "--model": "models",
    "--teacher-model": "models",
    "--bonus": "bonuses",
    "--learner": "learners",
}
"""Option of any command -> the kind of names of the option's values."""
_POSITIONALS = {
    **dict.fromkeys(("train", "eval", "play", "design", "bench baselines"), "envs"),
    "list": "tables",
    "completion": "shells",
}
"""Command -> the kind of names of the command's positional arguments."""
