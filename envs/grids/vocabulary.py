"""The vocabulary of a gridworld's descriptions and actions, and the parsing of actions in it.

"plain" words are always the same; "synonyms" and "invented" words are drawn for each episode and stated in its first
observation, so that a policy cannot lean on fixed words. All phrases of a vocabulary are composed once and then looked
up, since a description must take only microseconds.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Mapping
from typing import Any

from ...errors import InputError, unknown_name
from .cells import COLOURS, EMPTY, PORTABLE, STATES, THINGS
from .grid_world import DONE, DROP, FORWARD, LEFT, PICK_UP, RIGHT, TOGGLE

ACTIONS = {
    "turn left": LEFT,
    "turn right": RIGHT,
    "go forward": FORWARD,
    "pick up": PICK_UP,
    "drop": DROP,
    "toggle": TOGGLE,
    "wait": DONE,
}
ACTION_NAMES = {number: name for name, number in ACTIONS.items()}
NOUNS = ("wall", "door", "key", "ball", "box", "goal", "lava", "floor")
CHOICES = ("plain", "synonyms", "invented")
WORDS = (*ACTIONS, *NOUNS, *COLOURS, *STATES)
"""Names with a separate word in a vocabulary."""

# Words that "synonyms" chooses from, besides the plain one.
_SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "turn left": ("rotate left", "face left", "swing left"),
    "turn right": ("rotate right", "face right", "swing right"),
    "go forward": ("advance", "step ahead", "walk on"),
    "pick up": ("grab", "take", "lift"),
    "drop": ("put down", "release", "lay down"),
    "toggle": ("operate", "use", "switch"),
    "wait": ("stay", "rest", "pause"),
    "wall": ("barrier", "stone", "brick"),
    "door": ("gate", "hatch", "portal"),
    "key": ("opener", "pass", "token"),
    "ball": ("sphere", "orb", "globe"),
    "box": ("chest", "crate", "case"),
    "goal": ("target", "exit", "finish"),
    "lava": ("fire", "magma", "pit"),
}
# Other phrases for plain actions, with a verb before and a thing after: "walk straight ahead", "open the door".
_PHRASES = {
    "turn left": "left",
    "turn right": "right",
    "go forward": "forward|ahead|forwards|straight|straight ahead|on",
    "pick up": "pick up|pickup|grab|take|get",
    "drop": "drop|put down|release",
    "toggle": "toggle|open|unlock|close",
    "wait": "wait|stay|done|nothing",
}
_THING = rf"(?: (?:the|this|a)(?: (?:{'|'.join((*COLOURS, *STATES))}))* (?:key|door|ball|box))?"
_PATTERNS = {
    ACTIONS[name]: re.compile(
        r"(?:(?:go|move|step|walk|turn|rotate|face|do)(?: one step)? (?:to the )?)?" rf"(?:{phrase}){_THING}"
    )
    for name, phrase in _PHRASES.items()
}
_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]


class Vocabulary:
    """The words of one episode.

    Args:
        words: replacements for those of `WORDS` that do not keep their plain name.
        coloured: True to name things with their colours.
    """

    def __init__(self, words: Mapping[str, str], coloured: bool):
        self.words = {plain: words.get(plain, plain) for plain in WORDS}
        self.changed = {plain: word for plain, word in self.words.items() if word != plain}
        self.actions = [self.words[name] for name in ACTIONS]
        self._numbers = {word.lower(): ACTIONS[name] for name, word in self.words.items() if name in ACTIONS}
        self.coloured = coloured
        # Cached, because a reply read as a move is tried in many forms.
        self.read = functools.lru_cache(maxsize=256)(self._read)
        self.names = [self._name(code) for code in range(len(THINGS))]
        self.ahead = [self._name(code) if code != EMPTY else "free" for code in range(len(THINGS))]

    def _name(self, code: int) -> str:
        thing, word = THINGS[code], self.words
        if thing.kind in ("wall", "goal", "lava", "empty"):
            return word.get(thing.kind, thing.kind)
        colour = f"{word[thing.colour]} " if self.coloured else ""
        state = f"{word[thing.state]} " if thing.kind == "door" else ""
        return f"{state}{colour}{word[thing.kind]}"

    def _read(self, text: str) -> int | None:
        """Return the number of the action named by ``text``, or None.

        Plain actions are also read in other phrases ("walk straight ahead"). If any action has another word in this
        vocabulary, only the exact words count.
        """
        said = " ".join(text[:80].lower().split())
        if said in self._numbers:
            return self._numbers[said]
        if any(name in self.changed for name in ACTIONS):
            return None
        return next((number for number, pattern in _PATTERNS.items() if pattern.fullmatch(said)), None)

    def rephrase(self, mission: str) -> str:
        """Return a mission with the words of this vocabulary."""
        if not self.changed:
            return mission
        return re.sub(r"[a-z]+", lambda found: self.words.get(found[0], found[0]), mission)

    def glossary(self) -> str:
        """Return a sentence that states the drawn words; "" if there are none."""
        if not self.changed:
            return ""
        return f" Words: {', '.join(f'{word} is {plain}' for plain, word in self.changed.items())}."


def check_vocabulary(choice: Any) -> Any:
    """Return ``choice`` if it is one of `CHOICES` or a mapping of plain words to others.

    Raises:
        InputError: any other choice, an unknown plain word, or two things with the same name.
    """
    if isinstance(choice, Mapping):
        for plain in choice:
            if plain not in WORDS:
                raise unknown_name("word of the vocabulary", str(plain), WORDS)
        named = [str(choice.get(plain, plain)).lower() for plain in WORDS]
        if len(set(named)) < len(named):
            raise InputError(f"the words of a vocabulary must differ, but {dict(choice)!r} gives two things one name.")
        return dict(choice)
    if choice not in CHOICES:
        raise unknown_name("vocabulary", str(choice), CHOICES)
    return choice


@functools.lru_cache(maxsize=256)
def make_vocabulary(choice: Any, seed: int, coloured: bool) -> Vocabulary:
    """Return the vocabulary of an episode.

    Args:
        choice: one of `CHOICES`, or pairs of a plain word and its replacement.
        seed: seed of the drawn words.
        coloured: see `Vocabulary`.
    """
    rng = random.Random(seed)
    if choice == "plain":
        return Vocabulary({}, coloured)
    if choice == "synonyms":
        return Vocabulary({plain: rng.choice((plain, *others)) for plain, others in _SYNONYMS.items()}, coloured)
    if choice == "invented":
        drawn: list[str] = []
        while len(drawn) < len(WORDS):
            word = "".join(rng.choice(_SYLLABLES) for _ in range(3))
            drawn += [] if word in drawn else [word]
        return Vocabulary(dict(zip(WORDS, drawn)), coloured)
    return Vocabulary({plain: word for plain, word in choice}, coloured)


SIGNS = {"empty": ".", "wall": "#", "goal": "G", "lava": "~", "key": "K", "ball": "A", "box": "B", "floor": "_"}
DOOR_SIGNS = {"open": "O", "closed": "D", "locked": "L"}
SIGN_TABLE = bytes(
    ord(DOOR_SIGNS[thing.state] if thing.kind == "door" else SIGNS[thing.kind]) for thing in THINGS
) + b"?" * (256 - len(THINGS))
"""The sign of each code on a map."""
COLOURED = bytes(thing.kind in (*PORTABLE, "door", "floor") for thing in THINGS)
"""1 for each code whose colour a map does not show."""
