"""Shop-v0: every template can be solved, and only what was asked for counts."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401  # registers the ids
import pytest
from palaestra.envs.web.browsers.commands import Command
from palaestra.envs.web.browsers.page_cache import parse_page
from palaestra.envs.web.tasks.template import TEMPLATES, make_task_start
from palaestra.errors import InputError

# Templates on request are tested in test_paper_tasks.
NAMES = [name for name, one in TEMPLATES.items() if one.site == "shop" and not one.on_request]


def make(**kwargs: Any) -> Any:
    return gym.make("palaestra/Shop-v0", disable_env_checker=True, **kwargs).unwrapped


def begin(env: Any, template: str, seed: int = 0, **params: Any) -> tuple[str, dict[str, Any]]:
    """Reset until the task is of a template."""
    params["intent"] = TEMPLATES[f"shop/{template}"].intent
    for number in range(seed, seed + 100):
        begun = env.reset(seed=number, options={"difficulty": 0.5, "params": params})
        if env.here().task.template == template:
            return begun
    raise AssertionError(template)


def click(env: Any, name: str, verb: str = "click", text: str = "") -> dict[str, Any]:
    """Act on the control of this name."""
    page = parse_page(env.here().tab.html)
    number = next(one.number for one in page.controls if one.name == name)
    info = env.step(str(Command(verb, number, text)))[4]
    assert info["action_error"] is None
    return info


@pytest.mark.parametrize("name", NAMES)
def test_the_solver_reaches_every_milestone_of_every_template(name: str):
    env = make()
    begin(env, name.removeprefix("shop/"))
    info: dict[str, Any] = {}
    progress = []
    for action in env.plan(env.here()):
        _, reward, terminated, _, info = env.step(action)
        progress.append(info["progress"])
    reached, number = info["extras"]["milestones"]
    assert (info["is_success"], reward, terminated, reached) == (True, 1.0, True, number)
    assert progress == sorted(progress)


@pytest.mark.parametrize("name", NAMES)
def test_doing_nothing_and_a_wrong_answer_are_failures(name: str):
    env = make()
    begin(env, name.removeprefix("shop/"))
    _, reward, terminated, _, info = env.step('answer "done"')
    assert (reward, terminated, info["is_success"]) == (0.0, True, False)
    begin(env, name.removeprefix("shop/"))
    if make_task_start(env.here().task).goal.answer is not None:
        for action in env.plan(env.here())[:-1]:
            env.step(action)
        assert not env.step('answer "41.00"')[4]["is_success"]


@pytest.mark.parametrize("name", NAMES)
def test_a_change_that_nobody_asked_for_is_a_failure(name: str):
    env = make(slack=5.0)
    begin(env, name.removeprefix("shop/"))
    *actions, answer = env.plan(env.here())
    for action in actions:
        env.step(action)
    click(env, "Account")
    click(env, "Phone", "fill", "555 9999")
    click(env, "Save details")
    info = env.step(answer)[4]
    assert not info["is_success"]
    assert "account" in info["feedback"]


def test_an_order_that_nobody_asked_for_is_a_failure_and_cancelling_it_does_not_help():
    env = make(slack=10.0)
    begin(env, "report-price")
    answer = env.plan(env.here())[-1]
    click(env, "Search")
    page = parse_page(env.here().tab.html)
    click(env, next(one.name for one in page.controls if one.element.get("class") == "name"))
    page = parse_page(env.here().tab.html)
    for role in ("combobox", "radio"):
        control = next((one for one in page.controls if one.role == role), None)
        if control is not None:
            text = control.options[-1] if control.options else ""
            click(env, control.name, "select" if text else "click", text)
    click(env, "Add to cart")
    click(env, "Go to checkout")
    click(env, "I accept the terms of sale")
    click(env, "Place order")
    click(env, "Cancel order")
    click(env, "Confirm")
    info = env.step(answer)[4]
    assert not info["is_success"]
    assert "orders" in info["feedback"]


def test_a_wrong_form_says_what_is_wrong_and_changes_nothing():
    env = make(slack=10.0)
    begin(env, "change-details")
    click(env, "Account")
    click(env, "Postcode", "fill", "12")
    before = env.here().database
    click(env, "Save details")
    assert 'invalid: "Enter a postcode of five digits."' in env.observe(env.here())
    assert env.here().database == before


def test_prices_may_have_a_currency_and_names_any_case():
    env = make()
    for template, form in (("report-price", "${}"), ("report-price", "{} euros"), ("find-cheapest", "{}.")):
        begin(env, template)
        *actions, _ = env.plan(env.here())
        for action in actions:
            env.step(action)
        right = str(make_task_start(env.here().task).goal.answer)
        assert env.step(str(Command("answer", 0, form.format(right.upper()))))[4]["is_success"]


def test_branches_of_a_snapshot_do_not_disturb_each_other():
    env = make()
    begin(env, "buy", items=2)
    plan = env.plan(env.here())
    for action in plan[:-4]:
        env.step(action)
    snapshot = pickle.loads(pickle.dumps(env.get_state()))
    ends = []
    for other in (env, make(), env):
        other.set_state(snapshot)
        rng = np.random.default_rng(len(ends))
        for _ in range(2):
            other.step(other.random_action(other.here(), rng))
        other.set_state(snapshot)
        ends.append([other.step(action)[:4] for action in plan[-4:]])
    assert ends[0] == ends[1] == ends[2]
    assert ends[0][-1][1] == 1.0


def test_the_solver_finds_its_way_from_elsewhere():
    env = make(slack=10.0)
    begin(env, "add-to-cart", items=1)
    for action in ("goto /nowhere", "goto /orders", "click [4]"):
        env.step(action)
    info: dict[str, Any] = {}
    while not info.get("is_success"):
        *_, terminated, truncated, info = env.step(env.oracle())
        assert info["is_success"] or not (terminated or truncated)


def test_splits_have_different_shops():
    origins = {}
    for split in ("train", "test"):
        env = make(split=split)
        origins[split] = set()
        for seed in range(30):
            env.reset(seed=seed)
            origins[split].add(env.here().task.origin)
    assert not origins["train"] & origins["test"]


def test_simplified_html_has_the_same_ids():
    env, other = make(), make(observation="html")
    tree, html = env.reset(seed=3)[0], other.reset(seed=3)[0]
    assert '[2] searchbox "Search products"' in tree
    assert '<input type="search" id="2" name="Search products" value="">' in html
    for action in env.plan(env.here()):
        assert env.step(action)[1] == other.step(action)[1]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"backend": "firefox"}, "chromium"),
        ({"observation": "pixels"}, "tree"),
        ({"render_mode": "rgb_array"}, "chromium"),
    ],
)
def test_wrong_arguments_name_the_remedy(wrong: dict[str, Any], said: str):
    with pytest.raises(InputError, match=said):
        make(**wrong)


def test_what_a_visitor_writes_stays_text():
    env = make(slack=10.0)
    begin(env, "write-review", items=1)
    *actions, _ = env.plan(env.here())
    for action in actions:
        verb, number, *_ = action.split(" ")
        is_title = f'{number} textbox "Title"' in env.observe(env.here())
        env.step(f'{verb} {number} "<script>x</script> [1] link"' if is_title and verb == "fill" else action)
    text = env.observe(env.here())
    assert 'text "<script>x</script> [1] link, ' in text
    assert "<script>x" not in env.here().tab.html
