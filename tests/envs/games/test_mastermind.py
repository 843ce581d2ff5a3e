from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from palaestra.envs.games import mastermind
from palaestra.envs.games.mastermind import WORST, Mastermind, MastermindState, mark_code


def hiding(secret: str, colours: int = 6, guesses: int = 8) -> Mastermind:
    env = Mastermind(render_mode="rgb_array")
    env.reset(seed=0, options={"params": {"pegs": len(secret), "colours": colours}})
    env.set_state({**env.get_state(), "state": MastermindState(secret, colours, guesses), "limit": guesses})
    return env


@pytest.mark.parametrize(
    ("secret", "guess", "expected"),
    [
        ("ABCD", "ABCD", (4, 0)),
        ("ABCD", "DCBA", (0, 4)),
        ("AABB", "ABBB", (3, 0)),  # the second A of the code is not met, the first B of the guess has no partner left
        ("AABC", "BAAA", (1, 2)),  # two of the three As, one of them in place, and the B
        ("AAAA", "BBBB", (0, 0)),
    ],
)
def test_marks_worked_by_hand(secret: str, guess: str, expected: tuple[int, int]):
    assert mark_code(secret, guess) == expected


def test_marks_agree_with_pairing_the_letters_off():
    rng = np.random.default_rng(0)
    for _ in range(300):
        secret, guess = ("".join("ABCD"[i] for i in rng.integers(0, 4, 5)) for _ in range(2))
        rest_s = [s for s, g in zip(secret, guess) if s != g]
        rest_g = [g for s, g in zip(secret, guess) if s != g]
        near = 0
        for letter in rest_g:
            if letter in rest_s:
                rest_s.remove(letter)
                near += 1
        assert mark_code(secret, guess) == (5 - len(rest_g), near)


def test_a_game_in_words():
    env = hiding("ABCA")
    assert env.step("AABC")[0] == "AABC: 1 exact, 3 near."
    observation, reward, done, _, info = env.step("a b c a")
    assert (observation, reward, done, info["is_success"]) == ("ABCA: 4 exact, 0 near.", 1.0, True, True)


def test_a_lost_game_earns_nothing_however_near_the_last_guess():
    env = hiding("ABCA", guesses=2)
    env.step("ABCB")
    _, reward, done, truncated, info = env.step("ABCC")
    assert (reward, done, truncated, info["is_success"], info["progress"]) == (0.0, False, True, False, 0.75)


@pytest.mark.parametrize(
    "guess", ["ABC", "ABCAA", "ABCZ", "1234", "AB,CA", "G" * 4, "A" * 4000, "\uff21\uff22\uff23\uff21"]
)
def test_what_is_no_guess_is_refused_and_uses_up_a_turn(guess: str):
    env = hiding("ABCA", guesses=1)
    observation, reward, _, truncated, info = env.step(guess)
    assert info["action_error"] == "A guess is exactly 4 letters from A to F."
    assert observation.startswith(info["action_error"])
    assert (reward, truncated) == (0.0, True)


def deepest(pegs: int, colours: int) -> int:
    """Guesses the oracle needs at worst, by following it through every answer to every guess, in plain Python."""
    every = ["".join(code) for code in itertools.product(mastermind.LETTERS[:colours], repeat=pegs)]

    def walk(left: list[str], past: tuple[tuple[str, int, int], ...]) -> int:
        guess = mastermind._choose_guess(pegs, colours, past)
        assert not past or guess in left, "every guess but the first fits what is known"
        groups: dict[Any, list[str]] = {}
        for code in left:
            groups.setdefault(mark_code(code, guess), []).append(code)
        groups.pop((pegs, 0), None)
        deeper = [walk(group, (*past, (guess, *answer))) for answer, group in groups.items()]
        return 1 + max(deeper, default=0)

    return walk(every, ())


@pytest.mark.parametrize(("pegs", "colours"), [(2, 5), (2, 8), (3, 6), (4, 5), (4, 6), (4, 7), (5, 5)])
def test_the_oracle_finds_every_code_in_the_stated_number_of_guesses(pegs: int, colours: int):
    assert deepest(pegs, colours) == WORST[pegs][colours - 5]


def test_the_oracle_keeps_to_what_it_was_told_when_it_did_not_start_the_game():
    env = hiding("FEDC")
    for guess in ("AAAA", "ABCD"):
        env.step(guess)
    while not env._ended:
        guess = env.oracle()
        assert all(mark_code(guess, past) == (exact, near) for past, exact, near in env.here().past)
        info = env.step(guess)[4]
    assert info["is_success"]


def test_slack_adds_guesses():
    limits = []
    for slack in (0, 3):
        env = Mastermind(slack=slack)
        prompt, _ = env.reset(seed=1, options={"params": {"pegs": 5, "colours": 7}})
        limits.append(env._limit)
        assert f"at most {env._limit} guesses" in prompt
    assert limits == [8, 11]


def test_the_picture_has_a_row_a_guess_and_two_cells_of_marks():
    env = hiding("ABCA", guesses=6)
    env.step("ABCB")
    picture = env.render()
    assert isinstance(picture, np.ndarray)
    assert picture.shape == (6 * 40 + 1, 6 * 40 + 1, 3)
    assert (picture[20, 20] != picture[20, 60]).any()
