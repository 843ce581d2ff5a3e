"""SEELE (arXiv 2509.06923): a hint, a prefix of the solution, long enough for a success rate of one half.

For each prompt, accuracy as a function of the hint is modelled by the three-parameter logistic of item response theory,
fitted to the prompt's (hint, accuracy) pairs; the next hint is where the curve crosses the target. On a space with
axes, one axis is the hint; on a list of prompts the hint is in ``meta["hint"]``, as a fraction of the solution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...checks import option
from ...errors import InputError
from ..pools import DEFAULT_CELLS, Arms, Grid, as_pool
from ..protocol import Draw, Evidence
from ..registration import register
from ..signals import success_counts
from .prompt_teacher import PromptTeacher

# Means and standard deviations of the prior of ln a, b and logit(c / HIGHEST_GUESS). The paper fits by least squares
# alone, which is undetermined before three different hints have been tried. The prior is ours.
BELIEF, FIRMNESS = np.array([np.log(10.0), 0.5, -2.0]), np.array([0.5, 0.5, 1.0])
HIGHEST_GUESS = 0.49  # upper bound of c, the accuracy of guessing; with c = 1/2 no hint would be needed


@register("seele")
class SEELE(PromptTeacher):
    """Chooses prompts uniformly, and the length of a prompt's hint by earlier answers to the prompt.

    The paper splits a step into rounds, so that the hint of the last round depends on the answers of the first; here
    every proposal uses all earlier outcomes of its prompt.

    Raises:
        InputError: an option out of range, or an unknown axis.
    """

    paper = "2509.06923"
    when = "Hard prompts with worked solutions: a hint as long as needed brings each to the target accuracy."
    asks = frozenset({"hint"})
    target: float = option(
        default=0.5,
        above=0,
        high=1,
        says="accuracy to aim at, below 1; the paper's bound on the gain is highest at a half.",
    )
    axis: int | str | None = option(
        default=None,
        saved=False,
        says="name or index of the hint axis. Its low end must be no hint, its high end the whole solution. None "
        'takes the axis called "hint", if any.',
    )
    memory: int = option(default=16, low=1, says="number of latest outcomes of a prompt in the fit.")

    def setup(self) -> None:
        if self.target == 1:
            raise InputError(f"target={self.target:g} must lie strictly between 0 and 1.")
        pool: Arms = as_pool(self.space, self.bins)
        self._axis: int | None = None
        if isinstance(pool, Grid) and (self.axis is not None or "hint" in pool.cube.names):
            self._axis = _axis_index("hint" if self.axis is None else self.axis, pool.cube.names)
            rest = [1 if i == self._axis else count for i, count in enumerate(pool.bins)]
            pool = Grid(pool.cube, rest, max(DEFAULT_CELLS, pool.n))
        self.space, self.bins, self.settings = pool, None, {"axis": self._axis}
        super().setup()
        self.curves = np.tile(BELIEF, (self.pool.n, 1))
        self._seen: dict[int, list[list[float]]] = {}  # prompt -> [hint, accuracy, episodes], the latest last

    def hints(self, prompts: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return float64[m] in [0, 1], the present hint of each prompt, as a share of the solution."""
        return best_hint(*_parameters(self.curves[prompts]), self.target)

    def _choose(self, k: int) -> tuple[np.ndarray, float, str]:
        m = min(k, self.pool.n)
        return self._rng.choice(self.pool.n, m, replace=False), 1 / self.pool.n, "exploit"

    def _draw(self, k: int) -> list[Draw]:
        draws = super()._draw(k)
        hints = self.hints([draw.record for draw in draws]).tolist()
        return [self._add_hint(draw, hint) for draw, hint in zip(draws, hints, strict=True)]

    def _add_hint(self, draw: Draw, hint: float) -> Draw:
        if self._axis is None or not isinstance(self.pool, Grid):
            return replace(draw, record=[draw.record, hint], meta={"hint": hint})
        cube = self.pool.cube
        point, steps = cube.encode(draw.task), cube.sizes[self._axis]
        if steps is None:
            point[self._axis] = hint
        else:  # the nearest of the axis' values, and that value as a share of the solution
            level = round(hint * (steps - 1))
            point[self._axis], hint = (level + 0.5) / steps, level / max(steps - 1, 1)
        return replace(draw, record=[draw.record, hint], task=cube.decode(point), prob=np.nan)

    def _record(self, task: Any) -> list[Any]:
        prompt = self.pool.arm(task)
        if self._axis is None or not isinstance(self.pool, Grid):
            return [prompt, 0.0]  # a task given to `update` has no hint
        place, steps = float(self.pool.cube.encode(task)[self._axis]), self.pool.cube.sizes[self._axis]
        return [prompt, place if steps is None else min(int(place * steps), steps - 1) / max(steps - 1, 1)]

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            successes, episodes = success_counts(item)
            seen = self._seen.setdefault(item.record[0], [])
            seen.append([float(item.record[1]), successes / episodes, float(episodes)])
            del seen[: -self.memory]
        prompts = list(dict.fromkeys(item.record[0] for item in evidence))
        data = np.zeros((len(prompts), max(len(self._seen[p]) for p in prompts), 3))  # no episodes where there are none
        for row, prompt in enumerate(prompts):
            data[row, : len(self._seen[prompt])] = self._seen[prompt]
        start = self.curves[prompts]  # one more answer moves a curve little
        self.curves[prompts] = fit_curves(data[..., 0], data[..., 1], data[..., 2], start=start, steps=6)

    def _metrics(self) -> dict[str, float]:
        known = list(self._seen)
        return {"mean_hint": float(self.hints(known).mean()) if known else 0.0, "fitted": len(known)}

    def _save(self) -> dict[str, Any]:
        return {"seen": [[prompt, pairs, self.curves[prompt].tolist()] for prompt, pairs in self._seen.items()]}

    def _restore(self, own: Mapping[str, Any]) -> None:
        curves = np.tile(BELIEF, (self.pool.n, 1))
        for prompt, _, curve in own["seen"]:
            curves[int(prompt)] = curve
        self._seen = {int(prompt): [[float(x) for x in pair] for pair in pairs] for prompt, pairs, _ in own["seen"]}
        self.curves = curves


def accuracy_at(hint: Any, slope: Any, place: Any, guess: Any) -> np.ndarray:
    """Return c + (1-c) / (1 + exp(-a (hint - b))), the three-parameter logistic with slope a, place b and guess c."""
    return guess + (1 - guess) * 0.5 * (1 + np.tanh(0.5 * slope * (np.asarray(hint) - place)))


def best_hint(slope: Any, place: Any, guess: Any, target: float = 0.5) -> np.ndarray:
    """Return the hint at which the curve passes ``target``: b + logit((target - c) / (1 - c)) / a, clipped to [0, 1].

    The hint is 0 if guessing alone reaches the target.
    """
    share = (target - np.asarray(guess)) / (1 - np.asarray(guess))
    with np.errstate(divide="ignore", invalid="ignore"):
        hint = place + np.log(share / (1 - share)) / slope
    return np.where(share > 0, np.clip(hint, 0.0, 1.0), 0.0)


def fit_curves(
    hints: np.ndarray,
    accuracies: np.ndarray,
    episodes: np.ndarray,
    *,
    start: np.ndarray | None = None,
    steps: int = 25,
) -> np.ndarray:
    """Return float64[m, 3], the parameters (ln a, b, logit of c / 0.49) of m curves by least squares under the prior
    `BELIEF`.

    Levenberg-Marquardt on all curves at once. The squared error of a pair is weighted by its episodes over 1/4, the
    largest variance of the accuracy of one episode.

    Args:
        hints, accuracies, episodes: float64[m, n]; pairs of 0 episodes are ignored.
        start: float64[m, 3], starting point; None starts at the prior means.
        steps: number of steps, accepted or not.
    """
    weight = 4 * episodes
    found = np.tile(BELIEF, (len(hints), 1)) if start is None else start
    damping = np.full(len(hints), 1e-2)
    ridge = 1 / FIRMNESS**2

    def loss(theta: np.ndarray) -> np.ndarray:
        slope, place, guess = (column[:, None] for column in _parameters(theta))
        error = accuracies - accuracy_at(hints, slope, place, guess)
        return (weight * error**2).sum(1) + (ridge * (theta - BELIEF) ** 2).sum(1)

    now = loss(found)
    for _ in range(steps):
        slope, place, guess = (column[:, None] for column in _parameters(found))
        rise = 0.5 * (1 + np.tanh(0.5 * slope * (hints - place)))
        bend = (1 - guess) * rise * (1 - rise)
        error = accuracies - (guess + (1 - guess) * rise)
        # Derivatives by ln a, b and the logit of the guess.
        by = np.stack(
            [bend * slope * (hints - place), -bend * slope, (1 - rise) * guess * (1 - guess / HIGHEST_GUESS)], axis=2
        )
        gradient = (by * (weight * error)[..., None]).sum(1) - ridge * (found - BELIEF)
        curvature = np.swapaxes(by, 1, 2) @ (by * weight[..., None]) + np.diag(ridge)
        curvature[:, range(3), range(3)] *= 1 + damping[:, None]
        tried = found + np.linalg.solve(curvature, gradient[..., None])[..., 0]
        then = loss(tried)
        better = then < now
        found, now = np.where(better[:, None], tried, found), np.where(better, then, now)
        damping = np.clip(np.where(better, damping / 4, damping * 4), 1e-8, 1e8)
    return found


def _parameters(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (a, b, c) of rows (ln a, b, logit of c / `HIGHEST_GUESS`)."""
    bounded = np.clip(theta[:, 2], -30, 30)
    return np.exp(np.clip(theta[:, 0], -5, 5)), theta[:, 1], HIGHEST_GUESS / (1 + np.exp(-bounded))


def _axis_index(axis: int | str, names: Sequence[str]) -> int:
    if isinstance(axis, str) and axis in names:
        return list(names).index(axis)
    if isinstance(axis, int) and not isinstance(axis, bool) and -len(names) <= axis < len(names):
        return axis % len(names)
    raise InputError(f"axis={axis!r} is none of the {len(names)} axes {', '.join(names)}; give a name or a place.")
