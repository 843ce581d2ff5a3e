"""The training loop: teacher, rollout, objective, update, logs, checkpoints.

All randomness of step t is derived from (seed, t), so a run that is continued from a checkpoint takes the very steps
that it would have taken.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ... import teachers
from ...errors import InputError
from ..evaluation import Report, environment_spec, evaluate
from ..language.agent import LanguageAgent, load_model
from ..language.model import LanguageModel, resolve_device
from .batch import collate
from .config import TrainConfig
from .logs import Practice, evaluation_row, proposal_row, step_summary, trajectory_row
from .metrics import Tally
from .objective import Objective, accumulate_gradients
from .packing import PACKERS
from .recipes import RECIPES, Component, Recipe
from .rollout import Environments, Limits, Task, collect
from .run_folder import RunFolder, newest_checkpoint
from .types import Group
from .warmup import warm_up

_ROLLOUT, _NOISE, _EVALUATION = 2, 3, 4
"""Streams of random numbers; the warm-up uses stream 1."""


@dataclass(frozen=True)
class Progress:
    """What happened, for whoever watches: ``phase`` is "warmup", "train" or "evaluate".

    ``values`` holds the step's metrics (or the evaluation's success), with "tokens_per_s" during training.
    """

    phase: str
    step: int
    steps: int
    values: dict[str, float]


class Learner:
    """One run. Build it with `start` or `resume`, then call `run`.

    Raises:
        InputError: the configuration names something that does not exist; raised before anything is written.
    """

    folder: RunFolder
    language: LanguageModel

    def __init__(self, config: TrainConfig):
        environment_spec(config.env)
        PACKERS[config.packer]
        self.config = config
        self.recipe = adjusted(RECIPES[config.recipe], config)
        self.objective = Objective(self.recipe)
        if config.threads:
            torch.set_num_threads(config.threads)
        options: dict[str, Any] = {"axes": config.axes} if config.axes else {}
        self.environments = Environments(config.env, split="train", **options)
        self.teacher = teachers.make(
            config.teacher, self.environments.param_space, seed=config.seed, **config.teacher_options
        )
        if missing := self.teacher.needs - _SUPPLIED:
            raise InputError(
                f"teacher {config.teacher!r} needs {sorted(missing)}, which this learner does not measure."
            )
        self.limits = Limits(config.max_new_tokens, config.max_episode_tokens, config.context)
        self.step = 0
        self._stop = False

    @classmethod
    def start(cls, out: str | Path, config: TrainConfig) -> Learner:
        """A new run in a new folder."""
        threads = config.threads or torch.get_num_threads()
        config = dataclasses.replace(config, threads=threads, device=resolve_device(config.device))
        learner = cls(config)
        learner._load(_model(config))
        learner.folder = RunFolder.create(Path(out), config)
        return learner

    @classmethod
    def resume(cls, path: str | Path, config: TrainConfig | None = None) -> Learner:
        """Continue a run from its newest checkpoint, or from the start where it has none.

        Args:
            config: what the caller believes the configuration to be; only ``steps`` may differ (it may grow).

        Raises:
            InputError: no run there, or another configuration.
        """
        folder, saved = RunFolder.reopen(Path(path))
        if config is not None:
            device = saved.device if config.device == "auto" else config.device
            config = dataclasses.replace(config, threads=config.threads or saved.threads, device=device)
            if differences := dataclasses.replace(config, steps=saved.steps).differences(saved):
                raise InputError(
                    f"{str(path)!r} was started with another configuration ({'; '.join(differences)}); "
                    "resume without these options, or start a new run."
                )
            saved = config
        learner = cls(saved)
        learner.folder = folder
        folder.write_config(saved)
        newest = newest_checkpoint(folder.path)
        if newest is None:
            learner._load(_model(saved))
            folder.rewind(-1)
        else:
            learner._restore(newest)
            folder.rewind(learner.step)
        return learner

    def stop(self) -> None:
        """Ask `run` to save and return after the step under way."""
        self._stop = True

    def run(self, watch: Callable[[Progress], None] = lambda progress: None) -> bool:
        """Warm up, train and evaluate to the end of the configuration; returns False where `stop` cut it short."""
        config = self.config
        if self.step == 0 and newest_checkpoint(self.folder.path) is None:
            most = config.warmup.most_steps(config.model)
            for row in warm_up(self.language, self.environments, config.warmup, most, config.seed, self.limits):
                watch(Progress("warmup", int(row["step"]), most, row))
                if self._stop:
                    return False
            self._make_optimizer()
            self._reference = self._reference_copy()
            self._evaluate(watch, config.final_episodes)
            self._save()
        while self.step < config.steps:
            self._train_step(watch)
            last = self.step == config.steps
            if last:
                self._evaluate(watch, config.final_episodes)
            elif config.eval_every and self.step % config.eval_every == 0:
                self._evaluate(watch, config.eval_episodes)
            if last or self._stop or self.step % config.checkpoint_every == 0:
                self._save()
            if self._stop and not last:
                return False
        return True

    # One step --------------------------------------------------------------------------------------------------------

    def _train_step(self, watch: Callable[[Progress], None]) -> None:
        config = self.config
        self.step += 1
        self.objective.advance(self.step, config.steps)
        begun = time.perf_counter()
        played, trainable = self._rollout()
        rolled = time.perf_counter()
        tally, updates = self._update(trainable)
        trained = time.perf_counter()
        groups = [practice.group for practice in played]
        metrics = {"step": self.step, **step_summary(groups), **tally.means(), **updates}
        metrics |= {f"teacher/{name}": value for name, value in self.teacher.metrics().items()}
        tokens = int(metrics["tokens"])
        seconds = trained - begun
        space = self.environments.param_space
        kept = [group.trajectories[0] for group in groups if group.trajectories][: config.keep_trajectories]
        self.folder.append("metrics", [metrics])
        self.folder.append("proposals", [proposal_row(self.step, practice, space) for practice in played])
        self.folder.append("trajectories", [trajectory_row(self.step, trajectory) for trajectory in kept])
        timing = {
            "step": self.step,
            "seconds": seconds,
            "rollout_s": rolled - begun,
            "train_s": trained - rolled,
            "tokens_per_s": tokens / seconds,
        }
        self.folder.append("timings", [timing])
        watch(Progress("train", self.step, config.steps, {**metrics, "tokens_per_s": timing["tokens_per_s"]}))

    def _rollout(self) -> tuple[list[Practice], list[Group]]:
        """Ask the teacher, play, tell the teacher; again while the recipe's filters leave too few groups.

        Returns:
            All that was played, and the groups to train on, shaped.
        """
        config = self.config
        played: list[Practice] = []
        trainable: list[Group] = []
        for round_ in range(self.recipe.refill):
            rng = np.random.default_rng([config.seed, _ROLLOUT, self.step, round_])
            proposals = self.teacher.propose(config.prompts)
            tasks = [Task(p.task, int(rng.integers(2**31)), config.samples * p.n, p.id) for p in proposals]
            self._engine.seed(_derived(config.seed, _NOISE, self.step, round_))
            groups = collect(
                tasks, self.environments, self._engine, self.language.renderer, self.limits, config.temperature
            )
            self.teacher.observe([_outcome(task, group) for task, group in zip(tasks, groups, strict=True)])
            # A teacher may ask to evaluate only.
            wanted = [proposal.train for proposal in proposals]
            shaped = self.objective.shape([group for group, train in zip(groups, wanted, strict=True) if train])
            trainable += self.objective.keep(shaped)
            rest = iter(shaped)
            groups = [next(rest) if train else group for group, train in zip(groups, wanted, strict=True)]
            played += [Practice(*triple) for triple in zip(proposals, tasks, groups, strict=True)]
            if len(trainable) >= config.prompts:
                break
        return played, trainable[: config.prompts]

    def _update(self, groups: Sequence[Group]) -> tuple[Tally, dict[str, float]]:
        """Optimiser steps over the groups; nothing happens where no row has anything to teach."""
        config = self.config
        tally = Tally()
        norms: list[float] = []
        skipped = 0
        rate = config.lr * min(1.0, self.step / max(1, config.lr_warmup))
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        for _ in range(config.epochs):
            for part in np.array_split(np.arange(len(groups)), min(config.minibatches, max(1, len(groups)))):
                if not len(part):
                    continue
                weighted = self.objective.weigh(collate([groups[i] for i in part]))
                if not weighted.rows:
                    continue
                tally.merge(
                    accumulate_gradients(
                        self.language.model,
                        self.objective,
                        weighted,
                        packer=config.packer,
                        budget=config.token_budget,
                        temperature=config.temperature,
                        reference=self._reference,
                    )
                )
                norm = torch.nn.utils.clip_grad_norm_(self.language.model.parameters(), config.max_grad_norm)
                if torch.isfinite(norm):
                    self._optimizer.step()
                    norms.append(float(norm))
                else:
                    skipped += 1
                self._optimizer.zero_grad()
        norm = float(np.mean(norms)) if norms else 0.0
        return tally, {"grad_norm": norm, "updates": len(norms), "skipped_updates": skipped, "lr": rate}

    # Evaluation, saving, loading ------------------------------------------------------------------------------------

    def evaluate(self, episodes: int, seed: int = 0, split: str = "test") -> Report:
        """Play tasks spread evenly over the difficulty range that is trained on, at the training temperature."""
        config = self.config
        agent = LanguageAgent(
            self.language,
            temperature=config.temperature,
            max_new_tokens=config.max_new_tokens,
            context=config.context,
            slots=min(256, episodes),
            seed=_derived(config.seed, _EVALUATION, self.step, seed),
        )
        return evaluate(
            agent, config.env, episodes, seed=seed, split=split, axes=config.axes or None, num_envs=min(256, episodes)
        )

    def _evaluate(self, watch: Callable[[Progress], None], episodes: int) -> None:
        report = self.evaluate(episodes)
        self.folder.append("evaluations", [evaluation_row(self.step, report)])
        watch(Progress("evaluate", self.step, self.config.steps, {"success": report.success.mean}))

    def _load(self, language: LanguageModel) -> None:
        self.language = language
        self._engine = language.engine(min(256, self.config.prompts * self.config.samples), self.config.context)
        self._make_optimizer()
        self._reference: Any = None

    def _make_optimizer(self) -> None:
        config = self.config
        self._optimizer = torch.optim.AdamW(
            self.language.model.parameters(),
            lr=config.lr,
            betas=(0.9, config.beta2),
            weight_decay=config.weight_decay,
            fused=True,
        )

    def _reference_copy(self) -> Any:
        return self.language.copy().model if "logp_ref" in self.objective.needs else None

    def _save(self) -> None:
        with self.folder.checkpoint(self.step) as place:
            self.language.save(place)
            torch.save(self._optimizer.state_dict(), place / "optimizer.pt")
            if self._reference is not None:
                torch.save(self._reference.state_dict(), place / "reference.pt")
            states = [reward.state_dict() for reward in self.objective.rewards]
            state = {"step": self.step, "teacher": self.teacher.state_dict(), "rewards": states}
            (place / "state.json").write_text(json.dumps(state), encoding="utf-8")

    def _restore(self, checkpoint: Path) -> None:
        try:
            state = json.loads((checkpoint / "state.json").read_text(encoding="utf-8"))
            optimizer = torch.load(checkpoint / "optimizer.pt", weights_only=True)
        except (OSError, ValueError, RuntimeError) as error:
            raise InputError(
                f"the checkpoint {str(checkpoint)!r} cannot be read ({error}); remove it to resume from an older one."
            ) from error
        self._load(LanguageModel.load(checkpoint).to(self.config.device))
        self._optimizer.load_state_dict(optimizer)
        if "logp_ref" in self.objective.needs:
            self._reference = self._reference_copy()
            self._reference.load_state_dict(torch.load(checkpoint / "reference.pt", weights_only=True))
        self.teacher.load_state_dict(state["teacher"])
        for reward, saved in zip(self.objective.rewards, state["rewards"], strict=True):
            reward.load_state_dict(saved)
        self.step = int(state["step"])


_SUPPLIED: frozenset[str] = frozenset()
"""Measurements that the learner can hand to teachers in `Outcome.extras`."""


def _model(config: TrainConfig) -> LanguageModel:
    language = LanguageModel.tiny(config.seed) if config.model == "tiny" else load_model(config.model)
    return language.to(config.device)


def adjusted(recipe: Recipe, config: TrainConfig) -> Recipe:
    """The recipe with the configuration's overrides."""
    if config.kl is None:
        return recipe
    others = [part for part in recipe.regularisers if not part.name.startswith("kl_")]
    name = next((part.name for part in recipe.regularisers if part.name.startswith("kl_")), "kl_k3")
    penalty = [Component(name, {"coefficient": config.kl})] if config.kl else []
    return dataclasses.replace(recipe, regularisers=(*others, *penalty))


def _derived(*keys: int) -> int:
    """A seed below 2**63 from several numbers."""
    return int(np.random.SeedSequence(list(keys)).generate_state(1, np.uint64)[0] >> 1)


def _outcome(task: Task, group: Group) -> teachers.Outcome:
    valid = group.valid
    return teachers.Outcome(
        task.proposal,
        dict(task.params),
        returns=[trajectory.env_return for trajectory in valid],
        successes=[trajectory.success for trajectory in valid],
        cost=float(sum(trajectory.action_tokens for trajectory in group.trajectories)),
    )
