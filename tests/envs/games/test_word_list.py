from __future__ import annotations

from palaestra.envs.games.word_list import WORDS


def test_the_list_has_hundreds_of_plain_words_of_each_length_in_order():
    assert set(WORDS) == {4, 5, 6, 7, 8}
    for length, words in WORDS.items():
        assert len(words) > 400
        assert list(words) == sorted(set(words))
        assert all(len(word) == length and word.isascii() and word.isalpha() and word.islower() for word in words)
