"""CombinationLock: doors that are right, wrong or none, and what shorter and longer locks have in common."""

from __future__ import annotations

import itertools

import numpy as np
from palaestra.envs.ladders.combination_lock import Climb, CombinationLock


def at(env: CombinationLock, rooms: str, done: int = 0) -> CombinationLock:
    """Put a player of an environment with four doors a room on a floor."""
    env.reset(seed=0, options={"params": {"floors": len(rooms), "doors": 4}})
    env.set_state({**env.get_state(), "state": Climb(rooms, 4, done), "turn": done, "limit": len(rooms)})
    return env


def test_right_doors_lead_to_the_top_and_a_wrong_one_ends_the_game():
    env = at(CombinationLock(), "abba")
    for floor in (2, 3, 4):
        observation, reward, terminated, _, info = env.step(env.oracle())
        assert observation == f"Floor {floor}, room {'abba'[floor - 1]}."
        assert (reward, terminated, info["progress"]) == (0.0, False, (floor - 1) / 4)
    wrong = next(str(door) for door in range(1, 5) if str(door) != env.oracle())
    snapshot = env.get_state()
    assert env.step(wrong)[1:3] == (0.0, True)
    env.set_state(snapshot)
    observation, reward, terminated, _, info = env.step(env.oracle())
    assert (observation, reward, terminated, info["is_success"]) == ("You are at the top.", 1.0, True, True)


def test_a_door_that_does_not_exist_costs_a_turn_and_opens_nothing():
    env = at(CombinationLock(), "abba")
    observation, _, terminated, _, info = env.step("5")
    assert info["action_error"] == "A door must be a number from 1 to 4."
    assert "Floor 1, room a." in observation
    assert not terminated


def test_a_longer_lock_contains_the_shorter_ones_and_another_code_another_lock():
    def doors(env: CombinationLock, floors: int) -> list[str]:
        return [at(env, room * floors, floor).oracle() for floor, room in itertools.product(range(floors), "ab")]

    assert doors(CombinationLock(), 9)[:12] == doors(CombinationLock(), 6)
    assert doors(CombinationLock(code=1), 9) != doors(CombinationLock(), 9)


def test_a_guess_is_right_on_known_floors_and_uniform_above():
    env, rng = CombinationLock(), np.random.default_rng(0)
    for floor in range(6):
        here = at(env, "abbaab", floor).here()
        guesses = [env.guess_action(here, {"floors": 4}, rng) for _ in range(400)]
        if floor < 4:
            assert set(guesses) == {env.oracle(here)}
        else:
            # Four doors, 100 of each on average; five standard deviations are 43.
            assert abs(np.bincount([int(guess) for guess in guesses], minlength=5)[1:] - 100).max() < 43


def test_the_split_follows_the_rooms_alone():
    one, other = CombinationLock(code=1), CombinationLock(code=2)
    assert [env.reset(seed=5)[0] for env in (one, other)] == [one.reset(seed=5)[0]] * 2
