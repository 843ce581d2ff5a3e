"""Runs scripts in forks of one process that has loaded PyTorch and this package: to load them takes longer than most
scripts that documentation shows."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

_PROGRAM = """if True:
    import atexit, json, os, runpy, sys, traceback, warnings

    import matplotlib, torch, transformers
    import palaestra, palaestra.agents, palaestra.agents.grpo.learner, palaestra.teachers

    torch.set_num_threads(1)  # a fork has no threads of a pool

    def run(words, folder, strict):
        script = words[0]
        os.chdir(folder)
        sys.path.insert(0, os.path.dirname(script))
        sys.argv = words
        if strict:
            warnings.simplefilter("error")
        # Of forks beside threads, which Python 3.12 and 3.13 have.
        warnings.filterwarnings("ignore", "This process", DeprecationWarning)
        warnings.filterwarnings("ignore", "builtin type", DeprecationWarning)  # of Box2D's extension module
        try:
            runpy.run_path(script, run_name="__main__")
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        except BaseException:
            traceback.print_exc()
            code = 1
        atexit._run_exitfuncs()
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(code)

    for line in sys.stdin:
        words, folder, strict, files, environment = json.loads(line)
        pid = os.fork()
        if pid == 0:
            for number, file in enumerate((os.devnull, *files)):
                os.dup2(os.open(file, os.O_WRONLY if number else os.O_RDONLY), number)
            os.environ.clear()
            os.environ.update(environment)
            run(words, folder, strict)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


def run_script(words: list[str], folder: Path, strict: bool = True) -> tuple[int, str, str]:
    """Run a Python script, which is the first of ``words``, in a folder; return its exit code, its output and its error
    output. Warnings are errors where ``strict``."""
    process = _start()
    with tempfile.NamedTemporaryFile("r") as output, tempfile.NamedTemporaryFile("r") as errors:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        order = [words, str(folder), strict, [output.name, errors.name], {**os.environ, "PATH": path}]
        print(json.dumps(order), file=process.stdin, flush=True)
        assert process.stdout is not None
        code = process.stdout.readline()
        assert code, "the process that scripts are forked from has ended"
        return int(code), output.read(), errors.read()


@cache
def _start() -> subprocess.Popen[str]:
    # It ends when its standard input is closed, even if this process is killed.
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", _PROGRAM], stdin=pipe, stdout=pipe, text=True)
    atexit.register(process.communicate)
    return process
