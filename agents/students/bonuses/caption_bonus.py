"""Bonus by captions of a gridworld's states, which a judge labels while the student learns (ONI)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym

from ....checks import option
from ....envs.grids.descriptions import describe_state
from ....envs.grids.grid_env import GridEnv
from ....envs.grids.vocabulary import make_vocabulary
from ....errors import InputError
from ....rewards import Step
from ....rewards.judges.caption_judge import CaptionJudge
from ....rewards.models.caption_scores import MODES, RETRIEVAL, make_scores
from ... import agent_judge  # noqa: F401  (registers the judge "agent")
from .bonus import register
from .slot_bonus import SlotBonus

_WORDS = make_vocabulary("plain", 0, True)


@register("oni")
class CaptionBonus(SlotBonus):
    """Score that a judge, such as judge={'judge': 'agent', 'agent': 'openai:MODEL'}, gives a caption of the state; the
    judge's labels are looked up, or learned by classification or ranking (ONI, arXiv 2410.23022).

    A step gets ``weight * score(caption) / count ** exponent`` for the state after it; ``count`` is the number of
    occurrences of the caption in the episode so far. A caption describes the agent's direction, the object ahead and
    the carried object. The judge is called between two iterations, so that no step waits for it.
    """

    paper = "ONI, arXiv 2410.23022"
    optimum = "can change the optimal policies, where a caption that is liked lies off the shortest way"
    judge: Any = option(default="rules", says="judge of captions: a name, or a mapping of the name and options.")
    principle: str = option(
        default="keywords: carry a yellow key, an open yellow door", says="standard of the judge, in words."
    )
    mode: str = option(default=RETRIEVAL, choices=tuple(MODES), says="how labels are turned into scores.")
    weight: float = option(
        default=0.04, low=0, says="factor of the bonus (in the paper 0.4, with the sparse reward times 10)."
    )
    exponent: float = option(default=3.0, low=0, says="exponent of the count (3 in the released code).")
    task: bool = option(default=False, says="write the mission before each caption, if there are several missions.")
    most: int = option(
        default=500, low=1, unit="captions", says="most captions or pairs labelled between two iterations."
    )
    capacity: int = option(
        default=100_000, low=1, unit="captions", says="most captions queued or labelled; further ones are ignored."
    )
    threshold: float | None = option(default=None, says="threshold of a learned mode; None: the mode's default.")
    seed: int = option(default=0, says="seed of a learned mode.")

    def setup(self) -> None:
        super().setup()
        self.scores = make_scores(self.mode, self.capacity, self.threshold, self.seed)
        self.annotator = CaptionJudge(self.judge, self.principle)

    def attach(self, envs: Sequence[gym.Env[Any, Any]]) -> None:
        if not isinstance(envs[0], GridEnv):
            raise InputError(f"the bonus {self.name!r} describes states of gridworlds only, not of {envs[0]}.")
        super().attach(envs)

    def start(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> None:
        self.env_of(slot)
        self.memory[slot] = {}

    def reward_step(self, slot: int, step: Step, observation: Any, terminated: bool) -> float:
        env = self.env_of(slot)
        state = describe_state(env.here(), _WORDS)
        caption = f"{env.mission}. {state}" if self.task else state
        counts = self.memory[slot]
        key = hashlib.blake2b(caption.encode(), digest_size=8).hexdigest()
        counts[key] = counts.get(key, 0) + 1
        score = self.scores.value(caption)
        self.scores.notice(caption)
        return self.weight * score / counts[key] ** self.exponent

    def advance(self, step: int, steps: int) -> None:
        self.scores.annotate(self.annotator, self.most)

    def shared(self) -> dict[str, Any]:
        return self.scores.state_dict()

    def load_shared(self, state: Mapping[str, Any]) -> None:
        self.scores.load_state_dict(state)
