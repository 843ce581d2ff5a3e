"""``palaestra bench gpu``: decoding, training and whole GRPO steps on a GPU, against floors, ``generate`` and TRL.

The model has the shape of Qwen2.5-0.5B with random weights, made here; nothing is loaded or downloaded. Rows are run in
order of importance, each in a process of its own, so that one that fails, runs out of memory or takes too long costs no
other; the files are written after each, so that a command that is killed loses nothing. Floors: decoding 60 % of an
estimate for an H200, scaled to other GPUs, and 5 times ``generate``; 25 % of the arithmetic in training; a step in half
of TRL's time; and agreement of sampler, trainer and attention kernel. The command has been run on CPUs alone so far,
where its floors of speed do not hold.

It needs torch and transformers, and the packages gymnasium, farama-notifications, tyro, docstring-parser, typeguard and
rich; trl, datasets and vllm for the comparisons with TRL alone. docs/how-to/grpo.md says how to carry them to a machine
without a network.

examples:
  palaestra bench gpu --markdown gpu.md
  palaestra bench gpu --minutes 9 --markdown gpu.md --json gpu.json
  palaestra bench gpu --rows decode-256 training step trl --minutes 8
  palaestra bench gpu --device cpu --model-shape tiny      tries the command out, in a minute
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import tyro

from ....agents.atomic import check_output, write_atomically
from ....checks import check_number
from ....errors import InputError, unknown_name
from . import decoding, steps, training
from .setup import SHAPES, Figure, Setup, check_device

_SHARE = {"trl": 0.3, "trl-vllm": 0.4}
"""Largest share of the time that a row may take, where it is not a fifth."""
_LEAST = 10.0
"""Seconds below which no row is begun on a GPU: its process takes about that long to load torch."""
_BODY = f"import sys; from {__name__} import end_with, work; end_with(int(sys.argv[2])); work(sys.argv[1])"
"""Program of a row's process, which is given its request and the number of the process that waits for it."""


def rows_of(shape: str) -> dict[str, Callable[[Setup], list[Figure]]]:
    """Name of each row -> what measures it, in the order in which they are run: what is cheap and needed for the rest
    of a day with a GPU comes first, then one figure each of training, decoding and whole steps."""
    decode = {f"decode-{n}": partial(decoding.measure_decoding, batch=n) for n in SHAPES[shape].batches}
    first, *others = decode
    return {
        "attention": training.compare_attention,
        "gap": training.measure_gap,
        "captured": decoding.compare_captured,
        "training": training.measure_training,
        first: decode[first],
        "step": steps.measure_ours,
        "shared-prompts": decoding.compare_shared,
        **{name: decode[name] for name in others},
        "short-memory": training.compare_short_memory,
        "trl": steps.measure_trl,
        "trl-vllm": partial(steps.measure_trl, vllm=True),
    }


@dataclass(frozen=True)
class GpuBenchOptions:
    device: str = "cuda"
    """Where to measure: "cuda", "cuda:1", or "cpu" to try the command out."""
    model_shape: Literal["qwen2.5-0.5b", "tiny"] = "qwen2.5-0.5b"
    """Sizes of the model and of the work."""
    rows: tuple[str, ...] = ()
    """Names of the rows to measure; all where none is given."""
    minutes: float = 25.0
    """Longest that the whole may take; on a GPU a row that takes longer is stopped, and rows for which no time is left
    are named."""
    json: Path | None = None
    """Write all figures here, after each row."""
    markdown: Path | None = None
    """Write the table of BENCHMARKS.md here, after each row."""

    def __post_init__(self) -> None:
        check_number("minutes", self.minutes, above=0)
        known = rows_of(self.model_shape)
        for name in self.rows:
            if name not in known:
                raise unknown_name("row", name, known)
        for name in ("json", "markdown"):
            path = getattr(self, name)
            if path is not None and path.is_dir():
                raise InputError(f"--{name} must be a file, but {str(path)!r} is a folder.")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure row by row; 1 if a floor is not met or a row failed."""
    from rich.console import Console

    options = tyro.cli(GpuBenchOptions, args=argv, prog="palaestra bench gpu", description=__doc__)
    check_output(options.json, "--json")
    check_output(options.markdown, "--markdown")
    console, setup = Console(stderr=True), Setup(check_device(options.device), options.model_shape)
    waiting = list(options.rows or rows_of(options.model_shape))
    lines, failed, begun = list[Figure](), False, time.monotonic()
    write_tables(options, setup, lines, waiting)
    while waiting:
        name = waiting.pop(0)
        left = 60 * options.minutes - (time.monotonic() - begun)
        limit = min(left, 60 * options.minutes * _SHARE.get(name, 0.2))
        if left < (_LEAST if setup.cuda else 0):
            found, well = [Figure(name, note=f"missing: not reached in {options.minutes:g} minutes")], False
        else:
            with console.status(f"{name}, at most {limit:.0f} s, {left:.0f} s left in all"):
                found, well = run_guarded_row(name, setup, limit)
        failed |= not well
        lines += found
        every = write_tables(options, setup, lines, waiting)
    print(format_table(setup, every))
    return int(failed or any(line.met is False for line in every))


def write_tables(
    options: GpuBenchOptions, setup: Setup, lines: Sequence[Figure], waiting: Sequence[str]
) -> list[Figure]:
    """Write the files that were asked for, with a line for each row that is still waiting; return the lines."""
    every = [*lines, *steps.compare_steps(list(lines), setup.floors_count)]
    every += [Figure(name, note="missing: not measured yet") for name in waiting]
    if options.json is not None:
        data = {"machine": describe_machine(setup), "lines": [line.to_json() for line in every]}
        write_atomically(options.json, json.dumps(data, indent=2) + "\n")
    if options.markdown is not None:
        write_atomically(options.markdown, format_table(setup, every))
    return every


def run_guarded_row(name: str, setup: Setup, limit: float) -> tuple[list[Figure], bool]:
    """Measure one row whatever happens in it: its lines, or one that says what is missing, and whether it went well.

    Args:
        limit: seconds that it may take; held to on a GPU, where it runs in a process of its own.
    """
    if not setup.cuda:
        try:
            return rows_of(setup.shape)[name](setup), True
        except Exception as error:
            return [Figure(name, note=f"missing: {_describe(error)}")], False
    with tempfile.TemporaryDirectory(prefix="palaestra-bench-") as folder:
        out = Path(folder) / "lines.json"
        request = json.dumps({"name": name, "out": str(out), **dataclasses.asdict(setup)})
        command = [sys.executable, "-c", _BODY, request, str(os.getpid())]
        said = Path(folder) / "stderr.txt"
        with said.open("w") as stream:
            # In a session of its own, so that processes that it started, which may hold the GPU, end with it.
            row = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stream, start_new_session=True)
            try:
                code = row.wait(limit)
            except subprocess.TimeoutExpired:
                code = None  # it may have written its lines all the same, and hang at its end
            finally:
                _end(row)
        if not out.exists() and code is None:
            return [Figure(name, note=f"missing: it took longer than its {limit:.0f} s")], False
        if not out.exists():
            errors = said.read_text(encoding="utf-8", errors="replace").splitlines()
            reason = next((text for text in reversed(errors) if text.strip()), "")
            return [Figure(name, note=f"missing: its process ended with exit code {code}: {reason}")], False
        data = json.loads(out.read_text(encoding="utf-8"))
        return [Figure(**line) for line in data["lines"]], data["well"]


def _end(row: subprocess.Popen[bytes]) -> None:
    """Kill a row's process and those that it started, and wait until they are gone: the next row needs their memory."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(row.pid, signal.SIGKILL)
        row.wait()
        end = time.monotonic() + 10.0  # one that nobody waits for stays in the group for ever
        while time.monotonic() < end:
            os.killpg(row.pid, signal.SIGKILL)
            time.sleep(0.01)
    row.wait()


def end_with(parent: int) -> None:
    """Let this process and those that it started end soon after its parent, which may be killed at any time."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os.killpg(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def work(text: str) -> None:
    """Body of a row's process; ``text`` is the request as JSON."""
    request = json.loads(text)
    setup = Setup(request["device"], request["shape"])
    lines, well = [], True
    try:
        setup.enter()
        lines = rows_of(setup.shape)[request["name"]](setup)
    except Exception as error:
        lines, well = [Figure(request["name"], note=f"missing: {_describe(error)}")], False
    data = {"lines": [dataclasses.asdict(line) for line in lines], "well": well}
    write_atomically(request["out"], json.dumps(data))


def _describe(error: Exception) -> str:
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}"[:300]


def describe_machine(setup: Setup) -> str:
    """Device, versions and date."""
    import torch

    where = torch.cuda.get_device_name(setup.device) if setup.cuda else "CPU, to try the command out"
    return f"{where}, torch {torch.__version__}, {setup.shape}, {time.strftime('%Y-%m-%d')}"


def format_table(setup: Setup, lines: Sequence[Figure]) -> str:
    """The table of BENCHMARKS.md."""
    rows = [
        f"{describe_machine(setup)}:",
        "",
        "| row | value | floor | met | note |",
        "| --- | ---: | ---: | --- | --- |",
    ]
    for line in lines:
        value = "" if line.value is None else f"{_number(line.value)} {line.unit}".strip()
        sign = "at most" if line.most else "at least"
        floor = "" if line.floor is None else f"{sign} {_number(line.floor)}"
        met = {True: "yes", False: "**no**", None: ""}[line.met]
        rows.append("| " + " | ".join([line.name, value, floor, met, line.note.replace("|", "/")]) + " |")
    return "\n".join(rows) + "\n"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
