"""palaestra/TextArena-v0: games of TextArena, played by its own package, with the contract of our environments."""

from __future__ import annotations

import gymnasium as gym

from .peer_game import PeerGame


class TextArena(PeerGame):
    """Play a game of TextArena, alone or against a given opponent.

    Description:
        A game, made by TextArena from a seed drawn at random; in a game of two, ``opponent`` plays the other side.
        Where no game is named, those for one player are drawn that need neither a network nor a word list. Countdown,
        Cryptarithm and PegJump are the same puzzle whatever the seed.

    Parameters:
        game: TextArena's name of the game, such as "GuessTheNumber-v0"; ``axes={"game": [...]}`` takes some of them.

    Observation:
        What the game has told the player since the last turn; at first the rules.

    Actions:
        Text as the game asks for, mostly in square brackets, which are added where there are none.

    Reward:
        That of the game, at its end: 1 for a solution or a victory, -1 for a defeat, often a part for a part.

    Termination:
        When the game ends, as with repeated invalid moves; truncated after ``turns`` turns.

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


gym.register("palaestra/TextArena-v0", f"{__name__}:TextArena")
