"""What bonuses do to the optimal policies, on a grid that is small enough to be solved."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from palaestra.agents.students.bonuses import BONUSES, make_bonuses
from palaestra.errors import InputError
from palaestra.rewards import RewardWrapper, make

SIZE, DISCOUNT = 4, 0.9
MOVES = ((1, 0), (-1, 0), (0, 1), (0, -1))
FLAG, GOAL = (0, 2), (3, 0)


class Field(gym.Env):
    """A square field from (0, 0); the goal lies three steps to the right and pays 1, a flag lies two steps up."""

    observation_space = gym.spaces.MultiDiscrete([SIZE, SIZE, 2])
    action_space = gym.spaces.Discrete(4)
    supplies = frozenset({"potentials", "achieved"})

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.place((0, 0, 0))

    def place(self, state):
        """Begin at a state: a cell, and whether the flag has been reached before."""
        self.states = [state]
        return np.array(state), {"extras": self.extras()}

    def step(self, action):
        x, y, seen = self.states[-1]
        x, y = (min(max(at + by, 0), SIZE - 1) for at, by in zip((x, y), MOVES[action], strict=True))
        self.states.append((x, y, int(seen or (x, y) == FLAG)))
        won = (x, y) == GOAL
        return np.array(self.states[-1]), float(won), won, False, {"extras": self.extras()}

    def extras(self):
        distances = [abs(x - GOAL[0]) + abs(y - GOAL[1]) for x, y, _ in self.states]
        pairs = zip(self.states[:-1], self.states[1:], strict=True)
        achieved = [["flag"] if after[2] > before[2] else [] for before, after in pairs]
        return {"potentials": [-distance / 3 for distance in distances], "achieved": achieved}


STATES = [(x, y, seen) for x in range(SIZE) for y in range(SIZE) for seen in range(2) if (x, y) != GOAL]


def solve(bonus: str | None) -> tuple[dict, dict]:
    """Optimal policies, state -> set of actions, and values, by value iteration."""
    field = Field()
    wrapped = field if bonus is None else RewardWrapper(field, make_bonuses([bonus], DISCOUNT)[0].reward, by_step=True)
    model = {}
    for state in STATES:
        for action in range(4):
            wrapped.reset()
            start, info = field.place(state)
            if bonus is not None:
                wrapped._recording.observation, wrapped._recording.extras = start, info["extras"]
            after, reward, over, *_ = wrapped.step(action)
            model[state, action] = tuple(after.tolist()), reward, over
    values = dict.fromkeys(STATES, 0.0)

    def worth(state, action):
        after, reward, over = model[state, action]
        return reward + (0.0 if over else DISCOUNT * values[after])

    for _ in range(150):
        values = {state: max(worth(state, action) for action in range(4)) for state in STATES}
    best = {state: {action for action in range(4) if worth(state, action) > values[state] - 1e-6} for state in STATES}
    return best, values


def walk(policy: dict) -> list[tuple[int, int]]:
    """The cells of an optimal policy from the start."""
    field, cells = Field(), []
    field.reset()
    for _ in range(12):
        state = field.states[-1]
        cells.append(state[:2])
        if state[:2] == GOAL:
            break
        field.step(min(policy[state]))
    return cells


def test_potentials_leave_the_optimal_policies_as_they_are():
    plain, values = solve(None)
    shaped, others = solve("potential")
    assert shaped == plain
    for state in STATES:
        potential = -(abs(state[0] - GOAL[0]) + abs(state[1] - GOAL[1])) / 3
        assert others[state] == pytest.approx(values[state] - potential, abs=1e-5)


def test_a_small_bonus_for_a_subgoal_off_the_way_leaves_the_policy_and_a_large_one_changes_it():
    assert FLAG not in walk(solve(None)[0])
    assert FLAG not in walk(solve("subgoals(bonus=0.1)")[0])
    assert FLAG in walk(solve("subgoals(bonus=0.9)")[0])


def test_a_count_fades_until_the_best_known_return_counts_more():
    reward = make_bonuses(["count(weight=0.5)"], DISCOUNT)[0].reward
    env = RewardWrapper(Field(), reward, by_step=True)
    bonuses = []
    for _ in range(400):
        env.reset()
        bonuses.append(env.step(1)[1])
    assert bonuses[0] == 0.5
    # Standing still pays more than the goal at first, and less in the end.
    per_step = (1 - DISCOUNT) * DISCOUNT**2
    assert bonuses[0] > per_step > bonuses[-1]


@pytest.mark.parametrize("name", list(BONUSES))
def test_each_says_what_it_does_to_the_optimum(name):
    (bonus,) = make_bonuses([name], DISCOUNT)
    assert "the optimal policies" in bonus.optimum


def test_a_reward_that_is_known_at_the_end_only_is_refused_by_step():
    with pytest.raises(InputError, match="leave by_step out"):
        RewardWrapper(Field(), make("outcome"), by_step=True)
