"""``palaestra bench``: measure a part of the package against its peers.

examples:
  palaestra bench baselines palaestra/ConnectFour-v0
  palaestra bench envs --peer-python /path/to/venv/bin/python
  palaestra bench evaluation
  palaestra bench gpu --out gpu
  palaestra bench grids
  palaestra bench grids --tables subgoals --seeds 5
  palaestra bench ladders SecretCode
  palaestra bench learner --setup
  palaestra bench learner --markdown table.md
  palaestra bench models --models smollm2-135m --cases sums
  palaestra bench overoptimisation --seeds 1
  palaestra bench processes --rounds 20
  palaestra bench processes --shard --hidden 512 --layers 8 --prompts 4
  palaestra bench recipes --vary "recipe=grpo|dapo" "kl=0|0.02"
  palaestra bench rewards --designers none exprd barfi --seeds 3
  palaestra bench rollouts
  palaestra bench sandbox --peer-python /path/to/venv/bin/python
  palaestra bench search --seeds 3
  palaestra bench serve --in-a-row 10000
  palaestra bench sql --engines sqlite duckdb postgres
  palaestra bench stability --streams 1 --only as-it-was no-kl lr-3e-4
  palaestra bench students
  palaestra bench verifiers
  palaestra bench verifiers --json verifiers.json --failures
  palaestra bench verifiers --peer-python /path/to/venv/bin/python
  palaestra bench web --agreement 500
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from ..errors import unknown_name

# Benchmark -> (module of this package, one line for --help). A new benchmark is a row and a module on `harness`.
BENCHMARKS: dict[str, tuple[str, str]] = {
    "baselines": ("baselines", "success of constant, blind, random and one-step players, at every difficulty"),
    "envs": ("envs.command", "tasks made and answers checked per second, against other suites"),
    "evaluation": ("evaluation", "what evaluate costs: slow replies, memory, processor time, long answers"),
    "gpu": ("gpu.command", "kernels, decoding, training and runs on a GPU, against floors, generate and TRL"),
    "grids": ("grids.command", "speed of gridworlds against MiniGrid, and what bonuses and learners do for students"),
    "ladders": ("ladders", "success one, two and three rungs above what a tiny model was shown, family by family"),
    "learner": ("learner.command", "time and memory of a GRPO step, against TRL"),
    "models": ("models.command", "small pretrained models before and after GRPO on a dozen ids, with curves"),
    "overoptimisation": ("overoptimisation", "true reward of a policy that is trained against a reward model"),
    "processes": ("processes", "time of an update that several processes share, beside one process"),
    "recipes": ("recipes", "training options compared by the hypervolume of several objectives, over seeds"),
    "rewards": ("rewards", "how soon Q-learning solves a gridworld with designed rewards, designer by designer"),
    "rollouts": ("rollouts", "wall time of rollouts whose environments wait, and of training in turns or ahead"),
    "sandbox": (
        "sandbox.command",
        "runs of programs per second and their latency, against a cold interpreter and peers",
    ),
    "search": ("search", "value-guided search beside best of n and majority, for as many tokens"),
    "serve": ("serving", "latency of served environments with many players, and what many sessions leave behind"),
    "sql": ("sql.command", "right and wrong verdicts on queries beside set comparison, and tasks per second"),
    "stability": ("stability", "what makes a small run lose what it could do, one factor at a time"),
    "students": ("students", "processor time of PPO on a gridworld, against Stable-Baselines3"),
    "teachers": ("teachers.command", "teachers compared on simulated and real students, with a report"),
    "verifiers": ("verifiers.command", "right and wrong verdicts, and time, over the labelled sheet"),
    "web": ("web.command", "resets and steps of web tasks per second, and whether both browsers agree"),
}


def main(argv: Sequence[str] | None = None) -> object:
    """Run one benchmark and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help"):
        width = max(map(len, BENCHMARKS))
        rows = [f"  {name:<{width}}  {summary}" for name, (_, summary) in BENCHMARKS.items()]
        usage = "usage: palaestra bench BENCHMARK [options]      palaestra bench BENCHMARK --help says more"
        print("\n".join([usage, "", *rows, "", (__doc__ or "").partition("\n\n")[2].rstrip()]))
        return 0
    name, *rest = arguments
    if name not in BENCHMARKS:
        raise unknown_name("benchmark", name, BENCHMARKS)
    return importlib.import_module(f".{BENCHMARKS[name][0]}", __package__).main(rest)
