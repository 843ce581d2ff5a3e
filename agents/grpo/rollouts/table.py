"""Rollout strategy in which the policy plays both seats of a game, or one seat against others: scripted players, or
past copies of itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ....checks import check_count
from ....envs.players.hidden_game import HiddenGame, Known
from ....envs.players.seat_env import SeatEnv
from ....envs.players.session import TableSession
from ....envs.players.table_game import Frozen, TableGame, TablePosition, freeze
from ....errors import InputError, unknown_name
from ..batch.trajectory import Group, Trajectory
from ..recipes.stages import ROLLOUTS
from .environments import Environments
from .episode_player import EpisodePlayer
from .episode_starts import RolloutTask
from .independent import Strategy
from .information_sets import (
    ask_policy,
    information_sets,
    measure_exploitability,
    move_chances,
    move_gains,
    score_moves,
)
from .seated_episodes import GameTable, play_tables

SELF, PAST = "self", "past"
SCORES = ("result", "advantage")
MOVES = ("played", ALL := "all")
Matching = tuple[Frozen, tuple[EpisodePlayer | str, EpisodePlayer | str]]
"""Parameters of a game, and the player of each seat."""
ByMove = Mapping[Known, Mapping[str, float]]
"""Information set -> a number for each legal move: its probability, or what it gains."""
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

    With the score "advantage", a legal move is worth what it gains over the policy's mean at its information set,
    computed exactly from the policies of both seats (`information_sets.move_gains`), so that neither the deal nor later
    moves add noise; a reply without one costs ``most`` points. A magnet then draws the policy to random legal moves,
    and from update ``renew`` on to itself as it was up to ``renew`` updates ago, which lets the last policy converge
    where rewards alone go round in circles.

    With the moves "all" no game is played: the batch has every legal move at every information set, in proportion to
    its advantage over the mean move and not to its probability (NeuRD: D. Hennes et al., arXiv 1906.00190),
    so that a move which is hardly ever made can come back. By their reward term "legal", the moves of a set together
    have the gradient of half the log-probability of a legal reply. The groups of a step share the sets; their returns
    tell a teacher nothing.

    Args:
        opponents: "self", "past", or names of the game's scripted players; one is drawn for each task.
        every: updates between copies for the league.
        copies: largest number of copies; the oldest is dropped.
        patience: replies without a legal move until a seat forfeits.
        measure: updates between measurements of the exploitability; 0: none.
        sets: largest number of information sets at which the policy is asked.
        score: "result", the points at the end, or "advantage", for games with hidden hands.
        magnet: with "advantage", points that a move loses for each nat by which the policy prefers it over the magnet.
        renew: updates until the magnet is the present policy again.
        moves: "played", or with "advantage" against itself "all".
    """

    roles: ClassVar[tuple[str, ...]] = TableGame.roles  # type: ignore[misc]
    opponents: str | Sequence[str] = SELF
    every: int = 20
    copies: int = 8
    patience: int = 2
    measure: int = 10
    sets: int = 400
    score: str = "result"
    magnet: float = 0.0
    renew: int = 25
    moves: str = "played"

    def __post_init__(self) -> None:
        names = (self.opponents,) if isinstance(self.opponents, str) else tuple(self.opponents)
        for name, least in (("every", 1), ("copies", 1), ("patience", 1), ("measure", 0), ("sets", 1), ("renew", 1)):
            check_count(name, getattr(self, name), least)
        if not names:
            raise InputError("the rollout table needs at least one opponent, such as 'self'.")
        if self.score not in SCORES:
            raise unknown_name("score of the rollout table", self.score, SCORES)
        if self.magnet < 0 or (self.magnet and self.score == "result"):
            raise InputError(f"magnet is a number from 0 for score='advantage', not {self.magnet} for {self.score!r}.")
        if self.moves not in MOVES:
            raise unknown_name("moves of the rollout table", self.moves, MOVES)
        if self.moves == ALL and (self.score == "result" or names != (SELF,)):
            raise InputError("moves='all' needs score='advantage' and opponents='self'.")
        self._names = names
        self._ratings: dict[str, float] = {SELF: 0.0}
        # Copy or scripted player -> (points that the policy has won of it as a share of all, games), of recent games.
        self._results: dict[str, tuple[float, float]] = {}
        # Parameters of a game -> the policies of both seats when the magnet was renewed.
        self._magnets: dict[Frozen, ByMove] = {}
        self._metrics: dict[str, float] = {}

    @property
    def keeps_copies(self) -> bool:
        """True if the run must keep past copies of the policy."""
        return PAST in self._names

    def check(self, environments: Environments) -> None:
        table = self._env(environments).table
        known = table.policies
        if self.score == "advantage" and not isinstance(table, HiddenGame):
            raise InputError(f"score='advantage' needs a game with hidden hands, not {type(table).__name__}.")
        for name in self._names:
            if name not in (SELF, PAST, *known):
                raise unknown_name("opponent of the rollout table", name, [SELF, PAST, *known])

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        env = self._env(player.environments)
        if self.moves == ALL:
            groups = self._weigh_moves(env, player, tasks)
            self._metrics = {}
            self._measure(player, env)
            return groups
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
        # Before the games: the policies are those that play them.
        gains = self._find_gains(env, player, tables) if self.score == "advantage" else {}
        play_tables(tables)
        groups, further = list[Group](), list[Group]()
        for task, games, seats, _ in learning:
            kept = [
                [(game, t) for game in games if (t := game.trajectories.get(seat)) and t.turns and t.valid]
                for seat in seats
            ]
            player.attempts.setdefault(task.proposal, []).extend(t for members in kept for _, t in members)
            both = [
                tuple(self._pay(game, seat, t, gains) if gains else t for game, t in members)
                for seat, members in zip(seats, kept, strict=True)
            ]
            groups.append(Group(task.proposal, both[0]))
            further += [Group(-1, members) for members in both[1:]]
        self._count([(opponent, game, seats) for _, games, seats, opponent in learning for game in games])
        self._measure(player, env)
        return [*groups, *(group for group in further if group.trajectories)]

    def metrics(self) -> dict[str, float]:
        return self._metrics

    def state_dict(self) -> dict[str, Any]:
        results = {name: list(row) for name, row in self._results.items()}
        magnets = [
            [params, [[*known, chances] for known, chances in strategy.items()]]
            for params, strategy in self._magnets.items()
        ]
        return {"ratings": self._ratings, "results": results, "magnets": magnets}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._magnets = {
            tuple((name, value) for name, value in params): {
                (tuple(history), code): chances for history, code, chances in rows
            }
            for params, rows in state.get("magnets", ())
        }
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

    def _find_gains(self, env: SeatEnv, player: EpisodePlayer, tables: Sequence[GameTable]) -> dict[Matching, ByMove]:
        """Return what each move gains at each information set, for each game's parameters and players."""
        self._let_go(player)
        both = self._seats(env, player)
        asked: dict[Matching, ByMove] = {}
        gains: dict[Matching, ByMove] = {}
        for params, players in dict.fromkeys((table.session.position.params, table.players) for table in tables):
            positions = self._positions(env, params)
            for pair in both, players:
                if (params, pair) not in asked:
                    asked[params, pair] = ask_policy(env, positions, pair)[0]
            gains[params, players] = self._weigh(env, player, params, asked[params, players], asked[params, both])
        return gains

    def _weigh_moves(self, env: SeatEnv, player: EpisodePlayer, tasks: Sequence[RolloutTask]) -> list[Group]:
        """Return the legal moves of all information sets as episodes of one turn, shared out among the tasks."""
        self._let_go(player)
        both, game = self._seats(env, player), env.table
        assert isinstance(game, HiddenGame)
        alike: dict[Frozen, list[RolloutTask]] = {}
        for task in tasks:
            alike.setdefault(freeze({name: task.params[name] for name in game.param_space.names}), []).append(task)
        episodes: dict[int, list[Trajectory]] = {task.proposal: [] for task in tasks}
        for params, own in alike.items():
            positions = self._positions(env, params)
            turns = score_moves(env, positions, both)
            chances, _ = move_chances(turns)
            gains = self._weigh(env, player, params, chances, chances)
            for number, (known, moves) in enumerate(turns.items()):
                task, seat = own[number % len(own)], game.to_move(positions[known])
                assert seat is not None
                for move, turn in moves.items():
                    gain = gains[known][move] / (2 * game.most)
                    legal = chances[known][move] / 2
                    terms = {"advantage": gain, "legal": legal}
                    turn = replace(turn, reward=gain + legal, reward_terms=terms)
                    episodes[task.proposal].append(
                        Trajectory(
                            task_id=f"{game.roles[seat]} {known} {move}",
                            params=dict(task.params),
                            difficulty=env.param_space.difficulty(dict(task.params)),
                            turns=(turn,),
                            success=gain > 0,
                            progress=0.5,
                            truncated=False,
                            valid=True,
                            max_tokens=player.limits.action,
                            role=game.roles[seat],
                            policy=both[seat].policy,
                            version=player.version,
                        )
                    )
        return [Group(proposal, tuple(members)) for proposal, members in episodes.items()]

    @staticmethod
    def _seats(env: SeatEnv, player: EpisodePlayer) -> tuple[EpisodePlayer, EpisodePlayer]:
        first, second = (player.for_role(role) for role in env.table.roles)
        return first, second

    def _let_go(self, player: EpisodePlayer) -> None:
        """Drop the magnets if it is time."""
        if player.step and player.step % self.renew == 0:
            self._magnets.clear()

    def _positions(self, env: SeatEnv, params: Frozen) -> dict[Known, TablePosition]:
        assert isinstance(env.table, HiddenGame)
        positions = information_sets(env.table, dict(params), self.sets)
        if positions is None:
            raise InputError(f"a game has more than {self.sets} information sets; raise sets, or take fewer cards.")
        return positions

    def _weigh(self, env: SeatEnv, player: EpisodePlayer, params: Frozen, chances: ByMove, own: ByMove) -> ByMove:
        """Return the gains of moves made with ``chances``; ``own`` are those of the policies in both seats."""
        assert isinstance(env.table, HiddenGame)
        uniform = {known: dict.fromkeys(row, 1 / len(row)) for known, row in own.items()}
        magnet = self._magnets.setdefault(params, own if player.step >= self.renew else uniform)
        return move_gains(env.table, dict(params), chances, magnet, self.magnet, level=self.moves == ALL)

    def _pay(self, game: GameTable, seat: int, trajectory: Trajectory, gains: Mapping[Matching, ByMove]) -> Trajectory:
        """Replace the rewards of a seat's episode by what its moves have gained, as shares of all points."""
        table, end = game.env.table, game.session.position
        assert isinstance(table, HiddenGame)
        known, own = gains[end.params, game.players], list[float]()
        for length, move in enumerate(end.history):
            position = replace(end, history=end.history[:length])
            if table.to_move(position) == seat:
                own.append(known[table.known(position, seat)][move])
        left = iter(own)
        points = [-table.most if turn.action_error else next(left, -table.most) for turn in trajectory.turns]
        turns = [
            replace(turn, reward=each / (2 * table.most), reward_terms={"advantage": each / (2 * table.most)})
            for turn, each in zip(trajectory.turns, points, strict=True)
        ]
        return replace(trajectory, turns=tuple(turns))

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
