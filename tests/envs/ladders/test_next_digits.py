"""NextDigits: the rule, the rungs, and what a player knows of a longer word."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.envs.ladders.next_digits import NextDigits

RUNG_9 = {"length": 9, "digits": 4}


@pytest.mark.parametrize(("length", "digits"), [(2, 2), (9, 4), (40, 8), (100, 3)])
def test_each_digit_is_replaced_by_the_next_one(length, digits):
    env = NextDigits(split="all", length=length, digits=digits)
    for seed in range(20):
        question, _ = env.reset(seed=seed)
        word = question.removeprefix("Next digits: ")
        assert len(word) == length
        assert set(word) <= set("12345678"[:digits])
        right = "".join(chr(ord(digit) + 1) for digit in word)
        assert env.oracle() == right
        assert env.step(right)[4]["is_success"]


@pytest.mark.parametrize("form", ["{}", "\\boxed{{{}}}", "The answer is {}."])
def test_digits_may_stand_apart_but_none_may_be_missing(form):
    env = NextDigits(length=30, digits=5)
    for seed in range(10):
        for separator in ("", " ", ", "):
            env.reset(seed=seed)
            assert env.step(form.format(separator.join(env.oracle())))[4]["is_success"]
        env.reset(seed=seed)
        assert not env.step(form.format(env.oracle()[:-1]))[4]["is_success"]


def test_a_word_stays_in_its_split_whatever_the_highest_digit():
    words = {split: set() for split in ("train", "test")}
    for split, found in words.items():
        for digits in (3, 4):
            env = NextDigits(split=split, length=4, digits=digits)
            found.update(env.reset(seed=seed)[0].rpartition(" ")[2] for seed in range(200))
    assert words["train"]
    assert words["test"]
    assert not words["train"] & words["test"]


def test_a_guess_is_right_where_the_word_is_known_and_uniform_beyond():
    env, rng = NextDigits(), np.random.default_rng(0)
    env.reset(seed=0, options={"params": RUNG_9})
    right = env.oracle()
    guesses = [env.guess_action(env.here(), {"length": 4}, rng) for _ in range(800)]
    assert {guess[:4] for guess in guesses} == {right[:4]}
    for place in range(4, 9):
        counts = np.bincount([int(guess[place]) for guess in guesses], minlength=6)
        # Four digits, 200 of each on average; five standard deviations are 61.
        assert not counts[:2].any()
        assert abs(counts[2:] - 200).max() < 61
