"""Articles say what the world is, and nothing else; links, redirects and namesakes lead where they should; BM25."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import pytest
from palaestra.envs.web.wiki.corpus import PART, Corpus, make_corpus, normalise_title, split_words, strip_links
from palaestra.envs.web.wiki.wiki_relations import RELATIONS

from .prose_reader import read_page

CORPORA = [make_corpus(0, 40), make_corpus(1, 160), make_corpus(2, 640)]
every_corpus = pytest.mark.parametrize("corpus", CORPORA, ids=lambda corpus: f"{corpus.size}")


@every_corpus
def test_a_reader_of_the_prose_finds_every_fact_of_the_world_and_no_other(corpus: Corpus):
    own, listed = set(), set()
    for page in corpus.articles[: corpus.size]:
        stated, told = read_page(page)
        own |= stated
        listed |= told
    true = {
        (corpus.title(number), name, corpus.title(value) if RELATIONS[name].is_link else value)
        for number, thing in enumerate(corpus.world.things)
        for name, value in thing.facts.items()
    }
    assert own == true
    # What lists say of others is true, and every list is complete.
    assert listed <= true
    lists = {relation for _, relation, _ in listed}
    assert listed == {fact for fact in true if fact[1] in lists}
    assert len(lists) > 15


@every_corpus
def test_every_link_leads_to_the_article_of_its_title(corpus: Corpus):
    assert len({page.title for page in corpus.articles}) == len(corpus.articles)
    for page, numbers in zip(corpus.articles, corpus.links):
        assert [corpus.articles[number].title for number in numbers] == page.links
    for number, before in enumerate(corpus.linked_from):
        assert all(number in corpus.links[other] for other in before)
    # Nothing hangs in the air.
    assert all(corpus.linked_from[number] or corpus.links[number] for number in range(corpus.size))


@every_corpus
def test_names_lead_to_one_article_or_to_a_page_that_tells_namesakes_apart(corpus: Corpus):
    bearers: dict[str, set[int]] = {}
    for number, thing in enumerate(corpus.world.things):
        for name in (thing.name, *thing.aliases):
            bearers.setdefault(name, set()).add(number)
    kinds = Counter()
    for name, numbers in bearers.items():
        found = corpus.find(name.upper())
        assert found is not None
        if len(numbers) == 1:
            assert found in numbers
            kinds["one"] += 1
        elif found < corpus.size:
            assert corpus.title(found) == name
        else:
            page = corpus.articles[found]
            assert page.kind == "disambiguation"
            assert set(corpus.links[found]) <= numbers, name
            kinds["several"] += 1
    assert kinds["several"] >= 2
    redirects = corpus.redirects()
    assert redirects
    assert all(corpus.find(name) == corpus.find(title) for name, title in redirects.items())


@every_corpus
def test_parts_of_an_article_are_short_and_together_all_of_it(corpus: Corpus):
    for page in corpus.articles:
        assert tuple(sentence for part in page.parts for sentence in part) == page.sentences
        assert all(len(part) == 1 or len(" ".join(s.text for s in part)) <= PART for part in page.parts)
        assert page.text.isascii()


def test_search_orders_articles_by_bm25():
    corpus = make_corpus(3, 40)
    documents = [split_words(f"{page.title} {strip_links(page.text)}") for page in corpus.articles]
    query = split_words("The river of Mount born 1850")
    mean = sum(map(len, documents)) / len(documents)

    def score(words: list[str]) -> float:
        """Robertson and Zaragoza 2009, equation 3.15, with Lucene's idf."""
        total = 0.0
        for word in query:
            holding = sum(word in document for document in documents)
            idf = math.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
            count = words.count(word)
            total += idf * count / (count + 1.5 * (1 - 0.75 + 0.75 * len(words) / mean)) if holding else 0.0
        return total

    scores = [score(words) for words in documents]
    found = corpus.search("The river of Mount born 1850")
    assert set(found) == {number for number, value in enumerate(scores) if value > 0}
    by_hand = [scores[number] for number in found]
    assert all(one >= other - 2e-4 for one, other in itertools.pairwise(by_hand))
    assert corpus.search("qqqq !!!") == corpus.search("") == []


def test_a_title_is_found_by_search_and_however_it_is_spelled():
    corpus = make_corpus(1, 160)
    places = [corpus.search(page.title).index(number) for number, page in enumerate(corpus.articles[:160])]
    assert sum(place == 0 for place in places) > 120
    assert sum(place < 5 for place in places) > 155
    title = corpus.title(5)
    assert normalise_title(f" [[{title.upper().replace(' ', '_')}]] ") == normalise_title(title)
    assert corpus.find(f'"{title}"') == 5
    assert corpus.find("No such place") is None


def test_near_things_share_a_word_of_their_names():
    corpus = make_corpus(1, 160)
    assert sum(map(bool, corpus.near)) > 60
    for number, others in enumerate(corpus.near):
        assert number not in others
        for other in others:
            assert number in corpus.near[other]
            assert set(corpus.world.things[number].name.split()) & set(corpus.world.things[other].name.split())


def test_the_same_seed_makes_the_same_articles():
    assert [*Corpus(5, 40).articles] == [*Corpus(5, 40).articles]
    assert make_corpus(5, 40) is make_corpus(5, 40)


def test_a_page_is_the_same_whenever_it_is_first_read():
    forwards, backwards = Corpus(7, 40), Corpus(7, 40)
    pages = [*reversed([backwards.articles[number] for number in reversed(range(len(backwards.articles)))])]
    assert pages == [*forwards.articles]
    assert forwards.articles[-1] == pages[-1]
    for number, page in enumerate(pages):
        assert (backwards.kind(number), backwards.introduction(number)) == (page.kind, page.sentences[0].text)


def test_pages_that_nobody_reads_are_not_written():
    corpus = Corpus(8, 40)
    assert corpus.links
    assert corpus.articles[3].title == corpus.title(3)
    assert [number for number, page in enumerate(corpus.articles.written) if page is not None] == [3]
