"""palaestra/StumpTracks-v0: a two-legged walker on a track of stumps, the task on which ALP-GMM was published.

The walker is Gymnasium's. The scripted walk of `gait` gets over low stumps; there is no solver for high ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import gymnasium as gym
import numpy as np

from ...checks import check_count, check_number
from ..param_space import FloatAxis, ParamSpace
from ..registration import register
from ..task_env import TaskEnv
from .gait import GAIT, Stride, find_torques, next_stride
from .track_walker import END, STEP, Track, build_walker, draw_track

START = 10 * STEP
MOTORS = 4
_FALL = -100.0
_TERMS: tuple[str, ...] = ("forward", "posture", "effort", "fall")
_UNREADABLE = f"The action must be {MOTORS} numbers from -1 to 1, one for each motor."
# Bounds of what is seen: angle and speeds of the hull, then for each leg angles and speeds of hip and knee and its
# contact with the ground, then ten distances of a lidar as shares of its range.
_LEG = [math.pi, 5.0, math.pi, 5.0, 5.0]
_HIGH = np.array([math.pi, 5.0, 5.0, 5.0, *_LEG, *_LEG, *[1.0] * 10], dtype=np.float32)
_LOW = -_HIGH
_LOW[[8, 13]] = 0.0


class TrackState(NamedTuple):
    """State of an episode.

    Args:
        track: see `Track`.
        steps: number of steps taken.
    """

    track: Track
    steps: int = 0


class StumpTracks(TaskEnv):
    """Walk on two legs to the end of a track, over the stumps on it.

    Description:
        Flat ground of 89 metres with stumps 0.47 metres wide after the first nine; the walker has a hip and a knee for
        each leg, and a lidar. High stumps close to each other cannot be passed by any walker of this size.

    Parameters:
        stump_height (0.0 to 3.0): mean height of the stumps in units of 0.47 metres; each is drawn from a normal
            distribution around it with deviation 0.1, and is at least 0.05.
        spacing (0.0 to 6.0): metres of flat ground between two stumps; the less, the harder.

    Observation:
        Gymnasium's BipedalWalker: float32[24], angle and speeds of the hull, angles and speeds of the joints, contacts
        with the ground, and ten distances of the lidar, clipped to their bounds.

    Actions:
        float32[4] from -1 to 1: torques of hip and knee, left and right; larger ones are clipped.

    Reward:
        Gymnasium's: 4.33 for a metre forward, -5 for a radian by which the hull leans more, -0.028 for a full torque of
        a motor, in all about 300 for a track; -100 for the step of a fall.

    Termination:
        At the end of the track; as a failure, when the hull touches the ground or goes back behind the start of the
        ground. Truncated after ``max_steps``. A success is the end of the track with a return above ``mastered_at``, by
        default the paper's threshold of 230. An action that cannot be read uses up a step in which nothing moves.
        ``info["progress"]`` is the share of the way.

    Solver:
        A scripted walk (`gait`), which knows where the stumps are. It succeeds in 40 of 40 held-out tracks at the
        difficulties 0 and 0.25 each, and in none from 0.5 on. Shares of successes, of 12 tracks each, by mean height
        (down) and spacing (6, 4.5, 3 and 1.5 metres):

        - 0.0: 1.00, 1.00, 1.00, 1.00
        - 0.5: 1.00, 1.00, 1.00, 0.58
        - 0.75: 1.00, 1.00, 0.83, 0.00
        - 1.0: 0.75, 0.75, 0.17, 0.00
        - 1.25: 0.00, 0.08, 0.00, 0.00

    Source:
        Portelas, Colas, Hofmann and Oudeyer, "Teacher algorithms for curriculum learning of deep RL in continuously
        parameterized environments" (arXiv 1910.07224), Stump Tracks; Gymnasium's BipedalWalker. Needs the extra
        [box2d].

    Args:
        max_steps: steps after which an episode is truncated.
        mastered_at: return above which a track walked to its end is a success.
        **kwargs: as for every environment.

    Raises:
        MissingExtra: Box2D is not installed.
        InputError: an argument is out of range.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 50}  # type: ignore[misc]
    param_space = ParamSpace([FloatAxis("stump_height", 0.0, 3.0), FloatAxis("spacing", 0.0, 6.0, harder="down")])

    def __init__(self, *, max_steps: int = 2_000, mastered_at: float = 230.0, **kwargs: Any):
        super().__init__(**kwargs)
        self.max_steps = check_count("max_steps", max_steps, 1)
        self.mastered_at = check_number("mastered_at", mastered_at)
        self.observation_space = gym.spaces.Box(_LOW, _HIGH)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (MOTORS,), np.float32)
        # Lowest: a fall after full torques at every step, backwards and overturned; highest: the track without torques.
        self.return_range = (_FALL - 40.0 - 0.112 * max_steps, 400.0)
        self._track: Track | None = None
        self._walker: Any = None
        self._seen: list[float] = []
        self._stride = Stride()
        self._taken: list[np.ndarray] = []
        self._steps, self._return = 0, 0.0

    def generate_episode(self, rng: np.random.Generator, params: dict[str, Any]) -> TrackState:
        return TrackState(draw_track(rng, params["stump_height"], params["spacing"]))

    def content_of(self, episode: TrackState) -> str:
        return repr(episode.track)

    def solver_cost(self, episode: TrackState) -> float:
        """Return the metres to climb on the way."""
        return STEP * math.fsum(episode.track.heights)

    def oracle(self) -> np.ndarray:
        """Return the torques of a scripted walk (see `gait`); ``solver_rates`` says how often it succeeds."""
        self.require_running()
        walker = self._running_walker()
        torques = find_torques(GAIT, self._stride, self._seen, float(walker.hull.position.x), self.here().track)
        return np.clip(np.array(torques, dtype=np.float32), -1.0, 1.0)

    def here(self) -> TrackState:
        if self._track is None:
            raise gym.error.ResetNeeded("StumpTracks has no track yet; call reset() first.")
        return TrackState(self._track, self._steps)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        self._track = self.begin(seed, options).track
        self._taken, self._steps, self._return = [], 0, 0.0
        self._build()
        return self._observe(), self.task_info()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.require_running()
        torques = _read_action(action)
        terms, fell, error = dict.fromkeys(_TERMS, 0.0), False, _UNREADABLE
        self._steps += 1
        if torques is not None:
            terms, fell = self._move(torques)
            error = None
        reward = sum(terms.values())
        self._return += reward
        place = float(self._running_walker().hull.position.x)
        arrived = not fell and place > END
        truncated = not fell and not arrived and self._steps >= self.max_steps
        self._ended = fell or arrived or truncated
        info = self.step_info(
            None,
            terms,
            success=arrived and self._return > self.mastered_at,
            progress=1.0 if arrived else min(max((place - START) / (END - START), 0.0), 1.0),
            error=error,
            feedback=error or "",
        )
        return self._observe(), reward, fell or arrived, truncated, info

    def _observe(self) -> np.ndarray:
        return np.clip(np.array(self._seen, dtype=np.float32), _LOW, _HIGH)

    def _move(self, torques: np.ndarray) -> tuple[dict[str, float], bool]:
        """Take a step of the simulation. Return the terms of the reward, and True if the walker fell."""
        walker = self._running_walker()
        self._taken.append(torques)
        place, lean = walker.hull.position.x, abs(walker.hull.angle)
        self._simulate(torques)
        if walker.game_over or walker.hull.position.x < 0:
            return {**dict.fromkeys(_TERMS, 0.0), "fall": _FALL}, True
        terms = {
            "forward": 130 / 30 * (walker.hull.position.x - place),
            "posture": -5.0 * (abs(walker.hull.angle) - lean),
            "effort": -0.028 * float(np.abs(torques).sum()),
            "fall": 0.0,
        }
        return terms, False

    def _build(self) -> None:
        self._walker, seen = build_walker(self.here().track, self.render_mode)
        self._seen = seen.tolist()
        self._stride = next_stride(GAIT, Stride(), self._seen)

    def _simulate(self, torques: np.ndarray) -> None:
        self._seen = self._walker.step(torques)[0].tolist()
        self._stride = next_stride(GAIT, self._stride, self._seen)

    # Snapshots: the simulation cannot be copied, so that its actions are taken again.

    def _running_walker(self) -> Any:
        if self._walker is None:
            self._build()
            for torques in self._taken:
                self._simulate(torques)
        return self._walker

    def get_state(self) -> dict[str, Any]:
        track, steps = self.here()
        rest = {"track": track, "steps": steps, "taken": [*self._taken], "return": self._return}
        return {**super().get_state(), **rest}

    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        self._track, self._taken = state["track"], [*state["taken"]]
        self._steps, self._return = state["steps"], state["return"]
        self._walker = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_walker": None}

    def render(self) -> np.ndarray | None:  # type: ignore[override]
        return self._running_walker().render() if self.render_mode == "rgb_array" else None


def _read_action(action: Any) -> np.ndarray | None:
    """Return the action as float32[4], clipped to -1 to 1; None if it is not four finite numbers."""
    try:
        torques = np.asarray(action, dtype=np.float32)
    except (TypeError, ValueError, OverflowError):
        return None
    if torques.shape == (MOTORS,) and np.isfinite(torques).all():
        return np.clip(torques, -1.0, 1.0)
    return None


register("palaestra/StumpTracks-v0", f"{__name__}:StumpTracks")
