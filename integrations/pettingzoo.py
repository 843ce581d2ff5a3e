"""Both seats of the games of `palaestra.envs.players`, as PettingZoo environments (extra ``[pettingzoo]``).

from palaestra.integrations.pettingzoo import aec_env

env = aec_env("palaestra/KuhnPoker-v0", cards=3)
env.reset(seed=0)
for seat in env.agent_iter():
    observation, reward, terminated, truncated, info = env.last()
    env.step(None if terminated or truncated else my_policies[seat](observation))
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from ..checks import check_count
from ..envs.players.seat_env import SeatEnv
from ..envs.players.session import TableSession, deal, make_seats
from ..envs.unicode import Unicode
from ..errors import needs_extra

with needs_extra("both seats of a game", "pettingzoo"):
    from pettingzoo import AECEnv


class TextObservation(str):
    """Text with the ``dtype`` that PettingZoo's checks look for in observations."""

    dtype = np.dtype(str)


class TableEnv(AECEnv):
    """Both seats of a table; see `aec_env`. Replies without a legal move, and forfeits, are those of `TableSession`;
    ``infos[agent]`` has "action_error" and, False for the other seat of a forfeited game, "reward_valid"."""

    def __init__(self, env: SeatEnv, patience: int = 2):
        super().__init__()
        self.seats, self.patience = env, check_count("patience", patience)
        self.metadata = {"name": type(env).__name__, "is_parallelizable": False, "render_modes": []}
        self.render_mode = None
        self.possible_agents = list(env.table.roles)
        self._rng = np.random.default_rng()

    def observation_space(self, agent: str) -> gym.Space[Any]:
        return self.seats.observation_space

    def action_space(self, agent: str) -> Unicode:
        return self.seats.action_space  # type: ignore[return-value]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal anew. ``options`` are those of the environments: "difficulty" and "params"."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
            for agent in self.possible_agents:
                self.action_space(agent).seed(seed)
        start = deal(self.seats, self._rng, options)
        self.session = TableSession(self.seats, start, self.patience)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {"params": dict(start.params)} for agent in self.agents}
        self._call_next()

    def observe(self, agent: str) -> TextObservation:
        return TextObservation(self.session.observe(self.possible_agents.index(agent)))

    def step(self, action: str | None) -> None:
        """Make the move of ``agent_selection``."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self.session.reply(action)
        self._call_next()
        self._accumulate_rewards()

    def close(self) -> None:
        self.seats.close()

    def _call_next(self) -> None:
        """Select the seat that moves next, or end the game, and write the infos."""
        session = self.session
        for seat, agent in enumerate(self.possible_agents):
            over, points = session.seat is None, 0.0
            if over:
                self.rewards[agent] = points = session.returns()[seat]
                self.terminations[agent] = True
            self.infos[agent] |= {
                "legal_moves": session.legal(seat),
                "action_error": session.errors[seat],
                "reward_valid": session.forfeited in (None, seat),
                "is_success": points > 0,
            }
        self.agent_selection = self.possible_agents[session.seat or 0]


def aec_env(env_id: str, patience: int = 2, **kwargs: Any) -> TableEnv:
    """Return both seats of a game as a PettingZoo environment, in which agents move in turn.

    Args:
        env_id: a game of `palaestra.envs.players`, such as palaestra/KuhnPoker-v0.
        patience: moves in a row that cannot be read until a seat forfeits.
        **kwargs: arguments of the environment, such as ``difficulty`` and the axes of the game.

    Raises:
        InputError: the environment is unknown, or not a game of seats.
    """
    return TableEnv(make_seats(env_id, **kwargs), patience)
