"""Cases of ``palaestra bench models``: tasks for small pretrained models, as arguments of `palaestra train`."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

USUAL = (
    "--teacher random --warmup.steps 0 --recipe dr_grpo --minibatches 4 --prompts 8 --samples 8 --lr 1e-5 "
    "--lr-warmup 5 --max-new-tokens 16 --max-episode-tokens 256 --context 1024 --steps 30 --eval-every 10 "
    "--eval-episodes 30 --final-episodes 100 --checkpoint-every 30 --keep-trajectories 4 --patience.no-signal 12 "
    "--track"
)
"""Arguments that all cases share; a case's own arguments override them."""
BASE_MODELS = frozenset({"gemma3-270m"})
"""Models without a chat template, which continue text and rarely answer a question unless they are shown answers."""


@dataclass(frozen=True)
class ModelCase:
    """One environment at one setting.

    Attributes:
        name: name of the case and of its folder.
        about: short description of the task, for the table.
        words: further arguments of `palaestra train`, the environment first.
        seeds: number of seeds of the table.
        base: further arguments for a base model.
    """

    name: str
    about: str
    words: str
    seeds: int = 1
    base: str = ""

    @property
    def env(self) -> str:
        """Id of the environment."""
        return shlex.split(self.words)[0]

    def arguments(self, model: str, seed: int, teacher: str | None = None, steps: int | None = None) -> list[str]:
        """Return all arguments of `palaestra train` except --out.

        Args:
            teacher: replaces uniform choice.
            steps: replaces the case's number of steps.
        """
        env, *own = shlex.split(f"{self.words} {self.base}" if model in BASE_MODELS else self.words)
        options = _read_options(shlex.split(USUAL)) | _read_options(own) | {"--seed": [str(seed)]}
        if teacher is not None:
            options["--teacher"] = [teacher]
        if steps is not None:
            options["--steps"] = [str(steps)]
        return [env, "--model", model, *(word for name, values in options.items() for word in (name, *values))]


def _read_options(words: list[str]) -> dict[str, list[str]]:
    """Split arguments into options and their values."""
    options: dict[str, list[str]] = {}
    for word in words:
        if word.startswith("--"):
            values = options[word] = []
        else:
            values.append(word)
    return options


CASES = {
    case.name: case
    for case in (
        ModelCase(
            "sums",
            "sums of two one-digit numbers",
            "palaestra/Arithmetic-v0 --axis digits=1 terms=2 operations=+ --max-new-tokens 12 --context 256 "
            "--steps 20 --eval-every 5",
            seeds=3,
            base="--shots 3",
        ),
        ModelCase(
            "comparing",
            "the larger of each two neighbouring digits",
            "palaestra/LargerNeighbors-v0 --axis length=2:3 digits=8 --shots 1 --max-new-tokens 8",
            seeds=3,
        ),
        ModelCase(
            "counting",
            "legs of a list of animals",
            "palaestra/ReasoningGym-v0 --env-option dataset=leg_counting --axis level=0 --shots 1",
        ),
        ModelCase(
            "lists",
            "a rule for lists, found from examples",
            "palaestra/ListFunctions-v0 --axis operations=1 listed=2 length=4 examples=3 --shots 1",
        ),
        ModelCase(
            "raising",
            "every digit of a number raised by one",
            "palaestra/NextDigits-v0 --axis length=2:3 digits=8 --shots 2 --max-new-tokens 8",
        ),
        ModelCase(
            "stories",
            "word problems of one or two steps",
            "palaestra/WordProblem-v0 --axis steps=1:2 distractors=0 size=10 --shots 1",
        ),
        ModelCase(
            "guessing",
            "a number found by higher and lower, several turns",
            "palaestra/GuessNumber-v0 --axis bits=2 slack=1 --max-new-tokens 5 --max-episode-tokens 15 --prompts 4 "
            "--final-episodes 50",
        ),
        ModelCase(
            "walking",
            "steps to a goal on a map in text, several turns",
            "palaestra/BabyAIText-v0 --axis kind=goto clauses=1 rooms=1 room_size=5 distractors=2 --max-new-tokens 5 "
            "--max-episode-tokens 60 --context 2048 --prompts 4 --steps 20 --eval-episodes 20 --final-episodes 60",
        ),
        ModelCase(
            "queries",
            "the easiest SQL",
            "palaestra/TextToSQL-v0 --axis joins=0 tables=0 nesting=0 clauses=1 noise=0 wording=names --shots 1 "
            "--max-new-tokens 40 --context 2048 --eval-episodes 30 --final-episodes 60",
        ),
        ModelCase(
            "shopping",
            "the easiest question about a shop's pages, several turns",
            "palaestra/Shop-v0 --axis products=24 items=1 constraints=1 slack=1.5 intent=report --max-new-tokens 16 "
            "--max-episode-tokens 128 --context 4096 --prompts 2 --samples 4 --minibatches 1 --steps 20 "
            "--eval-episodes 10 --final-episodes 20",
        ),
        ModelCase(
            "sequences",
            "the next term of an arithmetic sequence",
            "palaestra/Sequences-v0 --axis rules=add size=5:9 ahead=1 --shots 1",
        ),
        ModelCase(
            "expressions",
            "a number made from two others",
            "palaestra/Countdown-v0 --axis count=2 largest=10:20 --shots 2",
        ),
        ModelCase(
            "reading",
            "a fact in three sentences of an encyclopaedia",
            "palaestra/WikiReading-v0 --axis hops=1 size=0 distractors=0 ambiguity=0 kind=bridge --shots 1",
        ),
        ModelCase(
            "formulas",
            "a requirement in words, written in temporal logic",
            "palaestra/TemporalLogic-v0 --axis depth=0:1 signals=1:2 horizon=4:6 --shots 1 --max-new-tokens 24",
        ),
        ModelCase(
            "digits",
            "sums of numbers of one to four digits: a ladder for teachers",
            "palaestra/Arithmetic-v0 --axis digits=1:4 terms=2 operations=+ --max-new-tokens 12 --context 256 "
            "--steps 40",
            seeds=3,
        ),
        ModelCase(
            "longer",
            "every digit of a number of up to ten digits raised by one: a ladder for teachers",
            "palaestra/NextDigits-v0 --axis length=2:10 digits=8 --shots 2 --context 256",
            seeds=3,
        ),
    )
}
