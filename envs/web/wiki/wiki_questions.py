"""Questions about a made-up world with exactly one answer each, and the facts in articles that imply the answer.

A question is the wording of a logical form. Chains of facts lead from the things that the question names to its answer;
each fact is stated in the article of the thing before it in the chain. `draw_question` draws a question whose form
denotes exactly one answer in the whole world.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from ...code.programs.dice import Dice
from .corpus import Corpus
from .listings import LISTINGS
from .logical_forms import Form, denote, write_noun
from .wiki_relations import BY_KIND, RELATIONS
from .world import Value

KINDS = ("bridge", "comparison", "intersection", "count", "arithmetic")
# Draws before fewer hops are tried, and number of candidates among which the wanted number of distractors decides.
_TRIES, _CANDIDATES = 60, 4


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact stated in the article of thing ``at``: the value of a relation of this thing or, if ``listed``, the list
    of all things that have this thing as their value of the relation."""

    at: int
    relation: str
    listed: bool = False


@dataclass(frozen=True, slots=True)
class WikiQuestion:
    """A question.

    Attributes:
        kind: one of `KINDS`.
        text: the question.
        form: the logical form of the question.
        answer: the only thing or value that the form denotes.
        relation: the relation of which the answer is a value; "" if the answer is a thing, a count or a difference.
        is_thing: True if the answer is the number of a thing.
        facts: the facts that imply the answer, in an order in which they can be found.
        named: the things that the question names, as (number of the thing, name used).
    """

    kind: str
    text: str
    form: Form
    answer: Value
    relation: str
    is_thing: bool
    facts: tuple[Fact, ...]
    named: tuple[tuple[int, str], ...]


class DeadEnd(Exception):
    """Exception: the attempt to draw a question cannot be completed."""


class QuestionDraft:
    """One attempt to draw a question. ``names`` has the things named so far: number of the thing -> name used."""

    def __init__(self, corpus: Corpus, dice: Dice, ambiguity: int):
        self.corpus, self.world, self.dice, self.ambiguity = corpus, corpus.world, dice, ambiguity
        self.names: dict[int, str] = {}

    def name_thing(self, number: int, first: bool) -> bool:
        """Choose the name by which the question mentions a thing, and store it in ``names``. Return False if the thing
        is the first one and has no name of the requested ambiguity."""
        thing, corpus = self.world.things[number], self.corpus
        is_shared = corpus.title(number) != thing.name
        described = f"the {thing.description} {thing.name}"
        plain = f"the {thing.name}" if " of " in thing.name else thing.name
        if self.ambiguity == 2 and is_shared:
            self.names[number] = described
        elif self.ambiguity == 1 and not is_shared and (alias := self.find_alias(number)):
            self.names[number] = alias
        elif first and (self.ambiguity or is_shared):
            return False
        else:
            self.names[number] = described if is_shared else plain
        return True

    def find_alias(self, number: int) -> str | None:
        """Return an alias that only this thing has; None if there is none."""
        aliases = self.world.things[number].aliases
        return next((alias for alias in aliases if self.corpus.find(alias) == number), None)

    def draw_chain(self, end: int, links: int, first: bool = True) -> tuple[Form, list[Fact]]:
        """Walk backwards from the thing ``end`` over ``links`` facts to another thing, and name that thing.

        Returns:
            (form that denotes ``end``, facts in the order in which they lead to ``end``).

        Raises:
            DeadEnd: no further step is possible, or the thing to name is the ``first`` one of the question and has no
                name of the requested ambiguity.
        """
        facts: list[Fact] = []
        seen = {end}
        number = end
        for _ in range(links):
            steps = [fact for fact in self.list_steps_to(number) if fact.at not in seen]
            if not steps:
                raise DeadEnd
            facts.insert(0, self.dice.one(steps))
            number = facts[0].at
            seen.add(number)
        if not self.name_thing(number, first):
            raise DeadEnd
        form: Form = ("thing", number)
        for fact in facts:
            form = ("having" if fact.listed else "of", fact.relation, form)
        return form, facts

    def list_steps_to(self, number: int) -> list[Fact]:
        """Return the facts in the articles of other things that denote exactly this thing."""
        world, thing = self.world, self.world.things[number]
        steps = [Fact(at, name) for name in LINKS_TO[thing.kind] for at in world.having.get((name, number), ())]
        for name, value in thing.facts.items():
            if name in LISTINGS and len(world.having[name, value]) == 1:
                steps.append(Fact(value, name, True))
        return steps

    def draw_thing(self, kind: str = "", having: str = "") -> int:
        """Draw a thing, of the given kind if any. Raise `DeadEnd` if it has no value of the relation ``having``."""
        numbers = self.world.of_kind(kind) if kind else range(len(self.world.things))
        number = self.dice.one(numbers)
        if having and having not in self.world.things[number].facts:
            raise DeadEnd
        return number

    def finish(
        self, kind: str, text: str, form: Form, relation: str, is_thing: bool, facts: list[Fact]
    ) -> WikiQuestion | None:
        """Return the question; None if it has not exactly one answer, or names the answer itself."""
        values = denote(self.world, form)
        if len(values) != 1:
            return None
        (answer,) = values
        # A comparison may name the answer, as one of two things; other questions must not.
        if is_thing and kind != "comparison" and (answer in self.names or self.world.things[answer].name in text):
            return None
        named = tuple(self.names.items())
        return WikiQuestion(kind, f"{text}?", form, answer, relation, is_thing, tuple(dict.fromkeys(facts)), named)


def _draw_bridge(draft: QuestionDraft, hops: int) -> WikiQuestion | None:
    end = draft.draw_thing()
    form, facts = draft.draw_chain(end, hops - 1)
    relation = RELATIONS[draft.dice.one(list(draft.world.things[end].facts))]
    text = relation.ask.format(write_noun(form, draft.names))
    if facts and facts[-1] == Fact(facts[-1].at, relation.name, True):
        return None  # "the region of the only city in the region of X"
    asked = "" if relation.is_link else relation.name
    facts = [*facts, Fact(end, relation.name)]
    return draft.finish("bridge", text, ("of", relation.name, form), asked, relation.is_link, facts)


def _draw_comparison(draft: QuestionDraft, hops: int) -> WikiQuestion | None:
    relation = draft.dice.one(_COMPARABLE)
    ends = [draft.draw_thing(relation.kind, relation.name) for _ in range(2)]
    if len({draft.world.things[end].name for end in ends}) < 2:
        return None
    chains = [draft.draw_chain(end, hops - 1, first=not place) for place, end in enumerate(ends)]
    (one, before), (other, after) = chains
    text = relation.more.format(a=write_noun(one, draft.names), b=write_noun(other, draft.names))
    facts = [*before, Fact(ends[0], relation.name), *after, Fact(ends[1], relation.name)]
    return draft.finish("comparison", text, ("more", relation.name, one, other), "", True, facts)


def _draw_intersection(draft: QuestionDraft, hops: int) -> WikiQuestion | None:
    world = draft.world
    kind, first, second = draft.dice.one(_PAIRS)
    both = draft.draw_thing(kind, first)
    if second not in world.things[both].facts:
        return None
    ends = [world.things[both].facts[name] for name in (first, second)]
    if any(len(world.having[name, end]) < 2 for name, end in zip((first, second), ends)):
        return None
    chains = [draft.draw_chain(ends[0], hops - 1), draft.draw_chain(ends[1], 0, first=False)]
    (one, before), (other, after) = chains
    nouns = [write_noun(form, draft.names) for form in (one, other)]
    clauses = (LISTINGS[name].clause.format(noun) for name, noun in zip((first, second), nouns))
    facts = [*before, Fact(ends[0], first, True), *after, Fact(ends[1], second, True)]
    asked = ("both", ("having", first, one), ("having", second, other))
    return draft.finish("intersection", f"Which {kind} {' and '.join(clauses)}", asked, "", True, facts)


def _draw_count(draft: QuestionDraft, hops: int) -> WikiQuestion | None:
    listing = LISTINGS[draft.dice.one(list(LISTINGS))]
    end = draft.draw_thing(RELATIONS[listing.relation].value)
    # Short lists are common; without this, most answers would be 2.
    if len(draft.world.having.get((listing.relation, end), ())) < draft.dice.between(2, 6):
        return None
    form, facts = draft.draw_chain(end, hops - 1)
    text = listing.count.format(write_noun(form, draft.names))
    facts = [*facts, Fact(end, listing.relation, True)]
    return draft.finish("count", text, ("count", ("having", listing.relation, form)), "", False, facts)


def _draw_arithmetic(draft: QuestionDraft, hops: int) -> WikiQuestion | None:
    events, asked, facts = [], ["between"], []
    for links, first in ((hops - 1, True), (0, False)):
        relation = draft.dice.one(_EVENTS)
        end = draft.draw_thing(relation.kind, relation.name)
        form, before = draft.draw_chain(end, links, first)
        events.append(relation.event.format(write_noun(form, draft.names)))
        asked += [relation.name, form]
        facts += [*before, Fact(end, relation.name)]
    text = f"How many years lie between {events[0]} and {events[1]}, counting by calendar years alone"
    return draft.finish("arithmetic", text, tuple(asked), "", False, facts)


LINKS_TO: dict[str, list[str]] = {kind: [r.name for r in RELATIONS.values() if r.value == kind] for kind in BY_KIND}
_EVENTS = [relation for relation in RELATIONS.values() if relation.event]
_COMPARABLE = [relation for relation in RELATIONS.values() if relation.more]
_PAIRS = [
    (RELATIONS[one].kind, one, other)
    for one in LISTINGS
    for other in LISTINGS
    if one != other and RELATIONS[one].kind == RELATIONS[other].kind
]
_DRAW: dict[str, Callable[[QuestionDraft, int], WikiQuestion | None]] = {
    "bridge": _draw_bridge,
    "comparison": _draw_comparison,
    "intersection": _draw_intersection,
    "count": _draw_count,
    "arithmetic": _draw_arithmetic,
}


def draw_question(corpus: Corpus, dice: Dice, kind: str, hops: int, ambiguity: int, distractors: int) -> WikiQuestion:
    """Draw a question.

    Args:
        corpus: the corpus.
        dice: the source of randomness.
        kind: one of `KINDS`; "bridge" is used instead if the corpus has no question of this kind.
        hops: facts on the longest chain; fewer if the corpus has no such question.
        ambiguity: how the question names the first thing: 0, by its title; 1, by a redirect; 2, by a shared name with a
            description. A lower level is used if no question with such a name is found.
        distractors: target number of articles in `Corpus.near` of the first thing named; the closest of several
            candidate questions is chosen.
    """
    found: list[WikiQuestion] = []
    for level in range(ambiguity, -1, -1):
        for length in range(hops, 0, -1):
            for _ in range(_TRIES * (4 if kind in ("comparison", "intersection") else 1)):
                question = None
                with suppress(DeadEnd):
                    question = _DRAW[kind](QuestionDraft(corpus, dice, level), length)
                if question is not None:
                    found.append(question)
                    if len(found) == _CANDIDATES:
                        break
            if found:
                return min(found, key=lambda q: abs(len(corpus.near[q.named[0][0]]) - distractors))
    return draw_question(corpus, dice, "bridge", hops, ambiguity, distractors)
