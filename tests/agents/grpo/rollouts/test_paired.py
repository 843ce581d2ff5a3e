"""Tasks in two wordings: the groups, what they have in common, and the labels that they give each other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.agents.grpo.rollouts.paired import PairedRephrase
from palaestra.errors import InputError

from .conftest import ARITHMETIC, ROOM  # isort: skip


def texts(group):
    return {trajectory.turns[0].observation for trajectory in group.trajectories}


def test_the_second_group_has_the_same_question_in_other_words(world):
    w = world(ARITHMETIC, "5")
    plain, other, twin, second = PairedRephrase().play(w.tasks(2, 3), w.player)
    for original, reworded, size in ((plain, twin, 2), (other, second, 3)):
        ((before,), (after,)) = texts(original), texts(reworded)
        assert before != after
        assert before.split(" Answer")[0] in after
        assert len(original.trajectories) == len(reworded.trajectories) == size
        both = (*original.trajectories, *reworded.trajectories)
        assert len({t.task_id for t in both}) == len({t.extras["pair"] for t in both}) == 1
        assert original.trajectories[0].extras["twin_prompt"] == list(reworded.trajectories[0].turns[0].obs_ids)
        assert reworded.trajectories[0].extras["twin_prompt"] == list(original.trajectories[0].turns[0].obs_ids)
    assert plain.trajectories[0].extras["pair"] != other.trajectories[0].extras["pair"]
    assert (plain.proposal, other.proposal, twin.proposal, second.proposal) == (0, 1, -1, -1)
    assert sorted(w.player.attempts) == [0, 1]


def test_the_majority_of_one_wording_is_the_label_of_the_other(world):
    # Sessions 0 to 2 see the original, 3 to 5 the rewording: (4, 4, 5) and (5, 5, 4).
    w = world(ARITHMETIC, lambda session, text: "445554"[session])
    objective = Objective(RECIPES["co_rewarding"])
    w.player.judge = objective.shape
    plain, twin = PairedRephrase().play(w.tasks(3), w.player)
    assert [t.outcome for t in plain.trajectories] == [0, 0, 1]
    assert [t.outcome for t in twin.trajectories] == [0, 0, 1]
    assert all(t.judged for t in (*plain.trajectories, *twin.trajectories))


def test_a_task_whose_rewording_does_not_fit_is_played_alone_and_cannot_be_judged(world):
    w = world(ARITHMETIC, "5")
    (prompt,) = texts(PairedRephrase().play(w.tasks(1), w.player)[0])
    used = len(w.renderer.observation(prompt, first=True))
    w.player.limits = replace(ROOM, context=used + ROOM.action)
    w.player.judge = Objective(RECIPES["co_rewarding"]).shape
    (alone,) = PairedRephrase().play(w.tasks(2), w.player)
    assert [t.valid for t in alone.trajectories] == [False, False]
    assert alone.trajectories[0].extras["twin_prompt"] is None


def test_the_number_of_changes_is_at_least_one():
    with pytest.raises(InputError, match="changes"):
        PairedRephrase(changes=0)
