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
from ..envs.registration import make_registered
from ..envs.unicode import Unicode
from ..errors import InputError, MissingExtra

try:
    from pettingzoo import AECEnv
except ImportError:
    raise MissingExtra("both seats of a game", "pettingzoo") from None


class TextObservation(str):
    """Text with the ``dtype`` that PettingZoo's checks look for in observations."""

    dtype = np.dtype(str)


class TableEnv(AECEnv):
    """Both seats of a table; see `aec_env`.

    A move that cannot be read changes nothing and is told by ``infos[agent]["action_error"]``. After ``patience`` of
    them in a row the seat forfeits: it gets the least payoff, and the other seat gets nothing, with ``reward_valid``
    False, since it is not rewarded for another's faults.
    """

    def __init__(self, env: SeatEnv, patience: int = 2):
        super().__init__()
        self.seats, self.table = env, env.table
        self.patience = check_count("patience", patience)
        self.metadata = {"name": type(env).__name__, "is_parallelizable": False, "render_modes": []}
        self.render_mode = None
        self.possible_agents = list(self.table.roles)
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
        options = options or {}
        space = self.seats.param_space
        given = space.ask(options.get("params") or {})
        params = space.complete(given, self._rng, options.get("difficulty", self.seats.difficulty))
        own = {name: params[name] for name in self.table.param_space.names}
        self.position = self.table.start(self._rng, own)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._faults = dict.fromkeys(self.agents, 0)
        self.infos = {
            agent: {"params": own, "legal_moves": (), "action_error": None, "reward_valid": True, "is_success": False}
            for agent in self.agents
        }
        self._call_next()

    def observe(self, agent: str) -> TextObservation:
        seat = self.possible_agents.index(agent)
        legal = self.infos[agent]["legal_moves"] if agent in self.infos else ()
        moves = f"\nYour move: {', '.join(legal)}." if legal else ""
        rules = self.table.rules(self.position, seat)
        return TextObservation(f"{rules}\n{self.table.observe(self.position, seat)}{moves}")

    def step(self, action: str | None) -> None:
        """Make the move of ``agent_selection``."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        found, error = self.seats.read_action(action)
        legal = self.table.legal(self.position)
        moves = [move for text in found if (move := " ".join(text.lower().split())) in legal]
        if moves:
            self._faults[agent] = 0
            self.infos[agent]["action_error"] = None
            self.position = self.table.play(self.position, moves[0])
            if self.table.to_move(self.position) is None:
                self._end(dict(zip(self.possible_agents, self.table.returns(self.position))))
        else:
            self._faults[agent] += 1
            self.infos[agent]["action_error"] = error or f"Moves are: {', '.join(legal)}."
            if self._faults[agent] >= self.patience:
                other = next(name for name in self.possible_agents if name != agent)
                self.infos[other]["reward_valid"] = False
                self._end({agent: -self.table.most, other: 0.0})
        self._call_next()
        self._accumulate_rewards()

    def close(self) -> None:
        self.seats.close()

    def _end(self, returns: dict[str, float]) -> None:
        self.rewards.update(returns)
        for agent, points in returns.items():
            self.terminations[agent] = True
            self.infos[agent]["is_success"] = points > 0

    def _call_next(self) -> None:
        """Select the seat that moves next, and tell it the legal moves."""
        seat = self.table.to_move(self.position)
        over = any(self.terminations.values())
        for number, agent in enumerate(self.possible_agents):
            is_next = number == seat and not over
            self.infos[agent]["legal_moves"] = self.table.legal(self.position) if is_next else ()
            if is_next:
                self.agent_selection = agent
        if over:
            self.agent_selection = self.agents[0]


def aec_env(env_id: str, patience: int = 2, **kwargs: Any) -> TableEnv:
    """Return both seats of a game as a PettingZoo environment, in which agents move in turn.

    Args:
        env_id: a game of `palaestra.envs.players`, such as palaestra/KuhnPoker-v0.
        patience: moves in a row that cannot be read until a seat forfeits.
        **kwargs: arguments of the environment, such as ``difficulty`` and the axes of the game.

    Raises:
        InputError: the environment is unknown, or not a game of seats.
    """
    made = make_registered(env_id, **kwargs).unwrapped
    if not isinstance(made, SeatEnv):
        raise InputError(
            f"{env_id!r} has no table of seats; palaestra list envs --tag multi-agent names games that have."
        )
    return TableEnv(made, patience)
