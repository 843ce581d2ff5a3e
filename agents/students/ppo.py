"""PPO (Schulman et al., arXiv 1707.06347), vectorised: a rollout of all environments, then epochs over its minibatches.

It has these common implementation details (Huang et al., "The 37 implementation details of PPO", ICLR blog track 2022):
orthogonal weights, Adam with epsilon 1e-5, a learning rate that falls to 0, generalised advantage estimation,
minibatches drawn without replacement, advantages standardised per minibatch, the clipped surrogate, optionally clipped
values, an entropy bonus, and clipped gradient norms. A truncated episode is bootstrapped from the value of its last
observation (Pardo et al., arXiv 1712.00378). With a recurrent layer, training sequences begin with the recurrent states
of the rollout.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...errors import InputError
from .actor_critic import ActorCritic
from .observations import ObservationCode
from .ppo_loss import explained_variance, generalised_advantages, minibatch_loss
from .practice import Practice
from .student_config import PPOConfig

FILE = "student.pt"
_INIT, _NOISE, _ORDER = range(2, 5)


class PPO:
    """Learner with a policy and a critic.

    Args:
        config: see `PPOConfig`.
        practice: the environments. `Practice.begin` or `Practice.load_state_dict` must be called before `iterate`.

    Raises:
        InputError: a space is not supported, or the device is not available.
    """

    def __init__(self, config: PPOConfig, practice: Practice):
        torch.set_num_threads(config.threads)
        self.config, self.practice = config, practice
        self.device = _find_device(config.device)
        self.code = ObservationCode(practice.observation_space)
        self.actions = practice.action_space
        self.net = ActorCritic(self.code.shapes, self.actions, config.hidden, config.memory)
        self.net.initialise(_generator(config.seed, _INIT))
        self.net.to(self.device)
        self.optimiser = torch.optim.Adam(self.net.parameters(), lr=config.lr, eps=1e-5)
        self.noise = _generator(config.seed, _NOISE)
        self._order = np.random.default_rng([config.seed, _ORDER])
        count = config.environments
        self._state = self.net.begin(count)
        self._first = np.ones(count, dtype=bool)

    def iterate(self, done: float) -> dict[str, float]:
        """Play a rollout and learn from it; return metrics. ``done``: share of the run that is completed, in [0, 1]."""
        rate = self.config.lr * (1.0 - done) if self.config.anneal else self.config.lr
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        rollout = self._play()
        return {**self._learn(rollout), "lr": rate}

    def _play(self) -> _Rollout:
        config, practice = self.config, self.practice
        rollout = _Rollout(config.rollout, config.environments, self.practice.action_space)
        for t in range(config.rollout):
            seen = self.code.encode(practice.observations)
            with torch.no_grad():
                state = self._begun_states()
                outputs, values, self._state = self.net(self._tensors(seen), state)
                actions = self.net.sample(outputs.cpu(), self.noise)
                logps = self.net.log_probability(outputs.cpu(), actions)
            v, taken = values.cpu().numpy(), actions.numpy()
            rollout.add(t, seen, state, self._first, taken, logps.numpy(), v)
            step = practice.step(self._environment_actions(taken), v if practice.measures else None)
            rewards = step.rewards
            if step.last:
                slots = list(step.last)
                rewards[slots] += config.discount * self._values(list(step.last.values()), self._state[slots])
            self._first = step.terminated | step.truncated
            rollout.rewards[t], rollout.ends[t], rollout.counts[t] = rewards, self._first, step.trained
        last = self._values(practice.observations, self._begun_states())
        rollout.advantages = generalised_advantages(
            rollout.rewards, rollout.values, last, rollout.ends, config.discount, config.decay
        )
        return rollout

    def _learn(self, rollout: _Rollout) -> dict[str, float]:
        """Take the optimiser steps of a rollout. Return the means of the metrics over its minibatches."""
        config = self.config
        length = config.sequence if config.memory else 1
        batch = rollout.sequences(length, self.device)
        total = config.rollout * config.environments // length
        size = max(config.minibatch // length, 1)
        logged: dict[str, list[Tensor]] = defaultdict(list)
        for _ in range(config.epochs):
            order = torch.from_numpy(self._order.permutation(total)).to(self.device)
            for rows in order.split(size):
                part = {name: array[:, rows] for name, array in batch.arrays.items()}
                seen = {name: array[:, rows] for name, array in batch.seen.items()}
                outputs, v = self.net.unroll(seen, batch.states[rows], part["first"])
                result = minibatch_loss(
                    *(self.net.log_probability(outputs, part["actions"]), part["logps"], part["advantages"]),
                    *(v, part["values"], part["returns"], self.net.entropy(outputs), part["counts"]),
                    clip=config.clip,
                    value_clip=config.value_clip,
                    value_weight=config.value_weight,
                    entropy_weight=config.entropy_weight,
                )
                self.optimiser.zero_grad()
                result.loss.backward()
                norm = torch.nn.utils.clip_grad_norm_(self.net.parameters(), config.max_grad_norm)
                # A step on a gradient that is not finite would destroy the policy.
                if torch.isfinite(norm):
                    self.optimiser.step()
                for name, value in {**result.values, "grad_norm": norm}.items():
                    logged[name].append(value)
        means = {name: float(torch.stack(values).mean()) for name, values in logged.items()}
        returns = rollout.advantages + rollout.values
        return {**means, "explained_variance": explained_variance(rollout.values, returns)}

    def _begun_states(self) -> Tensor:
        """Return the recurrent states [N, memory], zero where an episode begins."""
        return self._state * torch.from_numpy(~self._first)[:, None].to(self.device)

    def _tensors(self, seen: dict[str, np.ndarray]) -> dict[str, Tensor]:
        return {name: torch.from_numpy(array).to(self.device) for name, array in seen.items()}

    def _values(self, observations: list[Any], state: Tensor) -> np.ndarray:
        with torch.no_grad():
            return self.net(self._tensors(self.code.encode(observations)), state)[1].cpu().numpy()

    def _environment_actions(self, actions: np.ndarray) -> list[Any]:
        space: Any = self.actions
        if self.net.log_deviation is None:
            return [int(action) + int(space.start) for action in actions]
        return list(np.clip(actions, space.low, space.high).astype(space.dtype))

    # Saving -----------------------------------------------------------------------------------------------------------

    def save_policy(self, folder: Path) -> None:
        """Write the file that is needed to play the policy."""
        torch.save({"net": self.net.state_dict()}, folder / FILE)

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the state to ``folder``; return the JSON-serializable part, which the caller must store."""
        state = {"net": self.net.state_dict(), "optimiser": self.optimiser.state_dict()}
        torch.save(state | {"noise": self.noise.get_state(), "state": self._state}, folder / FILE)
        return {"order": self._order.bit_generator.state, "first": self._first.tolist()}

    def load(self, folder: Path, state: dict[str, Any]) -> None:
        """Restore the state that `save` wrote to ``folder`` and returned as ``state``."""
        saved = torch.load(folder / FILE, map_location=self.device, weights_only=True)
        self.net.load_state_dict(saved["net"])
        self.optimiser.load_state_dict(saved["optimiser"])
        self.noise.set_state(saved["noise"].cpu())
        self._state = saved["state"]
        self._order.bit_generator.state = state["order"]
        self._first = np.array(state["first"], dtype=bool)

    def load_policy(self, folder: Path) -> None:
        """Load the policy that `save_policy` wrote."""
        self.net.load_state_dict(torch.load(folder / FILE, map_location=self.device, weights_only=True)["net"])

    def player(self, temperature: float) -> Callable[..., tuple[list[Any], list[Any]]]:
        """Return the function by which `StudentAgent` plays: from lists of observations, recurrent states (None at the
        start of an episode) and random generators to lists of actions and next recurrent states."""

        def play(observations: list[Any], states: list[Any], rngs: Sequence[np.random.Generator]) -> Any:
            fresh = self.net.begin(1)[0]
            before = torch.stack([fresh if state is None else state for state in states])
            with torch.no_grad():
                outputs, _, after = self.net(self._tensors(self.code.encode(observations)), before)
            outputs = outputs.double().cpu().numpy()
            if self.net.log_deviation is not None:
                scale = temperature * self.net.log_deviation.detach().exp().cpu().numpy()
                noise = np.stack([rng.standard_normal(scale.shape) for rng in rngs])
                return self._environment_actions(outputs + scale * noise), list(after)
            if not temperature:
                return self._environment_actions(outputs.argmax(-1)), list(after)
            odds = np.exp((outputs - outputs.max(-1, keepdims=True)) / temperature).cumsum(-1)
            draws = np.array([rng.random() for rng in rngs]) * odds[:, -1]
            return self._environment_actions((odds <= draws[:, None]).sum(-1)), list(after)

        return play


class _Rollout:
    """Record of T steps of N environments: arrays [T, N, ...]."""

    def __init__(self, steps: int, count: int, actions: Any):
        self.steps, self.count = steps, count
        self.seen: list[dict[str, np.ndarray]] = []
        self.states: list[Tensor] = []
        self.first = np.zeros((steps, count), dtype=bool)
        self.ends = np.zeros((steps, count), dtype=bool)
        self.counts = np.ones((steps, count), dtype=bool)
        discrete = actions.shape == ()
        self.actions = np.zeros((steps, count, *actions.shape), dtype=np.int64 if discrete else np.float32)
        self.logps, self.values = (np.zeros((steps, count), dtype=np.float32) for _ in range(2))
        self.rewards = np.zeros((steps, count))
        self.advantages = np.zeros((steps, count))

    def add(
        self,
        t: int,
        seen: dict[str, np.ndarray],
        state: Tensor,
        first: np.ndarray,
        actions: np.ndarray,
        logps: np.ndarray,
        values: np.ndarray,
    ) -> None:
        """Record step t; ``state`` is the recurrent state before the step, ``first`` marks first steps of episodes."""
        self.seen.append(seen)
        self.states.append(state)
        self.first[t], self.actions[t], self.logps[t], self.values[t] = first, actions, logps, values

    def sequences(self, length: int, device: torch.device) -> _Sequences:
        """Cut the rollout into sequences of ``length`` steps."""

        def cut(array: np.ndarray) -> Tensor:
            pieces = array.reshape(self.steps // length, length, self.count, *array.shape[2:])
            whole = np.ascontiguousarray(pieces.swapaxes(0, 1)).reshape(length, -1, *array.shape[2:])
            return torch.from_numpy(whole).to(device)

        arrays = {name: cut(getattr(self, name)) for name in ("first", "counts", "actions", "logps", "values")}
        arrays["advantages"] = cut(self.advantages.astype(np.float32))
        arrays["returns"] = cut((self.advantages + self.values).astype(np.float32))
        seen = {name: cut(np.stack([one[name] for one in self.seen])) for name in self.seen[0]}
        return _Sequences(arrays, seen, torch.cat(self.states[::length]))


class _Sequences:
    """Sequences of a rollout: arrays [length, sequences, ...], and initial recurrent states [sequences, memory]."""

    def __init__(self, arrays: dict[str, Tensor], seen: dict[str, Tensor], states: Tensor):
        self.arrays, self.seen, self.states = arrays, seen, states


def _generator(seed: int, key: int) -> torch.Generator:
    words = np.random.SeedSequence([seed, key]).generate_state(1, np.uint64)
    return torch.Generator().manual_seed(int(words[0]) >> 1)


def _find_device(name: str) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.zeros(1, device=name)
        return torch.device(name)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"the device {name!r} cannot be used here; take 'cpu'.") from error
