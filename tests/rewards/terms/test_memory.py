"""Mem-alpha's reward: numbers worked out by hand, and scripted agents in the environment."""

from __future__ import annotations

import gymnasium as gym
import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, Recording, Step, make


def episode(worked, placed, progress=1.0, memory=200, source=1000, **changes) -> Episode:
    steps = tuple(Step("text", "nothing", 0.0, {"answers": 0.0}, 3) for _ in worked)
    extras = {"memory_length": memory, "source_length": source, "memory_calls": worked, "memory_stores": placed}
    return Episode("t", {}, steps, progress == 1.0, progress, True, False, None, extras | changes)


def test_two_hundred_characters_of_a_thousand_are_worth_four_hundredths():
    assert make("mem-alpha")(episode([[True]], [[True]])).terms["compression"] == pytest.approx(0.04)


def test_an_empty_memory_gets_all_of_compression_and_nothing_else():
    verdict = make("mem-alpha")(episode([[], []], [[], []], progress=0.0, memory=0))
    assert verdict.terms == {"answers": 0.0, "tools": 0.0, "compression": 0.05, "content": 0.0}


def test_terms_and_steps_by_hand():
    # Two of three steps have commands: 1/2 and 1/1 worked, mean .75. One step wrote: 1/2 in place, mean .5, times .1.
    reward = make("mem-alpha")
    verdict = reward(episode([[True, False], [], [True]], [[True, False], [], []], progress=0.5))
    assert verdict.terms == pytest.approx({"answers": 0.5, "tools": 0.75, "compression": 0.04, "content": 0.05})
    assert verdict.reward == pytest.approx(1.34)
    assert verdict.steps["tools"] == pytest.approx((0.25, 0.0, 0.5))
    assert verdict.steps["content"] == pytest.approx((0.05, 0.0, 0.0))


@pytest.mark.parametrize("name", ["memory_length", "source_length", "memory_calls", "memory_stores"])
def test_what_is_not_known_is_invalid(name):
    assert not make("mem-alpha")(episode([[True]], [[True]], **{name: None})).valid


def test_lists_of_another_length_are_refused():
    with pytest.raises(InputError, match="'memory_calls' must be one list of bools for each of 1 steps"):
        make("mem-alpha")(episode([[True]], [[True]], memory_calls=[]))


def play(agent, **axes):
    """Rewards of an agent in the environment: the mean terms of ten episodes."""
    env = gym.make("palaestra/MemoryStores-v0", **axes)
    found = []
    for seed in range(10):
        observation, info = env.reset(seed=seed)
        recording = Recording(observation, info)
        while not recording.over:
            action = agent(env, recording.observation)
            recording.add(action, env.step(action))
        found.append(make("mem-alpha")(recording.episode()).terms)
    return {name: sum(terms[name] for terms in found) / len(found) for name in found[0]}


def text_of(observation: str) -> str:
    return observation.partition("Text ")[2].split("\n")[1]


def test_storing_everything_answers_everything_and_is_not_short():
    terms = play(lambda env, seen: f"insert episodic {text_of(seen)}", slack=40, filler=3)
    assert terms["answers"] == 1.0
    assert terms["compression"] <= 0.0
    assert terms["tools"] == 1.0


def test_storing_everything_does_not_fit_where_room_is_short():
    terms = play(lambda env, seen: f"insert episodic {text_of(seen)}", slack=1.2, texts=6, filler=3)
    assert terms["answers"] < 0.5
    assert terms["tools"] < 0.5


def test_short_notes_in_their_stores_earn_nearly_all():
    terms = play(lambda env, seen: env.unwrapped.oracle(), slack=1.2, filler=5)
    assert (terms["answers"], terms["tools"], terms["content"]) == pytest.approx((1.0, 1.0, 0.1))
    assert terms["compression"] > 0.03


def test_notes_in_the_wrong_store_are_answered_and_lose_content():
    def swap(env, seen):
        return env.unwrapped.oracle().replace("insert semantic", "insert episodic").replace("core", "insert episodic")

    terms = play(swap, slack=40)
    assert terms["answers"] == 1.0
    assert terms["content"] < 0.07
