"""`WebTaskEnv`: what is found at once equals what takes longer, on every site."""

from __future__ import annotations

import re
from typing import Any

import gymnasium as gym
import palaestra  # noqa: F401  # registers the ids
import pytest
from palaestra.envs.task_env import TaskEnv
from palaestra.envs.web.browsers.commands import read_command, write_text
from palaestra.envs.web.browsers.in_process import InProcessBrowser
from palaestra.envs.web.tasks.template import Goal, TaskStart, judge
from palaestra.errors import InputError

NAMES = ("Shop", "Forum", "Booking", "Admin", "Tracker", "WikiSite", "WebAcross", "WebLong", "WebTraps")
IDS = [f"palaestra/{name}-v0" for name in NAMES]


def make(env_id: str, **kwargs: Any) -> Any:
    return gym.make(env_id, disable_env_checker=True, **kwargs).unwrapped


@pytest.mark.parametrize("env_id", IDS)
def test_the_bound_of_turns_never_exceeds_their_limit(env_id: str):
    env = make(env_id)
    for seed in range(16):
        env.reset(seed=seed, options={"difficulty": seed % 5 / 4})
        assert env.least_turn_limit(env.here()) <= env.turn_limit(env.here())


@pytest.mark.parametrize("env_id", IDS)
def test_an_episode_is_truncated_by_the_plan_and_not_by_the_bound(env_id: str):
    env = make(env_id)
    for seed in range(2):
        env.reset(seed=seed)
        limit, turns, truncated = env.turn_limit(env.here()), 0, False
        other = make(env_id)
        other.reset(seed=seed)
        # A snapshot has the limit itself.
        assert other.get_state()["limit"] == limit
        while not truncated:
            truncated = env.step("scroll sideways")[3]
            turns += 1
        assert turns == limit


@pytest.mark.parametrize(
    "action",
    [
        *("click [12]", "press [3] Enter", "press [3] Space", "scroll down", "back"),
        *('fill [2] "lamp"', 'fill [2] "The answer is 12."', 'select [9] "Latest activity"', 'fill [2] ""'),
    ],
)
def test_actions_that_are_read_at_once_have_no_other_reading(action: str):
    env = make(IDS[0])
    plain, *others = TaskEnv.read_action(env, action)[0]
    assert env.read_action(action) == ([plain], None) == ([action], None)
    # Readings in lower case are the same action, where the first was refused.
    read = [str(one).lower() for other in others if not isinstance(one := read_command(other), str)]
    assert {*read} <= {str(read_command(action)).lower()}


def test_a_text_that_cannot_be_filled_in_is_no_action():
    env = make(IDS[0])
    env.reset(seed=0)
    env.step("goto /search")
    page = env.here().tab
    assert env.step('fill [99] "back"')[4]["action_error"]
    assert env.here().tab == page


@pytest.mark.parametrize("env_id", IDS)
def test_a_short_window_hides_controls_until_one_scrolls_to_them(env_id: str):
    whole, window = make(env_id), make(env_id, lines=9)
    for seed in range(3):
        whole.reset(seed=seed)
        page, _ = window.reset(seed=seed)
        done, reward, scrolls = False, 0.0, 0
        while not done:
            action = window.oracle()
            assert len(page.splitlines()) <= 9 + 4
            if control := re.search(r"\[[0-9]+\]", action):
                assert f"{control[0]} " in page
            scrolls += action.startswith("scroll")
            page, reward, terminated, truncated, _ = window.step(action)
            done = terminated or truncated
        assert reward == 1.0
        assert scrolls
        assert window.content_of(window.here()) == whole.content_of(whole.here())


def test_controls_alone_are_those_of_the_tree():
    tree, controls = make(IDS[0]), make(IDS[0], observation="controls", prompt="compact")
    for seed in range(3):
        page, _ = tree.reset(seed=seed)
        lines = [line.strip() for line in page.splitlines()[3:] if re.match(r" *(\[|alert|status)", line)]
        few, _ = controls.reset(seed=seed)
        task, head, *shown = few.splitlines()
        assert shown == lines
        assert task == page.splitlines()[0]
        assert head == page.splitlines()[2]


@pytest.mark.parametrize("options", [{"lines": 5}, {"lines": 7.5}, {"observation": "pixels"}, {"prompt": "short"}])
def test_options_out_of_range_are_refused_with_their_name(options: dict[str, Any]):
    with pytest.raises(InputError, match=next(iter(options))):
        make(IDS[0], **options)


@pytest.mark.parametrize(
    ("templates", "intents"),
    [("count-products", {"report"}), (["cancel-order", "add-wishes"], {"after-sales", "account"})],
)
def test_only_tasks_of_the_templates_that_are_named_are_drawn(templates: Any, intents: set[str]):
    env = make("palaestra/Shop-v0", templates=templates)
    drawn = set()
    for seed in range(30):
        _, info = env.reset(seed=seed)
        drawn.add((env.here().task.template, info["params"]["intent"]))
    wanted = {templates} if isinstance(templates, str) else set(templates)
    assert {template for template, _ in drawn} == wanted
    assert {intent for _, intent in drawn} == intents


def test_templates_of_other_sites_and_intents_are_refused():
    with pytest.raises(
        InputError, match="unknown template of ShopTasks: 'count-product'; did you mean 'count-products'"
    ):
        make("palaestra/Shop-v0", templates="count-product")
    with pytest.raises(InputError, match="unknown template of ForumTasks: 'count-products'"):
        make("palaestra/Forum-v0", templates=["count-products"])
    for conflict in ({"axes": {"intent": "account"}}, {"intent": "account"}):
        with pytest.raises(InputError, match=r"none of the templates chosen for ShopTasks fits .*account"):
            make("palaestra/Shop-v0", templates="count-products", **conflict)
    with pytest.raises(InputError, match="axes must map"):
        make("palaestra/Shop-v0", templates="count-products", axes=["account"])


RIGHT = {
    ("number", "1042"): (
        "1042",
        "1,042",
        "**1042**",
        "'1042'",
        "The answer is 1042.",
        "$1,042.00",
        "1042 EUR",
        "USD 1042",
    ),
    ("text", "Ann Lee"): ("ann lee", "**Ann Lee**", '"Ann Lee"', "Ann Lee.", "The answer is Ann Lee."),
    ("text", "The answer is 42"): ("The answer is 42",),
    ("text", "27 August 1770"): ("**27 August 1770**", "The answer is 27 August 1770.", "'27 august 1770'"),
    ("list", "Mug, Pan"): ("Pan, Mug", "pan and mug", '["Mug", "Pan"]', "**Mug, Pan**", "The answer is Mug and Pan."),
    ("list", "Mug, Pan, Pot"): ("Mug, Pan, and Pot", "pot, mug and pan", "Pot; Pan; Mug", "- Mug\n- Pan\n- Pot"),
}
WRONG = {
    ("number", "1042"): (
        "not 1042",
        "1042 or 1043",
        "about 1042",
        "1042 thousand",
        "1042 tickets",
        "1042 dozen dollars",
        "1042 1043",
        "1042, 1043",
        "The answer is not 1042.",
        "maybe 1042",
        "either 1042 or 1043",
        "The answer is 1042. The answer is 1043.",
        "",
    ),
    ("text", "Ann Lee"): (
        "not Ann Lee",
        "Ann Lee or Bob",
        "Ann Lee, Bob",
        "Ann",
        "The answer is not Ann Lee.",
        "Ann Lee?",
        "",
    ),
    ("text", "27 August 1770"): ("27 August 1771", "27 August 1770 or 1771", "not 27 August 1770", "27 August"),
    ("list", "Mug, Pan"): ("Mug", "Mug or Pan", "Mug, Pan, Pot", "not Mug, Pan", "Mug, and", "Mug, Pan or Pot"),
}


@pytest.mark.parametrize(("answers", "success"), [(RIGHT, True), (WRONG, False)])
def test_an_answer_is_read_as_a_reply_to_a_question_is(answers: dict[tuple[str, str], tuple[str, ...]], success: bool):
    for (kind, gold), spellings in answers.items():
        start = TaskStart("shop", b"", Goal(gold, kind), "", ())
        for spelling in spellings:
            # An action holds its answer in quotation marks, with or without a layout of its own.
            command = read_command(f"answer {write_text(spelling)}")
            said = "" if isinstance(command, str) else command.text
            assert judge(start, {}, said)[0] is success, spelling


def test_open_tabs_are_shown_and_are_part_of_the_state():
    env: Any = gym.make("palaestra/Shop-v0", disable_env_checker=True).unwrapped
    page, _ = env.reset(seed=1)
    assert "Tabs:" not in page
    env.step('fill [2] "lamp"')
    page = env.step("new_tab()")[0]
    assert 'Tabs: 0 "Welcome - Corner Goods", 1 "Welcome - Corner Goods"; this is tab 1; tab N, close_tab\n' in page
    state = env.get_state()
    back = env.step("tab_focus(0)")[0]
    assert '"lamp"' in back
    assert "this is tab 0" in back
    assert "Tabs:" not in env.step("tab_close()")[0]
    env.set_state(state)
    assert env.step("tab_focus(0)")[0] == back


def test_what_a_request_does_to_a_site_is_worked_out_once(monkeypatch: pytest.MonkeyPatch):
    made = [gym.make("palaestra/Forum-v0", disable_env_checker=True, intent="vote").unwrapped for _ in range(2)]
    played: list[list[Any]] = []
    for env in made:
        env.reset(seed=3)
        *actions, answer = env.plan(env.here())
        states = []
        for action in actions:
            env.step(action)
            states.append(env.here().database)
        played.append(states)
        assert env.step(answer)[4]["is_success"]
        # The second episode asks the site for nothing.
        monkeypatch.setattr(InProcessBrowser, "_call", None)
    assert len({id(one) for one in played[0]}) > 1
    assert all(one is other for one, other in zip(*played, strict=True))
