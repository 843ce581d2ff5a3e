"""Training loop: proposals, rollouts, updates, logs, checkpoints.

All randomness of step t is derived from (seed, t), so a run continued from a checkpoint repeats exactly the steps that
it would have taken without the interruption.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ...errors import InputError
from ...schedules import describe_jump, read_schedule
from ..engines.policy_engine import PolicyEngine
from ..evaluation import Report
from ..language.model import LanguageModel, resolve_device
from .collection.asynchronous import AsynchronousCollection, StepCollection
from .collection.policies import episodes_of, load_policies, make_policies, save_policies
from .collection.policy_weights import separate_models
from .collection.reward_attacks import attack_run
from .collection.task_collector import TaskCollector
from .config import TrainConfig
from .objective.notices import recipe_notices
from .optimizers import learning_rate
from .ranks.leader import Ranks, single_process_passes
from .rollouts.context_check import check_context, token_limits
from .run.collapse import SuccessWatch
from .run.defaults import choose_prompt_form, describe_defaults, precision_notices, take_open_values
from .run.durations import DurationLog
from .run.folder import RunFolder, checkpoint_errors, find_checkpoint, newest_checkpoint, refuse_changes
from .run.full_paths import with_absolute_paths
from .run.health import DeadRun, Health, StepSigns
from .run.models import add_missing_adapters, load_policy, load_teacher
from .run.observers import Notices, TrainingProgress
from .run.step_log import write_step
from .run.trackers import Tracker, evaluation_values, trackers_for
from .run_parts import check_config, make_parts, make_practice_teacher
from .update import Update
from .warmup import measure_variance, run_warm_up, solution_texts

FREE = ("patience", "collapse", "engine", "engine_options", "ray", "workers", "env_processes")
"""Fields of the configuration that may differ when a run is resumed."""


class Learner:
    """One run. Create it with `start` or `resume`, then call `run`.

    Args:
        policy_engine: engine to reuse, of another `Learner`; None makes one.
        ranks: further processes that share the update.

    Raises:
        InputError: the configuration names an unknown component, or its recipe cannot work; raised before a model is
            loaded or anything is written.
    """

    folder: RunFolder

    def __init__(self, config: TrainConfig, policy_engine: PolicyEngine | None = None, ranks: Ranks | None = None):
        self.config, self.ranks = config, ranks
        self.recipe = check_config(config, ranks is not None)
        if config.threads:
            torch.set_num_threads(config.threads)
        self.policy_engine = policy_engine or PolicyEngine(*config.serving)
        self.parts = make_parts(config, self.recipe, self.policy_engine, ranks is not None)
        schedule = read_schedule(config.lr_schedule, config.lr_end)
        self._rate = partial(learning_rate, lr=config.lr, warmup=config.lr_warmup, schedule=schedule)
        self.health = Health(config.patience)
        self.collapse = SuccessWatch(config.collapse)
        self.step, self._stop = 0, False
        self._jump: list[str] = []
        self._trackers: list[Tracker] = []

    @classmethod
    def start(cls, out: str | Path, config: TrainConfig, ranks: Ranks | None = None) -> Learner:
        """Create a new run in the folder ``out``, which must be new or empty."""
        config = with_absolute_paths(config)
        settled = {"threads": config.threads or torch.get_num_threads(), "device": resolve_device(config.device)}
        config = dataclasses.replace(config, **settled, prompt_form=choose_prompt_form(config))
        RunFolder.check_free(Path(out))
        learner = cls(config, ranks=ranks)
        learner._load(load_policy(config, texts=solution_texts(learner.parts.environments, config.seed)))
        learner.folder = RunFolder.create(Path(out), learner.config)
        return learner

    @classmethod
    def resume(cls, path: str | Path, config: TrainConfig | None = None, ranks: Ranks | None = None) -> Learner:
        """Continue a run from its newest checkpoint, or from the start if it has none.

        Args:
            config: the configuration that the caller expects; it may differ from the saved one only in a larger
                ``steps`` and the fields `FREE`.

        Raises:
            InputError: the folder contains no run, or a run with another configuration.
        """
        folder, saved = RunFolder.reopen(Path(path), lock=True)
        planned = saved.steps
        with folder.unlock_after_error():
            if config is not None:
                saved = with_absolute_paths(saved)
                config = take_open_values(with_absolute_paths(config), saved)
                refuse_changes(Path(path), config, saved, ("steps", *FREE))
                saved = config
            learner = cls(saved, ranks=ranks)
            learner.folder = folder
            newest = newest_checkpoint(folder.path)
            if newest is None:
                texts = solution_texts(learner.parts.environments, saved.seed)
                learner._load(load_policy(saved, folder.newest_warm_up(), texts))
            else:
                learner._restore(newest)
            if saved.steps < learner.step:
                raise InputError(f"'{path}' has taken {learner.step} steps already; ask for as many --steps or more.")
            learner._jump = describe_jump("learning rate", learner._rate, learner.step, planned, saved.steps)
            folder.write_config(learner.config)
            folder.rewind(-1 if newest is None else learner.step)
            return learner

    @classmethod
    def inspect(cls, path: str | Path) -> Learner:
        """Load the newest checkpoint of a run for measurements; nothing in the folder is changed.

        Raises:
            InputError: the folder contains no run, or no checkpoint.
        """
        folder, saved = RunFolder.reopen(Path(path))
        newest = newest_checkpoint(folder.path)
        if newest is None:
            raise InputError(f"{str(path)!r} has no checkpoint yet; wait for the first.")
        learner = cls(saved.in_one_process())
        learner.folder = folder
        learner._restore(newest)
        return learner

    @property
    def language(self) -> LanguageModel:
        """The policy."""
        return self.parts.language

    def stop(self) -> None:
        """Make `run` save a checkpoint and return after the current step."""
        self._stop = True

    def close(self) -> None:
        """End the processes of engine and environments, and unlock the folder."""
        if hasattr(self.parts, "collection"):
            self.parts.collection.close()
        self.policy_engine.shut_down()
        self.parts.evaluations.close()
        if hasattr(self, "folder"):
            self.folder.unlock()

    def run(
        self,
        watch: Callable[[TrainingProgress], None] = lambda progress: None,
        notify: Callable[[str], None] | None = None,
    ) -> bool:
        """Warm up, train and evaluate. Return False if `stop` ended the run early.

        Args:
            watch: called after each step and evaluation.
            notify: called with each notice for the user, which is also stored in the folder; by default notices are
                logged as warnings.

        Raises:
            DeadRun: signs that the run cannot learn lasted longer than its patience; it can be resumed with more
                patience.
        """
        self.folder.lock()
        self._notices = Notices(self.folder) if notify is None else Notices(self.folder, notify)
        self._trackers = trackers_for(self.config, self.folder.path, self.step)
        try:
            return self._run(watch)
        finally:
            if hasattr(self.parts, "collection") and sys.exc_info()[0] is not KeyboardInterrupt:
                self.parts.collection.halt(failed=sys.exc_info()[0] is not None)
            for tracker in self._trackers:
                tracker.close()
            self.folder.unlock()

    def _run(self, watch: Callable[[TrainingProgress], None]) -> bool:
        config = self.config
        opening = [*precision_notices(config), *recipe_notices(self.recipe, config)]
        if self.step or newest_checkpoint(self.folder.path) is not None:
            chosen = [] if config.model == "tiny" else self._notices.read("start")[:1]
            self._notices.repeat([*chosen, *opening])
            self._notices.add(self.step, "resume", *self._jump)
        else:
            if config.model != "tiny":
                self._notices.add(0, "start", describe_defaults(config))
            self._notices.add(0, "start", *opening)
            limits, environments = token_limits(config), self.parts.environments
            with self.folder.measure_time(0, "warmup_s"):
                places = (self.folder, self.language, environments, config, limits)
                if not run_warm_up(*places, watch, lambda: self._stop):
                    return False
            if config.warmup.most_steps(config.model) and config.samples > 1:
                sizes = (limits, config.samples, config.temperature)
                variance = measure_variance(self.language, environments, config.seed, *sizes)
                self._notices.add(0, "health", *variance.describe(config.warmup))
            self.parts.language = add_missing_adapters(config, self.language)
            self._prepare()
            self._evaluate(watch, config.final_episodes)
            self.collapse.add_checkpoint(0)
            self._save()
        while self.step < config.steps:
            metrics = self._train_step(watch)
            last = self.step == config.steps
            self._check_health(metrics, last)
            returned = self._check_collapse()
            if last:
                metrics["validation"] = self._evaluate(watch, config.final_episodes)
            elif config.eval_every and self.step % config.eval_every == 0:
                metrics["validation"] = self._evaluate(watch, config.eval_episodes)
            self.parts.update.move_reference(self.step, metrics)
            self.parts.collection.publish(self.step)
            regular = returned or self.step % config.checkpoint_every == 0
            if regular:
                self.collapse.add_checkpoint(self.step)
            if regular or last or self._stop:
                self._save()
            if self._stop and not last:
                return False
        return True

    # One step --------------------------------------------------------------------------------------------------------

    def _train_step(self, watch: Callable[[TrainingProgress], None]) -> dict[str, float]:
        config, update = self.config, self.parts.update
        self.step += 1
        data = self.parts.collection.take(self.step)
        collected = data.collected
        begun = time.perf_counter()
        weights = update.update_reward_weights(collected.groups)
        rate, policies = self._rate(self.step, config.steps), self.parts.policies
        own = episodes_of(collected.trainable) if policies else collected.trainable
        tally, updates = update.run(own, data.streams, rate)
        for policy in policies.values():
            updates = {**updates, **policy.train(collected.trainable, self.step, rate * policy.config.lr / config.lr)}
        seconds = time.perf_counter() - begun
        if config.audit_every and self.step % config.audit_every == 0:
            with self.parts.collection.pause():
                updates = {**updates, **attack_run(self.parts.collector, collected.groups, self.step)}
        places = {"environments": self.parts.environments, "folder": self.folder, "trackers": self._trackers}
        metrics, speed = write_step(
            self.step, data, tally, updates, weights, seconds, config=config, update=update, **places
        )
        self._notices.report_overlong(self.step, collected.overlong, len(collected.played), config.context)
        watch(TrainingProgress("train", self.step, config.steps, {**metrics, "tokens_per_s": speed}))
        signal = update.has_signal or any(policy.has_signal for policy in policies.values())
        self._signs = StepSigns.of(collected.groups, metrics, signal)
        return metrics

    def _check_health(self, metrics: Mapping[str, float], last: bool) -> None:
        """Report signs that the run cannot learn; raise DeadRun if the patience is used up."""
        memory = self.parts.update.passes.memory.take_notices()
        self._notices.add(self.step, "health", *memory, *self.health.observe(self._signs))
        if (verdict := self.health.verdict(last)) is not None:
            name, sentence = verdict
            self._notices.add(self.step, "end", sentence)
            if name not in ("nonfinite", "skipped"):
                # The weights are intact; with more patience the run can be resumed from here.
                self.health.restart()
                self.parts.update.move_reference(self.step, metrics)
                self._save()
            raise DeadRun(sentence)
        if last:
            self._notices.add(self.step, "health", *self.health.conclude())

    def _check_collapse(self) -> bool:
        """Report a collapse. Return True if the run has been restored to an earlier checkpoint.

        Then policy, optimiser, teacher and components are restored; the step count, and with it the random numbers,
        continues.
        """

        def play_again(tasks: Sequence[Mapping[str, Any]], episodes: int) -> list[bool]:
            with self.parts.collection.pause():
                return self.parts.evaluations.play_again(self.language, self.step, tasks, episodes)

        back, sentences = self.collapse.check(self.step, self._signs, self.folder, play_again)
        self._notices.add(self.step, "health", *sentences)
        if back is None:
            return False
        self.parts.collection.halt()
        self.parts.collection.close()
        earlier = Learner(self.config, self.policy_engine, self.ranks)
        earlier.folder = self.folder
        # Frees memory before the restored models are loaded.
        del self.parts.language, self.parts.update, self.parts.collector, self.parts.collection
        earlier._restore(find_checkpoint(self.folder.path, str(back)))
        self.parts.evaluations.close()  # the restored parts start their own evaluation processes
        self.parts = earlier.parts
        self.parts.collection.restart(self.step)
        self.health.restart()
        return True

    # Evaluation, saving, loading ------------------------------------------------------------------------------------

    def evaluate(
        self, episodes: int, seed: int = 0, split: str = "test", greedy: bool = False, family: str | None = None
    ) -> Report:
        """Evaluate on tasks spread evenly over the trained range of difficulty, played as in training.

        Args:
            greedy: take the likeliest tokens instead of sampling at the training temperature.
            family: name of the one environment of a mixture to evaluate on; None draws environments by their weights.
        """
        with self.parts.collection.pause() if hasattr(self.parts, "collection") else nullcontext():
            return self.parts.evaluations.evaluate(self.language, self.step, episodes, seed, split, greedy, family)

    def _evaluate(self, watch: Callable[[TrainingProgress], None], episodes: int) -> float:
        with self.parts.collection.pause(), self.folder.measure_time(self.step, "evaluation_s"):
            row = self.parts.evaluations.row(self.language, self.step, episodes)
            if others := {name: each.voice for name, each in self.parts.policies.items() if each.update is not None}:
                row["policies"] = self.parts.evaluations.rows_of(others, self.step, episodes)
        self.folder.append("evaluations", [row])
        for tracker in self._trackers:
            tracker.log(self.step, evaluation_values(row))
        best = self.folder.best_success()
        if row["success"] > (-1.0 if best is None else best):
            with self.folder.best_checkpoint(self.step, row["success"]) as place:
                self.language.save(place)
        watch(TrainingProgress("evaluate", self.step, self.config.steps, {"success": row["success"]}))
        return row["success"]

    def _load(self, language: LanguageModel) -> None:
        """Set the policy, load the model to distil from, and check that the context leaves space for an action."""
        self.config = config = dataclasses.replace(self.config, chat_options=dict(language.renderer.options))
        self.parts.language = language
        self.parts.distilled = None if config.teacher_model is None else load_teacher(config, language)
        check_context(self.parts.environments, language, token_limits(config), config.max_overlong)

    def _prepare(self, checkpoint: Path | None = None) -> None:
        """Create the update and the collection; the policy must have been warmed up or restored.

        Args:
            checkpoint: the checkpoint that the run is restored from; None prepares the sources of streams.
        """
        config, parts, teacher = self.config, self.parts, self.parts.distilled
        if config.role_policies:
            parts.policies = make_policies(config, self.language, parts.environments.supplies, checkpoint)
        if parts.objective.logit_rule is not None:
            parts.objective.logit_rule.open(self.language)
        parts.evaluations.thinking = parts.objective.thinking.target.open(self.language.tokenizer)
        reference = self.language.reference().model if parts.needs & {"logp_ref", "kl_ref"} else None
        model, distilled, vocabulary = self.language.model, teacher and teacher.model, len(self.language.tokenizer)
        played, measured, kind = self.language, reference, StepCollection
        if config.staleness:
            splits = self.ranks is not None and self.ranks.splits
            played, measured, distilled = separate_models(played, reference, distilled, splits)
            kind = AsynchronousCollection
        held = partial(self.policy_engine.measure_held, ahead=config.staleness > 0)
        update = Update(config, parts.objective, model, reference, distilled, vocabulary, self.ranks, held)
        passes = single_process_passes(update.passes) if config.staleness else update.passes
        places = (parts.environments, parts.teacher, played, teacher, passes, measured, parts.rewriter)
        engine, spare = self.policy_engine, update.pending_bytes
        parts.update = update
        durations = DurationLog(self.folder) if "seconds" in parts.objective.needs else None
        parts.collector = TaskCollector(config, parts.collecting, *places, engine, spare, parts.policies, durations)
        parts.collection = kind(config, parts.collector, parts.objective, self.language, engine)
        if checkpoint is None:
            parts.collector.prepare_streams()

    def _save(self) -> None:
        keep = self.collapse.checkpoints if self.config.collapse.returns else ()
        with self.folder.checkpoint(self.step, keep) as place:
            self.language.save(place)
            self.parts.update.save(place)
            collection = self.parts.collection.save(place, self.step)
            state = {
                "step": self.step,
                "teacher": collection.pop("teacher"),
                "objective": collection.pop("objective"),
                "health": self.health.state_dict(),
                "collapse": self.collapse.state_dict(),
                **collection,
                **({"policies": save_policies(self.parts.policies, place)} if self.parts.policies else {}),
            }
            (place / "state.json").write_text(json.dumps(state), encoding="utf-8")

    def _restore(self, checkpoint: Path) -> None:
        with checkpoint_errors(checkpoint):
            state = json.loads((checkpoint / "state.json").read_text(encoding="utf-8"))
            known = tuple(state["teacher"]["settings"]["return_range"])
        language = load_policy(self.config, checkpoint)
        if known != self.parts.teacher.return_range:  # earlier versions did not ask the environments
            environments = self.parts.environments
            self.parts.teacher = make_practice_teacher(self.config, environments, return_range=known)
        self._load(language)
        self._prepare(checkpoint)
        with checkpoint_errors(checkpoint):
            self.parts.update.load(checkpoint)
            self.parts.collection.load(checkpoint, state)
            load_policies(self.parts.policies, checkpoint, state.get("policies", {}))
            for name in ("health", "collapse"):
                if name in state:  # not in checkpoints of earlier versions
                    getattr(self, name).load_state_dict(state[name])
            self.step = int(state["step"])
