"""``palaestra bench learner``: time and memory of the learner's steps, compared with TRL in the same run.

Both sides start from the same weights of a tiny Qwen3 (float32), draw prompts from the same distribution, and have the
same reward and settings. Both sides run in separate processes and take turns step by step, in reversed order every
other round, so that a busy machine slows both alike. Our side is the loop of ``palaestra train``, including its logs.
Only ratios carry over to another machine.

Parts; all but the last run by default: "step" (completions of one length, every group informative), "ragged" (geometric
lengths, half of the groups without variance, sixteen samples per prompt), and three in which both sides get the same
ready-made completions, so that only training is measured: "vocabulary" (151,936 tokens), "flat" (a growing share of
groups without variance), "prefix" (long prompts, short answers). "real" trains the chat model of --model on a real
environment, whose verifier judges on both sides, and draws success in training and on held-out tasks against steps,
wall time and processor time.

examples:
  palaestra bench learner --setup          once: a virtual environment with TRL
  palaestra bench learner --markdown table.md
  palaestra bench learner --parts step flat --quick
  palaestra bench learner --parts real --model smollm2-135m --steps 16 --seeds 0 1 --json r.json --figure r.png
  palaestra bench learner --floor smollm2-shape --threads 1
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ...agents.atomic import write_atomically
from ...agents.language.model_cache import find_model, is_model_name
from ...errors import InputError
from ..harness import Side, Spread, check_least, compare, read_options, require, write_json
from ..peer_process import LineProcess
from . import our_side, trl_side
from .curves import CurveRecorder, draw_curves
from .floor import report_floor
from .settings import PARTS, Part, Settings
from .tables import format_tables, summarise_steps

ROOT = Path(__file__).resolve().parents[2]
TRL = "trl==1.16.*"


@dataclass(frozen=True)
class LearnerBenchOptions:
    parts: tuple[Part, ...] = ("step", "ragged", "vocabulary", "flat", "prefix")
    """Parts to measure."""
    steps: int = 20
    """Number of timed steps of each side."""
    warmup: int = 3
    """Number of untimed steps before them."""
    prompt_tokens: int = 32
    """Exact number of tokens of a prompt in the part "step"."""
    threads: int = 2
    """CPU threads of each side."""
    packer: Literal["shared_prefix", "plain"] = "shared_prefix"
    """Packer of our side."""
    device: str = "cpu"
    """Device of both sides; memory figures are of host memory, even on a GPU."""
    quick: bool = False
    """Miniature sizes, one untimed and three timed steps, to try the benchmark out."""
    trl_python: Path = ROOT / ".venv-trl" / "bin" / "python"
    """Python interpreter of the virtual environment with TRL."""
    floor: str | None = None
    """Instead of the parts: compare the time of decoding and training with that of the matrix products and memory reads
    that they need; a model's folder, or "smollm2-shape" with random weights."""
    setup: bool = False
    """Create the virtual environment of --trl-python, install TRL in it, and do nothing else."""
    json: Path | None = None
    """Write all figures here as JSON; in the part "real" after each step."""
    markdown: Path | None = None
    """Write the tables of docs/benchmarks/learner.md here."""
    model: str | None = None
    """Model of the part "real": a registered one (`palaestra list models`), a folder or a .gguf file."""
    seeds: tuple[int, ...] = (0,)
    """Seeds of the part "real", one run each."""
    eval_every: int = 10
    """Steps between evaluations of the part "real", besides those at the start and the end; their time is not
    counted."""
    held_out: int = 128
    """Number of held-out tasks of an evaluation of the part "real"."""
    trl_passes: int = 4
    """Number of passes in which TRL trains on a batch of the part "real"; fewer passes need more memory."""
    alone: bool = False
    """Run one side after the other instead of in turns."""
    figure: Path | None = None
    """Draw the curves of the part "real" here, after each evaluation."""

    def __post_init__(self) -> None:
        check_least(self, 2, "steps")
        check_least(self, 0, "warmup")
        check_least(self, 5, "prompt_tokens")
        check_least(self, 1, "threads", "eval_every", "held_out", "trl_passes")
        if not self.parts:
            raise InputError(f"--parts needs at least one of {', '.join(PARTS)}.")
        known = self.model is not None and (Path(self.model).is_dir() or is_model_name(self.model))
        if "real" in self.parts and not known:
            raise InputError(
                'the part "real" needs --model with a registered model or the folder of one'
                + ("." if self.model is None else f", but {self.model!r} is neither.")
            )
        if not self.seeds or min(self.seeds) < 0 or len(set(self.seeds)) < len(self.seeds):
            raise InputError(f"--seeds must be different numbers of at least 0, not {self.seeds}.")
        real = PARTS["real"][0].small() if self.quick else PARTS["real"][0]
        if (rows := real.prompts * real.samples) % self.trl_passes:
            raise InputError(f"--trl-passes must divide the {rows} episodes of a step, not be {self.trl_passes}.")


class Worker(LineProcess):
    """A side of the comparison, running in a separate process; its steps are added to a recorder of curves, if any.

    A step reports ``seconds``, ``rollout_s``, ``train_s``, ``cpu_s``, ``tokens``, ``reward``, ``flat`` (share of groups
    without variance), ``peak_mb`` and, for ready-made completions, ``extra_mb`` and ``processed`` (tokens encoded).
    """

    def __init__(
        self, name: str, command: Sequence[str | Path], settings: Settings, recorder: CurveRecorder | None = None
    ):
        self.name, self._recorder = name, recorder
        self._log = Path(settings.folder) / f"{name}.log"
        threads = str(settings.threads)
        fixed = {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
        fixed |= {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
        with self._log.open("w", encoding="utf-8") as log:
            words = [*map(str, command), json.dumps(dataclasses.asdict(settings))]
            super().__init__(words, stderr=log, env={**os.environ, **fixed})
        ready = self.receive()
        self.versions: dict[str, str] = ready["versions"]
        self.start_mb: float = ready["peak_mb"]

    def step(self, number: int = 0) -> dict[str, float]:
        """Take one step and return its report."""
        report = self.send("step")
        if self._recorder is not None:
            self._recorder.add(self, report)
        return report

    def evaluate(self) -> dict[str, float]:
        """Evaluate the policy on held-out tasks, see `curves.Evaluated`."""
        return self.send("evaluate")

    def receive(self, limit: float | None = None, request: bytes = b"") -> dict[str, Any]:
        try:
            return super().receive(limit, request)
        except EOFError:
            self.close()
            code = self._process.returncode
            end = self._log.read_text(encoding="utf-8").strip()[-3000:]
            killed = " (killed, mostly because memory ran out: give it more passes, or run the sides alone)"
            raise RuntimeError(
                f"the process of {self.name} ended with exit code {code}{killed if code == -9 else ''}:\n{end}"
            ) from None

    def close(self) -> None:
        """Close the process's input, which ends the process after the current work, and wait for the end."""
        self._process.communicate()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and return the exit code."""
    from rich.console import Console

    config = read_options(LearnerBenchOptions, "learner", argv, __doc__)
    console = Console()
    if config.setup:
        # Install the torch of constraints.txt, and this package, whose verifiers judge the part "real".
        place = config.trl_python.parent.parent
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        packages = ("-c", ROOT / "constraints.txt", "torch", "transformers", TRL, "-e", ROOT)
        subprocess.run([*map(str, (config.trl_python, "-m", "pip", "install", *packages))], check=True)
        return 0
    require("the learner benchmark", "train", "torch", "transformers")
    if config.floor is not None:
        console.print(report_floor(config.floor, config.threads, config.quick, config.json), highlight=False)
        return 0
    if config.figure is not None:
        require("the figure of the learner benchmark", "train", "matplotlib")
    if absence := _explain_absence(config.trl_python, real="real" in config.parts):
        console.print(absence, highlight=False)
    results: dict[str, list[dict[str, Any]]] = {}
    for part in config.parts:
        results[part] = []
        for settings in _settings_of(part, config):
            recorder = None
            if part == "real":
                recorder = CurveRecorder(sum(_count_steps(config)), config.eval_every)
                recorder.save = functools.partial(_save_curves, config, results, settings, recorder)
            with tempfile.TemporaryDirectory() as folder:
                placed = replace(settings, folder=folder)
                results[part].append(compare_sides(placed, config, absence is None, recorder))
        console.print(format_tables({part: results[part]}), highlight=False, soft_wrap=True)
    write_json(config.json, results)
    if config.markdown is not None:
        write_atomically(config.markdown, format_tables(results))
    return 0


def _settings_of(part: Part, config: LearnerBenchOptions) -> Iterator[Settings]:
    """Yield the settings of a part, as changed by the options; of "real", one for each seed."""
    for settings in PARTS[part]:
        if part == "step":
            settings = replace(settings, prompt_tokens=config.prompt_tokens)
        shared: dict[str, Any] = {"threads": config.threads, "packer": config.packer, "device": config.device}
        settings = replace(settings.small() if config.quick else settings, **shared)
        if part != "real":
            yield settings
            continue
        model = str(find_model(config.model or ""))
        settings = replace(settings, model=model, held_out=config.held_out, trl_passes=config.trl_passes)
        for seed in config.seeds:
            yield replace(settings, label=f"{settings.label}, seed {seed}", seed=seed)


def _count_steps(config: LearnerBenchOptions) -> tuple[int, int]:
    """Return the numbers of untimed and of timed steps."""
    return (1, 3) if config.quick else (config.warmup, config.steps)


def _save_curves(
    config: LearnerBenchOptions,
    results: Mapping[str, list[dict[str, Any]]],
    settings: Settings,
    recorder: CurveRecorder,
    evaluated: bool,
) -> None:
    """Write the JSON file with the rows so far, and after an evaluation also the figure."""
    cases = [*results["real"], {"settings": dataclasses.asdict(settings), "curves": recorder.curves}]
    write_json(config.json, {**results, "real": cases})
    if config.figure is not None and evaluated:
        draw_curves(cases, config.figure)


def compare_sides(
    settings: Settings, config: LearnerBenchOptions, with_trl: bool, recorder: CurveRecorder | None = None
) -> dict[str, Any]:
    """Start both sides, let them take turns, and return a summary: an entry of the JSON file."""
    our_side.prepare(dataclasses.asdict(settings))
    program = f"import sys; from {our_side.MODULE} import work; work(sys.argv[1])"
    commands: dict[str, list[str | Path]] = {"ours": [sys.executable, "-c", program]}
    if with_trl:
        # -P keeps this folder, whose modules share names with others, off TRL's path.
        commands["TRL"] = [config.trl_python, "-P", Path(trl_side.__file__)]
    warmup, steps = _count_steps(config)
    reports: dict[str, list[dict[str, float]]] = {}
    sides: dict[str, dict[str, Any]] = {}
    for together in [[name] for name in commands] if config.alone else [list(commands)]:
        workers: list[Worker] = []
        try:
            for name in together:
                workers.append(Worker(name, commands[name], settings, recorder))
            for worker in workers:
                if recorder is not None:
                    recorder.begin(worker)
            reports |= compare([Side(worker.name, worker.step) for worker in workers], steps, dropped=warmup)
        finally:
            for worker in workers:
                worker.close()
        for worker in workers:
            made = {"versions": worker.versions, "start_mb": worker.start_mb}
            rows = reports[worker.name]
            sides[worker.name] = {**made, **summarise_steps(rows), "steps": rows}
    return {
        "settings": {**dataclasses.asdict(settings), "folder": "", "steps": steps, "warmup": warmup},
        "sides": sides,
        "ratios": ratios(reports["ours"], reports["TRL"]) if with_trl else None,
        **({} if recorder is None else {"curves": recorder.curves}),
    }


def ratios(ours: Sequence[Mapping[str, float]], theirs: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """Return median and quartiles of TRL's figures divided by ours within each round, for figures above 0 on our
    side."""
    result = {}
    for name in ("seconds", "rollout_s", "train_s", "cpu_s", "peak_mb", "extra_mb", "processed"):
        pairs = [(a.get(name, 0.0), b.get(name, 0.0)) for a, b in zip(ours, theirs, strict=True)]
        if all(a > 0 for a, _ in pairs):
            result[name] = Spread.of([b / a for a, b in pairs]).to_json()
    return result


def _explain_absence(python: Path, real: bool) -> str | None:
    """Return one sentence on why TRL cannot be measured, or None if it can.

    Args:
        real: True if this package must be installed there, too.
    """
    remedy = "create its environment with: palaestra bench learner --setup"
    if not python.exists():
        return f"There is no {python}, so TRL is left out; {remedy}"
    for name in ("trl", "palaestra") if real else ("trl",):
        probe = [str(python), "-P", "-c", f"import importlib.util as u, sys; sys.exit(u.find_spec({name!r}) is None)"]
        if subprocess.run(probe, capture_output=True, check=False).returncode:
            title = {"trl": "TRL"}.get(name, name)
            return f"{title} is not installed for {python}, so TRL is left out; {remedy}"
    return None
