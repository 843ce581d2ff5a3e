"""palaestra/GEM-v0: games of GEM, run by GEM's own package, with the interface of our environments."""

from __future__ import annotations

from ..registration import register
from .peer_game import PeerGame


class GEM(PeerGame):
    """Play a game of GEM, or answer one of its questions.

    Description:
        A game, made by GEM from a random seed. If no game is named, each episode draws one of the games that need
        neither a network nor a word list.

    Parameters:
        game: GEM's name of the game, such as "game:Mastermind-v0-easy" or "rg:leg_counting"; ``axes={"game": [...]}``
            restricts the draw to a list of games.

    Observation:
        GEM's observation with the suffix from GEM's info; at first the rules.

    Actions:
        Text with the answer in ``\\boxed{}``, as the game asks for.

    Reward:
        GEM's reward at each turn: 1 for a solution, -0.1 for an unreadable answer, otherwise often 0.

    Termination:
        When the game ends; truncated at the game's own limit, or after ``turns`` turns.

    Source:
        GEM (arXiv 2510.01051), package gem-llm.
    """

    package, title = "gem", "GEM"
    remedy = "pip install gem-llm, in an environment of its own, as it binds versions of others"
    offline = (
        *("game:Crosswords-v0-easy", "game:Crosswords-v0-hard", "game:FifteenPuzzle-v0-easy"),
        *("game:FifteenPuzzle-v0-hard", "game:Game2048-v0-easy", "game:Game2048-v0-hard"),
        *("game:GuessTheNumber-v0-easy", "game:GuessTheNumber-v0-hard", "game:Mastermind-v0-easy"),
        *("game:Mastermind-v0-hard", "game:Minesweeper-v0-easy", "game:Minesweeper-v0-hard", "game:Sokoban-v0-easy"),
        *("game:Sudoku-v0-easy", "game:Sudoku-v0-hard", "game:TowerofHanoi-v0-easy", "game:TowerofHanoi-v0-hard"),
    )


register("palaestra/GEM-v0", f"{__name__}:GEM", listed=False)
