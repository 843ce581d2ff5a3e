"""Engine with rollout workers on several machines: processes of a Ray cluster, each with a copy of the policy.

A session stays with one worker, whose cache holds the conversation. All workers decode rounds of a few tokens in
parallel, and after each round their completions are collected in the order of the sessions, so that results do not
depend on timing. A worker that is lost, or does not answer, is replaced: a new process replays the rounds of the open
sessions with the same noise, and completions collected before are not reported again. If no node has resources for a
new process, the other workers take over the sessions.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...checks import check_count, check_number
from ...errors import InputError
from .engine import ABILITIES, ENGINES, Engine
from .noise import noise_seed
from .ray_cluster import LOCAL, Cluster, check_address, check_ray
from .sampler import Completion, Request

_logger = logging.getLogger(__name__)
_LOSSES = 3
"""Most losses of a worker in a row, without an answer in between."""


@dataclass(eq=False)
class _Worker:
    """The engine's record of a worker.

    Attributes:
        number: index of the worker.
        actor, place: Ray actor and `ray_worker.Place` of the worker's process; None without a process.
        has_model, version: True if the process has the model; version of its weights, None without weights.
        sessions, busy: open sessions; open sessions with a request in progress.
        orders, fresh: requests and closed sessions for the next round; True if that round starts with an empty engine.
        rounds, results: rounds sent since the engine was empty; their results as far as they are known.
        done: number of ``rounds`` that the current process has played.
        losses: number of losses in a row.
    """

    number: int
    actor: Any = None
    place: Any = None
    has_model: bool = False
    version: int | None = None
    sessions: set[int] = field(default_factory=set)
    busy: set[int] = field(default_factory=set)
    orders: list[Request | int] = field(default_factory=list)
    fresh: bool = True
    rounds: list[Any] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    done: int = 0
    losses: int = 0

    def empty(self) -> None:
        """Clear the history of rounds; the next round starts with an empty engine."""
        self.orders, self.fresh, self.rounds, self.results, self.done = [], True, [], [], 0


@dataclass(eq=False)
class _Conversation:
    """Session of the engine.

    Attributes:
        worker: the worker that plays it.
        ids: tokens so far.
        requests: number of requests so far.
        request: the request in progress, or None.
        known: True if the worker's engine holds ``ids``.
    """

    worker: _Worker
    ids: list[int] = field(default_factory=list)
    requests: int = 0
    request: Request | None = None
    known: bool = False

    def send(self, request: Request) -> None:
        """Add a request that continues the conversation to the worker's next round."""
        self.worker.orders.append(request if self.known else replace(request, ids=(*self.ids, *request.ids)))
        self.known = True


@ENGINES.register("ray")
class RayEngine(Engine):
    """Engine with workers in processes of a Ray cluster, each with a copy of the policy; lost workers are replaced."""

    abilities = frozenset(ABILITIES) - {"truncation", "logits", "soft"}
    copies = True
    interruptible = True

    @classmethod
    def check(
        cls,
        address: str = LOCAL,
        workers: int = 1,
        cpus: float = 1,
        gpus: float = 0,
        patience: float = 300.0,
        tokens: int = 16,
        cache_gb: float | None = None,
    ) -> None:
        from .torch_engine import TorchEngine

        check_address(address)
        check_count("the engine option workers", workers, 1)
        check_number("the engine option cpus", cpus, above=0)
        check_number("the engine option gpus", gpus, 0)
        check_number("the engine option patience", patience, above=0)
        check_count("the engine option tokens", tokens, 1)
        TorchEngine.check(cache_gb)
        check_ray()

    @classmethod
    def serve(
        cls,
        language: Any,
        slots: int,
        max_length: int,
        fp32_head: bool = False,
        address: str = LOCAL,
        workers: int = 1,
        cpus: float = 1,
        gpus: float = 0,
        patience: float = 300.0,
        tokens: int = 16,
        cache_gb: float | None = None,
    ) -> RayEngine:
        """Join or start the cluster. Workers start when the first round is played.

        Args:
            language: the policy, an `agents.language.model.LanguageModel`.
            slots: number of conversations held at the same time, by all workers together.
            max_length: longest conversation in tokens.
            fp32_head: compute logits in single precision.
            address: "local" starts a cluster on this machine, "auto" joins the cluster that this machine belongs to,
                ``HOST:PORT`` joins the cluster with this head node.
            workers: number of worker processes.
            cpus: CPUs of each worker, which computes with as many threads.
            gpus: GPUs of each worker, such as 1 or 0.5; 0: the worker computes on its CPUs.
            patience: time limit for a worker to start, and to play a round, in seconds.
            tokens: decoding steps per round. Answers of all workers are collected after each round.
            cache_gb: memory of each worker for keys and values, GB (1e9 bytes); InputError if it holds no conversation.
        """
        from ..language.decoder import attention_shape, context_limit
        from ..language.head import head_of
        from ..language.precision import product_precision
        from .cache import slots_within
        from .checkpoint import vocabulary_of
        from .ray_worker import WorkerSizes

        share, most = -(-slots // workers), min(max_length, context_limit(language.model))
        if cache_gb is not None:
            slots_within(attention_shape(language.model), most, head_of(language.model).weight, share, cache_gb)
        sizes = WorkerSizes(
            tuple(language.renderer.stop_ids),
            vocabulary_of(language),
            share,
            most,
            fp32_head,
            cache_gb,
            max(1, int(cpus)),
            "cuda" if gpus else "cpu",
            product_precision(),
        )
        weights = sum(weight.numel() * weight.element_size() for weight in language.model.parameters())
        cluster = Cluster(address, workers * cpus, workers * gpus, 4 * weights)
        return cls(language, cluster, sizes, workers, {"num_cpus": cpus, "num_gpus": gpus}, patience, tokens)

    def __init__(
        self,
        language: Any,
        cluster: Cluster,
        sizes: Any,
        workers: int,
        needs: dict[str, float],
        patience: float,
        tokens: int,
    ):
        self._language, self._version = language, None
        self._cluster, self._ray = cluster, cluster.ray
        self._sizes, self._needs, self._patience, self._tokens = sizes, needs, patience, tokens
        self._workers = [_Worker(number) for number in range(workers)]
        self._conversations: dict[int, _Conversation] = {}
        self._model: Any = None  # in the cluster's memory, as the weights are
        self._weights: Any = None

    def follow(self, language: Any) -> None:
        if language is not self._language:
            self._language, self._version, self._model = language, None, None
            for worker in self._workers:
                worker.has_model = False

    def load_weights(self, version: int) -> None:
        """Send the model's current weights to the workers with their next round. No request may be in flight."""
        if version == self._version:
            return
        from .ray_worker import pack_model, pack_weights

        if self._model is None:
            self._model = self._ray.put(pack_model(self._language.model))
        self._weights = self._ray.put(pack_weights(self._language.model))
        self._version = version
        for worker in self._workers:
            worker.version = None
            worker.empty()
        for conversation in self._conversations.values():
            conversation.known = False

    def submit(self, request: Request) -> None:
        """Queue a request. Raises ValueError as in `Request.check`."""
        session, sizes = request.session, (self._sizes.vocabulary, self._sizes.max_length)
        conversation = self._conversations.get(session)
        if conversation is not None:
            request.check(*sizes, len(conversation.ids), conversation.request is not None)
        else:
            request.check(*sizes)
            worker = min(self._workers, key=lambda worker: len(worker.sessions))
            conversation = self._conversations[session] = _Conversation(worker)
        worker = conversation.worker
        if not worker.sessions:
            worker.empty()
        if request.seed is None:
            request = replace(request, seed=noise_seed(self._seed, session, conversation.requests))
        conversation.request = request
        conversation.requests += 1
        worker.sessions.add(session)
        worker.busy.add(session)
        conversation.send(request)

    def step(self, interrupt: Callable[[], bool] = lambda: False) -> list[Completion]:
        """Decode until at least one request finishes, or ``interrupt`` returns True after a round. Return [] if no
        request is in flight."""
        from .ray_worker import Round

        while working := [worker for worker in self._workers if worker.busy]:
            for worker in working:
                worker.rounds.append(Round(tuple(worker.orders), self._tokens, worker.fresh))
                worker.orders, worker.fresh = [], False
            self._play(working)
            results = [worker.results[-1] for worker in working if worker.results]
            found = [completion for result in results for completion in result.completions]
            going_on = any(result.decoding for result in results) or any(worker.orders for worker in self._workers)
            if found or interrupt() or not going_on:
                return [self._finish(completion) for completion in sorted(found, key=lambda each: each.session)]
        return []

    def close(self, session: int) -> None:
        """Forget a session. A request in flight is cancelled."""
        conversation = self._conversations.pop(session, None)
        if conversation is None:
            return
        worker = conversation.worker
        worker.sessions.discard(session)
        worker.busy.discard(session)
        # Drop the session's requests that have not been sent yet.
        worker.orders = [each for each in worker.orders if not isinstance(each, Request) or each.session != session]
        worker.orders.append(session)

    def shut_down(self) -> None:
        for worker in self._workers:
            self._end(worker)
        self._model = self._weights = self._version = None
        self._cluster.close()

    def places(self) -> list[Any]:
        """Return a `ray_worker.Place` for each worker with a process."""
        return [worker.place for worker in self._workers if worker.place is not None]

    def _finish(self, completion: Completion) -> Completion:
        conversation = self._conversations[completion.session]
        request = conversation.request
        assert request is not None
        conversation.worker.busy.discard(completion.session)
        conversation.ids += (*request.ids, *completion.ids)
        conversation.request = None
        return completion

    def _play(self, workers: Sequence[_Worker]) -> None:
        """Let workers play their pending rounds, and replace workers that are lost meanwhile."""
        errors = self._ray.exceptions
        waiting = list(workers)
        while waiting:
            self._start([worker for worker in waiting if worker.actor is None])
            waiting = [worker for worker in waiting if worker.rounds and worker.actor is not None]
            asked = {self._ask(worker): worker for worker in waiting}
            most = self._patience * max((len(worker.rounds) - worker.done for worker in waiting), default=1)
            _, late = self._ray.wait(list(asked), num_returns=len(asked), timeout=most) if asked else ([], [])
            waiting = []
            for answer, worker in asked.items():
                try:
                    if answer in late:
                        raise TimeoutError(f"it did not answer within {most:g} seconds")
                    results = self._ray.get(answer)
                except errors.RayTaskError as error:
                    raise error.as_instanceof_cause() from None
                except (errors.RayError, TimeoutError) as error:
                    self._lose(worker, error)
                    waiting.append(worker)
                else:
                    if not self._take(worker, results):
                        waiting.append(worker)

    def _ask(self, worker: _Worker) -> Any:
        model = None if worker.has_model else self._model
        weights = None if worker.version == self._version else self._weights
        worker.has_model, worker.version = True, self._version
        return worker.actor.play.remote(worker.rounds[worker.done :], model, weights)

    def _take(self, worker: _Worker, results: Sequence[Any]) -> bool:
        """Collect the results of rounds. Return False if a replayed round gave another result than before, which can
        happen on another kind of machine; the worker's open sessions then restart."""
        known = worker.results[worker.done :]
        if known != list(results[: len(known)]):
            self._resend(worker, worker)
            return False
        worker.results += results[len(known) :]
        worker.done = len(worker.rounds)
        worker.losses = 0
        return True

    def _resend(self, worker: _Worker, other: _Worker) -> None:
        """Move the sessions of a worker to another one, or restart them on the same one with an empty engine. Each
        session is sent as one request with the whole conversation."""
        from .ray_worker import Round

        sessions, busy = sorted(worker.sessions), worker.busy
        worker.sessions, worker.busy = set(), set()
        worker.empty()
        for session in sessions:
            conversation = self._conversations[session]
            conversation.worker, conversation.known = other, False
            other.sessions.add(session)
            if session in busy:
                other.busy.add(session)
                assert conversation.request is not None
                conversation.send(conversation.request)
        if worker is other:
            worker.rounds = [Round(tuple(worker.orders), self._tokens, fresh=True)]
            worker.orders, worker.fresh = [], False

    def _lose(self, worker: _Worker, error: Exception) -> None:
        """Kill the process of a worker and count the loss. Raises InputError after more than `_LOSSES` in a row."""
        self._end(worker)
        worker.losses += 1
        reason = str(error).strip().splitlines()[0]
        if worker.losses > _LOSSES:
            raise InputError(
                f"a rollout worker was lost {worker.losses} times in a row ({reason}); see Ray's logs, give workers "
                "less to hold at once or more memory, and go on with --resume."
            ) from error
        _logger.warning("rollout worker %d was lost (%s); its open episodes go on elsewhere", worker.number, reason)

    def _end(self, worker: _Worker) -> None:
        if worker.actor is not None:
            self._ray.kill(worker.actor, no_restart=True)
        worker.actor, worker.place, worker.has_model, worker.version, worker.done = None, None, False, None, 0

    def _start(self, workers: Sequence[_Worker]) -> None:
        """Start the processes of workers. The sessions of a worker for which no node has resources in time move to the
        other workers."""
        if not workers:
            return
        from ... import __version__
        from .ray_worker import RolloutWorker

        # Never restarted by Ray, which does not know which rounds a worker had played.
        make = functools.partial(self._ray.remote(RolloutWorker).options, max_restarts=0, max_task_retries=0)
        kind = make(**self._needs, scheduling_strategy="SPREAD")
        asked = {}
        for worker in workers:
            worker.actor = kind.remote(self._sizes)
            asked[worker.actor.describe.remote()] = worker
        _, late = self._ray.wait(list(asked), num_returns=len(asked), timeout=self._patience)
        for answer, worker in asked.items():
            if answer in late:
                self._end(worker)
                continue
            try:
                worker.place = self._ray.get(answer)
            except self._ray.exceptions.RayError as error:
                self._lose(worker, error)
                continue
            if (version := worker.place.version) != __version__:
                raise InputError(
                    f"a node of {self._cluster.describe()} has palaestra {version} and this machine {__version__}; "
                    "install the same on all."
                )
        for worker in [asked[answer] for answer in late]:
            others = [each for each in self._workers if each is not worker and each.actor is not None]
            cpus, gpus = self._needs["num_cpus"], self._needs["num_gpus"]
            needs = f"{cpus:g} CPUs" + (f" and {gpus:g} GPUs" if gpus else "")
            where = (
                f"{self._cluster.describe()} had no room for a rollout worker ({needs}) for {self._patience:g} seconds"
            )
            if not others:
                raise InputError(
                    f"{where}; start nodes with: ray start --address=HOST:PORT, or take --ray local, and go on with "
                    "--resume."
                )
            _logger.warning("%s; the run goes on with %d workers", where, len(self._workers) - 1)
            self._workers.remove(worker)
            self._resend(worker, min(others, key=lambda each: len(each.sessions)))
