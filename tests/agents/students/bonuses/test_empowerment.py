"""A hub that is more empowering than the goal is near, as a decision process that is solved."""

from __future__ import annotations

import gymnasium as gym
import pytest
from palaestra.agents.students.bonuses import make_bonuses
from palaestra.errors import InputError
from palaestra.rewards import RewardWrapper

DISCOUNT = 0.9
START, HUB, DEAD, GOAL = range(4)
MOVES = {START: (GOAL, HUB), HUB: (DEAD, START), DEAD: (HUB, HUB)}


class Hub(gym.Env):
    """From the start one action reaches the goal, worth 1, and the other a hub beside a dead end."""

    observation_space = gym.spaces.Discrete(4)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = START
        return self.at, {}

    def get_state(self):
        return self.at

    def set_state(self, state):
        self.at = state

    def step(self, action):
        self.at = MOVES[self.at][action]
        return self.at, float(self.at == GOAL), self.at == GOAL, False, {}


def solve(text: str | None) -> dict[int, int]:
    """The optimal policy by value iteration."""
    hub = Hub()
    env: gym.Env = hub
    if text is not None:
        (bonus,) = make_bonuses([text], DISCOUNT)
        bonus.reward.attach([hub])
        env = RewardWrapper(hub, bonus.reward, by_step=True)
    model = {}
    for state in MOVES:
        for action in range(2):
            env.reset()
            hub.at = state
            if text is not None:
                bonus.reward.begin(state, {})
            after, reward, over, *_ = env.step(action)
            model[state, action] = after, reward, over
    values = dict.fromkeys(MOVES, 0.0)

    def worth(state: int, action: int) -> float:
        after, reward, over = model[state, action]
        return reward + (0.0 if over else DISCOUNT * values[after])

    for _ in range(200):
        values = {state: max(worth(state, action) for action in range(2)) for state in MOVES}
    return {state: max(range(2), key=lambda action: worth(state, action)) for state in (START, HUB)}


def test_differences_leave_the_optimal_policy_and_a_plain_bonus_changes_it_for_good():
    best = {START: 0, HUB: 1}
    assert solve(None) == best
    assert solve("empowerment(weight=0.5, form='potential')") == best
    assert solve("empowerment(weight=0.01)") == best
    # To and fro between start and hub, both with two successors, is worth 0.5 / (1 - 0.9).
    assert solve("empowerment(weight=0.5)") == {START: 1, HUB: 1}


def test_the_bonus_is_a_share_of_the_most_there_can_be():
    (bonus,) = make_bonuses(["empowerment(weight=1)"], DISCOUNT)
    env = RewardWrapper(Hub(), bonus.reward, by_step=True)
    bonus.reward.attach([env.unwrapped])
    env.reset()
    assert [env.step(action)[1] for action in (1, 0, 0, 1, 0)] == [1.0, 0.0, 1.0, 1.0, 1.0 + 0.0]


@pytest.mark.parametrize(
    ("actions", "text", "words"),
    [
        (gym.spaces.Box(-1, 1, (2,)), "empowerment", "must be Discrete"),
        (gym.spaces.Discrete(20), "empowerment(horizon=3)", "8,000 sequences of 3"),
    ],
)
def test_actions_that_cannot_all_be_taken_are_refused(actions, text, words):
    hub = Hub()
    hub.action_space = actions
    with pytest.raises(InputError, match=words):
        make_bonuses([text], DISCOUNT)[0].reward.attach([hub])


def test_an_environment_that_cannot_be_restored_is_refused():
    with pytest.raises(InputError, match="get_state and set_state"):
        make_bonuses(["empowerment"], DISCOUNT)[0].reward.attach([gym.make("CartPole-v1").unwrapped])
