"""The viewer: what is read and packed, and in Chromium that it filters, searches, opens, and carries out nothing."""

from __future__ import annotations

import base64
import gzip
import json
import re
import socket
import threading
import urllib.error
import urllib.request
from html.parser import HTMLParser
from pathlib import Path

import palaestra
import pytest
from palaestra.envs.web.browsers.chromium_engine import engine
from palaestra.errors import InputError
from palaestra.scripts.cli import main
from palaestra.scripts.view import ViewOptions, follow
from palaestra.scripts.view_episodes import (
    COST,
    EpisodeReader,
    find_files,
    make_entry,
    measure_quantities,
    shorten_texts,
)
from palaestra.scripts.view_pictures import encode_pictures
from palaestra.scripts.view_server import PageServer

HOSTILE = '</script><script>document.title = "taken"</script><img src=x onerror=alert(1)><!-- \ud800 {{ data }} &lt;'


def write_lines(path: Path, rows) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def make_turn(action: str, **more) -> dict:
    turn = {"observation": "What is 6 * 7?", "action": action, "reward": 0.0, "reward_terms": {"answer": 0.0}}
    return {**turn, "action_error": None, "feedback": "", **more}


def make_row(episode: int, turns: list[dict], **more) -> dict:
    row = {"env": "me/Sums-v0", "agent": "a", "episode": episode, "sample": 0, "seed": 5, "task_id": f"t{episode}"}
    row |= {
        "params": {"size": episode},
        "difficulty": episode / 10,
        "turns": turns,
        "final_observation": "",
        "return": 0.0,
    }
    return row | {"is_success": False, "truncated": False, "reward_valid": True, "refused": 0, "error": None} | more


ROWS = [
    make_row(0, [make_turn("42", reward=1.0)], is_success=True, reference="42", **{"return": 1.0}),
    make_row(
        1,
        [make_turn("7"), make_turn("8", feedback="Try again, please.", agent={"text": "So 8.", "finish": "stop"})],
        usage={"prompt_tokens": 40, "completion_tokens": 9, "cost": 0.002},
    ),
    make_row(2, [make_turn("none", action_error="no number")], refused=1),
    make_row(3, [make_turn("x")], truncated=True),
    make_row(4, [], error="ValueError: lost", agent_failed=True),
    make_row(5, [make_turn("y")], reward_valid=False),
    make_row(
        6,
        [
            make_turn(
                HOSTILE, observation=HOSTILE, feedback=HOSTILE, reasoning=HOSTILE, usage={HOSTILE: 3, "__proto__": 1}
            )
        ],
        env=HOSTILE,
        agent=HOSTILE,
        params={HOSTILE: HOSTILE},
        reference=HOSTILE,
        **{HOSTILE: HOSTILE, "cost": 0.25},
    ),
    make_row(7, [make_turn("word " * 30_000 + "THE END")]),
    *(make_row(8 + i, [make_turn(str(i))], difficulty=1.0) for i in range(300)),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Two evaluations of which the second solves a task that the first does not, and the page of both."""
    folder = tmp_path_factory.mktemp("view")
    write_lines(folder / "first.jsonl", ROWS)
    write_lines(folder / "second.jsonl.partial", [make_row(1, [make_turn("42")], is_success=True)])
    assert main(["view", str(folder)]) == 0
    return folder


def unpack(text: str):
    return json.loads(gzip.decompress(base64.b64decode(text)))


def read_page(page: Path) -> tuple[dict, list, list]:
    """The head, the entries and the records of a page."""
    elements = dict(re.findall(r'<script type="[^"]*" id="([^"]+)">(.*?)</script>', page.read_text(encoding="utf-8")))
    head = json.loads(elements["head"])
    records = [row for number in range(len(head["chunks"])) for row in unpack(elements[f"chunk-{number}"])]
    return head, unpack(elements["entries"]), records


class Tags(HTMLParser):
    def __init__(self, page: str):
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append(tag)


def test_a_page_holds_every_record_whole_and_in_order(folder):
    head, entries, records = read_page(folder / "episodes.html")
    assert records == [*ROWS, json.loads((folder / "second.jsonl.partial").read_text())]
    assert len(head["chunks"]) > 1
    assert sum(head["chunks"]) == len(entries) == len(records)
    assert [file["name"] for file in head["files"]] == ["first", "second"]


def test_no_text_of_an_episode_makes_an_element(folder):
    page = (folder / "episodes.html").read_text(encoding="utf-8")
    head, *_ = read_page(folder / "episodes.html")
    assert HOSTILE in head["envs"]
    assert Tags(page).found.count("script") == 3 + len(head["chunks"])
    assert "img" not in Tags(page).found
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-" in page


@pytest.mark.parametrize(
    ("row", "flags"),
    [(0, 1), (1, 2), (2, 2 | 4), (3, 2 | 8), (4, 2 | 16), (5, 32)],
    ids=["success", "failed", "unreadable", "truncated", "errored", "invalid"],
)
def test_an_episode_has_each_of_its_outcomes(row, flags):
    assert make_entry(ROWS[row], 0, 0, "n", 0, 1, 0, None)[3] == flags


@pytest.mark.parametrize(
    ("own", "label"),
    [({}, "task t"), ({"row": "mine.csv, line 3"}, "row mine.csv, line 3, task t"), ({"task_id": ""}, "")],
)
def test_the_label_of_an_episode_has_its_row(own: dict[str, str], label: str):
    assert make_entry({"turns": [], "task_id": "t", **own}, 0, 0, "n", 0, 1, 0, None)[-3] == label


def test_a_long_text_is_cut_in_the_middle_and_the_page_says_how_much(folder, tmp_path):
    files = find_files([folder / "first.jsonl"])
    reader = EpisodeReader(str, longest=1000, most=20_000)
    reader.read(files)
    made = reader.made
    assert made.notes == ["1 episodes have texts cut at 1,000 characters"]
    text = unpack(made.chunks[0])[7]["turns"][0]["action"]
    assert text.startswith("word word")
    assert text.endswith("THE END")
    assert f"{5 * 30_000 + 7 - 1000:,} characters are left out" in text
    assert shorten_texts({"a": [float("nan"), "b"]}, 100) == ({"a": ["nan", "b"]}, 0)


def test_episodes_beyond_the_most_are_counted(folder, capsys, tmp_path):
    assert main(["view", str(folder / "first.jsonl"), "--most", "3", "--out", str(tmp_path / "p.html")]) == 0
    assert f"3 episodes; {len(ROWS) - 3} further episodes are not in this page" in capsys.readouterr().out
    assert len(read_page(tmp_path / "p.html")[2]) == 3


def test_an_evaluation_keeps_reference_feedback_and_the_way_to_its_replay(tmp_path):
    out = tmp_path / "played" / "e.jsonl"
    palaestra.evaluate("oracle", "palaestra/Arithmetic-v0", episodes=2, out=out, replay=tmp_path / "replays")
    assert main(["view", str(out)]) == 0
    _, entries, records = read_page(tmp_path / "played" / "e.episodes.html")
    for number, (entry, record) in enumerate(zip(entries, records)):
        assert record["reference"] == record["turns"][0]["action"]
        assert record["turns"][0]["feedback"]
        assert entry[12] == f"../replays/episode-000{number}-success.html"


def test_a_run_is_shown_with_its_environment_and_report(tmp_path):
    run = tmp_path / "run"
    row = {"step": 3, "params": {}, "turns": [make_turn("1")], "return": 0.5, "is_success": True, "task_id": "t"}
    write_lines(run / "trajectories.jsonl", [row, row])
    (run / "config.json").write_text('{"env": "palaestra/Arithmetic-v0"}')
    (run / "report.html").write_text("<p>")
    with (run / "trajectories.jsonl").open("a") as stream:
        stream.write('{"step": 4, "tur')  # killed while it was written
    assert main(["view", str(tmp_path)]) == 0
    head, entries, records = read_page(tmp_path / "episodes.html")
    assert (head["envs"], head["files"][0]["report"]) == (["palaestra/Arithmetic-v0"], "run/report.html")
    assert [entry[2] for entry in entries] == ["run/step-3", "run/step-3~2"]
    assert records == [row, row]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (None, "does not exist"),
        ("", "holds no episode yet"),
        ('{"turns": 3}\n', "line 1 of .* is no episode"),
        ('{"turns": []}\n{"tu\n', "line 2 of .* is no JSON object"),
    ],
)
def test_what_is_no_file_of_episodes_is_one_sentence(tmp_path, capsys, lines, said):
    path = tmp_path / "e.jsonl"
    if lines is not None:
        path.write_text(lines)
    assert main(["view", str(path)]) == 2
    assert re.search(said, capsys.readouterr().err)
    assert not (tmp_path / "e.episodes.html").exists()


def test_a_folder_without_episodes_is_one_sentence(tmp_path, capsys):
    write_lines(tmp_path / "other.jsonl", [{"step": 1}])
    assert main(["view", str(tmp_path)]) == 2
    assert "neither a run in it nor a file" in capsys.readouterr().err


def test_the_server_answers_for_its_own_address_and_serves_what_was_linked(tmp_path):
    source, linked, hidden = (tmp_path / name for name in ("s.jsonl", "linked.html", "hidden.html"))
    for path in (source, linked, hidden):
        path.write_text(path.name)
    server = PageServer()
    link, made = server.link(linked), []
    thread = threading.Thread(
        target=server.serve, args=(lambda: made.append(1) or f"page {len(made)}", lambda: [source]), daemon=True
    )
    thread.start()

    def get(path: str, host: str | None = None) -> tuple[int, str]:
        request = urllib.request.Request(f"http://{server.address}/{path}", headers={"Host": host} if host else {})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, ""

    assert get("") == (200, "page 1")
    assert get("") == (200, "page 1")
    source.write_text("more of it")
    assert get("") == (200, "page 2")
    assert get(link) == (200, "linked.html")
    assert get(link.replace("linked.html", "hidden.html"))[0] == 404
    assert get("", "evil.example")[0] == 403
    # It listens on one address of this machine; a server of all addresses would answer at this one, too.
    with socket.socket() as caller:
        assert caller.connect_ex(("127.0.0.2", int(server.address.rpartition(":")[2]))) != 0
    server.stop()
    thread.join(60)
    assert not thread.is_alive()


PIXELS = [[[255, 0, 0] if x < 10 else [0, 0, 255] for x in range(20)] for _ in range(16)]


def test_pictures_of_observations_are_drawn(tmp_path):
    turn = make_turn("go", observation={"image": PIXELS, "text": "A room."})
    file = write_lines(tmp_path / "e.jsonl", [make_row(0, [turn])])
    assert main(["view", str(file)]) == 0

    def look() -> list:
        tab = engine().chromium.new_page(offline=True)
        tab.goto((tmp_path / "e.episodes.html").as_uri() + "#e/0")
        tab.locator("article img").wait_for()
        size = (
            "(({naturalWidth, naturalHeight}) => [naturalWidth, naturalHeight])(document.querySelector('article img'))"
        )
        found = [tab.evaluate(size), tab.locator("article").inner_text()]
        tab.close()
        return found

    size, text = engine().call(look)
    assert size == [20, 16]
    assert "A room." in text
    # Codes of cells, as gridworlds have them, are numbers.
    assert encode_pictures({"image": [[[1, 0, 0]] * 7] * 7}) == {"image": [[[1, 0, 0]] * 7] * 7}


def test_roles_have_colours_and_a_filter(tmp_path):
    rows = [make_row(n, [make_turn("x")], role=role) for n, role in enumerate(("solver", "critic", "solver", ""))]
    assert main(["view", str(write_lines(tmp_path / "e.jsonl", rows))]) == 0

    def look() -> list:
        tab = engine().chromium.new_page(offline=True)
        tab.goto((tmp_path / "e.episodes.html").as_uri() + "#e/1")
        tab.locator("article .role").wait_for()
        badges = tab.locator("a.row .role")
        colours = badges.evaluate_all("each => each.map((one) => getComputedStyle(one).backgroundColor)")
        found = [badges.all_inner_texts(), colours, tab.locator("article .who").all_inner_texts()]
        tab.get_by_label("Role").select_option("solver")
        found.append(tab.locator("#summary").inner_text())
        tab.close()
        return found

    badges, colours, who, summary = engine().call(look)
    assert badges == ["solver", "critic", "solver"]
    assert colours[0] == colours[2] != colours[1]
    assert "critic" in who
    assert "agent" not in who
    assert summary.startswith("2 of 4 episodes")


def test_an_open_page_shows_episodes_as_they_are_written(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.json").write_text('{"env": "palaestra/Arithmetic-v0"}')
    row = {"params": {}, "turns": [make_turn("1")], "return": 0.5, "is_success": True, "task_id": "t"}
    server = PageServer()
    thread = threading.Thread(target=follow, args=(server, ViewOptions((run,))), daemon=True)
    thread.start()

    def look() -> list[str]:
        tab = engine().chromium.new_page()
        tab.goto(f"http://{server.address}/")
        summary, found = tab.locator("#summary"), []
        summary.filter(has_text="0 episodes").wait_for()
        for step in (1, 2):
            with (run / "trajectories.jsonl").open("a") as stream:
                stream.write(json.dumps(row | {"step": step}) + "\n" + '{"step": 9, "tur')
            summary.filter(has_text=f"{step} episodes").wait_for()
            found.append(tab.locator("a.row").last.inner_text())
            # The incomplete line is written anew.
            text = (run / "trajectories.jsonl").read_text().rpartition("\n")[0] + "\n"
            (run / "trajectories.jsonl").write_text(text)
        tab.locator("a.row").last.click()
        tab.locator("article").wait_for()
        found.append(tab.locator("h2").first.inner_text())
        tab.close()
        return found

    try:
        first, second, opened = engine().call(look)
    finally:
        server.stop()
        thread.join(60)
    assert "step 1" in first
    assert "step 2" in second
    assert opened == "run/step-2"


def test_a_file_that_becomes_shorter_is_read_again(tmp_path):
    file = write_lines(tmp_path / "e.jsonl", ROWS[:3])
    reader = EpisodeReader(str, longest=1000, most=10)
    reader.read(find_files([file]))
    assert not reader.is_outdated()
    write_lines(file, ROWS[:1])
    assert reader.is_outdated()


def test_quantities_of_an_episode_are_its_tokens_cost_and_reward_terms():
    turn = make_turn("1", agent={"prompt_tokens": 5, "completion_tokens": 2}, reward_terms={"answer": 0.5})
    row = make_row(0, [turn, turn])
    assert measure_quantities(row) == {"tokens read": 10, "tokens written": 4, "reward term answer": 1.0}
    usage = {"prompt_tokens": 11, "completion_tokens": 4, "cost": 0.25}
    found = measure_quantities(row | {"usage": usage})
    assert found == {"tokens read": 11, "tokens written": 4, COST: 0.25, "reward term answer": 1.0}


def test_a_port_that_is_taken_is_one_sentence():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} cannot be taken"):
            PageServer(port)


@pytest.fixture(scope="module")
def seen(folder) -> dict:
    """What a reader sees, step by step, on a phone in the dark and on a wide screen."""

    def look() -> dict:
        seen: dict = {"said": []}
        for width in (390, 1280):
            context = engine().chromium.new_context(
                viewport={"width": width, "height": 800}, offline=True, color_scheme="dark"
            )
            tab = context.new_page()
            tab.on("console", lambda message: seen["said"].append(message.text))
            tab.on("pageerror", lambda error: seen["said"].append(str(error)))
            tab.on("dialog", lambda dialog: seen["said"].append(dialog.message))
            tab.on(
                "request",
                lambda request: seen["said"].append(request.url) if "episodes.html" not in request.url else None,
            )
            tab.goto((folder / "episodes.html").as_uri())
            if width == 390:
                look_at_the_list(tab, seen)
                look_at_episodes(tab, seen)
            else:
                tab.goto((folder / "episodes.html").as_uri() + "#first/1&second/1")
                tab.locator("article").nth(1).wait_for()
                seen["pair"] = tab.locator("#detail h2").all_inner_texts()
                tab.keyboard.press("ArrowRight")
                tab.locator("h2", has_text="first/2").wait_for()
                seen["next"] = tab.evaluate("location.hash")
            seen[f"width {width}"] = tab.evaluate("[innerWidth, document.documentElement.scrollWidth]")
            seen["ground"] = tab.evaluate("getComputedStyle(document.body).backgroundColor")
            context.close()
        return seen

    return engine().call(look)


def look_at_the_list(tab, seen) -> None:
    tab.locator("a.row").first.wait_for()
    summary = tab.locator("#summary")
    seen["rows at first"] = tab.locator("a.row").count()
    seen["narrow list"] = tab.evaluate("[innerWidth, document.documentElement.scrollWidth]")
    tab.get_by_role("button", name="filters").click()
    seen["narrow filters"] = tab.evaluate("[innerWidth, document.documentElement.scrollWidth]")
    chips = tab.locator("#outcomes button")
    seen["chips"] = chips.all_inner_texts()
    seen["counts"] = {}
    for chip in chips.all():
        chip.click()
        seen["counts"][chip.inner_text().split()[0]] = summary.inner_text().split()[0]
        chip.click()
    tab.get_by_label("Highest difficulty").fill("0.2")
    seen["easy"] = summary.inner_text()
    tab.get_by_role("button", name="clear").click()
    tab.get_by_label("Environment").select_option(label="me/Sums-v0")
    seen["one environment"] = summary.inner_text().split()[0]
    tab.get_by_role("button", name="clear").click()
    tab.get_by_label("Quantity", exact=True).select_option("turns")
    tab.get_by_label("Least of the quantity").fill("2")
    seen["two turns"] = summary.inner_text()
    tab.get_by_label("Quantity", exact=True).select_option("tokens written")
    tab.get_by_label("Greatest of the quantity").fill("30")
    seen["two turns, few tokens"] = summary.inner_text().split()[0]
    tab.get_by_label("Quantity", exact=True).select_option("• turns")
    tab.get_by_role("button", name="clear").click()
    tab.get_by_label("Sort").select_option("highest reward first")
    seen["highest"] = tab.locator("a.row").first.inner_text()
    tab.get_by_label("Search in all texts").fill("try AGAIN, please")
    summary.filter(has_text="1 of").wait_for()
    seen["found"] = tab.locator("a.row").first.get_attribute("href")
    tab.get_by_label("Search in all texts").fill("")
    summary.filter(has_text=re.compile("^309 episodes")).wait_for()


def look_at_episodes(tab, seen) -> None:
    tab.locator("a.row").first.click()
    tab.locator("article").wait_for()
    seen["first"] = tab.locator("article").inner_text()
    tab.evaluate("location.hash = '#first/1'")
    tab.locator("h2", has_text="first/1").wait_for()
    seen["noted"] = tab.locator("article").inner_text()
    tab.evaluate("location.hash = '#first/6'")
    tab.locator("h2", has_text="first/6").wait_for()
    seen["hostile"] = tab.locator("article").inner_text()
    seen["elements"] = tab.evaluate("document.querySelectorAll('img, iframe, article script, article a').length")
    seen["title"] = tab.title()
    tab.evaluate("location.hash = '#first/7'")
    tab.locator("h2", has_text="first/7").wait_for()
    action = tab.locator("pre.action")
    seen["folded"] = len(action.text_content())
    tab.get_by_role("button", name="show all 150,007 characters").click()
    seen["unfolded"] = len(action.text_content())
    tab.keyboard.press("Escape")
    tab.locator("a.row").first.wait_for()
    seen["hash"] = tab.evaluate("location.hash")


def test_nothing_runs_and_nothing_is_asked_of_a_network(seen):
    assert seen["said"] == []
    assert seen["title"].startswith("first, second")
    assert seen["elements"] == 0
    assert seen["hostile"].count('<script>document.title = "taken"</script>') >= 8
    assert "cost\n0.25 in the currency of the prices" in seen["hostile"]


def test_nothing_scrolls_sideways(seen):
    assert seen["narrow list"] == seen["narrow filters"] == seen["width 390"] == [390, 390]
    assert seen["width 1280"] == [1280, 1280]


def test_only_the_rows_in_sight_are_there(seen):
    assert 5 < seen["rows at first"] < 40


def test_each_filter_shows_its_episodes(seen):
    assert seen["chips"][:2] == ["success 2", "failed 306"]
    assert seen["counts"] == {
        **{"success": "2", "failed": "306", "unreadable": "1", "truncated": "1", "errored": "1", "invalid": "1"},
        "differs": "2",
    }
    assert seen["easy"].startswith("4 of 309 episodes · success 50 %")  # 0, 1 and 2 of the first, 1 of the second
    assert seen["one environment"] == "308"
    assert seen["two turns"].startswith("1 of 309 episodes")
    assert seen["two turns, few tokens"] == "1"
    assert "reward 1" in seen["highest"]


def test_a_reply_and_what_its_agent_noted_have_names_of_their_own(seen):
    assert seen["noted"].count("agent\n") == 2 == seen["noted"].count("environment\n")
    assert "whole reply\nSo 8." in seen["noted"]
    assert "reply\nfinish stop" in seen["noted"]
    assert "cost 0.002 in the currency of the prices" in seen["noted"]


def test_search_finds_words_in_any_text_and_in_either_case(seen):
    assert seen["found"] == "#first%2F1"


def test_an_episode_shows_conversation_terms_and_reference(seen):
    words = ("success", "reference\n42", "What is 6 * 7?", "agent\n42", "reward\n1 · answer 0", "size 0")
    assert [word for word in words if word not in seen["first"]] == []


def test_a_long_text_is_folded_until_it_is_asked_for(seen):
    assert seen["folded"] < 5_000
    assert seen["unfolded"] >= 150_007


def test_escape_goes_back_to_the_list(seen):
    assert seen["hash"] == ""


def test_the_same_task_stands_side_by_side_and_the_next_key_goes_on(seen):
    assert seen["pair"] == ["first/1", "second/1"]
    assert seen["next"] == "#first%2F2"


def test_the_page_is_dark_where_the_system_is(seen):
    assert seen["ground"] == "rgb(18, 24, 29)"


def test_the_run_of_a_student_says_how_to_get_episodes_to_view(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"learner": "q", "env": "palaestra/DoorKey-v0"}))
    with pytest.raises(InputError, match=r"palaestra eval .* --out played\.jsonl"):
        find_files([tmp_path])
