"""Hand-over from a demonstrator: who acts, around which actions, and when the critics' disagreement forbids it."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from palaestra.agents.learners import load_player
from palaestra.agents.students import HandOverConfig
from palaestra.agents.students.hand_over import HandOverStudent, learner_probability, propose_around
from palaestra.agents.students.solver_demonstrations import action_code
from palaestra.agents.students.student_run import StudentRun
from palaestra.errors import InputError
from palaestra.scripts.cli import main

QUIET: dict[str, Any] = {"eval_every": 0, "eval_episodes": 2, "final_episodes": 2}
SMALL: dict[str, Any] = {
    **{"demonstrations": 2, "clone_updates": 20, "minibatch": 8, "hidden": 8, "critics": 2, "proposals": 4},
    **{"log_every": 64, **QUIET},
}
KEYS: dict[str, Any] = {
    "env": "palaestra/DoorKey-v0",
    "axes": {"size": 5, "obstacles": 0},
    "env_options": {"max_steps": 40},
}


class Reach(gym.Env[Any, Any]):
    """A point in a square; a step moves it, and nearness to the middle is rewarded for eight steps."""

    observation_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
    action_space = gym.spaces.Box(np.array([-2.0, 0.0], np.float32), np.array([2.0, 1.0], np.float32))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place, self.left = self.np_random.uniform(-1, 1, 2).astype(np.float32), 8
        return self.place.copy(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        step = np.array([action[0], 2 * action[1] - 1], dtype=np.float32) / 4
        self.place, self.left = np.clip(self.place + step, -1, 1).astype(np.float32), self.left - 1
        return self.place.copy(), -float(np.abs(self.place).sum()), False, self.left == 0, {}

    def oracle(self) -> np.ndarray:
        x, y = np.clip(-4 * self.place, [-2, -1], [2, 1])
        return np.array([x, (y + 1) / 2], dtype=np.float32)


gym.register("students/Reach-v0", entry_point=Reach)


def student_of(run: StudentRun) -> HandOverStudent:
    run.practice.begin()
    run.student._taken = 1  # past the first step, which is always the demonstrator's
    return run.student


def metrics(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_the_learners_probability_rises_from_0_at_t0_to_1_at_t1():
    odds = [learner_probability(t, 100, 300) for t in (0, 100, 150, 200, 300, 900)]
    assert odds == [0.0, 0.0, 0.25, 0.5, 1.0, 1.0]


def test_without_width_every_proposal_is_the_clones_action():
    rng = np.random.default_rng(0)
    discrete, box = np.array([3, 0]), np.array([[0.25, -1.0]], np.float32)
    assert (propose_around(discrete, 0.0, 5, 7, rng) == discrete[:, None]).all()
    assert (propose_around(box, 0.0, 5, None, rng) == box[:, None]).all()
    drawn = propose_around(discrete, 0.5, 20_000, 7, rng)
    assert (drawn[:, 0] == discrete).all()
    # A uniform proposal is the clone's action in 1 of 7 cases.
    assert (drawn != discrete[:, None]).mean() == pytest.approx(0.5 * 6 / 7, abs=0.01)
    wide = propose_around(np.zeros((1, 1), np.float32), 0.3, 20_000, None, rng)
    assert (wide[0, 0], wide.std()) == (0.0, pytest.approx(0.3, abs=0.01))


@pytest.mark.parametrize("env", [KEYS, {"env": "students/Reach-v0"}], ids=["discrete", "box"])
def test_a_learner_without_width_executes_exactly_the_clones_actions(env):
    """The learner is in control at every step, and the environment gets the clone's action at each."""
    config = HandOverConfig(**env, **SMALL, update_every=64, sigma=0.0, sigma_end=0.0, t1=1, veto=None, environments=2)
    with closing(StudentRun(config)) as run:
        student = student_of(run)
        student._prepare()
        executed, wanted, step = [], [], run.practice.step

        def watch(actions, values=None):
            seen = {name: torch.from_numpy(one) for name, one in student.code.encode(run.practice.observations).items()}
            with torch.no_grad():
                wanted.extend(student.actions.to_env(student.clone_actions(seen)))
            executed.extend(actions)
            return step(actions, values)

        run.practice.step = watch
        logged = student.iterate(0.0)
        assert logged["learner"] == 1.0
        assert len(executed) == config.iteration
        assert np.array_equal(executed, wanted)


def test_control_passes_over_the_run_and_over_an_episode(tmp_path):
    """Over a run the learner's share grows with every row, from 0 before t0 to 1 after t1; over an episode its first
    step is the demonstrator's."""
    plan = {"environments": 2, "t0": 64, "t1": 256, "veto": None, "steps": 320}
    main_words = ["train", KEYS["env"], "--learner", "hand-over", "--axis", "size=5", "obstacles=0"]
    words = {**SMALL, **plan, "update_every": 16}
    given = [f"--{name.replace('_', '-')}={value}" for name, value in words.items()]
    assert main([*main_words, *given, "--out", str(tmp_path / "run")]) == 0
    shares = [row["learner"] for row in metrics(tmp_path / "run")]
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert shares == sorted(shares)
    assert 0 < shares[1] < shares[3] < 1
    assert [row["demo_share"] for row in metrics(tmp_path / "run")] == pytest.approx([0.5, 0.45, 0.4, 0.35, 0.3])
    plan = {"clock": "episode", "t1": 8, "veto": None, "environments": 8, "log_every": 1024, "update_every": 512}
    config = HandOverConfig(**{**SMALL, **plan, "env": "students/Reach-v0"})
    with closing(StudentRun(config)) as run:
        # Steps 0 to 7 of an episode: the learner acts with probability 0, 1/8, ..., 7/8.
        assert student_of(run).iterate(0.0)["learner"] == pytest.approx(3.5 / 8, abs=0.06)


def test_critics_that_disagree_about_the_learners_action_give_control_back():
    config = HandOverConfig(**KEYS, **SMALL, sigma=1.0, t1=1, veto=0.1, environments=2, update_every=64)
    with closing(StudentRun(config)) as run:
        student = student_of(run)
        for offset, vetoed in ((0.0, 0.0), (0.3, 1.0)):
            for number, critic in enumerate(student.critics):
                critic.policy.output.weight.data.zero_()
                critic.policy.output.bias.data.fill_(number * offset)
            logged = student.iterate(0.0)
            # Two critics that are 0.3 apart have a standard deviation of 0.15.
            assert logged["disagreement"] == pytest.approx(offset / 2)
            assert (logged["vetoed"], logged["learner"], logged["wanted"]) == (vetoed, 1 - vetoed, 1.0)


def test_the_solver_acts_in_its_place_and_the_learner_takes_the_action_of_highest_value(tmp_path):
    plan = {"demonstrator": "solver", "t0": 10_000, "t1": 20_000, "log_every": 128, "steps": 128, "update_every": 64}
    config = HandOverConfig(**{**SMALL, **KEYS, **plan})
    StudentRun.start(tmp_path / "run", config).run(notify=lambda sentence: None)
    (row,) = metrics(tmp_path / "run")
    assert (row["learner"], row["success"]) == (0.0, 1.0)
    agent = load_player(tmp_path / "run")
    with closing(StudentRun(config)) as run:
        student = student_of(run)
        student.load_policy(tmp_path / "run" / "checkpoints" / "step-000128")
        student.sigma = 1.0
        for critic in student.critics:
            critic.policy.output.weight.data.zero_()
            critic.policy.output.bias.data.copy_(torch.arange(7.0))
        student.config = HandOverConfig(**{**vars(config), "proposals": 200})
        seen = student.code.encode(run.practice.observations[:1])
        assert student._choose(seen, [np.random.default_rng(0)])[1] == [6]
    assert agent.name == str(tmp_path / "run")


def test_bad_input_is_one_sentence():
    with pytest.raises(InputError, match="t1 must be above t0, 5, not 5"):
        HandOverConfig(t0=5, t1=5)
    with pytest.raises(InputError, match="need a solver"):
        StudentRun(HandOverConfig(env="CartPole-v1", **SMALL))
    with pytest.raises(InputError, match="Discrete or of a bounded Box"):
        action_code(gym.spaces.MultiDiscrete([2, 2]))
