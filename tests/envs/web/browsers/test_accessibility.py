"""`Page`: broken, deep and huge pages are read, and their cost grows with their length."""

from __future__ import annotations

import time

import pytest
from palaestra.envs.web.browsers.accessibility import Page
from palaestra.envs.web.browsers.observations import OBSERVATIONS, describe_dom
from palaestra.envs.web.browsers.page_cache import parse_page

BROKEN = (
    *("<div>" * 50_000 + "x", "<ul><li>" * 50_000, "<b>" * 50_000 + "deep", "<table><tr><td>" * 9_000, "<" * 200_000),
    *("\0<p>\ufffe\ud800", "<![CDATA[<!DOCTYPE", "<!--" * 9, "&#1114112;&#xD800;&bogus;", "</html></body>late", ""),
    *("<label for=a>" * 3_000 + "<input id=a>", "<form>" * 5_000 + "<button>", "<a " + "x=y " * 50_000 + ">"),
)


@pytest.mark.parametrize("html", BROKEN, ids=lambda html: ascii(html[:12]))
@pytest.mark.parametrize("kind", OBSERVATIONS)
def test_broken_pages_are_read(html: str, kind: str):
    page = Page(html)
    lines = OBSERVATIONS[kind](page, {})
    assert len(lines) == len(page.lines)
    assert all("\n" not in line for line in lines)


@pytest.mark.parametrize(
    "part",
    [
        "<b id=b>x</b><input aria-labelledby=b aria-invalid=true aria-describedby=b>",
        "<label for=c>x</label><input id=c>",
    ],
)
def test_the_cost_of_a_page_grows_with_its_length(part: str):
    def cost(times: int) -> float:
        begun = time.process_time()
        page = Page(part * times)
        OBSERVATIONS["tree"](page, {})
        return time.process_time() - begun

    # Ten times the length, where twenty-five times would be a hundred times as long.
    assert min(cost(4_000) for _ in range(2)) < 50 * min(cost(400) for _ in range(3))


def test_the_document_has_the_ids_of_controls_and_present_values_and_is_cut_at_lines():
    page = parse_page(
        "<title>T</title><script>x</script><h1>Order</h1><form><!-- no --><input name=q value=a>"
        "<input type=checkbox name=b checked><textarea name=t>\nold</textarea>"
        "<select name=s><option selected>One<option>Two</select><p>a &lt;b&gt;\n c</p><p>end</p></form>"
    )
    edits = {1: 'x"', 2: False, 3: "new", 4: (1,)}
    assert describe_dom(page, {}) == [
        "<html><body><h1>Order</h1><form>",
        '<input bid="1" name="q" value="a">',
        '<input bid="2" type="checkbox" name="b" checked>',
        '<textarea bid="3" name="t"> old</textarea>',
        '<select bid="4" name="s"><option selected>One</option><option>Two</option></select>',
        "<p>a &lt;b&gt; c</p>",
        "<p>end</p></form></body></html>",
    ]
    assert describe_dom(page, edits)[1:5] == [
        '<input bid="1" name="q" value="x&quot;">',
        '<input bid="2" type="checkbox" name="b">',
        '<textarea bid="3" name="t">new</textarea>',
        '<select bid="4" name="s"><option>One</option><option selected>Two</option></select>',
    ]
