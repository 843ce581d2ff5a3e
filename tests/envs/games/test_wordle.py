from __future__ import annotations

import numpy as np
import pytest
from palaestra.envs.games.word_list import WORDS
from palaestra.envs.games.wordle import Wordle, WordleState, _oracle_finds_in_time, _remaining_words, mark_guess


@pytest.mark.parametrize(
    ("secret", "guess", "expected"),
    [
        ("crane", "crane", "ggggg"),
        ("crane", "nacre", "yyyyg"),
        ("abbey", "babes", "yygg."),
        ("abbey", "kebab", ".ygyy"),
        ("cigar", "array", ".y.g."),  # the a at its place is the only one; of two r the first has the word's one
        ("those", "geese", "...gg"),  # the e at the end is right, so the two before it are one too many
        ("dread", "added", "yy.yg"),  # two d: one right at the end, the first of the others has the second
        ("aabb", "bbaa", "yyyy"),
        ("abcd", "eeee", "...."),
    ],
)
def test_colours_worked_by_hand(secret: str, guess: str, expected: str):
    assert mark_guess(secret, guess) == expected


def test_colours_agree_with_counting():
    # A letter is coloured as often as both words have it; g exactly where they agree; y before "." from the left.
    rng = np.random.default_rng(0)
    for _ in range(500):
        secret, guess = ("".join("abc"[i] for i in rng.integers(0, 3, 6)) for _ in range(2))
        marks = mark_guess(secret, guess)
        assert [mark == "g" for mark in marks] == [a == b for a, b in zip(secret, guess)]
        for letter in "abc":
            own = [mark for mark, at in zip(marks, guess) if at == letter]
            assert len(own) - own.count(".") == min(secret.count(letter), guess.count(letter))
            assert ".y" not in "".join(own).replace("g", "")


def wordle(secret: str, guesses: int = 6) -> Wordle:
    env = Wordle(render_mode="rgb_array")
    env.reset(seed=0, options={"params": {"length": len(secret), "given": 0}})
    env.set_state({**env.get_state(), "state": WordleState(secret, "_" * len(secret), guesses), "limit": guesses})
    return env


def test_a_game_of_wordle_in_words():
    env = wordle("crane")
    assert env.step("nacre")[0] == "n a c r e\ny y y y g"
    observation, reward, done, _, info = env.step("C r a n e")
    assert (observation, reward, done, info["is_success"]) == ("c r a n e\ng g g g g", 1.0, True, True)


def test_a_lost_game_of_wordle_earns_nothing_however_near():
    env = wordle("crane", guesses=2)
    env.step("crate")
    _, reward, done, truncated, info = env.step("craze")
    assert (reward, done, truncated, info["is_success"], info["progress"]) == (0.0, False, True, False, 0.8)


@pytest.mark.parametrize("guess", ["cran", "cranes", "cr4ne", "c-r-a-n-e", "cr\u00e4ne", "x" * 4000, "_r_n_"])
def test_what_is_no_word_of_the_length_is_refused(guess: str):
    env = wordle("crane", guesses=1)
    _, reward, _, truncated, info = env.step(guess)
    assert (info["action_error"], reward, truncated) == ("A guess is exactly 5 letters from a to z.", 0.0, True)


def test_letters_shown_at_the_start_are_the_words_own():
    for seed in range(40):
        env = Wordle(given=2)
        prompt, _ = env.reset(seed=seed)
        state = env.here()
        assert sum(letter != "_" for letter in state.shown) == 2
        assert all(shown in ("_", letter) for shown, letter in zip(state.shown, state.secret))
        assert f"It has these letters: {' '.join(state.shown)}\n" in prompt
        assert f"at most {state.guesses} guesses" in prompt
        assert env.turn_limit(state) == state.guesses


@pytest.mark.parametrize("length", [4, 5, 6, 7, 8])
def test_hardly_a_word_is_beyond_the_oracle(length: int):
    late = [word for word in WORDS[length] if not _oracle_finds_in_time(WordleState(word, "_" * length, 5))]
    assert len(late) <= (20 if length == 4 else 0)


def test_a_word_that_the_oracle_does_not_find_in_time_is_not_asked():
    late = {word for word in WORDS[4] if not _oracle_finds_in_time(WordleState(word, "____", 5))}
    assert late
    env = Wordle(split="all")
    for seed in range(400):
        env.reset(seed=seed, options={"params": {"length": 4, "given": 0, "guesses": 5}})
        assert env.here().secret not in late


def test_the_oracle_goes_on_from_guesses_that_are_not_its_own():
    for secret in ("flour", "stone", "zebra"):
        env = wordle(secret, guesses=8)
        env.step("aaaaa")
        env.step("audio")
        fitting = [word for word in WORDS[5] if all(mark_guess(word, g) == m for g, m in env.here().past)]
        assert list(_remaining_words(env.here())) == fitting
        while not env._ended:
            info = env.step(env.oracle())[4]
        assert info["is_success"]


def test_the_picture_shows_guesses_in_their_colours():
    env = wordle("crane")
    env.step("nacre")
    picture = env.render()
    assert isinstance(picture, np.ndarray)
    assert picture.shape == (7 * 40 + 1, 5 * 40 + 1, 3)
    assert picture[45, 5].tolist() == [0xC9, 0xB4, 0x58]
    assert picture[45, 165].tolist() == [0x6A, 0xAA, 0x64]
