"""Groups of settings of a training run: the warm-up, what proposals ask for, when a run ends or goes back."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import tyro

from ...checks import check_record, option, record
from ...errors import InputError


@record
class WarmUp:
    """Supervised steps on oracle solutions."""

    steps: int | None = option(
        default=None,
        says="most optimiser steps; 0 skips the warm-up; None is 2000 for the tiny model and 0 for any other.",
    )
    target: float = option(
        default=0.45,
        above=0,
        high=1,
        says="stop once this share of answers, sampled at temperature 1 on training tasks, is right.",
    )
    batch: int = option(default=64, low=1, says="episodes a step.")
    lr: float = option(default=3e-3, above=0, says="learning rate of AdamW, reached over the first 60 steps.")
    axes: Annotated[dict[str, Any], tyro.conf.Suppress] = option(
        default_factory=dict,
        says='the part of the run\'s tasks with demonstrated solutions, e.g. ``{"digits": 1}``; the target counts '
        "there.",
    )
    explore: float = option(
        default=0.0,
        low=0,
        high=1,
        says="share of the episodes, from 0 to below 1, that demonstrate guesses at tasks outside ``axes``, by a "
        "player who knows only the demonstrated tasks, so that the policy stays uncertain on all others.",
    )
    prompts: float = option(
        default=0.0,
        low=0,
        says="weight of the mean loss of the prompt's tokens relative to the answer's, 0 or more; a model that must "
        "copy names out of long prompts learns this sooner from the many repetitions there.",
    )

    def check(self) -> None:
        """Raise InputError for a value out of range. Not on construction: the command line would wrap the sentence."""
        check_record(self, "warmup.")
        if self.explore == 1:
            raise InputError("warmup.explore must be a share below 1, so that some episodes show solutions.")

    def most_steps(self, model: str) -> int:
        """Return the bound on steps for a model named as in the training configuration."""
        return self.steps if self.steps is not None else 2000 if model == "tiny" else 0


@record
class RequestSettings:
    """Settings by which the learner carries out what proposals ask for; of no effect with teachers that ask for
    nothing.
    """

    budget: str = option(
        default="Answer within {tokens} tokens.",
        says="text that states a token budget after the prompt; ``{tokens}`` stands for the number.",
    )
    hint_where: Literal["answer", "prompt"] = option(
        default="answer",
        says='a hint opens the "answer", where it is not trained, or stands in the "prompt".',
    )
    hint: str = option(
        default="The following text is the beginning part of the answer: {hint}",
        says="text of a hint in the prompt; ``{hint}`` stands for the first part of the solution.",
    )
    rewriter: str = option(
        default="policy",
        says='what rewrites prompts: "policy", or an agent as `palaestra eval --agent` takes it.',
    )
    simplify: str = option(
        default="Rewrite this question in simpler words, so that it is easier to understand. Keep every number and "
        "all that the answer depends on. Do not answer it. Write only the new question.\n\n{question}",
        says="request for a rewritten prompt in simpler words; ``{question}`` stands for the original.",
    )
    diversify: str = option(
        default="Write this question in other words, with the same meaning and the same answer. Keep every number. Do "
        "not answer it. Write only the new question.\n\n{question}",
        says="request for a rewritten prompt in other words; ``{question}`` stands for the original.",
    )
    rounds: int = option(
        default=4,
        low=1,
        says="rounds of proposals in a step, at most, until its batch is full, where proposals were for screening "
        "only or missed the band that they asked for. A recipe may have more.",
    )

    def check(self) -> None:
        """Raise InputError for a value out of range."""
        places = {"budget": "{tokens}", "hint": "{hint}", "simplify": "{question}", "diversify": "{question}"}
        for name, place in places.items():
            if place not in getattr(self, name):
                raise InputError(f"requests.{name} must contain {place}, not {getattr(self, name)!r}.")
        check_record(self, "requests.")


@record
class Patience:
    """Steps in a row after which a run that cannot learn ends with exit code 1; 0: never."""

    skipped: int = option(
        default=20, says="no update was taken, as the recipe's guards refused them all or gradients were not finite."
    )
    nonfinite: int = option(
        default=5,
        says="a loss or gradient was NaN or infinite. A run whose last step was such ends with exit code 1, too.",
    )
    no_signal: int = option(
        default=25, says="rewards did not tell any episodes of a group apart, so that no token had an advantage."
    )
    truncated: int = option(default=50, says="nearly all episodes (95 %) were cut off by a token budget.")

    def check(self) -> None:
        """Raise InputError for a negative patience. Not on construction: the command line would wrap the sentence."""
        check_record(self, "patience.")


@record
class Collapse:
    """Limits from which a loss of the policy's skill counts as a collapse, and the number of times a run is restored.

    A collapse is suspected when the mean success of the last steps has fallen far below the best of the ten windows
    before them. Harder tasks are not a collapse, so tasks of that window are replayed. A run has collapsed if success
    on them has fallen as far, beyond 95 % intervals. A collapse is always reported.
    """

    returns: int = option(
        default=0,
        says="number of times that the run is restored from its last checkpoint before a collapse (policy, optimiser "
        "and teacher; the step count continues, so that new episodes are played); 0: never.",
    )
    fall: float = option(default=0.5, says="share of the success that must be lost, between 0 and 1.")
    window: int = option(default=5, low=1, unit="steps", says="steps over which success is averaged.")

    def check(self) -> None:
        """Raise InputError for a value out of range. Not on construction: the command line would wrap the sentence."""
        check_record(self, "collapse.")
        if not 0 < self.fall < 1:
            raise InputError(f"collapse.fall must be a share between 0 and 1, not {self.fall}.")
