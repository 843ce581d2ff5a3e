"""Hand-over of control from a demonstrator to a learner (after MoDem-V2, arXiv 2309.14236, without its cameras and
world model).

Before the run, the environment's solver gives demonstrations, from which a policy is cloned. The learner proposes
actions around the clone's, and takes the one that an ensemble of critics values most. Control passes to it with rising
probability; where the critics disagree about its action, the demonstrator keeps control. The critics learn by
expected-max Q-learning (EMaQ, arXiv 2007.11091): the value of the next state is that of the best proposal there, so
that no action is valued that would not be proposed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

from ...schedules import linear
from .actor_critic import ActorCritic
from .hand_over_config import HandOverConfig
from .observations import ObservationCode
from .practice import Practice
from .solver_demonstrations import action_code, record_demonstrations, require_solver
from .step_memory import StepMemory

FILE, STEPS_FILE = "student.pt", "steps.npz"
_INIT, _DEMONSTRATIONS, _CLONE, _CHOICES = range(12, 16)


def learner_probability(t: float, t0: float, t1: float) -> float:
    """Return the probability that the learner acts at step t: clip((t - t0) / (t1 - t0), 0, 1)."""
    return min(max((t - t0) / (t1 - t0), 0.0), 1.0)


def propose_around(
    clone: np.ndarray, sigma: float, count: int, choices: int | None, rng: np.random.Generator
) -> np.ndarray:
    """Draw actions around those of a cloned policy; the first proposal is always the clone's action.

    Args:
        clone: the clone's actions, int[n], or float[n, d] in [-1, 1].
        sigma: share of uniform proposals, or standard deviation of Gaussian ones; 0 repeats the clone's actions.
        count: number of proposals, K.
        choices: number of Discrete actions; None for actions of a Box.

    Returns:
        Actions [n, K] or [n, K, d].
    """
    if choices is None:
        noise = sigma * rng.standard_normal((len(clone), count, clone.shape[-1])).astype(np.float32)
        noise[:, 0] = 0.0
        return np.clip(clone[:, None] + noise, -1.0, 1.0)
    uniform = rng.integers(choices, size=(len(clone), count))
    drawn = rng.random((len(clone), count)) < sigma
    drawn[:, 0] = False
    return np.where(drawn, uniform, clone[:, None])


class HandOverStudent:
    """Learner to which a demonstrator hands over control.

    Args:
        config: see `HandOverConfig`.
        practice: as for `PPO`.

    Raises:
        InputError: the environment has no solver, or actions are neither Discrete nor of a bounded Box of one
            dimension.
    """

    def __init__(self, config: HandOverConfig, practice: Practice):
        torch.set_num_threads(config.threads)
        self.config, self.practice = config, practice
        self.code, self.actions = ObservationCode(practice.observation_space), action_code(practice.action_space)
        self.env = practice.open()
        require_solver(self.env)
        self.clone = ActorCritic(self.code.shapes, practice.action_space, config.hidden)
        self.critics, self.targets = (
            torch.nn.ModuleList([self._critic() for _ in range(config.critics)]) for _ in range(2)
        )
        generator = torch.Generator().manual_seed(
            int(np.random.SeedSequence([config.seed, _INIT]).generate_state(1)[0])
        )
        for net in (self.clone, *self.critics):
            net.initialise(generator)  # type: ignore[operator]  # a ModuleList is typed as of plain modules
        self.targets.load_state_dict(self.critics.state_dict())
        self.optimiser = torch.optim.Adam(self.critics.parameters(), lr=config.lr)
        self.demonstrations, self.memory = StepMemory(1), StepMemory(config.capacity)
        self.sigma = config.sigma
        self._rng = np.random.default_rng([config.seed, _CHOICES])
        self._begun = np.zeros(config.environments, dtype=np.int64)
        self._taken, self._cloned = 0, False

    def _critic(self) -> ActorCritic:
        """Make a critic. One of Discrete actions has their values in place of logits; one of a Box sees the action."""
        space, hidden = self.practice.action_space, self.config.hidden
        if self.actions.choices is not None:
            return ActorCritic(self.code.shapes, space, hidden)
        return ActorCritic({**self.code.shapes, "action": self.actions.shape}, gym.spaces.Discrete(1), hidden)

    # Acting -----------------------------------------------------------------------------------------------------------

    def iterate(self, done: float) -> dict[str, float]:
        """Play and learn for `HandOverConfig.iteration` steps; return metrics. ``done``: completed share of the run."""
        config, practice, rng = self.config, self.practice, self._rng
        self._prepare()
        self.sigma = linear(done, config.sigma, config.sigma_end)
        demo_share = linear(done, config.demo_share, config.demo_share_end)
        logged: dict[str, list[float]] = {name: [] for name in ("learner", "wanted", "vetoed", "disagreement", "loss")}
        for _ in range(config.iteration // config.environments):
            seen = self.code.encode(practice.observations)
            clone, chosen, disagreement = self._choose(seen, [rng] * config.environments)
            t = self._begun if config.clock == "episode" else np.full(config.environments, self._taken)
            odds = [learner_probability(one, config.t0, config.t1) for one in t.tolist()]
            wanted = rng.random(config.environments) < odds
            vetoed = wanted & self._vetoes(disagreement)
            acts = wanted & ~vetoed
            given = self.actions.to_env(np.where(acts.reshape(-1, *[1] * (chosen.ndim - 1)), chosen, clone))
            if config.demonstrator == "solver":
                given = [one if acts[n] else practice.solver_action(n) for n, one in enumerate(given)]
            step = practice.step(given)
            after = self.code.encode([step.last.get(n, one) for n, one in enumerate(practice.observations)])
            rows = {
                **_step_columns(seen, after),
                "action": self.actions.from_env(given),
                "reward": step.rewards.astype(np.float32),
                "goes_on": (~step.terminated).astype(np.float32),
            }
            self.memory.add({name: column[step.trained] for name, column in rows.items()})
            self._begun = np.where(step.terminated | step.truncated, 0, self._begun + 1)
            for name, values in (("learner", acts), ("wanted", wanted), ("disagreement", disagreement)):
                logged[name].extend(map(float, values))
            logged["vetoed"].extend(map(float, vetoed[wanted]))
            for _ in range((self._taken + len(given)) // config.update_every - self._taken // config.update_every):
                logged["loss"].append(self._learn(demo_share))
            self._taken += len(given)
        means = {name: float(np.mean(values)) for name, values in logged.items() if values}
        return {**means, "sigma": self.sigma, "demo_share": demo_share}

    def _choose(
        self, seen: Mapping[str, np.ndarray], rngs: Sequence[np.random.Generator]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the clone's actions and the learner's, [n] or [n, d], and the critics' disagreement about the
        learner's (standard deviation of its value), [n]; ``rngs`` draw the proposals, one for each observation."""
        inputs = _as_tensors(seen)
        with torch.no_grad():
            clone = self.clone_actions(inputs)
            each = [
                propose_around(row[None], self.sigma, self.config.proposals, self.actions.choices, rng)[0]
                for row, rng in zip(clone, rngs, strict=True)
            ]
            values = self._values(self.critics, inputs, torch.from_numpy(np.stack(each)))
        best = self._join(values).argmax(-1)
        rows = torch.arange(len(best))
        return clone, np.stack(each)[rows, best], values[:, rows, best].std(0, correction=0).numpy()

    def clone_actions(self, seen: Mapping[str, Tensor]) -> np.ndarray:
        """Return the clone's likeliest actions, int[n], or float32[n, d] in [-1, 1]."""
        outputs, _, _ = self.clone(seen, self.clone.begin(1))
        if self.actions.choices is None:
            return outputs.clamp(-1.0, 1.0).numpy()
        return outputs.argmax(-1).numpy()

    def _vetoes(self, disagreement: np.ndarray) -> np.ndarray:
        """Return bool[n], True where the critics disagree too much for the learner to act."""
        return disagreement > (np.inf if self.config.veto is None else self.config.veto)

    def _values(self, critics: Any, seen: Mapping[str, Tensor], actions: Tensor) -> Tensor:
        """Return each critic's values [E, n, K] of K actions per observation, ``actions`` [n, K] or [n, K, d]."""
        if self.actions.choices is not None:
            return torch.stack([net(seen, net.begin(1))[0].gather(-1, actions) for net in critics])
        count, proposals = actions.shape[:2]
        wide = {name: array.repeat_interleave(proposals, 0) for name, array in seen.items()}
        wide["action"] = actions.flatten(0, 1)
        return torch.stack([net(wide, net.begin(1))[1].view(count, proposals) for net in critics])

    def _join(self, values: Tensor) -> Tensor:
        return values.mean(0) if self.config.value == "mean" else values.amin(0)

    # Learning ---------------------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Record the demonstrations and clone them, unless this has been done."""
        config = self.config
        if self._cloned:
            return
        episodes = record_demonstrations(
            self.env, config.demonstrations, [config.seed, _DEMONSTRATIONS], self.practice.levels
        )
        self.demonstrations = StepMemory(sum(len(one.actions) for one in episodes))
        for one in episodes:
            seen, count = self.code.encode(one.observations), len(one.actions)
            columns = _step_columns(
                {name: array[:-1] for name, array in seen.items()}, {name: array[1:] for name, array in seen.items()}
            )
            ends = np.arange(count) == count - 1
            goes_on = np.where(ends & one.terminated, 0.0, 1.0).astype(np.float32)
            rewards = np.array(one.rewards, dtype=np.float32)
            self.demonstrations.add(
                {**columns, "action": self.actions.from_env(one.actions), "reward": rewards, "goes_on": goes_on}
            )
        optimiser = torch.optim.Adam(self.clone.parameters(), lr=config.lr)
        rng = np.random.default_rng([config.seed, _CLONE])
        for _ in range(config.clone_updates):
            batch = _as_tensors(self.demonstrations.draw(config.minibatch, rng))
            outputs, _, _ = self.clone(_part(batch, "seen/"), self.clone.begin(1))
            if self.actions.choices is None:
                loss = torch.nn.functional.mse_loss(outputs, batch["action"])
            else:
                loss = torch.nn.functional.cross_entropy(outputs, batch["action"])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        self._cloned = True

    def _learn(self, demo_share: float) -> float:
        """Update the critics on a minibatch; return the loss, half the mean squared error over critics and steps."""
        config, rng = self.config, self._rng
        shown = round(demo_share * config.minibatch) if len(self.memory) else config.minibatch
        parts = [self.demonstrations.draw(shown, rng)]
        if len(self.memory):
            parts.append(self.memory.draw(config.minibatch - shown, rng))
        batch = _as_tensors({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
        seen, after = _part(batch, "seen/"), _part(batch, "next/")
        with torch.no_grad():
            proposed = propose_around(
                self.clone_actions(after), self.sigma, config.proposals, self.actions.choices, rng
            )
            v_next = self._join(self._values(self.targets, after, torch.from_numpy(proposed))).amax(-1)
            target = batch["reward"] + config.discount * batch["goes_on"] * v_next
        loss = 0.5 * (self._values(self.critics, seen, batch["action"][:, None])[..., 0] - target).square().mean()
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        with torch.no_grad():
            for slow, fast in zip(self.targets.parameters(), self.critics.parameters(), strict=True):
                slow.lerp_(fast, config.target_rate)
        return loss.item()

    # Saving -----------------------------------------------------------------------------------------------------------

    def _policy_state(self) -> dict[str, Any]:
        return {"clone": self.clone.state_dict(), "critics": self.critics.state_dict(), "sigma": self.sigma}

    def save_policy(self, folder: Path) -> None:
        """Write the file that is needed to play the policy."""
        self._prepare()
        torch.save(self._policy_state(), folder / FILE)

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the state to ``folder``; return the JSON-serializable part, which the caller must store."""
        self._prepare()
        state = {"targets": self.targets.state_dict(), "optimiser": self.optimiser.state_dict()}
        torch.save(self._policy_state() | state, folder / FILE)
        steps: dict[str, Any] = {**self.demonstrations.state("shown/"), **self.memory.state("own/")}
        np.savez(folder / STEPS_FILE, **steps)
        return {"rng": self._rng.bit_generator.state, "begun": self._begun.tolist(), "taken": self._taken}

    def load(self, folder: Path, state: dict[str, Any]) -> None:
        """Restore the state that `save` wrote to ``folder`` and returned as ``state``."""
        saved = self.load_policy(folder)
        self.targets.load_state_dict(saved["targets"])
        self.optimiser.load_state_dict(saved["optimiser"])
        with np.load(folder / STEPS_FILE, allow_pickle=False) as steps:
            self.demonstrations = StepMemory(int(steps["shown/added"]))
            self.demonstrations.load_state("shown/", steps)
            self.memory.load_state("own/", steps)
        self._rng.bit_generator.state = state["rng"]
        self._begun, self._taken = np.array(state["begun"], dtype=np.int64), int(state["taken"])

    def load_policy(self, folder: Path) -> dict[str, Any]:
        """Load the policy that `save_policy` or `save` wrote; return the content of its file."""
        saved = torch.load(folder / FILE, map_location="cpu", weights_only=True)
        self.clone.load_state_dict(saved["clone"])
        self.critics.load_state_dict(saved["critics"])
        self.sigma, self._cloned = saved["sigma"], True
        return saved

    def player(self, temperature: float) -> Callable[..., tuple[list[Any], list[Any]]]:
        """Return the function by which `StudentAgent` plays: the learner's action, or the clone's where it is vetoed;
        ``temperature`` is ignored."""
        self._prepare()

        def play(observations: Sequence[Any], states: list[Any], rngs: Sequence[np.random.Generator]) -> Any:
            clone, chosen, disagreement = self._choose(self.code.encode(observations), rngs)
            vetoed = self._vetoes(disagreement).reshape(-1, *[1] * (clone.ndim - 1))
            return self.actions.to_env(np.where(vetoed, clone, chosen)), states

        return play


def _step_columns(seen: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {f"seen/{name}": one for name, one in seen.items()} | {f"next/{name}": one for name, one in after.items()}


def _part(batch: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): one for name, one in batch.items() if name.startswith(prefix)}


def _as_tensors(batch: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    return {name: torch.from_numpy(array) for name, array in batch.items()}
