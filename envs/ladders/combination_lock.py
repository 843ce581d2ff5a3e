"""palaestra/CombinationLock-v0: a tower whose doors can only be learned floor by floor."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ...checks import check_count
from ..game import Game, Transition
from ..param_space import IntAxis, ParamSpace
from ..registration import register

ROOMS = "ab"
HIGHEST = 60
_DOOR = re.compile(r"[1-9][0-9]?")


class Climb(NamedTuple):
    """State of an episode: the rooms from the first floor up, the number of doors in each, the number of floors done,
    and True if a wrong door has ended the game."""

    rooms: str
    doors: int
    done: int = 0
    lost: bool = False


class CombinationLock(Game):
    """Climb a tower: on every floor, choose the one door that leads on.

    Description:
        On each floor the player arrives in one of two rooms, drawn at random. Every room of every floor has one right
        door; a wrong one ends the game. Which doors are right is drawn at random from the seed ``code`` (constructor, a
        whole number, default 0), is the same in all episodes and never shown: it can only be learned from rewards or
        from solutions. So a player who knows k floors succeeds on k + 1 floors with probability 1/doors, on k + 2 with
        1/doors**2, and so on. Whether an episode belongs to the train or the test split depends on its sequence of
        rooms alone, not on the code. The tiny model of ``palaestra bench ladders CombinationLock`` (4 doors), warmed up
        on solutions of 4 to 6 floors and guesses above, wins 94 % of 6 floors, 39 % of 7 (all groups of 16 with mixed
        outcomes), 12 % of 8 and 3 % of 9; without the guesses 0.2 % of 7.

    Parameters:
        floors (4 to 40, on request up to 60): number of floors, the rung of the ladder.
        doors (3 to 8, on request 2 to 20): doors in each room.

    Observation:
        Text: the rules at first, shorter with ``prompt="terse"``, then ``Floor 2, room a.`` on each floor.

    Actions:
        Text with the number of a door, read in ``answer_format``.

    Reward:
        1 for the last floor, 0 otherwise. Random doors succeed by chance in 0.012 of the easiest tasks, 1/3**4.

    Termination:
        With the first wrong door, or after the last floor. Truncated after one turn a floor; an action that cannot be
        read uses up its turn. ``info["progress"]`` is the share of the floors that are done.

    Source:
        The combination locks of exploration theory, with two good states a level as in Misra et al., arXiv 1911.05815;
        here a longer lock contains the shorter ones.
    """

    param_space = ParamSpace([IntAxis("floors", 4, 40, limits=(4, HIGHEST)), IntAxis("doors", 3, 8, limits=(2, 20))])

    def __init__(self, *, code: int = 0, **kwargs: Any):
        super().__init__(**kwargs)
        self.code = check_count("code", code)
        drawn = np.random.default_rng(self.code).random((HIGHEST, len(ROOMS)))
        self._right: list[dict[str, float]] = [dict(zip(ROOMS, row)) for row in drawn.tolist()]

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> Climb:
        return Climb("".join(ROOMS[i] for i in rng.integers(0, 2, params["floors"]).tolist()), params["doors"])

    def content_of(self, episode: Climb) -> str:
        return f"{episode.rooms} {episode.doors}"

    def split_key(self, episode: Climb) -> str:
        return episode.rooms

    def turn_limit(self, state: Climb) -> int:
        return len(state.rooms)

    def observe(self, state: Climb) -> str:
        if state.lost:
            return "The door does not open."
        if state.done == len(state.rooms):
            return "You are at the top."
        here = f"Floor {state.done + 1}, room {state.rooms[state.done]}."
        if state.done:
            return here
        if self.prompt == "terse":
            return f"In every room one of doors 1 to {state.doors} leads up. Answer with its number. {here}"
        return (
            f"Climb a tower of {len(state.rooms)} floors. In every room one of doors 1 to {state.doors} leads up; a "
            f"wrong one ends the game. {here} Answer with the number of a door only."
        )

    def act(self, state: Climb, action: str) -> Transition:
        floors = len(state.rooms)
        if not _DOOR.fullmatch(action) or int(action) > state.doors:
            error = f"A door must be a number from 1 to {state.doors}."
            return Transition(state, progress=state.done / floors, action_error=error)
        if int(action) != self._right_door(state):
            return Transition(state._replace(lost=True), done=True, progress=state.done / floors)
        after = state._replace(done=state.done + 1)
        top = after.done == floors
        return Transition(after, done=top, success=top, progress=after.done / floors)

    def oracle(self, state: Climb) -> str:
        return str(self._right_door(state))

    def random_action(self, episode: Climb, rng: np.random.Generator) -> str:
        return str(rng.integers(1, episode.doors + 1))

    def guess_action(self, episode: Climb, known: Mapping[str, Any], rng: np.random.Generator) -> str:
        """Return the right door of the first ``known["floors"]`` floors, and a random one above."""
        guess = self.random_action(episode, rng)
        return self.oracle(episode) if episode.done < known["floors"] else guess

    def solver_cost(self, episode: Climb) -> float:
        """Return the number of doors tried, at worst, by a player who may start again."""
        return float(len(episode.rooms) * episode.doors)

    def _right_door(self, state: Climb) -> int:
        return 1 + int(self._right[state.done][state.rooms[state.done]] * state.doors)


register("palaestra/CombinationLock-v0", f"{__name__}:CombinationLock")
