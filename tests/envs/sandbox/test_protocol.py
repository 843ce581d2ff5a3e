from __future__ import annotations

import itertools
import json
import time
from typing import Any

import pytest
from palaestra.envs import sandbox
from palaestra.envs.sandbox import Call, Job, Limits, Result, Value
from palaestra.envs.sandbox.inside.frames import CALL, PARTS
from palaestra.envs.sandbox.inside.program import as_bytes, from_plain, to_plain
from palaestra.envs.sandbox.wire import decode_result, encode_job
from palaestra.errors import InputError

REPORT = {"code": 0, "reason": "", "seconds": 0.5, "peak": 2048}


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True, "2", None, 1e6])
def test_limit_of_time_is_a_positive_number(value: Any) -> None:
    with pytest.raises(InputError, match="the limit seconds must be a positive number, at most 86_400, not "):
        Limits(seconds=value)


@pytest.mark.parametrize("name", ["processes", "files", "output_bytes", "value_bytes"])
@pytest.mark.parametrize("value", [0.5, 2.0, 0, 1 << 41])
def test_limit_of_what_is_counted_is_a_whole_number(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"the limit {name} must be a positive whole number"):
        Limits(**{name: value})


def test_fractions_of_a_mebibyte_and_the_greatest_limits_are_limits() -> None:
    Limits(seconds=86_400, memory_mb=0.5, disk_mb=0.5, processes=1 << 40)


def test_ok_is_for_what_ended_well() -> None:
    assert Result(exit_code=0).ok
    for other in (Result(exit_code=1), Result(reason="time"), Result(exit_code=0, valid=False)):
        assert not other.ok


@pytest.mark.parametrize(
    ("code", "reason", "want"),
    [(0, "", "exit"), (3, "", "exit"), (-9, "", "signal"), (None, "time", "time"), (None, "memory", "memory")],
)
def test_report_says_how_a_run_ended(code: int | None, reason: str, want: str) -> None:
    found = decode_result({**REPORT, "code": code, "reason": reason}, b"\xff", "é".encode(), b"", ())
    assert found == Result("\ufffd", "é", code, want, 0.5, 2.0)  # type: ignore[arg-type]


VALUES = [
    *(None, True, 0, -5, 10**300, 0.1, 1e300, float("inf"), "", "é\ud800", b"\x00\xff", 1 + 2j),
    *([], [1, [2.5]], (), (1, "a"), {1, 2}, frozenset({"a"}), {}, {"a": 1, (1, 2): [3], None: {4: 5}}),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_plain_data_travels(value: Any) -> None:
    back = from_plain(json.loads(json.dumps(to_plain(value))))
    assert (back, type(back)) == (value, type(value))


@pytest.mark.parametrize("value", [object(), len, [object()], {"a": {1: print}}, Limits()])
def test_other_data_does_not_travel(value: Any) -> None:
    with pytest.raises(TypeError, match="is no plain data"):
        to_plain(value)


def told(*lines: Any, calls: int = 1) -> tuple[Value, ...]:
    """What is known of calls during the last of which the lines were said; during the others nothing was."""
    data = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    spans = [(0, 0)] * (calls - 1) + [(0, len(data))]
    return decode_result({**REPORT, "spans": spans}, b"", b"", data, [Call("f")] * calls).values


def test_what_is_said_of_a_call_counts_while_it_is_under_way() -> None:
    said = [{"call": 0, "error": "bad"}, {"call": 1, "value": 5}, {"call": 0, "value": 6}, {"call": 1, "value": 7}]
    lines = [json.dumps(line).encode() + b"\n" for line in said]
    ends = [0, *itertools.accumulate(map(len, lines))]
    calls, ended = [Call("f")] * 3, Value(error="The program ended before it answered.")

    def found(*spans: tuple[int, int]) -> tuple[Value, ...]:
        between = [(ends[begin], ends[end]) for begin, end in spans]
        return decode_result({**REPORT, "spans": between}, b"", b"", b"".join(lines), calls).values

    # The first call said the first line, or nothing before the second one; the third one was not answered.
    assert found((0, 1), (1, 4)) == (Value(error="bad"), Value(5), ended)
    assert found((1, 3), (3, 4)) == (Value(6), Value(7), ended)
    assert found((1, 2), (2, 3)) == (ended, ended, ended)


@pytest.mark.parametrize(
    ("report", "want"),
    [
        ({"ready": True, "over": False}, ("", "TimeoutError: no answer within 1 s", "TimeoutError: no answer, as")),
        ({"ready": True, "over": True}, ("", "TimeoutError: no answer, as", "TimeoutError: no answer, as")),
    ],
)
def test_calls_behind_one_that_took_too_long_are_not_answered_either(report: Any, want: tuple[str, ...]) -> None:
    line = json.dumps({"call": 0, "value": 1}).encode()
    report = {**REPORT, "code": None, "reason": "time", "spans": [(0, len(line))], **report}
    values = decode_result(report, b"", b"", line, [Call("f")] * 3).values
    assert all(value.error.startswith(said) for value, said in zip(values, want, strict=True))


@pytest.mark.parametrize(
    "line",
    [
        *(b"", b"x", b"\xff", b"[" * 100_000, b"1" * 10_000, b"[]", b"5", b"null", b'{"call": 0}'),
        *(b'{"call": true, "value": 1}', b'{"call": "0", "value": 1}', b'{"call": 1, "value": 1}'),
        *(b'{"call": 0, "value": {"tuple": 5}}', b'{"call": 0, "value": {"nope": 5}}', b'{"call": 0, "value": {}}'),
        *(b'{"call": 0, "value": {"set": [[]]}}', b'{"call": 0, "value": {"dict": [1]}}'),
        *(b'{"call": 0, "value": {"dict": [[1, 2, 3]]}}', b'{"call": 0, "value": {"bytes": "x"}}'),
        *(b'{"call": 0, "value": {"float": "x"}}', b'{"call": 0, "value": {"complex": ["x"]}}'),
        b'{"call": 0, "value": ' + b'{"tuple": [' * 2000 + b"]}" * 2000 + b"}",
    ],
    ids=lambda line: line[:40].decode(errors="replace"),
)
def test_lines_that_say_nothing_are_no_answer(line: bytes) -> None:
    assert told(line) == (Value(error="The program ended before it answered."),)


def quick(*lines: Any) -> tuple[Value, ...]:
    """What is told by 4 MB of lines that are meant to keep the reader busy, in seconds rather than minutes."""
    begun = time.process_time()
    values = told(*lines)
    assert time.process_time() - begun < 5
    return values


def test_hostile_lines_do_not_keep_this_process_busy() -> None:
    assert quick(b"\n" * (1 << 22))[0].error
    clashing = [(2**61 - 1) * n for n in range(150_000)]
    assert quick({"call": 0, "value": {"set": clashing}})[0].error
    assert quick({"call": 0, "value": {"dict": [[key, 0] for key in clashing]}})[0].error
    assert quick({"call": 0, "value": {"frozenset": [{"tuple": [key]} for key in clashing]}})[0].error
    assert quick({"call": 0, "value": {"set": list(range(400_000))}})[0].value == set(range(400_000))


def test_job_travels_in_parts_of_which_none_holds_another() -> None:
    job = Job("é\ud800", "in\udcff", {"a": "b"}, [Call("f", [(1,)], 2.0), Call("g")])
    parts = encode_job(job)
    assert tuple(parts) == PARTS
    assert parts["program"].decode("utf-8", "surrogatepass") == "é\ud800"
    assert (parts["stdin"], json.loads(parts["files"])) == (b"in\xff", {"a": "b"})
    calls, rest = [], parts["calls"]
    while rest:
        size, seconds = CALL.unpack(rest[: CALL.size])
        calls.append((json.loads(rest[CALL.size : CALL.size + size]), seconds))
        rest = rest[CALL.size + size :]
    assert calls == [(["f", [{"tuple": [1]}]], 2.0), (["g", []], 1.0)]
    assert encode_job(Job("x")) == {"program": b"x", "files": b"", "stdin": b"", "calls": b""}


def test_input_is_bytes_whatever_its_characters() -> None:
    assert as_bytes("é\udcff") == b"\xc3\xa9\xff"
    assert as_bytes("\ud800") == b"\xed\xa0\x80"


@pytest.mark.parametrize("name", ["", ".", "/etc/x", "../x", "a/../../x", "a\0b", "a/.."])
def test_files_lie_beside_the_program(name: str) -> None:
    with pytest.raises(InputError, match="names of files beside the program"):
        sandbox.run("", files={name: ""}, backend="unsafe-subprocess")


@pytest.mark.parametrize("files", [{"x": "x" * (16 << 20)}, {f"{n}": "" for n in range(128)}, {"d/" * 130 + "x": ""}])
def test_files_have_room(files: dict[str, str]) -> None:
    with pytest.raises(InputError, match="have no room"):
        sandbox.run("", files=files, backend="unsafe-subprocess")


def test_backend_has_a_known_name() -> None:
    with pytest.raises(InputError, match="locl"):
        sandbox.run("", backend="locl")
