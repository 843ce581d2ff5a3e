"""Novelty search over policies, with emitters around rewarded policies: SERENE (Paolo et al., arXiv 2102.03140);
in a learned space of behaviours TAXONS (arXiv 1909.05508) and STAX (arXiv 2111.01919); all in arXiv 2203.01027.

Exploration and emitters alternate, with ``chunk`` evaluations per turn. Exploration keeps the most novel policies of a
population and of its mutants. An emitter is a local search for a higher reward that starts at a rewarded policy: it
moves to its best mutant, or adapts the covariance of its mutants by CMA-ES. A policy is a genome (`PolicyNetwork`),
evaluated by playing each of the run's levels once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .behaviours import BehaviourCode, describe_end, novelty, rank_fronts
from .evolution import CovarianceAdaptation, check_size
from .genomes import PolicyNetwork
from .novelty_config import NoveltyConfig
from .practice import Practice

FILE = "policies.npz"
MOST_CANDIDATES = 64
"""Most rewarded policies that wait for an emitter; beyond that, the oldest is dropped."""
_LEVELS, _EXPLORE, _EMIT, _CODE = range(8, 12)


@dataclass
class Policies:
    """Evaluated policies, as arrays with one row per policy: genome, positions and states at the ends of its episodes
    (see `describe_end`), mean reward, and mean success."""

    genomes: np.ndarray
    places: np.ndarray
    states: np.ndarray
    rewards: np.ndarray
    successes: np.ndarray

    def __len__(self) -> int:
        return len(self.genomes)

    def take(self, rows: Any) -> Policies:
        return Policies(*(array[rows] for array in vars(self).values()))

    def join(self, other: Policies) -> Policies:
        if not len(self) or not len(other):
            return self if len(self) else other
        return Policies(*map(np.concatenate, zip(vars(self).values(), vars(other).values())))

    def ends(self) -> Policies:
        """Return a copy without genomes, which an archive does not need."""
        return Policies(np.zeros((len(self), 0), dtype=np.float32), *list(vars(self).values())[1:])


def _no_policies() -> Policies:
    empty, none = np.zeros((0, 0), dtype=np.float32), np.zeros(0)
    return Policies(empty, empty, empty, none, none)


class NoveltySearch:
    """Learner with a population, an archive of behaviours, and emitters.

    Args:
        config: see `NoveltyConfig`.
        practice: supplies the spaces and the environment to play in; `Practice.step` is not used.

    Attributes:
        population: the policies whose mutants are the next generation of exploration.
        archive: behaviours (ends of episodes) of some earlier policies; it only grows.
        candidates: rewarded policies from which no emitter has started.
        best: the policy with the highest reward, as one row.
        evaluations: number of policies evaluated by exploration, and by emitters.

    Raises:
        InputError: a space is not supported.
    """

    def __init__(self, config: NoveltyConfig, practice: Practice):
        self.config, self.practice = config, practice
        self.network = PolicyNetwork(practice.observation_space, practice.action_space, config.hidden)
        self.env = practice.open()
        self.levels = [int(s) for s in np.random.SeedSequence([config.seed, _LEVELS]).generate_state(config.levels)]
        self._rngs = {key: np.random.default_rng([config.seed, key]) for key in (_EXPLORE, _EMIT, _CODE)}
        self.population, self.archive, self.candidates, self.best = (_no_policies() for _ in range(4))
        self.code: BehaviourCode | None = None
        self.evaluations = [0, 0]
        self._emitter: Policies = _no_policies()
        self._strategy: CovarianceAdaptation | None = None
        if config.emitters and config.es == "cma_es":
            check_size(self.network.size)
        self._emitting, self._spent, self._stale, self._generations, self._credit = False, 0, 0, 0, 0

    def iterate(self, done: float) -> dict[str, float]:
        """Evaluate whole generations for ``log_every`` steps, and return metrics. Steps in excess are subtracted from
        the next call; ``done`` is not used."""
        self._credit += self.config.iteration
        while self._credit > 0:
            before = sum(self.evaluations)
            if self._emitting:
                self._emit()
            else:
                self._explore()
            self._spent += sum(self.evaluations) - before
            if self._spent >= self.config.chunk or (self._emitting and not self._has_work()):
                self._emitting, self._spent = self.config.emitters and not self._emitting and self._has_work(), 0
        rewarded = self.best.rewards[0] if len(self.best) else 0.0
        return {
            "archive": float(len(self.archive)),
            "behaviours": float(len(np.unique(self.archive.places.round(3), axis=0))) if len(self.archive) else 0.0,
            "explored": float(self.evaluations[0]),
            "emitted": float(self.evaluations[1]),
            "best_reward": float(rewarded),
            "levels_solved": float(self.best.successes[0]) if len(self.best) else 0.0,
        }

    def _has_work(self) -> bool:
        return bool(len(self.candidates) or len(self._emitter))

    # Exploration ------------------------------------------------------------------------------------------------------

    def _explore(self) -> None:
        """Run a generation of novelty search."""
        config, rng = self.config, self._rngs[_EXPLORE]
        self._generations += 1
        if not len(self.population):
            genomes = rng.standard_normal((config.population, self.network.size))
        else:
            parents = self.population.genomes.repeat(config.offspring, axis=0)
            genomes = parents + config.mutation * rng.standard_normal(parents.shape)
        new = self._evaluate(genomes.astype(np.float32), emitted=False)
        everyone = self.population.join(new)
        if not len(everyone):
            return
        if config.behaviour == "learned" and (self.code is None or self._generations % config.relearn == 0):
            states = self.archive.join(everyone.ends()).states
            if self.code is None:
                self.code = BehaviourCode(states.shape[1], config.code_size, self._rngs[_CODE])
            self.code.learn(states)
        order = self._rank(everyone)
        self.population = everyone.take(np.sort(order[: config.population]))
        chosen = rng.permutation(len(new))[: config.added]
        self.archive = self.archive.join(new.take(chosen).ends())
        rewarded = new.take(new.rewards > config.rewarded_above)
        if self.config.emitters and len(rewarded):
            self.candidates = self.candidates.join(rewarded).take(slice(-MOST_CANDIDATES, None))

    def _rank(self, policies: Policies) -> np.ndarray:
        """Return the indices of policies, the most novel or surprising one first (see the option ``surprise``)."""
        rng, config = self._rngs[_EXPLORE], self.config
        known = policies.ends().join(self.archive)
        found = novelty(
            self._behaviours(policies), self._behaviours(known), config.neighbours, np.arange(len(policies))
        )
        if self.code is None or config.surprise == "off":
            return np.argsort(-found, kind="stable")
        errors = self.code.errors(policies.states)
        if config.surprise == "alternate":
            return np.argsort(-(found if rng.random() < 0.5 else errors), kind="stable")
        return np.lexsort((-found, rank_fronts(np.stack([found, errors], axis=1))))

    def _behaviours(self, policies: Policies) -> np.ndarray:
        return policies.places if self.code is None else self.code.encode(policies.states)

    # Emitters ---------------------------------------------------------------------------------------------------------

    def _emit(self) -> None:
        """Run a generation of the current emitter; if there is none, start one at the most novel candidate."""
        config, rng = self.config, self._rngs[_EMIT]
        if not len(self._emitter):
            places = self._behaviours(self.candidates)
            row = int(novelty(places, self._behaviours(self.archive), config.neighbours).argmax())
            self._emitter, self._stale = self.candidates.take([row]), 0
            if config.es != "best":
                start = self._emitter.genomes[0], config.emitter_mutation, config.emitter_population
                self._strategy = CovarianceAdaptation(*start, diagonal=config.es == "sep_cma_es")
            # Other candidates with the same behaviour need no emitter.
            self.candidates = self.candidates.take(np.abs(places - places[row]).max(1) > 1e-9)
        if self._strategy is not None:
            mutants = self._strategy.ask(rng)
        else:
            noise = rng.standard_normal((config.emitter_population, self.network.size))
            mutants = self._emitter.genomes + config.emitter_mutation * noise
        new = self._evaluate(mutants.astype(np.float32), emitted=True)
        if self._strategy is not None:
            self._strategy.tell(new.genomes[np.argsort(-new.rewards, kind="stable")])
        self._stale += 1
        if len(new) and new.rewards.max() > self._emitter.rewards[0]:
            self._emitter, self._stale = new.take([int(new.rewards.argmax())]), 0
        if self._stale >= config.patience:
            self.archive = self.archive.join(self._emitter.ends())
            self._emitter, self._strategy = _no_policies(), None

    # Evaluation -------------------------------------------------------------------------------------------------------

    def _evaluate(self, genomes: np.ndarray, emitted: bool) -> Policies:
        """Evaluate each genome on the levels. Genomes with an invalid episode are left out."""
        found = [one for one in map(self._play_levels, genomes) if one is not None]
        self.evaluations[emitted] += len(genomes)
        if not found:
            return _no_policies()
        policies = Policies(*(np.stack(column) for column in zip(*found, strict=True)))
        row = int(policies.rewards.argmax())
        if not len(self.best) or policies.rewards[row] > self.best.rewards[0]:
            self.best = policies.take([row])
        return policies

    def _play_levels(self, genome: np.ndarray) -> tuple[Any, ...] | None:
        """Play the levels; return the row of `Policies`, or None if an episode is invalid."""
        weights, ends, rewards, successes = self.network.unpack(genome), [], [], []
        for level in self.levels:
            observation, info = self.env.reset(seed=level)
            memory, total, over = self.network.begin(), 0.0, False
            while not over:
                action, memory = self.network.act(weights, observation, memory)
                observation, reward, terminated, truncated, info = self.env.step(action)
                self._credit -= 1
                total += float(reward)
                over = terminated or truncated
                if not info.get("reward_valid", True):
                    return None
            ends.append(describe_end(self.env, observation, self.network.code))
            rewards.append(total)
            successes.append(float(bool(info.get("is_success"))))
        places, states = (np.concatenate(parts) for parts in zip(*ends, strict=True))
        return genome, places, states, np.mean(rewards), np.mean(successes)

    # Saving -----------------------------------------------------------------------------------------------------------

    def save_policy(self, folder: Path) -> None:
        """Write the file that is needed to play the best policy."""
        np.savez(folder / FILE, **_name_arrays("best", self.best))  # pyright: ignore[reportArgumentType]

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the state to ``folder``; return the JSON-serializable part, which the caller must store."""
        arrays = self.code.arrays() if self.code is not None else {}
        for name in _SAVED:
            arrays |= _name_arrays(name, getattr(self, name))
        if self._strategy is not None:
            arrays |= {f"{_STRATEGY}{name}": array for name, array in self._strategy.arrays().items()}
        np.savez(folder / FILE, **arrays)  # pyright: ignore[reportArgumentType]
        return {
            "rngs": {str(key): rng.bit_generator.state for key, rng in self._rngs.items()},
            "evaluations": self.evaluations,
            "counts": [self._emitting, self._spent, self._stale, self._generations, self._credit],
        }

    def load(self, folder: Path, state: dict[str, Any]) -> None:
        """Restore the state that `save` wrote to ``folder`` and returned as ``state``."""
        with np.load(folder / FILE, allow_pickle=False) as saved:
            for name in _SAVED:
                setattr(self, name, _read(name, saved))
            if "code_steps" in saved:
                self.code = BehaviourCode(len(saved["code_0"]), self.config.code_size, np.random.default_rng(0))
                self.code.load_arrays(saved)
                self.code.rng = self._rngs[_CODE]
            strategy = {name.removeprefix(_STRATEGY): saved[name] for name in saved if name.startswith(_STRATEGY)}
            self._strategy = CovarianceAdaptation.from_arrays(strategy) if strategy else None
        for key, rng in self._rngs.items():
            rng.bit_generator.state = state["rngs"][str(key)]
        self.evaluations = list(state["evaluations"])
        self._emitting, self._spent, self._stale, self._generations, self._credit = state["counts"]

    def load_policy(self, folder: Path) -> None:
        """Load the policy that `save_policy` wrote."""
        with np.load(folder / FILE, allow_pickle=False) as saved:
            self.best = _read("best", saved)

    def player(self, temperature: float) -> Callable[..., tuple[list[Any], list[Any]]]:
        """Return the function by which `StudentAgent` plays the best policy, or a random one if none was evaluated.
        ``temperature`` is ignored, as policies are deterministic."""
        drawn = np.random.default_rng([self.config.seed, _EXPLORE]).standard_normal(self.network.size)
        weights = self.network.unpack(self.best.genomes[0] if len(self.best) else drawn)

        def play(observations: Sequence[Any], states: list[Any], rngs: Sequence[np.random.Generator]) -> Any:
            before = [self.network.begin() if state is None else state for state in states]
            pairs = [self.network.act(weights, seen, state) for seen, state in zip(observations, before, strict=True)]
            return [action for action, _ in pairs], [state for _, state in pairs]

        return play


_STRATEGY = "strategy."
_SAVED = ("population", "archive", "candidates", "best", "_emitter")


def _name_arrays(name: str, policies: Policies) -> dict[str, np.ndarray]:
    return {f"{name}.{key}": array for key, array in vars(policies).items()}


def _read(name: str, saved: Any) -> Policies:
    return Policies(*(saved[f"{name}.{key}"] for key in vars(_no_policies())))
