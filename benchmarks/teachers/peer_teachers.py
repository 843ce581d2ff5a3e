"""Teachers of other projects, compared with ours; each runs under the Python where its project is installed."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from ...errors import InputError
from ...estimates import MeanEstimate, estimate_mean
from ...teachers.benchmarks.statistics import summarise_records
from ...teachers.pools import Arms, as_arms
from ...teachers.protocol import Common, Draw, Evidence, Teacher
from ...teachers.spaces import as_cube
from .. import peer_process
from ..harness import check_pythons
from . import originals


class PeerFactory:
    """A teacher of another project; calling it makes the teacher.

    Args:
        name: name in `originals.ORIGINALS`.
        kind: see `Teacher`.
        tables: names of the tables in which it takes part.
        ours: text of our teacher that follows the same publication.
        about: one sentence.
        paper: an arXiv number.
    """

    def __init__(self, name: str, kind: str, tables: Sequence[str], ours: str, about: str, paper: str):
        self.name, self.kind, self.tables, self.ours, self.paper = name, kind, tuple(tables), ours, paper
        self.python, self.version = Path(), ""
        self.__name__, self.__doc__ = name, about

    def __call__(self, space: Any, *, seed: int = 0, **options: Any) -> Teacher:
        return PeerTeacher(space, self, options, seed=seed)


BOXES, ARMS = ("T1", "T2", "T6"), ("T3",)
PEERS = (
    PeerFactory("teachDeepRL/alp-gmm", "box", BOXES, "alp-gmm", "ALP-GMM in its authors' code.", "1910.07224"),
    PeerFactory("teachDeepRL/riac", "box", BOXES, "riac", "RIAC in the code of ALP-GMM's authors.", "1910.07224"),
    PeerFactory("teachDeepRL/covar-gmm", "box", BOXES, "covar-gmm", "Covar-GMM in the same code.", "1910.07224"),
    PeerFactory(
        name="syllabus/learning-progress",
        kind="arms",
        tables=ARMS,
        ours="bidirectional-lp",
        about="Learning progress of the Syllabus library, from the episodes that are trained on.",
        paper="2411.11318",
    ),
    PeerFactory(
        name="syllabus/plr",
        kind="arms",
        tables=ARMS,
        ours="plr",
        about="Prioritized level replay of the Syllabus library, with the mean of a group as its critic.",
        paper="2411.11318",
    ),
    PeerFactory(
        name="reasoning-gym/coach",
        kind="arms",
        tables=ARMS,
        ours="reasoning-gym reset=false",
        about="Levels of a reasoning-gym curriculum, raised and lowered as in its training code.",
        paper="2505.24760",
    ),
)


def find_peers(pythons: Sequence[Path]) -> dict[str, PeerFactory]:
    """Return the peers installed under some interpreters by name. If several have a peer, the first one counts.

    Raises:
        InputError: a path is no interpreter, or no peer is installed.
    """
    check_pythons(pythons)
    found = {}
    for name, (python, version) in peer_process.find_peers(pythons, originals.__file__).items():
        peer = found[name] = next(peer for peer in PEERS if peer.name == name)
        peer.python, peer.version = python.absolute(), version
    if pythons and not found:
        names = ", ".join(map(str, pythons))
        raise InputError(f"none of teachDRL, syllabus and reasoning_gym can be imported under {names}; install one.")
    return found


@functools.cache
def _start_process(python: Path, project: str) -> peer_process.PeerProcess:
    """Start a process per project: settings that a project makes on import (NumPy's errors) could disturb another
    one."""
    del project
    return peer_process.PeerProcess(python, originals.__file__, quiet=True)


class PeerTeacher(Teacher):
    """A teacher in the process of its project, over the unit cube of a space ("box") or its arms; it cannot be saved.

    Args:
        space: Box or ParamSpace; for arms, Discrete or any space that `as_arms` accepts.
        peer: the peer's teacher.
        options: options of the project's teacher.
        seed, return_range, max_in_flight: see `Teacher`.

    Raises:
        RuntimeError: the project's code failed; also later, by any call.
    """

    def __init__(self, space: Any, peer: PeerFactory, options: Mapping[str, Any], **common: Unpack[Common]):
        self.kind, self._name, self._seconds = peer.kind, peer.name, 0.0
        self.domain = as_cube(space) if peer.kind == "box" else as_arms(space)
        super().__init__(self.domain.signature, settings={"peer": peer.name, **options}, **common)
        # Loading a project takes seconds, so its process is reused for further teachers.
        self._project = _start_process(peer.python, peer.name.partition("/")[0])
        size = self.domain.n if isinstance(self.domain, Arms) else self.domain.dimension
        self._ask(make=peer.name, size=size, seed=common.get("seed", 0), options=dict(options))

    def peer_clock(self) -> float:
        """Return the seconds of processor time that the project's code has taken so far."""
        return self._seconds

    def _ask(self, **request: Any) -> Any:
        answer = self._project.ask(**request)
        if "error" in answer:
            raise RuntimeError(f"{self._name} failed: {answer['error']}")
        self._seconds += answer["seconds"]
        return answer.get("tasks")

    def _draw(self, k: int) -> list[Draw]:
        drawn = self._ask(propose=k)
        if isinstance(self.domain, Arms):
            return [Draw(arm, self.domain.task(arm, self._rng)) for arm in drawn]
        return list(map(Draw, drawn, self.domain.decode_all(np.array(drawn, dtype=np.float64))))

    def _record(self, task: Any) -> Any:
        return self.domain.arm(task) if isinstance(self.domain, Arms) else self.domain.encode(task).tolist()

    def _learn(self, evidence: list[Evidence]) -> None:
        self._ask(observe=[[item.record, item.returns.tolist()] for item in evidence])


@dataclass(frozen=True)
class PeerComparison:
    """Comparison of our teacher with a peer in one setting.

    Attributes:
        theirs, ours: the two scores, each over all its seeds.
        difference: ours minus theirs, paired by seed.
        times: ratio of the peer's time per task to ours; NaN if it was not measured.
    """

    setting: str
    peer: PeerFactory
    theirs: MeanEstimate
    ours: MeanEstimate
    difference: MeanEstimate
    times: float


def compare_with_peers(peers: Sequence[PeerFactory], records: Sequence[Mapping[str, Any]]) -> list[PeerComparison]:
    """Return a comparison for each setting and peer in one table's records for which both sides have a common seed."""
    scores: dict[tuple[str, str], dict[int, float]] = {}
    for record in records:
        scores.setdefault((record["setting"], record["teacher"]), {})[record["seed"]] = record["score"]
    lines = {(line.setting, line.teacher): line for line in summarise_records(records)}
    found = []
    for setting in dict.fromkeys(setting for setting, _ in lines):
        for peer in peers:
            theirs, ours = lines.get((setting, peer.name)), lines.get((setting, peer.ours))
            if theirs is None or ours is None:
                continue
            their, our = scores[setting, peer.name], scores[setting, peer.ours]
            if shared := sorted(their.keys() & our.keys()):
                difference = estimate_mean([our[seed] - their[seed] for seed in shared])
                cost = sum(ours.calls.values())
                times = sum(theirs.calls.values()) / cost if cost > 0 else math.nan
                found.append(PeerComparison(setting, peer, theirs.score, ours.score, difference, times))
    return found
