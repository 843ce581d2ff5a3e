"""Games that hide something: neither the name of a task nor its split says what."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs.games.minesweeper import neighbours
from palaestra.envs.splits import salt, split_of

# What is hidden in the start state, for the easiest tasks of a family.
HIDDEN = {
    "GuessNumber": lambda state: state.secret,
    "Hangman": lambda state: state.secret,
    "Wordle": lambda state: (state.secret, state.shown),
    "Mastermind": lambda state: state.secret,
}


def make(name: str, **kwargs: Any) -> Any:
    return gym.make(f"palaestra/{name}-v0", disable_env_checker=True, **kwargs).unwrapped


@pytest.mark.parametrize("name", HIDDEN)
def test_tasks_with_the_same_secret_have_different_ids_so_that_none_can_be_looked_up(name: str):
    env = make(name, difficulty=0.0, split="all")
    ids = defaultdict(list)
    for seed in range(150):
        _, info = env.reset(seed=seed)
        ids[HIDDEN[name](env.here())].append(info["task_id"])
    again = [known for known in ids.values() if len(known) > 1]
    assert again
    assert all(len(set(known)) == len(known) for known in again)


@pytest.mark.parametrize("name", ["TwentyQuestions", "Minesweeper", "GameableRewardFile"])
def test_what_is_hidden_behind_a_text_cannot_be_told_from_the_id_by_trying(name: str):
    env = make(name, difficulty=0.0)
    env.reset(seed=0)
    state = env.here()
    assert len(state.salt) == 16
    assert env.content_of(replace(state, salt="0" * 16)) != env.content_of(state)
    env.reset(seed=1)
    assert env.here().salt != state.salt


@pytest.mark.parametrize("split", ["train", "test"])
def test_every_number_is_hidden_in_either_split(split: str):
    env = make("GuessNumber", bits=4, split=split)
    secrets = set()
    for seed in range(150):
        env.reset(seed=seed)
        secrets.add(env.here().secret)
    assert secrets == set(range(1, 17))


@pytest.mark.parametrize("name", HIDDEN)
def test_every_secret_can_be_drawn_in_both_splits(name: str):
    env, rng = make(name), np.random.default_rng(0)
    starts = {HIDDEN[name](state): state for state in (env.start(rng, env.param_space.at(0.0)) for _ in range(300))}
    assert len(starts) > 15
    for state in starts.values():
        sides = {split_of(env.content_of(replace(state, salt=salt(rng)))) for _ in range(60)}
        assert sides == {"train", "test"}


def test_a_table_of_items_is_in_one_split_whatever_item_is_hidden():
    env = make("TwentyQuestions", difficulty=0.0, split="test")
    for seed in range(5):
        env.reset(seed=seed)
        state = env.here()
        sides = {split_of(env.split_key(replace(state, secret=secret))) for secret in range(len(state.names))}
        assert sides == {"test"}


def test_boards_of_mines_that_look_alike_at_the_start_are_in_one_split():
    env = make("Minesweeper", difficulty=0.5, size=8)
    alike = 0
    for seed in range(20):
        env.reset(seed=seed)
        state = env.here()
        beside = sum(1 << cell for cell in range(64) if neighbours(8)[cell] & state.opened)
        unseen = [cell for cell in range(64) if not (beside | state.opened) >> cell & 1]
        mines = [cell for cell in unseen if state.mines >> cell & 1]
        if mines and len(mines) < len(unseen):
            free = next(cell for cell in unseen if cell not in mines)
            other = replace(state, mines=state.mines ^ (1 << mines[0]) ^ (1 << free))
            assert env.observe(other) == env.observe(state)
            assert env.split_key(other) == env.split_key(state)
            assert env.content_of(other) != env.content_of(state)
            alike += 1
    assert alike > 5


def test_the_same_seed_hides_the_same_secret_under_the_same_id():
    for name in HIDDEN:
        env, other = make(name), make(name)
        assert env.reset(seed=3)[1] == other.reset(seed=3)[1]
        assert env.here() == other.here()
