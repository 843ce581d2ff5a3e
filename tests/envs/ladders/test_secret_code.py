"""SecretCode: what a rung asks for, what the code decides, and what a player with part of the code answers."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.envs.ladders.secret_code import SYMBOLS, SecretCode
from palaestra.errors import InputError

RUNG_12 = {"symbols": 12, "length": 5, "newest": 0.8}


def words(env: SecretCode, count: int = 50) -> list[list[str]]:
    found = []
    for seed in range(count):
        env.reset(seed=seed, options={"params": RUNG_12})
        found.append(env.here().content.split())
    return found


def test_a_word_has_the_newest_symbols_once_and_one_older():
    # Symbols a to l are in use; four fifths of five symbols are four: i to l.
    for word in words(SecretCode()):
        assert set(word) > set("ijkl")
        assert len(set(word) & set("abcdefgh")) == 1
        assert len(word) == 5


def test_the_code_decides_the_digits_and_nothing_else():
    one, other = SecretCode(code=1), SecretCode(code=2)
    assert words(one) == words(other)
    assert [env.reset(seed=3)[1]["task_id"] for env in (one, other)] == [one.reset(seed=3)[1]["task_id"]] * 2
    assert one.oracle() != other.oracle()
    assert SecretCode(code=1).reset(seed=3)[0] == one.reset(seed=3)[0]


def test_fewer_digits_make_better_guesses():
    env, rng = SecretCode(digits=2), np.random.default_rng(0)
    env.reset(seed=0, options={"params": RUNG_12})
    assert set("".join(env.random_action(env.here(), rng) for _ in range(50))) == {"1", "2"}
    with pytest.raises(InputError, match="digits must be a whole number from 2 to 9, not 10"):
        SecretCode(digits=10)


@pytest.mark.parametrize("form", ["{}", "\\boxed{{{}}}", "The answer is {}."])
def test_digits_may_stand_apart(form):
    env = SecretCode()
    for seed in range(10):
        for separator in ("", " ", ", "):
            env.reset(seed=seed, options={"params": RUNG_12})
            assert env.step(form.format(separator.join(env.oracle())))[4]["is_success"]
        env.reset(seed=seed, options={"params": RUNG_12})
        assert not env.step(form.format(" ".join(env.oracle()[:-1])))[4]["is_success"]


def test_a_guess_is_right_where_symbols_are_known_and_uniform_elsewhere():
    env, rng = SecretCode(), np.random.default_rng(0)
    env.reset(seed=0, options={"params": RUNG_12})
    task = env.here()
    right, place = env.oracle(), task.content.split().index("l")
    guesses = [env.guess_action(task, {"symbols": 11}, rng) for _ in range(800)]
    assert {guess[:place] + guess[place + 1 :] for guess in guesses} == {right[:place] + right[place + 1 :]}
    counts = np.bincount([int(guess[place]) for guess in guesses], minlength=9)
    # Eight digits, 100 of each on average; five standard deviations are 47.
    assert counts[0] == 0
    assert abs(counts[1:] - 100).max() < 47


def test_every_symbol_is_one_printable_character():
    assert len(set(SYMBOLS)) == len(SYMBOLS) == 74
    assert all(symbol.isascii() and symbol.isprintable() and not symbol.isdigit() for symbol in SYMBOLS)


def test_a_code_that_is_no_seed_is_refused():
    with pytest.raises(InputError, match="code"):
        SecretCode(code=-1)
