"""GAIN-RL: a Gaussian window slides over the prompts, sorted once by how easily they are learned (arXiv 2506.02281).

The signal of the paper is angle concentration: how similar the directions of the hidden states of a prompt's tokens
are, measured in one forward pass before training. The window moves faster at a higher success rate and a higher
concentration.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...checks import check_numbers, option
from ...errors import InputError
from ..protocol import Evidence
from ..registration import register
from ..sampling import argsmallest, draw_without_replacement
from ..signals import success_counts
from .prompt_teacher import PromptTeacher

PAPER_RANKS, PAPER_POOL = 1000, 7500  # window width and step of the released code, for about 7,500 prompts


@register("gain-rl")
class GainRL(PromptTeacher):
    """A Gaussian window over ranks that slides from easy to hard with accuracy and angle concentration.

    The prompt of rank r has weight exp(-(r - mu)^2 / (2 sigma^2)); draws are without replacement until mu moves. After
    a batch with success rate a and mean angle signal c, mu <- mu + clip(step / 2 tanh(alpha (a - beta)) + step / 2
    tanh(alpha c), 0, step), so that mu never falls. The move precedes the next draw; the released code draws once more
    with the old mu. c is the mean of the extra "angle_concentration" (the mean cosine among the hidden states of the
    question's tokens, plus 8 times their mean cosine with the prefix's); without it, c = 0, and the window stands still
    up to a = beta. With it, the window moves once a > beta - c.

    Raises:
        InputError: an option out of range, or ``signal`` is not one finite number per prompt.
    """

    paper = "2506.02281"
    when = (
        "A fixed data set for which one forward pass over hidden states can be made beforehand: no rollouts are spent "
        "on difficulty."
    )
    uses = frozenset({"angle_concentration"})
    kept = ("order", "mu", "_sums", "_groups")
    signal: Sequence[float] | None = option(
        default=None,
        check=check_numbers,
        saved=False,
        says="float per prompt; prompts are ordered by descending signal (the paper takes the angle concentration)."
        " None sorts by ``pool.difficulty``, easiest first. Ties are broken at random.",
    )
    sigma: float | None = option(
        default=None,
        above=0,
        says="width of the window in ranks; None gives the same share of the list as the paper's 1000 of about 7,500.",
    )
    step: float | None = option(
        default=None, above=0, says="largest step of mu in ranks; None gives the same number as for `sigma`."
    )
    alpha: float = option(default=2.0, above=0, says="sensitivity to the success rate.")
    beta: float = option(
        default=0.5,
        low=0,
        high=1,
        says='success rate at which mu does not move, without the extra "angle_concentration".',
    )
    batch: int | None = option(
        default=None,
        low=1,
        says="number of groups that make one step of mu; None gives ``step``, as the released code draws as many "
        "prompts with one mu. One call of `observe` makes at most one step, of all its groups.",
    )

    def setup(self) -> None:
        self.settings = {"signal": self.signal is not None}
        super().setup()
        n = self.pool.n
        scaled = n * PAPER_RANKS / PAPER_POOL
        self._width, self._step = self.sigma or scaled, self.step or scaled
        self._batch = self.batch or max(round(self._step), 1)
        ease = -self.pool.difficulty if self.signal is None else np.array(self.signal)
        if ease.shape != (n,):
            raise InputError(f"signal has {len(ease)} values for {n} prompts; give one for each.")
        self.order = argsmallest(-ease, n, self._rng)
        self.mu = 0.0
        self._used = np.zeros(n, dtype=bool)  # ranks drawn since mu last moved
        self._sums, self._groups = np.zeros(4), 0  # sums of successes, episodes, angles, angle counts

    def distribution(self) -> np.ndarray:
        log_weights = self._log_weights()
        weights = np.exp(log_weights - log_weights.max())
        probabilities = np.empty(len(weights))
        probabilities[self.order] = weights / weights.sum()
        return probabilities

    def _log_weights(self) -> np.ndarray:
        ranks = np.arange(self.pool.n)
        window = -(((ranks - self.mu) / self._width) ** 2) / 2
        return window if self._used.all() else np.where(self._used, -np.inf, window)

    def _choose(self, k: int) -> tuple[np.ndarray, np.ndarray, str]:
        ranks, probs = self._take(k)
        if len(ranks) < min(k, self.pool.n):  # all have been drawn at this mu: start again, but not twice in a batch
            self._used[:] = False
            self._used[ranks] = True
            more, more_probs = self._take(k - len(ranks))
            ranks, probs = np.concatenate([ranks, more]), np.concatenate([probs, more_probs])
        return self.order[ranks], probs, "exploit"

    def _take(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        if self._used.all():
            self._used[:] = False
        ranks, probs = draw_without_replacement(self._log_weights(), min(k, int((~self._used).sum())), self._rng)
        self._used[ranks] = True
        return ranks, probs

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            angles = item.outcome.extras.get("angle_concentration", ())
            self._sums += [*success_counts(item), sum(angles), len(angles)]
        self._groups += len(evidence)
        if self._groups < self._batch:
            return
        successes, episodes, angle, angles = self._sums.tolist()
        move = math.tanh(self.alpha * (successes / episodes - self.beta)) + math.tanh(
            self.alpha * (angle / angles if angles else 0.0)
        )
        # The window's centre stays on the list.
        self.mu = min(self.mu + min(max(self._step / 2 * move, 0.0), self._step), float(self.pool.n - 1))
        self._used[:] = False
        self._sums, self._groups = np.zeros(4), 0

    def _metrics(self) -> dict[str, float]:
        return {"mu": self.mu, "mu_share": self.mu / max(self.pool.n - 1, 1)}

    def _save(self) -> dict[str, Any]:
        return {**super()._save(), "used": np.flatnonzero(self._used).tolist()}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        if not np.array_equal(np.sort(self.order), np.arange(self.pool.n)):
            raise ValueError("the order is none of all prompts")
        self._used = np.zeros(self.pool.n, dtype=bool)
        self._used[np.array(own["used"], dtype=np.int64)] = True
