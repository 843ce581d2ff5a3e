"""palaestra/Mastermind-v0: find a hidden code from the number of right letters in each guess."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..board_picture import Cell, draw_board
from ..game import Game, Transition
from ..param_space import IntAxis, ParamSpace
from ..registration import register
from ..splits import salt

LETTERS = "ABCDEFGH"
COLOURS = ("#d1495b", "#edae49", "#66a182", "#2e4057", "#00798c", "#8d6a9f", "#c08552", "#9aa5b1")

# Most guesses that the oracle needs, by pegs and then by colours from 5 to 8; found by playing it against every code.
WORST = {2: (5, 6, 7, 8), 3: (6, 7, 8, 9), 4: (6, 6, 7, 8), 5: (6, 7, 8, 8), 6: (7, 8, 8, 9)}
# Among the remaining codes, the oracle compares at most this many guesses, each against at most this many codes.
_WEIGHED, _AGAINST = 24, 256


@dataclass(frozen=True, slots=True)
class MastermindState:
    """State of a game: the hidden code ``secret``; ``colours``, the number of letters in the alphabet; the number of
    ``guesses`` allowed; the guesses so far in ``past``, as (guess, exact, near); and a ``salt`` (see `splits.salt`)."""

    secret: str
    colours: int
    guesses: int
    past: tuple[tuple[str, int, int], ...] = ()
    salt: str = ""


class Mastermind(Game):
    """Find a hidden code of letters.

    Description:
        A code of letters is hidden; a letter may occur several times. Each guess is answered with the number of letters
        at the right place, and the number of its other letters that occur elsewhere in the code, each letter of the
        code counting once. There are as many guesses as the oracle needs for the worst code, plus ``slack``. The oracle
        always guesses a code that fits all marks so far: in a sample of such codes, the one that leaves the fewest
        codes in the worst case. A randomly drawn salt, not the code, decides whether an episode is in the train or the
        test split: every code occurs in both.

    Parameters:
        pegs (4 to 6, on request from 2): letters in the code.
        colours (5 to 8): different letters that may occur, from A on.
        slack (3 to 0, harder downwards, on request up to 100): guesses beyond those the oracle needs for the worst
            code.

    Observation:
        Text: the rules first, then ``ABCA: 2 exact, 1 near.`` after each guess.

    Actions:
        Text with one code such as ``ABCA``, with or without spaces, read in ``answer_format``.

    Reward:
        1 when the code is found, 0 otherwise, however near the last guess. A player that guesses the first code that
        fits all marks nearly always succeeds, and this rate does not fall with difficulty: the hard part is to find
        such a code.

    Termination:
        When the code is found. Truncated after the last guess. A guess that cannot be read counts as a guess.
        ``info["progress"]`` is the largest share of letters at the right place in a guess.

    Source:
        The board game by Mordecai Meirowitz; D. Knuth, "The computer as Master Mind" (1977), for guessing by the worst
        case.
    """

    param_space = ParamSpace(
        [
            IntAxis("pegs", 4, 6, limits=(2, 6)),
            IntAxis("colours", 5, 8),
            IntAxis("slack", 0, 3, harder="down", limits=(0, 100)),
        ]
    )

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> MastermindState:
        pegs, colours = params["pegs"], params["colours"]
        secret = "".join(LETTERS[int(u * colours)] for u in rng.random(pegs).tolist())
        return MastermindState(secret, colours, WORST[pegs][colours - 5] + params["slack"], salt=salt(rng))

    def content_of(self, episode: MastermindState) -> str:
        return f"{episode.salt} {episode.secret} of {episode.colours}"

    def turn_limit(self, state: MastermindState) -> int:
        return state.guesses

    def solver_cost(self, episode: MastermindState) -> float:
        """Return the number of possible codes, divided by the number of guesses."""
        return episode.colours ** len(episode.secret) / episode.guesses

    def observe(self, state: MastermindState) -> str:
        pegs = len(state.secret)
        if not state.past:
            return (
                f"I hide a code of {pegs} letters, each from A to {LETTERS[state.colours - 1]}; letters may repeat. "
                "After each guess I say how many letters are exact (right letter, right place) and how many more are "
                f"near (right letter, wrong place). You have at most {state.guesses} guesses to find the code. "
                f"Answer with exactly {pegs} letters and nothing else."
            )
        guess, exact, near = state.past[-1]
        return f"{guess}: {exact} exact, {near} near."

    def act(self, state: MastermindState, action: str) -> Transition:
        guess = action.replace(" ", "").upper()
        pegs = len(state.secret)
        if len(guess) != pegs or not set(guess) <= set(LETTERS[: state.colours]):
            error = f"A guess is exactly {pegs} letters from A to {LETTERS[state.colours - 1]}."
            return Transition(state, progress=_progress(state), action_error=error)
        exact, near = mark_code(state.secret, guess)
        after = replace(state, past=(*state.past, (guess, exact, near)))
        won = exact == pegs
        return Transition(after, done=won, success=won, progress=_progress(after))

    def oracle(self, state: MastermindState) -> str:
        return _choose_guess(len(state.secret), state.colours, state.past)

    def random_action(self, episode: MastermindState, rng: np.random.Generator) -> str:
        return "".join([LETTERS[letter] for letter in rng.integers(0, episode.colours, len(episode.secret)).tolist()])

    def heuristic_action(self, episode: MastermindState) -> str:
        """Return the alphabetically first code that fits all marks."""
        codes = _code_table(len(episode.secret), episode.colours)
        return codes.text(int(_remaining_codes(codes.pegs, codes.colours, episode.past)[0]))

    def draw(self, episode: MastermindState) -> np.ndarray:
        pegs = len(episode.secret)
        rows = [
            [
                *(Cell(fill=COLOURS[LETTERS.index(letter)]) for letter in guess),
                Cell(str(exact)),
                Cell(str(near), ink="#8a8170"),
            ]
            for guess, exact, near in episode.past
        ]
        empty = [*(Cell() for _ in range(pegs)), Cell(), Cell()]
        return draw_board([*rows, *(empty for _ in range(episode.guesses - len(rows)))][: episode.guesses])


def mark_code(secret: str, guess: str) -> tuple[int, int]:
    """Return (exact, near): the number of letters of ``guess`` at the right place, and the number of its other letters
    that occur elsewhere in ``secret``, each letter of ``secret`` counting once."""
    exact = sum([a == b for a, b in zip(secret, guess)])
    near = -exact
    for letter in set(guess):
        near += min(secret.count(letter), guess.count(letter))
    return exact, near


def _progress(state: MastermindState) -> float:
    return max([exact for _, exact, _ in state.past], default=0) / len(state.secret)


class _CodeTable:
    """All codes of an alphabet, each as two bit sets, so that marking a guess against many codes takes two vectorised
    bit counts."""

    def __init__(self, pegs: int, colours: int):
        digits = np.indices((colours,) * pegs, dtype=np.uint64).reshape(pegs, -1)
        self.pegs, self.colours = pegs, colours
        # places: bit pegs * colour + place is set if that place has the colour. counts: a colour that occurs k times
        # sets the lowest k of its bits.
        self.places = np.zeros(digits.shape[1], np.uint64)
        self.counts = np.zeros(digits.shape[1], np.uint64)
        for place in range(pegs):
            self.places |= np.uint64(1) << (digits[place] * np.uint64(pegs) + np.uint64(place))
        for colour in range(colours):
            count = (digits == colour).sum(0).astype(np.uint64)
            self.counts |= ((np.uint64(1) << count) - np.uint64(1)) << np.uint64(pegs * colour)
        self.all = np.arange(digits.shape[1])
        self.first = self.index("AABBCC"[:pegs])
        self.after_first = self.marks_against(self.first, self.all)

    def index(self, code: str) -> int:
        return functools.reduce(lambda total, letter: total * self.colours + LETTERS.index(letter), code, 0)

    def text(self, index: int) -> str:
        letters = []
        for _ in range(self.pegs):
            index, letter = divmod(index, self.colours)
            letters.append(LETTERS[letter])
        return "".join(reversed(letters))

    def marks_against(self, guess: int, codes: np.ndarray) -> np.ndarray:
        """Return the marks of ``guess`` against each of ``codes``, as 8 * exact + (exact + near): uint8[len(codes)]."""
        exact = np.bitwise_count(self.places[codes] & self.places[guess])
        common = np.bitwise_count(self.counts[codes] & self.counts[guess])
        return exact * np.uint8(8) + common

    def choose(self, left: np.ndarray) -> int:
        """Return the code that leaves the fewest codes in the worst case, in a sample of the codes ``left``."""
        if len(left) < 3:
            return int(left[0])
        against = left[:: -(-len(left) // _AGAINST)]
        best, guess = len(against) + 1, -1
        for code in left[:: -(-len(left) // _WEIGHED)].tolist():
            worst = int(np.bincount(self.marks_against(code, against)).max())
            if worst < best:
                best, guess = worst, code
        return guess


@functools.cache
def _code_table(pegs: int, colours: int) -> _CodeTable:
    return _CodeTable(pegs, colours)


@functools.lru_cache(maxsize=128)
def _remaining_codes(pegs: int, colours: int, past: tuple[tuple[str, int, int], ...]) -> np.ndarray:
    """Return the codes that fit all guesses so far with their marks, in alphabetical order."""
    codes = _code_table(pegs, colours)
    if not past:
        return codes.all
    before = _remaining_codes(pegs, colours, past[:-1])
    guess, exact, near = past[-1]
    index = codes.index(guess)
    known = codes.after_first if len(past) == 1 and index == codes.first else codes.marks_against(index, before)
    return before[known == exact * 8 + exact + near]


@functools.lru_cache(maxsize=8192)
def _choose_guess(pegs: int, colours: int, past: tuple[tuple[str, int, int], ...]) -> str:
    codes = _code_table(pegs, colours)
    if not past:
        return codes.text(codes.first)
    return codes.text(codes.choose(_remaining_codes(pegs, colours, past)))


register("palaestra/Mastermind-v0", f"{__name__}:Mastermind")
