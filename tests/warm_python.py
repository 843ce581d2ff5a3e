"""Runs scripts in forks of one process that has loaded PyTorch and this package: to load them takes longer than most
scripts that documentation shows."""

from __future__ import annotations

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

    def run(script):
        folder = os.path.dirname(script)
        os.chdir(folder)
        sys.path.insert(0, folder)
        sys.argv = [script]
        warnings.simplefilter("error")
        # Of forks beside threads, which Python 3.12 and 3.13 have.
        warnings.filterwarnings("ignore", "This process", DeprecationWarning)
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
        script, output, environment = json.loads(line)
        pid = os.fork()
        if pid == 0:
            for number, mode in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
                os.dup2(os.open(os.devnull if number < 2 else output, mode), number)
            os.environ.clear()
            os.environ.update(environment)
            run(script)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


def run_script(script: Path) -> tuple[int, str]:
    """Run a Python script in its folder, with warnings as errors; return its exit code and its error output."""
    process = _start()
    with tempfile.NamedTemporaryFile("r") as output:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        print(json.dumps([str(script), output.name, {**os.environ, "PATH": path}]), file=process.stdin, flush=True)
        assert process.stdout is not None
        code = process.stdout.readline()
        assert code, "the process that scripts are forked from has ended"
        return int(code), output.read()


@cache
def _start() -> subprocess.Popen[str]:
    # It ends with this process, when its standard input is closed.
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", _PROGRAM], stdin=pipe, stdout=pipe, text=True)
