"""One training step, typed as on the command line, and what it left: for tests of pieces that must change a step.

A step with a piece is compared with the same step without it: same model, seed and tasks. The model answers the
questions of a shipped environment right about half of the time, so that there is something to learn.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.run.health import DeadRun
from palaestra.agents.language.model import LanguageModel
from palaestra.agents.language.tiny import TinyShape, tiny_model
from palaestra.rewards.models import Preference, RewardModel
from palaestra.scripts import train

from .step_record import Event, RecordedLearner, differs, fail, reverse  # isort: skip

YES_NO = "palaestra/Formats-v0 --axis format=yes_no digits=1 --env-option of=palaestra/Arithmetic-v0 --context 384"
"""Questions with two answers, which a small model can guess."""
ONE_STEP = (
    "--steps 1 --lr 1e-3 --lr-warmup 1 --warmup.steps 0 --teacher random --final-episodes 1 --eval-every 0 "
    "--threads 1 --patience.no-signal 0 --track"
)


@dataclass(frozen=True)
class Outcome:
    """What the steps of a line left.

    Attributes:
        weights: of the policy afterwards.
        metrics, proposals, trajectories: rows of the logs.
        events, measures, pays: see `step_record.RecordedLearner`.
        reacts: whether a copy of the teacher that receives the outcomes of other students proposes otherwise.
    """

    weights: bytes
    metrics: list[dict[str, Any]]
    proposals: list[dict[str, Any]]
    trajectories: list[dict[str, Any]]
    events: list[Event]
    measures: dict[str, list[Any]]
    pays: set[str]
    reacts: bool

    def values(self, quantity: str) -> list[Any]:
        """The values of a quantity, in order."""
        return [value for name, value in self.events if name == quantity]

    def without(self, quantity: str) -> Outcome:
        """The outcome without the events of a quantity."""
        return replace(self, events=[event for event in self.events if event[0] != quantity])

    def first_difference(self, other: Outcome) -> str | None:
        """The first quantity, as the steps went on, in which they differ from others."""
        for (name, mine), (their_name, theirs) in zip(self.events, other.events):
            assert name == their_name
            if differs(mine, theirs):
                return name
        return None

    def differences(self, other: Outcome) -> set[str]:
        """All quantities that differ, whether of themselves or in consequence of others."""
        names = dict(self.events)
        return {name for name in names if differs(self.values(name), other.values(name))}


def take_step(folder: Path, line: str, alter: str = "") -> Outcome:
    """Run ``palaestra train`` with the words of a line.

    Args:
        alter: see `step_record.RecordedLearner`.
    """
    config = train.read_config(line.split(" "))
    learner = RecordedLearner.start(folder, config)
    assert isinstance(learner, RecordedLearner)
    learner.alter = alter
    with suppress(DeadRun):  # one step may well have nothing to learn from
        learner.run()
    weights = b"".join(weight.detach().numpy().tobytes() for weight in learner.language.model.parameters())
    metrics, proposals, trajectories = (
        [json.loads(row) for row in file.read_text().splitlines()] if file.exists() else []  # nothing was played
        for file in (folder / f"{name}.jsonl" for name in ("metrics", "proposals", "trajectories"))
    )
    reacts = config.teacher != "random" and not all(map(learner.proposes_alike, (reverse, fail)))
    return Outcome(weights, metrics, proposals, trajectories, learner.events, learner.measures, learner.pays, reacts)


def save_models(folder: Path) -> None:
    """Save a model that says yes or no, one that has learned nothing, and a reward model."""
    shape = TinyShape(hidden=32, layers=2, heads=4, kv_heads=2, head_dim=8, intermediate=48, context=4096)
    LanguageModel.of(*tiny_model(3, shape)).save(folder / "untrained")
    reward = RewardModel(seed=0)
    reward.fit([Preference("Is this answer right?", "yes", "no")])
    reward.save(folder / "reward.safetensors")
    line = (
        f"{YES_NO} --model {folder / 'untrained'} --steps 0 --teacher random --warmup.steps 100 --warmup.batch 32 "
        "--warmup.lr 1e-2 --warmup.target 0.95 --max-new-tokens 6 --final-episodes 1 --eval-every 0 --threads 1 --track"
    )
    learner = Learner.start(folder / "run", train.read_config(line.split(" ")))
    learner.run()
    learner.language.save(folder / "trained")


GUESS = f"{YES_NO} {ONE_STEP} --model {{trained}} --prompts 3 --samples 4 --max-new-tokens 8 --max-episode-tokens 8"
"""Three groups of four guesses."""
REPHRASED = GUESS.replace(
    YES_NO, "palaestra/Rephrased-v0 --axis format=yes_no --env-option of=palaestra/Formats-v0 --context 2000"
)
UNTRAINED = f"{ONE_STEP} --model {{untrained}} --context 3000"
SHOWN = f"{UNTRAINED} --prompts 2 --samples 3 --recipe luffy"
"""Groups of an untrained model's samples with a solution of the environment among them."""
PROGRAMS = (
    f"palaestra/ProgramSynthesis-v0 --axis steps=1 examples=1 {SHOWN} --max-new-tokens 40 --max-episode-tokens 40 "
    "--env-option milestones=true"
)
STREAMS = f"palaestra/StreamPrediction-v0 --axis steps=1 calls=2 {SHOWN} --max-new-tokens 90 --max-episode-tokens 90"
QUERIES = (
    f"palaestra/TextToSQL-v0 --axis joins=0 nesting=0 clauses=1 tables=0 noise=0 {SHOWN} --max-new-tokens 40 "
    "--max-episode-tokens 40"
)
DOORS = (
    f"palaestra/DoorKeyText-v0 --axis size=5 {UNTRAINED} --recipe luffy --prompts 1 --samples 2 --max-new-tokens 3 "
    "--max-episode-tokens 30"
)
MEMORY = (
    f"palaestra/MemoryStores-v0 --axis texts=2 facts=1 updates=0 filler=0 people=2 questions=2 {SHOWN} "
    "--max-new-tokens 60 --max-episode-tokens 120 --context 1536"
)
RULER = (
    f"palaestra/OpenProblem-v0 --axis problem=golomb_ruler level=0 {UNTRAINED} --prompts 1 --samples 2 "
    "--max-new-tokens 6 --max-episode-tokens 6"
)
"""A program to edit, and answers that edit nothing."""
SUMS = f"palaestra/Arithmetic-v0 --axis digits=1 terms=2 {SHOWN} --max-new-tokens 40"
CALLS = f"palaestra/FunctionCalls-v0 --axis calls=1 tools=4 {SHOWN} --max-new-tokens 200 --max-episode-tokens 200"
REQUESTS = f"palaestra/AllowedRequests-v0 --axis secrets=2 {SHOWN} --max-new-tokens 150 --max-episode-tokens 150"
TAGGED = f"{SUMS} --env-option answer_format=tag"
TURNS = f"palaestra/GuessNumber-v0 --axis bits=4 {SHOWN} --max-new-tokens 6 --max-episode-tokens 120"
"""Episodes of several turns, all of them in error but those of the solution."""
FEW = f"{GUESS} --prompts 6 --samples 2"
"""Groups of two guesses, some of which have one outcome."""
CUT = f"{GUESS} --max-new-tokens 3"
"""Some answers are cut off."""
AGAIN = f"{GUESS} --steps 3 --pool 2 --prompts 2"
"""Two questions, three times."""
UPDATES = f"{GUESS} --minibatches 3 --epochs 2"
"""Six updates on a batch, so that ratios leave 1."""
HOT = f"{UPDATES} --lr 3e-2"
OLD = f"{AGAIN} --replay prompt_replay --lr 1e-2 --anchor policy"
"""Episodes of an earlier policy among the new ones."""
THREE = f"{UPDATES} --steps 3"
TAUGHT = f"{GUESS} --teacher-model {{untrained}}"
