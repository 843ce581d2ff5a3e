"""Table from the proposal ids of a part to the ids of the teacher made of parts.

A part asks to join earlier proposals (``meta["joins"]``) by its own ids, which the learner does not know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .protocol import Proposal, Teacher


class PartIds:
    """Map from (part, id within the part) to the combined teacher's id.

    Only evaluation-only proposals (``train=False``) are kept, while a part may still ask to join them.
    """

    def __init__(self, parts: Sequence[Teacher]):
        self._parts = list(parts)
        self._own: dict[tuple[int, int], int] = {}  # number of the part and its id -> own id

    def translate(self, part: int, meta: Mapping[str, Any]) -> Mapping[str, Any]:
        """Translate the ids in a part's ``meta["joins"]`` to the combined teacher's; forgotten ids are left out."""
        if "joins" not in meta:
            return meta
        return {**meta, "joins": [self._own[part, id] for id in meta["joins"] if (part, id) in self._own]}

    def remember(self, turns: Sequence[int], proposals: Sequence[Proposal], first: int) -> None:
        """Add a batch of proposals, and forget earlier ones that no part can ask to join any more.

        Args:
            turns: index of the part that made each proposal.
            proposals: proposals of the parts.
            first: the combined teacher's id of the first proposal; later ids count up from it.
        """
        if not any("joins" in part.asks for part in self._parts):
            return
        kept = [part.joinable() | part._in_flight.keys() for part in self._parts]
        self._own = {key: own for key, own in self._own.items() if key[1] in kept[key[0]]}
        for own, (part, proposal) in enumerate(zip(turns, proposals, strict=True), first):
            if not proposal.train:
                self._own[part, proposal.id] = own

    def joinable(self) -> frozenset[int]:
        """Return the combined teacher's ids of all proposals that a part may ask to join (`Teacher.joinable`)."""
        wanted = [part.joinable() for part in self._parts]
        return frozenset(own for (part, id), own in self._own.items() if id in wanted[part])

    def save(self) -> dict[str, Any]:
        """Return the table as an entry of a teacher's saved state; {} if it is empty."""
        return {"ids": [[*key, own] for key, own in self._own.items()]} if self._own else {}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore the table from a saved state that contains the entry of `save`."""
        self._own = {(int(part), int(id)): int(own) for part, id, own in saved.get("ids", ())}
