from __future__ import annotations

import gymnasium as gym
import pytest
from palaestra.agents import as_agent
from palaestra.agents.reward_design import DesignTask, ScriptedAuthor, design_program
from palaestra.errors import InputError
from palaestra.rewards import Episode, Step

GOOD = "def reward(episode):\n    return int(episode['success']), -episode['goal_distance'][-1]"


def episode(success: bool) -> Episode:
    step = Step("a map", "go forward", float(success), {"goal": float(success)}, 1)
    extras = {"goal_distance": [2.0, 2.0 - success]}
    return Episode("t", {}, (step,), success, float(success), True, False, None, extras)


@pytest.fixture(scope="module")
def task() -> DesignTask:
    env = gym.make("palaestra/DoorKeyText-v0")
    return DesignTask.of(env, "palaestra/DoorKeyText-v0", episode(True))


def write(*replies: str, seen: list[str]):
    """An author that gives the replies in turn and keeps the prompts."""
    left = iter(replies)

    def author(prompt: str) -> str:
        seen.append(prompt)
        return next(left)

    return as_agent(author)


def test_each_rejection_is_in_the_next_prompt_until_a_program_is_accepted(task):
    prompts: list[str] = []
    broken, raising = "def reward(episode) return 1", "def reward(episode):\n    return 1, 1 / 0"
    author = write(broken, raising, GOOD, seen=prompts)
    made = design_program(author, task, [episode(True), episode(False)], attempts=5)
    assert len(prompts) == len(made) == 3
    assert [attempt.critique.program is not None for attempt in made] == [False, False, True]
    assert "It was rejected" not in prompts[0]
    assert broken in prompts[1]
    assert "It was rejected: line 1 is no Python: expected ':'." in prompts[1]
    assert raising in prompts[2]
    assert "the first: ZeroDivisionError (line 2): division by zero" in prompts[2]
    assert made[-1].critique.program is not None
    assert made[-1].critique.program.text == GOOD


def test_the_prompt_documents_what_the_environment_supplies(task):
    prompts: list[str] = []
    design_program(write(GOOD, seen=prompts), task, [episode(True)])
    assert "Find the key, open the door, reach the goal." in prompts[0]
    assert (
        'episode["goal_distance"]: [K + 1], in steps; length of the shortest plan from each state, such as [2.0, 1.0]'
        in prompts[0]
    )
    assert "looks like this:\na map\n" in prompts[0]


def test_the_last_program_and_how_it_went_are_in_the_prompt_of_the_next_round(task):
    prompts: list[str] = []
    design_program(write(GOOD, seen=prompts), task, [episode(True)], previous="# old", analysis="success: 0.10 0.20")
    assert "The program of the last round:\n```python\n# old\n```" in prompts[0]
    assert "How the agent fared:\nsuccess: 0.10 0.20" in prompts[0]


def test_a_reviewer_rejects_what_the_checks_have_passed_and_says_why(task):
    prompts: list[str] = []
    reviews: list[str] = []
    critic = write("<think>hm</think>REJECT: it punishes progress.", "ACCEPT", seen=reviews)
    made = design_program(write("no program", GOOD, GOOD, seen=prompts), task, [episode(True)], critic=critic)
    assert "It was rejected: a reviewer says: it punishes progress." in prompts[2]
    assert len(reviews) == 2  # what is no program is not reviewed
    assert GOOD in reviews[0]
    assert made[-1].critique.program is not None


def test_after_the_last_attempt_there_is_no_program(task):
    made = design_program(write("a", "b", seen=[]), task, [episode(True)], attempts=2)
    assert [attempt.critique.program for attempt in made] == [None, None]


def test_a_scripted_author_replies_with_its_files_in_turn(tmp_path, task):
    (tmp_path / "a.txt").write_text("one")
    author = ScriptedAuthor([tmp_path / "a.txt"])
    assert author.act(["p"], [{}]) == ["one"]
    with pytest.raises(InputError, match="no reply left"):
        author.act(["p"], [{}])
    with pytest.raises(InputError, match="cannot be read"):
        ScriptedAuthor([tmp_path / "none"])
