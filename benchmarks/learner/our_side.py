"""Our side of the learner benchmark: the task, the initial weights, and one optimiser step per command.

`work` runs in our process: `Learner.run` as ``palaestra train`` calls it, paused between two steps. In settings without
sampling, a rollout strategy of the recipe returns ready-made completions, as ``rollout_func`` does for TRL.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from ...envs import FloatAxis, IntAxis, ParamSpace, Question, Task
from ...rewards import Verdict
from ..ready_made import make_groups
from .trl_side import Channel, ResourceMeter, load_rollouts, score_answer

MODULE = f"{__package__}.our_side"
ENV = "benchmark/Letters-v0"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
NEVER = 10**8
"""Mean length for completions that must not end by themselves."""
SPARE_PROMPTS = 1024
"""Number of prompts written for TRL, which takes them in random order; ours draws from the same distribution."""
BATCHES = 4
"""Number of batches made beforehand if completions are not sampled."""


class Letters(Question):
    """A prompt of random letters; the reward is the answer's share of lower-case letters, or for some a constant."""

    param_space = ParamSpace([IntAxis("letters", 3, 4000), IntAxis("tokens", 1, 4096), FloatAxis("flat", 0.0, 1.0)])
    default_answer_format: ClassVar[str] = "whole"

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        letters = "".join(rng.choice(list(LETTERS), params["letters"]))
        return Task(letters, reference=(letters, params["tokens"], params["flat"]))

    def verify(self, task: Task, answer: str) -> Verdict:
        letters, tokens, flat = task.reference
        score = score_answer(letters, answer, tokens, flat)
        return Verdict(score, score > 0.5)


def task_axes(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the task's parameters; two tokens of a prompt are the markers around its text."""
    letters = settings["prompt_tokens"] - 2
    return {"letters": letters, "tokens": settings["new_tokens"], "flat": float(settings["flat"])}


def register_task() -> None:
    """Register the task with Gymnasium, in this process only."""
    if ENV not in gym.registry:
        gym.register(ENV, entry_point=f"{MODULE}:{Letters.__name__}")


def prepare(settings: dict[str, Any]) -> None:
    """Write the initial weights, a tokenizer, prompts as text and ids, and (if not ``played``) ready-made rollouts to
    the folder. For a given ``model``, write the prompts of its environment and the held-out prompts instead."""
    if settings["model"]:
        _prepare_real(settings)
        return
    from ...agents.language.model import LanguageModel
    from ...agents.language.tiny import tiny_model

    register_task()
    model, tokenizer = tiny_model(0)
    if settings["vocabulary"]:
        model, tokenizer = _with_vocabulary(model, tokenizer, settings["vocabulary"])
    # Where all completions have one length, both sides look for the end token, and neither meets it.
    stop_after(model, tokenizer.eos_token_id, settings["mean_tokens"] or NEVER)
    language = LanguageModel.of(model, tokenizer)
    folder = Path(settings["folder"])
    language.save(folder / "model")
    env = gym.make(ENV, disable_env_checker=True, axes=task_axes(settings))
    prompts = []
    for seed in range(SPARE_PROMPTS):
        letters = env.reset(seed=seed)[0]
        ids = language.renderer.observation(letters, first=True)
        prompts.append({"letters": letters, "text": tokenizer.decode(list(ids)), "ids": ids})
    (folder / "prompts.json").write_text(json.dumps(prompts), encoding="utf-8")
    if not settings["played"]:
        rollouts = [ready_made(settings, prompts, batch) for batch in range(BATCHES)]
        (folder / "rollouts.json").write_text(json.dumps(rollouts), encoding="utf-8")


def _prepare_real(settings: dict[str, Any]) -> None:
    """Write prompts of an environment with the data that identify their tasks: the training split to prompts.json, and
    the tasks of our evaluations to held_out.json."""
    from ...agents.evaluation.episodes import EpisodePlan
    from ...agents.language.language_agent import load_model
    from ...agents.language.renderer import ChatRenderer
    from ...integrations.core import EpisodeRow, TextEpisode, make_rows, make_text_env

    system, env_id, kwargs = settings["system"], settings["env"], {"axes": settings["axes"], "split": "test"}
    language = load_model(settings["model"], system=system or None)
    with make_text_env(env_id, kwargs) as env:
        plan = EpisodePlan(env, env_id, settings["held_out"], 0, None, None)
    drawn = [plan.begin(index) for index in range(plan.episodes)]
    sets = {
        "prompts": make_rows(env_id, SPARE_PROMPTS, "train", settings["seed"], {"axes": settings["axes"]}),
        "held_out": [EpisodeRow.of(env_id, record.seed, kwargs, options) for record, options in drawn],
    }
    episode, folder = TextEpisode(), Path(settings["folder"])
    for name, rows in sets.items():
        prompts = []
        for row in rows:
            text = episode.begin(row)
            ids = language.renderer.observation(text, first=True)
            prompt: dict[str, Any] = {"text": language.tokenizer.decode(list(ids)), "ids": ids, "row": row.plain()}
            if isinstance(language.renderer, ChatRenderer):
                roles = {"system": system, "user": text}
                prompt["messages"] = [{"role": role, "content": text} for role, text in roles.items() if text]
            prompts.append(prompt)
        (folder / f"{name}.json").write_text(json.dumps(prompts), encoding="utf-8")


def ready_made(settings: dict[str, Any], prompts: Sequence[dict[str, Any]], number: int) -> list[dict[str, Any]]:
    """Make a batch of groups of random tokens of the set lengths; exactly the share ``flat`` has equal rewards."""
    rng = np.random.default_rng([settings["prompts"], number])
    # Ids below 5 are special tokens. Ids below 100 exist in the tokenizer, even if the model's vocabulary is larger.
    low, high = 5, 100
    groups = []
    for index in range(settings["prompts"]):
        prompt = prompts[(number * settings["prompts"] + index) % len(prompts)]["ids"]
        completions = [rng.integers(low, high, settings["new_tokens"]).tolist() for _ in range(settings["samples"])]
        rewards = rng.permutation(settings["samples"]) / settings["samples"]
        if index < round(settings["flat"] * settings["prompts"]):
            rewards[:] = 0.5
        groups.append({"prompt": list(prompt), "completions": completions, "rewards": rewards.tolist()})
    return groups


def _with_vocabulary(model: Any, tokenizer: Any, size: int) -> tuple[Any, Any]:
    """Return a model of the same shape and a tokenizer with the same rules over a vocabulary of ``size``."""
    import copy

    import torch

    config = copy.deepcopy(model.config)
    config.vocab_size = size
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return type(model)(config).eval(), widen_tokenizer(tokenizer, size)


def widen_tokenizer(tokenizer: Any, size: int) -> Any:
    """Return a tokenizer with the same rules over a vocabulary of ``size``.

    Every id has a word: ids that a tokenizer lacks would be left out of our log-probabilities as padding.
    """
    from tokenizers import Tokenizer

    core = json.loads(tokenizer.backend_tokenizer.to_str())
    core["model"]["vocab"].update({f"filler {number}": number for number in range(len(tokenizer), size)})
    special = {name: getattr(tokenizer, name) for name in ("pad_token", "unk_token", "eos_token")}
    return type(tokenizer)(
        tokenizer_object=Tokenizer.from_str(json.dumps(core)), clean_up_tokenization_spaces=False, **special
    )


def stop_after(model: Any, stop: int, mean: int) -> None:
    """Change the weights so that ``stop`` has probability about 1 / mean at any place, which makes lengths geometric.

    All embeddings get the same large first entry, so that the hidden states get a large first entry, too; a larger
    first entry in the stop token's embedding then raises its logit by the same amount everywhere.
    """
    import torch

    weight = model.lm_head.weight
    ids = torch.randint(5, weight.shape[0], (32, 64), generator=torch.Generator().manual_seed(0)).to(weight.device)
    with torch.no_grad():
        weight[:, 0] += 0.3
        states = model.model(ids).last_hidden_state.flatten(0, 1)
        wanted = torch.logit(torch.tensor(1 / mean))
        # The mean of a probability is not the probability at the mean logit, hence more than one correction.
        for _ in range(4):
            likely = (states @ weight.T).float().softmax(-1)[:, stop].mean()
            weight[stop, 0] += (wanted - torch.logit(likely)) / states[:, 0].mean()


# The process ----------------------------------------------------------------------------------------------------------


class ReadyMade:
    """A rollout strategy that plays nothing and returns the next of the prepared batches."""

    def __init__(self, settings: str = "{}"):
        self._settings = json.loads(settings)
        self._batches = load_rollouts(self._settings)

    def play(self, tasks: Sequence[Any], player: Any) -> list[Any]:
        """Return one group per task, regardless of the task."""
        from ...agents.grpo.batch.batch import collate
        from ...agents.grpo.batch.packing import PACKERS

        groups = make_groups(
            (
                (rows["prompt"], ids, [0.0] * len(ids), score)
                for rows in next(self._batches)
                for ids, score in zip(rows["completions"], rows["rewards"], strict=True)
            ),
            self._settings["samples"],
            self._settings["new_tokens"],
        )
        # Tokens that the training pass encodes: after packing, of rows whose advantage is not zero.
        batch = collate([group for group in groups if group.has_variance])
        micros = PACKERS[self._settings["packer"]](batch, list(range(batch.rows)), 10**9)
        pause.begin(sum(len(micro.ids) for micro in micros))
        return groups


@dataclass
class PauseMeasurement:
    """Measurement between rollout and update: seconds that it takes, tokens encoded so far, and the meter started by
    it."""

    seconds: float = 0.0
    processed: int = 0
    meter: ResourceMeter | None = None

    def begin(self, processed: int) -> None:
        begun = time.perf_counter()
        self.processed = processed
        self.meter = ResourceMeter()
        self.seconds = time.perf_counter() - begun


pause = PauseMeasurement()


def work(text: str) -> None:
    """Run our process; ``text`` is the settings as JSON."""
    channel = Channel()
    settings = json.loads(text)
    register_task()
    from ... import __version__  # the checkout may not be installed
    from ...agents.grpo.learner import Learner, TrainingProgress

    out = Path(settings["folder"]) / settings["packer"]
    learner = Learner.start(out, _configuration(settings))
    begun = False

    def evaluate() -> dict[str, float]:
        sampled, greedy = (learner.evaluate(settings["held_out"], greedy=greedy) for greedy in (False, True))
        return {"sampled": sampled.success.mean, "greedy": greedy.success.mean}

    channel.evaluate = evaluate

    def watch(progress: TrainingProgress) -> None:
        nonlocal begun
        seconds = channel.seconds() - pause.seconds
        cpu = pause.meter.cpu_seconds() if pause.meter else channel.cpu_seconds()
        if progress.phase == "train":
            values = progress.values
            split = json.loads((out / "timings.jsonl").read_text().splitlines()[-1])
            go_on = channel.report(
                event="step",
                seconds=seconds,
                rollout_s=split["rollout_s"] - pause.seconds,
                train_s=split["train_s"],
                cpu_s=cpu,
                tokens=values["tokens"],
                reward=values["reward"],
                flat=values["zero_variance_share"],
                processed=pause.processed,
                extra_mb=pause.meter.megabytes() if pause.meter else 0.0,
            )
        elif not begun:
            # This is the evaluation before the first step.
            begun = True
            versions = {name: version(name) for name in ("torch", "transformers")}
            go_on = channel.report(event="ready", versions={"palaestra": __version__, **versions})
        else:
            return
        if not go_on:
            learner.stop()

    learner.run(watch)


def _configuration(settings: dict[str, Any]) -> Any:
    from ...agents.grpo.config import Patience, TrainConfig

    same = ("seed", "prompts", "samples", "lr", "lr_warmup", "max_grad_norm", "packer", "threads", "device")
    return TrainConfig(
        **{name: settings[name] for name in same},
        env=settings["env"] or ENV,
        axes=settings["axes"] if settings["env"] else task_axes(settings),
        teacher="random",
        recipe=_recipe(settings),
        kl=0.0,
        model=settings["model"] or str(Path(settings["folder"]) / "model"),
        system=settings["system"] or None,
        steps=10**6,
        max_new_tokens=settings["new_tokens"],
        max_episode_tokens=settings["new_tokens"],
        context=settings["prompt_tokens"] + settings["new_tokens"],
        eval_every=0,
        eval_episodes=1,
        final_episodes=1,
        checkpoint_every=10**6,
        patience=Patience(0, 0, 0, 0),
    )


def _recipe(settings: dict[str, Any]) -> str:
    """Return the name of the recipe: GRPO, with ready-made rollouts if nothing is played."""
    if settings["played"]:
        return "grpo"
    from ...agents.grpo.recipes import RECIPES, c, register_recipe
    from ...agents.grpo.recipes.stages import ROLLOUTS

    ROLLOUTS.add("ready_made", ReadyMade)
    rollout = c("ready_made", settings=json.dumps(settings))
    # The tokens were not sampled, so ratios start from the current policy, as in TRL.
    register_recipe(replace(RECIPES["grpo"], name="grpo_ready_made", rollout=rollout, anchor="policy"))
    return "grpo_ready_made"
