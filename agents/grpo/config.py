"""Configuration of a training run: one frozen record that is stored with the run. Imports neither torch nor models."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import tyro

from ...checks import check_record, option, record
from ...errors import InputError
from ...schedules import read_schedule
from ..language.tokenizer import FEWEST_TOKENS
from ..prompt_form import FORM_OF_OLD_RUNS
from .recipes import StageOverrides
from .settings import Collapse, Patience, RequestSettings, WarmUp, read_policies


@record
class TrainConfig:
    """Configuration of a run. On a CPU, this record determines the run bit for bit."""

    env: tyro.conf.Positional[str | tuple[str, ...]] = option(
        default="palaestra/Arithmetic-v0",
        says="environment id with text actions; or several ids, whose tasks are mixed.",
    )
    axes: Annotated[dict[str, Any], tyro.conf.Suppress] = option(
        default_factory=dict,
        says='axes restricted to one value, a range or a list of choices, e.g. ``{"digits": [1, 2]}``; other axes '
        'keep their range. With several environments, prefix the environment\'s name: ``{"Arithmetic.digits": [1, '
        "2]}``.",
    )
    env_options: Annotated[dict[str, Any], tyro.conf.Suppress] = option(
        default_factory=dict,
        says='further arguments of the environment, e.g. ``{"source": "questions.jsonl"}``.',
    )
    prompt_form: Annotated[str | None, tyro.conf.Suppress] = option(
        default=None,
        says='the form of the prompts, "sentences" or "terse", unless ``env_options`` have a ``prompt``. None: chosen '
        "to suit the model, and recorded in the run.",
    )
    env_weights: Annotated[tuple[Any, ...], tyro.conf.Suppress] = option(
        default=(),
        says="sampling weights of several environments: numbers, or schedules over training as plain data; "
        "empty: equal weights.",
    )
    history: str | None = option(
        default=None,
        group="sampling",
        says='the policy\'s view of a long episode, such as "notes(keep=2)"; see `palaestra list histories`. None: '
        "the whole conversation, up to `context`.",
    )
    shots: int = option(
        default=0,
        group="sampling",
        says="worked examples before each question, training tasks with its parameters; for models that have not "
        "learned to answer, on environments of one question an episode. For a model without a chat template, the end "
        "of the line then ends the answer.",
    )
    teacher: str = option(
        default="alp-gmm",
        says="registered teacher that chooses the parameters of every task, or module:name of your own teacher.",
    )
    teacher_options: Annotated[dict[str, Any], tyro.conf.Suppress] = option(
        default_factory=dict, says="further arguments of the teacher."
    )
    pool: int = option(
        default=0, group="practice", says="fixed tasks that the teacher chooses from; 0: every task is new."
    )
    budget: str | None = option(
        default=None,
        group="practice",
        says='allocator of a step\'s episodes by success rates, such as "knapsack"; see `palaestra list allocators`.',
    )
    recipe: str = option(default="grpo", says="registered recipe, or module:name of your own recipe.")
    stages: Annotated[StageOverrides, tyro.conf.arg(name="")] = option(
        default_factory=StageOverrides, says="components that replace those of the recipe, by stage."
    )
    kl: float | None = option(
        default=None,
        low=0,
        group="update",
        says="coefficient of the KL penalties, overrides the recipe's; 0 removes them; None keeps the recipe's "
        "coefficient.",
    )
    model: str = option(
        default="tiny",
        says='"tiny", a registered model such as smollm2-135m (palaestra list models), a model folder, a GGUF file, '
        "or a hub id.",
    )
    vocabulary: int = option(
        default=0,
        group="weights",
        says="size of the vocabulary that the tiny model learns from worked solutions before training, at least 261, "
        "for tasks with long texts; 0: it reads and writes single characters.",
    )
    teacher_model: str | None = option(
        default=None,
        group="weights",
        says="a model to distil from, named like model, with the policy's vocabulary; for recipes that need one.",
    )
    role_policies: Annotated[dict[str, str], tyro.conf.Suppress] = option(
        default_factory=dict,
        says='policies of roles of the rollout strategy, e.g. ``{"critic": "smollm2-135m:lora"}``; see '
        "`palaestra.agents.grpo.settings.read_policies`. All other roles have the run's own policy.",
    )
    system: str | None = option(default=None, says="system prompt of a chat model.")
    chat_options: Annotated[dict[str, Any], tyro.conf.Suppress] = option(
        default_factory=dict,
        says='further arguments of the chat template, e.g. ``{"enable_thinking": False}``. A template that asks for '
        'the present date gets the date of the run\'s start, or the given one: ``{"date": "2026-01-05"}``.',
    )
    lora: int = option(
        default=0,
        group="weights",
        says="rank of low-rank adapters that are trained instead of the weights; 0 trains the weights, or the model's "
        "existing adapters.",
    )
    dtype: Literal["float32", "bfloat16"] = option(
        default="float32",
        group="weights",
        says='"float32", or "bfloat16" with single-precision master weights in the optimiser.',
    )
    fp32_head: bool = option(
        default=False, group="weights", says="compute logits in single precision if weights are half precision."
    )
    gradient_checkpointing: bool = option(
        default=False, group="weights", says="recompute activations in the backward pass instead of keeping them."
    )
    tf32: bool = option(
        default=False,
        group="weights",
        says="let a GPU round the inputs of float32 products to 10 bits of mantissa, which is several times as fast; "
        "runs in bfloat16 do so anyway, as their inputs have 7. No effect on a CPU.",
    )
    compile: bool = option(
        default=False,
        group="weights",
        says="run the layers of Llama, Qwen2 and Qwen3 models through torch.compile in training. Compilation takes a "
        "minute or more; on a CPU training was then 1.1 times as fast.",
    )
    seed: int = option(default=0, says="root of all randomness, at least 0.")
    steps: int = option(default=300, says="number of optimiser batches.")
    prompts: int = option(default=16, low=1, says="tasks per step (P).")
    samples: int = option(default=8, low=1, says="episodes per task (G).")
    lr: float = option(default=3e-4, above=0, says="learning rate of AdamW.")
    lr_warmup: int = option(default=10, group="optimiser", says="steps over which the learning rate rises linearly.")
    lr_schedule: str = option(
        default="constant",
        group="optimiser",
        says='learning rate after the warm-up: "constant"; "linear" or "cosine", falling to lr x lr_end by the end of '
        "the run; or any schedule of `palaestra.schedules` as JSON, whose value is a factor of lr.",
    )
    lr_end: float = option(
        default=0.0,
        low=0,
        high=1,
        group="optimiser",
        says='share of lr at which "linear" and "cosine" end, in [0, 1].',
    )
    weight_decay: float = option(
        default=0.0,
        low=0,
        group="optimiser",
        says="weight decay of AdamW: each step multiplies weights by 1 - lr x weight_decay.",
    )
    beta2: float = option(
        default=0.999,
        low=0,
        high=1,
        group="optimiser",
        says="decay of AdamW's second moment, in [0, 1).",
    )
    max_grad_norm: float = option(
        default=1.0,
        above=0,
        group="optimiser",
        says="largest norm of the gradient; larger ones are scaled down to it.",
    )
    temperature: float = option(
        default=1.0,
        above=0,
        group="sampling",
        says="sampling temperature, also used in training.",
    )
    max_new_tokens: int = option(default=32, low=1, says="most tokens of an action.")
    max_episode_tokens: int = option(default=256, low=1, group="sampling", says="most action tokens in an episode.")
    context: int = option(
        default=512,
        low=8,
        group="sampling",
        says="most tokens of a conversation. Tasks whose first observation leaves no room to answer are left out and "
        "counted.",
    )
    max_overlong: float = option(
        default=0.9,
        low=0,
        high=1,
        group="sampling",
        says="largest share of tasks that leave no room to answer, in [0, 1]; with more of them a run does not begin.",
    )
    minibatches: int | None = option(
        default=None,
        low=1,
        group="update",
        says="optimiser steps per rollout batch and epoch; groups are divided among them in order. None: the recipe's.",
    )
    epochs: int | None = option(
        default=None, low=1, group="update", says="passes over each rollout batch. None: the recipe's."
    )
    packer: str = option(
        default="shared_prefix",
        group="run",
        says='packing of tokens: "shared_prefix" (encode shared prompts once) or "plain".',
    )
    token_budget: int = option(
        default=0,
        group="run",
        says="most tokens in one forward pass. 0 takes 2,048 on a CPU, where more costs memory and saves no time, and "
        "as many as the free memory allows on a GPU. A pass that does not fit is split and repeated.",
    )
    warmup: WarmUp = option(default_factory=WarmUp, says="supervised steps on oracle solutions before the first step.")
    requests: RequestSettings = option(
        default_factory=RequestSettings, says="settings for requests in the teacher's proposals."
    )
    eval_every: int = option(
        default=50, group="run", says="steps between evaluations on the test split; 0 evaluates only before and after."
    )
    eval_episodes: int = option(default=200, low=1, group="run", says="episodes of an evaluation during training.")
    final_episodes: int = option(
        default=500, low=1, group="run", says="episodes of the evaluations before the first and after the last step."
    )
    audit_every: int = option(
        default=0, group="run", says="steps between attacks on the rewards, see docs/how-to/judges.md; 0: none."
    )
    checkpoint_every: int = option(
        default=50,
        low=1,
        group="run",
        says="steps between checkpoints. The policy of the best evaluation so far is also kept.",
    )
    patience: Patience = option(default_factory=Patience, says="limits after which a run that cannot learn ends.")
    collapse: Collapse = option(
        default_factory=Collapse,
        says="detection of a collapse, and return to a checkpoint. A run has collapsed when the mean success of its "
        "last steps is far below that of the best of the ten windows of steps before, and success on the replayed "
        "tasks of that window has fallen as far, beyond 95 % intervals (so harder tasks do not count). A collapse is "
        "always reported.",
    )
    keep_trajectories: int = option(default=8, group="run", says="episodes per step that are logged in full.")
    track: tuple[str, ...] = option(
        default=("tensorboard",),
        group="run",
        says='registered trackers that receive the metrics too, such as "tensorboard" and "wandb".',
    )
    engine: str = option(
        default="torch",
        group="processes",
        says='engine that samples from the policy, such as "vllm" or "vllm-server"; see `palaestra list engines`. The '
        "warm-up and models other than the policy are sampled by torch.",
    )
    engine_options: Annotated[dict[str, Any], tyro.conf.Suppress] = option(
        default_factory=dict, says="further arguments of the engine."
    )
    ray: str | None = option(
        default=None,
        group="processes",
        says='sample in rollout workers, processes of a Ray cluster with a copy of the policy each: "local" starts '
        'a cluster on this machine, "auto" joins this machine\'s cluster, HOST:PORT another cluster. A lost worker '
        "is replaced; its episodes continue. None: sample in this process.",
    )
    workers: int = option(
        default=1,
        low=1,
        group="processes",
        says="number of rollout workers; without ``ray``, more than 1 run on this machine. Tokens do not depend on "
        "this number, and log-probabilities only up to rounding.",
    )
    staleness: int = option(
        default=0,
        group="processes",
        says="updates by which the sampling policy is older than the trained one. With N of 1 and more, a thread "
        "plays up to N batches ahead while earlier ones are trained on, batch k with the policy after k - 1 - N "
        "updates, so that a run does not depend on timing. 0: collection and updates take turns.",
    )
    env_workers: int = option(
        default=0,
        group="processes",
        says="threads that reset and step environments while the policy decodes, for environments that wait (for a "
        "network, a program, a page): as many as wait at a time. Tokens do not depend on this number, and "
        "log-probabilities only up to rounding. 0: environments step one after another, in the policy's thread.",
    )
    env_processes: int = option(
        default=0,
        group="processes",
        says="processes that hold environments; with a cluster's address in ``ray``, on its machines. A process that "
        "dies is replaced, and its episodes are replayed up to the same point, so a run does not change. 0: this "
        "process.",
    )
    env_seconds: float = option(
        default=0.0,
        low=0,
        group="processes",
        says="time limit in seconds for an environment's reset or step, with env_workers or env_processes; an episode "
        "that exceeds it is invalid and not trained on. 0: no limit.",
    )
    device: str = option(default="auto", group="run", says='"auto" (a GPU if available), "cpu", "cuda" or "cuda:1".')
    threads: int = option(
        default=0,
        group="run",
        says="CPU threads; a run is only bit-reproducible at the same number. 0 takes torch's choice and records it.",
    )

    def __post_init__(self) -> None:
        if not self.envs:
            raise InputError("a run needs at least one environment.")
        object.__setattr__(self, "env", self.envs[0] if len(self.envs) == 1 else self.envs)
        if self.env_weights and (len(self.env_weights) != len(self.envs) or len(self.envs) == 1):
            raise InputError(
                f"{len(self.env_weights)} weights were given for {len(self.envs)} environments; give one for each of "
                "several, or none."
            )
        check_record(self)
        if self.beta2 == 1:
            raise InputError("beta2 must lie in [0, 1), not 1.")
        for part in (self.warmup, self.requests, self.patience, self.collapse):
            part.check()
        read_schedule(self.lr_schedule, self.lr_end)
        read_policies(self.role_policies)
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
        if self.minibatches is not None and self.minibatches > self.prompts:
            raise InputError(
                f"minibatches ({self.minibatches}) must not exceed prompts ({self.prompts}): a group is never split."
            )

    @property
    def envs(self) -> tuple[str, ...]:
        """Ids of the environments, one or several."""
        return (self.env,) if isinstance(self.env, str) else tuple(self.env)

    def in_one_process(self) -> TrainConfig:
        """Return a copy of the configuration that samples and plays in this process only."""
        elsewhere: dict[str, Any] = {"engine": "torch", "engine_options": {}, "ray": None, "workers": 1}
        elsewhere |= {"env_processes": 0, "staleness": 0}
        # Without processes, only threads can enforce the time limit of environments.
        seconds = self.env_seconds if self.env_workers else 0.0
        return dataclasses.replace(self, **elsewhere, env_seconds=seconds)

    @property
    def serving(self) -> tuple[str, dict[str, Any]]:
        """(Name, options) of the engine that samples."""
        if self.ray is None:
            return self.engine, self.engine_options
        return "ray", {"address": self.ray, "workers": self.workers, **self.engine_options}

    def to_json(self) -> dict[str, Any]:
        """Return the configuration as plain types, for ``config.json``."""
        env = self.env if isinstance(self.env, str) else list(self.env)
        lists = {name: list(getattr(self, name)) for name in ("env_weights", "track")}
        return {**dataclasses.asdict(self), "env": env, **lists}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TrainConfig:
        """Make a configuration from the result of `to_json`; unknown keys raise InputError.

        Runs whose data name no form of prompts used the terse one.
        """
        inner = {name: (part, data.get(name, {})) for name, part in _RECORDS.items()}
        for part, given in ((cls, data), *inner.values()):
            known = {item.name for item in dataclasses.fields(part)}
            if unknown := sorted(set(given) - known):
                raise InputError(f"the configuration has unknown entries {unknown}; it was written by another version.")
        parts = {name: part(**given) for name, (part, given) in inner.items()}
        lists = {name: tuple(data.get(name, ())) for name in ("env_weights", "track")}
        return cls(**{"prompt_form": FORM_OF_OLD_RUNS, **data, **parts, **lists})

    def differences(self, other: TrainConfig) -> list[str]:
        """Return ``name: ours instead of theirs`` for each entry that differs."""
        mine, theirs = _flat(self.to_json()), _flat(other.to_json())
        return [f"{name}: {mine[name]!r} instead of {theirs[name]!r}" for name in mine if mine[name] != theirs[name]]


def _flat(data: Mapping[str, Any]) -> dict[str, Any]:
    """Merge inner records into the outer one, with names as on the command line."""
    parts = ((part, data[part]) for part in _RECORDS if part != "stages")
    inner = {f"{part}.{name}": value for part, values in parts for name, value in values.items()}
    return {name: value for name, value in data.items() if name not in _RECORDS} | inner | data["stages"]


_PARTS = (WarmUp, Patience, Collapse, StageOverrides, RequestSettings)
_RECORDS: dict[str, type[Any]] = dict(zip(("warmup", "patience", "collapse", "stages", "requests"), _PARTS))
