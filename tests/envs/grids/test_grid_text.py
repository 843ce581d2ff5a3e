from __future__ import annotations

import pickle
import re
from typing import Any

import gymnasium as gym
import numpy as np
import palaestra
import pytest
from palaestra.envs.grids import vocabulary
from palaestra.envs.grids.cells import GOAL, WALL, code_of
from palaestra.envs.grids.grid_planner import find_action
from palaestra.envs.grids.grid_world import FORWARD, World
from palaestra.envs.grids.vocabulary import ACTION_NAMES, ACTIONS
from palaestra.errors import InputError


def make(name: str, **kwargs: Any) -> Any:
    return gym.make(f"palaestra/{name}Text-v0", disable_env_checker=True, **kwargs).unwrapped


def read_map(text: str, colours: dict[str, str]) -> World:
    """The world from an observation alone: the map and the list of things."""
    rows = [line for line in text.split("\n") if line.startswith("#")]
    signs, width = "".join(rows), len(rows[0])
    cells = bytearray({"#": WALL, "G": GOAL}.get(sign, 0) for sign in signs)
    for state, colour, kind, x, y in re.findall(r"(?:(\w+) )?(\w+) (door|key|ball|box) at \((\d+), (\d+)\)", text):
        cells[int(y) * width + int(x)] = code_of(kind, colour, state or "open")
    agent = next(sign for sign in ">v<^" if sign in signs)
    carried = re.search(r"You carry a (\w+) (key|ball|box)", text)
    held = code_of(carried[2], carried[1]) if carried else 0
    return World(width, bytes(cells), signs.index(agent), ">v<^".index(agent), held, colours.get("task"))


def test_grid_and_text_play_the_same_worlds():
    for name in ("DoorKey", "BabyAI", "MovingObstacles"):
        grid, text = gym.make(f"palaestra/{name}-v0", disable_env_checker=True).unwrapped, make(name)
        for seed in range(4):
            grid.reset(seed=seed)
            text.reset(seed=seed)
            assert grid.here() == text.here().world  # type: ignore[attr-defined]


def test_the_map_and_the_list_of_things_are_enough_to_solve_it():
    env = make("Unlock", task="open", distractors=2)
    for seed in range(5):
        observation, _ = env.reset(seed=seed)
        task, info = env.here().world.task, {}
        while not env._ended:
            world = read_map(observation, {"task": task})
            assert world == env.here().world
            observation, *_, info = env.step(ACTION_NAMES[find_action(env.rules, world)])
        assert info["is_success"]


def test_first_text_names_every_action_and_later_ones_are_short():
    env = make("DoorKey")
    first, _ = env.reset(seed=0)
    assert all(name in first for name in ACTIONS)
    later = env.step("turn left")[0]
    assert len(later) < len(first) - 150
    assert "Actions" not in later


@pytest.mark.parametrize(
    ("said", "action"),
    [
        *(("Turn Left", "turn left"), ("  turn   left ", "turn left"), ("I would\nturn left", "turn left")),
        *(("<answer>turn left</answer>", "turn left"), ("forward", "go forward"), ("Move forward!", "go forward")),
        *(("I walk straight ahead.", "go forward"), ("I'll turn to the right", "turn right")),
        *(("rotate left", "turn left"), ("pickup the key", "pick up"), ("Grab the red ball", "pick up")),
        *(("open the locked door", "toggle"), ("Unlock", "toggle")),
    ],
)
def test_actions_may_be_named_in_other_words(said: str, action: str):
    env, outcomes = make("DoorKey"), []
    for text in (said, action):
        env.reset(seed=1)
        observation, *_, info = env.step(text)
        assert info["action_error"] is None
        outcomes.append((observation, env.get_state()["state"]))
    assert outcomes[0] == outcomes[1]


def test_an_unknown_action_is_told_the_known_ones():
    env = make("MovingObstacles")
    env.reset(seed=0)
    observation, _, _, _, info = env.step("open sesame")
    assert "turn left, turn right, go forward." in info["action_error"]
    assert observation.startswith(info["action_error"])
    assert env.step("pick up")[4]["action_error"]


@pytest.mark.parametrize("choice", ["synonyms", "invented", {"go forward": "avance", "key": "clef"}])
def test_drawn_words_alone_count_and_are_stated_once(choice: Any):
    env = make("DoorKey", vocabulary=choice, size=6)
    seen = set()
    for seed in range(4):
        first, _ = env.reset(seed=seed)
        words = env.vocabulary_of(env.here())
        assert all(f"{word} is {plain}" in first for plain, word in words.changed.items())
        seen.add(tuple(words.actions))
        if words.words["go forward"] != "go forward":
            assert env.step("go forward")[4]["action_error"]
        while not env._ended:
            info = env.step(env.oracle())[4]
        assert info["is_success"]
    assert len(seen) == (1 if isinstance(choice, dict) else 4)


def test_several_actions_a_turn_stop_at_the_end_and_at_an_unreadable_one():
    env = make("FourRooms", size=9, actions_per_turn=4)
    env.reset(seed=1)
    turns = 0
    while not env._ended:
        info = env.step(env.oracle())[4]
        turns += 1
    assert info["is_success"]
    single = make("FourRooms", size=9)
    single.reset(seed=1)
    assert turns == -(-int(single.solver_cost(single.here())) // 4)
    env.reset(seed=1)
    facing = env.here().world.facing
    info = env.step("turn left, turn left; dance, turn left")[4]
    assert info["action_error"].startswith("Action 3")
    assert env.here().world.facing == (facing + 2) % 4
    assert "at most 4" in env.step("turn left, " * 4 + "turn left")[4]["action_error"]


def test_earlier_turns_are_shown_again():
    env = make("FourRooms", size=9, look_back=2)
    env.reset(seed=1)
    bodies = [env.step("turn left")[0].split("Now:\n")[-1] for _ in range(3)]
    last = env.step("turn right")[0]
    assert last.count("You chose:") == 2
    assert bodies[1] in last
    assert bodies[2] in last
    assert last.index("You chose: turn left.") < last.index("You chose: turn right.") < last.index("Now:")


def test_too_many_unreadable_actions_in_a_row_end_the_episode():
    env = make("FourRooms", patience=1)
    env.reset(seed=0)
    assert [env.step("?")[2], env.step("turn left")[2], env.step("?")[2]] == [False, False, False]
    snapshot = pickle.loads(pickle.dumps(env.get_state()))
    _, reward, terminated, _, info = env.step("?")
    assert (reward, terminated, info["is_success"]) == (0.0, True, False)
    env.set_state(snapshot)
    assert env.step("?")[2] is True


def test_pictures_come_beside_text_through_the_same_ids():
    env = make("FourRooms", observation="image", size=9)
    seen, _ = env.reset(seed=0)
    assert env.observation_space.contains(seen)
    assert seen["image"].shape == (112, 112, 3)
    assert "#" not in seen["text"]
    assert "Reach the goal." in seen["text"]
    after = env.step("turn left")[0]
    assert not np.array_equal(after["image"], seen["image"])
    grid: Any = gym.make("palaestra/FourRooms-v0", size=9, disable_env_checker=True).unwrapped
    grid.reset(seed=0)
    assert np.array_equal(seen["image"], grid.get_frame(tile_size=16, agent_pov=True))


def test_the_view_shows_what_the_agent_sees_and_no_more():
    env = make("HallwayMemory", half=6)
    grid: Any = gym.make("palaestra/HallwayMemory-v0", half=6, disable_env_checker=True).unwrapped
    for seed in range(4):
        text, _ = env.reset(seed=seed)
        grid.reset(seed=seed)
        image = grid.gen_obs()["image"]
        rows = [line for line in text.split("\n") if len(line) == 7]
        assert [[sign != "?" for sign in row] for row in rows] == (image[..., 0].T > 0).tolist()
        assert ("key" in text.split("\n", 1)[1]) == bool((image[..., 0] == 5).any())


def test_words_say_where_things_are():
    env = make("BabyAI", observation="words", kind="goto", clauses=1, rooms=1, room_size=6)
    for seed in range(5):
        text, _ = env.reset(seed=seed)
        world = env.here().world
        for name, ahead, left in re.findall(r"(\w+ \w+) (\d) ahead and (\d) left", text):
            step, side = (1, world.width, -1, -world.width), (world.facing + 3) % 4
            index = world.agent + int(ahead) * step[world.facing] + int(left) * step[side]
            assert env.vocabulary_of(env.here()).names[world.cells[index]] == name


@pytest.mark.parametrize(
    ("wrong", "remedy"),
    [
        ({"observation": "smell"}, "map"),
        ({"vocabulary": "french"}, "invented"),
        ({"vocabulary": {"sword": "x"}}, "sword"),
        ({"vocabulary": {"key": "box"}}, "one name"),
        ({"actions_per_turn": 0}, "from 1 to 20"),
        ({"look_back": -1}, "from 0 to 50"),
        ({"patience": "x"}, "patience"),
        ({"max_steps": 0}, "max_steps"),
    ],
)
def test_wrong_options_are_refused_with_the_remedy(wrong: dict[str, Any], remedy: str):
    with pytest.raises(InputError, match=remedy):
        make("FourRooms", **wrong)


def test_a_fixed_horizon_is_told_and_kept():
    env = make("FourRooms", max_steps=3)
    assert "You have 3 turns." in env.reset(seed=0)[0]
    assert [env.step("wait")[3] for _ in range(3)] == [False, False, True]


def test_every_word_of_the_worlds_has_one_in_the_vocabulary():
    words = vocabulary.make_vocabulary("invented", 3, True)
    assert len(set(words.words.values())) == len(vocabulary.WORDS)
    assert words.names[code_of("door", "red", "locked")].split() == [words.words[w] for w in ("locked", "red", "door")]
    assert ACTIONS["go forward"] == FORWARD
    assert palaestra.envs.ids().count("palaestra/FourRoomsText-v0") == 1
