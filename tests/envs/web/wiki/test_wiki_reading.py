"""WikiReading: the sentences suffice, worlds belong to one split, and answers are judged with all their names."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import palaestra
import pytest
from palaestra.envs.splits import split_of
from palaestra.envs.web.wiki.corpus import strip_links
from palaestra.envs.web.wiki.wiki_reading import draw_world, find_sentence, world_key
from palaestra.errors import InputError


def made(**kwargs: Any) -> Any:
    return gym.make("palaestra/WikiReading-v0", disable_env_checker=True, **kwargs).unwrapped


def test_the_prompt_has_every_sentence_that_the_answer_needs_among_others():
    env = made()
    for seed in range(40):
        prompt, info = env.reset(seed=seed)
        task = env.here()
        shown = prompt.split("\n\n")[0].split("\n")[1:]
        corpus = task.data.corpus
        for fact in task.data.facts:
            page = corpus.articles[fact.at]
            text = strip_links(page.sentences[find_sentence(corpus, fact)].text, titles=True)
            assert f"{page.title}: {text}" in shown
        assert len(shown) > len({(fact.at, fact.relation) for fact in task.data.facts})
        assert len(set(shown)) == len(shown)
        assert len(prompt) <= 2000
        assert info["extras"]["solution_steps"][-1] == info["extras"]["reference"]


def test_a_world_of_the_test_split_is_never_met_in_training():
    worlds = {}
    for split in ("train", "test"):
        env = made(split=split)
        worlds[split] = set()
        for seed in range(60):
            env.reset(seed=seed)
            worlds[split].add(env.here().data.seed)
    assert len(worlds["train"]) > 10
    assert len(worlds["test"]) > 2
    assert not worlds["train"] & worlds["test"]
    assert all(split_of(world_key(seed)) == split for split, seeds in worlds.items() for seed in seeds)


def test_any_number_of_worlds_may_be_asked_for():
    env = made(worlds=10**9, size=0)
    assert len({env.reset(seed=seed) and env.here().data.seed for seed in range(30)}) == 30
    with pytest.raises(InputError, match="worlds"):
        made(worlds=0)
    alone = made(worlds=1, split="train")
    assert alone.reset(seed=0)
    with pytest.raises(InputError, match="worlds"):
        made(worlds=1, split="test").reset(seed=0)


def test_draws_are_the_same_whatever_was_drawn_before():
    one, other = made(), made()
    one.reset(seed=3)
    assert one.reset(seed=9)[0] == other.reset(seed=9)[0]
    assert draw_world.__module__ == type(one).__module__


@pytest.mark.parametrize("kind", ["bridge", "count"])
def test_answers_are_judged_and_what_is_none_is_told(kind: str):
    env = made(kind=kind, difficulty=0.0)
    for seed in range(10):
        env.reset(seed=seed)
        answer = env.oracle(env.here())
        assert env.step(f"The answer is **{answer}**.")[4]["is_success"]
        env.reset(seed=seed)
        info = env.step("no idea at all")[4]
        assert info["action_error"]
        assert not info["is_success"]


def test_it_serves_as_a_question_with_tools():
    env: Any = gym.make("palaestra/ToolUse-v0", of="palaestra/WikiReading-v0", tools=["search", "open"])
    env.reset(seed=2, options={"params": {"level": 0.5, "calls": 4}})
    title = env.unwrapped.here().task.data.named[0][1]
    assert "1. " in env.step(f"search[{title}]")[0]
    assert env.step("open[No such page]")[4]["extras"]["tool_errors"] == [False, True]
    assert env.step(env.unwrapped.oracle())[4]["is_success"]
    plain: Any = gym.make("palaestra/ToolUse-v0", of="palaestra/Arithmetic-v0", tools=["search"])
    plain.reset(seed=0)
    assert "no encyclopaedia" in plain.step("search[x]")[4]["action_error"]
    assert palaestra.envs.ids()
