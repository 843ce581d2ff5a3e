"""palaestra/Hangman-v0: find a hidden word letter by letter before the misses run out."""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..game import Game, Transition
from ..param_space import IntAxis, ParamSpace
from ..registration import register
from ..splits import salt
from .word_list import WORDS, join_letters

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Letters by falling frequency in English words.
_BY_FREQUENCY = "eaoirlnstudmckphgbfwyjvzxq"


@dataclass(frozen=True, slots=True)
class HangmanState:
    """State of a game: the hidden word ``secret``; ``lives``, the number of misses that loses the game; the letters
    ``tried`` and the ``wrong`` words guessed so far; and a ``salt`` (see `splits.salt`)."""

    secret: str
    lives: int
    tried: str = ""
    wrong: tuple[str, ...] = ()
    salt: str = ""

    @property
    def pattern(self) -> str:
        """The word with "_" for each letter not tried yet."""
        return "".join([letter if letter in self.tried else "_" for letter in self.secret])

    @property
    def misses(self) -> int:
        return len(self.wrong) + sum([letter not in self.secret for letter in self.tried])


class Hangman(Game):
    """Find a hidden English word letter by letter.

    Description:
        A common English word is hidden. A letter of the word is shown at all its positions; a letter not in the word,
        or a wrong guess of the whole word, is a miss. The oracle uses the list of 2,800 words and tries the letter that
        occurs in most of the words that still fit; words that it does not find in time are not used. A randomly drawn
        salt, not the word, decides whether an episode is in the train or the test split: every word occurs in both.

    Parameters:
        length (4 to 8): letters of the word.
        lives (7 to 5, harder downwards, on request up to 26): the number of misses that loses the game.

    Observation:
        Text: the rules first, then ``_ a _ e; misses: 2 of 7; tried: a e i o`` after each turn.

    Actions:
        Text with one letter or the whole word, read in ``answer_format``.

    Reward:
        1 when the whole word is shown or guessed, 0 otherwise. Letters in random order find 0.02 of the easiest words
        by chance, letters in the order of their frequency 0.17. The latter rate does not fall steadily with difficulty,
        as long words have more of the commonest letters.

    Termination:
        When the word is found, or with the last miss. A letter tried before, or an answer that cannot be read, uses up
        one of 30 turns, after which the episode is truncated. ``info["progress"]`` is the share of letters shown.

    Source:
        The pencil-and-paper game; the list of words is this project's own.
    """

    param_space = ParamSpace([IntAxis("length", 4, 8), IntAxis("lives", 5, 7, harder="down", limits=(5, 26))])
    blind_loops = (tuple(_BY_FREQUENCY),)
    max_turns = 30

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> HangmanState:
        words = WORDS[params["length"]]
        while True:
            secret = words[int(rng.random() * len(words))]
            if count_oracle_misses(secret) < params["lives"]:
                return HangmanState(secret, params["lives"], salt=salt(rng))

    def content_of(self, episode: HangmanState) -> str:
        return f"{episode.salt} {episode.secret}"

    def solver_cost(self, episode: HangmanState) -> float:
        """Return the expected number of games until a player who tries letters in random order wins once."""
        letters = len(set(episode.secret))
        return math.comb(26, letters) / math.comb(letters + episode.lives - 1, letters)

    def observe(self, state: HangmanState) -> str:
        if state.tried or state.wrong:
            tried = " ".join((*state.tried, *state.wrong))
            return f"{' '.join(state.pattern)}; misses: {state.misses} of {state.lives}; tried: {tried}"
        return (
            f"Find my English word of {len(state.secret)} letters. Name one letter a turn: I show you where the word "
            "has it. A letter that it does not have is a miss. You may also guess the whole word; a wrong guess is a "
            f"miss too. With {state.lives} misses you lose. You have {self.max_turns} turns. Answer with one letter, "
            "or with the whole word."
        )

    def act(self, state: HangmanState, action: str) -> Transition:
        said = join_letters(action[:32])
        if len(said) not in (1, len(state.secret)) or not all([letter in _LETTERS for letter in said]):
            error = f"Answer with one letter from a to z, or with a word of {len(state.secret)} letters."
        elif said in state.tried or said in state.wrong:
            error = f"You have tried {said} before; choose another."
        else:
            error = None
        if error:
            return Transition(state, progress=_progress(state), action_error=error)
        if len(said) == 1:
            after = replace(state, tried=state.tried + said)
        elif said == state.secret:
            after = replace(state, tried="".join(dict.fromkeys(state.tried + said)))
        else:
            after = replace(state, wrong=(*state.wrong, said))
        progress = _progress(after)
        won = progress == 1.0
        return Transition(after, done=won or after.misses >= state.lives, success=won, progress=progress)

    def oracle(self, state: HangmanState) -> str:
        return _choose_try(state.pattern, state.tried, state.wrong)

    def random_action(self, episode: HangmanState, rng: np.random.Generator) -> str:
        untried = [letter for letter in _LETTERS if letter not in episode.tried]
        return untried[int(rng.integers(len(untried)))]


@functools.cache
def count_oracle_misses(secret: str) -> int:
    """Return the number of misses of the oracle before it finds ``secret``."""
    state = HangmanState(secret, 0)
    while True:
        said = _choose_try(state.pattern, state.tried, ())
        if said == secret or "_" not in state.pattern:
            return state.misses
        state = HangmanState(secret, 0, state.tried + said)


def _progress(state: HangmanState) -> float:
    return sum([letter in state.tried for letter in state.secret]) / len(state.secret)


@functools.lru_cache(maxsize=16384)
def _choose_try(pattern: str, tried: str, wrong: tuple[str, ...]) -> str:
    """Return the word of the list that fits the pattern if only one does, else the letter in most of these words."""
    left = _find_fitting_words(pattern, tried)
    if wrong:
        left = tuple(word for word in left if word not in wrong)
    if len(left) < 2:
        return min(left)
    counts = dict.fromkeys(_LETTERS, 0)
    for word in left:
        for letter in set(word).difference(tried):
            counts[letter] += 1
    return max(_LETTERS, key=counts.__getitem__)


@functools.lru_cache(maxsize=16384)
def _find_fitting_words(pattern: str, tried: str) -> tuple[str, ...]:
    """Return the words of the list in which the letters tried occur exactly where ``pattern`` shows them."""
    other = f"[^{tried}]" if tried else "."
    return tuple(filter(re.compile(pattern.replace("_", other)).fullmatch, WORDS[len(pattern)]))


register("palaestra/Hangman-v0", f"{__name__}:Hangman")
