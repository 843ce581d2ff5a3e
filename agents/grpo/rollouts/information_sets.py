"""A policy at a game with hidden hands, asked at each information set, and how far best responses exploit it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ....envs.players.hidden_game import HiddenGame, Known, exploitability, follow
from ....envs.players.seat_env import SeatEnv
from ....envs.players.table_game import TablePosition, freeze
from ....errors import InputError
from .episode_player import EpisodePlayer
from .seated_episodes import first_text


def information_sets(game: HiddenGame, params: Mapping[str, Any], most: int) -> dict[Known, TablePosition] | None:
    """Return a position of each information set of both seats; None if there are more than ``most``."""
    deals, _ = game.deals(params)
    found: dict[Known, TablePosition] = {}
    histories: list[tuple[str, ...]] = [()]
    while histories:
        history = histories.pop()
        legal = game.legal_after(params, history)
        if not legal:
            continue
        codes, first = np.unique(game.private(params, deals, history, game.mover(params, history)), return_index=True)
        for code, index in zip(codes.tolist(), first.tolist()):
            found[history, code] = TablePosition(freeze(params), tuple(deals[index].tolist()), history)
        if len(found) > most:
            return None
        histories += [(*history, move) for move in legal]
    return found


def ask_policy(
    env: SeatEnv, positions: Mapping[Known, TablePosition], players: tuple[EpisodePlayer, EpisodePlayer]
) -> tuple[dict[Known, dict[str, float]], float]:
    """Return the probability of each legal move at each information set, and the mean probability of other replies.

    A seat's conversation up to the position is rendered as in a game. The probability of a move is that of its plain
    wording at temperature 1, normalised over the legal moves.

    Args:
        players: the player of each seat.

    Raises:
        InputError: a conversation leaves no context for a move.
    """
    game = env.table
    asked: dict[Known, tuple[int, list[int], list[tuple[int, ...]]]] = {}
    for known, position in positions.items():
        seat = game.to_move(position)
        assert seat is not None
        renderer, context = players[seat].renderer, list[int]()
        for length in range(len(position.history) + 1):
            earlier = TablePosition(position.params, position.deal, position.history[:length])
            if game.to_move(earlier) != seat:
                continue
            text = env.show(earlier, seat) if context else first_text(env, earlier, seat)
            context += renderer.observation(text, first=not context)
            if length < len(position.history):
                context += renderer.action_ids(position.history[length])
        asked[known] = seat, context, [renderer.action_ids(move) for move in game.legal(position)]
    found: dict[Known, dict[str, float]] = {}
    outside: list[float] = []
    for seat in (0, 1):
        own = {known: row for known, row in asked.items() if row[0] == seat}
        contexts = [context for _, context, answers in own.values() for _ in answers]
        logps = iter(
            players[seat].log_likelihoods(contexts, [answer for *_, answers in own.values() for answer in answers])
        )
        for known, (_, _, answers) in own.items():
            sums = np.array([sum(next(logps)) for _ in answers])
            if not np.isfinite(sums).all():
                raise InputError("a game does not fit into the context; raise --context.")
            chances = np.exp(sums - sums.max())
            found[known] = dict(zip(game.legal(positions[known]), (chances / chances.sum()).tolist()))
            outside.append(1 - math.exp(sums.max()) * float(chances.sum()))
    return found, float(np.mean(outside))


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
