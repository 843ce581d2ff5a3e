"""``palaestra bench gpu``: kernels, decoding, training, whole GRPO steps and runs on a GPU, in nine minutes.

Models have the shapes of Qwen2.5-0.5B and SmolLM2-135M with random weights; nothing is downloaded. Rows of the table
are measured in order of importance, each in a separate process, so that a row that fails, runs out of memory or takes
too long does not affect the others. Results are written after each row, so that a killed command loses nothing. Floors
(least accepted values): decoding 60 % of an estimate for an H200, scaled to other GPUs, and 5 times ``generate``; 25 %
of the device's arithmetic in training; a step in half of TRL's time; and agreement of kernels, sampler and trainer with
their references. The benchmark has not been run on a GPU so far. Without a GPU, the same rows are tried out with tiny
models, and floors of speed do not apply.

The benchmark needs torch and transformers, and the packages gymnasium, farama-notifications, tyro, docstring-parser,
typeguard and rich. Rows on peft, trl or vllm report if that package is missing. tools/gpu.sh runs the benchmark on a
machine without a network, with packages copied there.

Files in the folder: results.md, the table; results.jsonl, a line for each figure; profile-decoding.txt and
profile-update.txt, the kernels that took longest; log.txt, the standard error of the rows.

examples:
  palaestra bench gpu --out gpu
  palaestra bench gpu --minutes 25 --out gpu
  palaestra bench gpu --rows training step trl --minutes 4
  palaestra bench gpu --device cpu      tries all of it out
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from ...agents.atomic import write_atomically
from ...checks import check_number
from ..harness import check_names, format_markdown, read_options
from . import steps
from .row_processes import RowProcesses, end_with
from .rows import GpuRow, rows_of
from .setup import PAIRS, Figure, Setup, choose_device

LEAST = 5.0
"""Remaining seconds below which no row is started."""
LATEST = 60.0
"""Longest time of a row in seconds, if earlier rows left enough; or twice the row's own time if that is more."""
_PROGRAM = f"import sys; from {__name__} import run_row_process; run_row_process(int(sys.argv[1]))"


@dataclass(frozen=True)
class GpuBenchOptions:
    device: str = "auto"
    """Device: "cuda", "cuda:1", "cpu" (tiny models, to try the command out), or "auto", a GPU if there is one."""
    rows: tuple[str, ...] = ()
    """Names of the rows to measure; all by default."""
    minutes: float = 9.0
    """Longest time of the whole benchmark. A row that exceeds its share is ended; rows for which no time is left are
    listed."""
    out: Path = Path("bench-gpu")
    """Folder for the table, the figures, profiles and a log; earlier files there are replaced."""

    def __post_init__(self) -> None:
        check_number("minutes", self.minutes, above=0)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure row by row; return 1 if a floor is not met or a row is missing, else 0."""
    from rich.console import Console

    options = read_options(GpuBenchOptions, "gpu", argv, __doc__)
    device = choose_device(options.device)
    known = rows_of(device.partition(":")[0])
    check_names("row", options.rows, known)
    plan = {name: known[name] for name in options.rows or known}
    console = Console(stderr=True)
    results = measure(plan, device, options, lambda sentence: console.print(sentence, highlight=False))
    print(results.format_table())
    return int(any(line.value is None or line.met is False for line in results.lines))


def measure(
    plan: Mapping[str, GpuRow],
    device: str,
    options: GpuBenchOptions,
    say: Callable[[str], None] = lambda sentence: None,
) -> Results:
    """Measure the rows of a plan, and write the results after each row.

    A row may take its share of ``options.minutes`` and any time that earlier rows left over, so that the plan ends in
    time. On a CPU, where rows are only tried out, each row may take two minutes of the remaining time.
    """
    larger, smaller = PAIRS[device.partition(":")[0]]
    results = Results(options.out, device, list(plan))
    stretch = max(1.0, 60 * options.minutes / sum(row.seconds for row in plan.values()))
    begun, due = time.monotonic(), 0.0
    processes = RowProcesses(_PROGRAM, options.out / "log.txt")
    try:
        for number, (name, row) in enumerate(plan.items(), 1):
            due += stretch * row.seconds
            passed = time.monotonic() - begun
            own = 2 * LATEST
            if device != "cpu":
                own = min(due - passed, max(LATEST, 2 * stretch * row.seconds))
            limit = min(own, 60 * options.minutes - passed)
            if limit < min(LEAST, row.seconds):
                found = [Figure(name, note=f"missing: not reached in {options.minutes:g} minutes")]
            else:
                say(f"{passed:4.0f} s  {name}, at most {limit:.0f} s")
                setup = Setup(device, smaller if row.smaller else larger, str(options.out.absolute()))
                found = measure_row(processes, name, setup, limit, more=number < len(plan))
            results.add(name, found, time.monotonic() - begun - passed)
    finally:
        processes.close()
    return results


def measure_row(processes: RowProcesses, name: str, setup: Setup, limit: float, more: bool = False) -> list[Figure]:
    """Measure one row and return its figures, or after a failure one figure with the reason as its note."""
    with tempfile.TemporaryDirectory(prefix="palaestra-bench-") as folder:
        out = Path(folder) / "lines.json"
        request = {"name": name, "out": str(out), **dataclasses.asdict(setup)}
        code, last = processes.run(request, limit, more)
        if out.exists():  # also after a timeout: it may have written its figures and then hung
            return [Figure(**line) for line in json.loads(out.read_text(encoding="utf-8"))]
    if code is None:
        return [Figure(name, note=f"missing: it took longer than its {limit:.0f} s")]
    return [Figure(name, note=f"missing: its process ended with exit code {code}: {last}"[:400])]


def run_row_process(parent: int) -> None:
    """Run a row's process: import libraries, read the request, measure, and write the figures.

    Args:
        parent: id of the process that waits for this one.
    """
    end_with(parent)
    load_libraries()
    line = sys.stdin.readline()
    if not line:
        return
    request = json.loads(line)
    setup = Setup(request["device"], request["shape"], request["folder"])
    try:
        setup.enter()
        row = rows_of(setup.device.partition(":")[0])[request["name"]]
        lines = row.measure(setup)
        if row.smaller:
            lines = [dataclasses.replace(line, name=f"{line.name}, {setup.shape}") for line in lines]
    except Exception as error:
        traceback.print_exc()
        reason = f"{type(error).__name__}: {str(error).strip()}".partition("\n")[0]
        lines = [Figure(request["name"], note=f"missing: {reason[:300]}")]
    write_atomically(request["out"], json.dumps([dataclasses.asdict(line) for line in lines]))


def load_libraries() -> None:
    """Import what nearly all rows need; a row that misses a package reports so itself."""
    with contextlib.suppress(ImportError):
        import torch  # noqa: F401
        from transformers import LlamaForCausalLM, Qwen2ForCausalLM  # noqa: F401

        from ...agents.grpo import learner  # noqa: F401


class Results:
    """The result files, which are complete after each row.

    Args:
        folder: created if it does not exist.
        device: device for the heading.
        waiting: names of the rows to come.
    """

    def __init__(self, folder: Path, device: str, waiting: list[str]):
        self._folder, self._waiting = folder, waiting
        self._machine, self._floors_count = describe_machine(device), device.startswith("cuda")
        self.lines: list[Figure] = []
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("results.jsonl", "log.txt", "profile-decoding.txt", "profile-update.txt"):
            (folder / name).unlink(missing_ok=True)
        self._add_lines([{"machine": self._machine}])
        self._write_table()

    def add(self, row: str, found: Sequence[Figure], seconds: float) -> None:
        """Add a row's figures, and the ratios to TRL that can now be computed."""
        self._waiting.remove(row)
        known = {line.name for line in self.lines}
        ratios = steps.compare_steps([*self.lines, *found], self._floors_count)
        added = [*found, *(ratio for ratio in ratios if ratio.name not in known)]
        self.lines += added
        self._add_lines([{"row": row, "row_seconds": round(seconds, 2)} | line.to_json() for line in added])
        self._write_table()

    def _add_lines(self, lines: Sequence[Mapping[str, object]]) -> None:
        with (self._folder / "results.jsonl").open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)

    def _write_table(self) -> None:
        waiting = [Figure(name, note="missing: not measured yet") for name in self._waiting]
        write_atomically(self._folder / "results.md", self.format_table(waiting))

    def format_table(self, waiting: Sequence[Figure] = ()) -> str:
        """Return the table of results.md, followed by the rows that are waiting."""
        return f"{self._machine}:\n\n{format_lines([*self.lines, *waiting])}"


def format_lines(lines: Sequence[Figure]) -> str:
    """Format figures as a table in Markdown."""
    rows = []
    for line in lines:
        value = "" if line.value is None else f"{_number(line.value)} {line.unit}".strip()
        sign = "at most" if line.most else "at least"
        floor = "" if line.floor is None else f"{sign} {_number(line.floor)}"
        met = {True: "yes", False: "**no**", None: ""}[line.met]
        rows.append((line.name, value, floor, met, line.note.replace("|", "/")))
    return format_markdown(("row", "value", "floor", "met", "note"), rows, align="lrrll") + "\n"


def describe_machine(device: str) -> str:
    """Return the device, versions, shapes and date as text."""
    import torch

    where = torch.cuda.get_device_name(device) if device.startswith("cuda") else "CPU, to try the command out"
    versions = f"torch {torch.__version__}, transformers {version('transformers')}"
    return f"{where}, {versions}, {' and '.join(PAIRS[device.partition(':')[0]])}, {time.strftime('%Y-%m-%d')}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
