"""Play of a plan's episodes with an agent, in several slots at the same time.

A slot is an environment with its current episode; it begins the next episode as soon as the last one has ended. A
`SlotAgent` is called for each slot separately, and no slot waits for another; any other agent is called for all slots
together. Steps of environments that run programs go to threads. All else happens in the caller's thread, so resources
that an agent or an environment opened there (a database, a browser) are only used there.

An exception of the agent ends its episode as failed, an exception of the environment ends it as invalid, and the other
episodes continue.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

import gymnasium as gym
import numpy as np

from ...errors import InputError, MissingExtra
from ...rewards import Recording
from ..agent import Agent, AgentError, EndEpisode, SlotAgent
from ..replay import ReplayRecorder
from ..sandbox_threads import threads_for
from ..usage import TokenUsage
from .episodes import EpisodePlan, EpisodeRecord

OnRecord = Callable[[EpisodeRecord], None]

GIVE_UP_AFTER = 5
"""Number of episodes after which play stops if all of them ended in exceptions."""


def play_episodes(
    agent: Agent,
    envs: Sequence[gym.Env],
    plan: EpisodePlan,
    keep_turns: bool = False,
    jobs: Iterable[tuple[int, int]] | None = None,
    on_record: OnRecord | None = None,
    retries: int = 0,
    give_up: bool = True,
    threads: int | None = None,
) -> list[EpisodeRecord]:
    """Play episodes and return their records, sorted by sample and index in the plan.

    Args:
        agent: the agent; it must already be bound to the environments.
        envs: the environments, one per slot.
        plan: seeds, difficulties and reset options of the episodes.
        keep_turns: True records the turns as well.
        jobs: (index, sample) of the episodes to play; None plays each episode of the plan once.
        on_record: called with each finished episode; an exception raised by the callback ends the play.
        retries: number of times that a failed or invalid episode is replayed.
        give_up: True raises the first exception if all of the first `GIVE_UP_AFTER` episodes, or all episodes of the
            plan, ended in exceptions.
        threads: number of threads that call a `SlotAgent` concurrently; None: the number that the agent declares.

    Raises:
        AgentError: see ``give_up``, if the agent raised the first exception; the message names the episode.
        Exception: see ``give_up``, if the environment raised the first exception.
    """
    todo = [(index, 0) for index in range(plan.episodes)] if jobs is None else list(jobs)
    play = _Play(agent, envs, plan, keep_turns, deque(todo), on_record, retries, give_up)
    if isinstance(agent, SlotAgent):
        at_once = 1 if agent.threads is None else agent.threads if threads is None else threads
        _play_apart(play, agent, at_once)
    else:
        _play_together(play)
    if give_up and play.first_failure is not None and not play.sound:
        raise play.first_failure
    return sorted(play.records, key=lambda record: (record.sample, record.index))


@dataclass
class _Slot:
    number: int
    env: gym.Env
    observation: Any = None
    info: dict[str, Any] = field(default_factory=dict)
    record: EpisodeRecord | None = None
    recording: Recording | None = None


class _Play:
    """Scheduler of an evaluation: assigns remaining episodes to free slots and steps them to their end."""

    def __init__(
        self,
        agent: Agent,
        envs: Sequence[gym.Env],
        plan: EpisodePlan,
        keep_turns: bool,
        todo: deque[tuple[int, int]],
        on_record: OnRecord | None,
        retries: int,
        give_up: bool,
    ):
        self.agent, self.plan, self.todo = agent, plan, todo
        self.slots = [_Slot(number, env) for number, env in enumerate(envs)]
        self.records: list[EpisodeRecord] = []
        self.first_failure: Exception | None = None
        self.sound = False  # some episode ended without an exception
        self._keep_turns, self._on_record, self._give_up = keep_turns, on_record, give_up
        self._retries, self._attempts = retries, {}
        self._spent: dict[tuple[int, int], TokenUsage | None] = {}  # usage of earlier attempts at replayed episodes

    @property
    def playing(self) -> list[_Slot]:
        return [slot for slot in self.slots if slot.record is not None]

    def begin(self, slot: _Slot) -> bool:
        """Begin the next episode in a free slot. Return False if no episode is left."""
        while self.todo:
            index, sample = self.todo.popleft()
            slot.record, options = self.plan.begin(index, sample)
            slot.record.usage = self._spent.pop((index, sample), None)
            slot.recording = None
            try:
                slot.observation, info = slot.env.reset(seed=slot.record.seed, options=options)
            except (InputError, MissingExtra) as error:
                error.add_note(_place(slot.record, "reset"))
                raise
            except Exception as error:
                self.fail_environment(slot, error, "reset")
                continue
            slot.recording = Recording(slot.observation, info)
            self.plan.record_task(slot.record, info)
            slot.info = self._visible(info, slot.record)
            return True
        slot.info = {**slot.info, "idle": True}
        return False

    def before(self, slot: _Slot, action: Any) -> Callable[[], Any] | None:
        """Return a function that takes the step for an action. If the agent ends the episode instead, end it and
        return None."""
        assert slot.record is not None
        slot.record.note(self.agent.trace(slot.number))
        if isinstance(action, EndEpisode):
            assert slot.recording is not None
            slot.recording.truncated, slot.recording.valid = True, slot.recording.valid and action.valid
            if self.plan.space is not None:
                slot.recording.success, slot.recording.progress = False, slot.recording.progress or 0.0
            failure = None
            if not action.valid and action.reason is not None:
                slot.record.error = action.reason
                failure = self._failure(slot, action.reason)
            self.end(slot, failure)
            return None
        # A copy, as some environments overwrite one array at each step.
        seen = copy.deepcopy(slot.observation) if self._keep_turns else None
        return lambda: (seen, slot.env.step(action))

    def after(self, slot: _Slot, action: Any, outcome: tuple[Any, Any]) -> None:
        """Record the result of a step, and end the episode if it is over."""
        assert slot.recording is not None
        assert slot.record is not None
        seen, result = outcome
        slot.recording.add(action, result, seen=seen)
        slot.record.length += 1
        slot.observation, slot.info = result[0], self._visible(result[4], slot.record)
        if slot.recording.over:
            self.end(slot)

    def fail_agent(self, slot: _Slot, error: Exception) -> None:
        """End an episode in which the agent raised an exception."""
        record = slot.record
        assert record is not None
        what = str(error) if isinstance(error, AgentError) else f"{type(error).__name__}: {error}"
        failure = self._failure(slot, what)
        failure.__cause__ = error.__cause__ if isinstance(error, AgentError) else error
        record.failed, record.error = True, what
        record.note(self.agent.trace(slot.number))
        self.end(slot, failure)

    def _failure(self, slot: _Slot, what: str) -> AgentError:
        record = slot.record
        assert record is not None
        place = f"episode {record.index} (seed {record.seed}, step {record.length})"
        return AgentError(f"agent {self.agent.name!r} failed in {place}: {what}", slot.number)

    def fail_environment(self, slot: _Slot, error: Exception, call: str) -> None:
        """End an episode in which the environment raised an exception."""
        assert slot.record is not None
        error.add_note(_place(slot.record, call))
        slot.record.error = f"{type(error).__name__}: {error} ({call})"
        self.end(slot, error)

    def end(self, slot: _Slot, failure: Exception | None = None) -> None:
        """Finish the episode in a slot: record it, or queue it again if it failed and retries are left."""
        record, slot.record = slot.record, None
        assert record is not None
        if slot.recording is not None:
            record.finish(slot.recording, self._keep_turns)
            if isinstance(slot.env, ReplayRecorder):
                record.replay = slot.env.finish()
        if failure is not None:
            record.valid = record.valid and record.failed
            if record.failed and self.plan.space is not None:
                record.success, record.progress = False, record.progress or 0.0
        again = self._attempts.setdefault((record.index, record.sample), 0)
        if (failure is not None or not record.valid) and again < self._retries:
            self._attempts[record.index, record.sample] += 1
            self.todo.append((record.index, record.sample))
            self._spent[record.index, record.sample] = record.usage
            return
        self.records.append(record)
        self.sound = self.sound or failure is None
        self.first_failure = self.first_failure or failure
        if self._on_record is not None:
            self._on_record(record)
        if not self.sound and self._give_up and len(self.records) >= GIVE_UP_AFTER and self.first_failure is not None:
            raise self.first_failure

    def take_step(self, slot: _Slot, action: Any, step: Callable[[], Any]) -> None:
        """Call ``step`` in this thread and process the result or the exception."""
        try:
            outcome = step()
        except Exception as error:
            self.blame(slot, action, error)
        else:
            self.after(slot, action, outcome)

    def blame(self, slot: _Slot, action: Any, error: Exception) -> None:
        """End the episode in which ``step`` raised. The failure is the agent's if the action is not in the action
        space, else the environment's."""
        try:
            allowed = slot.env.action_space.contains(action)
        except Exception:
            allowed = False
        if allowed:
            self.fail_environment(slot, error, "step")
        else:
            self.fail_agent(slot, error)

    def _visible(self, info: Mapping[str, Any], record: EpisodeRecord) -> dict[str, Any]:
        """Return the ``info`` that an agent gets: without ``info["extras"]``, which includes the solution, and with
        "episode_seed"."""
        seed = record.seed
        if record.sample:  # the same task, but other random choices of the agent
            seed = int(np.random.SeedSequence([seed, record.sample]).generate_state(1)[0])
        return {**{name: value for name, value in info.items() if name != "extras"}, "episode_seed": seed}


def _place(record: EpisodeRecord, call: str) -> str:
    return f"in {call}() of episode {record.index} (seed {record.seed}, step {record.length})"


def _play_together(play: _Play) -> None:
    """Play with an agent that is called for all slots together: ask for all actions, then step all slots."""
    threads = threads_for(play.slots[0].env)
    while True:
        if begun := [slot.number for slot in play.slots if slot.record is None and play.begin(slot)]:
            play.agent.reset(begun)
        if not (playing := play.playing):
            return
        actions = _ask_together(play, playing)
        steps = [(slot, actions[slot.number]) for slot in play.playing]
        if threads is None:
            for slot, action in steps:
                if (step := play.before(slot, action)) is not None:
                    play.take_step(slot, action, step)
        else:
            begun_steps = [
                (slot, action, threads.submit(step))
                for slot, action in steps
                if (step := play.before(slot, action)) is not None
            ]
            for slot, action, future in begun_steps:
                play.take_step(slot, action, future.result)


def _ask_together(play: _Play, playing: Sequence[_Slot]) -> Sequence[Any]:
    """Return the agent's actions, one per slot. If the agent raises, end the failed episodes and ask again for the
    others."""
    observations, infos = [slot.observation for slot in play.slots], [slot.info for slot in play.slots]
    try:
        actions = play.agent.act(observations, infos)
    except (InputError, MissingExtra):
        raise
    except Exception as error:
        named = error.slot if isinstance(error, AgentError) else None
        failed = [slot for slot in playing if named is None or slot.number == named]
        for slot in failed or playing:
            play.fail_agent(slot, error)
        if not play.playing:
            return [None] * len(play.slots)
        for slot in play.slots:
            if slot.record is None:
                slot.info = {**slot.info, "idle": True}
        return _ask_together(play, play.playing)
    if not hasattr(actions, "__len__") or isinstance(actions, str) or len(actions) != len(play.slots):
        count = len(actions) if hasattr(actions, "__len__") and not isinstance(actions, str) else repr(actions)
        raise AgentError(
            f"agent {play.agent.name!r} returned {count} actions for {len(play.slots)} slots in act; it must return "
            "one action for each observation."
        )
    return actions


def _play_apart(play: _Play, agent: SlotAgent, threads: int) -> None:
    """Play with an agent that is called for each slot separately; replies and steps in progress arrive in a queue."""
    arrived: SimpleQueue[tuple[_Slot, Any, Future[Any]]] = SimpleQueue()
    waiting: set[Future[Any]] = set()
    steppers = threads_for(play.slots[0].env)
    callers = ThreadPoolExecutor(threads, thread_name_prefix="agent") if threads > 1 else None
    asked = object()  # in place of an action: the future is a reply, not a step

    def wait_for(slot: _Slot, action: Any, future: Future[Any]) -> None:
        waiting.add(future)
        future.add_done_callback(lambda done: arrived.put((slot, action, done)))

    def step(slot: _Slot, action: Any) -> None:
        if (call := play.before(slot, action)) is None:
            return
        if steppers is None:
            play.take_step(slot, action, call)
        else:
            wait_for(slot, action, steppers.submit(call))

    def go_on(slot: _Slot) -> None:
        """Play in a slot until a reply or a step has to be awaited, or no episode is left."""
        while True:
            if slot.record is None:
                if not play.begin(slot):
                    return
                agent.reset([slot.number])
            pending = len(waiting)
            try:
                if callers is not None:
                    reply = callers.submit(agent.respond, slot.number, slot.observation, slot.info)
                else:
                    reply = agent.start(slot.number, slot.observation, slot.info)
            except (InputError, MissingExtra):
                raise
            except Exception as error:
                play.fail_agent(slot, error)
                continue
            if isinstance(reply, Future):
                wait_for(slot, asked, reply)
                return
            step(slot, reply)
            if len(waiting) > pending:
                return

    try:
        for slot in play.slots:
            go_on(slot)
        while waiting:
            while arrived.empty() and agent.advance():
                pass
            slot, action, future = arrived.get()
            waiting.discard(future)
            if action is not asked:
                play.take_step(slot, action, future.result)
            else:
                try:
                    reply = agent.wait_for(future.result())
                except (InputError, MissingExtra):
                    raise
                except Exception as error:
                    play.fail_agent(slot, error)
                else:
                    if isinstance(reply, Future):  # `respond`, called in a thread, returned a coroutine
                        wait_for(slot, asked, reply)
                        continue
                    pending = len(waiting)
                    step(slot, reply)
                    if len(waiting) > pending:
                        continue
            go_on(slot)
            for idle in play.slots if play.todo else ():  # an episode was queued again after other slots had run out
                if idle.record is None:
                    go_on(idle)
    finally:
        for future in waiting:
            future.cancel()
        if callers is not None:
            callers.shutdown(wait=False, cancel_futures=True)
