"""Data collection for updates: synchronous, or ahead of the updates in a background thread.

With a staleness of N, batch k is played by a policy N updates older than in synchronous training: by version max(0, k -
1 - N), where version v is the policy after v updates. The collecting thread begins batch k as soon as that version
exists, so at most N batches are collected ahead (the capacity rule of AReaL, arXiv 2505.24298, section 5.1, in whole
batches). The version depends only on the batch number, never on timing: a run repeats bit for bit. Only the collecting
thread calls the teacher, the environments, the engine, and the recipe's rewards, filters and replay, in the order of
the batches.

A checkpoint contains the collection's state before the first untrained batch, and the older weights that play the
batches collected ahead. A resumed run therefore plays these batches again exactly.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from ...engines.policy_engine import PolicyEngine
from ...language.model import LanguageModel
from ..config import TrainConfig
from ..objective.objective import Objective
from ..objective.split_objective import join_states, load_training_side
from ..run.step_log import StepData
from .policy_weights import place_of_versions, played_version, set_weights, trained_weights
from .task_collector import TaskCollector

VERSION_FILE = "older-{:06d}.safetensors"
"""Name of a checkpoint's file with an older version of the weights."""
PATIENCE = 30.0
"""Seconds that a failed run waits for the batch in progress."""


class StepCollection:
    """Synchronous collection: plays the data of each step on request, with the current policy.

    Args:
        collector: plays, measures and judges.
        training: objective that trains on the data; here the collector's objective.
        language: the policy that is trained.
        policy_engine: the run's engine.
    """

    def __init__(
        self,
        config: TrainConfig,
        collector: TaskCollector,
        training: Objective,
        language: LanguageModel,
        policy_engine: PolicyEngine,
    ):
        self.config, self.collector, self.training = config, collector, training
        self._language, self._policy_engine = language, policy_engine

    def take(self, step: int) -> StepData:
        """Return the data of a step; steps must be taken in order."""
        data = self._collect(step)
        self._policy_engine.sleep()
        return data

    def _collect(self, step: int) -> StepData:
        """Play the teacher's tasks of a step, and draw the groups of its streams."""
        begun, steps = time.perf_counter(), self.config.steps
        self.collector.objective.advance(step, steps)
        self.collector.environments.set_progress(step - 1, steps)
        collected = self.collector.collect(step)
        streams = self.collector.draw(step, collected.played)
        return StepData(collected, streams, dict(self.collector.teacher.metrics()), time.perf_counter() - begun)

    def publish(self, step: int) -> None:
        """Make the policy after ``step`` updates available to the collection; no effect if synchronous."""

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Let only the caller use engine and environments within the context."""
        yield

    def halt(self, failed: bool = False) -> None:
        """Wait for the batch in progress and begin no further one until the next `take`.

        Args:
            failed: wait at most `PATIENCE` seconds, as a hanging environment must not hide the error that ended the
                run.
        """

    def close(self) -> None:
        """End the collection for good, without waiting."""

    def restart(self, step: int) -> None:
        """Continue after ``step``; policy and all other state must have been restored from a checkpoint."""

    def save(self, folder: Path, step: int) -> dict[str, Any]:
        """Return the state for the checkpoint after ``step``; write large data into the folder."""
        past = self.collector.past
        copies = {} if past is None else {"past": past.save(folder)}
        return self._state() | {"objective": self.training.state_dict()} | copies

    def load(self, folder: Path, state: Mapping[str, Any]) -> None:
        """Restore the state that `save` returned; the checkpoint's policy must be loaded already."""
        self.collector.teacher.load_state_dict(state["teacher"])
        self.collector.load_state_dict(state.get("collector", {}))
        self.collector.objective.load_state_dict(state["objective"])
        if self.collector.past is not None:
            self.collector.past.load(folder, state["past"])

    def _state(self) -> dict[str, Any]:
        """Return the state that the collection continues from, without that of the objective."""
        found: dict[str, Any] = {"teacher": self.collector.teacher.state_dict()}
        own = self.collector.state_dict()
        return found | ({"collector": own} if own else {})


class AsynchronousCollection(StepCollection):
    """Collection ahead of the updates in a thread, with a copy of the policy; see the module's docstring.

    Args:
        collector: must have its own objective and its own copy of the policy.
        training: objective of the updates.
    """

    def __init__(
        self,
        config: TrainConfig,
        collector: TaskCollector,
        training: Objective,
        language: LanguageModel,
        policy_engine: PolicyEngine,
    ):
        super().__init__(config, collector, training, language, policy_engine)
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._going = self._busy = self._closed = False
        self._paused = 0
        self._next = 1
        self._ready: dict[int, StepData] = {}
        self._error: BaseException | None = None
        self._saved = ""  # the state after the step taken last; "" before the first
        self._place = place_of_versions(language, config.staleness)
        self._versions = {0: trained_weights(language, self._place)}

    # The updates' side ------------------------------------------------------------------------------------------------

    def take(self, step: int) -> StepData:
        """Wait for the data of a step.

        Raises:
            RuntimeError: the collection is closed.
            Exception: the exception that ended the collection, once the steps before it have been taken.
        """
        if self._closed:
            raise RuntimeError("the run was closed; resume it with Learner.resume.")
        begun = time.perf_counter()
        self.training.advance(step, self.config.steps)
        with self._changed:
            self._going = True
            if self._thread is None:
                # A daemon: a hanging environment must not keep the process from ending.
                self._thread = threading.Thread(target=self._work, name="collection", daemon=True)
                self._thread.start()
            self._changed.notify_all()
            self._changed.wait_for(lambda: step in self._ready or self._error is not None)
            if step not in self._ready:
                assert self._error is not None
                raise self._error
            data = self._ready.pop(step)
        self._saved = data.state
        return replace(data, waits={**data.waits, "update_wait_s": time.perf_counter() - begun})

    def publish(self, step: int) -> None:
        weights = trained_weights(self._language, self._place)
        with self._changed:
            self._versions[step] = weights
            # The oldest version that is kept plays the next batch to train on.
            for old in [each for each in self._versions if each < played_version(step + 1, self.config.staleness)]:
                del self._versions[old]
            self._changed.notify_all()

    @contextmanager
    def pause(self) -> Iterator[None]:
        with self._changed:
            self._paused += 1
        try:
            with self._changed:
                self._changed.wait_for(lambda: not self._busy)
            yield
        finally:
            with self._changed:
                self._paused -= 1
                self._changed.notify_all()

    def halt(self, failed: bool = False) -> None:
        with self._changed:
            self._going = False
            self._changed.wait_for(lambda: not self._busy, PATIENCE if failed else None)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def restart(self, step: int) -> None:
        weights = trained_weights(self._language, self._place)
        with self._changed:
            first = played_version(step + 1, self.config.staleness)
            self._versions = dict.fromkeys(range(first, step + 1), weights)
            self._next = step + 1

    # Checkpoints ------------------------------------------------------------------------------------------------------

    def save(self, folder: Path, step: int) -> dict[str, Any]:
        from safetensors.torch import save_file

        with self._changed:
            first = played_version(step + 1, self.config.staleness)
            older = {version: self._versions[version] for version in range(first, step)}
        for version, weights in older.items():
            save_file(weights, folder / VERSION_FILE.format(version))
        state = json.loads(self._saved or self._pack_state())
        return state | {"objective": join_states(state["objective"], self.training)}

    def load(self, folder: Path, state: Mapping[str, Any]) -> None:
        from safetensors.torch import load_file

        super().load(folder, state)
        load_training_side(self.training, state["objective"])
        step = int(state["step"])
        self.restart(step)
        for version in range(played_version(step + 1, self.config.staleness), step):
            self._versions[version] = load_file(folder / VERSION_FILE.format(version))

    def _pack_state(self) -> str:
        return json.dumps(self._state() | {"objective": self.collector.objective.state_dict()})

    # The thread -------------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        torch.set_num_threads(self.config.threads or torch.get_num_threads())
        try:
            while (waited := self._wait_for_capacity()) is not None:
                self._play(waited)
        except BaseException as error:  # of any kind, as the updates must not wait for ever
            with self._changed:
                self._error, self._busy = error, False
                self._changed.notify_all()

    def _wait_for_capacity(self) -> float | None:
        """Wait until the next batch may begin. Return the seconds waited; None if the collection is closed."""
        begun = time.perf_counter()

        def may_begin() -> bool:
            free = self._going and not self._paused and self._next <= self.config.steps
            return self._closed or (free and played_version(self._next, self.config.staleness) in self._versions)

        with self._changed:
            # The thread stays alive after the last batch, as processes that it has started may end with it.
            self._changed.wait_for(may_begin)
            self._busy = not self._closed
            return time.perf_counter() - begun if self._busy else None

    def _play(self, waited: float) -> None:
        step, collector = self._next, self.collector
        with self._changed:
            weights = self._versions[played_version(step, self.config.staleness)]
        set_weights(collector.language, weights)
        collector.follow_policy()
        data = self._collect(step)
        data = replace(data, waits={"collection_wait_s": waited}, state=self._pack_state())
        with self._changed:
            self._ready[step], self._next, self._busy = data, step + 1, False
            self._changed.notify_all()
