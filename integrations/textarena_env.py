"""Palaestra's text environments as one-player games of TextArena, for trainers that use ``textarena.make``.

    import textarena
    from palaestra.integrations import textarena_env

    textarena_env.register("palaestra/GuessNumber-v0", difficulty=0.3)
    env = textarena.make("palaestra/GuessNumber-v0")
    env.reset(num_players=1, seed=7)
    player, observation = env.get_observation()
    done, info = env.step("50")
    rewards, game_info = env.close()

The environment `palaestra/TextArena-v0` does the reverse: it plays TextArena's games in Palaestra.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checks import check_count
from ..errors import InputError, needs_extra
from .core import EpisodeRow, TextEpisode, make_text_env

with needs_extra("palaestra.integrations.textarena_env", "textarena"):
    import textarena  # pyright: ignore[reportMissingImports]

_SEEDS = 1 << 31


class TextArenaEnv(textarena.Env):
    """Text environment with TextArena's methods; an episode is a game.

    The reward of the game is the episode's return, and its reason says how the episode ended; ``game_info`` also has
    the `EpisodeResult` under "result". If the machinery cannot judge an episode, RuntimeError is raised, so that no
    reward is learned from.

    Args:
        env: id of an environment.
        **kwargs: arguments of the environment.
    """

    def __init__(self, env: str, **kwargs: Any):
        super().__init__()
        self._env, self._kwargs = env, kwargs
        self._rng = np.random.default_rng()
        self._episode = TextEpisode()

    def reset(self, num_players: int = 1, seed: int | None = None) -> None:
        """Begin a game. Raises InputError for more than one player."""
        if num_players != 1:
            raise InputError(f"{self._env} is for one player, not {num_players}; reset(num_players=1, ...).")
        chosen = int(self._rng.integers(_SEEDS)) if seed is None else check_count("seed", seed)
        text = self._episode.begin(EpisodeRow.of(self._env, chosen, self._kwargs))
        # The seed is not passed: TextArena's state would seed the global generator, which our environments leave alone.
        self.state = textarena.SinglePlayerState(num_players=1)
        self.state.reset(game_state={}, player_prompt_function=lambda player_id, game_state: text)

    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        """Take a turn.

        Raises:
            RuntimeError: the machinery failed.
        """
        kinds = textarena.ObservationType
        self.state.add_observation(message=action, observation_type=kinds.PLAYER_ACTION, from_id=0)
        text = self._episode.act(action)
        result = self._episode.result()
        if not result.reward_valid:
            raise RuntimeError(f"the episode could not be judged: {result.action_error or text}")
        if self._episode.over:
            self.state.set_outcome(reward=result.reward, reason=text)
            self.state.game_info[0]["result"] = result.plain()
        else:
            kind = kinds.GAME_ADMIN if result.action_error else kinds.GAME_MESSAGE
            self.state.add_observation(message=text, observation_type=kind)
        return self.state.step()


def register(env_id: str, name: str | None = None, **kwargs: Any) -> str:
    """Register an environment with TextArena and return its name for ``textarena.make``.

    Observations repeat the conversation, as in all games of TextArena; under the name "NAME-raw" they are single
    messages.

    Args:
        env_id: an environment that is played in text.
        name: name in TextArena; by default the id.
        **kwargs: arguments of the environment.

    Raises:
        InputError: an unknown environment, an argument that does not fit, or a name that is taken.
    """
    make_text_env(env_id, kwargs).close()
    chosen = name or env_id
    wrappers = [textarena.wrappers.LLMObservationWrapper]
    try:
        textarena.register(chosen, f"{__name__}:TextArenaEnv", default_wrappers=wrappers, env=env_id, **kwargs)
        textarena.register(f"{chosen}-raw", f"{__name__}:TextArenaEnv", env=env_id, **kwargs)
    except ValueError:
        raise InputError(f"TextArena has a game {chosen!r} already; pass another name=.") from None
    return chosen
