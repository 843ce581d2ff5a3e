"""Own episodes against numbers worked out by hand."""

from __future__ import annotations

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.components.streams.own_episodes import (
    Experience,
    SelfImitationStream,
    Successes,
)

from ...conftest import group
from .supplies import answer, supply, tasks


def test_only_successes_are_drawn():
    drawn = Successes().draw(supply(groups=[group(answer(1.0, 1), answer(0.0, 1)), group(answer(0.0, 2))]))
    assert [[t.success for t in g.trajectories] for g in drawn] == [[True]]


def test_equal_answers_count_once():
    same = [answer(1.0, 1, 7), answer(1.0, 1, 7), answer(1.0, 1, 8)]
    assert [
        len(Successes(distinct=flag).draw(supply(groups=[group(*same)]))[0].trajectories) for flag in (True, False)
    ] == [
        2,
        3,
    ]


def test_at_most_k_answers_a_task_are_drawn():
    many = group(*(answer(1.0, 1, token) for token in range(7, 15)))
    assert len(Successes(most=4).draw(supply(groups=[many]))[0].trajectories) == 4


def test_the_best_of_a_group_is_drawn_whether_it_succeeded_or_not():
    drawn = Successes(most=1, select="best").draw(
        supply(groups=[group(answer(0.1, 1), answer(0.4, 1, 8)), group(answer(1.0, 2), answer(0.9, 2))])
    )
    assert [g.trajectories[0].outcome for g in drawn] == [0.4, 1.0]


def test_which_successes_are_drawn_does_not_depend_on_the_order_of_samples():
    members = [answer(1.0, 1, token) for token in (9, 7, 8, 7)]
    for select in ("success", "best"):
        one, other = (
            Successes(most=2, select=select).draw(supply(groups=[group(*order)])) for order in (members, members[::-1])
        )
        assert one == other


def test_the_self_imitation_stream_replays_what_its_memory_holds():
    stream = SelfImitationStream(good=0)
    first = [group(answer(1.0, 1), *(answer(0.0, 1, 8 + i) for i in range(3)))]
    assert stream.draw(supply(1, groups=first)) == []
    (replayed,) = stream.draw(supply(2, groups=first))
    assert replayed.trajectories[0].advantage == pytest.approx(0.75)


def test_experience_joins_fresh_episodes_as_a_teachers_with_group_advantages():
    source = Experience(samples=4)
    assert source.draw(supply(1, tasks(1, 2))) == []
    (mixed,) = source.draw(supply(2, tasks(2)))
    assert mixed.trajectories[0].task_id == "task 1"
    assert [t.success for t in mixed.trajectories] == [True, False, False, True]
    # Half succeed: +-0.5 / sqrt(1/3).
    assert [t.advantage for t in mixed.trajectories] == pytest.approx([0.866, -0.866, -0.866, 0.866], abs=1e-3)
    batch = collate([mixed])
    assert batch.written_by(Origin.TEACHER).nonzero()[:, 0].tolist() == batch.action.nonzero()[-2:, 0].tolist()
    assert (batch.logp_mu[batch.action] == -1).all()


def test_always_solved_tasks_are_retired():
    source = Experience()
    source.draw(supply(1, tasks(1)))
    source.draw(supply(2, groups=[group(answer(1.0, 1), answer(1.0, 1))], tasks=tasks(1)))
    assert source.draw(supply(3, tasks(5))) == []


def test_nothing_is_replayed_before_enough_succeeds():
    source = Experience(start=0.35)
    source.draw(supply(1, tasks(1, samples=4)))  # a quarter succeeds
    assert source.draw(supply(2, tasks(3, samples=4))) == []
    source = Experience(start=0.25)
    source.draw(supply(1, tasks(1, samples=4)))
    assert len(source.draw(supply(2, tasks(3, samples=4)))) == 1


def test_the_success_of_lowest_entropy_under_the_present_policy_is_replayed():
    source = Experience(start=0.0)
    won = [answer(1.0, 1, 7, logp=-0.1), answer(1.0, 1, 8, logp=-0.5), answer(0.0, 1, 9)]
    source.draw(supply(1, tasks(1), groups=[group(*won)]))

    def now(batch):  # the policy has come to prefer the second
        return torch.where(batch.ids == 8, -0.2, -3.0) * batch.action

    (mixed,) = source.draw(supply(2, tasks(2), measure=now))
    assert mixed.trajectories[-1].turns[0].act_ids == (8, 8)


def test_experience_is_bounded():
    source = Experience(capacity=3, per_task=2)
    for step in range(1, 20):
        source.draw(supply(step, tasks(2 * step + 1, 1)))
    saved = source.state_dict()["solved"]
    assert len(saved) == 3
    assert max(len(task["successes"]) for _, task in saved) == 2
