"""Palaestra's text environments in GEM, for trainers that make environments with ``gem.make``.

    import gem
    from palaestra.integrations import gem_env

    gem_env.register("palaestra/GuessNumber-v0", difficulty=0.3)
    env = gem.make("palaestra/GuessNumber-v0")
    observation, info = env.reset(seed=7)
    observation, reward, terminated, truncated, info = env.step("50")

The environment `palaestra/GEM-v0` does the reverse: it plays GEM's games in Palaestra.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checks import check_count
from ..errors import InputError, needs_extra
from .core import EpisodeRow, TextEpisode, make_text_env

with needs_extra("palaestra.integrations.gem_env", "gem"):
    import gem  # pyright: ignore[reportMissingImports]

_SEEDS = 1 << 31


class GemEnv(gem.Env):
    """Text environment with GEM's methods.

    ``info`` is the `EpisodeResult` so far as a mapping. If the machinery cannot judge an episode, RuntimeError is
    raised, so that no reward is learned from.

    Args:
        env: id of an environment.
        seed: seed from which the seeds of episodes are drawn, for resets without a seed.
        **kwargs: arguments of the environment.
    """

    def __init__(self, env: str, seed: int = 0, **kwargs: Any):
        super().__init__()
        self._rng = np.random.default_rng(check_count("seed", seed))
        self._env, self._kwargs = env, kwargs
        self._episode = TextEpisode()
        self._row: EpisodeRow | None = None
        self._actions: list[str] = []

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode, and return the first observation and ``info``. With ``seed`` None a seed is drawn."""
        chosen = int(self._rng.integers(_SEEDS)) if seed is None else check_count("seed", seed)
        self._row, self._actions = EpisodeRow.of(self._env, chosen, self._kwargs), []
        return self._episode.begin(self._row), self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take a turn.

        Raises:
            InputError: no episode has begun, or the episode is over.
            RuntimeError: the machinery failed.
        """
        before = self._episode.result().reward
        text = self._episode.act(action)
        self._actions.append(action)
        result = self._episode.result()
        if not result.reward_valid:
            raise RuntimeError(f"the episode could not be judged: {result.action_error or text}")
        return text, result.reward - before, result.terminated, result.truncated, self._info()

    def spawn(self, same_state: bool = False, **kwargs: Any) -> GemEnv:
        """Make another environment with the same arguments, overridden by ``kwargs``. With ``same_state`` it is in the
        same episode, after the same actions, which are replayed there."""
        made = GemEnv(**{"env": self._env, "seed": int(self._rng.integers(_SEEDS)), **self._kwargs, **kwargs})
        if same_state and self._row is not None:
            made.reset(self._row.seed)
            for action in self._actions:
                made.step(action)
        return made

    def sample_random_action(self) -> str:
        """Return a random legal action. Raises InputError if the environment cannot draw one."""
        env: Any = self._episode.env.unwrapped
        action = env.random_action(env.here(), self._rng)
        if action is None:
            raise InputError(f"{self._env} has no random actions; let a model act in it.")
        return str(env.write_action(action))

    def close(self) -> None:
        """Close the environment."""
        self._episode.close()

    def _info(self) -> dict[str, Any]:
        return self._episode.result().plain()


def register(env_id: str, name: str | None = None, **kwargs: Any) -> str:
    """Register an environment with GEM and return its name for ``gem.make``, which may override its arguments.

    Args:
        env_id: an environment that is played in text.
        name: name in GEM; by default the id.
        **kwargs: arguments of the environment.

    Raises:
        InputError: an unknown environment, an argument that does not fit, or a name that is taken.
    """
    make_text_env(env_id, kwargs).close()
    chosen = name or env_id
    try:
        gem.register(chosen, f"{__name__}:GemEnv", env=env_id, **kwargs)
    except ValueError:
        raise InputError(f"GEM has an environment {chosen!r} already; pass another name=.") from None
    return chosen
