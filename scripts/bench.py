"""``palaestra bench``: measure a part of the package beside its peers.

examples:
  palaestra bench baselines palaestra/ConnectFour-v0
  palaestra bench envs --peer-python /path/to/venv/bin/python
  palaestra bench sandbox --peer-python /path/to/venv/bin/python
  palaestra bench verifiers
  palaestra bench verifiers --json verifiers.json --failures
  palaestra bench verifiers --peer-python /path/to/venv/bin/python
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from ..errors import unknown_name

# Benchmark -> (module beside this one, one line for --help). A new benchmark is a file and a row.
BENCHMARKS: dict[str, tuple[str, str]] = {
    "baselines": ("bench_baselines", "success of players without thought, at every difficulty"),
    "envs": ("bench_envs", "tasks made and answers checked per second, beside other suites"),
    "sandbox": ("bench_sandbox", "runs of programs per second and their latency, beside a cold interpreter and peers"),
    "teachers": ("bench_teachers", "teachers compared on simulated and real students, with a report"),
    "verifiers": ("bench_verifiers", "right and wrong verdicts, and time, over the labelled sheet"),
}


def main(argv: Sequence[str] | None = None) -> object:
    """Run one benchmark; its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_help())
        return 0
    name, *rest = arguments
    if name not in BENCHMARKS:
        raise unknown_name("benchmark", name, BENCHMARKS)
    return importlib.import_module(f".{BENCHMARKS[name][0]}", __package__).main(rest)


def _help() -> str:
    width = max(map(len, BENCHMARKS))
    rows = [f"  {name:<{width}}  {summary}" for name, (_, summary) in BENCHMARKS.items()]
    usage = "usage: palaestra bench BENCHMARK [options]      palaestra bench BENCHMARK --help says more"
    return "\n".join([usage, "", *rows, "", (__doc__ or "").partition("\n\n")[2].rstrip()])


if __name__ == "__main__":
    from .cli import guarded

    sys.exit(guarded(main, sys.argv[1:]))
