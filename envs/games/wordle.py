"""palaestra/Wordle-v0: find a hidden word from the colours of each guess's letters."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..board_picture import Cell, draw_board
from ..game import Game, Transition
from ..param_space import IntAxis, ParamSpace
from ..registration import register
from ..splits import salt
from .word_list import WORDS, join_letters

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_FILLS = {"g": "#6aaa64", "y": "#c9b458", ".": "#787c7e"}
# Among the remaining words, the oracle compares at most this many guesses, each against at most this many words; if
# none of them is good enough, also this many words of the whole list.
_WEIGHED, _AGAINST, _PROBES = 16, 48, 60


@dataclass(frozen=True, slots=True)
class WordleState:
    """State of a game: the hidden word ``secret``; the letters ``shown`` at the start, "_" for the others; the number
    of ``guesses`` allowed; the guesses so far in ``past``, as (guess, colours); and a ``salt`` (see `splits.salt`)."""

    secret: str
    shown: str
    guesses: int
    past: tuple[tuple[str, str], ...] = ()
    salt: str = ""


class Wordle(Game):
    """Find a hidden English word.

    Description:
        A common English word is hidden; some of its letters may be shown. Each guess, which may be any letters, is
        answered with a colour for each of its letters: g at the right place, y if it occurs at another place, "." if it
        does not occur. A letter repeated more often in the guess than in the word gets g and y only as often as the
        word has it: first at right places, then from the left. The oracle uses the list of 2,800 words; words that it
        does not find in time are not used. A randomly drawn salt, not the word, decides whether an episode is in the
        train or the test split: every word occurs in both.

    Parameters:
        length (4 to 8): letters of the word.
        given (2 to 0, harder downwards): letters shown at the start.
        guesses (8 to 5, harder downwards, on request up to 100): the number of guesses.

    Observation:
        Text: the rules first, then each guess with its colours below, both with spaces between the letters.

    Actions:
        Text with one word of the right length, in letters a to z, read in ``answer_format``.

    Reward:
        1 when the word is found, 0 otherwise, however near the last guess. A player that guesses any word of the list
        that fits all colours so far nearly always succeeds, and this rate does not fall with difficulty: the hard part
        is to recall such words and to check that they fit.

    Termination:
        When the word is found. Truncated after the last guess. A guess that cannot be read counts as a guess.
        ``info["progress"]`` is the largest share of letters at the right place in a guess.

    Source:
        Josh Wardle's game of 2021; the list of words is this project's own.
    """

    param_space = ParamSpace(
        [
            IntAxis("length", 4, 8),
            IntAxis("given", 0, 2, harder="down"),
            IntAxis("guesses", 5, 8, harder="down", limits=(5, 100)),
        ]
    )

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> WordleState:
        length, given = params["length"], params["given"]
        words = WORDS[length]
        while True:
            which, *order = rng.random(1 + length).tolist()
            secret = words[int(which * len(words))]
            kept = sorted(range(length), key=order.__getitem__)[:given]
            shown = "".join(letter if place in kept else "_" for place, letter in enumerate(secret))
            state = WordleState(secret, shown, params["guesses"])
            if _oracle_finds_in_time(state):
                return replace(state, salt=salt(rng))

    def content_of(self, episode: WordleState) -> str:
        return f"{episode.salt} {episode.secret} {episode.shown}"

    def turn_limit(self, state: WordleState) -> int:
        return state.guesses

    def solver_cost(self, episode: WordleState) -> float:
        """Return the total number of letters of the words that fit the letters shown."""
        return len(episode.secret) * len(_remaining_words(episode))

    def observe(self, state: WordleState) -> str:
        if state.past:
            guess, marks = state.past[-1]
            return f"{' '.join(guess)}\n{' '.join(marks)}"
        length = len(state.secret)
        shown = "" if set(state.shown) == {"_"} else f" It has these letters: {' '.join(state.shown)}"
        return (
            f"Find my English word of {length} letters in at most {state.guesses} guesses. I mark each letter of a "
            "guess: g = this letter at this place; y = this letter, but at another place; . = not in the word, or not "
            f"that often. A guess may be any {length} letters.{shown}\nAnswer with {length} letters, without spaces."
        )

    def act(self, state: WordleState, action: str) -> Transition:
        guess = join_letters(action)
        if len(guess) != len(state.secret) or not _LETTERS.issuperset(guess):
            error = f"A guess is exactly {len(state.secret)} letters from a to z."
            return Transition(state, progress=_progress(state), action_error=error)
        after = replace(state, past=(*state.past, (guess, mark_guess(state.secret, guess))))
        won = guess == state.secret
        return Transition(after, done=won, success=won, progress=_progress(after))

    def oracle(self, state: WordleState) -> str:
        return _choose_guess(_remaining_words(state), state.guesses - len(state.past))

    def random_action(self, episode: WordleState, rng: np.random.Generator) -> str:
        words = WORDS[len(episode.secret)]
        return words[int(rng.integers(len(words)))]

    def heuristic_action(self, episode: WordleState) -> str:
        """Return the first word of the list that fits all colours so far."""
        return _remaining_words(episode)[0]

    def draw(self, episode: WordleState) -> np.ndarray:
        rows = [
            [Cell(letter.upper(), _FILLS[mark], "white") for letter, mark in zip(guess, marks)]
            for guess, marks in episode.past
        ]
        shown = [Cell(letter.strip("_").upper()) for letter in episode.shown]
        return draw_board([shown, *rows, *([Cell()] * len(shown) for _ in range(episode.guesses - len(rows)))])


def mark_guess(secret: str, guess: str) -> str:
    """Return a mark for each letter of ``guess``: "g", "y" or ".". Both words must have the same length."""
    marks, rest = [], []
    for hidden, letter in zip(secret, guess):
        if hidden == letter:
            marks.append("g")
        else:
            marks.append(".")
            rest.append(hidden)
    for place, letter in enumerate(guess):
        if marks[place] == "." and letter in rest:
            marks[place] = "y"
            rest.remove(letter)
    return "".join(marks)


def _progress(state: WordleState) -> float:
    return max([marks.count("g") for _, marks in state.past], default=0) / len(state.secret)


def _remaining_words(state: WordleState) -> tuple[str, ...]:
    """Return the words of the list that fit all colours so far."""
    left = _find_fitting_words(state.shown)
    for guess, marks in state.past:
        left = _group_by_marks(left, guess).get(marks, ())
    return left


@functools.lru_cache(maxsize=8192)
def _find_fitting_words(shown: str) -> tuple[str, ...]:
    return tuple(filter(re.compile(shown.replace("_", ".")).fullmatch, WORDS[len(shown)]))


@functools.lru_cache(maxsize=8192)
def _group_by_marks(words: tuple[str, ...], guess: str) -> dict[str, tuple[str, ...]]:
    """Group the words by the colours that ``guess`` would get if the word were hidden."""
    groups: dict[str, list[str]] = {}
    for word in words:
        groups.setdefault(mark_guess(word, guess), []).append(word)
    return {marks: tuple(group) for marks, group in groups.items()}


@functools.lru_cache(maxsize=8192)
def _choose_guess(left: tuple[str, ...], turns: int) -> str:
    """Return the next guess: in a sample of the words ``left``, the one that leaves the fewest words in the worst case.

    If even this guess may leave ``turns`` words or more, where ``turns`` is the number of remaining guesses, words of
    the list that are not among ``left`` are compared too.
    """
    if len(left) < 3:
        return min(left)
    against = _evenly_spaced(left, _AGAINST)
    worst, guess = min((_largest_group(word, against), word) for word in _evenly_spaced(left, _WEIGHED))
    if worst >= turns:
        probes = _evenly_spaced(WORDS[len(guess)], _PROBES)
        other, probe = min((_largest_group(word, against), word) for word in probes)
        guess = probe if other < worst else guess
    return guess


def _largest_group(guess: str, words: Sequence[str]) -> int:
    counts: dict[str, int] = {}
    for word in words:
        marks = mark_guess(word, guess)
        counts[marks] = counts.get(marks, 0) + 1
    return max(counts.values())


def _evenly_spaced(words: Sequence[str], most: int) -> Sequence[str]:
    """Return at most ``most`` of the words, evenly spaced."""
    return words[:: -(-len(words) // most)]


def _oracle_finds_in_time(state: WordleState) -> bool:
    left = _find_fitting_words(state.shown)
    for turn in range(state.guesses):
        guess = _choose_guess(left, state.guesses - turn)
        if guess == state.secret:
            return True
        left = _group_by_marks(left, guess)[mark_guess(state.secret, guess)]
    return False


register("palaestra/Wordle-v0", f"{__name__}:Wordle")
