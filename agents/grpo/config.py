"""Everything that defines a training run, as one frozen record that is stored with the run. Imports nothing heavy."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import tyro

from ...errors import InputError
from ...schedules import read_schedule
from ..language.tokenizer import FEWEST_TOKENS
from ..prompt_form import FORM_OF_OLD_RUNS
from .recipes import Stages
from .settings import Collapse, Patience, RequestSettings, WarmUp


@dataclass(frozen=True)
class TrainConfig:
    """A run is a function of this record (bit for bit on a CPU).

    Attributes:
        env: environment id with text actions; or several, whose tasks are mixed.
        axes: axes restricted to one value, a range or a list of choices, e.g. ``{"digits": [1, 2]}``; other axes keep
            their range. With several environments, prefix the environment's name: ``{"Arithmetic.digits": [1, 2]}``.
        env_weights: sampling weights of several environments: numbers, or schedules of training progress as plain data;
            empty: equal weights.
        env_options: further arguments of the environment, e.g. ``{"source": "questions.jsonl"}``.
        prompt_form: the form of the prompts, "sentences" or "terse", unless ``env_options`` have a ``prompt``. None:
            chosen to suit the model, and recorded in the run.
        history: the policy's view of a long episode, such as "notes(keep=2)"; see `palaestra list histories`. None:
            the whole conversation, up to `context`.
        shots: worked examples before each question, training tasks with its parameters; for models that have not
            learned to answer, on environments of one question an episode. A model without a chat template then ends its
            answer with the line.
        teacher: registered teacher that chooses the parameters of every task, or module:name of your own teacher.
        teacher_options: further arguments of the teacher.
        pool: number of fixed tasks, drawn once, that the teacher chooses from, like the prompts of a data set; 0: the
            teacher chooses parameters, and every task is new.
        recipe: registered recipe, or module:name of your own recipe.
        stages: stages that replace the recipe's.
        kl: replaces the coefficient of the recipe's KL penalties; 0 removes them; None keeps the recipe's coefficient.
        model: "tiny", a registered model such as smollm2-135m (palaestra list models), a model folder, a GGUF file, or
            a hub id.
        vocabulary: tokens that the tiny model learns from worked solutions of the tasks before it begins, at least 261,
            for tasks with long texts; 0: it reads and writes single characters.
        teacher_model: a model to distil from, named as for model and with the same vocabulary; for recipes that
            need one.
        system: system prompt of a chat model.
        chat_options: further arguments of the chat template, e.g. ``{"enable_thinking": False}``. A template that asks
            for the present date gets the date of the run's start, or the given one: ``{"date": "2026-01-05"}``.
        lora: rank of low-rank adapters that are trained instead of the weights; 0 trains the weights, or the model's
            existing adapters.
        dtype: "float32", or "bfloat16" with single-precision master weights in the optimiser.
        fp32_head: compute logits in single precision where weights are half precision.
        gradient_checkpointing: recompute activations in the backward pass instead of keeping them.
        tf32: let a GPU round the inputs of float32 products to 10 bits of mantissa, which is several times as fast;
            runs in bfloat16 do so anyway, as their inputs have 7. No effect on a CPU.
        compile: run the layers of Llama, Qwen2 and Qwen3 models through torch.compile in training. A minute or more is
            spent on that first; on a CPU it has brought 1.1 times the speed.
        seed: root of all randomness, at least 0.
        steps: optimiser batches.
        prompts: tasks a step (P).
        samples: episodes a task (G).
        lr: learning rate of AdamW.
        lr_warmup: steps over which the learning rate rises linearly.
        lr_schedule: learning rate after the warm-up: "constant"; "linear" or "cosine", towards lr_end at the end of the
            run; or any schedule of `palaestra.schedules` as JSON, whose value is a factor of lr.
        lr_end: share of lr at which "linear" and "cosine" end, in [0, 1].
        weight_decay: AdamW's, which shrinks weights by the factor 1 - lr x weight_decay a step.
        beta2: decay of AdamW's second moment, in [0, 1).
        max_grad_norm: gradients are scaled down to this norm.
        temperature: sampling temperature, also used in training.
        max_new_tokens: longest action in tokens.
        max_episode_tokens: most action tokens in an episode.
        context: longest conversation in tokens. Tasks whose first observation leaves no room to answer are left out
            and counted.
        max_overlong: largest share of such tasks, in [0, 1]; a run with more of them does not begin.
        minibatches: optimiser steps per rollout batch and epoch; groups are dealt out in order. None: the recipe's.
        epochs: passes over each rollout batch. None: the recipe's.
        packer: "shared_prefix" or "plain".
        token_budget: most tokens in one forward pass. 0 takes 2,048 on a CPU, where more costs memory and gains no
            time, and what the free memory allows on a GPU. A pass that does not fit is cut and made again.
        warmup: supervised steps on oracle solutions before the first step.
        requests: settings for requests in the teacher's proposals.
        eval_every: steps between evaluations on the test split; 0 evaluates only before and after.
        eval_episodes: episodes of an evaluation during training.
        final_episodes: episodes of the evaluations before the first and after the last step.
        checkpoint_every: steps between checkpoints. The policy of the best evaluation so far is also kept.
        patience: limits after which a run that cannot learn ends.
        collapse: restoring of a run that has collapsed. A run has collapsed when the mean success of its last steps
            lies far below the best of the ten windows of steps before, and success on the replayed tasks of that window
            has fallen as far, beyond 95 % intervals (so harder tasks do not count). A collapse is always reported.
        keep_trajectories: episodes a step that are written out in full.
        track: registered trackers that receive the figures besides the run folder, such as "tensorboard" and "wandb".
        engine: engine that samples from the policy, such as "vllm" or "vllm-server"; see `palaestra list engines`. The
            warm-up and models other than the policy are sampled by torch.
        engine_options: further arguments of the engine.
        ray: sample in rollout workers, processes of a Ray cluster with a copy of the policy each: "local" starts a
            cluster on this machine, "auto" joins this machine's cluster, HOST:PORT another cluster. A lost worker is
            replaced; its episodes continue. None: sample in this process.
        workers: number of rollout workers; without ``ray``, more than 1 run on this machine. Tokens do not depend on
            this number, and log-probabilities only up to rounding.
        staleness: updates by which the sampling policy is older than the trained one. With N of 1 and more, a thread
            plays up to N batches ahead while earlier ones are trained on, batch k with the policy after k - 1 - N
            updates: a run does not depend on the speed of either side. 0: collection and updates take turns.
        env_workers: threads that reset and step environments while the policy decodes, for environments that wait (for
            a network, a program, a page): as many as wait at a time. Tokens do not depend on this number, and
            log-probabilities only up to rounding. 0: environments step one after another, in the policy's thread.
        env_processes: processes that hold environments; with a cluster's address in ``ray``, on its machines. A process
            that dies is replaced, and its episodes are replayed up to the same point, so a run does not change. 0: this
            process.
        env_seconds: time limit in seconds for an environment's reset or step, with env_workers or env_processes;
            exceeding it makes the episode invalid, which is then not trained on. 0: no limit.
        device: "auto" (a GPU if available), "cpu", "cuda" or "cuda:1".
        threads: CPU threads; a run is only bit-reproducible at the same number. 0 takes torch's choice and records it.
    """

    env: tyro.conf.Positional[str | tuple[str, ...]] = "palaestra/Arithmetic-v0"
    axes: Annotated[dict[str, Any], tyro.conf.Suppress] = field(default_factory=dict)
    env_options: Annotated[dict[str, Any], tyro.conf.Suppress] = field(default_factory=dict)
    prompt_form: Annotated[str | None, tyro.conf.Suppress] = None
    env_weights: Annotated[tuple[Any, ...], tyro.conf.Suppress] = ()
    history: str | None = None
    shots: int = 0
    teacher: str = "alp-gmm"
    teacher_options: Annotated[dict[str, Any], tyro.conf.Suppress] = field(default_factory=dict)
    pool: int = 0
    recipe: str = "grpo"
    stages: Annotated[Stages, tyro.conf.arg(name="")] = field(default_factory=Stages)
    kl: float | None = None
    model: str = "tiny"
    vocabulary: int = 0
    teacher_model: str | None = None
    system: str | None = None
    chat_options: Annotated[dict[str, Any], tyro.conf.Suppress] = field(default_factory=dict)
    lora: int = 0
    dtype: Literal["float32", "bfloat16"] = "float32"
    fp32_head: bool = False
    gradient_checkpointing: bool = False
    tf32: bool = False
    compile: bool = False
    seed: int = 0
    steps: int = 300
    prompts: int = 16
    samples: int = 8
    lr: float = 3e-4
    lr_warmup: int = 10
    lr_schedule: str = "constant"
    lr_end: float = 0.0
    weight_decay: float = 0.0
    beta2: float = 0.999
    max_grad_norm: float = 1.0
    temperature: float = 1.0
    max_new_tokens: int = 32
    max_episode_tokens: int = 256
    context: int = 512
    max_overlong: float = 0.9
    minibatches: int | None = None
    epochs: int | None = None
    packer: str = "shared_prefix"
    token_budget: int = 0
    warmup: WarmUp = field(default_factory=WarmUp)
    requests: RequestSettings = field(default_factory=RequestSettings)
    eval_every: int = 50
    eval_episodes: int = 200
    final_episodes: int = 500
    checkpoint_every: int = 50
    patience: Patience = field(default_factory=Patience)
    collapse: Collapse = field(default_factory=Collapse)
    keep_trajectories: int = 8
    track: tuple[str, ...] = ("tensorboard",)
    engine: str = "torch"
    engine_options: Annotated[dict[str, Any], tyro.conf.Suppress] = field(default_factory=dict)
    ray: str | None = None
    workers: int = 1
    staleness: int = 0
    env_workers: int = 0
    env_processes: int = 0
    env_seconds: float = 0.0
    device: str = "auto"
    threads: int = 0

    def __post_init__(self) -> None:
        if not self.envs:
            raise InputError("a run needs at least one environment.")
        object.__setattr__(self, "env", self.envs[0] if len(self.envs) == 1 else self.envs)
        if self.env_weights and (len(self.env_weights) != len(self.envs) or len(self.envs) == 1):
            raise InputError(
                f"{len(self.env_weights)} weights were given for {len(self.envs)} environments; give one for each of "
                "several, or none."
            )
        self.warmup.check()
        self.requests.check()
        self.patience.check()
        self.collapse.check()
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise InputError(f"{name} must be at least {least}, not {value}.")
        for name in ("lr", "temperature", "max_grad_norm"):
            value = getattr(self, name)
            if not 0 < value < float("inf"):
                raise InputError(f"{name} must be a positive number, not {value}.")
        if not 0 <= self.weight_decay < float("inf"):
            raise InputError(f"weight_decay must be a number of at least 0, not {self.weight_decay}.")
        for name in ("lr_end", "max_overlong"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} must lie in [0, 1], not {getattr(self, name)}.")
        read_schedule(self.lr_schedule, self.lr_end)
        for name in ("split", "axes"):
            if name in self.env_options:
                raise InputError(
                    f"{name!r} is no option to set here: the splits are the learner's to choose, and axes are given as "
                    "name=low:high."
                )
        if self.vocabulary and (self.model != "tiny" or self.vocabulary < FEWEST_TOKENS):
            raise InputError(
                f"vocabulary is for the model 'tiny' and at least {FEWEST_TOKENS}, or 0, not {self.vocabulary} for "
                f"{self.model!r}; a model that is loaded brings its own."
            )
        if self.chat_options and self.model == "tiny":
            raise InputError(
                f"the model 'tiny' has no chat template, which the option {next(iter(self.chat_options))!r} would be "
                "for; leave it out."
            )
        if not 0 <= self.env_seconds < float("inf"):
            raise InputError(f"env_seconds must be a number of seconds, or 0 for no limit, not {self.env_seconds}.")
        if self.env_seconds and not self.env_workers and not self.env_processes:
            raise InputError(
                f"env_seconds {self.env_seconds:g} needs threads or processes that environments can be left in; add "
                "--env-workers or --env-processes."
            )
        if self.ray is None and self.workers != 1:
            object.__setattr__(self, "ray", "local")
        if self.ray is not None and self.engine not in ("torch", "ray"):
            raise InputError(
                f"the engine {self.engine!r} does not run in workers of a Ray cluster; leave --ray and --workers "
                "out, or take --engine torch."
            )
        if not 0 <= self.beta2 < 1:
            raise InputError(f"beta2 must lie in [0, 1), not {self.beta2}.")
        if self.kl is not None and not 0 <= self.kl < float("inf"):
            raise InputError(f"kl must be a number of at least 0, not {self.kl}.")
        if self.minibatches is not None and self.minibatches > self.prompts:
            raise InputError(
                f"minibatches ({self.minibatches}) must not exceed prompts ({self.prompts}): a group is never split."
            )

    @property
    def envs(self) -> tuple[str, ...]:
        """The environments, one or several."""
        return (self.env,) if isinstance(self.env, str) else tuple(self.env)

    def in_one_process(self) -> TrainConfig:
        """Return the same run, sampled and played in this process alone."""
        elsewhere: dict[str, Any] = {"engine": "torch", "engine_options": {}, "ray": None, "workers": 1}
        elsewhere |= {"env_processes": 0, "staleness": 0}
        # Without processes of their own, the time of environments has a limit in threads only.
        seconds = self.env_seconds if self.env_workers else 0.0
        return dataclasses.replace(self, **elsewhere, env_seconds=seconds)

    @property
    def serving(self) -> tuple[str, dict[str, Any]]:
        """The name of the engine that samples, and its options."""
        if self.ray is None:
            return self.engine, self.engine_options
        return "ray", {"address": self.ray, "workers": self.workers, **self.engine_options}

    def to_json(self) -> dict[str, Any]:
        """Plain types, for ``config.json``."""
        env = self.env if isinstance(self.env, str) else list(self.env)
        lists = {name: list(getattr(self, name)) for name in ("env_weights", "track")}
        return {**dataclasses.asdict(self), "env": env, **lists}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TrainConfig:
        """The inverse of `to_json`; unknown keys raise InputError. Runs that name no form of prompts are terse."""
        inner = {name: (record, data.get(name, {})) for name, record in _RECORDS.items()}
        for record, given in ((cls, data), *inner.values()):
            known = {item.name for item in dataclasses.fields(record)}
            if unknown := sorted(set(given) - known):
                raise InputError(f"the configuration has unknown entries {unknown}; it was written by another version.")
        parts = {name: record(**given) for name, (record, given) in inner.items()}
        lists = {name: tuple(data.get(name, ())) for name in ("env_weights", "track")}
        return cls(**{"prompt_form": FORM_OF_OLD_RUNS, **data, **parts, **lists})

    def differences(self, other: TrainConfig) -> list[str]:
        """``name: ours != theirs`` for each entry that differs."""
        mine, theirs = _flat(self.to_json()), _flat(other.to_json())
        return [f"{name}: {mine[name]!r} instead of {theirs[name]!r}" for name in mine if mine[name] != theirs[name]]


def _flat(data: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten inner records into the outer one, with names as on the command line."""
    inner = {
        f"{part}.{name}": value
        for part in ("warmup", "patience", "collapse", "requests")
        for name, value in data[part].items()
    }
    return {name: value for name, value in data.items() if name not in _RECORDS} | inner | data["stages"]


_RECORDS: dict[str, type[Any]] = {
    "warmup": WarmUp,
    "patience": Patience,
    "collapse": Collapse,
    "stages": Stages,
    "requests": RequestSettings,
}


_LEAST = {
    "seed": 0,
    "pool": 0,
    "shots": 0,
    "steps": 0,
    "prompts": 1,
    "samples": 1,
    "lr_warmup": 0,
    "max_new_tokens": 1,
    "max_episode_tokens": 1,
    "context": 8,
    "minibatches": 1,
    "epochs": 1,
    "token_budget": 0,
    "lora": 0,
    "eval_every": 0,
    "eval_episodes": 1,
    "final_episodes": 1,
    "checkpoint_every": 1,
    "keep_trajectories": 0,
    "workers": 1,
    "staleness": 0,
    "env_workers": 0,
    "env_processes": 0,
    "threads": 0,
}
