"""``palaestra completion``: a script that completes commands, options, ids, teachers, recipes and suites in a shell.

The script holds all words, so that Tab starts no Python; write it again after an upgrade.

examples:
  palaestra completion bash > ~/.local/share/bash-completion/completions/palaestra
  palaestra completion zsh > ~/.zfunc/_palaestra      with fpath+=~/.zfunc before compinit in ~/.zshrc
  palaestra completion fish > ~/.config/fish/completions/palaestra.fish
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import tyro

from .bench import find_benchmarks
from .completion_scripts import CompletionWords, render_bash, render_fish, render_zsh

Shell = Literal["bash", "zsh", "fish"]


@dataclass(frozen=True)
class CompletionOptions:
    shell: tyro.conf.Positional[Shell]
    """Shell that reads the script."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = tyro.cli(CompletionOptions, args=argv, prog="palaestra completion", description=__doc__)
    render = {"bash": render_bash, "zsh": render_zsh, "fish": render_fish}[options.shell]
    print(render(collect_words()), end="")
    return 0


def collect_words() -> CompletionWords:
    """Collect the words of every command from its parser, and names from the registries; torch is not loaded."""
    from .cli import COMMANDS, run_command

    package = find_benchmarks()
    benchmarks: dict[str, Any] = package.BENCHMARKS if package else {}
    found = CompletionWords({"": tuple(COMMANDS), "bench": tuple(benchmarks)})
    registered = {kind: _keep_plain(names()) for kind, names in _NAMES.items()}
    calls: dict[str, Callable[[Sequence[str]], Any]] = {
        **{name: lambda argv, name=name: run_command([name, *argv]) for name in COMMANDS if name != "bench"},
        **{f"bench {name}": lambda argv, name=name: run_command(["bench", name, *argv]) for name in benchmarks},
    }
    for command, call in calls.items():
        _add_command(found, command, _read_options(call), registered)
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


def _read_options(call: Callable[[Sequence[str]], Any]) -> list[dict[str, Any]]:
    """Read a command's options from the completion script that tyro makes of its parser; none where the command cannot
    be imported, as an extra is absent."""
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.suppress(SystemExit, ImportError):
        call(["--tyro-print-completion", "bash"])
    table = re.search(r"^COMPLETION_SPEC = (\{.*\})$", printed.getvalue(), re.MULTILINE)
    return ast.literal_eval(table[1])["options"] if table else []


def _keep_plain(names: Iterable[str]) -> tuple[str, ...]:
    """Names that no shell takes for anything else."""
    return tuple(name for name in names if re.fullmatch(r"[\w./+-]+", name))


def _tables() -> Iterable[str]:
    from .list import ON_REQUEST, TABLES

    return [*TABLES, *ON_REQUEST]


def _envs() -> Iterable[str]:
    from ..envs.registration import ids

    return ids()


def _teachers() -> Iterable[str]:
    from ..teachers import TEACHERS

    return TEACHERS


def _recipes() -> Iterable[str]:
    from ..agents.grpo.recipes import RECIPES

    return RECIPES


def _rewards() -> Iterable[str]:
    from ..rewards import REWARDS

    return REWARDS


def _suites() -> Iterable[str]:
    from ..agents.evaluation import suite_names

    return [spelling for name in suite_names() for spelling in (name.rpartition("/")[2], name)]


def _agents() -> Iterable[str]:
    from ..agents.agent import AGENTS

    return AGENTS


def _models() -> Iterable[str]:
    from ..agents.language.registered_models import MODELS

    return MODELS


def _histories() -> Iterable[str]:
    from ..agents.history import HISTORIES

    return HISTORIES


def _bonuses() -> Iterable[str]:
    from ..agents.students.bonuses import BONUSES

    return BONUSES


def _learners() -> Iterable[str]:
    from ..agents.learners import LEARNERS

    return LEARNERS


_NAMES: dict[str, Callable[[], Iterable[str]]] = {
    "shells": lambda: get_args(Shell),
    "tables": _tables,
    "envs": _envs,
    "teachers": _teachers,
    "recipes": _recipes,
    "rewards": _rewards,
    "suites": _suites,
    "agents": _agents,
    "histories": _histories,
    "models": _models,
    "bonuses": _bonuses,
    "learners": _learners,
}
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
"""Option of any command -> what its value is a name of."""
_POSITIONALS = {
    **dict.fromkeys(("train", "eval", "play", "design", "bench baselines"), "envs"),
    "list": "tables",
    "completion": "shells",
}
"""Command -> the kind of names that its positional words are."""


if __name__ == "__main__":
    from .cli import run_guarded

    sys.exit(run_guarded(main, sys.argv[1:]))
