"""Teachers made of teachers: a uniform floor, a warm-up, phases one after another, updates in batches.

A combinator is a `Teacher` over the task space of its parts, which must share one space. Any teacher can be a part. A
part proposes and receives outcomes under its own ids, and its state is saved inside the combinator's.

    Mix(make("sec", space), floor=0.1)
    Warmup(make("alp-gmm", space), proposals=500)
    Sequential([(make("random", space), lambda m: m["observed"] >= 1000), (make("plr", space), None)])
    Every(make("sec", space), k=64)
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..checks import check_count, check_share
from ..errors import InputError
from .part_ids import PartIds
from .pools import Arms
from .protocol import Draw, Evidence, Outcome, Proposal, Teacher
from .random import RandomTeacher
from .spaces import Cube


class CombinedTeacher(Teacher):
    """Base of combinators: a teacher made of parts.

    The record of a proposal is [index of the part, the part's proposal id]. The record of a task given to `update` is
    [None, list with one record per part].

    Args:
        parts: teachers over one task space, with equal return ranges.
        settings: hyperparameters of the combinator itself.
        seed: seed of the combinator's draws.

    Raises:
        InputError: no part, or parts over different spaces or return ranges.
    """

    def __init__(self, parts: Sequence[Teacher], *, settings: Mapping[str, Any] | None = None, seed: int = 0):
        if not parts:
            raise InputError("a combined teacher needs at least one teacher.")
        first = parts[0]
        for part in parts:
            if part.signature != first.signature:
                raise InputError(
                    f"{type(part).__name__} chooses from {part.signature}, {type(first).__name__} from "
                    f"{first.signature}; make all parts for one space."
                )
            if part.return_range != first.return_range:
                raise InputError(
                    f"the parts' return ranges {part.return_range} and {first.return_range} differ; make them the same."
                )
        self.parts = list(parts)
        self.kind = first.kind
        self.domain = getattr(first, "domain", None)
        super().__init__(
            first.signature,
            seed=seed,
            return_range=first.return_range,
            max_in_flight=sum(part.max_in_flight for part in parts),
            settings={"parts": [part.state_name or type(part).__qualname__ for part in parts], **(settings or {})},
        )
        self._ids = PartIds(self.parts)

    @property
    def needs(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return frozenset().union(*(part.needs for part in self.parts))

    @property
    def uses(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return frozenset().union(*(part.uses for part in self.parts))

    @property
    def asks(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return frozenset().union(*(part.asks for part in self.parts))

    def joinable(self) -> frozenset[int]:
        return self._ids.joinable()

    def _expect(self, outcomes: int) -> None:
        for part in self.parts:
            part.expect(outcomes)

    @abstractmethod
    def _turns(self, k: int) -> np.ndarray:
        """Return int[k], the index of the part that makes each of the next k >= 1 proposals."""

    def _pass_on(self, part: int, proposal: Proposal) -> Draw:
        record = [part, proposal.id]
        p = proposal
        return Draw(record, p.task, p.prob, p.origin, p.n, p.train, self._ids.translate(part, p.meta))

    def _draw(self, k: int) -> list[Draw]:
        turns = self._turns(k)
        waiting = {int(part): iter(self.parts[part].propose(int((turns == part).sum()))) for part in np.unique(turns)}
        proposals = [next(waiting[part]) for part in turns.tolist()]
        draws = [self._pass_on(part, proposal) for part, proposal in zip(turns.tolist(), proposals, strict=True)]
        self._ids.remember(turns.tolist(), proposals, self._next_id)
        return draws

    def sample(self) -> Any:
        # Do not propose: `update` reports outcomes without an id, so the part's proposal would never be answered.
        return self.parts[int(self._turns(1)[0])].sample()

    def _record(self, task: Any) -> Any:
        return [None, [part._plain_record(task) for part in self.parts]]

    def _learn(self, evidence: list[Evidence]) -> None:
        outcomes_of: dict[int, list[Any]] = {}
        for item in evidence:
            part, id = item.record
            if part is not None:
                outcomes_of.setdefault(part, []).append(replace(item.outcome, id=id))
        # A task given to `update` was proposed by no part, so every part learns from it.
        updates = [item for item in evidence if item.record[0] is None]
        for number, part in enumerate(self.parts):
            _learn_directly(part, [replace(item, record=item.record[1][number]) for item in updates])
        for part, outcomes in outcomes_of.items():
            self.parts[part].observe(outcomes)

    def _metrics(self) -> dict[str, float]:
        return {
            f"{number}/{name}": value
            for number, part in enumerate(self.parts)
            for name, value in part.metrics().items()
        }

    def _save(self) -> dict[str, Any]:
        return {**super()._save(), "parts": [part.state_dict() for part in self.parts], **self._ids.save()}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        for part, saved in zip(self.parts, own["parts"], strict=True):
            part.load_state_dict(saved)
        self._ids.restore(own)


class Mix(CombinedTeacher):
    """A teacher with a floor: each proposal is uniform with probability ``floor``, and the teacher's own otherwise.

    Outcomes of uniform proposals are not passed to the teacher. ``prob`` is the probability under the mixture.

    Args:
        teacher: the teacher.
        floor: in [0, 1].
        uniform: teacher to use instead of the uniform one.
        seed: seed of the choice between the two, and of the uniform teacher.
    """

    def __init__(self, teacher: Teacher, floor: float, *, uniform: Teacher | None = None, seed: int = 0):
        self.floor = check_share("floor", floor)
        super().__init__([teacher, uniform or uniform_like(teacher, seed)], settings={"floor": self.floor}, seed=seed)

    def _turns(self, k: int) -> np.ndarray:
        return (self._rng.random(k) < self.floor).astype(int)

    def _draw(self, k: int) -> list[Draw]:
        chances = [part.distribution() for part in self.parts]  # before the draw, which may move them on
        draws = super()._draw(k)
        return draws if self.floor in (0.0, 1.0) else [replace(d, prob=self._chance(d, chances)) for d in draws]

    def _chance(self, draw: Draw, chances: Sequence[np.ndarray | None]) -> float:
        """Compute the probability of a draw under the mixture; NaN if the other part's probability is unknown."""
        part, other = draw.record[0], 1 - draw.record[0]
        if isinstance(self.domain, Arms):
            masses = chances[other]
            there = math.nan if masses is None else float(masses[self.domain.arm(draw.task)])
        else:
            there = 1.0 if isinstance(self.parts[other], RandomTeacher) and chances[other] is None else math.nan
        own, uniform = (there, draw.prob) if part else (draw.prob, there)
        return (1 - self.floor) * own + self.floor * uniform

    def distribution(self) -> np.ndarray | None:
        own, uniform = (part.distribution() for part in self.parts)
        return None if own is None or uniform is None else (1 - self.floor) * own + self.floor * uniform


class Warmup(CombinedTeacher):
    """A teacher with a warm-up: the first ``proposals`` proposals are uniform; their outcomes train the teacher, too.

    Args:
        teacher: the teacher, which makes all later proposals.
        proposals: number of uniform proposals, at least 1.
        uniform: teacher to use instead of the uniform one.
        seed: seed of the uniform teacher.
    """

    kept = ("_left",)

    def __init__(self, teacher: Teacher, proposals: int, *, uniform: Teacher | None = None, seed: int = 0):
        check_count("proposals", proposals, low=1)
        self.proposals = int(proposals)
        super().__init__(
            [teacher, uniform or uniform_like(teacher, seed)], settings={"proposals": self.proposals}, seed=seed
        )
        self._left = self.proposals

    def _turns(self, k: int) -> np.ndarray:
        first = min(k, self._left)
        self._left -= first
        return (np.arange(k) < first).astype(int)

    def _pass_on(self, part: int, proposal: Proposal) -> Draw:
        draw = super()._pass_on(part, proposal)
        return replace(draw, origin="warmup") if part else draw

    def _learn(self, evidence: list[Evidence]) -> None:
        super()._learn(evidence)
        teacher, uniform = self.parts[0], [item for item in evidence if item.record[0] == 1]
        _learn_directly(teacher, [replace(item, record=teacher._plain_record(item.outcome.task)) for item in uniform])

    def distribution(self) -> np.ndarray | None:
        return self.parts[1 if self._left else 0].distribution()


class Sequential(CombinedTeacher):
    """Teachers one after another, each until its condition holds.

    Args:
        phases: (teacher, until) pairs; ``until`` is called with the teacher's `metrics` before each batch and
            returns True to go on to the next teacher; ``until`` must be None for the last teacher only.
        seed: unused by the combinator itself.

    Raises:
        InputError: a condition is missing, or the last phase has one.
    """

    kept = ("_phase",)

    def __init__(self, phases: Sequence[tuple[Teacher, Callable[[dict[str, float]], bool] | None]], *, seed: int = 0):
        self._until = [until for _, until in phases]
        if not phases or self._until[-1] is not None or None in self._until[:-1]:
            raise InputError("every phase but the last needs a condition, and the last has None.")
        super().__init__([teacher for teacher, _ in phases], seed=seed)
        self._phase = 0

    @property
    def phase(self) -> int:
        """Index of the teacher that proposes now."""
        return self._phase

    def _turns(self, k: int) -> np.ndarray:
        while (until := self._until[self._phase]) is not None and until(self.parts[self._phase].metrics()):
            self._phase += 1
        return np.full(k, self._phase)

    def distribution(self) -> np.ndarray | None:
        return self.parts[self._phase].distribution()

    def _metrics(self) -> dict[str, float]:
        return {**super()._metrics(), "phase": float(self._phase)}


class Every(CombinedTeacher):
    """A teacher that learns in batches: outcomes are held until there are ``k``, then passed on as one batch.

    Bandits such as SEC and EXP3 take one step per batch; use this class where episodes come one by one.

    Args:
        teacher: the teacher.
        k: outcomes in a batch, at least 1.
    """

    def __init__(self, teacher: Teacher, k: int):
        check_count("k", k, low=1)
        self.k = int(k)
        super().__init__([teacher], settings={"k": self.k})
        self._held: list[Any] = []

    def _turns(self, k: int) -> np.ndarray:
        return np.zeros(k, dtype=int)

    def distribution(self) -> np.ndarray | None:
        return self.parts[0].distribution()

    def _learn(self, evidence: list[Evidence]) -> None:
        waiting = self.parts[0]._in_flight
        for item in evidence:
            part, of_part = item.record
            if part is not None:
                if of_part not in waiting:
                    continue
                # Taken out now, as the teacher might forget the proposal while its outcome is held here.
                of_part = [waiting.pop(of_part)]
            self._held.append(replace(item, record=[None, of_part]))
            if len(self._held) == self.k:
                held, self._held = self._held, []
                super()._learn(held)

    def _save(self) -> dict[str, Any]:
        return {**super()._save(), "held": [_save_evidence(item) for item in self._held]}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        self._held = [
            Evidence(list(saved["record"]), np.array(saved["scaled"]), Outcome(-1, *saved["outcome"]))
            for saved in own["held"]
        ]


def uniform_like(teacher: Teacher, seed: int = 0) -> Teacher:
    """Make a uniform teacher over a teacher's task space. Raises InputError for a space that is no cube and no list."""
    domain = getattr(teacher, "domain", None)
    if not isinstance(domain, Arms | Cube):
        raise InputError(f"there is no uniform teacher over {type(teacher).__name__}'s tasks; pass one with uniform=.")
    return RandomTeacher(domain, seed=seed, return_range=teacher.return_range)


def _learn_directly(teacher: Teacher, evidence: list[Evidence]) -> None:
    """Let a teacher learn, as one batch, from outcomes of tasks that it did not propose."""
    teacher._counts["observed"] += len(evidence)
    if evidence:
        teacher._learn(evidence)


def _save_evidence(item: Evidence) -> dict[str, Any]:
    outcome = item.outcome
    task = outcome.task.tolist() if isinstance(outcome.task, np.ndarray | np.generic) else outcome.task
    return {
        "record": item.record,
        "scaled": item.returns.tolist(),
        "outcome": [
            task,
            list(outcome.returns),
            None if outcome.successes is None else list(outcome.successes),
            outcome.cost,
            {name: list(values) for name, values in outcome.extras.items()},
            dict(outcome.done),
        ],
    }
