"""A Gymnasium learner under every registered teacher: one wrapper around its environment."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs.axes import FloatAxis, IntAxis
from palaestra.envs.param_space import ParamSpace
from palaestra.errors import InputError
from palaestra.teachers import TEACHERS, TeacherWrapper, fixed_tasks, make


class Corridor(gym.Env):
    """Walk to the end, `length` steps away, within eight; a step slips with the chance `slip`. What is left is seen."""

    observation_space = gym.spaces.Discrete(9)
    action_space = gym.spaces.Discrete(2)
    param_space = ParamSpace([IntAxis("length", 1, 8), FloatAxis("slip", 0.0, 0.2)])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.params = (options or {}).get("params", {"length": 4, "slip": 0.0})
        self.seed, self.away, self.left = seed, self.params["length"], 8
        return self.away, {}

    def step(self, action):
        self.left -= 1
        if self.np_random.random() >= self.params["slip"]:
            self.away = min(8, self.away + (-1 if action else 1))
        done = self.away == 0
        return self.away, float(done), done, self.left == 0 and not done, {"is_success": done}


class Model:
    """Tabular Q-learning behind ``learn(total_timesteps)``, as in Stable-Baselines3."""

    def __init__(self, env, seed=0):
        self.env, self.rng, self.q = env, np.random.default_rng(seed), np.zeros((9, 2))

    def learn(self, total_timesteps):
        at, _ = self.env.reset(seed=int(self.rng.integers(2**31)))
        for _ in range(total_timesteps):
            ties = self.q[at] + 1e-9 * self.rng.random(2)
            action = int(self.rng.integers(2)) if self.rng.random() < 0.1 else int(ties.argmax())
            after, reward, terminated, truncated, _ = self.env.step(action)
            target = reward + 0.9 * self.q[after].max() * (not terminated)
            self.q[at, action] += 0.3 * (target - self.q[at, action])
            at = self.env.reset()[0] if terminated or truncated else after
        return self


@pytest.mark.parametrize("name", sorted(TEACHERS))
def test_three_lines_train_a_learner_under_any_teacher(name):
    needs = make(name, Corridor.param_space).needs
    measure = (lambda played: dict.fromkeys(needs, 0.5)) if needs else None
    env = TeacherWrapper(Corridor(), name, seed=0, measure=measure)
    model = Model(env).learn(total_timesteps=3000)
    assert (model.q.argmax(1)[1:3] == 1).all()  # it walks to the end
    # An outcome for every proposal but the one that is being played.
    counts = env.teacher.metrics()
    assert counts["proposed"] - counts["observed"] <= 1
    assert counts["observed"] > 20


def test_a_list_of_fixed_tasks_fixes_parameters_and_seed():
    pool = fixed_tasks(Corridor.param_space, 5, seed=1)
    env = TeacherWrapper(Corridor(), make("mopps", pool))
    seen = set()
    for _ in range(60):
        env.reset()
        seen.add((env.unwrapped.params["length"], env.unwrapped.params["slip"], env.unwrapped.seed))
        while not any(env.step(1)[2:4]):
            pass
    assert seen <= {(t["params"]["length"], t["params"]["slip"], t["seed"]) for t in pool.tasks}
    assert len(seen) > 1


def test_a_proposal_for_several_episodes_is_reported_as_one_group():
    env = TeacherWrapper(Corridor(), make("speed", Corridor.param_space, seed=0))
    proposals = []
    for _ in range(40):
        proposals.append(env.reset()[1]["proposal"])
        while not any(env.step(1)[2:4]):
            pass
    first = proposals[0]
    assert first.n
    assert [p.id for p in proposals[: first.n + 1]] == [first.id] * first.n + [first.id + 1]


def test_a_teacher_that_needs_more_than_returns_says_what():
    with pytest.raises(InputError, match="transition_loss"):
        TeacherWrapper(Corridor(), "traced")
