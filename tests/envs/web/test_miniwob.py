"""MiniWoB++ through its own package, in our Chromium, with the contract of our environments."""

from __future__ import annotations

import importlib.util
import re

import gymnasium as gym
import palaestra
import pytest
from palaestra.agents.evaluation import environment_spec
from palaestra.envs.web.browsers.chromium_engine import engine
from palaestra.envs.web.miniwob import read_page_command
from palaestra.errors import InputError

if importlib.util.find_spec("miniwob") is None:
    pytest.skip("the package miniwob is not installed (extra [miniwob])", allow_module_level=True)
MINIWOB = "palaestra/MiniWoB-v0"
STEP = {"task_id", "params", "difficulty", "extras", "reward_terms", "reward_valid", "action_error", "is_success"}


@pytest.fixture(scope="module")
def env():
    made = gym.make(MINIWOB, disable_env_checker=True, turns=5)
    yield made
    made.close()


def begin(env, task: str, seed: int = 1) -> str:
    return env.reset(seed=seed, options={"params": {"task": task}})[0]


def find(page: str, what: str) -> str:
    found = re.search(rf"^\[(\d+)\] {what}", page, re.MULTILINE)
    assert found is not None, page
    return found[1]


def test_every_page_of_the_package_is_a_task(env):
    assert len(env.unwrapped.param_space["task"].choices) > 120
    assert environment_spec(MINIWOB).id == MINIWOB
    assert MINIWOB not in palaestra.envs.ids()  # no solver and no snapshot: an adapter, no family


def test_a_form_is_filled_in_and_sent_with_the_contract_at_each_step(env):
    page = begin(env, "enter-text")
    word = re.findall(r'Enter "(.*?)"', page)[0]
    page, reward, over, cut, info = env.step(f'fill [{find(page, "input_text")}] "{word}"')
    assert (reward, over, cut, info["is_success"], info["reward_valid"]) == (0.0, False, False, False, True)
    assert f'value="{word}"' in page
    _, reward, over, _, info = env.step(f"click [{find(page, 'button')}]")
    assert (reward, over, info["is_success"], info["progress"]) == (1.0, True, True, 1.0)
    assert info.keys() >= STEP
    assert info["reward_terms"] == {"success": 1.0}


def test_a_partial_reward_is_no_success(env):
    # BrowserGym counts every raw reward above 0, and the package's default reward fades with time.
    page = begin(env, "ascending-numbers")
    numbers = sorted((int(number), place) for number, place in re.findall(r'text "(\d+)".* at (\d+,\d+)$', page, re.M))
    env.step(f"click {numbers[0][1]}")
    _, reward, over, _, info = env.step(f"click {numbers[-1][1]}")
    assert over
    assert 0 < info["raw_reward"] < 1
    assert (reward, info["is_success"], info["progress"]) == (0.0, False, info["raw_reward"])
    with gym.make(MINIWOB, disable_env_checker=True, success_at=info["raw_reward"]) as lenient:
        begin(lenient, "ascending-numbers")
        lenient.step(f"click {numbers[0][1]}")
        assert lenient.step(f"click {numbers[-1][1]}")[4]["is_success"]


def test_an_episode_repeats_and_takes_no_time_of_the_wall(env):
    def play() -> list[str]:
        page = begin(env, "choose-date", 3)
        pages = [page]
        for action in (f"click [{find(page, 'input_text')}]", "click 60,130", "wait"):
            pages.append(env.step(action)[0])
        return pages

    first = play()
    assert play() == first
    assert len(set(first)) > 2


@pytest.mark.parametrize(
    ("action", "error"),
    [
        ("click [99]", "There is no element [99] on the page."),
        ("click 500,20", "The page is 160 wide and 210 high; 500,20 is not on it."),
        ("goto http://localhost", "This is no action. Write one"),
        ("press Control+Alt+Delete", "There is no key"),
        ("select [4] 'x'", "[4] is no list to choose from."),
        ('fill [4] "x"', "[4] is no field for text."),
        ("", "There is no answer."),
        (7, "The action must be text, not int."),
    ],
)
def test_a_bad_action_is_one_sentence_and_costs_a_turn(env, action, error):
    page = begin(env, "click-test")
    assert find(page, "button") == "4"
    after, reward, over, cut, info = env.step(action)
    assert info["action_error"].startswith(error)
    assert after.startswith(info["action_error"])
    assert (reward, over, cut, info["reward_valid"]) == (0.0, False, False, True)
    cuts = [env.step("wait")[3] for _ in range(4)]
    assert cuts == [False, False, False, True]


def test_actions_are_read():
    assert read_page_command("click [12]") == read_page_command("Click 12") == ("click", [12], "")
    assert read_page_command("drag [3] [5]") == ("drag", [3, 5], "")
    assert read_page_command("drag 10,20 to [5]") == ("drag", [(10, 20), 5], "")
    assert read_page_command('fill [3] "a \\"b\\""') == ("fill", [3], 'a "b"')
    assert read_page_command("press arrowup") == ("press", [], "ArrowUp")
    assert read_page_command("scroll [3] down") == ("scroll", [3], "down")


def test_a_lost_browser_is_an_invalid_reward_and_the_next_episode_goes_on():
    env = gym.make(MINIWOB, disable_env_checker=True)
    begin(env, "click-test")
    engine().call(env.unwrapped._tab.close)
    _, reward, over, cut, info = env.step("wait")
    assert (reward, over, cut, info["reward_valid"], info["is_success"]) == (0.0, False, True, False, False)
    page = begin(env, "click-test")
    assert env.step(f"click [{find(page, 'button')}]")[4]["is_success"]
    env.close()


def test_splits_pictures_and_evaluation():
    tasks = set()
    for split in ("train", "test"):
        with gym.make(MINIWOB, disable_env_checker=True, split=split, axes={"task": ["click-test"]}) as env:
            tasks |= {(env.reset(seed=seed)[1]["task_id"], split) for seed in range(8)}
    assert len({task for task, _ in tasks}) == len(tasks)

    def click(page: str) -> str:
        return f"click [{find(page, 'button')}]"

    report = palaestra.evaluate(click, MINIWOB, episodes=3, axes={"task": "click-test"}, num_envs=2)
    assert report.success.mean == 1.0
    with gym.make(MINIWOB, disable_env_checker=True, render_mode="rgb_array") as env:
        begin(env, "click-test")
        assert env.render().shape == (210, 160, 3)


def test_what_cannot_be_done_is_one_sentence(env):
    with pytest.raises(InputError, match="no-such-page"):
        begin(env, "no-such-page")
    with pytest.raises(InputError, match="cannot be saved"):
        env.unwrapped.get_state()
