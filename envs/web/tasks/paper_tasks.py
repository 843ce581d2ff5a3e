"""Templates on files, frames, new tabs and charts, the pages of `sites.papers`: what they ask about is in none of the
pages that the site's links lead to in the same tab.

Each class of templates has rows for some of the sites in `ROWS`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..browsers.stored_files import StoredFile
from ..sites.details_content import DetailsPages
from ..sites.papers_content import PAPERS, Papers
from .draws import pick, quote_titles
from .template import TEMPLATES, Database, Goal, Params, Rng, Slots
from .walk import Walk
from .widget_tasks import ROWS as DETAILS_ROWS
from .widget_tasks import DetailsTemplate, PlanTemplate, ReadTemplate

LINK = "Papers and help"
"""Label of the link from the details of an object to its papers."""
_REMARKS = ("as agreed", "seen twice", "north side", "for the file", "see page nine", "by telephone")


class PapersTemplate(DetailsTemplate):
    """Base of templates on the papers of objects."""

    pages = ("/papers/{0}",)

    @property
    def papers(self) -> Papers:
        return PAPERS[self.site]

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for _, title, search, link in slots["objects"]:
            self.go_to_papers(walk, search, link)
            self.use(walk, slots, title)

    def go_to_papers(self, walk: Walk, search: str, link: str) -> None:
        """Let the solver go to the papers of an object."""
        walk.look_up(self.search_box, search, link)
        walk.click("link", "Details and plans")
        walk.click("link", LINK)

    def read_notice(self, walk: Walk, title: str) -> None:
        """Let the solver read the notice in its tab, and come back to the papers."""
        place = walk.browser.place
        walk.click("link", self.papers.notice)
        walk.read(self.papers.reference_of(title))
        walk.close_tab(place)


class ReadSheet(PapersTemplate, ReadTemplate):
    """Report a line of a file that has to be downloaded and opened."""

    name, question = "read-sheet", 'According to the file "{sheet}" among the papers, what is "{label}" for {which}?'

    def words(self, slots: Slots) -> Mapping[str, str]:
        return {**super().words(slots), "sheet": self.papers.sheet}

    def value_of(self, title: str, label: str) -> str:
        return self.papers.fact_of(title, label)

    def labels(self, title: str) -> list[str]:
        return list(self.papers.facts)

    def use(self, walk: Walk, slots: Slots, title: str) -> None:
        walk.download(self.papers.sheet)


class ReadTopic(PapersTemplate, ReadTemplate):
    """Report what a page within a frame says."""

    name, question = "read-topic", 'What does the {desk}, among the papers, say under "{label}" for {which}?'

    def words(self, slots: Slots) -> Mapping[str, str]:
        return {**super().words(slots), "desk": self.papers.desk}

    def value_of(self, title: str, label: str) -> str:
        return self.papers.fact_of(title, label)

    def labels(self, title: str) -> list[str]:
        return list(self.papers.topics)

    def use(self, walk: Walk, slots: Slots, title: str) -> None:
        walk.click("link", slots["label"])
        walk.read(self.value_of(title, slots["label"]))


class ReadNotice(PapersTemplate, ReadTemplate):
    """Report a reference on a page that opens in a new tab."""

    name, question = "read-notice", "What is the {label} in the {notice} of {which}?"

    def words(self, slots: Slots) -> Mapping[str, str]:
        return {**super().words(slots), "notice": self.papers.notice}

    def value_of(self, title: str, label: str) -> str:
        return self.papers.reference_of(title)

    def labels(self, title: str) -> list[str]:
        return [self.papers.reference]

    def use(self, walk: Walk, slots: Slots, title: str) -> None:
        self.read_notice(walk, title)


class WriteAtDesk(PapersTemplate, PlanTemplate):
    """Send a form within a frame."""

    name = "write-at-desk"
    question = (
        'At the {desk}, among the papers, choose "{grade}" under "{rating}" and write "{text}" under "{remark}", and '
        "send it, for {which}."
    )

    def draw_more(self, rng: Rng, titles: list[str], params: Params) -> Slots:
        return {"grade": pick(rng, self.papers.grades), "text": pick(rng, _REMARKS)}

    def words(self, slots: Slots) -> Mapping[str, str]:
        papers = self.papers
        return {**super().words(slots), "desk": papers.desk, "rating": papers.rating, "remark": papers.remark}

    def plans(self, slots: Slots) -> Mapping[str, str]:
        return {self.papers.rating: slots["grade"], self.papers.remark: slots["text"]}

    def use(self, walk: Walk, slots: Slots, title: str) -> None:
        walk.select(self.papers.rating, slots["grade"])
        walk.fill(self.papers.remark, slots["text"])
        walk.click("button", "Send")


class CopyReference(PapersTemplate, PlanTemplate):
    """Write a reference, from a page that opens in a new tab, into the form of a frame."""

    name = "copy-reference"
    question = (
        'For {which}: at the {desk}, among the papers, choose "{grade}" under "{rating}", write under "{remark}" the '
        "{reference} from the {notice}, and send it."
    )

    def draw_more(self, rng: Rng, titles: list[str], params: Params) -> Slots:
        return {"grade": pick(rng, self.papers.grades)}

    def words(self, slots: Slots) -> Mapping[str, str]:
        names = ("desk", "rating", "remark", "reference", "notice")
        return {**super().words(slots), **{name: getattr(self.papers, name) for name in names}}

    def goal(self, database: Database, slots: Slots) -> Goal:
        papers = self.papers
        rows = tuple(
            row
            for number, title, *_ in slots["objects"]
            for row in (
                (number, papers.rating, slots["grade"]),
                (number, papers.remark, papers.reference_of(title)),
            )
        )
        return Goal(added={"plans": rows}, milestone_pages=self.paths(slots))

    def use(self, walk: Walk, slots: Slots, title: str) -> None:
        self.read_notice(walk, title)
        walk.select(self.papers.rating, slots["grade"])
        walk.fill(self.papers.remark, self.papers.reference_of(title))
        walk.click("button", "Send")


class HandInSheet(PapersTemplate, PlanTemplate):
    """Download the file of one object, and hand it in among the papers of others."""

    name, more_objects = "hand-in-sheet", 1
    question = 'Download the file "{sheet}" of "{first}", and hand it in as "{hand_in}" among the papers of {others}.'

    def draw_more(self, rng: Rng, titles: list[str], params: Params) -> Slots:
        return {}

    def words(self, slots: Slots) -> Mapping[str, str]:
        first, *others = slots["objects"]
        noun = f"{self.details.noun}{'s' if len(others) > 1 else ''}"
        return {
            "sheet": self.papers.sheet,
            "hand_in": self.papers.hand_in,
            "first": first[1],
            "others": f"the {noun} {quote_titles(others)}",
        }

    def goal(self, database: Database, slots: Slots) -> Goal:
        (_, title, *_), *others = slots["objects"]
        rows = tuple((one[0], self.papers.hand_in, self.papers.sheet_of(title)) for one in others)
        return Goal(added={"plans": rows}, milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        (_, _, search, link), *others = slots["objects"]
        self.go_to_papers(walk, search, link)
        name = walk.download(self.papers.sheet)
        for _, _, search, link in others:
            self.go_to_papers(walk, search, link)
            walk.upload(self.papers.hand_in, name)
            walk.click("button", "Hand in")


class HandInGiven(PapersTemplate, PlanTemplate):
    """Hand in those of several given files that are about some objects; their names say nothing about them."""

    name, on_request, more_objects = "hand-in-given", True, 2
    question = (
        'For {which}: find the file about it among those that you have, and hand it in as "{hand_in}" among the papers.'
    )

    def draw_more(self, rng: Rng, titles: list[str], params: Params) -> Slots:
        return {"order": tuple(rng.permutation(len(titles)).tolist())}

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        slots = super().draw(rng, database, params)
        if slots is None:
            return None
        # The last objects are those of files that nobody asks for.
        own, others = slots["objects"][: -self.more_objects], slots["objects"][-self.more_objects :]
        return {**slots, "objects": own, "others": tuple(title for _, title, *_ in others)}

    def words(self, slots: Slots) -> Mapping[str, str]:
        return {**super().words(slots), "hand_in": self.papers.hand_in}

    def files(self, slots: Slots) -> tuple[StoredFile, ...]:
        titles = [*(title for _, title, *_ in slots["objects"]), *slots["others"]]
        return tuple(
            StoredFile(f"scan-{place}.txt", self.papers.sheet_of(titles[index]))
            for place, index in enumerate(slots["order"], 1)
        )

    def goal(self, database: Database, slots: Slots) -> Goal:
        rows = tuple(
            (number, self.papers.hand_in, self.papers.sheet_of(title)) for number, title, *_ in slots["objects"]
        )
        return Goal(added={"plans": rows}, milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        names: dict[str, str] = {}
        for file in self.files(slots):
            if len(names) < len(slots["objects"]):
                walk.open_file(file.name)
                names |= {title: file.name for _, title, *_ in slots["objects"] if title in file.text.splitlines()}
        for _, title, search, link in slots["objects"]:
            self.go_to_papers(walk, search, link)
            walk.upload(self.papers.hand_in, names[title])
            walk.click("button", "Hand in")


def _first_title(details: DetailsPages, database: Database) -> str:
    """Return the title of the first object of a site, from which its charts are made up."""
    return database.execute(f"{details.sql} ORDER BY id").fetchone()["title"]


class ReadTrend(DetailsTemplate):
    """Report a number of a line chart; a table with the numbers can be opened below it."""

    name, answer, kind, pages, objects = "read-trend", "number", "number", ("/figures",), ""
    question = 'In the chart "{trend}", what is the number for {month}? Answer with the number only.'

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        month, number = pick(rng, PAPERS[self.site].trend_of(_first_title(self.details, database)))
        return {"month": month, "number": str(number)}

    def words(self, slots: Slots) -> Mapping[str, str]:
        return {"trend": PAPERS[self.site].trend}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        self.follow_from_start(walk, f"Table of all {self.details.noun}s")
        walk.click("link", "Charts")
        walk.click("button", "Numbers as a table")


class ReadChart(DetailsTemplate):
    """Report a number of a bar chart that has no text beside the picture."""

    name, answer, kind, pages, objects = "read-chart", "number", "number", ("/figures",), ""
    question = 'According to the chart "{chart}", how many {unit} are there under "{bar}"? Answer with the number only.'
    on_request = needs_picture = True

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        papers = PAPERS[self.site]
        names = [name for (name,) in database.execute(papers.sql)]
        bar, number = pick(rng, papers.bars_of(_first_title(self.details, database), names))
        return {"bar": bar, "number": str(number)}

    def words(self, slots: Slots) -> Mapping[str, str]:
        return {"chart": PAPERS[self.site].chart, "unit": PAPERS[self.site].unit}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        self.follow_from_start(walk, f"Table of all {self.details.noun}s")
        walk.click("link", "Charts")


ROWS: Mapping[str, tuple[type[DetailsTemplate], ...]] = {
    "shop": (ReadSheet, WriteAtDesk, HandInSheet, HandInGiven, ReadChart),
    "booking": (ReadTopic, WriteAtDesk, ReadNotice, ReadTrend),
    "forum": (ReadNotice, HandInSheet, ReadChart),
    "tracker": (ReadSheet, CopyReference, HandInSheet, HandInGiven, ReadTrend),
    "admin": (ReadTopic, CopyReference, HandInGiven, ReadTrend, ReadChart),
    "wiki": (ReadSheet, ReadNotice, ReadTopic, CopyReference),
}
"""Name of a site -> classes of its templates."""

for _site, _kinds in ROWS.items():
    for _kind in _kinds:
        _intent, _search_box, _start = DETAILS_ROWS[_site]
        _own = _intent if issubclass(_kind, PlanTemplate) else "report"
        TEMPLATES.add(f"{_site}/{_kind.name}", _kind(_site, _own, _search_box, _start))
