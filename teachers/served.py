"""One teacher for environments in several processes: its owner's process serves it, and workers send requests.

    with serve(make("alp-gmm", space, seed=0)) as teacher:
        envs = AsyncVectorEnv([lambda: TeacherWrapper(gym.make("palaestra/Countdown-v0"), teacher)] * 4)

A thread of the owner answers requests one after another over a local socket. Workers hold a `TeacherHandle`, which is
picklable and stateless, so that forked and spawned workers (`AsyncVectorEnv`, Stable-Baselines3's `SubprocVecEnv`) and
Ray tasks and actors all use it. A worker that dies loses only the proposals it held.
"""

from __future__ import annotations

import contextlib
import math
import os
import secrets
import socket
import sys
import threading
import traceback
import weakref
from collections.abc import Mapping, Sequence
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener, answer_challenge, deliver_challenge
from typing import Any

import numpy as np

from ..errors import InputError
from .protocol import Outcome, Proposal, Teacher

MOVING = ("propose", "observe", "sample", "update")  # requests on which later proposals depend
READING = ("distribution", "metrics")


def serve(
    teacher: Teacher, *, host: str | None = None, record: bool = False, order: Sequence[str] | None = None
) -> ServedTeacher:
    """Serve a teacher to workers in other processes until `ServedTeacher.close`, or the end of the ``with`` block.

    Args:
        teacher: the teacher, including its combinators and budgets; only the server uses it until it is closed.
        host: name or address of this machine for workers on other machines; None serves only workers on this machine.
        record: keep the order in which workers were served, in `ServedTeacher.order`.
        order: a recorded order to repeat. Each request waits for its turn, so that workers that play the same
            episodes get the same proposals again at any speed. After the end of the order, requests are served as they
            arrive. Every worker then needs a unique name (see `ServedTeacher.handle`).

    Raises:
        InputError: ``teacher`` is no teacher.
        OSError: ``host`` is no address of this machine.
    """
    return ServedTeacher(teacher, host=host, record=record, order=order)


class ServedTeacher:
    """A teacher that threads of this process serve to workers; made by `serve`. Pickling it gives a `TeacherHandle`."""

    def __init__(
        self, teacher: Teacher, *, host: str | None = None, record: bool = False, order: Sequence[str] | None = None
    ):
        if not isinstance(teacher, Teacher):
            raise InputError(f"serve takes a teacher from palaestra.teachers.make, not {teacher!r}.")
        self._teacher = teacher
        self._process = os.getpid()
        self._plan = None if order is None else list(order)
        self._log: list[str] | None = [] if record else None
        self._moves = 0  # requests served on which later proposals depend
        self._turn = threading.Condition()  # guards everything here
        self._held: dict[str, dict[int, Proposal]] = {}  # worker -> the proposals it plays
        self._returned: dict[str, list[Proposal]] = {}  # worker -> proposals it held when the loaded state was saved
        self._connections: dict[Connection, str] = {}
        self._gone: set[str] = set()  # workers that were connected, and are no longer
        self._threads: set[threading.Thread] = set()
        self._closed = False
        key = secrets.token_bytes(32)
        self._listener = Listener(_local_address() if host is None else (host, 0), backlog=128)
        address: Any = self._listener.address
        self._door = (address if host is None else (host, address[1]), key)
        self._accepting = threading.Thread(target=self._accept, name="served-teacher", daemon=True)
        self._accepting.start()
        _SERVED.add(self)

    def handle(self, worker: str = "") -> TeacherHandle:
        """Return a picklable handle for one worker.

        Args:
            worker: unique name, such as the worker's index. After a restore, a worker gets the proposals that the
                worker of the same name held when the state was saved; workers without a name share their proposals.
        """
        return TeacherHandle(*self._door, str(worker), self._teacher.needs, self._teacher.return_range)

    @property
    def order(self) -> list[str]:
        """Worker names in the order in which their requests were served; needs ``record=True``."""
        if self._log is None:
            raise InputError("the order of requests was not recorded; use serve(teacher, record=True).")
        with self._own():
            return list(self._log)

    def metrics(self) -> dict[str, float]:
        """Return the teacher's metrics, and "workers", the number of connected workers."""
        with self._own():
            return {**self._teacher.metrics(), "workers": float(len(self._connections))}

    def state_dict(self) -> dict[str, Any]:
        """Return the teacher's state, and the proposals that workers hold, as JSON-able values."""
        with self._own():
            held = [(worker, proposal) for worker, waiting in self._returned.items() for proposal in waiting]
            held += [(worker, proposal) for worker, ids in self._held.items() for proposal in ids.values()]
            state = self._teacher.state_dict()
            awaited = {id for id, _ in state["in_flight"]}
            held = sorted((pair for pair in held if pair[1].id in awaited), key=lambda pair: pair[1].id)
            saved = [[worker, _save_proposal(proposal)] for worker, proposal in held]
            return {"teacher": state, "held": saved, "moves": self._moves}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where `state_dict` was taken; must be called before any worker has a proposal.

        A worker that held a proposal is given that proposal first, and plays its episode anew. With ``order=``, the
        order continues from the request at which the state was taken.

        Raises:
            InputError: workers hold proposals already, or the state is of another teacher or damaged.
        """
        with self._own():
            if any(self._held.values()):
                raise InputError("workers hold proposals already; load the state before they start.")
            if missing := sorted({"teacher", "held", "moves"} - set(state)):
                raise InputError(f"this is no state of a served teacher: it lacks {', '.join(missing)}.")
            returned: dict[str, list[Proposal]] = {}
            for worker, saved in state["held"]:
                returned.setdefault(worker, []).append(_load_proposal(saved))
            self._teacher.load_state_dict(state["teacher"])
            self._returned, self._moves = returned, int(state["moves"])
            self._turn.notify_all()

    def close(self) -> None:
        """Stop serving, and release the thread, socket and files. The owner may use the teacher directly again.

        Later requests of workers raise InputError.
        """
        with self._own():
            closed, self._closed = self._closed, True
            self._turn.notify_all()
        if closed:
            return
        # A thread in `accept` or `recv` does not notice that another one closes the socket: wake it first.
        address = self._door[0]
        family = socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX
        with contextlib.suppress(OSError), socket.socket(family) as knock:
            knock.connect(address)
        self._accepting.join()
        self._listener.close()
        with self._turn:
            connections, threads = list(self._connections), list(self._threads)
        for connection in connections:
            _hang_up(connection)
        for thread in threads:
            thread.join()

    def __enter__(self) -> ServedTeacher:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return self.handle().__reduce__()

    def _own(self) -> threading.Condition:
        """Return the lock. Raises InputError outside the owner's process: in a fork it may stay locked for ever."""
        if os.getpid() != self._process:
            raise InputError("this process does not own the served teacher; use its handle() here.")
        return self._turn

    def _accept(self) -> None:
        while not self._closed:
            with contextlib.suppress(OSError):  # the worker has died while it connected
                connection: Any = self._listener.accept()
                with self._turn:
                    self._connections[connection] = ""
                    thread = threading.Thread(
                        target=self._attend, args=(connection,), name="served-teacher", daemon=True
                    )
                    thread.start()
                    self._threads = {*filter(threading.Thread.is_alive, self._threads), thread}

    def _attend(self, connection: Connection) -> None:
        """Answer one worker until it hangs up."""
        worker = ""
        try:
            # Not in `accept`, where one worker that does not answer would keep out all others.
            deliver_challenge(connection, self._door[1])
            answer_challenge(connection, self._door[1])
            worker = connection.recv()
            with self._turn:
                self._connections[connection] = worker
                self._gone.discard(worker)
            while not self._closed:
                connection.send(self._answer(worker, *connection.recv()))
        except (EOFError, OSError, AuthenticationError):
            pass  # the worker has disconnected or died, or the connection is not from a worker
        finally:
            with self._turn:
                del self._connections[connection]
                if worker not in self._connections.values():
                    self._held.pop(worker, None)
                    self._gone.add(worker)
                self._turn.notify_all()
            connection.close()

    def _answer(self, worker: str, request: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
        """Answer a request with (True, result), or with (False, error), which `TeacherHandle` raises in the worker."""
        try:
            with self._turn:
                if request in READING:
                    return True, getattr(self._teacher, request)()
                held = self._held.setdefault(worker, {})
                if request == "drop":
                    return True, held.pop(arguments[0], None) and None
                if request == "propose":
                    return True, self._propose(worker, held, *arguments)
                result = self._move(worker, request, arguments, options)
                if request == "observe":
                    for outcome in arguments[0]:
                        held.pop(outcome.id, None)
                return True, result
        except Exception as error:
            if not isinstance(error, InputError):
                error.add_note("".join(traceback.format_exception(error)))
            return False, error

    def _propose(self, worker: str, held: dict[int, Proposal], k: int) -> list[Proposal]:
        waiting = self._returned.get(worker, [])
        proposals, waiting[:] = waiting[:k], waiting[k:]
        if len(proposals) < k:
            proposals += self._move(worker, "propose", (k - len(proposals),), {})
        held.update((proposal.id, proposal) for proposal in proposals)
        while len(held) > self._teacher.max_in_flight:
            del held[next(iter(held))]
        return proposals

    def _move(self, worker: str, request: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
        """Make a call on which later proposals depend, once it is the worker's turn in a recorded order."""
        if request not in MOVING:
            raise InputError(f"a served teacher has no {request!r}; it answers {', '.join(MOVING + READING)}.")
        self._turn.wait_for(lambda: self._closed or self._is_next(worker))
        if self._closed:
            raise InputError("the teacher is served no longer.")
        self._moves += 1
        if self._log is not None:
            self._log.append(worker)
        try:
            return getattr(self._teacher, request)(*arguments, **options)
        finally:
            self._turn.notify_all()

    def _is_next(self, worker: str) -> bool:
        if self._plan is None:
            return True
        while self._moves < len(self._plan) and self._plan[self._moves] in self._gone:
            self._moves += 1  # nobody is left to take that turn
        return self._moves >= len(self._plan) or self._plan[self._moves] == worker

    def _close_sockets(self) -> None:
        """Close the sockets in a forked child, where open copies would hide the owner's death from other workers."""
        self._listener.close()
        for connection in list(self._connections):
            connection.close()


class TeacherHandle:
    """A worker's access to a served teacher: the methods of `Teacher`, answered by the process that serves it.

    Made by `ServedTeacher.handle`. The handle connects on first use, in whichever process uses it, and may be pickled,
    copied and forked. When the handle is closed or deleted, the connection ends and its proposals are lost.

    Attributes:
        needs: as in `Teacher`.
        return_range: as in `Teacher`.
    """

    def __init__(self, address: Any, key: bytes, worker: str, needs: frozenset[str], return_range: tuple[float, float]):
        self.needs, self.return_range = needs, return_range
        self._address, self._key, self._worker = address, key, worker
        self._process, self._lock = os.getpid(), threading.Lock()
        self._connection: Connection | None = None

    def handle(self, worker: str = "") -> TeacherHandle:
        """Return a handle for another worker, as `ServedTeacher.handle` does in the owner's process."""
        return TeacherHandle(self._address, self._key, str(worker), self.needs, self.return_range)

    def propose(self, k: int) -> list[Proposal]:
        """See `Teacher.propose`."""
        return self._request("propose", k)

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """See `Teacher.observe`."""
        self._request("observe", list(outcomes))

    def sample(self) -> Any:
        """See `Teacher.sample`."""
        return self._request("sample")

    def update(self, task: Any, ret: float | Sequence[float], **options: Any) -> None:
        """See `Teacher.update`."""
        self._request("update", task, ret, **options)

    def distribution(self) -> np.ndarray | None:
        """See `Teacher.distribution`."""
        return self._request("distribution")

    def metrics(self) -> dict[str, float]:
        """See `Teacher.metrics`."""
        return self._request("metrics")

    def drop(self, proposal: Proposal) -> None:
        """Give up a proposal whose outcome will never come, so that a restored state does not hand it out again."""
        self._request("drop", proposal.id)

    def close(self) -> None:
        """Close the connection. Proposals of this worker are lost; a later request connects anew."""
        if self._connection is not None and self._process == os.getpid():
            self._connection.close()
        self._connection = None

    def __reduce__(self) -> tuple[Any, ...]:
        return TeacherHandle, (self._address, self._key, self._worker, self.needs, self.return_range)

    def _request(self, name: str, *arguments: Any, **options: Any) -> Any:
        if self._process != os.getpid():  # forked: the connection is the parent's, and so may be whoever holds the lock
            self._process, self._lock, self._connection = os.getpid(), threading.Lock(), None
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = Client(self._address, authkey=self._key)
                    self._connection.send(self._worker)
                self._connection.send((name, arguments, options))
                succeeded, result = self._connection.recv()
            except (EOFError, OSError) as error:
                self.close()
                raise InputError(
                    f"no teacher is served at {self._address!r} any more; keep the process that called serve() "
                    "running, and its with block open, for as long as workers play."
                ) from error
            except BaseException:
                self.close()  # so that the late answer is not mistaken for the answer to the next request
                raise
        if not succeeded:
            raise result
        return result


def _local_address() -> Any:
    """Return an address on this machine; on Linux an abstract socket, which leaves no file behind after a kill."""
    if sys.platform == "linux":
        return f"\0palaestra-teacher-{secrets.token_hex(8)}"
    return None if hasattr(socket, "AF_UNIX") else ("localhost", 0)


def _save_proposal(proposal: Proposal) -> dict[str, Any]:
    saved = {**vars(proposal), "meta": dict(proposal.meta)}
    if math.isnan(proposal.prob):
        del saved["prob"]
    if isinstance(proposal.task, np.ndarray | np.generic):
        saved["task"] = {"array": proposal.task.tolist(), "dtype": str(proposal.task.dtype)}
    return saved


def _load_proposal(saved: Mapping[str, Any]) -> Proposal:
    task = saved["task"]
    if isinstance(task, Mapping) and set(task) == {"array", "dtype"}:
        task = np.array(task["array"], dtype=task["dtype"])
    return Proposal(**{**saved, "task": task})


def _hang_up(connection: Connection) -> None:
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as copy:
        copy.shutdown(socket.SHUT_RDWR)


def _close_inherited_sockets() -> None:
    for served in list(_SERVED):
        served._close_sockets()


_SERVED: weakref.WeakSet[ServedTeacher] = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited_sockets)
