"""What runs in the program's own process: reads it from a file, runs it as a script, and calls its functions."""

from __future__ import annotations

# Loaded before any program runs, so that programs find them at once.
import atexit
import bisect  # noqa: F401
import builtins
import collections  # noqa: F401
import contextlib
import copy  # noqa: F401
import dataclasses  # noqa: F401
import datetime  # noqa: F401
import decimal  # noqa: F401
import fractions  # noqa: F401
import functools  # noqa: F401
import gc
import heapq  # noqa: F401
import importlib
import itertools  # noqa: F401
import json
import linecache
import math  # noqa: F401
import operator  # noqa: F401
import os
import random  # noqa: F401
import re  # noqa: F401
import resource
import select
import signal
import statistics  # noqa: F401
import string  # noqa: F401
import sys
import threading
import time
import traceback
import types
import typing

_NAME = "program.py"
# Where there is no /proc, the device of the standard input is a link to a place in which its text can be put.
_STDIN, _STDIN_PLACE = "/dev/stdin", "/dev/shm/.stdin"
# What only a program may have whose text has one of these: objects that do something when they are let go of.
_HAS_LAST_WORDS = ("class", "open", "finalize")
_MOST_CLASHES = 100
_DAY = 86_400.0
# Between two looks at a process that cannot be waited for, seconds.
_NAP = 0.005
# A program whose text has one of these may look for its own file, which otherwise nobody misses.
_WANTS_FILE = ("__file__", "argv", _NAME, "multiprocessing", "concurrent", "subprocess", "runpy")

_streams: tuple[typing.TextIO, ...] | None = None


def run(payload: int, values: int) -> None:
    """Run the program in the open file ``payload`` in the present folder, with calls of its functions answered on
    ``values``; never returns.

    The file holds JSON: "program", "stdin" (None where it is in place), "files" (name to text), "calls" (list of
    [function, arguments, seconds]).
    """
    code, last_words = 0, False
    try:
        job = json.loads(os.pread(payload, os.fstat(payload).st_size, 0))
        os.close(payload)
        main = prepared(job)
        last_words = any(word in job["program"] for word in _HAS_LAST_WORDS)
        exec(compile(job["program"].removeprefix("\ufeff"), _NAME, "exec", dont_inherit=True), main.__dict__)
        for place, (function, arguments, seconds) in enumerate(job["calls"]):
            answer_apart(main, place, function, arguments, seconds, values)
    except SystemExit as stop:
        code = exit_code(stop)
    except BaseException as error:
        code = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
        report_exception()
    finish(code, last_words)


def prepared(job: dict[str, typing.Any]) -> types.ModuleType:
    """The module in which the program is to run, with everything about it as it is when Python runs a script."""
    text = job["program"]
    if any(word in text for word in _WANTS_FILE):
        write(_NAME, text)
    for name, content in job["files"].items():
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        write(name, content)
    if job["stdin"] is not None:
        give(job["stdin"])
    if _STDIN in text and os.path.islink(_STDIN) and not os.readlink(_STDIN).startswith("/proc"):
        with open(_STDIN, "wb") as file, open(0, "rb", closefd=False) as source:
            file.write(source.read())
            source.seek(0)
    sys.argv[:] = [_NAME]
    sys.path[0] = os.getcwd()
    sys.stdin, sys.stdout, sys.stderr = _streams or streams()
    sys.__stdout__, sys.__stderr__, sys.__stdin__ = sys.stdout, sys.stderr, sys.stdin  # type: ignore[misc]
    linecache.cache[_NAME] = (len(text), None, text.splitlines(keepends=True), _NAME)
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=_NAME, __builtins__=builtins)
    sys.modules["__main__"] = main
    if "stack_size" in text:
        bound_stacks()
    if "mmap" in text:
        share_through_files()
    return main


def write(name: str, text: str) -> None:
    with open(name, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
        file.write(text)


def give(text: str) -> None:
    """Make ``text`` the standard input, also of processes that the program starts."""
    descriptor = os.memfd_create("stdin") if text else os.open("/dev/null", os.O_RDONLY)
    data = memoryview(as_bytes(text))
    while data:
        data = data[os.write(descriptor, data) :]
    if text:
        os.lseek(descriptor, 0, os.SEEK_SET)
    os.dup2(descriptor, 0)
    os.close(descriptor)


def as_bytes(text: str) -> bytes:
    """``text`` as the bytes of a standard input; what stands for single bytes becomes these again."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def bound_stacks() -> None:
    """Let the stacks of threads be smaller than asked for, rather than fail, where memory is limited: they are as large
    as programs think they may ever need, and counted before they are used."""
    limit = resource.getrlimit(resource.RLIMIT_DATA)[0]
    if limit != resource.RLIM_INFINITY:
        set_size = threading.stack_size
        threading.stack_size = lambda size=0: set_size(min(size, limit // 4 >> 12 << 12))


def share_through_files() -> None:
    """Let mmap share memory through a file that has no name, where it is refused otherwise."""
    import mmap

    try:
        mmap.mmap(-1, 1).close()
        return
    except OSError:
        pass

    class FileMap(mmap.mmap):
        def __new__(cls, fileno: int, length: int, *args: typing.Any, **options: typing.Any) -> typing.Any:
            flags = args[0] if args else options.pop("flags", mmap.MAP_SHARED)
            if fileno != -1 or not flags & mmap.MAP_SHARED:
                return super().__new__(cls, fileno, length, flags, *args[1:], **options)
            file = os.open("/dev/shm", os.O_TMPFILE | os.O_RDWR, 0o600)
            try:
                os.ftruncate(file, length)
                return super().__new__(cls, file, length, flags & ~mmap.MAP_ANONYMOUS, *args[1:], **options)
            finally:
                os.close(file)

    FileMap.__name__ = FileMap.__qualname__ = "mmap"
    mmap.mmap = FileMap  # type: ignore[misc]


def streams() -> tuple[typing.TextIO, typing.TextIO, typing.TextIO]:
    """Standard input, output and error output, as an interpreter has them where all three are UTF-8."""

    def stream(place: int, mode: str, errors: str, buffering: int = -1) -> typing.Any:
        return open(place, mode, buffering, "utf-8", errors, "\n", closefd=False)

    return stream(0, "r", "surrogateescape"), stream(1, "w", "replace"), stream(2, "w", "backslashreplace", 1)


def warm(modules: typing.Sequence[str]) -> None:
    """Load modules beforehand, for all runs to come, and make the streams, which are connected to other things in each
    run."""
    global _streams
    for name in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    kept = [os.dup(place) for place in range(3)]
    reading, writing = os.pipe()
    for place in (1, 2):
        os.dup2(writing, place)
    _streams = streams()
    for place, descriptor in enumerate(kept):
        os.dup2(descriptor, place)
        os.close(descriptor)
    os.close(reading)
    os.close(writing)


def exit_code(stop: SystemExit) -> int:
    if stop.code is None:
        return 0
    if isinstance(stop.code, int):
        return stop.code & 255
    print(stop.code, file=sys.stderr)
    return 1


def report_exception() -> None:
    """Print the traceback as the interpreter does, from the program's own frames on."""
    kind, error, trace = sys.exc_info()
    while trace is not None and trace.tb_frame.f_code.co_filename != _NAME:
        trace = trace.tb_next
    try:
        if sys.excepthook is not sys.__excepthook__ and kind and error:
            sys.excepthook(kind, error, trace)
        else:
            traceback.print_exception(kind, error, trace)
    except BaseException:
        os.write(2, b"the error could not be printed\n")


def finish(code: int, last_words: bool) -> None:
    """End as the interpreter ends: threads are waited for, what is registered is run, objects are let go of where they
    have ``last_words``, output is written. A negative code is that of a signal."""
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()  # type: ignore[attr-defined]
        if last_words and threading.active_count() == 1:
            forget(sys.modules["__main__"].__dict__)
    except BaseException:
        report_exception()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not getattr(stream, "closed", False):
                stream.flush()
        except BaseException:
            code = code or 120
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code & 255)


def forget(names: dict[str, typing.Any]) -> None:
    """Let go of what a module's names mean, in the interpreter's order: private ones first."""
    for private in (True, False):
        for name in [*names]:
            if (name[:1] == "_" and name[1:2] != "_") == private and name != "__builtins__":
                names[name] = None
    gc.collect()


def answer_apart(
    main: types.ModuleType, place: int, function: str, arguments: list[object], seconds: float, values: int
) -> None:
    """Call a function in a process of its own, with a time limit; its value goes to ``values`` as a line of JSON."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            tell(values, answer(main, place, function, arguments))
            sys.stdout.flush()
        finally:
            os._exit(0)
    if not ends_within(seconds, child):
        tell(values, {"call": place, "error": f"TimeoutError: no answer within {seconds:g} s"})


def ends_within(seconds: float, child: int) -> bool:
    """Wait until a process ends, and end it where it takes longer."""
    in_time = True
    # It may be buried already; a program that ignores the signal of its children's ends has none to bury.
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        in_time = is_seen_to_end(seconds, child)
        if not in_time:
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return in_time


def is_seen_to_end(seconds: float, child: int) -> bool:
    try:
        end = os.pidfd_open(child)
    except (AttributeError, OSError):  # not Linux, or the program has left no descriptor
        deadline = time.monotonic() + seconds
        while os.waitpid(child, os.WNOHANG)[0] == 0:
            if time.monotonic() > deadline:
                return False
            time.sleep(_NAP)
        return True
    try:
        poll = select.poll()
        poll.register(end, select.POLLIN)
        return bool(poll.poll(1000 * min(seconds, _DAY)))
    finally:
        os.close(end)


def answer(main: types.ModuleType, place: int, function: str, arguments: list[object]) -> dict[str, object]:
    try:
        return {"call": place, "value": plain(getattr(main, function)(*map(restored, arguments)))}
    except BaseException as error:
        return {"call": place, "error": f"{type(error).__name__}: {error}"[:500]}


def tell(values: int, line: dict[str, object]) -> None:
    data = memoryview(json.dumps(line).encode() + b"\n")
    while data:
        data = data[os.write(values, data) :]


def plain(value: object) -> object:
    """``value`` as JSON that `restored` turns back: a list stays one, everything else is tagged by its type's name. Of
    what is derived from a plain type, the plain value counts; arrays and scalars of numpy are lists and numbers.

    Raises:
        TypeError: it is, or holds, something else than plain data.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return {"float": float.__repr__(value)}
    if isinstance(value, list):
        return [plain(item) for item in list.__iter__(value)]
    if isinstance(value, dict):
        return {"dict": [[plain(key), plain(item)] for key, item in dict.items(value)]}
    if isinstance(value, tuple):
        return {"tuple": [plain(item) for item in tuple.__iter__(value)]}
    if isinstance(value, set):
        return {"set": [plain(item) for item in set.__iter__(value)]}
    if isinstance(value, frozenset):
        return {"frozenset": [plain(item) for item in frozenset.__iter__(value)]}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": bytes(value).hex()}
    if isinstance(value, complex):
        return {"complex": [repr(value.real), repr(value.imag)]}
    if type(value).__module__ == "numpy":
        return plain(value.tolist())  # type: ignore[attr-defined]
    raise TypeError(f"{type(value).__name__} is no plain data")


def restored(data: object) -> object:
    """The value that `plain` wrote."""
    if isinstance(data, list):
        return [restored(item) for item in data]
    if not isinstance(data, dict):
        return data
    ((tag, content),) = data.items()
    return _RESTORE[tag](content)


def scattered(keys: typing.Iterable[object]) -> list[object]:
    """``keys``, unless so many have the same hash that a table of them would take for ever to make.

    Raises:
        ValueError: they do.
    """
    keys = list(keys)
    if len(keys) - len({hash(key) for key in keys}) > _MOST_CLASHES:
        raise ValueError("too many keys have the same hash")
    return keys


_RESTORE = {
    "float": float,
    "tuple": lambda items: tuple(map(restored, items)),
    "set": lambda items: set(scattered(map(restored, items))),
    "frozenset": lambda items: frozenset(scattered(map(restored, items))),
    "dict": lambda pairs: dict(
        zip(scattered(restored(key) for key, _ in pairs), [restored(item) for _, item in pairs])
    ),
    "bytes": bytes.fromhex,
    "complex": lambda parts: complex(*map(float, parts)),
}
