"""``palaestra play --browser``: a person in a browser, here Chromium moved by a script; and the episodes kept."""

from __future__ import annotations

import json
import re
import threading
from typing import Any

import gymnasium as gym
import pytest
from lxml import etree  # type: ignore[attr-defined]
from palaestra.envs.web.browsers.accessibility import CONTROLS
from palaestra.envs.web.browsers.chromium_engine import engine
from palaestra.envs.web.browsers.commands import Command, read_command
from palaestra.envs.web.browsers.page_cache import parse_page
from palaestra.scripts.cli import main
from palaestra.scripts.play_browser import BrowserPlayer

from ..envs.web.browsers.pages import missing_chromium  # isort: skip


def do(page: Any, action: str, place: int) -> None:
    """Do on the page what an action of the solver does."""
    command, control = read_command(action), page.locator(",".join(CONTROLS)).nth(place)
    assert isinstance(command, Command)
    with page.expect_navigation() if command.verb != "fill" else threading.Lock():
        match command.verb:
            case "fill":
                control.fill(command.text)
            case "press":
                control.press(command.text)
            case "click":
                control.click()
            case "select":
                control.select_option(label=command.text)
            case "upload":
                page.once("dialog", lambda dialog: dialog.accept(command.text))
                control.click()
            case "open_file":
                page.click(f"text=Open {command.text}")
            case "close_tab":
                page.click("text=Close this tab")
            case "answer":
                page.fill("#palaestra-bar input", command.text)
                page.click("text=Give the answer")


@pytest.mark.parametrize(
    ("env_id", "option"),
    [
        ("Shop", "--axis intent=cart"),
        ("Shop", "--env-option templates=confirm-action"),
        ("Shop", "--env-option templates=hand-in-sheet"),
        ("Tracker", "--env-option templates=copy-reference"),
    ],
)
def test_an_episode_that_was_done_in_a_browser_is_kept_as_an_agents(
    env_id: str, option: str, tmp_path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    if missing_chromium():
        pytest.skip(missing_chromium())
    players: list[Any] = []
    started = threading.Event()

    def bind(player: Any, envs: Any) -> None:
        BrowserPlayer_bind(player, envs)
        players.append(player)
        started.set()

    BrowserPlayer_bind = BrowserPlayer.bind
    monkeypatch.setattr(BrowserPlayer, "bind", bind)
    file = tmp_path / "played.jsonl"
    argv = ["play", f"palaestra/{env_id}-v0", "--browser", "--out", str(file), "--seed", "2", *option.split()]
    playing = threading.Thread(target=main, args=([*argv, "--difficulty", "0"],), daemon=True)
    playing.start()
    assert started.wait(60)
    running, env = engine(), players[0]._env
    context = running.call(lambda: running.chromium.new_context())
    page = running.call(context.new_page)
    running.call(page.goto, players[0].url)
    done: list[str] = []
    ahead = 0
    while not done or not done[-1].startswith("answer"):
        # Typed texts are sent with what is done next.
        done.append(env.plan(env.here())[ahead])
        ahead = ahead + 1 if done[-1].startswith("fill") else 0
        number = getattr(read_command(done[-1]), "number", 0)
        controls = parse_page(env.here().tab.html).controls
        running.call(do, page, done[-1], controls[number - 1].place if number else 0)
    assert "1 of 1 won." in running.call(page.content)
    running.call(context.close)
    playing.join(30)
    (row,) = map(json.loads, file.read_text().splitlines())
    assert (row["agent"], row["is_success"]) == ("human-browser", True)
    assert [turn["action"] for turn in row["turns"]] == done
    assert re.search(r"Open http://127\.0\.0\.1:\d+/ in a browser", capsys.readouterr().out)


def test_a_card_is_dragged_to_a_lane_with_cards_or_without():
    if missing_chromium():
        pytest.skip(missing_chromium())
    env: Any = gym.make(
        "palaestra/Tracker-v0", disable_env_checker=True, templates="move-cards", difficulty=0.0
    ).unwrapped
    page, _ = env.reset(seed=1)
    while 'button "Grab' not in page:
        page = env.step(env.oracle())[0]
    player = BrowserPlayer(lambda line: None)
    player.bind([env])
    running = engine()
    tab = running.call(lambda: running.chromium.new_context().new_page())
    card, lanes = "[data-part~=card]", "[data-widget~=board] section"

    def drag(lane: int) -> list[str]:
        """Return the actions of a drag of the first card, given the index of a lane."""
        actions: list[str] = []
        asking = threading.Thread(target=lambda: actions.extend(player.act([None], [{}])), daemon=True)
        asking.start()
        running.call(tab.goto, player.url)
        target = {"target_position": {"x": 20, "y": 20}}
        running.call(lambda: tab.locator(card).first.drag_to(tab.locator(lanes).nth(lane), **target))
        asking.join(30)
        while not player._actions.empty():
            actions += player.act([None], [{}])
        return actions

    def cards_in_lanes() -> list[int]:
        sections = etree.fromstring(env.here().tab.html, etree.HTMLParser()).iter("section")
        return [len(section.findall("article")) for section in sections]

    before = cards_in_lanes()
    empty = before.index(0)
    for verbs in (["click", "click"], ["drag"]):
        actions = drag(empty)
        assert [action.split()[0] for action in actions] == verbs
        assert [env.step(action)[4]["action_error"] for action in actions] == [None] * len(actions)
    assert cards_in_lanes()[empty] == 2
    running.call(tab.context.close)
    player.close()
    env.close()


def test_other_environments_have_no_page(capsys: pytest.CaptureFixture[str]):
    assert main(["play", "palaestra/Countdown-v0", "--browser"]) == 2
    assert "--browser plays tasks on web sites, not Countdown" in capsys.readouterr().err
    assert main(["play", "palaestra/Shop-v0", "--out", "x"]) == 2
    assert "--out is of --browser" in capsys.readouterr().err
