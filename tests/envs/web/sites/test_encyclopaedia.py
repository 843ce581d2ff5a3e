"""The encyclopaedia as a site: what it shows, what it refuses, and what it is filled with."""

from __future__ import annotations

import re
from typing import Any

import pytest
from palaestra.envs.web.browsers.accessibility import Page
from palaestra.envs.web.sites.encyclopaedia import Encyclopaedia
from palaestra.envs.web.sites.encyclopaedia_content import MEASURES, PLURALS, read_value
from palaestra.envs.web.sites.site import generate
from palaestra.envs.web.wiki.corpus import make_corpus, strip_links
from palaestra.envs.web.wiki.wiki_relations import RELATIONS
from werkzeug.test import Client


def site(articles: int = 60, seed: int = 1) -> tuple[Encyclopaedia, Client]:
    wiki = Encyclopaedia(generate("wiki", articles, seed))
    return wiki, Client(wiki)


def counted(client: Client, path: str) -> int:
    found = re.search(r"<p>(\d+) articles?", client.get(path).text)
    assert found is not None
    return int(found[1])


def test_every_control_has_a_name_and_no_button_that_of_another():
    _, client = site()
    for path in ("/", "/category/person?sort=Born", "/article/9", "/article/9/edit", "/article/9/links", "/watchlist"):
        controls = Page(client.get(path).text).controls
        assert all(one.name for one in controls)
        names = [one.name for one in controls if one.role != "link"]
        assert len({*names}) == len(names), path


def test_every_article_shows_the_text_of_the_corpus_and_its_links_lead_where_it_says():
    wiki, client = site()
    corpus = make_corpus(*wiki.one("SELECT seed, size FROM source"))
    assert wiki.one("SELECT count(*) FROM articles")[0] == len(corpus.articles)
    for number, article in enumerate(corpus.articles, start=1):
        page = Page(client.get(f"/article/{number}").text)
        text = " ".join(line.name for line in page.lines)
        assert article.title in text
        links = {one.name: one.element.get("href") for one in page.controls if one.role == "link"}
        for title in article.links:
            target = corpus.find(title)
            assert target is not None
            assert links[title] == f"/article/{target + 1}"


def test_values_at_a_glance_are_those_that_the_text_states():
    wiki, _ = site()
    corpus = make_corpus(*wiki.one("SELECT seed, size FROM source"))
    every = [one for one in RELATIONS.values() if not one.is_link]
    assert {label for some in MEASURES.values() for label, _ in some} >= {"Population", "Born"}
    expected = sum(one.name in thing.facts for thing in corpus.world.things for one in every)
    facts = wiki.query("SELECT article, value FROM facts")
    assert len(facts) == expected
    assert all(row["value"] in strip_links(corpus.articles[row["article"] - 1].text) for row in facts)


def test_search_finds_each_article_by_its_title():
    wiki, client = site()
    for row in wiki.query("SELECT id, title FROM articles LIMIT 20"):
        first = Page(client.get("/search", query_string={"q": row["title"]}).text)
        assert any(one.element.get("href") == f"/article/{row['id']}" for one in first.controls)
    assert counted(client, "/search?q=qqqqq") == 0


def test_categories_count_what_lies_within_limits():
    wiki, client = site()
    for kind in ("city", "person"):
        label = MEASURES[kind][0][0]
        amounts = [
            row["amount"]
            for row in wiki.query(
                "SELECT f.amount FROM facts f JOIN articles a ON a.id = f.article WHERE a.kind = ? AND f.label = ?",
                *(kind, label),
            )
        ]
        limit = sorted(amounts)[len(amounts) // 2]
        above = sum(amount >= limit for amount in amounts)
        assert counted(client, f"/category/{kind}?sort={label}&low={limit}") == above
        assert counted(client, f"/category/{kind}?sort={label}&high={limit - 1}") == len(amounts) - above
    assert sum(counted(client, f"/category/{kind}") for kind in PLURALS) == wiki.one("SELECT count(*) FROM articles")[0]
    assert client.get("/category/city?low=5").status_code == 422
    assert client.get("/category/nothing").status_code == 404


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("number", "12345", ("12,345", 12345, 12345)),
        ("number", "12,345", ("12,345", 12345, 12345)),
        ("year", "1845", ("1845", 1845, 1845)),
        ("date", "2  March 1845", ("2 March 1845", 18450302, 1845)),
        ("number", "many", None),
        ("year", "", None),
        ("date", "2 Marz 1845", None),
        ("date", "1845-03-02", ("2 March 1845", 18450302, 1845)),
        ("date", "31 February 1845", None),
    ],
)
def test_values_are_read_in_one_form(kind: str, text: str, expected: Any):
    assert read_value(kind, text) == expected


def test_an_edit_needs_valid_values_and_a_summary_and_is_in_the_history():
    wiki, client = site()
    row = wiki.one("SELECT f.* FROM facts f JOIN articles a ON a.id = f.article WHERE a.kind = 'river'")
    path, before = f"/article/{row['article']}", wiki.state()
    answer = client.post(f"{path}/edit", data={f"value{row['id']}": "long"})
    assert answer.status_code == 422
    assert "Write a whole number." in answer.text
    assert "Say in a few words" in answer.text
    assert wiki.state() is before
    client.post(f"{path}/edit", data={f"value{row['id']}": "4321", "summary": "<b>new</b>"})
    assert wiki.one("SELECT value, place, amount FROM facts WHERE id = ?", row["id"])[:] == ("4,321", 4321, 4321)
    history = client.get(f"{path}/history").text
    assert f"{row['value']} became 4,321. &lt;b&gt;new&lt;/b&gt;" in history
    # The same values again change nothing.
    client.post(f"{path}/edit", data={f"value{row['id']}": "4,321", "summary": "again"})
    assert wiki.one("SELECT count(*) FROM edits")[0] == 1


def test_watching_twice_is_watching_once():
    wiki, client = site()
    wiki.query("DELETE FROM watched")
    for note in ("one", "two"):
        client.post("/article/3/watch", data={"note": note})
    assert [row["note"] for row in wiki.query("SELECT note FROM watched")] == ["two"]
    client.post("/article/3/watch", data={"action": "stop"})
    assert wiki.query("SELECT * FROM watched") == []
    assert client.post("/article/99999/watch").status_code == 404
