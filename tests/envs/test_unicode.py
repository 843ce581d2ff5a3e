from __future__ import annotations

import copy
import json
import multiprocessing
import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces.utils import flatten, flatten_space, unflatten
from gymnasium.vector import utils as vector
from gymnasium.wrappers import DelayObservation, FrameStackObservation
from gymnasium.wrappers.utils import create_zero_array
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra.envs import Unicode
from palaestra.errors import InputError

untimed = settings(deadline=None)
any_text = st.text(alphabet=st.characters(), max_size=20)


@untimed
@given(any_text)
def test_contains_any_text_up_to_the_length(text: str):
    assert Unicode(20).contains(text)
    assert Unicode(len(text)).contains(text)
    assert not Unicode(len(text)).contains(text + "x")


@pytest.mark.parametrize("value", [None, 3, b"abc", ["a"], np.array("a")])
def test_contains_nothing_but_text(value: object):
    assert not Unicode(20).contains(value)


def test_samples_are_in_the_space_and_follow_its_seed():
    first, second = Unicode(12, seed=3), Unicode(12, seed=3)
    samples = [first.sample() for _ in range(50)]
    assert samples == [second.sample() for _ in range(50)]
    assert all(first.contains(sample) for sample in samples)
    assert len(set(samples)) > 30
    assert Unicode(0, seed=1).sample() == ""


def test_a_mask_has_no_meaning():
    with pytest.raises(InputError, match="mask"):
        Unicode(5).sample(mask=(None, None))


@pytest.mark.parametrize("length", [-1, 2.5, None, True, "9"])
def test_a_length_that_is_none_is_refused(length: object):
    with pytest.raises(InputError, match="max_length"):
        Unicode(length)  # type: ignore[arg-type]


def test_equality_pickling_and_json():
    space = Unicode(9)
    assert space == Unicode(9) != Unicode(8)
    assert pickle.loads(pickle.dumps(space)) == space
    samples = [space.sample() for _ in range(3)]
    assert space.from_jsonable(json.loads(json.dumps(space.to_jsonable(samples)))) == samples


@untimed
@given(st.lists(any_text, min_size=3, max_size=3))
def test_shared_memory_gives_back_what_was_written(texts: list[str]):
    space = Unicode(20)
    memory = vector.create_shared_memory(space, n=3, ctx=multiprocessing)
    view = vector.read_from_shared_memory(space, memory, n=3)
    assert copy.deepcopy(view) == ("", "", "")
    for index, text in enumerate(texts):
        vector.write_to_shared_memory(space, index, text, memory)
    # The view is live: it was read once, before the writes.
    assert copy.deepcopy(view) == tuple(texts)
    assert view[1] == texts[1]
    assert view[-1] == texts[-1]


def test_a_shorter_text_leaves_nothing_of_a_longer_one():
    space = Unicode(8)
    memory = vector.create_shared_memory(space, n=1)
    view = vector.read_from_shared_memory(space, memory, n=1)
    for text in ("\U0001d7d9" * 8, "ab", ""):
        vector.write_to_shared_memory(space, 0, text, memory)
        assert tuple(view) == (text,)


def test_text_too_long_for_shared_memory_is_refused():
    memory = vector.create_shared_memory(Unicode(2), n=1)
    with pytest.raises(InputError, match="bytes"):
        vector.write_to_shared_memory(Unicode(2), 0, "123456789", memory)


def test_batches_are_tuples_of_texts():
    space = Unicode(5, seed=1)
    batch = vector.batch_space(space, 3)
    assert batch.contains(("a", "", "\u4e2d"))
    assert len(set(batch.sample())) > 1
    assert vector.create_empty_array(space, 3) == ("", "", "")
    assert vector.concatenate(space, ["a", "bc"], None) == ("a", "bc")  # type: ignore[arg-type]
    assert list(vector.iterate(batch, ("ab", "c", "d"))) == ["ab", "c", "d"]


def test_texts_pass_through_flattening_inside_a_dict():
    space = gym.spaces.Dict({"text": Unicode(5), "n": gym.spaces.Discrete(3)})
    value = {"text": "ab", "n": np.int64(2)}
    flat = flatten(space, value)
    assert flat["text"] == "ab"  # type: ignore[index]
    assert flatten_space(space).contains(flat)
    assert unflatten(space, flat) == value


@pytest.mark.parametrize("env_id", ["palaestra/Arithmetic-v0", "palaestra/FourRooms-v0", "palaestra/FourRoomsText-v0"])
def test_observations_can_be_stacked_and_delayed(env_id: str):
    for wrap in (
        lambda env: FrameStackObservation(env, 3),
        lambda env: FrameStackObservation(env, 3, padding_type="zero"),
        lambda env: DelayObservation(env, 2),
    ):
        env = wrap(gym.make(env_id, disable_env_checker=True))
        assert env.reset(seed=0)[0] in env.observation_space
        assert env.step("2" if isinstance(env.action_space, Unicode) else 0)[0] in env.observation_space
    assert create_zero_array(Unicode(5)) == ""
