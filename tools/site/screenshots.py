"""Screenshots of pages in Debian's Chromium, for pictures of the documentation and for looking at all pages at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...envs.web.browsers.chromium_engine import find_chromium

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--hide-scrollbars"]


@contextmanager
def open_page(width: int, dark: bool = False, height: int = 900) -> Iterator[Any]:
    """Open a page of Playwright with a window of ``width`` x ``height`` pixels, in the light or the dark scheme."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        yield browser.new_page(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        browser.close()
