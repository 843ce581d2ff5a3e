"""Groups of settings of a training run: the warm-up, what proposals ask for, when a run ends or goes back."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import tyro

from ...checks import check_choice, check_count
from ...errors import InputError


@dataclass(frozen=True)
class WarmUp:
    """Supervised steps on oracle solutions.

    Attributes:
        steps: most optimiser steps; 0 skips the warm-up; None is 2000 for the tiny model and 0 for any other.
        target: stop once this share of answers, sampled at temperature 1 on training tasks, is right.
        batch: episodes a step.
        lr: learning rate of AdamW, reached over the first 60 steps.
        axes: the part of the run's tasks with demonstrated solutions, e.g. ``{"digits": 1}``; the target counts there.
        explore: share of the episodes, from 0 to below 1, that demonstrate guesses at tasks outside ``axes``, by a
            player who knows only the demonstrated tasks, so that the policy stays uncertain on all others.
        prompts: weight of the mean loss of the prompt's tokens relative to the answer's, 0 or more; a model that must
            copy names out of long prompts learns this sooner from the many repetitions there.
    """

    steps: int | None = None
    target: float = 0.45
    batch: int = 64
    lr: float = 3e-3
    axes: Annotated[dict[str, Any], tyro.conf.Suppress] = field(default_factory=dict)
    explore: float = 0.0
    prompts: float = 0.0

    def check(self) -> None:
        """Raise InputError for a value out of range. Not on construction: the command line would wrap the sentence."""
        if (self.steps or 0) < 0 or self.batch < 1 or not 0 < self.lr < float("inf") or not 0 < self.target <= 1:
            raise InputError(f"a warm-up needs steps >= 0, batch >= 1, 0 < target <= 1 and a positive lr, not {self}.")
        if not 0 <= self.explore < 1:
            raise InputError(f"warmup.explore must be a share of at least 0 and below 1, not {self.explore}.")
        if not 0 <= self.prompts < float("inf"):
            raise InputError(f"warmup.prompts must be a weight of at least 0, such as 0.5, not {self.prompts}.")

    def most_steps(self, model: str) -> int:
        """Return the bound on steps for a model named as in the training configuration."""
        return self.steps if self.steps is not None else 2000 if model == "tiny" else 0


@dataclass(frozen=True)
class RequestSettings:
    """Settings by which the learner carries out what proposals ask for; of no effect with teachers that ask for
    nothing.

    Attributes:
        budget: text that states a token budget after the prompt; ``{tokens}`` stands for the number.
        hint_where: a hint opens the "answer", where it is not trained, or stands in the "prompt".
        hint: text of a hint in the prompt; ``{hint}`` stands for the first part of the solution.
        rewriter: what rewrites prompts: "policy", or an agent as `palaestra eval --agent` takes it.
        simplify, diversify: the two requests for a rewritten prompt; ``{question}`` stands for the original.
        rounds: rounds of proposals in a step, at most, until its batch is full, where proposals were for screening only
            or missed the band that they asked for. A recipe may have more.
    """

    budget: str = "Answer within {tokens} tokens."
    hint_where: Literal["answer", "prompt"] = "answer"
    hint: str = "The following text is the beginning part of the answer: {hint}"
    rewriter: str = "policy"
    simplify: str = (
        "Rewrite this question in simpler words, so that it is easier to understand. Keep every number and all that "
        "the answer depends on. Do not answer it. Write only the new question.\n\n{question}"
    )
    diversify: str = (
        "Write this question in other words, with the same meaning and the same answer. Keep every number. Do not "
        "answer it. Write only the new question.\n\n{question}"
    )
    rounds: int = 4

    def check(self) -> None:
        """Raise InputError for a value out of range."""
        places = {"budget": "{tokens}", "hint": "{hint}", "simplify": "{question}", "diversify": "{question}"}
        for name, place in places.items():
            if place not in getattr(self, name):
                raise InputError(f"requests.{name} must contain {place}, not {getattr(self, name)!r}.")
        check_choice("requests.hint_where", self.hint_where, ("answer", "prompt"))
        check_count("requests.rounds", self.rounds, 1)


@dataclass(frozen=True)
class Patience:
    """Steps in a row after which a run that cannot learn ends with exit code 1; 0: never.

    Attributes:
        skipped: no update was taken, as the recipe's guards refused them all or gradients were not finite.
        nonfinite: a loss or gradient was NaN or infinite. A run whose last step was such ends with exit code 1, too.
        no_signal: rewards did not tell any episodes of a group apart, so that no token had an advantage.
        truncated: nearly all episodes (95 %) were cut off by a token budget.
    """

    skipped: int = 20
    nonfinite: int = 5
    no_signal: int = 25
    truncated: int = 50

    def check(self) -> None:
        """Raise InputError for a negative patience. Not on construction: the command line would wrap the sentence."""
        for item in dataclasses.fields(self):
            if getattr(self, item.name) < 0:
                raise InputError(
                    f"patience.{item.name} must be a number of steps, or 0 for never, not {getattr(self, item.name)}."
                )


@dataclass(frozen=True)
class Collapse:
    """Limits from which a loss of the policy's skill counts as a collapse, and the number of times a run is restored.

    A collapse is suspected when the mean success of the last steps has fallen far below the best of the ten windows
    before them. Harder tasks are not a collapse, so tasks of that window are replayed. A run has collapsed if success
    on them has fallen as far, beyond 95 % intervals. A collapse is always reported.

    Attributes:
        returns: number of times that the run is restored from its last checkpoint before a collapse (policy, optimiser
            and teacher; the step count continues, so that new episodes are played); 0: never.
        fall: share of the success that must be lost, between 0 and 1.
        window: steps over which success is averaged.
    """

    returns: int = 0
    fall: float = 0.5
    window: int = 5

    def check(self) -> None:
        """Raise InputError for a value out of range. Not on construction: the command line would wrap the sentence."""
        check_count("collapse.returns", self.returns, 0)
        check_count("collapse.window", self.window, 1, "steps")
        if not 0 < self.fall < 1:
            raise InputError(f"collapse.fall must be a share between 0 and 1, not {self.fall}.")
