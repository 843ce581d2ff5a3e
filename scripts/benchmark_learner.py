"""The learner's step time beside TRL's, measured in one run.

One optimiser step is: sample prompts x samples completions of exactly the same length, score them, and take one AdamW
step of GRPO on all of them. Both sides start from the same weights of the tiny Qwen3 (float32), draw prompts from the
same distribution, and have the same reward and settings. Each runs in a process of its own, and they take turns step by
step, so that a busy machine slows them alike. Ours is the loop of ``palaestra train``, logs included. Only the ratio
says anything about another machine.

examples:
  python -m palaestra.scripts.benchmark_learner --setup          once: a virtual environment with TRL
  python -m palaestra.scripts.benchmark_learner
  python -m palaestra.scripts.benchmark_learner --packers shared_prefix plain --json learner.json
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import gymnasium as gym
import numpy as np
import tyro

from ..agents.atomic import write_atomically
from ..envs import IntAxis, ParamSpace, Question, Task
from ..errors import InputError, MissingExtra
from ..rewards import Verdict
from . import benchmark_learner_trl
from .benchmark_learner_trl import Channel, lower_case_share

MODULE = f"{__package__}.benchmark_learner"
"""This module by name, also where it runs as the main one."""
ROOT = Path(__file__).resolve().parents[1]
ENV = "benchmark/Letters-v0"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
TRL = "trl==1.16.*"
SPARE_PROMPTS = 1024
"""Prompts written out for TRL, which deals them out in random order; ours draws from the same distribution."""


@dataclass(frozen=True)
class Config:
    steps: int = 20
    """Timed steps of each side."""
    warmup: int = 3
    """Steps before them that are dropped."""
    prompts: int = 16
    """Prompts a step."""
    samples: int = 8
    """Completions of each prompt."""
    new_tokens: int = 64
    """Tokens of a completion, exactly."""
    prompt_tokens: int = 32
    """Tokens of a prompt, exactly."""
    threads: int = 2
    """CPU threads of each side."""
    packers: tuple[Literal["shared_prefix", "plain"], ...] = ("shared_prefix",)
    """Our packers to measure, a process each; the first one is compared with TRL."""
    trl_python: Path = ROOT / ".venv-trl" / "bin" / "python"
    """Interpreter of the virtual environment that holds TRL."""
    setup: bool = False
    """Create that virtual environment, install TRL in it, and do nothing else."""
    json: Path | None = None
    """Write all figures here."""

    def __post_init__(self) -> None:
        least = {"steps": 2, "warmup": 0, "prompts": 1, "samples": 2, "new_tokens": 1, "prompt_tokens": 5, "threads": 1}
        for name, low in least.items():
            if getattr(self, name) < low:
                raise InputError(f"--{name.replace('_', '-')} must be at least {low}, not {getattr(self, name)}.")
        if not self.packers:
            raise InputError("--packers needs at least one of shared_prefix and plain.")


@dataclass(frozen=True)
class Settings:
    """What every side is told, as JSON; ``folder`` holds model/ and prompts.json."""

    folder: str
    prompts: int
    samples: int
    new_tokens: int
    prompt_tokens: int
    threads: int
    packer: str
    lr: float = 3e-4
    max_grad_norm: float = 1.0


@dataclass(frozen=True)
class Spread:
    """Median and quartiles."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        low, median, high = (float(q) for q in np.quantile(values, (0.25, 0.5, 0.75)))
        return cls(median, low, high)


class Side(Protocol):
    """Something that takes one optimiser step at a time and reports on it."""

    name: str

    def step(self) -> Mapping[str, float]:
        """Entries ``seconds``, ``rollout_s``, ``train_s``, ``tokens``, ``reward``, ``peak_mb``."""
        ...


# The task -------------------------------------------------------------------------------------------------------------


class Letters(Question):
    """A prompt of random letters; the answer is worth its share of lower-case letters."""

    param_space = ParamSpace([IntAxis("letters", 3, 4000), IntAxis("tokens", 1, 4096)])
    default_answer_format: ClassVar[str] = "whole"

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        return Task("".join(rng.choice(list(LETTERS), params["letters"])), reference=params["tokens"])

    def verify(self, task: Task, answer: str) -> Verdict:
        score = lower_case_share(answer, task.reference)
        return Verdict(score, score > 0.5)


def axes(settings: Settings) -> dict[str, int]:
    """The task's parameters; two tokens of a prompt are the marks around its text."""
    return {"letters": settings.prompt_tokens - 2, "tokens": settings.new_tokens}


def prepare(settings: Settings) -> None:
    """Write the initial weights, a tokenizer, and prompts as text and ids.

    The tokenizer's end token is one that the model has no output for: both sides look for it, and neither meets it.
    """
    from ..agents.language.model import LanguageModel
    from ..agents.language.tiny import tiny_model

    model, tokenizer = tiny_model(0)
    tokenizer.add_special_tokens({"eos_token": "<never>"})
    model.config.eos_token_id = model.generation_config.eos_token_id = None
    language = LanguageModel.of(model, tokenizer)
    folder = Path(settings.folder)
    language.save(folder / "model")
    env = gym.make(ENV, disable_env_checker=True, axes=axes(settings))
    prompts = []
    for seed in range(SPARE_PROMPTS):
        ids = language.renderer.observation(env.reset(seed=seed)[0], first=True)
        prompts.append({"text": tokenizer.decode(list(ids)), "ids": ids})
    (folder / "prompts.json").write_text(json.dumps(prompts), encoding="utf-8")


# Our side -------------------------------------------------------------------------------------------------------------


def work(text: str) -> None:
    """Body of our process: `Learner.run` as ``palaestra train`` calls it, standing still between two steps."""
    channel = Channel()
    from importlib.metadata import version

    from ..agents.grpo.config import TrainConfig
    from ..agents.grpo.learner import Learner, Progress

    settings = Settings(**json.loads(text))
    register()
    folder = Path(settings.folder)
    config = TrainConfig(
        env=ENV,
        axes=axes(settings),
        teacher="random",
        recipe="grpo",
        kl=0.0,
        model=str(folder / "model"),
        steps=10**6,
        prompts=settings.prompts,
        samples=settings.samples,
        lr=settings.lr,
        lr_warmup=0,
        max_grad_norm=settings.max_grad_norm,
        max_new_tokens=settings.new_tokens,
        max_episode_tokens=settings.new_tokens,
        context=settings.prompt_tokens + settings.new_tokens,
        packer=settings.packer,
        eval_every=0,
        eval_episodes=1,
        checkpoint_every=10**6,
        threads=settings.threads,
    )
    out = folder / settings.packer
    learner = Learner.start(out, config)
    begun = False

    def watch(progress: Progress) -> None:
        nonlocal begun
        seconds = channel.seconds()
        if progress.phase == "train":
            values = progress.values
            split = json.loads((out / "timings.jsonl").read_text().splitlines()[-1])
            go_on = channel.report(
                event="step",
                seconds=seconds,
                rollout_s=split["rollout_s"],
                train_s=split["train_s"],
                tokens=values["tokens"],
                reward=values["reward"],
            )
        elif not begun:
            # The evaluation before the first step.
            begun = True
            versions = {name: version(name) for name in ("palaestra", "torch", "transformers")}
            go_on = channel.report(event="ready", versions=versions)
        else:
            return
        if not go_on:
            learner.stop()

    learner.run(watch)


def register() -> None:
    """Make the task known to Gymnasium, in this process only."""
    if ENV not in gym.registry:
        gym.register(ENV, entry_point=f"{MODULE}:{Letters.__name__}")


# The comparison -------------------------------------------------------------------------------------------------------


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


def summarise(reports: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """Spread of each time (s), tokens per second at the median, peak memory (MB), and mean reward at either end."""
    rewards = [report["reward"] for report in reports]
    part = max(1, len(reports) // 4)
    spreads = {name: Spread.of([report[name] for report in reports]) for name in ("seconds", "rollout_s", "train_s")}
    return {
        **{name: dataclasses.asdict(spread) for name, spread in spreads.items()},
        "tokens_per_s": statistics.median(report["tokens"] for report in reports) / spreads["seconds"].median,
        "peak_mb": max(report["peak_mb"] for report in reports),
        "reward_first": statistics.fmean(rewards[:part]),
        "reward_last": statistics.fmean(rewards[-part:]),
    }


def speedup(ours: Sequence[Mapping[str, float]], theirs: Sequence[Mapping[str, float]]) -> Spread:
    """How many times as fast ours is: ratio of the median step times, and quartiles of the ratios within a round."""
    paired = Spread.of([b["seconds"] / a["seconds"] for a, b in zip(ours, theirs, strict=True)])
    median = [statistics.median(report["seconds"] for report in reports) for reports in (theirs, ours)]
    return Spread(median[0] / median[1], paired.low, paired.high)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison; the exit code."""
    from rich.console import Console

    config = tyro.cli(Config, args=argv, prog="benchmark_learner", description=__doc__)
    console = Console()
    if config.setup:
        set_up(config.trl_python)
        return 0
    if config.json is not None and config.json.is_dir():
        raise InputError(f"--json must be a file, but {str(config.json)!r} is a folder.")
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("transformers") is None:
        raise MissingExtra("the learner benchmark", "train")
    with tempfile.TemporaryDirectory() as folder:
        result = compare(config, Path(folder), console)
    console.print(_table(result))
    if result["speedup"] is not None:
        ratio = Spread(**result["speedup"])
        spread = f"quartiles of the rounds {ratio.low:.2f} to {ratio.high:.2f}"
        console.print(f"ours is {ratio.median:.2f} times as fast as TRL ({spread})", highlight=False)
    if config.json is not None:
        write_atomically(config.json, [json.dumps(result, indent=2) + "\n"])
    return 0


def compare(config: Config, folder: Path, console: Any) -> dict[str, Any]:
    """Start all sides, let them take turns, and summarise; what ``--json`` writes."""
    first = Settings(
        str(folder),
        config.prompts,
        config.samples,
        config.new_tokens,
        config.prompt_tokens,
        config.threads,
        config.packers[0],
    )
    register()
    prepare(first)
    ours = [sys.executable, "-c", f"import sys; from {MODULE} import work; work(sys.argv[1])"]
    workers: list[Worker] = []
    try:
        for packer in config.packers:
            name = "ours" if packer == config.packers[0] else f"ours, {packer}"
            workers.append(Worker(name, ours, dataclasses.replace(first, packer=packer)))
        if absent := _absence(config.trl_python):
            console.print(absent)
        else:
            workers.append(Worker("TRL", [config.trl_python, "-P", benchmark_learner_trl.__file__], first))
        reports = take_turns(workers, config.warmup, config.steps)
    finally:
        for worker in workers:
            worker.close()
    return {
        "settings": {**dataclasses.asdict(first), "packers": config.packers, "steps": config.steps, "folder": ""},
        "sides": {
            worker.name: {
                **summarise(reports[worker.name]),
                "start_mb": worker.start_mb,
                "versions": worker.versions,
                "steps": reports[worker.name],
            }
            for worker in workers
        },
        "speedup": dataclasses.asdict(speedup(reports["ours"], reports["TRL"])) if "TRL" in reports else None,
    }


def set_up(python: Path) -> None:
    """Create the virtual environment of ``python`` and install TRL with the torch that is used here."""
    place = python.parent.parent
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    install = [python, "-m", "pip", "install", "-c", ROOT / "constraints.txt", "torch", "transformers", TRL]
    subprocess.run(list(map(str, install)), check=True)


def _absence(python: Path) -> str | None:
    """One sentence where TRL cannot be measured."""
    remedy = "create its environment with: python -m palaestra.scripts.benchmark_learner --setup"
    if not python.exists():
        return f"There is no {python}, so TRL is left out; {remedy}"
    probe = [str(python), "-P", "-c", "import importlib.metadata as m; m.version('trl')"]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        return f"TRL is not installed for {python}, so it is left out; {remedy}"
    return None


def _table(result: Mapping[str, Any]) -> Any:
    from rich.table import Table

    settings = result["settings"]
    table = Table(
        title=f"one step of {settings['prompts']} prompts x {settings['samples']} samples x {settings['new_tokens']} "
        f"tokens on {settings['threads']} threads\nmedian and quartiles of {settings['steps']} steps"
    )
    table.add_column("")
    for head in ("step ms", "rollout", "train", "tokens/s", "peak MB", "reward"):
        table.add_column(head, justify="right", no_wrap=True)
    for name, side in result["sides"].items():
        step, rollout, train = (Spread(**side[key]) for key in ("seconds", "rollout_s", "train_s"))
        table.add_row(
            name,
            f"{1e3 * step.median:.0f} ({1e3 * step.low:.0f}-{1e3 * step.high:.0f})",
            f"{1e3 * rollout.median:.0f}",
            f"{1e3 * train.median:.0f}",
            f"{side['tokens_per_s']:,.0f}",
            f"{side['peak_mb']:.0f}",
            f"{side['reward_first']:.2f} to {side['reward_last']:.2f}",
        )
    return table


if __name__ == "__main__":
    from .cli import guarded

    sys.exit(guarded(main, sys.argv[1:]))
