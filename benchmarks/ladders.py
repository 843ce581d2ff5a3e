"""``palaestra bench ladders``: transfer of success from the rungs of a ladder to the next ones.

A ladder is a family of tasks with one axis of difficulty; a rung is a value of the axis. A tiny model is warmed up on
solutions of the lower rungs, as `palaestra train --warmup.axis` does, and then answers held-out tasks of single rungs,
in groups of 16. On a ladder that a teacher can climb, success is high up to the last rung shown, small but not zero on
the next rung, where groups have mixed outcomes, and zero further up. If it is zero on the next rung, reinforcement
learning cannot begin there; if it stays high, there is nothing to climb.

A model given by --model has no warm-up: it answers the tasks of other ladders, in groups of 8.

examples:
  palaestra bench ladders
  palaestra bench ladders SecretCode GuessNumber --seeds 3 --json ladders.json
  palaestra bench ladders SecretCode --explore 0
  palaestra bench ladders NextDigits LargerNeighbors --model smollm2-135m --groups 10
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tyro

from ..agents.grpo.config import Patience, TrainConfig, WarmUp
from ..agents.grpo.recipes import StageOverrides
from ..agents.language.model_cache import is_model_name
from ..errors import InputError
from .harness import check_least, check_names, make_table, read_options, require, write_json

if TYPE_CHECKING:
    from ..agents.grpo.rollouts.environments import Environments
    from ..agents.grpo.run.observers import TrainingProgress
    from ..agents.grpo.warmup import Variance
    from ..agents.language.model import LanguageModel

SAMPLES = 16
MODEL_SAMPLES = 8
NUMBER = "Compute and answer with the number only."
ANSWER = "Answer with the answer only, without any explanation."


@dataclass(frozen=True)
class LadderCase:
    """A family with one axis to climb.

    Attributes:
        env: id of the environment.
        axis: name of the axis to climb.
        shown: lowest and highest rung with solutions in the warm-up; empty without warm-up.
        rungs: rungs that are measured.
        highest: highest rung of the training runs (`climb`).
        fixed: values of the other axes.
        warmup: settings of the warm-up, apart from its rungs.
        options: further arguments of the environment.
        tokens, turns, context: limits on the tokens of an action, on actions, and on tokens of an episode.
        system: system prompt of a chat model.
    """

    env: str
    axis: str
    shown: tuple[int, ...]
    rungs: tuple[int, ...]
    highest: int
    fixed: dict[str, Any] = field(default_factory=dict)
    warmup: WarmUp = field(default_factory=lambda: WarmUp(steps=600, target=0.9, batch=32))
    options: dict[str, Any] = field(default_factory=dict)
    tokens: int = 6
    turns: int = 1
    context: int = 128
    system: str | None = None

    def config(self, seed: int, highest: int | None = None) -> TrainConfig:
        """Return the configuration of the run whose warm-up is measured.

        Args:
            highest: highest rung of the run and of the guesses in its warm-up; by default the highest measured rung.
        """
        low = min(*self.shown, *self.rungs)
        shown = {self.axis: list(self.shown)} if self.shown else {}
        return TrainConfig(
            env=self.env,
            axes={**self.fixed, self.axis: [low, highest or max(self.rungs)]},
            env_options=dict(self.options),
            prompt_form="terse" if self.shown else None,
            warmup=replace(self.warmup, axes=shown),
            samples=SAMPLES,
            steps=0,
            final_episodes=1,
            max_new_tokens=self.tokens,
            max_episode_tokens=self.tokens * self.turns,
            context=self.context,
            track=(),
            system=self.system,
            seed=seed,
            device="cpu",
            threads=1,
        )

    def climb(self, seed: int) -> TrainConfig:
        """Return the configuration, with 0 steps, of a run with the warm-up and training on all rungs by `CLIMB`."""
        return replace(self.config(seed, self.highest), **CLIMB)


CLIMB: dict[str, Any] = {
    "recipe": "grpo",
    "stages": StageOverrides(regularisers="kl_full(coefficient=0.1)"),
    "prompts": 12,
    "samples": 8,
    "lr": 5e-4,
    "max_grad_norm": 0.5,
    "eval_every": 0,
    "checkpoint_every": 100_000,
    "keep_trajectories": 0,
    # A run without learning is a result too, so do not stop it early.
    "patience": Patience(0, 0, 0, 0),
}


def _ladder(
    family: str,
    axis: str,
    shown: tuple[int, int],
    rungs: tuple[int, ...],
    highest: int,
    fixed: dict[str, Any],
    **more: Any,
) -> LadderCase:
    """Make a ladder with a warm-up on its lower rungs; ``more`` may have its ``steps``, ``target`` and ``explore``."""
    warmup = {"steps": 600, "target": 0.9} | {
        name: more.pop(name) for name in ("steps", "target", "explore") if name in more
    }
    return LadderCase(f"palaestra/{family}-v0", axis, shown, rungs, highest, fixed, WarmUp(batch=32, **warmup), **more)


# Rules for words of digits: answers of 2 to 4 digits are shown, and a share of guesses at longer ones. With a target
# of 1 the warm-up does not stop early, so that the guesses are learned, too.
_WORDS: dict[str, Any] = {"target": 1.0, "tokens": 22, "context": 96}
LADDERS: dict[str, LadderCase] = {
    "NextDigits": _ladder(
        "NextDigits", "length", (2, 4), (3, 4, 5, 6, 7, 8), 20, {"digits": 4}, steps=400, explore=0.5, **_WORDS
    ),
    "LargerNeighbors": _ladder(
        "LargerNeighbors", "length", (2, 4), (3, 4, 5, 6, 7, 8), 20, {"digits": 4}, explore=0.3, **_WORDS
    ),
    "SecretCode": _ladder(
        *("SecretCode", "symbols", (8, 8), (8, 9, 10, 11), 74, {"length": 4, "newest": 0.75}),
        **{"explore": 0.3, "options": {"digits": 4}, "tokens": 5, "context": 64},
    ),
    "CombinationLock": _ladder(
        *("CombinationLock", "floors", (4, 6), (4, 6, 7, 8, 9), 16, {"doors": 4}),
        **{"explore": 0.3, "tokens": 3, "turns": 16, "context": 448},
    ),
    "InterleavedAddition": _ladder(
        *("InterleavedAddition", "places", (1, 3), (2, 3, 4, 5), 7, {"base": 10}),
        **{"steps": 1500, "target": 0.7, "options": {"width": 6}, "tokens": 18},
    ),
    "GuessNumber": _ladder(
        "GuessNumber", "bits", (1, 4), (3, 4, 5, 6, 7, 8), 12, {"slack": 0}, tokens=4, turns=9, context=256
    ),
    "LinearEquation": _ladder(
        *("LinearEquation", "size", (3, 10), (6, 10, 12, 14, 18, 25, 40), 40, {"sides": "one", "solution": "integer"}),
        **{"steps": 1000, "target": 0.7, "tokens": 5},
    ),
    "Arithmetic": _ladder("Arithmetic", "terms", (2, 3), (2, 3, 4, 5), 5, {"digits": 1, "operations": "+"}, tokens=4),
}


def _zero_shot(
    family: str,
    axis: str,
    rungs: tuple[int, ...],
    system: str = NUMBER,
    tokens: int = 16,
    context: int = 160,
    **fixed: Any,
) -> LadderCase:
    """Make a ladder for a model without warm-up."""
    env, no_warmup = f"palaestra/{family}-v0", WarmUp(steps=0)
    return LadderCase(env, axis, (), rungs, max(rungs), fixed, no_warmup, tokens=tokens, context=context, system=system)


MODEL_LADDERS: dict[str, LadderCase] = {
    "AdditionDigits": _zero_shot("Arithmetic", "digits", (1, 2, 3, 4), terms=2, operations="+"),
    "AdditionTerms": _zero_shot("Arithmetic", "terms", (2, 3, 4, 5), digits=1, operations="+"),
    "SubtractionDigits": _zero_shot("Arithmetic", "digits", (1, 2, 3, 4), terms=2, operations=["+-"]),
    "SubtractionTerms": _zero_shot("Arithmetic", "terms", (2, 3, 4, 5), digits=1, operations=["+-"]),
    "LinearEquation": _zero_shot("LinearEquation", "size", (3, 5, 10, 20), sides="one", solution="integer"),
    "Sequences": _zero_shot("Sequences", "ahead", (1, 2, 3, 5), rules="add", size=5),
    "WordProblem": _zero_shot("WordProblem", "steps", (1, 2, 3, 4), context=256, distractors=0, size=10),
    "GcdLcm": _zero_shot("GcdLcm", "largest", (50, 100, 1000, 10000), count=2, ask="gcd"),
    "Counting": _zero_shot("Counting", "size", (7, 9, 12), conditions=1),
    "BaseConversion": _zero_shot("BaseConversion", "largest", (10, 30, 100, 1000), ANSWER, direction="to ten"),
    "MaskedReading": _zero_shot("MaskedReading", "masks", (1, 2, 3, 4), ANSWER, context=256, depth=1, size=0),
    "OutputPrediction": _zero_shot(
        "OutputPrediction", "steps", (1, 2, 3), ANSWER, tokens=32, context=256, domain="numbers"
    ),
    "NextDigits": _zero_shot("NextDigits", "length", (2, 3, 4, 5), ANSWER, digits=8),
    "LargerNeighbors": _zero_shot("LargerNeighbors", "length", (2, 3, 4, 5), ANSWER, digits=8),
}


@dataclass(frozen=True)
class LadderOptions:
    ladder: tyro.conf.Positional[tuple[str, ...]] = ()
    """Names of ladders; all by default."""
    model: str | None = None
    """A registered model (palaestra list models), a folder or a GGUF file; measured without warm-up, on other
    ladders."""
    system: str | None = None
    """System prompt of --model; by default each ladder's own."""
    seeds: int = 1
    """Seeds 0 to N-1, of the model and of the tasks."""
    explore: float | None = None
    """Share of the warm-up that shows guesses at higher rungs; by default each ladder's own, mostly none."""
    groups: int = 40
    """Number of held-out tasks of each rung, with 16 answers each, or 8 with --model."""
    json: Path | None = None
    """Write the figures here as JSON, after each rung."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    from rich.console import Console

    config = read_options(LadderOptions, "ladders", argv, __doc__)
    check_least(config, 1, "seeds", "groups")
    if config.model is not None and not Path(config.model).is_dir() and not is_model_name(config.model):
        raise InputError(f"--model must be a registered model, a folder or a GGUF file, not {config.model!r}.")
    if config.model is not None and config.explore is not None:
        raise InputError("--explore is for the warm-up, which --model leaves out; give one of them.")
    if config.model is None and config.system is not None:
        raise InputError("--system is for a chat model; give --model, too.")
    ladders = LADDERS if config.model is None else MODEL_LADDERS
    check_names("ladder", config.ladder, ladders)
    console = Console()
    figures: list[dict[str, Any]] = []
    for name in config.ladder or ladders:
        ladder = ladders[name]
        if config.explore is not None:
            ladder = replace(ladder, warmup=replace(ladder.warmup, explore=config.explore))
        if config.system is not None:
            ladder = replace(ladder, system=config.system)
        found: dict[int, list[Variance]] = {}
        with Console(stderr=True).status("") as status:
            for seed in range(config.seeds):
                for rung, variance in measure(ladder, seed, config.groups, status.update, config.model):
                    found.setdefault(rung, []).append(variance)
                    figures.append({"ladder": name, "rung": rung, "seed": seed, **asdict(variance)})
                    write_json(config.json, figures)
        rows = []
        for rung, variances in found.items():
            shares = [(v.success, v.mixed / v.groups, v.entropy) for v in variances]
            success, mixed, entropy = np.mean(shares, axis=0)
            mark = "" if not ladder.shown or ladder.shown[0] <= rung <= ladder.shown[1] else " *"
            rows.append((f"{rung}{mark}", f"{success:.1%}", f"{mixed:.0%}", f"{entropy:.2f}"))
        console.print(f"{name}: {describe(ladder)}", soft_wrap=True)
        console.print(make_table((ladder.axis, "success", "mixed groups", "entropy, nats"), rows))
    if config.model is None:
        console.print("* not shown in the warm-up")
    return 0


def measure(
    ladder: LadderCase, seed: int, groups: int, watch: Callable[[str], None], model: str | None = None
) -> Iterator[tuple[int, Variance]]:
    """Warm a tiny model up on the shown rungs; yield each rung and the policy's outcomes on its held-out tasks.

    Args:
        groups: number of held-out tasks of each rung.
        watch: called with a description of the current work.
        model: a model to measure instead, without warm-up.

    Raises:
        MissingExtra: torch or transformers is absent.
    """
    config = ladder.config(seed)
    if model is not None:
        config = replace(config, model=model, samples=MODEL_SAMPLES)
    language = warm_up_tiny(
        config, lambda progress: watch(f"{ladder.env}, seed {seed}: {progress.phase} step {progress.step}")
    )
    held_out = make_environments(config, "test")
    for rung in ladder.rungs:
        watch(f"{ladder.env}, seed {seed}: {ladder.axis} {rung}")
        yield rung, measure_held_out(language, config, held_out, {ladder.axis: rung}, groups, config.samples)


def warm_up_tiny(config: TrainConfig, watch: Callable[[TrainingProgress], None]) -> LanguageModel:
    """Make the tiny model of a run and warm it up as the learner does.

    Raises:
        MissingExtra: torch or transformers is absent.
    """
    require("a language model on a ladder", "train", "torch", "transformers", "safetensors")
    import torch

    from ..agents.grpo.rollouts.context_check import token_limits
    from ..agents.grpo.run.models import load_policy
    from ..agents.grpo.run.observers import TrainingProgress
    from ..agents.grpo.warmup import warm_up

    torch.set_num_threads(config.threads)
    language, most = load_policy(config), config.warmup.most_steps(config.model)
    environments = make_environments(config, "train")
    for row in warm_up(language, environments, config.warmup, most, config.seed, token_limits(config)):
        watch(TrainingProgress("warmup", int(row["step"]), most, row))
    return language


def make_environments(config: TrainConfig, split: str) -> Environments:
    """Make the environments of a run, for the split "train" or for held-out tasks ("test")."""
    from ..agents.grpo.rollouts.environments import Environments
    from ..agents.grpo.run.mixture import environment_of

    env_id, options = environment_of(config)
    return Environments(env_id, split=split, **options)


def measure_held_out(
    language: LanguageModel,
    config: TrainConfig,
    held_out: Environments,
    part: Mapping[str, Any],
    groups: int,
    samples: int = SAMPLES,
) -> Variance:
    """Play groups of ``samples`` episodes on held-out tasks; every call plays the same tasks.

    Args:
        part: axis -> its value or range, such as the rung to measure.
    """
    from ..agents.grpo.rollouts.context_check import token_limits
    from ..agents.grpo.warmup import measure_variance

    tasks = copy.copy(held_out)  # shares the environments: making them takes longer than playing
    tasks.param_space = held_out.param_space.restrict(**part)
    return measure_variance(language, tasks, config.seed, token_limits(config), samples, groups=groups)


def describe(ladder: LadderCase) -> str:
    """Describe the shown rungs and the fixed axes in one line."""
    fixed = [f"{name}={value}" for name, value in {**ladder.fixed, **ladder.options}.items()]
    if not ladder.shown:
        return ", ".join([f"{ladder.axis} of {ladder.env}", *fixed])
    low, high = ladder.shown
    guesses = f" and guesses beyond (explore={ladder.warmup.explore:g})" if ladder.warmup.explore else ""
    return ", ".join([f"solutions of {ladder.axis}={low if low == high else f'{low}:{high}'}{guesses}", *fixed])
