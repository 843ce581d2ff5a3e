"""palaestra/Recurring-v0: several episodes of one instance of a game, which an agent can learn from one to the next.

env = gym.make("palaestra/Recurring-v0", of="palaestra/Bandit-v0", of_kwargs={"horizon": 20}, episodes=3, memory=False)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...checks import check_choice
from ...errors import InputError
from ..axes import IntAxis
from ..game import Game, Transition
from ..param_space import ParamSpace
from ..question import with_prompt
from ..registration import make_registered, register
from ..unicode import Unicode

MOST = 100
"""Most episodes of a block."""
_HEADER = 200
"""Most characters that a block adds to an observation, apart from the last observation of the episode before."""


@dataclass(frozen=True, slots=True)
class Block:
    """State of a block: the ``first`` state of its instance, the state ``now``, the number of ``episodes`` and of those
    that are ``over``, the ``turn`` in the current one, the ``progress`` summed over those that are over, ``solved`` if
    one of them was a success, ``rounds`` with the episode of each turn, the ``seed`` of later episodes' chance, and the
    final state of the episode before, ``ended``, only in the state that follows it."""

    first: Any
    now: Any
    episodes: int
    seed: int
    over: int = 0
    turn: int = 0
    progress: float = 0.0
    solved: bool = False
    rounds: tuple[int, ...] = ()
    ended: Any = None


class Recurring(Game):
    """Play one instance of a game several times in a row.

    Description:
        A block of episodes of the game ``of``, all with the same hidden facts: what is found out in one episode helps
        in the next. Chance that is not part of the instance, as in a bandit's payouts, is drawn anew. An episode that
        reaches the game's turn limit is lost, and the next one begins.

    Parameters:
        episodes (2 to 4, on request 1 to 100): episodes of the block, or their mean number (see ``lengths``).
        The axes of the game; by default those of palaestra/GuessNumber-v0: bits (4 to 16, on request 1 to 60), slack (4
            to 0, harder downwards, on request 0 to 100).
        of, of_kwargs (constructor): the id of the game, and its arguments.
        memory (constructor, default True): if False, the conversation restarts with each episode, so that the agent
            remembers nothing (``info["fresh"]``).
        lengths (constructor, "fixed" or "geometric", default "fixed"): if "geometric", the number of episodes is drawn
            for each block, and not told.

    Observation:
        The game's, with a line that counts the episode before its first one. The last observation of an episode comes
        with the first one of the next, if there is memory.

    Actions:
        As for the game.

    Reward:
        The game's rewards divided by the number of episodes. With the default game a loop of the numbers 1 to 20 wins
        0.41 of the easiest blocks by chance.

    Termination:
        After the last episode. Success is the success of the last episode, which shows what the ones before have
        taught; ``info["progress"]`` is the mean progress of all. ``info["extras"]`` has ``solved``, True once an
        episode was a success, and ``rounds``, the episode of each turn.

    Source:
        "Exploitation Is All You Need... for Exploration" (arXiv 2508.01287): recurring tasks, memory and credit across
        episodes, with which exploration pays for a greedy learner.
    """

    supplies = frozenset({"solved", "rounds"})
    blind_loops = (tuple(map(str, range(1, 21))),)

    def __init__(
        self,
        *,
        of: str = "palaestra/GuessNumber-v0",
        of_kwargs: Mapping[str, Any] | None = None,
        memory: bool = True,
        lengths: str = "fixed",
        answer_format: str | None = None,
        **kwargs: Any,
    ):
        game = make_registered(of, **with_prompt(of_kwargs, kwargs)).unwrapped
        if not isinstance(game, Game) or isinstance(game, Recurring):
            raise InputError(f"`of` must be the id of a game of several turns, not {of!r}, a {type(game).__name__}.")
        self.game, self.memory = game, memory
        self.lengths = check_choice("lengths", lengths, ("fixed", "geometric"))
        own = IntAxis("episodes", 2, 4, limits=(1, MOST))
        self.param_space = ParamSpace([own, *game.param_space.axes], game.param_space.spread)
        self.answer_form, self.return_range = game.answer_form, game.return_range
        super().__init__(answer_format=game.answer_format if answer_format is None else answer_format, **kwargs)
        self.observation_space = Unicode(2 * game.max_observation + _HEADER)

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> Block:
        first = self.game.start(rng, {name: params[name] for name in self.game.param_space.names})
        episodes, seed = params["episodes"], int(rng.integers(2**31))
        if self.lengths == "geometric":
            episodes = min(int(rng.geometric(1 / episodes)), MOST)
        return Block(first, first, episodes, seed)

    def content_of(self, episode: Block) -> str:
        return f"{self.game.content_of(episode.first)} x {episode.episodes}, {episode.seed}"

    def split_key(self, episode: Block) -> str:
        return self.game.split_key(episode.first) or self.game.content_of(episode.first)

    def turn_limit(self, state: Block) -> int:
        return state.episodes * self.game.turn_limit(state.first)

    def observe(self, state: Block) -> str:
        shown = self.game.observe(state.now)
        if state.turn or state.over == state.episodes:
            return shown
        of = f" of {state.episodes}" if self.lengths == "fixed" else ""
        again = ": the same task again" if state.over and self.memory else ""
        shown = f"Episode {state.over + 1}{of}{again}.\n{shown}"
        return shown if state.ended is None else f"{self.game.observe(state.ended)}\n\n{shown}"

    def act(self, state: Block, action: str) -> Transition:
        return self._carry_over(state, self.game.act(state.now, action))

    def _act_on_reply(self, action: Any) -> Transition:
        _, error = self.read_action(action)
        if not error:
            return super()._act_on_reply(action)
        state, reached = self._state, self._progress * self._state.episodes - self._state.progress
        unread = Transition(state.now, progress=min(max(reached, 0.0), 1.0), action_error=error)
        return self._carry_over(state, unread)  # an unreadable reply is a turn of its episode

    def _carry_over(self, state: Block, result: Transition) -> Transition:
        """Return the transition of the block for one of the episode in play."""
        terms = result.terms or {"success": float(result.success)}
        terms = {name: value / state.episodes for name, value in terms.items()}
        rounds, progress = (*state.rounds, state.over), state.progress + result.progress
        over = state.over + (result.done or state.turn + 1 >= self.game.turn_limit(state.first))
        done = over == state.episodes
        after = replace(state, now=result.state, turn=state.turn + 1, rounds=rounds, ended=None)
        if over > state.over:
            again = result.state if done else self.game.replay(state.first, state.seed + over)
            ended = result.state if self.memory and not done else None
            solved = state.solved or result.success
            after = replace(after, now=again, over=over, turn=0, progress=progress, solved=solved, ended=ended)
        return replace(
            result,
            state=after,
            done=done,
            success=done and result.success,
            progress=min(progress / state.episodes, 1.0),
            terms=terms,
            extras={"solved": after.solved, "rounds": list(rounds)},
        )

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = super().step(action)
        state = self._state
        if not self.memory and state.turn == 0 and state.over < state.episodes:
            info["fresh"] = True
        return observation, reward, terminated, truncated, info

    def oracle(self, state: Block) -> Any:
        return self.game.oracle(state.now)

    def random_action(self, episode: Block, rng: np.random.Generator) -> Any:
        return self.game.random_action(episode.now, rng)

    def guess_action(self, episode: Block, known: Mapping[str, Any], rng: np.random.Generator) -> Any:
        own = {name: known[name] for name in self.game.param_space.names}
        return self.game.guess_action(episode.now, own, rng)

    def heuristic_action(self, episode: Block) -> Any:
        return self.game.heuristic_action(episode.now)

    def solver_cost(self, episode: Block) -> float | None:
        return self.game.solver_cost(episode.first)


register("palaestra/Recurring-v0", f"{__name__}:Recurring")
