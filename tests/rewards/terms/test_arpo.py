from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make

Maker = Callable[..., Episode]

GOOD = "<think>t</think><answer>b</answer>"


def test_a_wrong_format_overrides_everything(episode: Maker):
    assert make("arpo")(episode(text="<answer>b</answer>", reference="b")).reward == -1.0


def test_a_right_answer_has_its_f1_and_a_bonus_for_all_the_tools(episode: Maker):
    reward = make("arpo")
    assert reward(episode(text=GOOD, reference="b c")).reward == pytest.approx(2 / 3)
    both = ["<think>q</think><search>s</search>", "<think>q</think><python>p</python>", GOOD]
    assert reward(episode(text=both, reference="b")).reward == 1.1
    assert reward(episode(text=both[1:], reference="b")).reward == 1.0


def test_tools_earn_nothing_without_an_answer(episode: Maker):
    both = ["<think>q</think><search>s</search><python>p</python>", GOOD]
    assert make("arpo")(episode(text=both, reference="z")).reward == 0.0


def test_an_outcome_of_ones_own_replaces_f1_and_its_failure_is_invalid(episode: Maker):
    assert make("arpo", scorer=lambda _: 0.5)(episode(text=GOOD)).reward == 0.5
    assert not make("arpo", scorer=lambda _: None)(episode(text=GOOD)).valid


@pytest.mark.parametrize("wrong", [{"tools": []}, {"tools": "<search>"}, {"bonus": -1}, {"scorer": 3}])
def test_wrong_arguments_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("arpo", **wrong)
