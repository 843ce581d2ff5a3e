"""Replays as pages: what they hold, that nothing in them is interpreted, and that they can be stepped through."""

from __future__ import annotations

import base64
import hashlib
import html
import re

import gymnasium as gym
import palaestra
import pytest
from palaestra.agents.replay import ReplayRecorder, make_page
from palaestra.envs.unicode import Unicode
from palaestra.envs.web.browsers.chromium_engine import engine
from palaestra.errors import InputError

HOSTILE = '</pre><script>document.title = "taken"</script><img src=x onerror=alert(1)><a href="javascript:1">\ud800'


class Hostile(gym.Env):
    """Says what a page must not carry out, for three turns."""

    observation_space = action_space = Unicode(1_000)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.turns = 0
        return HOSTILE, {"task_id": HOSTILE, "params": {HOSTILE: 1}}

    def step(self, action):
        self.turns += 1
        info = {"reward_terms": {HOSTILE: 0.5}, "action_error": HOSTILE, "feedback": "f", HOSTILE: HOSTILE}
        return HOSTILE, 0.5, self.turns == 3, False, {**info, "is_success": False}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Replays of a hostile environment, in order."""
    folder = tmp_path_factory.mktemp("replays")
    env = ReplayRecorder(Hostile(), folder, title=HOSTILE)
    for turns in (3, 2, 0):
        env.reset(seed=7)
        for _ in range(turns):
            env.step(HOSTILE)
    env.close()
    return sorted(folder.iterdir())


def test_each_episode_with_a_step_is_one_file(pages):
    assert [page.name for page in pages] == ["episode-0000-failure.html", "episode-0001-unfinished.html"]


def test_text_stays_text_and_only_the_pages_own_script_may_run(pages):
    page = pages[0].read_text(encoding="utf-8")
    assert page.count(html.escape('document.title = "taken"', quote=False).replace('"', "&#34;")) > 9
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in page
    assert not re.search(r"(src|href)=\"(?!data:|#)", page)


def test_a_page_is_stepped_through_on_a_small_screen_without_any_request(pages):
    def look():
        context = engine().chromium.new_context(viewport={"width": 390, "height": 800}, offline=True)
        tab, said = context.new_page(), []
        tab.on("console", lambda message: said.append(message.text))
        tab.on("dialog", lambda dialog: said.append(dialog.message))
        tab.on("request", lambda request: said.append(request.url))
        tab.goto(pages[0].as_uri())
        place = "[document.title, document.getElementById('count').textContent, innerWidth, document.body.scrollWidth]"
        seen = [tab.evaluate(place)]
        for press in ("ArrowRight", "End", "ArrowLeft", "Home"):
            tab.keyboard.press(press)
            seen.append(tab.evaluate(place)[1])
        tab.get_by_role("button", name="Next").click()
        tab.get_by_role("navigation", name="Steps").get_by_role("link", name="3").click()
        shown = tab.locator("section.step:visible")
        seen.append((shown.count(), shown.locator("pre.seen").inner_text()))
        context.close()
        return seen, said

    seen, said = engine().call(look)
    assert said == [pages[0].as_uri()]
    title, *rest = seen[0]
    assert title.startswith("Hostile: failure")
    assert rest == ["step 1 of 3", 390, 390]
    assert seen[1:5] == ["step 2 of 3", "the end", "step 3 of 3", "step 1 of 3"]
    assert seen[5] == (1, HOSTILE.replace("\ud800", "\\ud800"))


def test_an_evaluation_writes_its_episodes_with_pictures_by_number(tmp_path):
    report = palaestra.evaluate("oracle", "palaestra/Sokoban-v0", episodes=3, num_envs=2, replay=tmp_path / "replays")
    pages = sorted((tmp_path / "replays").iterdir())
    assert [page.name for page in pages] == [f"episode-000{number}-success.html" for number in range(3)]
    page = pages[0].read_text(encoding="utf-8")
    steps = page.count('<section class="step"')
    assert page.count('src="data:image/png;base64,iVBOR') == steps
    assert sum(text.read_text().count("<section") - 1 for text in pages) / 3 == pytest.approx(report.length.mean)
    plain = palaestra.evaluate("oracle", "palaestra/Sokoban-v0", episodes=3, num_envs=2)
    assert plain.to_json() == report.to_json()
    with pytest.raises(InputError, match="replay must be a folder"):
        palaestra.evaluate("oracle", "palaestra/Sokoban-v0", episodes=1, replay=pages[0])


def test_numbered_actions_and_arrays_are_named(tmp_path):
    palaestra.evaluate("oracle", "palaestra/DoorKey-v0", episodes=1, replay=tmp_path, env_kwargs={"size": 5})
    (page,) = tmp_path.iterdir()
    assert ">forward</pre>" in page.read_text(encoding="utf-8")


def test_the_steps_are_there_without_script_as_well():
    steps = [{"seen": "page one", "action": "go", "reward": 1.0, "terms": {}, "progress": None}, {"seen": "page two"}]
    page = make_page("e", {}, steps, "success")
    assert page.count("hidden") == page.count("[hidden]") + page.count("step.hidden") + page.count("overflow: hidden")
    assert "page one" in page
    assert "page two" in page


def test_web_sites_are_shown_as_they_look_with_the_control_of_each_action_in_view(tmp_path):
    env = ReplayRecorder(gym.make("palaestra/Forum-v0", disable_env_checker=True), tmp_path)
    env.reset(seed=3)
    done = False
    while not done:
        _, _, terminated, truncated, _ = env.step(env.unwrapped.oracle())  # type: ignore[attr-defined]
        done = terminated or truncated
    env.close()
    (page,) = tmp_path.iterdir()

    def look(width: int):
        context = engine().chromium.new_context(viewport={"width": width, "height": 700}, offline=True)
        tab, said = context.new_page(), []
        tab.on("console", lambda message: said.append(message.text))
        tab.on("request", lambda request: said.append(request.url))
        tab.goto(f"{page.as_uri()}#step-3")
        frame = tab.frame_locator("section.step:not([hidden]) iframe.page")
        frame.locator("#acted-on").wait_for()
        # Until the whole page is shown.
        shown = tab.locator("section.step:not([hidden]) iframe.page")
        while not shown.evaluate("e => e.clientHeight >= e.contentDocument.documentElement.scrollHeight"):
            tab.wait_for_timeout(20)
        # The page is scrolled once it is shown.
        box, inside = frame.locator("#acted-on").bounding_box(), frame.locator("body")
        for _ in range(500):
            if 0 < box["y"] < 700 - box["height"]:
                break
            tab.wait_for_timeout(20)
            box = frame.locator("#acted-on").bounding_box()
        seen = (
            inside.evaluate("e => getComputedStyle(e).fontFamily"),
            tab.evaluate("document.documentElement.scrollWidth"),
        )
        context.close()
        return box, seen, said

    for width in (1100, 390):
        box, (font, across), said = engine().call(look, width)
        assert 0 < box["y"] < 700 - box["height"]
        assert "sans-serif" in font
        assert across == width
        assert [one for one in said if not one.startswith(("file:", "about:", "data:"))] == []
    assert 'sandbox="allow-same-origin"' in page.read_text(encoding="utf-8")
