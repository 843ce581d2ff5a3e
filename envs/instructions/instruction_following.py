"""palaestra/InstructionFollowing-v0: write a text that keeps several instructions on its form at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ...errors import InputError, unknown_name
from ...rewards import Verdict, verify
from ...rewards.verifiers.text_parts import count_words, words_of
from ..axes import IntAxis
from ..param_space import ParamSpace
from ..question import Question, Task
from ..registration import register
from ..task_env import MAX_ACTION
from .draft import Draft, start_draft
from .instruction_kinds import INSTRUCTIONS, say_instruction

MAX_DRAWS = 2_000
STAGES = ("sentences", "layout", "whole", "wrap", "")


class InstructionFollowing(Question):
    """Write a short text that keeps several instructions on its form.

    Description:
        The text must have two or three given words and a largest number of words, and keep further instructions, drawn
        from all kinds of the verifier "constraints": IFEval's and 38 more. Instructions are combined only where a text
        keeps them all; that text is the solver's. What the text means is not judged.

    Parameters:
        instructions (1 to 6, on request up to 12): number of further instructions.

    Observation:
        Text: the topic, the words, and the instructions as a numbered list.

    Actions:
        The text; all of the reply counts.

    Reward:
        1 if all is kept, 0 otherwise; with ``partial``, the share of the constraints that are kept. The share is
        ``info["progress"]`` either way.

    Termination:
        After the first reply.

    Source:
        IFEval, arXiv 2311.07911; verifiable rewards for composed and for unseen instructions: TÜLU 3, arXiv 2411.15124.
        Generated here.

    Args:
        kinds: kinds of instructions to draw from, a list, or text with commas between them; None for all. Some given
            here and the others kept for a test show whether instruction following carries over.
        without: kinds that are not drawn, in the same form.
        partial: reward the share of the constraints that are kept.
        **kwargs: as for every environment.

    Raises:
        InputError: an unknown kind, or kinds that cannot be combined.
    """

    param_space = ParamSpace([IntAxis("instructions", 1, 6, limits=(1, 12))])
    verifier = "constraints"
    answer_form = "program"
    default_answer_format = "whole"
    strips_marks = False
    max_answer = MAX_ACTION
    works_in_steps = False
    measured: ClassVar = {"is_ascii": False, "longest_text": 4_000}

    def __init__(
        self,
        *,
        kinds: str | Sequence[str] | None = None,
        without: str | Sequence[str] = (),
        partial: bool = False,
        **kwargs: Any,
    ):
        left_out = _read_kinds(without)
        self.kinds = [kind for kind in _read_kinds(INSTRUCTIONS if kinds is None else kinds) if kind not in left_out]
        if not self.kinds:
            raise InputError(f"no kind of instruction is left of kinds={kinds!r} without {without!r}.")
        self.partial = partial
        super().__init__(**kwargs)

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        for _ in range(MAX_DRAWS):
            names: list[str] = []
            for name in rng.permutation(self.kinds).tolist():
                group = INSTRUCTIONS[name].group
                if not group or group not in {INSTRUCTIONS[other].group for other in names}:
                    names.append(name)
                if len(names) == params["instructions"]:
                    break
            if len(names) == params["instructions"] and (task := _try_task(names, rng)):
                return task
        raise InputError(
            f"no text was found that keeps {params['instructions']} instructions of {', '.join(self.kinds)} at once; "
            "give more kinds, or fewer instructions."
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        verdict = super().verify(task, answer)
        return verdict if self.partial else replace(verdict, terms={"answer": float(verdict.success)})

    def criteria(self, task: Task) -> list[str]:
        """Return the instructions."""
        return list(task.data)


def _read_kinds(kinds: str | Sequence[str] | Mapping[str, Any]) -> list[str]:
    names = [name.strip() for name in kinds.split(",")] if isinstance(kinds, str) else list(kinds)
    for name in names:
        if name not in INSTRUCTIONS:
            raise unknown_name("kind of instruction", name, INSTRUCTIONS)
    return names


def _try_task(names: Sequence[str], rng: np.random.Generator) -> Task | None:
    """Write a text by these instructions and return the task that it solves. None if it does not keep them all, or if
    the prompt itself does."""
    draft = start_draft(rng)
    constraints: list[dict[str, Any]] = []
    order = sorted(names, key=lambda name: STAGES.index(INSTRUCTIONS[name].stage))
    for stage in STAGES:
        if stage == "layout":
            draft.text = " ".join(draft.sentences)
        for name in order:
            if INSTRUCTIONS[name].stage == stage and (shape := INSTRUCTIONS[name].shape):
                shape(draft, rng)
    for name in names:
        params = INSTRUCTIONS[name].fit(draft, rng)
        if params is None:
            return None
        constraints.append({"kind": name.partition("/")[0], **params})
    nouns = _choose_words(draft, rng)
    most = count_words(draft.text) + int(rng.integers(0, 5))
    base = [{"kind": "keywords", "texts": nouns}, {"kind": "words", "max": most}]
    said = [say_instruction(name, constraint) for name, constraint in zip(names, constraints)]
    listed = "\n".join(f"{n}. {sentence}" for n, sentence in enumerate(said, 1))
    words = " and ".join(f"'{noun}'" for noun in nouns)
    prompt = (
        f"Write a text about {draft.topic} in at most {most} words, with the words {words}. Keep these instructions:\n"
        f"{listed}\nReply with the text alone."
    )
    reference = base + constraints
    keeps = verify("constraints", draft.text, reference).success
    if not nouns or not keeps or verify("constraints", prompt, reference).success:
        return None
    terse = f"{draft.topic}, {most} words, {words}\n{listed}"
    return Task(prompt, reference, solution=draft.text.strip(), content=prompt, terse=terse, data=tuple(said))


def _choose_words(draft: Draft, rng: np.random.Generator) -> list[str]:
    """Return two or three words of the text, in their order."""
    words = list(dict.fromkeys(word.lower() for word in words_of(draft.text) if word.isalpha() and len(word) > 2))
    chosen = sorted(rng.permutation(len(words))[: int(rng.integers(2, 4))].tolist())
    return [words[place] for place in chosen]


register("palaestra/InstructionFollowing-v0", f"{__name__}:InstructionFollowing")
