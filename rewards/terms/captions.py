"""Rewards of captions that an annotator labels while the agent learns (ONI)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from ...checks import check_count, check_number
from ..episode import Episode, Step
from ..judges.caption_judge import PRINCIPLE, CaptionJudge
from ..judges.judge import Judge
from ..models.caption_scores import Annotator, make_scores
from ..reward import StepReward, register


@register("oni")
class CaptionRewards(StepReward):
    """``extrinsic * reward + intrinsic * score(caption) / count ** exponent`` for each step.

    ``count`` counts the caption within the episode, this step included. Episodes never wait for the annotator: a
    caption without a label scores 0 and is queued. The reward can change the optimal policies, as captions with high
    scores attract even off the way to the goal. With exponent 3 a caption brings at most 1.2 times its first reward.

    Args:
        annotator: labels queued captions, usually in [0, 1]; it is called by `advance`, between two updates. None
            leaves the queue to the caller: read `queue`, add answers with `add_labels`.
        extrinsic: weight of the environment's reward; the paper takes 0.1 with a dense score and 10 with a sparse one.
        intrinsic: weight of the scores.
        exponent: 3 in the released code.
        caption: maps a step to its caption ("" for none); by default the text of the observation.
        capacity: largest number of captions that are queued or labelled; later ones count 0.
        mode: "retrieval" looks labels up, "classification" learns whether they are at least 0.5, "ranking" learns
            preferences between captions; the latter two know captions that were never labelled, and need torch.
        judge: a judge instead of an annotator: a name such as "endpoint" or "agent", or {"judge": name, ...options}.
        principle: the judge's scoring standard for captions.
        most: captions or pairs that are annotated between two updates.
        threshold: for mode "classification", the probability above which a caption counts 1 (0.5); for "ranking", the
            number of deviations from the mean below which a caption counts 0 (-0.5).
        seed: seed of the learned models.
    """

    paper = "ONI, arXiv 2410.23022"
    complete = True

    def __init__(
        self,
        annotator: Annotator | None = None,
        extrinsic: float = 0.1,
        intrinsic: float = 0.4,
        exponent: float = 3.0,
        caption: Callable[[Step], str] = lambda step: str(step.observation),
        capacity: int = 100_000,
        mode: str = "retrieval",
        judge: Judge | str | Mapping[str, Any] | None = None,
        principle: str = PRINCIPLE,
        most: int = 500,
        threshold: float | None = None,
        seed: int = 0,
    ):
        self.annotator = CaptionJudge(judge, principle) if annotator is None and judge is not None else annotator
        self.extrinsic = check_number("extrinsic", extrinsic)
        self.intrinsic = check_number("intrinsic", intrinsic)
        self.exponent = check_number("exponent", exponent, low=0.0)
        self.caption = caption
        self.most = check_count("most", most, 1, "captions")
        self.scores = make_scores(mode, capacity, threshold, seed)

    @property
    def queue(self) -> tuple[str, ...]:
        """Captions without a label, each once, in the order of their first occurrence."""
        return tuple(self.scores.queue)

    def add_labels(self, labels: Mapping[str, float]) -> None:
        """Store labels and remove their captions from the queue.

        Raises:
            InputError: a label that is not finite.
        """
        self.scores.add_labels(labels)

    def values(self, episode: Episode) -> list[float]:
        counts: Counter[str] = Counter()
        rewards = []
        for step in episode.steps:
            caption = self.caption(step)
            counts[caption] += 1
            score = 0.0
            if caption:
                score = self.scores.value(caption) / counts[caption] ** self.exponent
                self.scores.notice(caption)
            rewards.append(self.extrinsic * step.reward + self.intrinsic * score)
        return rewards

    def advance(self, step: int, steps: int) -> None:
        if self.annotator is not None:
            self.scores.annotate(self.annotator, self.most)
        super().advance(step, steps)

    def state_dict(self) -> dict[str, Any]:
        return self.scores.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.scores.load_state_dict(state)
