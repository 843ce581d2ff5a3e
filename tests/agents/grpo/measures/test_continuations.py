"""Values of prefixes against games whose end is known, and the credit that they give to parts of a response."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.trajectory import Group
from palaestra.agents.grpo.components.credit.units import reward_by_token
from palaestra.agents.grpo.measures.continuations import (
    FirstWrongStep,
    PrefixValues,
    StepScores,
    replay_moments,
    step_labels,
)
from palaestra.agents.grpo.measures.producer import ProducerTools, add_measures
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.agents.grpo.rollouts.episode_starts import Start, TokenLimits
from palaestra.rewards.models import RewardModel

from ..rollouts.conftest import ARITHMETIC, GUESS, answer_of, renderer, world  # isort: skip  # noqa: F401


def instruments(player) -> ProducerTools:
    return ProducerTools(player, None, None, None, np.random.default_rng(0))  # type: ignore[arg-type]


def test_states_of_a_game_are_as_good_as_the_episodes_that_go_on_from_them(world):  # noqa: F811
    # The oracle plays, and whoever goes on from its states says nothing that helps: only the end is won.
    w = world(GUESS, "nonsense")
    (played,) = w.player.play([Start(w.task, oracle_turns=float("inf"))])
    trajectory = played.trajectory
    assert trajectory.success
    group = Group(0, (trajectory,))
    ((row,),) = PrefixValues(samples=2)([group], instruments(w.player))
    assert row["prefix_values"] == [0.0] * len(trajectory.turns) + [1.0]
    measured = replace(group, trajectories=(replace(trajectory, extras=row),))
    ((scores,),) = StepScores()([measured], instruments(w.player))
    assert scores["step_scores"] == [0.0] * (len(trajectory.turns) - 1) + [1.0]
    ((labels,),) = step_labels([measured], instruments(w.player))
    assert labels["step_labels"] == [False] * (len(trajectory.turns) - 1) + [True]


def test_moments_are_those_of_the_episode(world):  # noqa: F811
    w = world(GUESS, "1")
    (played,) = w.player.play([Start(w.task)], states=True)
    again = replay_moments(played.trajectory, w.player)
    assert [moment.observation for moment in again] == [m.observation for m in played.moments[: len(again)]]
    assert [moment.turns for moment in again] == [m.turns for m in played.moments[: len(again)]]


def test_an_answer_is_forced_after_each_part_of_a_response(world):  # noqa: F811
    right = ""
    reasoning = "First I look at the two numbers for a while. " * 3

    def says(session, text):
        if session == 0:
            return f"{reasoning}Therefore {reasoning}\n0"
        return f"\n{right}" if "Therefore" not in text and "First" in text else "0"

    w = world(ARITHMETIC, says, limits=TokenLimits(action=600, episode=2000, context=4000))
    right = answer_of(w)
    (played,) = w.player.play([Start(w.task)])
    group = Group(0, (played.trajectory,))
    measured = add_measures([group], [PrefixValues()], instruments(w.player))
    # Right after the first part, wrong from the beginning and at the end: the second part loses what the first found.
    assert measured[0].trajectories[0].extras["prefix_values"] == [0.0, 1.0, 0.0]
    objective = Objective(RECIPES["mrt"])
    ends = objective.add_rewards(measured, lambda turn, count: w.renderer.tokens_until(turn.act_ids, count))
    (shaped,) = ends[0].trajectories
    assert [value for _, value in shaped.turns[0].spans] == [0.5, -0.5]
    rewards = reward_by_token(collate(ends))
    first_part, second_part = (tokens for tokens, _ in shaped.turns[0].spans)
    assert rewards[first_part - 1].item() == pytest.approx(0.5)
    assert rewards[second_part - 1].item() == pytest.approx(-0.5)
    assert rewards.count_nonzero() == 2
    assert w.renderer.action(shaped.turns[0].act_ids[:first_part]).endswith("while. ")


@pytest.mark.parametrize("bad", [1, 4, 8])
def test_the_first_wrong_step_is_found_by_halving(world, bad):  # noqa: F811
    right = ""

    def part(number):
        word = "bad" if number == bad else "fine"
        return f"\n\nTherefore we look at {word} part number {number} for a good long while, until we see what it says."

    def says(session, text):
        if session == 0:
            return "".join(part(number) for number in range(1, 9)) + "\n0"
        return "0" if "bad" in text else f"\n{right}"

    w = world(ARITHMETIC, says, limits=TokenLimits(action=2000, episode=4000, context=8000))
    right = answer_of(w)
    (played,) = w.player.play([Start(w.task)])
    producer = FirstWrongStep(samples=2, min_segment=40)
    steps = len(producer._starts(played.trajectory, w.player))
    before = len(w.sampler.requests)
    ((row,),) = producer([Group(0, (played.trajectory,))], instruments(w.player))
    probes = (len(w.sampler.requests) - before) // 2
    assert steps >= 8
    assert probes <= 4
    assert row["step_labels"] == [step < row["wrong_step"] for step in range(steps)]
    ends = [stop for _, stop in producer._probe.split_parts(played.trajectory.turns[0].action)]
    assert "bad" not in played.trajectory.turns[0].action[: ends[row["wrong_step"] - 1]] or row["wrong_step"] == 0
    assert "bad" in played.trajectory.turns[0].action[: ends[row["wrong_step"]]]


def test_a_successful_episode_has_no_wrong_step_and_costs_nothing(world):  # noqa: F811
    w = world(GUESS, "nonsense")
    (played,) = w.player.play([Start(w.task, oracle_turns=float("inf"))])
    before = len(w.sampler.requests)
    ((row,),) = FirstWrongStep()([Group(0, (played.trajectory,))], instruments(w.player))
    turns = len(played.trajectory.turns)
    assert row == {"wrong_step": turns, "step_labels": [True] * turns}
    assert len(w.sampler.requests) == before


def test_labels_come_from_the_producer_that_a_recipe_names():
    row = RECIPES["tp_grpo"].with_(measures="wrong_step(samples=2)")
    names = [part.component.name for part in Objective(row).producers]
    assert names == ["wrong_step"]
    assert [part.component.name for part in Objective(RECIPES["tp_grpo"]).producers] == ["prefix_values", "step_labels"]


def test_a_process_reward_model_scores_each_turn_with_all_before_it(world, tmp_path):  # noqa: F811
    w = world(GUESS, "nonsense")
    (played,) = w.player.play([Start(w.task, oracle_turns=float("inf"))])
    model = RewardModel(hidden=4)
    model.save(tmp_path / "model.safetensors")
    producer = StepScores(model=str(tmp_path / "model.safetensors"))
    assert producer.needs == frozenset()
    assert StepScores().needs == {"prefix_values"}
    ((row,),) = producer([Group(0, (played.trajectory,))], instruments(w.player))
    actions = [turn.action for turn in played.trajectory.turns]
    texts = ["\n".join(actions[: n + 1]) for n in range(len(actions))]
    scores = model.score([played.trajectory.episode.prompt] * len(texts), texts)
    assert row["step_scores"] == pytest.approx([1 / (1 + math.exp(-score)) for score in scores])
