"""Matches between agents at the tables of `palaestra.envs.players`: every pair plays each deal twice, with the seats
exchanged, and all games of a pair go on at the same time.

A pair's result is the mean over deals, so that the luck of a deal counts for both; ratings are the strengths of Bradley
and Terry's model on the scale of Elo, with intervals from resampled deals.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...envs.players.seat_env import SeatEnv
from ...envs.players.session import TableSession, deal, make_seats
from ...errors import InputError
from ..agent import Agent, EndEpisode
from ..lookup import find_agent
from ..prompt_form import add_prompt_form
from .environment_spec import environment_spec
from .intervals import Estimate, mean_interval
from .report import render_table

if TYPE_CHECKING:
    from rich.table import Table

RESAMPLES = 200
_ELO = 400 / math.log(10)


class ScriptedPlayer(Agent):
    """Agent that plays one of a table's scripted policies; it reads the position and no text.

    Args:
        policy: a name in ``TableGame.policies``.
        sessions: the games, one per slot.
        rng: the generator of its random moves.
    """

    def __init__(self, policy: str, sessions: Sequence[TableSession], rng: np.random.Generator):
        self.name, self.sessions, self.rng = policy, sessions, rng

    def act(self, observations: Sequence[Any], infos: Sequence[Mapping[str, Any]]) -> list[Any]:
        return [None if info["idle"] else self._move(game) for game, info in zip(self.sessions, infos, strict=True)]

    def _move(self, game: TableSession) -> str:
        chances = game.env.table.choose(game.position, self.name)
        return str(self.rng.choice(list(chances), p=list(chances.values())))


@dataclass(frozen=True)
class PairResult:
    """Games of two players. ``points`` has, for each deal, the mean points of the first player over both seatings;
    ``scores`` is 1 where they are positive, the deal won, 0 where they are negative, and 1/2 for a draw. Games that an
    agent's failure ended are void, and their deals left out."""

    players: tuple[str, str]
    points: tuple[float, ...]
    scores: tuple[float, ...]
    forfeits: tuple[int, int]
    void: int

    @property
    def mean(self) -> Estimate:
        """The mean points a game of the first player."""
        return mean_interval(self.points)


@dataclass(frozen=True)
class Tournament:
    """Results of all pairs, and a rating of each player on the scale of Elo, with mean 0."""

    env: str
    pairs: tuple[PairResult, ...]
    ratings: Mapping[str, Estimate]

    def rows(self) -> list[dict[str, Any]]:
        """Return the results as rows, one per pair."""
        return [
            {
                **{"environment": self.env, "first": pair.players[0], "second": pair.players[1]},
                **{"deals": len(pair.points), "void": pair.void},
                **{"points": pair.mean.mean, "points_low": pair.mean.low, "points_high": pair.mean.high},
                "share_won": float(np.mean(pair.scores)) if pair.scores else math.nan,
                **{"forfeits_first": pair.forfeits[0], "forfeits_second": pair.forfeits[1]},
            }
            for pair in self.pairs
        ]

    def to_json(self, results: bool = True) -> dict[str, Any]:
        """Return a JSON-serializable dictionary; ``results`` as in `Report.to_json` changes nothing."""
        ratings = {name: [one.mean, one.low, one.high] for name, one in self.ratings.items()}
        return {"env": self.env, "pairs": self.rows(), "ratings": ratings}

    def table(self) -> Table:
        from rich.table import Table

        found = Table(title=self.env, caption="points of A a game, each deal played in both seats; 95 % intervals")
        for heading in ("A", "B", "deals", "points of A", "deals won by A", "forfeits A, B"):
            found.add_column(heading, justify="left" if heading in "AB" else "right", overflow="fold")
        for pair, row in zip(self.pairs, self.rows(), strict=True):
            won, deals = (
                f"{100 * row['share_won']:.0f} %",
                f"{len(pair.points)}" + (f" ({pair.void} void)" if pair.void else ""),
            )
            found.add_row(*pair.players, deals, str(pair.mean), won, "{}, {}".format(*pair.forfeits))
        if len(self.ratings) > 2:
            found.add_section()
            for name, rating in sorted(self.ratings.items(), key=lambda item: -item[1].mean):
                found.add_row(name, "", "", f"Elo {rating.mean:+.0f} [{rating.low:+.0f}, {rating.high:+.0f}]", "", "")
        return found

    def __str__(self) -> str:
        return render_table(self.table())


def play_matches(
    env_id: str,
    players: Sequence[str | Agent],
    *,
    deals: int = 50,
    seed: int = 0,
    patience: int = 2,
    progress: Callable[[int], None] | None = None,
    **kwargs: Any,
) -> Tournament:
    """Let every pair of players play the same deals, in both seats.

    Args:
        env_id: an environment with a table, such as palaestra/KuhnPoker-v0.
        players: two or more: names of the table's scripted players ("random", "equilibrium"), names of agents as
            `find_agent` takes them, or agents.
        deals: number of deals, each of which is played twice by each pair.
        seed: seed of the deals and of scripted players.
        patience: replies in a row without a legal move until a player forfeits a game.
        progress: called as ``progress(finished games)``.
        **kwargs: arguments of the environment, such as ``cards=3``.

    Raises:
        InputError: there are fewer than two players, two have the same name, or the environment has no table.
    """
    env = make_seats(env_id, **kwargs)
    if len(players) < 2 or deals < 1:
        raise InputError(f"a match needs two players or more and a deal, not {len(players)} players and {deals} deals.")
    agents = {
        _name(one): one if isinstance(one, Agent) or one in env.table.policies else find_agent(one) for one in players
    }
    if len(agents) < len(players):
        raise InputError(f"players need different names, not {', '.join(map(_name, players))}.")
    rng, spec = np.random.default_rng(seed), environment_spec(env_id)
    starts = [deal(env, rng) for _ in range(deals)]
    pairs = list(itertools.combinations(agents, 2))
    results = []
    for number, names in enumerate(pairs):
        games = [TableSession(env, start, patience) for start in starts for _ in (0, 1)]
        playing = [
            ScriptedPlayer(agent, games, np.random.default_rng((seed, number, place)))
            if isinstance(agent, str)
            else agent
            for place, agent in enumerate(agents[name] for name in names)
        ]
        done = 2 * deals * number
        tell = progress and (lambda count, done=done: progress(done + count))
        forms = [add_prompt_form(spec, kwargs, getattr(one, "prompt_form", None)) for one in playing]
        readers = [env if form == kwargs else make_seats(env_id, **form) for form in forms]
        results.append(_summarise(names, games, _play_games(readers, games, playing, seed, tell)))
    return Tournament(env_id, tuple(results), rate_players(list(agents), results, seed))


def _name(player: str | Agent) -> str:
    return player if isinstance(player, str) else player.name


def _play_games(
    readers: Sequence[SeatEnv],
    games: Sequence[TableSession],
    players: Sequence[Agent],
    seed: int,
    tell: Callable[[int], None] | None,
) -> set[int]:
    """Play all games at the same time: in game number i, player i % 2 has seat 0. Return the numbers of void games.

    Args:
        readers: for each player an environment in whose form of prompts it reads.
    """
    void: set[int] = set()
    for player, reader in zip(players, readers, strict=True):
        player.bind([reader] * len(games))
        player.reset(range(len(games)))
    while True:
        open_games = [number for number, game in enumerate(games) if game.seat is not None and number not in void]
        if tell is not None:
            tell(len(games) - len(open_games))
        if not open_games:
            return void
        for place, player in enumerate(players):
            turns = {
                number for number in open_games if games[number].seat == (place + number) % 2 and number not in void
            }
            if not turns:
                continue
            seats = [(place + number) % 2 for number in range(len(games))]
            texts = [
                game.tell(seat, readers[place]) if number in turns else ""
                for number, (game, seat) in enumerate(zip(games, seats))
            ]
            infos = [{"idle": number not in turns, "episode_seed": seed + number} for number in range(len(games))]
            for number, action in enumerate(player.act(texts, infos)):
                if number not in turns:
                    continue
                if isinstance(action, EndEpisode) and not action.valid:
                    void.add(number)
                elif isinstance(action, EndEpisode):
                    games[number].forfeited = games[number].seat
                else:
                    games[number].reply(action)


def _summarise(names: tuple[str, str], games: Sequence[TableSession], void: set[int]) -> PairResult:
    points, scores, forfeits = [], [], [0, 0]
    for number, game in enumerate(games):
        if game.forfeited is not None:
            forfeits[(game.forfeited + number) % 2] += 1
    for number in range(0, len(games), 2):
        if number in void or number + 1 in void:
            continue
        # The first player has seat 0 in the first game of a deal, and seat 1 in the second.
        shares = [_points(games[number], 0), _points(games[number + 1], 1)]
        points.append(sum(shares) / 2)
        scores.append(float(1 + np.sign(sum(shares))) / 2)
    first, second = forfeits
    return PairResult(names, tuple(points), tuple(scores), (first, second), len(games) // 2 - len(points))


def _points(game: TableSession, seat: int) -> float:
    """Return a seat's points; in a match, what the other loses by a forfeit is won."""
    mine, theirs = game.returns()[seat], game.returns()[1 - seat]
    return mine if game.forfeited in (None, seat) else -theirs


def rate_players(names: Sequence[str], pairs: Sequence[PairResult], seed: int = 0) -> dict[str, Estimate]:
    """Return the strengths of Bradley and Terry's model as Elo points with mean 0, and 95 % intervals over resampled
    deals. Half a deal won and half a deal lost is added to each pair, so that strengths are finite.

    Source: R. Bradley, M. Terry, "Rank Analysis of Incomplete Block Designs" (1952), fitted as by D. Hunter, "MM
    algorithms for generalized Bradley-Terry models" (2004).
    """
    place = {name: number for number, name in enumerate(names)}
    rng = np.random.default_rng(seed)

    def fit(chosen: Sequence[np.ndarray]) -> np.ndarray:
        won = np.zeros((len(names), len(names)))
        for pair, picks in zip(pairs, chosen, strict=True):
            first, second = (place[name] for name in pair.players)
            scores = np.array(pair.scores)[picks] if len(picks) else np.zeros(0)
            won[first, second] += scores.sum() + 0.5
            won[second, first] += (1 - scores).sum() + 0.5
        strength, games = np.ones(len(names)), won + won.T
        for _ in range(500):
            strength = won.sum(1) / (games / (strength[:, None] + strength[None, :])).sum(1)
            strength /= np.exp(np.log(strength).mean())
        return _ELO * np.log(strength)

    middle = fit([np.arange(len(pair.scores)) for pair in pairs])
    drawn = [
        fit(
            [rng.integers(0, len(pair.scores), len(pair.scores)) if pair.scores else np.zeros(0, int) for pair in pairs]
        )
        for _ in range(RESAMPLES)
    ]
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    games = [sum(len(pair.scores) for pair in pairs if name in pair.players) for name in names]
    return {name: Estimate(float(middle[k]), float(low[k]), float(high[k]), games[k]) for k, name in enumerate(names)}
