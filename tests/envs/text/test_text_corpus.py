import math
from collections import Counter

import pytest
from palaestra.envs.text.text_corpus import (
    TIERS,
    TextCorpus,
    made_up_corpus,
    split_passages,
    split_sentences,
    split_words,
)


def test_the_entropy_after_a_word_is_that_of_an_interpolated_model():
    corpus = TextCorpus((("a b a c a b",),))
    words = Counter(["a", "b", "a", "c", "a", "b"])
    share = {word: count / 6 for word, count in words.items()}
    after = {"b": 2, "c": 1}
    p = {word: (after.get(word, 0) + share[word]) / 4 for word in words}
    assert sum(p.values()) == pytest.approx(1)
    assert corpus.entropies["a"] == pytest.approx(-sum(x * math.log(x) for x in p.values()))
    assert corpus.entropies["c"] < corpus.entropies["a"]


def test_tiers_are_thirds_in_order_of_entropy():
    corpus = made_up_corpus(3)
    sizes = [len(corpus.tiers[tier]) for tier in TIERS]
    assert max(sizes) - min(sizes) <= 1

    def entropies(tier):
        for place in corpus.tiers[tier]:
            before = " ".join(corpus.passages[place.passage])[: place.start]
            yield corpus.entropies[split_words(before)[-1]]

    low, middle, high = (list(entropies(tier)) for tier in TIERS)
    assert max(low) <= min(middle)
    assert max(middle) <= min(high)
    assert max(low) < min(high)


def test_texts_are_split_at_ends_of_sentences_and_paragraphs():
    assert split_sentences('He said "No." Then 3.5 left.\n- an item\n- another') == [
        'He said "No.',
        "Then 3.5 left.",
        "- an item",
        "- another",
    ]
    text = "A a. B b.\n\nC c. D d.\n\nE e. F f. G g. "
    assert list(split_passages(text)) == [("A a.", "B b.", "C c.", "D d."), ("E e.", "F f.", "G g.")]
