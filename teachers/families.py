"""A teacher of several families of tasks: one teacher within each, and above them a teacher of arms or fixed weights.

teacher = make("alp-gmm", mixture.param_space)                    # one ALP-GMM a family, families by their weights
teacher = make("sec", mixture.param_space)                        # SEC over families, uniform within
teacher = make("sec", mixture.param_space, inside="alp-gmm")      # SEC over families, ALP-GMM within each
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import InputError
from .part_ids import PartIds
from .protocol import Draw, Evidence, Proposal, Teacher
from .spaces import FamilySpaceLike, as_cube


class FamilyTeacher(Teacher):
    """Chooses a family, then a task in it.

    The record of a proposal is [id of the chooser's proposal or None, index of the family, id of its teacher's
    proposal]. In the record of a task given to `update`, each id is replaced by a one-element list with that teacher's
    record. ``prob`` is the probability of the family times the probability of the task within it.

    Args:
        space: the families.
        parts: one teacher per family, in order.
        chooser: a teacher over ``Discrete(number of families)``; None draws families by ``space.shares``, so that a
            batch of k holds k times each family's share, rounded up or down.
        seed: seed of the draws by shares.

    Raises:
        InputError: the number of teachers is not the number of families, or return ranges differ.
    """

    def __init__(
        self, space: FamilySpaceLike, parts: Sequence[Teacher], chooser: Teacher | None = None, *, seed: int = 0
    ):
        if len(parts) != len(space.families):
            raise InputError(f"{len(parts)} teachers were given for {len(space.families)} families; give one for each.")
        self.space, self.parts, self.chooser = space, list(parts), chooser
        self.names = list(space.families)
        self.domain = as_cube(space)
        self.kind = self.parts[0].kind
        everyone = [*self.parts, *([chooser] if chooser else [])]
        if len({part.return_range for part in everyone}) > 1:
            raise InputError(f"the return ranges {[part.return_range for part in everyone]} must be the same.")
        super().__init__(
            {"families": {name: part.signature for name, part in zip(self.names, self.parts)}},
            seed=seed,
            return_range=self.parts[0].return_range,
            max_in_flight=sum(part.max_in_flight for part in self.parts),
            settings={"parts": [part.state_name or type(part).__qualname__ for part in everyone]},
        )
        self._ids = PartIds(self.parts)

    @property
    def needs(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        above = self.chooser.needs if self.chooser else frozenset[str]()
        return above.union(*(part.needs for part in self.parts))

    @property
    def uses(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        above = self.chooser.uses if self.chooser else frozenset[str]()
        return above.union(*(part.uses for part in self.parts))

    @property
    def asks(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return frozenset[str]().union(*(part.asks for part in self.parts))

    def joinable(self) -> frozenset[int]:
        return self._ids.joinable()

    def _expect(self, outcomes: int) -> None:
        """Split the outcomes among the families by share; equally under a chooser, whose choices are not known yet."""
        for name, part in zip(self.names, self.parts):
            share = self.space.shares[name] if self.chooser is None else 1 / len(self.parts)
            part.expect(max(1, round(outcomes * share)))
        if self.chooser is not None:
            self.chooser.expect(outcomes)

    def _choose(self, k: int) -> tuple[list[int], list[float], list[int | None]]:
        """Choose k families. Return their indices, their probabilities, and the ids of the chooser's proposals."""
        if self.chooser is not None:
            chosen = self.chooser.propose(k)
            return [p.task for p in chosen], [p.prob for p in chosen], [p.id for p in chosen]
        shares = np.array(list(self.space.shares.values()))
        # At equal distances (systematic sampling), so that every batch has its part of each family.
        bounds, places = shares.cumsum()[:-1], (self._rng.random() + np.arange(k)) / k
        drawn = self._rng.permutation(bounds.searchsorted(places, side="right"))
        return drawn.tolist(), shares[drawn].tolist(), [None] * k

    def _draw(self, k: int) -> list[Draw]:
        families, probs, above = self._choose(k)
        waiting = {number: iter(self.parts[number].propose(families.count(number))) for number in sorted(set(families))}
        proposals: list[Proposal] = [next(waiting[number]) for number in families]
        draws = [
            Draw([id, number, p.id], p.task, prob * p.prob, p.origin, p.n, p.train, self._ids.translate(number, p.meta))
            for number, prob, id, p in zip(families, probs, above, proposals, strict=True)
        ]
        self._ids.remember(families, proposals, self._next_id)
        return draws

    def sample(self) -> Any:
        # Do not propose: `update` reports outcomes without an id, so the part's proposal would never be answered.
        if self.chooser is not None:
            return self.parts[self.chooser.sample()].sample()
        return self.parts[self._choose(1)[0][0]].sample()

    def _record(self, task: Any) -> Any:
        number = self.names.index(self.space.family_of(task))
        above = None if self.chooser is None else [self.chooser._plain_record(number)]
        return [above, number, [self.parts[number]._plain_record(task)]]

    def _learn(self, evidence: list[Evidence]) -> None:
        for number, part in enumerate(self.parts):
            own = [replace(item, record=item.record[2]) for item in evidence if item.record[1] == number]
            _report(part, own)
        if self.chooser is not None:
            above = [
                replace(item, record=item.record[0], outcome=replace(item.outcome, task=item.record[1]))
                for item in evidence
            ]
            _report(self.chooser, above)

    def _metrics(self) -> dict[str, float]:
        named = dict(zip(self.names, self.parts))
        if self.chooser is not None:
            named["families"] = self.chooser
        metrics = {f"{name}/{key}": value for name, part in named.items() for key, value in part.metrics().items()}
        if self.chooser is None:
            metrics |= {f"share/{name}": share for name, share in self.space.shares.items()}
        return metrics

    def _save(self) -> dict[str, Any]:
        chooser = None if self.chooser is None else self.chooser.state_dict()
        return {"parts": [part.state_dict() for part in self.parts], "chooser": chooser, **self._ids.save()}

    def _restore(self, own: Mapping[str, Any]) -> None:
        for part, saved in zip(self.parts, own["parts"], strict=True):
            part.load_state_dict(saved)
        if self.chooser is not None:
            self.chooser.load_state_dict(own["chooser"])
        self._ids.restore(own)


def _report(teacher: Teacher, evidence: Sequence[Evidence]) -> None:
    """Report outcomes to a teacher: by id for its own proposals, and straight to `_learn` if the record is a list."""
    proposed = [replace(item.outcome, id=item.record) for item in evidence if not isinstance(item.record, list)]
    direct = [replace(item, record=item.record[0]) for item in evidence if isinstance(item.record, list)]
    if proposed:
        teacher.observe(proposed)
    if direct:
        teacher._counts["observed"] += len(direct)
        teacher._learn(direct)
