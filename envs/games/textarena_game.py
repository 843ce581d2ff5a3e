"""palaestra/TextArena-v0: games of TextArena, run by its own package, with the interface of our environments."""

from __future__ import annotations

from ..registration import register
from .peer_game import PeerGame


class TextArena(PeerGame):
    """Play a game of TextArena, alone or against a given opponent.

    Description:
        A game, made by TextArena from a random seed; in a two-player game, ``opponent`` plays the other side. If no
        game is named, each episode draws one of the single-player games that need neither a network nor a word list.
        Countdown, Cryptarithm and PegJump are the same puzzle for every seed.

    Parameters:
        game: TextArena's name of the game, such as "GuessTheNumber-v0"; ``axes={"game": [...]}`` restricts the draw to
            a list of games.

    Observation:
        The game's messages to the player since the last turn; at first the rules.

    Actions:
        Text in the game's format, mostly in square brackets, which are added if missing.

    Reward:
        The game's own reward, at its end: 1 for a solution or a victory, -1 for a defeat, often partial credit.

    Termination:
        When the game ends, which repeated invalid moves may cause; truncated after ``turns`` turns.

    Source:
        TextArena (arXiv 2504.11442), package textarena.
    """

    package, title = "textarena", "TextArena"
    remedy = "pip install textarena"
    offline = (
        *("2048-v0-easy", "Bandit-v0", "Blackjack-v0", "Countdown-v0", "Crosswords-v0", "Cryptarithm-v0"),
        *("FifteenPuzzle-v0", "FrozenLake-v0", "GuessTheNumber-v0", "LightsOut-v0", "LogicPuzzle-v0", "Mastermind-v0"),
        *("Minesweeper-v0", "PegJump-v0", "RushHour-v0", "Secretary-v0", "Set-v0", "Slitherlink-v0", "Sokoban-v0"),
        *("Sudoku-v0", "ThreeCardMonte-v0", "TowerOfHanoi-v0"),
    )


register("palaestra/TextArena-v0", f"{__name__}:TextArena", listed=False)
