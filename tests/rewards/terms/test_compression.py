from __future__ import annotations

from collections.abc import Callable

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make

Maker = Callable[..., Episode]


def test_a_fifth_of_the_source_is_four_fifths_of_the_weight(episode: Maker):
    assert make("compression")(episode(memory_length=200, source_length=1000)).reward == pytest.approx(0.04)


def test_an_empty_memory_has_all_and_a_full_copy_nothing(episode: Maker):
    reward = make("compression")
    assert reward(episode(memory_length=0, source_length=1000)).reward == 0.05
    assert reward(episode(memory_length=1000, source_length=1000)).reward == 0.0
    assert reward(episode(memory_length=10**9, source_length=1000)).reward == -0.05


def test_without_a_source_there_is_nothing_to_compress(episode: Maker):
    assert make("compression")(episode(memory_length=10, source_length=0)).reward == 0.0


def test_an_unknown_length_makes_it_invalid(episode: Maker):
    assert not make("compression")(episode(memory_length=None, source_length=5)).valid
    assert not make("compression")(episode(memory_length=5, source_length=None)).valid


def test_a_negative_weight_is_refused():
    with pytest.raises(InputError, match="weight"):
        make("compression", weight=-1)
