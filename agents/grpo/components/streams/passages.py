"""Stream source of plain text: the passages that the tasks of the step are about."""

from __future__ import annotations

from collections.abc import Sequence

from ...batch.scored import needs
from ...batch.trajectory import Group, Origin, Trajectory, Turn
from ...recipes.stages import SOURCES
from .supply import StreamSource, Supply


@SOURCES.register("passages")
@needs("passage")
class Passages(StreamSource):
    """The text around the place that each task asks for, without the place itself: the next-token loss of RMT (arXiv
    2509.24375, section 3.4) on the tokens that no reward is given for.

    A passage that several tasks of the step share is trained once for each place. A text longer than the context is cut
    at its end.
    """

    def draw(self, supply: Supply) -> list[Group]:
        shown = {tuple(t.episode.extras["passage"]) for group in supply.groups for t in group.valid[:1]}
        texts = (read_passage(parts, supply) for parts in sorted(shown))
        return [Group(-1, (text,)) for text in texts if text is not None]


def read_passage(parts: Sequence[str], supply: Supply) -> Trajectory | None:
    """Return a passage as a trajectory of one turn, whose first token is the observation; None if it has one token.

    Args:
        parts: the text before the place, at the place, and after it; tokens of the second have the origin HINT.
    """
    ids: list[int] = []
    origins: list[int] = []
    for text, origin in zip(parts, (Origin.TEACHER, Origin.HINT, Origin.TEACHER), strict=True):
        own = supply.encode(f" {text}" if ids and text else text)
        ids += own
        origins += [int(origin)] * len(own)
    ids, origins = ids[: supply.context], origins[: supply.context]
    if len(ids) < 2:
        return None
    act = tuple(ids[1:])
    turn = Turn(tuple(ids[:1]), act, (0.0,) * len(act), "length", 0.0, origins=tuple(origins[1:]))
    return Trajectory("", {}, 0.0, (turn,), False, 0.0, False, True, len(act), version=-1)
