"""Charts that a site draws as SVG, in the colours of its page: bars and a line, with their numbers as text in the
picture only."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

WIDTH, HEIGHT = 640, 300
# Distance of the axes from the left and the lower edge, and of the highest value from the upper edge.
_LEFT, _FOOT, _TOP = 16, 64, 28
Points = Sequence[tuple[str, int]]
"""Pairs (name, number)."""

_FRAME = Markup(
    '<svg class="chart" viewBox="0 0 {} {}" xmlns="http://www.w3.org/2000/svg"{}>{}'
    '<path d="M{} {}H{}" stroke="currentColor" fill="none"/></svg>'
)
_BAR = Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="3" fill="{}"/>')
_TEXT = Markup('<text x="{:.1f}" y="{:.1f}" font-size="{}" text-anchor="middle" fill="currentColor">{}</text>')


def draw_bars(points: Points) -> Markup:
    """Return a bar chart. Long names are broken at spaces, up to three lines."""
    step, top = (WIDTH - 2 * _LEFT) / max(len(points), 1), max((number for _, number in points), default=1)
    parts: list[Markup] = []
    for place, (name, number) in enumerate(points):
        middle, y = _LEFT + (place + 0.5) * step, _height(number, top)
        parts.append(_BAR.format(middle - 0.32 * step, y, 0.64 * step, HEIGHT - _FOOT - y, "var(--accent, #456)"))
        parts.append(_TEXT.format(middle, y - 7, 15, number))
        lines = _break(name, max(int(step / 6.6), 6))
        parts += [_TEXT.format(middle, HEIGHT - _FOOT + 16 + 15 * row, 12, line) for row, line in enumerate(lines)]
    return _finish(parts, "")


def draw_line(points: Points, style: str = "") -> Markup:
    """Return a line chart with each number above its point, or below it in a valley. ``style`` is the CSS of the
    picture, if it is a file of its own."""
    step, top = (WIDTH - 2 * _LEFT) / max(len(points), 1), max((number for _, number in points), default=1)
    places = [(_LEFT + (place + 0.5) * step, _height(number, top)) for place, (_, number) in enumerate(points)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts = [Markup('<polyline points="{}" fill="none" stroke="{}" stroke-width="3"/>').format(path, "#4d8f7f")]
    for place, ((x, y), (name, number)) in enumerate(zip(places, points, strict=True)):
        around = [places[other][1] for other in (place - 1, place + 1) if 0 <= other < len(places)]
        # Heights are distances from the upper edge.
        side = 20 if sum(around) < len(around) * y else -10
        parts.append(Markup('<circle cx="{:.1f}" cy="{:.1f}" r="4" fill="#4d8f7f"/>').format(x, y))
        parts += [_TEXT.format(x, y + side, 13, number), _TEXT.format(x, HEIGHT - _FOOT + 18, 12, name)]
    return _finish(parts, style)


def _height(number: int, top: int) -> float:
    return HEIGHT - _FOOT - (HEIGHT - _FOOT - _TOP) * number / max(top, 1)


def _finish(parts: Sequence[Markup], style: str) -> Markup:
    given = Markup(' style="{}"').format(style) if style else Markup("")
    return _FRAME.format(WIDTH, HEIGHT, given, Markup("").join(parts), _LEFT, HEIGHT - _FOOT, WIDTH - _LEFT)


def _break(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return [line if len(line) <= width + 2 else f"{line[:width]}." for line in lines[:3]]
