"""Program debugging: what counts as a turn, what it pays, and that nothing but a mended program succeeds."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from typing import Any

import pytest
from palaestra.envs.code import program_debugging
from palaestra.envs.code.program_debugging import ProgramDebugging
from palaestra.envs.sandbox import ProgramJudgement, Result
from palaestra.errors import InputError
from palaestra.rewards.answers import fenced

from .debugged import BUGGY, PROGRAM, STATE, at, made, passing, play
from .sandboxed import HOSTILE, NONE, needs_sandbox

LOST = Result(reason="lost", valid=False)

# Turns.


NEITHER = [
    *("Let me think.", "42", "x", "tens", "tens(", "tens()", "tens(5", "tens(5, 6)", "tens(five)", "tens([1])", "7()"),
    *(
        "tens(5) + 1",
        "tens(__import__('os').getpid())",
        "tens(9**9**9)",
        "lens(5)",
        "tens(5)\nplease",
        "```python\n```",
    ),
    *(fenced("print(5)"), fenced("def twice(n):\n    return 2 * n"), "tens == 5", "(" * 4096, "5", "(5)", "tens 5"),
]


@pytest.mark.parametrize("action", NEITHER)
def test_what_is_neither_a_program_nor_a_call_uses_up_a_turn_and_no_more(action: str):
    env = at(replace(STATE, best=5, feedback="It was so."), backend=NONE)
    observation, reward, terminated, truncated, info = env.step(action)
    assert info["action_error"] == (
        "Write either the whole function tens in a block of Python code, or a call with each argument written out, "
        "such as tens(0)."
    )
    assert observation == f"{info['action_error']}\nIt was so.\nYou have 3 turns left."
    assert (reward, terminated, truncated, info["is_success"], info["progress"]) == (0.0, False, False, False, 0.5)
    assert env.here() == replace(STATE, best=5, feedback="It was so.", turns=3)


@pytest.mark.parametrize("action", [None, 3, "", " \n", "x" * 70_000, fenced(PROGRAM.source) + " " * 1_000_000])
def test_what_cannot_be_read_is_a_turn_too(action: Any):
    env = at(replace(STATE, best=5, feedback="It was so.", turns=2), backend=NONE)
    observation, reward, _, truncated, info = env.step(action)
    assert observation == f"{info['action_error']}\nIt was so.\nYou have one turn left."
    assert (reward, truncated, info["progress"]) == (0.0, False, 0.5)
    observation, _, terminated, truncated, _ = env.step(action)
    assert observation.endswith("\nYou have no turn left.")
    assert (terminated, truncated) == (False, True)


def test_before_the_first_turn_that_is_read_the_prompt_stays():
    env, prompt = made(turns=3)
    assert prompt.count("You have 3 turns left.") == 1
    observation, *_, info = env.step("Well.")
    assert observation == f"{info['action_error']}\n" + prompt.replace("You have 3 turns", "You have 2 turns")


@needs_sandbox
@pytest.mark.parametrize("turns", range(2, 7))
def test_the_episode_is_truncated_with_the_last_turn_and_progress_stays(turns: int):
    assert made(turns=turns)[0].here().turns == turns
    env = at(replace(STATE, turns=turns))
    for turn in range(turns):
        action = (passing(0, 1, 2, 3, 4), passing(0), "tens(1)", "what?", "tens(2)", passing())[turn]
        observation, _, terminated, truncated, info = env.step(action)
        assert (terminated, truncated) == (False, turn == turns - 1)
        assert info["progress"] == 0.5
    assert observation.endswith("You have no turn left.")
    assert info["is_success"] is False


@needs_sandbox
def test_a_program_that_is_right_in_the_last_turn_succeeds():
    env = at(STATE, graded=True)
    _, progress, _ = play(env, "tens(1)", "what?", passing(1, 2, 3))
    *_, terminated, truncated, info = env.step(env.oracle())
    assert progress == pytest.approx([0, 0, 1 / 6])
    assert (terminated, truncated, info["is_success"]) == (True, False, True)


# What it pays.


@needs_sandbox
def test_the_reward_needs_all_the_tests():
    rewards, progress, info = play(
        at(STATE), passing(0, 1, 2, 3, 4), passing(0, 1, 2, 3, 4, 5, 6), passing(0), fenced(PROGRAM.source)
    )
    assert rewards == [0.0, 0.0, 0.0, 1.0]
    assert progress == pytest.approx([3 / 6, 5 / 6, 5 / 6, 1.0])
    assert info["reward_terms"] == {"tests": 1.0}


@needs_sandbox
def test_graded_reward_is_for_tests_that_no_program_passed_before():
    half, less, most = passing(0, 1, 2, 3, 4), passing(0, 1), passing(*range(1, 8))
    state = replace(STATE, turns=6)
    rewards, progress, _ = play(at(state, graded=True), fenced(BUGGY), half, half, less, half, most)
    assert rewards == pytest.approx([0, 3 / 6, 0, 0, 0, 2 / 6])
    assert progress == pytest.approx([0, 3 / 6, 3 / 6, 3 / 6, 3 / 6, 5 / 6])
    rewards, progress, _ = play(at(state, graded=True), passing(), most, less, fenced(PROGRAM.source))
    assert rewards == pytest.approx([0, 5 / 6, 0, 1 / 6])


def test_graded_sums_to_exactly_1_by_whatever_steps(monkeypatch: pytest.MonkeyPatch):
    env = ProgramDebugging(graded=True)
    for given in range(8):
        for steps in itertools.chain.from_iterable(
            itertools.combinations(range(given + 1, 8), size) for size in range(8 - given)
        ):
            state, paid = replace(STATE, given=given, best=given, turns=9), 0.0
            for count in (*steps, 8):
                told = ProgramJudgement(("",) * count + ("wrong",) * (8 - count), "Told.")
                monkeypatch.setattr(program_debugging, "run_tests", lambda *_, told=told, **__: told)
                done = env.act(state, PROGRAM.source)
                state, paid = done.state, paid + sum(done.terms.values())
                assert 0.0 <= paid <= 1.0
            assert done.success
            assert paid == 1.0


@needs_sandbox
@pytest.mark.parametrize("graded", [False, True])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_programs_get_no_reward_and_are_valid(name: str, graded: bool):
    env = at(STATE, graded=graded, seconds=0.3)
    _, reward, terminated, _, info = env.step(HOSTILE[name].format(name="tens"))
    assert (reward, terminated, info["is_success"], info["progress"]) == (0.0, False, False, 0.0)
    assert info["reward_valid"]


@pytest.mark.parametrize("action", ["tens(5)", fenced(PROGRAM.source)])
def test_a_lost_sandbox_takes_a_turn_and_nothing_else(action: str, monkeypatch: pytest.MonkeyPatch):
    lost = ProgramJudgement(("",) * 8, "All 8 tests passed.", valid=False)
    monkeypatch.setattr(program_debugging, "run", lambda *_, **__: LOST)
    monkeypatch.setattr(program_debugging, "run_tests", lambda *_, **__: lost)
    state = replace(STATE, best=5, feedback="It was so.")
    env = at(state, graded=True)
    observation, reward, terminated, _, info = env.step(action)
    assert (reward, terminated, info["reward_valid"], info["is_success"]) == (0.0, False, False, False)
    assert (info["progress"], observation) == (0.5, "It was so.\nYou have 3 turns left.")
    assert env.here() == replace(state, turns=3)


def test_a_sandbox_that_does_not_start_makes_the_turn_invalid():
    for action in ("tens(5)", fenced(PROGRAM.source)):
        env = at(STATE, backend=NONE)
        _, reward, terminated, _, info = env.step(action)
        assert (reward, terminated, info["reward_valid"]) == (0.0, False, False)
        assert info["feedback"] == "the sandbox 'none' does not start."
    with pytest.raises(InputError, match="seconds"):
        made(seconds=0)


@needs_sandbox
def test_acting_depends_on_its_arguments_alone():
    env, before = at(STATE), replace(STATE)
    for action in (passing(1), "tens(1)", "neither"):
        once = env.act(STATE, action)
        env.act(once.state, passing(1, 2, 3))
        assert env.act(STATE, action) == once
        assert (once.state.turns, STATE) == (3, before)


@pytest.mark.parametrize("text", ["tens(" * 800, "tens(" + "1," * 2000 + ")", "tens" + " " * 4090, "tens =" * 680])
def test_hostile_actions_are_read_in_bounded_time(text: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(program_debugging, "run_tests", lambda *_, **__: ProgramJudgement(("wrong",) * 8, "No."))
    monkeypatch.setattr(program_debugging, "run", lambda *_, **__: LOST)
    family, began = ProgramDebugging(), time.process_time()
    for _ in range(20):
        family.act(STATE, text)
    assert time.process_time() - began < 1.0
