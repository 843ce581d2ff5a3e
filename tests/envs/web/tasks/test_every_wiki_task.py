"""WikiSite-v0: every template can be solved, and only what was asked for counts."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import palaestra  # noqa: F401  # registers the ids
import pytest
from palaestra.envs.web.browsers.page_cache import parse_page
from palaestra.envs.web.tasks.template import TEMPLATES, make_task_start

from ..browsers.pages import missing_chromium
from .test_every_shop_task import click

# Templates on request are tested in test_paper_tasks.
NAMES = [one.name for _, one in TEMPLATES.items() if one.site == "wiki" and not one.on_request]


def make(**kwargs: Any) -> Any:
    return gym.make("palaestra/WikiSite-v0", disable_env_checker=True, slack=5.0, **kwargs).unwrapped


def begin(env: Any, template: str, **params: Any) -> tuple[str, ...]:
    """Reset until the task is of a template. Return the plan."""
    params = {"articles": 40, "intent": TEMPLATES[f"wiki/{template}"].intent} | params
    for seed in range(100):
        env.reset(seed=seed, options={"difficulty": 0.5, "params": params})
        if env.here().task.template == template:
            return env.plan(env.here())
    raise AssertionError(template)


def play(env: Any, actions: Any) -> dict[str, Any]:
    info: dict[str, Any] = {}
    for action in actions:
        info = env.step(action)[4]
        assert info["action_error"] is None
    return info


def test_there_are_templates_of_every_intent():
    intents = {TEMPLATES[f"wiki/{name}"].intent for name in NAMES}
    assert intents == set(make().param_space["intent"].choices)
    assert len(NAMES) == 29


@pytest.mark.parametrize("name", NAMES)
def test_the_solver_reaches_every_milestone_under_any_number_of_conditions(name: str):
    env = make()
    for constraints in (1, 2, 3):
        info = play(env, begin(env, name, constraints=constraints, items=constraints))
        reached, number = info["extras"]["milestones"]
        assert (info["is_success"], reached) == (True, number)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_done_a_wrong_answer_and_a_watch_that_nobody_asked_for_fail(name: str):
    env = make()
    *actions, answer = begin(env, name)
    if make_task_start(env.here().task).goal.answer is not None:
        play(env, actions)
    assert not env.step('answer "done"')[4]["is_success"]
    begin(env, name)
    play(env, actions)
    # An article that nobody watches yet.
    for kind in ("Rivers", "Battles", "Species", "Plays"):
        click(env, "Open Almanac")
        click(env, kind)
        click(
            env,
            next(one.name for one in parse_page(env.here().tab.html).controls if one.element.get("class") == "name"),
        )
        if any(one.name == "Watch article" for one in parse_page(env.here().tab.html).controls):
            break
    click(env, "Watch article")
    info = env.step(answer)[4]
    assert not info["is_success"]
    assert "watched" in info["feedback"]


def test_what_the_text_says_corrects_a_value():
    env = make()
    begin(env, "correct-values", items=1, constraints=1)
    start = make_task_start(env.here().task)
    ((article, _, wrong),) = start.goal.removed["facts"]
    ((*_, right),) = start.goal.added["facts"]
    env.step(f"goto /article/{article}")
    lines = [line.name for line in parse_page(env.here().tab.html).lines]
    text = next(line for line in lines if "This" in line or right in line)
    assert wrong not in text
    assert any(wrong in line for line in lines)


def test_both_browsers_agree_on_the_encyclopaedia():
    if missing_chromium():
        pytest.skip(missing_chromium())
    fast, real = make(), make(backend="chromium")
    for template in ("follow-relations", "stop-watching", "update-values"):
        plan = begin(fast, template, items=1)
        real.set_state(fast.get_state())
        for action in plan:
            assert fast.step(action)[:4] == real.step(action)[:4]
    real.close()
