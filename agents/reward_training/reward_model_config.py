"""Configuration of the training of reward models: one frozen record, stored with the run. Imports nothing heavy."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import tyro

from ...checks import check_record, option, record
from ...errors import InputError
from ..language.language_agent import read_run_settings
from ..prompt_form import FORM_OF_OLD_RUNS

_Free = Annotated[dict[str, Any], tyro.conf.Suppress]
PROCESS = "process"
FLAWS = "flaws"


@record
class RewardModelConfig:
    """Settings of the training of a reward model. On a CPU, these settings determine a run bit for bit."""

    learner: ClassVar[str] = "reward-model"
    extra: ClassVar[str] = "train"
    teacher: ClassVar[None] = None
    env: tyro.conf.Positional[str] = option(
        default="palaestra/Arithmetic-v0", says="environment whose questions are answered; unused with --pairs."
    )
    axes: _Free = option(default_factory=dict, says="axes restricted to one value, a range or a list of choices.")
    env_options: _Free = option(default_factory=dict, says="further arguments of the environment.")
    pairs: tuple[str, ...] = option(
        default=(),
        says='files, or data sets of the hub, to learn from: rows with "prompt", "chosen" and "rejected" (and '
        '"margin", "smoothing"), or "prompt", "steps" and "labels"; or episodes of palaestra eval --out and of a '
        "run's trajectories.jsonl, whose successes and failures at one task make pairs.",
    )
    player: str = option(
        default=FLAWS,
        says='source of the answers without --pairs: "flaws" takes right and spoilt worked solutions; else an agent '
        "as for palaestra eval, such as the folder of a run, which attempts each question several times.",
    )
    questions: int = option(default=600, low=8, says="questions of the training split that are answered.")
    attempts: int = option(default=8, low=2, group="data", says="attempts of a player at each question.")
    held_out: float = option(
        default=0.1,
        above=0,
        high=0.5,
        group="data",
        says="share of the prompts of files that is held out; of environments, so many test questions are answered.",
    )
    prompt_form: Literal["sentences", "terse"] | None = option(
        default=None,
        group="data",
        says="form of the prompts, which must be that of the runs which the model rewards; None: that of the "
        "run whose folder is the model, terse for the tiny model, else sentences.",
    )
    min_segment: int = option(
        default=100,
        low=1,
        group="data",
        says="shortest part of a response with labelled parts, as in the run that wrote --measures.",
    )
    noise: float = option(
        default=0.0, low=0, high=0.5, group="data", says="share of training labels that is flipped, to try remedies."
    )
    model: str = option(
        default="tiny",
        says='"tiny" (new weights), "ngrams" (counts of words and characters), a registered model, a folder of a '
        "model or run, a GGUF file, or a hub id; it gets a head with one output.",
    )
    context: int = option(default=512, low=8, group="weights", says="most tokens that are read, the last ones.")
    freeze: bool = option(default=False, group="weights", says="train the head alone.")
    hidden: int = option(default=64, low=1, group="weights", says="width of the head's hidden layer.")
    members: int = option(
        default=1, low=1, group="weights", says="number of models with other seeds, used together as an ensemble."
    )
    objective: Literal["bradley-terry", "pointwise", "regression", "contrastive", "meta", "process"] = option(
        default="bradley-terry",
        says="loss: of pairs (bradley-terry; regression on margins; contrastive, with a loss between views of the "
        "pairs' differences; meta, MetaRM's step), of responses (pointwise), or of labelled steps (process).",
    )
    smoothing: float = option(
        default=0.0, low=0, high=0.5, group="labels", says="label smoothing of all pairs that have none."
    )
    strength: int = option(
        default=0,
        group="labels",
        says="models by whose mean lead pairs are corrected before the training: the weakest are flipped, the next "
        "smoothed, all others get their strength as margin (arXiv 2401.06080, with ten); 0: none.",
    )
    flip: float = option(default=0.2, low=0, high=1, group="labels", says="share of pairs that strength may flip.")
    soft: float = option(default=0.2, low=0, high=1, group="labels", says="share of the next pairs, smoothed by 0.2.")
    peers: bool = option(
        default=False,
        group="labels",
        says="train two models, each on the pairs with small losses under the other one (CRM).",
    )
    keep: float = option(
        default=0.8, above=0, high=1, group="labels", says="share of a batch that peers keep at the end of the run."
    )
    seed: int = option(default=0, says="root of all randomness, at least 0.")
    steps: int = option(default=300, low=1, says="optimiser steps.")
    batch: int = option(default=32, low=1, group="optimiser", says="pairs or labelled steps of an optimiser step.")
    lr: float | None = option(
        default=None, above=0, says="learning rate of AdamW; None: 3e-3 for n-grams and frozen models, 3e-4 for others."
    )
    weight_decay: float = option(default=1e-2, low=0, group="optimiser", says="weight decay of AdamW.")
    eval_every: int = option(default=100, group="run", says="steps between evaluations; 0 evaluates only at the end.")
    checkpoint_every: int = option(default=100, low=1, group="run", says="steps between checkpoints.")
    device: str = option(default="cpu", group="run", says='"auto" (a GPU if available), "cpu" or "cuda".')

    def __post_init__(self) -> None:
        check_record(self)
        if self.peers and (self.members > 1 or self.objective != "bradley-terry"):
            raise InputError(
                "peers are two models with the objective bradley-terry; leave --members and --objective out."
            )
        if self.objective == PROCESS and (self.strength or self.peers or self.smoothing):
            raise InputError("labels of steps are no pairs; leave --strength, --peers and --smoothing out.")

    @property
    def envs(self) -> tuple[str, ...]:
        """The environment, or the files."""
        return self.pairs or (self.env,)

    @property
    def form(self) -> str:
        """Form of the prompts."""
        own = {} if self.model == "tiny" else read_run_settings(self.model)
        suited = "terse" if self.model == "tiny" else "sentences"
        return self.prompt_form or (own.get("prompt_form", FORM_OF_OLD_RUNS) if own else suited)

    @property
    def rate(self) -> float:
        """Learning rate."""
        return self.lr or (3e-3 if self.model == "ngrams" or self.freeze else 3e-4)

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON-serializable data, for ``config.json``."""
        return {"learner": self.learner, **dataclasses.asdict(self), "pairs": list(self.pairs)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RewardModelConfig:
        """Make a configuration from the result of `to_json`. Raises InputError for unknown keys."""
        values: dict[str, Any] = {name: value for name, value in data.items() if name != "learner"}
        if unknown := sorted(set(values) - {item.name for item in dataclasses.fields(cls)}):
            raise InputError(f"the configuration has unknown entries {unknown}; it was written by another version.")
        return cls(**{**values, "pairs": tuple(values.get("pairs", ()))})

    def differences(self, other: RewardModelConfig) -> list[str]:
        """Return a text "NAME: VALUE instead of VALUE IN OTHER" for each setting that differs."""
        mine, theirs = self.to_json(), other.to_json()
        return [f"{name}: {mine[name]!r} instead of {theirs[name]!r}" for name in mine if mine[name] != theirs[name]]
