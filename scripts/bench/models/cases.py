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
class ModelCase:
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

    def arguments(self, model: str, seed: int, teacher: str | None = None, steps: int | None = None) -> list[str]:
        """All words of `palaestra train` but --out.

        Args:
            teacher: in place of uniform choice.
            steps: in place of the case's own.
        """
        env, *own = shlex.split(self.words)
        options = _read_options(shlex.split(USUAL)) | _read_options(own) | {"--seed": [str(seed)]}
        if teacher is not None:
            options["--teacher"] = [teacher]
        if steps is not None:
            options["--steps"] = [str(steps)]
        return [env, "--model", model, *(word for name, values in options.items() for word in (name, *values))]


def _read_options(words: list[str]) -> dict[str, list[str]]:
    """Split words into options and their values."""
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
            "sums and differences of two digits",
            "palaestra/Arithmetic-v0 --axis digits=1 terms=2 operations=+- --max-new-tokens 12 --context 256",
            seeds=3,
        ),
    )
}
