"""Rewards of captions of a gridworld's states, which a judge labels while the student learns (ONI)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym

from ....checks import check_count, check_number
from ....envs.grids.descriptions import describe_state
from ....envs.grids.grid_env import GridEnv
from ....envs.grids.vocabulary import make_vocabulary
from ....errors import InputError
from ....rewards import Step, StepReward
from ....rewards.judges.caption_judge import CaptionJudge
from ....rewards.models.caption_scores import CaptionScores, make_scores
from ... import agent_judge  # noqa: F401  (registers the judge "agent")
from .bonus import BONUSES
from .slot_bonus import SlotBonus

_WORDS = make_vocabulary("plain", 0, True)


class CaptionBonus(SlotBonus):
    """``weight * score(caption) / count ** exponent`` of the state after a step; ``count`` is the number of occurrences
    of the caption within the episode.

    A caption describes the agent's direction, the object ahead and the carried object. The annotator is called between
    two iterations, so that no step waits for it.

    Args:
        scores: scores of captions, learned from labels.
        annotator: labels captions.
        weight: 0 or more; the paper's 0.4 beside 10 times a sparse reward is 0.04.
        exponent: 3 in the released code.
        task: write the mission before each caption, for environments with several missions.
        most: most captions or pairs to annotate between two iterations.
    """

    name = "oni"
    paper = "ONI, arXiv 2410.23022"

    def __init__(
        self,
        scores: CaptionScores,
        annotator: CaptionJudge,
        weight: float = 0.04,
        exponent: float = 3.0,
        task: bool = False,
        most: int = 500,
    ):
        super().__init__()
        self.scores, self.annotator, self.task = scores, annotator, bool(task)
        self.weight = check_number("weight", weight, low=0.0)
        self.exponent = check_number("exponent", exponent, low=0.0)
        self.most = check_count("most", most, 1, "captions")
        self._envs: Sequence[gym.Env[Any, Any]] = ()

    def attach(self, envs: Sequence[gym.Env[Any, Any]]) -> None:
        if not isinstance(envs[0], GridEnv):
            raise InputError(f"the bonus {self.name!r} describes states of gridworlds only, not of {envs[0]}.")
        self._envs = envs

    def start(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> None:
        if not self._envs:
            raise InputError(f"the bonus {self.name!r} has no environments yet; call attach(envs) first.")
        self.memory[slot] = {}

    def reward_step(self, slot: int, step: Step, observation: Any, terminated: bool) -> float:
        env: Any = self._envs[slot]
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


@BONUSES.register("oni")
def oni(
    discount: float,
    judge: Any = "rules",
    principle: str = "keywords: carry a yellow key, an open yellow door",
    mode: str = "retrieval",
    weight: float = 0.04,
    exponent: float = 3.0,
    task: bool = False,
    most: int = 500,
    capacity: int = 100_000,
    threshold: float | None = None,
    seed: int = 0,
) -> tuple[StepReward, str]:
    """Value that a judge, judge={'judge': 'agent', 'agent': 'openai:MODEL'}, gives a sentence on the state; its labels
    are looked up, or learned by classification or ranking (ONI, arXiv 2410.23022)."""
    del discount
    scores = make_scores(mode, capacity, threshold, seed)
    reward = CaptionBonus(scores, CaptionJudge(judge, principle), weight, exponent, task, most)
    return reward, "can change the optimal policies, where a caption that is liked lies off the shortest way"
