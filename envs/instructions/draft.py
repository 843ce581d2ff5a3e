"""Short texts of simple sentences, which are changed until they keep instructions on their form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

# Topic -> nouns that its texts use.
TOPICS: dict[str, tuple[str, ...]] = {
    "a harbour": ("boat", "harbour", "sail", "captain", "lantern", "wave"),
    "a kitchen": ("baker", "oven", "bread", "table", "kettle", "spoon"),
    "a forest": ("forest", "hunter", "river", "wolf", "branch", "cabin"),
    "a market": ("market", "merchant", "apple", "basket", "coin", "street"),
    "a school": ("school", "teacher", "letter", "window", "garden", "pupil"),
    "a castle": ("castle", "knight", "bridge", "tower", "horse", "crown"),
    "a workshop": ("workshop", "hammer", "carpenter", "chair", "wheel", "lamp"),
    "a mountain": ("mountain", "shepherd", "valley", "snow", "path", "goat"),
}
_ADJECTIVES = ("old", "small", "quiet", "bright", "heavy", "green", "narrow", "warm", "strange", "plain")
_VERBS = ("waits near", "stands behind", "moves past", "rests under", "belongs to", "reminds us of", "leads to")
# Language -> sentences for texts in another language than English.
FOREIGN: dict[str, tuple[str, ...]] = {
    "de": (
        "Der Garten ist nicht weit von dem Haus.",
        "Die Kinder sind mit der Lehrerin im Wald.",
        "Das Wasser ist auch im Winter nicht kalt.",
        "Wir sind mit dem Brot und der Milch zu dem Markt gegangen.",
        "Ein alter Mann und die Frau von der Insel sind auf dem Weg.",
    ),
    "fr": (
        "Le jardin est dans la ville et les enfants sont avec nous.",
        "La maison est sur la colline et elle est dans le vent.",
        "Les bateaux sont dans le port avec les marins.",
        "Nous sommes au village pour les fruits et pas pour le pain.",
        "Il est dans la cuisine avec une lampe qui est sur la table.",
    ),
    "es": (
        "El barco no es muy grande pero los marineros son como una familia.",
        "La casa es muy vieja y las ventanas son de madera.",
        "Los niños y el perro no se van por el camino.",
        "El pan es para las mujeres que son de la montaña.",
        "La ciudad no es como el pueblo pero las calles son muy largas.",
    ),
}
Choice = TypeVar("Choice")


@dataclass(slots=True)
class Draft:
    """Text in the making.

    Args:
        topic: a topic in `TOPICS`.
        sentences: the sentences, with their punctuation.
        text: the text as it stands, once the sentences are laid out.
        facts: values that instructions put into the text and state.
    """

    topic: str
    sentences: list[str]
    text: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


def choose(rng: np.random.Generator, options: Sequence[Choice]) -> Choice:
    return options[int(rng.integers(len(options)))]


def write_sentence(topic: str, rng: np.random.Generator) -> str:
    """Write a sentence with two nouns of the topic, such as "The old boat waits near the lantern."."""
    nouns = rng.permutation(TOPICS[topic])[:2].tolist()
    adjective = f"{choose(rng, _ADJECTIVES)} " if rng.random() < 0.7 else ""
    return f"The {adjective}{nouns[0]} {choose(rng, _VERBS)} the {nouns[1]}."


def start_draft(rng: np.random.Generator) -> Draft:
    """Write three to six different sentences on one topic."""
    topic = choose(rng, [*TOPICS])
    count = int(rng.integers(3, 7))
    sentences: dict[str, None] = {}
    while len(sentences) < count:
        sentences[write_sentence(topic, rng)] = None
    return Draft(topic, [*sentences])
