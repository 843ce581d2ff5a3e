"""Sources of streams, by hand, with a supply made of plain functions."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.trajectory import Group, Origin
from palaestra.agents.grpo.components.streams.demonstrations import Oracle, TeacherModel
from palaestra.agents.grpo.components.streams.rehearsal import Rehearsal
from palaestra.agents.grpo.components.streams.successes import Experience, Rollouts, SelfImitationStream, Successes
from palaestra.agents.grpo.components.streams.supply import Supply
from palaestra.agents.grpo.components.surrogates.likelihood import entropy_weighted_likelihood
from palaestra.agents.grpo.components.surrogates.origins import shaped_importance
from palaestra.agents.grpo.components.weights import entropy_factor
from palaestra.agents.grpo.recipes.stages import SOURCES
from palaestra.agents.grpo.rollouts.starts import RolloutTask
from palaestra.errors import InputError

from ..conftest import group, trajectory  # isort: skip


class Space:
    """Tasks have one number."""

    def sample(self, rng):
        return {"n": int(rng.integers(100))}


def answer(reward: float, n: int, token: int = 7, tokens: int = 2, logp: float = -1.0):
    return trajectory(reward, [([1], [token] * tokens)], [[logp] * tokens], task_id=f"task {n}", params={"n": n})


def play(tasks) -> list[Group]:
    """Even tasks are always solved; odd ones by the first sample only."""
    return [
        group(
            *(answer(float(task.params["n"] % 2 == 0 or i == 0), task.params["n"], 7 + i) for i in range(task.samples))
        )
        for task in tasks
    ]


def supply(step: int = 1, tasks=(), groups=None, **changes) -> Supply:
    fields = {
        "step": step,
        "steps": 10,
        "rng": np.random.default_rng(step),
        "param_space": Space(),
        "task": lambda params, seed, samples: RolloutTask(params, seed, samples),
        "tasks": tuple(tasks),
        "groups": tuple(play(tasks) if groups is None else groups),
        "play": play,
        "demonstrate": lambda tasks: [answer(1.0, task.params["n"]) for task in tasks],
        "measure": lambda batch: batch.logp_mu,
    }
    return Supply(**{**fields, **changes})


def tasks(*numbers: int, samples: int = 4) -> list[RolloutTask]:
    return [RolloutTask({"n": n}, n, samples) for n in numbers]


# All of them ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(SOURCES))
def test_a_resumed_source_draws_the_same(name):
    one, other = SOURCES[name](), SOURCES[name]()
    one.prepare(supply(0))
    for step in range(1, 6):
        one.draw(supply(step, tasks(step, step + 1, 3), play_teacher=play))
    other.load_state_dict(json.loads(json.dumps(one.state_dict())))
    for step in range(6, 9):
        assert one.draw(supply(step, tasks(3, step), play_teacher=play)) == other.draw(
            supply(step, tasks(3, step), play_teacher=play)
        )
    assert one.state_dict() == other.state_dict()


# Demonstrations ------------------------------------------------------------------------------------------------------


def test_the_oracle_shows_each_task_of_the_step():
    drawn = Oracle().draw(supply(tasks=tasks(3, 5)))
    assert [g.trajectories[0].params for g in drawn] == [{"n": 3}, {"n": 5}]


def test_demonstrations_are_a_teachers_without_behaviour():
    batch = collate(Oracle().draw(supply(tasks=tasks(3, 5))))
    assert batch.written_by(Origin.TEACHER).sum() == batch.action.sum() == 4
    assert (batch.logp_mu == 0).all()
    assert all(t.version == -1 for t in batch.trajectories)


def test_the_oracle_can_show_other_tasks():
    drawn = Oracle(tasks="uniform", count=5).draw(supply(tasks=tasks(3)))
    assert len(drawn) == 5
    assert len({g.trajectories[0].params["n"] for g in drawn}) > 1


def test_what_the_machinery_lost_is_no_demonstration():
    lost = supply(tasks=tasks(3), demonstrate=lambda tasks: [replace(answer(1.0, 3), valid=False)])
    assert Oracle().draw(lost) == []


def test_a_larger_model_plays_the_tasks():
    drawn = TeacherModel(samples=3, correct=True).draw(supply(tasks=tasks(3, 4), play_teacher=play))
    assert [len(g.trajectories) for g in drawn] == [1, 3]
    assert collate(drawn).written_by(Origin.TEACHER).sum() == 8


def test_without_a_model_to_distil_from_the_run_is_refused():
    with pytest.raises(InputError, match="pass teacher_model"):
        TeacherModel().draw(supply(tasks=tasks(3)))


# The policy's own ----------------------------------------------------------------------------------------------------


def test_rollouts_are_passed_on_whole():
    groups = [group(answer(1.0, 1), answer(0.0, 1)), group(replace(answer(1.0, 2), valid=False))]
    assert Rollouts().draw(supply(groups=groups)) == groups[:1]


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


# ExGRPO --------------------------------------------------------------------------------------------------------------


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


# Rehearsal -----------------------------------------------------------------------------------------------------------


def test_only_always_solved_tasks_are_rehearsed_with_the_log_probabilities_of_the_start():
    source = Rehearsal(tasks=20, samples=4, batch=5)
    source.prepare(supply(0))
    drawn = source.draw(supply(1))
    assert len(drawn) == 5
    assert all(t.params["n"] % 2 == 0 and t.success for g in drawn for t in g.trajectories)
    assert (collate(drawn).logp_mu[collate(drawn).action] == -1).all()


def test_rehearsal_knows_its_tasks_after_resuming_without_playing_again():
    one, other = Rehearsal(tasks=20), Rehearsal(tasks=20)
    one.prepare(supply(0))
    other.load_state_dict(json.loads(json.dumps(one.state_dict())))

    def never(tasks):
        raise AssertionError

    assert one.draw(supply(3)) == other.draw(supply(3, play=never))


# Terms ---------------------------------------------------------------------------------------------------------------


def test_the_entropy_factor_by_hand():
    batch = collate([group(answer(1.0, 1), answer(0.0, 1))])
    batch = batch.with_(entropy=torch.tensor([0.0, 1.0, 3.0, 0.0, 2.0, 2.0]))  # 2 nats on average
    advantage = torch.tensor([0.0, 1.0, 1.0, 0.0, -1.0, -1.0])
    down, up = 0.5 * np.exp(-2.0), 0.1 * np.exp(2.0)
    assert entropy_factor(batch, advantage, scale=0.5, power=-1.0)[batch.action].tolist() == pytest.approx([down] * 4)
    some = entropy_factor(batch, advantage, sign="positive")
    assert some[batch.action].tolist() == pytest.approx([up, up, 1, 1])


def test_the_entropy_factor_can_leave_a_teachers_tokens_alone():
    batch = collate([*Oracle().draw(supply(tasks=tasks(3))), group(answer(1.0, 1))])
    batch = batch.with_(entropy=torch.zeros(len(batch.ids)))
    factor = entropy_factor(batch, torch.ones(len(batch.ids)), origin="policy")
    assert factor[batch.action].tolist() == pytest.approx([1.0, 1.0, 0.1, 0.1])


def test_an_uncertain_policy_imitates_less():
    logp = torch.tensor([-1.0, -3.0, -9.0], requires_grad=True)
    entropy, trained = torch.tensor([1.0, 3.0, 99.0]), torch.tensor([True, True, False])
    (slope,) = torch.autograd.grad(entropy_weighted_likelihood(logp, entropy, trained).sum(), logp)
    assert slope.tolist() == pytest.approx([0.5 * np.exp(-2.0)] * 3)


def test_shaped_importance_is_bounded_with_its_steepest_slope_at_gamma():
    log_ratio = torch.tensor([0.0, np.log(0.1), -80.0, 80.0], dtype=torch.float64, requires_grad=True)
    zero, two = torch.zeros(4, dtype=torch.float64), torch.full((4,), 2.0, dtype=torch.float64)
    value = shaped_importance(log_ratio, zero, two)
    # 2 x 1 / 1.1, 2 x 1/2, 0 and 2.
    assert value.tolist() == pytest.approx([1.8182, 1.0, 0.0, 2.0], abs=1e-4)
    (slope,) = torch.autograd.grad(value.sum(), log_ratio)
    # A gamma r / (r + gamma)^2: 2 x 0.1 / 1.21, then 2 x 1/4.
    assert slope.tolist() == pytest.approx([0.16529, 0.5, 0.0, 0.0], abs=1e-5)
