"""Pages with files, frames, new tabs and charts that every site has: the papers of an object, and charts of the site.

What they say is data, the `Papers` of each site. What a visitor hands in or writes is stored in the table ``plans``, as
on the pages of `details`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from .charts import draw_bars, draw_line
from .details_content import DetailsPages
from .exchange import Response, WebRequest
from .papers_content import PAPERS, Papers
from .site import NotFound, WebSite, read_form, route

# Most characters that are kept of a file that is handed in.
MOST_CHARACTERS = 4_000


class HasPapers(WebSite):
    """Base of `details.HasDetails`, with the `Papers` of the site's name in `PAPERS`."""

    details_pages: ClassVar[DetailsPages]

    @property
    def papers_pages(self) -> Papers:
        return PAPERS[self.name]

    def plans_of(self, subject: int) -> dict[str, str]:
        """Return name of a plan -> value, for the object with the id ``subject``."""
        rows = self.query("SELECT name, value FROM plans WHERE subject = ?", subject)
        return {row["name"]: row["value"] for row in rows}

    def plan(self, subject: int, name: str, value: str) -> None:
        """Store a plan for an object; "" deletes it."""
        self.query("DELETE FROM plans WHERE subject = ? AND name = ?", subject, name)
        if value:
            self.query("INSERT INTO plans VALUES (?, ?, ?)", subject, name, value)

    def _find(self, subject: int) -> Any:
        """Return the row of an object, by its id."""
        return self.one(f"SELECT * FROM ({self.details_pages.sql}) WHERE id = ?", subject)

    @route("/papers/<int:subject>")
    def papers(self, request: WebRequest, subject: int) -> Response:
        handed_in = self.plans_of(subject).get(self.papers_pages.hand_in)
        found = self._find(subject)
        return self.page(request, "papers.html", pages=self.papers_pages, one=found, handed_in=handed_in)

    @route("/papers/<int:subject>/sheet.txt")
    def sheet(self, request: WebRequest, subject: int) -> Response:
        return Response(self.papers_pages.sheet_of(self._find(subject)["title"]), kind="text/plain")

    @route("/papers/<int:subject>/notice")
    def notice(self, request: WebRequest, subject: int) -> Response:
        found = self._find(subject)
        reference = self.papers_pages.reference_of(found["title"])
        return self.page(request, "notice.html", pages=self.papers_pages, one=found, reference=reference)

    @route("/papers/<int:subject>/files", "POST")
    def hand_in(self, request: WebRequest, subject: int) -> Response:
        self._find(subject)
        file = request.files.get("file")
        if file is None or not file.filename:
            return self.redirect(f"/papers/{subject}", "Choose a file first.")
        text = file.stream.read(4 * MOST_CHARACTERS).decode("utf-8", "replace").replace("\r\n", "\n")
        self.plan(subject, self.papers_pages.hand_in, text[:MOST_CHARACTERS])
        return self.redirect(f"/papers/{subject}", "Your file has arrived.")

    # The pages within the frame.

    @route("/desk/<int:subject>", "GET", "POST")
    def desk(self, request: WebRequest, subject: int) -> Response:
        pages, found = self.papers_pages, self._find(subject)
        if request.method == "GET":
            return self.page(request, "desk.html", pages=pages, one=found, plans=self.plans_of(subject))
        form = read_form(request, "rating", "remark")
        if form["rating"] in pages.grades:
            self.plan(subject, pages.rating, form["rating"])
            self.plan(subject, pages.remark, form["remark"])
            return self.redirect(f"/desk/{subject}", "Thank you, it is noted.")
        return self.redirect(f"/desk/{subject}", "Choose one of the list.")

    @route("/desk/<int:subject>/<int:topic>")
    def topic(self, request: WebRequest, subject: int, topic: int) -> Response:
        pages, found = self.papers_pages, self._find(subject)
        topics = list(pages.topics)
        if topic >= len(topics):
            raise NotFound
        value = pages.fact_of(found["title"], topics[topic])
        return self.page(request, "topic.html", pages=pages, one=found, topic=topics[topic], value=value)

    # Charts.

    @route("/figures")
    def figures(self, request: WebRequest) -> Response:
        pages = self.papers_pages
        names = [name for (name,) in self.query(pages.sql)]
        bars = draw_bars(pages.bars_of(self._first_title(), names))
        return self.page(request, "figures.html", pages=pages, bars=bars, trend=self._trend())

    @route("/figures/trend.svg")
    def trend_picture(self, request: WebRequest) -> Response:
        style = "color-scheme: light dark; color: light-dark(#333, #ddd); font-family: sans-serif"
        return Response(
            draw_line([(month[:3], number) for month, number in self._trend()], style), kind="image/svg+xml"
        )

    def _trend(self) -> list[tuple[str, int]]:
        return self.papers_pages.trend_of(self._first_title())

    def _first_title(self) -> str:
        """Return the title of the first object, from which the charts are made up."""
        return self.one(f"{self.details_pages.sql} ORDER BY id")["title"]
