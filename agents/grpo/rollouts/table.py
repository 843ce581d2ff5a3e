"""Rollout strategy in which the policy plays both seats of a game, or one seat against others: scripted players, or
past copies of itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ....checks import check_count
from ....envs.players.seat_env import SeatEnv
from ....envs.players.session import TableSession
from ....envs.players.table_game import TableGame
from ....errors import InputError, unknown_name
from ..batch.trajectory import Group
from ..recipes.stages import ROLLOUTS
from .environments import Environments
from .episode_player import EpisodePlayer
from .episode_starts import RolloutTask
from .independent import Strategy
from .information_sets import measure_exploitability
from .seated_episodes import GameTable, play_tables

SELF, PAST = "self", "past"
_ELO_STEP = 32.0
"""Points by which a rating moves when all games of a step end as was thought impossible."""


@ROLLOUTS.register("table")
@dataclass(eq=False)
class TableRollout(Strategy):
    """Play hands of a game of two seats (`palaestra list envs players`), every seat of a policy being an episode.

    The return of an episode is the points of its seat, from 0 for the largest loss to 1 for the largest win. All games
    of a task begin with the same deal, and the episodes of each seat form a group, so that the luck of the deal is in
    the baseline. With "self" among the opponents, both seats learn (SPIRAL, arXiv 2506.24119, section 3); against
    others, a seat that is drawn for each task learns. "past" is a copy of the policy that a league keeps; one copy
    plays in each step, drawn with weights 1 - the share of games that the policy has won of it (prioritised fictitious
    self-play: AlphaStar, Nature 2019, methods). A seat that makes no legal move ``patience`` times in a row forfeits:
    it gets the least payoff, and the other seat, which is not paid for another's fault, has no episode.

    Metrics: ``table/exploitability``, how much best responses to the policy win on average, in points, by enumeration
    (games with hidden hands), ``table/illegal``, the probability of a reply that is no legal move,
    ``table/score_OPPONENT``, the mean points, and ``table/elo``, a rating in which a new copy has that of the policy.

    Args:
        opponents: "self", "past", or names of the game's scripted players; one is drawn for each task.
        every: updates between copies for the league.
        copies: largest number of copies; the oldest is dropped.
        patience: replies without a legal move until a seat forfeits.
        measure: updates between measurements of the exploitability; 0: none.
        sets: largest number of information sets at which the policy is asked.
    """

    roles: ClassVar[tuple[str, ...]] = TableGame.roles  # type: ignore[misc]
    opponents: str | Sequence[str] = SELF
    every: int = 20
    copies: int = 8
    patience: int = 2
    measure: int = 10
    sets: int = 400

    def __post_init__(self) -> None:
        names = (self.opponents,) if isinstance(self.opponents, str) else tuple(self.opponents)
        for name, least in (("every", 1), ("copies", 1), ("patience", 1), ("measure", 0), ("sets", 1)):
            check_count(name, getattr(self, name), least)
        if not names:
            raise InputError("the rollout table needs at least one opponent, such as 'self'.")
        self._names = names
        self._ratings: dict[str, float] = {SELF: 0.0}
        # Copy or scripted player -> (points that the policy has won of it as a share of all, games), of recent games.
        self._results: dict[str, tuple[float, float]] = {}
        self._metrics: dict[str, float] = {}

    @property
    def keeps_copies(self) -> bool:
        """True if the run must keep past copies of the policy."""
        return PAST in self._names

    def check(self, environments: Environments) -> None:
        known = self._env(environments).table.policies
        for name in self._names:
            if name not in (SELF, PAST, *known):
                raise unknown_name("opponent of the rollout table", name, [SELF, PAST, *known])

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        env = self._env(player.environments)
        past = self._take_copy(player) if self.keeps_copies else None
        tables: list[GameTable] = []
        learning: list[tuple[RolloutTask, list[GameTable], tuple[int, ...], str]] = []
        for task in tasks:
            name = self._names[int(player.rng.integers(len(self._names)))]
            if name == PAST and past is None:
                name = SELF  # before the first copy
            seats = (0, 1) if name == SELF else (int(player.rng.integers(2)),)
            other: EpisodePlayer | str = past[1] if name == PAST and past is not None else name
            opponent = past[0] if name == PAST and past is not None else name
            own = {axis: task.params[axis] for axis in env.table.param_space.names}
            start = env.table.start(np.random.default_rng(task.seed), own)
            roles = env.table.roles
            places = tuple(player.for_role(roles[seat]) if seat in seats else other for seat in (0, 1))
            games = [
                GameTable(TableSession(env, start, self.patience), task, (places[0], places[1]), child, roles)
                for child in np.random.default_rng([task.seed, 1]).spawn(task.samples)
            ]
            tables += games
            learning.append((task, games, seats, opponent))
        play_tables(tables)
        groups, further = list[Group](), list[Group]()
        for task, games, seats, _ in learning:
            both = [
                tuple(t for game in games if (t := game.trajectories.get(seat)) is not None and t.turns and t.valid)
                for seat in seats
            ]
            player.attempts.setdefault(task.proposal, []).extend(t for members in both for t in members)
            groups.append(Group(task.proposal, both[0]))
            further += [Group(-1, members) for members in both[1:]]
        self._count([(opponent, game, seats) for _, games, seats, opponent in learning for game in games])
        self._measure(player, env)
        return [*groups, *(group for group in further if group.trajectories)]

    def metrics(self) -> dict[str, float]:
        return self._metrics

    def state_dict(self) -> dict[str, Any]:
        return {"ratings": self._ratings, "results": {name: list(row) for name, row in self._results.items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._ratings = dict(state["ratings"])
        self._results = {name: (row[0], row[1]) for name, row in state["results"].items()}

    def _env(self, environments: Environments) -> SeatEnv:
        env = environments.take()
        environments.give_back(env)
        if not isinstance(env.unwrapped, SeatEnv):
            raise InputError(
                f"the rollout table plays games of two seats in this process, not {type(env.unwrapped).__name__}; take "
                "an environment of palaestra list envs players, without --env-processes."
            )
        return env.unwrapped

    def _take_copy(self, player: EpisodePlayer) -> tuple[str, EpisodePlayer] | None:
        """Copy the policy for the league if it is time, and draw the copy that plays in this step; None without any."""
        past = player.past
        assert past is not None
        if player.step and player.step % self.every == 0:
            name = f"past-{player.step}"
            past.add(name, self.copies)
            self._ratings[name] = self._ratings[SELF]
            gone = [old for old in self._ratings if old.startswith("past-") and old not in past.names]
            for old in gone:
                self._ratings.pop(old)
                self._results.pop(old, None)
        if not past.names:
            return None
        weights = np.array([max(1.0 - self._results.get(name, (0.5, 0.0))[0], 0.05) for name in past.names])
        name = past.names[int(player.rng.choice(len(weights), p=weights / weights.sum()))]
        return name, past.player(name)

    def _count(self, games: Sequence[tuple[str, GameTable, tuple[int, ...]]]) -> None:
        """Add the results of a step's games to ratings and metrics."""
        scores: dict[str, list[float]] = {}
        forfeits = 0
        for opponent, game, seats in games:
            forfeited = game.session.forfeited
            forfeits += forfeited is not None
            if forfeited is None and opponent != SELF:
                points = game.session.returns()[seats[0]] / game.env.table.most
                scores.setdefault(opponent, []).append(points)
        self._metrics = {"table/forfeits": forfeits / max(len(games), 1)}
        mine = self._ratings[SELF]
        for opponent, points in scores.items():
            won = float(np.mean([(1 + np.sign(each)) / 2 for each in points]))
            share, count = self._results.get(opponent, (0.5, 0.0))
            kept = 0.8 * count  # older games count less, as the policy changes
            self._results[opponent] = (share * kept + won * len(points)) / (kept + len(points)), kept + len(points)
            theirs = self._ratings.setdefault(opponent, 0.0)
            surprise = won - 1 / (1 + 10 ** ((theirs - mine) / 400))
            self._ratings[SELF] += _ELO_STEP * surprise
            if not opponent.startswith("past-"):
                self._ratings[opponent] -= _ELO_STEP * surprise
            name = PAST if opponent.startswith("past-") else opponent
            self._metrics[f"table/score_{name}"] = float(np.mean(points))
        if scores:
            self._metrics["table/elo"] = self._ratings[SELF]

    def _measure(self, player: EpisodePlayer, env: SeatEnv) -> None:
        last = player.steps and player.step + 1 == player.steps
        if not self.measure or (player.step % self.measure and not last):
            return
        players = tuple(player.for_role(role) for role in env.table.roles)
        found = measure_exploitability(env, env.param_space.at(0.0), (players[0], players[1]), self.sets)
        self._metrics |= {f"table/{name}": value for name, value in found.items() if math.isfinite(value)}
