"""palaestra/SecretCode-v0: words in a code whose symbols can only be learned one after the other."""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...checks import check_count
from ...errors import InputError
from ..param_space import FloatAxis, IntAxis, ParamSpace
from ..question import Task
from ..registration import register
from .digit_words import DigitWord

SYMBOLS = string.ascii_letters + "!#$%&()*+-/:;=?@[]^_|~"


class SecretCode(DigitWord):
    """Write a word of a secret code in digits.

    Description:
        Each of 74 symbols stands for a digit from 1 to ``digits`` (constructor, 2 to 9, default 8), drawn at random
        from the seed ``code`` (constructor, a whole number, default 0). The code is the same in all tasks and is never
        shown: it can only be learned from rewards or from solutions. Symbols come into use in a fixed order. The share
        ``newest`` of each word are the newest symbols in use, each once; the others are drawn from the older symbols.
        So a player who knows the first k symbols is right on rung k, with probability 1/8 on rung k + 1, 1/64 on rung
        k + 2, and so on, as long as each word contains all unknown symbols (with fewer digits more often).
        Whether a word belongs to the train or the test split depends on the word alone, not on the code.
        The tiny model of ``palaestra bench ladders SecretCode`` (four digits, words of 4 symbols, newest 0.75), warmed
        up on solutions of rung 8 and guesses above, is right on 92 % of rung 8, 23 % of rung 9 (all groups of 16 with
        mixed outcomes), 4 % of rung 10 and 2 % of rung 11.

    Parameters:
        symbols (8 to 74): number of symbols in use, the rung of the ladder.
        length (4 to 8, on request 2 to 8): symbols in a word.
        newest (0.0 to 0.8, on request up to 1.0): share of the newest symbols in a word. At 0 the rungs differ little;
            at 0.8 a player hardly ever succeeds two rungs above the symbols known.

    Observation:
        Text such as ``In a secret code each symbol stands for a digit from 1 to 8. Which digits does b f h a e stand
        for? Answer with the digits only.``; with ``prompt="terse"``, ``Secret code, digits 1 to 8: b f h a e``.

    Actions:
        Text with one digit for each symbol, ``31724`` (or apart, ``3 1 7 2 4``), read in ``answer_format``.

    Reward:
        1 if all digits are right, 0 otherwise.

    Termination:
        After the first answer.

    Source:
        Made for comparisons of teachers; generated here.
    """

    param_space = ParamSpace(
        [
            IntAxis("symbols", 8, len(SYMBOLS)),
            IntAxis("length", 4, 8, limits=(2, 8)),
            FloatAxis("newest", 0.0, 0.8, limits=(0.0, 1.0)),
        ]
    )

    def __init__(self, *, code: int = 0, digits: int = 8, **kwargs: Any):
        super().__init__(**kwargs)
        self.code = check_count("code", code)
        self.digits = check_count("digits", digits, 2)
        if self.digits > 9:
            raise InputError(f"digits must be a whole number from 2 to 9, not {digits}.")
        drawn = np.random.default_rng(self.code).integers(1, self.digits + 1, len(SYMBOLS)).tolist()
        self._digits = dict(zip(SYMBOLS, map(str, drawn)))

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        used, length = params["symbols"], params["length"]
        newest = round(params["newest"] * length)
        older = rng.integers(0, max(used - newest, 1), length - newest).tolist()
        places = rng.permutation([*range(used - newest, used), *older]).tolist()
        word = " ".join(SYMBOLS[place] for place in places)
        return Task(
            f"In a secret code each symbol stands for a digit from 1 to {self.digits}. Which digits does {word} stand "
            "for? Answer with the digits only.",
            int("".join(self._digits[symbol] for symbol in word.split())),
            content=word,
            terse=f"Secret code, digits 1 to {self.digits}: {word}",
        )

    def solution_steps(self, task: Task) -> list[str]:
        """List the digit of each symbol of the word, and the answer."""
        return [*(f"{symbol} is {self._digits[symbol]}" for symbol in task.content.split()), self.oracle(task)]

    def criteria(self, task: Task) -> list[str]:
        return [f"It writes {len(task.content.split())} digits."]

    def guess_action(self, episode: Task, known: Mapping[str, Any], rng: np.random.Generator) -> str:
        """Return the right digits of the first ``known["symbols"]`` symbols and random digits of the others."""
        guesses = rng.integers(1, self.digits + 1, len(SYMBOLS)).tolist()
        learned = SYMBOLS[: known["symbols"]]
        symbols = episode.content.split()
        return "".join(self._digits[s] if s in learned else str(guess) for s, guess in zip(symbols, guesses))

    def random_action(self, episode: Task, rng: np.random.Generator) -> str:
        """Return a random digit for each symbol; the answer to another word would reveal digits of the code."""
        return self.guess_action(episode, {"symbols": 0}, rng)

    def solver_cost(self, episode: Task) -> float:
        """Return the number of symbols of the code up to the newest one in the word."""
        return 1.0 + max(map(SYMBOLS.index, episode.content.split()))


register("palaestra/SecretCode-v0", f"{__name__}:SecretCode")
