from __future__ import annotations

from collections import Counter

import pytest
from palaestra.envs.games import hangman
from palaestra.envs.games.hangman import Hangman, HangmanState
from palaestra.envs.games.word_list import WORDS


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
