"""The code in the program's own process: it reads the program from a file, runs it as a script, calls its functions.

The program is a script named program.py in the current folder, where its file lies, so that ``open(__file__)`` and
``import program`` (which runs it once more, as a module) behave as under a plain interpreter. At its end threads are
joined, exit handlers run, objects and suspended generators are released, and output is flushed. Each call is answered
by a new process, forked from the program's process after the script has run; it ends without these steps.

Nothing here protects anything: a program may replace all of it. The supervisor (`inside.run`) enforces the limits, the
time of each call included.
"""

from __future__ import annotations

# Modules that programs often use are loaded here, before any program runs, so that importing them takes no time.
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
import random
import re  # noqa: F401
import resource
import signal
import statistics  # noqa: F401
import string  # noqa: F401
import sys
import threading
import traceback
import types
import typing

from .frames import CALL, PROGRAM

# Bits from which an integer is written in hexadecimal digits.
_LARGE = 10_000
_MOST_CLASHES = 100

_streams: tuple[typing.TextIO, ...] | None = None


def run(
    source: int,
    values: int,
    calls: typing.Sequence[int] = (),
    files: int | None = None,
    fork: typing.Callable[[], int] = os.fork,
) -> None:
    """Run the program in the open file ``source`` in the current folder; never return.

    Args:
        source: a file with the text. A copy is in the folder if there was room for it.
        values: the file or pipe for the values of called functions, a line of JSON each.
        calls: the pipe of incoming calls, and the pipe for the byte that announces that the program is ready; empty
            without calls.
        files: a file with JSON: the texts of files by their names.
        fork: forks a process of one thread, for a call.
    """
    code = 0
    if hasattr(sys, "set_int_max_str_digits"):
        # Graders usually lift this limit; the time limit of the sandbox applies anyway.
        sys.set_int_max_str_digits(0)
    try:
        text = read_all(source).decode("utf-8", "surrogatepass")
        main = prepare_main(text, json.loads(read_all(files)) if files is not None else {})
        exec(compile(text.removeprefix("\ufeff"), PROGRAM, "exec", dont_inherit=True), main.__dict__)
        if calls:
            serve(main, values, calls[0], calls[1], fork)
    except SystemExit as stop:
        code = exit_code(stop)
    except BaseException as error:
        code = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
        report_exception()
    finish(code)


def read_all(file: int) -> bytes:
    """Read the whole of an open file, and close it."""
    data = os.pread(file, os.fstat(file).st_size, 0)
    os.close(file)
    return data


def prepare_main(text: str, files: dict[str, str]) -> types.ModuleType:
    """Return the module in which the program runs, and set everything around it as when Python runs a script."""
    for name, inside in files.items():
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        with open(name, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
            file.write(inside)
    random.seed()
    sys.argv[:] = [PROGRAM]
    sys.path[0] = os.getcwd()
    sys.stdin, sys.stdout, sys.stderr = _streams or streams()
    sys.__stdout__, sys.__stderr__, sys.__stdin__ = sys.stdout, sys.stderr, sys.stdin  # type: ignore[misc]
    linecache.cache[PROGRAM] = (len(text), None, text.splitlines(keepends=True), PROGRAM)
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=PROGRAM, __builtins__=builtins)
    sys.modules["__main__"] = main
    return main


def as_bytes(text: str) -> bytes:
    """Encode ``text`` as the bytes of a standard input. Surrogates that stand for single bytes become these bytes."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def adapt() -> None:
    """Adapt the standard library to the restrictions of the sandbox, for all later programs."""
    bound_stacks()
    share_through_files()


def bound_stacks() -> None:
    """Shrink the requested stacks of threads, instead of failing, when memory is limited: programs request more than
    they need, and a whole stack counts before it is used."""
    set_size = threading.stack_size

    def stack_size(size: int = 0) -> int:
        limit = resource.getrlimit(resource.RLIMIT_DATA)[0]
        return set_size(size if limit == resource.RLIM_INFINITY else min(size, limit // 4 >> 12 << 12))

    threading.stack_size = stack_size


def share_through_files() -> None:
    """Make mmap share memory through a file without a name, as the sandbox refuses shared memory without a file."""
    import mmap

    class FileMap(mmap.mmap):
        def __new__(cls, fileno: int, length: int, *args: typing.Any, **options: typing.Any) -> typing.Any:
            flags = args[0] if args else options.get("flags", mmap.MAP_SHARED)
            if fileno != -1 or not flags & mmap.MAP_SHARED:
                return super().__new__(cls, fileno, length, *args, **options)
            options.pop("flags", None)
            file = os.open("/dev/shm", os.O_TMPFILE | os.O_RDWR, 0o600)
            try:
                os.ftruncate(file, length)
                return super().__new__(cls, file, length, flags & ~mmap.MAP_ANONYMOUS, *args[1:], **options)
            finally:
                os.close(file)

    FileMap.__name__ = FileMap.__qualname__ = "mmap"
    FileMap.__module__ = "mmap"
    mmap.mmap = FileMap  # type: ignore[misc]


def streams() -> tuple[typing.TextIO, typing.TextIO, typing.TextIO]:
    """Open standard input, output and error output as UTF-8 text, as an interpreter does."""

    def stream(place: int, mode: str, errors: str, buffering: int = -1) -> typing.Any:
        return open(place, mode, buffering, "utf-8", errors, "\n", closefd=False)

    return stream(0, "r", "surrogateescape"), stream(1, "w", "replace"), stream(2, "w", "backslashreplace", 1)


def warm(modules: typing.Sequence[str]) -> None:
    """Load modules for all runs to come, and make the stream objects, whose descriptors are replaced in each run."""
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
    while trace is not None and trace.tb_frame.f_code.co_filename != PROGRAM:
        trace = trace.tb_next
    try:
        if sys.excepthook is not sys.__excepthook__ and kind and error:
            sys.excepthook(kind, error, trace)
        else:
            traceback.print_exception(kind, error, trace)
    except BaseException:
        os.write(2, b"the error could not be printed\n")


def finish(code: int) -> None:
    """End as the interpreter ends: join threads, run exit handlers, release objects, flush output. A negative code is a
    signal number."""
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()  # type: ignore[attr-defined]
        if threading.active_count() == 1:
            clear_names(sys.modules["__main__"].__dict__)
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


def clear_names(names: dict[str, typing.Any]) -> None:
    """Release the values of a module's names, in the interpreter's order: private names first."""
    for private in (True, False):
        for name in [*names]:
            if (name[:1] == "_" and name[1:2] != "_") == private and name != "__builtins__":
                names[name] = None
    gc.collect()


def serve(
    main: types.ModuleType, values: int, calls: int, ready: int, fork: typing.Callable[[], int] = os.fork
) -> None:
    """Answer each call in a forked process, which writes its value to ``values`` as JSON."""
    place = 0
    while True:
        sys.stdout.flush()
        os.write(ready, b".")
        head = os.read(calls, CALL.size)
        if len(head) < CALL.size:
            return
        child = fork() if threading.active_count() == 1 else os.fork()
        if child == 0:
            try:
                function, arguments = json.loads(read_exactly(calls, CALL.unpack(head)[0]))
                os.close(calls)
                os.close(ready)
                write_line(values, answer_call(main, place, function, arguments))
                sys.stdout.flush()
            finally:
                os._exit(0)
        # If the program ignores SIGCHLD, the kernel reaps ended children itself.
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, 0)
        place += 1


def read_exactly(calls: int, size: int) -> bytes:
    """Read exactly ``size`` bytes from a pipe."""
    parts = []
    while size:
        parts.append(os.read(calls, size))
        size -= len(parts[-1])
        if not parts[-1]:
            raise EOFError("the call is cut off")
    return b"".join(parts)


def answer_call(main: types.ModuleType, place: int, function: str, arguments: list[object]) -> dict[str, object]:
    try:
        return {"call": place, "value": to_plain(getattr(main, function)(*map(from_plain, arguments)))}
    except BaseException as error:
        return {"call": place, "error": f"{type(error).__name__}: {error}"[:500]}


def write_line(values: int, line: dict[str, object]) -> None:
    data = memoryview(json.dumps(line).encode() + b"\n")
    while data:
        data = data[os.write(values, data) :]


def to_plain(value: object) -> object:
    """Convert a value to JSON that `from_plain` converts back: lists stay lists, other containers are tagged by type.

    Instances of subclasses of plain types become values of the plain types; arrays and scalars of numpy become lists
    and numbers, queues, ranges and views of dictionaries lists, and fractions and decimals numbers.

    Raises:
        TypeError: the value is or contains something other than plain data.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        plain = int.__int__(value)
        # The reader's limit on digits does not apply to hexadecimal notation.
        return plain if plain.bit_length() < _LARGE else {"int": hex(plain)}
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return {"float": float.__repr__(value)}
    if isinstance(value, list):
        return [to_plain(item) for item in list.__iter__(value)]
    if isinstance(value, dict):
        return {"dict": [[to_plain(key), to_plain(item)] for key, item in dict.items(value)]}
    if isinstance(value, tuple):
        return {"tuple": [to_plain(item) for item in tuple.__iter__(value)]}
    if isinstance(value, set):
        return {"set": [to_plain(item) for item in set.__iter__(value)]}
    if isinstance(value, frozenset):
        return {"frozenset": [to_plain(item) for item in frozenset.__iter__(value)]}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": bytes(value).hex()}
    if isinstance(value, complex):
        return {"complex": [repr(value.real), repr(value.imag)]}
    if type(value).__module__ == "numpy":
        return to_plain(value.tolist())  # type: ignore[attr-defined]
    kind = type(value).__name__
    if kind in ("deque", "range", "dict_keys", "dict_values"):
        return [to_plain(item) for item in value]  # type: ignore[attr-defined]
    if kind in ("Fraction", "Decimal"):
        finite = kind == "Fraction" or value.is_finite()  # type: ignore[attr-defined]
        return to_plain(int(value) if finite and value == int(value) else float(value))  # type: ignore[call-overload]
    raise TypeError(f"{type(value).__name__} is no plain data")


def from_plain(data: object) -> object:
    """Convert the JSON of `to_plain` back to the value."""
    if isinstance(data, list):
        return [from_plain(item) for item in data]
    if not isinstance(data, dict):
        return data
    ((tag, content),) = data.items()
    return _RESTORE[tag](content)


def check_hashes(keys: typing.Iterable[object]) -> list[object]:
    """Return the keys as a list, unless so many have the same hash that hashing them would take too long.

    Raises:
        ValueError: too many have the same hash.
    """
    keys = list(keys)
    if len(keys) - len({hash(key) for key in keys}) > _MOST_CLASHES:
        raise ValueError("too many keys have the same hash")
    return keys


class LargeInteger(int):
    """An integer that is shown in hexadecimal digits, as Python writes no more than 4,300 decimal ones."""

    def __repr__(self) -> str:
        return hex(self)

    __str__ = __repr__


_RESTORE = {
    "float": float,
    "int": lambda digits: LargeInteger(digits, 16),
    "tuple": lambda items: tuple(map(from_plain, items)),
    "set": lambda items: set(check_hashes(map(from_plain, items))),
    "frozenset": lambda items: frozenset(check_hashes(map(from_plain, items))),
    "dict": lambda pairs: dict(
        zip(check_hashes(from_plain(key) for key, _ in pairs), [from_plain(item) for _, item in pairs])
    ),
    "bytes": bytes.fromhex,
    "complex": lambda parts: complex(*map(float, parts)),
}
