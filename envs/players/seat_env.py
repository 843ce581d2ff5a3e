"""`SeatEnv`: one seat of a `TableGame` against a scripted player, judged by the exact value that its moves lose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ...errors import unknown_name
from ..axes import Axis, Direction
from ..game import Game, Transition
from ..param_space import ChoiceAxis, IntAxis
from ..splits import salt
from .table_game import OpenGame, TableGame, TablePosition

TOLERANCE = 0.02
"""Points that a move may lose and still count as sound: equilibria are found by iteration, to about a tenth of this."""
SCORES = ("success", "value", "result")
SEATS = ("first", "second")
_DRAWS = 64
"""Random numbers of the opponent in an episode; they repeat after that."""


def opponent_axes(policies: Mapping[str, str], harder: Direction | None = None) -> list[Axis]:
    """Return the axes opponent, mistakes (in percent) and seat. Where a hand is hidden, no opponent is harder than
    another: each has its own best response."""
    return [
        ChoiceAxis("opponent", tuple(policies), harder),
        IntAxis("mistakes", 0, 20, harder="down", limits=(0, 100)),
        ChoiceAxis("seat", SEATS, harder=None),
    ]


@dataclass(frozen=True, slots=True)
class SeatState:
    """State of an episode: the start positions of its ``hands``; the ``position`` of the present one, its ``number``,
    and the points it has ``lost`` against best play; the agent's ``seat``; the ``opponent`` and its share of random
    moves ``mistakes``; random numbers ``chance``, of which ``used`` are spent; number of hands played ``soundly``; the
    result of the last hand in words, ``told``; and a ``salt`` (see `splits.salt`)."""

    hands: tuple[TablePosition, ...]
    position: TablePosition
    seat: int
    opponent: str
    mistakes: float
    chance: tuple[float, ...]
    number: int = 0
    lost: float = 0.0
    used: int = 0
    soundly: int = 0
    told: str = ""
    salt: str = ""


class SeatEnv(Game):
    """Base of environments with one seat at a table. A subclass sets ``table``, ``turns`` and ``param_space``: the axes
    of the table, `opponent_axes`, and ``hands`` if there are several.

    Args:
        score: the reward: "success", 1 at the end if no move has lost more than `TOLERANCE` points; "value", for each
            hand the share of the largest payoff that was not lost; or "result", for each hand the points, from 0 (all
            lost) to 1 (all won).
        **kwargs: the axes, and the arguments of all environments.

    Raises:
        InputError: an argument is out of range or unknown.
    """

    table: ClassVar[TableGame]
    turns: ClassVar[int]
    """Maximum number of moves of one seat in a hand."""

    def __init__(self, *, score: str = "success", **kwargs: Any):
        if score not in SCORES:
            raise unknown_name("score", str(score), SCORES)
        super().__init__(**kwargs)
        self.score = score

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> SeatState:
        own = {name: params[name] for name in self.table.param_space.names}
        seat = SEATS.index(params["seat"])
        drawn: list[SeatState] = []
        table = self.table
        while not drawn or (isinstance(table, OpenGame) and len(drawn) < table.candidates):
            hands: list[TablePosition] = []
            while len(hands) < params.get("hands", 1):
                position = table.start(rng, own)
                if not isinstance(table, OpenGame) or table.wins(position.deal, 0) == (seat == 0):
                    hands.append(position)
            given = params["opponent"], params["mistakes"] / 100, tuple(rng.random(_DRAWS).tolist())
            state = self._play_on(SeatState(tuple(hands), hands[0], seat, *given, salt=salt(rng)))
            if table.to_move(state.position) is not None:
                drawn.append(state)
        if len(drawn) == 1 or not isinstance(table, OpenGame):
            return drawn[0]
        return min(drawn, key=lambda state: table.luck(table.board(state.position), seat))

    def content_of(self, episode: SeatState) -> str:
        """Return the starts; in small games with a random text, as the same few starts occur again and again."""
        drawn = episode.salt if self.table.is_small else ""
        return f"{drawn} {episode.seat} {episode.opponent} {[hand.deal for hand in episode.hands]}"

    def solver_cost(self, episode: SeatState) -> float:
        """Return the number of deals or first moves to think of in all hands."""
        return sum(map(self.table.size, episode.hands))

    def turn_limit(self, state: SeatState) -> int:
        return 3 * self.turns * len(state.hands)

    def observe(self, state: SeatState) -> str:
        table, position = self.table, state.position
        parts = [state.told] if state.told else []
        if not table.legal(position):
            return state.told
        about = ""
        if state.number == 0 and len(position.history) < 2:
            plays = table.policies[state.opponent]
            errs = f", but makes a random move {state.mistakes:.0%} of the time" if state.mistakes else ""
            hands = f" {len(state.hands)} hands are played." if len(state.hands) > 1 else ""
            about = f"The other player {plays}{errs}.{hands}"
            if self.prompt == "terse":
                about = f"{state.opponent} {100 * state.mistakes:.0f}."
        return "\n".join([*parts, self.show(position, state.seat, about)])

    def show(self, position: TablePosition, seat: int, about: str = "") -> str:
        """Return what a seat reads on its turn: what it knows, and its legal moves.

        Args:
            about: sentences on the other player; unless they are empty, the rules come first, or, in terse prompts, the
                parameters of the game and the seat.
        """
        table, parts = self.table, list[str]()
        if about and self.prompt == "terse":
            given = [f"{name} {value}" for name, value in position.params]
            parts.append(", ".join([*given, SEATS[seat], about]))
        elif about:
            goal = "Win." if isinstance(table, OpenGame) else "Make the moves that win most on average."
            parts.append(f"{table.rules(position, seat)} {about} {goal} Answer with one move and nothing else.")
        legal = table.legal(position)
        parts.append(table.observe(position, seat))
        parts.append(f"Your move: {' or '.join(legal) if len(legal) < 3 else ', '.join(legal)}.")
        return "\n".join(parts)

    def act(self, state: SeatState, action: str) -> Transition:
        move = self.table.find_move(state.position, action)
        if move is None:
            legal = self.table.legal(state.position)
            return Transition(state, progress=self._share_sound(state), action_error=f"Moves are: {', '.join(legal)}.")
        values = self.table.values(state.position, state.opponent, state.mistakes)
        lost = state.lost + max(values.values()) - values[move]
        after = self._play_on(replace(state, position=self.table.play(state.position, move), lost=lost, told=""))
        if self.table.to_move(after.position) is not None:
            return Transition(after, progress=self._share_sound(after), terms={self.score: 0.0})
        points = self.table.returns(after.position)[state.seat]
        sound = lost <= TOLERANCE
        result = "won" if points > 0 else "lost" if points < 0 else "drawn"
        number, hands = state.number + 1, len(state.hands)
        told = f"Hand {number}: you have {result}." if hands > 1 else f"You have {result}."
        after = replace(after, soundly=after.soundly + sound, told=told)
        success = number == hands and after.soundly == hands
        most = self.table.most
        earned = {
            "success": float(success),
            "value": (1.0 - min(1.0, max(0.0, lost - TOLERANCE) / most)) / hands,
            "result": (1.0 + points / most) / 2 / hands,
        }
        progress = self._share_sound(after)
        if number < hands:
            after = self._play_on(replace(after, position=state.hands[number], number=number, lost=0.0))
        return Transition(after, number == hands, success, progress=progress, terms={self.score: earned[self.score]})

    def _share_sound(self, state: SeatState) -> float:
        return state.soundly / len(state.hands)

    def _play_on(self, state: SeatState) -> SeatState:
        """Make the moves of the opponent up to the agent's turn, or to the end of the hand."""
        table, position, used = self.table, state.position, state.used
        while table.to_move(position) == 1 - state.seat:
            chances = table.mix(position, state.opponent, state.mistakes)
            left = state.chance[used % _DRAWS]
            last = list(chances)[-1]  # where the chances sum to just below 1
            move = next((move for move, chance in chances.items() if (left := left - chance) < 0), last)
            position, used = table.play(position, move), used + 1
        return replace(state, position=position, used=used)

    def oracle(self, state: SeatState) -> str:
        values = self.table.values(state.position, state.opponent, state.mistakes)
        return max(values, key=values.__getitem__)

    def random_action(self, episode: SeatState, rng: np.random.Generator) -> str:
        legal = self.table.legal(episode.position)
        return legal[int(rng.integers(len(legal)))]
