"""``palaestra doctor``: check which components work on this machine, and print install commands for missing ones.

Every component is used once, through the code that environments and the learner use: a program runs in the sandbox, a
database answers, Chromium shows a page. A check that takes too long is killed. No check leaves anything behind.

examples:
  palaestra doctor
  palaestra doctor bubblewrap postgres
  palaestra doctor --json
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

import tyro

from ..errors import InputError, unknown_name
from .doctor_checks import CORE, MachineCheck, find_checks, run_check

AT_ONCE = 4


@dataclass(frozen=True)
class DoctorOptions:
    check: tyro.conf.Positional[tuple[str, ...]] = ()
    """Checks to run; all by default."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print the outcome as JSON."""
    seconds: float = 60.0
    """Time limit of each check, in seconds."""


@dataclass(frozen=True)
class CheckOutcome:
    """Outcome of a check: ``state`` is "ok", "missing" or "failed"; ``add`` is the install command or ""."""

    name: str
    group: str
    state: str
    found: str
    needed_for: str
    add: str


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command. Return 0 if all checks of the group "core" are ok, otherwise 1."""
    options = tyro.cli(DoctorOptions, args=argv, prog="palaestra doctor", description=__doc__)
    if not options.seconds > 0:
        raise InputError(f"--seconds must be above 0, not {options.seconds:g}.")
    checks = find_checks()
    for name in options.check:
        if name not in checks:
            raise unknown_name("check", name, checks)
    findings = examine({name: checks[name] for name in options.check or checks}, options.seconds)
    works = all(finding.state == "ok" for finding in findings if finding.group == CORE)
    if options.json:
        print(json.dumps({"core_works": works, "checks": [asdict(finding) for finding in findings]}, indent=2))
    else:
        _print(findings)
    return 0 if works else 1


def examine(checks: dict[str, MachineCheck], seconds: float) -> list[CheckOutcome]:
    """Run checks, four at a time. Each check that is not quick runs in a separate process with a time limit."""
    from rich.console import Console

    with Console(stderr=True).status(f"{len(checks)} checks"), ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = list(pool.map(lambda name: _run_apart(name, checks[name], seconds), checks))
    return [
        CheckOutcome(name, check.group, needed_for=check.needed_for, **outcome)
        for (name, check), outcome in zip(checks.items(), outcomes)
    ]


def _run_apart(name: str, check: MachineCheck, seconds: float) -> dict[str, str]:
    if check.quick:
        return run_check(name)
    command = [sys.executable, "-m", f"{__package__}.doctor_checks", name]
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        output, errors = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        found = f"no outcome within {seconds:g} s"
    else:
        if child.returncode == 0:
            return json.loads(output)
        last = errors.decode(errors="replace").strip().rpartition("\n")[2][:200]
        found = f"the check ended with {child.returncode}: {last}"
    finally:
        # Kill the whole process group, so that processes that the check has started end with it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(child.pid, signal.SIGKILL)
            else:  # Windows has no process groups of this kind
                child.kill()
        child.communicate()
    return {"state": "failed", "found": found, "add": check.add}


def _print(findings: Sequence[CheckOutcome]) -> None:
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console, width = Console(highlight=False), max(len(finding.name) for finding in findings)
    styles = {"ok": "green", "missing": "yellow", "failed": "red"}
    group = ""
    for finding in findings:
        if finding.group != group:
            group = finding.group
            console.print(Text(group, style="bold"))
        head = Text(f"  {finding.state:<8}", style=styles[finding.state]) + Text(f"{finding.name:<{width}}  ", style="")
        console.print(head + Text(finding.found, style=""), soft_wrap=not console.is_terminal)
        if finding.state != "ok":
            rest = Text(f"needed for {finding.needed_for}\nadd it with: ") + Text(finding.add, style="bold")
            console.print(Padding(rest, (0, 0, 0, 10)))
