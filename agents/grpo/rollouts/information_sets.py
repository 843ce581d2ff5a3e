"""A policy at a game with hidden hands, asked at each information set: how far best responses exploit it, and what each
move gains."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ....envs.players.hidden_game import HiddenGame, Known, Strategy, exploitability, follow
from ....envs.players.seat_env import SeatEnv
from ....envs.players.session import first_text
from ....envs.players.table_game import Moves, TablePosition, freeze
from ....errors import InputError
from ..batch.trajectory import Turn
from .episode_player import EpisodePlayer


def information_sets(game: HiddenGame, params: Mapping[str, Any], most: int) -> dict[Known, TablePosition] | None:
    """Return a position of each information set of both seats; None if there are more than ``most``."""
    deals, _ = game.deals(params)
    found: dict[Known, TablePosition] = {}
    histories: list[Moves] = [()]
    while histories:
        history = histories.pop()
        legal = game.legal_after(params, history)
        if not legal:
            continue
        codes, first = np.unique(game.private(params, deals, history, game.mover(params, history)), return_index=True)
        for code, index in zip(codes.tolist(), first.tolist()):
            found[game.visible(history), code] = TablePosition(freeze(params), tuple(deals[index].tolist()), history)
        if len(found) > most:
            return None
        histories += [(*history, move) for move in legal]
    return found


def ask_policy(
    env: SeatEnv, positions: Mapping[Known, TablePosition], players: tuple[EpisodePlayer | str, EpisodePlayer | str]
) -> tuple[dict[Known, dict[str, float]], float]:
    """Return the probability of each legal move at each information set, and the mean probability of other replies.

    The probability of a move is that of its plain wording at temperature 1, normalised over the legal moves.

    Args:
        players: the player of each seat: a policy, or the name of a scripted player, which makes no other replies.

    Raises:
        InputError: a conversation leaves no context for a move.
    """
    game = env.table
    found: dict[Known, dict[str, float]] = {}
    for known, position in positions.items():
        seat = game.to_move(position)
        assert seat is not None
        if isinstance(player := players[seat], str):
            found[known] = dict(game.choose(position, player))
    chances, outside = move_chances(score_moves(env, positions, players))
    return found | chances, outside


def move_chances(scored: Mapping[Known, Mapping[str, Turn]]) -> tuple[dict[Known, dict[str, float]], float]:
    """Return the probabilities of scored moves, normalised at each information set, and the mean probability of other
    replies."""
    found, outside = dict[Known, dict[str, float]](), list[float]()
    for known, own in scored.items():
        sums = np.array([sum(turn.logps) for turn in own.values()])
        chances = np.exp(sums - sums.max())
        found[known] = dict(zip(own, (chances / chances.sum()).tolist()))
        outside.append(1 - math.exp(sums.max()) * float(chances.sum()))
    return found, float(np.mean(outside))


def score_moves(
    env: SeatEnv, positions: Mapping[Known, TablePosition], players: tuple[EpisodePlayer | str, EpisodePlayer | str]
) -> dict[Known, dict[str, Turn]]:
    """Return a policy's turn with each legal move at each of its information sets, with log-probabilities.

    A seat's conversation up to the position is rendered as in a game, and is the observation of the turn.

    Raises:
        InputError: a conversation leaves no context for a move.
    """
    game = env.table
    found: dict[Known, dict[str, Turn]] = {}
    for seat, player in enumerate(players):
        if isinstance(player, str):
            continue
        asked: list[tuple[Known, str, str, list[int]]] = []
        for known, position in positions.items():
            if game.to_move(position) != seat:
                continue
            context, text = list[int](), ""
            for length in range(len(position.history) + 1):
                earlier = TablePosition(position.params, position.deal, position.history[:length])
                if game.to_move(earlier) != seat:
                    continue
                text = env.show(earlier, seat) if context else first_text(env, earlier, seat)
                context += player.renderer.observation(text, first=not context)
                if length < len(position.history):
                    context += player.renderer.action_ids(position.history[length])
            asked += [(known, text, move, context) for move in game.legal(position)]
        ids = [tuple(player.renderer.action_ids(move)) for _, _, move, _ in asked]
        scored = player.log_likelihoods([context for *_, context in asked], ids)
        for (known, text, move, context), own, logps in zip(asked, ids, scored, strict=True):
            if not np.isfinite(logps).all():
                raise InputError("a game does not fit into the context; raise --context.")
            turn = Turn(tuple(context), own, tuple(logps), "stop", 0.0, text, move)
            found.setdefault(known, {})[move] = turn
    return found


def measure_exploitability(
    env: SeatEnv, params: Mapping[str, Any], players: tuple[EpisodePlayer, EpisodePlayer], most: int
) -> dict[str, float]:
    """Return "exploitability", see `hidden_game.exploitability`, and "illegal", the mean probability of replies other
    than a legal move's plain wording; {} if the game hides nothing or has more than ``most`` information sets."""
    game = env.table
    if not isinstance(game, HiddenGame):
        return {}
    own = {name: params[name] for name in game.param_space.names}
    positions = information_sets(game, own, most)
    if positions is None:
        return {}
    strategy, illegal = ask_policy(env, positions, players)
    return {"exploitability": exploitability(game, freeze(own), follow(game, strategy)), "illegal": illegal}


def move_gains(
    game: HiddenGame,
    params: Mapping[str, Any],
    strategy: Strategy,
    magnet: Strategy,
    strength: float,
    level: bool = False,
) -> dict[Known, dict[str, float]]:
    """Return the advantage of each move at each information set, in points for its seat, when both seats play a
    strategy that is drawn to another one.

    The value of a move is that of playing on by the strategy, weighted over deals by chance and by the other seat's
    probability of arriving there, minus ``strength`` x the logarithm of the move's probability over its probability
    under the magnet (R-NaD: J. Perolat et al., "From Poincare Recurrence to Convergence in Imperfect Information
    Games", 2021, section 4; here in the move's own value, not in those of moves before it). The advantage is the value
    minus its mean under the strategy, or with ``level`` minus that of all legal moves alike.
    """
    deals, weights = game.deals(params)
    sums: dict[Known, tuple[Moves, np.ndarray, float]] = {}

    def walk(history: Moves, reach: np.ndarray) -> np.ndarray:
        """Return the payoff of seat 0 for each deal, given each seat's probability of arriving, float[2, deals]."""
        legal = game.legal_after(params, history)
        if not legal:
            return game.payoffs(params, deals, history)
        seat = game.mover(params, history)
        codes, group = np.unique(game.private(params, deals, history, seat), return_inverse=True)
        keys = [(game.visible(history), code) for code in codes.tolist()]
        chances = np.array([[strategy[key][move] for move in legal] for key in keys])
        own = np.arange(2)[:, None] == seat
        below = np.stack(
            [
                walk((*history, move), np.where(own, reach * chances[group, place], reach))
                for place, move in enumerate(legal)
            ]
        )
        arrival = weights * reach[1 - seat]
        points = below if seat == 0 else -below
        values = np.stack([np.bincount(group, arrival * each, len(codes)) for each in points], 1)
        for key, value, mass in zip(keys, values, np.bincount(group, arrival, len(codes)).tolist()):
            # A set holds several histories where the seat does not see the last move.
            _, value_before, mass_before = sums.get(key, (legal, 0.0, 0.0))
            sums[key] = legal, value + value_before, mass + mass_before
        return (below * chances[group].T).sum(0)

    walk((), np.ones((2, len(deals))))
    found: dict[Known, dict[str, float]] = {}
    for key, (legal, total, mass) in sums.items():
        chance, towards = (np.array([each[key][move] for move in legal]) for each in (strategy, magnet))
        value = total / max(mass, 1e-12) - strength * np.log(np.maximum(chance, 1e-9) / np.maximum(towards, 1e-9))
        mean = value.mean() if level else chance @ value
        found[key] = dict(zip(legal, (value - mean).tolist()))
    return found
