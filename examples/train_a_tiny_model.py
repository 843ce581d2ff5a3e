"""Train a tiny language model, made in code, on solutions and then by GRPO, and score it on held-out sums."""

from __future__ import annotations

import argparse
from pathlib import Path

import palaestra
from palaestra.agents.grpo import Learner, TrainConfig, WarmUp

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=40, help="of GRPO; 300 take it from 40 to nearly 80 %%")
parser.add_argument("--warmup", type=int, default=400, help="steps on worked solutions, at most")
parser.add_argument("--teacher", default="random", help="who chooses the tasks, such as alp-gmm")
arguments = parser.parse_args()

config = TrainConfig(
    env="palaestra/Arithmetic-v0",
    axes={"terms": [2, 4], "digits": 1, "operations": ["+"]},
    teacher=arguments.teacher,
    warmup=WarmUp(steps=arguments.warmup),
    max_new_tokens=8,
    steps=arguments.steps,
    eval_every=0,
    final_episodes=200,
)
learner = Learner.start(Path("runs/sums"), config)


def show(progress) -> None:
    """Print a line for every twentieth step."""
    if progress.phase == "evaluate" or progress.step % 20 == 0:
        success = progress.values.get("success")
        print(progress.phase, progress.step, "" if success is None else f"success {success:.0%}")


learner.run(show)
learner.close()
print(palaestra.evaluate("runs/sums", "palaestra/Arithmetic-v0", episodes=200, axes=config.axes).success)
print("report: palaestra report runs/sums")
