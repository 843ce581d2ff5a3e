"""palaestra/GuessNumber-v0: find a hidden number from "higher" and "lower"."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import InputError
from ..game import Game, Transition
from ..param_space import IntAxis, ParamSpace
from ..registration import register
from ..splits import salt

_GUESS = re.compile(r"[+-]?[0-9]{1,20}")


@dataclass(frozen=True, slots=True)
class GuessNumberState:
    """State of a game: the hidden number ``secret``, from 1 to ``size``; the number of ``guesses`` allowed; the range,
    ``low`` to ``high``, in which the number must still lie; the last ``reply``; and a ``salt`` (see `splits.salt`)."""

    secret: int
    size: int
    guesses: int
    low: int
    high: int
    reply: str = ""
    salt: str = ""


class GuessNumber(Game):
    """Find a hidden whole number.

    Description:
        A number from 1 to 2**bits is hidden. Each guess is answered with "higher" or "lower" until it is right. There
        are just enough guesses for bisection, plus ``slack``. A randomly drawn salt, not the number, decides whether an
        episode is in the train or the test split: every number occurs in both. As a ladder (``palaestra bench ladders
        GuessNumber``): the tiny model, after demonstrations of 1 to 4 bits without slack, wins 83 % at 4 bits, 15 % at
        5 (35 % of groups of 16 episodes have both wins and losses), 26 % at 6, none at 7 and 6 % at 8; as many
        different blind guesses win 19, 11, 6 and 4 % at 5 to 8 bits.

    Parameters:
        bits (4 to 16, on request 1 to 60): the range is 1 to 2**bits.
        slack (4 to 0, harder downwards, on request up to 100): guesses beyond the ``bits + 1`` that bisection needs at
            worst.
        shaping (constructor, 0 to below 1, default 0): weight of the progress of each turn in the reward.

    Observation:
        Text: the rules first, then ``12: higher.`` after each guess.

    Actions:
        Text with one integer, read in ``answer_format``.

    Reward:
        1 when the number is found, 0 otherwise. In the easiest games nine different guesses among 16 numbers find the
        hidden one by chance with probability 9/16 = 0.56. With shaping, each turn also gives ``shaping`` times the gain
        in progress, a difference of potentials that sums to less than 1: a lost game never outranks a won one.

    Termination:
        When the number is found. Truncated after the last guess. A guess that cannot be read counts as a guess.
        ``info["progress"]`` is the share of the number's bits determined by the guesses.

    Source:
        The classic twenty-questions game of binary search.
    """

    param_space = ParamSpace(
        [IntAxis("bits", 4, 16, limits=(1, 60)), IntAxis("slack", 0, 4, harder="down", limits=(0, 100))]
    )
    blind_loops = (tuple(map(str, range(1, 21))),)

    def __init__(self, *, shaping: float = 0.0, **kwargs: Any):
        super().__init__(**kwargs)
        number = isinstance(shaping, (int, float)) and not isinstance(shaping, bool)
        if not number or not 0.0 <= shaping < 1.0:
            raise InputError(f"shaping must be a number of at least 0 and below 1, not {shaping!r}.")
        self.shaping = float(shaping)

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> GuessNumberState:
        size = 2 ** params["bits"]
        secret = int(rng.integers(1, size + 1))
        guesses = params["bits"] + 1 + params["slack"]
        return GuessNumberState(secret, size, guesses, low=1, high=size, salt=salt(rng))

    def content_of(self, episode: GuessNumberState) -> str:
        return f"{episode.salt} {episode.secret} of {episode.size}"

    def turn_limit(self, state: GuessNumberState) -> int:
        return state.guesses

    def observe(self, state: GuessNumberState) -> str:
        if state.reply:
            return state.reply
        rules = f"Guess my number from 1 to {state.size}. You have {state.guesses} guesses"
        if self.prompt == "terse":
            return f"{rules}. Answer with an integer."
        return f"{rules}; after each I say whether my number is higher or lower. Answer with an integer only."

    def act(self, state: GuessNumberState, action: str) -> Transition:
        if not _GUESS.fullmatch(action):
            return Transition(state, progress=_progress(state), action_error="A guess must be one integer.")
        guess = int(action)
        if guess == state.secret:
            after = replace(state, low=guess, high=guess, reply=f"{guess}: correct.")
            return self._make_transition(state, after, success=True)
        if guess < state.secret:
            after = replace(state, low=max(state.low, guess + 1), reply=f"{guess}: higher.")
        else:
            after = replace(state, high=min(state.high, guess - 1), reply=f"{guess}: lower.")
        return self._make_transition(state, after, success=False)

    def oracle(self, state: GuessNumberState) -> str:
        return str((state.low + state.high) // 2)

    def random_action(self, episode: GuessNumberState, rng: np.random.Generator) -> str:
        return str(rng.integers(1, episode.size + 1))

    def _make_transition(self, before: GuessNumberState, after: GuessNumberState, success: bool) -> Transition:
        terms = {"success": float(success)}
        if self.shaping:
            terms["progress"] = self.shaping * (_progress(after) - _progress(before))
        return Transition(after, done=success, success=success, progress=_progress(after), terms=terms)


def _progress(state: GuessNumberState) -> float:
    # The size is a power of two.
    return 1.0 - math.log2(state.high - state.low + 1) / (state.size.bit_length() - 1)


register("palaestra/GuessNumber-v0", f"{__name__}:GuessNumber")
