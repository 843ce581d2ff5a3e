"""The protocol between a teacher and the loop that runs episodes.

A teacher proposes tasks in batches (`Proposal`) and receives their results (`Outcome`) in any order and for any subset.
A teacher never waits: more proposals may be requested while earlier ones are still being played, and an outcome that
never arrives costs one slot in a bounded table. `Teacher` does the book-keeping (ids, ranges, generator, saving); a new
teacher writes `_draw`, `_record`, `_learn` and, where it has state, names it in `kept`. Each kind of task space has a
base with less to write: `BoxTeacher`, `ArmTeacher`, `PromptTeacher` and `LevelTeacher`.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypedDict, Unpack

import numpy as np

from ..checks import Declared, check_count, declared_options, keyword_declared, option
from ..errors import InputError
from .messages import Draw, Evidence, Outcome, Proposal
from .saved_state import Kept, restore_kept, save_kept

OUTCOMES = 20_000  # expected outcomes of a run unless `Teacher.expect` sets another number
# Sums of floating-point rewards may overshoot the declared range by rounding; an excess of at most this share of the
# range's width is clipped.
RANGE_SLACK = 1e-6


class Common(TypedDict, total=False):
    """Options that every teacher takes besides its own (see `Teacher`)."""

    seed: int
    return_range: tuple[float, float]
    max_in_flight: int


def _check_range(name: str, value: Any) -> tuple[float, float]:
    low, high = (float(bound) for bound in value)
    if math.isfinite(low) and math.isfinite(high) and low < high:
        return low, high
    raise InputError(f"{name} {tuple(value)} must be two finite numbers, the lower one first.")


@keyword_declared
class CommonOptions(Declared):
    """Options of every teacher."""

    seed: int = option(
        default=0,
        saved=False,
        says="seed of the teacher's own random generator: a non-negative int; 0 is a seed like any other.",
    )
    return_range: tuple[float, float] = option(
        default=(0.0, 1.0),
        check=_check_range,
        saved=False,
        says="the declared (low, high) of an episode's return; teachers see returns mapped to [0, 1], and a return "
        "outside raises InputError.",
    )
    max_in_flight: int = option(
        default=10_000,
        low=1,
        saved=False,
        says="number of proposals whose outcome is awaited; beyond it the oldest are forgotten, so that lost outcomes "
        "cannot fill the memory.",
    )
    # Hyperparameters of a class with its own ``__init__``, JSON-able; declared options are saved without being listed
    # here.
    settings: Mapping[str, Any] | None = option(default=None, saved=False)


class Teacher(CommonOptions, ABC):
    """Base of all teachers.

    A subclass with declared options (`checks.keyword_declared`) must call `begin` in its `setup`; a subclass with an
    ``__init__`` must call ``super().__init__``.

    Args:
        signature: JSON-able description of the task space; a saved state loads only where the signatures are equal.
        settings: the teacher's hyperparameters, JSON-able; a saved state loads only where the settings are equal.
        common: ``seed``, ``return_range`` and ``max_in_flight``, which all teachers take.

    Raises:
        InputError: seed, range or bound is unusable.
    """

    signature: Any
    kind: str = ""
    """The kind of task space: "box", "arms", "prompts" or "levels"; "any" for a teacher that takes all of them."""
    paper: str = ""
    """Source of the method, an arXiv number or a citation."""
    when: ClassVar[str] = ""
    """When to use the teacher, in one or two sentences for people who choose one."""
    state_name: str = ""
    """Name of the class in saved states; empty for the class's own name."""
    climbs_formats: bool = False
    """True for teachers of answer formats: the last axis is the format, and a fixed pool (`fixed_pool`) holds every
        question in every format."""
    needs: frozenset[str] = frozenset()
    """Names of the `Outcome.extras` without which this teacher cannot learn. Options of an instance may change the
    set."""
    uses: frozenset[str] = frozenset()
    """Names of optional `Outcome.extras` from which the teacher learns if they are given."""
    asks: frozenset[str] = frozenset()
    """Keys of `Proposal.meta` that the teacher's proposals may have (see `requests.REQUESTS`)."""
    kept: ClassVar[tuple[str | Kept, ...]] = ()
    """Attributes to save, in addition to those that base classes list (see `saved_state`). To save other state,
    override `_save` and `_restore` and call ``super()`` in both."""

    def __init__(self, signature: Any, *, settings: Mapping[str, Any] | None = None, **common: Unpack[Common]):
        self.take_options({"settings": settings, **common}, Teacher)
        self.begin(signature)

    def begin(self, signature: Any) -> None:
        """Prepare the state that all teachers have.

        Args:
            signature: JSON-able description of the task space; a saved state loads only where the signatures are equal.
        """
        declared = {name: getattr(self, name) for name, one in declared_options(type(self)).items() if one.saved}
        self.signature = signature
        self._settings = {**declared, **(self.settings or {})}
        self._rng = np.random.default_rng(np.random.SeedSequence(self.seed))
        self._next_id = 0
        self._in_flight: dict[int, Any] = {}  # insertion order is age
        self._counts = {"observed": 0, "ignored": 0, "forgotten": 0}
        self._process: int | None = os.getpid()

    @property
    def is_copy(self) -> bool:
        """True for a pickled, copied or forked teacher: it learns separately from its original."""
        return self._process != os.getpid()

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update({**state, "_process": None})

    def propose(self, k: int) -> list[Proposal]:
        """Return the next ``k >= 0`` proposals without waiting for outstanding outcomes."""
        check_count("k", k, low=0)
        draws, in_flight = self._draw(int(k)) if k else [], self._in_flight
        proposals = [
            Proposal(id, draw.task, draw.n, draw.prob, draw.origin, draw.train, draw.meta)
            for id, draw in enumerate(draws, self._next_id)
        ]
        for proposal, draw in zip(proposals, draws):
            in_flight[proposal.id] = self._plain_record(draw.task) if draw.record is None else draw.record
        self._next_id += len(draws)
        while len(in_flight) > self.max_in_flight:
            del in_flight[next(iter(in_flight))]
            self._counts["forgotten"] += 1
        return proposals

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Learn from the outcomes of any proposals in flight, in any order; one call is one batch.

        An id that was observed before, or has been forgotten since, is ignored and counted in `metrics`. If one outcome
        is invalid, nothing is learned from the whole batch.

        Raises:
            InputError: a return outside `return_range`, an id never proposed, or extras in `needs` that are missing.
        """
        outcomes = list(outcomes)
        scaled = self._normalise([ret for outcome in outcomes for ret in outcome.returns])
        for outcome in outcomes:
            if isinstance(outcome.id, bool) or not 0 <= outcome.id < self._next_id:
                raise InputError(f"id {outcome.id!r} was never proposed by this teacher; pass the proposal's own id.")
            if self.needs and outcome.returns and (missing := self.needs - set(outcome.extras)):
                raise InputError(f"outcome {outcome.id} lacks the extras {sorted(missing)} that this teacher needs.")
        evidence, start = [], 0
        for outcome in outcomes:
            end = start + len(outcome.returns)
            if outcome.id not in self._in_flight:
                self._counts["ignored"] += 1
            else:
                record = self._in_flight.pop(outcome.id)
                if end > start:
                    evidence.append(Evidence(record, scaled[start:end], outcome))
            start = end
        self._counts["observed"] += len(evidence)
        if evidence:
            self._learn(evidence)

    def expect(self, outcomes: int) -> None:
        """Set the expected number of outcomes of the run (default `OUTCOMES`); must be called before the first outcome.

        Windows that are given as a share of the run scale with the number; most teachers have no such window. A
        restored teacher keeps its saved number.

        Raises:
            InputError: ``outcomes`` is below 1, or outcomes have been observed.
        """
        check_count("outcomes", outcomes, low=1)
        if self._counts["observed"]:
            raise InputError(f"expect({outcomes}) comes after {self._counts['observed']} outcomes; call it before any.")
        self._expect(int(outcomes))

    def sample(self) -> Any:
        """Draw one task without an id, to be answered by `update`."""
        return self._draw(1)[0].task

    def update(
        self,
        task: Any,
        ret: float | Sequence[float],
        *,
        successes: Sequence[bool] | None = None,
        cost: float | None = None,
        extras: Mapping[str, Sequence[float]] | None = None,
    ) -> None:
        """Learn from one task and its return or returns ``ret``, in the units of `return_range`.

        The call equals `observe` with one `Outcome`, whose further fields are the keyword arguments.

        Raises:
            InputError: the task lies outside the space, a return outside `return_range`, or extras in `needs` are
                missing.
        """
        returns = np.atleast_1d(np.asarray(ret, dtype=np.float64)).tolist()
        outcome = Outcome(-1, task, returns, successes, cost, extras or {})
        if missing := self.needs - set(outcome.extras):
            raise InputError(f"this teacher needs the extras {sorted(missing)}; pass them with extras=.")
        scaled = self._normalise(outcome.returns)
        record = self._plain_record(task)
        if len(scaled):
            self._counts["observed"] += 1
            self._learn([Evidence(record, scaled, outcome)])

    def joinable(self) -> frozenset[int]:
        """Return the ids of evaluation-only proposals whose episodes a later proposal may join (``meta["joins"]``).

        The learner must keep the episodes of these proposals, and may forget those of other evaluation-only ones.
        """
        return frozenset()

    def distribution(self) -> np.ndarray | None:
        """Return float64[n], the probability of each arm, prompt or level in the next proposal.

        None if the tasks are not a finite list, or if the next choice is deterministic or has no closed form.
        """
        return None

    def metrics(self) -> dict[str, float]:
        """Return numbers for a log: the counts of the book-keeping and the teacher's own metrics."""
        counts = {"proposed": self._next_id, "in_flight": len(self._in_flight), **self._counts}
        return {name: float(value) for name, value in {**counts, **self._metrics()}.items()}

    def state_dict(self) -> dict[str, Any]:
        """Return everything that later proposals depend on, as JSON-able values."""
        return {
            "teacher": self.state_name or type(self).__qualname__,
            "space": self.signature,
            "settings": {**self._settings, "return_range": list(self.return_range)},
            "rng": self._rng.bit_generator.state,
            "next_id": self._next_id,
            "in_flight": [[id, record] for id, record in self._in_flight.items()],
            "counts": dict(self._counts),
            "own": self._save(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue exactly where `state_dict` was taken.

        Raises:
            InputError: the state is of another teacher, space or setting, or is damaged.
        """
        mine = self.state_dict()
        if missing := sorted(set(mine) - set(state)):
            raise InputError(f"this is no teacher state: it lacks {', '.join(missing)}.")
        for key in ("teacher", "space", "settings"):
            if state[key] != mine[key]:
                raise InputError(
                    f"the saved {key} {state[key]!r} is not this teacher's {mine[key]!r}; make it the same."
                )
        try:
            self._load(state)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            self._load(mine)
            raise InputError(f"the saved teacher state is damaged ({error!r}); take one from state_dict().") from error

    def _load(self, state: Mapping[str, Any]) -> None:
        self._rng.bit_generator.state = state["rng"]
        self._next_id = int(state["next_id"])
        self._in_flight = {int(id): record for id, record in state["in_flight"]}
        self._counts = {name: int(state["counts"][name]) for name in self._counts}
        self._restore(state["own"])

    @abstractmethod
    def _draw(self, k: int) -> list[Draw]:
        """Return k >= 1 draws from the teacher's present distribution, with `self._rng` as the only randomness."""

    @abstractmethod
    def _record(self, task: Any) -> Any:
        """Return the record of a task for `_learn`, JSON-able; an array arrives in `Evidence.record` as a list.

        Called for draws without a record and tasks given to `update`. Raise InputError for a task outside the space.
        """

    @abstractmethod
    def _learn(self, evidence: list[Evidence]) -> None:
        """Update the teacher on one batch of outcomes, in the order given."""

    def _expect(self, outcomes: int) -> None:
        pass

    def _metrics(self) -> dict[str, float]:
        return {}

    def _save(self) -> dict[str, Any]:
        return save_kept(self)

    def _restore(self, own: Mapping[str, Any]) -> None:
        restore_kept(self, own)

    def _plain_record(self, task: Any) -> Any:
        """Return the record of a task in its saved form, so that `_learn` receives the same after a restart."""
        record = self._record(task)
        return record.tolist() if isinstance(record, np.ndarray | np.generic) else record

    def _normalise(self, returns: Sequence[float]) -> np.ndarray:
        low, high = self.return_range
        width = high - low
        # Batches are short: plain floats take less time than five array operations.
        scaled = [(value - low) / width for value in returns]
        least, most = (min(scaled), max(scaled)) if scaled else (0.0, 0.0)
        if not (least >= -RANGE_SLACK and most <= 1 + RANGE_SLACK):
            worst = returns[max(range(len(scaled)), key=lambda i: abs(scaled[i] - 0.5))]
            raise InputError(
                f"return {worst:g} lies outside the declared return_range ({low:g}, {high:g}); "
                "make the teacher with return_range=(lowest, highest return), on the command line with "
                "--teacher-option return_range=[LOWEST,HIGHEST], or let the environment declare its return_range."
            )
        if least < 0 or most > 1:
            scaled = [0.0 if value < 0 else min(value, 1.0) for value in scaled]
        return np.array(scaled, dtype=np.float64)
