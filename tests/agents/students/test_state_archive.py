"""Archives of states: what is kept of a cell, what is chosen, and that every way leads where it is said to."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401
import pytest
from palaestra.agents.students.state_archive import StateArchive, cell_of
from palaestra.errors import InputError


def make_archive(**options) -> StateArchive:
    return StateArchive(gym.make("palaestra/DoorKey-v0", size=5, **options), level=3)


def explore(archive: StateArchive, times: int, seed: int = 0) -> list[int]:
    """Explore with random actions; returns the number of cells after each time."""
    rng = np.random.default_rng(seed)
    sizes = []
    for _ in range(times):
        archive.explore(20, lambda: int(rng.integers(7)), rng)
        sizes.append(len(archive.cells))
    return sizes


def test_cells_only_become_more_and_every_way_leads_to_its_cell_for_what_it_earned():
    archive = make_archive()
    sizes = explore(archive, 150)
    assert sizes == sorted(sizes)
    assert sizes[-1] > 20
    for key, reached in zip(archive._number, archive.cells, strict=True):
        observation, _ = archive.env.reset(seed=archive.level)
        earned = 0.0
        for action in reached.way:
            observation, reward, *_ = archive.env.step(action)
            earned += float(reward)
        assert cell_of(archive.env, observation) == key
        assert earned == reached.reward


def test_the_solution_solves_the_level_and_gets_shorter():
    archive = make_archive()
    while archive.solution is None:
        explore(archive, 10, seed=len(archive.cells))
    first = len(archive.solution)
    explore(archive, 300, seed=1)
    archive.env.reset(seed=archive.level)
    steps = [archive.env.step(action) for action in archive.solution]
    assert not any(terminated or truncated for _, _, terminated, truncated, _ in steps[:-1])
    assert steps[-1][4]["is_success"]
    assert archive.solution_reward == sum(reward for _, reward, *_ in steps) > 0
    assert len(archive.solution) < first


def test_a_longer_way_never_replaces_one_that_earns_as_much_and_a_better_one_begins_its_counts_anew():
    archive = make_archive()
    archive.env.reset(seed=3)
    archive._meet(b"here", [1, 1], 0.5)
    archive._counts[0] = 7, 7
    archive._meet(b"here", [1, 1, 1], 0.5)
    assert archive.cells[0].way == [1, 1]
    assert archive._counts[0].tolist() == [7, 8]
    archive._meet(b"here", [2], 0.5)
    assert archive.cells[0].way == [2]
    assert archive._counts[0].tolist() == [0, 1]
    archive._meet(b"here", [3, 3, 3], 0.6)
    assert archive.cells[0].way == [3, 3, 3]


def test_cells_that_were_chosen_and_met_less_often_are_chosen_in_proportion():
    archive = make_archive()
    archive.env.reset(seed=3)
    for number, name in enumerate((b"a", b"b", b"c")):
        archive._meet(name, [number], 0.0)
    archive._counts[:3] = [[0, 0], [3, 3], [8, 8]]
    assert archive.weights() == pytest.approx([1.1, 1.1 / 2, 1.1 / 3])
    expected = archive.weights() / archive.weights().sum()
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(3000):
        archive._counts[:3] = [[0, 0], [3, 3], [8, 8]]
        drawn.append(archive.cells.index(archive._choose(rng)))
    assert np.bincount(drawn) / 3000 == pytest.approx(expected, abs=0.03)


def test_a_saved_archive_goes_on_alike():
    first, second = make_archive(), make_archive()
    explore(first, 20)
    second.load_state_dict(first.state_dict())
    explore(first, 20, seed=5)
    explore(second, 20, seed=5)
    assert first.state_dict() == second.state_dict()


def test_an_environment_that_cannot_be_set_to_a_state_is_refused():
    with pytest.raises(InputError, match="cannot be set to an earlier state"):
        StateArchive(gym.make("CartPole-v1"), level=0)
