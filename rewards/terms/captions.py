"""Reward from scores of captions, which an annotator labels while the agent learns (ONI)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from ...checks import option
from ..episode import Episode, Step
from ..judges.caption_judge import PRINCIPLE, CaptionJudge
from ..judges.judge import Judge
from ..models.caption_scores import MODES, Annotator, make_scores
from ..reward import StepReward, register


@register("oni")
class CaptionRewards(StepReward):
    """``extrinsic * reward + intrinsic * score(caption) / count ** exponent`` for each step.

    ``count`` counts the caption within the episode, this step included. Episodes never wait for the annotator: a
    caption without a label scores 0 and is queued. The reward can change the optimal policies, as captions with high
    scores attract even off the way to the goal. With exponent 3 a caption brings at most 1.2 times its first reward.

    The annotator is called by `advance`, between two updates; without an annotator, read `queue` and call `add_labels`.
    Mode "retrieval" looks labels up, "classification" learns whether they are at least 0.5, "ranking" learns
    preferences between captions. The latter two also score captions that were never labelled, and need torch.
    """

    paper = "ONI, arXiv 2410.23022"
    complete = True
    annotator: Annotator | None = option(default=None, says="callable that labels captions, usually in [0, 1].")
    extrinsic: float = option(default=0.1, says="weight of the environment's reward; the paper: 10 if it is sparse.")
    intrinsic: float = option(default=0.4, says="weight of the scores.")
    exponent: float = option(default=3.0, low=0, says="exponent of the count; 3 in the released code.")
    caption: Callable[[Step], str] = option(
        default=lambda step: str(step.observation), says='maps a step to its caption ("" for none).'
    )
    capacity: int = option(default=100_000, says="most captions queued or labelled; further ones are not queued.")
    mode: str = option(default="retrieval", choices=tuple(MODES), says="use of the labels, see above.")
    judge: Judge | str | Mapping[str, Any] | None = option(
        default=None, says='instead of an annotator: a name such as "endpoint", or {"judge": name, ...options}.'
    )
    principle: str = option(default=PRINCIPLE, says="the judge's scoring standard for captions.")
    most: int = option(default=500, low=1, unit="captions", says="most annotations between two updates.")
    threshold: float | None = option(
        default=None,
        says='"classification": probability above which a caption scores 1 (default 0.5); "ranking": standardised '
        "score below which a caption scores 0 (default -0.5).",
    )
    seed: int = option(default=0, says="seed of the learned models.")

    def setup(self) -> None:
        if self.annotator is None and self.judge is not None:
            self.annotator = CaptionJudge(self.judge, self.principle)
        self.scores = make_scores(self.mode, self.capacity, self.threshold, self.seed)

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
