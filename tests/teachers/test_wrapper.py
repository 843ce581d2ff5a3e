from __future__ import annotations

import dataclasses
import json

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from palaestra.envs.axes import IntAxis
from palaestra.envs.param_space import ParamSpace
from palaestra.errors import InputError
from palaestra.teachers import Outcome, Teacher, TeacherWrapper, make
from palaestra.teachers.random import RandomTeacher


class Countdown(gym.Env):
    """`steps` steps of reward 0.25; the action 1 breaks the machinery."""

    observation_space = gym.spaces.Discrete(10)
    action_space = gym.spaces.Discrete(2)
    param_space = ParamSpace([IntAxis("steps", 1, 4)])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        options = options or {}
        self.last_options = options
        self.left = options.get("params", {"steps": 2})["steps"]
        return self.left, {"params": {"steps": self.left}}

    def step(self, action):
        self.left -= 1
        done = self.left == 0
        info = {"reward_valid": int(action) != 1}
        if done:
            info["is_success"] = True
        return self.left, 0.25, done, False, info


class Recorder(RandomTeacher):
    """The uniform teacher, keeping the outcomes reported to it."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.reported = []

    def observe(self, outcomes):
        self.reported += outcomes
        super().observe(outcomes)


def wrap(**kwargs):
    env = Countdown()
    teacher = Recorder(env.param_space, **kwargs)
    return TeacherWrapper(env, teacher), teacher


def episode(env, actions=()):
    _, first = env.reset()
    actions, total, done = list(actions), 0.0, False
    while not done:
        _, reward, terminated, truncated, info = env.step(actions.pop(0) if actions else 0)
        total, done = total + reward, terminated or truncated
    return first, total, info


def test_the_task_reaches_the_environment_and_the_return_the_teacher():
    env, teacher = wrap()
    for _ in range(5):
        first, total, last = episode(env)
        proposal = first["proposal"]
        assert first["params"] == proposal.task
        assert last["proposal"] is proposal
        outcome = teacher.reported[-1]
        assert (outcome.id, outcome.returns, outcome.successes) == (
            proposal.id,
            (0.25 * proposal.task["steps"],),
            (True,),
        )
        assert total == outcome.returns[0]
    assert len(teacher.reported) == 5


def test_an_episode_with_failed_machinery_is_not_reported():
    env, teacher = wrap()
    episode(env, actions=[1])
    assert teacher.reported == []
    assert teacher.metrics()["in_flight"] == 1
    episode(env)
    assert len(teacher.reported) == 1


def test_an_episode_left_early_is_not_reported_and_not_mixed_into_the_next():
    env, teacher = wrap()
    while env.reset()[0] < 2:
        pass
    env.step(0)
    first, _, _ = episode(env)
    (outcome,) = teacher.reported
    assert outcome.id == first["proposal"].id
    assert outcome.returns == (0.25 * first["proposal"].task["steps"],)


def test_evaluation_episodes_are_reported_to_the_teacher():
    class Evaluator(Recorder):
        def _draw(self, k):
            return [dataclasses.replace(draw, train=False) for draw in super()._draw(k)]

    teacher = Evaluator(Countdown.param_space)
    first, _, _ = episode(TeacherWrapper(Countdown(), teacher))
    assert first["proposal"].train is False
    assert [outcome.id for outcome in teacher.reported] == [0]


def test_without_is_success_the_successes_are_unknown():
    class Silent(Countdown):
        def step(self, action):
            *rest, info = super().step(action)
            info.pop("is_success", None)
            return (*rest, info)

    env = Silent()
    teacher = Recorder(env.param_space)
    episode(TeacherWrapper(env, teacher))
    assert teacher.reported[0].successes is None


def test_a_reset_that_names_its_task_is_played_without_the_teacher():
    env, teacher = wrap()
    for options in ({"params": {"steps": 1}}, {"difficulty": 0.0}):
        _, info = env.reset(options=options)
        assert "proposal" not in info
        assert env.unwrapped.last_options == options
        env.step(0)
    assert teacher.reported == []
    assert teacher.metrics()["proposed"] == 0


def test_other_options_are_passed_along_and_not_changed():
    env, _ = wrap()
    options = {"colour": "red"}
    env.reset(options=options)
    assert env.unwrapped.last_options["colour"] == "red"
    assert options == {"colour": "red"}


def test_a_return_outside_the_range_is_refused_with_the_remedy():
    env, _ = wrap(return_range=(0.0, 0.1))
    with pytest.raises(InputError, match="return_range"):
        episode(env)


def test_a_teacher_by_name_is_made_on_the_environments_own_space():
    env = TeacherWrapper(Countdown(), "sec", seed=4, tau=0.5)
    same = make("sec", Countdown.param_space, seed=4, tau=0.5)
    assert [env.reset()[1]["proposal"].task for _ in range(10)] == [p.task for _ in range(10) for p in same.propose(1)]


def test_a_teacher_by_name_learns_from_the_returns_that_the_environment_declares():
    class Costly(Countdown):
        return_range = (-8.0, 0.0)

        def step(self, action):
            observation, _, *others = super().step(action)
            return observation, -2.0, *others

    env = TeacherWrapper(Costly(), "sec")
    for _ in range(10):
        episode(env)
    assert isinstance(env.teacher, Teacher)
    assert env.teacher.return_range == (-8.0, 0.0)
    assert env.teacher.metrics()["observed"] == 10
    assert TeacherWrapper(Costly(), "sec", return_range=(-9.0, 1.0)).teacher.return_range == (-9.0, 1.0)


def test_constructor_arguments_are_recorded_and_the_spec_round_trips():
    gym.register("test/CountdownForTeachers-v0", f"{__name__}:Countdown")
    env = TeacherWrapper(gym.make("test/CountdownForTeachers-v0"), "sec", seed=4, tau=0.5)
    saved = json.loads(env.spec.to_json())["additional_wrappers"][-1]["kwargs"]
    assert saved == {"teacher": "sec", "seed": 4, "measure": None, "tau": 0.5}
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert [again.reset()[1]["params"] for _ in range(8)] == [env.reset()[1]["params"] for _ in range(8)]


def test_a_teacher_given_as_an_object_is_shared_and_not_copied():
    env, teacher = wrap()
    assert env.teacher is env._saved_kwargs["teacher"] is teacher
    episode(env)
    assert teacher.metrics()["observed"] == 1


def test_a_teacher_that_needs_more_than_returns_is_refused():
    class Needy(RandomTeacher):
        needs = frozenset({"value_error"})

    with pytest.raises(InputError, match="value_error"):
        TeacherWrapper(Countdown(), Needy(Countdown.param_space))
    needy = Needy(Countdown.param_space)
    proposal = needy.propose(1)[0]
    with pytest.raises(InputError, match="value_error"):
        needy.observe([Outcome(proposal.id, proposal.task, [0.5])])
    needy.observe([Outcome(proposal.id, proposal.task, [0.5], extras={"value_error": [0.1]})])


def test_names_without_a_space_and_options_without_a_name_are_refused():
    class Bare(Countdown):
        param_space = None

    with pytest.raises(InputError, match="param_space"):
        TeacherWrapper(Bare(), "random")
    with pytest.raises(InputError, match="tau"):
        TeacherWrapper(Countdown(), make("sec", Countdown.param_space), tau=1.0)


def test_alp_gmm_follows_the_axis_on_which_the_return_moves():
    env = TeacherWrapper(Countdown(), "alp-gmm", fit_rate=40, components=(2, 3))
    for _ in range(120):
        episode(env)
    assert isinstance(env.teacher, Teacher)
    assert env.teacher.metrics()["observed"] == 120
    assert np.isfinite(list(env.teacher.metrics().values())).all()


@pytest.mark.parametrize("id", ["palaestra/Countdown-v0", "palaestra/GuessNumber-v0"])
@pytest.mark.parametrize("name", ["alp-gmm", "dapo", "speed", "accel", "sec"])
@pytest.mark.filterwarnings("ignore::UserWarning")  # check_env's advice to check the bare environment
def test_check_env_passes_under_any_teacher(id, name):
    env = gym.make(id)
    check_env(TeacherWrapper(env, name), skip_render_check=True)
    check_env(TeacherWrapper(env, make(name, env.unwrapped.param_space)), skip_render_check=True)


def test_the_same_seed_plays_the_same_task_again_and_is_not_reported():
    env, teacher = wrap()
    first = [env.reset(seed=seed)[1]["proposal"] for seed in range(6)]
    episode(env)
    reported = len(teacher.reported)
    for seed in (3, 0, 5):
        observation, info = env.reset(seed=seed)
        assert info["proposal"] is first[seed]
        assert observation == first[seed].task["steps"]
        while not env.step(0)[2]:
            pass
    assert len(teacher.reported) == reported
    assert len({proposal.id for proposal in first}) == 6


def test_a_first_reset_with_a_seed_is_reported():
    env, teacher = wrap()
    info = env.reset(seed=7)[1]
    while not env.step(0)[2]:
        pass
    assert [outcome.id for outcome in teacher.reported] == [info["proposal"].id]


def test_what_is_played_without_the_teacher_keeps_a_proposal_that_was_not_begun():
    env, _ = wrap()
    waiting = env.reset()[1]["proposal"]
    env.reset(options={"difficulty": 0.0})
    assert env.reset()[1]["proposal"] is waiting
    env.step(0)
    env.reset(options={"difficulty": 0.0})
    assert env.reset()[1]["proposal"] is not waiting


class Cart(gym.Wrapper):
    """Somebody's own wrapper that reads the task."""

    param_space = ParamSpace([IntAxis("force", 1, 10)])
    return_range = (0, 500)

    def reset(self, *, seed=None, options=None):
        self.unwrapped.force_mag = dict(options or {}).pop("params")["force"]
        return self.env.reset(seed=seed)


def test_a_wrapper_may_have_the_space_and_the_range_of_returns():
    env = TeacherWrapper(gym.wrappers.RecordEpisodeStatistics(Cart(gym.make("CartPole-v1"))), "alp-gmm", seed=0)
    for _ in range(3):
        episode(env)
    assert env.teacher.metrics()["observed"] == 3
    assert env.teacher.return_range == (0.0, 500.0)


def test_an_environment_without_a_space_is_told_how_to_get_one_and_an_unknown_teacher_comes_first():
    with pytest.raises(
        InputError, match=r"has no param_space; give it one by palaestra\.envs\.ParamEnv\(env, \[axes\]\)"
    ):
        TeacherWrapper(gym.make("CartPole-v1"), "alp-gmm")
    with pytest.raises(InputError, match="did you mean 'alp-gmm'"):
        TeacherWrapper(gym.make("CartPole-v1"), "alpgmm")


class Copying(gym.Wrapper):
    """Hands a copy of the options on."""

    def reset(self, *, seed=None, options=None):
        return self.env.reset(seed=seed, options={**(options or {})})


@pytest.mark.parametrize("between", [gym.Wrapper, Copying])
def test_an_environment_that_does_not_read_its_task_is_noticed_once(between):
    space = ParamSpace([IntAxis("force", 1, 10)])
    env = TeacherWrapper(between(gym.make("CartPole-v1")), make("random", space, return_range=(0, 500)))
    with pytest.warns(UserWarning, match=r"CartPole.* did not read options\['params'\]"):
        episode(env)
    episode(env)  # warnings are errors here
    episode(TeacherWrapper(between(Cart(gym.make("CartPole-v1"))), make("random", space, return_range=(0, 500))))
