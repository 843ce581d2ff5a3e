"""Forum-v0: every template can be solved, and only what was asked for counts."""

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
NAMES = [one.name for _, one in TEMPLATES.items() if one.site == "forum" and not one.on_request]


def make(**kwargs: Any) -> Any:
    return gym.make("palaestra/Forum-v0", disable_env_checker=True, slack=5.0, **kwargs).unwrapped


def begin(env: Any, template: str, **params: Any) -> tuple[str, ...]:
    """Reset until the task is of a template. Return the plan."""
    params["intent"] = TEMPLATES[f"forum/{template}"].intent
    for seed in range(100):
        env.reset(seed=seed, options={"difficulty": 0.5, "params": params})
        if env.here().task.template == template:
            return env.plan(env.here())
    raise AssertionError(template)


def controls(env: Any, beginning: str) -> list[str]:
    """The names of the controls of the page that begin so."""
    return [one.name for one in parse_page(env.here().tab.html).controls if one.name.startswith(beginning)]


def test_there_are_templates_of_every_intent():
    intents = {TEMPLATES[f"forum/{name}"].intent for name in NAMES}
    assert intents == set(make().param_space["intent"].choices)
    assert len(NAMES) == 32


@pytest.mark.parametrize("name", NAMES)
def test_the_solver_reaches_every_milestone_of_every_template_under_any_number_of_conditions(name: str):
    env = make()
    for constraints in (1, 2, 4):
        info: dict[str, Any] = {}
        progress = []
        for action in begin(env, name, constraints=constraints, threads=40):
            info = env.step(action)[4]
            assert info["action_error"] is None
            progress.append(info["progress"])
        reached, number = info["extras"]["milestones"]
        assert (info["is_success"], reached) == (True, number)
        assert progress == sorted(progress)


@pytest.mark.parametrize("name", NAMES)
def test_doing_nothing_and_a_wrong_answer_fail(name: str):
    env = make()
    *actions, _ = begin(env, name)
    if make_task_start(env.here().task).goal.answer is not None:
        for action in actions:
            env.step(action)
    assert not env.step('answer "done"')[4]["is_success"]


@pytest.mark.parametrize("name", NAMES)
def test_a_bookmark_that_nobody_asked_for_fails(name: str):
    env = make()
    *actions, answer = begin(env, name)
    for action in actions:
        env.step(action)
    click(env, "Bookmarks")
    saved = {*controls(env, "Remove ")}
    click(env, "Village Forum")
    titles = [one.name for one in parse_page(env.here().tab.html).controls if one.element.get("class") == "name"]
    click(env, next(title for title in titles[5:] if f"Remove {title}" not in saved))
    click(env, "Bookmark thread")
    info = env.step(answer)[4]
    assert not info["is_success"]
    assert "bookmarks" in info["feedback"]


def test_a_vote_for_somebody_else_in_the_thread_fails_until_it_is_taken_back():
    env = make()
    *actions, answer = begin(env, "vote-for-user", constraints=1)
    for action in actions:
        env.step(action)
    other = next(name for name in controls(env, "Vote for post"))
    click(env, other)
    start = env.get_state()
    assert "votes" in env.step(answer)[4]["feedback"]
    env.set_state(start)
    click(env, other.replace("Vote for", "Take back vote on"))
    assert env.step(answer)[4]["is_success"]


def test_a_reply_in_other_words_fails():
    env = make()
    *actions, answer = begin(env, "write-reply", items=1)
    for action in actions:
        env.step(action.replace('"', '"So: ', 1) if action == actions[-2] else action)
    info = env.step(answer)[4]
    assert not info["is_success"]
    assert "posts" in info["feedback"]


def test_a_reply_to_a_thread_with_a_similar_title_fails():
    env = make()
    *_, answer = begin(env, "write-reply", items=1)
    slots = dict(env.here().task.slots)
    click(env, "Search")
    for title in [name for name in controls(env, "") if name.endswith("?") and name != slots["threads"][0][1]]:
        click(env, title)
        if controls(env, "Your reply"):
            break
        click(env, "Search")
    click(env, "Your reply", "fill", slots["texts"][0])
    click(env, "Post reply")
    info = env.step(answer)[4]
    assert not info["is_success"]
    assert "posts" in info["feedback"]


def test_only_moderators_see_what_moderates():
    env = make()
    for template, seen in (("report-post", False), ("lock-threads", True)):
        for action in begin(env, template):
            if controls(env, "Post reply"):
                break
            env.step(action)
        assert bool(controls(env, "Moderate")) is seen


def test_both_browsers_agree_on_the_forum():
    if missing_chromium():
        pytest.skip(missing_chromium())
    fast, real = make(), make(backend="chromium")
    for template in ("vote-for-user", "edit-post", "lock-threads"):
        plan = begin(fast, template, items=1, threads=24)
        real.set_state(fast.get_state())
        for action in plan:
            assert fast.step(action)[:4] == real.step(action)[:4]
    real.close()
