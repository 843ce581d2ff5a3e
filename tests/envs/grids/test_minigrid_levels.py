"""MiniGrid's levels under its seeds on our grids: the same rollouts, in text as well, and by its own ids."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import minigrid  # noqa: F401  # registers MiniGrid's ids
import numpy as np
import palaestra  # registers ours
import pytest
from minigrid.envs.wfc.config import PATTERN_PATH
from palaestra.agents.evaluation.episodes import EpisodePlan
from palaestra.envs.grids import level_reset
from palaestra.envs.grids.minigrid_ids import MINIGRID_IDS, ONE_LEVEL
from palaestra.envs.grids.minigrid_levels import read_minigrid
from palaestra.errors import InputError, MissingExtra

EIGHT = "MiniGrid-DoorKey-8x8-v0"


def make(name: str, **kwargs: Any) -> Any:
    return gym.make(name, disable_env_checker=True, **kwargs)


LACKS_PATTERNS = not (importlib.util.find_spec("imageio") and any(PATTERN_PATH.glob("*.png")))
"""MiniGrid's WFC ids read pictures, with a package, that its published packages lack."""
PLAYED = [name for name in MINIGRID_IDS if not (LACKS_PATTERNS and "-WFC-" in name)]


def play_both(theirs: Any, ours: Any, seed: int | None, choose: Callable[[], int], steps: int) -> bool:
    """Play an episode of both, and compare everything; return True if it succeeded."""
    with contextlib.redirect_stdout(io.StringIO()):
        seen, _ = theirs.reset(seed=seed)
    mine, info = ours.reset(seed=seed)
    assert info["params"] == MINIGRID_IDS[theirs.spec.id][1]
    assert ours.unwrapped.max_steps == theirs.unwrapped.max_steps
    for _ in range(steps):
        assert np.array_equal(seen["image"], mine["image"])
        assert (seen["direction"], seen["mission"]) == (mine["direction"], mine["mission"])
        action = choose()
        seen, reward, terminated, truncated, _ = theirs.step(action)
        mine, own_reward, own_terminated, own_truncated, info = ours.step(action)
        assert (own_reward, own_terminated, own_truncated) == (reward, terminated, truncated)
        if terminated or truncated:
            break
    assert np.array_equal(seen["image"], mine["image"])
    return info["is_success"]


@pytest.mark.filterwarnings("ignore:.*is out of date")
@pytest.mark.parametrize("name", PLAYED)
def test_the_same_seed_is_the_same_rollout(name: str):
    theirs, ours = make(name), make(f"palaestra/{MINIGRID_IDS[name][0]}-v0", minigrid=name, split="all")
    rng = np.random.default_rng(0)

    def wander() -> int:
        return int(rng.choice([0, 1, 2, 2, 2, 3, 4, 5, 6])) % ours.unwrapped.action_space.n

    def mix() -> int:
        return wander() if rng.random() < 0.15 else ours.unwrapped.oracle()

    # The levels after the first continue MiniGrid's generator, which takes seconds for those of WFC.
    episodes = ((7, wander, 60), (None, ours.unwrapped.oracle, 60), (None, mix, 60), (8, mix, 60))
    for seed, choose, steps in episodes[: 1 if "-WFC-" in name else 4]:
        play_both(theirs, ours, seed, choose, steps)


def test_an_episode_that_ends_on_its_last_step_is_both_terminated_and_truncated():
    theirs, ours = (
        make(name, max_steps=3, **kwargs)
        for name, kwargs in (
            ("MiniGrid-Fetch-5x5-N2-v0", {}),
            ("palaestra/Fetch-v0", {"minigrid": "MiniGrid-Fetch-5x5-N2-v0", "split": "all"}),
        )
    )
    ends = set()
    for seed in range(40):
        theirs.reset(seed=seed)
        ours.reset(seed=seed)
        for _ in range(3):
            action = ours.unwrapped.oracle()
            ends.add(ours.step(action)[1:4])
            assert ours.unwrapped.step_count <= 3
            if any(theirs.step(action)[2:4]):
                break
    assert (1 - 0.9, True, True) in ends


@pytest.mark.parametrize("name", [name for name, row in MINIGRID_IDS.items() if row == ("BabyAI", {})])
def test_the_oracle_carries_out_every_instruction(name: str):
    ours = make("palaestra/BabyAI-v0", minigrid=name, split="all")
    for seed in range(2):
        mission = ours.reset(seed=seed)[0]["mission"]
        over = False
        while not over:
            *_, terminated, truncated, info = ours.step(ours.unwrapped.oracle())
            over = terminated or truncated
        # To open the first of two doors in order is a failure to open the second, where that is strict.
        impossible = "OrderN" in name and "Debug" in name and mission.count("open") == 2
        assert info["is_success"] is not impossible


@pytest.mark.parametrize("kind", ["2Dlhb", "1Q", "2Q", "Full"])
def test_the_oracle_finds_the_keys_of_all_doors_on_the_way(kind: str):
    ours = make("palaestra/ObstructedMaze-v0", minigrid=f"MiniGrid-ObstructedMaze-{kind}-v1", split="all")
    for seed in (2, 3, 8):
        ours.reset(seed=seed)
        over = False
        while not over:
            *_, over, truncated, info = ours.step(ours.unwrapped.oracle())
            assert not truncated
        assert info["is_success"]


def test_ids_whose_generator_lacks_a_package_say_which(monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio", None)
    with pytest.raises(MissingExtra, match=r"MazeSimple-v0 needs the extra \[wfc\]: pip install 'palaestra\[wfc\]'"):
        make("palaestra/BlockMaze-v0", minigrid="MiniGrid-WFC-MazeSimple-v0")
    monkeypatch.setitem(sys.modules, "imageio", sys)
    monkeypatch.setattr(Path, "is_file", lambda self: False)
    with pytest.raises(InputError, match="reads a picture that this installation of MiniGrid lacks"):
        make("palaestra/BlockMaze-v0", minigrid="MiniGrid-WFC-MazeSimple-v0")


def test_the_solver_and_the_text_twin_play_them():
    native, text = (make(f"palaestra/DoorKey{kind}-v0", minigrid=EIGHT) for kind in ("", "Text"))
    for seed in range(3):
        native.reset(seed=seed)
        observation, _ = text.reset(seed=seed)
        assert native.unwrapped.rules.draw_map(native.unwrapped.here()) in observation
        assert text.unwrapped.here().world == native.unwrapped.here()
        over = False
        while not over:
            *_, over, _, info = text.step(text.unwrapped.oracle())
        assert info["is_success"]


def test_snapshots_and_pickles_keep_the_generator():
    env, other = make("palaestra/LavaGap-v0", minigrid="MiniGrid-LavaGapS7-v0"), make("palaestra/LavaGap-v0")
    env.reset(seed=3)
    pickled, state = pickle.loads(pickle.dumps(env)), env.unwrapped.get_state()
    wanted = [env.reset()[1]["task_id"] for _ in range(3)]
    assert len(set(wanted)) > 1
    assert [pickled.reset()[1]["task_id"] for _ in range(3)] == wanted
    env.unwrapped.set_state(state)
    assert [env.reset()[1]["task_id"] for _ in range(3)] == wanted
    # An environment that draws levels of our own goes on from the same state, and from then on with these.
    other.unwrapped.set_state(state)
    env.unwrapped.set_state(state)
    assert other.unwrapped.here() == env.unwrapped.here()


def test_no_level_is_of_two_splits_and_under_all_a_seed_has_minigrids():
    found = {}
    for split in ("train", "test", "all"):
        env = make("palaestra/DoorKey-v0", minigrid="MiniGrid-DoorKey-5x5-v0", split=split)
        found[split] = [env.reset(seed=seed)[1]["task_id"] for seed in range(60)]
        assert [env.reset(seed=seed)[1]["task_id"] for seed in range(60)] == found[split]
    train, test = set(found["train"]), set(found["test"])
    assert min(len(train), len(test)) > 5
    assert not train & test
    assert set(found["all"]) & train
    assert set(found["all"]) & test
    # A seed whose level is of the split keeps it.
    assert all(one == level for one, level in zip(found["train"], found["all"]) if level in train)


@pytest.mark.parametrize("name", ONE_LEVEL)
def test_the_only_level_of_an_id_is_in_every_split(name):
    family = f"palaestra/{MINIGRID_IDS[name][0]}-v0"
    envs = [make(family, minigrid=name, split=split) for split in ("train", "test", "all")]
    assert len({env.reset(seed=seed)[1]["task_id"] for env in envs for seed in (0, 1)}) == 1
    assert [env.unwrapped.split for env in envs] == ["train", "test", "all"]


def test_other_ids_have_more_than_one_level():
    for name, (family, axes) in MINIGRID_IDS.items():
        if not axes and "BossLevel" not in name:
            continue  # few of the many that are alike
        env = make(f"palaestra/{family}-v0", minigrid=name, split="all")
        levels = {env.reset(seed=seed)[1]["task_id"] for seed in range(6)}
        assert (len(levels) == 1) == (name in ONE_LEVEL), name
        env.close()


def test_an_id_without_a_level_of_the_split_says_so(monkeypatch):
    monkeypatch.setattr(level_reset, "split_of", lambda content: "train")
    env = make("palaestra/DoorKey-v0", minigrid="MiniGrid-DoorKey-5x5-v0", split="test")
    with pytest.raises(InputError, match="5x5-v0 has no test level in 2000 draws of its generator; play it with"):
        env.reset(seed=0)


def test_there_is_no_difficulty_to_choose():
    for name in ("DoorKey", "DoorKeyText"):
        with pytest.raises(InputError, match="fixes every axis; leave difficulty out"):
            make(f"palaestra/{name}-v0", minigrid=EIGHT, difficulty=0.1)
        env = make(f"palaestra/{name}-v0", minigrid=EIGHT, difficulty=None)
        with pytest.raises(InputError, match="fixes every axis; leave reset's option 'difficulty' out"):
            env.reset(seed=0, options={"difficulty": 1.0})
    # An evaluation takes such levels as they come, and refuses difficulties.
    levels = {"env_kwargs": {"minigrid": "MiniGrid-DoorKey-5x5-v0"}, "episodes": 4}
    env = make("palaestra/DoorKeyText-v0", **levels["env_kwargs"])
    record, options = EpisodePlan(env, "DoorKeyText", 4, 0, None, None).begin(1)
    assert (record.requested, options) == (None, {"params": {"size": 5, "obstacles": 0}})
    report = palaestra.evaluate("oracle", "palaestra/DoorKeyText-v0", **levels)
    assert report.success.mean == 1.0
    with pytest.raises(InputError, match="fix every axis; leave difficulties out"):
        palaestra.evaluate("oracle", "palaestra/DoorKeyText-v0", difficulties=[0.9], **levels)


@pytest.mark.parametrize("name", [EIGHT, "MiniGrid-Dynamic-Obstacles-6x6-v0", "MiniGrid-ObstructedMaze-1Dlhb-v0"])
@pytest.mark.parametrize(
    "arguments",
    [
        {"agent_view_size": 5, "highlight": False, "tile_size": 16},
        {"agent_view_size": 9, "tile_size": 4},
        {"agent_view_size": 3, "agent_pov": True},
        {"tile_size": 8, "agent_pov": True, "screen_size": 320},
        {"see_through_walls": True, "tile_size": 5},
    ],
    ids=str,
)
def test_what_every_minigrid_environment_takes_shows_the_same(name: str, arguments: dict[str, Any]):
    if "see_through_walls" in arguments and name != EIGHT:
        return  # MiniGrid's other classes here set it themselves
    family = MINIGRID_IDS[name][0]
    theirs = make(name, render_mode="rgb_array", **arguments)
    ours = make(f"palaestra/{family}-v0", minigrid=name, split="all", render_mode="rgb_array", **arguments)
    assert ours.observation_space["image"] == theirs.observation_space["image"]
    seen, mine = theirs.reset(seed=4)[0], ours.reset(seed=4)[0]
    for action in (1, 2, 0, 2, 1):
        assert np.array_equal(seen["image"], mine["image"])
        assert (seen["direction"], seen["mission"]) == (mine["direction"], mine["mission"])
        assert np.array_equal(theirs.render(), ours.render())
        seen, mine = theirs.step(action)[0], ours.step(action)[0]


def test_what_has_no_such_levels_is_refused():
    for name, kwargs, words in (
        ("DoorKey", {"minigrid": "MiniGrid-DoorKey-9x9-v0"}, "id of MiniGrid's for DoorKey"),
        ("DoorKey", {"minigrid": "MiniGrid-LavaGapS7-v0"}, "id of MiniGrid's for DoorKey"),
        ("HiddenKeyText", {"minigrid": EIGHT}, "HiddenKey has no levels of MiniGrid's; leave minigrid="),
        ("DoorKey", {"minigrid": EIGHT, "size": 8}, "fixes every axis; leave size out"),
        ("LavaGap", {"minigrid": "MiniGrid-LavaGapS7-v0", "obstacle_type": "wall"}, "leave obstacle_type out"),
        ("DoorKey", {"agent_view_size": 4}, "agent_view_size must be odd"),
        ("DoorKey", {"agent_view_size": 1}, "agent_view_size must be a whole number of at least 3"),
    ):
        with pytest.raises(InputError, match=words):
            make(f"palaestra/{name}-v0", **kwargs)


def test_a_mission_can_be_read_of_levels_that_no_axes_describe():
    env = make("BabyAI-GoToSeqS5R2-v0")
    env.reset(seed=0)
    ours = make("palaestra/BabyAI-v0").unwrapped
    assert ours.rules.mission(read_minigrid(env, ours.rules)) == env.unwrapped.mission


def test_minigrids_ids_make_ours_once_they_are_registered():
    program = """
import json, gymnasium as gym, minigrid
from minigrid.wrappers import NoDeath
from palaestra.envs.grids.minigrid_levels import register_minigrid_ids
names = register_minigrid_ids()
assert register_minigrid_ids() == names
kinds = [gym.spec(name).entry_point.split(".")[0] for name in names]
assert gym.make("MiniGrid-Fetch-8x8-N3-v0").unwrapped.rules.actions == 7
env = gym.make("MiniGrid-LavaCrossingS9N1-v0")
env.reset(seed=2)
env.step(1)
ends = env.step(2)[1:3]
env = NoDeath(env, ("lava",), -1)
env.reset(seed=2)
env.step(1)
print(json.dumps([len(kinds), sorted(set(kinds)), ends, env.step(2)[1:3], env.unwrapped.split]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    # Seed 2 of this id has lava south of the agent, in MiniGrid and here.
    wanted = [178, ["palaestra"], [0, True], [-1, False], "all"]
    assert json.loads(done.stdout) == wanted
