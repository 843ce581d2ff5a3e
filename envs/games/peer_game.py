"""Common part of palaestra/TextArena-v0 and palaestra/GEM-v0: games of another package, run in a worker process.

All environments of a package in this process share one worker (`peer_game_worker`), started with the first of them.
Differences from the package itself: success means full reward; the conversation is not repeated at each turn; and an
exception in a game, or a lost worker, gives an invalid reward (``info["reward_valid"]`` False), not 0. These games have
no solver; their ids are therefore not among `palaestra.envs.ids`.
"""

from __future__ import annotations

import importlib
import itertools
import os
import sys
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, cast

import gymnasium as gym
import numpy as np

from ...checks import check_count, check_number
from ...errors import InputError, shorten, unknown_name
from ...rewards.answers.thoughts import without_thoughts
from ..param_space import ChoiceAxis, ParamSpace
from ..peer_worker import PeerFailure, PeerLost, PeerWorker
from ..task_env import TaskEnv
from ..unicode import Unicode

_WORKER = Path(__file__).with_name("peer_game_worker.py")
_SEEDS = 1 << 31
_MOST = 100_000
# Seconds for the import of a package, for making one game, and for one turn.
_STARTING, _MAKING, _PLAYING = 180.0, 120.0, 30.0
_FEW = 3


class PeerGame(TaskEnv):
    """Base of environments whose episodes are games of another package.

    A subclass sets ``package`` ("textarena" or "gem"), ``title`` (for messages), ``remedy`` (how to install the
    package) and ``offline``, the games to draw from if none is named.

    Args:
        python: path of the interpreter that has the package; None: the running one.
        success_at: least reward of a success, above 0 and at most 1.
        turns: most actions of an episode.
        opponent: for two-player games, the other player: a function from observation to action, both text, or
            "module:function".
        seat: for two-player games, the agent's seat, 0 or 1; None: drawn for each episode.
        **kwargs: arguments of `TaskEnv`.

    Raises:
        InputError: the interpreter lacks the package, or an argument is out of range.
    """

    answer_form = "program"
    return_range = (-1.0, 1.0)
    package: ClassVar[str]
    title: ClassVar[str]
    remedy: ClassVar[str]
    offline: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        *,
        python: str | None = None,
        success_at: float = 1.0,
        turns: int = 300,
        opponent: Callable[[str], str] | str | None = None,
        seat: int | None = None,
        **kwargs: Any,
    ):
        self.python = python or sys.executable
        self.success_at = check_number("success_at", success_at, high=1.0, above=0.0)
        self.turns = check_count("turns", turns, 1)
        self.opponent = _load(opponent)
        if seat not in (None, 0, 1):
            raise InputError(f"seat must be 0, 1 or None, not {seat!r}.")
        self.seat = seat
        try:
            self._games = _GameWorker.of(self.package, self.python)
        except (PeerFailure, OSError) as failure:
            raise InputError(
                f"{self.python!r} has no games of {self.title} ({failure}); {self.remedy}, or give python=, the "
                "interpreter that has it."
            ) from None
        names = [name for name in self._games.names if not name.endswith(("-raw", "-train"))]
        self.param_space = ParamSpace([ChoiceAxis("game", tuple(names), harder=None)])
        if "game" not in kwargs and "game" not in (kwargs.get("axes") or {}):
            played = [name for name in self.offline if name in names]
            kwargs["axes"] = {**(kwargs.get("axes") or {}), "game": played or names}
        elif kwargs.get("game", names[0]) not in names:
            raise unknown_name(f"game of {self.title}", str(kwargs["game"]), names)
        super().__init__(**kwargs)
        self.observation_space, self.action_space = Unicode(_MOST), Unicode(self.max_action)
        self._number = next(_NUMBERS)
        self._closing = weakref.finalize(self, self._games.ended.append, self._number)
        self._seen: dict[str, Any] = {}
        self._episode: tuple[str, int, int] = ("", 0, 0)
        self._moves: list[str] = []  # of all players
        self._turn = 0

    def generate_episode(self, rng: np.random.Generator, params: dict[str, Any]) -> tuple[str, int, int]:
        seat = int(rng.integers(2)) if self.opponent is not None and self.seat is None else self.seat or 0
        return params["game"], int(rng.integers(_SEEDS)), seat

    def content_of(self, episode: tuple[str, int, int]) -> str:
        return f"{self.package} {episode}"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        self._episode = self.begin(seed, options)
        self._ended, self._moves, self._turn = True, [], 0
        try:
            self._start()
            self._let_opponent_play()
        except PeerLost as failure:
            raise PeerLost(f"{self.title} was lost while it made {self._episode[0]}: {failure}.") from None
        except PeerFailure as failure:
            raise InputError(self._explain(str(failure))) from None
        self._ended = False
        return self._show(), self.task_info()

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.require_running()
        self._turn += 1
        reply, error = self._read(action)
        valid, reward, done = True, 0.0, False
        if error is None:
            try:
                self._move(reply)
                error = self._seen["refusal"] or None
                self._let_opponent_play()
                reward, done = self._seen["reward"], self._seen["done"]
            except PeerFailure as failure:
                valid, error = False, f"{self.title} failed: {failure}."
            except Exception as failure:  # the opponent is somebody else's function
                valid, error = False, f"the opponent failed: {type(failure).__name__}: {failure}."
        success = valid and done and reward >= self.success_at
        cut = done and bool(self._seen.get("truncated")) and not success
        truncated = cut or (not done and (not valid or self._turn >= self.turns))
        self._ended = done or truncated
        progress = 1.0 if success else min(max(reward, 0.0), 1.0)
        info = self.step_info(
            None,
            {self.package: reward},
            success=success,
            progress=progress,
            valid=valid,
            error=None if error is None else shorten(" ".join(error.split()), 500),
            feedback=self._seen["reason"] if done else error or "",
        )
        shown = self._show() if valid else ""
        text = shown if error is None or not valid or error in shown else f"{error}\n{shown}"
        return text, reward, done and not cut, truncated, info

    def here(self) -> Any:
        if not self._seen:
            raise gym.error.ResetNeeded(f"no game of {self.title} has begun; call reset() first.")
        return self._seen

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "episode": self._episode, "moves": list(self._moves), "turn": self._turn}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore a snapshot by replaying its moves.

        Raises:
            InputError: the snapshot is of another family.
        """
        super().set_state(state)
        self._episode = state["episode"]
        self._moves = []
        self._start()
        for move in state["moves"]:
            self._move(move)
        self._turn = state["turn"]

    def render(self) -> str | None:  # type: ignore[override]
        return self._show() if self.render_mode == "ansi" else None

    def close(self) -> None:
        self._closing()
        super().close()

    def _read(self, action: Any) -> tuple[str, str | None]:
        """Return (the reply without thoughts, None) or ("", error). The package itself parses the answer."""
        if not isinstance(action, str):
            return "", f"The action must be text, not {type(action).__name__}."
        if len(action) > self.max_action:
            return "", f"The action has {len(action)} characters; at most {self.max_action} are read."
        reply = without_thoughts(action, self.thoughts)
        return ("", "There is no answer after the thoughts.") if reply is None else (reply.strip(), None)

    def _start(self) -> None:
        if not self._games.is_alive:
            self._games = _GameWorker.of(self.package, self.python)
            self._closing = weakref.finalize(self, self._games.ended.append, self._number)
        game, seed, _ = self._episode
        players = 1 if self.opponent is None else 2
        self._seen = self._games.ask(
            seconds=_MAKING, do="reset", number=self._number, game=game, seed=seed, players=players
        )
        self._seen.update(done=False, refusal="", reward=0.0)

    def _move(self, action: str) -> None:
        self._moves.append(action)
        self._seen = self._games.ask(
            seconds=_PLAYING, do="step", number=self._number, action=action, seat=self._episode[2]
        )

    def _let_opponent_play(self) -> None:
        while not self._seen["done"] and self._seen["player"] != self._episode[2]:
            assert self.opponent is not None
            self._move(str(self.opponent(self._seen["text"])))

    def _explain(self, failure: str) -> str:
        game = self._episode[0]
        if "Resource" in failure or "LookupError" in failure:
            how = "it needs NLTK's word lists: python -m nltk.downloader words averaged_perceptron_tagger_eng, once"
        elif "API key" in failure:
            how = "a model behind an endpoint takes part in it, and nothing here asks one"
        elif "layer" in failure and self.opponent is None:
            how = "it is a game for several: opponent= gives the other side of a game of two"
        elif "layer" in failure:
            how = "it is no game for two: leave the opponent out where it is for one"
        else:
            how = f"take another, such as {', '.join(self.offline[:_FEW])}"
        return f"{self.title} cannot start {game}: {failure.rstrip('.')}. Remedy: {how}."

    def _show(self) -> str:
        return shorten(self._seen["text"], _MOST)


class _GameWorker(PeerWorker):
    """Worker for one package and interpreter, shared by all environments of this process that use both.

    Attributes:
        names: the names of all games.
        ended: numbers of games whose environment was closed; the next request tells the worker to drop them.
    """

    _shared: ClassVar[weakref.WeakValueDictionary[tuple[int, str, str], _GameWorker]] = weakref.WeakValueDictionary()

    @classmethod
    def of(cls, package: str, python: str) -> _GameWorker:
        """Return the running worker for this package and interpreter, or start one."""
        key = (os.getpid(), package, python)
        worker = cls._shared.get(key)
        if worker is None or not worker.is_alive:
            # A fixed hash seed gives sets of strings the same order in every process.
            worker = cls(python, _WORKER, [package], {"PYTHONHASHSEED": "0"})
            worker.ended = deque()
            worker.names = worker.ask(seconds=_STARTING, do="names")["names"]
            cls._shared[key] = worker
        return worker

    names: list[str]
    ended: deque[int]

    def ask(self, *, seconds: float = _PLAYING, **request: Any) -> dict[str, Any]:
        ended = []
        while self.ended:
            ended.append(self.ended.popleft())
        return super().ask(seconds=seconds, ended=ended, **request)


_NUMBERS = itertools.count()


def _load(opponent: Callable[[str], str] | str | None) -> Callable[[str], str] | None:
    found: Any = opponent
    if isinstance(opponent, str):
        module, colon, name = opponent.partition(":")
        try:
            found = getattr(importlib.import_module(module), name) if colon else opponent
        except (ImportError, AttributeError):
            found = opponent
    if found is None or callable(found):
        return cast("Callable[[str], str] | None", found)
    raise InputError(f"opponent must be a function from text to text, or its 'module:function', not {opponent!r}.")
