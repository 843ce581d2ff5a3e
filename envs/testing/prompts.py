"""Checks of the wording of tasks: a first observation that asks in sentences, and a terse form of the same tasks."""

from __future__ import annotations

import re

import gymnasium as gym
from gymnasium.utils.env_checker import check_env

from .playing import make, only_text

_ASKING = re.compile(
    r"\b(answer|write|reply|list|find|choose|what|which|how|is|say|give|name|put|go on)\b[^.?!:\n]*", re.IGNORECASE
)
"""The beginning of a sentence, or of a part of one, that asks for something."""
_FORM = re.compile(
    r"\b(answer|reply|write|put|list each|go on|actions?|commands?|complete|respond|output|within|in order)\b",
    re.IGNORECASE,
)
"""Words that state the form of an answer or of an action."""
FEWEST_WORDS = 4


@only_text
def test_the_first_observation_asks_in_sentences_and_says_how_to_answer(env_id: str):
    env = make(env_id)
    for difficulty in (0.0, 1.0):
        text = env.reset(seed=1, options={"difficulty": difficulty})[0]
        assert _ASKING.search(text), text
        assert _FORM.search(text), text
        sentences = re.split(r"(?<=[.?:])\s", text)
        assert max(len(re.findall(r"[A-Za-z]+", sentence)) for sentence in sentences) >= FEWEST_WORDS, text


@only_text
def test_terse_prompts_are_of_the_same_tasks_and_no_longer(env_id: str):
    check_env(gym.make(env_id, prompt="terse").unwrapped, skip_render_check=True)
    envs = make(env_id), make(env_id, prompt="terse")
    for difficulty in (0.0, 1.0):
        (text, first), (terse, second) = (env.reset(seed=2, options={"difficulty": difficulty}) for env in envs)
        assert (first["task_id"], first["params"]) == (second["task_id"], second["params"])
        assert 0 < len(terse) <= len(text)
