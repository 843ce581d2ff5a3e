"""Rollout strategy without sampling: preference pairs of a right turn and one that the environment calls worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ....errors import InputError
from ...language.renderer import Renderer
from ..batch.trajectory import Group, Origin, Trajectory
from ..recipes.stages import ROLLOUTS
from .episode_player import EpisodePlayer
from .episode_starts import RolloutTask
from .guidance import solve
from .independent import Strategy


@ROLLOUTS.register("rule_pairs")
@dataclass(eq=False)
class RulePairs(Strategy):
    """Pair the oracle's turn with a turn that the environment's rules call worse (``extras["worse_actions"]``), after
    the same earlier turns of the oracle: data for "dpo", "ipo_pairs" and "kto" (Pedagogical alignment, arXiv
    2402.05000: an action that suits the student's state against one that gives the answer away).

    The oracle's turn has outcome 1 and the worse turn 0, whatever rewards the run has. ``samples`` / 2 turns of a
    dialogue are drawn without replacement; each gives one pair, as a separate group. Pairs after the first have no
    proposal of the teacher. The origin of both turns is TEACHER; that of earlier turns is HINT, which is not trained.
    """

    provides: ClassVar[frozenset[str]] = frozenset()
    needs: ClassVar[frozenset[str]] = frozenset({"worse_actions"})

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        first, further = [], []
        for task, solution in zip(tasks, solve(tasks, player), strict=True):
            shown = solution.played.trajectory
            places: list[int] = []
            if shown.valid and shown.turns:
                most = min(max(1, task.samples // 2), len(shown.turns))
                places = sorted(player.rng.choice(len(shown.turns), most, replace=False).tolist())
            pairs = [Group(-1, _make_pair(shown, place, player.renderer)) for place in places]
            first.append(replace(pairs[0], proposal=task.proposal) if pairs else Group(task.proposal, ()))
            further += pairs[1:]
        return [*first, *further]


def _make_pair(shown: Trajectory, place: int, renderer: Renderer) -> tuple[Trajectory, Trajectory]:
    """Return the oracle's episode up to turn ``place``, and the same episode with the worse action in that turn.

    Raises:
        InputError: the environment does not report a worse action for each turn.
    """
    worse = shown.turns[-1].extras.get("worse_actions")
    if worse is None or len(worse) != len(shown.turns):
        raise InputError(
            "rule_pairs needs an environment that tells 'worse_actions', one for each turn, such as "
            f"palaestra/TutorDialogue-v0, not {worse!r}."
        )
    before = tuple(turn.attributed_to(Origin.HINT) for turn in shown.turns[:place])
    right = shown.turns[place].attributed_to(Origin.TEACHER)
    ids = renderer.action_ids(worse[place])
    tokens = {"act_ids": ids, "logps": (0.0,) * len(ids), "origins": (int(Origin.TEACHER),) * len(ids)}
    other = replace(right, action=worse[place], reward=0.0, reward_terms={}, feedback="", **tokens)
    ended = place + 1 == len(shown.turns) and shown.success
    done = (right.extras.get("completion") or [0.0])[-1]
    chosen = replace(shown, turns=(*before, right), success=ended, truncated=not ended, progress=done, **_outcome(1.0))
    rejected = replace(shown, turns=(*before, other), success=False, truncated=False, progress=0.0, **_outcome(0.0))
    return chosen, rejected


def _outcome(value: float) -> dict[str, object]:
    """Return the fields that give an episode the outcome ``value`` and mark it as judged."""
    return {"judged": True, "replaced": True, "shaping": {"preference": value}, "version": -1}
