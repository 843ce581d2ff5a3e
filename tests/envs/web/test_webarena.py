"""Tasks in WebArena's format: our shop, served by HTTP, is the site that somebody has."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import palaestra
import pytest
from palaestra.envs.web.browsers import live_browser
from palaestra.envs.web.browsers.chromium_engine import QuietHandler
from palaestra.envs.web.browsers.in_process import InProcessBrowser
from palaestra.envs.web.browsers.observations import describe_tree
from palaestra.envs.web.sites.site import SITES, generate
from palaestra.envs.web.webarena_tasks.checks import clean, includes, is_at, judge_task, post_of
from palaestra.envs.web.webarena_tasks.task_file import read_tasks
from palaestra.errors import InputError
from palaestra.rewards.judges.judge import Judge, Judgement
from werkzeug.serving import make_server

from .browsers.pages import missing_chromium

WEBARENA = "palaestra/WebArena-v0"
CONTENT = generate("shop", 12, 3)
SHOP = SITES["shop"](CONTENT)
# What scripts and style sheets do to pages, which sites of this package do not.
ALIVE = """<title>Alive</title><style>.no{display:none}</style><p class=no>Unseen</p>
<div hidden style="display:block">Seen</div>
<div role=button onclick="this.insertAdjacentHTML('afterend','<p>Pressed</p>')">Press</div>
<div role=checkbox aria-checked=true aria-label=Box onclick="this.setAttribute('aria-checked','false')">x</div>
<div contenteditable=true aria-label=Note>old</div><input aria-label=Day type=date value=2026-05-04>
<a href="/cart" target=_blank>Cart aside</a>
<iframe srcdoc="<button onclick='this.innerText=1'>In frame</button>"></iframe>
<button aria-label=Covered style="position:absolute;left:0;top:600px">C</button>
<div style="position:absolute;left:0;top:590px;width:900px;height:99px"></div>"""


def task(number: int, types: str, start: str = "__SHOPPING__", **judged: Any) -> dict[str, Any]:
    judged = {"reference_answers": None, "reference_url": None, "program_html": [], **judged}
    common = {"sites": ["shopping"], "storage_state": None, "require_login": False, "intent": f"Task {number}"}
    return {**common, "task_id": number, "start_url": start, "eval": {"eval_types": types.split(), **judged}}


ROW = "document.querySelector('.cart tbody tr').innerText"
TASKS = [
    task(0, "string_match", reference_answers={"must_include": ["2"]}),
    task(
        1, "url_match", reference_url="__SHOPPING__/search?q=notebook |OR| __SHOPPING__/cart", url_note="GOLD in PRED"
    ),
    task(
        2,
        "program_html",
        program_html=[
            {
                "url": "__SHOPPING__/wishlist",
                "locator": "",
                "required_contents": {"must_include": ["no such |OR| Wish list"]},
            },
            {
                "url": "last",
                "locator": "document.title",
                "required_contents": {"exact_match": "orders - corner goods"},
                "prep_actions": ["document.title = document.title.toUpperCase()", "nothing.at.all"],
            },
            {"url": "last", "locator": "document.nothing.at.all", "required_contents": {"exact_match": ""}},
        ],
    ),
    task(3, "string_match", reference_answers={"fuzzy_match": ["it is green"]}),
    task(4, "string_match", reference_answers={"fuzzy_match": "N/A"}, string_note="there is no such thing"),
    task(5, "url_match", start="__REDDIT__", reference_url="__REDDIT__/f/books"),
    task(
        6,
        "program_html",
        program_html=[
            {"url": "func:shopping_get_latest_order_url()", "locator": "", "required_contents": {"must_include": []}}
        ],
    ),
    task(7, "string_match", start="__SHOPPING__ |AND| __SHOPPING__/alive", reference_answers={"exact_match": "Yes"}),
]


class Friend(Judge):
    """Judge that finds an answer right if it has the reference's last word."""

    def score(self, principle: str, prompt: str, responses: Any, reference: str | None = None) -> Judgement:
        if "broken" in responses[0]:
            return Judgement.failed("no connection")
        return Judgement((float((reference or "").split()[-1] in responses[0]),))


def serve(environ: Any, start_response: Any, site: Any = SHOP) -> Any:
    if environ["PATH_INFO"] != "/alive":
        return site(environ, start_response)
    start_response("200 OK", [("Content-Type", "text/html")])
    return [ALIVE.encode()]


@pytest.fixture(scope="module")
def shop():
    if missing_chromium():
        pytest.skip(missing_chromium())
    server = make_server("127.0.0.1", 0, serve, threaded=True, request_handler=QuietHandler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("tasks") / "test.raw.json"
    path.write_text(json.dumps(TASKS))
    return path


@pytest.fixture(scope="module")
def env(shop: str, file: Path):
    options = {"tasks": str(file), "sites": {"shopping": shop}, "settle": 0.05, "turns": 14, "judge": Friend()}
    made = gym.make(WEBARENA, disable_env_checker=True, **options)
    yield made
    made.close()


def play(env: Any, number: int, *actions: str) -> tuple[str, dict[str, Any]]:
    page, info = env.reset(options={"params": {"task": str(number)}})
    for action in actions:
        page, _, _, _, info = env.step(action)
    return page, info


def click(page: str, control: str) -> str:
    lines = (line.split() for line in page.splitlines() if line.strip().partition(" ")[2].startswith(control))
    return f"click {next(lines)[0]}"


def test_answers_and_addresses_are_compared_as_in_webarena():
    assert clean("  'Sprite' ") == clean("sprite") != clean("Sprite.")
    assert includes("There are 6 reviews.", "6", by_word=True)
    assert not includes("There are 16 reviews, or 6.5", "6", by_word=True)
    assert includes("There are 16", "6")
    assert is_at("http://h:1/a/b/?q=1&r=2", ("http://h:1/a?q=1", "http://h:1/c?q=3"))
    assert not is_at("http://h:1/a/b?q=2", ("http://h:1/a?q=1",))
    assert not is_at("http://h:1/d", ("http://h:1/a", "http://h:1/c"))
    assert post_of("http://h/f/books/7/title/-/comment/9") == "http://h/f/books/7/"
    assert post_of("http://h/f/books") == "http://h/f/books"


def test_tasks_that_cannot_be_judged_are_left_out_with_the_reason(file: Path, tmp_path: Path):
    tasks, left_out = read_tasks(file, {"shopping": "http://h:1"}, has_judge=False)
    assert [*tasks] == ["0", "1", "2", "4", "7"]
    assert sorted(left_out.values()) == [["3"], ["5"], ["6"]]
    assert "no address for the site reddit" in left_out
    assert tasks["1"].urls == ("http://h:1/search?q=notebook", "http://h:1/cart")
    assert tasks["1"].hosts == {"h"}
    for text, why in (("{", "cannot be read"), ('[{"task_id": 8}]', "task 8 of .* not in WebArena's format")):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(InputError, match=why):
            read_tasks(tmp_path / "bad.json", {}, has_judge=False)
    with pytest.raises(InputError, match="needs tasks="):
        gym.make(WEBARENA, disable_env_checker=True)
    with pytest.raises(InputError, match=r"no task of .* no address for the site shopping"):
        gym.make(WEBARENA, disable_env_checker=True, tasks=str(file))
    assert WEBARENA not in palaestra.envs.ids()  # neither solver nor snapshots: an adapter, no family


def test_a_page_reads_as_in_our_own_browsers(env):
    page, _ = play(env, 0)
    browser = InProcessBrowser(SITES["shop"](CONTENT))
    browser.open("/")
    assert page.splitlines()[2:-1] == describe_tree(browser.page, {})


def test_each_evaluator_decides(env, file: Path):
    tasks, _ = read_tasks(file, {"shopping": "http://h:1"}, has_judge=True)
    for number, answer, success in (
        (0, "2 of them", True),
        (0, "12 of them", False),
        (3, "the green one", True),
        (3, "the red one", False),
        (3, "", False),
        (4, "N/A", True),
        (4, "the shop has no such thing", True),
        (4, "4", False),
    ):
        assert judge_task(tasks[str(number)], answer, SimpleNamespace(url=""), Friend()).success is success
    assert not judge_task(tasks["4"], "there is no such thing", SimpleNamespace(url=""), None).success
    for number, actions, success, share in (
        (1, ["goto /search?q=notebook&brand=x", 'answer "done"'], True, 1.0),
        (1, ["goto /cart", 'answer "done"'], False, 0.0),  # the query counts for all references
        (2, ["goto /orders", 'answer "done"'], True, 1.0),
        (2, ['answer "done"'], False, 2 / 3),
        (4, ['infeasible "the shop has no such thing"'], True, 1.0),
    ):
        info = play(env, number, *actions)[1]
        assert (info["is_success"], info["progress"]) == (success, pytest.approx(share)), (number, actions)
        assert info["reward_valid"]
    info = play(env, 3, 'answer "broken"')[1]
    assert (info["reward_valid"], info["is_success"]) == (False, False)


def test_any_page_is_read_and_acted_on_with_its_scripts(env, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(live_browser, "_PATIENCE", 1.0)
    page, _ = play(env, 7, "tab 1")
    assert "this is tab 1" in page
    assert "Unseen" not in page
    assert 'text "Seen"' in page
    assert 'checkbox "Box" checked' in page
    page = env.step(click(page, 'button "Press"'))[0]
    assert 'text "Pressed"' in page
    page = env.step(click(page, 'checkbox "Box"'))[0]
    assert 'checkbox "Box" unchecked' in page
    page = env.step(click(page, "textbox").replace("click", "fill") + ' "new"')[0]
    assert 'textbox "Note" value="new"' in page
    page = env.step(click(page, 'button "In frame"'))[0]
    assert 'button "1"' in page
    page, _, _, _, info = env.step("goto http://example.com/")
    assert "ERR_NAME_NOT_RESOLVED" in info["action_error"]
    assert info["reward_valid"]
    page = env.step("back")[0]
    page = env.step(click(page, 'link "Cart aside"'))[0]
    assert "this is tab 2" in page
    assert "/cart" in page
    page, _, _, _, info = env.step("close_tab")
    assert info["action_error"] is None
    page, _, _, _, info = env.step(click(page, 'button "Covered"'))
    assert info["action_error"].startswith("click was not possible: ")
    assert env.step("click [99]")[4]["action_error"].startswith("There is no control [99]")
    assert env.step('answer "yes"')[1] == 1.0


def test_a_login_that_is_missing_is_named(shop: str, tmp_path: Path):
    needs = {**TASKS[0], "storage_state": "./.auth/shopping_state.json"}
    (tmp_path / "one.json").write_text(json.dumps(needs))
    made = gym.make(WEBARENA, disable_env_checker=True, tasks=str(tmp_path / "one.json"), sites={"shopping": shop})
    with pytest.raises(InputError, match=r"needs the login '\./\.auth/shopping_state\.json'"):
        made.reset()
    made.close()
