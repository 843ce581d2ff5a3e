"""Registries whose entries are registered by modules that are imported when a name is first looked up."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import gymnasium as gym
import pytest
from palaestra.agents.agent import AGENTS
from palaestra.agents.grpo.recipes.recipe import RECIPES
from palaestra.agents.lookup import find_agent
from palaestra.errors import InputError
from palaestra.registry import Registry, _read_entry_points
from palaestra.rewards import REWARDS, Episode, Step
from palaestra.rewards import make as make_reward
from palaestra.teachers import TEACHERS
from palaestra.teachers import make as make_teacher

FRUIT: Registry[int] = Registry("fruit", modules=["slow_fruit"])


@pytest.fixture
def slow_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Registers a name, takes a while, and registers another one."""
    module = tmp_path / "slow_fruit.py"
    module.write_text(
        f"import sys, time\nfruit = sys.modules[{__name__!r}].FRUIT\n"
        "fruit.add('apple', 1)\ntime.sleep(0.3)\nfruit.add('pear', 2)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("slow_fruit", None)


@pytest.mark.usefixtures("slow_module")
def test_who_asks_while_another_thread_imports_waits_for_it():
    gate = threading.Barrier(4, timeout=60)

    def ask(name: str) -> int:
        gate.wait()
        return FRUIT[name]

    with ThreadPoolExecutor(4) as threads:
        assert [*threads.map(ask, ["apple", "pear", "pear", "apple"])] == [1, 2, 2, 1]
    with pytest.raises(InputError, match="unknown fruit 'peer'; did you mean 'pear'"):
        FRUIT["peer"]


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Has a teacher with a name, one without, rewards, a function and a number."""
    (tmp_path / "own_pieces.py").write_text(
        "from palaestra.rewards import Reward, register\nfrom palaestra.teachers import RandomTeacher\n"
        "from palaestra.teachers import register as register_teacher\n\n\n"
        "@register_teacher('own-random')\nclass Named(RandomTeacher):\n    pass\n\n\n"
        "class Unnamed(RandomTeacher):\n    pass\n\n\n"
        "@register('own-half')\nclass Half(Reward):\n    def value(self, episode):\n        return 0.5\n\n\n"
        "class Third(Reward):\n    def value(self, episode):\n        return 1 / 3\n\n\n"
        "def per_token(episode):\n    return 0.25 * episode.tokens\n\n\nnumber = 3\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("own_pieces", None)
    for registry, name in ((TEACHERS, "own-random"), (REWARDS, "own-half")):
        registry._entries.pop(name, None)
        registry._found_in_modules.clear()


@pytest.mark.usefixtures("own_module")
def test_what_is_in_no_package_is_named_with_its_module():
    box = gym.spaces.Box(0.0, 1.0, (2,))
    assert type(make_teacher("own_pieces:own-random", box, seed=1)).__name__ == "Named"
    assert TEACHERS["own_pieces:own-random"] is TEACHERS["own_pieces:Named"] is TEACHERS["own-random"]
    assert type(make_teacher("own_pieces:Unnamed", box, max_in_flight=3)).__name__ == "Unnamed"
    with pytest.raises(InputError, match="option of the teacher 'own_pieces:Unnamed': 'sead'"):
        make_teacher("own_pieces:Unnamed", box, sead=3)
    episode = Episode("1", {}, (Step("q", "a", 0.0, {}, tokens=8),), True, 1.0, True, False, None)
    parts = {"half": {"name": "own_pieces:own-half"}, "third": {"name": "own_pieces:Third"}}
    total = make_reward("sum", **parts, tokens={"name": "own_pieces:per_token"})
    assert total(episode).terms == {"half": 0.5, "third": 1 / 3, "tokens": 2.0}
    assert make_reward("own_pieces:per_token")(episode).terms == {"per_token": 2.0}
    assert "own_pieces:Third" in REWARDS
    assert "own_pieces:Third" not in list(REWARDS)
    assert "own_pieces:Forth" not in REWARDS
    # What this package has is not what that module has registered.
    for registry, name in ((TEACHERS, "random"), (REWARDS, "overlong"), (RECIPES, "grpo"), (AGENTS, "oracle")):
        assert name in registry
        assert not registry.registers("own_pieces", name)
    assert REWARDS.registers("own_pieces", "own-half")
    with pytest.raises(InputError, match=r"own_pieces.* 'random'"):
        TEACHERS["own_pieces:random"]
    with pytest.raises(InputError, match="'oracle'"):
        find_agent("own_pieces:oracle")


@pytest.mark.usefixtures("own_module")
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "nowhere_at_all:X",
            "the module 'nowhere_at_all' of reward 'nowhere_at_all:X' cannot be imported: .* PYTHONPATH",
        ),
        ("own_pieces:Thirt", "unknown reward of own_pieces 'Thirt'; did you mean 'Third'"),
        ("own_pieces:own-haf", "unknown reward of own_pieces 'own-haf'; did you mean 'own-half'"),
        ("own_pieces:number", "the reward 'own_pieces:number' is no Reward, and no function of an episode"),
        ("own-hafl-of-it", "unknown reward .*; one of your own is named with its module, such as mine:own-hafl-of-it"),
    ],
)
def test_a_module_without_it_is_one_sentence_with_what_it_has(name, sentence):
    with pytest.raises(InputError, match=sentence):
        make_reward(name)


def test_where_names_come_from_others_no_module_is_imported():
    with pytest.raises(InputError, match="unknown fruit 'json:loads'"):
        Registry("fruit")["json:loads"]


def test_entry_points_are_read_once_and_again_when_a_package_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    metals: Registry[type] = Registry("metal", group="test.metals")
    monkeypatch.syspath_prepend(tmp_path)
    assert list(metals) == []
    read = _read_entry_points.cache_info().misses
    assert [name in metals for name in ("iron", "gold")] == [False, False]
    assert _read_entry_points.cache_info().misses == read
    info = tmp_path / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[test.metals]\niron = fractions:Fraction\n")
    assert (list(metals), metals["iron"]) == (["iron"], Fraction)
