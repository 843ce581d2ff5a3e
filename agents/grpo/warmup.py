"""Warm-up: supervised steps on oracle solutions, until a model answers in the right form and sometimes succeeds.

The data are episodes of the environment's oracle, recorded like rollouts: with the token ids, masks and packing of
training. Tasks are drawn uniformly from the training split, over the parameter space or the part of it that the
settings name. A share of the episodes may show guesses at the other tasks. At the end it is measured whether the policy
has become too certain for reinforcement learning.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import Tensor

from ...errors import InputError
from ...rewards.answers import present
from ..language.model import LanguageModel
from ..oracle import has_solver
from .batch.batch import collate
from .batch.packing import MicroBatch
from .batch.passes import Passes
from .batch.tally import Tally
from .batch.token_indices import send
from .batch.trajectory import Group, Origin, Trajectory, Turn
from .config import TrainConfig
from .optimizer_steps import OPTIMIZER
from .optimizers import make_optimizer, widen_gradients
from .rollouts.environments import Environments
from .rollouts.episode_player import EpisodePlayer
from .rollouts.episode_starts import RolloutTask, TokenLimits
from .rollouts.independent import Independent
from .run.folder import RunFolder, checkpoint_errors
from .run.observers import TrainingProgress
from .settings import WarmUp

WARM_UP_STREAM = 1
"""Seed key of the warm-up's random stream; `run.seeds` has the other keys."""
PROBE_EVERY, PROBE_EPISODES = 25, 256
VOCABULARY_STREAM, VOCABULARY_EPISODES = 8, 200
RAMP_STEPS = 60
_LEAST, _SHARE = 1.0, 0.05
"""Least time between two savings of the state, seconds, and largest share of the time that saving may take."""
CERTAIN, RARELY = 0.2, 0.05
"""Entropy per token, nats, below which a policy is too certain; share of groups below which mixed outcomes are rare."""


class Syllabus:
    """Tasks of a warm-up: tasks with demonstrated solutions, and other tasks with demonstrated guesses.

    Args:
        environments: environments of the run.
        settings: settings of the warm-up, of which ``axes`` and ``explore`` are used.

    Raises:
        InputError: the environment has no solver, an axis or range does not exist, or ``explore`` is set although no
            task lies outside ``axes`` or the environment supplies no guesses.
    """

    def __init__(self, environments: Environments, settings: WarmUp):
        self.whole = environments.param_space
        self.shown = self.whole.restrict(**settings.axes) if settings.axes else self.whole
        self.explore = settings.explore
        env = environments.take()
        if not has_solver(env):
            raise InputError(
                f"{type(env.unwrapped).__name__} has no solver whose solutions a warm-up could show; take "
                "--warmup.steps 0, with a --model that can play already."
            )
        self.formats, read = settings.formats, getattr(env.unwrapped, "answer_format", None)
        if self.formats and read != "any":
            raise InputError(
                f"warmup.formats shows answers as {' and '.join(self.formats)}, but {type(env.unwrapped).__name__} "
                f"reads them as {read!r} alone; take an environment with answer_format 'any'."
            )
        if self.explore:
            rng = np.random.default_rng(0)
            env.reset(seed=0, options={"params": self._draw_other(rng)})
            self.guess(env, rng)
        environments.give_back(env)

    def draw(self, rng: np.random.Generator) -> tuple[dict[str, Any], bool]:
        """Draw a task: (its parameters, True if a guess must be demonstrated instead of the solution)."""
        if self.explore and rng.random() < self.explore:
            return self._draw_other(rng), True
        return self.shown.sample(rng), False

    def guess(self, env: gymnasium.Env[Any, Any], rng: np.random.Generator) -> Any:
        """Draw the action of a player who knows only the tasks with demonstrated solutions and guesses the rest."""
        inner: Any = env.unwrapped
        known = self.shown.at(1.0)
        action = inner.guess_action(inner.here(), known, rng) if hasattr(inner, "guess_action") else None
        if action is None:
            raise InputError(f"{type(inner).__name__} has no random answers to show; leave --warmup.explore out.")
        return inner.write_action(action)

    def form(self, rng: np.random.Generator) -> str:
        """Draw the form of a demonstrated answer."""
        return str(rng.choice(self.formats)) if self.formats else "any"

    def _draw_other(self, rng: np.random.Generator) -> dict[str, Any]:
        for _ in range(1000):
            params = self.whole.sample(rng)
            try:
                self.shown.validate(params)
            except InputError:
                return params
        raise InputError(
            "warmup.explore shows guesses at tasks outside the part that --warmup.axis names, and there are hardly "
            "any; narrow that part, such as --warmup.axis digits=1, or leave --warmup.explore out."
        )


def solution_texts(environments: Environments, seed: int) -> Iterator[str]:
    """Yield the observations and worked solutions of 200 tasks, from which a vocabulary is learned."""
    rng, env = np.random.default_rng([seed, VOCABULARY_STREAM]), environments.take()
    for _ in range(VOCABULARY_EPISODES):
        params = environments.param_space.sample(rng)
        observation, _ = env.reset(seed=int(rng.integers(2**31)), options={"params": params})
        done = False
        while not done:
            action = env.get_wrapper_attr("oracle")()
            yield observation
            yield action
            observation, _, terminated, truncated, _ = env.step(action)
            done = terminated or truncated
    environments.give_back(env)


def demonstrate(
    env: gymnasium.Env[Any, Any],
    language: LanguageModel,
    seed: int,
    params: dict[str, Any],
    context: int,
    guess: Callable[[gymnasium.Env[Any, Any]], Any] | None = None,
    form: str = "any",
) -> Trajectory:
    """Record an episode of the environment's oracle as tokens, up to the last turn that fits into ``context`` tokens.

    Args:
        guess: function that returns the actions in place of the oracle.
        form: answer format in which the actions are written, of those that the environment reads; "any": as they are.
    """
    renderer = language.renderer
    observation, first = env.reset(seed=seed, options={"params": params})
    info = first
    turns: list[Turn] = []
    done, used = False, 0
    while not done:
        action = env.get_wrapper_attr("oracle")() if guess is None else guess(env)
        action = present(action, form)
        fresh = bool(info.get("fresh"))
        act_ids = renderer.action_ids(action)
        obs_ids = renderer.observation(observation, first=fresh or not turns)
        used = (0 if fresh else used) + len(obs_ids) + len(act_ids)
        if turns and used > context:
            break
        seen = observation
        observation, reward, terminated, truncated, info = env.step(action)
        done = terminated or truncated
        logps, origins = (0.0,) * len(act_ids), (int(Origin.TEACHER),) * len(act_ids)
        turns.append(
            Turn(*(obs_ids, act_ids, logps, "stop", float(reward), seen, action), origins=origins, fresh=fresh)
        )
    tokens = sum(len(turn.act_ids) for turn in turns)
    return Trajectory(
        first["task_id"],
        first["params"],
        first["difficulty"],
        tuple(turns),
        success=guess is None,
        progress=float(guess is None),
        truncated=False,
        valid=True,
        max_tokens=tokens,
        version=-1,
    )


def warm_up(
    language: LanguageModel,
    environments: Environments,
    settings: WarmUp,
    steps: int,
    seed: int,
    limits: TokenLimits,
    optimizer: torch.optim.Optimizer | None = None,
    done: int = 0,
) -> Iterator[dict[str, float]]:
    """Train the model in place until the target success or the largest number of steps is reached; one item per step.

    Args:
        steps: largest number of steps.
        optimizer: optimiser of the model's weights, made by `make_optimizer`; None makes one.
        done: number of steps that model and optimiser have taken already.

    Yields:
        ``{"step", "loss"}`` (mean negative log-likelihood per token, nats), and "success" if it was measured.
    """
    widen_gradients(language.model.parameters())
    optimizer = optimizer or make_optimizer(language.model.parameters(), lr=settings.lr)
    env = environments.take()
    syllabus = Syllabus(environments, settings)
    engine = language.engine(PROBE_EPISODES, limits.context)
    passes = Passes(packer="plain")
    for step in range(done + 1, steps + 1):
        rng = np.random.default_rng([seed, WARM_UP_STREAM, step])
        seeds = rng.integers(0, 2**31, settings.batch).tolist()
        guess = partial(syllabus.guess, rng=rng)
        lessons = [(*syllabus.draw(rng), s) for s in seeds]
        episodes = [
            demonstrate(env, language, s, params, limits.context, guess if guessed else None, syllabus.form(rng))
            for params, guessed, s in lessons
        ]
        for group in optimizer.param_groups:
            group["lr"] = settings.lr * min(1.0, step / RAMP_STEPS)
        row = {"step": step, **supervised_step(language.model, episodes, passes, settings.prompts).means()}
        torch.nn.utils.clip_grad_norm_(language.model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if step % PROBE_EVERY == 0:
            player = EpisodePlayer(environments, engine, language.renderer, limits, 1.0, rng)
            groups = _play_tasks(player, syllabus.shown, PROBE_EPISODES, 1)
            row["success"] = float(np.mean([group.trajectories[0].success for group in groups]))
        yield row
        if row.get("success", 0.0) >= settings.target:
            break
    environments.give_back(env)


def run_warm_up(
    folder: RunFolder,
    language: LanguageModel,
    environments: Environments,
    config: TrainConfig,
    limits: TokenLimits,
    watch: Callable[[TrainingProgress], None],
    stopped: Callable[[], bool],
) -> bool:
    """Warm the policy up in place, from the newest state saved in the folder. Return False if ``stopped`` ended it
    early.

    Each step draws its random numbers from the seed and the step number, so a saved state has only weights, optimiser
    and step number, and an interrupted warm-up continues bit for bit.

    Args:
        language: the initial policy, or the policy of the saved state.
        watch: called after each step.
        stopped: called after each step; True ends the warm-up.
    """
    most = config.warmup.most_steps(config.model)
    widen_gradients(language.model.parameters())
    optimizer = make_optimizer(language.model.parameters(), lr=config.warmup.lr)
    done, success = _restore(folder, optimizer)
    if success >= config.warmup.target:
        return True
    saved, cost = time.monotonic(), 0.0
    for row in warm_up(language, environments, config.warmup, most, config.seed, limits, optimizer, done):
        step = int(row["step"])
        watch(TrainingProgress("warmup", step, most, row))
        last = step == most or row.get("success", 0.0) >= config.warmup.target
        now = time.monotonic()
        if last or stopped() or now - saved > max(_LEAST, cost / _SHARE):
            with folder.warm_up_checkpoint(step) as place:
                language.save(place)
                torch.save(optimizer.state_dict(), place / OPTIMIZER)
                (place / "state.json").write_text(json.dumps(row), encoding="utf-8")
            saved = time.monotonic()
            cost = saved - now
        if stopped():
            return False
    return True


def _restore(folder: RunFolder, optimizer: torch.optim.Optimizer) -> tuple[int, float]:
    """Load the newest state of the optimiser; return the number of steps taken and the last measured success."""
    place = folder.newest_warm_up()
    if place is None:
        return 0, 0.0
    with checkpoint_errors(place):
        optimizer.load_state_dict(torch.load(place / OPTIMIZER, weights_only=True))
        row = json.loads((place / "state.json").read_text(encoding="utf-8"))
        return int(row["step"]), float(row.get("success", 0.0))


@dataclass(frozen=True)
class Variance:
    """Number of groups in which a policy's outcomes differ, on tasks drawn uniformly.

    Attributes:
        groups, samples: number of groups played, and of episodes in each.
        mixed: number of groups with both successes and failures.
        success: share of all episodes that succeeded.
        entropy: mean negative log-probability of the sampled tokens, nats.
    """

    groups: int
    samples: int
    mixed: int
    success: float
    entropy: float

    def describe(self, settings: WarmUp) -> list[str]:
        """Return a sentence with the remedy if the warm-up left too little variance to learn from, else []."""
        certain = self.entropy < CERTAIN
        if self.mixed > RARELY * self.groups or not (certain or self.success > 1 - RARELY):
            return []
        remedy = (
            f"end the warm-up earlier with --warmup.target (now {settings.target:g}), or show solutions of a part of "
            "the tasks with --warmup.axis and guesses at the others with --warmup.explore 0.3"
            if certain
            else "take harder tasks with --axis"
        )
        return [
            f"The warm-up left little to learn from: of {self.groups} groups of {self.samples} episodes on tasks drawn "
            f"uniformly, {self.mixed or 'none'} had both successes and failures ({self.success:.0%} succeeded, entropy "
            f"{self.entropy:.3f} nats a token); {remedy}."
        ]


def measure_variance(
    language: LanguageModel,
    environments: Environments,
    seed: int,
    limits: TokenLimits,
    samples: int,
    temperature: float = 1.0,
    groups: int | None = None,
) -> Variance:
    """Play groups of ``samples`` episodes on tasks drawn uniformly from the environments' space, and count mixed
    groups.

    Args:
        groups: number of groups; by default about 256 episodes and at least 8 groups.
    """
    rng = np.random.default_rng([seed, WARM_UP_STREAM])
    engine = language.engine(PROBE_EPISODES, limits.context)
    player = EpisodePlayer(environments, engine, language.renderer, limits, temperature, rng)
    played = _play_tasks(player, environments.param_space, groups or max(PROBE_EPISODES // samples, 8), samples)
    outcomes = np.array([[episode.success for episode in group.trajectories] for group in played], dtype=float)
    logps = [logp for group in played for episode in group.trajectories for t in episode.turns for logp in t.logps]
    rates = outcomes.mean(axis=1)
    return Variance(
        groups=len(played),
        samples=samples,
        mixed=int(((rates > 0) & (rates < 1)).sum()),
        success=float(rates.mean()),
        entropy=-float(np.mean(logps)) if logps else 0.0,
    )


def _play_tasks(player: EpisodePlayer, space: Any, count: int, samples: int) -> list[Group]:
    """Play tasks drawn uniformly, with random numbers from the player's generator."""
    rng: Any = player.rng
    tasks = [RolloutTask(space.sample(rng), int(rng.integers(2**31)), samples) for _ in range(count)]
    player.sampler.seed(int(rng.integers(2**31)))  # type: ignore[attr-defined]
    return Independent().play(tasks, player)


def supervised_step(
    model: Any, episodes: Sequence[Trajectory], passes: Passes | None = None, prompts: float = 0.0
) -> Tally:
    """Accumulate the gradient of the mean negative log-likelihood of the action tokens; return a tally with "loss".

    Args:
        prompts: weight of the mean negative log-likelihood of all other tokens, which is added to the loss.
    """
    passes = passes or Passes(packer="plain")
    batch = collate([Group(-1, (episode,)) for episode in episodes])
    others = ~batch.action & (batch.position > 0)
    weight = batch.action / batch.action.sum()
    if prompts:
        weight = weight + prompts * others / others.sum()
        batch = replace(batch, action=batch.action | others)

    device = passes.device(model)
    there = send(weight, device)

    def compute(micro: MicroBatch) -> tuple[Tensor, Tally]:
        acted = send((~others[micro.scored]).nonzero()[:, 0], device)
        logp = passes.score(model, micro).logp
        part = Tally()
        part.add("loss", -logp.detach()[acted].sum(), len(acted))
        return -(there[send(micro.scored, device)].to(logp) * logp).sum(), part

    tally = Tally()
    for part in passes.run(batch, range(batch.episodes), compute, weights=model.parameters()):
        tally.append(part)
    return tally
