"""A user's own subclass of one of MiniGrid's classes, registered with Gymnasium, played by our engine and in text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import palaestra  # registers the ids
import pytest
from minigrid.core.grid import Grid
from minigrid.core.mission import MissionSpace
from minigrid.core.world_object import Ball, Box, Door, Goal, Key, Wall
from minigrid.envs.babyai.core.roomgrid_level import RoomGridLevel
from minigrid.envs.babyai.core.verifier import BeforeInstr, GoToInstr, ObjDesc, PickupInstr
from minigrid.envs.fetch import FetchEnv
from minigrid.minigrid_env import MiniGridEnv
from palaestra.envs.grids.own_levels import find_family
from palaestra.errors import InputError

assert palaestra


class Vault(MiniGridEnv):
    """A goal behind a locked door with a ball before it; the key lies in a box."""

    def __init__(self, size: int = 9, **kwargs: Any):
        space = MissionSpace(mission_func=lambda: "open the vault")
        super().__init__(mission_space=space, grid_size=size, max_steps=150, **kwargs)

    def _gen_grid(self, width: int, height: int) -> None:
        self.grid = Grid(width, height)
        self.grid.wall_rect(0, 0, width, height)
        self.grid.vert_wall(5, 0)
        row = self._rand_int(1, height - 1)
        self.put_obj(Door("blue", is_locked=True), 5, row)
        self.put_obj(Ball("red"), 4, row)
        self.place_obj(Box("grey", Key("blue")), size=(5, height), reject_fn=lambda env, cell: cell[0] == 4)
        self.put_obj(Goal(), width - 2, height - 2)
        self.place_agent(size=(5, height))
        self.mission = "open the vault"


class ShortFetch(FetchEnv):
    """Fetch with another limit, and walls that hide."""

    def __init__(self, **kwargs: Any):
        super().__init__(size=7, numObjs=3, max_steps=30, **kwargs)
        self.see_through_walls = False


class Tour(RoomGridLevel):
    """A level of BabyAI's, in its language."""

    def __init__(self, **kwargs: Any):
        super().__init__(room_size=5, num_rows=1, num_cols=2, **kwargs)

    def gen_mission(self) -> None:
        self.add_door(0, 0, 0, "red", locked=False)
        self.add_object(1, 0, "ball", "green")
        self.place_agent(0, 0)
        self.instrs = BeforeInstr(GoToInstr(ObjDesc("door")), PickupInstr(ObjDesc("ball")))


class Greedy(Vault):
    def step(self, action: Any) -> Any:
        return super().step(action)


class Painted(Vault):
    def _gen_grid(self, width: int, height: int) -> None:
        super()._gen_grid(width, height)
        self.put_obj(Wall("red"), 1, 1)


class Small(Vault):
    def _reward(self) -> float:
        return 0.5


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    classes = (Vault, ShortFetch, Tour, Greedy, Painted, Small)
    for each in classes:
        gym.register(f"Own-{each.__name__}-v0", each)
    yield
    for each in classes:
        del gym.registry[f"Own-{each.__name__}-v0"]


def make(name: str, **kwargs: Any) -> Any:
    return gym.make(name, disable_env_checker=True, **kwargs).unwrapped


@pytest.mark.parametrize(("name", "family"), [("Vault", "BlockMaze"), ("ShortFetch", "Fetch"), ("Tour", "BabyAI")])
def test_own_levels_play_as_with_minigrid_and_the_oracle_solves_them(name: str, family: str):
    name = f"Own-{name}-v0"
    assert find_family(name) == family
    theirs, ours = make(name), make(f"palaestra/{family}-v0", minigrid=name, split="all")
    text, won = make(f"palaestra/{family}Text-v0", minigrid=name, split="all"), []
    rng = np.random.default_rng(0)
    for seed in range(4):
        seen, mine = theirs.reset(seed=seed)[0], ours.reset(seed=seed)[0]
        assert ours.max_steps == theirs.max_steps
        assert seen["mission"].split()[0] in text.reset(seed=seed)[0].lower()
        assert text.here().world == ours.here()
        over = False
        while not over:
            assert np.array_equal(seen["image"], mine["image"])
            assert (seen["direction"], seen["mission"]) == (mine["direction"], mine["mission"])
            action = int(rng.integers(6)) if seed == 0 else ours.oracle()
            seen, reward, terminated, truncated, _ = theirs.step(action)
            mine, own_reward, own_terminated, own_truncated, info = ours.step(action)
            assert (own_reward, own_terminated, own_truncated) == (reward, terminated, truncated)
            over = terminated or truncated
        won.append(info["is_success"])
    assert won[1:] == [True] * 3


def test_an_own_level_is_split_by_content():
    train = make("palaestra/BlockMaze-v0", minigrid="Own-Vault-v0")
    test = make("palaestra/BlockMaze-v0", minigrid="Own-Vault-v0", split="test")
    ids = [{env.reset(seed=seed)[1]["task_id"] for seed in range(8)} for env in (train, test)]
    assert not ids[0] & ids[1]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Greedy", "Greedy has its own step, which our steps would ignore"),
        ("Small", "Small has its own _reward"),
        ("Painted", "not a red Wall of type 'wall'"),
    ],
)
def test_what_our_engine_would_play_wrongly_is_refused(name: str, words: str):
    with pytest.raises(InputError, match=words):
        make("palaestra/BlockMaze-v0", minigrid=f"Own-{name}-v0", split="all").reset(seed=0)


def test_an_id_that_is_not_minigrids_is_refused():
    with pytest.raises(InputError, match="is no id of a subclass of MiniGrid's"):
        make("palaestra/BlockMaze-v0", minigrid="CartPole-v1")
    with pytest.raises(InputError, match="id of MiniGrid's for Fetch"):
        make("palaestra/Fetch-v0", minigrid="Own-Vault-v0")
