from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra.envs.games.guess_number import GuessNumber, GuessNumberState
from palaestra.errors import InputError


def played(env: GuessNumber, guesses: list[str]) -> tuple[float, dict[str, Any]]:
    """Total reward and last info of an episode with a secret of 11 in 1 to 16."""
    env.reset(seed=0, options={"params": {"bits": 4, "slack": 0}})
    env.set_state({**env.get_state(), "state": GuessNumberState(secret=11, size=16, guesses=5, low=1, high=16)})
    total, info = 0.0, {}
    for guess in guesses:
        _, reward, terminated, truncated, info = env.step(guess)
        total += reward
        if terminated or truncated:
            break
    return total, info


def test_guesses_are_answered_with_higher_and_lower():
    env = GuessNumber()
    played(env, [])
    assert [env.step(guess)[0] for guess in ("8", "12", "11")] == ["8: higher.", "12: lower.", "11: correct."]


def test_progress_is_the_share_of_bits_settled():
    # After "8: higher" eight of sixteen are left (3 of 4 bits); after "13: lower" 9 to 12 (2 of 4).
    assert played(GuessNumber(), ["8"])[1]["progress"] == pytest.approx(0.25)
    assert played(GuessNumber(), ["8", "13"])[1]["progress"] == pytest.approx(0.5)
    assert played(GuessNumber(), ["11"])[1]["progress"] == 1.0


def test_guesses_run_out_after_bits_plus_one():
    env = GuessNumber()
    _, info = played(env, ["1"] * 5)
    assert info["is_success"] is False
    assert env._ended


def test_bisection_always_fits_the_guesses():
    env = GuessNumber(split="all", slack=0)
    for secret in range(1, 17):
        env.reset(seed=0, options={"params": {"bits": 4}})
        env.set_state({**env.get_state(), "state": GuessNumberState(secret, 16, guesses=5, low=1, high=16)})
        while not env._ended:
            info = env.step(env.oracle())[4]
        assert info["is_success"]


guess_lists = st.lists(st.one_of(st.integers(-3, 20).map(str), st.just("eleven")), min_size=5, max_size=5)


@settings(deadline=None, max_examples=60)
@given(guess_lists, guess_lists, st.floats(0.0, 0.999))
def test_lost_episode_never_outranks_a_won_one(lost: list[str], won: list[str], shaping: float):
    env = GuessNumber(shaping=shaping)
    lost_reward, lost_info = played(env, [guess for guess in lost if guess != "11"] + ["1"] * 5)
    won_reward, won_info = played(env, [*[guess for guess in won if guess != "11"][:4], "11"])
    assert (lost_info["is_success"], won_info["is_success"]) == (False, True)
    assert 0.0 <= lost_reward < 1.0 <= won_reward < 2.0


def test_near_miss_pays_nothing_by_default():
    assert played(GuessNumber(), ["10", "12", "10", "12", "10"])[0] == 0.0


def test_shaping_sums_to_its_weight_over_a_won_game():
    assert played(GuessNumber(shaping=0.5), ["8", "12", "11"])[0] == pytest.approx(1.5)


@pytest.mark.parametrize("shaping", [-0.1, 1.0, float("nan"), "0.5", True])
def test_shaping_out_of_range_is_refused(shaping: Any):
    with pytest.raises(InputError, match="shaping"):
        GuessNumber(shaping=shaping)
