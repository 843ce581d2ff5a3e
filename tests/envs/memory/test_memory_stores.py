"""The memory environment: commands, the reader, and what the texts state."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs.memory.reader import read_answer
from palaestra.envs.memory.stores import Memory, MemoryCommand, read_commands
from palaestra.envs.memory.stories import ATTRIBUTES, EVENTS, StoryFact, draw_story

PILOT = StoryFact("Nora", "job", "pilot")
CASTLE = StoryFact("Nora", "visited", "castle", "3 May")


@pytest.mark.parametrize(
    ("fact", "texts", "answer"),
    [
        (PILOT, ["Nora works as a pilot"], "pilot"),
        (PILOT, ["nora: PILOT"], "pilot"),
        (PILOT, ["Nora works as a nurse", "Nora works as a pilot"], "pilot"),
        (PILOT, ["Nora is a pilot. Hugo is a nurse."], "pilot"),
        (PILOT, ["Hugo: nurse, Nora: pilot"], "pilot"),
        (PILOT, ["Hugo is a pilot"], None),
        (PILOT, ["Nora likes rice"], None),
        (PILOT, [], None),
        (CASTLE, ["3 May: Nora, castle"], "castle"),
        (CASTLE, ["On 13 May Nora visited the castle"], None),
        (CASTLE, ["On 3 June Nora visited the castle"], None),
        (CASTLE, ["Nora visited the castle"], None),
        (StoryFact("", "job", "pilot"), ["I work as a pilot"], "pilot"),
        (StoryFact("", "job", "pilot"), ["user: pilot"], "pilot"),
        (StoryFact("", "job", "pilot"), ["I know that Nora is a pilot"], None),
    ],
)
def test_the_reader_reads_sentences_that_name_whom_they_are_about(fact, texts, answer):
    assert read_answer(fact, texts) == answer


def test_values_tell_attributes_apart():
    words = [value for *_, values in (*ATTRIBUTES.values(), *EVENTS.values()) for value in values]
    assert len(words) == len(set(words))


@pytest.mark.parametrize("seed", range(20))
def test_what_is_asked_holds_at_the_end_and_stands_in_the_texts(seed):
    story = draw_story(np.random.default_rng(seed), 6, 3, 4, 3, 4, 6)
    assert all(read_answer(fact, story.texts) == fact.value for fact in story.asked)
    for text, facts in zip(story.texts, story.facts, strict=True):
        assert all(read_answer(fact, [text]) == fact.value for fact in facts)


def test_updates_replace_earlier_facts():
    story = draw_story(np.random.default_rng(0), 8, 4, 4, 0, 4, 6)
    keys = [fact.key for facts in story.facts for fact in facts]
    assert len(keys) - len(set(keys)) == 4
    assert sum("Since this week" in text for text in story.texts) >= 1


def test_commands_are_read_line_by_line_and_other_lines_are_left_out():
    reply = (
        "I will note this.\n- insert semantic: Nora: pilot\nUPDATE s1 Nora: nurse\ndelete e2\ncore user: rice\nnothing"
    )
    assert read_commands(reply) == [
        MemoryCommand("insert", "semantic", "Nora: pilot"),
        MemoryCommand("update", "s1", "Nora: nurse"),
        MemoryCommand("delete", "e2"),
        MemoryCommand("core", "", "user: rice"),
        MemoryCommand("nothing"),
    ]
    assert read_commands("nothing is known about the core of this") == []


def test_commands_change_the_memory_or_say_why_not():
    memory = Memory()
    for text, error in [
        ("insert semantic one", None),
        ("insert episodic two", None),
        ("insert semantic three", None),
        ("delete s1", None),
        ("insert semantic four", None),
        ("update e1 five", None),
        ("core six", None),
        ("update s9 x", "no entry"),
        ("insert procedural x", "no store"),
        ("insert semantic", "needs a text"),
        ("insert semantic " + "x" * 100, "of 50 that it may"),
    ]:
        memory, found, _ = memory.apply(read_commands(text)[0], capacity=50)
        assert (found is None) == (error is None), text
        assert error is None or error in found
    found = [(entry.id, entry.text) for entry in memory.entries]
    assert found == [("e1", "five"), ("s2", "three"), ("s3", "four")]
    assert memory.texts == ["three", "four", "five", "six"]
    assert memory.length == len("threefourfivesix")


def test_a_reply_without_a_command_loses_the_text():
    env = gym.make("palaestra/MemoryStores-v0", texts=3)
    env.reset(seed=0)
    observation, reward, terminated, _, info = env.step("Let me think about it.")
    assert "Text 2 of 3" in observation
    assert "There is no command in this reply" in info["action_error"]
    assert (reward, terminated) == (0.0, False)


def test_questions_are_shown_with_their_answers_at_the_end():
    env: Any = gym.make("palaestra/MemoryStores-v0", texts=2, questions=2)
    env.reset(seed=1)
    env.step(env.unwrapped.oracle())
    _, reward, terminated, _, info = env.step("nothing")
    assert terminated
    assert reward == info["progress"]
    assert info["feedback"].count("\n") == 1
    assert ("(right: " in info["feedback"]) == (reward < 1)
