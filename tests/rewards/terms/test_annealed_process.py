from __future__ import annotations

from collections.abc import Callable

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make

Maker = Callable[..., Episode]

FORM = "<think>t</think><answer>a b</answer>"


def test_the_weight_is_a_half_at_first_and_nothing_at_the_end(episode: Maker):
    reward = make("annealed-process")
    judged = episode(text=FORM, atom_scores=[1.0, 0.6], reference="b c")  # F1 0.5
    assert reward(judged).reward == pytest.approx(0.5 * 0.8 + 0.5 * 0.5)
    reward.advance(50, 100)
    assert reward(judged).reward == pytest.approx(0.25 * 0.8 + 0.75 * 0.5)
    reward.advance(100, 100)
    assert reward(judged).reward == 0.5


def test_a_wrong_format_overrides_everything(episode: Maker):
    assert make("annealed-process")(episode(text="a b", atom_scores=[1.0], reference="a b")).reward == -1.0


def test_a_thought_without_atoms_has_nothing_from_them(episode: Maker):
    assert make("annealed-process")(episode(text=FORM, atom_scores=[], reference="a b")).reward == 0.5


def test_missing_scores_make_it_invalid(episode: Maker):
    assert not make("annealed-process")(episode(text=FORM, atom_scores=[None], reference="a")).valid
    assert not make("annealed-process", outcome=lambda _: None)(episode(text=FORM, atom_scores=[1])).valid


def test_it_needs_only_what_it_is_not_given(episode: Maker):
    reward = make("annealed-process", atoms=lambda _: [1.0], outcome=lambda _: 0.0)
    assert not reward.needs
    assert reward(episode(text=FORM)).reward == 0.5


def test_a_weight_beyond_one_is_refused():
    with pytest.raises(InputError, match="weight"):
        make("annealed-process", weight=1.5)
