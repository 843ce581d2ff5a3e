"""Rubrics kept by prompt, and found for new prompts by those that are alike: `RubricBook`.

A file has a line for each prompt, ``{"prompt": "...", "rubric": [{"text": "...", "points": 1}]}``, as ``palaestra
rubrics`` writes it. A prompt that is not in the file gets the criteria of the prompts most like it, as rubrics of
similar cases are looked up for a new one in InfiMed-ORBIT (arXiv 2510.15859), which has a model rewrite them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError
from ..embedding import HashedNgrams, cosines, embed
from .rubric import Criterion, as_criterion


class RubricBook:
    """Rubrics by prompt.

    Args:
        rubrics: prompt -> criteria, at least one with positive points.
        name: name of the file, for messages.

    Raises:
        InputError: no rubric, or one without positive points.
    """

    def __init__(self, rubrics: Mapping[str, Sequence[Criterion]], name: str = "the rubrics"):
        for prompt, criteria in rubrics.items():
            if not any(criterion.points > 0 for criterion in criteria):
                raise InputError(f"{name}: the rubric of {prompt[:60]!r} needs a criterion with positive points.")
        if not rubrics:
            raise InputError(f"{name} has no rubric; write one with palaestra rubrics.")
        self.rubrics = {prompt: tuple(criteria) for prompt, criteria in rubrics.items()}
        self._prompts = list(self.rubrics)
        self._embedder = HashedNgrams(columns=4096)
        self._rows: np.ndarray | None = None

    @classmethod
    def read(cls, file: str | Path) -> RubricBook:
        """Read a file of rubrics.

        Raises:
            InputError: the file cannot be read, or a line has no prompt or no usable rubric.
        """
        rubrics: dict[str, list[Criterion]] = {}
        try:
            for line in Path(file).read_text(encoding="utf-8").splitlines():
                row: Any = json.loads(line) if line.strip() else None
                if row is not None:
                    rubrics[str(row["prompt"])] = [as_criterion(criterion) for criterion in row["rubric"]]
        except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{str(file)!r} is no file of rubrics ({error!r}); give one that palaestra rubrics wrote, or criteria."
            ) from None
        return cls(rubrics, str(file))

    def find(self, prompt: str, similar: int = 3) -> tuple[Criterion, ...]:
        """Return the rubric of a prompt; of one that is not in the book, the different criteria of the ``similar``
        prompts most like it, the likest first."""
        if prompt in self.rubrics:
            return self.rubrics[prompt]
        merged = {criterion.text: criterion for found in self.nearest(prompt, similar)[::-1] for criterion in found[1]}
        return tuple(merged.values())

    def nearest(self, prompt: str, count: int) -> list[tuple[str, tuple[Criterion, ...]]]:
        """Return the ``count`` prompts most like a prompt, by the cosine of their n-grams, with their rubrics."""
        if self._rows is None:
            self._rows = embed(self._embedder, self._prompts)
        asked = embed(self._embedder, [prompt])
        if self._rows is None or asked is None:
            raise InputError("the prompts of the rubrics could not be compared, as they have no words.")
        order = np.argsort(-cosines(asked, self._rows)[0], kind="stable")[:count]
        return [(self._prompts[n], self.rubrics[self._prompts[n]]) for n in order.tolist()]
