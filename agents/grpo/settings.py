"""Groups of settings of a training run: warm-up, requests in proposals, patience, return after a collapse, policies of
roles."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import tyro

from ...checks import check_record, option, record
from ...errors import InputError, unknown_name


@record
class WarmUp:
    """Settings of the warm-up: supervised steps on oracle solutions."""

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
    batch: int = option(default=64, low=1, says="episodes per step.")
    lr: float = option(default=3e-3, above=0, says="learning rate of AdamW, reached over the first 60 steps.")
    axes: Annotated[dict[str, Any], tyro.conf.Suppress] = option(
        default_factory=dict,
        says='axes of the tasks whose solutions are demonstrated, e.g. ``{"digits": 1}``; the target refers to these '
        "tasks.",
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
        "copy names out of long prompts learns this sooner if it is trained on the prompts, too.",
    )

    formats: tuple[str, ...] = option(
        default=(),
        says="forms of answers in which solutions are demonstrated, one drawn for each: boxed, tag or last_line; by "
        "default that of the environment. For questions that read an answer in any form.",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "formats", tuple(self.formats))  # a list in the file of a run

    def check(self) -> None:
        """Raise InputError for a value out of range; not on construction, as the command line would wrap the text."""
        check_record(self, "warmup.")
        for form in self.formats:
            if form not in ("boxed", "tag", "last_line"):
                raise unknown_name("form of demonstrated answers (warmup.formats)", form, ("boxed", "tag", "last_line"))
        if self.explore == 1:
            raise InputError("warmup.explore must be a share below 1, so that some episodes show solutions.")

    def most_steps(self, model: str) -> int:
        """Return the largest number of steps for a model, given as a value of `TrainConfig.model`."""
        return self.steps if self.steps is not None else 2000 if model == "tiny" else 0


@record
class RequestSettings:
    """Settings for carrying out the requests in a teacher's proposals; without effect for teachers that make no
    requests."""

    budget: str = option(
        default="Answer within {tokens} tokens.",
        says="text after the prompt that states a token budget; ``{tokens}`` is replaced by the number.",
    )
    hint_where: Literal["answer", "prompt"] = option(
        default="answer",
        says='place of a hint: the beginning of the "answer", where it is not trained, or the "prompt".',
    )
    hint: str = option(
        default="The following text is the beginning part of the answer: {hint}",
        says="text of a hint in the prompt; ``{hint}`` is replaced by the first part of the solution.",
    )
    rewriter: str = option(
        default="policy",
        says='agent that rewrites prompts: "policy", or any value of `palaestra eval --agent`.',
    )
    simplify: str = option(
        default="Rewrite this question in simpler words, so that it is easier to understand. Keep every number and "
        "all that the answer depends on. Do not answer it. Write only the new question.\n\n{question}",
        says="request for a rewritten prompt in simpler words; ``{question}`` is replaced by the original.",
    )
    diversify: str = option(
        default="Write this question in other words, with the same meaning and the same answer. Keep every number. Do "
        "not answer it. Write only the new question.\n\n{question}",
        says="request for a rewritten prompt in other words; ``{question}`` is replaced by the original.",
    )
    rounds: int = option(
        default=4,
        low=1,
        says="most rounds of proposals in a step to fill its batch, if proposals were for screening only or missed "
        "their band of success rates. A recipe may have more rounds.",
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
    """Steps in a row that each sign may last before a run that cannot learn ends with exit code 1; 0: no limit."""

    skipped: int = option(
        default=20, says="no update was applied, as guards rejected all of them or gradients were not finite."
    )
    nonfinite: int = option(
        default=5,
        says="a loss or gradient was NaN or infinite. A run ends with exit code 1, too, if its last step was such.",
    )
    no_signal: int = option(
        default=25, says="rewards were equal for all episodes of each group, so that no token had an advantage."
    )
    truncated: int = option(default=50, says="nearly all episodes (95 %) were cut off by a token budget.")

    def check(self) -> None:
        """Raise InputError for a negative patience; not on construction, as the command line would wrap the message."""
        check_record(self, "patience.")


@record
class Collapse:
    """Limits from which a loss of success counts as a collapse, and the number of times that a run is restored.

    A collapse is suspected when the mean success of the last steps is far below the best of the ten windows before
    them. Harder tasks are not a collapse, so tasks of that window are played again. A run has collapsed if success on
    them has fallen as far, beyond 95 % intervals. A collapse is always reported.
    """

    returns: int = option(
        default=0,
        says="number of times that the run is restored from its last checkpoint before a collapse (policy, optimiser "
        "and teacher; the step count continues, so that new episodes are played); 0: never.",
    )
    fall: float = option(default=0.5, says="share of the earlier success that must be lost, above 0 and below 1.")
    window: int = option(default=5, low=1, unit="steps", says="steps over which success is averaged.")

    def check(self) -> None:
        """Raise InputError for a value out of range; not on construction, as the command line would wrap the text."""
        check_record(self, "collapse.")
        if not 0 < self.fall < 1:
            raise InputError(f"collapse.fall must be a share between 0 and 1, not {self.fall}.")


MAIN = "policy"
"""Name of the run's own policy, which has every role that is not named."""
_RANK = 16


@dataclass(frozen=True)
class PolicySpec:
    """A policy besides the run's own.

    Attributes:
        name: the first role that has it.
        model: its model, named like ``--model``; the run's own model is a copy of the policy after its warm-up.
        lora: rank of its adapters, which are all that is trained; 0 trains its weights.
        frozen: True for a policy that plays and does not learn.
        recipe: its recipe; None: the run's.
        lr: its learning rate; None: the run's.
    """

    name: str
    model: str
    lora: int = 0
    frozen: bool = False
    recipe: str | None = None
    lr: float | None = None


def read_policies(given: Mapping[str, str]) -> tuple[dict[str, str], dict[str, PolicySpec]]:
    """Read role -> "MODEL[:lora[=RANK]][:frozen][:lr=RATE][:recipe=NAME]", another role, or "policy", the run's own.

    Returns:
        (role -> name of its policy, for roles of other policies than the run's own; name -> policy).

    Raises:
        InputError: a part of a description is unknown, or roles name each other in a circle.
    """
    specs = {role: _read(role, text) for role, text in given.items() if text != MAIN and text not in given}
    names: dict[str, str] = {}
    for role in given:
        seen, last = [role], given[role]
        while last in given:
            if last in seen:
                raise InputError(f"the roles {', '.join(seen)} of --policies name each other; name a model for one.")
            seen.append(last)
            last = given[last]
        if last != MAIN:
            names[role] = seen[-1]
    return names, specs


def _read(role: str, text: str) -> PolicySpec:
    parts = re.split(r":(?=lora\b|frozen\b|lr=|recipe=)", text)
    model, values = parts[0], dict[str, str]()
    for part in parts[1:]:
        name, _, value = part.partition("=")
        values[name] = value
    known = {"lora": r"\d*", "frozen": "", "lr": r"[\d.eE+-]+", "recipe": r"\w.*"}
    bad = [name for name, value in values.items() if not re.fullmatch(known.get(name, r"(?!)"), value)]
    if not model or bad:
        raise InputError(
            f"the policy {text!r} of the role {role!r} cannot be read{f' at {bad[0]!r}' if bad else ''}; give "
            "MODEL[:lora[=RANK]][:frozen][:lr=RATE][:recipe=NAME], another role, or policy."
        )
    lora = int(values["lora"] or _RANK) if "lora" in values else 0
    if "lora" in values and lora < 1:
        raise InputError(f"the rank of the adapters of the role {role!r} must be at least 1, not {lora}.")
    lr = float(values["lr"]) if "lr" in values else None
    return PolicySpec(role, model, lora, "frozen" in values, values.get("recipe"), lr)
