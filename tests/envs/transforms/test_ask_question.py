import gymnasium as gym
import pytest
from palaestra.errors import InputError


def test_the_question_of_the_inner_task_is_asked_for_without_its_form():
    env = gym.make("palaestra/AskQuestion-v0", difficulty=0.2)
    inner = gym.make("palaestra/WikiReading-v0", difficulty=0.2)
    observation, info = env.reset(seed=5)
    inner.reset(seed=5)
    asked = env.unwrapped.here().data.prompt.splitlines()[-1]
    question = info["extras"]["reference"]
    assert question.endswith("?")
    assert asked.startswith(question)
    assert question not in observation
    assert env.unwrapped.inner.oracle(env.unwrapped.here().data) in observation
    assert env.step(question.upper())[1] == 1.0


def test_a_question_about_something_else_is_another_one():
    env = gym.make("palaestra/AskQuestion-v0", difficulty=0.2)
    env.reset(seed=5)
    state = env.unwrapped.get_state()
    assert env.step("What is this text about?")[1] == 0.0
    env.unwrapped.set_state(state)
    assert env.step("  ")[4]["action_error"]
    with pytest.raises(InputError, match="no line before the question"):
        gym.make("palaestra/AskQuestion-v0", of="palaestra/Arithmetic-v0")
