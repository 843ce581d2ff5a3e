"""The backend "unsafe-subprocess": no sandbox at all, for programs that are trusted. See the name."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .protocol import Job, Limits, Result
from .wire import encoded, result

_RUNNER = """
import sys
sys.path[0] = sys.argv[1]
from inside import program
program.run(int(sys.argv[2]), int(sys.argv[3]))
"""


class UnsafeSubprocess:
    """A fresh interpreter for each run, in a new folder, with this user's rights: it can read and write this user's
    files and use the network. Only wall time is limited, and what is read of its output."""

    def run(self, job: Job, limits: Limits) -> Result:
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="palaestra-"))
            payload, stdout, stderr, values = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(4)]
            payload.write(encoded(job))
            payload.flush()
            passed = [payload.fileno(), values.fileno()]
            begun = time.monotonic()
            process = subprocess.Popen(
                [sys.executable, "-c", _RUNNER, str(Path(__file__).parent), *map(str, passed)],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                pass_fds=passed,
                start_new_session=True,
            )
            try:
                code, reason = process.wait(limits.seconds), ""
            except subprocess.TimeoutExpired:
                code, reason = None, "time"
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            report = {"code": code, "reason": reason, "seconds": time.monotonic() - begun, "peak": 0}
            sizes = {stdout: limits.output_bytes, stderr: limits.output_bytes, values: limits.value_bytes}
            if any(os.fstat(file.fileno()).st_size > size for file, size in sizes.items()):
                report.update(code=None, reason="output")
            out, err, told = [os.pread(file.fileno(), int(size), 0) for file, size in sizes.items()]
            return result(report, out, err, told, len(job.calls))

    def close(self) -> None:
        """There is nothing to close."""
