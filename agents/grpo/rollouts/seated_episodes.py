"""Episodes of the seats at tables: games of two seats in which each seat that a policy plays is an episode.

A seat's episode waits while another seat is to move. It goes on with what the seat reads on its next turn, or with the
result of the game. Each policy has its own sampler, whose requests from all tables are batched.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ....envs.players.seat_env import SeatEnv
from ....envs.players.session import TableSession
from ..batch.trajectory import Trajectory
from .concurrent_episodes import ConcurrentEpisodes
from .episode_loop import EpisodeLoop
from .episode_player import EpisodePlayer
from .episode_starts import Conditions, Moment, RolloutTask, Start


@dataclass(eq=False)
class GameTable:
    """A game in progress.

    Attributes:
        session: the game.
        task: the task whose parameters the game has.
        players: the player of each seat: of a policy, or the name of a scripted player.
        rng: generator of a scripted player's moves.
        roles: role of each seat.
        trajectories: seat -> its finished episode; no entry for scripted players and for seats that never moved.
    """

    session: TableSession
    task: RolloutTask
    players: tuple[EpisodePlayer | str, EpisodePlayer | str]
    rng: np.random.Generator
    roles: Sequence[str]
    trajectories: dict[int, Trajectory] = field(default_factory=dict)
    _waiting: dict[int, Callable[[tuple[Any, ...]], None]] = field(default_factory=dict)

    @property
    def env(self) -> SeatEnv:
        return self.session.env

    def begin(self, groups: Mapping[EpisodePlayer, SeatedEpisodes]) -> None:
        """Play up to the first turn of a policy."""
        self._groups = groups
        self._move_on()

    def reply(self, seat: int, text: str, resume: Callable[[tuple[Any, ...]], None]) -> None:
        """Make the move of a seat, and play on.

        Args:
            resume: called with the result, as of an environment's step, once the seat is to move again or the game is
                over.
        """
        self._waiting[seat] = resume
        self.session.reply(text)
        self._move_on()

    def leave(self, seat: int, trajectory: Trajectory) -> None:
        """Keep a seat's finished episode. A seat that leaves a game in progress, as its token budget is used up,
        forfeits it; if it has not moved at all, the game is void."""
        session = self.session
        if session.seat is not None:
            session.forfeited = seat
            if trajectory.turns:
                least = self.reward(seat)
                last = replace(trajectory.turns[-1], reward=least, reward_terms={"result": least})
                trajectory = replace(trajectory, turns=(*trajectory.turns[:-1], last))
            self._finish()
        self.trajectories[seat] = trajectory

    def _move_on(self) -> None:
        """Make the moves of scripted players; then let the seat to move, or all seats at the end, go on."""
        session, table = self.session, self.env.table
        while (seat := session.seat) is not None and isinstance(player := self.players[seat], str):
            chances = table.choose(session.position, player)
            session.reply(str(self.rng.choice(list(chances), p=list(chances.values()))))
        if seat is None:
            self._finish()
        elif seat in self._waiting:
            info = self._info(seat, error=session.errors[seat])
            self._waiting.pop(seat)((session.tell(seat), 0.0, False, False, info))
        else:
            player = self.players[seat]
            assert isinstance(player, EpisodePlayer)
            self._groups[player].open_seat(self, seat, session.tell(seat))

    def _finish(self) -> None:
        for seat, resume in sorted(self._waiting.items()):
            del self._waiting[seat]
            resume(("", self.reward(seat), True, False, self._info(seat, over=True, error=self.session.errors[seat])))

    def reward(self, seat: int) -> float:
        """Return a seat's reward at the end, from 0 for the largest loss to 1 for the largest win."""
        return (1 + self.session.returns()[seat] / self.env.table.most) / 2

    def _info(self, seat: int, over: bool = False, error: str | None = None) -> dict[str, Any]:
        reward = self.reward(seat) if over else 0.0
        # A seat is not paid for the fault of the other one, and learns nothing from such a game.
        valid = self.session.forfeited in (None, seat)
        known = {"reward_terms": {"result": reward}, "reward_valid": valid, "action_error": error}
        return {**known, "is_success": reward > 0.5, "progress": reward, "feedback": error or ""}

    @property
    def first_info(self) -> dict[str, Any]:
        """The ``info`` with which a seat's episode begins."""
        position, space = self.session.position, self.env.param_space
        identity = f"{type(self.env).__name__} {position.params} {position.deal}"
        digest = hashlib.blake2b(identity.encode(), digest_size=8).hexdigest()
        params = dict(self.task.params)
        return {"task_id": digest, "params": params, "difficulty": float(space.difficulty(params))}


class SeatedEpisodes(ConcurrentEpisodes):
    """Episodes of the seats that one policy plays.

    Args:
        first: see `ConcurrentEpisodes`.
    """

    _inline = False

    def __init__(self, player: EpisodePlayer, first: int):
        super().__init__(player, states=False, entropies=False, first=first)
        self._seats: dict[int, tuple[GameTable, int]] = {}
        self._parked: dict[int, tuple[int, EpisodeLoop]] = {}

    def open_seat(self, table: GameTable, seat: int, observation: str) -> None:
        """Begin the episode of a seat."""
        number = len(self._seats)
        self._seats[number] = table, seat
        asked = table.task.conditions
        task = replace(table.task, conditions=Conditions(asked.temperature, asked.limits))
        start = Start(task, role=table.roles[seat])
        self._open(number, start, None, lambda: (observation, table.first_info))

    def cancel(self) -> None:
        super().cancel()
        for session, _ in self._parked.values():
            self._player.sampler.close(session)
        self._parked.clear()

    def _step(self, number: int, session: int, episode: EpisodeLoop) -> None:
        text = episode.complete_action
        if text is None:
            self._continue(number, session, episode)
            return

        def resume(result: tuple[Any, ...]) -> None:
            episode.take_result(result)
            self._continue(number, *self._parked.pop(number))

        self._parked[number] = session, episode
        table, seat = self._seats[number]
        table.reply(seat, text, resume)

    def _release(self, episode: EpisodeLoop) -> None:
        """Do nothing: a seat has no environment."""

    def _end(self, number: int, episode: EpisodeLoop, moments: tuple[Moment, ...]) -> None:
        super()._end(number, episode, moments)
        (_, finished) = self._finished.pop()
        table, seat = self._seats[number]
        table.leave(seat, replace(finished.trajectory, policy=self._player.policy))


def play_tables(tables: Sequence[GameTable]) -> None:
    """Play all tables to their ends, at the same time."""
    players = dict.fromkeys(player for table in tables for player in table.players if isinstance(player, EpisodePlayer))
    most = {player: sum(table.players.count(player) for table in tables) for player in players}
    groups = {player: SeatedEpisodes(player, player.number_episodes(most[player])) for player in players}
    try:
        for table in tables:
            table.begin(groups)
        while any([episodes.collect_completions() for episodes in groups.values()]):
            pass
    finally:
        for episodes in groups.values():
            episodes.cancel()
