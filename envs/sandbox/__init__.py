"""The sandbox for untrusted programs.

    from palaestra.envs import sandbox

    result = sandbox.run("print(6 * 7)")                                # result.stdout == "42\\n"
    sandbox.run("while True: pass", limits=sandbox.Limits(seconds=0.5))     # result.reason == "time"
    tests = [sandbox.CallTest("double", [4], 8, public=True), sandbox.CallTest("double", ["ab"], "abab")]
    sandbox.run_tests("def double(x): return x + x", tests)                 # .fraction, .success, .feedback
    sandbox.run("import sortedcontainers", packages="/opt/lib/site-packages", preload=["sortedcontainers"])

Programs run within `Limits`, and are judged by tests that they cannot see.
"""

from __future__ import annotations

from .judge import CallTest, ProgramJudgement, StdioTest, run_tests
from .pool import Pool
from .protocol import Call, Job, Limits, Result, Sandbox, Value
from .running import BACKENDS, check_backend, pool, run, submit

Judgement = ProgramJudgement  # the earlier name

__all__ = [
    "BACKENDS",
    "Call",
    "CallTest",
    "Job",
    "Limits",
    "Pool",
    "ProgramJudgement",
    "Result",
    "Sandbox",
    "StdioTest",
    "Value",
    "check_backend",
    "pool",
    "run",
    "run_tests",
    "submit",
]
