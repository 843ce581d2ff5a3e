"""Functions as agents: what they may take, and how they are called."""

from __future__ import annotations

import asyncio
import functools
import re
import threading
import time

import pytest
from palaestra import evaluate
from palaestra.agents import AgentError, CallableAgent

GUESS = "palaestra/GuessNumber-v0"
ARITHMETIC = "palaestra/Arithmetic-v0"


def add_up(observation: str) -> str:
    return str(sum(int(number) for number in re.findall(r"\d+", observation)))


def test_a_parameter_called_messages_receives_the_conversation():
    conversations = []

    def guess(messages):
        conversations.append(messages)
        return str(len(messages))

    evaluate(guess, GUESS, episodes=2, difficulties=[0.5], num_envs=1)
    longest = max(conversations, key=len)
    assert [message["role"] for message in longest] == (["user", "assistant"] * len(longest))[: len(longest)]
    assert [message["content"] for message in longest[1::2]] == [str(at) for at in range(1, len(longest), 2)]
    assert sum(len(messages) == 1 for messages in conversations) == 2  # a new one with each episode


def test_the_conversation_is_the_functions_own():
    lengths = []

    def vandal(messages):
        lengths.append(len(messages))
        messages.clear()
        return "1"

    evaluate(vandal, GUESS, episodes=1, difficulties=[0.5])
    assert lengths == list(range(1, 2 * len(lengths), 2))


def test_a_parameter_called_info_receives_it_without_the_reference():
    seen = []

    def answer(observation, info):
        seen.append(info)
        return "1"

    evaluate(answer, ARITHMETIC, episodes=1)
    assert "task_id" in seen[0]
    assert "extras" not in seen[0]


def count_up(observation):
    for number in range(1, 1000):
        yield str(number)


async def count_up_slowly(observation):
    for number in range(1, 1000):
        await asyncio.sleep(0)
        yield str(number)


class CountsUp:
    def __call__(self, observation):
        return (yield from count_up(observation))


@pytest.mark.parametrize("agent", [count_up, count_up_slowly, CountsUp(), functools.partial(count_up)])
def test_a_generator_lives_as_long_as_its_episode(agent):
    def by_conversation(messages):
        return str(len(messages) // 2 + 1)

    one = evaluate(agent, GUESS, episodes=6, num_envs=3)
    other = evaluate(by_conversation, GUESS, episodes=6, num_envs=3)
    assert (one.success, one.length) == (other.success, other.length)
    assert one.length.mean > 2


def test_a_generator_that_ends_early_fails_its_episode():
    def once(observation):
        yield "1"

    with pytest.raises(AgentError, match="its generator ended before the episode did"):
        evaluate(once, GUESS, episodes=2, difficulties=[1.0])


def test_a_plain_function_is_called_in_as_many_threads_as_asked():
    together = threading.Barrier(4, timeout=60)
    first = set()

    def answer(observation):
        if len(first) < 4:
            first.add(observation)
            together.wait()
        return add_up(observation)

    report = evaluate(answer, ARITHMETIC, episodes=4, concurrency=4)
    assert report.success == evaluate(add_up, ARITHMETIC, episodes=4).success


def test_a_plain_function_is_called_in_the_callers_thread_by_default():
    threads = set()
    evaluate(lambda observation: threads.add(threading.get_ident()) or "1", ARITHMETIC, episodes=9)
    assert threads == {threading.get_ident()}


def test_a_function_may_run_an_event_loop_of_its_own():
    report = evaluate(lambda observation: asyncio.run(asyncio.sleep(0, "1")), ARITHMETIC, episodes=3)
    assert report.errored == 0


def test_evaluate_works_inside_a_running_event_loop():
    async def notebook():
        async def answer(observation):
            await asyncio.sleep(0)
            return add_up(observation)

        return evaluate(answer, ARITHMETIC, episodes=6)

    assert asyncio.run(notebook()).success == evaluate(add_up, ARITHMETIC, episodes=6).success


@pytest.mark.parametrize("num_envs", [1, 3, 16])
def test_the_result_does_not_depend_on_how_many_wait_side_by_side(num_envs):
    async def slow(messages):
        await asyncio.sleep(0.001 * (hash(messages[-1]["content"]) % 5))
        return str(len(messages))

    assert evaluate(slow, GUESS, episodes=12, num_envs=num_envs) == evaluate(slow, GUESS, episodes=12, num_envs=2)


def test_a_slow_episode_holds_up_no_other():
    # The first observation waits until all others have been answered; in lockstep it would wait forever.
    answered = 0

    async def answer(observation):
        nonlocal answered
        mine, answered_before = observation == first, answered
        if mine:
            end = time.monotonic() + 60
            while answered < 11 and time.monotonic() < end:
                await asyncio.sleep(0.001)
            assert answered == 11, answered_before
        answered += 1
        return add_up(observation)

    observations = []
    evaluate(lambda observation: observations.append(observation) or "1", ARITHMETIC, episodes=1)
    seen = []
    evaluate(lambda observation: seen.append(observation) or "1", ARITHMETIC, episodes=12)
    first = seen[0]
    assert evaluate(answer, ARITHMETIC, episodes=12, num_envs=3).errored == 0


def test_act_asks_all_slots_and_names_the_one_that_failed():
    agent = CallableAgent(lambda number: 6 // number)
    assert agent.act([1, 2, 0], [{}, {}, {"idle": True}]) == [6, 3, None]
    with pytest.raises(AgentError, match="ZeroDivisionError") as caught:
        agent.act([1, 0], [{}, {}])
    assert caught.value.slot == 1
