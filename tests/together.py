"""Runs the cheap cases of a parametrised test as one test, because pytest takes longer for most cases than the case
itself does. A plugin, see conftest.py.

The cases are joined, at most `MOST` in a test, if the function takes only parameters and fixtures that outlive a test:
nothing that would be made anew for each case is shared. Cases that ``durations.json`` lists as dear stay alone, and so
do marked ones. All joined cases are run, and each that fails is reported under its id. Every case is a test of its own
with ``--each-case``, ``-k``, ``-m``, ``--lf``, ``--ff``, or where an id (``FILE::TEST``) is named.
"""

from __future__ import annotations

import dataclasses
import functools
import shutil
import time
from collections.abc import Generator
from typing import Any

import pytest

from . import quick_run

MOST = 100
# What the sandbox says where it is missing; a program that a test starts says so on its error output.
_NO_SANDBOX = "needs Linux and the program bwrap"
WITHOUT_SANDBOX = "bwrap is not installed (Debian's package bubblewrap)"


def add_options(parser: pytest.Parser) -> None:
    parser.getgroup("palaestra").addoption("--each-case", action="store_true", help="run no cases together as one test")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "together(cases): (id, parameters) of each case of a test; see together.py")


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc: Any) -> Generator[None, Any, Any]:
    # No public hook sees the cases before they are made into tests; constraints.txt holds the version of pytest whose
    # attributes these are.
    result = yield
    option = metafunc.config.option
    # xdist's workers are told the arguments of the command line.
    chosen = option.each_case or option.keyword or option.markexpr or getattr(option, "lf", False)
    if chosen or getattr(option, "failedfirst", False) or any("::" in word for word in metafunc.config.args):
        return result
    if len(metafunc._calls) > 3 and _joins(metafunc):
        dear, nodeid = _dear(), metafunc.definition.nodeid
        alone = [call for call in metafunc._calls if call.marks or f"{nodeid}[{call.id}]" in dear]
        kept = set(map(id, alone))
        cheap = [call for call in metafunc._calls if id(call) not in kept]
        joined = []
        for start in range(0, len(cheap), MOST):
            cases = [(call.id, call.params) for call in cheap[start : start + MOST]]
            mark = pytest.mark.together(cases).mark
            joined.append(dataclasses.replace(cheap[start], _idlist=[f"together{start // MOST + 1}"], marks=[mark]))
        metafunc._calls = joined + alone
    return result


def _joins(metafunc: Any) -> bool:
    """Return True if the function takes only direct parameters and fixtures that outlive a test."""
    if "request" in metafunc.definition._fixtureinfo.argnames or hasattr(metafunc.function, "hypothesis"):
        return False
    direct = {name for name, kind in metafunc._params_directness.items() if kind == "direct"}
    for name in set(metafunc.fixturenames) - direct - {"request"}:
        made = metafunc._arg2fixturedefs.get(name)
        if not made or made[-1].scope == "function" or made[-1].params is not None:
            return False
    return True


@functools.cache
def _dear() -> frozenset[str]:
    return frozenset(quick_run.read_durations())


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: Any) -> object | None:
    mark = pyfuncitem.get_closest_marker("together")
    if mark is None:
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    failed, skipped = [], []
    for name, params in mark.args[0]:
        started = time.perf_counter()
        try:
            pyfuncitem.obj(**{argument: params.get(argument, value) for argument, value in arguments.items()})
        except (Exception, pytest.fail.Exception) as error:
            if lacks_sandbox(str(error)):
                skipped.append(WITHOUT_SANDBOX)
            else:
                error.add_note(f"of the case [{name}]")
                failed.append(error)
        except pytest.skip.Exception as error:
            skipped.append(f"[{name}] {error.msg}")
        # What has become dear is listed as such by --write-durations, and runs alone from then on.
        if (took := time.perf_counter() - started) >= quick_run.DEAR:
            pyfuncitem.user_properties.append((f"{pyfuncitem.nodeid.rpartition('[')[0]}[{name}]", took))
    if len(failed) == 1:
        raise failed[0]
    if failed:
        raise BaseExceptionGroup(f"{len(failed)} of {len(mark.args[0])} cases", failed)
    if skipped:
        pytest.skip(f"{len(skipped)} of {len(mark.args[0])} cases: {'; '.join(dict.fromkeys(skipped))}")
    return True


def lacks_sandbox(said: str) -> bool:
    """Return True if an error is that no sandbox is installed here."""
    return _NO_SANDBOX in said and shutil.which("bwrap") is None
