"""Screenshots of pages in Debian's Chromium: pictures for the documentation, and a look at every page of the site.

    python -m palaestra.tools.site.screenshots shots                   # every page of site: wide, narrow and dark
    python -m palaestra.tools.site.screenshots shots runs/first/report.html

Writes a picture of each page and form, contact sheets of sixteen pages, and prints the pages that are wider than their
window.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...envs.web.browsers.chromium_engine import find_chromium

SITE = Path(__file__).parents[2] / "site"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--hide-scrollbars"]
FORMS = {"wide": (1280, False), "narrow": (390, False), "dark": (1280, True)}
"""Name of a form -> width in pixels, dark."""
TALLEST, SHEET, TILE = 4000, 16, (400, 520)


@contextmanager
def open_page(width: int, dark: bool = False, height: int = 900) -> Iterator[Any]:
    """Open a page of Playwright with a window of ``width`` x ``height`` pixels, in the light or the dark scheme."""
    from playwright.sync_api import sync_playwright

    scheme = "dark" if dark else "light"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        yield browser.new_page(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
        )
        browser.close()


def shoot(pages: Sequence[Path], folder: Path) -> list[str]:
    """Write a picture of every page in every form into ``folder``. Return a sentence for each page that is wider than
    its window."""
    faults = []
    folder.mkdir(parents=True, exist_ok=True)
    for form, (width, dark) in FORMS.items():
        with open_page(width, dark) as page:
            for number, path in enumerate(pages):
                page.goto(path.resolve().as_uri())
                wide, tall = page.evaluate("[document.documentElement.scrollWidth, document.body.scrollHeight]")
                if wide > width:
                    faults.append(f"{path} is {wide} pixels wide in a window of {width}")
                clip = {"x": 0, "y": 0, "width": width, "height": min(tall, TALLEST)}
                page.screenshot(path=folder / f"{number:03}-{form}.png", full_page=True, clip=clip)
        _write_sheets(folder, form, pages)
    return faults


def _write_sheets(folder: Path, form: str, pages: Sequence[Path]) -> None:
    """Put the pictures of a form onto sheets of four by four, each with the name of its page."""
    from PIL import Image, ImageDraw

    width, height = TILE
    for start in range(0, len(pages), SHEET):
        shown = pages[start : start + SHEET]
        sheet = Image.new("RGB", (4 * width, -(-len(shown) // 4) * height), "#888888")
        for place, path in enumerate(shown):
            picture = Image.open(folder / f"{start + place:03}-{form}.png").convert("RGB")
            # The upper part, to the shape of a tile.
            ratio = (height - 24) / (width - 8)
            picture = picture.crop((0, 0, picture.width, min(picture.height, int(picture.width * ratio))))
            picture.thumbnail((width - 8, height - 24))
            left, top = place % 4 * width, place // 4 * height
            sheet.paste(picture, (left + 4, top + 20))
            ImageDraw.Draw(sheet).text((left + 4, top + 4), "/".join(path.parts[-3:-1]) or path.name, fill="white")
        sheet.save(folder / f"sheet-{form}-{start // SHEET:02}.png")


def main(arguments: Sequence[str]) -> int:
    """Run the tool. Return 1 if a page is too wide, else 0."""
    if not arguments:
        print(__doc__)
        return 2
    pages = [Path(name) for name in arguments[1:]] or sorted(SITE.rglob("index.html"))
    faults = shoot(pages, Path(arguments[0]))
    print("\n".join([*faults, f"{len(pages)} pages in {', '.join(FORMS)}: {arguments[0]}"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
