"""palaestra/ConnectFour-v0: win at Connect Four within a limited number of moves, from a won position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..board_picture import Cell, draw_board
from ..game import Game, Transition
from ..param_space import ChoiceAxis, FloatAxis, IntAxis, ParamSpace
from ..registration import register

COLUMNS, ROWS = 7, 6
# Cells are bits 7 * column + row, rows from the bottom; the seventh bit of each column is always empty, so that
# lines do not wrap around.
_COLUMN = [((1 << ROWS) - 1) << 7 * column for column in range(COLUMNS)]
_FLOOR = sum(1 << 7 * column for column in range(COLUMNS))
_BOARD = sum(_COLUMN)
_FILLS = {"X": "#edae49", "O": "#d1495b"}
# Search order of columns: most lines pass through the middle.
_ORDER = (3, 2, 4, 1, 5, 0, 6)


@dataclass(frozen=True, slots=True)
class Position:
    """State of a game, the agent to move: ``mine`` and ``theirs``, bit sets of the discs of agent and opponent;
    ``moves``, the agent's number of moves in all; ``opponent`` and ``mistakes``, the strategy of the opponent and the
    share of its random moves; ``chance``, two random numbers in [0, 1) for each move of the opponent; ``made``, the
    number of moves that the agent has made."""

    mine: int
    theirs: int
    moves: int
    opponent: str
    mistakes: float
    chance: tuple[float, ...]
    made: int = 0


PositionKey = tuple[int, int, int, bool]


class ConnectFour(Game):
    """Connect four discs in a limited number of moves.

    Description:
        A game under way on the board of 7 columns and 6 rows, the agent to move. The agent can force a win within
        ``moves`` moves by a sequence of threats; with one move less, the opponent could prevent the win. The opponent
        is scripted: "blocks" connects four if possible, else blocks the agent's next winning disc, else takes any
        column; "searches" does the first two as well, and otherwise prevents the agent's win if possible or delays it.
        The opponent's random numbers are drawn beforehand, so that the same moves get the same replies. Always playing
        one column does not win against "blocks". A player that looks one disc ahead, and otherwise makes any threat
        that does not let the opponent win, has at most the probability ``luck`` of winning.

    Parameters:
        moves (2 to 4, on request up to 5): the agent's moves, within which it must win.
        opponent ("blocks", "searches"): the opponent's strategy.
        mistakes (0.2 to 0.0, harder downwards, on request up to 1.0): share of the opponent's moves that are random.
        luck (1.0 to 0.25, harder downwards, on request 0.2): maximum probability that random threats win from the start
            against an opponent that blocks every threat it can.

    Observation:
        Text: the rules (at first) and the board, top row first; X are the agent's discs, O the opponent's.

    Actions:
        Text with the number of a column, 1 to 7, read in ``answer_format``.

    Reward:
        1 for four in a row, column or diagonal, 0 otherwise. Columns drawn by chance win 0.05 of the easiest games, and
        alternating between the middle column and the next one 0.13. The player that looks one disc ahead, middle
        columns first, wins 0.78 of the easiest and 0.34 of the hardest.

    Termination:
        When either side has connected four. Truncated after the last move; an answer that cannot be read, or a full
        column, uses up a move. ``info["progress"]`` is 1 for a win and 0 otherwise.

    Source:
        The board game by Howard Wexler and Ned Strongin; positions generated here.
    """

    param_space = ParamSpace(
        [
            IntAxis("moves", 2, 4, limits=(2, 5)),
            ChoiceAxis("opponent", ("blocks", "searches")),
            FloatAxis("mistakes", 0.0, 0.2, harder="down", limits=(0.0, 1.0)),
            FloatAxis("luck", 0.25, 1.0, harder="down", limits=(0.2, 1.0)),
        ]
    )
    blind_loops = (("4", "5"), ("4", "3"), ("4", "5", "3"))

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> Position:
        moves, luck = params["moves"], params["luck"]
        while True:
            past = play_random_game(rng.random(COLUMNS * ROWS).tolist())
            # Go back through the winner's positions while threats alone still win.
            for back, (mine, theirs) in enumerate(past[::-2], 1):
                if not find_winning_move(mine, theirs, min(back, moves), quiet=False):
                    break
                if back < moves or (luck < 1.0 and chance_of_winning(mine, theirs, moves, luck) > luck):
                    continue
                if find_winning_move(mine, theirs, moves - 1):
                    continue
                chance = tuple(rng.random(2 * moves).tolist())
                start = Position(mine, theirs, moves, params["opponent"], params["mistakes"], chance)
                if not any(self._single_column_wins(start, column) for column in "1234567"):
                    return start

    def _single_column_wins(self, start: Position, column: str) -> bool:
        """Return True if always playing ``column`` wins against the opponent "blocks"."""
        state = replace(start, opponent="blocks")
        for _ in range(start.moves):
            result = self.act(state, column)
            if result.done or result.action_error:
                return result.success
            state = result.state
        return False

    def content_of(self, episode: Position) -> str:
        """Return the board or its mirror image, whichever is the smaller pair of numbers: both are one task."""
        board = (episode.mine, episode.theirs)
        return "{:x} {:x}".format(*min(board, tuple(map(mirror_board, board))))

    def turn_limit(self, state: Position) -> int:
        return state.moves

    def solver_cost(self, episode: Position) -> float:
        """Return 1 plus the number of positions that a search for a win by threats visits and finds lost."""
        known: set[PositionKey] = set()
        find_winning_move(episode.mine, episode.theirs, episode.moves, False, known)
        return 1.0 + len(known)

    def observe(self, state: Position) -> str:
        signs = _board_rows(state)
        table = "\n".join([" ".join(row) for row in signs] + [" ".join(map(str, range(1, COLUMNS + 1)))])
        if state.made:
            return table
        return (
            "Connect Four. You are X and move; O is the other player. A disc falls to the lowest free cell of its "
            "column. Get four X in a line (row, column or diagonal) in at most "
            f"{state.moves} moves of yours. You can, whatever O does.\n{table}\nAnswer with a column, 1 to {COLUMNS}."
        )

    def act(self, state: Position, action: str) -> Transition:
        action = action.lower().removeprefix("column ")
        if len(action) != 1 or action not in "1234567":
            return Transition(state, action_error=f"Answer with the number of a column, 1 to {COLUMNS}.")
        cell = playable_cells(state.mine | state.theirs) & _COLUMN[int(action) - 1]
        if not cell:
            return Transition(state, action_error=f"Column {action} is full; choose another.")
        mine, theirs = state.mine | cell, state.theirs
        won = has_four_in_line(mine)
        if not won and (reply := _choose_reply(mine, theirs, state)):
            theirs |= reply
        after = Position(mine, theirs, state.moves, state.opponent, state.mistakes, state.chance, state.made + 1)
        return Transition(after, done=won or has_four_in_line(theirs), success=won, progress=float(won))

    def oracle(self, state: Position) -> str:
        """Return the first move of a forced win by threats; if there is none, a blocking move, or else any move."""
        free = playable_cells(state.mine | state.theirs)
        cell = find_winning_move(state.mine, state.theirs, max(state.moves - state.made, 1), quiet=False)
        cell = cell or _split_cells(completing_cells(state.theirs) & free or free)[0]
        return _column_name(cell)

    def random_action(self, episode: Position, rng: np.random.Generator) -> str:
        cells = _split_cells(playable_cells(episode.mine | episode.theirs))
        return _column_name(cells[int(rng.integers(len(cells)))])

    def heuristic_action(self, episode: Position) -> str:
        """Return the first of `candidate_moves`: connect four, else block the opponent, else make a threat that does
        not let the opponent win; middle columns first."""
        mine, theirs = episode.mine, episode.theirs
        return _column_name(candidate_moves(mine, theirs, completing_cells(mine), completing_cells(theirs))[0][0])

    def draw(self, episode: Position) -> np.ndarray:
        return draw_board(
            [[Cell(sign.strip("."), _FILLS.get(sign, "#fffdf8")) for sign in row] for row in _board_rows(episode)]
        )


def has_four_in_line(discs: int) -> bool:
    """Return True if four of the discs are in a line."""
    for step in (1, 7, 6, 8):
        pairs = discs & discs >> step
        if pairs & pairs >> 2 * step:
            return True
    return False


def playable_cells(filled: int) -> int:
    """Return for each column the cell in which the next disc lands, as a bit set."""
    return (filled + _FLOOR) & _BOARD


def completing_cells(discs: int) -> int:
    """Return a bit set of all empty cells that complete four in a line with three of ``discs``. It may also have filled
    cells, so that callers must intersect it with `playable_cells`."""
    found = (discs & discs >> 1 & discs >> 2) << 3
    for step in (7, 6, 8):
        # Any three of four in a line contain two neighbours; a pair is marked by its lower cell.
        if pairs := discs & discs >> step:
            threes = pairs & discs >> 2 * step
            found |= threes << 3 * step | threes >> step
            found |= (pairs & discs >> 3 * step) << 2 * step | (discs & pairs >> 2 * step) << step
    return found & _BOARD


def find_winning_move(
    mine: int, theirs: int, moves: int, quiet: bool = True, known: set[PositionKey] | None = None
) -> int:
    """Return a cell with which the side to move has a forced win within ``moves`` of its moves; 0 if there is none.

    Args:
        mine: discs of the side to move.
        theirs: discs of the other side.
        moves: number of moves of the side to move.
        quiet: True to consider also moves that do not threaten to connect four with the next disc.
        known: (mine, theirs, moves, quiet) of searches that found no win; extended by the search.
    """
    known = set() if known is None else known
    free = playable_cells(mine | theirs)
    if now := completing_cells(mine) & free:
        return now & -now
    losing = completing_cells(theirs)
    danger = losing & free
    if moves == 1 or danger & (danger - 1) or (mine, theirs, moves, quiet) in known:
        return 0
    for cell in _split_cells(danger or free):
        after = mine | cell
        room = playable_cells(after | theirs)
        threats = completing_cells(after) & room
        if losing & room or not (threats or (quiet and room)):
            continue
        if threats & (threats - 1):
            return cell
        if all(
            find_winning_move(after, theirs | reply, moves - 1, quiet, known) for reply in _split_cells(threats or room)
        ):
            return cell
    known.add((mine, theirs, moves, quiet))
    return 0


def candidate_moves(mine: int, theirs: int, wins: int, danger: int) -> list[tuple[int, int]]:
    """Return the candidate cells of a player that looks one disc ahead, each with its `completing_cells` afterwards.

    In order of preference: a cell that connects four; a cell that blocks the opponent; threats that do not let the
    opponent connect four; other cells that do not let it connect four; any cell. There must be a free cell.

    Args:
        mine: discs of the side to move.
        theirs: discs of the other side.
        wins: `completing_cells` of ``mine``.
        danger: `completing_cells` of ``theirs``.
    """
    free = playable_cells(mine | theirs)
    if forced := wins & free or danger & free:
        cells = _split_cells(forced)[:1]
    else:
        cells = [
            cell for cell in _split_cells(free) if not danger & playable_cells(mine | cell | theirs)
        ] or _split_cells(free)
    options = [(cell, completing_cells(mine | cell)) for cell in cells]
    return [option for option in options if option[1] & playable_cells(mine | option[0] | theirs)] or options


def chance_of_winning(mine: int, theirs: int, moves: int, most: float = 1.0, wins: int | None = None) -> float:
    """Return the probability of connecting four in ``moves`` moves with random `candidate_moves`.

    The other side blocks every threat that it can; without a threat, it takes any column.

    Args:
        mine: discs of the side to move.
        theirs: discs of the other side.
        moves: number of moves of the side to move.
        most: the search stops once the probability exceeds ``most``; the result is then some number above ``most``.
        wins: `completing_cells` of ``mine``, if known.
    """
    free = playable_cells(mine | theirs)
    wins = completing_cells(mine) if wins is None else wins
    if wins & free:
        return 1.0
    if moves == 1 or not free:
        return 0.0
    total, danger = 0.0, completing_cells(theirs)
    options = candidate_moves(mine, theirs, wins, danger)
    for cell, then in options:
        after = mine | cell
        room = playable_cells(after | theirs)
        if not room or danger & room:
            continue
        threats = then & room
        if threats & (threats - 1):
            total += 1.0
        elif threats:
            total += chance_of_winning(after, theirs | threats, moves - 1, wins=then)
        else:
            replies = _split_cells(room)
            total += sum([chance_of_winning(after, theirs | reply, moves - 1, wins=then) for reply in replies]) / len(
                replies
            )
        if total > most * len(options):
            break
    return total / len(options)


def play_random_game(chance: Sequence[float]) -> list[tuple[int, int]]:
    """Return the positions of a random game, up to the one in which the side to move connects four; an empty list if
    nobody does.

    Both sides connect four if they can, else block the other; ``chance`` decides between the remaining moves. A
    position is (discs of the side to move, discs of the other).
    """
    mine = theirs = wins = dangers = 0
    past = []
    for u in chance:
        past.append((mine, theirs))
        free = playable_cells(mine | theirs)
        if wins & free:
            return past
        cells = _split_cells(dangers & free or free)
        mine, theirs = theirs, mine | cells[int(u * len(cells))]
        wins, dangers = dangers, completing_cells(theirs)
    return []


def mirror_board(discs: int) -> int:
    """Return the discs with left and right exchanged."""
    return sum((discs >> 7 * column & 127) << 7 * (COLUMNS - 1 - column) for column in range(COLUMNS))


def _choose_reply(mine: int, theirs: int, before: Position) -> int:
    """Return the cell of the opponent's reply after the agent's move from ``before``, as a bit; 0 if the board is
    full."""
    cells = _split_cells(playable_cells(mine | theirs))
    if not cells:
        return 0
    err, which = before.chance[2 * before.made : 2 * before.made + 2]
    if err >= before.mistakes:
        free = playable_cells(mine | theirs)
        cells = _split_cells(completing_cells(theirs) & free or completing_cells(mine) & free) or cells
        left = before.moves - before.made - 1
        if before.opponent == "searches" and left and len(cells) > 1:
            delays = [_count_moves_to_win(mine, theirs | cell, left) for cell in cells]
            cells = [cell for cell, delay in zip(cells, delays) if delay == max(delays)]
    return cells[int(which * len(cells))]


def _count_moves_to_win(mine: int, theirs: int, moves: int) -> int:
    """Return the number of moves in which the side to move can force a win at the earliest; ``moves`` + 1 if it cannot
    within ``moves``."""
    return next((count for count in range(1, moves + 1) if find_winning_move(mine, theirs, count)), moves + 1)


def _board_rows(state: Position) -> list[list[str]]:
    cells = [[1 << 7 * x + y for x in range(COLUMNS)] for y in reversed(range(ROWS))]
    return [["X" if state.mine & cell else "O" if state.theirs & cell else "." for cell in row] for row in cells]


def _column_name(cell: int) -> str:
    """Return the name of a cell's column in actions."""
    return str((cell.bit_length() - 1) // 7 + 1)


def _split_cells(cells: int) -> list[int]:
    """Return the cells of a bit set with at most one cell in each column, middle columns first."""
    return [cell for column in _ORDER if (cell := cells & _COLUMN[column])]


register("palaestra/ConnectFour-v0", f"{__name__}:ConnectFour")
