"""Rules for words of digits: the rule, the rungs, and what a player knows of a longer word."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.envs.ladders.digit_words import DigitRule
from palaestra.envs.ladders.larger_neighbors import LargerNeighbors
from palaestra.envs.ladders.next_digits import NextDigits

RUNG_9 = {"length": 9, "digits": 4}
RULES: dict[type[DigitRule], tuple[str, str, str]] = {  # a word, its answer, and what a random answer is made of
    NextDigits: ("314", "425", "2345"),
    LargerNeighbors: ("31244212", "3244422", "1234"),
}
each_rule = pytest.mark.parametrize("rule", RULES)


@each_rule
def test_the_rule_by_hand(rule):
    word, right, _ = RULES[rule]
    assert "".join(map(str, rule().apply([int(digit) for digit in word]))) == right


@each_rule
@pytest.mark.parametrize(("length", "digits"), [(2, 2), (9, 4), (40, 8), (100, 3)])
def test_the_answer_has_as_many_digits_as_the_rung(rule, length, digits):
    env = rule(split="all", length=length, digits=digits, prompt="terse")
    for seed in range(10):
        question, _ = env.reset(seed=seed)
        name, word = question.split(": ")
        assert name == rule.rule
        assert set(word) <= set("12345678"[:digits])
        right = "".join(map(str, env.apply([int(digit) for digit in word])))
        assert len(right) == length
        assert env.oracle() == right == env.solution_steps(env.here())[-1]
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


@each_rule
def test_a_word_stays_in_its_split_whatever_the_highest_digit(rule):
    words = {split: set() for split in ("train", "test")}
    for split, found in words.items():
        for digits in (3, 4):
            env = rule(split=split, length=4, digits=digits, prompt="terse")
            found.update(env.reset(seed=seed)[0].rpartition(" ")[2] for seed in range(200))
    assert words["train"]
    assert words["test"]
    assert not words["train"] & words["test"]


@each_rule
def test_a_guess_is_right_where_the_word_is_known_and_drawn_like_an_answer_beyond(rule):
    env, rng = rule(), np.random.default_rng(0)
    env.reset(seed=0, options={"params": RUNG_9})
    right = env.oracle()
    guesses = [env.guess_action(env.here(), {"length": 4}, rng) for _ in range(800)]
    assert {guess[:4] for guess in guesses} == {right[:4]}
    # The larger of two digits is d in 2d - 1 of 16 cases; the other rule gives each digit equally often.
    shares = [1, 3, 5, 7] if rule is LargerNeighbors else [4, 4, 4, 4]
    for place in range(4, 9):
        counts = [sum(guess[place] == digit for guess in guesses) for digit in RULES[rule][2]]
        assert sum(counts) == 800
        # Five standard deviations are at most 71.
        assert np.abs(np.array(counts) - 50 * np.array(shares)).max() < 71
