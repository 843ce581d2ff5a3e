"""Agent that searches before it acts: it plays the best episode that a search of the task has found.

The search plays copies of the environment, which start from a snapshot of the slot's environment (`get_state`). A
snapshot includes the environment's random generator, so a search knows the outcome of later chance: in an environment
with chance the figures are those of a player who can take moves back.
"""

from __future__ import annotations

import copy
import math
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from ...errors import InputError
from ..agent import EndEpisode, SlotAgent
from ..grpo.rollouts.environments import snapshot
from ..grpo.rollouts.episode_player import EpisodePlayer
from ..grpo.rollouts.episode_starts import Moment, RolloutTask, Start, TokenLimits
from ..language.language_agent import LanguageAgent
from ..lookup import as_agent
from ..replay import ReplayRecorder
from ..sandbox_threads import threads_for
from ..usage import ActionTrace, TokenUsage
from .run_critic import critic_of
from .searches import Search, parse_search
from .waves import TaskSearch, play_wave, tokenize_cues


class EnvironmentCopies:
    """Pool of copies of an environment, with the interface of `Environments` that playing needs.

    Args:
        env: the environment; its state when a copy is made does not matter, as every episode restores a snapshot.
    """

    def __init__(self, env: gym.Env[Any, Any]):
        self._env = env.env if isinstance(env, ReplayRecorder) else env
        self._free: list[gym.Env[Any, Any]] = []
        self.threads, self.workers = threads_for(self._env), None

    def take(self) -> gym.Env[Any, Any]:
        """Take a free copy; make a new one if all are in use."""
        return self._free.pop() if self._free else copy.deepcopy(self._env)

    def give_back(self, env: gym.Env[Any, Any]) -> None:
        """Return a copy to the pool."""
        self._free.append(env)


@dataclass(eq=False)
class _Plan:
    """Search of a slot's episode, and what is left of the episode that it found.

    Attributes:
        reply: future of the first action.
        actions: (observation, action) of the turns that are still to be played.
        truncated: True if a limit on turns or tokens ended the episode that the search found.
        trace: record of the search, until it is reported.
    """

    search: TaskSearch
    reply: Future[str | EndEpisode]
    actions: deque[tuple[str, str]] = field(default_factory=deque)
    truncated: bool = False
    trace: ActionTrace | None = None


class SearchAgent(SlotAgent):
    """Language model that searches over steps for each task, see `agents.search.searches.Search`.

    The whole budget is spent at the first observation; then the actions of the best episode are played. If the
    environment answers differently than in the search, the agent searches again from there.

    Args:
        model: a `LanguageAgent`, or anything that names one, such as the folder of a run.
        search: the search with its options: "mcts(budget=4096, value='votes')".
        seed: seed of the sampling noise and of the rule's choices, with ``info["episode_seed"]``.

    Raises:
        InputError: ``model`` is no language model, or the search is unknown.
    """

    threads = None

    def __init__(self, model: Any, search: str | Search = "mcts", seed: int = 0):
        agent = as_agent(model)
        if not isinstance(agent, LanguageAgent):
            raise InputError(
                f"a search continues the answers of a language model token by token, which {agent.name!r} does not "
                "offer; give the folder of a run or of a model."
            )
        self._agent, self._seed = agent, seed
        self._search = parse_search(search) if isinstance(search, str) else search
        self.name = f"{agent.name} + {search if isinstance(search, str) else type(search).__name__}"
        self.prompt_form, self.max_slots = agent.prompt_form, None
        self._envs: Sequence[gym.Env[Any, Any]] = ()
        self._plans: dict[int, _Plan] = {}
        self._numbers = 0

    def bind(self, envs: Sequence[gym.Env[Any, Any]]) -> None:
        """Keep the environments, whose states the searches start from.

        Raises:
            InputError: the environments have no ``get_state``.
        """
        if not envs[0].has_wrapper_attr("get_state"):
            name = envs[0].spec.id if envs[0].spec else type(envs[0].unwrapped).__name__
            raise InputError(f"{name!r} has no get_state(), from which a search starts; leave the search out.")
        self._agent.bind(envs)
        self._envs = envs
        action, episode, context = self._agent.limits
        limits = TokenLimits(action, 1 << 40 if math.isinf(episode) else int(episode), context)
        self._player = EpisodePlayer(
            EnvironmentCopies(envs[0]),  # type: ignore[arg-type]
            self._agent.engine,
            self._agent.language.renderer,
            limits,
            self._agent.temperature,
            np.random.default_rng(self._seed),
            noise=self._seed,
            critic=critic_of(self._agent) if "value" in self._search.scorer.needs else None,
        )
        self._cues = tokenize_cues(self._search, self._player)

    def reset(self, indices: Sequence[int]) -> None:
        """Forget the plans of slots ``indices``."""
        for slot in indices:
            self._plans.pop(slot, None)

    def trace(self, slot: int) -> ActionTrace | None:
        """Return the cost of the search with the first action that it found, then None."""
        plan = self._plans.get(slot)
        if plan is None:
            return None
        trace, plan.trace = plan.trace, None
        return trace

    def start(self, slot: int, observation: Any, info: Mapping[str, Any]) -> Any:
        """Return the next action of the slot's plan, or the future of the first action of a new one."""
        plan = self._plans.get(slot)
        if plan is not None and plan.actions and plan.actions[0][0] == str(observation):
            return plan.actions.popleft()[1]
        if plan is not None and plan.truncated and not plan.actions:
            return EndEpisode()
        episode = info.get("episode_seed")
        self._numbers += 1
        keys = (self._numbers,) if episode is None else (int(episode), 0 if plan is None else self._numbers)
        # A subclass of str, such as `FewShotPrompt`, must not be converted to a plain str.
        text = observation if isinstance(observation, str) else str(observation)
        moment = Moment(snapshot(self._envs[slot]), text, dict(info), fresh=bool(info.get("fresh")))
        task = RolloutTask(dict(info.get("params") or {}), 0, 1)
        root = Start(task, moment, temperature=self._search.temperature)
        rng = np.random.default_rng([self._seed, *keys])
        longest = self._player.limits.action
        searching = TaskSearch(self._search, root, rng, self._cues, (1, *keys), tokens=longest)
        self._plans[slot] = _Plan(searching, Future())
        return self._plans[slot].reply

    def advance(self) -> bool:
        """Play waves of all slots' searches until at least one is over. Return False if none is running."""
        running = [plan for plan in self._plans.values() if not plan.reply.done()]
        while running:
            play_wave([plan.search for plan in running], self._player, at_once=512)
            ended = [plan for plan in running if plan.search.over]
            for plan in ended:
                self._finish(plan)
            if ended:
                return True
        return False

    def _finish(self, plan: _Plan) -> None:
        """Set the reply of a plan whose search is over."""
        search, tree = plan.search, plan.search.tree
        usage = TokenUsage(replies=len(tree.members), prompt_tokens=tree.read, completion_tokens=tree.tokens)
        best = search.best()
        notes = {
            "episodes": len(tree.members),
            "tokens": tree.tokens,
            "nodes": sum(1 for _ in tree.root.walk()) - 1,
            "value": None if best is None else tree.rewards[best],
        }
        plan.trace = ActionTrace(usage, {"search": notes})
        if best is None:
            reasons = [member.trajectory.error for member in tree.members]
            plan.reply.set_result(EndEpisode(valid=False, reason=next(filter(None, reasons), None)))
            return
        found = tree.members[best].trajectory
        plan.truncated = found.truncated
        plan.actions.extend((turn.observation, turn.action) for turn in found.turns)
        plan.reply.set_result(plan.actions.popleft()[1])
