"""palaestra/WikiReading-v0: answer a question about a made-up world from sentences of its encyclopaedia."""

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
from .wiki_relations import RELATIONS
from .world import Value, name_of_value, write_date

SIZE = IntAxis("size", 0, 4, limits=(0, 7))
_MOST_SEEDS = 2_000
# Maximum characters of the distracting sentences.
_ROOM = 700


@dataclass(frozen=True, slots=True)
class WikiTask:
    """Data of a task: seed and number of articles of the corpus, and the question."""

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
    """Base of questions about made-up encyclopaedias. All questions about one world are in the same split.

    Args:
        worlds: number of different encyclopaedias of each size. The last ones used are cached; with a large number
            nearly every episode builds a new one.
        **kwargs: arguments of `TaskEnv`.
    """

    max_observation = 8_192

    def __init__(self, *, worlds: int = 20, **kwargs: Any):
        self.worlds = check_worlds(worlds)
        super().__init__(**kwargs)

    def draw_corpus(self, dice: Dice, size: int) -> Corpus:
        """Draw a corpus whose world belongs to the split of the environment."""
        return make_corpus(draw_world(dice, self.worlds, self.split), count_articles(size))

    def corpus_of(self, task: Task) -> Corpus:
        """Return the encyclopaedia that a task is about, for tools that search it."""
        return task.data.corpus


def check_worlds(worlds: Any) -> int:
    """Return ``worlds`` if it is a whole number from 1 to 2 ** 40. Raise InputError otherwise."""
    if isinstance(worlds, bool) or not isinstance(worlds, int) or not 1 <= worlds <= 1 << 40:
        raise InputError(f"worlds must be a whole number from 1 to 2 ** 40, not {worlds!r}.")
    return worlds


def count_articles(size: int) -> int:
    """Return the number of articles for a value of the axis "size": 40, 80, 160, ..."""
    return 40 * 2**size


def world_key(seed: int) -> str:
    """Return the key that decides the split of a world."""
    return f"encyclopaedia {seed}"


def draw_world(dice: Dice, worlds: int, split: str) -> int:
    """Draw the seed of a world of this split.

    Raises:
        InputError: 2,000 draws found no world of this split.
    """
    for _ in range(_MOST_SEEDS):
        seed = dice.below(worlds)
        if split == "all" or split_of(world_key(seed)) == split:
            return seed
    raise InputError(f"none of {worlds} worlds belongs to the split {split!r}; ask for more worlds, such as 20.")


def show_sentence(corpus: Corpus, number: int, place: int) -> str:
    """Return sentence ``place`` of article ``number`` so that it can stand alone: after the title of the article, and
    with each link as the title of the linked article."""
    page = corpus.articles[number]
    return f"{page.title}: {strip_links(page.sentences[place].text, titles=True)}"


def find_sentence(corpus: Corpus, fact: Fact) -> int:
    """Return the index of the sentence that states a fact, in the article of the fact's thing."""
    sentences = corpus.articles[fact.at].sentences
    return next(i for i, s in enumerate(sentences) if (s.relation, s.listed) == (fact.relation, fact.listed))


def tell_form(is_thing: bool, value: Value, year: bool = False) -> str:
    """Return the sentence of the prompt that states the form of the answer."""
    if is_thing:
        return "Answer with a name."
    if isinstance(value, tuple):
        return "Answer with a date such as 12 March 1845."
    return "Answer with a year." if year else "Answer with a whole number."


class WikiReading(EncyclopaediaQuestion):
    """Answer a question on a made-up world from sentences of its encyclopaedia.

    Description:
        A world is drawn: people, places, works and their relations, dates and numbers, all consistent. The question
        names things of this world and combines facts about them; it has exactly one answer in the whole world. The
        prompt has the sentences that state the facts, and other sentences, each after the title of its article. A fifth
        of the worlds is in the test split.

    Parameters:
        kind (bridge, comparison, intersection, count, arithmetic): asked for are the value of the last thing of a chain
            of facts; which of two things has more or was first; which thing meets two conditions; how many things are
            on a list; the years between two events.
        hops (1 to 4, on request up to 6): facts on the longest chain; fewer if a small world has no such question.
        size (0 to 4, on request up to 7): the world has 40 * 2 ** size articles, and the prompt has up to 2 + 2 * size
            + distractors distracting sentences.
        distractors (0 to 3, on request up to 10): target number of other articles whose name shares a word with the
            first thing named in the question; of several possible questions the nearest to this number is used.
        ambiguity (0 to 2): the question names the first thing by the title of its article (0), by a redirect (1), or by
            a name that several things share, with a description (2).

    Observation:
        The sentences, a blank line, the question, and the form of the answer.

    Actions:
        Text with a name, a date or a whole number, read in ``answer_format``.

    Reward:
        1 for the answer, 0 otherwise. Aliases of a name, the usual formats of dates, and numbers with separators and
        units are accepted. The answer 2 is right by chance in 0.13 of the easiest tasks, as lists are short.

    Termination:
        After the first answer.

    Source:
        Multi-hop questions of the kinds in HotpotQA (arXiv 1809.09600) and 2WikiMultihopQA (arXiv 2011.01060); the
        worlds are made up here.
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
        # The first sentence of an article states the alias that a question may use.
        needed |= {(number, 0) for number, name in asked.named if name in corpus.world.things[number].aliases}
        about = [number for number, _ in asked.named]
        sentences = choose_sentences(corpus, dice, needed, about, 2 + 2 * params["size"] + params["distractors"])
        year = bool(asked.relation) and RELATIONS[asked.relation].value == "year"
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
        """Return the sentences that state the facts, in the order of the facts, and the answer."""
        corpus = task.data.corpus
        steps = [show_sentence(corpus, fact.at, find_sentence(corpus, fact)) for fact in task.data.facts]
        return [*dict.fromkeys(steps), self.oracle(task)]


def choose_sentences(
    corpus: Corpus, dice: Dice, needed: Set[tuple[int, int]], about: Sequence[int], more: int
) -> list[str]:
    """Return the needed sentences and up to ``more`` others, of at most `_ROOM` characters, in random order.

    Args:
        needed: (number of the article, index of the sentence) of each needed sentence.
        about: the things that the question names. Half of the other sentences come from the articles of needed
            sentences and from articles with names similar to those of these things.
    """
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
    """Draw a value of the kind that the relation has: any title, somebody's date of birth, or a number."""
    kind = RELATIONS[relation].value
    if kind == "date":
        people = corpus.world.of_kind("person")
        return write_date(corpus.world.things[people[int(rng.integers(len(people)))]].facts["born"])
    return str(rng.integers(1, 2_000)) if kind in ("year", "number") else corpus.title(int(rng.integers(corpus.size)))


def write_answer(corpus: Corpus, asked: WikiQuestion) -> str:
    """Return the answer to a question in words, as the encyclopaedia writes it."""
    if asked.is_thing:
        return corpus.world.things[asked.answer].name
    return name_of_value(corpus.world, asked.relation, asked.answer) if asked.relation else str(asked.answer)


register("palaestra/WikiReading-v0", f"{__name__}:WikiReading")
