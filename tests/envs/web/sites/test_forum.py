"""The forum as a site: what it shows, what it refuses, and what it is filled with."""

from __future__ import annotations

import re
from typing import Any

import pytest
from palaestra.envs.web.browsers.accessibility import Page
from palaestra.envs.web.sites.forum import Forum
from palaestra.envs.web.sites.forum_content import NAMES, VISITOR
from palaestra.envs.web.sites.site import generate
from werkzeug.test import Client

PATHS = ("/", "/board/1", "/search", "/posts?since=x", "/thread/3", "/user/2", "/new", "/bookmarks", "/post/2/report")


def site(threads: int = 40, seed: int = 1) -> tuple[Forum, Client]:
    forum = Forum(generate("forum", threads, seed))
    return forum, Client(forum)


def page(client: Client, path: str) -> Page:
    return Page(client.get(path).text)


def number(forum: Forum, sql: str, *values: Any) -> int:
    return forum.one(sql, *values)[0]


def test_every_control_has_a_name_of_its_own():
    forum, client = site()
    forum.query("UPDATE users SET role = 'moderator' WHERE id = ?", VISITOR)
    for path in PATHS:
        names = [(one.role, one.name) for one in page(client, path).controls if one.element.get("class") != "name"]
        assert all(name for _, name in names)
        assert len({*names}) == len(names), path


def test_pages_of_a_board_show_each_thread_once_and_pinned_ones_first():
    forum, client = site()
    for sort in ("active", "new", "replies", "votes", "title"):
        shown = []
        for place in range(1, 10):
            answer = page(client, f"/board/2?sort={sort}&page={place}")
            shown += [int(one.element.get("href")[8:]) for one in answer.controls if one.element.get("class") == "name"]
            if not any(one.name == "Next page" for one in answer.controls):
                break
        every = [row["id"] for row in forum.query("SELECT id FROM threads WHERE board = 2")]
        assert sorted(shown) == every
        pinned = [row["id"] for row in forum.query("SELECT id FROM threads WHERE board = 2 AND pinned")]
        assert sorted(shown[: len(pinned)]) == pinned


def test_search_for_posts_obeys_author_board_and_dates():
    forum, client = site()
    sql = """SELECT count(*) FROM posts p JOIN threads t ON t.id = p.thread JOIN users u ON u.id = p.author
             WHERE u.name = ? AND t.board = 2 AND p.day BETWEEN '2026-01-01' AND '2026-03-31'"""
    counts = {name: number(forum, sql, name) for name in NAMES}
    assert len({*counts.values()}) > 3
    for name, count in counts.items():
        author = name.upper() if name.isascii() else name
        text = client.get(f"/posts?author={author}&board=2&since=2026-01-01&until=2026-03-31").text
        found = re.search(r"<p>(\d+) posts?</p>", text)
        assert found is not None
        assert int(found[1]) == count


@pytest.mark.parametrize("date", ["x", "2026-13-01", "20260101", "2026-02-30"])
def test_a_wrong_date_is_named(date: str):
    answer = site()[1].get(f"/search?since={date}")
    assert answer.status_code == 422
    assert "Write a date as YYYY-MM-DD." in answer.text


def test_votes_count_once_and_can_be_turned_and_taken_back():
    forum, client = site()
    post = number(forum, "SELECT id FROM posts WHERE author <> ? AND id NOT IN (SELECT post FROM votes)", VISITOR)
    before = number(forum, "SELECT votes FROM posts WHERE id = ?", post)
    for value, change in (("up", 1), ("up", 1), ("down", -1), ("none", 0), ("down", -1), ("up", 1), ("none", 0)):
        client.post(f"/post/{post}/vote", data={"value": value})
        assert number(forum, "SELECT votes FROM posts WHERE id = ?", post) == before + change


def test_a_member_can_neither_moderate_nor_change_the_posts_of_others():
    forum, client = site()
    other = number(forum, "SELECT id FROM posts WHERE author <> ? AND number > 1", VISITOR)
    own = number(forum, "SELECT id FROM posts WHERE author = ?", VISITOR)
    locked = number(forum, "SELECT id FROM threads WHERE locked")
    before = forum.state()
    for path, data in (
        ("/thread/1/moderate", {"action": "lock"}),
        (f"/post/{other}/remove", {}),
        (f"/post/{other}/edit", {"body": "x"}),
        (f"/post/{own}/vote", {"value": "up"}),
        (f"/thread/{locked}/reply", {"body": "x"}),
    ):
        assert client.post(path, data=data).status_code == 403
    assert forum.state() is before


def test_a_moderator_locks_and_removes_and_the_thread_shows_it():
    forum, client = site()
    forum.query("UPDATE users SET role = 'moderator' WHERE id = ?", VISITOR)
    thread = number(forum, "SELECT id FROM threads WHERE NOT locked AND replies BETWEEN 2 AND 3")
    reply, replies = forum.one(
        "SELECT p.id, t.replies FROM posts p JOIN threads t ON t.id = p.thread WHERE t.id = ? AND p.number = 2", thread
    )
    client.post(f"/thread/{thread}/moderate", data={"action": "lock"})
    client.post(f"/post/{reply}/remove")
    text = client.get(f"/thread/{thread}").text
    assert "This thread is locked" in text
    assert "Post 2 was removed by a moderator." in text
    assert number(forum, "SELECT replies FROM threads WHERE id = ?", thread) == replies - 1
    assert client.post(f"/post/{number(forum, 'SELECT id FROM posts WHERE number = 1')}/remove").status_code == 403


def test_a_thread_needs_a_board_a_new_title_and_a_text():
    forum, client = site()
    title = forum.one("SELECT title FROM threads")["title"]
    answer = client.post("/new", data={"board": "9", "title": title.upper(), "body": " "})
    assert answer.status_code == 422
    assert all(
        said in answer.text for said in ("Choose a board.", "There is a thread with this title.", "Write a text.")
    )
    client.post("/new", data={"board": "2", "title": "<b>Hi</b>", "body": "<script>x</script>"})
    newest = number(forum, "SELECT max(id) FROM threads")
    text = client.get(f"/thread/{newest}").text
    assert "&lt;script&gt;x&lt;/script&gt;" in text
    assert "<b>Hi" not in text


def test_contents_have_unique_titles_of_which_many_are_alike():
    forum, _ = site(96, 3)
    titles = [row["title"] for row in forum.query("SELECT title FROM threads ORDER BY title")]
    assert len({*titles}) == 96
    words = [{*title.split()} for title in titles]
    # Titles that differ from another one in one word.
    alike = sum(any(one is not other and len(one ^ other) <= 2 for other in words) for one in words)
    assert alike > 60
    assert number(forum, "SELECT count(*) FROM posts WHERE day > '2026-05-04'") == 0
    order = "SELECT count(*) FROM posts a JOIN posts b ON b.thread = a.thread AND b.number = a.number + 1"
    assert number(forum, f"{order} WHERE b.day < a.day") == 0


def test_users_keep_to_their_boards():
    forum, _ = site(180, 2)
    shares = []
    for user in range(2, len(NAMES) + 1):
        sql = "SELECT count(*) FROM posts p JOIN threads t ON t.id = p.thread WHERE p.author = ? GROUP BY t.board"
        counts = sorted((row[0] for row in forum.query(sql, user)), reverse=True)
        shares.append(sum(counts[:2]) / sum(counts))
    # Evenly over five boards it would be 0.4.
    assert sum(shares) / len(shares) > 0.55
