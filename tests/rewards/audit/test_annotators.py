"""Agreement of annotators with DoorKeyText's own subgoals."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401
import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode
from palaestra.rewards.audit import credit_annotator_eval
from palaestra.rewards.judges import Judge, Judgement, SubgoalJudge
from palaestra.rewards.recording import Recording

NAMES = {"key": "the key is taken", "door": "the door is unlocked", "goal": "the goal is reached"}


class Reader(Judge):
    """A judge that reads what the environment writes; with ``hasty``, it takes a key in sight for one taken."""

    def __init__(self, hasty: bool = False):
        self.hasty = hasty

    def score(self, principle, prompt, responses, reference=None):
        (after,) = responses
        if NAMES["key"] in principle:
            taken = "carry the key" in after and "carry the key" not in prompt
            found = taken or (self.hasty and "Ahead: key" in after)
        elif NAMES["door"] in principle:
            found = "locked door" in prompt and "open door" in after
        else:
            found = "is solved" in after
        return Judgement((float(found),))


@pytest.fixture(scope="module")
def episodes() -> list[Episode]:
    """Solved ones, each after some random actions."""
    env = gym.make("palaestra/DoorKeyText-v0", size=6, disable_env_checker=True)
    inner = env.unwrapped
    rng = np.random.default_rng(0)
    played = []
    for seed in range(3):
        record = Recording(*env.reset(seed=seed))
        while not record.over:
            action = inner.random_action(inner.here(), rng) if rng.random() < 0.3 else inner.oracle()
            record.add(action, env.step(action))
        played.append(record.episode())
    return played


def test_a_reader_of_the_text_agrees_with_the_environment(episodes):
    found = credit_annotator_eval(SubgoalJudge(Reader()), episodes, NAMES)
    solved = sum(episode.success for episode in episodes)
    assert solved >= 2
    assert found.both >= 3 * solved
    assert (found.precision, found.recall, found.f1) == (1.0, 1.0, 1.0)
    assert found.both + found.neither == 3 * sum(len(episode.steps) for episode in episodes)


def test_labels_too_many_cost_precision_and_missing_ones_recall(episodes):
    hasty = credit_annotator_eval(SubgoalJudge(Reader(hasty=True)), episodes, NAMES)
    assert hasty.annotator_only > 0
    assert hasty.recall == 1.0
    assert hasty.precision == hasty.both / (hasty.both + hasty.annotator_only) < 1.0
    blind = credit_annotator_eval(lambda *_: False, episodes, ["key", "door", "goal"])
    assert (blind.both, blind.precision, blind.recall, blind.f1) == (0, 0.0, 0.0, 0.0)
    assert "F1 0.000" in str(blind)


def test_numbers_worked_out_by_hand(episodes):
    episode = Episode(
        "", {}, episodes[0].steps[:4], False, 0.0, True, False, None, {"achieved": [["a"], ["a"], [], []]}
    )
    labels = [True, False, True, None]
    found = credit_annotator_eval(lambda name, _, t: labels[t], [episode], ["a"])
    assert (found.both, found.annotator_only, found.truth_only, found.neither, found.unknown) == (1, 1, 1, 0, 1)
    assert (found.precision, found.recall, found.f1) == (0.5, 0.5, 0.5)


def test_episodes_without_the_truth_are_refused(episodes):
    with pytest.raises(InputError, match="achieved"):
        credit_annotator_eval(
            lambda *_: True,
            [Episode("", {}, episodes[0].steps[:2], False, 0.0, True, False, None, {"achieved": [[]]})],
            ["a"],
        )
    with pytest.raises(InputError, match="names"):
        credit_annotator_eval(lambda *_: True, episodes, [])
