"""Cases of ``palaestra bench models``: what a small pretrained model is trained on, as words of `palaestra train`."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

USUAL = (
    "--teacher random --warmup.steps 0 --recipe dr_grpo --prompts 8 --samples 8 --lr 1e-5 --lr-warmup 5 "
    "--max-new-tokens 16 --max-episode-tokens 256 --context 768 --steps 120 --eval-every 20 --eval-episodes 60 "
    "--final-episodes 200 --checkpoint-every 20 --patience.no-signal 0 --track"
)
"""Words that all cases share; those of a case come after them and take their place."""


@dataclass(frozen=True)
class Case:
    """One environment at one setting.

    Attributes:
        name: of the case, also of its folder.
        about: what is asked, for the table.
        words: further words of `palaestra train`, the environment first.
        seeds: seeds of the table.
    """

    name: str
    about: str
    words: str
    seeds: int = 1

    @property
    def env(self) -> str:
        """Id of the environment."""
        return shlex.split(self.words)[0]

    def arguments(self, model: str, seed: int) -> list[str]:
        """All words of `palaestra train` but --out."""
        env, *rest = shlex.split(self.words)
        usual = shlex.split(USUAL)
        given = {word for word in rest if word.startswith("--")}
        kept: list[str] = []
        for word in usual:
            if word.startswith("--"):
                keep = word not in given
            if keep:
                kept.append(word)
        return [env, "--model", model, "--seed", str(seed), *kept, *rest]


CASES = {
    case.name: case
    for case in (
        Case(
            "sums",
            "sums and differences of two digits",
            "palaestra/Arithmetic-v0 --axis digits=1 terms=2 operations=+-",
            3,
        ),
    )
}
