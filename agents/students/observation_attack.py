"""Observation attacks on a student: at every step an adversary changes a few cells of the view to steer the actions.

The adversary's goal is learned from preferences between pairs of segments (Bradley and Terry 1952), as in RAT (Bai et
al., arXiv 2412.10713): the learned rewards r(s, a) define the intended policy pi_I(a|s), the softmax of r(s, .). At
every step the adversary shows a view s' that differs from the true view s in a limited number of cells and minimises
KL(pi(.|s') || pi_I(.|s)), by changing one cell at a time. RAT trains a network to find s', with weights of states
learned in an outer loop, and pi_I by reinforcement learning. Here s' is searched for in each state separately, so
positive weights of states would change nothing, and pi_I looks one step ahead. Views are gridworld views; changed cells
get contents that the victim has seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

from ...errors import InputError
from .actor_critic import ActorCritic
from .ppo import PPO
from .student_agent import StudentAgent

VIEW = "image"
PREFERENCES = ("away", "idle")
_SEGMENT, _EPOCHS, _BATCH, _RATE = 8, 5, 64, 3e-3
_SHARPNESS = 4.0
"""Standard deviation of the intended policy's logits."""
_WANDER = 0.5
_ATTACK = 0xA77AC


def check_victim(student: Any) -> PPO:
    """Return the PPO policy of a student. Raise InputError if the student has none, or does not observe a gridworld's
    view."""
    victim = getattr(student, "ppo", student)
    if not isinstance(victim, PPO):
        raise InputError(f"only policies of ppo and go-explore can be attacked, not {type(student).__name__}.")
    space = victim.practice.observation_space
    if "cells" not in victim.code.shapes or not isinstance(space, gym.spaces.Dict) or VIEW not in space.spaces:
        raise InputError(f"an attack changes cells of a gridworld's view, and the student sees {space}.")
    return victim


@dataclass(frozen=True)
class Play:
    """Recorded steps of a victim that acted partly at random.

    Attributes:
        seen: arrays [n, ...] of `ObservationCode.encode`.
        actions: int64[n], counted from 0.
        value: float64[n], value of each step for the adversary.
        begins: bool[n], True at the first step of an episode.
        tiles: uint8[k, 3], the distinct contents of cells in the views.
    """

    seen: dict[str, np.ndarray]
    actions: np.ndarray
    value: np.ndarray
    begins: np.ndarray
    tiles: np.ndarray


def collect_play(victim: PPO, env: gym.Env[Any, Any], prefer: str, seed: int, steps: int = 4_096) -> Play:
    """Let the victim play, with half of its actions replaced by random ones.

    Args:
        env: an environment with "potentials" (for "away") or "positions" (for "idle") in ``info["extras"]``.
        prefer: steps that the adversary values: "away": steps away from the goal of the mission; "idle": steps that do
            not move the agent.
        seed: seed of episodes and actions.
        steps: number of steps.

    Raises:
        InputError: ``prefer`` is unknown, or the environment lacks the extra.
    """
    if prefer not in PREFERENCES:
        raise InputError(f"prefer must be one of {', '.join(PREFERENCES)}, not {prefer!r}.")
    needed = {"away": "potentials", "idle": "positions"}[prefer]
    if needed not in getattr(env.unwrapped, "supplies", ()):
        raise InputError(f"{env} has no {needed}, by which segments are compared; attack a student of a gridworld.")
    rng, play = np.random.default_rng([seed, _ATTACK]), victim.player(1.0)
    space: Any = env.action_space
    views, seen, actions, value, begins, over = [], [], [], [], [], True
    observation: Any = None
    memory: Any = None
    for _ in range(steps):
        begins.append(over)
        if over:
            observation, _ = env.reset(seed=int(rng.integers(2**31)))
            memory = None
        views.append(observation[VIEW].reshape(-1, 3))
        seen.append(victim.code.encode([observation]))
        (action,), (memory,) = play([observation], [memory], [rng])
        if rng.random() < _WANDER:
            action = int(space.start + rng.integers(space.n))
        observation, _, terminated, truncated, info = env.step(action)
        before, after = info["extras"][needed][-2:]
        value.append(before - after if prefer == "away" else float(before == after))
        actions.append(action - int(space.start))
        over = terminated or truncated
    arrays = {name: np.concatenate([one[name] for one in seen]) for name in seen[0]}
    tiles = np.unique(np.concatenate(views), axis=0)
    return Play(arrays, np.array(actions), np.array(value), np.array(begins), tiles)


class Intention:
    """Policy that the adversary wants the victim to have, learned from preferences between segments.

    Args:
        victim: the policy to attack, which gives the network's inputs and actions.
        play: steps from which segments are taken; of two segments, the one with the larger total value is preferred.
        seed: seed of the weights and the pairs.
        pairs: number of pairs of segments.

    Attributes:
        agreement: share of held-out pairs that the learned rewards order like the preferences.
    """

    def __init__(self, victim: PPO, play: Play, seed: int, pairs: int = 2_048):
        rng = np.random.default_rng([seed, _ATTACK, 1])
        self.net = ActorCritic(victim.code.shapes, victim.actions, hidden=32)
        self.net.initialise(torch.Generator().manual_seed(int(rng.integers(2**31))))
        starts = np.arange(len(play.actions) - _SEGMENT + 1)
        inside = np.array([not play.begins[start + 1 : start + _SEGMENT].any() for start in starts], dtype=bool)
        starts, totals = starts[inside], np.convolve(play.value, np.ones(_SEGMENT), "valid")[inside]
        drawn = rng.integers(len(starts), size=(pairs, 2)) if len(starts) else np.zeros((0, 2), dtype=int)
        drawn = drawn[np.abs(totals[drawn[:, 0]] - totals[drawn[:, 1]]) > 1e-9]
        if len(drawn) < 10:
            raise InputError("no two segments of the victim's play differ in what is preferred; play longer episodes.")
        better = totals[drawn[:, 0]] > totals[drawn[:, 1]]
        rows = starts[np.where(better[:, None], drawn, drawn[:, ::-1])]
        held, rows = np.split(rows, [len(rows) // 5])
        self._learn(play, rows, rng)
        with torch.no_grad():
            margins = self._margins(play, held)
            every = self._rewards({name: torch.from_numpy(array) for name, array in play.seen.items()})
        self.agreement = float((margins > 0).double().mean())
        self._scale = _SHARPNESS / max(float((every - every.mean(-1, keepdim=True)).std()), 1e-6)

    def _learn(self, play: Play, rows: np.ndarray, rng: np.random.Generator) -> None:
        optimiser = torch.optim.Adam(self.net.parameters(), lr=_RATE)
        for _ in range(_EPOCHS):
            for batch in np.array_split(rng.permutation(rows), -(-len(rows) // _BATCH)):
                loss = torch.nn.functional.softplus(-self._margins(play, batch)).mean()
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()

    def _margins(self, play: Play, rows: np.ndarray) -> Tensor:
        """Return the reward of the preferred segment minus that of the other one, for each of n pairs, [n].

        Args:
            rows: first steps of the preferred and the other segment, int[n, 2].
        """
        steps = (rows[:, :, None] + np.arange(_SEGMENT)).reshape(-1)
        found = self._rewards({name: torch.from_numpy(array[steps]) for name, array in play.seen.items()})
        taken = found.gather(-1, torch.from_numpy(play.actions[steps])[:, None]).view(len(rows), 2, _SEGMENT)
        return (taken.sum(-1) * torch.tensor([1.0, -1.0])).sum(-1)

    def _rewards(self, seen: Mapping[str, Tensor]) -> Tensor:
        return self.net(seen, self.net.begin(len(next(iter(seen.values())))))[0]

    def log_probabilities(self, seen: Mapping[str, Tensor]) -> Tensor:
        """Return log pi_I [n, actions] of encoded observations."""
        with torch.no_grad():
            return (self._scale * self._rewards(seen)).log_softmax(-1)


class CellAdversary:
    """Adversary that changes cells of a view so that the victim's policy comes closest to the intended policy.

    Args:
        victim: the policy to attack.
        intention: the intended policy.
        tiles: allowed new contents of a cell, uint8[k, 3].
        cells: most cells to change.
        tries: number of random candidate changes per changed cell; None tries all.
        aim: False changes ``cells`` cells at random instead.

    Raises:
        InputError: a number out of range.
    """

    def __init__(
        self,
        victim: PPO,
        intention: Intention,
        tiles: np.ndarray,
        cells: int,
        tries: int | None = None,
        aim: bool = True,
    ):
        if cells < 0 or (tries is not None and tries < 1):
            raise InputError(f"cells must be at least 0 and tries at least 1, not {cells} and {tries}.")
        self.victim, self.intention, self.tiles = victim, intention, tiles
        self.cells, self.tries, self.aim = cells, tries, aim

    def change(self, observation: Mapping[str, Any], memory: Tensor | None, rng: np.random.Generator) -> dict[str, Any]:
        """Return a copy of the observation with a changed view; ``memory`` is the victim's recurrent state or None."""
        view = observation[VIEW]
        places = view.shape[0] * view.shape[1]
        if not self.aim:
            chosen = rng.permutation(places)[: self.cells]
            view = view.reshape(places, 3).copy()
            view[chosen] = self.tiles[rng.integers(len(self.tiles), size=len(chosen))]
            return {**observation, VIEW: view.reshape(observation[VIEW].shape)}
        wanted = self.wanted(observation)
        if self.cells:
            least = float(self.divergences(observation, view[None], memory, wanted)[0])
        for _ in range(self.cells):
            number = np.arange(places * len(self.tiles))
            if self.tries is not None and self.tries < len(number):
                number = rng.choice(number, self.tries, replace=False)
            views = np.repeat(view.reshape(1, places, 3), len(number), axis=0)
            views[np.arange(len(number)), number // len(self.tiles)] = self.tiles[number % len(self.tiles)]
            views = views.reshape(-1, *view.shape)
            found = self.divergences(observation, views, memory, wanted)
            if float(found.min()) >= least:
                continue
            view, least = views[int(found.argmin())], float(found.min())
        return {**observation, VIEW: view.copy()}

    def wanted(self, observation: Mapping[str, Any]) -> Tensor:
        """Return log pi_I [actions] of the true observation."""
        seen = {name: torch.from_numpy(array) for name, array in self.victim.code.encode([observation]).items()}
        return self.intention.log_probabilities(seen)[0].to(self.victim.device)

    def divergences(
        self, observation: Mapping[str, Any], views: np.ndarray, memory: Tensor | None, wanted: Tensor
    ) -> np.ndarray:
        """Return KL(pi(.|s') || pi_I(.|s)) in nats for each of n views s', float64[n]; ``wanted`` is log pi_I(.|s)."""
        victim, count = self.victim, len(views)
        seen = {name: array.repeat(count, axis=0) for name, array in victim.code.encode([observation]).items()}
        state = victim.net.begin(1) if memory is None else memory[None]
        with torch.no_grad():
            outputs = victim.net(victim._tensors({**seen, "cells": views}), state.expand(count, -1))[0]
            logs = outputs.double().log_softmax(-1)
            return (logs.exp() * (logs - wanted.double())).sum(-1).cpu().numpy()


class AttackedAgent(StudentAgent):
    """Student agent whose observations an adversary changes.

    Args:
        adversary: the adversary, with its victim.
        seed: seed of the actions and of the changes.

    Attributes:
        steps: number of actions taken.
        closer: sum over the steps of KL(pi(.|s) || pi_I(.|s)) - KL(pi(.|s') || pi_I(.|s)), in nats.
    """

    def __init__(self, adversary: CellAdversary, seed: int = 0):
        super().__init__(adversary.victim, "attacked", seed=seed)
        self.adversary = adversary
        self.steps, self.closer = 0, 0.0
        self._noise: dict[int, np.random.Generator] = {}

    def reset(self, indices: Sequence[int]) -> None:
        super().reset(indices)
        for slot in indices:
            self._noise.pop(slot, None)

    def act(self, observations: Sequence[Any], infos: Sequence[Mapping[str, Any]]) -> list[Any]:
        shown, adversary = [*observations], self.adversary
        for slot, info in enumerate(infos):
            if info.get("idle"):
                continue
            # A separate random stream, so that the victim's actions are drawn as without the attack.
            if slot not in self._noise:
                key = [self.seed, _ATTACK, int(info.get("episode_seed", slot))]
                self._noise[slot] = np.random.default_rng(key)
            true, memory = observations[slot], self._states.get(slot)
            shown[slot] = adversary.change(true, memory, self._noise[slot])
            self.steps += 1
            views = np.stack([true[VIEW], shown[slot][VIEW]])
            before, after = adversary.divergences(true, views, memory, adversary.wanted(true))
            self.closer += float(before - after)
        return super().act(shown, infos)
