"""A student that plays an environment with a neural policy: PPO of Stable-Baselines3, or a model with its interface."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from ...errors import InputError, MissingExtra
from ..protocol import Teacher
from ..wrapper import TeacherWrapper


class Model(Protocol):
    """The methods of a Stable-Baselines3 algorithm that are used here."""

    def learn(self, total_timesteps: int) -> Any: ...
    def predict(self, observation: Any, deterministic: bool = False) -> tuple[Any, Any]: ...


class VectorObservation(gym.ObservationWrapper[Any, Any, Any]):
    """Wrapper that gives observations as one float32 vector: arrays scaled to [0, 1] by their bounds, Discrete values
    as one-hot vectors; text is left out.

    Raises:
        InputError: the observation has only text, or an array has no bounds.
    """

    def __init__(self, env: gym.Env[Any, Any]):
        super().__init__(env)
        space = env.observation_space
        self._parts = dict(space.items()) if isinstance(space, gym.spaces.Dict) else {None: space}
        sizes = [_size(part) for part in self._parts.values()]
        if not sum(sizes):
            raise InputError(f"{env} shows text only; a policy over numbers needs an array or a Discrete to look at.")
        self.observation_space = gym.spaces.Box(0.0, 1.0, (sum(sizes),), dtype=np.float32)

    def observation(self, observation: Any) -> np.ndarray:
        found = []
        for name, space in self._parts.items():
            value = observation if name is None else observation[name]
            if isinstance(space, gym.spaces.Box):
                low, high = space.low.astype(np.float32), space.high.astype(np.float32)
                found.append(((np.asarray(value, dtype=np.float32) - low) / np.maximum(high - low, 1e-6)).ravel())
            elif isinstance(space, gym.spaces.Discrete):
                found.append(np.eye(int(space.n), dtype=np.float32)[int(value) - int(space.start)])
        return np.concatenate(found)


class PPOStudent:
    """Proximal policy optimisation (Schulman et al. 2017, arXiv 1707.06347) on the tasks that a teacher proposes.

    Every episode in training is one proposal; its return goes to the teacher (see `TeacherWrapper`).

    Args:
        env: an environment with ``param_space``; see `VectorObservation` for the policy's observations.
        teacher: chooses the tasks.
        model: builds the model for an environment. None takes `stable_baselines3.PPO` with a multilayer perceptron.
        seed: seed of the model and of the evaluation.
        options: options of `stable_baselines3.PPO`; ``n_steps=512`` suits short runs.

    Raises:
        MissingExtra: Stable-Baselines3 is absent and no ``model`` is given.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        teacher: Teacher,
        *,
        model: Callable[[gym.Env[Any, Any]], Model] | None = None,
        seed: int = 0,
        **options: Any,
    ):
        if model is not None and options:
            raise InputError(f"{sorted(options)} are for stable_baselines3.PPO; pass them to your own model instead.")
        self.env = VectorObservation(TeacherWrapper(env, teacher))
        self.model = model(self.env) if model is not None else _ppo(self.env, seed, options)
        self._rng = np.random.default_rng(seed)

    def train(self, steps: int) -> None:
        """Play ``steps`` environment steps under the teacher and learn from them (a model may round upwards)."""
        self.model.learn(total_timesteps=steps)

    def success(self, tasks: Sequence[Any]) -> float:
        """Return the share of ``tasks`` solved, played once each by the most probable actions without teacher or
        learning."""
        return sum(self._solves(task) for task in tasks) / len(tasks)

    def _solves(self, task: Any) -> bool:
        observation, _ = self.env.reset(seed=int(self._rng.integers(2**31)), options={"params": task})
        total = 0.0
        while True:
            action, _ = self.model.predict(observation, deterministic=True)
            action = action.item() if isinstance(action, np.ndarray) and action.ndim == 0 else action
            observation, reward, terminated, truncated, info = self.env.step(action)
            total += float(reward)
            if terminated or truncated:
                return bool(info.get("is_success", total > 0))


def _ppo(env: gym.Env[Any, Any], seed: int, options: dict[str, Any]) -> Model:
    try:
        # Imported by name, as teachers depend only on NumPy and Gymnasium.
        baselines = importlib.import_module("stable_baselines3")
    except ModuleNotFoundError as error:
        if error.name not in ("stable_baselines3", "torch", "cloudpickle"):
            raise
        raise MissingExtra("PPOStudent", "ppo") from error
    return baselines.PPO("MlpPolicy", env, seed=seed, device="cpu", **options)


def _size(space: gym.Space[Any]) -> int:
    if isinstance(space, gym.spaces.Box):
        if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
            raise InputError(f"{space} is unbounded; scale the observations before.")
        return int(np.prod(space.shape))
    return int(space.n) if isinstance(space, gym.spaces.Discrete) else 0
