"""Actions as BrowserGym's agents write them: the same commands, and the same episodes on every site."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import palaestra  # noqa: F401  # registers the ids
import pytest
from palaestra.benchmarks.web.command import web_ids
from palaestra.envs.web.browsers.commands import Command, read_command
from palaestra.envs.web.browsers.high_level_calls import CALLS, REFUSED

from .pages import make_browser, missing_chromium, number_of, show

READ = {
    "click('12')": Command("click", 12),
    "click(12)": Command("click", 12),
    "click('[12]', button='left', modifiers=[])": Command("click", 12),
    'fill("7", "it\'s \\"so\\"\\nhere")': Command("fill", 7, 'it\'s "so"\nhere'),
    "fill(bid='7', value='x', enable_autocomplete_menu=True)": Command("fill", 7, "x"),
    "fill(7, text)": Command("fill", 7, "text"),
    "clear('7')": Command("fill", 7, ""),
    "select_option('9', 'Large')": Command("select", 9, "Large"),
    "select_option('9', ['Large'])": Command("select", 9, "Large"),
    "select_option('9', ['One', 'Two'])": Command("select", 9, "One, Two"),
    "check('3')": Command("check", 3),
    "uncheck [3]": Command("uncheck", 3),
    "hover('3')": Command("hover", 3),
    "upload_file('3', 'a b.txt')": Command("upload", 3, "a b.txt"),
    "upload_file('3', ['a.txt'])": Command("upload", 3, "a.txt"),
    "upload(3, 'a.txt')": Command("upload", 3, "a.txt"),
    "open_file('a.txt')": Command("open_file", 0, "a.txt"),
    "drag_and_drop('3', '[7]')": Command("drag", 3, "[7]"),
    "drag [3] 7": Command("drag", 3, "[7]"),
    "mouse_upload_file(1, 2.5, ['my list.csv'])": Command("upload_at", 0, "1 2.5 my list.csv"),
    "mouse_drag_and_drop(1, 2.5, 3, 400)": Command("drag_at", 0, "1 2.5 3 400"),
    "focus('3')": Command("focus", 3),
    "press('3', 'Enter')": Command("press", 3, "Enter"),
    "press('3', ' ')": Command("press", 3, "Space"),
    "press('3', 'ControlOrMeta+A')": Command("press", 3, "Control+a"),
    "press('3', '\"')": Command("press", 3, '"'),
    "press('3', 'KeyA')": Command("press", 3, "a"),
    "keyboard_press('Shift+a')": Command("key", 0, "A"),
    "keyboard_press(key='Shift+Tab')": Command("key", 0, "Shift+Tab"),
    "keyboard_type('a \"b\"')": Command("write", 0, 'a "b"'),
    "keyboard_insert_text('x')": Command("write", 0, "x"),
    "dblclick('3')": Command("dblclick", 3),
    "mouse_click(12.5, 340)": Command("click_at", 0, "12.5 340"),
    "mouse_dblclick(1, -2)": Command("dblclick_at", 0, "1 -2"),
    "click_at(3, 4)": Command("click_at", 0, "3 4"),
    "mouse_move(3, 4)": Command("wait"),
    "scroll_at(3, 4, 0, -10)": Command("scroll", 0, "up"),
    "go_forward()": Command("forward"),
    "new_tab()": Command("new_tab"),
    "tab_focus(1)": Command("tab", 0, "1"),
    "tab(1)": Command("tab", 0, "1"),
    "tab_close()": Command("close_tab"),
    "scroll(0, 200)": Command("scroll", 0, "down"),
    "scroll(0, -0.5);": Command("scroll", 0, "up"),
    "scroll(down)": Command("scroll", 0, "down"),
    "goto('/search?q=a b')": Command("goto", 0, "/search?q=a b"),
    "go_back()": Command("back"),
    "noop(500)": Command("wait"),
    "send_msg_to_user('12 (net), it is')": Command("answer", 0, "12 (net), it is"),
    "send_msg_to_user(text=42)": Command("answer", 0, "42"),
    "report_infeasible('why')": Command("infeasible", 0, "why"),
}
BAD = {
    "click('a12')": "click needs the id of a control",
    "click('12', button='right')": "left button",
    "click('12', modifiers=['Shift'])": "left button",
    "fill('7', None)": "fill takes a text, not NoneType",
    "fill('7', True)": "fill takes a text, not bool",
    "select_option('9', [])": "select needs the text",
    "press('3', 'Control+c')": "The keys are Enter, Space, Tab",
    "keyboard_press('F5')": "The keys are",
    "keyboard_type('')": "write needs a text",
    "tab_focus(-1)": "number of an open tab",
    "mouse_upload_file(3, 4, '')": "upload_at needs a point",
    "mouse_click('here', 3)": "click_at needs a point",
    "mouse_click(1, 3, 'right')": "left button",
    "dblclick('1', button='middle')": "left button",
    "scroll(200, 0)": "up and down",
    "upload_file('3', ['a', 'b'])": "takes one file",
    "upload_file('3', '')": "needs the name of a file",
    "open_file()": "needs the name of a file",
    "drag_and_drop('3', 'there')": "needs the ids of two controls",
    "mouse_drag_and_drop(1, 2, 3, 'x')": "needs two points",
    "send_msg_to_user('')": "answer needs a text",
    "send_msg_to_user()": "is called as send_msg_to_user(text)",
    "send_msg_to_user(open('/etc/passwd').read())": "literal values",
    "send_msg_to_user('x' * 10**9)": "literal values",
    "noop(" + "-" * 5_000 + "1)": "literal values",
    "fill('7', __import__('os'))": "fill needs the id",
    "fill('7', 'a\\0b')": "control characters",
    f"fill('7', '{'x' * 3_000}')": "3000 characters",
    "click('1'); click('2')": "click needs the id",
    "(" * 300 + ")" * 300: "This is no action",
}


@pytest.mark.parametrize(("action", "command"), READ.items())
def test_calls_are_the_same_commands(action: str, command: Command):
    assert read_command(action) == command
    assert read_command(str(command)) == command


@pytest.mark.parametrize(("action", "message"), BAD.items())
def test_calls_that_cannot_be_done_are_refused_in_a_sentence(action: str, message: str):
    refusal = read_command(action)
    assert isinstance(refusal, str)
    assert message in refusal
    assert "\n" not in refusal


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_calls_without_a_counterpart_name_those_that_work(name: str):
    refusal = read_command(f"{name}('1', '2')")
    assert isinstance(refusal, str)
    assert refusal.startswith(f"{name} cannot be done here")
    assert all(known in refusal for known in CALLS)


def write_call(action: str) -> str:
    """The call of a high-level action for an action of the solver."""
    command = read_command(action)
    assert isinstance(command, Command)
    bid, text = repr(str(command.number)), repr(command.text)
    written = {
        "click": f"click({bid})",
        "fill": f"fill({bid}, {text})",
        "select": f"select_option({bid}, {text})",
        "press": f"press({bid}, {text})",
        "scroll": f"scroll(0, {200 if command.text == 'down' else -200})",
        "back": "go_back()",
        "goto": f"goto({text})",
        "upload": f"upload_file({bid}, {text})",
        "open_file": f"open_file({text})",
        "tab": f"tab_focus({text})",
        "close_tab": "tab_close()",
        "answer": f"send_msg_to_user({text})",
    }
    return written[command.verb]


@pytest.mark.parametrize("env_id", web_ids())
@pytest.mark.parametrize("options", [{}, {"answer_format": "tag"}, {"lines": 9}])
def test_episodes_of_the_solver_written_as_calls_are_the_same(env_id: str, options: dict[str, Any]):
    own, other = (gym.make(env_id, disable_env_checker=True, **options).unwrapped for _ in range(2))
    for seed in range(6):
        how = {"difficulty": seed / 5}
        assert own.reset(seed=seed, options=how)[0] == other.reset(seed=seed, options=how)[0]
        done, reward = False, 0.0
        while not done:
            action = own.plan(own.here())[0]
            call = write_call(action)
            page, reward, terminated, truncated, info = own.step(own.write_action(action))
            again = other.step(other.write_action(call))
            assert again[:4] == (page, reward, terminated, truncated)
            assert again[4]["action_error"] is info["action_error"] is None
            done = terminated or truncated
        assert reward == 1.0


def test_a_report_that_a_task_is_infeasible_ends_the_episode_without_success():
    env: Any = gym.make("palaestra/Shop-v0", intent="cart", disable_env_checker=True).unwrapped
    env.reset(seed=1)
    while not (action := env.oracle()).startswith("answer"):
        env.step(action)
    start = env.get_state()
    _, reward, terminated, _, info = env.step("report_infeasible('There is no such product.')")
    assert (reward, terminated, info["is_success"], info["action_error"]) == (0.0, True, False, None)
    env.set_state(start)
    assert env.step("send_msg_to_user('done')")[4]["is_success"]


def test_calls_without_effect_use_up_a_turn_and_change_nothing():
    env: Any = gym.make("palaestra/Forum-v0", disable_env_checker=True).unwrapped
    env.reset(seed=1)
    before = env.here()
    for call in ("hover('1')", "mouse_move(9, 9)", "noop()"):
        info = env.step(call)[4]
        assert info["action_error"] is None
    assert (env.here().tab, env.here().database) == (before.tab, before.database)
    assert len(env.here().actions) == 3


def test_boxes_are_checked_once_and_radio_buttons_are_not_unchecked():
    browsers = [make_browser("inprocess")] + ([] if missing_chromium() else [make_browser("chromium")])
    for browser in browsers:
        browser.perform(Command("goto", 0, "/form"))
        box, two, red, green, first = (number_of(browser, name) for name in ("Box", "Two", "Red", "Green", "First"))
        for verb, number, error in (
            *(("check", box, None), ("check", box, None), ("check", two, None), ("uncheck", two, None)),
            *(("check", green, None), ("uncheck", red, None), ("hover", first, None), ("focus", first, None)),
            *(("uncheck", green, "radio button"), ("check", first, "cannot be checked")),
        ):
            refusal = browser.perform(Command(verb, number))
            assert refusal is None if error is None else error in (refusal or "")
        assert browser.edits == {box: True, two: False, red: False, green: True}
    assert all(show(browser) == show(browsers[0]) for browser in browsers)
