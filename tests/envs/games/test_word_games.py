"""Wordle, Hangman and their list of words."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from palaestra.envs.games import hangman
from palaestra.envs.games.hangman import Hangman, HangmanState
from palaestra.envs.games.word_list import WORDS
from palaestra.envs.games.wordle import Wordle, WordleState, _oracle_finds_in_time, _remaining_words, mark_guess


def test_the_list_has_hundreds_of_plain_words_of_each_length_in_order():
    assert set(WORDS) == {4, 5, 6, 7, 8}
    for length, words in WORDS.items():
        assert len(words) > 400
        assert list(words) == sorted(set(words))
        assert all(len(word) == length and word.isascii() and word.isalpha() and word.islower() for word in words)


# Wordle.


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


# Hangman.


def hanging(secret: str, lives: int = 6) -> Hangman:
    env = Hangman()
    env.reset(seed=0, options={"params": {"length": len(secret), "lives": 5}})
    env.set_state({**env.get_state(), "state": HangmanState(secret, lives)})
    return env


def test_a_game_of_hangman_in_words():
    env = hanging("apple")
    said = [env.step(letter)[0] for letter in ("e", "s", "P")]
    assert said == [
        "_ _ _ _ e; misses: 0 of 6; tried: e",
        "_ _ _ _ e; misses: 1 of 6; tried: e s",
        "_ p p _ e; misses: 1 of 6; tried: e s p",
    ]
    env.step("a")
    observation, reward, done, _, info = env.step("l")
    assert observation.startswith("a p p l e;")
    assert (reward, done, info["is_success"], info["progress"]) == (1.0, True, True, 1.0)


def test_the_whole_word_may_be_guessed_and_a_wrong_one_is_a_miss():
    env = hanging("apple")
    observation, reward, done, _, info = env.step("ample")
    assert observation == "_ _ _ _ _; misses: 1 of 6; tried: ample"
    assert (reward, done, info["progress"]) == (0.0, False, 0.0)
    _, reward, done, _, info = env.step("a p p l e")
    assert (reward, done, info["is_success"]) == (1.0, True, True)


def test_the_last_miss_loses_and_earns_nothing():
    env = hanging("apple", lives=2)
    for letter in "apl":
        env.step(letter)
    env.step("z")
    _, reward, done, truncated, info = env.step("x")
    assert (reward, done, truncated, info["is_success"], info["progress"]) == (0.0, True, False, False, 0.8)


def test_a_word_guessed_before_is_no_second_miss():
    env = hanging("apple", lives=2)
    before = env.step("ample")[0]
    observation, _, done, _, info = env.step("Ample")
    assert info["action_error"] == "You have tried ample before; choose another."
    assert (observation, done) == (f"{info['action_error']}\n{before}", False)


@pytest.mark.parametrize("said", ["e", "E", "?", "ab", "apples", "1", "_", "\u00e9", "e" * 4000])
def test_a_letter_tried_before_or_none_at_all_is_no_miss_but_a_turn(said: str):
    env = hanging("apple")
    before = env.step("e")[0]
    observation, reward, _, _, info = env.step(said)
    assert info["action_error"]
    assert reward == 0.0
    assert observation == f"{info['action_error']}\n{before}"
    for _ in range(28):
        *_, truncated, _ = env.step(said)
    assert truncated


@pytest.mark.parametrize("length", [4, 6, 8])
def test_words_asked_are_those_that_the_oracle_finds_in_time(length: int):
    asked = Counter()
    env = Hangman(split="all", length=length, lives=5)
    for seed in range(25):
        env.reset(seed=seed)
        secret = env.here().secret
        asked[secret] += 1
        # Played by its own rule, in plain code: the letter that most of the words that fit have, the first of equals.
        tried, misses = "", 0
        while set(secret) - set(tried):
            fit = [
                word
                for word in WORDS[length]
                if all((a == b if b in tried else a not in tried) for a, b in zip(word, secret))
            ]
            assert secret in fit
            if len(fit) == 1:
                break
            rest = [letter for letter in hangman._LETTERS if letter not in tried]
            tried += max(rest, key=lambda letter: sum(letter in word for word in fit))
            misses += tried[-1] not in secret
        assert misses < 5
    # Plenty of words are left to ask.
    assert len(asked) > 20


def test_the_oracle_of_hangman_minds_words_guessed_in_vain():
    # Of dine, fine, line, mine, nine, pine, vine and wine two are left, and one of them was guessed.
    env = hanging("vine")
    assert env.oracle(HangmanState("vine", 12, "inedlmpw", ("fine",))) == "vine"
    assert env.oracle(HangmanState("fine", 12, "inedlmpw", ("vine",))) == "fine"
