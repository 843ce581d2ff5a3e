"""Made-up texts that state facts, and the questions about them. Facts in later texts replace some earlier facts.

`draw_story` draws a `Story`: the texts, the facts in each text, and the facts asked for. Every value is one word, and
no word is a value of two attributes, so that the fact in a sentence can be told without doubt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

NAMES = (
    "Ada",
    "Boris",
    "Carla",
    "Deniz",
    "Elif",
    "Farid",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Kira",
    "Leon",
    "Mina",
    "Nora",
    "Oskar",
    "Petra",
    "Quentin",
    "Rosa",
    "Sven",
    "Tara",
)
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)

# Attribute -> (sentence about a person, sentence about the user, question, values).
ATTRIBUTES: Mapping[str, tuple[str, str, str, tuple[str, ...]]] = {
    "job": (
        "{who} works as a {value}",
        "I work as a {value}",
        "What is {whose} job?",
        ("baker", "pilot", "nurse", "lawyer", "tailor", "farmer", "plumber", "chemist", "judge", "dentist"),
    ),
    "city": (
        "{who} lives in {value}",
        "I live in {value}",
        "Where does {whom} live?",
        ("Lima", "Oslo", "Cairo", "Quito", "Turin", "Kyoto", "Perth", "Dakar", "Porto", "Sofia"),
    ),
    "pet": (
        "{who} has a {value}",
        "I have a {value}",
        "What animal does {whom} have?",
        ("parrot", "hamster", "rabbit", "tortoise", "canary", "lizard", "goat", "donkey", "ferret", "goldfish"),
    ),
    "colour": (
        "the favourite colour of {who} is {value}",
        "my favourite colour is {value}",
        "What is {whose} favourite colour?",
        ("red", "green", "blue", "yellow", "purple", "brown", "black", "white", "grey", "pink"),
    ),
    "instrument": (
        "{who} plays the {value}",
        "I play the {value}",
        "What instrument does {whom} play?",
        ("violin", "flute", "piano", "guitar", "trumpet", "cello", "harp", "drums", "banjo", "clarinet"),
    ),
    "food": (
        "the favourite food of {who} is {value}",
        "my favourite food is {value}",
        "What is {whose} favourite food?",
        ("rice", "soup", "pasta", "cheese", "salad", "bread", "curry", "fish", "beans", "pancakes"),
    ),
}
# Event -> (sentence, question, values).
EVENTS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "visited": (
        "{who} visited the {value}",
        "What did {who} visit on {date}?",
        ("castle", "museum", "harbour", "zoo", "library", "market", "circus", "lighthouse", "palace", "cinema"),
    ),
    "bought": (
        "{who} bought a {value}",
        "What did {who} buy on {date}?",
        ("kettle", "bicycle", "lamp", "carpet", "mirror", "camera", "hammer", "tent", "ladder", "sofa"),
    ),
}
FILLER = (
    "It rained in the morning",
    "The bus was late again",
    "Nobody knew what to say",
    "The neighbours were loud",
    "There was nothing good on the radio",
    "The evening was quiet",
    "We talked for a long time about nothing",
    "The windows needed cleaning",
    "It was colder than the week before",
    "Somebody had left the door open",
)
STORES = ("core", "semantic", "episodic")


@dataclass(frozen=True, slots=True)
class StoryFact:
    """A fact about a person, or about the user if ``subject`` is empty. ``attribute`` is a key of `ATTRIBUTES`, or of
    `EVENTS` if there is a ``date`` such as "3 May"."""

    subject: str
    attribute: str
    value: str
    date: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Key of the fact: a later fact with the same key replaces it."""
        return self.subject, self.attribute, self.date

    @property
    def store(self) -> str:
        """Store that the fact belongs to: "core" for the user, "semantic" for people's lasting facts, "episodic" for
        events."""
        if self.date:
            return "episodic"
        return "semantic" if self.subject else "core"

    @property
    def values(self) -> tuple[str, ...]:
        """All possible values of the attribute."""
        return EVENTS[self.attribute][2] if self.date else ATTRIBUTES[self.attribute][3]

    def sentence(self, changed: bool = False) -> str:
        """Return the sentence that states the fact, without a full stop. ``changed``: the fact replaces an earlier
        one."""
        if self.date:
            return f"On {self.date} {EVENTS[self.attribute][0].format(who=self.subject, value=self.value)}"
        about_person, about_user, _, _ = ATTRIBUTES[self.attribute]
        text = (about_person if self.subject else about_user).format(who=self.subject, value=self.value)
        text = f"since this week {text}" if changed else text
        return text[0].upper() + text[1:]

    def question(self) -> str:
        if self.date:
            return EVENTS[self.attribute][1].format(who=self.subject, date=self.date)
        whose = f"{self.subject}'s" if self.subject else "the user's"
        return ATTRIBUTES[self.attribute][2].format(whose=whose, whom=self.subject or "the user")

    def note(self) -> str:
        """Return the shortest text from which `read_answer` gets the fact."""
        who = self.subject or "user"
        return f"{self.date}: {who}, {self.value}" if self.date else f"{who}: {self.value}"


@dataclass(frozen=True, slots=True)
class Story:
    """Texts, the facts that each text states, and the facts that are asked for at the end."""

    texts: tuple[str, ...]
    facts: tuple[tuple[StoryFact, ...], ...]
    asked: tuple[StoryFact, ...]


def draw_story(
    rng: np.random.Generator, texts: int, facts: int, updates: int, filler: int, people: int, questions: int
) -> Story:
    """Draw a story.

    Args:
        texts, facts: number of texts, and of facts that each text states.
        updates: number of facts that replace an earlier fact, as far as possible.
        filler: number of sentences without a fact in each text.
        people: number of persons that the facts are about, besides the user.
        questions: number of facts asked for, among those that hold at the end; all if there are fewer.
    """
    names = [NAMES[place] for place in rng.permutation(len(NAMES))[:people]]
    places = [(text, slot) for text in range(1, texts) for slot in range(facts)]
    replacing = {places[number] for number in rng.permutation(len(places))[:updates]}
    held: dict[tuple[str, str, str], StoryFact] = {}
    told: list[tuple[StoryFact, ...]] = []
    written: list[str] = []
    for text in range(texts):
        stated: dict[tuple[str, str, str], StoryFact] = {}
        sentences = []
        for slot in range(facts):
            earlier = [fact for fact in held.values() if not fact.date and fact.key not in stated]
            if (text, slot) in replacing and earlier:
                old = earlier[int(rng.integers(len(earlier)))]
                others = [value for value in old.values if value != old.value]
                fact = StoryFact(old.subject, old.attribute, others[int(rng.integers(len(others)))], old.date)
                sentences.append(fact.sentence(changed=True))
            elif (fact := _draw_new(rng, names, {*held, *stated})) is not None:
                sentences.append(fact.sentence())
            else:
                continue  # these few people have no attribute left
            stated[fact.key] = fact
        sentences += [FILLER[int(rng.integers(len(FILLER)))] for _ in range(filler)]
        written.append(" ".join(f"{sentences[place]}." for place in rng.permutation(len(sentences))))
        told.append(tuple(stated.values()))
        held |= stated
    last = list(held.values())
    asked = [last[place] for place in rng.permutation(len(last))[:questions]]
    return Story(tuple(written), tuple(told), tuple(asked))


def _draw_new(rng: np.random.Generator, names: Sequence[str], taken: set[tuple[str, str, str]]) -> StoryFact | None:
    """Draw a fact whose key is not in ``taken``; None if 60 draws find none."""
    for _ in range(60):
        kind = STORES[int(rng.choice(3, p=(0.25, 0.4, 0.35)))]
        subject = "" if kind == "core" else names[int(rng.integers(len(names)))]
        date = ""
        if kind == "episodic":
            attribute = tuple(EVENTS)[int(rng.integers(len(EVENTS)))]
            date = f"{int(rng.integers(1, 29))} {MONTHS[int(rng.integers(12))]}"
        else:
            attribute = tuple(ATTRIBUTES)[int(rng.integers(len(ATTRIBUTES)))]
        fact = StoryFact(subject, attribute, "", date)
        if fact.key not in taken:
            return StoryFact(subject, attribute, fact.values[int(rng.integers(len(fact.values)))], date)
    return None
