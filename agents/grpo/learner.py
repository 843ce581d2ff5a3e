"""The training loop: proposals, rollouts, updates, logs, checkpoints.

All randomness of step t is derived from (seed, t), so that a run continued from a checkpoint repeats exactly the steps
that it would have taken without the interruption.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ... import teachers
from ...errors import InputError
from ..evaluation import Report, environment_spec, evaluate
from ..language.language_agent import LanguageAgent
from ..language.model import LanguageModel, resolve_device
from .batch.packing import PACKERS
from .collection import EVALUATION, Collector, check_room, derive_seed, token_limits
from .config import TrainConfig
from .measures import MEASURES
from .objective.dry_run import dry_run
from .objective.objective import Objective
from .recipes import RECIPES, Recipe
from .rollouts.environments import Environments
from .run.folder import RunFolder, checkpoint_errors, newest_checkpoint
from .run.logs import evaluation_row, phase_rates, proposal_row, step_summary, trajectory_row
from .run.models import add_adapters, load_policy, load_teacher
from .run.trackers import TRACKERS, Tracker, evaluation_values, trackers_for
from .update import Update
from .warmup import warm_up


@dataclass(frozen=True)
class TrainingProgress:
    """A step of a run, for its observer.

    Attributes:
        phase: "warmup", "train" or "evaluate".
        step, steps: the step of this phase and their number.
        values: metrics of the step, with "tokens_per_s" during training, or the evaluation's success.
    """

    phase: str
    step: int
    steps: int
    values: dict[str, float]


class Learner:
    """One run. Build it with `start` or `resume`, then call `run`.

    Raises:
        InputError: the configuration names something that does not exist, or a recipe that cannot work; raised before a
            model is loaded or anything is written.
    """

    folder: RunFolder
    language: LanguageModel
    update: Update
    collector: Collector

    def __init__(self, config: TrainConfig):
        environment_spec(config.env)
        PACKERS[config.packer]
        for name in config.track:
            TRACKERS[name]
        self.config = config
        self.recipe = apply_overrides(RECIPES[config.recipe], config)
        distils = config.teacher_model is not None
        options: dict[str, Any] = {"axes": config.axes} if config.axes else {}
        self.environments = Environments(config.env, split="train", **options)
        self.objective = Objective(self.recipe, teacher_model=distils, extras=self.environments.supplies)
        dry_run(self.recipe, samples=config.samples, steps=config.steps, teacher_model=distils)
        if config.lora and self.recipe.reference.name != "frozen" and "logp_ref" in self.objective.needs:
            raise InputError(
                f"the reference policy {self.recipe.reference} cannot follow low-rank adapters, whose reference is the "
                "base model; train without --lora, or take --reference frozen."
            )
        if config.threads:
            torch.set_num_threads(config.threads)
        space = self.environments.param_space
        tasks = teachers.fixed_tasks(space, config.pool, config.seed) if config.pool else space
        self.teacher = teachers.make(config.teacher, tasks, seed=config.seed, **config.teacher_options)
        if missing := self.teacher.needs - set(MEASURES):
            raise InputError(
                f"teacher {config.teacher!r} needs {sorted(missing)}, which this learner does not measure; register a "
                "function of a trajectory under that name in agents.grpo.measures.MEASURES."
            )
        self.step = 0
        self._stop = False
        self._trackers: list[Tracker] = []

    @classmethod
    def start(cls, out: str | Path, config: TrainConfig) -> Learner:
        """Begin a new run in a new folder."""
        threads = config.threads or torch.get_num_threads()
        config = dataclasses.replace(config, threads=threads, device=resolve_device(config.device))
        RunFolder.check_free(Path(out))
        learner = cls(config)
        learner._load(load_policy(config))
        learner.folder = RunFolder.create(Path(out), config)
        return learner

    @classmethod
    def resume(cls, path: str | Path, config: TrainConfig | None = None) -> Learner:
        """Continue a run from its newest checkpoint, or from the start where it has none.

        Args:
            config: the configuration that the caller expects; only ``steps`` may differ, by being larger.

        Raises:
            InputError: the folder holds no run, or one of another configuration.
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
        newest = newest_checkpoint(folder.path)
        if newest is None:
            learner._load(load_policy(saved))
        else:
            learner._restore(newest)
        if saved.steps < learner.step:
            raise InputError(f"{str(path)!r} has taken {learner.step} steps already; ask for as many --steps or more.")
        folder.write_config(saved)
        folder.rewind(-1 if newest is None else learner.step)
        return learner

    def stop(self) -> None:
        """Make `run` save and return after the present step."""
        self._stop = True

    def run(self, watch: Callable[[TrainingProgress], None] = lambda progress: None) -> bool:
        """Warm up, train and evaluate. Return False if `stop` ended the run early."""
        self._trackers = trackers_for(self.config, self.folder.path, self.step)
        try:
            return self._run(watch)
        finally:
            for tracker in self._trackers:
                tracker.close()

    def _run(self, watch: Callable[[TrainingProgress], None]) -> bool:
        config = self.config
        if self.step == 0 and newest_checkpoint(self.folder.path) is None:
            most = config.warmup.most_steps(config.model)
            for row in warm_up(
                self.language, self.environments, config.warmup, most, config.seed, token_limits(config)
            ):
                watch(TrainingProgress("warmup", int(row["step"]), most, row))
                if self._stop:
                    return False
            self.language = add_adapters(config, self.language)
            self._prepare()
            self._evaluate(watch, config.final_episodes)
            self._save()
        while self.step < config.steps:
            metrics = self._train_step(watch)
            last = self.step == config.steps
            if last:
                metrics["validation"] = self._evaluate(watch, config.final_episodes)
            elif config.eval_every and self.step % config.eval_every == 0:
                metrics["validation"] = self._evaluate(watch, config.eval_episodes)
            self.update.move_reference(self.step, metrics)
            if last or self._stop or self.step % config.checkpoint_every == 0:
                self._save()
            if self._stop and not last:
                return False
        return True

    # One step --------------------------------------------------------------------------------------------------------

    def _train_step(self, watch: Callable[[TrainingProgress], None]) -> dict[str, float]:
        config = self.config
        self.step += 1
        self.objective.advance(self.step, config.steps)
        begun = time.perf_counter()
        collected = self.collector.collect(self.step)
        streams = self.collector.draw(self.step, collected.played)
        rolled = time.perf_counter()
        rate = config.lr * min(1.0, self.step / max(1, config.lr_warmup))
        tally, updates = self.update.run(collected.trainable, streams, rate)
        trained = time.perf_counter()
        groups = collected.groups
        metrics = {"step": self.step, **step_summary(groups, collected.trainable), **tally.means(), **updates}
        metrics |= {f"teacher/{name}": value for name, value in self.teacher.metrics().items()}
        space = self.environments.param_space
        kept = [group.trajectories[0] for group in groups if group.trajectories][: config.keep_trajectories]
        self.folder.append("metrics", [metrics])
        self.folder.append("proposals", [proposal_row(self.step, practice, space) for practice in collected.played])
        self.folder.append("trajectories", [trajectory_row(self.step, trajectory) for trajectory in kept])
        trained_on = [group for part in (collected.trainable, *streams) for group in part]
        updated = sum(t.action_tokens for group in trained_on for t in group.valid)
        rates = phase_rates(int(metrics["tokens"]), updated * self.update.epochs, rolled - begun, trained - rolled)
        self.folder.append("timings", [{"step": self.step, **rates}])
        for tracker in self._trackers:
            tracker.log(self.step, {**metrics, **{f"time/{name}": value for name, value in rates.items()}})
        watch(TrainingProgress("train", self.step, config.steps, {**metrics, "tokens_per_s": rates["tokens_per_s"]}))
        return metrics

    # Evaluation, saving, loading ------------------------------------------------------------------------------------

    def evaluate(self, episodes: int, seed: int = 0, split: str = "test") -> Report:
        """Evaluate on tasks spread evenly over the trained range of difficulty, at the training temperature."""
        config = self.config
        agent = LanguageAgent(
            self.language,
            temperature=config.temperature,
            max_new_tokens=config.max_new_tokens,
            context=config.context,
            slots=min(256, episodes),
            seed=derive_seed(config.seed, EVALUATION, self.step, seed),
        )
        return evaluate(
            agent, config.env, episodes, seed=seed, split=split, axes=config.axes or None, num_envs=min(256, episodes)
        )

    def _evaluate(self, watch: Callable[[TrainingProgress], None], episodes: int) -> float:
        report = self.evaluate(episodes)
        row = evaluation_row(self.step, report)
        self.folder.append("evaluations", [row])
        for tracker in self._trackers:
            tracker.log(self.step, evaluation_values(row))
        watch(TrainingProgress("evaluate", self.step, self.config.steps, {"success": report.success.mean}))
        return report.success.mean

    def _load(self, language: LanguageModel) -> None:
        """Set the policy, load the model to distil from, and check that the context has room for an action."""
        self.language = language
        self._distilled = None if self.config.teacher_model is None else load_teacher(self.config, language)
        check_room(self.environments, language, token_limits(self.config))

    def _prepare(self, fresh: bool = True) -> None:
        """Make the update and the collector, once the policy has been warmed up."""
        config, needs, teacher = self.config, self.objective.needs, self._distilled
        reference = self.language.reference().model if needs & {"logp_ref", "kl_ref"} else None
        self.update = Update(
            config,
            self.objective,
            self.language.model,
            reference,
            teacher and teacher.model,
            vocabulary=len(self.language.tokenizer),
        )
        self.collector = Collector(
            config,
            self.objective,
            self.environments,
            self.teacher,
            self.language,
            teacher,
            measure=lambda batch: self.update.forward.measure(self.language.model, batch).logp,
        )
        if fresh:
            self.collector.prepare_streams()

    def _save(self) -> None:
        with self.folder.checkpoint(self.step) as place:
            self.language.save(place)
            torch.save(self.update.optimizer.state_dict(), place / "optimizer.pt")
            if self.update.owns_reference:
                torch.save(self.update.reference.state_dict(), place / "reference.pt")
            if self.objective.auxiliaries:
                torch.save(self.update.auxiliary_states(), place / "auxiliaries.pt")
            state = {
                "step": self.step,
                "teacher": self.teacher.state_dict(),
                "objective": self.objective.state_dict(),
            }
            (place / "state.json").write_text(json.dumps(state), encoding="utf-8")

    def _restore(self, checkpoint: Path) -> None:
        with checkpoint_errors(checkpoint):
            state = json.loads((checkpoint / "state.json").read_text(encoding="utf-8"))
            language = load_policy(self.config, checkpoint)
        self._load(language)
        self._prepare(fresh=False)
        update = self.update
        with checkpoint_errors(checkpoint):
            update.optimizer.load_state_dict(torch.load(checkpoint / "optimizer.pt", weights_only=True))
            if update.owns_reference:
                update.reference.load_state_dict(torch.load(checkpoint / "reference.pt", weights_only=True))
            if self.objective.auxiliaries:
                update.load_auxiliary_states(torch.load(checkpoint / "auxiliaries.pt", weights_only=True))
            self.teacher.load_state_dict(state["teacher"])
            self.objective.load_state_dict(state["objective"])
            self.step = int(state["step"])


def apply_overrides(recipe: Recipe, config: TrainConfig) -> Recipe:
    """Apply the configuration's overrides to a recipe."""
    recipe = recipe.with_(**config.stages.given())
    return recipe if config.kl is None else recipe.with_kl(config.kl)
