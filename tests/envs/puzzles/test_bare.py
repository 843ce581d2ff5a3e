"""Answers as language models write them: what is around them is taken off, what is in them stays."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import palaestra
import pytest
from palaestra.envs.puzzles.bare import bare, expression

FAMILIES = [
    *("Blocksworld", "Countdown", "GraphColouring", "KnightsKnaves", "Maze", "NQueens", "Satisfiability"),
    *("ShortestPath", "SlidingTiles", "Sokoban", "TowerOfHanoi", "TwentyFour", "Zebra"),
    *("2048", "Bandit", "ConnectFour", "GuessNumber", "Hangman", "Mastermind", "Minesweeper", "TwentyQuestions"),
    "Wordle",
]
SPELLINGS = [
    *("{}.", "**{}**", "${}$", "\\({}\\)", "`{}`", '"{}"', "\\text{{{}}}", "Answer: {}", "**Answer:** {}"),
    *("**Answer: {}**", "So the final answer is **{}**.", "<answer>\n{}.\n</answer>", "\\boxed{{\\text{{{}}}}}"),
]


@pytest.mark.parametrize("family", FAMILIES)
def test_right_answers_are_right_with_marks_and_words_around_them(family: str):
    env: Any = gym.make(f"palaestra/{family}-v0", difficulty=0.2, disable_env_checker=True)
    for spelling in SPELLINGS:
        env.reset(seed=3)
        done, info = False, {}
        while not done:
            _, _, terminated, truncated, info = env.step(spelling.format(env.unwrapped.oracle()))
            assert info["action_error"] is None, spelling
            done = terminated or truncated
        assert info["is_success"], spelling


@pytest.mark.parametrize("family", FAMILIES)
def test_an_answer_of_the_greatest_length_is_judged_at_once(family: str):
    env: Any = gym.make(f"palaestra/{family}-v0", difficulty=1.0, disable_env_checker=True)
    assert isinstance(env.unwrapped, palaestra.envs.Question | palaestra.envs.Game)
    for part in ("9", "(", "^", ",", "*", "`", ".", "answer: ", "\\frac{", "1 1,", "U", "=", "[[", "A "):
        env.reset(seed=1)
        info = env.step((part * 4096)[:4096])[4]
        assert not info["is_success"], part


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (" \n", ""),
        ("1 2 3", "1 2 3"),
        ("**Answer:** `3 1`.", "3 1"),
        ("**Answer**: 3", "3"),
        ("### Final answer: 3", "3"),
        ("Hence, the shortest path is A, C, D.", "A, C, D"),
        ("**Answer:** **4 2**", "4 2"),
        ("\\[\\mathrm{UD}\\].", "UD"),
        ("Move B to table; put A on B", "Move B to table; put A on B"),
        ("answers: 3", "answers: 3"),
        ("no answer: 3", "no answer: 3"),
        ("**2**3**", "**2**3**"),
        ('"a" "b"', '"a" "b"'),
        ("**", "**"),
        ("(3 + 4) * (2 + 1)", "(3 + 4) * (2 + 1)"),
        ("`" * 9 + "1" + "`" * 9, "`" * 9 + "1" + "`" * 9),
    ],
)
def test_only_what_is_around_all_of_an_answer_is_taken_off(text: str, left: str):
    assert bare(text) == left


def test_so_many_layers_and_no_more_are_taken_off():
    assert bare("Answer: " * 8 + "1") == "1"
    assert bare("Answer: " * 9 + "1") == "Answer: 1"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("8 / (3 - 8 / 3) = 24", "8 / (3 - 8 / 3)"),
        ("24 = 3 * 8", "3 * 8"),
        ("3 * 8 = 25", "3 * 8 = 25"),
        ("3 * 8 = 24 = 24", "3 * 8 = 24 = 24"),
        ("[(4 \u2212 1) \u00d7 8] \u00f7 1", "((4 - 1) * 8) / 1"),
        ("4 \u00b7 6 \u2013 3 x 2 \u22c5 1", "4 * 6 - 3 * 2 * 1"),
        ("$\\frac{8}{3-\\dfrac{8}{3}}$", "((8)/(3-((8)/(3))))"),
        ("\\left(4 - 1\\right) \\times 8 \\div 1 \\cdot 2", "(4 - 1) * 8 / 1 * 2"),
        ("2}{3", "2}{3"),
        ("2 ** 3", "2 ** 3"),
    ],
)
def test_expressions_in_other_signs(text: str, left: str):
    assert expression(text, 24) == left
