"""Observations as arrays."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from palaestra.agents.students.observations import WORDS, ObservationCode, count_words
from palaestra.envs.unicode import Unicode
from palaestra.errors import InputError


def test_minigrid_has_cells_and_a_vector_of_direction_and_mission():
    env = gym.make("palaestra/DoorKey-v0", size=5)
    first, second = env.reset(seed=0)[0], env.reset(seed=1)[0]
    code = ObservationCode(env.observation_space)
    assert code.shapes == {"cells": (7, 7, 3), "vector": (4 + WORDS,)}
    found = code.encode([first, second])
    np.testing.assert_array_equal(found["cells"], np.stack([first["image"], second["image"]]))
    np.testing.assert_array_equal(found["vector"][:, :4].argmax(1), [first["direction"], second["direction"]])
    np.testing.assert_array_equal(found["vector"][0, 4:], count_words(first["mission"]))


def test_numbers_with_bounds_are_scaled_and_others_kept():
    space = spaces.Box(np.array([0.0, -np.inf]), np.array([4.0, np.inf]), dtype=np.float64)
    found = ObservationCode(space).encode([np.array([0.0, 7.0]), np.array([3.0, -2.0])])
    np.testing.assert_array_equal(found["vector"], [[-1.0, 7.0], [0.5, -2.0]])
    assert found["vector"].dtype == np.float32


def test_choices_are_one_hot_vectors_from_their_first_value():
    space = spaces.Tuple([spaces.Discrete(3, start=5), spaces.MultiDiscrete([2, 2]), spaces.MultiBinary(2)])
    found = ObservationCode(space).encode([(6, np.array([1, 0]), np.array([0, 1], dtype=np.int8))])
    np.testing.assert_array_equal(found["vector"], [[0, 1, 0, 0, 1, 1, 0, 0, 1]])


def test_large_images_are_pixels():
    space = spaces.Dict({"camera": spaces.Box(0, 255, (64, 48, 3), np.uint8)})
    assert ObservationCode(space).shapes == {"pixels": (64, 48, 3)}


def test_the_order_of_words_counts():
    assert not np.array_equal(count_words("the key by the ball"), count_words("the ball by the key"))
    np.testing.assert_array_equal(count_words("Open  the door"), count_words("open the door"))


@pytest.mark.parametrize("space", [Unicode(10), spaces.Text(5), spaces.Dict({"said": Unicode(3)})])
def test_text_alone_is_refused(space):
    with pytest.raises(InputError, match="shows text only"):
        ObservationCode(space)


def test_a_graph_is_refused():
    with pytest.raises(InputError, match="cannot look at Graph"):
        ObservationCode(spaces.Graph(spaces.Discrete(2), None))
