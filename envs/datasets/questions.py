"""`DatasetQuestion`: what environments over the records of a data set have in common.

gym.make("palaestra/GSM8K-v0", source="train.jsonl", difficulty=0.5)
gym.make("palaestra/MATH-v0", source="EleutherAI/hendrycks_math", config="algebra", part="test", split="all")
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...errors import InputError
from ..axes import Axis
from ..param_space import ParamSpace
from ..question import Question, Task
from .collection import Collection, Source, collected
from .layouts import Item, Layout
from .sources import is_hub_name

BUILT_IN = Path(__file__).parent / "data"


class DatasetQuestion(Question):
    """Base of families whose questions are records of a data set.

    A subclass sets ``layout``, ``built_in`` and perhaps ``rung_axis``, and implements `axes_of` and `task`, which keeps
    the `Item` in ``Task.data``.

    Args:
        source: a .jsonl, .json, .csv or .parquet file (the first three also with .gz), a folder of such files, or
            "owner/name" for a data set of the Hugging Face hub; None for the questions that come with this package.
            Parquet files and the hub need the library ``datasets``, extra [datasets].
        part: which part of a hub data set or folder is read: "train", "test", ... In a folder a file belongs to a part
            by its own name or a folder's. It must be said where there are several, so that they are never mixed. Within
            the part, ``split`` still takes a fifth of the questions apart by content; use ``split="all"`` to have every
            question of a published test set.
        config: the configuration of a hub data set, such as "main".
        **kwargs: as for every environment.

    Raises:
        InputError: the source is missing, empty or not of the layout; the message names file, line and field.
        MissingExtra: the source needs a library that is not installed.
    """

    layout: ClassVar[Layout]
    built_in: ClassVar[str]
    # The axis that chooses among the rungs of the collection, where one does.
    rung_axis: ClassVar[str] = ""
    max_observation = 16_384

    def __init__(self, *, source: str | None = None, part: str | None = None, config: str | None = None, **kwargs: Any):
        for name, value in (("part", part), ("config", config)):
            if value is not None and not isinstance(value, str):
                raise InputError(f"{name} must be text such as 'train', not {value!r}.")
        if source is None and (part is not None or config is not None):
            raise InputError("part and config belong to a source; say which, such as source='openai/gsm8k'.")
        self.source = None if source is None else _checked_source(source)
        self.part, self.config = part, config
        collection = collected(self._source())
        self._digest = collection.digest
        self.param_space = ParamSpace(self.axes_of(collection))
        super().__init__(**kwargs)
        if not collection.has(self.split):
            raise InputError(
                f"{source} has {len(collection.items)} questions and none of them is in split {self.split!r}; "
                "use split='all', or a larger source."
            )

    def axes_of(self, collection: Collection) -> list[Axis]:
        """The axes that a collection can serve."""
        raise NotImplementedError

    def task(self, item: Item, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        """The task that asks ``item``."""
        raise NotImplementedError

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        return self._drawn(rng, params, "all")

    def generate_episode(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        # A small source may have no question of this split at some parameters: then the nearest one is taken.
        return self._drawn(rng, params, self.split)

    def split_key(self, episode: Task) -> str:
        return episode.data.content

    def solver_cost(self, episode: Task) -> float | None:
        """The length of question and worked solution."""
        return float(episode.data.length)

    def solution_steps(self, task: Task) -> list[str]:
        """The worked solution of the record, then the answer."""
        return [*task.data.steps, self.oracle(task)]

    def _drawn(self, rng: np.random.Generator, params: dict[str, Any], split: str) -> Task:
        collection = collected(self._source())
        if collection.digest != self._digest:
            raise InputError(f"{self.source} has changed since this environment was made; make it anew.")
        item = collection.draw(rng.random(), split, params.get(self.rung_axis, 0), params.get("length"))
        return self.task(item, rng, params)

    def _source(self) -> Source:
        name = str(BUILT_IN / self.built_in) if self.source is None else self.source
        return Source(self.layout, name, self.part, self.config)


def _checked_source(source: Any) -> str:
    if not isinstance(source, (str, os.PathLike)) or not str(source).strip():
        raise InputError(f"source must name a file, a folder or a hub data set such as 'openai/gsm8k', not {source!r}.")
    name = os.fspath(source)
    # The full path, so that a copy in a process with another working directory finds the same file.
    return name if is_hub_name(name) else str(Path(name).expanduser().absolute())
