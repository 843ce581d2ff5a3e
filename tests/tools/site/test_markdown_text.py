from __future__ import annotations

import markdown
import pytest
from palaestra.tools.site.markdown_text import code, docstring, fence, inline, join, table


def html(text: str) -> str:
    return markdown.markdown(text, extensions=["tables", "fenced_code"])


@pytest.mark.parametrize(
    "text", ["a_b_c * d * e", "<think>", "R[i](t)", "x | y", "2 ** 3", "$x$", "a ~b~ ^c^", "# wall", "a\\b", "{x}"]
)
def test_plain_text_is_shown_as_it_stands(text: str):
    shown = html(f"Begin {inline(text)} end.")
    assert shown == html("Begin PLACE end.").replace("PLACE", text.replace("<", "&lt;").replace(">", "&gt;"))


def test_backticks_become_code_and_arxiv_numbers_links():
    shown = html(inline("takes `a_b` and ``c|d`` (arXiv 1234.56789)"))
    assert "<code>a_b</code>" in html(inline("takes `a_b`")).replace("&#95;", "_")
    assert "c|d" in shown.replace("&#124;", "|")
    assert '<a href="https://arxiv.org/abs/1234.56789">' in shown


def test_a_pipe_in_a_cell_does_not_begin_another():
    shown = html(table(("name", "meaning"), [[code("a|b"), inline("x | y")]]))
    assert shown.count("<td>") == 2


def test_a_fence_is_longer_than_those_in_the_text_and_long_texts_are_cut():
    block = fence("```python\n1\n```")
    assert block.startswith("````text\n")
    assert block.endswith("\n````")
    assert fence("x" * 50, most=20) == "```text\n" + "x" * 20 + "\n… (30 more characters)\n```"
    assert "\x1b" not in fence("\x1b[2J")


def test_a_docstring_keeps_its_sections_code_and_paragraphs():
    shown = docstring("""Do it.

    More words
    on two lines:

        result = do(1)

    Args:
        first: a number,
            above 0.
        **others: passed on.

    Raises:
        InputError: a `bad` value.
    """)
    assert shown == join(
        "Do it.",
        "More words on two lines:",
        "```text\nresult = do(1)\n```",
        "**Args**",
        f"- {code('first')}: a number, above 0.\n- {code('**others')}: passed on.",
        "**Raises**",
        f"- {code('InputError')}: a {inline('`bad`')} value.",
    )


def test_none_is_no_text():
    assert docstring(None) == ""
    assert table(("a",), []) == ""


def test_a_section_that_comes_first_after_a_line_break_is_read_as_one():
    assert docstring("\nRaises:\n    InputError: a bad value.") == f"**Raises**\n\n- {code('InputError')}: a bad value."
