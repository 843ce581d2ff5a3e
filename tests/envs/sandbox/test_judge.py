from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from palaestra.envs import sandbox
from palaestra.envs.sandbox import CallTest, Limits, ProgramJudgement, StdioTest, judge
from palaestra.envs.sandbox.inside import program
from palaestra.envs.sandbox.judge import run_tests
from palaestra.errors import InputError

from ...patience import with_more_time  # isort: skip
from .backends import SAFE, missing
from .forgeries import EXPECTED, FORGERIES

LIMITS = Limits(seconds=10)
DOUBLE = "def double(x): return x + x\nif __name__ == '__main__': print(double(int(input())))"


@pytest.fixture(scope="module", params=SAFE)
def backend(request: pytest.FixtureRequest) -> str:
    if missing(request.param):
        pytest.skip(missing(request.param))
    return request.param


@pytest.fixture
def run(backend: str) -> Callable[..., ProgramJudgement]:
    return lambda program, *tests, limits=LIMITS, compare="exact": run_tests(
        program, tests, compare, limits, backend=backend
    )


Run = Callable[..., ProgramJudgement]


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_result_passes_no_test(name: str, run: Run) -> None:
    tests = [CallTest("double", [EXPECTED // 2], EXPECTED), StdioTest(f"{EXPECTED // 2}\n", f"{EXPECTED}\n")]
    for compare in ("exact", "tolerance"):
        judgement = run(FORGERIES[name], *tests, limits=Limits(seconds=2), compare=compare)
        assert (judgement.passed, judgement.success, judgement.valid) == ((False, False), False, True)
    # The sandbox that it ran in judges the next program as ever.
    assert run("def double(x): return 2 * x\nprint(2 * int(input() or 0))", tests[1]).success


def test_right_program_passes_all_tests(run: Run) -> None:
    judgement = run("def double(x): return x + x", CallTest("double", [4], 8), CallTest("double", ["ab"], "abab"))
    assert judgement == ProgramJudgement(("", ""), "All 2 tests passed.")
    assert (judgement.fraction, judgement.success) == (1.0, True)


def test_part_of_the_tests_is_a_fraction_and_no_success(run: Run) -> None:
    tests = [CallTest("double", [2], 4), CallTest("double", [3], 6), CallTest("double", [0], 0), StdioTest("1", "2")]
    judgement = run("def double(x): return x * x\nprint(2)", *tests)
    assert judgement.passed == (True, False, True, True)
    assert (judgement.fraction, judgement.success) == (0.75, False)


def test_tests_of_both_kinds_keep_their_order(run: Run) -> None:
    tests = [StdioTest("1", "2"), CallTest("double", [3], 6), StdioTest("5", "11"), CallTest("double", [7], 0)]
    program = "import sys\ndef double(x): return 2 * x\ntext = sys.stdin.read()\nif text: print(double(int(text)))"
    assert run(program, *tests).passed == (True, True, False, False)


@pytest.mark.parametrize(
    "begin",
    [
        "import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)",
        "import os\nheld = []\ntry:\n  while True: held.append(os.dup(1))\nexcept OSError: pass",
    ],
    ids=["no signal of a child's end", "no descriptor left"],
)
def test_calls_are_waited_for_whatever_the_program_keeps(begin: str, run: Run) -> None:
    tests = [CallTest("double", [n], 2 * n) for n in range(3)]
    assert run(f"{begin}\ndef double(x): return 2 * x", *tests).success


def test_call_is_ended_in_time_where_the_program_leaves_no_descriptor(run: Run) -> None:
    begin = "import os\nheld = []\ntry:\n  while True: held.append(os.dup(1))\nexcept OSError: pass"
    tests = [CallTest("f", [n], n) for n in range(3)]

    def check(seconds: float) -> None:
        program = f"{begin}\ndef f(n):\n    while n == 1: pass\n    return n"
        assert run(program, *tests, limits=Limits(seconds=seconds)).failures == ("", "limit", "limit")

    with_more_time(check)


def test_call_that_fails_harms_no_other(run: Run) -> None:
    program = """
seen = []
def f(x):
    seen.append(x)
    if x == 1: raise ValueError("one")
    if x == 2: __import__("os")._exit(3)
    if x == 3: __import__("os").abort()
    return len(seen)
"""
    judgement = run(program, *[CallTest("f", [x], 1) for x in range(5)], limits=LIMITS)
    assert judgement.passed == (True, False, False, False, True)


# Each replaces what would time or end its calls, if that were in its own process.
TIMERS = {
    "clock": "import time\ntime.monotonic = time.perf_counter = time.time = lambda: 0.0\n",
    "poll": "import select\nselect.poll = None\n",
    "signals": "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n",
    # Says at once that it is ready for the next call, again and again, to have time until the end.
    "answers": "import os, stat\nfor n in range(3, 64):\n"
    "    try: stat.S_ISFIFO(os.fstat(n).st_mode) and os.write(n, b'....')\n    except OSError: pass\n",
    "serving": "import json, os, struct, sys, time\ninside = sys.modules['inside.program']\n"
    "def serve(main, values, calls, ready, *_):\n    os.write(ready, b'....')\n    time.sleep(1.5)\n"
    "    for place in range(3): os.write(values, json.dumps({'call': place, 'value': place}).encode() + b'\\n')\n"
    "inside.serve = serve\n",
}


def test_forgeries_and_timers_replace_functions_that_exist() -> None:
    replaced = {
        name for text in (*FORGERIES.values(), *TIMERS.values()) for name in re.findall(r"inside\.(\w+) =", text)
    }
    assert replaced == {"answer_call", "serve", "to_plain"}
    assert all(callable(getattr(program, name)) for name in replaced)


@pytest.mark.parametrize("name", TIMERS)
def test_no_call_has_more_time_than_its_own_whatever_the_program_replaces(name: str, run: Run) -> None:
    program = f"{TIMERS[name]}import os, select\ndef f(n):\n    select.select([], [], [], 1.5)\n    return n\n"
    judgement = run(program, *[CallTest("f", [n], n) for n in range(3)], limits=Limits(seconds=0.5))
    assert not any(judgement.passed)
    assert judgement.valid


def test_program_itself_cannot_spend_the_time_of_its_calls(run: Run) -> None:
    tests = [CallTest("f", [n], n, public=True) for n in range(4)]
    program = "import time\ntime.sleep(0.9)\ndef f(n): return n"
    judgement = run(program, *tests, limits=Limits(seconds=0.5))
    assert judgement.failures == ("limit",) * 4
    assert "f(0) failed: it took more than 0.5 s;" in judgement.feedback
    assert run(program, *tests, limits=Limits(seconds=15)).success


# What a program finds of its calls' arguments: in its process before they begin, and in pipes that it has.
_SPY = """
import gc, os, select, time
def look():
    things = gc.get_objects() + [*globals().values()]
    found = [repr(thing) for thing in things if type(thing) in (list, tuple, dict, str)]
    return any("-".join(("hidden", "argument")) in text for text in found)
def read(descriptors):
    text = b""
    for descriptor in descriptors:
        try:
            if select.select([descriptor], [], [], 0)[0]: text += os.read(descriptor, 1 << 16)
        except OSError: pass
    return b"-".join((b"hidden", b"argument")) in text
time.sleep(0.1)
seen = look() or BEFORE
def f(name):
    time.sleep(0.1)
    return [seen, look() if name == "first" else False, read(range(3, 64))]
"""


@pytest.mark.parametrize("before", ["False", "read(range(3, 64))"], ids=["memory", "pipes"])
def test_arguments_of_later_calls_are_nowhere_before_their_time(before: str, run: Run) -> None:
    tests = [CallTest("f", ["first"], [False] * 3), CallTest("f", ["hidden-argument"], [False] * 3)]
    assert run(_SPY.replace("BEFORE", before), *tests).success


def test_first_test_that_takes_too_long_is_the_last_one(run: Run) -> None:
    slow = "import sys, time\nname = sys.stdin.readline()\nif name == '2\\n': time.sleep(60)\nprint(name)\n"
    tests = [StdioTest(f"{n}\n", f"{n}\n") for n in range(8)]

    def check(seconds: float) -> None:
        begun = time.monotonic()
        assert run(slow, *tests, limits=Limits(seconds=seconds)).failures == ("", "", *["limit"] * 6)
        # Six in a row would take as many times as long.
        assert time.monotonic() - begun < 6 * seconds

    with_more_time(check)


def test_tests_have_one_time_together(backend: str) -> None:
    tests = [*[StdioTest("", "") for _ in range(4)], CallTest("f", [], 0), CallTest("f", [], 0)]
    nap = "import time\ndef f():\n    time.sleep(0.2)\n    return 0\nf()"
    limits = Limits(seconds=15)
    assert run_tests(nap, tests, limits=limits, backend=backend).success
    failures = run_tests(nap, tests, limits=limits, total_seconds=0.5, backend=backend).failures
    # The program and the first call are within it; then the runs are out of time.
    assert failures[-1] == "limit"
    assert failures.count("limit") >= 3
    with pytest.raises(InputError, match="total_seconds must be positive, at most 86_400, not 0"):
        run_tests(nap, tests, total_seconds=0, backend=backend)


def test_arguments_and_values_of_any_size_travel(run: Run) -> None:
    tests = [CallTest("f", ["x" * size], "y" * size) for size in (0, 1 << 16, 3 << 20, 5)]
    assert run("def f(x): return 'y' * len(x)", *tests).success


FEEDBACK = [
    ("def f(x): return x", CallTest("f", [1], 2, public=True), "f(1) returned 1; expected 2."),
    ("def f(x): return 'x' * 500", CallTest("f", ["y" * 500], 2, public=True), "f('" + "y" * 194 + "... returned '"),
    ("def f(x): 1 / 0", CallTest("f", [1], 2, public=True), "f(1) failed: ZeroDivisionError: division by zero; exp"),
    ("def f(x): return f", CallTest("f", [1], 2, public=True), "f(1) failed: TypeError: function is no plain data;"),
    ("g = 1", CallTest("f", [1], 2, public=True), "f(1) failed: AttributeError: module '__main__' has no attribute"),
    ("1 / 0", CallTest("f", [1], 2, public=True), "f(1) failed: ZeroDivisionError: division by zero; expected 2."),
    ("def f(", CallTest("f", [1], 2, public=True), "f(1) failed: SyntaxError: '(' was never closed; expected 2."),
    ("import sys; sys.exit(3)", CallTest("f", [], 2, public=True), "f() failed: it ended with exit code 3; expected"),
    ("def f():\n while 1: pass", CallTest("f", [], 2, public=True), "f() failed: TimeoutError: no answer within {} s;"),
    ("while 1: pass", CallTest("f", [], 2, public=True), "f() failed: it took more than {} s; expected 2."),
    ("import os; os.abort()", StdioTest("a\n", "b", public=True), "With the input 'a\\n' it failed: it was ended by "),
    ("import os; os.abort()", StdioTest("a\n", "b", public=True), "ended by signal 6; expected 'b'."),
    ("while 1: print('x' * 999)", StdioTest("", "b", public=True), "it failed: it wrote too much; expected 'b'."),
    ("print('c')", StdioTest("a\n", "b", public=True), "With the input 'a\\n' it printed 'c\\n'; expected 'b'."),
    ("print('b')\n1 / 0", StdioTest("a", "b", public=True), "it failed: ZeroDivisionError: division by zero; expected"),
    ("print('c')", StdioTest("secret", "hidden"), "0 of 1 tests passed. A test that is not shown failed."),
    ("def f(): return 1", CallTest("f", [], "hidden"), "0 of 1 tests passed. A test that is not shown failed."),
]


@pytest.mark.parametrize(("program", "test", "want"), FEEDBACK, ids=range(len(FEEDBACK)))
def test_feedback_says_what_happened(program: str, test: Any, want: str, run: Run) -> None:
    def check(seconds: float) -> None:
        judgement = run(program, test, limits=Limits(seconds=seconds))
        assert not judgement.success
        assert judgement.feedback.startswith("0 of 1 tests passed. ")
        assert want.replace("{}", f"{seconds:g}") in judgement.feedback
        assert len(judgement.feedback) < 1000

    with_more_time(check)


def test_memory_is_named_in_feedback(run: Run) -> None:
    # Four processes, each of which stays under the limit.
    program = "import os, time\nos.fork(); os.fork()\nhoard = bytearray(b'x') * (30 << 20)\ntime.sleep(20)"
    judgement = run(program, StdioTest("", "b", public=True), limits=Limits(seconds=20, memory_mb=64))
    assert "it failed: it used more than 64 MiB;" in judgement.feedback


def test_feedback_names_the_first_public_test_that_failed_and_no_hidden_one(run: Run) -> None:
    tests = [CallTest("f", [0], "hidden-a"), CallTest("f", [1], 1, public=True)]
    tests += [CallTest("f", [2], 3, public=True), CallTest("f", [4], 5, public=True), CallTest("f", [6], "hidden-b")]
    judgement = run("def f(x): return x", *tests)
    assert judgement.feedback == "1 of 5 tests passed. f(2) returned 2; expected 3."


def test_the_report_names_every_public_test_that_failed_and_counts_hidden_ones(run: Run) -> None:
    tests = [CallTest("f", [0], "hidden"), CallTest("f", [1], 1, public=True), CallTest("f", [-1], "hidden")]
    tests += [CallTest("f", [2], 3, public=True), CallTest("f", ["x"], 5, public=True), CallTest("f", [6], "hidden")]
    judgement = run("def f(x): return x if x >= 0 else 1 // 0", *tests)
    *lines, error, wrong, raised = judgement.report.split("\n")
    assert lines == [
        "1 of 6 tests passed.",
        *("Test: f(2)", "Expected: 3", "Received: 2"),
        *("Test: f('x')", "Expected: 5"),
    ]
    assert error.startswith("Error: TypeError")
    assert wrong == "Hidden tests that failed with a wrong value: 2"
    assert raised == "Hidden tests that failed with an exception: 1"
    assert judgement.verdict().extras["test_report"] == judgement.report
    passed = run("def f(x): return x", CallTest("f", [1], 1)).verdict()
    assert passed.extras["test_report"] == "All 1 tests passed."


EXACT = [
    *((4, 4.0), ([1, (2,)], [1, (2,)]), ({1, 2}, {2, 1}), ({"a": 1}, {"a": 1}), ("a\nb", "a\nb"), (True, True)),
]
NOT_EXACT = [(0.3, 0.1 + 0.2), ([1], (1,)), ("a", "a\n"), (1, "1"), (None, 0), ([1, 2], [2, 1])]
CLOSE = [
    *((0.3, 0.1 + 0.2), (1, 1 + 1e-9), ([0.3], [0.30000001]), ((1.0,), (1,)), ({"a": 0.1}, {"a": 0.1 + 1e-9})),
    *((float("inf"), float("inf")), ("a", "a"), (True, True), (10**400, 10**400), ({1}, {1}), (None, None)),
]
NAN = float("nan")
NANS = [
    *(
        (NAN, NAN),
        ([1, (NAN,)], [1, (NAN,)]),
        ({"a": [NAN]}, {"a": [NAN]}),
        ({1, NAN}, {NAN, 1}),
        (complex(1, NAN),) * 2,
    ),
]
NOT_NANS = [
    *((NAN, 0.0), (0.0, NAN), (NAN, None), ([NAN], (NAN,)), ([NAN], [NAN, NAN]), ({"a": NAN}, {"b": NAN})),
    *(({1, NAN}, {2, NAN}), ({NAN}, {1}), (complex(1, NAN), complex(2, NAN)), (NAN, "nan"), ([NAN, 1], [NAN, 2])),
]
NOT_CLOSE = [
    *((0.3, 0.31), ([1], [1, 2]), ([1], (1,)), ({"a": 1}, {"b": 1}), (True, 1), (1, True), ("0.3", 0.3)),
    *((float("inf"), 1e308), (10**400, 1.0), (float("nan"), 0.0), ({"a": 0.1}, {"a": 0.2}), (1, None)),
]


@pytest.mark.parametrize(
    ("compare", "pairs", "want"),
    [
        *(("exact", EXACT, True), ("exact", NOT_EXACT, False), ("exact", NANS, True), ("exact", NOT_NANS, False)),
        *(("tolerance", CLOSE, True), ("tolerance", NOT_CLOSE, False)),
        *(("tolerance", NANS, True), ("tolerance", NOT_NANS, False)),
    ],
)
def test_values_are_compared(compare: str, pairs: list[tuple[Any, Any]], want: bool, run: Run) -> None:
    program = (
        "inf, nan = float('inf'), float('nan')\nnanj = complex(0, nan)\n"
        f"returns = {[got for _, got in pairs]!r}\ndef f(n): return returns[n]"
    )
    passed = run(program, *[CallTest("f", [n], pair[0]) for n, pair in enumerate(pairs)], compare=compare).passed
    assert passed == (want,) * len(pairs)


@pytest.mark.parametrize(
    ("compare", "expected", "printed", "want"),
    [
        *(("exact", "1 2\n", "1 2", True), ("exact", "1\n2", "1  \n2\n\n\n", True), ("exact", "1\n2", "1 2", False)),
        *(("exact", "a", "A", False), ("exact", "0.3", "0.30000000000000004", False), ("exact", "", "", True)),
        *(("tolerance", "0.3 a", "0.30000000000000004\na", True), ("tolerance", "0.3", "0.31", False)),
        *(("tolerance", "1 2", "1", False), ("tolerance", "a", "b", False), ("tolerance", "1e3", "1000.0", True)),
        *(("tolerance", "nan 1", "NaN 1.0", True), ("exact", "nan", "nan", True)),
        *(("tolerance", "1", "nan", False), ("tolerance", "1", "one", False), ("tolerance", "1", "1e999", False)),
    ],
)
def test_text_is_compared(compare: str, expected: str, printed: str, want: bool, run: Run) -> None:
    assert run(f"print({printed!r}, end='')", StdioTest("", expected), compare=compare).success == want


def test_checker_decides(run: Run) -> None:
    def root(expected: Any, received: Any) -> bool:
        return isinstance(received, int) and received**2 == expected

    tests = [CallTest("f", [4], 4), CallTest("f", [9], 9), CallTest("f", [10], 10)]
    assert run("def f(x): return -int(x ** 0.5)", *tests, compare=root).passed == (True, True, False)


def test_checker_is_not_asked_about_a_run_that_failed(run: Run) -> None:
    tests = [CallTest("f", [4], 4), StdioTest("", "")]
    assert run("def f(x): 1 / 0\n1 / 0", *tests, compare=lambda *_: True).passed == (False, False)


def test_lost_sandbox_says_nothing_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    from concurrent.futures import Future

    def lost(*_: Any, calls: Any = (), **__: Any) -> Future[sandbox.Result]:
        answer: Future[sandbox.Result] = Future()
        values = (sandbox.Value(error="lost"),) * len(calls)
        answer.set_result(sandbox.Result(reason="lost", valid=False, values=values))
        return answer

    monkeypatch.setattr(judge, "submit", lost)
    judgement = run_tests("", [CallTest("f", [1], None), StdioTest("", "")])
    assert (judgement.passed, judgement.valid, judgement.success) == ((False, False), False, False)
    public = run_tests("", [StdioTest("", "", public=True)])
    assert "the sandbox was lost" in public.feedback


def test_there_is_a_test_and_a_known_way_to_compare() -> None:
    with pytest.raises(InputError, match="at least one test"):
        run_tests("", [])
    with pytest.raises(InputError, match="one of exact, tolerance, or a function, not 'fuzzy'"):
        run_tests("", [StdioTest("", "")], "fuzzy")
