"""Any Gymnasium environment with parameters: where they go, what they are drawn from, and what is not read."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import palaestra
import pytest
from gymnasium.utils.env_checker import check_env
from palaestra.envs import ChoiceAxis, FloatAxis, IntAxis, ParamEnv, ParamSpace
from palaestra.envs.param_env import as_task_env
from palaestra.errors import InputError
from palaestra.teachers import TeacherWrapper

GRAVITY = FloatAxis("gravity", 5.0, 20.0)
SPAN = (0.0, 500.0)


def cart(**kwargs: Any) -> ParamEnv:
    return ParamEnv("CartPole-v1", [GRAVITY], return_range=SPAN, **{"success": 300, **kwargs})


def episode(env: gym.Env[Any, Any], action: Any = 0, **reset: Any) -> dict[str, Any]:
    """Play one action until the end and return the last info."""
    _, info = env.reset(**reset)
    over = False
    while not over:
        _, _, terminated, truncated, info = env.step(action)
        over = terminated or truncated
    return info


class Own(gym.Env[np.ndarray, int]):
    """Lasts as many steps as its constructor, its attribute or its reset says."""

    observation_space = gym.spaces.Box(-1, 1, (2,))
    action_space = gym.spaces.Discrete(2)

    def __init__(self, length: int = 1, wide: bool = False):
        self._length, self.more, self.never = length, 0, 0
        if wide:
            self.observation_space = gym.spaces.Box(-1, 1, (3,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = self._length + self.more + (options or {}).get("extra", 0)
        return self.observation_space.sample(), {}

    def step(self, action):
        self.left -= 1
        return self.observation_space.sample(), 1.0, self.left <= 0, False, {}


def lasts(env: gym.Env[Any, Any], **params: Any) -> int:
    env.reset(options={"params": params})
    steps = 1
    while not env.step(0)[2]:
        steps += 1
    return steps


def test_attributes_arguments_options_and_functions_are_set():
    axes = [IntAxis("length", 1, 9), IntAxis("more", 0, 9), IntAxis("extra", 0, 9)]
    env = ParamEnv(Own(), axes, apply={"extra": "option"})
    assert lasts(env, length=2, more=0, extra=0) == 2
    assert lasts(env, length=2, more=3, extra=1) == 6
    assert lasts(env, length=1, more=0, extra=4) == 5

    def double(own: Own, value: int) -> None:
        own._length = 2 * value

    env = ParamEnv(Own(), [IntAxis("half", 1, 9)], apply={"half": double})
    assert lasts(env, half=4) == 8


def test_a_registered_environment_is_made_again_for_its_arguments_with_its_wrappers():
    gym.register("param-env-test/Own-v0", Own, max_episode_steps=5)
    env = ParamEnv("param-env-test/Own-v0", [IntAxis("length", 1, 9)])
    _, info = env.reset(options={"params": {"length": 9}})
    assert info["params"] == {"length": 9}
    ends = [env.step(0)[2:4] for _ in range(5)]
    assert ends == [(False, False)] * 4 + [(False, True)]
    gym.registry.pop("param-env-test/Own-v0")


def test_physics_follow_the_parameter():
    env = cart()
    falls = {}
    for gravity in (5.0, 20.0):
        env.reset(seed=1, options={"params": {"gravity": gravity}})
        falls[gravity] = [env.step(1)[0][2] for _ in range(6)]
        plain: Any = gym.make("CartPole-v1")
        plain.unwrapped.gravity = gravity
        plain.reset(seed=1)
        assert falls[gravity] == [plain.step(1)[0][2] for _ in range(6)]
    assert falls[5.0] != falls[20.0]


def test_difficulty_runs_from_the_easy_to_the_hard_end_and_is_told():
    env = ParamEnv("CartPole-v1", [GRAVITY, FloatAxis("force_mag", 4.0, 10.0, harder="down")], return_range=SPAN)
    for difficulty, params in [(0.0, (5.0, 10.0)), (0.5, (12.5, 7.0)), (1.0, (20.0, 4.0))]:
        _, info = env.reset(seed=0, options={"difficulty": difficulty})
        assert tuple(info["params"].values()) == pytest.approx(params)
        assert info["difficulty"] == pytest.approx(difficulty)
    assert cart(difficulty=1.0).reset(seed=0)[1]["params"] == {"gravity": 20.0}
    assert cart(axes={"gravity": [9, 10]}).param_space == ParamSpace([GRAVITY]).restrict(gravity=(9, 10))
    assert cart(gravity=9.0).reset(seed=0)[1]["params"] == {"gravity": 9.0}


def test_the_same_seed_gives_the_same_episode_and_later_ones_follow_from_it():
    def plays() -> list[Any]:
        env = cart()
        found = []
        for seed in (3, None, None):
            observation, info = env.reset(seed=seed)
            found.append((observation.tolist(), info["params"]))
        return found

    first = plays()
    assert first == plays()
    assert len({str(one) for one in first}) == 3


@pytest.mark.filterwarnings("ignore:.*A Box observation space (min|max)imum value is -?infinity")
def test_it_is_an_environment_of_gymnasium():
    check_env(cart(), skip_render_check=True)


def test_the_render_mode_is_the_environments():
    pytest.importorskip("pygame")
    env = cart(render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape[2] == 3
    with pytest.raises(InputError, match=r"the render mode of .*CartPole.* is None; make it with 'rgb_array' instead"):
        ParamEnv(gym.make("CartPole-v1"), [GRAVITY], render_mode="rgb_array")


def test_a_success_is_a_return():
    info = episode(ParamEnv(Own(), [IntAxis("length", 1, 9)], success=3.0), seed=0, options={"params": {"length": 3}})
    assert info["is_success"] is True
    assert episode(cart(), seed=0)["is_success"] is False
    assert "is_success" not in episode(ParamEnv("CartPole-v1", [GRAVITY]), seed=0)


def test_a_parameter_that_is_never_read_is_named_once():
    axes = [IntAxis("never", 0, 9), IntAxis("more", 0, 9), IntAxis("extra", 0, 9), IntAxis("nothing", 0, 9)]
    env = ParamEnv(Own(), axes, apply={"extra": "option", "nothing": "option"})
    with pytest.warns(UserWarning, match=r"Own did not read never, nothing in the first episode") as caught:
        episode(env, seed=0)
    assert len(caught) == 1
    assert type(env.env.unwrapped) is Own
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        episode(env)
        episode(cart(), seed=0)


def test_what_does_not_fit_is_one_sentence():
    with pytest.raises(
        InputError, match=r"CartPoleEnv has no attribute or argument 'gravitiy'; did you mean 'gravity'\?"
    ):
        ParamEnv("CartPole-v1", [FloatAxis("gravitiy", 5, 20)])
    with pytest.raises(InputError, match="has no argument 'gravity'"):
        ParamEnv("CartPole-v1", [GRAVITY], apply={"gravity": "argument"})
    with pytest.raises(
        InputError, match="must be one of attribute, argument, option, params, or a function, not 'field'"
    ):
        ParamEnv("CartPole-v1", [GRAVITY], apply={"gravity": "field"})  # type: ignore[dict-item]
    with pytest.raises(InputError, match="did you mean 'CartPole-v1'"):
        ParamEnv("CartPol-v1", [GRAVITY])
    with pytest.raises(InputError, match="unknown axis"):
        cart().reset(options={"params": {"length": 1.0}})
    with pytest.raises(InputError, match=r"gravity must be a number from 5\.0 to 20\.0, not 99"):
        cart().reset(options={"params": {"gravity": 99}})
    env = ParamEnv(Own(), [ChoiceAxis("wide", ("", "yes"))])
    with pytest.raises(InputError, match="has other spaces with"):
        env.reset(options={"params": {"wide": "yes"}})


def test_it_is_registered_and_evaluated_as_any_other():
    gym.register("param-env-test/Cart-v0", cart)

    def steady(observation: np.ndarray) -> int:
        return int(observation[2] + observation[3] > 0)

    report = palaestra.evaluate(steady, "param-env-test/Cart-v0", episodes=4, difficulties=[0.0, 1.0])
    assert report.success.mean >= 0.5
    assert gym.make("param-env-test/Cart-v0", difficulty=1.0).reset(seed=0)[1]["params"] == {"gravity": 20.0}
    gym.registry.pop("param-env-test/Cart-v0")


def test_teachers_choose_its_parameters():
    env = TeacherWrapper(cart(), "alp-gmm", seed=0)
    for _ in range(30):
        episode(env)
    assert env.teacher.metrics()["observed"] == 30  # type: ignore[union-attr]


def test_lunar_lander_takes_gravity_and_wind():
    pytest.importorskip("Box2D", reason="needs the extra [box2d]")
    axes = [FloatAxis("gravity", -11.0, -2.0), FloatAxis("wind_power", 0.0, 15.0)]
    lander = gym.make("LunarLander-v3", enable_wind=True)
    env = ParamEnv(lander, axes, return_range=(-1000, 400), success=200)
    speeds = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        for params in [(-11.0, 0.0), (-2.0, 0.0), (-11.0, 15.0)]:
            env.reset(seed=1, options={"params": dict(zip(("gravity", "wind_power"), params))})
            for _ in range(30):
                observation, *_ = env.step(0)
            speeds[params] = observation[2:4]
        episode(env)
    assert speeds[(-2.0, 0.0)][1] > speeds[(-11.0, 0.0)][1] + 0.1  # it falls more slowly
    assert abs(speeds[(-11.0, 15.0)][0] - speeds[(-11.0, 0.0)][0]) > 0.01


def test_a_minigrid_environment_takes_the_size_of_its_constructor():
    pytest.importorskip("minigrid", reason="needs the extra [grid]")
    import minigrid  # noqa: F401  # registers

    env = ParamEnv("MiniGrid-Empty-5x5-v0", [IntAxis("size", 5, 8)], apply={"size": "argument"})
    sizes = []
    for size in (5, 8):
        env.reset(seed=0, options={"params": {"size": size}})
        sizes.append(env.env.unwrapped.width)  # type: ignore[attr-defined]
    assert sizes == [5, 8]


class Line(gym.Env[int, int]):
    """Walk to the end of a line as long as ``options["params"]`` says."""

    observation_space = gym.spaces.Discrete(11)
    action_space = gym.spaces.Discrete(2)
    param_space: Any = ParamSpace([IntAxis("length", 2, 10)])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.left = self.read(options["params"]) if options else 10
        return self.left, {}

    def read(self, params: Any) -> int:
        return params["length"]

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.left = max(0, self.left - 1)
        return self.left, float(not self.left), not self.left, False, {"is_success": not self.left}


class BoxLine(Line):
    param_space = gym.spaces.Box(2, 10, (1, 1), np.int64)

    def read(self, params: Any) -> int:
        return int(params[0, 0])


class ArmLine(Line):
    param_space = gym.spaces.Discrete(9, start=2)

    def read(self, params: Any) -> int:
        return int(params)


class Gentle(gym.Wrapper[Any, Any, Any, Any]):
    param_space = ParamSpace([FloatAxis("length", 0.3, 2.0)])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.unwrapped.length = options["params"]["length"] if options else 0.5  # type: ignore[attr-defined]
        return self.env.reset(seed=seed)


@pytest.mark.parametrize("kind", [Line, BoxLine, ArmLine])
def test_an_environment_that_reads_its_tasks_gets_difficulty_and_splits_from_the_commands(kind):
    gym.register("param-env-test/Line-v0", kind)
    report = palaestra.evaluate(lambda seen: 0, "param-env-test/Line-v0", episodes=3)
    assert (report.length.mean, report.success.mean) == (6.0, 1.0)  # 2, 6 and 10 steps
    gym.registry.pop("param-env-test/Line-v0")


def test_the_space_may_be_a_wrappers_and_any_other_environment_is_left_alone():
    cart = as_task_env(Gentle(gym.make("CartPole-v1")), difficulty=1.0)
    assert cart.reset(seed=0)[1]["params"] == {"length": 2.0}
    assert cart.env.unwrapped.length == 2.0  # type: ignore[attr-defined]
    plain, ours = gym.make("CartPole-v1"), gym.make("palaestra/Arithmetic-v0")
    assert as_task_env(plain) is plain
    assert as_task_env(ours) is ours
    with pytest.raises(InputError, match="'CartPole-v1' has no difficulty and no axes; leave difficulty out"):
        palaestra.evaluate("random", "CartPole-v1", episodes=1, env_kwargs={"difficulty": 0.5})
    plain.param_space = gym.spaces.Box(0, np.inf, (1,))  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="is unbounded"):
        as_task_env(plain)
    unread = as_task_env(Unread())
    with pytest.warns(UserWarning, match="did not read length"):
        episode(unread, seed=0)


class Unread(Line):
    def read(self, params: Any) -> int:
        return 3
