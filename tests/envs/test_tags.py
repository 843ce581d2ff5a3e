"""Tags of environments, and the search by tags and words."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import gymnasium as gym
import palaestra
import pytest
from palaestra.envs import Question, find, tags_of
from palaestra.envs.tags import (
    ABSENT,
    FACETS,
    LONG_HORIZON,
    STATED,
    SYNONYMS,
    TAGS,
    group_of,
    join_phrases,
    load_family,
)
from palaestra.envs.tools.tool_function import functions_of
from palaestra.errors import InputError

# Other tests register environments of their own.
IDS = [env_id for env_id in palaestra.envs.ids() if env_id.startswith("palaestra/")]


def make(env_id: str) -> Any:
    return gym.make(env_id, disable_env_checker=True).unwrapped


@pytest.mark.parametrize("facet", ["turns", "modality", "horizon", "purpose"])
def test_every_environment_has_a_tag_of_each_facet(facet):
    lacking = [env_id for env_id in IDS if not FACETS[facet].keys() & set(tags_of(env_id))]
    assert not lacking, f"{lacking} have no tag of {facet}: add a row, by id or part of the package, to envs/tags.py"


def test_every_tag_is_used_and_every_stated_tag_is_known():
    assert {tag for env_id in IDS for tag in tags_of(env_id)} == TAGS.keys()
    assert {tag for row in STATED.values() for tag in row.split()} <= TAGS.keys()
    assert set(SYNONYMS.values()) <= TAGS.keys()


def test_every_row_is_of_an_environment_or_a_part_of_the_package():
    names = {env_id.removeprefix("palaestra/").rpartition("-v")[0] for env_id in IDS}
    modules = {load_family(env_id).__module__.partition(".envs.")[2] for env_id in IDS}
    parts = {row for row in STATED if any(f"{module}.".startswith(f"{row}.") for module in modules)}
    assert STATED.keys() - names - parts == set()


def test_turns_tools_and_modality_are_those_of_the_environment():
    for env_id in IDS:
        env, tags = make(env_id), tags_of(env_id)
        space = type(env.observation_space).__name__
        assert {"Unicode": "text", "Dict": "grid", "Box": "continuous"}[space] in tags, env_id
        assert len({"text", "grid", "continuous"} & set(tags)) == 1, env_id
        assert ("single-turn" in tags) == isinstance(env, Question), env_id
        assert ("tools" in tags) == bool(functions_of(env)), env_id
        if "rgb_array" in env.metadata["render_modes"]:
            assert "image" in tags, env_id
        env.close()


def test_a_horizon_is_long_if_the_solver_takes_many_actions():
    wrong = {}
    for env_id in IDS:
        tags = tags_of(env_id)
        if "single-turn" in tags:
            assert "short-horizon" in tags, env_id
            continue
        env, actions = make(env_id), []
        for seed in range(3):
            env.reset(seed=seed, options={"difficulty": 1.0})
            actions.append(0)
            over = False
            while not over:
                *_, terminated, truncated, _ = env.step(env.oracle())
                actions[-1] += 1
                over = terminated or truncated
        if ("long-horizon" in tags) != (sum(actions) / 3 >= LONG_HORIZON):
            wrong[env_id] = actions
        env.close()
    assert wrong == {}


_PROGRAM = """if True:
    import importlib.machinery, json, os, sys

    absent = json.loads(sys.argv[1])
    os.environ["PATH"] = ""

    class Finder(importlib.machinery.PathFinder):
        @classmethod
        def find_spec(cls, name, path=None, target=None):
            if name.partition(".")[0] not in absent:
                return importlib.machinery.PathFinder.find_spec(name, path, target)

    sys.meta_path[:] = [Finder if one is importlib.machinery.PathFinder else one for one in sys.meta_path]
    import gymnasium as gym
    from palaestra.envs import ids, tags_of
    from palaestra.errors import MachineryError, MissingExtra

    found = {}
    for env_id in ids():
        found[env_id] = "", tags_of(env_id)
        try:
            env = gym.make(env_id, disable_env_checker=True)
            env.reset(seed=0)
            env.step(env.unwrapped.oracle())
        except MissingExtra as error:
            found[env_id] = f"needs-{error.name}", found[env_id][1]
        except MachineryError:
            found[env_id] = "needs-bwrap", found[env_id][1]
    print(json.dumps(found))
"""


def test_what_an_environment_needs_is_what_it_lacks_on_a_bare_machine():
    absent = ["PIL", "Box2D", "bm25s", "datasets", "duckdb", "jinja2", "lxml", "minigrid", "playwright", "psycopg"]
    absent += ["pygame", "reasoning_gym", "scipy", "sqlglot", "sympy", "torch", "transformers", "werkzeug"]
    argv = [sys.executable, "-W", "ignore", "-c", _PROGRAM, json.dumps(absent)]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    for env_id, (lacked, tags) in json.loads(done.stdout.splitlines()[-1]).items():
        needs = {tag for tag in tags if tag.startswith("needs-")} - {"needs-data"}
        assert needs == ({lacked} if lacked else set()), env_id


def test_the_needs_of_data_are_those_that_take_a_source():
    takes = {env_id for env_id in IDS if "source" in load_family(env_id).option_names()}
    assert set(find(tags=["needs-data"])) == takes


class TestSearch:
    @pytest.mark.parametrize(
        ("words", "found", "not_found"),
        [
            ("planning", "Sokoban-v0", "Arithmetic-v0"),
            ("exploration", "MultiRoomText-v0", "Sudoku-v0"),
            ("sparse", "DeceptiveMaze-v0", "Sudoku-v0"),
            ("sparse rewards", "DeceptiveMaze-v0", "GameableChecklist-v0"),
            ("long horizon", "Playground-v0", "Wordle-v0"),
            ("multi-agent", "ConnectFour-v0", "Wordle-v0"),
            ("games", "Wordle-v0", "Sudoku-v0"),
            ("puzzles", "Sudoku-v0", "Wordle-v0"),
            ("coding", "ProgramSynthesis-v0", "Counting-v0"),
            ("retrieval", "WikiSearch-v0", "Sudoku-v0"),
            ("reward hacking", "GameableFlattery-v0", "LavaGap-v0"),
            ("safety", "LavaGap-v0", "Wordle-v0"),
            ("multi-turn", "Wordle-v0", "Arithmetic-v0"),
            ("partially observable", "DoorKey-v0", "Sokoban-v0"),
            ("continuous", "StumpTracks-v0", "DoorKey-v0"),
            ("image", "Jigsaw-v0", "Arithmetic-v0"),
            ("physics", "StumpTracks-v0", "Arithmetic-v0"),
            ("tool use", "ToolUse-v0", "Arithmetic-v0"),
        ],
    )
    def test_a_purpose_finds_environments(self, words, found, not_found):
        names = find(*words.split())
        assert f"palaestra/{found}" in names
        assert f"palaestra/{not_found}" not in names
        assert find(words) == names

    @pytest.mark.parametrize("word", sorted(ABSENT))
    def test_nothing_is_found_for_what_is_absent(self, word):
        assert find(word) == []

    def test_all_tags_and_words_must_fit(self):
        assert find(tags=["multi-turn", "safety", "dialogue"]) == [
            "palaestra/GameableFlattery-v0",
            "palaestra/GameableOpinion-v0",
        ]
        assert find("flattery", tags=["safety"]) == ["palaestra/GameableFlattery-v0"]
        assert find("sudoku", tags=["safety"]) == []
        assert find() == palaestra.envs.ids()

    def test_unknown_names_are_errors_with_similar_ones(self):
        with pytest.raises(InputError, match="unknown tag 'multiturn'; did you mean 'multi-turn'"):
            find(tags=["multiturn"])
        with pytest.raises(InputError, match=r"unknown environment .*Sudoko-v0.*did you mean 'palaestra/Sudoku-v0'"):
            tags_of("palaestra/Sudoko-v0")

    def test_words_that_stand_for_a_tag_together_are_joined(self):
        assert join_phrases(["a", "Long", "horizon", "tool"]) == ["a", "Long horizon", "tool"]


class Harbour(Question):
    """Moor a ship."""

    tags = ("planning", "at-sea")
    param_space = palaestra.envs.ParamSpace([palaestra.envs.IntAxis("ships", 1, 3)])


def test_another_package_states_the_tags_of_its_environments():
    palaestra.envs.register("test/Harbour-v0", Harbour)
    try:
        assert tags_of("test/Harbour-v0") == ("single-turn", "text", "short-horizon", "planning", "at-sea")
        assert find(tags=["at-sea"]) == find("moor a") == ["test/Harbour-v0"]
        assert group_of(Harbour) == Harbour.__module__.partition(".")[0]
    finally:
        gym.registry.pop("test/Harbour-v0")
        palaestra.envs.registration._ids.remove("test/Harbour-v0")
