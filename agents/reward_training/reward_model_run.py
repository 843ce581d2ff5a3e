"""Run that trains a reward model in a folder: steps, evaluations on held-out prompts, checkpoints, the saved models.

The folder has the format of every learner (`grpo.run.folder`), and ``pairs.jsonl`` and ``held-out.jsonl`` with the
data. A step depends only on the data, the seed and its number, so that a resumed run writes the same bytes. At the end
``model.safetensors`` holds the model; an ensemble is in ``model-1.safetensors`` and so on.
"""

from __future__ import annotations

import dataclasses
import math
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ...errors import InputError
from ...rewards.audit.ablations import calibration_error
from ...rewards.audit.overoptimisation import best_of_n_curve
from ...rewards.models.losses import pointwise_loss
from ...rewards.models.objectives import OBJECTIVES
from ...rewards.models.peers import share_kept, train_peers
from ...rewards.models.preferences import correct_pairs, preference_strength
from ...rewards.models.recorded_pairs import StepLabel
from ...rewards.models.reward_model import RewardModel, seeded
from ..evaluation import share_interval
from ..grpo.run.folder import RunFolder, checkpoint_errors, newest_checkpoint, refuse_changes
from ..grpo.run.full_paths import with_absolute_paths
from ..grpo.run.observers import Notices, TrainingProgress
from ..language.language_agent import load_model
from ..language.language_encoder import LanguageEncoder
from ..language.model import LanguageModel, resolve_device
from .reward_model_config import PROCESS, RewardModelConfig
from .reward_model_data import RewardModelData, flip_labels, gather, reopen

_STRENGTH_SEED = 1000
"""Difference of the seeds of the models that measure strength from those of the trained ones."""


class RewardModelRun:
    """Run of a reward model, to be made with `start` or `resume`; then call `run`."""

    product = "reward model"

    def __init__(self, config: RewardModelConfig, folder: RunFolder, data: RewardModelData):
        self.config, self.folder, self.data = config, folder, data
        self.step, self._stop = 0, False
        count = 2 if config.peers else config.members
        self.models = [make_reward_model(config, member) for member in range(count)]
        self._optimisers = [model.make_optimiser(config.rate, config.weight_decay) for model in self.models]

    @classmethod
    def start(cls, out: str | Path, config: RewardModelConfig) -> RewardModelRun:
        """Make a new run in a new folder, and gather its data. Raises InputError if the folder is not free."""
        RunFolder.check_free(Path(out))
        config = with_absolute_paths(config)
        folder = RunFolder.create(Path(out), config)
        try:
            run = cls(config, folder, gather(config, folder.path))
            if config.objective != PROCESS:
                run._prepare_pairs()
        except BaseException:
            folder.unlock()
            shutil.rmtree(folder.path)  # nothing in it can be resumed
            raise
        return run

    @classmethod
    def resume(cls, path: str | Path, config: RewardModelConfig | None = None) -> RewardModelRun:
        """Continue a run from its newest checkpoint. Raises InputError if the folder holds no such run, or one with
        other settings than ``config``, of which only ``steps`` may differ."""
        folder, saved = RunFolder.reopen(Path(path), RewardModelConfig, lock=True)
        with folder.unlock_after_error():
            if config is not None:
                config = with_absolute_paths(config)
                refuse_changes(Path(path), config, saved, ("steps",))
                saved = config
            newest = newest_checkpoint(folder.path)
            if newest is None:
                raise InputError(f"{str(path)!r} has no checkpoint yet; remove the folder and start the run again.")
            run = cls(saved, folder, reopen(saved, folder.path))
            with checkpoint_errors(newest):
                state = torch.load(newest / "state.pt", weights_only=True)
                for model, optimiser, one in zip(run.models, run._optimisers, state["models"], strict=True):
                    model.load_state_dict(one["model"])
                    optimiser.load_state_dict(one["optimiser"])
                run.step = int(state["step"])
            if saved.steps < run.step:
                raise InputError(f"{str(path)!r} has taken {run.step} steps already; ask for as many --steps or more.")
            folder.write_config(saved)
            folder.rewind(run.step)
        return run

    def stop(self) -> None:
        """Make `run` save and return after the current step."""
        self._stop = True

    def close(self) -> None:
        """Unlock the folder; `run` does so at its end."""
        self.folder.unlock()

    def run(
        self,
        watch: Callable[[TrainingProgress], None] = lambda progress: None,
        notify: Callable[[str], None] | None = None,
    ) -> bool:
        """Train, evaluate and save. Return False if `stop` ended the run early."""
        config = self.config
        self.folder.lock()
        try:
            if self.step == 0:
                notices = Notices(self.folder) if notify is None else Notices(self.folder, notify)
                what = "labelled steps" if config.objective == PROCESS else "pairs"
                sizes = f"{len(self.data.train)} {what} to learn from, {len(self.data.held_out)} held out."
                notices.add(0, "start", sizes)
                self._evaluate(watch)
                self._save()
            while self.step < config.steps:
                self._train_step(watch)
                last = self.step == config.steps
                if last or (config.eval_every and self.step % config.eval_every == 0):
                    self._evaluate(watch)
                if last or self._stop or self.step % config.checkpoint_every == 0:
                    self._save()
                if self._stop and not last:
                    return False
            for name, model in zip(model_names(len(self.models)), self.models):
                model.save(self.folder.path / name)
            return True
        finally:
            self.close()

    def _prepare_pairs(self) -> None:
        """Flip labels for experiments, smooth, and correct the training pairs by their strength; write them back."""
        config, pairs = self.config, list(self.data.train)
        pairs = flip_labels(pairs, config.noise, config.seed)
        if config.smoothing:
            pairs = [
                pair if pair.smoothing else dataclasses.replace(pair, smoothing=config.smoothing) for pair in pairs
            ]
        if config.strength:
            epochs = max(1, math.ceil(config.steps * config.batch / len(pairs)))
            leads = []
            for number in range(config.strength):
                judge = make_reward_model(config, _STRENGTH_SEED + number)
                judge.fit(pairs, epochs=epochs, batch=config.batch, learning_rate=config.rate, seed=number)
                leads.append(judge.differences(pairs))
            pairs = correct_pairs(pairs, preference_strength(leads).tolist(), config.flip, config.soft)
        if pairs != list(self.data.train):
            self.data = dataclasses.replace(self.data, train=pairs)
            (self.folder.path / "pairs.jsonl").unlink()
            self.folder.append("pairs", [dataclasses.asdict(pair) for pair in pairs])

    def _train_step(self, watch: Callable[[TrainingProgress], None]) -> None:
        config, begun = self.config, time.perf_counter()
        self.step += 1
        parts = self._draw()
        for model in self.models:
            model.train()
        with seeded(config.seed + self.step):  # of dropout
            if config.peers:
                share = share_kept(self.step - 1, config.steps, config.keep)
                found = train_peers(self.models, self._optimisers, parts[0], share)
            else:
                found = []
                for model, optimiser, part in zip(self.models, self._optimisers, parts):
                    optimiser.zero_grad()
                    found.append((backward(model, part, config.objective), len(part)))
                    optimiser.step()
        totals, counts = zip(*found)
        metrics = {"step": self.step, "loss": sum(totals) / sum(counts), "pairs": sum(counts)}
        self.folder.append("metrics", [metrics])
        self.folder.append("timings", [{"step": self.step, "seconds": time.perf_counter() - begun}])
        watch(TrainingProgress("train", self.step, config.steps, metrics))

    def _draw(self) -> list[list[Any]]:
        """Return the batch of each member: the next ones of a new order of the data in each pass, by its seed."""
        items, size = self.data.train, min(self.config.batch, len(self.data.train))
        passes, place = divmod((self.step - 1) * size, len(items) - len(items) % size)
        batches = []
        for member in range(len(self.models)):
            order = np.random.default_rng([self.config.seed, member, passes]).permutation(len(items))
            batches.append([items[index] for index in order[place : place + size]])
        return batches

    def _evaluate(self, watch: Callable[[TrainingProgress], None]) -> None:
        row = {"step": self.step, **evaluate_models(self.models, self.data)}
        self.folder.append("evaluations", [row])
        watch(TrainingProgress("evaluate", self.step, self.config.steps, {"success": row["success"]}))

    def _save(self) -> None:
        with self.folder.checkpoint(self.step) as place:
            pairs = zip(self.models, self._optimisers)
            states = [{"model": model.state_dict(), "optimiser": one.state_dict()} for model, one in pairs]
            torch.save({"step": self.step, "models": states}, place / "state.pt")


def model_names(count: int) -> list[str]:
    """Return the names of the files of a run's models."""
    return ["model.safetensors"] if count == 1 else [f"model-{n}.safetensors" for n in range(1, count + 1)]


def make_reward_model(config: RewardModelConfig, member: int = 0) -> RewardModel:
    """Make an untrained reward model with the encoder of a configuration; members have different seeds.

    Raises:
        InputError: the language model cannot be loaded.
    """
    seed = config.seed + member
    if config.model == "ngrams":
        return RewardModel(hidden=config.hidden, seed=seed)
    language = LanguageModel.tiny(seed) if config.model == "tiny" else load_model(config.model)
    body = language.model if language.adapters is None else language.adapters.merge_and_unload()
    encoder = LanguageEncoder(body.base_model, language.tokenizer.backend_tokenizer, config.context, config.freeze)
    return RewardModel(encoder, hidden=config.hidden, seed=seed).to(resolve_device(config.device))


def backward(model: RewardModel, part: Sequence[Any], objective: str) -> float:
    """Accumulate the gradient of the mean loss of a batch, and return the sum of its losses."""
    if objective != PROCESS:
        return OBJECTIVES[objective](model, part)
    scores = model([item.prompt for item in part], [item.prefix for item in part])
    labels = torch.tensor([float(item.right) for item in part], device=scores.device)
    loss = pointwise_loss(scores, labels).sum()
    (loss / len(part)).backward()
    return float(loss.detach())


def evaluate_models(models: Sequence[RewardModel], data: RewardModelData) -> dict[str, Any]:
    """Evaluate the mean score of the models on held-out data.

    Returns:
        a row of ``evaluations.jsonl``: "success" is the share of pairs that are ordered as labelled (ties count half),
        or of steps on whose side of 0 the score is; "ci" its interval, "calibration_error" of the scores as log-odds,
        "first_error" the share of responses whose first wrong step, or the lack of one, is found (ProcessBench, arXiv
        2412.06559), and "best_of_n" the curve over a player's attempts.
    """

    def score(prompts: Sequence[str], responses: Sequence[str]) -> np.ndarray:
        return np.mean([model.score(prompts, responses) for model in models], axis=0)

    items, found = list(data.held_out), dict[str, Any]()
    prompts = [item.prompt for item in items]
    if isinstance(items[0], StepLabel):
        scores = score(prompts, [item.prefix for item in items])
        leads = np.where([item.right for item in items], scores, -scores)
        found["first_error"] = first_error_rate(items, scores.tolist())
    else:
        leads = score(prompts, [pair.chosen for pair in items]) - score(prompts, [pair.rejected for pair in items])
    right = np.where(leads == 0, 0.5, leads > 0).tolist()
    interval = share_interval(right, clusters=prompts)
    found |= {"split": "test", "episodes": len(items), "success": interval.mean}
    found |= {"ci": [interval.low, interval.high], "calibration_error": calibration_error(leads.tolist())}
    if data.groups:
        proxy = [score(*(list(part) for part in zip(*[one[:2] for one in group]))).tolist() for group in data.groups]
        curve = best_of_n_curve(proxy, [[float(one[2]) for one in group] for group in data.groups])
        found["best_of_n"] = [dataclasses.asdict(point) for point in curve]
    return found


def first_error_rate(labels: Sequence[StepLabel], scores: Sequence[float]) -> float:
    """Return the share of responses whose first wrong step, or the lack of one, is found by the sign of the scores.

    ProcessBench, arXiv 2412.06559.

    Args:
        labels: labels of the steps, those of a response in a row.
        scores: score of each step; below 0 it counts as wrong.
    """
    hits = []
    for start, first in enumerate(labels):
        if first.step == 0:
            rows = range(start, start + first.steps)
            wanted, seen = (
                next((n for n in rows if wrong(n)), None)
                for wrong in (lambda n: not labels[n].right, lambda n: scores[n] < 0)
            )
            hits.append(wanted == seen)
    return sum(hits) / len(hits)
