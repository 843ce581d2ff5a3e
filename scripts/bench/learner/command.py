"""``palaestra bench learner``: time and memory of the learner's steps, against TRL's in the same run.

Both sides start from the same weights of a tiny Qwen3 (float32), draw prompts from the same distribution, and have the
same reward and settings. Each runs in a process of its own, and they take turns step by step, in reversed order every
other round, so that a busy machine slows them alike. Ours is the loop of ``palaestra train``, logs included. Only
ratios carry over to another machine.

Parts: "step" (completions of one length, every group informative), "ragged" (geometric lengths, half of the groups
without variance, sixteen samples a prompt), and three in which both sides get the same ready-made completions, so that
only training is measured: "vocabulary" (151,936 tokens), "flat" (a growing share of groups without variance), "prefix"
(long prompts, short answers).

examples:
  palaestra bench learner --setup          once: a virtual environment with TRL
  palaestra bench learner --markdown table.md
  palaestra bench learner --parts step flat --quick
  palaestra bench learner --floor smollm2-shape --threads 1
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol

import tyro

from ....agents.atomic import check_output, write_atomically
from ....errors import InputError, MissingExtra
from . import our_side, trl_side
from .floor import report_floor
from .tables import Spread, format_tables, summarise_steps

ROOT = Path(__file__).resolve().parents[3]
TRL = "trl==1.16.*"


@dataclass(frozen=True)
class Settings:
    """Settings of one comparison; every side receives them as JSON.

    Attributes:
        label: distinguishes this setting from the others of its part.
        prompts, samples: prompts a step, completions of each.
        prompt_tokens: tokens of a prompt, exactly.
        new_tokens: most tokens of a completion, and exactly that many where ``mean_tokens`` is 0.
        mean_tokens: mean of the geometric lengths that the initial weights give.
        flat: share of the prompts whose answers all have the same reward.
        vocabulary: of the model; 0 is the tokenizer's own.
        played: whether completions are sampled; otherwise both sides receive the same ready-made ones.
        folder: holds model/, prompts.json and rollouts.json.
        packer: ours.
    """

    label: str
    prompts: int
    samples: int
    prompt_tokens: int
    new_tokens: int
    mean_tokens: int = 0
    flat: float = 0.0
    vocabulary: int = 0
    played: bool = True
    lr: float = 3e-4
    max_grad_norm: float = 1.0
    threads: int = 2
    packer: str = "shared_prefix"
    folder: str = ""

    def small(self) -> Settings:
        """The same shape in miniature, to try the benchmark itself."""
        return replace(
            self,
            prompts=max(2, self.prompts // 4),
            prompt_tokens=max(8, self.prompt_tokens // 4),
            new_tokens=max(8, self.new_tokens // 4),
            mean_tokens=max(2, self.mean_tokens // 4) if self.mean_tokens else 0,
            vocabulary=min(self.vocabulary, 8192),
        )


# Where lengths and variance come from the policy, it must stay what it is: hence the small rate of "ragged".
PARTS: dict[str, tuple[Settings, ...]] = {
    "step": (Settings("16 x 8 x 64", 16, 8, 32, 64),),
    "ragged": (Settings("16 x 16, geometric", 16, 16, 128, 192, mean_tokens=24, flat=0.5, lr=1e-6),),
    "vocabulary": (Settings("8 x 512, 151,936 tokens", 2, 4, 64, 448, vocabulary=151_936, played=False),),
    "flat": tuple(
        Settings(f"{share:.0%} without variance", 20, 8, 32, 64, flat=share, played=False)
        for share in (0.0, 0.5, 0.75, 0.9)
    ),
    "prefix": (Settings("4 x 16, prompt 512, answer 32", 4, 16, 512, 32, played=False),),
}

Part = Literal["step", "ragged", "vocabulary", "flat", "prefix"]


@dataclass(frozen=True)
class LearnerBenchOptions:
    parts: tuple[Part, ...] = ("step", "ragged", "vocabulary", "flat", "prefix")
    """What to measure."""
    steps: int = 20
    """Timed steps of each side."""
    warmup: int = 3
    """Steps before them that are dropped."""
    prompt_tokens: int = 32
    """Tokens of a prompt in the part "step", exactly."""
    threads: int = 2
    """CPU threads of each side."""
    packer: Literal["shared_prefix", "plain"] = "shared_prefix"
    """Our packer."""
    quick: bool = False
    """Miniature sizes, one warm-up step and three timed ones: whether it runs, not how fast."""
    trl_python: Path = ROOT / ".venv-trl" / "bin" / "python"
    """Interpreter of the virtual environment that holds TRL."""
    floor: str | None = None
    """Instead of the parts: time decoding and training of a model's folder, or of "smollm2-shape" with random weights,
    beside the matrix products and memory reads that they cannot do without."""
    setup: bool = False
    """Create that virtual environment, install TRL in it, and do nothing else."""
    json: Path | None = None
    """Write all figures here."""
    markdown: Path | None = None
    """Write the tables of BENCHMARKS.md here."""

    def __post_init__(self) -> None:
        for name, low in {"steps": 2, "warmup": 0, "prompt_tokens": 5, "threads": 1}.items():
            if getattr(self, name) < low:
                raise InputError(f"--{name.replace('_', '-')} must be at least {low}, not {getattr(self, name)}.")
        if not self.parts:
            raise InputError(f"--parts needs at least one of {', '.join(PARTS)}.")
        for name in ("json", "markdown"):
            path = getattr(self, name)
            if path is not None and path.is_dir():
                raise InputError(f"--{name} must be a file, but {str(path)!r} is a folder.")


class Side(Protocol):
    """Something that takes one optimiser step at a time and reports on it."""

    name: str

    def step(self) -> Mapping[str, float]:
        """Entries ``seconds``, ``rollout_s``, ``train_s``, ``cpu_s``, ``tokens``, ``reward``, ``flat`` (share of groups
        without variance), ``peak_mb`` and, for ready-made completions, ``extra_mb`` and ``processed`` (tokens encoded).
        """
        ...


class Worker:
    """A side in a process of its own."""

    def __init__(self, name: str, command: Sequence[str | Path], settings: Settings):
        self.name = name
        self._log = Path(settings.folder) / f"{name}.log"
        threads = str(settings.threads)
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": threads,
            "MKL_NUM_THREADS": threads,
            "TOKENIZERS_PARALLELISM": "false",
            "HF_HUB_OFFLINE": "1",
        }
        with self._log.open("w", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                [*map(str, command), json.dumps(dataclasses.asdict(settings))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=environment,
            )
        ready = self._receive()
        self.versions: dict[str, str] = ready["versions"]
        self.start_mb: float = ready["peak_mb"]

    def step(self) -> dict[str, float]:
        """Take one step."""
        self._send("step")
        return self._receive()

    def close(self) -> None:
        """Let the process end after what it is doing: its input is closed, which it takes for a request to stop."""
        self._process.communicate()

    def _send(self, word: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.close()
            code = self._process.returncode
            end = self._log.read_text(encoding="utf-8").strip()[-3000:]
            raise RuntimeError(f"the process of {self.name} ended with exit code {code}:\n{end}")
        return json.loads(line)


def take_turns(sides: Sequence[Side], warmup: int, steps: int) -> dict[str, list[Mapping[str, float]]]:
    """Steps of every side in turn, in reversed order every other round; the first ``warmup`` rounds are dropped.

    Returns:
        The reports of the timed steps by name of the side.
    """
    reports: dict[str, list[Mapping[str, float]]] = {side.name: [] for side in sides}
    for round_ in range(warmup + steps):
        for side in sides if round_ % 2 == 0 else sides[::-1]:
            report = side.step()
            if round_ >= warmup:
                reports[side.name].append(report)
    return reports


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and return the exit code."""
    from rich.console import Console

    config = tyro.cli(LearnerBenchOptions, args=argv, prog="palaestra bench learner", description=__doc__)
    check_output(config.json, "--json")
    check_output(config.markdown, "--markdown")
    console = Console()
    if config.setup:
        set_up(config.trl_python)
        return 0
    if config.floor is not None:
        console.print(report_floor(config.floor, config.threads, config.quick, config.json), highlight=False)
        return 0
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("transformers") is None:
        raise MissingExtra("the learner benchmark", "train")
    if absence := _explain_absence(config.trl_python):
        console.print(absence, highlight=False)
    results: dict[str, list[dict[str, Any]]] = {}
    for part in config.parts:
        results[part] = []
        for settings in PARTS[part]:
            if part == "step":
                settings = replace(settings, prompt_tokens=config.prompt_tokens)
            settings = replace(settings.small() if config.quick else settings, threads=config.threads)
            with tempfile.TemporaryDirectory() as folder:
                placed = replace(settings, folder=folder, packer=config.packer)
                results[part].append(compare(placed, config, with_trl=absence is None))
        console.print(format_tables({part: results[part]}), highlight=False, soft_wrap=True)
    if config.json is not None:
        write_atomically(config.json, [json.dumps(results, indent=2) + "\n"])
    if config.markdown is not None:
        write_atomically(config.markdown, [format_tables(results)])
    return 0


def compare(settings: Settings, config: LearnerBenchOptions, with_trl: bool) -> dict[str, Any]:
    """Start both sides, let them take turns, and summarise; an entry of what ``--json`` writes."""
    our_side.prepare(dataclasses.asdict(settings))
    module = our_side.MODULE
    commands: dict[str, list[str | Path]] = {
        "ours": [sys.executable, "-c", f"import sys; from {module} import work; work(sys.argv[1])"]
    }
    if with_trl:
        # -P keeps this folder, whose modules share names with others, off TRL's path.
        commands["TRL"] = [config.trl_python, "-P", Path(trl_side.__file__)]
    workers: list[Worker] = []
    warmup, steps = (1, 3) if config.quick else (config.warmup, config.steps)
    try:
        for name, command in commands.items():
            workers.append(Worker(name, command, settings))
        reports = take_turns(workers, warmup, steps)
    finally:
        for worker in workers:
            worker.close()
    return {
        "settings": {**dataclasses.asdict(settings), "folder": "", "steps": steps, "warmup": warmup},
        "sides": {
            worker.name: {
                "versions": worker.versions,
                "start_mb": worker.start_mb,
                **summarise_steps(reports[worker.name]),
                "steps": reports[worker.name],
            }
            for worker in workers
        },
        "ratios": ratios(reports["ours"], reports["TRL"]) if with_trl else None,
    }


def ratios(ours: Sequence[Mapping[str, float]], theirs: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """Divide TRL's figures by ours within each round, for each figure that is not 0 on our side; give median and
    quartiles."""
    result = {}
    for name in ("seconds", "rollout_s", "train_s", "cpu_s", "peak_mb", "extra_mb", "processed"):
        pairs = [(a.get(name, 0.0), b.get(name, 0.0)) for a, b in zip(ours, theirs, strict=True)]
        if all(a > 0 for a, _ in pairs):
            result[name] = dataclasses.asdict(Spread.of([b / a for a, b in pairs]))
    return result


def set_up(python: Path) -> None:
    """Create the virtual environment of ``python`` and install TRL with the torch that is used here."""
    place = python.parent.parent
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    install = [python, "-m", "pip", "install", "-c", ROOT / "constraints.txt", "torch", "transformers", TRL]
    subprocess.run(list(map(str, install)), check=True)


def _explain_absence(python: Path) -> str | None:
    """Return one sentence on why TRL cannot be measured, or None when it can."""
    remedy = "create its environment with: palaestra bench learner --setup"
    if not python.exists():
        return f"There is no {python}, so TRL is left out; {remedy}"
    probe = [str(python), "-P", "-c", "import importlib.metadata as m; m.version('trl')"]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        return f"TRL is not installed for {python}, so it is left out; {remedy}"
    return None
