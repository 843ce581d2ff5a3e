"""Layout of a page: the box of each control in the viewport, in observations and drawn over a screenshot.

Boxes come from `Browser.boxes`, which only browsers with a layout have.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .accessibility import Page

# Colours of marks, taken in turn; white digits can be read on all of them.
_COLOURS = ("#b00020", "#0b57d0", "#146c2e", "#7b1fa2", "#8a4b00", "#00607a")
_TAG = re.compile(r' (?:bid|id)="[0-9]+"')


class Box(NamedTuple):
    """Box of a control in pixels of the viewport; ``visible`` is True if its middle is in the viewport, uncovered."""

    x: int
    y: int
    width: int
    height: int
    visible: bool


def add_boxes(page: Page, lines: Sequence[str], boxes: Sequence[Box]) -> list[str]:
    """Return the lines of an observation with ``box=x,y,width,height`` after each control, and ``unseen`` if it is not
    visible. In HTML, both are attributes. ``boxes`` has one box for each control."""
    written = list(lines)
    for place, line in enumerate(page.lines):
        if line.control is None:
            continue
        box, text = boxes[line.control.number - 1], written[place]
        numbers, unseen = ",".join(map(str, box[:4])), "" if box.visible else " unseen"
        tag = _TAG.search(text) if text.lstrip().startswith("<") else None
        if tag is None:
            written[place] = f"{text} box={numbers}{unseen}"
        else:
            written[place] = f'{text[: tag.end()]} box="{numbers}"{unseen}{text[tag.end() :]}'
    return written


def draw_marks(picture: np.ndarray, boxes: Sequence[Box]) -> np.ndarray:
    """Return a screenshot, uint8[height, width, 3], with a frame around each visible control and its id."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.fromarray(picture)
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(12)
    labels: list[tuple[tuple[float, float, float, float], str, str]] = []
    for number, box in enumerate(boxes, start=1):
        if not box.visible:
            continue
        colour = _COLOURS[number % len(_COLOURS)]
        right, bottom = box.x + box.width, box.y + box.height
        pen.rectangle((box.x - 1, box.y - 1, right, bottom), outline=colour, width=2)
        _, _, width, height = pen.textbbox((0, 0), str(number), font=font)
        # The label stands above the box, or inside at the top of the picture.
        top = box.y - height - 3 if box.y > height + 3 else box.y
        labels.append(((box.x - 1, top, box.x + width + 3, top + height + 3), str(number), colour))
    for area, number, colour in labels:
        pen.rectangle(area, fill=colour)
        pen.text((area[0] + 2, area[1] + 1), number, fill="#ffffff", font=font)
    return np.asarray(image)
