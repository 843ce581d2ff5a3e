"""palaestra/WikiReading-v0: a question on a made-up encyclopaedia, answered from sentences of it."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....errors import InputError
from ....rewards import Verdict
from ....rewards.verifiers.registry import CORRECT, WRONG, rejected
from ...code.programs.dice import Dice
from ...param_space import ChoiceAxis, IntAxis, ParamSpace
from ...question import Question, Task
from ...registration import register
from ...splits import split_of
from .corpus import Corpus, make_corpus, strip_links
from .wiki_answers import judge_value
from .wiki_questions import KINDS, Fact, WikiQuestion, draw_question
from .wiki_relations import FORWARD
from .world import Value, name_of_value, write_date

SIZE = IntAxis("size", 0, 4, limits=(0, 7))
_MOST_SEEDS = 2_000
# Maximum characters of the distracting sentences.
_ROOM = 700


@dataclass(frozen=True, slots=True)
class WikiTask:
    """Data of a task: the corpus by seed and number of articles, and the question."""

    seed: int
    articles: int
    question: WikiQuestion

    @property
    def corpus(self) -> Corpus:
        return make_corpus(self.seed, self.articles)

    @property
    def facts(self) -> tuple[Fact, ...]:
        return self.question.facts

    @property
    def named(self) -> tuple[tuple[int, str], ...]:
        return self.question.named


class EncyclopaediaQuestion(Question):
    """Base of questions about made-up encyclopaedias, each world of which belongs to one split.

    Args:
        worlds: number of different encyclopaedias of each size. The last ones used are cached; with a large number
            nearly every episode builds a new one.
        **kwargs: as for every environment.
    """

    max_observation = 8_192

    def __init__(self, *, worlds: int = 20, **kwargs: Any):
        self.worlds = check_worlds(worlds)
        super().__init__(**kwargs)

    def draw_corpus(self, dice: Dice, size: int) -> Corpus:
        """Draw one of the corpora of the split."""
        return make_corpus(draw_world(dice, self.worlds, self.split), count_articles(size))

    def corpus_of(self, task: Task) -> Corpus:
        """Return the encyclopaedia that a task is about, for tools that search it."""
        return task.data.corpus


def check_worlds(worlds: Any) -> int:
    """Validate a number of worlds and return it. Raise InputError if it is invalid."""
    if isinstance(worlds, bool) or not isinstance(worlds, int) or not 1 <= worlds <= 1 << 40:
        raise InputError(f"worlds must be a whole number from 1 to 2 ** 40, not {worlds!r}.")
    return worlds


def count_articles(size: int) -> int:
    """Number of articles of a corpus of a size: 40, 80, 160, ..."""
    return 40 * 2**size


def world_key(seed: int) -> str:
    """Return the key that decides the split of a world."""
    return f"encyclopaedia {seed}"


def draw_world(dice: Dice, worlds: int, split: str) -> int:
    """Draw the seed of a world of this split.

    Raises:
        InputError: there seem to be none.
    """
    for _ in range(_MOST_SEEDS):
        seed = dice.below(worlds)
        if split == "all" or split_of(world_key(seed)) == split:
            return seed
    raise InputError(f"none of {worlds} worlds belongs to the split {split!r}; ask for more worlds, such as 20.")


def show_sentence(corpus: Corpus, number: int, place: int) -> str:
    """Write a sentence that stands alone: after its article's title, with each link as the title of its target."""
    page = corpus.articles[number]
    return f"{page.title}: {strip_links(page.sentences[place].text, titles=True)}"


def find_sentence(corpus: Corpus, fact: Fact) -> int:
    """Return the index of the sentence that states a fact, in the article of the fact's thing."""
    sentences = corpus.articles[fact.at].sentences
    return next(i for i, s in enumerate(sentences) if (s.relation, s.listed) == (fact.relation, fact.listed))


def tell_form(is_thing: bool, value: Value, year: bool = False) -> str:
    """Tell the form of an answer."""
    if is_thing:
        return "Answer with a name."
    if isinstance(value, tuple):
        return "Answer with a date such as 12 March 1845."
    return "Answer with a year." if year else "Answer with a whole number."


class WikiReading(EncyclopaediaQuestion):
    """Answer a question on a made-up world from sentences of its encyclopaedia.

    Description:
        A world is drawn: people, places, works and their relations, dates and numbers, all consistent. The question
        names things of it and combines facts about them; it has one answer in the whole world. The prompt has the
        sentences that state the facts, among others, each behind the title of its article. A fifth of the worlds is in
        the test split.

    Parameters:
        kind (bridge, comparison, intersection, count, arithmetic): the value of the last thing of a chain of facts;
            which of two things has more or was first; which thing meets two conditions; how many things are on a list;
            years between two events.
        hops (1 to 4; open from 1 to 6): facts on the longest chain; where a small world has no such question, fewer.
        size (0 to 4; open from 0 to 7): the world has 40 * 2 ** size articles, and the prompt 2 sentences more for each
            step.
        distractors (0 to 3; open from 0 to 10): how many other articles have a word of the name that the question
            mentions first, as near as the world has it.
        ambiguity (0 to 2): the question names the first thing by its title; by a further name that leads to its
            article; or by a name that others share, with what it is.

    Observation:
        The sentences, a blank line, the question, and the form of the answer.

    Actions:
        Text with a name, a date or a whole number, read in ``answer_format``.

    Reward:
        1 for the answer, 0 otherwise. Names count with their further names, dates in the usual ways to write them, and
        numbers with separators and units. An answer of 2 is right by chance in 0.13 of the easiest tasks, as lists are
        short.

    Termination:
        After the first answer.

    Source:
        Multi-hop questions as in HotpotQA (arXiv 1809.09600) and 2WikiMultihopQA (arXiv 2011.01060), whose kinds these
        are; the worlds are made up here.
    """

    param_space = ParamSpace(
        [
            ChoiceAxis("kind", KINDS, harder=None),
            IntAxis("hops", 1, 4, limits=(1, 6)),
            SIZE,
            IntAxis("distractors", 0, 3, limits=(0, 10)),
            IntAxis("ambiguity", 0, 2),
        ]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        dice = Dice(rng)
        corpus = self.draw_corpus(dice, params["size"])
        wanted = (params["kind"], params["hops"], params["ambiguity"], params["distractors"])
        asked = draw_question(corpus, dice, *wanted)
        needed = {(fact.at, find_sentence(corpus, fact)) for fact in asked.facts}
        # The first sentence of an article states the alias of its subject.
        needed |= {(number, 0) for number, name in asked.named if name in corpus.world.things[number].aliases}
        about = [number for number, _ in asked.named]
        sentences = choose_sentences(corpus, dice, needed, about, 2 + 2 * params["size"] + params["distractors"])
        year = bool(asked.relation) and FORWARD[asked.relation].value == "year"
        question = f"{asked.text} {tell_form(asked.is_thing, asked.answer, year)}"
        prompt = "\n".join(["Sentences from an encyclopaedia:", *sentences, "", question])
        return Task(
            prompt,
            write_answer(corpus, asked),
            content=f"{corpus.seed} {corpus.size} {question}",
            split_key=world_key(corpus.seed),
            data=WikiTask(corpus.seed, corpus.size, asked),
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        asked = task.data.question
        right = judge_value(task.data.corpus, answer, asked.answer, asked.is_thing)
        if right is None:
            why = "Nothing has this name" if asked.is_thing else "This is not of the form of the answer"
            return rejected(f"{why}. {tell_form(asked.is_thing, asked.answer)}")
        return CORRECT if right else WRONG

    def random_action(self, episode: Task, rng: np.random.Generator) -> str:
        """Return a random answer of the form asked for: any name, date or number."""
        corpus, asked = episode.data.corpus, episode.data.question
        if asked.is_thing:
            return corpus.title(int(rng.integers(corpus.size)))
        return draw_value(corpus, asked.relation, rng) if asked.relation else str(rng.integers(1, 10))

    def solution_steps(self, task: Task) -> list[str]:
        """Return the sentences that state the facts, in their order, and the answer."""
        corpus = task.data.corpus
        steps = [show_sentence(corpus, fact.at, find_sentence(corpus, fact)) for fact in task.data.facts]
        return [*dict.fromkeys(steps), self.oracle(task)]


def choose_sentences(
    corpus: Corpus, dice: Dice, needed: Set[tuple[int, int]], about: Sequence[int], more: int
) -> list[str]:
    """Show the needed sentences, given by article and place, and ``more`` others in random order. Half of the others
    come from the same articles and from articles near the things of the question."""
    places = sorted(needed)
    near = [*sorted({at for at, _ in places}), *(other for number in about for other in corpus.near[number])]
    length = 0
    for turn in range(more):
        number = dice.one(near) if turn % 2 else dice.below(corpus.size)
        place = (number, dice.below(len(corpus.articles[number].sentences)))
        length += len(show_sentence(corpus, *place))
        if place not in places and length <= _ROOM:
            places.append(place)
    order = sorted((dice.below(1_000), place) for place in places)
    return [show_sentence(corpus, *place) for _, place in order]


def draw_value(corpus: Corpus, relation: str, rng: np.random.Generator) -> str:
    """Draw a value of a relation's kind: any title, somebody's day of birth, or a number."""
    kind = FORWARD[relation].value
    if kind == "date":
        people = corpus.world.of_kind("person")
        return write_date(corpus.world.things[people[int(rng.integers(len(people)))]].facts["born"])
    return str(rng.integers(1, 2_000)) if kind in ("year", "number") else corpus.title(int(rng.integers(corpus.size)))


def write_answer(corpus: Corpus, asked: WikiQuestion) -> str:
    """Write the answer to a question as the encyclopaedia does."""
    if asked.is_thing:
        return corpus.world.things[asked.answer].name
    return name_of_value(corpus.world, asked.relation, asked.answer) if asked.relation else str(asked.answer)


register("palaestra/WikiReading-v0", f"{__name__}:WikiReading")
