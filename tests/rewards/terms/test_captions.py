"""Rewards of captions (ONI): the three modes, their annotators, and what is saved."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from palaestra import rewards
from palaestra.errors import InputError
from palaestra.rewards import Episode, Step
from palaestra.rewards.judges import Judge, Judgement
from palaestra.rewards.judges.caption_judge import CaptionJudge
from palaestra.rewards.models.caption_scores import MODES, make_scores

KEYS = [f"you find the {colour} key" for colour in ("red", "blue", "green", "grey", "purple")]
WALLS = [f"you bump into the {colour} wall" for colour in ("red", "blue", "green", "grey", "purple")]


def walk(*observations: Any, rewards_at: Mapping[int, float] | None = None) -> Episode:
    rewards_at = rewards_at or {}
    steps = tuple(Step(seen, "", rewards_at.get(t, 0.0), {}, 1) for t, seen in enumerate(observations))
    return Episode("t", {}, steps, False, 0.0, True, False, None)


# Retrieval.


def test_the_second_occurrence_of_a_caption_counts_an_eighth():
    made = rewards.make("oni", intrinsic=1.0)
    made.add_labels({"door opens": 1.0})  # type: ignore[attr-defined]
    assert made.values(walk("door opens", "", "door opens")) == [1.0, 0.0, 0.125]  # type: ignore[attr-defined]
    assert made.values(walk("door opens")) == [1.0]  # type: ignore[attr-defined]


def test_an_unlabelled_caption_counts_0_and_is_queued_once():
    made = rewards.make("oni")
    assert made(walk("new", "new", "other")).reward == 0
    assert made.queue == ("new", "other")  # type: ignore[attr-defined]


def test_without_an_annotator_only_the_environments_reward_counts():
    made = rewards.make("oni", extrinsic=10.0)
    for step in range(3):
        assert made(walk("a", "b", rewards_at={1: 0.5})).reward == 5.0
        made.advance(step, 3)


def test_the_annotator_labels_the_queue_between_updates():
    asked: list[Sequence[str]] = []

    def annotator(captions: Sequence[str]) -> dict[str, float]:
        asked.append(captions)
        return {caption: 0.5 for caption in captions if caption != "unclear"}

    made = rewards.make("oni", annotator=annotator, intrinsic=1.0)
    made(walk("clear", "unclear"))
    made.advance(1, 10)
    assert made(walk("clear", "unclear")).reward == 0.5
    made.advance(2, 10)
    assert asked == [("clear", "unclear"), ("unclear",)]


def test_captions_are_remembered_up_to_the_capacity():
    made = rewards.make("oni", capacity=2)
    made(walk("a", "b", "c"))
    assert made.queue == ("a", "b")  # type: ignore[attr-defined]


def test_saved_labels_and_queue_go_on_exactly():
    first, second = rewards.make("oni"), rewards.make("oni")
    first(walk("a", "b"))
    first.add_labels({"a": 0.75})  # type: ignore[attr-defined]
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert second(walk("a", "c", "b")) == first(walk("a", "c", "b"))
    assert second.state_dict() == first.state_dict()
    with pytest.raises(InputError, match="labels"):
        second.load_state_dict({})


def test_a_capacity_of_nothing_is_refused():
    with pytest.raises(InputError, match="capacity must be"):
        rewards.make("oni", capacity=0)


# Classification and ranking.


def taught(mode: str, rounds: int = 6) -> Any:
    """A reward that has met all captions but the last of either kind, and a judge who likes keys."""
    made = rewards.make("oni", mode=mode, judge="rules", principle="keywords: key", extrinsic=0.0, intrinsic=1.0)
    for step in range(rounds):
        made(walk(*KEYS[:4], *WALLS[:4]))
        made.advance(step, rounds)
    return made


def test_a_classifier_pays_captions_that_were_never_labelled():
    made = taught("classification")
    assert made.values(walk(KEYS[4], WALLS[4], KEYS[4])) == [1.0, 0.0, 0.125]
    assert taught("retrieval").values(walk(KEYS[4], WALLS[4])) == [0.0, 0.0]


def test_a_ranker_learns_preferences_and_pays_what_is_far_below_the_mean_nothing():
    made = taught("ranking", 8)
    keys, walls = made.values(walk(*KEYS)), made.values(walk(*WALLS))
    assert min(keys) > 0
    assert walls == [0.0] * 5
    assert {wanted for _, _, wanted in made.scores.pairs} <= {0.0, 0.5, 1.0}
    # Keys before walls, and neither before its own kind.
    for one, two, wanted in made.scores.pairs:
        assert wanted == 0.5 + 0.5 * (("key" in one) - ("key" in two))


def test_before_anything_is_known_every_mode_pays_nothing_and_queues():
    for mode in MODES:
        made = rewards.make("oni", mode=mode, judge="rules", principle="keywords: key")
        assert made(walk(*KEYS, rewards_at={1: 1.0})).reward == pytest.approx(0.1)
        assert made.queue == tuple(KEYS)  # type: ignore[attr-defined]


@pytest.mark.parametrize("mode", list(MODES))
def test_every_mode_goes_on_exactly(mode):
    whole, stopped = taught(mode, 3), taught(mode, 3)
    other = rewards.make("oni", mode=mode, judge="rules", principle="keywords: key", extrinsic=0.0, intrinsic=1.0)
    other.load_state_dict(json.loads(json.dumps(stopped.state_dict())))
    for made in (whole, other):
        made(walk(*KEYS, *WALLS))
        made.advance(4, 10)
    assert other(walk(*KEYS, *WALLS)) == whole(walk(*KEYS, *WALLS))
    assert other.state_dict() == whole.state_dict()
    with pytest.raises(InputError, match="the saved state of caption scores"):
        other.load_state_dict({"labels": {}})


class Moody(Judge):
    """Fails on every second question."""

    asked = 0

    def score(self, principle, prompt, responses, reference=None):
        self.asked += 1
        scores = tuple(float("key" in response) for response in responses)
        return Judgement(scores) if self.asked % 2 else Judgement.failed("tired")


def test_what_a_judge_failed_on_is_asked_again_and_is_no_label_of_0():
    annotator = CaptionJudge(Moody())
    scores = make_scores("retrieval")
    for caption in (KEYS[0], KEYS[1]):
        scores.notice(caption)
    scores.annotate(annotator)
    assert scores.labels == {KEYS[0]: 1.0}
    scores.annotate(annotator)
    assert scores.labels == {KEYS[0]: 1.0, KEYS[1]: 1.0}
    assert annotator.compare([(KEYS[0], WALLS[0]), (WALLS[0], KEYS[0])]) == {(WALLS[0], KEYS[0]): 0.0}


def test_only_so_many_are_annotated_at_once():
    made = rewards.make("oni", judge="rules", principle="keywords: key", most=3)
    made(walk(*KEYS, *WALLS))
    made.advance(1, 10)
    assert len(made.queue) == 7  # type: ignore[attr-defined]


def test_an_unknown_mode_is_refused():
    with pytest.raises(InputError, match="mode"):
        rewards.make("oni", mode="retreival")
