"""Pairs and labels of steps in recorded rows."""

from __future__ import annotations

import pytest
from palaestra.errors import InputError
from palaestra.rewards.models import Preference, StepLabel, read_pairs, read_step_labels


def episode(task: str, action: str, success: bool, **more: object) -> dict[str, object]:
    turns = [{"observation": f"{task}?", "action": action}]
    return {"task_id": task, "turns": turns, "is_success": success, **more}


def test_every_success_is_paired_with_every_failure_at_the_same_task():
    rows = [episode("a", "1", True), episode("a", "2", False), episode("a", "3", False), episode("b", "4", True)]
    rows += [episode("a", "5", False, reward_valid=False), episode("a", " 1", False)]
    assert read_pairs(rows) == [Preference("a?", "1", "2"), Preference("a?", "1", "3")]


def test_a_file_of_pairs_has_its_own_margins_and_smoothing():
    row = {"prompt": "p", "chosen": "a", "rejected": "b"}
    assert read_pairs([row, {**row, "strength": 2.0, "smoothing": 0.1}]) == [
        Preference("p", "a", "b"),
        Preference("p", "a", "b", 2.0, 0.1),
    ]
    with pytest.raises(InputError, match="an episode with turns"):
        read_pairs([{"chosen": "a"}])


def test_labels_of_steps_are_read_with_the_text_up_to_each_step():
    (one, two) = read_step_labels([{"prompt": "p", "steps": ["1 + 1 = 2", "2 + 2 = 5"], "labels": [1, -1]}])
    assert one == StepLabel("p", "1 + 1 = 2", True, 0, 2)
    assert two == StepLabel("p", "1 + 1 = 2\n2 + 2 = 5", False, 1, 2)


def test_measures_of_a_run_label_turns_or_parts():
    measured = {"measures": {"step_labels": [True, False]}}
    turns = [{"observation": "o", "action": "a"}, {"observation": "o2", "action": "b"}]
    found = read_step_labels([{"turns": turns, **measured}])
    assert [(item.prefix, item.right) for item in found] == [("a", True), ("a\nb", False)]
    text = "So it is 3. Wait, it is 4."
    found = read_step_labels([episode("t", text, False, **measured)], min_segment=5)
    assert [item.prefix for item in found] == ["So it is 3. ", text]
    with pytest.raises(InputError, match="1 steps need as many labels"):
        read_step_labels([episode("t", text, False, **measured)])
