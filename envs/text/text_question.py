"""Base of questions about how a text goes on."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..question import Question, Task
from .text_corpus import TextCorpus, made_up_corpus, read_corpus


class TextQuestion(Question):
    """Base of questions about how a text goes on, whose task has the text as ``data``: what is before the place in
    question, what stands there, and what is after it. All questions about one passage are in the same split.

    Args:
        source: a text file (.txt, .md, .rst), a folder of such files, or records with a column ``text`` (a .jsonl file,
            a hub id); None: made-up encyclopaedias.
        thoughts_only: ask for thoughts about how the text goes on, for rewards that read the likelihood of the
            continuation after them (``--recipe rlp``); the answer is judged all the same.
        **kwargs: arguments of `TaskEnv`.
    """

    supplies = frozenset({"passage"})
    works_in_steps = False
    max_observation = 16_384

    def __init__(self, *, source: str | None = None, thoughts_only: bool = False, **kwargs: Any):
        self.source, self.thoughts_only = source, bool(thoughts_only)
        self._corpus = None if source is None else read_corpus(source)
        super().__init__(**kwargs)
        if self.thoughts_only:
            self._request = ""

    def draw_corpus(self, rng: np.random.Generator) -> TextCorpus:
        """Return the corpus of the source, or draw a made-up one."""
        return made_up_corpus(int(rng.integers(1 << 40))) if self._corpus is None else self._corpus

    def pose(self, text: tuple[str, str, str], shown: str, ask: str, passage: tuple[str, ...]) -> Task:
        """Make the task of a place in a passage.

        Args:
            text: what is before the place in the task, what stands there, and what is after it.
            shown: the text with a gap, or without its end.
            ask: the question.
        """
        if self.thoughts_only:
            ask = "How does this text go on? Write only what you think about it, before you know."
        return Task(f"{ask}\n\n{shown}", text[1], content=f"{shown}\n{text[1]}", split_key=" ".join(passage), data=text)

    def compute_extra(self, subject: Task, name: str) -> Any:
        return list(subject.data) if name == "passage" else super().compute_extra(subject, name)
