"""palaestra/TwentyQuestions-v0: find the hidden item of a table by asking for properties."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..game import Game, Transition
from ..param_space import IntAxis, ParamSpace
from ..registration import register
from ..splits import salt

_NAMES = """
lamp vase box bowl coin drum kite mask plate ring clock chair table brush spoon fork cup mug tray basket bench
bottle button candle card comb crown door fan flute frame globe harp hat jar jug key ladder mirror pan pen pipe
purse puzzle rake ruler shelf sled stool sword tile torch trunk whistle wheel yoyo
"""
NAMES = tuple(_NAMES.split())
# Words around a property or an item, as in "Is it red?" and "the lamp".
_ASKED = re.compile(r"^(?:is (?:it|the item) )?(?:an? |the )?")
# The first three alone distinguish 48 items.
PROPERTIES = (
    ("red", "blue", "green", "white"),
    ("wooden", "metal", "glass", "paper"),
    ("round", "square", "oval"),
    ("plain", "striped", "dotted"),
    ("small", "large"),
)


@dataclass(frozen=True, slots=True)
class TwentyQuestionsState:
    """State of a game: ``names`` and ``descriptions`` of the items; ``secret``, the index of the hidden item;
    ``having``, property -> bit set of the items that have it (bit i for item i); the number of ``questions`` allowed;
    ``left``, a bit set of the items that fit all answers so far; the last ``reply``; and a ``salt`` (see
    `splits.salt`)."""

    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    secret: int
    having: dict[str, int]
    questions: int
    left: int
    reply: str = ""
    salt: str = ""


class TwentyQuestions(Game):
    """Find the hidden item of a table by asking for properties.

    Description:
        The prompt lists items, all different, with their properties; one of them is the hidden item. A question names a
        property and is answered with yes or no; a guess names an item. There is one guess, and as many questions as
        halving needs in the worst case, plus ``slack``; halving always asks for the property that splits the remaining
        items most evenly. The table in the prompt, not the hidden item, decides the split.

    Parameters:
        items (12 to 32, on request 3 to 48): items in the table.
        properties (3 to 5): properties of each item.
        slack (2 to 0, harder downwards, on request up to 20): questions beyond those that halving needs.

    Observation:
        Text: rules and table first, then ``red: yes.`` after each question.

    Actions:
        Text with one word, a property or an item, read in ``answer_format``.

    Reward:
        1 for guessing the hidden item, 0 otherwise. An item taken by chance is right in up to 0.09 of the games. A
        player that asks for the first property that some but not all remaining items have succeeds in 0.99 of the
        easiest games and 0.68 of the hardest; this rate does not fall further, as properties are spread evenly.

    Termination:
        With the first guess. Truncated after one turn more than there are questions. Any other word, or an answer that
        cannot be read, uses up a turn. ``info["progress"]`` is log2(n / m) / (log2(n) + 1) for n items of which m
        remain, and 1 after the right guess.

    Source:
        The parlour game; tables generated here.
    """

    param_space = ParamSpace(
        [
            IntAxis("items", 12, 32, limits=(3, 48)),
            IntAxis("properties", 3, 5),
            IntAxis("slack", 0, 2, harder="down", limits=(0, 20)),
        ]
    )

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> TwentyQuestionsState:
        count, kinds = params["items"], PROPERTIES[: params["properties"]]
        names = [NAMES[i] for i in rng.permutation(len(NAMES))[:count].tolist()]
        having = {word: 0 for kind in kinds for word in kind}
        descriptions = []
        for place, code in enumerate(rng.permutation(math.prod(map(len, kinds)))[:count].tolist()):
            words = []
            for kind in kinds:
                code, which = divmod(code, len(kind))
                words.append(kind[which])
                having[kind[which]] |= 1 << place
            descriptions.append(" ".join(words))
        everything = (1 << count) - 1
        questions = _count_questions(everything, list(having.values())) + params["slack"]
        secret = int(rng.random() * count)
        return TwentyQuestionsState(
            tuple(names), tuple(descriptions), secret, having, questions, everything, salt=salt(rng)
        )

    def content_of(self, episode: TwentyQuestionsState) -> str:
        return f"{episode.salt} {episode.secret} of {self.split_key(episode)}"

    def split_key(self, episode: TwentyQuestionsState) -> str:
        """Return the table of items that the prompt shows."""
        return f"{' '.join(episode.names)}: {', '.join(episode.descriptions)}"

    def turn_limit(self, state: TwentyQuestionsState) -> int:
        return state.questions + 1

    def observe(self, state: TwentyQuestionsState) -> str:
        if state.reply:
            return state.reply
        table = "\n".join(f"{name}: {words}" for name, words in zip(state.names, state.descriptions))
        return (
            f"I think of one of the items below. Ask for a property by its word, and I say yes or no, at most "
            f"{state.questions} times. Then name the item; you have one guess, which ends the game.\n{table}\n"
            "Answer with one word: a property to ask for, or an item to guess. Any other word uses up one of "
            f"{state.questions + 1} turns."
        )

    def act(self, state: TwentyQuestionsState, action: str) -> Transition:
        word = _ASKED.sub("", action.lower().strip(" .?!"))
        if word in state.having:
            has = state.having[word] >> state.secret & 1
            left = state.left & (state.having[word] if has else ~state.having[word])
            after = replace(state, left=left, reply=f"{word}: {'yes' if has else 'no'}.")
            return Transition(after, progress=_progress(after))
        if word in state.names:
            won = word == state.names[state.secret]
            after = replace(state, reply=f"{word}: {'correct' if won else 'wrong'}.")
            return Transition(after, done=True, success=won, progress=1.0 if won else _progress(state))
        return Transition(state, progress=_progress(state), action_error="Name one property or one item of the table.")

    def oracle(self, state: TwentyQuestionsState) -> str:
        count = state.left.bit_count()
        if count == 1:
            return state.names[state.left.bit_length() - 1]
        return min(state.having, key=lambda word: abs(2 * (state.left & state.having[word]).bit_count() - count))

    def random_action(self, episode: TwentyQuestionsState, rng: np.random.Generator) -> str:
        words = (*episode.having, *episode.names)
        return words[int(rng.integers(len(words)))]

    def heuristic_action(self, episode: TwentyQuestionsState) -> str:
        """Return the first property that some but not all remaining items have."""
        if episode.left.bit_count() == 1:
            return episode.names[episode.left.bit_length() - 1]
        return next(word for word, having in episode.having.items() if 0 != episode.left & having != episode.left)


def _progress(state: TwentyQuestionsState) -> float:
    count = len(state.names)
    return math.log2(count / state.left.bit_count()) / (math.log2(count) + 1.0)


def _count_questions(left: int, properties: list[int]) -> int:
    """Return the number of questions that halving needs in the worst case until one item of ``left`` remains."""
    count = left.bit_count()
    if count == 1:
        return 0
    best = min(properties, key=lambda having: abs(2 * (left & having).bit_count() - count))
    return 1 + max(_count_questions(left & best, properties), _count_questions(left & ~best, properties))


register("palaestra/TwentyQuestions-v0", f"{__name__}:TwentyQuestions")
