"""Questions have one answer in the whole world, which follows from what the articles say; axes do what they state."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from palaestra.envs.code.programs.dice import Dice
from palaestra.envs.web.wiki.corpus import make_corpus
from palaestra.envs.web.wiki.logical_forms import denote
from palaestra.envs.web.wiki.wiki_questions import KINDS, WikiQuestion, draw_question
from palaestra.envs.web.wiki.wiki_reading import find_sentence

from .prose_reader import answer, read_page, read_sentence

FACTS = {"bridge": lambda h: h, "comparison": lambda h: 2 * h, "count": lambda h: h}
SIZE = 160


def draw(seed: int, kind: str, hops: int = 2, ambiguity: int = 0, distractors: int = 0) -> WikiQuestion:
    return draw_question(
        make_corpus(seed % 4, SIZE), Dice(np.random.default_rng(seed)), kind, hops, ambiguity, distractors
    )


@functools.cache
def read_corpus(seed: int) -> Any:
    """The facts that the articles state, and their titles by number."""
    corpus = make_corpus(seed, SIZE)
    own = set().union(*(read_page(page)[0] for page in corpus.articles[:SIZE]))
    facts = {(title, relation): value for title, relation, value in own}
    return facts, {number: page.title for number, page in enumerate(corpus.articles)}


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_follows_from_the_articles_text_alone(kind: str):
    for seed in range(60):
        asked = draw(seed, kind, 1 + seed % 4, seed % 3)
        corpus = make_corpus(seed % 4, SIZE)
        assert asked.kind == kind
        found = answer(asked.form, *read_corpus(seed % 4))
        assert found == {corpus.title(asked.answer) if asked.is_thing else asked.answer}, asked.text
        assert denote(corpus.world, asked.form) == {asked.answer}
        # Each fact of the chain stands in the article that it names, and each article but those that the question
        # names is one to which a fact before it leads.
        known = {corpus.title(number) for number, _ in asked.named}
        for fact in asked.facts:
            page = corpus.articles[fact.at]
            assert page.title in known, asked.text
            ((relation, listed, value),) = read_sentence(page, page.sentences[find_sentence(corpus, fact)].text)
            assert (relation, listed) == (fact.relation, fact.listed)
            known |= set(value) if listed else {value}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hops", [1, 2, 3, 4])
def test_the_longest_chain_has_as_many_facts_as_asked_for(kind: str, hops: int):
    for seed in range(8):
        asked = draw(seed, kind, hops)
        assert len(asked.facts) == FACTS.get(kind, lambda h: h + 1)(hops)


def test_a_question_names_its_first_thing_as_ambiguously_as_asked_for():
    for seed in range(40):
        corpus = make_corpus(seed % 4, SIZE)
        for ambiguity in range(3):
            number, name = draw(seed, KINDS[seed % 5], 2, ambiguity).named[0]
            thing = corpus.world.things[number]
            if ambiguity == 0:
                assert name.removeprefix("the ") == corpus.title(number)
            elif ambiguity == 1:
                assert name in thing.aliases
                assert corpus.find(name) == number
            else:
                assert name == f"the {thing.description} {thing.name}"
                assert corpus.articles[corpus.find(thing.name)].kind == "disambiguation"


def test_more_distractors_bring_more_articles_of_like_names():
    def mean(distractors: int) -> float:
        drawn = [(seed, draw(seed, KINDS[seed % 5], 2, 0, distractors)) for seed in range(80)]
        return float(np.mean([len(make_corpus(seed % 4, SIZE).near[asked.named[0][0]]) for seed, asked in drawn]))

    assert mean(0) + 1 < mean(3) < mean(10)


def test_a_question_does_not_tell_its_answer():
    for seed in range(100):
        asked = draw(seed, KINDS[seed % 5], 1 + seed % 3, seed % 3)
        if asked.is_thing and asked.kind != "comparison":
            assert make_corpus(seed % 4, SIZE).world.things[asked.answer].name not in asked.text


def test_small_worlds_have_questions_of_all_kinds():
    kinds = {kind: 0 for kind in KINDS}
    for seed in range(10):
        for kind in KINDS:
            corpus = make_corpus(seed, 40)
            kinds[kind] += draw_question(corpus, Dice(np.random.default_rng(seed)), kind, 3, 2, 3).kind == kind
    assert min(kinds.values()) >= 9
