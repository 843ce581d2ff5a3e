"""Prompts written word by word: what helps is found, texts of one task are compared, and the state is kept."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from palaestra.envs import IntAxis, ParamSpace
from palaestra.errors import InputError
from palaestra.teachers import Outcome, make

SPACE = ParamSpace([IntAxis("digits", 1, 5)])


def play(teacher, rounds, word="check"):
    for _ in range(rounds):
        proposals = teacher.propose(16)
        returns = [float(word in p.meta["system"].split(" ")) for p in proposals]
        teacher.observe([Outcome(p.id, p.task, [r]) for p, r in zip(proposals, returns)])


def test_the_word_that_helps_is_found():
    teacher = make("prompt-policy", SPACE, words=["check", "think", "short", "list"], length=2, rate=0.02)

    def share():
        rng = np.random.default_rng(5)
        return np.mean([0 in teacher.policy.sample(2, rng) for _ in range(300)])

    before = share()
    assert 0.25 < before < 0.6  # 1 - (3 / 4)^2 = 0.44
    play(teacher, 40)
    assert share() > 0.85
    assert "check" in teacher.best
    assert teacher.metrics()["best_return"] == 1.0


def test_each_task_is_proposed_with_several_texts_of_which_the_inner_teacher_sees_one():
    teacher = make("prompt-policy", SPACE, prompts=4)
    proposals = teacher.propose(10)
    assert len(proposals) == 10
    assert [Counter(json.dumps(p.task) for p in proposals[i : i + 4]).most_common(1)[0][1] for i in (0, 4, 8)] == [
        4,
        4,
        2,
    ]
    teacher.observe([Outcome(p.id, p.task, [0.5]) for p in proposals])
    assert teacher.part.metrics()["observed"] == 3.0
    assert all(len(p.meta["system"].split(" ")) == 5 for p in proposals)


def test_equal_outcomes_of_a_task_pull_towards_the_uniform_policy_only():
    teacher = make("prompt-policy", SPACE, words=["a", "b"], length=1)
    for _ in range(30):
        teacher.observe([Outcome(p.id, p.task, [1.0]) for p in teacher.propose(8)])
    q = teacher.policy.values(teacher.policy.features([0]))[0][0]
    assert abs(q[0] - q[1]) < 0.2


def test_a_saved_teacher_continues_alike():
    teacher = make("prompt-policy", SPACE)
    play(teacher, 3)
    other = make("prompt-policy", SPACE)
    other.load_state_dict(json.loads(json.dumps(teacher.state_dict())))
    for each in (teacher, other):
        play(each, 2)
    assert teacher.state_dict() == other.state_dict()
    with pytest.raises(InputError, match="words"):
        make("prompt-policy", SPACE, words=["one"])
