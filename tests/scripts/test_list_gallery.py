"""The gallery page of environments."""

from __future__ import annotations

import html
import re

import gymnasium as gym
import palaestra
import pytest
from palaestra.envs.game import Game
from palaestra.envs.question import Question, Task
from palaestra.envs.tags import ABSENT
from palaestra.envs.web.browsers.chromium_engine import engine
from palaestra.scripts.cli import main
from palaestra.scripts.list_gallery import entry, headings, page

# Other tests register environments that break on purpose.
IDS = [env_id for env_id in palaestra.envs.ids() if env_id.startswith("palaestra/")]


@pytest.fixture(scope="module")
def gallery() -> str:
    return page(IDS)


def test_every_environment_has_its_description_axes_and_two_examples(gallery):
    articles = dict(re.findall(r'<article id="([^"]+)">(.*?)</article>', gallery, flags=re.S))
    assert set(articles) == {env_id.replace("/", "-") for env_id in IDS}
    for env_id in IDS:
        text = html.unescape(articles[env_id.replace("/", "-")])
        env = gym.make(env_id, disable_env_checker=True).unwrapped
        assert headings(type(env))[0] in text
        for axis in env.param_space.axes:  # type: ignore[attr-defined]
            assert f"<code>{axis.name}=" in text
        assert all(f'data-tag="{tag}"' in text for tag in palaestra.envs.tags_of(env_id))
        assert text.count('<section class="example">') == 2
        assert text.count('class="answer"') >= 2


def test_the_index_has_names_without_the_package_and_summaries(gallery):
    index = gallery[gallery.index("<nav>") : gallery.index("</nav>")]
    lines = dict(re.findall(r'<a href="#([^"]+)".*?>(\S+ <span>.*?)</span></a>', index))
    assert len(lines) == len(IDS)
    assert lines["palaestra-Sokoban-v0"] == "Sokoban-v0 <span>Push all boxes onto goals, in a room with inner walls."


def test_making_the_page_says_nothing_on_the_terminal(caplog, capsys):
    page(["palaestra/AIME-v0"])
    assert caplog.records == []
    assert capsys.readouterr() == ("", "")


SEARCHES = {
    ("sparse", ()): {"DeceptiveMaze-v0", "GuessNumber-v0"},
    ("reward hacking", ()): {"GameableFlattery-v0"},
    ("", ("single-turn",)): {"Sudoku-v0"},
    ("", ("multi-turn", "exploration")): {"DeceptiveMaze-v0", "GuessNumber-v0"},
    ("number", ("games",)): {"GuessNumber-v0"},
    ("number", ("single-turn",)): set(),
}


def test_search_and_tags_narrow_the_page_in_the_browser(tmp_path):
    names = ("DeceptiveMaze-v0", "GameableFlattery-v0", "GuessNumber-v0", "Sudoku-v0")
    (tmp_path / "gallery.html").write_text(page([f"palaestra/{name}" for name in names]), encoding="utf-8")

    said: list[str] = []

    def look() -> dict:
        found = {}
        tab = engine().chromium.new_context(offline=True).new_page()
        tab.goto((tmp_path / "gallery.html").as_uri())
        tab.locator("#tags summary").click()
        for words, tags in SEARCHES:
            tab.locator("#text").fill(words)
            for tag in tags:
                tab.locator(f"#tags .chip[data-tag={tag}]").click()
            cards, links = (tab.locator(f"{part}:visible").all_inner_texts() for part in ("article h3", "nav a"))
            names = [{text.removeprefix("palaestra/") for text in cards}, {text.partition(" ")[0] for text in links}]
            found[words, tags] = *names, tab.inner_text("#found")
            tab.locator("#clear").click()
            tab.wait_for_function("document.getElementById('found').textContent === '4 of 4'")
        tab.locator("#text").fill("Negotiation")
        said.append(tab.inner_text("#nothing"))
        tab.context.close()
        return found

    for search, (cards, links, count) in engine().call(look).items():
        assert cards == links == SEARCHES[search], search
        assert count.startswith(f"{len(cards)} of 4"), search
    assert said == [f"No environment is for this; {ABSENT['negotiation']}."]


def test_examples_are_the_tasks_of_the_seed_with_the_answers_of_the_oracle():
    env = gym.make("palaestra/Arithmetic-v0", split="test", disable_env_checker=True)
    for example, difficulty in zip(entry("palaestra/Arithmetic-v0").examples, (0.0, 1.0)):
        prompt, _ = env.reset(seed=0, options={"difficulty": difficulty})
        assert example.turns == [(prompt, env.unwrapped.oracle())]  # type: ignore[attr-defined]


def test_a_long_game_shows_its_first_turns_and_how_many_there_were():
    easy, hard = entry("palaestra/GuessNumber-v0").examples
    for example in (easy, hard):
        assert len(example.turns) <= 4
    assert re.fullmatch(r"… solved after \d+ turns\.", hard.more)


class Angle(Question):
    """Says <b> & "c".

    Description:
        Nothing.

    Reward:
        1 < 2.
    """

    param_space = palaestra.envs.ParamSpace([palaestra.envs.IntAxis("n", 1, 900)])

    def generate(self, rng, params):
        return Task(f"<script>{rng.integers(10**9)}</script>", "a & b")


def test_what_families_say_is_text_and_never_markup():
    palaestra.envs.register("test/Angle-v0", Angle)
    try:
        text = page(["test/Angle-v0"])
    finally:
        gym.registry.pop("test/Angle-v0")
        palaestra.envs.registration._ids.remove("test/Angle-v0")
    assert text.count("<script>") == page([]).count("<script>")
    assert "&lt;script&gt;" in text
    assert headings(Angle) == ('Says <b> & "c".', [("Description", "Nothing."), ("Reward", "1 < 2.")])


def test_pictures_are_in_the_page_itself(gallery):
    drawn = [
        env_id
        for env_id in IDS
        if isinstance(env := gym.make(env_id, disable_env_checker=True).unwrapped, (Question, Game))
        and "rgb_array" in env.metadata["render_modes"]
    ]
    assert gallery.count("data:image/png;base64,") >= 2 * len(drawn)
    assert "http://" not in gallery
    assert "https://" not in gallery


def test_the_command_prints_the_page_and_is_of_environments_only(capsys, monkeypatch):
    monkeypatch.setattr("palaestra.scripts.list_envs.ids", lambda: ["palaestra/Arithmetic-v0"])
    assert main(["list", "envs", "--html"]) == 0
    assert capsys.readouterr().out.startswith("<!doctype html>")
    assert main(["list", "teachers", "--html"]) == 2
    assert "write list envs --html" in capsys.readouterr().err
