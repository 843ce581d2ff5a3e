"""Self-play: the policy writes the parameters of its tasks and is rewarded for their learnability."""

from __future__ import annotations

import pytest
from palaestra.agents.grpo.rollouts.selfplay import LEARNABILITY, SelfPlay, describe_axes, format_params, read_params
from palaestra.errors import InputError

from .conftest import ARITHMETIC, answer_of  # isort: skip

PROPOSAL = "terms=2, digits=1, operations='+'"


def test_the_proposed_task_is_played_and_the_proposer_earns_its_learnability(world):
    # Task 0: half of the solvers succeed; task 1: the proposal cannot be read.
    probe = world(ARITHMETIC, "")
    easy = probe.task.__class__({"terms": 2, "digits": 1, "operations": "+"}, 5, 2)
    right = answer_of(probe, easy)

    def says(session, text):
        if "Propose a task" in text:
            return PROPOSAL if session == 0 else "digits=1"
        return right if session == 2 else "0"

    w = world(ARITHMETIC, says)
    first, second, proposers = SelfPlay().play(w.tasks(2, 2), w.player)
    assert {t.params["digits"] for t in first.trajectories} == {1}
    assert {t.params["digits"] for t in second.trajectories} == {6}
    assert (first.proposal, second.proposal, proposers.proposal) == (-1, 1, -1)
    assert [t.success for t in first.trajectories] == [True, False]
    assert [t.outcome for t in proposers.trajectories] == [1.0, -1.0]
    assert [t.role for t in (*first.trajectories, *proposers.trajectories)] == ["solver"] * 2 + ["proposer"] * 2
    assert proposers.trajectories[1].turns[0].action_error == "The text is no set of parameters."


def test_a_question_that_leaves_no_room_is_not_asked_and_counted(world):
    w = world(ARITHMETIC, "0")
    long = SelfPlay(question="Propose a task." + " Think." * w.player.limits.context + "{axes}")
    groups = long.play(w.tasks(2, 2), w.player)
    assert [[(t.role, t.valid) for t in group.trajectories] for group in groups] == [[("solver", True)] * 2] * 2
    assert [group.proposal for group in groups] == [0, 1]
    assert w.player.overlong == {(task.proposal, task.seed) for task in w.tasks(2, 2)}


@pytest.mark.parametrize(
    ("kind", "values"), [("distance", (0, 0.5, 1, 0)), ("variance", (0, 0.75, 1, 0)), ("frontier", (0, 0.75, 0.5, 0))]
)
def test_the_reward_of_a_proposal_at_success_0_a_quarter_a_half_and_1(kind, values):
    assert tuple(LEARNABILITY[kind](p) for p in (0.0, 0.25, 0.5, 1.0)) == values


def test_parameters_are_read_as_they_are_written(world):
    space = world(ARITHMETIC, "").environments.param_space
    for difficulty in (0.0, 0.5, 1.0):
        params = space.at(difficulty)
        assert read_params(f"Try {format_params(params)}.", space) == params


@pytest.mark.parametrize(
    "text",
    ["", "digits=3", f"{PROPOSAL}, digits=2", "terms=2, digits=99, operations='+'", f"{PROPOSAL}, colour=3", "terms=("],
)
def test_anything_else_is_no_proposal(world, text):
    assert read_params(text, world(ARITHMETIC, "").environments.param_space) is None


def test_the_question_to_the_proposer_states_the_ranges(world):
    space = world(ARITHMETIC, "").environments.param_space
    assert describe_axes(space).startswith(
        "terms is from 2 to 6; digits is from 1 to 6; operations is one of '+', '+-'"
    )


def test_an_unknown_reward_of_the_proposer_is_refused():
    with pytest.raises(InputError, match="distance"):
        SelfPlay(reward="distanc")
