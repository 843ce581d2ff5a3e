"""The claims of MiniGrid's own tests of its environments and wrappers, on our ids: on levels of our own, and beside
its ids of the same size."""

from __future__ import annotations

import types
from typing import Any

import gymnasium as gym
import numpy as np
import palaestra  # registers the ids
import pytest
from minigrid import wrappers
from minigrid.core.actions import Actions
from minigrid.core.grid import Grid
from minigrid.core.world_object import Ball, Box
from minigrid.manual_control import ManualControl
from palaestra.envs.grids.cells import ENCODING
from palaestra.envs.grids.minigrid_surface import read_level
from palaestra.envs.grids.tiles import make_object

IDS = ["palaestra/DoorKey-v0", "palaestra/ObstructedMaze-v0"]
SHARED: list[tuple[str, str, dict[str, Any]]] = [
    ("MiniGrid-DoorKey-6x6-v0", "DoorKey", {"size": 6, "obstacles": 0}),
    ("MiniGrid-FourRooms-v0", "FourRooms", {"size": 19}),
    ("MiniGrid-LavaGapS7-v0", "LavaGap", {"size": 7, "rivers": 1, "hazard": "lava"}),
    ("MiniGrid-SimpleCrossingS9N3-v0", "LavaGap", {"size": 9, "rivers": 3, "hazard": "wall"}),
    ("MiniGrid-MultiRoom-N2-S4-v0", "MultiRoom", {"rooms": 2, "room_size": 4}),
    ("MiniGrid-BlockedUnlockPickup-v0", "Unlock", {"task": "blocked", "room_size": 6, "distractors": 0}),
    ("MiniGrid-KeyCorridorS3R2-v0", "KeyCorridor", {"rows": 2, "room_size": 3}),
    ("MiniGrid-MemoryS7-v0", "HallwayMemory", {"half": 3, "length": "fixed"}),
    ("MiniGrid-Dynamic-Obstacles-6x6-v0", "MovingObstacles", {"size": 6, "obstacles": 3}),
    ("MiniGrid-ObstructedMaze-1Dlhb-v0", "ObstructedMaze", {"maze": "one door", "keys": "boxed", "doors": "blocked"}),
    ("MiniGrid-Fetch-8x8-N3-v0", "Fetch", {"size": 8, "things": 3}),
    ("MiniGrid-RedBlueDoors-8x8-v0", "RedBlueDoors", {"size": 8}),
    ("MiniGrid-LockedRoom-v0", "LockedRoom", {"size": 19}),
    ("BabyAI-GoToLocalS8N4-v0", "BabyAI", {"kind": "goto", "rooms": 1, "room_size": 8, "distractors": 4}),
]
side_by_side = pytest.mark.parametrize(("theirs", "name", "level"), SHARED, ids=[row[0] for row in SHARED])


def make_plain(env_id: str, **kwargs: Any) -> Any:
    return gym.make(env_id, disable_env_checker=True, **kwargs)


def make(env_id: str, **kwargs: Any) -> gym.Env[Any, Any]:
    return make_plain(env_id, difficulty=0.0, **kwargs)


def match(env: Any, seed: int = 0) -> Any:
    """A MiniGrid environment in the same state."""
    theirs: Any = gym.make("MiniGrid-DoorKey-5x5-v0", disable_env_checker=True).unwrapped
    theirs.reset(seed=seed)
    theirs.width, theirs.height, theirs.grid = env.width, env.height, env.grid
    theirs.agent_pos, theirs.agent_dir, theirs.carrying = env.agent_pos, env.agent_dir, env.carrying
    theirs.mission = env.mission
    return theirs


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize(
    "wrap",
    [
        wrappers.ImgObsWrapper,
        wrappers.OneHotPartialObsWrapper,
        wrappers.FullyObsWrapper,
        wrappers.SymbolicObsWrapper,
        lambda env: wrappers.ViewSizeWrapper(env, agent_view_size=5),
        lambda env: wrappers.RGBImgPartialObsWrapper(env, tile_size=4),
        lambda env: wrappers.RGBImgObsWrapper(env, tile_size=4),
    ],
)
def test_minigrids_wrappers_show_what_they_show_of_minigrid(env_id: str, wrap: Any):
    env = wrap(make(env_id))
    env.reset(seed=3)
    for action in (0, 2, 1, 3):
        seen = env.step(action)[0]
        theirs = wrap(match(env.unwrapped))
        wanted = theirs.observation(theirs.unwrapped.gen_obs())
        images = (seen, wanted) if isinstance(seen, np.ndarray) else (seen["image"], wanted["image"])
        assert np.array_equal(*images)


@pytest.mark.parametrize("env_id", IDS)
def test_pictures_and_texts_of_the_grid_are_minigrids(env_id: str):
    env: Any = make(env_id).unwrapped
    for seed in range(3):
        env.reset(seed=seed)
        theirs = match(env)
        assert np.array_equal(env.get_frame(tile_size=8), theirs.get_frame(tile_size=8))
        assert np.array_equal(env.get_frame(tile_size=8, agent_pov=True), theirs.get_frame(tile_size=8, agent_pov=True))
        assert env.pprint_grid() == theirs.pprint_grid()
        assert env.hash() == theirs.hash()


def test_a_level_survives_the_way_to_minigrid_and_back():
    env: Any = make("palaestra/ObstructedMaze-v0", keys="boxed").unwrapped
    for seed in range(5):
        env.reset(seed=seed)
        world = env.here()
        assert read_level(match(env), world.task, world.memo) == world
    assert make_object(0) is None


def test_the_agent_sees_the_goal_when_its_view_holds_it():
    env: Any = make("palaestra/DoorKey-v0").unwrapped
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    goal = (env.width - 2, env.height - 2)
    visible = set()
    for _ in range(200):
        action = int(rng.integers(7)) if rng.random() < 0.5 else env.oracle()
        observation, _, terminated, truncated, _ = env.step(action)
        grid, mask = Grid.decode(observation["image"])
        assert np.array_equal(grid.encode(mask), observation["image"])
        assert env.agent_sees(*goal) == (("green", "goal") in grid)
        visible.add(env.agent_sees(*goal))
        if terminated or truncated:
            env.reset()
    assert visible == {True, False}


@pytest.mark.parametrize("env_id", IDS)
def test_an_episode_has_as_many_steps_as_asked_for(env_id: str):
    env = make(env_id, max_steps=7)
    env.reset(seed=0)
    assert [env.step(Actions.done)[3] for _ in range(7)] == [False] * 6 + [True]
    with pytest.raises(palaestra.errors.InputError, match="max_steps"):
        make(env_id, max_steps=0)


def test_bonuses_for_rare_places_and_actions_count_visits():
    env = wrappers.PositionBonus(make("palaestra/BlockMaze-v0"))
    env.reset(seed=1)
    assert [env.step(0)[1] for _ in range(3)] == pytest.approx([1.0, 2**-0.5, 3**-0.5])
    env = wrappers.ActionBonus(make("palaestra/BlockMaze-v0"))
    env.reset(seed=1)
    assert [env.step(6)[1] for _ in range(3)] == pytest.approx([1.0, 2**-0.5, 3**-0.5])


def pair(theirs: str, name: str, level: dict[str, Any], **kwargs: Any) -> tuple[Any, Any]:
    return make_plain(theirs, **kwargs), make_plain(f"palaestra/{name}-v0", **level, **kwargs)


@side_by_side
def test_every_wrapper_gives_the_space_that_it_gives_minigrids_id(theirs: str, name: str, level: dict[str, Any]):
    for wrap in (
        wrappers.ImgObsWrapper,
        wrappers.OneHotPartialObsWrapper,
        lambda env: wrappers.RGBImgPartialObsWrapper(env, tile_size=2),
        lambda env: wrappers.RGBImgObsWrapper(env, tile_size=2),
        wrappers.FullyObsWrapper,
        wrappers.SymbolicObsWrapper,
        lambda env: wrappers.ViewSizeWrapper(env, agent_view_size=9),
        wrappers.FlatObsWrapper,
        wrappers.DictObservationSpaceWrapper,
    ):
        if name == "BabyAI" and wrap in (wrappers.FlatObsWrapper, wrappers.DictObservationSpaceWrapper):
            continue  # MiniGrid says that they do not take BabyAI's language.
        wanted, ours = (wrap(env) for env in pair(theirs, name, level))
        seen, _ = ours.reset(seed=1)
        stepped = ours.step(Actions.left)[0]
        if isinstance(wanted.observation_space, gym.spaces.Dict):
            assert list(ours.observation_space) == list(wanted.observation_space)
            assert ours.observation_space["image"] == wanted.observation_space["image"]
            assert seen["image"].shape == stepped["image"].shape == wanted.observation_space["image"].shape
        else:
            assert ours.observation_space == wanted.observation_space
            assert seen.shape == stepped.shape == wanted.observation_space.shape


@side_by_side
def test_missions_are_written_in_minigrids_words(theirs: str, name: str, level: dict[str, Any]):
    if name == "BabyAI":
        return
    ours = wrappers.DictObservationSpaceWrapper(pair(theirs, name, level)[1])
    ours.reset(seed=2)
    words = {number + 1: word for word, number in ours.word_dict.items()}
    told = " ".join(words[number] for number in ours.step(Actions.left)[0]["mission"] if number)
    assert told.replace(" ,", ",") == ours.unwrapped.mission


@side_by_side
def test_before_a_reset_the_agent_is_nowhere_and_the_grid_is_empty(theirs: str, name: str, level: dict[str, Any]):
    for env in pair(theirs, name, level):
        bare = env.unwrapped
        assert (bare.agent_pos, bare.agent_dir, bare.carrying) == (None, None, None)
        assert set(bare.grid.grid) == {None}
        assert env.spec.id in str(env)
        with pytest.raises(ValueError, match="hasn't been `reset`"):
            bare.pprint_grid()
        env.reset(seed=0)
        assert len(bare.pprint_grid().splitlines()) == bare.height == bare.grid.height


@side_by_side
def test_an_episode_is_as_long_as_asked_for(theirs: str, name: str, level: dict[str, Any]):
    for env in pair(theirs, name, level, max_steps=4):
        env.reset(seed=0)
        left, ends = [], []
        for _ in range(4):
            ends.append(env.step(Actions.left)[3])
            left.append(env.unwrapped.steps_remaining)
        assert (left, ends) == ([3, 2, 1, 0], [False, False, False, True])


@side_by_side
def test_pictures_are_of_the_same_size(theirs: str, name: str, level: dict[str, Any]):
    wanted, ours = pair(theirs, name, level, render_mode="rgb_array")
    wanted.reset(seed=0)
    ours.reset(seed=0)
    assert ours.render().shape == wanted.render().shape
    assert ours.render().dtype == np.uint8


@side_by_side
def test_an_episode_repeats_under_the_seeds_of_the_reseed_wrapper(theirs: str, name: str, level: dict[str, Any]):
    for env in pair(theirs, name, level):
        again, plain = wrappers.ReseedWrapper(env, seeds=[100, 243]), make_plain(env.spec.id, **env.spec.kwargs)
        for seed in (100, 243, 100):
            seen, wanted = again.reset()[0], plain.reset(seed=seed)[0]
            assert np.array_equal(seen["image"], wanted["image"])
            assert seen["mission"] == wanted["mission"]


class Recorded(gym.Wrapper):
    """Lists the actions that are taken."""

    def __init__(self, env: Any):
        super().__init__(env)
        self.taken: list[Any] = []

    def step(self, action: Any) -> Any:
        self.taken.append(action)
        return super().step(action)


def test_the_keys_of_manual_control_are_minigrids_actions(capsys):
    for env in pair(*SHARED[0], render_mode="rgb_array"):
        steps = Recorded(env)
        control, taken = ManualControl(steps, seed=3), steps.taken
        control.reset(seed=3)
        for key in ("left", "right", "up", "space", "pageup", "tab", "pagedown", "left shift", "enter"):
            control.key_handler(types.SimpleNamespace(key=key))
        assert taken[:4] == [Actions.left, Actions.right, Actions.forward, Actions.toggle]
        assert taken[4:] == [Actions.pickup, Actions.pickup, Actions.drop, Actions.drop, Actions.done]
        assert "step=9, reward=0.00" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["slope", "angle"])
def test_the_direction_to_the_goal_is_what_minigrid_says(kind: str):
    level = {"size": 11, "rivers": 5, "hazard": "lava"}
    found = []
    for env in pair("MiniGrid-LavaCrossingS11N5-v0", "LavaGap", level):
        env = wrappers.DirectionObsWrapper(env, type=kind)
        start = env.reset()[0]["goal_direction"]
        (x, y), (goal_x, goal_y) = env.unwrapped.agent_pos, env.unwrapped.goal_position
        assert start == pytest.approx(np.arctan((goal_y - y) / (goal_x - x)) if kind == "angle" else 1.0)
        found.append((start, env.step(Actions.left)[0]["goal_direction"], (goal_x, goal_y)))
    assert found[0] == found[1]


def test_only_levels_with_a_goal_have_its_place():
    assert make_plain("palaestra/Unlock-v0").unwrapped.goal_pos is None
    env = make_plain("palaestra/Unlock-v0", task="open").unwrapped
    env.reset(seed=0)
    assert env.goal_pos is None
    env = make_plain("palaestra/DoorKey-v0", size=6, obstacles=0).unwrapped
    env.reset(seed=0)
    assert env.goal_pos == (4, 4)


@pytest.mark.parametrize(
    ("theirs", "name", "kind"),
    [("MiniGrid-LavaCrossingS9N2-v0", "LavaGap", "lava"), ("MiniGrid-Dynamic-Obstacles-6x6-v0", "MovingObstacles", "")],
)
def test_an_agent_that_does_not_die_lives_on_as_in_minigrid(theirs: str, name: str, kind: str):
    wanted, ours = (
        wrappers.NoDeath(make_plain(env_id), (kind or "ball",), death_cost=-1.0)
        for env_id in (theirs, f"palaestra/{name}-v0")
    )
    rng, deaths = np.random.default_rng(0), 0
    for seed in range(4):
        wanted.reset(seed=seed)
        ours.reset(seed=seed)
        world = read_level(wanted.unwrapped)
        if not kind:
            # Balls move by chance: here they stay where they are.
            ours.unwrapped.place_world(world._replace(memo=(0, ()), task=b""), limit=wanted.unwrapped.max_steps)
            wanted.unwrapped.obstacles = []
        else:
            ours.unwrapped.place_world(world, limit=wanted.unwrapped.max_steps)
        for _ in range(60):
            action = int(rng.choice([0, 1, 2, 2]))
            seen, reward, terminated, truncated, _ = wanted.step(action)
            mine, own_reward, own_terminated, own_truncated, _ = ours.step(action)
            assert (own_reward, own_terminated, own_truncated) == (reward, terminated, truncated)
            assert np.array_equal(mine["image"], seen["image"])
            deaths += reward < 0
            if terminated or truncated:
                break
    assert deaths > 5


def test_every_boxed_maze_has_a_key_for_a_door_of_the_room_with_the_ball():
    for maze in ("two doors", "quarter", "half", "full"):
        env = make_plain("palaestra/ObstructedMaze-v0", maze=maze, keys="boxed", doors="blocked").unwrapped
        for seed in range(5):
            env.reset(seed=seed)
            things = env.grid.grid
            ball = next(thing for thing in things if isinstance(thing, Ball) and thing.color == "blue")
            room = env.room_from_pos(*ball.cur_pos)
            assert room.pos_inside(*ball.cur_pos)
            doors = [door for door in room.doors if door]
            keys = {thing.contains.color for thing in things if isinstance(thing, Box)}
            assert {door.color for door in doors} & keys
            assert all(env.grid.get(*place).type == "door" for place in room.door_pos if place)


def test_the_doors_of_a_room_are_those_of_minigrids():
    theirs, ours = pair(*SHARED[5])
    theirs.reset(seed=4)
    ours.reset(seed=4)
    ours.unwrapped.place_world(read_level(theirs.unwrapped, task=ours.unwrapped.here().task))
    for x, y in ((1, 1), (4, 4), (6, 2), (9, 3)):
        wanted, room = theirs.unwrapped.room_from_pos(x, y), ours.unwrapped.room_from_pos(x, y)
        assert (room.top, room.size) == (wanted.top, wanted.size)
        assert [door and door.color for door in room.doors] == [door and door.color for door in wanted.doors]
    with pytest.raises(palaestra.errors.InputError, match="needs a cell of the grid of 11 x 6, not"):
        ours.unwrapped.room_from_pos(10, 3)
    maze = make_plain("palaestra/FourRooms-v0")
    maze.reset(seed=0)
    with pytest.raises(palaestra.errors.InputError, match="needs equal rooms"):
        maze.unwrapped.room_from_pos(1, 1)


def test_things_are_put_and_placed_as_by_minigrid():
    env = make_plain("palaestra/EmptyRoom-v0", size=8).unwrapped
    env.reset(seed=0)
    theirs = match(env)
    env.np_random, theirs.np_random = np.random.default_rng(5), np.random.default_rng(5)
    for each in (env, theirs):
        each.put_obj(Ball("red"), 2, 3)
    assert env.gen_obs()["image"].shape == (7, 7, 3)
    for kwargs in ({}, {"top": (2, 2), "size": (3, 3)}, {"reject_fn": lambda env, cell: cell[0] < 4}):
        places = [each.place_obj(Box("blue"), **kwargs) for each in (env, theirs)]
        assert places[0] == places[1]
        assert np.array_equal(env.grid.encode(), theirs.grid.encode())
    assert env.grid.get(*places[0]).type == "box"
    place = env.place_agent(top=(5, 1), size=(2, 6))
    assert tuple(env.agent_pos) == place
    assert place[0] in (5, 6)
    # Steps and observations go on from there.
    grid = env.grid
    grid.set(*env.front_pos, Ball("green"))
    env.grid = grid
    assert env.step(Actions.pickup)[0]["image"][3, 6].tolist() == [6, 1, 0]
    with pytest.raises(palaestra.errors.InputError, match="must keep its size of 8 x 8"):
        env.grid = Grid(5, 5)


@pytest.mark.parametrize("name", ["DoorKey", "FourRooms", "BabyAI", "GoToDoor", "Fetch"])
def test_wrappers_of_all_cells_have_one_shape_where_sizes_are_drawn(name: str):
    for wrap in (
        wrappers.FullyObsWrapper,
        wrappers.SymbolicObsWrapper,
        lambda env: wrappers.RGBImgObsWrapper(env, tile_size=2),
    ):
        env, sizes = wrap(make_plain(f"palaestra/{name}-v0", render_mode="rgb_array")), set()
        for seed in range(6):
            seen = env.reset(seed=seed)[0]
            assert seen in env.observation_space
            assert env.step(Actions.left)[0] in env.observation_space
            assert env.unwrapped.get_frame(tile_size=2).shape == (2 * env.unwrapped.height, 2 * env.unwrapped.width, 3)
            sizes.add(env.unwrapped.here().width)
        assert len(sizes) > 1
    # The level is in the upper left corner, and walls are beyond it.
    world, shown = env.unwrapped.here(), env.unwrapped.grid.encode()[..., 0]
    assert shown.shape == (env.unwrapped.width, env.unwrapped.height)
    kinds = ENCODING[np.frombuffer(world.cells, np.uint8), 0].reshape(world.height, world.width)
    assert np.array_equal(shown[: world.width, : world.height], kinds.T)
    assert set(np.unique(shown[world.width :])) | set(np.unique(shown[:, world.height :])) <= {2}


def test_no_wall_is_added_where_a_difficulty_fixes_the_size():
    env = make("palaestra/DoorKey-v0").unwrapped
    env.reset(seed=0)
    assert (env.width, env.height) == (env.here().width, env.here().height) == (5, 5)  # type: ignore[attr-defined]
