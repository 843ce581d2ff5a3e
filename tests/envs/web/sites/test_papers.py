"""Pages of papers and charts: files that arrive, forms within frames, and numbers that only a picture has."""

from __future__ import annotations

import re
from typing import Any

import pytest
from palaestra.envs.web.browsers.commands import Command
from palaestra.envs.web.browsers.in_process import InProcessBrowser
from palaestra.envs.web.browsers.stored_files import StoredFile
from palaestra.envs.web.sites.charts import draw_bars, draw_line
from palaestra.envs.web.sites.papers import MOST_CHARACTERS
from palaestra.envs.web.sites.papers_content import PAPERS
from palaestra.envs.web.sites.site import SITES, generate

from ..browsers.pages import number_of, show


def visit(path: str = "/papers/1", name: str = "shop") -> InProcessBrowser:
    browser = InProcessBrowser(SITES[name](generate(name, 24, 3)))
    browser.open(path)
    return browser


def click(browser: InProcessBrowser, name: str) -> str:
    assert browser.perform(Command("click", number_of(browser, name))) is None
    return "\n".join(show(browser))


def hand_in(browser: InProcessBrowser, text: str) -> str:
    browser.files = (StoredFile("a.txt", text),)
    browser.perform(Command("upload", number_of(browser, "Proof of purchase"), "a.txt"))
    return click(browser, "Hand in")


@pytest.mark.parametrize("name", PAPERS)
def test_sheets_references_and_topics_differ_between_objects(name: str):
    papers, browser = PAPERS[name], visit(name=name)
    titles = [row["title"] for row in browser.site.query(browser.site.details_pages.sql)]
    assert len({papers.reference_of(title) for title in titles}) == len(set(titles))
    assert len({papers.sheet_of(title) for title in titles}) == len(set(titles))
    assert all(len({papers.fact_of(title, label) for title in titles}) > 2 for label in papers.topics)
    # Neither is on the page of papers; the topics are pages of the frame.
    text = "\n".join(show(browser))
    assert papers.reference_of(titles[0]) not in text
    assert not any(papers.fact_of(titles[0], label) in text for label in (*papers.facts, *papers.topics))


def test_a_file_arrives_as_it_is_and_another_one_takes_its_place():
    browser = visit()
    assert "Choose a file first." in click(browser, "Hand in")
    assert browser.site.plans_of(1) == {}
    for text, kept in (("ä\r\nb\n", "ä\nb\n"), ("x" * 9_000, "x" * MOST_CHARACTERS), ("<b>&\0", "<b>&\0")):
        shown = hand_in(browser, text)
        assert browser.site.plans_of(1) == {"Proof of purchase": kept}
        assert f"A file of {len(kept)} characters has been handed in." in shown
    hand_in(browser, "")
    assert browser.site.plans_of(1) == {}


def test_a_form_within_a_frame_changes_the_frame_only():
    browser = visit()
    browser.files = (StoredFile("a.txt", ""),)
    browser.perform(Command("upload", number_of(browser, "Proof of purchase"), "a.txt"))
    assert "Choose one of the list." in click(browser, "Send")
    browser.perform(Command("select", number_of(browser, "Packaging was"), "too little"))
    browser.perform(Command("fill", number_of(browser, "What to improve"), "<b>size</b>"))
    shown = click(browser, "Send")
    assert "Thank you, it is noted." in shown
    assert '"Proof of purchase" value="a.txt"' in shown
    assert browser.path == "/papers/1"
    assert browser.site.plans_of(1) == {"Packaging was": "too little", "What to improve": "<b>size</b>"}
    assert "Not Found" in "\n".join(show(visit("/desk/1/2")))
    assert "Not Found" in "\n".join(show(visit("/papers/999")))


def test_numbers_of_the_bar_chart_are_in_the_picture_only_and_those_of_the_line_in_a_table():
    browser = visit("/figures")
    (chart,) = browser.page.root.iter("svg")
    numbers = [text.text for text in chart.iter("text") if text.text.isdigit()]
    assert len(numbers) == len(browser.site.query(PAPERS["shop"].sql))
    shown = "\n".join(show(browser))
    assert "Bar chart: Returns by category" in shown
    assert not any(number in shown for number in numbers)
    month, number = PAPERS["shop"].trend_of(browser.site.query("SELECT name FROM products ORDER BY id")[0][0])[0]
    assert f"{month} | {number}" not in shown
    assert f"{month} | {number}" in click(browser, "Numbers as a table")
    status, picture = browser.fetch("/figures/trend.svg")
    assert status == 200
    assert f">{number}</text>" in picture


def test_bars_are_as_high_as_their_numbers():
    heights = [float(one) for one in re.findall(r'height="([\d.]+)"', draw_bars([("a <b>", 10), ("c", 40), ("d", 0)]))]
    assert heights[0] * 4 == pytest.approx(heights[1], abs=0.5)
    assert heights[2] == 0
    assert "a &lt;b&gt;" in draw_bars([("a <b>", 10)])
    assert draw_line([]).startswith("<svg")


def test_frames_and_pictures_of_a_portal_are_those_of_the_site():
    state: Any = tuple((name, generate(name, 24, 3)) for name in ("shop", "forum"))
    browser = InProcessBrowser(SITES["across"](state))
    browser.open("/forum/papers/1")
    shown = "\n".join(show(browser))
    assert 'frame "Moderators\' desk"' in shown
    assert shown.count("Go to the shop") == 1
    click(browser, "Off topic")
    assert browser.page.root.find(".//page-frame").get("src") == "/forum/desk/1/0"
    browser.open("/forum/figures")
    assert browser.page.root.find(".//img").get("src") == "/forum/figures/trend.svg"
