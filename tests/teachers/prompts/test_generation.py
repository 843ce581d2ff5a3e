"""Sources of new tasks: steps along the axes, callables, and agents that write."""

from __future__ import annotations

import json

import gymnasium as gym
import numpy as np
import pytest
from palaestra.agents.agent import Agent
from palaestra.envs.axes import ChoiceAxis, FloatAxis, IntAxis
from palaestra.envs.param_space import ParamSpace
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks
from palaestra.teachers.prompts.generation import TaskSource, as_generator

PARAMS = ParamSpace([IntAxis("digits", 1, 9), FloatAxis("noise", 0.0, 1.0), ChoiceAxis("kind", ("a", "b"))])
PROMPTS = FiniteTasks(["one", "two", "three"])


class Scribe(Agent):
    """Answers every request with what it was made with."""

    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def act(self, observations, infos):
        self.asked += observations
        return [self.answer for _ in observations]


def test_an_agent_is_told_the_ranges_and_may_answer_in_a_block():
    scribe = Scribe('Here it is:\n```json\n{"digits": 3, "noise": 0.5, "kind": "b"}\n```')
    source, rng = TaskSource(PARAMS, scribe), np.random.default_rng(0)
    child = source.variant([0.9, 0.9, 0.9], rng)
    assert child is not None
    assert source.task(child, rng) == {"digits": 3, "noise": 0.5, "kind": "b"}
    told = "There, digits lies between 1 and 9; noise lies between 0.0 and 1.0; kind is one of a, b.\n"
    assert told in scribe.asked[0]


def test_steps_stay_in_the_cube_and_near_their_parent():
    source, rng = TaskSource(PARAMS, step=0.05), np.random.default_rng(0)
    for _ in range(300):
        seed = source.uniform(1, rng)[0]
        child = source.variant(seed, rng)
        assert PARAMS.validate(source.task(child, rng)) == source.task(child, rng)
        assert child != seed
        assert abs(child[1] - seed[1]) < 0.3


def test_a_step_along_an_axis_of_few_values_changes_the_value():
    source, rng = TaskSource(gym.spaces.Discrete(5), step=1e-9), np.random.default_rng(0)
    children = {source.task(source.variant([0.5], rng), rng) for _ in range(50)}
    assert children == {1, 3}


def test_a_list_has_no_variants_without_a_generator():
    source = TaskSource(PROMPTS)
    assert not source.can_vary
    assert source.variant(1, np.random.default_rng(0)) is None


def test_a_generator_may_write_tasks_that_the_list_does_not_hold():
    rng = np.random.default_rng(0)
    source = TaskSource(PROMPTS, lambda task, rng: task + "!")
    child = source.variant(1, rng)
    assert child == {"task": "two!", "near": 1}
    assert source.task(source.variant(child, rng), rng) == "two!!"
    assert source.index(source.variant(child, rng)) == 1
    assert TaskSource(PROMPTS, lambda task, rng: "three").variant(0, rng) == 2  # one of the list after all


def test_tasks_outside_the_space_and_tasks_that_are_no_json_are_rejected_and_counted():
    rng = np.random.default_rng(0)
    for space, task in ((PARAMS, {"digits": 99, "noise": 0.5, "kind": "a"}), (PROMPTS, object())):
        source = TaskSource(space, lambda _, __, task=task: task)
        assert source.variant(source.uniform(1, rng)[0], rng) is None
        assert source.rejected == 1
    assert TaskSource(PROMPTS, lambda task, rng: None).variant(0, rng) is None


def test_an_agent_is_shown_the_task_and_answers_in_json():
    scribe = Scribe(json.dumps({"digits": 3, "noise": 0.25, "kind": "b"}))
    source, rng = TaskSource(PARAMS, scribe), np.random.default_rng(0)
    child = source.variant(source.seed({"digits": 7, "noise": 0.5, "kind": "a"}), rng)
    assert source.task(child, rng) == {"digits": 3, "noise": 0.25, "kind": "b"}
    assert '"digits": 7' in scribe.asked[0]


def test_an_answer_that_is_no_json_is_the_task_itself():
    generate = as_generator(Scribe("What is 2 + 3?"))
    assert generate("What is 1 + 1?", np.random.default_rng(0)) == "What is 2 + 3?"
    assert TaskSource(PARAMS, Scribe("no idea")).variant([0.1, 0.2, 0.3], np.random.default_rng(0)) is None


@pytest.mark.parametrize("generator", [3, "gpt"])
def test_what_can_write_nothing_is_refused(generator):
    with pytest.raises(InputError, match="generator="):
        TaskSource(PROMPTS, generator)


@pytest.mark.parametrize("seed", [[0.5], {"near": 1}, 7])
def test_saved_seeds_of_another_space_are_not_taken(seed):
    space = PARAMS if isinstance(seed, list) else PROMPTS
    with pytest.raises(ValueError, match="is no"):
        TaskSource(space).check_seed(seed)


@pytest.mark.parametrize(("n", "at", "reached"), [(5, 0, {1}), (5, 4, {3}), (2, 0, {1}), (2, 1, {0})])
def test_a_step_from_the_first_or_last_value_changes_it(n, at, reached):
    source, rng = TaskSource(gym.spaces.Discrete(n), step=1e-9), np.random.default_rng(0)
    assert {source.task(source.variant(source.seed(at), rng), rng) for _ in range(50)} == reached


def test_a_step_from_either_end_of_whole_numbers_changes_them():
    space = ParamSpace([IntAxis("digits", 1, 9)])
    source, rng = TaskSource(space, step=1e-9), np.random.default_rng(0)
    for at, reached in ((1, {2}), (5, {4, 6}), (9, {8})):  # an end is kept as the corner of its interval
        seed = source.seed({"digits": at})
        assert {source.task(source.variant(seed, rng), rng)["digits"] for _ in range(50)} == reached
