"""Rewards for exploration: rarely visited states, unusual representations or gradient directions, long responses.

Visit counts are kept across episodes, so judging an episode twice counts it twice; they are saved as plain JSON.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...checks import option
from ...errors import InputError
from ..embedding import Embedder, EmbeddingSource, HashedNgrams, collect_features, cosines
from ..episode import Episode, Step
from ..reward import GroupReward, Reward, StepReward, register
from ..verdict import Verdict
from .scores import Scorer, ScoreSource

StateKey = Callable[[Any], Any]


class _VisitBonus(StepReward):
    """Base class of a bonus for each observation; a subclass implements `visit`, which updates the state's record."""

    weight: float
    key: StateKey

    def setup(self) -> None:
        # State -> record that `visit` keeps.
        self._visits: dict[str, Any] = {}

    def visit(self, state: str) -> float:
        raise NotImplementedError

    def values(self, episode: Episode) -> list[float]:
        return [self.visit(self._digest(step.observation)) for step in episode.steps]

    def step_reward_now(self, step: Step, observation: Any, terminated: bool) -> float:
        return self.visit(self._digest(step.observation))

    def _digest(self, observation: Any) -> str:
        text = str(self.key(observation)).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, digest_size=8).hexdigest()

    def state_dict(self) -> dict[str, Any]:
        return {"visits": dict(self._visits)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if set(state) != {"visits"}:
            raise InputError(f"the saved state of {self.name!r} holds 'visits', not {sorted(state)}.")
        self._visits = dict(state["visits"])


@register("count-bonus")
class CountBonus(_VisitBonus):
    """Count bonus ``weight / visits ** exponent`` for the state of each step; the count includes the present visit."""

    paper = "MBIE-EB, Strehl and Littman, JCSS 2008"
    weight: float = option(default=1.0, low=0, says="the bonus of a first visit.")
    exponent: float = option(default=0.5, low=0, says="exponent of the number of visits; 0.5 in the paper.")
    episodic: bool = option(default=False, says="count within each episode only, and keep nothing between episodes.")
    key: StateKey = option(default=str, says="maps an observation to a key of its state.")

    def values(self, episode: Episode) -> list[float]:
        bonuses = super().values(episode)
        if self.episodic:
            self._visits = {}
        return bonuses

    def step_reward_now(self, step: Step, observation: Any, terminated: bool) -> float | None:
        # One step does not show where its episode begins.
        return None if self.episodic else super().step_reward_now(step, observation, terminated)

    def visit(self, state: str) -> float:
        self._visits[state] = self._visits.get(state, 0) + 1
        return self.weight / self._visits[state] ** self.exponent


@register("rdd")
class RandomDistillation(_VisitBonus):
    """Squared error of a table that learns the mean of a random target, drawn anew at each visit of a state.

    Each state has a normal distribution with standard deviation ``deviation``; the prediction is the mean of the draws
    so far. After n visits the expected bonus is ``deviation ** 2 / n``: it decays like a count, while the bonus of
    plain random network distillation stops at its remaining error. The distribution's mean cancels and is not stored. A
    network in place of the table would generalise over states; the table does not.
    """

    paper = "RDD, arXiv 2505.11044"
    weight: float = option(default=1.0, low=0, says="weight of the bonus.")
    deviation: float = option(default=1.0, low=0, says="standard deviation of the draws.")
    dimension: int = option(default=64, low=1, says="size of the target; a larger one makes the bonus less noisy.")
    seed: int = option(default=0, says="seed of the draws, together with the state and the number of the visit.")
    key: StateKey = option(default=str, says="maps an observation to a key of its state.")

    def visit(self, state: str) -> float:
        # Number of visits, and sum of the draws' deviations from their mean.
        count, total = self._visits.get(state, (0, [0.0] * self.dimension))
        noise = np.random.default_rng([self.seed, int(state, 16), count]).normal(size=self.dimension)
        summed = np.asarray(total) + self.deviation * noise
        self._visits[state] = [count + 1, summed.tolist()]
        return self.weight * float(np.mean(np.square(summed / (count + 1))))


def elliptical_bonus(features: np.ndarray, ridge: float = 0.01, leave_one_out: bool = False) -> np.ndarray:
    """Return ``h_i' V^-1 h_i`` [G] for each row h_i of ``features`` [G, D], with ``V = ridge * I + sum_j h_j h_j'``.

    This leverage lies in [0, 1) (RepExp, arXiv 2510.11686). With ``leave_one_out`` the sum in V leaves out row i; the
    bonus, leverage / (1 - leverage), is then bounded only by ``|h_i|^2 / ridge``.
    """
    # The Gram matrix [G, G] gives the exact result at a cost independent of the width of the features.
    gram = features @ features.T
    leverage = np.clip(np.diag(np.linalg.solve(gram + ridge * np.eye(len(gram)), gram)), 0.0, 1.0)
    if not leave_one_out:
        return leverage
    bound = np.diag(gram) / ridge
    return np.minimum(leverage / np.maximum(1.0 - leverage, 1e-12), bound)


def sparse_projection(width: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
    """Return a random matrix [width, dimension] that keeps lengths on average; one entry in sqrt(width) is not 0."""
    density = 1.0 / max(np.sqrt(width), 1.0)
    signs = rng.choice([-1.0, 0.0, 1.0], size=(width, dimension), p=[density / 2, 1 - density, density / 2])
    return signs / np.sqrt(density * dimension)


@register("repexp")
class EllipticalNovelty(GroupReward):
    """1 for a success and 0 otherwise, plus ``weight`` times the elliptical bonus of the response among its siblings.

    In a group without a success all get 0. With the leverage and a weight up to 1 no failure outranks a success; the
    leave-one-out bonus can exceed 1, so `ranks_success` is then off. The paper embeds by the mean last hidden state of
    the frozen base model over the response and projects to 32 dimensions, or 128 for hard tasks; its script uses the
    leverage, the released configuration leave-one-out.
    """

    paper = "RepExp, arXiv 2510.11686"
    complete = True
    ranks_success = True
    weight: float = option(default=0.01, low=0, says="weight of the bonus.")
    ridge: float = option(default=0.01, above=0, says="the regulariser of the covariance.")
    embedder: Embedder | str | None = option(
        default=HashedNgrams(),
        says='source of vectors; "policy" or "reference": that model; None reads ``episode.extra("features")``.',
    )
    dimension: int | None = option(default=32, low=1, says="wider features are projected to this; None keeps them.")
    centre: bool = option(default=True, says="subtract the group's mean first.")
    leave_one_out: bool = option(default=False, says="compare each response with the others only.")
    seed: int = option(default=0, says="seed of the projection.")

    def setup(self) -> None:
        self.source = EmbeddingSource.of(self.embedder, "features")
        self.needs, self.measure_options = self.source.needs, self.source.options
        self.ranks_success = not self.leave_one_out and self.weight <= 1

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, np.inf if self.leave_one_out else 1.0 + self.weight

    def values(self, episodes: Sequence[Episode]) -> list[float | None]:
        success = np.array([float(episode.success) for episode in episodes])
        if not success.any():
            return success.tolist()
        features = collect_features(episodes, self.source.embedder)
        if features is None:
            return [None] * len(episodes)
        if self.dimension is not None and features.shape[1] > self.dimension:
            features = features @ sparse_projection(features.shape[1], self.dimension, np.random.default_rng(self.seed))
        if self.centre:
            features = features - features.mean(axis=0)
        return (success + self.weight * elliptical_bonus(features, self.ridge, self.leave_one_out)).tolist()


def token_gradients(probabilities: np.ndarray, tokens: np.ndarray, output_weights: np.ndarray) -> np.ndarray:
    """Return the gradient [T, D] of each token's log-probability in the last hidden state, ``W' (e_y - p)``.

    The feature of a response is the normalised sum of the T rows.

    Args:
        probabilities: [T, V], probabilities of the next token.
        tokens: [T], the sampled tokens.
        output_weights: [V, D], weights of the output layer.
    """
    errors = -np.asarray(probabilities, dtype=np.float64)
    errors[np.arange(len(tokens)), tokens] += 1.0
    return errors @ output_weights


def direction_novelty(similarity: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return ``sqrt(max(0, 1 - mean_j s_ij^2))`` [G], with the mean over members j != i of the reference set; 0 without
    any.

    Args:
        similarity: [G, G], cosines.
        reference: mask [G] of the reference set (the successes). The paper weighs its members by a softmax of their
            rewards, which are equal among successes.
    """
    others = reference[None, :] & ~np.eye(len(reference), dtype=bool)
    count = others.sum(axis=1)
    squares = (np.square(similarity) * others).sum(axis=1)
    known = np.divide(squares, count, out=np.ones(len(reference)), where=count > 0)
    return np.sqrt(np.maximum(0.0, 1.0 - known))


@register("gradient-novelty")
class GradientNovelty(GroupReward):
    """1 for a success and -1 otherwise, times ``1 + weight * novelty`` against the group's successes.

    A success in a new gradient direction gets more reward; a failure in the direction of successes is punished less
    than other failures. ``episode.extra("gradient_features")`` is the sum of `token_gradients` over the response. The
    sign never changes, and without other successes the factor is 1. The paper's weights and bounds are not published in
    a form we could find; the structure follows its abstract.
    """

    paper = "G2RL, arXiv 2512.15687 (structure of the abstract)"
    complete = True
    ranks_success = True
    needs = frozenset({"gradient_features"})
    weight: float = option(default=1.0, low=0, says="lambda of the paper, whose value is not known.")
    embedder: Embedder | None = option(
        default=None, says='maps responses to vectors; None reads ``episode.extra("gradient_features")``.'
    )

    def setup(self) -> None:
        self.needs = frozenset() if self.embedder else type(self).needs

    @property
    def bounds(self) -> tuple[float, float]:
        return -1.0 - self.weight, 1.0 + self.weight

    def values(self, episodes: Sequence[Episode]) -> list[float | None]:
        features = collect_features(episodes, self.embedder, name="gradient_features")
        if features is None:
            return [None] * len(episodes)
        success = np.array([episode.success for episode in episodes])
        scale = 1.0 + self.weight * direction_novelty(cosines(features), success)
        return np.where(success, scale, -scale).tolist()


@register("exploration")
class Exploration(Reward):
    """alpha * success + (1 - alpha) * bonus, as two terms "outcome" and "exploration".

    The bonus grows with the length of the response, in [0, cap]. The paper's constants were not found; these are ours.

    Raises:
        InputError: a cap above alpha / (1 - alpha).
    """

    paper = "RLSP, arXiv 2502.06773 (exploration reward)"
    complete = True
    ranks_success = True
    alpha: float = option(default=0.8, above=0, high=1, says="weight of success.")
    cap: float = option(default=None, low=0, says="the largest bonus; None: min(1, alpha / (1 - alpha)), its limit.")
    full: int = option(default=1000, low=1, unit="tokens", says="tokens from which the bonus is ``cap``.")
    scorer: Scorer | None = option(default=None, says="a judge's score in [0, 1], in place of the length.")

    def setup(self) -> None:
        most = self.alpha / (1.0 - self.alpha) if self.alpha < 1.0 else float("inf")
        self.cap = min(1.0, most) if self.cap is None else self.cap
        if self.cap > most:
            raise InputError(
                f"cap={self.cap!r} must be at most alpha / (1 - alpha) = {most:g}, so that no failed episode outranks "
                "a success."
            )
        self.score = None if self.scorer is None else ScoreSource(self.scorer, "exploration", 0.0, 1.0)

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, self.alpha + (1.0 - self.alpha) * self.cap

    def __call__(self, episode: Episode) -> Verdict:
        if not episode.valid:
            return self.verdict(episode, None)
        share = min(episode.tokens / self.full, 1.0) if self.score is None else self.score(episode)
        if share is None:
            return self.verdict(episode, None)
        # Rounding could raise the product above alpha, and a failure above a success.
        bonus = min((1.0 - self.alpha) * self.cap * share, self.alpha)
        terms = {"outcome": self.alpha * episode.success, "exploration": bonus}
        return dataclasses.replace(self.verdict(episode, sum(terms.values())), terms=terms)
