"""Command line ``palaestra COMMAND …``. Each command is one module of this package, imported only when it is called.

An error that the user can correct (an unknown name, a value out of range, a missing package) is printed as one sentence
on standard error, with exit code 2. Ctrl-C gives the exit code 130, SIGTERM 143 and SIGHUP 129. Any other error is a
defect and keeps its traceback.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
import warnings
from collections.abc import Callable, Sequence

from ..errors import InputError, MissingExtra, find_extra, unknown_name
from .stopping import exit_code, interrupt_on_signals

# Command -> (module of this package, one line for --help). A new command is a file and a row.
COMMANDS: dict[str, tuple[str, str]] = {
    "train": ("train", "train a language model with GRPO or a relative, or a student of gridworlds, under a teacher"),
    "eval": ("eval", "play an agent on an environment and report success with confidence intervals"),
    "compare": ("compare", "compare two evaluations on the same tasks"),
    "match": ("match", "let agents play games of two seats against each other, with ratings"),
    "view": ("view", "write the episodes of a run or an evaluation as a page to filter, search and read"),
    "play": ("play", "play an environment yourself, in the terminal"),
    "bench": ("bench", "measure a part of the package: the learner, teachers, verifiers, environments, sandboxes"),
    "list": ("list", "list what is registered: environments, agents, teachers, recipes, rewards, verifiers"),
    "design": ("design", "let a language model design an environment's reward, as a checked Python program"),
    "export": ("export", "write a run's policy as a plain model folder, with adapters merged on request"),
    "dataset": ("dataset", "write tasks or played episodes as a data set, or upload it"),
    "rubrics": (
        "rubrics",
        "write rubrics from pairs of replies, or from the rubrics of similar prompts",
    ),
    "audit": (
        "audit",
        "find loops and cheats in episodes; try a reward model; measure forgetting, or an attack on views",
    ),
    "new": ("new", "write a package of your own: an environment, a teacher, a reward, a recipe or an agent"),
    "serve": ("serve", "serve environments over OpenEnv's protocol, one for each connection"),
    "mcp": ("mcp", "serve an environment's actions as tools of the Model Context Protocol"),
    "report": ("report", "write a run's report.html again"),
    "doctor": ("doctor", "check what this machine can do, with the command that adds each missing part"),
    "completion": ("completion", "write a script that completes commands and names in bash, zsh or fish"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. ``argv`` excludes the program's name; None: ``sys.argv[1:]``."""
    try:
        return _run(argv)
    except KeyboardInterrupt as stop:  # before the command itself has begun
        print("palaestra: stopped.", file=sys.stderr)
        return exit_code(stop)


def _run(argv: Sequence[str] | None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_help())
        return 0
    if arguments[0] == "--version":
        from .. import __version__

        print(f"palaestra {__version__}")
        return 0
    return run_guarded(run_command, arguments)


def run_guarded(command: Callable[[Sequence[str]], object], argv: Sequence[str]) -> int:
    """Call ``command(argv)`` and convert its result or its errors to an exit code (see the module's docstring)."""
    import gymnasium as gym

    # As with `python -m`, modules of the current folder can be imported ("my_module:mine/Env-v0").
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    # While torch's threads wait for each other, GNU's OpenMP lets them spin 300,000 times, up to 20 ms, on a core that
    # another thread of the same product may need: with one other busy process, products of two threads took 4 to 14
    # times as long.
    if not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
        os.environ["GOMP_SPINCOUNT"] = "1000"
    formatter, warnings.formatwarning = warnings.formatwarning, _format_warning
    try:
        with interrupt_on_signals():
            code = command(argv)
        # Flush here, where the error of a closed pipe (palaestra list | head) can still be caught.
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (InputError, MissingExtra, gym.error.UnregisteredEnv, gym.error.DeprecatedEnv) as error:
        sentence = " ".join(str(error).split())
        print(f"palaestra: {sentence}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        extra = find_extra(error.name)
        if extra is None:
            raise
        print(f"palaestra: {MissingExtra(f'this command, which imports {error.name},', extra)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        print("palaestra: stopped.", file=sys.stderr)
        return exit_code(stop)
    except BrokenPipeError:
        # Python would complain again when it flushes standard output at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES):
            raise
        print(f"palaestra: {error.strerror}: {error.filename or 'a file'}; what was complete is kept.", file=sys.stderr)
        return 1
    finally:
        warnings.formatwarning = formatter


def _format_warning(message: Warning | str, category: type[Warning], *place: object) -> str:
    """Format a UserWarning as one line for the user; warnings for developers keep file and line."""
    if category is UserWarning:
        return f"palaestra: {' '.join(str(message).split())}\n"
    return f"{':'.join(map(str, place[:2]))}: {category.__name__}: {message}\n"


def run_command(argv: Sequence[str]) -> object:
    """Run the command that ``argv`` begins with and return its result. Exceptions of the command propagate.

    Raises:
        InputError: there is no such command.
    """
    name, *rest = argv
    if name not in COMMANDS:
        raise unknown_name("command", name, COMMANDS)
    return importlib.import_module(f".{COMMANDS[name][0]}", __package__).main(rest)


def _help() -> str:
    width = max(map(len, COMMANDS))
    return "\n".join(
        [
            "usage: palaestra COMMAND [options]      palaestra COMMAND --help says more, with examples",
            "",
            *(f"  {name:<{width}}  {summary}" for name, (_, summary) in COMMANDS.items()),
            "",
            "  --version, --help",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
