from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from palaestra.envs import Game, IntAxis, ParamSpace, Transition
from palaestra.errors import InputError, MachineryError


class Count(Game):
    """The example of the module's docstring."""

    param_space = ParamSpace([IntAxis("goal", 2, 9)])
    max_turns = 12

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> Any:
        return int(rng.integers(2, params["goal"] + 1)), 0

    def observe(self, state: Any) -> str:
        return f"Count to {state[0]}, one number a turn. You are at {state[1]}."

    def act(self, state: Any, action: str) -> Transition:
        goal, at = state
        if action != str(at + 1):
            return Transition(state, action_error=f"Say {at + 1}.", progress=at / goal)
        return Transition((goal, at + 1), done=at + 1 == goal, success=at + 1 == goal, progress=(at + 1) / goal)

    def oracle(self, state: Any) -> str:
        return str(state[1] + 1)


def test_a_family_of_three_methods_is_a_whole_environment():
    env = Count(split="all", goal=9)
    env.reset(seed=0)
    while not env.step(env.oracle())[2]:
        pass
    env = Count(split="all")
    check_env_without_spec(env)


def check_env_without_spec(env: Count) -> None:
    check_env(env, skip_render_check=True, skip_close_check=True)


def test_a_bad_action_costs_a_turn_and_says_so_in_the_next_observation():
    env = Count(split="all", goal=9)
    env.reset(seed=3)
    env.step("1")
    for bad, sentence in [
        ("7", "Say 2."),
        (None, "The action must be text, not NoneType."),
        ("", "There is no answer."),
    ]:
        observation, reward, terminated, truncated, info = env.step(bad)
        assert observation.startswith(sentence)
        assert observation.endswith("You are at 1.")
        assert info["action_error"] == sentence
        assert (reward, terminated, truncated) == (0.0, False, False)
        assert info["progress"] > 0.0
    assert env.step("2")[4]["action_error"] is None


def test_episode_is_truncated_after_the_last_turn_and_is_no_success():
    env = Count(split="all")
    env.reset(seed=0)
    ends = [env.step("x")[2:4] for _ in range(12)]
    assert ends == [(False, False)] * 11 + [(False, True)]


def test_reward_is_the_success_unless_terms_are_given():
    class Paid(Count):
        def act(self, state: Any, action: str) -> Transition:
            return Transition(state, terms={"step": -0.25, "bonus": 0.5})

    env = Count(split="all", goal=2)
    env.reset(seed=0)
    rewards = [env.step("1"), env.step("2")]
    assert [step[1] for step in rewards] == [0.0, 1.0]
    assert rewards[1][4]["reward_terms"] == {"success": 1.0}
    paid = Paid(split="all")
    paid.reset(seed=0)
    assert paid.step("1")[1] == 0.25


def test_failed_machinery_is_flagged():
    class Broken(Count):
        def act(self, state: Any, action: str) -> Transition:
            return Transition(state, valid=False)

    env = Broken(split="all")
    env.reset(seed=0)
    assert env.step("1")[4]["reward_valid"] is False


def test_snapshots_do_not_share_a_mutable_state():
    class Listing(Count):
        def start(self, rng: np.random.Generator, params: dict[str, Any]) -> Any:
            return [9, 0]

        def act(self, state: Any, action: str) -> Transition:
            state[1] += 1
            return Transition(state)

    env = Listing(split="all")
    env.reset(seed=0)
    snapshot = env.get_state()
    env.step("1")
    for _ in range(2):
        env.set_state(snapshot)
        assert env.step("1")[0].endswith("You are at 1.")


def test_a_state_without_repr_is_refused_as_content():
    class Opaque:
        pass

    class Hidden(Count):
        def start(self, rng: np.random.Generator, params: dict[str, Any]) -> Any:
            return Opaque()

    with pytest.raises(InputError, match="content_of"):
        Hidden().reset(seed=0)


@pytest.mark.parametrize("wrong", [{"progress": 1.5}, {"progress": float("nan")}, {"success": True}])
def test_impossible_transitions_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        Transition(None, **wrong)


def test_the_extras_of_a_step_hold_the_progress_up_to_it_also_after_a_snapshot():
    env, other = Count(split="all"), Count(split="all")
    _, info = env.reset(seed=3)
    goal = env.here()[0]
    infos = [info, env.step("1")[4], env.step("x")[4]]
    snapshot = pickle.loads(pickle.dumps(env.get_state()))
    infos.append(env.step("2")[4])
    done = [1 / goal, 1 / goal, 2 / goal]
    assert [info["extras"]["completion"] for info in infos] == [done[:turn] for turn in range(4)]
    other.set_state(snapshot)
    assert other.step("2")[4]["extras"] == infos[-1]["extras"]


def test_machinery_that_fails_in_a_turn_makes_its_reward_invalid_and_the_game_goes_on():
    class Broken(Count):
        def act(self, state: Any, action: str) -> Transition:
            if action == "9":
                raise MachineryError("the counter is out of order.")
            return super().act(state, action)

    env = Broken(split="all", goal=2)
    env.reset(seed=0)
    env.step("1")
    _, reward, terminated, truncated, info = env.step("9")
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert (info["reward_valid"], info["action_error"], info["progress"]) == (False, None, 0.5)
    assert info["feedback"] == "the counter is out of order."
    assert env.step("2")[4]["is_success"]
